"""Kernel ridge regression for a given Gram matrix, with or without an intercept.

    min_{a,b}  C/2 ||y - K a - b||^2 + 1/2 a'K a     <=>     (K + I/C) a + b 1 = y   (and 1'a = 0 with an intercept)

With labels -1 and +1 and an intercept this is the least-squares support vector machine.
"""

from __future__ import annotations

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.losses import Cost, Loss
from mklcore.machines.solution import Solution, dual_gap


def solve_ridge(
    K: Array, y: Array, C: Cost, loss: Loss, fit_intercept: bool, *, warm: Array | None = None, accuracy: float = 1e-3
) -> Solution:
    """Solve by one Cholesky factorisation; ``warm`` and ``accuracy`` are accepted and not needed.

    ``K`` (n, n) positive semi-definite, ``y`` (n,), ``C`` > 0. Source: Kloft et al. (2011), table of dual losses.
    """
    system = K.copy()
    system.flat[:: y.size + 1] += 1.0 / C
    right = np.column_stack([y, np.ones_like(y)]) if fit_intercept else y[:, None]
    solved = scipy.linalg.cho_solve(
        scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False), right, check_finite=False
    )
    b = float(solved[:, 0].sum() / solved[:, 1].sum()) if fit_intercept else 0.0
    a = solved[:, 0] - b * solved[:, 1] if fit_intercept else solved[:, 0]
    if fit_intercept:
        a = a - a.mean()  # the equality to the last digit, so that the dual value is valid
    f = K @ a
    objective, gap = dual_gap(a, f, b, y, C, loss)
    return Solution(a, b, f, objective, gap, 0.5 * float(a @ f), 1)
