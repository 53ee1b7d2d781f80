"""Kernels in single precision inside, double precision in every number that is told at the end.

    repeat   steps of another method (Newton, the analytic update, a working set) on ``PackedKernels`` or ``Float32Kernels``
    until    its gap is within the tolerance, less a hundredth of it for what single precision may hide
    then     objective and dual value of the best point by one pass over the kernels from their columns, in float64

What the steps tell in between has the rounding of single precision; what is published has none of it, and no line of the
history tells more than the last one. Where the rounding shows nevertheless (a very large C) the run ends as stalled, and
``fit_weighted`` goes on from there without what was stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mklcore.arrays import Array
from mklcore.kernels.operators.base import is_stored
from mklcore.solvers.driver import Board, Point, Status
from mklcore.solvers.interleaved import values_over
from mklcore.solvers.proof import Values, weighted_values
from mklcore.solvers.reweighting import Problem, WarmStart

FINEST = 1e-5  # finer tolerances are not asked of single precision
_KEPT_BACK = 0.01  # of the tolerance


class SinglePrecision:
    """``inside``, a method for stored kernels on ``PackedKernels`` or for sums on ``Float32Kernels``,
    certified in double precision."""

    keeps_points = False

    def __init__(
        self, problem: Problem, *, tol: float, warm: WarmStart | None = None, inside: Callable[..., Any]
    ) -> None:
        self.problem, self.tol, self._exact = problem, tol, problem.K.exact
        self.method: Any = inside(problem, tol=tol, warm=warm)
        self.name = f"{self.method.name}, kernels in single precision, proved in double"
        self._proved: tuple[Point, Array | None, Values] | None = None

    @property
    def carry(self) -> Any:
        """What the method inside hands on."""
        return self.method.carry if hasattr(self.method, "carry") else None

    @property
    def running(self) -> Any:
        """The products of all kernels that the method inside has."""
        return getattr(self.method, "running", None)

    @property
    def scales(self) -> str:
        """The scales of the problem in words."""
        told: str = self.method.scales
        return told

    def start(self) -> Point:
        return self._less(self.method.start())

    def step(self, best: Point, last: Point, board: Board) -> Point | Status:
        following = self.method.step(best, last, board)
        return following if isinstance(following, Status) else self._less(following)

    def finish(self, best: Point) -> Point:
        polished = self.method.finish(best)
        return best if polished is best else self.restated(polished, polished.dual_point)

    def restated(self, best: Point, dual_point: Array | None) -> Point:
        """The point with its values in double precision."""
        found = self.values(best, dual_point)
        told = replace(best, objective=found.objective, dual_objective=found.dual_objective, dual_point=dual_point)
        self._proved = told, dual_point, found
        return told

    def values(self, best: Point, dual_point: Array | None) -> Values:
        """Objective and dual value of published parts from the columns, in double precision."""
        if self._proved is not None and self._proved[0] is best and self._proved[1] is dual_point:
            return self._proved[2]
        task = self.problem
        if not is_stored(task.K):
            return weighted_values(
                self._exact,
                task.y,
                task.C,
                task.loss,
                task.penalty,
                best.weights,
                best.dual,
                best.intercept,
                dual_point,
            )
        return values_over(task, self._exact, best, dual_point)

    def _less(self, point: Point) -> Point:
        """What a point proves, less what single precision may hide."""
        if point.dual_objective is None:
            return point
        return replace(point, dual_objective=point.dual_objective - _KEPT_BACK * self.tol * point.scale)
