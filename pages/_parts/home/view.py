"""Home: one slider over p moves errors, paths and weights of made data; beside it a table can be dropped."""

import streamlit as st

from mklcore.figures import players
from pages._parts.data import rail
from pages._parts.derive import earlier
from pages._parts.drawing import charts
from pages._parts.home import cards
from pages._parts.session import nav
from pages._parts.session.memory import memory

SWEEP_MS = 2000.0
PANEL_REM = 11.75  # height of a panel: all three and the samples fit on a small laptop
_scene = st.components.v2.component("home_scene", **players.player("lesson")._asdict())


def draw() -> None:
    """Draw the first screen; where a table is dropped or chosen Explore follows."""
    toy, table = st.columns([1.7, 1], gap="large")
    with toy:
        scene()
    with table:
        st.subheader("Now your table", anchor=False)
        rail.uploader("Drop a table: Explore ranks its columns", then=_to_answer)
        cards.draw(_take)


def scene() -> None:
    """Draw the made data: errors, paths and weights on one slider, which plays once."""
    found = earlier.story("opening")
    if found is None:
        nav.link("lessons", "All lessons")
        return
    drawn = found.scenes["dark" if charts.is_dark() else "light"]
    last = len(drawn["steps"]) - 1
    _scene(
        key="home_scene",
        data={
            "lesson": "opening",
            **{name: drawn[name] for name in ("steps", "said")},
            "panels": [panel | {"height": PANEL_REM} for panel in drawn["panels"]],
            "index": drawn["start"],
            "turn": 1,
            "sweep": {"stops": [0, last, drawn["start"]], "time": SWEEP_MS},
        },
        default={"report": None},
        on_report_change=lambda: None,
    )
    facts = found.facts
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"):
        st.caption(
            f"{facts['rows']} training rows, {facts['features']} columns, one linear kernel each. Errors: mean of "
            f"{facts['draws']} replications. Bayes error {facts['bayes']} %.",
            width="content",
        )
        nav.link("lessons", "All lessons")


def _take(sample: str) -> None:
    rail.choose(sample)
    _to_answer()


def _to_answer() -> None:
    memory().next_page = "explore"
