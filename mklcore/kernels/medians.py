"""The median distance between the values of one column, without the matrix of their distances."""

from __future__ import annotations

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array


@jit_entry()
def column_median(column: Array) -> float:
    """The median of x_j - x_i over the pairs j > i of a sorted column (n,), n from 2 on: exactly that of all of them.

    Where more than half of the pairs coincide the median of the others, 1 where all do. Sorted differences fall from
    row to row, so that how many are at most t is counted in O(n); t is bisected over the bits of a double.
    """
    n = column.size
    pairs, alike = n * (n - 1) // 2, _at_most(column, 0.0)
    if alike == pairs:
        return 1.0
    median = _middle(column, 0, pairs)
    return median if median > 0.0 else _middle(column, alike, pairs)


@jit_helper()
def _middle(column: Array, first: int, end: int) -> float:
    """The mean of the one or two values in the middle of ranks ``first`` to ``end``."""
    count = end - first
    upper = _of_rank(column, first + count // 2)
    return upper if count % 2 else 0.5 * (_of_rank(column, first + count // 2 - 1) + upper)


@jit_helper()
def _of_rank(column: Array, rank: int) -> float:
    """The smallest difference that more than ``rank`` pairs do not exceed."""
    low, high = np.int64(-1), np.float64(column[-1] - column[0]).view(np.int64)
    while high - low > 1:
        middle = low + (high - low) // 2
        if _at_most(column, np.int64(middle).view(np.float64)) > rank:
            high = middle
        else:
            low = middle
    return float(np.int64(high).view(np.float64))


@jit_helper()
def _at_most(column: Array, gap: float) -> int:
    """How many pairs differ by at most ``gap``."""
    count, j = 0, 0
    for i in range(column.size):
        while j < column.size and column[j] - column[i] <= gap:
            j += 1
        count += j - i - 1
    return count
