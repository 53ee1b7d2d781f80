"""One weighting problem, what a fit hands to the fit of a neighbouring one, and what its methods share.

    min_{w, b, theta >= 0}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2 / theta_m    subject to  ||theta|| <= 1   (16)
    max_a                   Lin(a) - 1/2 ||(a'K_m a)_m||_*                                                          (17)

Source: Kloft, Brefeld, Sonnenburg, Zien (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.kernels.operators import CachedOperator, Capability, cached
from mklcore.problem.driver import AnyIterate, Iterate, Method, State, Trace
from mklcore.problem.losses import Cost, Loss, best_intercept, total_loss
from mklcore.problem.penalties import Penalty
from mklcore.problem.proof import Certificate, LowerBound, dual_bound, scales_of, weighted_certificate
from mklcore.problem.solution import feasible_start


@dataclass(frozen=True, eq=False)
class Problem:
    """One binary or regression problem: ``K``, M kernels on n rows as an operator or an array (M, n, n), ``y`` (n,)
    float, ``C`` > 0, a loss, a penalty, an intercept or not, screening of kernels at p = 1 or not."""

    K: CachedOperator
    y: Array
    C: Cost
    loss: Loss
    penalty: Penalty
    fit_intercept: bool
    screen: bool = True
    box: tuple[Array, Array] = field(init=False)  # of feasible duals
    on_features: bool = field(init=False)  # whether no kernel value is made

    def __post_init__(self) -> None:
        object.__setattr__(self, "K", cached(self.K))
        object.__setattr__(self, "box", self.loss.box(self.y, self.C))
        object.__setattr__(self, "on_features", Capability.FEATURES in self.K.capabilities)

    def loss_at(self, f: Array) -> tuple[float, float]:
        """The best intercept at decision values f (n,) without one, and C sum V there."""
        b = best_intercept(self.loss, f, self.y, self.C) if self.fit_intercept else 0.0
        return b, total_loss(self.loss, f, b, self.y, self.C)

    def regulariser(self, weights: Array, Q: Array) -> float:
        """min over theta of 1/2 sum_m ||w_m||^2 / theta_m for ||w_m||^2 = weights_m^2 Q_m."""
        return self.penalty.regulariser(weights * np.sqrt(Q))

    def bound(self, a: Array, Q: Array) -> LowerBound:
        """What a dual in the box with forms Q (M,) proves for the whole problem."""
        return dual_bound(self.loss, self.penalty, a, Q, self.y, self.C)

    def feasible(self, a: Array | None) -> Array:
        """A dual near ``a`` in the box, with 1'a as the intercept demands."""
        return feasible_start(a, *self.box, self.fit_intercept, self.loss.total)

    def point(self, weights: Array, a: Array, f: Array, Q: Array, solves: int = 1, state: Any = None) -> AnyIterate:
        """Kernel weights and a dual with decision values f (n,) and forms Q (M,), certified."""
        b, errors = self.loss_at(f)
        bound, objective = self.bound(a, Q), errors + self.regulariser(weights, Q)
        return Iterate(weights, a, b, objective, bound.value, bound.price, solves, state=state, dual_point=bound.point)


class Carried(NamedTuple):
    """What a fit hands to its neighbour on a path: its ``kernels``, which remember products and sums; at p = 1 those
    that are ``live`` and the same alone, and what is known of all at earlier duals."""

    kernels: CachedOperator | None = None
    live: Indices | None = None
    few: CachedOperator | None = None
    readings: Any = None


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Weights (M,) and signed dual (n,) of a neighbouring problem, the C it was solved for, and the ``carry`` of its
    fit.
    """

    weights: Array
    dual: Array
    C: Cost
    carry: Any = None

    @property
    def carried(self) -> Carried:
        """What the neighbour's fit handed on."""
        return self.carry if isinstance(self.carry, Carried) else Carried()

    def dual_for(self, C: Cost, loss: Loss) -> Array:
        """The dual moved to another C: scaled with it once a point sits at its bound, else kept."""
        if not loss.box_is_scaled_by_C:
            return self.dual
        largest = float(np.max(np.abs(self.dual), initial=0.0))
        most = max(np.abs(loss.slopes))
        at_bound = np.any(np.abs(self.dual) >= most * self.C * (1.0 - 1e-9))
        scaled = at_bound or np.any(largest > most * C) or loss.smooth
        return self.dual * (C / self.C) if scaled else self.dual


class Phase(NamedTuple):
    """One method of several in turn: what makes it (None: it has no way here), and when it is left for the next."""

    make: Callable[..., WeightedMethod[Any] | None]
    leave: Callable[[Problem, Trace, int], bool] = lambda problem, trace, steps: False


class WeightedMethod(Method[State]):
    """A method for a ``Problem``: what it publishes is certified by the kernels, however it was found.

    It may be one of several in turn: the next begins where it has ended or goes on slower.
    """

    problem: Problem
    tol: float
    leave: Callable[[Problem, Trace, int], bool] | None = None
    left: tuple[Phase, ...] = ()
    _steps = 0

    def successor(self, trace: Trace, has_ended: bool) -> Any:
        """The next method in turn, from the best point."""
        self._steps += 1
        if not self.left or self.leave is None or trace.best is None:
            return None
        if not (has_ended or self.leave(self.problem, trace, self._steps)):
            return None
        best = self.restate(trace.best, trace.dual_point)
        if best is not trace.best:
            trace.restate(best)
        warm = WarmStart(best.weights, best.dual, self.problem.C, self.carry)
        return begun(self.problem, self.left, tol=self.tol, warm=warm)

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value of published parts: what the kernels remember of them is not computed again."""
        task = self.problem
        return weighted_certificate(
            task.K, task.y, task.C, task.loss, task.penalty, best.weights, best.dual, best.intercept, dual_point
        )

    @property
    def scales(self) -> str:
        return scales_of(self.problem.K.diagonals(), self.problem.C)

    @property
    def carry(self) -> Carried:
        return Carried(self.problem.K)


def begun(problem: Problem, phases: tuple[Phase, ...], *, tol: float, warm: WarmStart | None = None) -> Any:
    """The first of several methods that has a way here, which knows those that follow; None where none has."""
    for k, phase in enumerate(phases):
        method = phase.make(problem, tol=tol, warm=warm)
        if method is not None:
            method.leave, method.left = phase.leave, phases[k + 1 :]
            return method
    return None
