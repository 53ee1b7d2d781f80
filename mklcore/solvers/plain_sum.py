"""p = infinity: every weight is one, so the kernels are summed once and one machine is the optimum.

    min_{w, b}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2     is the machine of     K = sum_m K_m

Prices agree, too: 1/2 sum_m a'K_m a = 1/2 a'K a. Where not even the sum fits in memory, its rows are computed when asked
for, by the interleaved solver on this one kernel. Where hardly a slope pays (a rare class, kernels that do not see it),
pairs of coordinates stand still far from the last digits, and interior point steps on the sum reach them.

Source: Kloft et al. (2011), equation (17) at p* = 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import KernelError
from mklcore.kernels.operators.dense import DenseKernels
from mklcore.kernels.operators.lazy import LazySum
from mklcore.losses.intercepts import best_intercept, total_loss
from mklcore.penalties import LpNorm
from mklcore.solvers.driver import Board, Point, Status
from mklcore.solvers.interior import Interior
from mklcore.solvers.interleaved import Interleaved, lacking
from mklcore.solvers.proof import Values
from mklcore.solvers.reweighting import Problem, Reweighting, WarmStart

LARGEST_MB = 2000.0  # above, the sum itself is not stored
_MOST_INSIDE = 50  # interior point steps: a dozen or two reach what can be reached


class PlainSum:
    """One machine on the sum of all kernels of a ``LazyKernels``; its weights are those of all kernels."""

    keeps_points = False

    def __init__(
        self, problem: Problem, *, tol: float, warm: WarmStart | None = None, largest_mb: float | None = None
    ) -> None:
        rows: Any = problem.K
        self._weights: Array = np.ones(rows.n_kernels)
        inside = None if warm is None else replace(warm, weights=np.ones(1), carry=None)
        self.method: Reweighting | Interleaved
        needed, room = 8e-6 * rows.n_samples**2, LARGEST_MB if largest_mb is None else largest_mb
        if needed > room and (missing := lacking(problem.loss, problem.penalty)):
            raise KernelError(
                f"The sum of the kernels on {rows.n_samples:,} rows takes {needed:,.0f} MB, above the {room:,.0f} MB that are "
                f"stored, and to do without it takes {missing}. Use fewer rows, such a loss, or an approximation "
                "(Nystroem(n_components=200), say)."
            )
        if needed <= room:
            self.method = Reweighting(replace(problem, K=DenseKernels(rows.total[None])), tol=tol, warm=inside)
        else:
            self.method = Interleaved(replace(problem, K=LazySum(rows)), tol=tol, warm=inside)
        self.name: str = f"one machine on the plain sum of {rows.n_kernels} kernels"

    def restated(self, best: Point, dual_point: Array | None) -> Point:
        """The best point with its products from scratch, where they came from running sums."""
        if isinstance(self.method, Reweighting):
            return best
        return self._for_all(self.method.restated(self._for_one(best), dual_point))

    def values(self, best: Point, dual_point: Array | None) -> Values:
        """Objective and dual value of published parts, from the sum."""
        return self.method.values(self._for_one(best), dual_point)

    def start(self) -> Point:
        return self._for_all(self.method.start())

    def step(self, best: Point, last: Point, board: Board) -> Point | Status:
        following = self.method.step(self._for_one(best), self._for_one(last), board)
        return following if isinstance(following, Status) else self._for_all(following)

    def finish(self, best: Point) -> Point:
        alone = self._for_one(best)
        polished = self.method.finish(alone)
        return best if polished is alone else self._for_all(polished)

    def _for_all(self, point: Point) -> Point:
        return replace(point, weights=self._weights)

    def _for_one(self, point: Point) -> Point:
        return replace(point, weights=np.ones(1))


class Summed(PlainSum):
    """Interior point steps on the sum of a stored stack, for a loss that is linear on each side of zero."""

    def __init__(self, problem: Problem, total: Array, *, tol: float, warm: WarmStart) -> None:
        self._weights = np.ones(problem.K.n_kernels)
        one = replace(problem, K=DenseKernels(total[None]), penalty=LpNorm(1.0))
        inside = Interior(one, tol=tol, warm=replace(warm, weights=np.ones(1)))
        self.method, self.name = inside, inside.name


class OneMachine(Reweighting):
    """p = infinity on a stored stack: one machine; where it stands still, the constant model, then interior point steps."""

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        super().__init__(problem, tol=tol, warm=warm)
        self._inside: Summed | None = None
        self._steps = 0
        linear = problem.loss.piecewise_linear and np.ndim(problem.C) == 0
        self._may_change = linear and Interior.suits(problem)

    def step(self, best: Point, last: Point, board: Board) -> Point | Status:  # type: ignore[override]  # with a history
        if self._inside is not None:
            self._steps += 1
            return Status.STALLED if self._steps > _MOST_INSIDE else self._inside.step(best, last, board)
        following = super().step(best, last, board)
        if isinstance(following, Point) or not self._may_change:
            return following
        self._may_change, constant = False, self._constant(best)
        if board.dual is not None and constant.objective - board.dual <= board.target:
            return constant
        self._combine(best.weights)
        warm = WarmStart(best.weights, best.dual, self.problem.C)
        self._inside, self.running = Summed(self.problem, self._sum.copy(), tol=self.tol, warm=warm), None
        return self._inside.start()

    def _constant(self, best: Point) -> Point:
        """The model that says the same of every row, and proves nothing."""
        task, nothing = self.problem, np.zeros_like(best.dual)
        b = best_intercept(task.loss, nothing, task.y, task.C) if task.fit_intercept else 0.0
        objective = total_loss(task.loss, nothing, b, task.y, task.C)
        return replace(best, dual=nothing, intercept=b, objective=objective, dual_objective=None, state=None)
