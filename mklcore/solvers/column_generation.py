"""Kernels that enter as they are needed: p = 1 where the whole stack would not fit.

    repeat   the problem on a few kernels, by Newton or interior point steps, to a share of the present gap
             Q_m = a'K_m a for the kernels that may have the largest, from their columns
    until    the dual value over all kernels is within the tolerance; else the kernels with the largest Q_m enter

Most kernels are read rarely: see ``screening``.

The dual of the few is feasible for all, so that the pass over all kernels is the certificate itself. Only the Gram
matrices of the few are stored: kernels without weight leave when there is no room, and where those with weight fill it
none is stored from then on: every step makes the few again. Column generation, as in Dantzig and Wolfe (1960).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.kernels.grams import Rows
from mklcore.kernels.operators import Dense
from mklcore.solvers.driver import Fit, Iterate, Status, Trace, run
from mklcore.solvers.interior import Interior
from mklcore.solvers.newton import Newton
from mklcore.solvers.problem import Carried, Problem, WarmStart, WeightedMethod
from mklcore.solvers.proof import Certificate, weighted_certificate
from mklcore.solvers.screening import Screened, Screening, norms_of, radius_of


@dataclass(frozen=True)
class ColumnSettings:
    """What column generation is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    room_mb: float = 1000.0  # of Gram matrices at a time
    fewest: int = 64  # kernels to begin with, and the least there must be room for
    more: int = 200  # kernels to begin with at most where a quarter of all is more; n where none is stored
    piece: int = 16  # Gram matrices made at a time
    nearly: float = 0.1  # share of the few: when no more are outside, the last digits are asked for
    used: float = 0.001  # share of the largest weight
    share: float = 0.1  # of the present gap is asked of the few
    steps: int = 100  # at most, on the few
    room_left: int = 4  # a fourth of the room is free, or nothing is stored: one kernel at a time would take forever


SETTINGS = ColumnSettings()


def most_kernels(n: int, room_mb: float | None = None) -> int:
    """How many Gram matrices of n rows there is room for, in ``SETTINGS.room_mb`` by default."""
    return int((SETTINGS.room_mb if room_mb is None else room_mb) / (8e-6 * n * n))


class ColumnGeneration(WeightedMethod[None]):
    """One step is the optimum on a few kernels, and the price of all."""

    def __init__(
        self, problem: Problem, *, tol: float, warm: WarmStart | None = None, room_mb: float | None = None
    ) -> None:
        rows: Any = problem.K.source
        self.rows: Rows = rows
        self.problem = problem
        self.tol, self.warm = tol, warm
        self.name = "lp interior point steps on the kernels that matter"
        n = self.rows.n_samples
        cheap = not self.rows.transform.sums.other.size
        self._free = cheap and problem.loss.piecewise_linear  # Newton asks for more than a sum and forms
        self._most = most_kernels(n, room_mb)
        self.few: Any = None
        self._proved, self._proof = -np.inf, np.zeros(0)
        known = self.screening(warm) if warm is not None else None
        self.readings = Screening(problem.K, norms_of(self.rows, False)) if known is None else known

    @property
    def screened(self) -> Screened | None:
        return self.readings.counts if self.problem.screen else None

    @property
    def carry(self) -> Carried:
        """What is known of the kernels at earlier duals."""
        return Carried(screening=self.readings)

    def init(self) -> Iterate[None]:
        task, M = self.problem, self.rows.n_kernels
        low, high = task.loss.box(task.y, task.C)
        weights, a = np.full(M, 1.0 / M), _middle(low, high)
        if self.warm is not None:
            weights, a = self.warm.weights, self.warm.dual_for(task.C, task.loss)
        a = task.feasible(a if a.any() else task.C * task.y)
        used = (
            np.flatnonzero(weights > SETTINGS.used * weights.max())
            if self.warm is not None
            else np.zeros(0, dtype=np.int64)
        )
        forms = self.readings.forms(a, used)
        some = min(M // 4, max(self.rows.n_samples, SETTINGS.more) if self._free else SETTINGS.more)
        nearest = np.argsort(-forms, kind="stable")[: max(SETTINGS.fewest, some, used.size)]
        self._free = self._free or self._is_full_of(used.size)
        most = max(SETTINGS.fewest, 2 * self.rows.n_samples, used.size) if self._free else self._most
        self.live: Indices = np.sort(np.concatenate([used, nearest[~np.isin(nearest, used)]])[:most])
        self._slab = np.empty((0 if self._free else min(self._most, M), task.y.size, task.y.size))
        self._fill(self.live, 0)
        if not weights[self.live].any():
            weights[self.live] = 1.0
        return self._solved(weights, a, 100.0 * self.tol)

    def step(self, best: Iterate[None], last: Iterate[None], trace: Trace) -> Iterate[None] | Status:
        forms = self.forms
        outside = np.flatnonzero(forms > forms[self.live].max() * (1.0 + 1e-9))
        outside = np.setdiff1d(outside[self.readings.possible[outside]], self.live)
        if outside.size:
            self._enter(outside[np.argsort(-forms[outside], kind="stable")], last.weights)
        elif self._asked <= 1e-3 * self.tol:
            return Status.STALLED
        gap = trace.gap / trace.scale if trace.scale > 0.0 else 1.0
        finer = 0.3 * self._asked if not outside.size else self._asked
        if 0 < outside.size <= SETTINGS.nearly * self.live.size:
            finer = 0.0
        least = 0.3 * self.tol if outside.size else 0.0
        return self._solved(last.weights, last.dual, max(min(SETTINGS.share * gap, finer), least))

    def certify(self, best: Iterate[None], dual_point: Array | None) -> Certificate:
        """Objective and dual value of published parts, from scratch; the price of all kernels where it is not known
        yet.
        """
        task, used = self.problem, np.flatnonzero(best.weights)
        few, weights = self.rows.select(used) if self._free else Dense(self.rows.grams(used)), best.weights[used]
        found = weighted_certificate(
            few, task.y, task.C, task.loss, task.penalty, weights, best.dual, best.intercept, None
        )
        if dual_point is None or dual_point is self._proof:
            return found._replace(dual_objective=self._proved)
        price = task.penalty.dual_price(self.rows.quad(dual_point))
        return found._replace(dual_objective=task.loss.dual(dual_point, task.y, task.C) - price)

    def _enter(self, wanted: Indices, weights: Array) -> None:
        """Some of the kernels ``wanted`` come in; those without weight leave where there is no room for both."""
        entering = wanted[: max(self.live.size, SETTINGS.fewest)]
        kept = np.flatnonzero(weights[self.live] > 0.0)
        crowded = not self._free and self.live.size + entering.size > self._most
        if self._free or (crowded and self._is_full_of(kept.size)):
            self._free, self._slab = True, np.empty((0, 0, 0))
            self._choose(weights, entering.size)
            return
        if crowded:
            for place, old in enumerate(kept):  # to the front, one by one: there is no room for a copy
                self._slab[place] = self._slab[old]
            self.live = self.live[kept]
            entering = entering[: self._most - self.live.size]
        at, self.live = self.live.size, np.concatenate([self.live, entering])
        self._fill(entering, at)

    def _is_full_of(self, used: int) -> bool:
        """Whether so many kernels with weight leave hardly any room for others to come in."""
        return self._most - used < max(2, self._most // SETTINGS.room_left)

    def _choose(self, weights: Array, wanted: int) -> None:
        """Where nothing is stored the few are chosen again: those with weight, and ``wanted`` and some more that are
        nearest.
        """
        used = np.flatnonzero(weights)
        near = np.argsort(-self.forms, kind="stable")
        near = near[weights[near] == 0.0][: wanted + max(SETTINGS.fewest, used.size // 2)]
        self.live = np.union1d(used, near)
        self._fill(self.live, 0)

    def _fill(self, kernels: Indices, at: int) -> None:
        """The Gram matrices of ``kernels`` behind the first ``at`` of the few, unless they need not be stored."""
        if self._free:
            self.few = self.rows.select(self.live)
            return
        for k in range(0, kernels.size, SETTINGS.piece):
            part = kernels[k : k + SETTINGS.piece]
            self._slab[at + k : at + k + part.size] = self.rows.grams(part)
        self.few = Dense(self._slab[: self.live.size])

    def _solved(self, weights: Array, a: Array, asked: float) -> Iterate[None]:
        """The optimum on the few to ``asked`` times R, and its certificate over all kernels."""
        task, self._asked = self.problem, asked
        inside = replace(task, K=self.few)
        warm = WarmStart(weights[self.live], a, task.C)
        method: Any = Interior if task.loss.piecewise_linear and Interior.suits(inside) else Newton
        fit: Fit = run(method(inside, tol=asked, warm=warm), tol=asked, max_iter=SETTINGS.steps)
        assert fit.dual_point is not None
        self.forms = self.readings.forms(fit.dual_point, self.live)
        bound, size = task.bound(fit.dual_point, self.forms), float(fit.dual_point @ fit.dual_point)
        if task.screen and size > 0.0:
            radius = radius_of(fit.objective - bound.value, fit.objective, task.loss, task.C)
            self.readings.rule_out(self.forms, float(bound.point @ fit.dual_point) / size, radius)
        if bound.value > self._proved:
            self._proved, self._proof = bound.value, bound.point
        everywhere = np.zeros(self.rows.n_kernels)
        everywhere[self.live] = fit.weights
        return Iterate(
            everywhere,
            fit.dual_coef,
            fit.intercept,
            fit.objective,
            bound.value,
            bound.price,
            fit.solves,
            dual_point=bound.point,
        )


def _middle(low: Array, high: Array) -> Array:
    """The middle of the box, and 0 where it has no end."""
    bounded = np.isfinite(low) & np.isfinite(high)
    return np.where(bounded, 0.5 * (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0)), 0.0)
