"""The reweighting loop: solve one machine, read the block norms, set the kernel weights in closed
form, repeat.

Algorithm 1 of Kloft, Brefeld, Sonnenburg, Zien (2011):

    theta <- equal weights
    repeat   a, b <- machine with K = sum_m theta_m K_m                                  (23)
             theta_m <- analytic update from ||w_m|| = theta_m sqrt(a'K_m a)             (24), (19)
    until    best primal - best dual <= tol * R

A dual point certifies every theta, so the gap needs no exact machine: that of every machine is a
share of the tolerance. ``newton.py`` replaces the update of theta and nothing else.

Cutting planes for p = 1: the semi-infinite linear programme of Sonnenburg et al. (2006), for
comparison.

    min_{theta in the simplex, t}  t     subject to   t >= Lin(a_k) - 1/2 theta'Q(a_k)   for every machine solution a_k

Each step solves the programme (HiGHS) and asks the machine for one more plane at its solution. Kept
as the historical baseline: its last digits are slow, and damped Newton needs fewer machines.
Source: Kloft et al. (2011), section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.problem.driver import AnyIterate, Iterate, Status, Trace
from mklcore.problem.machines import solve_machine
from mklcore.problem.problem import WeightedMethod
from mklcore.problem.svm import NO_SLOPE

# What the analytic update and its machines are tuned by. A value changes how long a fit takes,
# not what its certificate proves.

# of the errors: R of the stopping rule where w = 0 can be the optimum
LEAST_SCALE = 0.001
# how much farther than the update a first step goes, where every step makes all kernels
STRIDE = 2.0
LONGER = 1.25  # factor of the stride after a step that gains
ACCURACY = 0.1  # of the tolerance: the relative gap asked of a machine
# tolerances of the programme, as fine as HiGHS takes them: 1e-7, its own, left gaps of 1e-5
FINEST = 1e-10
SAME = 1e-13  # change of theta that is none
UNSEEN = 0.01  # of the tolerance: the root of a form, as a share of that of the largest
STILL = 0.9  # of the gap is left after a step that changes nothing


_FLOOR = 1e-13  # no machine is asked for a smaller relative gap
NO_PRODUCTS = np.empty((0, 0))
NEGLIGIBLE = 1e-6  # weights below this share of the largest are set to zero at p = 1


@dataclass(frozen=True, eq=False)
class WeightState:
    """What the loop carries with a point: quadratic forms, the machine's own value and gap, its
    accuracy, the damping.

    ``G`` (L, n) = K_m a where the method needs it.
    """

    Q: Array
    value: float
    inner_gap: float
    accuracy: float
    damping: float = 0.0
    G: Array = field(default_factory=lambda: NO_PRODUCTS)


WeightIterate: TypeAlias = Iterate[WeightState]


class Reweighting(WeightedMethod[WeightState]):
    """The wrapper of Algorithm 1. ``warm`` starts it from a neighbouring solution."""

    needs_products = False
    certifies = True  # whether the penalty has a dual

    def prepare(self) -> None:
        problem = self.problem
        self.name = f"{problem.penalty.name} reweighting (analytic update)"
        strides = 1.0 < problem.order < np.inf and not problem.K.keeps_products
        self._stride = STRIDE if strides else 0.0

    def init(self) -> WeightIterate:
        penalty = self.problem.penalty
        M = self.problem.K.n_kernels
        accuracy = max(ACCURACY * self.tol, _FLOOR)
        if self.warm is None:
            return self.solve(penalty.start(M), None, accuracy)
        return self.solve(self._lifted(self.warm.weights), self.warm.dual, accuracy)

    def step(
        self, best: WeightIterate, last: WeightIterate, trace: Trace
    ) -> WeightIterate | Status:
        accuracy = last.state.accuracy
        Q = last.state.Q
        # a form that the tolerance does not see: its large weight would be rounding
        if self.problem.penalty.ascends:
            Q = np.maximum(Q, (UNSEEN * self.tol) ** 2 * Q.max())
        updated = self.problem.penalty.update(last.weights, Q)
        if self._stride > 1.0:
            farther = self.solve(self._beyond(last.weights, updated), last.dual, accuracy)
            if self.gains(last, farther) or certifies(farther, trace):
                self._stride *= LONGER
                return farther
            self._stride = 0.0  # here it overshoots: to the letter from now on
        following = self.solve(updated, last.dual, accuracy)
        return self.accept_or_sharpen(last, following, trace)

    def _beyond(self, weights: Array, updated: Array) -> Array:
        """The way from ``weights`` to ``updated`` in log theta, gone on: at a dual that stays the
        update takes a fixed share of it, 1 - 2 / (p + 1), and where every step makes all kernels
        again few long steps are better than many short ones.
        """
        p = self.problem.order
        with np.errstate(divide="ignore", invalid="ignore"):
            way = np.where(weights > 0.0, np.log(np.maximum(updated, 1e-300) / weights), 0.0)
        way *= min(self._stride, (p + 1.0) / (p - 1.0))
        return self.problem.penalty.scale(weights * np.exp(way - way.max()))

    def polish(self, best: WeightIterate) -> WeightIterate:
        """Where weights end at zero, zero the negligible ones and solve the machine once more."""
        if not self.problem.penalty.sparse:
            return best
        if not self.problem.penalty.homogeneous and (nothing := self._nothing(best)) is not None:
            return nothing
        small = best.weights < NEGLIGIBLE * best.weights.max()
        if not np.any(small & (best.weights > 0)):
            return best
        weights = self.problem.penalty.scale(np.where(small, 0.0, best.weights))
        return self.solve(weights, best.dual, max(0.05 * self.tol, _FLOOR))

    def _nothing(self, best: WeightIterate) -> WeightIterate | None:
        """The model without any kernel, where what is left of them is within the tolerance and it
        is no worse.
        """
        regulariser = self.problem.regulariser(best.weights, best.state.Q)
        if not 0.0 < regulariser <= self.tol * best.scale:
            return None
        nothing = self.solve(np.zeros_like(best.weights), best.dual, max(0.05 * self.tol, _FLOOR))
        return nothing if nothing.objective <= best.objective else None

    def solve(
        self, weights: Array, warm: Array | None, accuracy: float, damping: float = 0.0
    ) -> WeightIterate:
        """One machine solve at ``weights``, and the certificate it gives to the whole problem."""
        task = self.problem
        total = task.K.combine(weights)
        found = solve_machine(total, task, warm=warm, accuracy=accuracy)
        # from scratch: a large C makes much of what a running sum has lost
        f = total.matvec(found.dual)
        G, Q = self._products(found.dual)
        b, errors = task.loss_at(f)
        regulariser = task.regulariser(weights, Q)
        bound = task.bound(found.dual, Q) if self.certifies else None
        state = WeightState(Q, found.objective, found.gap, accuracy, damping, G)
        if bound is None:
            return Iterate(weights, found.dual, b, errors + regulariser, state=state)
        # the conjugate vanishes where no kernel is worth its penalty
        scale = (
            bound.conjugate if task.penalty.homogeneous else max(regulariser, LEAST_SCALE * errors)
        )
        return Iterate(
            weights,
            found.dual,
            b,
            errors + regulariser,
            bound.value,
            scale,
            state=state,
            dual_point=bound.point,
        )

    def _products(self, a: Array) -> tuple[Array, Array]:
        """G (L, n) = K_m a, empty where kernels that are not stored need not make it, and Q = a'K_m
        a.
        """
        K = self.problem.K
        if not (K.keeps_products or self.needs_products):
            return NO_PRODUCTS, K.quad(a)
        G = K.matvec(a)
        return G, np.maximum(G @ a, 0.0)

    def accept_or_sharpen(
        self, last: WeightIterate, following: WeightIterate, trace: Trace
    ) -> WeightIterate | Status:
        """``following`` if it gains; else the same weights with a sharper machine; else say that
        nothing gains.
        """
        if self.gains(last, following) or certifies(following, trace):
            return following
        if last.state.accuracy <= 10 * _FLOOR:
            return Status.STALLED
        sharper = self.solve(
            last.weights, last.dual, max(_FLOOR, 0.1 * last.state.accuracy), last.state.damping
        )
        slope = 0.5 * float(last.weights @ last.state.Q)
        missed = (
            slope <= NO_SLOPE * abs(last.state.value)
            and last.state.inner_gap > last.state.accuracy * slope
        )
        if (
            missed
            and sharper.state.inner_gap > 0.5 * last.state.inner_gap
            and not certifies(sharper, trace)
        ):
            return Status.STALLED  # round-off: the machine does not reach what is asked already
        return keeping_dual(sharper, following)

    def gains(self, last: WeightIterate, following: WeightIterate) -> bool:
        """The optimum over the machine moved the right way by more than its own gap: up for block
        norms, else down.
        """
        penalty = self.problem.penalty
        fall = last.state.value + penalty.cost(last.weights)
        fall -= following.state.value + penalty.cost(following.weights)
        if penalty.ascends:
            return bool(-fall > last.state.inner_gap + 1e-14 * abs(last.state.value))
        return bool(fall > following.state.inner_gap)

    def _lifted(self, weights: Array) -> Array:
        """Zero weights are absorbing in (19): a warm start lifts them first."""
        lift = 1e-3 if self.problem.penalty.sparse else 1e-6
        return self.problem.penalty.scale(
            np.maximum(weights, lift * max(float(weights.max()), 1e-300))
        )


def certifies(point: AnyIterate, trace: Trace) -> bool:
    """The point closes the gap, or takes a good part of it away, gain or no gain."""
    assert trace.dual is not None
    assert point.dual_objective is not None
    gap = min(point.objective, trace.best.objective) - max(point.dual_objective, trace.dual)
    return bool(gap <= trace.target or gap < 0.8 * trace.gap)


def keeping_dual(point: WeightIterate, *others: WeightIterate) -> WeightIterate:
    """``point`` with the best dual value and all the solves of the tries that led to it."""
    for one in others:
        point = replace(point, solves=point.solves + one.solves)
        if one.dual_objective is not None and one.dual_objective > (
            point.dual_objective or -np.inf
        ):
            point = replace(
                point, dual_objective=one.dual_objective, dual_point=one.dual_point, scale=one.scale
            )
    return point


class SILP(Reweighting):
    """The wrapper with theta from a linear programme over all planes so far; only for the lp norm
    at p = 1.
    """

    def prepare(self) -> None:
        if self.problem.order != 1:
            raise ParameterError(
                'solver="silp" is for p = 1 only; use solver="auto" for other norms.'
            )
        super().prepare()
        self.name = "cutting planes (SILP)"
        self._planes: list[tuple[float, Array]] = []

    def step(
        self, best: WeightIterate, last: WeightIterate, trace: Trace
    ) -> WeightIterate | Status:
        from scipy.optimize import linprog  # not at start-up

        task = self.problem
        self._planes.append((task.dual(last.dual), last.state.Q))
        linear = np.array([plane for plane, _ in self._planes])
        forms = np.array([Q for _, Q in self._planes])
        M = forms.shape[1]
        # in the nu form the linear part is zero
        scale = float(np.abs(linear).max()) or float(forms.max()) or 1.0
        found = linprog(
            np.append(np.zeros(M), 1.0),
            A_ub=np.column_stack([-0.5 * forms, -np.ones(len(linear))]) / scale,
            b_ub=-linear / scale,
            A_eq=np.append(np.ones(M), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0.0, 1.0)] * M + [(None, None)],
            method="highs",
            options={
                "primal_feasibility_tolerance": FINEST,
                "dual_feasibility_tolerance": FINEST,
            },
        )
        if found.x is None:
            return Status.STALLED
        theta = np.maximum(found.x[:-1], 0.0)
        # The largest Q feels the machine's error to first order: where the gap stands still, only
        # sharper machines help.
        still = len(trace.gaps) > 1 and trace.gaps[-1] > STILL * trace.gaps[-2]
        same = bool(np.abs(theta / theta.sum() - last.weights).max() <= SAME)
        if still and same and last.state.accuracy <= 10 * _FLOOR:
            # the same plane forever: the programme has no digits left to tell another theta
            return Status.STALLED
        least = _FLOOR if still else max(_FLOOR, min(0.01 * self.tol, last.state.accuracy))
        return self.solve(theta / theta.sum(), last.dual, least)
