"""The machine of a smooth loss on features, such as logistic regression: Newton's method by conjugate gradients.

    min_{w, b}  C sum_i V(w'z_i + b, y_i) + 1/2 ||w||^2,     z = diag(s)^(1/2) phi,     optimum  a_i = -C V'(t_i, y_i)

A step solves (I + Z'WZ) d = -g, W = C V'', as far as pays, by products with the features alone: nothing of size D x D
is made.

Source: Lin, Weng, Keerthi (2008), Trust region Newton method for logistic regression, with a line search in place of
the region.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import check_cancelled
from mklcore.kernels.features import FactoredSum, Features
from mklcore.problem.dual_coordinate_descent import balanced
from mklcore.problem.losses import Cost, Loss, best_intercept, total_loss
from mklcore.problem.solution import Solution, dual_gap


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
        slope, second = C * loss.derivative(f + b, y), C * np.maximum(loss.second_derivative(f + b, y), 1e-12)
        a = np.clip(-slope, low, high)
        a = balanced(a, low, high, loss.total) if fit_intercept else a
        u = stack.coefficients(a)
        own = stack.times(root * root * u)
        own_b = best_intercept(loss, own, y, C) if fit_intercept else 0.0
        objective, gap = dual_gap(a, own, own_b, y, C, loss)
        found = Solution(a, own_b, own, objective, gap, 0.5 * float(a @ own), step)
        if gap <= max(accuracy * found.regulariser, 1e-14 * abs(objective)) or step == SETTINGS.steps:
            break
        way = _direction(stack, root, w - root * u, second, fit_intercept)
        moved, value = stack.times(root * way), total_loss(loss, f, b, y, C) + 0.5 * float(w @ w)
        length = 1.0
        while length > 1e-8:
            trial = f + length * moved
            at = best_intercept(loss, trial, y, C) if fit_intercept else 0.0
            if total_loss(loss, trial, at, y, C) + 0.5 * float(np.sum((w + length * way) ** 2)) <= value:
                break
            length *= 0.5
        else:
            break
        w, f = w + length * way, trial
    return found


def _direction(stack: Features, root: Array, gradient: Array, second: Array, centred: bool) -> Array:
    """d with (I + Z'WZ) d = -gradient, to a tenth of it; W with its mean taken out where the intercept follows."""
    d, r = np.zeros_like(gradient), -gradient
    p, energy = r.copy(), float(r @ r)
    goal = min(SETTINGS.forcing, np.sqrt(np.sqrt(energy))) ** 2 * energy
    for _ in range(SETTINGS.inner):
        if energy <= goal:
            break
        t = stack.times(root * p)
        if centred:
            t = t - float(second @ t) / float(second.sum())
        H = p + root * stack.coefficients(second * t)
        length = energy / float(p @ H)
        d, r = d + length * p, r - length * H
        following = float(r @ r)
        p, energy = r + (following / energy) * p, following
    return d
