"""Kernels: which views of the data a model may combine, what they cost, and how they relate to each
other.
"""

import numpy as np
import streamlit as st

from mklcore.figures import (
    alignment_heatmap,
    captions,
    eigenvalue_decay,
    gram_heatmap,
    kernel_colours,
    kernels_by_column,
    style,
)
from pages.kernels import sidebar, table
from pages.shared import frame
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.session.parameters import Params
from pages.shared.values import dictionaries, tables
from pages.shared.widgets import controls, drawing

MAP_WIDTH = 480  # px: a heat map is square, and its scale stands beside it


def forecast() -> None:
    """Say what the dictionary costs before it is built."""
    params = state.current()
    cost = dictionaries.foresee(params)
    n_rows = len(dictionaries.parts(params).train.y)
    built = "" if tables.on_stack(params) else f" and **{captions.seconds(cost.seconds)}** to build"
    st.markdown(
        f"{drawing.about(params)}: **{cost.n_kernels}** kernels on **{n_rows:,}** training "
        f"rows: about **{style.number(cost.megabytes)} MB**{built} (limit "
        f"{dictionaries.MEMORY_LIMIT_MB:,.0f} MB)."
    )


def chosen_kernel(shown: int) -> None:
    """Draw the choice of the kernel shown."""
    # a widget keeps its functions: they must not keep the stack
    names = dictionaries.grams(state.current()).names
    controls.view(
        st.selectbox,
        "Kernel shown",
        "field_shown",
        shown,
        lambda m: state.change(shown=m),
        options=range(len(names)),
        format_func=names.__getitem__,
    )
    st.caption("Click a row of the table, or choose here.")


def _by_column(is_labelled: bool) -> None:
    """Draw the kernels of every column by how much each agrees with the target, or by rank where
    there is none.
    """
    params = state.current()
    dark = drawing.is_dark()
    stack = dictionaries.grams(params)
    names = captions.labels(stack.names, stack.families)
    traits = table.measured(params)
    values = traits.ranks
    title = "effective rank"
    if is_labelled:
        values = traits.target
        title = "alignment with the target"
    best = int(np.nanargmax(values))
    st.markdown(
        (
            f"**{plain(stack.names[best])}** has the largest {title}, "
            f"{style.number(float(values[best]))}."
        )
        + (" A perfect match has 1." if is_labelled else "")
    )
    drawing.show(
        kernels_by_column(
            table.by_column(params),
            values,
            names,
            captions.families(stack.names, stack.families),
            title,
            dark=dark,
        ),
        "by_column",
    )


def show() -> None:
    """Draw what the kernels are and how they relate."""
    params = state.current()
    dark = drawing.is_dark()
    stack = dictionaries.grams(params)
    traits = table.measured(params)
    train = dictionaries.parts(params).train
    names = captions.labels(stack.names, stack.families)
    shown = min(params.shown, stack.n_kernels - 1)
    labels = None if train.task == "novelty" else train.y
    _by_column(labels is not None)
    table.look_out()
    left, right = st.columns(2, gap="large")
    with left:
        table.overview(shown)
    with right:
        st.markdown("**Which kernels say the same**")
        drawing.show(
            alignment_heatmap(traits.between, names, dark=dark), "alignment", 340, MAP_WIDTH
        )
    left, right = st.columns(2, gap="large")
    with left:
        chosen_kernel(shown)
        st.markdown(f"**Gram matrix of {plain(stack.names[shown])}**")
        drawing.show(gram_heatmap(stack.values[shown], labels, dark=dark), "gram", 340, MAP_WIDTH)
    with right:
        st.markdown("**Eigenvalues, the largest first**")
        ranking = traits.ranks if labels is None else traits.target
        families = captions.families(stack.names, stack.families)
        hues = [kernel_colours(families, ranking, dark)[shown], style.theme(dark).grey]
        called = [stack.names[shown], "mean of all"]
        drawing.show(
            eigenvalue_decay(table.spectrum(params, shown), called, colours=hues, dark=dark),
            "spectrum",
            280,
        )
        st.caption(
            "A kernel with few large eigenvalues is smooth and simple. A linear kernel of "
            "one column has one."
        )
    st.markdown(drawing.text("kernels"))
    state.link("explore", "See which of them a model uses")


def edit() -> None:
    """Draw the dictionary as a table to edit, folded until it is wanted."""
    with st.expander(
        "Edit the dictionary as a table", key="edit_box", expanded=bool(state.current().edited)
    ):
        st.caption(
            (
                "Switch kernels off, change a cell, add rows at the end, remove rows with the "
                "box on their left. Your table then takes the place of the suggestion and the "
                "builders."
            )
            if not tables.on_stack(state.current())
            else "Switch kernels of the stack on and off."
        )
        table.edit()


def page(params: Params) -> None:
    """Draw the page."""
    with st.sidebar:
        if tables.on_stack(params):
            sidebar.stack_words()
        else:
            sidebar.draw()
    forecast()
    edit()
    show()


frame.with_table(page)
