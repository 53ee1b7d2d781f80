"""The interleaved solver: a few dual pairs move, then the kernel weights, and no Gram matrix is stored.

Algorithm 2 of Kloft, Brefeld, Sonnenburg, Zien (2011), for the hinge and the epsilon-insensitive loss, with the state
a, g_m = K_m a (M, n) and theta:

    a <- 0, g <- 0, theta <- equal weights
    repeat   n / 10 pairs, each by largest violation and largest decrease of v = y - sum_m theta_m g_m;
             g_m += K_m[:, pair] (a_new - a_old)           kernel rows on the fly, least recently used rows cached
             if the machine's own gap is within the gap of the weights:   theta <- analytic update (19)
    until    best primal - best dual <= tol * R

The stopping rule printed in the paper (relative change of two bounds) can stop at a true gap of half the objective; here
the certificate is the same as everywhere, and g is computed afresh before it is reported. Memory: M n floats for g and
the budget of the row cache. Chunks of hundreds of variables were tried: while most points are still to find their bound
they overshoot one another, and a pair with the whole gradient in view moves fewer rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from mklcore.errors import ParameterError
from mklcore.kernels.rows import PIECE, KernelRows, RowCache, StackRows
from mklcore.losses import EpsilonInsensitive, total_loss
from mklcore.machines.svm import TINY, best_partner, landed, offset, offsets, to_kink
from mklcore.penalties import Penalty
from mklcore.solvers.driver import Array, Board, Point, Status
from mklcore.solvers.reweighting import Problem, WarmStart

CACHE_MB = 512.0
LOSSES = ("hinge", "epsilon_insensitive")


@njit(cache=True, nogil=True)
def add_rows(g, slab, slots, change):
    """g[m] += sum_k change[k] slab[slots[k], m] for g (M, n) and slab (r, M, n)."""
    M, n = g.shape
    for m in range(M):
        target = g[m]
        for k in range(slots.size):
            step = change[k]
            if step != 0.0:
                source = slab[slots[k], m]
                for i in range(n):
                    target[i] += step * source[i]


@njit(cache=True, nogil=True)
def mixed_row(slab, slot, theta, out):
    """out = sum_m theta[m] slab[slot, m]."""
    for i in range(out.size):
        out[i] = 0.0
    for m in range(theta.size):
        w = theta[m]
        if w != 0.0:
            source = slab[slot, m]
            for i in range(out.size):
                out[i] += w * source[i]


@njit(cache=True, nogil=True)
def pick(v, up, down, paired):
    """The most violating point: (i, -1, direction, violation). Paired: the best to move up, violation against the rest."""
    top, bottom, i, j = -np.inf, np.inf, -1, -1
    for k in range(v.size):
        if v[k] + up[k] > top:
            top, i = v[k] + up[k], k
        if v[k] + down[k] < bottom:
            bottom, j = v[k] + down[k], k
    if paired:
        return i, -1, 1.0, top - bottom
    return (i, -1, 1.0, top) if top >= -bottom else (j, -1, -1.0, -bottom)


@njit(cache=True, nogil=True)
def move(i, j, sign, row_i, diagonal, low, high, tube, a, v, up, down):
    """Move a[i] by t along ``sign`` and, when j >= 0, a[j] by -t; returns the changes. ``v`` is left to the caller."""
    before_i = a[i]
    if j < 0:
        slope = v[i] + up[i] if sign > 0 else -(v[i] + down[i])
        t = min(slope / max(diagonal[i], TINY), high[i] - a[i] if sign > 0 else a[i] - low[i])
        t = min(t, to_kink(a[i], sign)) if tube > 0.0 else t
        a[i] = landed(a[i] + sign * t, low[i], high[i], high[i] - low[i])
        offset(i, a, low, high, tube, up, down)
        return np.array([a[i] - before_i])
    before_j = a[j]
    curve = max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], TINY)
    t = min((v[i] + up[i] - v[j] - down[j]) / curve, high[i] - a[i], a[j] - low[j])
    if tube > 0.0:
        t = min(t, to_kink(a[i], 1.0), to_kink(a[j], -1.0))
    a[i] = landed(a[i] + t, low[i], high[i], high[i] - low[i])
    a[j] = landed(a[j] - t, low[j], high[j], high[j] - low[j])
    offset(i, a, low, high, tube, up, down)
    offset(j, a, low, high, tube, up, down)
    return np.array([a[i] - before_i, a[j] - before_j])


@dataclass(frozen=True, eq=False)
class Mixed:
    """What the solver carries with a point: forms Q (M,), the machine's own gap and the gap that is the weights' part."""

    Q: Array
    inner_gap: float
    weights_gap: float


class Interleaved:
    """Algorithm 2 as the driver's method. ``problem.K`` is a stack (M, n, n) or ``KernelRows``."""

    keeps_points = False

    def __init__(
        self, problem: Problem, *, tol: float, warm: WarmStart | None = None, cache_mb: float = CACHE_MB
    ) -> None:
        if problem.loss.name not in LOSSES:
            raise ParameterError(
                f'solver="interleaved" is for the losses {", ".join(LOSSES)}; got {problem.loss.name!r}.'
            )
        if problem.penalty.ascends:
            raise ParameterError(
                f'solver="interleaved" does not know the {problem.penalty.name}; use solver="wrapper".'
            )
        self.problem, self.tol, self.warm = problem, tol, warm
        source = problem.K if isinstance(problem.K, KernelRows) else StackRows(problem.K)
        self.cache = RowCache(source, cache_mb, least=64)
        self.diagonal = source.diagonal
        self.name = f"{problem.penalty.name} interleaved chunking"
        self.low, self.high = problem.loss.box(problem.y, problem.C)
        self.tube = problem.loss.epsilon if isinstance(problem.loss, EpsilonInsensitive) else 0.0
        self._fruitless, self._tolerance = 0, 0.1

    @property
    def _penalty(self) -> Penalty:
        return self.problem.penalty

    def start(self) -> Point:
        M, n = self.diagonal.shape
        self.a, self.g, self.theta = np.zeros(n), np.zeros((M, n)), self._penalty.start(M)
        if self.warm is not None:
            self.theta = self._penalty.scale(np.maximum(self.warm.weights, 1e-3 * self.warm.weights.max()))
            self.a = np.clip(self.warm.dual_for(self.problem.C, self.problem.loss), self.low, self.high)
            self._recompute()
        return self._read(solves=0)

    def step(self, best: Point, last: Point, board: Board) -> Point | Status:
        moved = self._pairs(max(50, self.a.size // 10))
        self._fruitless = 0 if moved else self._fruitless + 1
        if self._fruitless > 20:
            return Status.STALLED
        point = self._read(solves=1)
        state = point.state
        if not moved:
            self._tolerance = max(0.1 * self._tolerance, 1e-12)
        if not moved or state.inner_gap <= max(state.weights_gap, 0.1 * board.target):
            self.theta = self._penalty.update(self.theta, state.Q)
        return point

    def finish(self, best: Point) -> Point:
        """The best point once more with g from scratch: running sums drift."""
        self.a, self.theta = best.dual.copy(), best.weights
        self._recompute()
        return self._read(solves=0)

    def _pairs(self, most: int) -> int:
        """Move up to ``most`` pairs (or single points, without an intercept); returns how many moved."""
        up, down, gain = np.empty(self.a.size), np.empty(self.a.size), np.empty(self.a.size)
        diagonal = self.theta @ self.diagonal
        v = self.problem.y - self.theta @ self.g
        offsets(self.a, self.low, self.high, self.tube, up, down)
        row_i, row_j = np.empty(self.a.size), np.empty(self.a.size)
        for step in range(most):
            i, j, sign, violation = pick(v, up, down, self.problem.fit_intercept)
            if violation <= self._tolerance:
                return step
            slot = self.cache.fetch(np.array([i]))
            mixed_row(self.cache.slab, slot[0], self.theta, row_i)
            if self.problem.fit_intercept:
                j = best_partner(row_i, diagonal, diagonal[i], v, down, v[i] + up[i], gain)
                slot = self.cache.fetch(np.array([i, j]))
                mixed_row(self.cache.slab, slot[1], self.theta, row_j)
            change = move(i, j, sign, row_i, diagonal, self.low, self.high, self.tube, self.a, v, up, down)
            if not change.any():
                return step
            v -= change[0] * row_i
            if change.size > 1:
                v -= change[1] * row_j
            add_rows(self.g, self.cache.slab, slot, change)
        return most

    def _read(self, solves: int) -> Point:
        task, a = self.problem, self.a
        Q = np.maximum(self.g @ a, 0.0)
        f = self.theta @ self.g
        b = task.loss.best_intercept(f, task.y) if task.fit_intercept else 0.0
        errors, linear = total_loss(task.loss, f, b, task.y, task.C), task.loss.dual(a, task.y, task.C)
        price, half = self._penalty.dual_price(Q), 0.5 * float(self.theta @ Q)
        return Point(
            self.theta,
            a.copy(),
            b,
            errors + self._penalty.regulariser(self.theta * np.sqrt(Q)),
            max(linear - price, task.loss.best_multiple(a, task.y, task.C, price)),
            price,
            solves,
            state=Mixed(Q, errors + 2.0 * half - linear, price - half),
        )

    def _recompute(self) -> None:
        """g = K_m a in double precision, support rows only."""
        self.g[:] = 0.0
        support = np.flatnonzero(self.a)
        for first in range(0, support.size, PIECE):
            part = support[first : first + PIECE]
            self.g += np.einsum("mrn,r->mn", self.cache.source.block(part), self.a[part], optimize=True)
