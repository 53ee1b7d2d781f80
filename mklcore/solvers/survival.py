"""lp-norm MKL under Cox's partial likelihood, whose losses are not those of single rows.

    min_{theta, f}  C L(f) + 1/2 sum_m ||f_m||^2 / theta_m,   f = sum_m f_m,   ||theta||_p <= 1
    dual            -C L*(-a / C) - 1/2 || (a'K_m a)_m ||_{p*}

The machine is Newton's method on f = K_theta c. At its end f0 the dual a = -C L'(f0) is feasible and its value known
by Fenchel's equality, so that every step is certified. The weights follow the analytic update; at p = 1 a log-barrier
Newton method goes on, with the hessian  A'(K + (L'' C)^{-1})^{-1} A  of A = (K_m a)_m in the weights.

Source: Kloft et al. (2011), equations (16), (17), (19), with the loss of Cox (1972); the hessian as in specification,
hierarchical kernel learning, section 6, for second derivatives that are no diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.operators import as_operator
from mklcore.kernels.operators.base import KernelOperator
from mklcore.losses.survival import PartialLikelihood
from mklcore.penalties import LpNorm
from mklcore.solvers.driver import AnyIterate, Fit, Iterate, Method, Status, run
from mklcore.solvers.hkl.inner import Inner, Reduced
from mklcore.solvers.proof import Certificate
from mklcore.solvers.simplex import Edgeless, on_simplex, without_faded


@dataclass(frozen=True)
class SurvivalSettings:
    """What the machine of Cox's loss is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    steps: int = 60  # Newton steps at most
    halvings: int = 40  # of a step that does not lower the objective


SETTINGS = SurvivalSettings()


class CoxAnswer(NamedTuple):
    """A solved machine: dual a (n,), f0 (n,) where it was taken, C L(f0), f = K a (n,), a'K_m a (M,)."""

    dual: Array
    at: Array
    loss_at: float
    decision: Array
    forms: Array


@dataclass(frozen=True, eq=False)
class CoxProblem:
    """M kernels, the partial likelihood of the training times, its price and the norm of the weights."""

    kernels: KernelOperator
    likelihood: PartialLikelihood
    C: float
    penalty: LpNorm

    def combined(self, weights: Array) -> Array:
        """sum_m weights_m K_m (n, n)."""
        K = self.kernels.combine(np.ascontiguousarray(weights))
        return K.block(np.arange(self.kernels.n_samples))

    def solve(self, weights: Array, warm: Array | None, accuracy: float) -> CoxAnswer:
        """The machine at ``weights``, to a relative duality gap of ``accuracy``; ``warm`` (n,) is a dual to start
        from.
        """
        K, C, L = self.combined(weights), self.C, self.likelihood
        c = np.zeros(K.shape[0]) if warm is None else warm - warm.mean()
        f = K @ c
        value = C * L.value(f) + 0.5 * float(c @ f)
        for _ in range(SETTINGS.steps):
            a = -C * L.gradient(f)
            a = a - a.mean()
            own = K @ a
            primal = C * L.value(own) + 0.5 * float(a @ own)
            dual = self.conjugate(a, f) - 0.5 * float(a @ own)
            if primal - dual <= max(accuracy * 0.5 * float(a @ own), 1e-13 * abs(primal)):
                break
            system = C * (L.hessian(f) @ K)
            system.flat[:: f.size + 1] += 1.0
            step = np.linalg.solve(system, a - c)
            moved, length = K @ step, 1.0
            for _ in range(SETTINGS.halvings):
                trial_c, trial_f = c + length * step, f + length * moved
                trial = C * L.value(trial_f) + 0.5 * float(trial_c @ trial_f)
                if trial <= value:
                    break
                length *= 0.5
            else:
                break
            c, f, value = trial_c, trial_f, trial
        return CoxAnswer(a, f, C * L.value(f), own, self.kernels.quad(np.ascontiguousarray(a)))

    def conjugate(self, a: Array, at: Array) -> float:
        """-C L*(-a / C) of a = -C L'(at), by Fenchel's equality."""
        return float(a @ at) + self.C * self.likelihood.value(at)

    def primal(self, weights: Array, a: Array) -> float:
        """The objective of the coefficients ``a`` (n,) at ``weights`` (M,)."""
        norms = weights * np.sqrt(self.kernels.quad(np.ascontiguousarray(a)))
        f = self.combined(weights) @ a
        return self.C * self.likelihood.value(f) + self.penalty.regulariser(norms)

    def dual_value(self, at: Array) -> float:
        """The dual value of a = -C L'(at)."""
        a = -self.C * self.likelihood.gradient(at)
        a = a - a.mean()
        return self.conjugate(a, at) - self.penalty.dual_price(self.kernels.quad(a))


class CoxReweighting(Method[Any]):
    """The analytic update of the weights around the machine; the state of a point is where its dual was taken."""

    def __init__(self, problem: CoxProblem, *, tol: float, start: AnyIterate | None = None) -> None:
        self.problem, self.tol, self.first = problem, tol, start
        self.name = "Cox MKL, reweighting" if start is None else "Cox MKL, log-barrier Newton"
        self.taken: list[tuple[Array, Array]] = []  # every dual point, and where it was taken

    def init(self) -> AnyIterate:
        if self.first is not None:
            return self._from_barrier(self.first)
        return self._evaluated(self.problem.penalty.start(self.problem.kernels.n_kernels), None)

    def _from_barrier(self, known: AnyIterate) -> AnyIterate:
        """The weights of the barrier without those that are none, and the sharper of both dual values."""
        problem, x = self.problem, known.weights
        best = problem.primal(x, known.dual)
        scale = problem.penalty.scale
        price = problem.penalty.dual_price(known.state.answer.forms)
        gap = self.tol * min(price, abs(best))
        point = without_faded(x, best, gap, lambda theta: self._evaluated(scale(theta), known.dual))
        value = problem.dual_value(known.state.answer.at)
        if point.dual_objective is None or value > point.dual_objective:
            self.taken.append((known.dual, known.state.answer.at))
            point = replace(point, dual_objective=value, dual_point=known.dual, scale=price)
        return point

    def step(self, best: AnyIterate, last: AnyIterate, trace: Any) -> AnyIterate | Status:
        if self.problem.penalty.plain_sum or self.first is not None:
            return Status.STALLED
        return self._evaluated(self.problem.penalty.update(last.weights, last.state[1]), last.dual)

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        """The objective from the coefficients, and the dual value from where its point was taken."""
        return Certificate(
            self.problem.primal(best.weights, best.dual),
            None if dual_point is None else self.problem.dual_value(self.place_of(dual_point)),
        )

    def place_of(self, dual_point: Array | None) -> Array:
        """f0 (n,) of a dual point -C L'(f0) of this run."""
        return next(at for point, at in self.taken if point is dual_point)

    def _evaluated(self, theta: Array, warm: Array | None) -> AnyIterate:
        problem = self.problem
        answer = problem.solve(theta, warm, 0.02 * self.tol)
        objective = problem.C * problem.likelihood.value(answer.decision) + problem.penalty.regulariser(
            theta * np.sqrt(answer.forms)
        )
        price = problem.penalty.dual_price(answer.forms)
        value = problem.conjugate(answer.dual, answer.at) - price
        self.taken.append((answer.dual, answer.at))
        return Iterate(
            theta, answer.dual, 0.0, objective, value, price, state=(answer.at, answer.forms), dual_point=answer.dual
        )


class _Bending:
    """Second derivatives of the machine's value in the weights, as the barrier asks for them."""

    def __init__(self, problem: CoxProblem, lam: float) -> None:
        self.problem, self.lam = problem, lam

    def hessian(self, zeta: Array, answer: Any) -> Array:
        problem = self.problem
        images = problem.kernels.matvec(np.ascontiguousarray(answer.dual)).T
        H = problem.C * problem.likelihood.hessian(answer.at)
        system = H @ problem.combined(zeta)
        system.flat[:: images.shape[0] + 1] += 1.0
        found: Array = self.lam * images.T @ np.linalg.solve(system, H @ images)
        return 0.5 * (found + found.T)


class _Task(NamedTuple):
    """What the barrier asks of a loss."""

    lam: float
    interior: bool = False


class _CoxReduced(Reduced):
    """The problem at p = 1 in shares on the simplex, with values over C."""

    def __init__(self, problem: CoxProblem) -> None:
        M = problem.kernels.n_kernels
        self.problem, self.d = problem, np.ones(M)
        self.ancestry, self.task = Edgeless(M), _Task(1.0 / problem.C)  # type: ignore[assignment]
        self.machine = _Bending(problem, self.task.lam)  # type: ignore[assignment]

    def evaluate(self, x: Array, warm: Array | None, accuracy: float) -> AnyIterate:
        problem, C = self.problem, self.problem.C
        zeta = np.maximum(x, 1e-13)
        zeta = zeta / zeta.sum()
        answer = problem.solve(zeta, warm, accuracy)
        omega, bound = float(zeta @ np.sqrt(answer.forms)), float(answer.forms.max())
        error = C * problem.likelihood.value(answer.decision)
        value = problem.conjugate(answer.dual, answer.at) - 0.5 * bound
        own: Any = answer
        norms = zeta * np.sqrt(answer.forms)
        state = Inner(
            zeta, zeta * answer.forms, own, bound, omega, norms, value / C,
            (error + 0.5 * float(zeta @ answer.forms)) / C,
        )  # fmt: skip
        objective = (error + 0.5 * omega**2) / C
        return Iterate(
            zeta, answer.dual, 0.0, objective, value / C, abs(objective), state=state, dual_point=answer.dual
        )


def fit_cox(
    K: Any,
    likelihood: PartialLikelihood,
    C: float,
    p: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    callback: Callable[..., Any] | None = None,
) -> tuple[Fit, Array]:
    """lp-norm MKL under the partial likelihood, and where its dual point was taken (n,), from which its value follows.

    ``K`` (M, n, n) or an operator; ``C`` the cost of one unit of the likelihood.
    """
    problem = CoxProblem(as_operator(K).exact, likelihood, C, LpNorm(p))
    start, solves, cancelled = None, 0, False
    if problem.penalty.simplex and problem.kernels.n_kernels > 1:
        start, solves, cancelled = on_simplex(_CoxReduced(problem), problem.kernels.n_kernels, tol, max_iter, callback)
    last = CoxReweighting(problem, tol=tol, start=start)
    fit = run(last, tol=tol, max_iter=max_iter, callback=callback)
    at = last.place_of(fit.dual_point)
    return replace(fit, solves=fit.solves + solves, status=Status.CANCELLED if cancelled else fit.status), at
