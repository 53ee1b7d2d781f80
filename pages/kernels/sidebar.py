"""Kernels, the sidebar: the builders of the dictionary, and how kernels are brought to one scale."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import streamlit as st

from mklcore.data.dataset import counted, joined
from mklcore.kernels.dictionary import Unit
from mklcore.kernels.functions import KERNELS
from mklcore.kernels.recipes import AUTO_FEATURES, other_kernels
from mklcore.kernels.sequences import SEQUENCE_KERNELS
from pages.shared.session import parameters, state
from pages.shared.values import dictionaries, tables
from pages.shared.widgets import controls

NORMALISATIONS = {
    "auto": "as the algorithm has it",
    "multiplicative": "unit variance",
    "spherical": "unit length of rows",
    "trace": "trace 1",
    "diag": "largest entry 1",
    "none": "none",
}
RECIPES = {"recommended": "Recommended", "builders": "Builders"}
KINDS_OF_UNITS = {
    "column": ("column", "columns"),
    "category": ("category", "categories"),
    "group": ("group of columns", "groups of columns"),
    "band": ("band of neighbouring columns", "bands of neighbouring columns"),
    "sequence": ("sequence", "sequences"),
    "text": ("text", "texts"),
    "cluster": ("set of columns that go together", "sets of columns that go together"),
}
# kinds whose kernels are other ones
KERNELS_OF_KIND = {
    "category": "a category has one that asks whether two rows are alike",
    "sequence": "a sequence has those of its letters",
    "text": "a text has one of its words",
}
ON_GROUPS = {"rbf": "RBF", "linear": "linear", "both": "linear and RBF"}
ON_BANDS = ON_GROUPS | {"spectral": "linear, cubic and two RBF (spectra)"}


def each_column() -> dict[str, str]:
    """Return the kernels that every column may get, with their words."""
    first = {"auto": f"linear, up to {AUTO_FEATURES} columns", "none": "none"}
    return first | {key: f"{entry.word}, every column" for key, entry in KERNELS.items()}


def back_to_builders() -> None:
    """Let the builders make the dictionary again."""
    state.change(edited="")


def builder(label: str, name: str, unless: bool = False, **options: Any) -> None:
    """Draw a control of the dictionary; a table edited by hand takes its place."""
    off = unless or bool(state.current().edited)
    controls.field_view(label, name, disabled=off, **options)


def draw() -> None:
    """Draw where the dictionary comes from: the table suggests it, or the builders make it; then
    its scale.
    """
    params = state.current()
    controls.view(
        st.segmented_control,
        "Dictionary",
        "field_recipe",
        "recommended" if params.recommended else "builders",
        lambda name: state.change(recipe=name),
        options=RECIPES,
        required=True,
        disabled=bool(params.edited),
    )
    if params.recommended:
        suggested()
    else:
        builders()
    if tables.table(params).sequences:
        sequences()
    scale()


def suggested() -> None:
    """Say what the table suggests, and draw whether kernels of everything stand beside it."""
    params = state.current()
    _edited(params)
    st.caption(_made_of(dictionaries.made_of(params), params.curved))
    paired = bool(dictionaries.pairs(params))
    see = "One linear and one RBF kernel of all columns: they see how columns act together."
    builder(
        "Kernels of all columns",
        "together",
        unless=paired,
        help=see + " Pairs of columns take their place." * paired,
    )
    builder(
        "Nonlinear kernels",
        "curved",
        help="Off: every column has a straight line, enough where a linear model does better.",
    )
    builder(
        "Pairs of columns",
        "pairs",
        help=(
            "Products of two columns that explain what single columns do not, on the training rows."
        ),
    )


def _made_of(found: Sequence[Unit], curved: bool) -> str:
    """Return what the kernels of a recommended dictionary look at."""
    kinds = Counter(unit.kind for unit in found)
    counts = [f"{count:,} {KINDS_OF_UNITS[kind][count > 1]}" for kind, count in kinds.items()]
    said = [text for kind, text in KERNELS_OF_KIND.items() if kind in kinds]
    if kinds.keys() - KERNELS_OF_KIND.keys():
        bent = " and an RBF at its median distance" if curved else ""
        others = "each of the others" if said else "each"
        said.append(f"{others} has a linear kernel{bent}")
    return f"Kernels for {joined(counts)}: {'; '.join(said)}."


def _edited(params: parameters.Params) -> None:
    if params.edited:
        st.info(
            "You edited the table of kernels: it takes the place of what is below.",
            icon=":material/edit:",
        )
        st.button(
            "Back to the dictionary below",
            key="builders_back",
            width="stretch",
            on_click=back_to_builders,
        )


def builders() -> None:
    """Draw the builders of the dictionary; a table edited by hand takes their place."""
    params = state.current()
    _edited(params)
    whole_table()
    parts_of_the_table()
    with st.expander(
        "Bands and random choices of columns",
        key="more_builders",
        expanded=bool(params.bands or params.subspaces),
    ):
        bands()
        subspaces()


def whole_table() -> None:
    """Draw the builders of kernels on all columns."""
    builder(
        "RBF kernels of all columns",
        "widths",
        kind=st.slider,
        help=(
            "Widths from a quarter to four times the median distance. More widths: finer "
            "choice of smoothness."
        ),
    )
    builder("Laplacian kernels of all columns", "laplacians", kind=st.slider)
    others = other_kernels()
    builder(
        "Other kernels of all columns",
        "others",
        kind=st.multiselect,
        options=list(others),
        format_func=lambda key: KERNELS[key].word,
        to=lambda text: [key for key in text.split(",") if key in others],
        back=",".join,
    )
    builder("Linear kernel of all columns", "linear")
    builder(
        "Polynomial kernel of all columns",
        "degree",
        options=[0, 2, 3, 4, 5, 6],
        format_func=lambda degree: f"degree {degree}" if degree else "none",
    )


def parts_of_the_table() -> None:
    """Draw the builders of kernels on single columns and on groups."""
    builder("One kernel per column", "each", options=each_column())
    groups = tables.table(state.current()).groups
    count = (
        f"{counted(len(groups), 'group')} in this table."
        if groups
        else "This table has no groups of columns."
    )
    builder("Kernels per group of columns", "groups", unless=not groups, help=count)
    if groups and state.current().groups:
        builder("Of each group", "group_kernels", options=ON_GROUPS)


def bands() -> None:
    """Draw the builder of bands x families."""
    most = max(2, min(100, tables.table(state.current()).n_features))
    builder(
        "Bands of neighbouring columns",
        "bands",
        max_value=most,
        to=lambda count: min(count, most),
        help="For ordered columns, such as wavelengths: each band is one interval of them.",
    )
    if state.current().bands:
        builder("Of each band", "band_kernels", options=ON_BANDS)


def subspaces() -> None:
    """Draw the builder of random choices of columns."""
    builder(
        "Random choices of columns",
        "subspaces",
        help="Each is one kernel of a few columns chosen at random.",
    )
    if not state.current().subspaces:
        return
    most = min(1000, tables.table(state.current()).n_features)
    builder(
        "Columns in each",
        "subspace_size",
        max_value=most,
        to=lambda size: min(size, most),
    )
    builder(
        "Of each choice",
        "subspace_kernel",
        options={key: entry.word for key, entry in KERNELS.items()},
    )
    builder("Seed of the choices", "subspace_seed")


def sequences() -> None:
    """Draw the kernels that every sequence of the table gets."""
    st.markdown("**Sequences**")
    kinds = (("spectrum", "spectrum", 0), ("places", "degree", 0), ("shift", "degree", 1))
    for name, key, place in kinds:
        number = SEQUENCE_KERNELS[key].parameters[place]
        label = f"{SEQUENCE_KERNELS[key].label}: {number.label[0].lower()}{number.label[1:]}"
        builder(
            label,
            name,
            kind=st.slider,
            help=f"{number.help} 0 leaves the kernel out.",
        )


def scale() -> None:
    """Draw normalisation and centring."""
    controls.field_view(
        "Normalisation",
        "normalise",
        options=NORMALISATIONS,
        help="Brings kernels to one scale, so that a weight tells how useful a kernel is.",
    )
    controls.field_view("Centre in feature space", "center")


def stack_words() -> None:
    """Say why a ready stack has no builders."""
    st.info(
        "A ready stack is used as it is: not built, normalised or centred.",
        icon=":material/layers:",
    )
    if state.current().edited:
        st.button(
            "All kernels of the stack",
            key="builders_back",
            width="stretch",
            on_click=back_to_builders,
        )
