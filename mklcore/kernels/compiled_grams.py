"""Compiled loops that fill Gram matrices: distances, exponentials, and sums of many kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices
from mklcore.kernels import by_numpy
from mklcore.kernels.by_numpy import SMALLEST_EXPONENT

LOG2_E = math.log2(math.e)
# ln 2 in two parts: k * LN2_HIGH is exact for every exponent k of a double, and LN2_LOW is the
# remainder.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds a double to the nearest integer and leaves that integer in its lowest
# bits.
ROUNDER = 6755399441055744.0
# Rows and columns of a mirrored tile, and the number of kernels whose columns fit into the
# processor's cache together.
TILE = 32


@jit_entry({"contract"}, numpy=by_numpy.fill_distances)
def fill_distances(
    left: Array,
    right: Array,
    squared: Any,
    upper: bool,
    out: Array,
) -> None:
    """Squared Euclidean or city-block distances of columns left (s, a) and right (s, b) in out.

    Features are added one after the other into out (a, b); with ``upper`` only for j >= i.
    """
    for i in range(out.shape[0]):
        start = i if upper else 0
        target = out[i, start:]
        target[:] = 0.0
        for k in range(left.shape[0]):
            value = left[k, i]
            source = right[k, start:]
            if squared:
                for j in range(target.size):
                    gap = source[j] - value
                    target[j] += gap * gap
            else:
                for j in range(target.size):
                    target[j] += abs(source[j] - value)


@jit_helper({"contract"}, numpy=by_numpy.exponentials)
def exponentials(source: Array, rate: float, target: Array) -> None:
    """target = exp(-rate * source) for one row of source >= 0.

    The relative error is below 3e-16, and values below e^-708 become 0.

    exp(x) = 2^k exp(r) with |r| <= ln(2) / 2, and exp(r) is its Taylor polynomial of degree 13. It
    is written out with conditional values instead of calls, because the compiler turns a loop of
    this shape into vector instructions, and one with math.exp not.
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
    """out = exp(-rate * base) for base >= 0; only for j >= i when ``upper``."""
    for i in range(out.shape[0]):
        start = i if upper else 0
        exponentials(base[i, start:], rate, out[i, start:])


@jit_entry({"reassoc", "nsz"}, numpy=by_numpy.exponential_sums)
def exponential_sums(base: Array, rates: Array) -> Array:
    """Sums (M,) of exp(-rates[m] base[i, j]) over j > i of base (n, n), without storing a value.

    Every row of base is read once. A kernel that is divided by its sum is computed twice and
    written once, because computing an exponential costs less than reading it.
    """
    out = np.zeros(rates.size)
    buffer = np.empty(base.shape[1])
    for i in range(base.shape[0]):
        source = base[i, i + 1 :]
        exponents = buffer[: source.size]
        for m in range(rates.size):
            exponentials(source, rates[m], exponents)
            total = 0.0
            for j in range(exponents.size):
                total += exponents[j]
            out[m] += total
    return out


@jit_entry(numpy=by_numpy.write_exponential)
def write_exponential(base: Array, rate: float, scale: float, out: Array) -> None:
    """out = scale exp(-rate * base) for symmetric (n, n); base may be out itself.

    Whole rows are computed, because copying one half costs more than computing it again.
    """
    buffer = np.empty(base.shape[1])  # the base itself may be overwritten
    for i in range(out.shape[0]):
        row = out[i]
        exponentials(base[i], rate, buffer)
        for j in range(row.size):
            row[j] = scale * buffer[j]


@jit_entry(numpy=by_numpy.finish_block)
def finish_block(
    block: Array,
    left: Array,
    right: Array,
    rows: Array,
    columns: Array,
) -> None:
    """block[i, j] = (block[i, j] - left[i] - right[j]) rows[i] columns[j], in place.

    The block is read once, and a symmetric block stays exactly symmetric.
    """
    for i in range(block.shape[0]):
        row = block[i]
        shift = left[i]
        factor = rows[i]
        for j in range(row.size):
            row[j] = (row[j] - (shift + right[j])) * (factor * columns[j])


@jit_entry(numpy=by_numpy.mirror)
def mirror(out: Array) -> None:
    """Copy the upper triangle of out (n, n) to the lower one, tile by tile."""
    n = out.shape[0]
    for top in range(0, n, TILE):
        for left in range(top, n, TILE):
            for i in range(top, min(top + TILE, n)):
                for k in range(max(left, i + 1), min(left + TILE, n)):
                    out[k, i] = out[i, k]


@jit_helper({"reassoc", "contract"})
def inner_product(left: Array, right: Array) -> float:
    """left'right in a loop that the compiler may vectorise."""
    total = 0.0
    for k in range(left.size):
        total += left[k] * right[k]
    return total


@jit_helper()
def _row(
    column: Array,
    here: float,
    squared: Any,
    rate: float,
    buffer: Array,
    out: Array,
) -> None:
    """out = exp(-rate base), base the squared or absolute differences to ``here``."""
    if squared:
        for k in range(out.size):
            gap = column[k] - here
            buffer[k] = gap * gap
    else:
        for k in range(out.size):
            buffer[k] = abs(column[k] - here)
    exponentials(buffer, rate, out)


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
    """out[q] = a'K_q a for kernels exp(-rate base) of column ``where[q]`` of ``columns`` (d, n).

    Only the rows ``support``, where a is not zero, are read.
    """
    s = support.size
    x = np.empty(s)
    buffer = np.empty(s)
    values = np.empty(s)
    dual = np.empty(s)
    for i in range(s):
        dual[i] = a[support[i]]
    for q in range(where.size):
        column = columns[where[q]]
        total = 0.0
        for i in range(s):
            x[i] = column[support[i]]
        for i in range(s):
            _row(
                x[i:],
                x[i],
                squared[q],
                rates[q],
                buffer[i:],
                values[i:],
            )
            total += dual[i] * (2.0 * inner_product(values[i:], dual[i:]) - dual[i])
        out[q] = total


@jit_entry(numpy=by_numpy.add_radial)
def add_radial(
    columns: Array, where: Indices, squared: Any, rates: Array, weights: Array, out: Array
) -> None:
    """Upper triangle of out += sum_q weights[q] K_q, for kernels as in ``radial_forms``."""
    n = out.shape[0]
    buffer = np.empty(n)
    values = np.empty(n)
    for first in range(0, where.size, TILE):
        for i in range(n):
            row = out[i, i:]
            kernel_row = values[i:]
            for q in range(first, min(first + TILE, where.size)):
                column = columns[where[q]]
                w = weights[q]
                _row(
                    column[i:],
                    column[i],
                    squared[q],
                    rates[q],
                    buffer[i:],
                    kernel_row,
                )
                for k in range(row.size):
                    row[k] += w * kernel_row[k]


@jit_helper(numpy=by_numpy.pairs_within)
def pairs_within(column: Array, gap: float) -> int:
    """The number of pairs j > i of a sorted column that differ by ``gap`` or less, in O(n)."""
    count = 0
    j = 0
    for i in range(column.size):
        while j < column.size and column[j] - column[i] <= gap:
            j += 1
        count += j - i - 1
    return count


@jit_entry(loops="")
def column_median(column: Array) -> float:
    """The median of x_j - x_i over the pairs j > i of a sorted column (n,), n >= 2.

    It is 0 where more than half of the pairs coincide. The number of pairs within t is bisected
    over the bits of a double t, which gives the exact median without the matrix of all differences.
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
