"""Products of a Gram matrix in twice the working precision: what tiny quadratic forms of large vectors need.

Where r'Kr is far below ||r||^2 ||K||, as for the residual of a least-squares fit under a tiny penalty, plain summation
leaves nothing but rounding. Here every product keeps its own rounding error and the errors are added up beside the sum.

Source: Ogita, Rump and Oishi (2005), algorithm Dot2; Dekker (1971) for the product.
"""

from __future__ import annotations

import numpy as np

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array

_SPLITTER = 134217729.0  # 2^27 + 1 cuts a float64 into two halves whose products are exact


@jit_entry()
def exact_dot(a: Array, b: Array) -> float:
    """a'b for (n,) vectors, rounded once, as if summed in twice the precision."""
    total, small = 0.0, 0.0
    for k in range(a.size):
        x, y = a[k], b[k]
        product = x * y
        high = _SPLITTER * x
        x_high = high - (high - x)
        x_low = x - x_high
        high = _SPLITTER * y
        y_high = high - (high - y)
        y_low = y - y_high
        error = x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
        added = total + product
        part = added - total
        small += (total - (added - part)) + (product - part) + error
        total = added
    return total + small


@jit_entry()
def exact_products(K: Array, a: Array) -> Array:
    """K a for (n, n) and (n,): every entry rounded once."""
    out = np.empty(a.size)
    for i in range(a.size):
        out[i] = exact_dot(K[i], a)
    return out


def exact_forms(K: Array, a: Array) -> Array:
    """a'K_m a for every kernel of ``K`` (M, n, n), as (M,); below zero where rounding has made K_m indefinite."""
    return np.array([exact_dot(a, exact_products(kernel, a)) for kernel in K])
