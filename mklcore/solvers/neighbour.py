"""The neighbour's answer first: along a path of C it is often within the tolerance of the next problem, too.

Where no point is at its bound the dual stays as it is, else it grows with C; its products with the kernels are known from
the neighbour's certificate, so that the new one costs O(n + M) and no pass over the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.operators.base import same_kernels
from mklcore.losses.intercepts import best_intercept, total_loss
from mklcore.solvers.bound import dual_bound, forms_of_multiple
from mklcore.solvers.bundle import Bundle
from mklcore.solvers.driver import Fit, Point, Status
from mklcore.solvers.proof import Passed, Values
from mklcore.solvers.reweighting import Problem, WarmStart, values_of
from mklcore.solvers.running import Running
from mklcore.solvers.working_set import Carry


@dataclass(frozen=True, eq=False)
class Kept:
    """What a certified fit of ``problem`` hands on: what its method carries, the numbers of its certificate, the products
    of all kernels with a dual near its own, and C and weights of the fit ``before`` it that it started from."""

    problem: Problem
    fit: Fit
    running: Running | None = None
    before: tuple[float, Array] | None = None

    @property
    def carry(self) -> Any:
        """What the method itself hands on."""
        return self.fit.carry


def keeping(problem: Problem, fit: Fit, running: Running | None, before: tuple[float, Array] | None = None) -> Fit:
    """The fit with what a neighbouring problem can use, where its certificate is whole."""
    whole = fit.passed is not None and fit.dual_point is not None and fit.passed.own.size == fit.weights.size
    known = whole and problem.loss.piecewise_linear and problem.loss.total == 0.0
    bare = replace(fit, passed=None)
    return replace(bare, carry=Kept(problem, fit, running, before)) if known and np.ndim(problem.C) == 0 else bare


class Neighbour:
    """The kept answer as a method that is done at its start."""

    keeps_points = False

    def __init__(self, problem: Problem, kept: Kept, factor: float, point: Point) -> None:
        self.problem, self._kept, self._factor, self._point = problem, kept, factor, point
        self.running = kept.running
        self.name = f"{problem.penalty.name} answer of a neighbouring C, which is within the tolerance here, too"

    @classmethod
    def of(cls, problem: Problem, warm: WarmStart, tol: float) -> Neighbour | None:
        """The neighbour's answer, where it is within ``tol`` of this problem's optimum; else None."""
        kept = warm.carry
        if not (isinstance(kept, Kept) and _alike(problem, kept.problem)) or np.ndim(problem.C) or np.ndim(warm.C):
            return None
        fit, passed = kept.fit, kept.fit.passed
        assert passed is not None
        assert fit.dual_point is not None
        if not (np.array_equal(fit.dual_coef, warm.dual) and np.array_equal(fit.weights, warm.weights)):
            return None
        moved = warm.dual_for(problem.C, problem.loss)
        factor = 1.0 if moved is warm.dual else float(problem.C) / float(warm.C)
        proof, task = factor * fit.dual_point, problem
        low, high = task.loss.box(task.y, task.C)
        if np.any(proof < low) or np.any(proof > high):
            return None
        f, own = factor * passed.decision, factor**2 * passed.own
        b = best_intercept(task.loss, f, task.y, task.C) if task.fit_intercept else 0.0
        primal = total_loss(task.loss, f, b, task.y, task.C) + task.penalty.regulariser(fit.weights * np.sqrt(own))
        bound = dual_bound(task.loss, task.penalty, proof, factor**2 * passed.forms, task.y, task.C)
        if not primal - bound.value <= tol * min(bound.price, abs(primal)):
            return None
        point = Point(fit.weights, moved, b, primal, bound.value, bound.price, solves=0, dual_point=bound.point)
        return cls(problem, kept, factor, point)

    def start(self) -> Point:
        return self._point

    def step(self, best: Point, last: Point, board: object) -> Point | Status:
        return Status.STALLED

    def finish(self, best: Point) -> Point:
        return best

    def values(self, best: Point, dual_point: Array | None) -> Values:
        """Objective and dual value of published parts, from the neighbour's pass over the kernels."""
        passed, proof, factor = self._kept.fit.passed, self._kept.fit.dual_point, self._factor
        assert passed is not None
        assert proof is not None
        forms = forms_of_multiple(dual_point, proof, passed.forms)
        assert forms is not None
        return values_of(
            self.problem,
            Passed(factor * passed.decision, factor**2 * passed.own, forms, passed.diagonals),
            best,
            dual_point,
        )

    @property
    def carry(self) -> Any:
        """What the neighbour's method handed on, at the scale of this C."""
        carried, grown = self._kept.carry, float(self.problem.C) >= float(self._kept.problem.C)
        if not isinstance(carried, Carry | Bundle):
            return carried
        if self._factor != 1.0:
            return carried.scaled(self._factor)
        return carried if grown else None


def _alike(one: Problem, other: Problem) -> bool:
    """Whether two problems differ in C alone."""
    return (
        same_kernels(one.K, other.K)
        and one.loss == other.loss
        and one.penalty == other.penalty
        and one.fit_intercept == other.fit_intercept
        and (one.y is other.y or np.array_equal(one.y, other.y))
    )
