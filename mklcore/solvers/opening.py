"""Interleaved pairs first, another method for what they leave: damped Newton between p = 1 and p = 4 on small stored
stacks, and at p = 1, where pairs stand still, interior point steps on the kernels that matter.

Pairs and weights that move together close most of the gap while a Newton method still solves its first machines; close
to the optimum, or where C is large and pairs creep, the Newton step needs far fewer passes over the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mklcore.arrays import Array
from mklcore.solvers.driver import Board, Point, Status
from mklcore.solvers.interleaved import Carry, Interleaved
from mklcore.solvers.newton import Newton
from mklcore.solvers.proof import Values, scales_of
from mklcore.solvers.reweighting import Problem, WarmStart
from mklcore.solvers.running import Running

MOST_ROWS = 800  # beyond, a chunk of pairs touches so many rows that combining the stack is cheaper
FINEST = 1e-5  # rows are kept in single precision: finer tolerances are Newton's from the start
CHUNKS = 30


class Opening:
    """The two methods as one: the driver sees a single history."""

    keeps_points = False

    def __init__(
        self,
        problem: Problem,
        *,
        tol: float,
        warm: WarmStart | None = None,
        closing: Any = Newton,
    ) -> None:
        self.problem, self.tol, self.closing = problem, tol, closing
        self.method: Any = Interleaved(problem, tol=tol, warm=warm)
        self._opened: Point | None = None  # where the pairs ended, with values afresh
        self.name = f"{problem.penalty.name} interleaved chunking, then {closing.what}"

    @property
    def running(self) -> Running | None:
        """The products of all kernels with a dual near the last."""
        found: Running | None = getattr(self.method, "running", None)
        return found

    @property
    def carry(self) -> Carry | None:
        """The rows read so far, when the optimum was reached without Newton."""
        return self.method.carry if isinstance(self.method, Interleaved) else None

    def restated(self, best: Point, dual_point: Array | None) -> Point:
        """The best point with its products from scratch, where it came from the running sums of the pairs."""
        if not isinstance(self.method, Interleaved):
            return best
        point: Point = self.method.restated(best, dual_point)
        return point

    def values(self, best: Point, dual_point: Array | None) -> Values:
        """Objective and dual value of published parts, from scratch."""
        found: Values = self.method.values(best, dual_point)
        return found

    @property
    def scales(self) -> str:
        """The scales of the problem in words."""
        return scales_of(self.problem.diagonals, self.problem.C)

    def listen(self, listener: Callable[[], Any] | None) -> None:
        """Let ``listener`` say in the middle of a step of the pairs whether the work should end."""
        if isinstance(self.method, Interleaved):
            self.method.listen(listener)

    def start(self) -> Point:
        first: Point = self.method.start()
        return first

    def step(self, best: Point, last: Point, board: Board) -> Point | Status:
        following: Point | Status
        if isinstance(self.method, Interleaved) and len(board.history) <= CHUNKS:
            following = self.method.step(best, last, board)
            if isinstance(following, Point):
                return following
        if isinstance(self.method, Interleaved):
            warm = WarmStart(best.weights, best.dual, self.problem.C, running=self.running)
            self._opened = self.method.restated(best, board.dual_point)
            board.restate(self._opened)
            self.method = self.closing(self.problem, tol=self.tol, warm=warm)
            return self.start()
        following = self.method.step(best, last, board)
        return following

    def finish(self, best: Point) -> Point:
        if (
            best is self._opened
        ):  # nothing the second method found is better, and it knows the parts of its own points only
            return best
        polished: Point = self.method.finish(best)
        return polished
