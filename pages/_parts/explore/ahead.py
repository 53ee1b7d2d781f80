"""Explore, where a plain model is ahead of the path: say so, and offer the kernels that model is made of."""

from typing import Any

import streamlit as st

from pages._parts.derive import paths, verdicts
from pages._parts.params.parameters import Params
from pages._parts.session import history

MODELS = ("linear", "RBF")
WHOLE = {"recipe": "builders", "widths": 5, "linear": True, "degree": 0, "each": "none", "groups": False, "bands": 0}


def draw(shown: paths.Answer) -> None:
    """Offer what may catch up where a plain model is ahead by more than chance on the held-out rows."""
    params = shown.params
    found = None if shown.waiting or shown.stage else verdicts.verdict(params).value
    if found is None or not params.recommended or params.edited:
        return
    ahead = {name for name in found.ahead_of_us() if name in MODELS}
    offered = offers(params, ahead) if ahead else []
    if not offered:
        return
    caption, presses = st.columns([4, 4], vertical_alignment="center")
    caption.caption("Kernels that may catch up:")
    with presses.container(horizontal=True):
        for label, changes, why in offered:
            st.button(
                label,
                key=f"try_{label}",
                on_click=history.change,
                kwargs=changes | {"at": None},
                type="secondary",
                help=why,
            )


def offers(params: Params, ahead: set[str]) -> list[tuple[str, dict[str, Any], str]]:
    """Return what may catch up with these models: a label, the parameters it changes, and why."""
    found: list[tuple[str, dict[str, Any], str]] = []
    if "linear" in ahead and params.curved:
        found.append(
            ("Straight lines only", {"curved": False}, "Leaves curved kernels out, so that a large C does not overfit.")
        )
    if "RBF" in ahead:
        found.append(("All columns at once", WHOLE, "RBF kernels of all columns in five widths, and a linear one."))
    if params.algorithm == "lp" and dict(params.settings).get("p", 1.0) == 1.0:
        every = {"settings": params.with_setting("p", 2.0).settings}
        found.append(("Every kernel a little", every, "p = 2: for tables where many columns count a little."))
    return found
