"""p = infinity without a stored stack: every weight is one, so the kernels are summed once and one machine is the optimum.

    min_{w, b}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2     is the machine of     K = sum_m K_m

Prices agree, too: 1/2 sum_m a'K_m a = 1/2 a'K a. Where not even the sum fits in memory, its rows are computed when asked
for, by the interleaved solver on this one kernel. Source: Kloft et al. (2011), equation (17) at p* = 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.rows import KernelRows, SummedRows
from mklcore.solvers.driver import Board, Point, Status
from mklcore.solvers.interleaved import Interleaved
from mklcore.solvers.proof import Values
from mklcore.solvers.reweighting import Problem, Reweighting, WarmStart

LARGEST_MB = 2000.0  # above, the sum itself is not stored


class PlainSum:
    """One machine on the sum of all kernels of a ``KernelRows``; its weights are those of all kernels."""

    keeps_points = False

    def __init__(
        self, problem: Problem, *, tol: float, warm: WarmStart | None = None, largest_mb: float = LARGEST_MB
    ) -> None:
        rows = problem.K
        assert isinstance(rows, KernelRows)
        self._weights: Array = np.ones(rows.n_kernels)
        inside = None if warm is None else replace(warm, weights=np.ones(1), carry=None)
        self.method: Reweighting | Interleaved
        if 8e-6 * rows.n_samples**2 <= largest_mb:
            self.method = Reweighting(replace(problem, K=rows.total[None]), tol=tol, warm=inside)
        else:
            self.method = Interleaved(replace(problem, K=SummedRows(rows)), tol=tol, warm=inside)
        self.name = f"one machine on the plain sum of {rows.n_kernels} kernels"

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
