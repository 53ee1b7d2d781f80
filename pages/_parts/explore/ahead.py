"""Explore, where a plain model is ahead of the path: say so, and offer the kernels that model is made of."""

from typing import Any

import numpy as np
import streamlit as st

from mklcore.selection.references import Reference
from pages._parts.derive import paths
from pages._parts.params.parameters import Params
from pages._parts.session import history, words

MARGIN = 0.01  # of a score; less than this is no reason to change anything
MODELS = {"linear": "A linear model", "RBF": "An RBF machine"}
WHOLE = {"recipe": "builders", "widths": 5, "linear": True, "degree": 0, "each": "none", "groups": False, "bands": 0}


def draw(shown: paths.Answer, baselines: dict[str, Reference | None]) -> None:
    """Say which plain models score higher on the validation rows, and offer what may catch up."""
    path, params = shown.path, shown.params
    if shown.waiting or not path.can_choose or not params.recommended or params.edited:
        return
    best = float(np.nanmax(path.val_score))
    _boosting(path.score_name, best, baselines.get("boosting"))
    ahead = {name: one.score for name in MODELS if (one := baselines.get(name)) and one.score > best + MARGIN}
    if not ahead:
        return
    name = max(ahead, key=ahead.__getitem__)
    caption, presses = st.columns([4, 4], vertical_alignment="center")
    caption.info(
        f"{MODELS[name]} scores {words.score(path.score_name, ahead[name])} on the validation rows, the best model of "
        f"this path "
        f"{words.score(path.score_name, best)}."
    )
    with presses.container(horizontal=True):
        for label, changes, why in offers(params, set(ahead)):
            st.button(
                label,
                key=f"try_{label}",
                on_click=history.change,
                kwargs=changes | {"at": None},
                type="secondary",
                help=why,
            )


def _boosting(score_name: str, best: float, found: Reference | None) -> None:
    """Say what it means where gradient boosting is ahead by more than its standard error."""
    if found is None or not found.score - best > max(found.error, MARGIN):
        return
    st.info(
        f"Gradient boosting scores {words.score(score_name, found.score)} on the validation rows, ahead of the best "
        f"model of this path by more than its standard error ({found.error:.2g}): the target has steps, or many "
        "columns act together at once, which smooth kernels of few columns do not follow."
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
