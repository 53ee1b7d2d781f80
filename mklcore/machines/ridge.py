"""Kernel ridge regression for a given Gram matrix, with or without an intercept.

    min_{a,b}  C/2 ||y - K a - b||^2 + 1/2 a'K a     <=>     (K + I/C) a + b 1 = y   (and 1'a = 0 with an intercept)

With labels -1 and +1 and an intercept this is the least-squares support vector machine.
"""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.operators.base import DenseSum, WeightedSum
from mklcore.losses import Cost, Loss
from mklcore.machines.solution import Solution, dual_gap


def solve_ridge(
    K: Array | WeightedSum,
    y: Array,
    C: Cost,
    loss: Loss,
    fit_intercept: bool,
    *,
    warm: Array | None = None,
    accuracy: float = 1e-3,
) -> Solution:
    """Solve by one factorisation; ``warm`` and ``accuracy`` are accepted and not needed.

    ``K`` (n, n) positive semi-definite or a weighted sum, ``y`` (n,), ``C`` > 0. Source: Kloft et al. (2011), table of losses.
    """
    total = DenseSum(K) if isinstance(K, np.ndarray) else K
    right = np.column_stack([y, np.ones_like(y)]) if fit_intercept else y[:, None]
    solved = total.solve(right, 1.0 / C)
    b = float(solved[:, 0].sum() / solved[:, 1].sum()) if fit_intercept else 0.0
    a = solved[:, 0] - b * solved[:, 1] if fit_intercept else solved[:, 0]
    if fit_intercept:
        a = a - a.mean()  # the equality to the last digit, so that the dual value is valid
    f = total.matvec(a)
    objective, gap = dual_gap(a, f, b, y, C, loss)
    return Solution(a, b, f, objective, gap, 0.5 * float(a @ f), 1)
