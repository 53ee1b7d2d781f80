"""Machines that Newton's method solves: ridge regression, and losses with a slope, on a matrix or
on features.

Kernel ridge regression for a given Gram matrix, with or without an intercept.

    min_{a,b}  C/2 ||y - K a - b||^2 + 1/2 a'K a     <=>     (K + I/C) a + b 1 = y   (and 1'a = 0 with an intercept)

With labels -1 and +1 and an intercept this is the least-squares support vector machine.

The machine of a smooth loss for a given Gram matrix, such as kernel logistic regression: damped
Newton.

    min_{a,b}  C sum_i V((K a + b)_i, y_i) + 1/2 a'K a,     optimum  a_i = -C V'(t_i, y_i),   t = K a + b

Each step is a ridge with weights W = C V'' and targets t - C V' / W.

The machine of a smooth loss on features, such as logistic regression: Newton's method by conjugate
gradients.

    min_{w, b}  C sum_i V(w'z_i + b, y_i) + 1/2 ||w||^2,     z = diag(s)^(1/2) phi,     optimum  a_i = -C V'(t_i, y_i)

A step solves (I + Z'WZ) d = -g, W = C V'', as far as pays, by products with the features alone:
nothing of size D x D is made.

Source: Lin, Weng, Keerthi (2008), Trust region Newton method for logistic regression, with a line
search in place of the region.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import check_cancelled
from mklcore.kernels.features import FactoredSum, Features
from mklcore.kernels.operators import DenseSum, WeightedSum
from mklcore.problem.dual_coordinate_descent import balanced
from mklcore.problem.solution import MachineTask, Solution


def solve_ridge(
    K: Array | WeightedSum,
    task: MachineTask,
    *,
    warm: Array | None = None,
    accuracy: float = 1e-3,
) -> Solution:
    """Solve by one factorisation; ``warm`` and ``accuracy`` are accepted and not needed.

    ``K`` (n, n) is positive semi-definite, or a weighted sum. Source: Kloft et al. (2011), table of
    losses.
    """
    return solve_ridges(K, [task])[0]


def solve_ridges(K: Array | WeightedSum, tasks: Sequence[MachineTask]) -> list[Solution]:
    """``solve_ridge`` for targets with one C, by one factorisation for all of them."""
    total = DenseSum(K) if isinstance(K, np.ndarray) else K
    first = tasks[0]
    targets = np.column_stack([task.y for task in tasks])
    duals, _ = solve_bordered(total, targets, 1.0 / first.C, first.fit_intercept)
    decisions = total.matvec(duals).T.copy()
    parts = zip(tasks, duals.T.copy(), decisions, strict=True)
    return [task.solution(a, f, 1) for task, a, f in parts]


def solve_bordered(
    total: WeightedSum, right: Array, shift: float | Array, is_free: bool
) -> tuple[Array, Array]:
    """a (n, T) and b (T,) with (K + diag(shift)) a + 1 b' = right (n, T) and 1'a = 0; without b
    where it is not free.
    """
    if not is_free:
        return total.solve(right, shift), np.zeros(right.shape[1])
    sides = np.column_stack([right, np.ones(len(right))])
    solved = total.solve(sides, shift)
    ones = solved[:, -1:]
    b: Array = solved[:, :-1].sum(axis=0) / ones.sum()
    a = solved[:, :-1] - b * ones
    # the equality to the last digit, so that the dual value is valid
    return a - a.mean(axis=0), b


_MAX_NEWTON = 100


def solve_smooth(
    K: Array | WeightedSum,
    task: MachineTask,
    *,
    warm: Array | None = None,
    accuracy: float = 1e-3,
) -> Solution:
    """Solve to a duality gap of ``accuracy`` times 1/2 a'K a; ``warm`` (n,) is a dual to start
    from.
    """
    total = DenseSum(K) if isinstance(K, np.ndarray) else K

    def placed(c: Array, f: Array, b: float) -> tuple[float, Array, Array, float]:
        return task.errors(f, b) + 0.5 * float(c @ f), c, f, b

    zeros = np.zeros_like(task.y)
    point = placed(zeros, zeros, task.intercept(zeros))
    if warm is not None:
        # the dual of another kernel can be worse than none: where every row is saturated, no
        # Newton step leads back
        f = total.matvec(warm)
        point = min(point, placed(warm, f, task.intercept(f)), key=lambda one: one[0])
    for step in range(1, _MAX_NEWTON + 1):
        value, c, f, b = point
        # the dual point of the present decision values, and the primal point that it gives
        a = task.feasible(-task.C * task.loss.derivative(f + b, task.y))
        solution = task.solution(a, total.matvec(a), step)
        if solution.is_within(accuracy):
            return solution
        # Newton's step solves a ridge with weights W and these targets
        t = f + b
        weight = task.C * np.maximum(task.loss.second_derivative(t, task.y), 1e-12)
        target = t - task.C * task.loss.derivative(t, task.y) / weight
        duals, intercepts = solve_bordered(total, target[:, None], 1.0 / weight, task.fit_intercept)
        new_c = duals[:, 0]
        new_b = float(intercepts[0])
        new_f = total.matvec(new_c)
        length = 1.0
        while True:
            point = placed(
                c + length * (new_c - c), f + length * (new_f - f), b + length * (new_b - b)
            )
            if point[0] <= value:
                break
            length *= 0.5
            if length <= 1e-10:
                return solution
    return solution


# What Newton's method by conjugate gradients is tuned by. A value changes how long a fit takes,
# not what its certificate proves.

STEPS = 60  # Newton steps at most
INNER = 60  # products of one step at most
FORCING = 0.1  # of the gradient is what the conjugate gradients leave at most


def solve_newton_cg(
    total: FactoredSum,
    task: MachineTask,
    *,
    warm: Array | None = None,
    accuracy: float = 1e-3,
) -> Solution:
    """Solve the machine of K = sum_m theta_m K_m to a duality gap of ``accuracy`` times 1/2 a'K a."""
    stack = total.kernels
    root = np.sqrt(total.weights)
    low, high = task.box
    w = np.zeros_like(root) if warm is None else root * stack.coefficients(warm)
    f = stack.times(root * w)
    for step in range(STEPS + 1):
        check_cancelled()
        b = task.intercept(f)
        slope = task.C * task.loss.derivative(f + b, task.y)
        second = task.C * np.maximum(task.loss.second_derivative(f + b, task.y), 1e-12)
        a = np.clip(-slope, low, high)
        if task.fit_intercept:
            a = balanced(a, low, high, task.loss.total)
        u = stack.coefficients(a)
        own = stack.times(root * root * u)
        found = task.solution(a, own, step)
        if found.is_within(accuracy) or step == STEPS:
            break
        way = _direction(stack, root, w - root * u, second, task.fit_intercept)
        moved = stack.times(root * way)
        value = task.errors(f, b) + 0.5 * float(w @ w)
        length = 1.0
        while length > 1e-8:
            trial = f + length * moved
            errors = task.loss_at(trial)[1]
            if errors + 0.5 * float(np.sum((w + length * way) ** 2)) <= value:
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
    goal = min(FORCING, np.sqrt(np.sqrt(energy))) ** 2 * energy
    for _ in range(INNER):
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
