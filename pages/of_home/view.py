"""Home: one slider over p moves errors, paths and weights of made data; beside it a table can be dropped."""

import streamlit as st

from mklcore.gallery.lessons import OPENING
from pages.of_home import cards
from pages.shared import uploading
from pages.shared.drawing import charts
from pages.shared.players import path_player
from pages.shared.session import nav
from pages.shared.session.memory import memory

SWEEP_MS = 2000.0
PANEL_REM = 11.0  # height of a panel: all three and the samples fit on a small laptop


def draw() -> None:
    """Draw the first screen; where a table is dropped or chosen Explore follows."""
    toy, table = st.columns([1.7, 1], gap="large")
    with toy:
        scene()
    with table:
        st.subheader("Now your table", anchor=False)
        uploading.uploader("Upload a table to see which columns predict your target", then=_to_answer)
        cards.draw(_take)


def scene() -> None:
    """Draw the made data: errors, paths and weights on one slider, which plays once."""
    found, facts = OPENING.found, OPENING.facts
    sweep = {"stops": [0, len(found.at) - 1, found.start], "time": SWEEP_MS}
    drawn = OPENING.drawn(dark=charts.is_dark(), sweep=sweep)
    drawn["chart"] |= {"rows": [PANEL_REM], "grows": True}
    st.subheader("Fewer kernels are not always better. Drag to see why", anchor=False)
    with st.container(key="start-picture"):
        path_player.picture(drawn, "home", first=True)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"):
        st.caption(
            f"{facts['rows']} training rows, {facts['features']} columns, one linear kernel each. Errors: mean of "
            f"{facts['draws']} replications. Bayes error {facts['bayes']} %.",
            width="content",
        )
        nav.link("lessons", "All lessons")


def _take(sample: str) -> None:
    uploading.choose(sample)
    _to_answer()


def _to_answer() -> None:
    memory().next_page = "explore"
