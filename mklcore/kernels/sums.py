"""Sums over very many kernels, from the columns they are made of: no Gram matrix but the sum itself is ever stored.

    forms     Q_m = a'K_m a        of every kernel
    products  K_m a                of every kernel
    weighted  sum_m theta_m K_m    (n, n)
    scores    sum_m w_m K_m(new, X) a

Linear kernels need no matrix at all: with z = X'a the form is sum_j z_j^2 over the kernel's columns, O(n d) for all of
them, their sum is X diag(c) X' with c_j the weight of all kernels that see column j, and scores are X_new c z.
Exponentials of one column are filled row by row in a buffer and let go again. Everything else goes through blocks of
``KernelMap``. Centring is that of the dual or of the sum, once for all kernels: a'HKHa = (Ha)'K(Ha).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices
from mklcore.errors import check_cancelled
from mklcore.kernels.factors import pivoted_radial
from mklcore.kernels.fills import bases, exponentials
from mklcore.kernels.functions import KernelSpec

LINEAR, RADIAL, OTHER = range(3)  # ways to a sum
_COLUMNS = 4096  # of a table weighed at a time: a copy of them is made
_AT_ONCE = (
    2e8  # pairs of rows, over kernels that are an exponential of one column, whose forms are read without a pause
)
_HELD = 2e7  # bytes of columns of linear kernels that are kept beside the table
_TILE = 32  # kernels whose columns stay in the processor's cache while the rows of a sum go by
_ROWS = 64  # rows of a block of any other kernel
_TOGETHER = 32  # other kernels in one block: enough to share what they are computed from


@jit_helper({"reassoc", "contract"})
def inner_product(left: Array, right: Array) -> float:
    """left'right in a loop that the compiler may vectorise; compiled functions of other packages call it, too."""
    total = 0.0
    for k in range(left.size):
        total += left[k] * right[k]
    return total


@jit_entry()
def radial_forms(
    columns: Array, where: Indices, squared: Any, rates: Array, a: Array, support: Indices, out: Array
) -> None:
    """out[q] = a'K_q a for kernels exp(-rate base) of column ``where[q]`` of ``columns`` (d, n); a is read on
    ``support``.
    """
    s = support.size
    x, base, values, own = np.empty(s), np.empty(s), np.empty(s), np.empty(s)
    for i in range(s):
        own[i] = a[support[i]]
    for q in range(where.size):
        column, total = columns[where[q]], 0.0
        for i in range(s):
            x[i] = column[support[i]]
        for i in range(s):
            bases(x[i:], x[i], squared[q], base[i:])
            exponentials(base[i:], rates[q], values[i:])
            total += own[i] * (2.0 * inner_product(values[i:], own[i:]) - own[i])
        out[q] = total


@jit_entry()
def radial_products(columns: Array, where: Indices, squared: Any, rates: Array, a: Array, out: Array) -> None:
    """out[q] = K_q a, (k, n), for kernels as in ``radial_forms``."""
    n = a.size
    base, values = np.empty(n), np.empty(n)
    for q in range(where.size):
        column, target = columns[where[q]], out[q]
        target[:] = 0.0
        for i in range(n):
            bases(column[i:], column[i], squared[q], base[i:])
            exponentials(base[i:], rates[q], values[i:])
            mine, left, tail = values[i:], a[i], target[i:]
            target[i] += inner_product(mine, a[i:]) - left  # the diagonal, 1, comes again below
            for k in range(mine.size):
                tail[k] += left * mine[k]


@jit_entry()
def add_radial(columns: Array, where: Indices, squared: Any, rates: Array, weights: Array, out: Array) -> None:
    """Right of the diagonal: out += sum_q weights[q] K_q for kernels as in ``radial_forms``."""
    n = out.shape[0]
    base, values = np.empty(n), np.empty(n)
    for first in range(0, where.size, _TILE):
        for i in range(n):
            row = out[i, i:]
            for q in range(first, min(first + _TILE, where.size)):
                column, w = columns[where[q]], weights[q]
                bases(column[i:], column[i], squared[q], base[i:])
                exponentials(base[i:], rates[q], values[i:])
                mine = values[i:]
                for k in range(row.size):
                    row[k] += w * mine[k]


@jit_entry()
def radial_scores(
    columns: Array, new: Array, where: Indices, squared: Any, rates: Array, weights: Array, duals: Array, out: Array
) -> None:
    """out[i, t] += sum_q weights[t, q] sum_k K_q(new[where[q], i], columns[where[q], k]) duals[t, k]; ``new`` (d,
    n_new).
    """
    n = columns.shape[1]
    base, values = np.empty(n), np.empty(n)
    for q in range(where.size):
        column, fresh = columns[where[q]], new[where[q]]
        for i in range(fresh.size):
            bases(column, fresh[i], squared[q], base)
            exponentials(base, rates[q], values)
            for t in range(duals.shape[0]):
                w = weights[t, q]
                if w != 0.0:
                    out[i, t] += w * inner_product(values, duals[t])


class KernelSums:
    """The four for all kernels of ``source``, a ``KernelMap``, each kernel by the shortest way there is for it.

    ``linear``, ``radial``, ``other`` (indices) tell which goes which way; spherical kernels, whose rows have factors of
    their own, and maps to some of the training rows go by blocks.
    """

    def __init__(self, source: Any) -> None:
        n = source.rows.shape[0]
        whole = source.kept.size == n and bool(np.array_equal(source.kept, np.arange(n)))
        plain = whole and source.normalise != "spherical"
        self.source, self.factors = source, 1.0 / source.scales
        way = [way_of(spec) if plain else OTHER for spec in source.specs]
        self.linear, self.radial, self.other = (np.flatnonzero(np.array(way) == k) for k in (LINEAR, RADIAL, OTHER))
        self._columns, self._owner = self._seen()
        specs = [source.specs[m] for m in self.radial]
        self._where = np.array([spec.settled[0] for spec in specs], dtype=np.int64)
        self._squared = np.array([spec.base == "squared" for spec in specs], dtype=np.bool_)
        self._rates = np.array([spec.rate for spec in specs], dtype=np.float64)

    @property
    def n_kernels(self) -> int:
        return len(self.source.specs)

    @property
    def quick(self) -> bool:
        """Whether making any kernel again costs no more than reading it would, had it been stored."""
        return self.other.size == 0

    @property
    def alone(self) -> tuple[Indices, Indices]:
        """The linear kernels of a single column, and their columns."""
        single = np.bincount(self._owner, minlength=self.linear.size) == 1
        return self.linear[single], self._columns[single[self._owner]]

    def forms(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for every kernel, (M,), or for some of them, (k,), in their order; ``a`` (n,)."""
        asked = None if kernels is None else np.asarray(kernels, dtype=np.int64)
        out, centred = np.zeros(self.n_kernels), self._centred(a)
        if self.linear.size and (asked is None or np.isin(asked, self.linear).any()):
            z = (centred @ self.source.rows)[self._columns]
            found = np.bincount(self._owner, z * z, minlength=self.linear.size)
            out[self.linear] = found * self.factors[self.linear]
        some = self._among(self.radial, asked)
        step = max(1, int(_AT_ONCE / a.size**2))
        for k in range(0, some.size, step):
            check_cancelled()
            few = some[k : k + step]
            own = self.radial[few]
            out[own] = self._radial_forms(few, centred) * self.factors[own]
        some = self._among(self.other, asked)
        self._other_forms(self.other[some], a, out)
        np.maximum(out, 0.0, out=out)
        return out if asked is None else out[asked]

    def products(self, a: Array) -> Array:
        """K_m a for every kernel, (M, n): for some kernels of many, those of a ``subset``."""
        centred, rows = self._centred(a), self.source.rows
        out = np.empty((self.n_kernels, rows.shape[0]))
        if self.linear.size:
            seen = self._laid_out if self._are_few else rows.T[self._columns]
            scaled: Array = seen * ((seen @ centred) * self.factors[self.linear][self._owner])[:, None]
            if self._columns.size > self.linear.size:
                scaled = np.add.reduceat(scaled, np.searchsorted(self._owner, np.arange(self.linear.size)), axis=0)
            if self.linear.size == self.n_kernels and not self.source.center:
                return scaled
            out[self.linear] = scaled
        if self.radial.size:
            own = np.empty((self.radial.size, rows.shape[0]))
            radial_products(self.source.by_column, self._where, self._squared, self._rates, centred, own)
            own *= self.factors[self.radial, None]
            out[self.radial] = own
        if self.source.center:
            out -= out.mean(axis=1)[:, None]
        for few in _few(self.other):
            part = self.source.subset(few)
            for top in range(0, rows.shape[0], _ROWS):
                out[few, top : top + _ROWS] = part.cross_standardised(rows[top : top + _ROWS]) @ a
        return out

    def weighted(self, theta: Array, out: Array | None = None) -> Array:
        """sum_m theta_m K_m, (n, n), into ``out`` where given; kernels without weight are not looked at."""
        n = self.source.rows.shape[0]
        out = np.empty((n, n)) if out is None else out
        out[:] = 0.0
        shares = theta * self.factors
        live = np.flatnonzero(shares[self.radial])
        if live.size:
            self._add_radial(live, shares[self.radial[live]], out)
            mirror(out)
        self._add_linear(shares, out)
        if self.source.center and self.linear.size + self.radial.size:
            means = out.mean(axis=0)
            out += means.mean() - means - means[:, None]
        self._add_other(theta, out)
        return out

    def scores(self, new: Array, weights: Array, duals: Array) -> Array:
        """Scores (n_new, T) of T machines, sum_m weights[t, m] K_m(new, X) duals[t], for standardised rows (n_new,
        d).
        """
        out = np.zeros((new.shape[0], len(duals)))
        centred = np.stack([self._centred(a) for a in duals])
        shares = weights * self.factors
        if self.linear.size:
            for t, own in enumerate(shares[:, self.linear]):
                columns = np.bincount(self._columns, own[self._owner], minlength=self.source.rows.shape[1])
                out[:, t] += new[:, : columns.size] @ (columns * (centred[t] @ self.source.rows))
        live = np.flatnonzero(weights[:, self.radial].any(axis=0))
        if live.size:
            own = np.ascontiguousarray(shares[:, self.radial[live]])
            radial_scores(
                self.source.by_column, np.array(new.T, order="C"), self._where[live], self._squared[live],
                self._rates[live], own, centred, out,
            )  # fmt: skip
        if self.source.center and self.linear.size + self.radial.size:
            out += self._drift(weights, duals)
        live = np.flatnonzero(weights[:, self.other].any(axis=0))
        for few in _few(self.other[live]):
            part = self.source.subset(few)
            for top in range(0, new.shape[0], _ROWS):
                block = part.cross_standardised(new[top : top + _ROWS])
                out[top : top + _ROWS] += np.einsum("mik,tk,tm->it", block, duals, weights[:, few], optimize=True)
        return out

    def factor(self, m: int) -> Array | None:
        """The rows (r, n) of L' with K_m = L L' before centring, for a linear kernel or an exponential of one
        column.
        """
        size = float(np.sqrt(self.factors[m]))
        at = int(np.searchsorted(self.radial, m))
        if at < self.radial.size and self.radial[at] == m:
            column = self.source.by_column[self._where[at]]
            return size * pivoted_radial(column, bool(self._squared[at]), float(self._rates[at]))
        at = int(np.searchsorted(self.linear, m))
        if at < self.linear.size and self.linear[at] == m:
            return size * np.array(self.source.rows[:, list(self.source.specs[m].settled)].T, order="C")
        return None

    def _radial_forms(self, some: Indices, a: Array) -> Array:
        """The forms of some exponentials of one column, before their scales."""
        out = np.empty(some.size)
        radial_forms(
            self.source.by_column, self._where[some], self._squared[some], self._rates[some], a, np.flatnonzero(a), out
        )  # fmt: skip
        return out

    def _add_radial(self, live: Indices, weights: Array, out: Array) -> None:
        """Right of the diagonal: their weighted sum."""
        add_radial(self.source.by_column, self._where[live], self._squared[live], self._rates[live], weights, out)

    @property
    def _are_few(self) -> bool:
        """Whether there is one column for each linear kernel and a copy of them may be kept: picking them out of the
        table takes longer than what is done with them.
        """
        return self._columns.size == self.linear.size and 8 * self._columns.size * len(self.source.rows) <= _HELD

    @cached_property
    def _laid_out(self) -> Array:
        """These columns, one row for each, in the order of the kernels."""
        return np.array(self.source.rows.T[self._columns], order="C")

    def _seen(self) -> tuple[Indices, Indices]:
        """The columns of all linear kernels end to end, and which of these kernels sees each."""
        seen = [self.source.specs[m].settled for m in self.linear]
        columns = np.array([j for one in seen for j in one], dtype=np.int64)
        return columns, np.repeat(np.arange(len(seen)), [len(one) for one in seen])

    def _centred(self, a: Array) -> Array:
        return np.ascontiguousarray(a - a.mean() if self.source.center else a, dtype=np.float64)

    def _drift(self, weights: Array, duals: Array) -> Array:
        """What centring adds to every score: -sum_m w_m (r_m'a - g_m sum a) of the kernels summed without it."""
        ways = np.concatenate([self.linear, self.radial])
        r, g = (
            self.source.row_means[ways] * self.factors[ways, None],
            self.source.grand_means[ways] * self.factors[ways],
        )
        own: Array = np.einsum("tm,tm->t", weights[:, ways], g * duals.sum(axis=1)[:, None] - duals @ r.T)
        return own

    @staticmethod
    def _among(way: Indices, asked: Indices | None) -> Indices:
        """Positions in ``way`` of the kernels asked for."""
        return np.arange(way.size) if asked is None else np.flatnonzero(np.isin(way, asked))

    def _add_linear(self, shares: Array, out: Array) -> None:
        if not self.linear.size:
            return
        rows = self.source.rows
        if self._are_few:
            own = shares[self.linear][self._owner]
            live = np.flatnonzero(own > 0.0)
            weighed = self._laid_out[live] * np.sqrt(own[live])[:, None]
            out += weighed.T @ weighed
            return
        c = np.bincount(self._columns, shares[self.linear][self._owner], minlength=rows.shape[1])
        seen = np.flatnonzero(c > 0.0)
        for top in range(0, seen.size, _COLUMNS):
            some = seen[top : top + _COLUMNS]
            scaled = rows[:, some] * np.sqrt(c[some])
            out += scaled @ scaled.T

    def _other_forms(self, kernels: Indices, a: Array, out: Array) -> None:
        support = np.flatnonzero(a)
        for few in _few(kernels):
            part = self.source.subset(few)
            for top in range(0, support.size, _ROWS):
                check_cancelled()
                rows = support[top : top + _ROWS]
                out[few] += (part.cross_standardised(self.source.rows[rows]) @ a) @ a[rows]

    def _add_other(self, theta: Array, out: Array) -> None:
        n, live = out.shape[0], self.other[np.flatnonzero(theta[self.other])]
        if not live.size:
            return
        total = np.zeros((n, n))
        for few in _few(live):
            part = self.source.subset(few)
            for top in range(0, n, _ROWS):
                total[top : top + _ROWS] += np.tensordot(
                    theta[few], part.cross_standardised(self.source.rows[top : top + _ROWS]), 1
                )
        out += 0.5 * (total + total.T)


def way_of(spec: KernelSpec) -> int:
    """``LINEAR``, ``RADIAL`` or ``OTHER``: how a kernel that is not spherical is summed."""
    if spec.is_base:
        return LINEAR
    alone = isinstance(spec.features, tuple) and len(spec.features) == 1
    return RADIAL if alone and spec.rate is not None else OTHER


def _few(kernels: Indices) -> Sequence[Indices]:
    return [kernels[k : k + _TOGETHER] for k in range(0, kernels.size, _TOGETHER)]


@jit_entry()
def mirror(out: Array) -> None:
    """Copy what is right of the diagonal of (n, n) to its left, tile by tile."""
    n = out.shape[0]
    for top in range(0, n, _TILE):
        for left in range(top, n, _TILE):
            for i in range(top, min(top + _TILE, n)):
                for k in range(max(left, i + 1), min(left + _TILE, n)):
                    out[k, i] = out[i, k]
