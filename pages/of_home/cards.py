"""Home: the samples as cards, each a button with the shares of its columns as bars."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from mklcore.data.samples import SAMPLES
from mklcore.figures import style
from pages.shared.derive import earlier
from pages.shared.session import fields
from pages.shared.session.memory import memory

KEY = "sample_cards"
MOST_BARS = 50
_here = Path(__file__).parent
_cards = st.components.v2.component(
    "sample_cards",
    html='<div class="cards"></div>',
    css=(_here / "cards.css").read_text(encoding="utf-8"),
    js=(_here / "cards.js").read_text(encoding="utf-8"),
)


def draw(take: Callable[[str], None]) -> None:
    """Draw the cards; ``take`` is called with the name of the sample that was pressed."""

    def pressed() -> None:
        picked = fields.report(KEY, "picked")
        if memory().cursors.cards.takes_pick(picked) and picked["name"] in SAMPLES:
            take(picked["name"])

    _cards(key=KEY, data={"cards": cards()}, default={"picked": None}, on_picked_change=pressed)


def cards() -> list[dict[str, Any]]:
    """Return what each card shows: its label, the line on hover, and the effects of its columns as bars."""
    found = earlier.answers()
    return [
        {"name": name, "label": sample.label, "line": sample.teaches}
        | (drawn(found[name]) if name in found else {"bars": (), "largest": "", "share": "", "spoken": ""})
        for name, sample in SAMPLES.items()
    ]


def drawn(answer: earlier.Seen) -> dict[str, Any]:
    """Return the shares that Explore ranks by, the largest of them, and its sentence."""
    first = answer.columns[0]
    return {
        "bars": [round(one.share, 4) for one in answer.columns[:MOST_BARS]],
        "largest": style.cut(first.name, 16),
        "share": f"{100 * first.share:.0f} %",
        "spoken": answer.sentence.replace("*", "").replace("\\", ""),
    }
