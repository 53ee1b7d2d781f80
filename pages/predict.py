"""Predict: what the model at Explore's cursor says about one row or a whole file, and everything to take away."""

# ruff: noqa: E402  the door comes first

from pages._parts import nav

nav.through_app()

import streamlit as st

from mklcore.errors import MKLError
from pages._parts import cache, controls, jobs, model, predict, predict_away, predict_batch, predict_view, state

TABS = ("One row", "A whole file", "Take away")


def request() -> None:
    """See to it that the path with the model is there or on its way, or let the person ask for it."""
    params = state.current()
    job = jobs.mine(model.key(params))
    if job is None and model.is_small(params):
        model.ask(params)
        return
    if job is not None and (job.live or job.state is jobs.JobState.DONE):
        return
    if job is None:
        st.info("The model comes from a path that takes a while here. Start it when you like.")
    elif job.error:
        st.warning(f"The path failed: {controls.plain(job.error)}")
    else:
        st.warning(f"The path was {job.state.value}.")
    st.button("Compute the path", key="compute", type="primary", on_click=model.ask, args=(params,))


def show(point: predict.Chosen) -> None:
    """Draw the model's answers."""
    predict_view.facts(point)
    row, file, away = st.tabs(TABS, key="predict_tabs", on_change="rerun")
    if row.open:
        with row:
            predict_view.what_if(point)
    if file.open:
        with file:
            predict_batch.show(point)
    if away.open:
        with away:
            predict_away.show(point)


if controls.usable_table():
    if cache.on_stack(state.current()):
        st.info(
            "The kernels in use came as a ready stack, without columns. Predictions need a table: choose one on Data."
        )
        nav.link("data", "Go to Data")
    else:
        try:
            if model.known(state.current()) is None:
                request()
            point = predict.chosen(state.current())
            if point is not None:
                show(point)
            else:
                st.markdown(controls.text("waiting_predict"))
                nav.link("explore", "See the path on Explore")
        except MKLError as error:
            st.error(controls.plain(error))
