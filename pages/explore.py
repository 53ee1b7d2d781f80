"""Explore: which kernels a model uses along a path, with a cursor one can drag, and how sure the answer is."""

# ruff: noqa: E402  the door comes first

from pages._parts import nav

nav.through_app()

from dataclasses import replace

import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import explore_figure
from pages._parts import cache, charts, controls, evidence, jobs, model, player, state

COLUMNS = (1.3, 3)


def rail() -> None:
    """Draw the algorithm and its parameters, all but the one the path runs over."""
    params = state.current()
    method, task = model.algorithm(params), cache.table(params).task
    state.view(
        st.selectbox, "Algorithm", "field_algorithm", params.algorithm,
        lambda name: state.change(algorithm=name, path="", at=None),
        options=list(state.METHODS), format_func=lambda name: state.METHODS[name].label,
    )  # fmt: skip
    st.caption(method.one_line)
    if len(method.path_params) > 1:
        state.view(
            st.segmented_control, "Path over", "field_path", model.runs_over(params).key,
            lambda name: state.change(path=name, at=None),
            options=list(method.path_params), format_func=player.symbol, required=True,
        )  # fmt: skip
        st.caption(model.runs_over(params).help)
    controls.algorithm_controls(method, task, without=model.runs_over(params).attribute)


def request() -> bool:
    """See to it that the path is there or on its way; tell whether a person has to ask for it first."""
    params = state.current()
    if model.known(params) is not None:
        return False
    job = jobs.mine(model.key(params))
    if job is None and model.is_small(params):
        model.ask(params)
        return False
    if job is not None and (job.live or job.state is jobs.JobState.DONE):
        return False
    if job is None:
        stack = cache.grams(params).train
        st.info(
            f"A path over {stack.n_kernels} kernels on {stack.n_samples} rows takes a while. Start it when you like."
        )
    elif job.error:
        st.warning(f"The path failed: {controls.plain(job.error)}")
    else:
        st.warning(f"The path was {job.state.value}.")
    st.button("Compute the path", key="compute", type="primary", on_click=model.ask, args=(params,))
    return True


def figure(shown: model.Answer) -> None:
    """Draw the constant figure of the path; the cursor is laid over it in the browser."""
    dark, path = charts.is_dark(), shown.path
    named = replace(path, kernel_names=charts.labels(path.kernel_names, path.kernel_families))
    key = ("figure", model.key(shown.params), dark)
    drawn = cache.shelf(shown.params).made(key, lambda: explore_figure(named, dark=dark))
    charts.show(charts.dimmed(drawn, dark=dark) if shown.waiting else drawn, player.CHART)


@st.fragment
def cursor(shown: model.Answer) -> None:
    """Draw the cursor's slider, the number box, and what is known at the cursor; a release runs only this."""
    path, name = shown.path, (model.key(shown.params), shown.waiting)
    player.listen(path, name)
    params = state.current()
    here, exact = player.place(path, params.at), None
    if here.exact and not shown.waiting:
        try:
            exact = model.point(params, here.value)
        except MKLError as error:
            st.error(controls.plain(error))
            here = player.place(path, None)
    left, right = st.columns(COLUMNS, gap="medium", vertical_alignment="center")
    with left:
        evidence.number_box(path, here)
    with right:
        player.player(path, name, here, exact, waiting=shown.waiting)
    state.end()
    point, index = (exact, 0) if exact else (path, here.index)
    evidence.show(point, index, shown.params)
    evidence.explanation(model.algorithm(shown.params))
    evidence.weights_table(point, path, index)


def show(shown: model.Answer) -> None:
    """Draw the answer: weights at the cursor, the path, the scores, and what stands behind them."""
    here = player.place(shown.path, state.current().at)
    left, right = st.columns(COLUMNS, gap="medium")
    with left:
        player.bars(shown.path, here.index, dark=charts.is_dark(), waiting=shown.waiting)
    with right:
        figure(shown)
    cursor(shown)


if controls.usable_table():
    with st.sidebar:
        rail()
    try:
        to_be_asked = request()
        shown = model.answer(state.current())
        if shown is not None:
            show(shown)
        elif not to_be_asked:
            st.markdown(controls.text("waiting"))
    except MKLError as error:
        st.error(controls.plain(error))
