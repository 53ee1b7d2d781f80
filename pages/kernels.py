"""Kernels: which views of the data a model may combine, what they cost, and how they relate to each other."""

# ruff: noqa: E402  the door comes first

from pages._parts import nav

nav.through_app()

import pandas as pd
import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import (
    alignment_heatmap,
    eigenvalue_decay,
    gram_heatmap,
    kernel_colours,
    style,
    target_alignment_bar,
)
from mklcore.kernels.measures import effective_rank
from pages._parts import cache, charts, controls, state

NORMALISATIONS = {
    "multiplicative": "unit variance",
    "spherical": "unit length of rows",
    "trace": "trace 1",
    "diag": "largest entry 1",
    "none": "none",
}
EACH = {
    "auto": f"linear, up to {cache.AUTO_FEATURES} columns",
    "none": "none",
    "linear": "linear, every column",
    "rbf": "RBF, every column",
}


def builders() -> None:
    """Draw the builders of the dictionary."""
    state.field_view(st.slider, "RBF kernels of all columns", "widths", min_value=0, max_value=20, step=1)
    st.caption("Widths from a quarter to four times the median distance. More widths: finer choice of smoothness.")
    state.field_view(st.toggle, "Linear kernel of all columns", "linear")
    state.field_view(
        st.selectbox, "Polynomial kernel of all columns", "degree", options=[0, 2, 3, 4, 5, 6],
        format_func=lambda degree: f"degree {degree}" if degree else "none",
    )  # fmt: skip
    state.field_view(
        st.selectbox, "One kernel per column", "each", options=list(EACH), format_func=EACH.__getitem__
    )  # fmt: skip
    groups = cache.table(state.current()).groups
    state.field_view(st.toggle, "One RBF kernel per group of columns", "groups", disabled=not groups)
    st.caption(f"{len(groups)} groups in this table." if groups else "This table has no groups of columns.")
    state.field_view(
        st.selectbox, "Normalisation", "normalise", options=list(NORMALISATIONS),
        format_func=NORMALISATIONS.__getitem__,
    )  # fmt: skip
    state.field_view(st.toggle, "Centre in feature space", "center")
    st.caption("Normalised kernels compete on equal terms: a weight then speaks of fit, not of scale.")


def forecast() -> None:
    """Say what the dictionary costs before it is built."""
    params = state.current()
    n_rows = len(cache.split(params).train.y)
    cost = cache.dictionary(params).foresee(n_rows)
    st.markdown(
        f"**{cost.n_kernels}** kernels on **{n_rows}** training rows: about "
        f"**{style.number(cost.bytes / 1e6)} MB** and **{controls.seconds(cost.seconds)}** to build "
        f"(limit {cache.MEMORY_LIMIT_MB:.0f} MB)."
    )


def table(shown: int) -> None:
    """Draw the kernels as a table; the row chosen is the kernel shown."""
    params = state.current()
    stack, measures = cache.grams(params).train, cache.measures(params)
    frame = pd.DataFrame(
        {
            "kernel": stack.names,
            "alignment with target": measures.target,
            "effective rank": effective_rank(stack),
        }
    )
    st.dataframe(
        frame,
        hide_index=True,
        height=300,
        alt=f"{len(frame)} kernels with alignment with the target and effective rank",
        column_config={
            "kernel": st.column_config.TextColumn(width="medium"),
            "alignment with target": st.column_config.ProgressColumn(
                "alignment", width="small", format="%.3f", min_value=0.0, max_value=1.0, help="With the target"
            ),
            "effective rank": st.column_config.NumberColumn("rank", width="small", format="%.1f", help="Effective"),
        },
    )
    state.view(
        st.selectbox, "Kernel shown", "field_shown", shown, lambda m: state.change(shown=m),
        options=range(stack.n_kernels), format_func=lambda m: stack.names[m],
    )  # fmt: skip


def show() -> None:
    """Draw what the kernels are and how they relate."""
    params, dark = state.current(), charts.is_dark()
    stack, measures, train = cache.grams(params).train, cache.measures(params), cache.split(params).train
    names = charts.labels(stack.names, stack.families)
    shown = min(params.shown, stack.n_kernels - 1)
    for note in stack.notes:
        st.info(controls.plain(note), icon=":material/content_copy:")
    left, right = st.columns(2, gap="large")
    with left:
        table(shown)
    with right:
        st.markdown("**Which kernel agrees with the target**")
        bar = target_alignment_bar(measures.target, names, stack.families, limit=12, dark=dark)
        charts.show(bar, "target_alignment", 330)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**Gram matrix of {controls.plain(stack.names[shown])}**")
        charts.show(gram_heatmap(stack.values[shown], train.y, dark=dark), "gram", 340)
    with right:
        st.markdown("**Which kernels see the same**")
        charts.show(alignment_heatmap(measures.between, names, dark=dark), "alignment", 340)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**How fast its eigenvalues fall**")
        hue = kernel_colours(stack.families, measures.target, dark)[shown]
        decay = eigenvalue_decay(cache.spectrum(params, shown), [stack.names[shown]], colours=[hue], dark=dark)
        charts.show(decay, "spectrum", 280)
    with right:
        st.markdown(controls.text("kernels"))
        nav.link("explore", "See which of them a model uses")


if controls.usable_table():
    with st.sidebar:
        builders()
    try:
        forecast()
        show()
    except MKLError as error:
        st.error(controls.plain(error))
