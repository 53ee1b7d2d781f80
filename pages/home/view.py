"""The first screen."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from mklcore.data.samples import SAMPLES
from mklcore.figures import style
from pages.shared.export import saved
from pages.shared.session import state
from pages.shared.widgets import controls, players

# Cards


KEY = "sample_cards"
MOST_BARS = 50
_here = Path(__file__).parent
_cards = st.components.v2.component(
    "sample_cards",
    html='<div class="cards"></div>',
    css=(_here / "cards.css").read_text(encoding="utf-8"),
    js=(_here / "cards.js").read_text(encoding="utf-8"),
)


def draw_cards(take: Callable[[str], None]) -> None:
    """Draw the cards; ``take`` is called with the name of the sample that was pressed."""

    def pressed() -> None:
        picked = controls.report(KEY, "picked")
        if state.memory().cursors["cards"].is_new(picked) and picked["name"] in SAMPLES:
            take(picked["name"])

    _cards(
        key=KEY,
        data={"cards": cards()},
        default={"picked": None},
        on_picked_change=pressed,
    )


def cards() -> list[dict[str, Any]]:
    """Return what each card shows: its label, the line on hover, and the effects of its columns as
    bars.
    """
    found = saved.earlier_answers()
    return [
        {"name": name, "label": sample.label, "line": sample.teaches}
        | (
            drawn(found[name])
            if name in found
            else {"bars": (), "largest": "", "share": "", "spoken": ""}
        )
        for name, sample in SAMPLES.items()
    ]


def drawn(answer: saved.Seen) -> dict[str, Any]:
    """Return the shares that Explore ranks by, the largest of them, and its sentence."""
    first = answer.columns[0]
    return {
        "bars": [round(one.share, 4) for one in answer.columns[:MOST_BARS]],
        "largest": style.cut(first.name, 16),
        "share": f"{100 * first.share:.0f} %",
        "spoken": answer.sentence.replace("*", "").replace("\\", ""),
    }


def draw() -> None:
    """Draw the first screen; where a table is dropped or chosen Explore follows."""
    toy, table = st.columns([1.7, 1], gap="large")
    with toy:
        st.subheader("Fewer kernels are not always better. Make the truth yourself", anchor=False)
        with st.container(key="start-picture"):
            players.playground()
        state.link("lessons", "All lessons")
    with table:
        st.subheader("Now your table", anchor=False)
        saved.uploader("Upload a table to see which columns predict your target", then=_to_answer)
        draw_cards(_take)


def _take(sample: str) -> None:
    saved.choose(sample)
    _to_answer()


def _to_answer() -> None:
    state.memory().next_page = "explore"
