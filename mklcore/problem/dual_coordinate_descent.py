"""Dual coordinate descent on features, for losses whose dual is bounded by a box, with a free
intercept. (It is stated here as an ascent: the dual is maximised.)

    max_a  lin'a - epsilon sum_i |a_i| - 1/2 a'(K + D) a,    K = Phi diag(s) Phi'
    subject to low <= a <= high and, with an intercept, 1'a = total

Each step moves one row to its best value; v = diag(s) Phi'a is kept, so that a step costs O(D) and
no row of K is ever computed. The method of multipliers keeps the equality: ascend with
b (1'a - total) + sigma/2 (1'a - total)^2 taken off, then move b by sigma (1'a - total). Rows at a
bound that pull outward are left alone until the next look at all rows, which computes the duality
gap from scratch.

Source: Hsieh et al. (2008), A dual coordinate descent method for large-scale linear SVM; the
multiplier step is Hestenes (1969).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Indices
from mklcore.errors import check_cancelled
from mklcore.kernels.features import FactoredSum, Table
from mklcore.problem.solution import MachineTask, Solution

# What the sweeps over rows are tuned by. A value changes how long a fit takes, not what its
# certificate proves.

FIRST = 6  # sweeps before the first gap is computed; four more each time
MOST = 40  # sweeps between two gaps
SINGLE = 1e-5  # accuracy down to which sums in single precision suffice
SWEEPS = 3000  # of one machine in all
# rounds in a row that each leave more than nine tenths of the gap: then the machine ends
STANDSTILL = 12
FAST = 0.6  # of the gap left by a round of sweeps that needs no Newton step
MOST_WORK = 6e9  # multiplications of a Newton step on the rows off their bounds


_NOTHING = 1e-12  # share of sum |a_i| that a sum may be off by rounding


@jit_entry({"reassoc", "contract", "nsz"}, loops="A support vector machine")
def sweep(
    Phi: Table,
    s: Array,
    spans: Indices,
    lin: Array,
    epsilon: float,
    low: Array,
    high: Array,
    curvature: Array,
    diagonal: Array,
    offset: float,
    sigma: float,
    sum_of_duals: float,
    a: Array,
    v: Array,
    order: Indices,
    margin: float,
    spare: Array,
) -> tuple[float, float, int]:
    """One pass over the rows in ``order``, in place; the rows worth another look come to stand
    first in ``order``.

    ``spans`` (k, 2) are the columns that have weight. Returns the new 1'a, the largest slope left
    to a row, and how many rows are worth another look: not those at a bound or kink whose slope
    exceeds ``margin`` outward. ``s``, ``v`` and ``spare`` (2,), zeros, are of one precision, in
    which the sums are made.
    """
    worst = 0.0
    kept = 0
    for place in range(order.size):
        i = order[place]
        row = Phi[i]
        f = spare[0]
        for part in range(spans.shape[0]):
            for k in range(spans[part, 0], spans[part, 1]):
                f += row[k] * v[k]
        slope = lin[i] - f - offset - sigma * sum_of_duals - curvature[i] * a[i]
        stiff = max(diagonal[i] + sigma + curvature[i], 1e-12)
        ideal = a[i] + slope / stiff
        threshold = epsilon / stiff
        if ideal > threshold:
            ideal -= threshold
        elif ideal < -threshold:
            ideal += threshold
        else:
            ideal = 0.0
        new = min(max(ideal, low[i]), high[i])
        step = new - a[i]
        if step == 0.0:
            beyond = abs(ideal - new) * stiff  # how firmly a bound holds the row
            if epsilon > 0.0 and new == 0.0:
                beyond = max(beyond, epsilon - abs(slope))
            if beyond > margin:
                continue
        else:
            worst = max(worst, abs(step) * stiff)
            a[i] = new
            sum_of_duals += step
            spare[1] = step
            share = spare[1]
            for part in range(spans.shape[0]):
                for k in range(spans[part, 0], spans[part, 1]):
                    v[k] += share * s[k] * row[k]
        order[kept] = i
        kept += 1
    return sum_of_duals, worst, kept


def solve_by_coordinates(
    K: FactoredSum,
    task: MachineTask,
    *,
    warm: Array | None = None,
    accuracy: float = 1e-3,
) -> Solution:
    """Solve the machine of K = sum_m theta_m K_m to a duality gap of ``accuracy`` times 1/2 a'K a.

    ``K`` is given by its features, ``warm`` (n,) is a dual to start from.
    """
    loss = task.loss
    low, high = task.box
    s = K.weights
    spans = live_spans(s)
    diagonal = K.diagonal()
    lin = loss.linear(task.y)
    curvature = loss.curvature(np.zeros_like(task.y), task.y, task.C)
    a = task.feasible(warm)
    sigma = float(diagonal.mean()) if task.fit_intercept else 0.0
    solution, u = _read(K, a, task, 0)
    kind: Any = np.float32 if accuracy >= SINGLE else np.float64
    rng = np.random.default_rng(0)
    offset = solution.intercept
    sweeps = FIRST
    used = 0
    idle = 0
    slow = False

    def slopes() -> Array:
        return lin - K.matvec(a) - curvature * a

    while not solution.is_within(accuracy):
        if used >= SWEEPS or idle >= STANDSTILL:
            break
        check_cancelled()
        sum_of_duals = float(a.sum())
        margin = np.inf
        own = s.astype(kind)
        v = (s * u).astype(kind)
        spare = np.zeros(2, dtype=kind)
        order = rng.permutation(a.size)
        for _ in range(sweeps):
            sum_of_duals, worst, kept = sweep(
                K.kernels.table,
                own,
                spans,
                lin,
                loss.epsilon,
                low,
                high,
                curvature,
                diagonal,
                offset - sigma * loss.total,
                sigma,
                sum_of_duals,
                a,
                v,
                order,
                margin,
                spare,
            )
            order = rng.permutation(order[:kept])
            margin = worst
            used += 1
            offset += sigma * (sum_of_duals - loss.total)
            if worst == 0.0:
                break
        if task.fit_intercept:
            a = balanced(a, low, high, loss.total, slopes)
        before = solution.gap
        if slow:
            a = free_step(K, a, lin, curvature, task)
        solution, u = _read(K, a, task, used)
        slow = slow or solution.gap > FAST * before
        sweeps = min(MOST, sweeps + 4)
        idle = idle + 1 if solution.gap > 0.9 * before else 0
    return solution


def free_step(K: FactoredSum, a: Array, lin: Array, curvature: Array, task: MachineTask) -> Array:
    """Newton's step on the rows off their bounds, cut to the box and shortened until the dual
    rises: where sweeps creep.
    """
    epsilon = task.loss.epsilon
    low, high = task.box
    free = np.flatnonzero((a > low) & (a < high) & ((a != 0.0) | (epsilon == 0.0)))
    live = int(np.count_nonzero(K.weights))
    if free.size < 2 or free.size * live * min(free.size, live) > MOST_WORK:
        return a
    x = a[free]
    low = low[free]
    high = high[free]
    bend = curvature[free]
    slope = lin[free] - K.matvec(a)[free] - bend * x - epsilon * np.sign(x)
    try:
        way, ones = K.solve_block(free, bend, np.column_stack([slope, np.ones(free.size)])).T
    except np.linalg.LinAlgError:
        return a
    if task.fit_intercept:
        way = way - ones * (way.sum() / ones.sum())
    if epsilon > 0.0:  # no further than to zero
        low = np.where(x > 0, 0.0, low)
        high = np.where(x < 0, 0.0, high)
    own = FactoredSum(K.kernels.take(free), K.theta)
    length = 1.0
    while np.all(np.isfinite(way)) and length > 1e-3:
        moved = np.clip(x + length * way, low, high)
        if task.fit_intercept:
            moved = balanced(moved, low, high, float(x.sum()))
        change = moved - x
        pull = own.matvec(change) + bend * change
        if float(slope @ change) - 0.5 * float(change @ pull) > 0.0:
            a = a.copy()
            a[free] = x + change
            return a
        length *= 0.4
    return a


def _read(K: FactoredSum, a: Array, task: MachineTask, used: int) -> tuple[Solution, Array]:
    """What the dual ``a`` is worth, from scratch, and u = Phi'a (D,)."""
    u = K.kernels.coefficients(a)
    f = K.kernels.times(K.weights * u)
    return task.solution(a.copy(), f, used), u


def balanced(
    a: Array,
    low: Array,
    high: Array,
    wanted: float = 0.0,
    slopes: Callable[[], Array] | None = None,
) -> Array:
    """``a`` moved inside its box until it sums to ``wanted``: rows off their bounds and off zero
    first, and not beyond zero, so that what is at a bound or zero stays there.

    Where that is not enough all rows are moved alike, or, where ``slopes`` (n,) of the dual can be
    had, those whose move costs least: moving a thousand rows off their bounds by a little costs
    more, and hides which rows are free.
    """
    inside = (a > low) & (a < high) & (a != 0.0)
    a = _moved_alike(
        a,
        inside,
        np.where(a > 0, np.maximum(low, 0.0), low),
        np.where(a < 0, np.minimum(high, 0.0), high),
        wanted,
    )
    excess = float(a.sum()) - wanted
    # rounding: it would take every row off its bound
    if abs(excess) <= _NOTHING * float(np.abs(a).sum()):
        return a
    if slopes is None:
        return _moved_alike(a, np.ones(a.size, dtype=bool), low, high, wanted)
    order = np.argsort(slopes() if excess > 0.0 else -slopes(), kind="stable")
    room = np.minimum(a - low if excess > 0.0 else high - a, abs(excess))[order]
    a = a.copy()
    a[order] -= np.sign(excess) * np.clip(abs(excess) - (np.cumsum(room) - room), 0.0, room)
    return a


def _moved_alike(
    a: Array,
    free: Indices,
    floor: Array,
    ceiling: Array,
    wanted: float,
) -> Array:
    excess = float(a.sum()) - wanted
    room = np.where(free, (a - floor) if excess > 0 else (ceiling - a), 0.0)
    # where a box has no end, no row need move further
    room = np.where(np.isfinite(room), room, abs(excess))
    most = float(room.sum())
    if excess == 0.0 or most <= 0.0:
        return a
    share = float(np.sign(excess)) * min(1.0, abs(excess) / most)
    return a - share * room


def live_spans(weights: Array) -> Indices:
    """The features that have weight (D,), as runs (k, 2)."""
    has_weight = (weights != 0.0).astype(np.int64)
    edges = np.flatnonzero(np.diff(has_weight, prepend=0, append=0))
    return edges.reshape(-1, 2).astype(np.int64)
