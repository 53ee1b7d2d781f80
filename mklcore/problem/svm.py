"""Support vector machines for a given Gram matrix: sequential minimal optimisation with
second-order pairs.

    max_a  lin'a - epsilon sum_i |a_i| - 1/2 a'(K + D) a  subject to low <= a <= high (and 1'a = 0 with an intercept)

with signed a and D the curvature of the loss in the dual: 0 for piecewise-linear losses, I / C for
Huber's and the squared hinge. ``lin = y``, ``epsilon = 0`` and the box [min(0, Cy), max(0, Cy)] is
the hinge machine; ``epsilon`` and the box [-C, C] is support vector regression (the kink of |a_i|
at zero is one more place where a step may end, so n variables suffice instead of 2n); no intercept
is a box only, solved one coordinate at a time.

Pairs are chosen as in Fan, Chen, Lin (2005): the first by largest violation, the second by largest
decrease. Beyond a few hundred points they move within a block of those that violate most, whose own
small Gram matrix stays in the fastest cache, and all other points are updated once per block: the
decomposition of Joachims (1999), half of whose blocks are chosen anew.

Where the best machine is a constant, no slope pays, as with a rare class and a kernel that does not
see it. The intercept b then stands at a kink of the loss that many points share (all of the large
class, at the margin), the others are at a bound, and the first may hold any values in the box that
leave no slope:

    a_i = high_i where lin_i > b,  low_i where lin_i < b,  low_i <= a_i <= high_i where lin_i = b,     K a = 0,  1'a = 0

R = 1/2 a'K a vanishes there, and with it the gap that the stopping rule asks for, which pairs of
coordinates reach only after millions of steps. A linear program over a factor of the kernel finds
such a point at once, or says that there is none.
"""

from __future__ import annotations

import numpy as np
import scipy

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore._numba.extrema import larger, smaller
from mklcore.arrays import Array, Indices, Mask, factorised, writable
from mklcore.problem.solution import MachineTask, Solution, feasible_start

# What the pairs of a machine are tuned by. A value changes how long a fit takes, not what its
# certificate proves.

# matrix entries read by one call of a compiled function: 20 to 50 ms, so that a cancel takes
# effect
CHUNK = 40000000
MOST_STEPS = 10_000_000  # of pairs; the gap reached is reported in the solution
FAR = 1e12  # times C: an end of the box that no dual reaches, where there is none
# matrix entries that pairs read while a factor takes one step, times its rows cubed
FACTOR = 0.005
PATIENCE = 3  # calls of a compiled function that do not halve the gap
BLOCKS_FROM = 200  # points from which blocks pay
# accuracy from which a curved machine is solved exactly: its gap is the square of its error
EXACT = 1e-6
LAST_STEPS = 3  # exact steps at the end: which points are free is known by then
FIRST_TOLERANCE = 0.1  # violation asked for first
FINER = 0.01  # factor of the violation asked for next, at least
COARSER = 0.5  # the same at most
# of the gap that may stay: a comparison of two machines needs less left than changed
WELL_UNDER = 0.25


TINY = 1e-12  # a pair with less curvature than this share of its diagonal has none
LEAST = 1e-250  # against a division by zero
BLOCK = 256  # entries looked at together in a search
NO_SLOPE = 1e-4  # share of the objective below which the slope of a machine may be none
ROUNDING = 1e-12  # what a machine without slope may miss its own value by: no step makes it better
# points of a block that should move up, and as many that should move down; those of the last block
# stay
_HALF = 16
_INNER = 0.2  # of the violation is left within a block

# What numpy does where numba is missing, for the machines of a few hundred rows that are allowed
# there


def _best_partner(
    row: Array, diagonal: Array, own: float, v: Array, down: Array, top: float, gain: Array
) -> int:
    slope = np.maximum(top - v - down, 0.0)
    both = own + diagonal
    gain[:] = slope * slope / np.maximum(both - 2.0 * row, TINY * np.abs(both) + LEAST)
    best = int(np.argmax(gain))
    return best if gain[best] > 0.0 else -1


def _pair_update(
    v: Array, step: float, row_i: Array, row_j: Array, up: Array, down: Array
) -> tuple[float, float]:
    if step != 0.0:
        v -= step * (row_i - row_j)
    return float(np.max(v + up)), float(np.min(v + down))


def _first(v: Array, up: Array, level: float) -> int:
    reaching = v + up >= level
    place = int(np.argmax(reaching))
    return place if reaching[place] else -1


@jit_helper()
def offsets(
    a: Array,
    low: Array,
    high: Array,
    epsilon: float,
    up: Array,
    down: Array,
) -> None:
    """Fill what turns the negative gradient into the slope of moving a_i up, or down (inf: cannot
    move).
    """
    for k in range(a.size):
        offset(k, a, low, high, epsilon, up, down)


@jit_helper()
def offset(
    k: int, a: Array, low: Array, high: Array, epsilon: float, up: Array, down: Array
) -> None:
    up[k] = -np.inf if a[k] >= high[k] else (-epsilon if a[k] >= 0.0 else epsilon)
    down[k] = np.inf if a[k] <= low[k] else (-epsilon if a[k] > 0.0 else epsilon)


@jit_helper({"nnan", "nsz", "reassoc", "contract"}, numpy=_best_partner)
def best_partner(
    row: Array, diagonal: Array, own: float, v: Array, down: Array, top: float, gain: Array
) -> int:
    """argmax_k (top - v_k - down_k)^2 / (K_ii + K_kk - 2 K_ik) over violating k; -1 when there is
    none.
    """
    best = 0.0
    for k in range(v.size):
        slope = larger(top - v[k] - down[k], 0.0)
        both = own + diagonal[k]
        curve = larger(both - 2.0 * row[k], TINY * abs(both) + LEAST)
        g = slope * slope / curve
        gain[k] = g
        best = larger(best, g)
    return reached(gain, best) if best > 0.0 else -1


@jit_helper({"nnan", "nsz", "reassoc"})
def reached(x: Array, level: float) -> int:
    """The first k with x_k >= level, or -1.

    Whole blocks are looked at first: a search that may end anywhere stays scalar.
    """
    for top in range(0, x.size, BLOCK):
        block = x[top : top + BLOCK]
        most = -np.inf
        for k in range(block.size):
            most = larger(most, block[k])
        if most >= level:
            for k in range(block.size):
                if block[k] >= level:
                    return top + k
    return -1


@jit_helper({"nnan", "nsz", "reassoc", "contract"}, numpy=_pair_update)
def pair_update(
    v: Array, step: float, row_i: Array, row_j: Array, up: Array, down: Array
) -> tuple[float, float]:
    """v -= step (K_i - K_j); returns the largest up-slope and the smallest down-slope that follow."""
    top = -np.inf
    bottom = np.inf
    for k in range(v.size):
        value = v[k] - step * (row_i[k] - row_j[k])
        v[k] = value
        top = larger(top, value + up[k])
        bottom = smaller(bottom, value + down[k])
    return top, bottom


@jit_helper({"nnan", "nsz", "reassoc"}, numpy=_first)
def first(v: Array, up: Array, level: float) -> int:
    """The first k with v_k + up_k >= level, or -1, by blocks like ``reached``."""
    for top in range(0, v.size, BLOCK):
        values = v[top : top + BLOCK]
        offsets_up = up[top : top + BLOCK]
        most = -np.inf
        for k in range(values.size):
            most = larger(most, values[k] + offsets_up[k])
        if most >= level:
            for k in range(values.size):
                if values[k] + offsets_up[k] >= level:
                    return top + k
    return -1


@jit_helper()
def to_kink(value: float, step: float) -> float:
    """The length of a step of sign ``step`` from ``value`` that would end at zero, or infinity."""
    return abs(value) if value * step < 0.0 else np.inf


@jit_helper()
def landed(value: float, low: float, high: float, step: float) -> float:
    """``value``, reached by ``step``, moved onto a bound or zero when it is only round-off away.

    Round-off is that of the step and of the bound itself: the far end of a wide box says nothing
    about it.
    """
    reach = max(abs(value), abs(step))
    if value - low <= 1e-14 * max(reach, abs(low)):
        return low
    if high - value <= 1e-14 * max(reach, abs(high)):
        return high
    return 0.0 if abs(value) <= 1e-15 * reach else value


@jit_helper()
def move_pair(
    i: int,
    j: int,
    top: float,
    row_i: Array,
    diagonal: Array,
    low: Array,
    high: Array,
    epsilon: float,
    a: Array,
    v: Array,
    up: Array,
    down: Array,
) -> float:
    """Raise a[i] and lower a[j] to the best of the pair or the first bound (or kink); returns the
    length asked for.
    """
    both = diagonal[i] + diagonal[j]
    curve = max(both - 2.0 * row_i[j], TINY * abs(both) + LEAST)
    t: float = min((top - v[j] - down[j]) / curve, high[i] - a[i], a[j] - low[j])
    if epsilon > 0.0:
        t = min(t, to_kink(a[i], 1.0), to_kink(a[j], -1.0))
    a[i] = landed(a[i] + t, low[i], high[i], t)
    a[j] = landed(a[j] - t, low[j], high[j], t)
    offset(i, a, low, high, epsilon, up, down)
    offset(j, a, low, high, epsilon, up, down)
    return t


@jit_helper()
def move_single(
    i: int,
    sign: float,
    diagonal: Array,
    low: Array,
    high: Array,
    epsilon: float,
    a: Array,
    v: Array,
    up: Array,
    down: Array,
) -> float:
    """Move a[i] along ``sign`` to its best or the first bound (or kink); returns the signed length
    asked for.
    """
    slope = v[i] + up[i] if sign > 0 else -(v[i] + down[i])
    t: float = min(slope / max(diagonal[i], LEAST), high[i] - a[i] if sign > 0 else a[i] - low[i])
    if epsilon > 0.0:
        t = min(t, to_kink(a[i], sign))
    a[i] = landed(a[i] + sign * t, low[i], high[i], t)
    offset(i, a, low, high, epsilon, up, down)
    return sign * t


@jit_entry(loops="A support vector machine")
def smo_pairs(
    K: Array,
    low: Array,
    high: Array,
    epsilon: float,
    a: Array,
    v: Array,
    tol: float,
    max_steps: int,
) -> tuple[int, float]:
    """Improve (a, v = lin - K a) in place on 1'a = const until the violation is <= tol; returns
    (steps, violation).

    ``mklcore.lp.interleaved.pairs`` takes the same steps over rows it has to find first; one loop for
    both takes a quarter longer at 100 rows and 4 to 7 % at 400, so there are two loops over the
    same helpers.
    """
    n = v.size
    up = np.empty(n)
    down = np.empty(n)
    gain = np.empty(n)
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = K[k, k]
    offsets(a, low, high, epsilon, up, down)
    top, bottom = pair_update(v, 0.0, v, v, up, down)
    for step in range(max_steps):
        if top - bottom <= tol:
            return step, top - bottom
        i = first(v, up, top)
        j = best_partner(K[i], diagonal, diagonal[i], v, down, top, gain)
        if i < 0 or j < 0 or i == j:
            return step, top - bottom
        t = move_pair(
            i,
            j,
            top,
            K[i],
            diagonal,
            low,
            high,
            epsilon,
            a,
            v,
            up,
            down,
        )
        top, bottom = pair_update(v, t, K[i], K[j], up, down)
    return max_steps, top - bottom


def newton_target(z: Array, slope: Array, hessian: Array, tol: float) -> Array:
    """min over x in [0, 1], sum x = sum z, of -slope'(x - z) + 1/2 (x - z)'H (x - z), up to rounding
    at the bounds.
    """
    n = z.size
    model = hessian.copy()
    model.flat[:: n + 1] += 1e-10 * max(float(np.trace(hessian)) / n, 1e-300)
    scale = max(float(np.abs(slope).max()), 1e-300)
    x = z.copy()
    # the linear term minus model @ x is the slope at x = z
    smo_pairs(model / scale, np.zeros(n), np.ones(n), 0.0, x, slope / scale, tol, 200 * n)
    return x


@jit_helper({"nnan", "nsz", "reassoc"})
def _above(x: Array, shift: Array, level: float) -> int:
    count = 0
    for k in range(x.size):
        count += x[k] + shift[k] > level
    return count


@jit_helper()
def _mark(
    x: Array,
    shift: Array,
    low: float,
    high: float,
    most: int,
    chosen: Indices,
) -> None:
    """Mark at most ``most`` k of those with the largest x_k + shift_k, all above ``low``; ``high``
    is the largest.
    """
    count = _above(x, shift, low)
    upper = high
    tries = 0
    while count > most and tries < 30:  # a level with not much less than ``most`` above it
        middle = 0.5 * (low + upper)
        above = _above(x, shift, middle)
        tries = tries + 1
        if above > most:
            low = middle
        else:
            upper = middle
            if 2 * above > most:
                low = middle
                count = above
    if count <= most:
        for k in range(x.size):
            if x[k] + shift[k] > low:
                chosen[k] = 1
        return
    left = most
    for least, end in ((upper, np.inf), (low, upper)):  # what is alike is taken in order
        k = 0
        while left > 0 and least < end and k < x.size:
            if least < x[k] + shift[k] <= end:
                chosen[k] = 1
                left = left - 1
            k += 1


@jit_helper({"reassoc", "contract"})
def _take_rows(
    v: Array,
    K: Array,
    rows: Indices,
    change: Array,
    count: int,
) -> None:
    """v -= sum_d change[d] K[rows[d]] for the first ``count``, four rows at a time."""
    for d in range(0, count, 4):
        last = count - 1
        i0 = rows[d]
        i1 = rows[min(d + 1, last)]
        i2 = rows[min(d + 2, last)]
        i3 = rows[min(d + 3, last)]
        c0 = change[d]
        c1 = change[d + 1] if d + 1 < count else 0.0
        c2 = change[d + 2] if d + 2 < count else 0.0
        c3 = change[d + 3] if d + 3 < count else 0.0
        s0 = K[i0]
        s1 = K[i1]
        s2 = K[i2]
        s3 = K[i3]
        for k in range(v.size):
            v[k] -= c0 * s0[k] + c1 * s1[k] + c2 * s2[k] + c3 * s3[k]


@jit_entry(loops="A support vector machine")
def smo_blocks(
    K: Array,
    low: Array,
    high: Array,
    epsilon: float,
    a: Array,
    v: Array,
    tol: float,
    max_steps: int,
) -> tuple[int, float]:
    """The same as ``smo_pairs``, by pairs within blocks of the points that violate most; returns
    (steps, violation).
    """
    n = v.size
    steps = 0
    read = 0
    up = np.empty(n)
    down = np.empty(n)
    turned = np.empty(n)
    shift = np.empty(n)
    chosen = np.zeros(n, np.int64)
    before = np.zeros(n, np.int64)
    rows = np.empty(4 * _HALF, np.int64)
    change = np.empty(4 * _HALF)
    offsets(a, low, high, epsilon, up, down)
    while True:
        top, bottom = pair_update(v, 0.0, v, v, up, down)
        if top - bottom <= tol or read >= max_steps:
            return steps, top - bottom
        for k in range(n):
            turned[k] = -v[k]
            shift[k] = -down[k]
        _mark(v, up, bottom, top, _HALF, chosen)
        _mark(turned, shift, -top, -bottom, _HALF, chosen)
        size = 0
        for k in range(n):
            if chosen[k] + before[k] > 0:
                rows[size] = k
                size = size + 1
            before[k] = chosen[k]
            chosen[k] = 0
        block = np.empty((size, size))
        part = np.empty((4, size))
        for p in range(size):
            k = rows[p]
            part[0, p] = low[k]
            part[1, p] = high[k]
            part[2, p] = a[k]
            part[3, p] = v[k]
            for q in range(size):
                block[p, q] = K[k, rows[q]]
        within = max(0.5 * tol, _INNER * (top - bottom))
        moved, _ = smo_pairs(
            block,
            part[0],
            part[1],
            epsilon,
            part[2],
            part[3],
            within,
            50 * n,
        )
        # a literal 0 would be one more type to compile for
        steps = steps + moved
        count = int(np.int64(0))
        for p in range(size):
            k = rows[p]
            x = part[2, p]
            if x != a[k]:
                rows[count] = k
                change[count] = x - a[k]
                count = count + 1
                a[k] = x
                offset(k, a, low, high, epsilon, up, down)
        if count == 0:
            return steps, top - bottom
        read += count + moved * size // n
        _take_rows(v, K, rows, change, count)


@jit_entry(loops="A support vector machine")
def smo_single(
    K: Array,
    low: Array,
    high: Array,
    epsilon: float,
    a: Array,
    v: Array,
    tol: float,
    max_steps: int,
) -> tuple[int, float]:
    """The same without the equality: one coordinate at a time by largest decrease; returns (steps,
    violation).
    """
    n = v.size
    up = np.empty(n)
    down = np.empty(n)
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = K[k, k]
    offsets(a, low, high, epsilon, up, down)
    for step in range(max_steps):
        best = 0.0
        chosen = v.size
        worst = 0.0
        for k in range(n):
            slope = max(v[k] + up[k], -(v[k] + down[k]))
            if slope > 0.0:
                worst = max(worst, slope)
                gain = slope * slope / max(diagonal[k], LEAST)
                if gain > best:
                    best = gain
                    chosen = k
        if chosen == v.size or worst <= tol:
            return step, worst
        i = chosen
        t = move_single(
            i, 1.0 if v[i] + up[i] > 0.0 else -1.0, diagonal, low, high, epsilon, a, v, up, down
        )
        for k in range(n):
            v[k] -= t * K[i, k]
    return max_steps, worst


def solve_svm(
    K: Array, task: MachineTask, *, warm: Array | None = None, accuracy: float = 1e-3
) -> Solution:
    """Solve the machine of a loss whose dual is linear or quadratic on a box to a duality gap of
    ``accuracy`` times 1/2 a'K a.

    Parameters
    ----------
    K : (n, n) float64, C-contiguous, symmetric positive semi-definite
    task : labels -1 / +1 or targets (ones for the one-class loss), the loss, and its cost
    warm : (n,) a dual to start from; it is brought into the box
    accuracy : relative duality gap of this machine

    Source: Kloft et al. (2011), equation (23).
    """
    n = task.y.size
    far = FAR * float(np.max(task.C))
    low, high = (np.clip(end, -far, far) for end in task.box)
    epsilon = task.loss.epsilon
    lin = task.loss.linear(task.y)
    curvature = task.loss.curvature(np.zeros_like(task.y), task.y, task.C)
    is_curved = bool(curvature.any())
    K = writable(K)
    if is_curved:
        K = K.copy()
        K.flat[:: n + 1] += curvature
    a = feasible_start(warm, low, high, task.fit_intercept, task.loss.total)
    v = lin - K @ a if a.any() else lin.copy()
    unit = float(np.abs(lin).max()) or 1.0  # violations are measured in that of the target
    smo = smo_single
    if task.fit_intercept:
        smo = smo_blocks if n >= BLOCKS_FROM else smo_pairs
    chunk = int(np.clip(CHUNK // max(1, n), 1_000, 50_000))
    tolerance = FIRST_TOLERANCE * unit
    used = 0
    idle = 0
    previous = np.inf
    floor = 1e-14  # share of the objective below which no gap is asked for
    # may the best machine be a constant?
    flat = task.fit_intercept and epsilon == 0.0 and not is_curved
    while True:
        most = min(chunk, MOST_STEPS - used)
        steps, violation = smo(K, low, high, epsilon, a, v, tolerance, most)
        used += steps
        solution = task.solution(a.copy(), lin - v - curvature * a, used)
        size = abs(solution.objective)
        target = max(accuracy * solution.regulariser, floor * size)
        if solution.gap <= target or used >= MOST_STEPS:
            break
        if flat and solution.regulariser <= NO_SLOPE * size:
            flat = False
            floor = ROUNDING
            constant = without_slope(K, lin, low, high, solution.intercept)
            if constant is not None:
                found = task.solution(constant, K @ constant, used)
                if found.gap <= ROUNDING * abs(found.objective):
                    return found
        if violation > tolerance:
            _active_set_steps(K, low, high, epsilon, a, v, task.fit_intercept, work=chunk * n)
            idle = idle + 1 if solution.gap > 0.5 * previous else 0
            # round-off: identical rows at a bound can trade weight forever
            if idle >= PATIENCE:
                return solution
            previous = solution.gap
            continue
        if tolerance < 1e-14 * unit:
            return solution
        share = WELL_UNDER * target / solution.gap
        tolerance *= float(np.clip(share, FINER, COARSER))
        if violation > 0:
            tolerance = min(tolerance, 0.5 * violation)
        if tolerance < 1e-5 * unit:  # drift of the running gradient would hide the last digits
            v = lin - K @ a
    if not is_curved or accuracy > EXACT:
        return solution
    _active_set_steps(K, low, high, epsilon, a, v, task.fit_intercept, most=LAST_STEPS)
    exact = task.solution(a, K @ a - curvature * a, used)
    return exact if exact.gap <= solution.gap else solution


def _active_set_steps(
    K: Array,
    low: Array,
    high: Array,
    epsilon: float,
    a: Array,
    v: Array,
    balanced: bool,
    *,
    most: int = 50,
    work: float = np.inf,
) -> None:
    """Exact steps on the free support vectors, in place, each to the first bound it meets: where
    pairs only creep.

    They end after ``most`` steps, or where the next factor would cost more than what is left of
    ``work``, in matrix entries read.
    """
    for _ in range(most):
        free = np.flatnonzero((a > low) & (a < high) & ((a != 0.0) | (epsilon == 0.0)))
        work -= FACTOR * free.size**3
        if free.size < 2 or work < 0.0:
            return
        block = K[np.ix_(free, free)]
        pull = v[free] - epsilon * np.sign(a[free])
        x = a[free]
        try:
            solve = factorised(block, 1e-14 * float(np.trace(block)) / free.size)
        except np.linalg.LinAlgError:
            return
        step, ones = solve(np.column_stack([pull, np.ones(free.size)])).T
        if balanced:
            step = step - ones * (step.sum() / ones.sum())
            # a nearly singular block cancels large numbers: what is left need not sum to zero
            step -= step.mean()
        ends = np.where(step > 0, high[free], low[free])
        if epsilon > 0.0:
            ends = np.where(x * step < 0, 0.0, ends)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step != 0.0, (ends - x) / step, np.inf)
        if not np.all(np.isfinite(step)):
            return
        length = min(1.0, float(room.min()))
        x = x + length * step
        met = room <= length
        moved = np.zeros(a.size)
        x[met] = ends[met]
        moved[free] = x - a[free]
        push = K @ moved
        rise = float(pull @ moved[free])
        curvature = 0.5 * float(push @ moved)
        # round-off has taken the direction
        if not rise - curvature > -1e-9 * (abs(rise) + abs(curvature)):
            return
        v -= push
        a[free] = x
        if length == 1.0 or np.count_nonzero(met) + 1 >= free.size:
            return


# Where the search for a machine without slope is given up. A value changes how long a fit takes,
# not what its certificate proves.

MOST_RANK = 200  # of a kernel; one of higher rank is hardly without slope
# of the simplex method: where there is such a point it took at most some two hundred
MOST_PIVOTS = 400
NEAR = 1e-10  # what a linear program may miss an equation by, in units of the box


def without_slope(
    K: Array,
    lin: Array,
    low: Array,
    high: Array,
    b: float,
) -> Array | None:
    """A dual point (n,) of the machine that says ``b`` nearest ``lin`` value for every row, or None
    where slope pays.

    ``K`` (n, n) symmetric positive semi-definite, ``lin``, ``low``, ``high`` (n,) as in
    ``machines.svm``, without a epsilon and without curvature in the loss, and with a free
    intercept.
    """
    level = lin[np.argmin(np.abs(lin - b))]
    free = lin == level
    if free.all():
        return None
    factor, order, rank, _ = scipy.linalg.lapack.dpstrf(K, lower=1)
    if rank > MOST_RANK:
        return None
    Z = np.empty((lin.size, rank))
    Z[order - 1] = np.tril(factor)[:, :rank]
    a = np.where(lin > level, high, low)
    return _balanced(Z, a, low, high, free)


def _balanced(
    Z: Array,
    a: Array,
    low: Array,
    high: Array,
    free: Mask,
) -> Array | None:
    """``a`` with values of ``free`` such that Z'a = 0 and 1'a = 0."""
    from scipy.optimize import linprog  # not at start-up

    unit = float(np.max(high - low))
    rows = np.column_stack([Z, np.ones(a.size)]).T
    wanted = -(rows[:, ~free] @ a[~free]) / unit
    box = np.column_stack([low[free], high[free]]) / unit
    options = {
        "primal_feasibility_tolerance": NEAR,
        "dual_feasibility_tolerance": NEAR,
        "maxiter": MOST_PIVOTS,
    }
    found = linprog(
        np.zeros(box.shape[0]),
        A_eq=rows[:, free],
        b_eq=wanted,
        bounds=box,
        method="highs-ds",
        options=options,
    )
    if found.x is None or found.status != 0:
        return None
    a = a.copy()
    a[free] = np.clip(unit * found.x, low[free], high[free])
    places = np.flatnonzero(free)
    rooms = np.minimum(a[free] - low[free], high[free] - a[free])
    widest = places[np.argmax(rooms)]
    a[widest] -= a.sum()
    return a
