"""Theory of fast greedy descent: the geometric rate of Algorithm 2 and the steps after which the loss is near the
best.
"""

from typing import Any

import numpy as np
import streamlit as st

from mklcore import theory
from mklcore.figures import Curve, style
from pages._parts.params.parameters import Params
from pages._parts.theory.captions import bound, speaks, vacuous

POINTS = 200
TRIVIAL = 0.5  # the loss of f = 0 for targets in [-1, 1]


def draw(params: Params, _: Any) -> None:
    """Draw Lemma 3 over the steps, and from where on Theorem 4 promises six times the best loss left."""
    gamma, eps, mu = params.theory_gamma, params.theory_eps, params.theory_mu
    steps = theory.greedy_steps_bound(gamma, eps)
    last = max(100.0, 10.0 * float(steps))
    d = np.unique(np.round(np.geomspace(1, last, POINTS)))
    decay = np.array([float(theory.greedy_decay_bound(int(k), gamma, eps, mu)) for k in d])
    promise = np.where(d >= float(steps), 6 * eps, np.nan)
    st.markdown("**The bound on the loss above the best** over the steps of Algorithm 2")
    bound(
        "theory_decay",
        d,
        [Curve("Lemma 3", decay), Curve("Theorem 4", promise, "other")],
        x_title="d, steps",
        y_title="loss above the best",
        level=TRIVIAL,
        level_name="f = 0 is as close as",
        kind="log",
    )
    _words(float(steps), eps, mu, decay)


def _words(steps: float, eps: float, mu: float, decay: np.ndarray) -> None:
    if steps <= 0:
        vacuous(["Six times ε* is at least 1/2, which the loss of f = 0 never exceeds for |y| ≤ 1."])
        return
    text = (
        f"After {style.number(float(np.ceil(steps)))} steps Theorem 4 promises at most 6 ε* = {style.number(6 * eps)}."
    )
    speaks(f"{text} Lemma 3 goes down to μ ε* = {style.number(mu * eps)}; at the right end of the picture it is at "
           f"{style.number(float(decay[-1]))}.")  # fmt: skip
