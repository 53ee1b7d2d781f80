"""Explore: which columns and kernels a model uses along a path, with a cursor one can drag, and how sure the answer
is.
"""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()


import streamlit as st

from mklcore.errors import MKLError
from mklcore.selection.scoring import ACCEPTED
from pages._parts.derive import looks, paths, references, tables
from pages._parts.drawing import asking as drawing_asking
from pages._parts.drawing import beside, evidence, preliminary, refusals
from pages._parts.explore import (
    asking,
    chart,
    columns,
    cursor,
    many_rows,
    path,
    rail,
    repeats,
    tuning,
    verdict,
)
from pages._parts.frame import notices
from pages._parts.params import parameters
from pages._parts.params import places as params_places
from pages._parts.params.algorithms import METHODS
from pages._parts.players import path_player
from pages._parts.session import fields, history, words

LOOKS = {"columns": "Columns", "path": "Path", "inside": "Inside"}


def show(shown: paths.Answer) -> None:
    """Draw the answer: verdict, chart and handle, or the path, or the inside of the model; then what stands behind."""
    params = history.current()
    with st.container(key="explore_looks", horizontal=True, vertical_alignment="center", gap="small"):
        fields.view(
            st.segmented_control, "What to look at", "field_look", params.look, lambda look: history.change(look=look),
            options=LOOKS, required=True, label_visibility="collapsed",
        )  # fmt: skip
        _go_on(params)
    here = params_places.place(shown.path, params.at)
    verdict.draw(shown)
    baselines = references.known(shown.params)
    follows: list[path_player.View] = []
    if params.look == "columns":
        follows = columns.views(shown, baselines)
        chart.draw(shown, here.index)
    elif params.look == "path":
        follows = path.draw(shown, here.index, baselines)
    cursor.draw(shown, follows, baselines, paths.key(params))
    if params.look == "columns":
        columns.deeper(shown, here.index, baselines)
    if shown.path.score_name == ACCEPTED:
        st.caption(words.text("accepted"))
    many_rows.draw(shown)
    tuning.draw(shown)
    repeats.repeats(shown.params)
    with st.expander("The problem that is solved, and how to read it", icon=":material/functions:", type="compact"):
        evidence.explanation(paths.algorithm(shown.params), paths.words_for(shown.params))
    preliminary.request(shown)
    if not (shown.waiting or shown.earlier):
        beside.score_all([shown.params])
        many_rows.follow(shown)


def _go_on(params: parameters.Params) -> None:
    """Say what the slider does and which pages go on from here."""
    if params.present:
        return
    st.caption("Go on:", width="content")
    if tables.table(params).task != "novelty":
        nav.link("compare", "Compare")
    if not tables.on_stack(params):
        nav.link("predict", "Predict")


def usable() -> bool:
    """Tell whether the method in use can learn from the table; if not, say what to do."""
    if not notices.usable_table():
        return False
    method, task = paths.algorithm(history.current()), tables.table(history.current()).task
    if method.fits(task):
        return True
    st.info(f"{method.label} needs a target, and this table has none. Take a method that learns without one, or "
            f"choose a "
            "target on the Data page.")  # fmt: skip
    for name in METHODS.offered(task):
        st.button(
            f"Take {METHODS[name].label}", key=f"take_{name}", type="primary", on_click=history.change,
            kwargs={"algorithm": name, "path": "", "at": None},
        )  # fmt: skip
    nav.link("data", "Go to Data")
    return False


if usable():
    try:
        many_rows.settle()
        with st.sidebar:
            rail.draw()
        shown = looks.answer(history.current())
        came_earlier = shown is not None and shown.earlier and not shown.stage
        looking = not came_earlier and asking.look()
        shown = looks.answer(history.current())
        drawn_first = shown is not None and bool(shown.stage)
        to_be_asked = not (looking or drawn_first or came_earlier) and drawing_asking.path()
        shown = looks.answer(history.current())
        if shown is not None:
            with st.container(key=f"explore_answer_{history.current().look}"):
                show(shown)
            if drawn_first:
                asking.go_on()
        elif not to_be_asked:
            st.markdown(words.text("waiting"))
        if shown is not None and came_earlier:
            asking.follow(shown.params)
    except MKLError as error:
        refusals.draw(error, "explore_refused")
