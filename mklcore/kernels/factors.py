"""Factors K = L L' of kernels that are not stored, with as few columns as it takes.

The Cholesky factor with the largest pivots first, ended where what is left of the diagonal is rounding. Smooth kernels
of one column have a few dozen pivots, and of an exponential of one column no more than these rows are ever computed.

Source: Fine and Scheinberg (2001), Efficient SVM training using low-rank kernel representations, figure 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array
from mklcore.kernels.fills import bases, exponentials


@jit_entry()
def pivoted(K: Array) -> Array:
    """The rows (r, n) of L' for a positive semidefinite K (n, n), to n eps of its largest diagonal entry."""
    n = K.shape[0]
    rows, left, r = np.empty((n, n)), np.empty(n), 0
    for i in range(n):
        left[i] = K[i, i]
    floor, pivot = n * np.finfo(np.float64).eps * left.max(), int(np.argmax(left))
    while r < n and left[pivot] > floor:
        row = rows[r]
        for k in range(n):
            row[k] = K[pivot, k]
        pivot = _eliminate(rows, r, pivot, left)
        r += 1
    return rows[:r].copy()


@jit_entry()
def pivoted_radial(column: Array, squared: Any, rate: float) -> Array:
    """The same of exp(-rate base) between the entries of ``column`` (n,): base their squared or absolute difference."""
    n, r, pivot = column.size, 0, 0
    rows, left, base = np.empty((n, n)), np.ones(n), np.empty(n)
    floor = n * np.finfo(np.float64).eps
    while r < n and left[pivot] > floor:
        bases(column, column[pivot], squared, base)
        exponentials(base, rate, rows[r])
        pivot = _eliminate(rows, r, pivot, left)
        r += 1
    return rows[:r].copy()


@jit_helper({"contract"})
def _eliminate(rows: Array, r: int, pivot: int, left: Array) -> int:
    """Make row ``r``, a kernel's row at ``pivot``, that of its factor, take it off the diagonal ``left``; returns the
    next.
    """
    row = rows[r]
    for s in range(r):
        earlier, share = rows[s], rows[s, pivot]
        for k in range(row.size):
            row[k] -= share * earlier[k]
    root = 1.0 / np.sqrt(left[pivot])
    for k in range(row.size):
        row[k] *= root
        left[k] -= row[k] * row[k]
    left[pivot] = 0.0
    return int(np.argmax(left))
