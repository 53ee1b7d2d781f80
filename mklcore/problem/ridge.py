"""Kernel ridge regression for a given Gram matrix, with or without an intercept.

    min_{a,b}  C/2 ||y - K a - b||^2 + 1/2 a'K a     <=>     (K + I/C) a + b 1 = y   (and 1'a = 0 with an intercept)

With labels -1 and +1 and an intercept this is the least-squares support vector machine.
"""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.operators import DenseSum, WeightedSum
from mklcore.problem.losses import Cost, Loss
from mklcore.problem.solution import Solution, dual_gap


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

    ``K`` (n, n) positive semi-definite or a weighted sum, ``y`` (n,), ``C`` > 0. Source: Kloft et al. (2011), table of
    losses.
    """
    return solve_ridges(K, y[None], C, loss, fit_intercept)[0]


def solve_ridges(K: Array | WeightedSum, Y: Array, C: Cost, loss: Loss, fit_intercept: bool) -> list[Solution]:
    """``solve_ridge`` for every target of ``Y`` (T, n), by one factorisation for all of them."""
    total = DenseSum(K) if isinstance(K, np.ndarray) else K
    right = np.column_stack([*Y, np.ones(Y.shape[1])] if fit_intercept else list(Y))
    duals = total.solve(right, 1.0 / C)
    intercepts = np.zeros(len(Y))
    if fit_intercept:
        duals, ones = duals[:, :-1], duals[:, -1]
        intercepts = duals.sum(axis=0) / ones.sum()
        duals = duals - intercepts * ones[:, None]
        duals = duals - duals.mean(axis=0)  # the equality to the last digit, so that the dual value is valid
    found = []
    for a, f, b, y in zip(duals.T.copy(), total.matvec(duals).T.copy(), intercepts, Y, strict=True):
        found.append(Solution(a, float(b), f, *dual_gap(a, f, float(b), y, C, loss), 0.5 * float(a @ f), 1))
    return found
