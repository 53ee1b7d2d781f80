"""Hulls: which columns a model uses and which of them together, in a grid of kernels too many to list."""

# ruff: noqa: E402  the door comes first

from pages._parts import nav

nav.through_app()

import streamlit as st

from mklcore.errors import MKLError
from pages._parts import (
    cache,
    controls,
    evidence,
    hull_player,
    hull_rail,
    hull_reading,
    hull_view,
    hulls,
    jobs,
    player,
    state,
)


def request() -> bool:
    """See to it that the hulls are there or on their way; tell whether a person has to ask for them first."""
    params = state.current()
    if cache.hulls(params).get(hulls.key(params)) is not None:
        return False
    hulls.estimator(params)  # refused in words here rather than in the worker
    job = jobs.mine(hulls.key(params)) or jobs.mine(hulls.quick_key(params))
    quick = cache.hulls(params).get(hulls.quick_key(params)) is not None
    if (job is None and (quick or hulls.is_small(params))) or (job is not None and job.state is jobs.JobState.DONE):
        hulls.ask(params)
        return False
    if job is not None and job.live:
        return False
    if job is None:
        st.info(f"Hulls on {len(cache.split(params).train.y)} rows take a while. Start them when you like.")
    elif job.error:
        st.warning(f"The hulls failed: {controls.plain(job.error)}")
    else:
        st.warning(f"The search was {job.state.value}.")
    st.button("Compute the hulls", key="compute_hulls", type="primary", on_click=hulls.ask, args=(params,))
    return True


@st.fragment
def cursor(shown: hulls.Answer) -> None:
    """Draw the cursor over λ and the hull at it; a release or a click runs only this."""
    hull_player.listen(shown)
    params, between = state.current(), None
    here = player.place(shown.path, params.hull_at)
    wanted = here.exact and not shown.waiting and not shown.provisional
    if wanted:
        between = hulls.exact(shown, here.value)
    hull = between or hulls.at(shown, here.index)
    selected = selection(shown, hull)
    hull_player.player(shown, here.index, between, selected)
    if len(hulls.columns(shown.params)) < 2:
        st.caption("A grid needs two columns: let another one enter.")
    state.end()
    if wanted and between is None:
        hull_view.progress(shown, here.value, hull.value)
    hull_view.facts(shown, hull)
    hull_view.figures(shown, hull)
    hull_view.node(shown, hull, params.hull_node)
    hull_view.every_node(hull)
    evidence.explanation(hulls.METHOD)


def selection(shown: hulls.Answer, hull: hulls.Hull) -> str:
    """Return the node to mark: the one asked for, else the largest of the hull."""
    ranked = hull_reading.by_norm(hull.fitted)
    asked = state.current().hull_node
    return asked or (hull_reading.written(ranked[0], hulls.columns(shown.params)) if ranked else "")


def main() -> None:
    """Draw the page for a table of columns with a target."""
    with st.sidebar:
        hull_rail.rail()
    to_be_asked = request()
    shown = hulls.answer(state.current())
    if shown is not None:
        cursor(shown)
    elif not to_be_asked:
        st.markdown(controls.text("waiting_hulls"))


if controls.usable_table():
    try:
        if cache.on_stack(state.current()):
            st.info(
                "Your file is a stack of ready kernels. Hulls multiply columns, and a stack has none: bring a table. "
                "In Python, `HKLClassifier` and `HKLRegressor` also take Gram matrices of your own, one for each column and "
                "level: an array (p, q + 1, n, n) as `basis`."
            )
            nav.link("data", "Go to Data")
        else:
            main()
    except MKLError as error:
        st.error(controls.plain(error))
