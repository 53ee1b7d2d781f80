"""One weighting problem, what a fit hands to the fit of a neighbouring one, and what all methods for it share.

    min_{w, b, theta >= 0}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2 / theta_m    subject to  ||theta|| <= 1   (16)
    max_a                   Lin(a) - 1/2 ||(a'K_m a)_m||_*                                                          (17)

Source: Kloft, Brefeld, Sonnenburg, Zien (2011).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.kernels.operators import CachedOperator, cached
from mklcore.losses import Cost, Loss
from mklcore.losses.intercepts import best_intercept, total_loss
from mklcore.machines.solution import feasible_start
from mklcore.penalties import Penalty
from mklcore.solvers.bound import Bound, dual_bound
from mklcore.solvers.driver import AnyIterate, Fit, Method, State, Status
from mklcore.solvers.proof import Certificate, scales_of, weighted_certificate
from mklcore.solvers.screening import Screened, Screening, norms_of


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "K", cached(self.K))

    def loss_at(self, f: Array) -> tuple[float, float]:
        """The best intercept at decision values f (n,) without one, and C sum V there."""
        b = best_intercept(self.loss, f, self.y, self.C) if self.fit_intercept else 0.0
        return b, total_loss(self.loss, f, b, self.y, self.C)

    def regulariser(self, weights: Array, Q: Array) -> float:
        """min over theta of 1/2 sum_m ||w_m||^2 / theta_m for ||w_m||^2 = weights_m^2 Q_m."""
        return self.penalty.regulariser(weights * np.sqrt(Q))

    def bound(self, a: Array, Q: Array) -> Bound:
        """What a dual in the box with forms Q (M,) proves for the whole problem."""
        return dual_bound(self.loss, self.penalty, a, Q, self.y, self.C)

    def feasible(self, a: Array | None) -> Array:
        """A dual near ``a`` in the box, with 1'a as the intercept demands."""
        return feasible_start(a, *self.loss.box(self.y, self.C), self.fit_intercept, self.loss.total)

    def has_same_terms(self, other: Problem) -> bool:
        """Whether two problems on the same kernels differ in C alone."""
        return (
            self.K is other.K
            and self.loss == other.loss
            and self.penalty == other.penalty
            and self.fit_intercept == other.fit_intercept
            and np.array_equal(self.y, other.y)
        )


class Carried(NamedTuple):
    """What a method hands on beside weights and dual: the kernels it worked on, whether following the optimum on from
    here costs more than solving anew, and what is known of the kernels at earlier duals."""

    live: Indices | None = None
    homotopy_is_dear: bool = False
    screening: Screening | None = None


@dataclass(frozen=True, eq=False)
class WarmState:
    """What the fit of ``problem`` hands to its neighbour on a path: the problem, whose kernels remember their products
    and sums, the ``fit``, and what its method carried."""

    problem: Problem
    fit: Fit
    carried: Carried


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
        """What the neighbour's method handed on."""
        if isinstance(self.carry, WarmState):
            return self.carry.carried
        return self.carry if isinstance(self.carry, Carried) else Carried()

    def dual_for(self, C: Cost, loss: Loss) -> Array:
        """The dual moved to another C: scaled with it once a point sits at its bound, else kept."""
        if not loss.box_is_scaled_by_C:
            return self.dual
        largest = float(np.max(np.abs(self.dual), initial=0.0))
        at_bound = np.any(np.abs(self.dual) >= loss.dual_bound * self.C * (1.0 - 1e-9))
        return (
            self.dual * (C / self.C) if at_bound or np.any(largest > loss.dual_bound * C) or loss.smooth else self.dual
        )


class WeightedMethod(Method[State]):
    """A method for a ``Problem``: its published parts are certified by the kernels, whatever the method did to find
    them.
    """

    problem: Problem

    def certify(self, best: AnyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value of published parts: what the kernels remember of them is not computed again."""
        return certificate_over(self.problem, self.problem.K, best, dual_point)

    def screening(self, warm: WarmStart | None) -> Screening | None:
        """That of a neighbour on the same kernels, or, along a path, a new one where a loss has a sphere."""
        task, known = self.problem, None if warm is None else warm.carried.screening
        if not task.screen or task.loss.total != 0.0:
            return None
        if known is not None and known.K is task.K:
            return known.renew()
        if warm is None or task.loss.least_curvature == 0.0:
            return None
        return Screening(task.K, norms_of(task.K.source, task.fit_intercept))

    @property
    def scales(self) -> str:
        """A sentence about the scales of the problem."""
        return scales_of(self.problem.K.diagonals(), self.problem.C)

    @property
    def carry(self) -> Carried:
        """What the fit of a neighbouring problem can use."""
        return Carried()


class OfAnother(WeightedMethod[Any]):
    """A method that solves another problem with the same optimum. The ``state`` of a point is the other problem's
    point.
    """

    method: WeightedMethod[Any]

    @abstractmethod
    def _shown(self, point: AnyIterate) -> AnyIterate:
        """A point of the other problem as one of this."""

    def init(self) -> AnyIterate:
        return self._shown(self.method.init())

    def step(self, best: AnyIterate, last: AnyIterate, trace: Any) -> AnyIterate | Status:
        following = self.method.step(best.state, last.state, trace)
        return following if isinstance(following, Status) else self._shown(following)

    def restate(self, best: AnyIterate, dual_point: Array | None) -> AnyIterate:
        truer = self.method.restate(best.state, dual_point)
        return best if truer is best.state else self._shown(truer)

    @property
    def screened(self) -> Screened | None:
        return self.method.screened

    def polish(self, best: AnyIterate) -> AnyIterate:
        polished = self.method.polish(best.state)
        return best if polished is best.state else self._shown(polished)


def certificate_over(
    problem: Problem, K: CachedOperator, best: AnyIterate, dual_point: Array | None, kernels: Indices | None = None
) -> Certificate:
    """Objective and dual value of published parts with the kernels ``K`` in place of the problem's own; of some of the
    ``kernels`` where the others have no weight and do not change the price."""
    y, C, loss, penalty = problem.y, problem.C, problem.loss, problem.penalty
    return weighted_certificate(K, y, C, loss, penalty, best.weights, best.dual, best.intercept, dual_point, kernels)
