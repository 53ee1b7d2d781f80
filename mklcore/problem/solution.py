"""What every machine gives back, and the helpers machines share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array
from mklcore.problem.losses import Cost, Loss, best_intercept, total_loss


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimum of  C sum V(f_i + b, y_i) + 1/2 a'K a  with f = K a, to a duality gap.

    ``dual`` (n,) signed; ``intercept``; ``decision`` (n,) = K a without the intercept;
    ``objective`` primal; ``gap`` = primal - dual >= 0; ``regulariser`` = 1/2 a'K a; ``steps`` of
    the machine's own iteration.
    """

    dual: Array
    intercept: float
    decision: Array
    objective: float
    gap: float
    regulariser: float
    steps: int

    @classmethod
    def of(
        cls, a: Array, f: Array, y: Array, C: Cost, loss: Loss, fit_intercept: bool, steps: int
    ) -> Solution:
        """What the dual ``a`` is worth, with f = K a and the best intercept for it."""
        b = best_intercept(loss, f, y, C) if fit_intercept else 0.0
        objective, gap = dual_gap(a, f, b, y, C, loss)
        return cls(a, b, f, objective, gap, 0.5 * float(a @ f), steps)


def dual_gap(
    a: Array,
    f: Array,
    b: float,
    y: Array,
    C: Cost,
    loss: Loss,
) -> tuple[float, float]:
    """Primal objective and duality gap of one machine at (a, b), f = K a."""
    half = 0.5 * float(a @ f)
    objective = total_loss(loss, f, b, y, C) + half
    return objective, objective - (loss.dual(a, y, C) - half)


def feasible_start(
    warm: Array | None, low: Array, high: Array, balanced: bool, total: float = 0.0
) -> Array:
    """``warm`` clipped into the box and, if ``balanced``, moved inside it until it sums to
    ``total``.
    """
    if warm is None and (total == 0.0 or not balanced):
        return np.zeros(low.shape)
    a = (
        np.full(low.shape, total / low.size)
        if warm is None
        else np.clip(warm, low, high).astype(np.float64)
    )
    if not balanced:
        return a
    if total != 0.0:  # non-negative duals only: shrink, or fill the room that is left
        excess = float(a.sum()) - total
        return (
            a * (total / a.sum())
            if excess > 0
            else a - (high - a) * (excess / max(float((high - a).sum()), 1e-300))
        )
    up = float(a[a > 0].sum())
    down = float(-a[a < 0].sum())
    if up > down:
        a[a > 0] *= down / up
    elif down > up:
        a[a < 0] *= up / down
    return a
