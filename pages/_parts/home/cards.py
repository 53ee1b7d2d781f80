"""Home: the samples as cards, each a button with the shares of its columns as bars."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from mklcore.data.samples import SAMPLES
from mklcore.figures import style
from pages._parts.derive import earlier
from pages._parts.session import fields
from pages._parts.session.memory import memory

KEY = "sample_cards"
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
    """Return what each card shows: its label, the line on hover, its bars, and what they say."""
    found = earlier.answers()
    return [
        {
            "name": name,
            "label": sample.label,
            "line": sample.teaches,
            "bars": found[name].shares if name in found else (),
            "largest": _short(found[name].largest) if name in found else "",
            "share": f"{100 * found[name].shares[0]:.0f} %" if name in found else "",
            "spoken": spoken(found[name]) if name in found else "",
        }
        for name, sample in SAMPLES.items()
    ]


def _short(name: str) -> str:
    return style.cut(name.removesuffix(" together"), 16)


def spoken(answer: earlier.SampleAnswer) -> str:
    """Return what the picture of a sample shows."""
    used = sum(share >= 0.01 for share in answer.shares)
    score = "" if answer.score is None else f" Validation {answer.score_name} {style.number(answer.score)}."
    return (
        f"Bars: shares of the kernel weights, largest first. {answer.largest} has {100 * answer.shares[0]:.0f} %; "
        f"{used} of {answer.count} have 1 % or more.{score}"
    )
