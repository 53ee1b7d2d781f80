"""Numpy versions of compiled loops over kernels, for use without numba.

They have the same arguments and the same results up to rounding. They fill whole matrices where a
compiled loop fills a triangle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices

SMALLEST_EXPONENT = -708.0  # below this, exp is not a normal double and becomes 0


def fill_distances(
    left: Array,
    right: Array,
    squared: Any,
    upper: bool,
    out: Array,
) -> None:
    """Squared Euclidean or city-block distances of columns left (s, a) and right (s, b) in out."""
    out[:] = 0.0
    for here, there in zip(left, right, strict=True):
        gap = here[:, None] - there
        out += gap * gap if squared else np.abs(gap)


def fill_exponential(base: Array, rate: float, upper: bool, out: Array) -> None:
    """out = exp(-rate * base), whole also where only the ``upper`` triangle is asked for."""
    exponent = -rate * base
    np.exp(exponent, out=out)
    out[exponent < SMALLEST_EXPONENT] = 0.0


def finish_block(
    block: Array,
    left: Array,
    right: Array,
    rows: Array,
    columns: Array,
) -> None:
    """block[i, j] = (block[i, j] - left[i] - right[j]) rows[i] columns[j], in place."""
    block -= left[:, None] + right
    block *= rows[:, None] * columns


def mirror(out: Array) -> None:
    """Copy the upper triangle of out (n, n) to the lower one."""
    for i in range(len(out)):
        out[i + 1 :, i] = out[i, i + 1 :]


def add_up(K: Array, live: Indices, weights: Array, out: Array) -> None:
    """out = sum over ``live`` of weights[m] K[m]."""
    out[:] = 0.0
    for m in live:
        out += weights[m] * K[m]


def block_of(K: Array, live: Indices, weights: Array, rows: Indices) -> Array:
    """The same sum among ascending rows, as a new (r, r) matrix."""
    out = np.zeros((rows.size, rows.size))
    for m in live:
        out += weights[m] * K[m][np.ix_(rows, rows)]
    return out


def products_of(K: Array, a: Array, rows: Indices, live: Indices) -> Array:
    """K[m] a for m in ``live``, a read on ``rows``."""
    dual = a[rows]
    products = [dual @ K[m][rows] for m in live]
    return np.array(products).reshape(live.size, K.shape[1])


def forms_of(K: Array, a: Array, rows: Indices, live: Indices) -> Array:
    """a'K[m] a for m in ``live``, a read on ``rows``."""
    dual = a[rows]
    forms = [dual @ K[m][np.ix_(rows, rows)] @ dual for m in live]
    clipped: Array = np.maximum(np.array(forms).reshape(live.size), 0.0)
    return clipped
