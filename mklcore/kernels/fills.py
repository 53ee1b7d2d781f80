"""Compiled functions that fill Gram matrices: a *base* number per pair of rows, and the kernel as a function of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array

LOG2_E = math.log2(math.e)
# ln 2 in two parts: k * LN2_HIGH is exact for every exponent k of a double, LN2_LOW carries the rest.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds a double to the nearest integer and leaves that integer in its lowest bits.
ROUNDER = 6755399441055744.0
# Below this, exp is no normal double any more and the fill writes 0.
SMALLEST_EXPONENT = -708.0
# In single precision powers of two are taken: nothing has to be split, and r is exact.
SINGLE_LOG2_E, SINGLE_ROUNDER, SINGLE_SMALLEST = np.float32(LOG2_E), np.float32(12582912.0), np.float32(-126.0)
P1, P2, P3, P4, P5, P6 = (np.float32(math.log(2.0) ** k / math.factorial(k)) for k in range(1, 7))
ONE, ZERO = np.float32(1.0), np.float32(0.0)


@jit_entry({"contract"})
def fill_squared(left: Array, right: Array, upper: bool, out: Array) -> None:
    """Squared Euclidean distances; columns come feature by feature, left (s, a), right (s, b), out (a, b)."""
    for i in range(out.shape[0]):
        start = i if upper else 0
        target = out[i, start:]
        target[:] = 0.0
        for k in range(left.shape[0]):
            here = left[k, i]
            source = right[k, start:]
            for j in range(target.size):
                gap = source[j] - here
                target[j] += gap * gap


@jit_entry()
def fill_absolute(left: Array, right: Array, upper: bool, out: Array) -> None:
    """City-block distances, laid out as in `fill_squared`."""
    for i in range(out.shape[0]):
        start = i if upper else 0
        target = out[i, start:]
        target[:] = 0.0
        for k in range(left.shape[0]):
            here = left[k, i]
            source = right[k, start:]
            for j in range(target.size):
                target[j] += abs(source[j] - here)


@jit_entry()
def fill_power(base: Array, coef0: float, degree: int, upper: bool, out: Array) -> None:
    """out = (base + coef0)^degree by repeated products; only j >= i when `upper`."""
    for i in range(out.shape[0]):
        start = i if upper else 0
        source = base[i, start:]
        target = out[i, start:]
        for j in range(target.size):
            target[j] = source[j] + coef0
        for _ in range(degree - 1):
            for j in range(target.size):
                target[j] *= source[j] + coef0


@jit_helper()
def bases(column: Array, here: float, squared: bool, out: Array) -> None:
    """Squared or absolute differences of the entries of ``column`` to ``here``."""
    if squared:
        for k in range(out.size):
            gap = column[k] - here
            out[k] = gap * gap
    else:
        for k in range(out.size):
            out[k] = abs(column[k] - here)


@jit_helper({"contract"})
def exponentials(source: Array, rate: float, target: Array) -> None:
    """target = exp(-rate * source) for one row of source >= 0. Relative error below 3e-16, 0 below e^-708.

    exp(x) = 2^k exp(r) with |r| <= ln(2) / 2 and the Taylor polynomial of degree 13 for exp(r). Written out with
    conditional values instead of calls: in this shape the loop becomes vector instructions, math.exp does not.
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


@jit_helper({"contract"})  # no other order of sums: t + R - R is what rounds
def single_power(x: Any) -> Any:
    """2^x for a float32 x <= 0 in single precision: 2^k times a polynomial of degree 6, relative error 3e-7, 2^-126
    below that.
    """
    t = x if x > SINGLE_SMALLEST else SINGLE_SMALLEST
    shifted = t + SINGLE_ROUNDER
    r = t - (shifted - SINGLE_ROUNDER)
    s = P5 + r * P6
    s = P4 + r * s
    s = P3 + r * s
    s = P2 + r * s
    s = P1 + r * s
    s = ONE + r * s
    return s * np.int32((np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)).view(np.float32)


@jit_entry()
def fill_exponential(base: Array, rate: float, upper: bool, out: Array) -> None:
    """out = exp(-rate * base) for base >= 0, by `exponentials`; only j >= i when `upper`."""
    for i in range(out.shape[0]):
        start = i if upper else 0
        exponentials(base[i, start:], rate, out[i, start:])


@jit_entry({"reassoc", "nsz"})
def add_exponentials(base: Array, first: int, rates: Array, out: Array) -> None:
    """out[m] += sum of exp(-rates[m] base[i, j]) over j > first + i, (M,): base (r, n) holds rows ``first`` and after.

    Nothing is stored, and a row of base is read once for all kernels.
    """
    room = np.empty(base.shape[1])
    for i in range(base.shape[0]):
        source = base[i, first + i + 1 :]
        here = room[: source.size]
        for m in range(rates.size):
            exponentials(source, rates[m], here)
            total = 0.0
            for j in range(here.size):
                total += here[j]
            out[m] += total


@jit_entry()
def write_exponential(base: Array, rate: float, scale: float, out: Array) -> None:
    """out = scale exp(-rate * base) for symmetric (n, n): row by row, since copying one half costs more than making it
    again.
    """
    for i in range(out.shape[0]):
        row = out[i]
        exponentials(base[i], rate, row)
        for j in range(row.size):
            row[j] *= scale


@jit_entry()
def fill_matern(base: Array, rate: float, terms: Array, upper: bool, out: Array) -> None:
    """out = exp(-r) sum_k terms[k] r^k with r = rate sqrt(base) for base >= 0; only j >= i when `upper`."""
    for i in range(out.shape[0]):
        start = i if upper else 0
        source = base[i, start:]
        target = out[i, start:]
        for j in range(target.size):
            r = rate * math.sqrt(source[j])
            value = 0.0
            for k in range(terms.size - 1, -1, -1):
                value = value * r + terms[k]
            target[j] = value * math.exp(-r)
