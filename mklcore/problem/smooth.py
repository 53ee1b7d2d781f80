"""The machine of a smooth loss for a given Gram matrix, such as kernel logistic regression: damped Newton.

    min_{a,b}  C sum_i V((K a + b)_i, y_i) + 1/2 a'K a,     optimum  a_i = -C V'(t_i, y_i),   t = K a + b

Each step solves (I + W^{1/2} K W^{1/2}) once, W = C V'': the form that stays well conditioned when points saturate.
"""

from __future__ import annotations

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.problem.losses import Cost, Loss, best_intercept, total_loss
from mklcore.problem.solution import Solution, dual_gap, feasible_start

_MAX_NEWTON = 100


def solve_smooth(
    K: Array, y: Array, C: Cost, loss: Loss, fit_intercept: bool, *, warm: Array | None = None, accuracy: float = 1e-3
) -> Solution:
    """Solve to a duality gap of ``accuracy`` times 1/2 a'K a; ``warm`` (n,) is a dual to start from."""
    c = np.zeros_like(y) if warm is None else warm.copy()
    f = K @ c
    b = best_intercept(loss, f, y, C) if fit_intercept else 0.0
    value = _primal(c, f, b, y, C, loss)
    for step in range(1, _MAX_NEWTON + 1):
        solution = _read(K, f, b, y, C, loss, fit_intercept, step)
        if solution.gap <= max(accuracy * solution.regulariser, 1e-14 * abs(solution.objective)):
            return solution
        new_c, new_b = _newton_point(K, f, b, y, C, loss, fit_intercept)
        new_f, length = K @ new_c, 1.0
        while length > 1e-10:
            trial_c, trial_f = c + length * (new_c - c), f + length * (new_f - f)
            trial_b = b + length * (new_b - b)
            trial = _primal(trial_c, trial_f, trial_b, y, C, loss)
            if trial <= value:
                break
            length *= 0.5
        else:
            return solution
        c, f, b, value = trial_c, trial_f, trial_b, trial
    return solution


def _primal(c: Array, f: Array, b: float, y: Array, C: Cost, loss: Loss) -> float:
    return total_loss(loss, f, b, y, C) + 0.5 * float(c @ f)


def _newton_point(
    K: Array, f: Array, b: float, y: Array, C: Cost, loss: Loss, fit_intercept: bool
) -> tuple[Array, float]:
    weight = C * np.maximum(loss.second_derivative(f + b, y), 1e-12)
    root = np.sqrt(weight)
    target = weight * f - C * loss.derivative(f + b, y)  # W f - gradient: the coefficients wanted, before K is applied
    system = K * root[:, None] * root[None, :]
    system.flat[:: y.size + 1] += 1.0
    factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)

    def coefficients(rhs: Array) -> Array:
        inside: Array = scipy.linalg.cho_solve(factor, root * (K @ rhs), check_finite=False)
        return rhs - root * inside

    if not fit_intercept:
        return coefficients(target), 0.0
    base, unit = coefficients(target + weight * b), coefficients(weight)
    new_b = float(base.sum() / unit.sum())
    return base - new_b * unit, new_b


def _read(K: Array, f: Array, b: float, y: Array, C: Cost, loss: Loss, fit_intercept: bool, step: int) -> Solution:
    """The dual point of the present decision values, and the primal point that this dual gives."""
    if fit_intercept:
        b = best_intercept(loss, f, y, C)
    a = feasible_start(-C * loss.derivative(f + b, y), *loss.box(y, C), fit_intercept, loss.total)
    own = K @ a
    b = best_intercept(loss, own, y, C) if fit_intercept else 0.0
    objective, gap = dual_gap(a, own, b, y, C, loss)
    return Solution(a, b, own, objective, gap, 0.5 * float(a @ own), step)
