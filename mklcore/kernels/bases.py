"""Base numbers of pairs of rows, which kernels on the same columns share: inner products, distances, or a row kernel's
own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.fills import fill_absolute, fill_squared
from mklcore.kernels.functions import Base, RowKernel


def fill_base(kind: Base, left: Array, right: Array, upper: bool, out: Array) -> None:
    """Base numbers of every pair of rows: left (a, s), right (b, s) into out (a, b). Entries below the diagonal are
    undefined when `upper`."""
    if isinstance(kind, RowKernel):
        kind.between(left, right, upper, out)
        return
    fill_across(kind, left, right.T if kind == "inner" else np.array(right.T, order="C"), upper, out)


def fill_across(kind: str, left: Array, columns: Array, upper: bool, out: Array) -> None:
    """The same for right rows that come column by column, ``columns`` (s, b), C-contiguous."""
    if kind == "inner":
        np.dot(left, columns, out=out)
        return
    fill = fill_squared if kind == "squared" else fill_absolute
    fill(np.array(left.T, order="C"), columns, upper, out)


def base_diagonal(kind: Base, rows: Array) -> Array:
    """Base number of every row with itself, shape (a,)."""
    if isinstance(kind, RowKernel):
        return kind.own(rows)
    return np.einsum("ij,ij->i", rows, rows) if kind == "inner" else np.zeros(rows.shape[0])


def seen_of(kind: Base, rows: Array, columns: Sequence[int]) -> Array:
    """What of rows (n, d) a base is computed from: its columns, or whole rows."""
    return rows if isinstance(kind, RowKernel) else np.take(rows, columns, axis=1)
