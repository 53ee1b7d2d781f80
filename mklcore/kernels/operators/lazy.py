"""Rows of many Gram matrices, computed when asked for: the stack (M, n, n) is never stored.

For training sets whose stack would not fit. The numbers that centring and normalisation need (diagonal, row sums) come
from one pass over blocks of rows, after which a row costs O(M n) and nothing else is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Single
from mklcore.errors import KernelError, check_cancelled
from mklcore.kernels.bases import base_diagonal, fill_base, seen_of
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.factors import pivoted
from mklcore.kernels.finishing import Finishing
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.grams import median_distance
from mklcore.kernels.maps import (
    KernelMap,
    as_rows,
    column_scaling,
    share_bases,
    standardise_rows,
)
from mklcore.kernels.operators.base import Capability, DenseSum
from mklcore.kernels.operators.float32 import Float32Sums

_BLOCK = 256  # rows per block of the first pass
PIECE = 64  # rows computed together: M * PIECE * n doubles of scratch
_COLUMNS = 4096  # linear kernels of a single column that are looked at together
_SUMMED = 4000  # rows up to which a sum of kernels is made for what could do without
_MANY_RADIAL = 100  # kernels of a distance in one column: from here on a sum is nearly all exponentials
_TOGETHER = 32  # kernels of one piece of a sum: enough to share what they are computed from


class LazyKernels:
    """M kernels on n training rows, one block of rows at a time.

    ``names``, ``families``, ``specs``, ``scales``, ``notes`` and ``transform`` as in ``GramStack``. Kernels that are
    constant on the training rows are left out and named in ``notes``.
    """

    def __init__(self, transform: KernelMap, names: Sequence[str], diagonal: Array, notes: Sequence[str]) -> None:
        self.transform, self.names, self._diagonals, self.notes = transform, tuple(names), diagonal, tuple(notes)
        self.specs = transform.specs
        self.scales = transform.scales
        self.families = tuple(spec.family for spec in transform.specs)

    @property
    def n_kernels(self) -> int:
        return len(self.specs)

    @property
    def n_samples(self) -> int:
        return len(self.transform.rows)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What these kernels can do beyond the protocol."""
        cheap = {Capability.CHEAP_ROWS} if self.transform.sums.quick else set()
        return frozenset({Capability.EXACT, Capability.FACTORS, *cheap})

    @property
    def exact(self) -> LazyKernels:
        """These kernels: their sums are in double precision."""
        return self

    def with_float32_sums(self) -> LazyKernels:
        """The same kernels with sums in single precision where exponentials are most of their cost; else these."""
        return Float32Kernels(self) if self.transform.sums.radial.size >= _MANY_RADIAL else self

    def diagonals(self) -> Array:
        """K_m(x_i, x_i) of every kernel, (M, n)."""
        return self._diagonals

    def rows(self, i: Indices) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        return self.transform.cross_standardised(self.transform.rows[i])

    def row_into(self, i: int, out: Any) -> None:
        """Row i of every kernel into ``out`` (M, n), in single precision."""
        self.transform.single_row(i, out)

    def cross(self, X_new: Any) -> Array:
        """Kernel values (M, n_new, n) between new rows X_new (n_new, d) and the training rows."""
        return self.transform.cross(X_new)

    @property
    def normalise(self) -> str | None:
        """How the kernels were scaled."""
        return self.transform.normalise

    def combine(self, weights: Array, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,); made in ``out`` (n, n) where one is given."""
        if not np.all(weights == 1.0):
            return DenseSum(self.transform.sums.weighted(weights, out))
        if out is None:
            return DenseSum(self.total)
        out[:] = self.total
        return DenseSum(out)

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among some rows, (r, r)."""
        return self.combine(weights).block(rows)

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n)."""
        there = self.transform if kernels is None or len(kernels) == self.n_kernels else self.transform.subset(kernels)
        return there.sums.products(a)

    def select(self, kernels: Indices) -> LazyKernels:
        """Some of the kernels."""
        names = [self.names[m] for m in kernels]
        return LazyKernels(self.transform.subset(kernels), names, self._diagonals[kernels], ())

    def take(self, rows: Indices) -> LazyKernels:
        """The kernels among some of the training rows, on the scales of all; not for centred ones, whose means are of
        all.
        """
        there = self.transform
        if there.center:
            raise KernelError(
                "Centred kernels that are not stored cannot be cut: their means are of all rows. Build a stack with "
                "KernelDictionary.grams, or leave center out."
            )
        fewer = replace(
            there,
            rows=np.ascontiguousarray(there.rows[rows]),
            factors=there.factors[:, rows],
            row_means=there.row_means[:, rows],
            kept=np.arange(rows.size),
        )
        return LazyKernels(fewer, self.names, np.ascontiguousarray(self._diagonals[:, rows]), self.notes)

    def block(self, rows: Indices, columns: Indices) -> RowBlocks:
        """What scores some training rows by others."""
        return RowBlocks(self.take(columns), self.transform.rows[rows])

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        if self.n_samples <= _SUMMED:  # each pair of rows once
            return self.transform.sums.weighted(weights) @ a
        return self.transform.sums.scores(self.transform.rows, weights[None], a[None])[:, 0]

    def blocks(self, X_new: Any = None) -> RowBlocks:
        """What takes the place of ``cross``, where that would be too large: of new rows, or of the training rows."""
        return RowBlocks(self, self.transform.rows if X_new is None else self.transform.standardised(X_new))

    def sum_of(self, rows: Indices) -> Array:
        """Rows of the plain sum of all kernels, (r, n), a few kernels at a time."""
        out = np.zeros((rows.size, self.n_samples))
        for m in range(0, self.n_kernels, _TOGETHER):
            few = self.transform.subset(np.arange(m, min(m + _TOGETHER, self.n_kernels)))
            for top in range(0, rows.size, PIECE):
                part = rows[top : top + PIECE]
                out[top : top + PIECE] += few.cross_standardised(self.transform.rows[part]).sum(axis=0)
        return out

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,)."""
        return self.transform.sums.forms(a, kernels)

    def grams(self, kernels: Indices) -> Array:
        """The Gram matrices of some of the kernels, (k, n, n)."""
        _ = self.transform.by_column  # laid out once, and handed to every subset
        return self.transform.subset(kernels).cross_standardised(self.transform.rows)

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        found: Array = self.grams(np.array([m]))[0]
        return found

    def factor(self, m: int) -> Array:
        """The rows (r, n) of L' with K_m = L L': the columns a linear kernel sees, else a Cholesky factor with the
        largest pivots first, ended where what is left of the trace is rounding.
        """
        there = self.transform
        found: Array | None = there.sums.factor(m)
        if found is None:
            return pivoted(self.gram(m))
        return found - found.mean(axis=1)[:, None] if there.center else found

    @cached_property
    def total(self) -> Array:
        """The plain sum of all kernels, (n, n): the one matrix that is ever stored, and only once."""
        total = self.sum_of(np.arange(self.n_samples))
        return 0.5 * (total + total.T)

    @classmethod
    def build(
        cls, dictionary: KernelDictionary, X: Any, normalise: str | None = "multiplicative", center: bool = False
    ) -> LazyKernels:
        """Resolve the dictionary on training rows X (n, d) and find its scales, without storing a Gram matrix."""
        plain, finishing = unscaled(dictionary, X, normalise, center)
        M, n = len(plain.specs), len(plain.rows)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is reported by name below
            diagonal = diagonals_of(plain)
            sums = row_sums_of(plain) if center else np.broadcast_to(0.0, (M, n))
            spread = None if center else spreads_of(plain, diagonal, finishing.needs_sums)
        if spread is not None and normalise != "spherical":
            finishing.settle_plain(diagonal, spread)
        else:
            for m in range(M):
                finishing.settle(m, diagonal[m], sums[m], None if spread is None else spread[m])
        if center:
            diagonal += finishing.grand_means[:, None] - 2 * finishing.row_means
        diagonal *= finishing.factors**2
        kept = finishing.kept
        names = [finishing.names[m] for m in kept]
        return cls(finishing.on(plain), names, diagonal if kept.size == M else diagonal[kept], finishing.notes)


def unscaled(dictionary: KernelDictionary, X: Any, normalise: str | None, center: bool) -> tuple[KernelMap, Finishing]:
    """The map of a dictionary on training rows X (n, d) with neither scales nor centring, and what is to find these."""
    rows = as_rows(X)
    n = len(rows)
    means, scales = column_scaling(rows, dictionary.specs, dictionary.standardize)
    rows = standardise_rows(rows, means, scales)
    specs = resolved(dictionary, rows)
    M = len(specs)
    plain = KernelMap(
        specs, rows, means, scales, np.ones(M), np.broadcast_to(1.0, (M, n)), np.broadcast_to(0.0, (M, n)),
        np.zeros(M), np.arange(n),
    )  # fmt: skip
    return plain, Finishing.of(dictionary.names, n, normalise, center, lean=True)


def resolved(dictionary: KernelDictionary, rows: Array) -> tuple[KernelSpec, ...]:
    specs = [spec.met(rows) for spec in dictionary]
    relative = [m for m, spec in enumerate(specs) if spec.is_relative]  # among very many there may be none
    for (kind, columns), members in share_bases([specs[m] for m in relative]).items():
        table = seen_of(kind, rows, columns)
        unit = median_distance(specs[relative[members[0]]], table, np.empty((0, 0)))
        for k in members:
            specs[relative[k]] = specs[relative[k]].at(columns, unit)
    return tuple(specs)


def diagonals_of(plain: KernelMap) -> Array:
    """The diagonal of every kernel of a map without scales, (M, n)."""
    out = np.empty((len(plain.specs), plain.rows.shape[0]))
    linear, columns = plain.sums.alone
    for k in range(0, linear.size, _COLUMNS):  # a few at a time: there may be very many
        out[linear[k : k + _COLUMNS]] = plain.rows.T[columns[k : k + _COLUMNS]] ** 2
    out[plain.sums.radial] = 1.0
    left = np.ones(len(out), dtype=bool)
    left[linear] = left[plain.sums.radial] = False
    others = np.flatnonzero(left)
    for (kind, seen), members in share_bases([plain.specs[m] for m in others]).items():
        base = base_diagonal(kind, seen_of(kind, plain.rows, seen))[:, None]
        for k in members:
            own = np.empty_like(base)
            plain.specs[others[k]].fill(base, False, own)
            out[others[k]] = own[:, 0]
    return out


def row_sums_of(plain: KernelMap) -> Array:
    """Row sums of every kernel, (M, n): each pair of rows is evaluated once, in blocks right of the diagonal."""
    n = plain.rows.shape[0]
    sums = np.zeros((len(plain.specs), n))
    for (kind, columns), members in share_bases(plain.specs).items():
        table = seen_of(kind, plain.rows, columns)
        for top in range(0, n, _BLOCK):
            left = table[top : top + _BLOCK]
            base = np.empty((left.shape[0], n - top))
            fill_base(kind, left, np.ascontiguousarray(table[top:]), False, base)
            block = np.empty_like(base)
            for m in members:
                check_cancelled()
                plain.specs[m].fill(base, False, block)
                sums[m, top : top + left.shape[0]] += block.sum(axis=1)
                sums[m, top + left.shape[0] :] += block[:, left.shape[0] :].sum(axis=0)
    return sums


def spreads_of(plain: KernelMap, diagonal: Array, variance: bool) -> Array:
    """How far each kernel is from a constant one, (M,): its ``variance`` in feature space where that is the scale, else
    a number that is 0 for the same kernels and takes one row of each instead of all.

    That number is the mean squared distance of all rows to the first in feature space: the variance plus the squared
    distance of the first row to the mean, at most n + 1 times the variance.
    """
    n = diagonal.shape[1]
    if variance:
        ones: Array = np.ones(n)
        spread: Array = diagonal.mean(axis=1) - plain.sums.forms(ones) / n**2
        return spread
    found = np.empty(len(diagonal))
    linear, columns = plain.sums.alone
    for k in range(0, linear.size, _COLUMNS):
        own = plain.rows.T[columns[k : k + _COLUMNS]]
        found[linear[k : k + _COLUMNS]] = np.mean((own - own[:, :1]) ** 2, axis=1)
    others = np.setdiff1d(np.arange(len(diagonal)), linear)
    if others.size:
        _ = plain.by_column  # laid out once, and handed to every subset
    for k in range(0, others.size, _TOGETHER):
        part = others[k : k + _TOGETHER]
        check_cancelled()
        first, own = plain.subset(part).cross_standardised(plain.rows[:1])[:, 0, :], diagonal[part]
        found[part] = np.mean(own + own[:, :1] - 2.0 * first, axis=1)
    return found


class Float32Kernels(LazyKernels):
    """``LazyKernels`` with such sums; ``exact`` are the kernels in double precision."""

    def __init__(self, exact: LazyKernels) -> None:
        super().__init__(exact.transform, exact.names, exact.diagonals(), exact.notes)
        self._exact, self._sums = exact, Float32Sums(exact.transform)

    @property
    def exact(self) -> LazyKernels:
        """The kernels with sums in double precision."""
        return self._exact

    def with_float32_sums(self) -> Float32Kernels:
        """These kernels."""
        return self

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What these kernels can do beyond the protocol."""
        return self._exact.capabilities - {Capability.EXACT}

    def combine(self, weights: Array, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,); made in ``out`` (n, n) where one is given."""
        return DenseSum(self._sums.weighted(weights, out))

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,)."""
        return self._sums.forms(a, kernels)


class RowBlocks:
    """Kernel values between new rows and the training rows that are never stored: all one can ask for are scores of
    them.
    """

    def __init__(self, rows: LazyKernels, new: Array) -> None:
        self._rows, self._new = rows, new
        self.shape = rows.n_kernels, len(new), rows.n_samples

    def scores(self, weights: Array, duals: Array) -> Array:
        """sum_m weights[t, m] K_m(new, X) duals[t], (n_new, T), for ``weights`` (T, M) and ``duals`` (T, n)."""
        return self._rows.transform.sums.scores(self._new, weights, duals)


class LazySum(LazyKernels):
    """The rows of the plain sum, as those of a dictionary of one kernel."""

    def __init__(self, rows: LazyKernels) -> None:
        super().__init__(rows.transform, ("sum",), rows.diagonals().sum(axis=0)[None], rows.notes)
        self._rows = rows

    @property
    def n_kernels(self) -> int:
        return 1

    def rows(self, i: Indices) -> Array:
        """Rows of the sum, (1, b, n)."""
        return self._rows.sum_of(i)[None]

    def row_into(self, i: int, out: Array | Single) -> None:
        out[:] = self.rows(np.array([i]))[:, 0]
