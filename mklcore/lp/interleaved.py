"""The interleaved solver: a few dual pairs move, then the kernel weights, and no Gram matrix is
stored.

Algorithm 2 of Kloft, Brefeld, Sonnenburg, Zien (2011), for the hinge and the epsilon-insensitive
loss, with the state a, g_m = K_m a (M, n) and theta:

    a <- 0, g <- 0, theta <- equal weights
    repeat   n / 4 pairs (n where kernels are stored), by largest violation and decrease of v = y - sum_m theta_m g_m;
             g_m += K_m[:, pair] (a_new - a_old)           kernel rows on the fly, least recently used rows cached
             if the machine's own gap is within that of the weights, or no pair violates more than asked:
                 theta <- analytic update (19);   in the second case ask for a tenth
    until    best primal - best dual <= tol * R

The stopping rule printed in the paper (relative change of two bounds) can stop at a true gap of
half the objective; here the certificate is the same as everywhere, and g is computed again before
it is reported. Memory: M n floats for g and the budget of the row cache. Chunks of hundreds of
variables were tried: while most points are still to find their bound they overshoot one another,
and a pair with the whole gradient in view moves fewer rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices, Single
from mklcore.errors import ParameterError
from mklcore.kernels.operators import KernelOperator, RowCache, is_stored
from mklcore.problem.driver import Iterate, Status, Trace
from mklcore.problem.losses import Loss
from mklcore.problem.penalties import Penalty
from mklcore.problem.problem import WeightedMethod
from mklcore.problem.svm import best_partner, first, move_pair, move_single, offsets, pair_update

PIECE = 64  # rows read together


# What interleaved pairs are tuned by. A value changes how long a fit takes, not what its
# certificate proves.

CACHE_MB = 512.0  # of kernel rows in single precision
MIXED_MB = 64.0  # of rows of the weighted kernel, good until the weights change
CHUNKS = 4  # of a round where rows are computed, so that weights follow sooner
MEASURED_EVERY = 10  # chunks between two measurements of the rounding of cached rows
SHOWS = 0.1  # of the gap asked for: rounding that moves the loss by more is too much


# values: about a twentieth of a second, or a fifth where a kernel has hundreds of columns
EVERY = 12_000_000


@jit_entry(loops="The interleaved solver")
def add_rows(g: Array, slab: Single, slots: Indices, change: Array) -> None:
    """g[m] += sum_k change[k] slab[slots[k], m] for g (M, n) and slab (r, M, n)."""
    last = slots.size - 1
    for m in range(g.shape[0]):
        target = g[m]
        # four rows at a time: the sums go through the cache as often less
        for k in range(0, slots.size, 4):
            c0 = change[k]
            c1 = change[k + 1] if k + 1 <= last else 0.0
            c2 = change[k + 2] if k + 2 <= last else 0.0
            c3 = change[k + 3] if k + 3 <= last else 0.0
            s0 = slab[slots[k], m]
            s1 = slab[slots[min(k + 1, last)], m]
            s2 = slab[slots[min(k + 2, last)], m]
            s3 = slab[slots[min(k + 3, last)], m]
            for i in range(target.size):
                target[i] += c0 * s0[i] + c1 * s1[i] + c2 * s2[i] + c3 * s3[i]


@jit_helper()
def mixed_row(slab: Single, slot: int, theta: Array, out: Array) -> None:
    """out = sum_m theta[m] slab[slot, m]."""
    out[:] = 0.0
    M = theta.size
    for m in range(0, M - 3, 4):
        w0 = theta[m]
        w1 = theta[m + 1]
        w2 = theta[m + 2]
        w3 = theta[m + 3]
        s0 = slab[slot, m]
        s1 = slab[slot, m + 1]
        s2 = slab[slot, m + 2]
        s3 = slab[slot, m + 3]
        for i in range(out.size):
            out[i] += w0 * s0[i] + w1 * s1[i] + w2 * s2[i] + w3 * s3[i]
    for m in range(M - M % 4, M):
        w = theta[m]
        source = slab[slot, m]
        for i in range(out.size):
            out[i] += w * source[i]


@jit_helper()
def ready(
    i: int,
    kept: int,
    theta: Array,
    slab: Single,
    slot: Indices,
    mixed: Array,
    place: Indices,
    owner: Indices,
    hand: Indices,
) -> int:
    """Where row i of K_theta is in ``mixed``, mixing it over the oldest row but ``kept``; -1 when
    the slab lacks it.
    """
    if place[i] >= 0:
        return int(place[i])
    if slot[i] < 0:
        return -1
    if hand[0] == kept:
        hand[0] = (hand[0] + 1) % owner.size
    at = int(hand[0])
    hand[0] = (at + 1) % owner.size
    if owner[at] >= 0:
        place[owner[at]] = -1
    owner[at] = i
    place[i] = at
    mixed_row(slab, slot[i], theta, mixed[at])
    return at


@jit_entry(loops="The interleaved solver")
def pairs(
    a: Array,
    v: Array,
    change: Array,
    theta: Array,
    slab: Single,
    slot: Indices,
    mixed: Array,
    place: Indices,
    owner: Indices,
    hand: Indices,
    diagonal: Array,
    low: Array,
    high: Array,
    epsilon: float,
    paired: bool,
    tol: float,
    most: int,
) -> tuple[int, int]:
    """Move up to ``most`` pairs (or single points) by largest violation; returns how many, and the
    row that is missing.

    ``v`` = y - K_theta a and ``change``, what was added to each a, are kept up to date. The missing
    row is -1 when the violation is within ``tol`` or ``most`` pairs were moved.
    """
    n = a.size
    up = np.empty(n)
    down = np.empty(n)
    gain = np.empty(n)
    nothing = np.zeros(n)
    offsets(a, low, high, epsilon, up, down)
    top, bottom = pair_update(v, 0.0, nothing, nothing, up, down)
    for step in range(most):
        sign = 1.0 if paired or top >= -bottom else -1.0
        if (top - bottom if paired else max(top, -bottom)) <= tol:
            return step, -1
        i = first(v, up, top) if sign > 0 else first(-v, -down, -bottom)
        at = ready(i, owner.size, theta, slab, slot, mixed, place, owner, hand)
        if at < 0:
            return step, i
        before = a[i]
        j = -1
        partner = nothing
        if paired:
            j = best_partner(mixed[at], diagonal, diagonal[i], v, down, top, gain)
            if j < 0 or i == j:
                return step, -1
            other = ready(j, at, theta, slab, slot, mixed, place, owner, hand)
            if other < 0:
                return step, j
            partner = mixed[other]
            change[j] -= move_pair(
                i, j, top, mixed[at], diagonal, low, high, epsilon, a, v, up, down
            )
        else:
            move_single(i, sign, diagonal, low, high, epsilon, a, v, up, down)
        change[i] += a[i] - before
        top, bottom = pair_update(
            v,
            a[i] - before,
            mixed[at],
            partner,
            up,
            down,
        )
    return most, -1


@dataclass(frozen=True, eq=False)
class Mixed:
    """State of a point: forms Q (M,), the machine's own gap and the gap that is the weights' part."""

    Q: Array
    inner_gap: float
    weights_gap: float


def lacking(loss: Loss, penalty: Penalty) -> str:
    """A sentence about what interleaved pairs lack; "" where they can work."""
    if not loss.piecewise_linear:
        return f"a loss that is piecewise linear; {loss.name} is not"
    if loss.total != 0.0:
        return f"a loss whose dual sums to 0; that of {loss.name} sums to {loss.total:g}"
    if penalty.ascends:
        return f"a penalty whose weights descend; those of the {penalty.name} ascend"
    if not penalty.homogeneous:
        return f"a penalty whose conjugate is homogeneous; that of the {penalty.name} is not"
    return ""


class Interleaved(WeightedMethod[Mixed]):
    """Algorithm 2 as the driver's method. Kernels that are not stored give their rows one by one."""

    def prepare(self) -> None:
        problem = self.problem
        if missing := lacking(problem.loss, problem.penalty):
            raise ParameterError(f'solver="interleaved" needs {missing}. Use solver="wrapper".')
        # kernel values computed or summed since the listener was asked
        self.spent = 0
        self.has_ended = False
        if problem.K.row_cache is None:  # else that of a neighbouring problem
            problem.K.row_cache = RowCache(problem.K.source, CACHE_MB, least=64)
        self.cache = problem.K.row_cache
        self.diagonal = np.asarray(problem.K.diagonals())
        self.name = f"{problem.penalty.name} interleaved chunking"
        self.low, self.high = problem.box
        self.epsilon = problem.loss.epsilon
        # violations are measured in that of the target
        linear = problem.loss.linear(problem.y)
        self._unit = float(np.abs(linear).max()) or 1.0
        self._fruitless = 0
        self._tolerance = 0.1 * self._unit
        self._exact = False  # sums in double precision: cached rows are in single
        self._is_stored = is_stored(problem.K)
        self._restated: Iterate[Mixed] | None = None
        n = problem.y.size
        room = int(np.clip(MIXED_MB * 1e6 / (8 * n), 3, n)) if n > 3 else 3
        self._mixed = np.empty((room, n))
        self._owner = np.full(room, -1)
        self._place = np.full(n, -1)
        self._hand = np.zeros(1, dtype=np.int64)

    def spend(self, values: int) -> None:
        """Ask the listener now and then whether the work should end: a long step ends in between."""
        self.spent += values
        if self.listener is not None and self.spent >= EVERY:
            self.spent = 0
            self.has_ended = bool(self.listener())

    def init(self) -> Iterate[Mixed]:
        M, n = self.diagonal.shape
        self.a = np.zeros(n)
        self.theta = self.problem.penalty.start(M)
        self.g = np.zeros((M, n))
        self._is_borrowed = False
        if self.warm is not None:
            weights = self.warm.weights
            self.theta = self.problem.penalty.scale(np.maximum(weights, 1e-3 * weights.max()))
            self.a = self.problem.feasible(self.warm.dual)
            self._take_products()
        return self._read(solves=0)

    def step(
        self, best: Iterate[Mixed], last: Iterate[Mixed], trace: Trace
    ) -> Iterate[Mixed] | Status:
        if best is self._restated:  # the sums promised more than is true
            self._exact = True
        elif (
            not self._exact
            and len(trace.history) % MEASURED_EVERY == 0
            and self._rounding(last) > SHOWS * trace.target
        ):
            self._exact = True
            trace.restate(self.restate(best, trace.dual_point))
        most = max(50, self.a.size // (1 if self._is_stored else CHUNKS))
        moved = self._pairs(most)
        self._fruitless = 0 if moved else self._fruitless + 1
        if self._fruitless > 20:
            return Status.STALLED
        point = self._read(solves=1)
        state = point.state
        settled = state.inner_gap <= max(state.weights_gap, 0.1 * trace.target)
        if not moved or (moved < most and not settled):
            self._tolerance = max(0.1 * self._tolerance, 1e-12 * self._unit)
        if moved < most or settled:
            self.theta = self._next_weights(state.Q)
        return point

    def _rounding(self, last: Iterate[Mixed]) -> float:
        """What the rounding of cached rows has moved the loss by, measured on a few rows of the
        training set.
        """
        n = self.a.size
        C = np.broadcast_to(self.problem.C, self.a.shape)
        some = np.linspace(0, n - 1, min(n, PIECE)).astype(np.int64)
        true = last.weights @ (self.problem.K.rows(some) @ self.a)
        off = np.abs(last.weights @ self.g[:, some] - true)
        return float(C[some] @ off) * n / some.size

    def _next_weights(self, Q: Array) -> Array:
        """The analytic update, gone on in log theta: by the multiple that suits all speeds at which
        weights settle, and farther and farther while the dual does not move (small C, p near 1).

        Near the optimum the update leaves between nothing and 2 / (p + 1) of what is missing of log
        theta, by how strongly the dual answers; (p + 1) / p times the way leaves at most 1 / p of
        it wherever in between.
        """
        updated = self.problem.penalty.update(self.theta, Q)
        p = self.problem.order
        if not 1.0 < p < np.inf or not np.all(self.theta > 0.0):
            return updated
        times = (p + 1.0) / p
        if self._fruitless >= 2:
            # the most: for a fixed dual
            times = max(times, min(2.0**self._fruitless, (p + 1.0) / (p - 1.0)))
        ratio = np.maximum(updated / self.theta, 1e-300)
        change = times * np.log(ratio)
        return self.problem.penalty.scale(
            np.maximum(self.theta * np.exp(change - change.max()), 1e-12)
        )

    def restate(self, best: Iterate[Mixed], dual_point: Array | None) -> Iterate[Mixed]:
        """The best point and the best dual value with their products from scratch, for running sums
        drift.
        """
        if best is self._restated:
            return best
        task = self.problem
        self.a = best.dual.copy()
        self.theta = best.weights
        self._take_products()
        point = self._read(solves=0)
        if dual_point is not None and not np.array_equal(dual_point, self.a):
            bound = task.bound(dual_point, task.K.quad(dual_point))
            if point.dual_objective is None or bound.value > point.dual_objective:
                point = replace(
                    point, dual_objective=bound.value, dual_point=bound.point, scale=bound.conjugate
                )
        self._restated = point
        return point

    def _pairs(self, most: int) -> int:
        """Move up to ``most`` pairs (without an intercept single points) at the present weights;
        returns how many.
        """
        if self._is_borrowed:  # the kernels remember it as it is
            self.g = self.g.copy()
            self._is_borrowed = False
        cache = self.cache
        diagonal = self.theta @ self.diagonal
        moved = 0
        v = self.problem.loss.linear(self.problem.y) - self.theta @ self.g
        change = np.zeros(self.a.size)
        self._place[:] = -1
        self._owner[:] = -1
        size = self.diagonal.size  # of one row of all kernels
        few = max(1, EVERY // (2 * size))  # pairs: each may mix two rows
        while moved < most and not self.has_ended:
            asked = min(few, most - moved)
            steps, missing = pairs(
                self.a,
                v,
                change,
                self.theta,
                cache.slab,
                cache.slot,
                self._mixed,
                self._place,
                self._owner,
                self._hand,
                diagonal,
                self.low,
                self.high,
                self.epsilon,
                self.problem.fit_intercept,
                self._tolerance,
                asked,
            )
            moved += steps
            self.spend(2 * steps * size)
            if missing >= 0:
                if not self._exact and cache.is_full and change[cache.oldest(1)[0]] != 0.0:
                    leaving = cache.oldest(PIECE)  # their rows would have to be computed again
                    leaving = leaving[change[leaving] != 0.0]
                    add_rows(self.g, cache.slab, cache.slot[leaving], change[leaving])
                    change[leaving] = 0.0
                    self.spend(leaving.size * size)
                cache.fetch(np.array([missing]))
                self.spend(size)
            elif steps < asked:
                break
        self._sum(change)
        return moved

    def _sum(self, change: Array) -> None:
        """g += K_m change, row by row of what has changed."""
        rows = np.flatnonzero(change)
        cache = self.cache
        source = self.problem.K.source
        if self._exact and self._is_stored:
            self.g += source.matvec(change)
            return
        for first_row in range(0, rows.size, PIECE):
            part = rows[first_row : first_row + PIECE]
            if self._exact:
                self.g += change[part] @ source.rows(part)
            else:
                add_rows(self.g, cache.slab, cache.fetch(part), change[part])
            self.spend(part.size * self.diagonal.size)

    def _read(self, solves: int) -> Iterate[Mixed]:
        task = self.problem
        a = self.a.copy()
        Q = np.maximum(self.g @ a, 0.0)
        b, errors = task.loss_at(self.theta @ self.g)
        linear = task.dual(a)
        half = 0.5 * float(self.theta @ Q)
        bound = task.bound(a, Q)
        return Iterate(
            self.theta,
            a,
            b,
            errors + task.regulariser(self.theta, Q),
            bound.value,
            bound.conjugate,
            solves,
            state=Mixed(Q, errors + 2.0 * half - linear, self.problem.penalty.conjugate(Q) - half),
            dual_point=bound.point,
        )

    def _take_products(self) -> None:
        """g without what the pairs have summed: from what the kernels remember, or from scratch."""
        K = self.problem.K
        if not (self._is_stored or K.knows(self.a)):
            K.learn(self.a, products_over(K, self.a, self.spend))
        self.g = K.matvec(self.a)
        self._is_borrowed = True


def products_over(K: KernelOperator, a: Array, spend: Callable[[int], None]) -> Array:
    """K_m a for every kernel (M, n), in double precision; rows of zeros are not read.

    ``spend`` receives the count of computed values.
    """
    support = np.flatnonzero(a)
    G = np.zeros((K.n_kernels, K.n_samples))
    for top in range(0, support.size, PIECE):
        part = support[top : top + PIECE]
        block = K.rows(part)
        spend(block.size)
        G += a[part] @ block
    return G
