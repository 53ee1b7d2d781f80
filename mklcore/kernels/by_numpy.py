"""Numpy versions of the compiled loops over kernels, for use without numba.

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


def exponentials(source: Array, rate: float, target: Array) -> None:
    """target = exp(-rate * source) for source >= 0 of any shape."""
    exponent = -rate * source
    np.exp(exponent, out=target)
    target[exponent < SMALLEST_EXPONENT] = 0.0


def fill_exponential(base: Array, rate: float, upper: bool, out: Array) -> None:
    """out = exp(-rate * base); the base holds nothing below the diagonal where ``upper``."""
    exponentials(np.triu(base) if upper else base, rate, out)


def exponential_sums(base: Array, rates: Array) -> Array:
    """Sums of exp(-rates[m] base[i, j]) over j > i of base (n, n)."""
    above = base[np.triu_indices(len(base), 1)]
    values = np.empty_like(above)
    sums = np.empty(rates.size)
    for m, rate in enumerate(rates):
        exponentials(above, rate, values)
        sums[m] = values.sum()
    return sums


def write_exponential(base: Array, rate: float, scale: float, out: Array) -> None:
    """out = scale exp(-rate * base)."""
    exponentials(base, rate, out)
    out *= scale


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


def pairs_within(column: Array, gap: float) -> int:
    """The number of pairs j > i of a sorted column that differ by ``gap`` or less."""
    above = column - column[0]
    after = np.searchsorted(above, above + gap, side="right")
    return int(after.sum()) - column.size * (column.size + 1) // 2


def _radial(column: Array, squared: Any, rate: float) -> Array:
    gap = column[:, None] - column
    values = np.empty_like(gap)
    exponentials(gap * gap if squared else np.abs(gap), rate, values)
    return values


def radial_forms(
    columns: Array,
    where: Indices,
    squared: Any,
    rates: Array,
    a: Array,
    support: Indices,
    out: Array,
) -> None:
    """out[q] = a'K_q a for kernels exp(-rate base) of column ``where[q]`` of ``columns`` (d, n)."""
    dual = a[support]
    for q, j in enumerate(where):
        out[q] = (
            dual
            @ _radial(
                columns[j, support],
                squared[q],
                rates[q],
            )
            @ dual
        )


def add_radial(
    columns: Array, where: Indices, squared: Any, rates: Array, weights: Array, out: Array
) -> None:
    """out += sum_q weights[q] K_q for kernels as in ``radial_forms``."""
    for q, j in enumerate(where):
        out += weights[q] * _radial(columns[j], squared[q], rates[q])


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
