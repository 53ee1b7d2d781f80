"""Binary problems behind one estimator: labels of one class against the rest, what proves several fits, scores of
machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.operators import is_scored
from mklcore.solvers.driver import Fit, Status


def signs(codes: Array, positive: int) -> Array:
    """Labels -1 / +1 for one class against the rest."""
    return np.where(codes == positive, 1.0, -1.0)


def dual_points(fits: Sequence[Fit]) -> Array | None:
    """The dual points (P, n) that prove several fits; None where one of them has none."""
    points = [fit.dual_point for fit in fits if fit.dual_point is not None]
    return np.array(points) if len(points) == len(fits) else None


def worst(statuses: Sequence[Status]) -> Status:
    """The status to report for several binary problems: the first that is not well, else the first."""
    return next((status for status in statuses if not status.ok), statuses[0])


def weighted_blocks(blocks: Any, weights: Array, duals: Array) -> Array:
    """Scores (n_new, T) of T machines, sum_m weights[t, m] blocks[m] @ duals[t], from blocks (M, n_new, n).

    ``weights`` (T, M), ``duals`` (T, n). Every block is read once for all machines, and only by those that give it
    weight.
    """
    if is_scored(blocks):
        scored: Array = blocks.scores(weights, duals)
        return scored
    out = np.zeros((blocks.shape[1], len(duals)))
    for m in np.flatnonzero(weights.any(axis=0)):
        used = np.flatnonzero(weights[:, m])
        out[:, used] += (blocks[m] @ duals[used].T) * weights[used, m]
    return out
