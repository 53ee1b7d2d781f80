"""Newton first, the interior point method for what it leaves: p = 1 with a piecewise-linear loss.

Beside a neighbour along a path comes, before both, the optimum followed from there (``following.py``), which is exact and
dear only where many points are free.

An easy problem takes damped Newton a handful of machines. Where many kernels tie, no machine lies near the optimal dual
and Newton stands still for ever; this method notices, and goes on from its best weights along the path inside, which
takes a dozen or two steps of a factorisation each, whatever the ties.
"""

from __future__ import annotations

from dataclasses import replace

from mklcore.arrays import Array
from mklcore.solvers.driver import Board, Point, Progress, Status
from mklcore.solvers.following import Following
from mklcore.solvers.interior import Interior
from mklcore.solvers.newton import Newton
from mklcore.solvers.proof import Values
from mklcore.solvers.reweighting import Problem, WarmStart
from mklcore.solvers.running import Running
from mklcore.solvers.working_set import FROM_KERNELS, Carry, WorkingSet, nearest

_LOOK_BACK = 6  # steps whose pace is measured
_FEW = 15  # steps are what the path inside takes at all
_DIGITS = 0.01  # of the gap at least must be in sight: Newton's last digits come all at once
_MANY = 200  # kernels from which a step inside costs no more than a step of Newton's
_SPARE = 8  # kernels beside those with weight where none is followed: each costs less than a pass over all
_MOST = 40  # steps after which every problem counts as hard


class Kinked:
    """The two methods as one: the driver sees a single history."""

    keeps_points = False
    what = "damped Newton and interior point steps"

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        self.problem, self.tol = problem, tol
        M, n = problem.K.n_kernels, problem.y.size
        self._may_change = Interior.suits(problem)
        self._followed = Following(problem, tol=tol, warm=warm) if warm and Following.suits(problem, warm) else None
        self._inherited = warm is not None and isinstance(warm.carry, Carry) and warm.carry.dear
        self.method: WorkingSet | Newton | Interior | Following
        if self._may_change and max(_MANY, n // 3) <= M:
            self._may_change, self.method = False, Interior(problem, tol=tol, warm=warm)
            self.name = self.method.name
            return
        self.method = (WorkingSet if M >= FROM_KERNELS else Newton)(problem, tol=tol, warm=warm)
        self.name = f"{self.method.name}, with interior point steps where it stands still"

    @property
    def running(self) -> Running | None:
        """The products of all kernels with a dual near the last."""
        found = self.method.running
        return found if found is None or found.live.size == self.problem.K.n_kernels else None

    @property
    def carry(self) -> Carry | object | None:
        """What Newton hands on; after a change the kernels that matter alone."""
        if isinstance(self.method, Interior):
            return Carry(nearest(self.last.weights, self.last.state.Q), None, dear=self._dear)
        carried = self.method.carry
        return replace(carried, dear=self._dear) if isinstance(carried, Carry) else carried

    @property
    def _dear(self) -> bool:
        """Whether the neighbour's optimum was too dear to follow, here or before."""
        return self._inherited or (self._followed is not None and self._followed.dear)

    def values(self, best: Point, dual_point: Array | None) -> Values:
        """Objective and dual value of published parts, from scratch."""
        return self.method.values(best, dual_point)

    @property
    def scales(self) -> str:
        """The scales of the problem in words."""
        return self.method.scales

    def start(self) -> Point:
        if self._followed is not None and self._followed.found() is not None:
            self._may_change, self.method, self.name = False, self._followed, self._followed.name
        elif isinstance(self.method, WorkingSet) and self._dear:
            self.method.spare = _SPARE
        self.last = self.method.start()
        return self.last

    def step(self, best: Point, last: Point, board: Board) -> Point | Status:
        if self._may_change and self._stands_still(board):
            return self._change(best)
        following = self.method.step(best, last, board)
        if isinstance(following, Status):
            return self._change(best) if self._may_change else following
        self.last = following
        return following

    def finish(self, best: Point) -> Point:
        self.last = self.method.finish(best)
        return self.last

    def _stands_still(self, board: Board) -> bool:
        """At the pace of the last steps the tolerance is farther away than the path inside would take."""
        if len(board.history) > _MOST:
            return True
        inner: Progress = self.method.inside if isinstance(self.method, WorkingSet) else board
        gaps = inner.gaps[-1 - _LOOK_BACK :]
        if len(gaps) <= _LOOK_BACK or gaps[0] == float("inf") or gaps[-1] <= 0.0:
            return False
        wanted = max(inner.target / gaps[-1], _DIGITS)
        return bool(gaps[-1] > gaps[0] * wanted ** (_LOOK_BACK / _FEW))

    def _change(self, best: Point) -> Point:
        self._may_change = False
        warm = WarmStart(best.weights, best.dual, self.problem.C, running=self.running)
        self.method = Interior(self.problem, tol=self.tol, warm=warm)
        self.last = self.method.start()
        return self.last
