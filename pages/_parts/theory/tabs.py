"""Theory, the tabs: for each theorem its controls and its picture, and how what it measures is asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages._parts.derive import bounds as derive_bounds
from pages._parts.derive import tables
from pages._parts.drawing import refusals
from pages._parts.params.parameters import Params
from pages._parts.session import nav
from pages._parts.session.memory import memory
from pages._parts.theory import conversions, decay, gomp, greedy, hkl, lp, recovery
from pages._parts.theory import rail as theory_rail
from pages._parts.theory.captions import explained
from pages.shared import requests
from pages.shared.work import Failed, Ready

MEASURED = {"conversions": "a model in its two forms"}
NEED_TARGET = ("gomp", "greedy", "hkl")


@dataclass(frozen=True)
class Tab:
    """One tab: its label, the theorem it is about, its controls and its picture; ``measured`` names what a job measures
    for it, "" where nothing is.
    """

    label: str
    paper: str
    rail: Callable[[Params], None]
    draw: Callable[[Params, Any], None]
    measured: str = ""
    columns: bool = False


TABS: dict[str, Tab] = {
    "lp": Tab(
        "ℓp-norm MKL", "Kloft, Brefeld, Sonnenburg, Zien (2011), Corollaries 9 to 11", theory_rail.lp, lp.draw, "lp"
    ),
    "conversions": Tab(
        "Conversions",
        "Kloft, Brefeld, Sonnenburg, Zien (2011), Theorems 1 and 6",
        theory_rail.conversions,
        conversions.draw,
        "lp",
    ),
    "gomp": Tab("MKL-GOMP", "Sindhwani and Lozano (2011), Theorem 1", theory_rail.gomp, gomp.draw, "gomp"),
    "recovery": Tab(
        "Recovery",
        "Sindhwani and Lozano (2011), Theorem 2; Jin, Yang and Mahdavi (2013), Proposition 2",
        theory_rail.recovery,
        recovery.draw,
        "recovery",
    ),
    "greedy": Tab(
        "Greedy descent", "Jin, Yang and Mahdavi (2013), Theorems 1 and 5", theory_rail.greedy, greedy.draw, "greedy"
    ),
    "decay": Tab("Fast descent", "Jin, Yang and Mahdavi (2013), Lemma 3 and Theorem 4", theory_rail.decay, decay.draw),
    "duplicates": Tab(
        "Duplicates", "Jin, Yang and Mahdavi (2013), section 2", theory_rail.duplicates, greedy.duplicates
    ),
    "hkl": Tab("Hulls", "Bach (2008), Propositions 4 and 5", theory_rail.hkl, hkl.draw, "hkl", columns=True),
}


def _measured(params: Params, name: str) -> Any:
    """Return what the tab measures: at once where the table is small, else once its button was pressed; None before."""
    if (known := derive_bounds.known(params, name)) is not None:
        return known
    if derive_bounds.entries(params, name) > derive_bounds.SMALL_ENTRIES:
        place = st.container(horizontal=True, vertical_alignment="center", gap="small")
        with place:
            if not requests.pressed("Measure", "measure", (name, *derive_bounds.bottom(params)), type="primary"):
                what = MEASURED.get(params.theory, "errors")
                st.info(f"Measuring takes a while here. It puts {what} beside the bounds, which are there at once.")
                return None
    found = derive_bounds.measured(params, name)
    if isinstance(found, Failed):
        refusals.draw(found, "measure_refused")
    return found.value if isinstance(found, Ready) else None


def lacking(params: Params) -> str:
    """Return what the table lacks for the tab in use; nothing where it has all that is needed."""
    if TABS[params.theory].columns and tables.on_stack(params):
        return "A hull is built from columns, and the upload is a ready kernel stack without them. Choose a table."
    if params.theory in NEED_TARGET and not derive_bounds.has_target(params):
        return "This theorem is about predicting a target, and the table has none. Choose one on the Data page."
    return ""


def begin(params: Params) -> tuple[bool, Any]:
    """Draw the head of the tab; tell whether there is anything to draw below it, and what was measured by now."""
    tab, lack = TABS[params.theory], lacking(params)
    if lack:
        st.info(lack)
        nav.link("data", "Go to Data")
        return False, None
    if tab.measured == "lp" and not derive_bounds.classes(params):
        what = "this target is a number" if derive_bounds.has_target(params) else "this table has no target"
        about, rest = ("The bounds on the error are", "price") if params.theory == "lp" else ("The models are", "bound")
        st.info(f"{about} about classes, and {what}. The {rest} needs no target.")
    elif tab.measured:
        return True, _measured(params, tab.measured)
    return True, None


def show(params: Params, found: Any) -> None:
    """Draw the picture of the tab with what has been measured, or the one before it, and the words about it."""
    tab, bottom = TABS[params.theory], derive_bounds.bottom(params)
    mind = memory().theory
    if found is not None:
        mind.last[tab.measured] = bottom, found
    elif tab.measured and mind.last.get(tab.measured, (None,))[0] == bottom:
        found, mind.waiting = mind.last[tab.measured][1], True
        st.caption("The picture answers the settings before these, until the new ones are measured.")
    try:
        tab.draw(params, found)
    finally:
        mind.waiting = False
    explained(params.theory)
    target = derive_bounds.target_as_text(params) if tab.measured and params.theory != "recovery" else ""
    st.caption(f"{tab.paper}. {target}")
