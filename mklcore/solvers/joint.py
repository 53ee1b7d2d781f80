"""One set of kernel weights for several targets or classes: lp-norm MKL jointly over T machines.

    min_{theta >= 0, ||theta||_p <= 1}  sum_t min_{w_t, b_t}  C sum_i V(y_it, f_t(x_i) + b_t) + 1/2 sum_m ||w_mt||^2 /
    theta_m

    dual   sum_t Lin(a_t) - 1/2 || Q ||_{p*},    Q_m = sum_t a_t'K_m a_t,   1'a_t = 0,   p* = p / (p - 1)

The weights see the targets through Q alone, so that the update of the weights, Newton's step with the sum of the second
derivatives, the dual price and the certificate are those of one target.

Source: Kloft et al. (2011), sections 2 and 4, equations (17) and (19), with a sum over targets in place of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.operators import as_operator
from mklcore.losses import Loss
from mklcore.losses.intercepts import best_intercept, total_loss
from mklcore.machines import machine_of, solve_machine
from mklcore.machines.ridge import solve_ridge, solve_ridges
from mklcore.penalties import LpNorm
from mklcore.solvers.driver import AnyIterate, Fit, Iterate, run
from mklcore.solvers.newton import Newton
from mklcore.solvers.problem import Problem, WarmStart
from mklcore.solvers.proof import Certificate, dual_bound
from mklcore.solvers.reweighting import WeightIterate, WeightState


class Joint(Newton):
    """Damped Newton around T machines; the ``y`` of the problem is (T, n), as are duals and, per target, products."""

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        super().__init__(problem, tol=tol, warm=warm)
        self.name = f"joint damped Newton on {len(problem.y)} targets"

    def solve(self, weights: Array, warm: Array | None, accuracy: float, damping: float = 0.0) -> WeightIterate:
        """The machine of every target at ``weights``, and the certificate that they give together."""
        task, Y = self.problem, self.problem.y
        total, rest = task.K.combine(weights), (task.C, task.loss, task.fit_intercept)
        if machine_of(task.loss) is solve_ridge:
            found = solve_ridges(total, Y, *rest)
        else:
            starts = [None] * len(Y) if warm is None else np.reshape(warm, Y.shape)
            found = [solve_machine(total, y, *rest, warm=a, accuracy=accuracy) for y, a in zip(Y, starts, strict=True)]
        duals = np.array([one.dual for one in found])
        intercepts, errors = _errors(task, total.matvec(duals.T).T)
        G = np.array([task.K.source.matvec(np.ascontiguousarray(a)) for a in duals])
        Q = np.maximum(np.einsum("tmi,ti->m", G, duals), 0.0)
        bound = dual_bound(task.loss, task.penalty, duals.ravel(), Q, Y.ravel(), task.C)
        state = WeightState(Q, sum(one.objective for one in found), sum(one.gap for one in found), accuracy, damping, G)
        return Iterate(
            weights, duals, intercepts, errors + task.regulariser(weights, Q), bound.value, bound.price, len(found),
            state=state, dual_point=bound.point.reshape(Y.shape),
        )  # fmt: skip

    def _second_derivatives(self, point: WeightIterate) -> Array:
        parts = zip(self.problem.y, point.dual, point.state.G, strict=True)
        H: Array = np.sum([self.second_derivatives(point.weights, y, a, G) for y, a, G in parts], axis=0)
        return H

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value of published parts from scratch."""
        task = self.problem
        parts = best.weights, best.dual, best.intercept, task.loss, task.C, task.penalty, dual_point
        return Certificate(*_values(task.K.source, task.y, *parts, task.fit_intercept))


def _errors(task: Problem, decisions: Array) -> tuple[Any, float]:
    """The best intercepts (T,) at decision values (T, n), and the sum of all losses there."""
    free, loss, C = task.fit_intercept, task.loss, task.C
    found = [best_intercept(loss, f, y, C) if free else 0.0 for f, y in zip(decisions, task.y, strict=True)]
    errors = [total_loss(loss, f, b, y, C) for f, b, y in zip(decisions, found, task.y, strict=True)]
    return np.array(found), float(sum(errors))


def joint_certificate(
    K: Any,
    Y: Array,
    weights: Array,
    dual_coef: Array,
    intercept: Array,
    loss: Loss,
    C: float,
    p: float,
    dual_point: Array | None = None,
    fit_intercept: bool = True,
) -> tuple[float, float]:
    """Primal and dual value of a joint fit, from its coefficients alone.

    Parameters
    ----------
    K : kernels (M, n, n), or an operator
    Y : targets (T, n), labels -1 / +1 or numbers
    weights, dual_coef, intercept, dual_point : (M,), (T, n), (T,) and (T, n); ``dual_coef`` is taken where there is no
        point
    loss, C, p : the loss object, the cost of one unit of it, the order of the norm of the weights
    fit_intercept : whether every dual must sum to zero

    Returns
    -------
    Two floats; the dual value is minus infinity where the point is infeasible.
    """
    duals = np.atleast_2d(dual_coef)
    proof = duals if dual_point is None else np.atleast_2d(dual_point)
    parts = weights, duals, np.atleast_1d(intercept), loss, C, LpNorm(p), proof
    objective, dual = _values(as_operator(K), np.atleast_2d(Y), *parts, fit_intercept)
    assert dual is not None
    return objective, dual


def _values(
    K: Any, Y: Array, weights: Array, duals: Array, intercepts: Any, loss: Loss, C: Any, penalty: Any,
    point: Array | None, fit_intercept: bool,
) -> tuple[float, float | None]:  # fmt: skip
    def forms(points: Array) -> Array:
        Q: Array = np.sum([K.quad(np.ascontiguousarray(a)) for a in points], axis=0)
        return Q

    decisions = [K.decision(weights, np.ascontiguousarray(a)) for a in duals]
    errors = [total_loss(loss, f, float(b), y, C) for f, b, y in zip(decisions, intercepts, Y, strict=True)]
    objective = float(sum(errors)) + penalty.regulariser(weights * np.sqrt(forms(duals)))
    if point is None:
        return objective, None
    low, high = loss.box(Y, C)
    room = 1e-9 * max(float(np.abs(point).max()), 1e-300)
    off = np.abs(point.sum(axis=1)) > 1e-8 * np.maximum(np.abs(point).sum(axis=1), 1e-300)
    if np.any(point < low - room) or np.any(point > high + room) or (fit_intercept and np.any(off)):
        return objective, -np.inf
    return objective, float(loss.dual(point.ravel(), Y.ravel(), C) - penalty.dual_price(forms(point)))


def fit_joint(
    K: Any,
    Y: Array,
    C: float,
    loss: Loss,
    p: float,
    fit_intercept: bool = True,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callable[..., Any] | None = None,
    warm: WarmStart | None = None,
) -> Fit:
    """lp-norm MKL with one set of weights for T targets.

    ``K`` (M, n, n) or an operator, ``Y`` (T, n), labels -1 / +1 or numbers. In the fit ``dual_coef`` and ``dual_point``
    are (T, n), ``intercept`` (T,). ``warm`` starts from a neighbouring solution.
    """
    Y = np.ascontiguousarray(np.atleast_2d(Y), dtype=float)
    problem = Problem(K, Y, C, loss, LpNorm(p), fit_intercept)
    if warm is not None:
        warm = WarmStart(warm.weights, np.reshape(warm.dual, Y.shape), warm.C)
    return run(Joint(problem, tol=tol, warm=warm), tol=tol, max_iter=max_iter, callback=callback)
