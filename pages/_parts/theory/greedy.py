"""Theory of greedy descent: its rate beside the distance measured, and what copies of a kernel do to every rule."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore import theory
from mklcore.figures import Curve, duplicate_bars, style
from pages._parts.derive import bounds as derive_bounds
from pages._parts.drawing import charts
from pages._parts.params.parameters import Params
from pages._parts.session import words
from pages._parts.theory.captions import bound, picture, speaks, vacuous


def draw(params: Params, found: theory.GreedyMeasured | None) -> None:
    """Draw the bound on the distance to the optimum over the kernels chosen, beside the distance measured."""
    if found is None:
        st.caption("The picture appears here once the steps are solved.")
        return
    if found.d.size < 2:
        st.info("One kernel is enough at this λ: the theorem speaks from the second kernel on. Take a smaller share.")
        return
    bounds = np.array([float(theory.greedy_rate_bound(found.norm, int(d))) for d in found.d])
    shown = np.where(found.excess > 1e-12, found.excess, np.nan)
    curves = [Curve("the bound", bounds), Curve("measured", shown, "test")]
    _words(params, found, bounds)
    st.markdown("**The bound on the distance to the optimum** beside the distance measured")
    bound(
        "theory_rate",
        found.d,
        curves,
        x_title="d, kernels chosen",
        y_title="L(f) above the optimum",
        level=found.start,
        level_name="f = 0 is as close as",
    )
    st.caption(_risk_words(params, found))


def _words(params: Params, found: theory.GreedyMeasured, bounds: np.ndarray) -> None:
    text = (
        f"λ = {style.number(found.lam)}, critical λ = {style.number(found.critical)}, ‖f*‖ = "
        f"{style.number(found.norm)}; "
        f"{style.counted(len(found.order), 'kernel')} chosen until the optimum."
    )
    speaking = np.flatnonzero(bounds < found.start)
    if speaking.size:
        first = int(found.d[speaking[0]])
        speaks(f"From d = {first} on the bound is better than f = 0. {text}")
    else:
        needed = int(np.floor(2 * found.norm**2 / found.start)) + 2
        vacuous(
            [
                f"f = 0 is already within {style.number(found.start)} of the optimum, and the bound falls below that "
                f"only from "
                f"d = {needed} on, when the optimum is reached after {len(found.order)}.",
                text,
            ]
        )


def _risk_words(params: Params, found: theory.GreedyMeasured) -> str:
    """What Theorem 5 says, which is about the steps of Algorithm 2 and not about the kernels drawn above."""
    M, n = derive_bounds.sizes(params)
    steps = found.empirical.size - 1
    risk = theory.greedy_risk_bound(found.norm, max(steps, 1), M, n)
    if steps < 1 or risk.is_vacuous:
        why = words.plain(risk.words) if risk.is_vacuous else "no kernel moves the fit."
        return f"The risk bound of the same paper, about the gradient steps of its Algorithm 2: {why}"
    close = theory.greedy_close(found.norm, steps, n)
    return (
        f"The risk bound of the same paper is about its Algorithm 2: after **{steps}** of its gradient steps the "
        f"training loss is "
        f"{style.number(float(found.empirical[-1]))}, that of f* is {style.number(found.loss)}. Either the two "
        f"functions are "
        f"within {style.number(close)} of each other in norm, or the risk exceeds that of the best f with ‖f‖ ≤ ‖f*‖ "
        f"by at most "
        f"this difference plus {style.number(float(risk))}. For |y| ≤ 1 the loss of f = 0 is at most 1/2, so anything "
        f"above that "
        "is vacuous."
    )


def duplicates(params: Params, _: Any) -> None:
    """Draw what copies of one kernel do to solvers and to the two-stage rule."""
    found = derive_bounds.counterexample(params)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        picture(duplicate_bars(found, dark=charts.is_dark()), "theory_duplicates")
    with right:
        st.markdown(found.words)
        st.markdown(
            f"The optimum is {style.number(found.objective_two)} with two kernels and "
            f"{style.number(found.objective_many)} "
            "with the copies."
        )
        picks = pd.DataFrame({"method": list(found.greedy), "picks first": list(found.greedy.values())})
        st.dataframe(picks, hide_index=True, alt="The kernel every greedy method picks first")
    st.caption("A made problem of two kernels, solved as you move the sliders; your table is not in it.")
