"""Kernels that enter as they are needed: p = 1 where the whole stack would not fit.

    repeat   the problem on a few kernels, by Newton and interior point steps, to a share of the present gap
             Q_m = a'K_m a for all kernels at the dual that certifies it, their rows computed and let go again
    until    the dual value over all kernels is within the tolerance; else the kernels with the largest Q_m enter

The dual of the few is feasible for all, so that the pass over all kernels is the certificate itself. Only the Gram
matrices of the few are stored: kernels without weight leave when there is no room. Column generation, as in Dantzig and
Wolfe (1960).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.kernels.rows import KernelRows
from mklcore.machines.solution import feasible_start
from mklcore.solvers.bound import dual_bound
from mklcore.solvers.driver import Board, Fit, Point, Status, run
from mklcore.solvers.interior import Interior
from mklcore.solvers.interleaved import values_over
from mklcore.solvers.proof import Values, weighted_values
from mklcore.solvers.reweighting import Problem, WarmStart

ROOM_MB = 1000.0  # of Gram matrices at a time
FEWEST = 64  # kernels to begin with, and the least there must be room for
_USED = 1e-3  # share of the largest weight
_SHARE = 0.1  # of the present gap is asked of the few
_STEPS = 100  # at most, on the few


def most_kernels(n: int, room_mb: float = ROOM_MB) -> int:
    """How many Gram matrices of n rows there is room for."""
    return int(room_mb / (8e-6 * n * n))


class Priced:
    """The driver's method: one step is the optimum on a few kernels, and the price of all."""

    keeps_points = False
    what = "interior point steps on the kernels that matter"

    def __init__(
        self, problem: Problem, *, tol: float, warm: WarmStart | None = None, room_mb: float = ROOM_MB
    ) -> None:
        rows: Any = problem.K
        assert isinstance(rows, KernelRows)
        self.rows, self.problem = rows, problem
        self.tol, self.warm = tol, warm
        self.name = f"lp {self.what}"
        self._most = max(2, most_kernels(self.rows.n_samples, room_mb))
        self._proved, self._proof = -np.inf, np.zeros(0)

    def start(self) -> Point:
        task, M = self.problem, self.rows.n_kernels
        low, high = task.loss.box(task.y, task.C)
        weights, a = np.full(M, 1.0 / M), 0.5 * (low + high)
        if self.warm is not None:
            weights, a = self.warm.weights, self.warm.dual_for(task.C, task.loss)
        a = feasible_start(a if a.any() else task.C * task.y, low, high, task.fit_intercept, task.loss.total)
        forms = self.rows.forms(a)
        used = np.flatnonzero(weights > _USED * weights.max()) if self.warm is not None else np.zeros(0, dtype=np.int64)
        nearest = np.argsort(-forms, kind="stable")[: max(FEWEST, M // 4, used.size)]
        self.live: Indices = np.union1d(used, nearest)[: self._most]
        self.few = self.rows.stack_of(self.live)
        if not weights[self.live].any():
            weights[self.live] = 1.0
        return self._solved(weights, a, 100.0 * self.tol)

    def step(self, best: Point, last: Point, board: Board) -> Point | Status:
        forms = self.forms
        outside = np.flatnonzero(forms > forms[self.live].max() * (1.0 + 1e-9))
        outside = np.setdiff1d(outside, self.live)
        if outside.size:
            self._enter(outside[np.argsort(-forms[outside], kind="stable")], last.weights)
        elif self._asked <= 1e-3 * self.tol:
            return Status.STALLED
        gap = board.gap / board.scale if board.scale > 0.0 else 1.0
        finer = 0.3 * self._asked if not outside.size else self._asked
        return self._solved(
            last.weights, last.dual, max(min(_SHARE * gap, finer), 0.3 * self.tol if outside.size else 0.0)
        )

    def values(self, best: Point, dual_point: Array | None) -> Values:
        """Objective and dual value of published parts, from scratch; the price of all kernels where it is not known yet."""
        task, used = self.problem, np.flatnonzero(best.weights)
        if used.size > self._most:
            return values_over(task, self.rows, best, dual_point)
        few, weights = self.rows.stack_of(used), best.weights[used]
        found = weighted_values(few, task.y, task.C, task.loss, task.penalty, weights, best.dual, best.intercept, None)
        if dual_point is None or dual_point is self._proof:
            return found._replace(dual_objective=self._proved)
        price = task.penalty.dual_price(self.rows.forms(dual_point))
        return found._replace(dual_objective=task.loss.dual(dual_point, task.y, task.C) - price)

    def finish(self, best: Point) -> Point:
        return best

    def _enter(self, wanted: Indices, weights: Array) -> None:
        """Some of the kernels ``wanted`` come in; those without weight leave where there is no room for both."""
        entering = wanted[: max(self.live.size, FEWEST)]
        if self.live.size + entering.size > self._most:
            kept = weights[self.live] > 0.0
            self.live, self.few = self.live[kept], self.few[kept]
            entering = entering[: max(1, self._most - self.live.size)]
        self.few = np.concatenate([self.few, self.rows.stack_of(entering)])
        self.live = np.concatenate([self.live, entering])

    def _solved(self, weights: Array, a: Array, asked: float) -> Point:
        """The optimum on the few to ``asked`` times R, and its certificate over all kernels."""
        task, self._asked = self.problem, asked
        inside = replace(task, K=self.few)
        warm = WarmStart(weights[self.live], a, task.C)
        fit: Fit = run(Interior(inside, tol=asked, warm=warm), tol=asked, max_iter=_STEPS)
        assert fit.dual_point is not None
        self.forms = self.rows.forms(fit.dual_point)
        bound = dual_bound(task.loss, task.penalty, fit.dual_point, self.forms, task.y, task.C)
        if bound.value > self._proved:
            self._proved, self._proof = bound.value, bound.point
        everywhere = np.zeros(self.rows.n_kernels)
        everywhere[self.live] = fit.weights
        return Point(
            everywhere,
            fit.dual_coef,
            fit.intercept,
            fit.objective,
            bound.value,
            bound.price,
            fit.solves,
            dual_point=bound.point,
        )
