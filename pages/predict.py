"""Predict: what the model at Explore's cursor says about one row or a whole file, and everything to take away."""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()

import streamlit as st

from mklcore.errors import MKLError
from pages._parts.derive import predictions, settling, tables
from pages._parts.drawing import asking, preliminary, refusals
from pages._parts.frame import notices
from pages._parts.predict import away as predict_away
from pages._parts.predict import batch, view
from pages._parts.session import history, words

TABS = ("One row", "A whole file", "Take away")


def settle() -> None:
    """Mark a model that folds have not chosen yet, and start what settles it, unless a person chose the place."""
    params = history.current()
    if params.at is None and (points := settling.open_points(params, model=True)):
        preliminary.note(preliminary.follow(points))
        preliminary.settle(params, model=True)


def show(point: predictions.Chosen) -> None:
    """Draw the model's answers."""
    view.facts(point)
    settle()
    row, file, away = st.tabs(TABS, key="predict_tabs", on_change="rerun")
    if row.open:
        with row:
            view.what_if(point)
    if file.open:
        with file:
            batch.show(point)
    if away.open:
        with away:
            predict_away.show(point)


if notices.usable_table():
    if tables.on_stack(history.current()):
        st.info(
            "The kernels in use came as a ready stack, without columns. Predictions need a table: choose one on Data."
        )
        nav.link("data", "Go to Data")
    else:
        try:
            asking.path()
            point = predictions.chosen(history.current())
            if point is not None:
                show(point)
            else:
                st.markdown(words.text("waiting_predict"))
                nav.link("explore", "See the path on Explore")
        except MKLError as error:
            refusals.draw(error, "predict_refused")
