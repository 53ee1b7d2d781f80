"""Compiled functions behind kernels: distances of rows, exponentials of them, sums of many kernels
of one column.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices
from mklcore.kernels import by_numpy
from mklcore.kernels.by_numpy import SMALLEST_EXPONENT

LOG2_E = math.log2(math.e)
# ln 2 in two parts: k * LN2_HIGH is exact for every exponent k of a double, LN2_LOW carries the
# rest.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds a double to the nearest integer and leaves that integer in its lowest
# bits.
ROUNDER = 6755399441055744.0
# rows and columns of a mirrored tile, and kernels whose columns stay in the processor's cache in a
# sum
TILE = 32


@jit_entry({"contract"}, numpy=by_numpy.fill_distances)
def fill_distances(left: Array, right: Array, squared: Any, upper: bool, out: Array) -> None:
    """Squared Euclidean or city-block distances of columns left (s, a) and right (s, b), feature by
    feature, into out (a, b); only j >= i when ``upper``.
    """
    for i in range(out.shape[0]):
        start = i if upper else 0
        target = out[i, start:]
        target[:] = 0.0
        for k in range(left.shape[0]):
            here = left[k, i]
            source = right[k, start:]
            if squared:
                for j in range(target.size):
                    gap = source[j] - here
                    target[j] += gap * gap
            else:
                for j in range(target.size):
                    target[j] += abs(source[j] - here)


@jit_helper({"contract"}, numpy=by_numpy.exponentials)
def exponentials(source: Array, rate: float, target: Array) -> None:
    """target = exp(-rate * source) for one row of source >= 0.

    Relative error below 3e-16, 0 below e^-708.

    exp(x) = 2^k exp(r) with |r| <= ln(2) / 2 and the Taylor polynomial of degree 13 for exp(r).
    Written out with conditional values instead of calls: in this shape the loop becomes vector
    instructions, math.exp does not.
    """
    for j in range(target.size):
        x = -rate * source[j]
        t = x if x > SMALLEST_EXPONENT else SMALLEST_EXPONENT
        shifted = t * LOG2_E + ROUNDER
        k = shifted - ROUNDER
        r = (t - k * LN2_HIGH) - k * LN2_LOW
        s = 1 / 479001600 + r * (1 / 6227020800)
        s = 1 / 39916800 + r * s
        s = 1 / 3628800 + r * s
        s = 1 / 362880 + r * s
        s = 1 / 40320 + r * s
        s = 1 / 5040 + r * s
        s = 1 / 720 + r * s
        s = 1 / 120 + r * s
        s = 1 / 24 + r * s
        s = 1 / 6 + r * s
        s = 0.5 + r * s
        s = 1.0 + r * s
        s = 1.0 + r * s
        power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)
        target[j] = s * power if x > SMALLEST_EXPONENT else 0.0


@jit_entry(numpy=by_numpy.fill_exponential)
def fill_exponential(base: Array, rate: float, upper: bool, out: Array) -> None:
    """out = exp(-rate * base) for base >= 0, by `exponentials`; only j >= i when `upper`."""
    for i in range(out.shape[0]):
        start = i if upper else 0
        exponentials(base[i, start:], rate, out[i, start:])


@jit_entry({"reassoc", "nsz"}, numpy=by_numpy.exponential_sums)
def exponential_sums(base: Array, rates: Array) -> Array:
    """Sums of exp(-rates[m] base[i, j]) over j > i of base (n, n), (M,): nothing is stored, a row
    of base is read once.

    Making an exponential again costs less than reading it, so that one that is divided by its sum
    is written once.
    """
    out = np.zeros(rates.size)
    room = np.empty(base.shape[1])
    for i in range(base.shape[0]):
        source = base[i, i + 1 :]
        here = room[: source.size]
        for m in range(rates.size):
            exponentials(source, rates[m], here)
            total = 0.0
            for j in range(here.size):
                total += here[j]
            out[m] += total
    return out


@jit_entry(numpy=by_numpy.write_exponential)
def write_exponential(base: Array, rate: float, scale: float, out: Array) -> None:
    """out = scale exp(-rate * base) for symmetric (n, n): row by row, since copying one half costs
    more than making it again.
    """
    room = np.empty(base.shape[1])  # the base itself may be overwritten
    for i in range(out.shape[0]):
        row = out[i]
        exponentials(base[i], rate, room)
        for j in range(row.size):
            row[j] = scale * room[j]


@jit_entry(numpy=by_numpy.finish_block)
def finish_block(block: Array, left: Array, right: Array, rows: Array, columns: Array) -> None:
    """block[i, j] = (block[i, j] - left[i] - right[j]) rows[i] columns[j], in place and in one
    pass; what is symmetric stays so.
    """
    for i in range(block.shape[0]):
        here = block[i]
        shift = left[i]
        factor = rows[i]
        for j in range(here.size):
            here[j] = (here[j] - (shift + right[j])) * (factor * columns[j])


@jit_entry(numpy=by_numpy.mirror)
def mirror(out: Array) -> None:
    """Copy what is right of the diagonal of (n, n) to its left, tile by tile."""
    n = out.shape[0]
    for top in range(0, n, TILE):
        for left in range(top, n, TILE):
            for i in range(top, min(top + TILE, n)):
                for k in range(max(left, i + 1), min(left + TILE, n)):
                    out[k, i] = out[i, k]


@jit_helper({"reassoc", "contract"})
def inner_product(left: Array, right: Array) -> float:
    """left'right in a loop that the compiler may vectorise; compiled functions of other packages
    call it, too.
    """
    total = 0.0
    for k in range(left.size):
        total += left[k] * right[k]
    return total


@jit_helper()
def _row(column: Array, here: float, squared: Any, rate: float, room: Array, out: Array) -> None:
    """out = exp(-rate base) of the entries of ``column`` and ``here``, base their squared or
    absolute difference.
    """
    if squared:
        for k in range(out.size):
            gap = column[k] - here
            room[k] = gap * gap
    else:
        for k in range(out.size):
            room[k] = abs(column[k] - here)
    exponentials(room, rate, out)


@jit_entry(numpy=by_numpy.radial_forms)
def radial_forms(
    columns: Array,
    where: Indices,
    squared: Any,
    rates: Array,
    a: Array,
    support: Indices,
    out: Array,
) -> None:
    """out[q] = a'K_q a for kernels exp(-rate base) of column ``where[q]`` of ``columns`` (d, n); a
    is read on ``support``.
    """
    s = support.size
    x = np.empty(s)
    room = np.empty(s)
    values = np.empty(s)
    own = np.empty(s)
    for i in range(s):
        own[i] = a[support[i]]
    for q in range(where.size):
        column = columns[where[q]]
        total = 0.0
        for i in range(s):
            x[i] = column[support[i]]
        for i in range(s):
            _row(x[i:], x[i], squared[q], rates[q], room[i:], values[i:])
            total += own[i] * (2.0 * inner_product(values[i:], own[i:]) - own[i])
        out[q] = total


@jit_entry(numpy=by_numpy.add_radial)
def add_radial(
    columns: Array, where: Indices, squared: Any, rates: Array, weights: Array, out: Array
) -> None:
    """Right of the diagonal: out += sum_q weights[q] K_q for kernels as in ``radial_forms``."""
    n = out.shape[0]
    room = np.empty(n)
    values = np.empty(n)
    for first in range(0, where.size, TILE):
        for i in range(n):
            row = out[i, i:]
            mine = values[i:]
            for q in range(first, min(first + TILE, where.size)):
                column = columns[where[q]]
                w = weights[q]
                _row(column[i:], column[i], squared[q], rates[q], room[i:], mine)
                for k in range(row.size):
                    row[k] += w * mine[k]


@jit_helper(numpy=by_numpy.pairs_within)
def pairs_within(column: Array, gap: float) -> int:
    """How many pairs j > i of a sorted column differ by ``gap`` or less, in O(n): differences fall
    from row to row.
    """
    count = 0
    j = 0
    for i in range(column.size):
        while j < column.size and column[j] - column[i] <= gap:
            j += 1
        count += j - i - 1
    return count


@jit_entry(loops="")
def column_median(column: Array) -> float:
    """The median of x_j - x_i over the pairs j > i of a sorted column (n,), n from 2 on, and 0
    where most coincide.

    The number of pairs within t is bisected over the bits of a double t: exactly the median of all
    differences, without the matrix of them.
    """
    n = column.size
    total = 0.0
    pairs = n * (n - 1) // 2
    for rank in ((pairs - 1) // 2, pairs // 2):
        low = np.int64(-1)
        high = np.float64(column[-1] - column[0]).view(np.int64)
        while high - low > 1:
            middle = low + (high - low) // 2
            if pairs_within(column, np.int64(middle).view(np.float64)) > rank:
                high = middle
            else:
                low = middle
        total += 0.5 * np.int64(high).view(np.float64)
    return total
