"""One set of kernel weights for several targets or classes: lp-norm MKL jointly over T machines.

    min_{theta >= 0, ||theta||_p <= 1}  sum_t min_{w_t, b_t}  C sum_i V(y_it, f_t(x_i) + b_t) + 1/2 sum_m ||w_mt||^2 /
    theta_m

    dual   sum_t Lin(a_t) - 1/2 || Q ||_{p*},    Q_m = sum_t a_t'K_m a_t,   1'a_t = 0,   p* = p / (p - 1)

The weights see the targets through Q alone, so that the analytic update, the dual price and the certificate of one
target hold with the sum of the forms. At p = 1 weights that end at zero fade slowly under that update: there a
log-barrier Newton method on the simplex goes on, with the second derivatives of the machines added up.

Source: Kloft et al. (2011), sections 2 and 4, equations (17) and (19), with a sum over targets in place of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.operators import Capability, DenseSum, KernelOperator, WeightedSum, as_operator
from mklcore.losses import Loss
from mklcore.losses.intercepts import losses_at, total_loss
from mklcore.machines import machine_of, solve_machine
from mklcore.machines.ridge import solve_ridge, solve_ridges
from mklcore.machines.solution import Solution
from mklcore.penalties import LpNorm
from mklcore.solvers.driver import AnyIterate, Fit, Iterate, Method, Status, Trace, run
from mklcore.solvers.hkl.inner import Inner, Reduced
from mklcore.solvers.hkl.machine import Answer, GramMachine, Task, suits_hulls
from mklcore.solvers.problem import WarmStart
from mklcore.solvers.proof import Certificate, dual_bound
from mklcore.solvers.simplex import Edgeless, on_simplex, without_faded


@dataclass(frozen=True)
class JointSettings:
    """What the steps on several targets are tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    sharpest: float = 1e-12  # relative gap asked of a machine at least
    lifted: float = 1e-3  # of the largest weight is the least one of a start: zero weights would stay zero


SETTINGS = JointSettings()


@dataclass(frozen=True, eq=False)
class Joint:
    """T targets on the same kernels: ``Y`` (T, n), labels -1 / +1 or numbers, under one loss at one cost."""

    kernels: KernelOperator
    Y: Array
    C: float
    loss: Loss
    penalty: LpNorm
    fit_intercept: bool

    def combined(self, weights: Array) -> WeightedSum:
        """sum_m weights_m K_m."""
        total = self.kernels.combine(np.ascontiguousarray(weights))
        if Capability.FEATURES in self.kernels.capabilities:
            return total
        return DenseSum(total.block(np.arange(self.Y.shape[1])))

    def solved(self, weights: Array, duals: Array | None, accuracy: float) -> list[Solution]:
        """The machine of every target on the sum of the kernels, from ``duals`` (T, n) where there are some."""
        total, rest = self.combined(weights), (self.C, self.loss, self.fit_intercept)
        if machine_of(self.loss) is solve_ridge:
            return solve_ridges(total, self.Y, *rest)
        starts = [None] * len(self.Y) if duals is None else duals
        return [
            solve_machine(total, y, *rest, warm=warm, accuracy=accuracy) for y, warm in zip(self.Y, starts, strict=True)
        ]

    def forms(self, duals: Array) -> Array:
        """Q_m = sum_t a_t'K_m a_t (M,) of ``duals`` (T, n)."""
        if self.kernels.capabilities & {Capability.FEATURES, Capability.DENSE}:
            return self.kernels.quad(np.ascontiguousarray(duals.T))
        Q: Array = np.sum([self.kernels.quad(np.ascontiguousarray(a)) for a in duals], axis=0)
        return Q

    def primal(self, decisions: Array, intercepts: Array, regulariser: float) -> float:
        """The objective of decision values (T, n) and intercepts (T,)."""
        errors = sum(
            total_loss(self.loss, f, float(b), y, self.C) for f, b, y in zip(decisions, intercepts, self.Y, strict=True)
        )
        return float(errors) + regulariser

    def bound(self, duals: Array, Q: Array) -> tuple[float, Array, float]:
        """The best dual value among multiples of ``duals``, its point (T, n), and what it pays."""
        found = dual_bound(self.loss, self.penalty, duals.ravel(), Q, self.Y.ravel(), self.C)
        return found.value, found.point.reshape(duals.shape), found.price


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
    problem = Joint(as_operator(K), np.atleast_2d(Y), C, loss, LpNorm(p), fit_intercept)
    duals = np.atleast_2d(dual_coef)
    objective = _objective(problem, weights, duals, np.atleast_1d(intercept))
    return objective, _dual_value(problem, duals if dual_point is None else np.atleast_2d(dual_point))


def _objective(problem: Joint, weights: Array, duals: Array, intercepts: Array) -> float:
    decisions = problem.combined(weights).matvec(duals.T).T
    norms = weights * np.sqrt(problem.forms(duals))
    return problem.primal(decisions, intercepts, problem.penalty.regulariser(norms))


def _dual_value(problem: Joint, point: Array) -> float:
    loss, flat = problem.loss, point.ravel()
    low, high = loss.box(problem.Y.ravel(), problem.C)
    room = 1e-9 * max(float(np.abs(flat).max()), 1e-300)
    if np.any(flat < low - room) or np.any(flat > high + room):
        return -np.inf
    if problem.fit_intercept and np.any(
        np.abs(point.sum(axis=1)) > 1e-8 * np.maximum(np.abs(point).sum(axis=1), 1e-300)
    ):
        return -np.inf
    return float(loss.dual(flat, problem.Y.ravel(), problem.C) - problem.penalty.dual_price(problem.forms(point)))


class JointReweighting(Method[Any]):
    """The analytic update of the weights around T machines, as the driver's method; ``theta`` (M,) starts it."""

    def __init__(self, problem: Joint, *, tol: float, theta: Array | None = None, duals: Array | None = None) -> None:
        self.problem, self.tol = problem, tol
        self.name = f"joint reweighting of {len(problem.Y)} targets"
        self._theta, self._duals = theta, duals

    def init(self) -> AnyIterate:
        M = self.problem.kernels.n_kernels
        return self._evaluated(self.problem.penalty.start(M) if self._theta is None else self._theta, self._duals, 1e-2)

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        if self.problem.penalty.plain_sum:
            return Status.STALLED
        share = trace.gap / max(abs(last.objective), 1e-300)
        theta = self.problem.penalty.update(last.weights, last.state[1])
        return self._evaluated(theta, last.dual, share)

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value of published parts from scratch."""
        objective = _objective(self.problem, best.weights, best.dual, best.state[0])
        return Certificate(objective, None if dual_point is None else _dual_value(self.problem, dual_point))

    def _evaluated(self, theta: Array, warm: Array | None, gap_share: float) -> AnyIterate:
        problem = self.problem
        accuracy = float(np.clip(min(0.05 * gap_share, 0.05 * self.tol), SETTINGS.sharpest, 1e-4))
        found = problem.solved(theta, warm, accuracy)
        duals = np.array([one.dual for one in found])
        decisions, intercepts = np.array([one.decision for one in found]), np.array([one.intercept for one in found])
        Q = problem.forms(duals)
        objective = problem.primal(decisions, intercepts, problem.penalty.regulariser(theta * np.sqrt(Q)))
        value, point, price = problem.bound(duals, Q)
        return Iterate(
            theta, duals, 0.0, objective, value, price, solves=len(found), state=(intercepts, Q), dual_point=point
        )


# At p = 1: the barrier of hierarchical kernel learning on a graph without edges


class _SharedMachine(GramMachine):
    """A machine whose kernels, and their last weighted sum, are those of other targets as well."""

    def __init__(self, problem: Joint, task: Task, sums: dict[bytes, Array]) -> None:
        n, M = problem.Y.shape[1], problem.kernels.n_kernels
        self.task, self.kernels, self._problem, self._sums = task, problem.kernels, problem, sums  # type: ignore[assignment]
        self._thin, self._thick, self.columns = np.empty(0, dtype=np.int64), np.arange(M), np.empty((n, 0))

    def _combined(self, zeta: Array) -> Array:
        key = zeta.tobytes()
        if key not in self._sums:
            self._sums.clear()
            self._sums[key] = self._problem.combined(zeta).block(np.arange(self._problem.Y.shape[1]))
        return self._sums[key].copy()


class _Machines:
    """T machines as one: their second derivatives add up."""

    def __init__(self, problem: Joint, tasks: Sequence[Task]) -> None:
        sums: dict[bytes, Array] = {}
        self.machines = [_SharedMachine(problem, task, sums) for task in tasks]

    def hessian(self, zeta: Array, answer: Any) -> Array:
        parts = [machine.hessian(zeta, one) for machine, one in zip(self.machines, answer.parts, strict=True)]
        total: Array = np.sum(parts, axis=0)
        return total


@dataclass(frozen=True, eq=False)
class _Answers:
    """The answers of T machines, and the sum of their forms (M,)."""

    parts: tuple[Answer, ...]
    forms: Array


class _JointReduced(Reduced):
    """The joint problem at p = 1 in shares on the simplex, as ``Barrier`` asks for it; values are those of the problem
    over C n."""

    def __init__(self, problem: Joint) -> None:
        n, M = problem.Y.shape[1], problem.kernels.n_kernels
        self.problem, self.d, self.ancestry = problem, np.ones(M), Edgeless(M)  # type: ignore[assignment]
        self.tasks = [Task(y, problem.loss, 1.0 / (problem.C * n), problem.fit_intercept) for y in problem.Y]
        self.task = self.tasks[0]
        self.machine = _Machines(problem, self.tasks)  # type: ignore[assignment]

    def evaluate(self, x: Array, warm: Array | None, accuracy: float) -> AnyIterate:
        x = np.maximum(x, 1e-13)
        zeta = x / x.sum()
        machines: Any = self.machine
        parts = tuple(
            machine.solve(zeta, None if warm is None else warm[t], accuracy)
            for t, machine in enumerate(machines.machines)
        )
        forms = np.sum([part.forms for part in parts], axis=0)
        duals = np.array([part.dual for part in parts])
        omega, bound = float(zeta @ np.sqrt(forms)), float(forms.max())
        errors = sum(
            float(np.mean(losses_at(task.loss, part.decision, part.intercept, task.y)))
            for task, part in zip(self.tasks, parts, strict=True)
        )
        lam = self.task.lam
        value, point, _ = self.problem.bound(duals, forms)
        h, norms = zeta * forms, zeta * np.sqrt(forms)
        answers: Any = _Answers(parts, forms)
        own = errors + 0.5 * lam * float(zeta @ forms)
        state = Inner(zeta, h, answers, bound, omega, norms, lam * value, own)
        return Iterate(
            zeta, duals, 0.0, errors + 0.5 * lam * omega**2, lam * value, abs(own), solves=len(parts), state=state,
            dual_point=point,
        )  # fmt: skip


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
) -> tuple[Fit, Array]:
    """lp-norm MKL with one set of weights for T targets, and the intercepts (T,).

    ``K`` (M, n, n) or an operator, ``Y`` (T, n), labels -1 / +1 or numbers. In the fit ``dual_coef`` and ``dual_point``
    are (T, n). ``warm`` starts from a neighbouring solution. At p = 1 a loss without slopes other than the hinge
    keeps to the analytic update, which may need many steps.
    """
    problem = Joint(
        as_operator(K), np.ascontiguousarray(np.atleast_2d(Y), dtype=float), C, loss, LpNorm(p), fit_intercept
    )
    start = None if warm is None else _start(problem, warm)
    on_features = Capability.FEATURES in problem.kernels.capabilities
    if on_features or not problem.penalty.simplex or not (suits_hulls(loss) or loss.sloped):
        theta, duals = start or (None, None)
        method = JointReweighting(problem, tol=tol, theta=theta, duals=duals)
        fit = run(method, tol=tol, max_iter=max_iter, callback=callback)
        return _with_intercepts(problem, fit, fit.weights)
    return _at_one(problem, tol, max_iter, callback, start)


def _start(problem: Joint, warm: WarmStart) -> tuple[Array, Array]:
    """The weights of a neighbour without zeros, and its dual (T, n) at the cost of ``problem``."""
    weights = np.maximum(warm.weights, SETTINGS.lifted * warm.weights.max())
    duals = warm.dual_for(problem.C, problem.loss)
    return problem.penalty.scale(weights), np.ascontiguousarray(np.reshape(duals, problem.Y.shape))


def _at_one(
    problem: Joint,
    tol: float,
    max_iter: int,
    callback: Callable[..., Any] | None,
    start: tuple[Array, Array] | None,
) -> tuple[Fit, Array]:
    """The fixed point first, then Newton on the simplex; published as a method of the driver that begins at its end."""
    reduced = _JointReduced(problem)
    end, solves, cancelled = on_simplex(reduced, problem.kernels.n_kernels, tol, max_iter, callback, start)
    last = _FromBarrier(problem, reduced, end, tol=tol, duals=end.dual)
    fit = run(last, tol=tol, max_iter=max(1, max_iter // 10), callback=callback)
    status = Status.CANCELLED if cancelled else fit.status
    return _with_intercepts(problem, replace(fit, solves=fit.solves + solves, status=status), fit.weights)


class _FromBarrier(JointReweighting):
    """What the barrier ended with: its dual value, and its weights without those that are none."""

    def __init__(
        self, problem: Joint, reduced: _JointReduced, end: AnyIterate, *, tol: float, duals: Array | None
    ) -> None:
        super().__init__(problem, tol=tol, duals=duals)
        self.name = f"joint barrier of {len(problem.Y)} targets"
        self.reduced, self.end = reduced, end

    def init(self) -> AnyIterate:
        scale, objective = self.problem.penalty.scale, self.end.objective / self.reduced.task.lam
        value, known, price = self.problem.bound(self.end.dual, self.end.state.answer.forms)
        point = without_faded(
            self.end.weights,
            objective,
            self.tol * min(price, abs(objective)),
            lambda theta: self._evaluated(scale(theta), self._duals, 0.0),
        )
        if point.dual_objective is None or value > point.dual_objective:
            point = replace(point, dual_objective=value, dual_point=known, scale=price)
        return point

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        return Status.STALLED


def _with_intercepts(problem: Joint, fit: Fit, weights: Array) -> tuple[Fit, Array]:
    if not problem.fit_intercept:
        return fit, np.zeros(len(problem.Y))
    decisions = problem.combined(weights).matvec(fit.dual_coef.T).T
    found = [problem.loss.best_intercept(f, y) for f, y in zip(decisions, problem.Y, strict=True)]
    return fit, np.array(found)
