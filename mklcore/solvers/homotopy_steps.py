"""The optimum at p = 1 followed from one problem to a neighbouring one: which points are free and which kernels have
weight changes one at a time, and between two changes dual, weights and intercept move together along a smooth curve.

For a dual a = C alpha and lam = 1 / C the conditions of

    max_alpha  lam lin'alpha - max_m 1/2 alpha'K_m alpha       subject to     low <= alpha <= high,   1'alpha = 0

are, with theta on the simplex, f = sum_m theta_m K_m alpha, v = lam lin - f - beta and t = max_m 1/2 alpha'K_m alpha,

    v = 0 on free points,  v >= 0 at high,  v <= 0 at low,      1/2 alpha'K_m alpha = t where theta_m > 0, else <= t

Any start becomes an optimum once ``lin`` and the forms are shifted; the shifts fade while lam goes to its new value, by
``share`` from 0 to 1. At every event one system in the free alpha, beta, theta and t tells the way on and takes back
what the last straight piece has lost: Newton's correction and the tangent are its two right-hand sides.

Source: parametric active sets as in Hastie, Rosset, Tibshirani, Zhu (2004), with the kernel weights among the unknowns.
"""

from __future__ import annotations

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices
from mklcore.kernels.fills import inner_product

DONE, LOST, DEAR = 0, 1, 2
_BEND = 0.02  # of lam (and of t): what a straight piece may miss the curve by
_EXACT = 1e-5  # of lam (and of t): what may be left at the end
_IDLE = 40  # events in a row that lead nowhere
_RIDGE = 1e-10  # of the mean diagonal, for points that are alike; of t, for kernels that are
_CALM = 0.2  # the most that a correction may change a weight by
_FLAT = 1e-13  # rates below this are rounding

# Functions compile faster for few arrays, so what belongs together shares one, with names for its rows.
LOW, FREE, HIGH = -1, 0, 1  # states of a point
ALPHA, LIN, FROM, TO, SHIFT, V, D_V, E_V, BENT = range(9)  # of the points, (9, n): FROM and TO are the box at C = 1
THETA, OFFSET, FORM, D_THETA, E_THETA, D_FORM, E_FORM, NOTHING = range(8)  # of the kernels, (8, L)
G, D, E = range(3)  # products with K_m, (3, L, n): of alpha, of its correction, of its tangent
BETA, T, SHARE, LAM0, LAM1 = range(5)  # numbers
_END, _TO_LOW, _TO_HIGH, _LEAVES, _OUT, _IN = range(6)  # what ends a straight piece


@jit_helper()
def _listed(states: Indices, wanted: int, out: Indices) -> int:
    """Fill ``out`` with the places where ``states`` is ``wanted``; returns how many."""
    count = 0
    for i in range(states.size):
        if states[i] == wanted:
            out[count] = i
            count += 1
    return count


@jit_helper({"reassoc", "contract"})
def _mix(w: Array, left: Array, u: Array, right: Array, out: Array) -> None:
    """out = w @ left + u @ right for (L, n) matrices; kernels without weight are not read."""
    for i in range(out.size):
        out[i] = 0.0
    for k in range(w.size):
        x, z, one, other = w[k], u[k], left[k], right[k]
        if x != 0.0 or z != 0.0:
            for i in range(out.size):
                out[i] += x * one[i] + z * other[i]


@jit_helper()
def _solve(A: Array, b: Array, N: int) -> bool:
    """Solve A x = b[0] and A x = b[1] by elimination with row pivots, in place, for the leading N; False where
    singular.
    """
    for k in range(N):
        pivot, largest = k, abs(A[k, k])
        for i in range(k + 1, N):
            if abs(A[i, k]) > largest:
                pivot, largest = i, abs(A[i, k])
        if not largest > 0.0:
            return False
        if pivot != k:
            for j in range(k, N):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
            for r in range(2):
                b[r, k], b[r, pivot] = b[r, pivot], b[r, k]
        for i in range(k + 1, N):
            share = A[i, k] / A[k, k]
            if share != 0.0:
                for j in range(k + 1, N):
                    A[i, j] -= share * A[k, j]
                for r in range(2):
                    b[r, i] -= share * b[r, k]
    for k in range(N - 1, -1, -1):
        for r in range(2):
            for j in range(k + 1, N):
                b[r, k] -= A[k, j] * b[r, j]
            b[r, k] /= A[k, k]
    return True


@jit_helper()
def _fill(
    K: Array, live: Indices, S: Array, W: Array, free: Indices, m: int, some: Indices, k: int, balanced: bool, t: float,
    A: Array
) -> None:  # fmt: skip
    """The system in (alpha on ``free``, beta, theta on ``some``, t): the derivative of the conditions."""
    N = m + k + 2
    for i in range(N):
        for j in range(N):
            A[i, j] = 0.0
    for q in range(k):
        place, row = some[q], m + 1 + q
        for i in range(m):
            source = K[live[place], free[i]]
            for j in range(i, m):
                A[i, j] += W[THETA, place] * source[free[j]]
            A[i, row] = A[row, i] = S[G, place, free[i]]
        A[row, N - 1] = A[N - 1, row] = -1.0
        A[row, row] = -_RIDGE * t
    trace = 0.0
    for i in range(m):
        trace += A[i, i]
    for i in range(m):
        for j in range(i):
            A[i, j] = A[j, i]
        A[i, i] += _RIDGE * trace / m
        if balanced:
            A[i, m] = A[m, i] = 1.0
    if m == 0 or not balanced:
        A[m, m] = 1.0


@jit_helper()
def _here(P: Array, W: Array, S: Array, x: Array) -> None:
    """v of every point and the shifted form of every kernel."""
    lam, left, alpha = x[LAM0] + x[SHARE] * (x[LAM1] - x[LAM0]), 1.0 - x[SHARE], P[ALPHA]
    for q in range(W.shape[1]):
        W[D_THETA, q] = W[E_THETA, q] = 0.0
        W[FORM, q] = 0.5 * inner_product(S[G, q], alpha) + left * W[OFFSET, q]
    _mix(W[THETA], S[G], W[D_THETA], S[G], P[V])
    for i in range(alpha.size):
        P[V, i] = lam * P[LIN, i] + left * P[SHIFT, i] - P[V, i] - x[BETA]


@jit_helper()
def _wanted(
    P: Array, W: Array, x: Array, free: Indices, m: int, some: Indices, k: int, balanced: bool, b: Array
) -> bool:
    """The right-hand sides: what is missing here, and what the way on asks for. True where nothing is missing."""
    lam, exact, total, weights = x[LAM0] + x[SHARE] * (x[LAM1] - x[LAM0]), True, 0.0, 0.0
    for i in range(m):
        j = free[i]
        b[0, i], b[1, i] = P[V, j], (x[LAM1] - x[LAM0]) * P[LIN, j] - P[SHIFT, j]
        exact = exact and abs(b[0, i]) <= _EXACT * lam
    for i in range(P.shape[1]):
        total += P[ALPHA, i]
    b[0, m], b[1, m] = -total if balanced and m > 0 else 0.0, 0.0
    for q in range(k):
        place = some[q]
        b[0, m + 1 + q], b[1, m + 1 + q] = x[T] - W[FORM, place], W[OFFSET, place]
        exact = exact and abs(b[0, m + 1 + q]) <= _EXACT * x[T]
        weights += W[THETA, place]
    b[0, m + 1 + k], b[1, m + 1 + k] = weights - 1.0, 0.0
    return exact


@jit_helper()
def _calmed(b: Array, m: int, k: int) -> None:
    """No correction where there is one kernel more than the free points can hold: it would blow up what the tangent, on
    its way to the event that sets this right, leaves alone."""
    most = 0.0
    for q in range(k):
        most = max(most, abs(b[0, m + 1 + q]))
    if not most <= _CALM:
        for i in range(m + k + 2):
            b[0, i] = 0.0


@jit_helper({"reassoc", "contract"})
def _reach(K: Array, live: Indices, free: Indices, m: int, b: Array, S: Array) -> None:
    """K_m times the correction and times the tangent of alpha, for every kernel: the free rows are read once."""
    for k in range(live.size):
        to_d, to_e = S[D, k], S[E, k]
        for i in range(to_d.size):
            to_d[i] = to_e[i] = 0.0
        for q in range(m):
            source, x, z = K[live[k], free[q]], b[0, q], b[1, q]
            for i in range(source.size):
                to_d[i] += x * source[i]
                to_e[i] += z * source[i]


@jit_helper()
def _slopes(
    P: Array, W: Array, S: Array, x: Array, free: Indices, m: int, some: Indices, k: int, b: Array, left: float
) -> float:
    """What correction and tangent do to every v and every form; returns how far the way is nearly straight."""
    lam, length, most = x[LAM0] + x[SHARE] * (x[LAM1] - x[LAM0]), left, 0.0
    for q in range(k):
        W[D_THETA, some[q]], W[E_THETA, some[q]] = b[0, m + 1 + q], b[1, m + 1 + q]
    for r in range(3):
        weights, change = (W[THETA], W[D_THETA + r]) if r < 2 else (W[E_THETA], W[NOTHING])
        _mix(weights, S[min(D + r, E)], change, S[G], P[D_V + r])
    for i in range(P.shape[1]):
        P[D_V, i] = -P[D_V, i] - b[0, m]
        P[E_V, i] = (x[LAM1] - x[LAM0]) * P[LIN, i] - P[SHIFT, i] - P[E_V, i] - b[1, m]
        most = max(most, abs(P[BENT, i]))
    if most * length * length > _BEND * lam:
        length = np.sqrt(_BEND * lam / most)
    for q in range(W.shape[1]):
        W[D_FORM, q], W[E_FORM, q] = inner_product(S[D, q], P[ALPHA]), inner_product(S[E, q], P[ALPHA]) - W[OFFSET, q]
        bent = 0.0
        for i in range(m):
            bent += 0.5 * b[1, i] * S[E, q, free[i]]
        if abs(bent) * length * length > _BEND * x[T]:
            length = np.sqrt(_BEND * x[T] / abs(bent))
    return length


@jit_helper()
def _sooner(value: float, rate: float, best: float, unit: float, ended: bool) -> float:
    """The share at which ``value``, not below 0 but for rounding, falls to 0 at ``rate``; ``best`` where that is later.

    At the end of the way nothing moves any more, and what is below 0 counts at once.
    """
    if ended:
        return min(best, value / unit) if value < -_EXACT * unit else best
    return min(best, max(value, 0.0) / -rate) if rate < -_FLAT * unit else best


@jit_helper()
def _event(
    P: Array,
    W: Array,
    x: Array,
    state: Indices,
    active: Indices,
    free: Indices,
    m: int,
    k: int,
    b: Array,
    length: float,
) -> tuple[float, int, int]:
    """What happens first within ``length``: how far away, what, and to which point or kernel."""
    lam, ended, what, which = x[LAM0] + x[SHARE] * (x[LAM1] - x[LAM0]), x[SHARE] >= 1.0, _END, -1
    N = m + k + 2
    for i in range(m):
        value, rate = P[ALPHA, free[i]] + b[0, i], b[1, i]
        at = _sooner(value - P[FROM, free[i]], rate, length, 1.0, ended)
        if at < length:
            length, what, which = at, _TO_LOW, free[i]
        at = _sooner(P[TO, free[i]] - value, -rate, length, 1.0, ended)
        if at < length:
            length, what, which = at, _TO_HIGH, free[i]
    for i in range(P.shape[1]):
        if state[i] != FREE:
            at = _sooner(state[i] * (P[V, i] + P[D_V, i]), state[i] * P[E_V, i], length, lam, ended)
            if at < length:
                length, what, which = at, _LEAVES, i
    for q in range(W.shape[1]):
        value, rate, unit = W[THETA, q] + W[D_THETA, q], W[E_THETA, q], 1.0
        if active[q] == 0:
            value, rate, unit = x[T] + b[0, N - 1] - W[FORM, q] - W[D_FORM, q], b[1, N - 1] - W[E_FORM, q], x[T]
        at = _sooner(value, rate, length, unit, ended) if active[q] == 0 or k > 1 else length
        if at < length:
            length, what, which = at, _OUT if active[q] else _IN, q
    return max(length, 0.0), what, which


@jit_helper()
def _go(
    K: Array,
    live: Indices,
    P: Array,
    W: Array,
    S: Array,
    x: Array,
    free: Indices,
    m: int,
    b: Array,
    N: int,
    length: float,
) -> bool:
    """Correct, and go ``length`` on along the tangent; False where that leads nowhere."""
    for q in range(live.size):
        for i in range(P.shape[1]):
            S[G, q, i] += S[D, q, i] + length * S[E, q, i]
        W[THETA, q] = max(W[THETA, q] + W[D_THETA, q] + length * W[E_THETA, q], 0.0)
    for i in range(m):
        j, moved = free[i], P[ALPHA, free[i]] + b[0, i] + length * b[1, i]
        if not abs(moved) < np.inf:
            return False
        P[ALPHA, j] = min(max(moved, P[FROM, j]), P[TO, j])
        if P[ALPHA, j] != moved:  # a correction that leaves the box
            for q in range(live.size):
                for r in range(P.shape[1]):
                    S[G, q, r] += (P[ALPHA, j] - moved) * K[live[q], j, r]
    x[BETA] += b[0, m] + length * b[1, m]
    x[T] += b[0, N - 1] + length * b[1, N - 1]
    return True


@jit_entry()
def follow(
    K: Array, live: Indices, P: Array, W: Array, S: Array, state: Indices, active: Indices, x: Array, balanced: bool,
    most_free: int, budget: float
) -> tuple[int, int, float]:  # fmt: skip
    """Move the optimum at x[LAM0] with its shifts, x[SHARE] = 0, to the one at x[LAM1] without them, in place; returns
    how it ended (DONE, LOST where no way leads on, DEAR where it costs too much), after how many systems, and the
    multiplications.

    ``K`` (M, n, n); ``live`` (L,) the kernels that may have weight; ``P`` (9, n) with ALPHA, LIN, FROM, TO and SHIFT,
    added to lam lin; ``W`` (8, L) with THETA and OFFSET, added to the forms; ``S`` (3, L, n) with G = K_m alpha;
    ``state`` (n,) of LOW, FREE, HIGH; ``active`` (L,) 0 or 1; ``x`` (5,) BETA, T, SHARE, LAM0, LAM1; ``balanced``:
    1'alpha = 0 is demanded.
    ``budget`` bounds the multiplications, ``most_free`` the free points.
    """
    L, n = W.shape[1], P.shape[1]
    free, some, idle, spent, step = np.empty(n, np.int64), np.empty(L, np.int64), 0, 0.0, 0
    A, b = np.empty((most_free + L + 2, most_free + L + 2)), np.empty((2, most_free + L + 2))
    while True:
        if not x[T] > 0.0:  # what forms are measured by: without a form all kernels tie at nothing, and no way leads on
            return LOST, step, spent
        m, k = _listed(state, FREE, free), _listed(active, 1, some)
        N = m + k + 2
        spent += 2.0 * L * n * (m + 4) + N**3 / 3.0 + 0.5 * k * m * m
        if m > most_free or spent > budget:
            return DEAR, step, spent
        step += 1
        _here(P, W, S, x)
        if _wanted(P, W, x, free, m, some, k, balanced, b) and x[SHARE] >= 1.0:
            return DONE, step, spent
        _fill(K, live, S, W, free, m, some, k, balanced, x[T], A)
        if not _solve(A, b, N):
            return LOST, step, spent
        _calmed(b, m, k)
        _reach(K, live, free, m, b, S)
        left = 1.0 - x[SHARE]
        straight = _slopes(P, W, S, x, free, m, some, k, b, left)
        length, what, which = _event(P, W, x, state, active, free, m, k, b, straight)
        if not _go(K, live, P, W, S, x, free, m, b, N, length):
            return LOST, step, spent
        x[SHARE] = 1.0 if what == _END and length == left else x[SHARE] + length
        if what == _TO_LOW:
            P[ALPHA, which], state[which] = P[FROM, which], LOW
        elif what == _TO_HIGH:
            P[ALPHA, which], state[which] = P[TO, which], HIGH
        elif what == _LEAVES:
            state[which] = FREE
        elif what == _OUT:
            W[THETA, which], active[which] = 0.0, 0
        elif what == _IN:
            active[which] = 1
        idle = idle + 1 if length < 1e-12 else 0
        if idle > _IDLE:
            return LOST, step, spent
