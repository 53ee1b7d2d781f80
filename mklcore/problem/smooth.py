"""Machines that Newton's method solves: ridge regression, and losses with a slope, on a matrix or
on features.

Kernel ridge regression for a given Gram matrix, with or without an intercept.

    min_{a,b}  C/2 ||y - K a - b||^2 + 1/2 a'K a     <=>     (K + I/C) a + b 1 = y   (and 1'a = 0 with an intercept)

With labels -1 and +1 and an intercept this is the least-squares support vector machine.

The machine of a smooth loss for a given Gram matrix, such as kernel logistic regression: damped
Newton.

    min_{a,b}  C sum_i V((K a + b)_i, y_i) + 1/2 a'K a,     optimum  a_i = -C V'(t_i, y_i),   t = K a + b

Each step solves (I + W^{1/2} K W^{1/2}) once, W = C V'': the form that stays well conditioned when
points saturate.

The machine of a smooth loss on features, such as logistic regression: Newton's method by conjugate
gradients.

    min_{w, b}  C sum_i V(w'z_i + b, y_i) + 1/2 ||w||^2,     z = diag(s)^(1/2) phi,     optimum  a_i = -C V'(t_i, y_i)

A step solves (I + Z'WZ) d = -g, W = C V'', as far as pays, by products with the features alone:
nothing of size D x D is made.

Source: Lin, Weng, Keerthi (2008), Trust region Newton method for logistic regression, with a line
search in place of the region.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array, factorised
from mklcore.errors import check_cancelled
from mklcore.kernels.features import FactoredSum, Features
from mklcore.kernels.operators import DenseSum, WeightedSum
from mklcore.problem.dual_coordinate_descent import balanced
from mklcore.problem.losses import Cost, Loss, best_intercept, total_loss
from mklcore.problem.solution import Solution, dual_gap, feasible_start


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

    ``K`` (n, n) positive semi-definite or a weighted sum, ``y`` (n,), ``C`` > 0. Source: Kloft et
    al. (2011), table of losses.
    """
    return solve_ridges(K, y[None], C, loss, fit_intercept)[0]


def solve_ridges(
    K: Array | WeightedSum, Y: Array, C: Cost, loss: Loss, fit_intercept: bool
) -> list[Solution]:
    """``solve_ridge`` for every target of ``Y`` (T, n), by one factorisation for all of them."""
    total = DenseSum(K) if isinstance(K, np.ndarray) else K
    right = np.column_stack([*Y, np.ones(Y.shape[1])] if fit_intercept else list(Y))
    duals = total.solve(right, 1.0 / C)
    intercepts = np.zeros(len(Y))
    if fit_intercept:
        duals, ones = duals[:, :-1], duals[:, -1]
        intercepts = duals.sum(axis=0) / ones.sum()
        duals = duals - intercepts * ones[:, None]
        # the equality to the last digit, so that the dual value is valid
        duals = duals - duals.mean(axis=0)
    found = []
    for a, f, b, y in zip(
        duals.T.copy(),
        total.matvec(duals).T.copy(),
        intercepts,
        Y,
        strict=True,
    ):
        found.append(
            Solution(
                a,
                float(b),
                f,
                *dual_gap(a, f, float(b), y, C, loss),
                0.5 * float(a @ f),
                1,
            )
        )
    return found


_MAX_NEWTON = 100


def solve_smooth(
    K: Array,
    y: Array,
    C: Cost,
    loss: Loss,
    fit_intercept: bool,
    *,
    warm: Array | None = None,
    accuracy: float = 1e-3,
) -> Solution:
    """Solve to a duality gap of ``accuracy`` times 1/2 a'K a; ``warm`` (n,) is a dual to start
    from.
    """
    c = np.zeros_like(y) if warm is None else warm.copy()
    f = K @ c
    b = best_intercept(loss, f, y, C) if fit_intercept else 0.0
    value = _primal(c, f, b, y, C, loss)
    for step in range(1, _MAX_NEWTON + 1):
        solution = _read(K, f, b, y, C, loss, fit_intercept, step)
        if solution.gap <= max(accuracy * solution.regulariser, 1e-14 * abs(solution.objective)):
            return solution
        new_c, new_b = _newton_point(K, f, b, y, C, loss, fit_intercept)
        new_f = K @ new_c
        length = 1.0
        while length > 1e-10:
            trial_c = c + length * (new_c - c)
            trial_f = f + length * (new_f - f)
            trial_b = b + length * (new_b - b)
            trial = _primal(trial_c, trial_f, trial_b, y, C, loss)
            if trial <= value:
                break
            length *= 0.5
        else:
            return solution
        c = trial_c
        f = trial_f
        b = trial_b
        value = trial
    return solution


def _primal(
    c: Array,
    f: Array,
    b: float,
    y: Array,
    C: Cost,
    loss: Loss,
) -> float:
    return total_loss(loss, f, b, y, C) + 0.5 * float(c @ f)


def _newton_point(
    K: Array, f: Array, b: float, y: Array, C: Cost, loss: Loss, fit_intercept: bool
) -> tuple[Array, float]:
    weight = C * np.maximum(loss.second_derivative(f + b, y), 1e-12)
    root = np.sqrt(weight)
    # W f - gradient: the coefficients wanted, before K is applied
    target = weight * f - C * loss.derivative(f + b, y)
    solve = factorised(K * root[:, None] * root[None, :], 1.0)

    def coefficients(rhs: Array) -> Array:
        return rhs - root * solve(root * (K @ rhs))

    if not fit_intercept:
        return coefficients(target), 0.0
    base = coefficients(target + weight * b)
    unit = coefficients(weight)
    new_b = float(base.sum() / unit.sum())
    return base - new_b * unit, new_b


def _read(
    K: Array, f: Array, b: float, y: Array, C: Cost, loss: Loss, fit_intercept: bool, step: int
) -> Solution:
    """The dual point of the present decision values, and the primal point that this dual gives."""
    if fit_intercept:
        b = best_intercept(loss, f, y, C)
    a = feasible_start(
        -C * loss.derivative(f + b, y),
        *loss.box(y, C),
        fit_intercept,
        loss.total,
    )
    return Solution.of(a, K @ a, y, C, loss, fit_intercept, step)


@dataclass(frozen=True)
class NewtonCGSettings:
    """What Newton's method by conjugate gradients is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    steps: int = 60  # Newton steps at most
    inner: int = 60  # products of one step at most
    forcing: float = 0.1  # of the gradient is what the conjugate gradients leave at most


SETTINGS = NewtonCGSettings()


def solve_newton_cg(
    total: FactoredSum,
    y: Array,
    C: Cost,
    loss: Loss,
    fit_intercept: bool,
    *,
    warm: Array | None = None,
    accuracy: float = 1e-3,
) -> Solution:
    """Solve the machine of K = sum_m theta_m K_m to a duality gap of ``accuracy`` times 1/2 a'K a."""
    stack = total.kernels
    root = np.sqrt(total.weights)
    low, high = loss.box(y, C)
    w = np.zeros_like(root) if warm is None else root * stack.coefficients(warm)
    f = stack.times(root * w)
    for step in range(SETTINGS.steps + 1):
        check_cancelled()
        b = best_intercept(loss, f, y, C) if fit_intercept else 0.0
        slope = C * loss.derivative(f + b, y)
        second = C * np.maximum(loss.second_derivative(f + b, y), 1e-12)
        a = np.clip(-slope, low, high)
        a = balanced(a, low, high, loss.total) if fit_intercept else a
        u = stack.coefficients(a)
        own = stack.times(root * root * u)
        found = Solution.of(a, own, y, C, loss, fit_intercept, step)
        if (
            found.gap <= max(accuracy * found.regulariser, 1e-14 * abs(found.objective))
            or step == SETTINGS.steps
        ):
            break
        way = _direction(stack, root, w - root * u, second, fit_intercept)
        moved = stack.times(root * way)
        value = total_loss(loss, f, b, y, C) + 0.5 * float(w @ w)
        length = 1.0
        while length > 1e-8:
            trial = f + length * moved
            at = best_intercept(loss, trial, y, C) if fit_intercept else 0.0
            if (
                total_loss(loss, trial, at, y, C) + 0.5 * float(np.sum((w + length * way) ** 2))
                <= value
            ):
                break
            length *= 0.5
        else:
            break
        w = w + length * way
        f = trial
    return found


def _direction(
    stack: Features, root: Array, gradient: Array, second: Array, centred: bool
) -> Array:
    """d with (I + Z'WZ) d = -gradient, to a tenth of it; W with its mean taken out where the
    intercept follows.
    """
    d = np.zeros_like(gradient)
    r = -gradient
    p = r.copy()
    energy = float(r @ r)
    goal = min(SETTINGS.forcing, np.sqrt(np.sqrt(energy))) ** 2 * energy
    for _ in range(SETTINGS.inner):
        if energy <= goal:
            break
        t = stack.times(root * p)
        if centred:
            t = t - float(second @ t) / float(second.sum())
        H = p + root * stack.coefficients(second * t)
        length = energy / float(p @ H)
        d = d + length * p
        r = r - length * H
        following = float(r @ r)
        p = r + (following / energy) * p
        energy = following
    return d
