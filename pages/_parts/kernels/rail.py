"""Kernels, the rail: the builders of the dictionary, and how kernels are brought to one scale."""

import streamlit as st

from mklcore.data.dataset import counted
from mklcore.kernels.functions import KERNELS
from mklcore.kernels.recipes import AUTO_FEATURES, other_kernels
from pages._parts.derive import tables
from pages._parts.session import fields, history

NORMALISATIONS = {
    "auto": "as the algorithm has it",
    "multiplicative": "unit variance",
    "spherical": "unit length of rows",
    "trace": "trace 1",
    "diag": "largest entry 1",
    "none": "none",
}
ON_GROUPS = {"rbf": "RBF", "linear": "linear", "both": "linear and RBF"}
ON_BANDS = ON_GROUPS | {"spectral": "linear, cubic and two RBF (spectra)"}


def each_column() -> dict[str, str]:
    """Return the kernels that every column may get, with their words."""
    first = {"auto": f"linear, up to {AUTO_FEATURES} columns", "none": "none"}
    return first | {key: f"{entry.word}, every column" for key, entry in KERNELS.items()}


def back_to_builders() -> None:
    """Let the builders make the dictionary again."""
    history.change(edited="")


def builders() -> None:
    """Draw the builders of the dictionary; a table edited by hand takes their place."""
    params = history.current()
    off = bool(params.edited)
    if off:
        st.info("The table is edited by hand, so the builders wait.", icon=":material/edit:")
        st.button("Back to the builders", key="builders_back", width="stretch", on_click=back_to_builders)
    whole_table(off)
    parts_of_the_table(off)
    with st.expander(
        "Bands and random choices of columns", key="more_builders", expanded=bool(params.bands or params.subspaces)
    ):
        bands(off)
        subspaces(off)
    scale()


def whole_table(off: bool) -> None:
    """Draw the builders of kernels on all columns."""
    fields.field_view(
        st.slider, "RBF kernels of all columns", "widths", min_value=0, max_value=20, step=1, disabled=off
    )
    fields.field_view(
        st.slider, "Laplacian kernels of all columns", "laplacians", min_value=0, max_value=20, step=1, disabled=off
    )
    others = other_kernels()
    fields.field_view(
        st.multiselect, "Other kernels of all columns", "others", options=list(others), disabled=off,
        format_func=lambda key: KERNELS[key].word, to=lambda text: [key for key in text.split(",") if key in others],
        back=",".join,
    )  # fmt: skip
    st.caption("Widths from a quarter to four times the median distance. More widths: finer choice of smoothness.")
    fields.field_view(st.toggle, "Linear kernel of all columns", "linear", disabled=off)
    fields.field_view(
        st.selectbox, "Polynomial kernel of all columns", "degree", options=[0, 2, 3, 4, 5, 6], disabled=off,
        format_func=lambda degree: f"degree {degree}" if degree else "none",
    )  # fmt: skip


def parts_of_the_table(off: bool) -> None:
    """Draw the builders of kernels on single columns and on groups."""
    _choice("One kernel per column", "each", each_column(), off)
    groups = tables.table(history.current()).groups
    fields.field_view(st.toggle, "Kernels per group of columns", "groups", disabled=off or not groups)
    st.caption(f"{counted(len(groups), 'group')} in this table." if groups else "This table has no groups of columns.")
    if groups and history.current().groups:
        _choice("Of each group", "group_kernels", ON_GROUPS, off)


def bands(off: bool) -> None:
    """Draw the builder of bands x families."""
    most = max(2, min(100, tables.table(history.current()).n_features))
    fields.field_view(
        st.number_input, "Bands of neighbouring columns", "bands", min_value=0, max_value=most, step=1, disabled=off,
        to=lambda count: min(count, most),
    )  # fmt: skip
    if history.current().bands:
        _choice("Of each band", "band_kernels", ON_BANDS, off)
    st.caption("For columns in an order, such as wavelengths: each band is one stretch of them.")


def subspaces(off: bool) -> None:
    """Draw the builder of random choices of columns."""
    fields.field_view(
        st.number_input, "Random choices of columns", "subspaces", min_value=0, max_value=100, step=1, disabled=off
    )
    st.caption("Each is one kernel that sees a few columns only, drawn by chance.")
    if not history.current().subspaces:
        return
    most = min(1000, tables.table(history.current()).n_features)
    fields.field_view(
        st.number_input, "Columns in each", "subspace_size", min_value=1, max_value=most, step=1, disabled=off,
        to=lambda size: min(size, most),
    )  # fmt: skip
    _choice("Of each choice", "subspace_kernel", {key: entry.word for key, entry in KERNELS.items()}, off)
    fields.field_view(
        st.number_input, "Seed of the choices", "subspace_seed", min_value=0, max_value=9999, step=1, disabled=off
    )


def scale() -> None:
    """Draw normalisation and centring."""
    _choice("Normalisation", "normalise", NORMALISATIONS, False)
    fields.field_view(st.toggle, "Centre in feature space", "center")
    st.caption("Normalised kernels compete on equal terms: a weight then speaks of fit, not of scale.")


def stack_words() -> None:
    """Say why a ready stack has no builders."""
    st.info("A ready stack is used as it is: not built, normalised or centred.", icon=":material/layers:")
    if history.current().edited:
        st.button("All kernels of the stack", key="builders_back", width="stretch", on_click=back_to_builders)


def _choice(label: str, name: str, options: dict[str, str], off: bool) -> None:
    fields.field_view(st.selectbox, label, name, options=list(options), format_func=options.__getitem__, disabled=off)
