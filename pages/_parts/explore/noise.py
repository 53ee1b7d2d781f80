"""Explore, beside the ranking: which columns are distinguishable from noise, on request, and how that is known."""

import streamlit as st

from mklcore.uncertainty import ColumnSelection
from pages._parts.derive import noise
from pages._parts.params.parameters import Params
from pages._parts.session import board, history, words

ASKED = {
    "stability": ("By half samples", "At most one false column is expected among those named: 50 quick fits"),
    "knockoffs": (
        "By knockoffs",
        "At most a tenth of the named columns is expected to be false; ten have to stand out",
    ),
}


def known(params: Params) -> dict[str, ColumnSelection]:
    """Return what has been computed, by method."""
    if not noise.can_be_selected(params):
        return {}
    found = {method: noise.selection(params, method).value for method in ASKED}
    return {method: one for method, one in found.items() if one is not None}


def indistinct(found: dict[str, ColumnSelection]) -> frozenset[str]:
    """Return the columns that no method names, of those methods that could name any."""
    able = [one for one in found.values() if one.names]
    if not able:
        return frozenset()
    return frozenset(able[0].statistics).difference(*(one.names for one in able))


def shares(found: dict[str, ColumnSelection]) -> dict[str, float]:
    """Return the selection probability of every column, where half samples were drawn."""
    return found["stability"].statistics if "stability" in found else {}


def offer(params: Params) -> None:
    """Draw what is known and a button for each method that is not: progress and cancelling stand beside the title."""
    if not noise.can_be_selected(params):
        return
    found = known(params)
    for one in found.values():
        st.caption(words.plain(one.notes[0]))
    if indistinct(found):
        st.caption("Grey: not distinguishable from noise, given all other columns.")
    left = [method for method in ASKED if method not in found]
    if not left:
        return
    st.caption("Is a column's place real, or could noise have it? Asked of all rows but the test rows:")
    for box, method in zip(st.columns(2), left, strict=False):
        label, hint = ASKED[method]
        asked = board.mine(noise.selection(params, method).key)
        live = asked is not None and asked.live
        if asked is not None and not live:
            box.warning(f"{label}: the fits {board.ending(asked, 'were')}")
        box.button(
            "Being computed" if live else label, key=f"ask_noise_{method}", help=hint, on_click=_ask, args=(method,),
            width="stretch", disabled=live,
        )  # fmt: skip


def _ask(method: str) -> None:
    board.ask(noise.job(history.current(), method))
