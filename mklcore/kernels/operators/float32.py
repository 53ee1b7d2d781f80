"""Kernels that are not stored, with exponentials of one column in single precision: what a sum of very many of them
costs.

Exponentials are nearly all of that cost, and in single precision four times as many go by at once. Numbers are added in
double precision, 32 kernels at a time; only what is added is rounded, to some 1e-6 of its size. What is published is
proved by ``exact``, the same kernels in double precision.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Indices, Single
from mklcore.kernels.fills import SINGLE_LOG2_E, ZERO, single_power
from mklcore.kernels.sums import KernelSums

_TILE = 32  # kernels whose sum is made in single precision


@jit_entry({"reassoc", "contract"})
def single_forms(
    columns: Single, where: Indices, squared: Any, rates: Single, a: Array, support: Indices, out: Array
) -> None:
    """``sums.radial_forms`` with columns (d, n), rates (k,) and exponentials in float32."""
    s = support.size
    x, own = np.empty(s, np.float32), np.empty(s)
    for i in range(s):
        own[i] = a[support[i]]
    for q in range(where.size):
        column, total, rate, curved = columns[where[q]], 0.0, -rates[q] * SINGLE_LOG2_E, squared[q]
        for i in range(s):
            x[i] = column[support[i]]
        for i in range(s):
            mine, tail, here, inner = x[i:], own[i:], x[i], 0.0
            for k in range(mine.size):
                gap = mine[k] - here
                base = gap * gap if curved else abs(gap)
                inner += np.float64(single_power(rate * base)) * tail[k]
            total += own[i] * (2.0 * inner - own[i])
        out[q] = total


@jit_entry({"reassoc", "contract"})
def add_single(columns: Single, where: Indices, squared: Any, rates: Single, weights: Single, out: Array) -> None:
    """``sums.add_radial`` with columns (d, n), rates, weights (k,) and exponentials in float32."""
    n = out.shape[0]
    sums = np.empty(n, np.float32)
    for first in range(0, where.size, _TILE):
        for i in range(n):
            row, few = out[i, i:], sums[i:]
            for k in range(few.size):
                few[k] = ZERO
            for q in range(first, min(first + _TILE, where.size)):
                column, w, rate, curved = columns[where[q]], weights[q], -rates[q] * SINGLE_LOG2_E, squared[q]
                mine, here = column[i:], column[i]
                for k in range(few.size):
                    gap = mine[k] - here
                    base = gap * gap if curved else abs(gap)
                    few[k] += w * single_power(rate * base)
            for k in range(few.size):
                row[k] += few[k]


class Float32Sums(KernelSums):
    """``KernelSums`` whose forms and weighted sums are made so."""

    @cached_property
    def _columns32(self) -> Single:
        found: Single = self.source.by_column.astype(np.float32)
        return found

    @cached_property
    def _rates32(self) -> Single:
        found: Single = self._rates.astype(np.float32)
        return found

    def _radial_forms(self, some: Indices, a: Array) -> Array:
        out, support = np.empty(some.size), np.flatnonzero(a)
        single_forms(
            self._columns32, self._where[some], self._squared[some], self._rates32[some], a, support, out
        )  # fmt: skip
        return out

    def _add_radial(self, live: Indices, weights: Array, out: Array) -> None:
        own = weights.astype(np.float32)
        add_single(self._columns32, self._where[live], self._squared[live], self._rates32[live], own, out)
