"""The best intercept of decision values under a loss, and the total loss with it."""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array
from mklcore.losses.base import Cost, Loss


def best_intercept(loss: Loss, f: Array, y: Array, C: Cost) -> float:
    """The b that minimises sum_i C_i V(f_i + b, y_i), plus total * b; the midpoint where an interval does.

    ``C`` as in ``Loss``.
    """
    if np.ndim(C) == 0:
        return loss.best_intercept(f, y)
    w: Array = np.asarray(C)
    if loss.quadratic:
        return float(w @ (y - f) / w.sum())
    if loss.piecewise_linear:
        return _weighted_median(loss, f, y, w)
    low, high = float(np.min(-np.abs(y) - f)) - 45.0, float(np.max(np.abs(y) - f)) + 45.0
    for _ in range(200):
        b = 0.5 * (low + high)
        slope = loss.derivative(f + b, y) if loss.sloped else np.clip(f + b - y, -loss.dual_bound, loss.dual_bound)
        low, high = (b, high) if w @ slope < 0 else (low, b)
        if high - low <= 1e-15 * max(1.0, abs(b)):
            break
    return 0.5 * (low + high)


def _weighted_median(loss: Loss, f: Array, y: Array, w: Array) -> float:
    """``best_intercept`` where V has kinks only: the slope rises by w_i at each, from what it is far to the left."""
    if loss.signed:
        kinks, rises, slope = y - f, w, -float(w[y > 0].sum())
    elif loss.total:
        kinks, rises, slope = -f, w, loss.total - float(w.sum())
    else:
        below, above = loss.far_slopes
        kinks, rises = (
            np.concatenate([y - f - loss.epsilon, y - f + loss.epsilon]),
            np.tile(0.5 * (above - below) * w, 2),
        )
        slope = below * float(w.sum())
    order = np.argsort(kinks, kind="stable")
    kinks, slopes = kinks[order], slope + np.cumsum(rises[order])
    level = 1e-12 * float(w.sum())
    at = min(int(np.searchsorted(slopes, -level)), kinks.size - 1)
    flat = abs(slopes[at]) <= level and at + 1 < kinks.size
    return float(0.5 * (kinks[at] + kinks[at + 1]) if flat else kinks[at])


def centre_of(loss: Loss, y: Array, fit_intercept: bool) -> float:
    """What may be taken from the target ``y`` (n,) before solving, and added to the intercept afterwards: the middle
    one of its values, or 0 where that is another problem.

    With a free intercept and a loss of residuals the duals sum to 0, so that neither duals nor objective nor dual value
    change. Far from zero they would be differences of large numbers. One of the values, and not their mean, leaves
    whole numbers whole, and follows no outlier.
    """
    if not (fit_intercept and loss.takes_intercept and loss.of_residuals):
        return 0.0
    return float(np.partition(y, y.size // 2)[y.size // 2])


def losses_at(loss: Loss, f: Array, b: float, y: Array) -> Array:
    """V(f_i + b, y_i) for every point; of residuals without rounding ``f`` to the digits that a large ``b`` leaves
    it.
    """
    return loss.value(f, y - b) if loss.of_residuals else loss.value(f + b, y)


def total_loss(loss: Loss, f: Array, b: float, y: Array, C: Cost) -> float:
    """C sum_i V(f_i + b, y_i), plus the intercept's own term where the loss has one."""
    return float(np.sum(C * losses_at(loss, f, b, y))) + loss.total * b
