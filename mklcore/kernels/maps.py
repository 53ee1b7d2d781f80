"""Kernels on rows that come later, and sums over kernels that nobody stores.

A `KernelMap` is specs and plain arrays: all that a saved model needs to compute its kernels on new rows, with the
columns, widths, centring and scales of the training rows. With r the row means, g the grand mean and f the factors of
the training gram, a block K (n_new, n) is finished as

    K_ij <- (K_ij - mean_j K_ij - r_j + g) f'_i f_j

where f = s^(-1/2) for a scale s, and for spherical normalisation f_i = K_ii^(-1/2) of the (centred) self-kernels.
Centring comes first, so that what comes out has the property its normalisation promises:

| normalise | the factor, from the training gram | promise |
|---|---|---|
| multiplicative | s = tr(K)/n - 1'K1/n^2 | unit variance in feature space (Kloft et al. 2011, eq. 27) |
| spherical | K_ii per row | K_ii = 1 (eq. 28); rows with K_ii = 0 become 0 |
| trace | s = tr(K) | tr(K) = 1 |
| diag | s = max_i K_ii | k(x, x) <= 1 on the training rows |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, read_only
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import as_strings, letters
from mklcore.errors import DataError, KernelError, ParameterError, check_cancelled
from mklcore.kernels.fills import add_radial, mirror, radial_forms
from mklcore.kernels.functions import Base, KernelSpec, RowKernel, fill_base, own_values, resolved

NORMALISATIONS: tuple[str | None, ...] = ("multiplicative", "spherical", "trace", "diag", None)
CONSTANT_TOLERANCE = 1e-12
_COLUMNS = 4096  # of a table weighed at a time: a copy of them is made
_AT_ONCE = 2e8  # pairs of rows, over kernels of one column, whose forms are read without a pause
_ROWS, _TOGETHER = 64, 32  # rows and kernels of a block: enough to share what they are computed from


# -- tables of rows


def as_rows(X: Any, n_features: int | None = None) -> Array:
    """X as a new C-contiguous float64 table (n, d); DataError for anything that is not a finite numeric table."""
    try:
        raw = np.asarray(X)
        if raw.dtype.kind == "c":
            raise TypeError("complex numbers")
        rows = np.array(raw, dtype=np.float64, order="C", copy=True)
    except (TypeError, ValueError) as error:
        raise DataError(f"Kernels need a numeric table X (n, d): {error}. Encode text columns as numbers.") from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise DataError(
            f"Kernels need a table X (n, d) with at least one row and one column, got shape {rows.shape}. "
            "For a single column use X.reshape(-1, 1)."
        )
    bad = np.argwhere(~np.isfinite(rows))
    if bad.size:
        i, j = bad[0]
        raise DataError(
            f"X holds {len(bad)} value(s) that are NaN or infinite, the first in row {i}, column {j}. "
            "Fill in or drop these rows first."
        )
    if n_features is not None and rows.shape[1] != n_features:
        raise DataError(f"X has {rows.shape[1]} features, but the kernels were built on {n_features} features.")
    return rows


def column_statistics(rows: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Mean and biased standard deviation of every column; a constant column gets scale 1. ``weights`` (n,) of rows."""
    if weights is not None:
        rows, weights = rows[weights > 0], weights[weights > 0]
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.average(rows, axis=0, weights=weights)
        scales = np.sqrt(np.average((rows - means) ** 2, axis=0, weights=weights))
    wild = np.flatnonzero(~np.isfinite(scales))
    if wild.size:
        raise DataError(f"Column {wild[0]} holds values too large to standardise (above 1e150). Rescale it first.")
    flat = np.ptp(rows, axis=0) <= 10 * np.finfo(np.float64).eps * np.abs(rows).max(axis=0)
    flat |= scales == 0.0  # differences whose squares are below the smallest double
    return np.where(flat, rows[0], means), np.where(flat, 1.0, scales)


def standardise_rows(rows: Array, means: Array, scales: Array) -> Array:
    """(rows - means) / scales; DataError where that leaves the range of doubles."""
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = (rows - means) / scales
    wild = np.flatnonzero(~np.isfinite(result).all(axis=0))
    if wild.size:
        raise DataError(f"Column {wild[0]} is too far from its training mean for a double. Check its units.")
    return result


def spherical_factors(diagonal: Array, means: Array | float, grand: float) -> Array:
    """K_ii^(-1/2) of the (centred) self-kernels, and 0 where K_ii is 0 or only rounding."""
    own = diagonal - 2 * means + grand
    floor = CONSTANT_TOLERANCE * np.abs(diagonal) if grand or np.any(means) else 0.0
    present = own > floor
    return np.where(present, 1.0 / np.sqrt(np.where(present, own, 1.0)), 0.0)


# -- from training rows to new rows


@dataclass(frozen=True, eq=False)
class KernelMap:
    """How new rows become test blocks: everything `cross` needs, as specs and plain read-only arrays.

    specs: M resolved kernels (tuple columns, absolute widths); rows (n, d): training rows after standardising;
    column_means, column_scales (d,); scales (M,): the factor s of each kernel, 1 where none; factors (M, n),
    row_means (M, n), grand_means (M,): the f, r, g of the training gram, broadcast where they are one number per
    kernel; kept (n_kept,): which training rows the columns of a block refer to;
    weights (n,) of the training rows in means over them, None where all are alike.
    """

    specs: tuple[KernelSpec, ...]
    rows: Array
    column_means: Array
    column_scales: Array
    scales: Array
    factors: Array
    row_means: Array
    grand_means: Array
    kept: Indices
    normalise: str | None = None
    center: bool = False
    weights: Array | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            if isinstance(getattr(self, one.name), np.ndarray):
                object.__setattr__(self, one.name, read_only(getattr(self, one.name)))

    @classmethod
    def plain(cls, specs: Sequence[KernelSpec], rows: Array, means: Array, scales: Array) -> KernelMap:
        """Resolved kernels on standardised rows without centring or scale."""
        M, n = len(specs), len(rows)
        one, zero = np.broadcast_to(1.0, (M, n)), np.broadcast_to(0.0, (M, n))
        return cls(tuple(specs), rows, means, scales, np.ones(M), one, zero, np.zeros(M), np.arange(n))

    def subset(self, kernels: Any) -> KernelMap:
        """The same map for some of the kernels only, in the given order."""
        chosen = np.asarray(kernels, dtype=np.int64)
        if np.array_equal(chosen, np.arange(len(self.specs))):
            return self  # very many kernels on many rows would be copied for nothing
        own = {name: getattr(self, name)[chosen] for name in ("scales", "factors", "row_means", "grand_means")}
        return self._sharing(specs=tuple(self.specs[m] for m in chosen), **own)

    def take(self, rows: Any) -> KernelMap:
        """The same map with blocks against some of the training rows only."""
        return self._sharing(kept=self.kept[np.asarray(rows)])

    def _sharing(self, **changes: Any) -> KernelMap:
        """A map with other kernels or fewer columns on the same training rows, which are not laid out again."""
        other = replace(self, **changes)
        if "by_column" in self.__dict__:
            other.__dict__["by_column"] = self.by_column
        return other

    @cached_property
    def by_column(self) -> Array:
        """The training rows column by column, (d, n): what every row of a kernel is computed from."""
        return np.array(self.rows.T, order="C")

    @cached_property
    def groups(self) -> dict[tuple[Base, tuple[int, ...]], list[int]]:
        """Kernels by what they share: (base, columns) -> their indices."""
        found: dict[tuple[Base, tuple[int, ...]], list[int]] = {}
        for m, spec in enumerate(self.specs):
            found.setdefault((spec.base_key, spec.settled), []).append(m)
        return found

    @cached_property
    def is_whole(self) -> bool:
        """Whether blocks are against all training rows."""
        return np.array_equal(self.kept, np.arange(len(self.rows)))

    @cached_property
    def sums(self) -> KernelSums:
        """Sums over all kernels without any of their Gram matrices."""
        return KernelSums(self)

    def scores(self, X_new: Any, weights: Array, duals: Array) -> Array:
        """Scores (n_new, T) of T machines, sum_m weights[t, m] K_m(X_new, X) duals[t], with no block of all kernels
        stored.

        X_new (n_new, d) as in `cross`; weights (T, M); duals (T, n_kept).
        """
        return self.sums.scores(self.standardised(X_new), weights, duals)

    def cross(self, X_new: Any) -> Array:
        """Kernel values between new rows and training rows, with the training standardisation, scales and centring.

        X_new (n_new, d), or a ``Dataset``, or a list of strings where the kernels see one sequence and nothing else.
        Returns (M, n_new, n_kept), C-contiguous float64. DataError when X_new is not a finite table with d columns.
        """
        return self.cross_standardised(self.standardised(X_new))

    def standardised(self, X_new: Any) -> Array:
        """New rows as ``cross`` takes them: a table, with the letters of sequences beside it, standardised as in
        training.
        """
        d, means, scales = self.rows.shape[1], self.column_means, self.column_scales
        if not any(spec.letters for spec in self.specs):
            return standardise_rows(as_rows(X_new.X if isinstance(X_new, Dataset) else X_new, d), means, scales)
        if isinstance(X_new, Dataset) and X_new.strings:
            X_new = X_new.with_letters((d - X_new.n_features) // len(X_new.strings))
        elif isinstance(X_new, list | tuple | np.ndarray) and len(X_new) and isinstance(X_new[0], str):
            X_new = letters([as_strings(X_new)], d)
        rows = as_rows(X_new)
        more = max(rows.shape[1] - d, 0)  # letters of longer strings
        as_rows(rows[:, :d], d)
        return standardise_rows(rows, np.pad(means, (0, more)), np.pad(scales, (0, more), constant_values=1.0))

    def cross_standardised(self, new: Array, out: Array | None = None) -> Array:
        """The same for rows (n_new, d) that are already standardised, such as the training rows themselves; made in
        ``out`` where it has the shape.
        """
        shape, whole = (len(self.specs), len(new), self.kept.size), (len(new), len(self.rows))
        out = np.empty(shape) if out is None or out.shape != shape else out
        shared, spare = np.empty(whole), np.empty((0, 0) if self.is_whole else whole)
        with np.errstate(over="ignore", invalid="ignore"):
            for (kind, seen), members in self.groups.items():
                laid_out = None if isinstance(kind, RowKernel) else self._columns(seen)
                fill_base(kind, seen, new, self.rows, False, shared, laid_out)
                for m in members:
                    block = out[m] if self.is_whole else spare
                    self.specs[m].fill(shared, False, block)
                    self._finish(m, new, block)
                    if not self.is_whole:
                        np.take(block, self.kept, axis=1, out=out[m])
        return out

    def _columns(self, seen: Sequence[int]) -> Array:
        """Some of the columns (s, n): a view where they stand side by side."""
        if tuple(seen) == tuple(range(seen[0], seen[-1] + 1)):
            return self.by_column[seen[0] : seen[-1] + 1]
        return np.take(self.by_column, seen, axis=0)

    def _finish(self, m: int, new: Array, block: Array) -> None:
        """Centre and scale a block of kernel m between standardised rows and the training rows, in place."""
        means: Any = 0.0
        if self.center:
            means = np.average(block, axis=1, weights=self.weights)
            block += (self.grand_means[m] - means)[:, None] - self.row_means[m]
        if self.normalise == "spherical":
            own = spherical_factors(own_values(self.specs[m], new), means, float(self.grand_means[m]))
            block *= own[:, None] * self.factors[m]
        elif self.scales[m] != 1.0:
            block *= 1.0 / self.scales[m]


@dataclass
class Finishing:
    """The numbers that centre and normalise M kernels on n rows, settled one kernel at a time: one way for all forms.

    A kernel that is constant on the training rows has no variance in feature space: what would divide by it leaves it
    out. ``weights`` (n,) of the rows: a row of weight 2 counts as two rows.
    """

    names: tuple[str, ...]
    normalise: str | None
    center: bool
    n: int
    weights: Array | None = None
    constant: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.normalise not in NORMALISATIONS:
            known = ", ".join(repr(name) for name in NORMALISATIONS)
            raise ParameterError(f"normalise must be one of {known}, got {self.normalise!r}.")
        M = len(self.names)
        self.w = np.ones(self.n) if self.weights is None else self.weights
        self.scales, self.grand_means = np.ones(M), np.zeros(M)
        self.row_means = np.zeros((M, self.n)) if self.center else np.broadcast_to(0.0, (M, self.n))
        self.factors = np.ones((M, self.n)) if self.normalise == "spherical" else np.empty((0, 0))

    @property
    def is_plain(self) -> bool:
        """Whether a kernel is finished once it is divided by its scale."""
        return not self.center and self.normalise != "spherical" and self.weights is None

    def settle(self, m: int, diagonal: Array, total: float, sums: Array | None = None) -> bool:
        """Find the numbers of kernel m from its diagonal (n,), w'K w and, where it is centred, K w (n,); False when it
        has to be left out. KernelError where a number overflows.
        """
        n, trace = float(self.w.sum()), float(self.w @ diagonal)
        spread = trace / n - total / n**2
        if not (np.isfinite(trace) and np.isfinite(spread)):
            raise KernelError(
                f"{self.names[m]} grows beyond the largest number on these rows. Standardise the columns or lower its "
                f"degree."
            )
        if spread <= CONSTANT_TOLERANCE * trace / n:
            self.constant.append(m)
            if (
                self.center
                or self.normalise == "multiplicative"
                or (trace <= 0 and self.normalise in ("trace", "diag"))
            ):
                self.dropped.append(m)
                return False
        means: Any = 0.0
        if self.center and sums is not None:
            means = self.row_means[m] = sums / n
            self.grand_means[m] = total / n**2
        own, grand = diagonal - 2 * means + self.grand_means[m], float(self.grand_means[m])
        if self.normalise == "spherical":
            self.factors[m] = spherical_factors(diagonal, means, grand)
        elif self.normalise is not None:
            known = {"multiplicative": spread, "trace": self.w @ own, "diag": own[self.w > 0].max()}
            self.scales[m] = known[self.normalise]
        return True

    def finish(self, m: int, gram: Array, room: Array) -> None:
        """Centre and scale the Gram matrix (n, n) of a settled kernel, in place; ``room`` (n, n) is overwritten."""
        if self.center:
            r, one = self.row_means[m] - 0.5 * self.grand_means[m], np.ones(self.n)
            gram -= np.dot(np.stack([r, one], axis=1), np.stack([one, r]), out=room)
        if self.normalise == "spherical":
            gram *= np.dot(self.factors[m][:, None], self.factors[m][None], out=room)
        elif self.scales[m] != 1.0:
            gram *= 1.0 / self.scales[m]

    def diagonal(self, diagonal: Array) -> Array:
        """The diagonals (M, n) of all kernels, centred and scaled."""
        own = diagonal - 2 * self.row_means + self.grand_means[:, None]
        if self.normalise == "spherical":
            return np.asarray(own * self.factors**2)
        return np.asarray(own / self.scales[:, None])

    @property
    def kept(self) -> Indices:
        """The kernels that are left. KernelError where none is."""
        kept = np.setdiff1d(np.arange(len(self.names)), self.dropped)
        if kept.size == 0:
            more = ", …" if len(self.names) > 3 else ""
            raise KernelError(
                f"Every kernel is constant on the training rows (n_samples = {self.n}): "
                f"{', '.join(self.names[:3])}{more}. Use rows that differ, or columns that vary."
            )
        return kept

    @property
    def notes(self) -> list[str]:
        """Which kernels are constant, and whether they were left out."""
        return [
            f"{self.names[m]}: constant on the training rows, {'left out' if m in self.dropped else 'kept'}."
            for m in sorted(self.constant)
        ]

    def on(self, plain: KernelMap) -> KernelMap:
        """The map of kernels without centring and scale, with the numbers found here, for the kernels that are left."""
        shape = len(self.names), self.n
        factors = self.factors if self.factors.size else np.broadcast_to(self.scales[:, None] ** -0.5, shape)
        return replace(
            plain, scales=self.scales, factors=factors, row_means=self.row_means, grand_means=self.grand_means,
            normalise=self.normalise, center=self.center, weights=self.weights,
        ).subset(self.kept)  # fmt: skip


def on_training_rows(
    X: Any, specs: Sequence[KernelSpec], standardize: bool = True, weights: Array | None = None
) -> KernelMap:
    """The map of kernels resolved on training rows X (n, d), with neither scales nor centring; letters of sequences are
    not standardised.
    """
    rows = as_rows(X)
    d = rows.shape[1]
    means, scales = column_statistics(rows, weights) if standardize else (np.zeros(d), np.ones(d))
    for spec in specs:
        means[list(spec.letters)], scales[list(spec.letters)] = 0.0, 1.0
    rows = standardise_rows(rows, means, scales)
    return KernelMap.plain(resolved(specs, rows, weights), rows, means, scales)


# -- sums over very many kernels


class KernelSums:
    """Sums over all kernels of a map, from the columns they are made of: no Gram matrix but the sum itself is stored.

        forms     Q_m = a'K_m a        of every kernel
        products  K_m a                of every kernel
        weighted  sum_m theta_m K_m    (n, n)
        scores    sum_m w_m K_m(new, X) a

    ``linear`` kernels (indices) need no matrix: with z = X'a the form is sum_j z_j^2 over the kernel's columns, O(n d)
    for all of them, and their sum is X diag(c) X' with c_j the weight of all kernels that see column j. ``radial``
    ones, exponentials of one column, are filled row by row in a buffer and let go again. All others, and all that
    are centred, spherical or on some of the training rows, go through blocks of the map.
    """

    def __init__(self, source: KernelMap) -> None:
        self.source, self.factors = source, 1.0 / source.scales
        plain = source.is_whole and not source.center and source.normalise != "spherical"
        ways = np.array([way_of(spec) if plain else "other" for spec in source.specs])
        self.linear, self.radial, self.other = (np.flatnonzero(ways == way) for way in ("linear", "radial", "other"))
        seen = [source.specs[m].settled for m in self.linear]
        self._columns = np.array([j for one in seen for j in one], dtype=np.int64)  # of linear kernels, end to end
        self._owner = np.repeat(np.arange(len(seen)), [len(one) for one in seen])
        specs = [source.specs[m] for m in self.radial]
        self._where = np.array([spec.settled[0] for spec in specs], dtype=np.int64)
        self._squared = np.array([spec.base == "squared" for spec in specs], dtype=np.bool_)
        self._rates = np.array([spec.rate for spec in specs], dtype=np.float64)

    def forms(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for every kernel, (M,), or for some of them, (k,), in their order; ``a`` (n,)."""
        asked = np.arange(len(self.factors)) if kernels is None else np.asarray(kernels, dtype=np.int64)
        out, support, rows = np.zeros(len(self.factors)), np.flatnonzero(a), self.source.rows
        if np.isin(self.linear, asked).any():
            z = (a @ rows)[self._columns]
            out[self.linear] = np.bincount(self._owner, z * z, minlength=self.linear.size) * self.factors[self.linear]
        some = np.flatnonzero(np.isin(self.radial, asked))
        for part in pieces(some, max(1, int(_AT_ONCE / a.size**2))):
            check_cancelled()
            found = np.empty(part.size)
            radial_forms(
                self.source.by_column, self._where[part], self._squared[part], self._rates[part], a, support, found
            )
            out[self.radial[part]] = found * self.factors[self.radial[part]]
        for few in pieces(self.other[np.isin(self.other, asked)], _TOGETHER):
            for part, block in self._blocks(few, rows, support):
                out[few] += (block @ a) @ a[part]
        return np.maximum(out, 0.0)[asked]

    def products(self, a: Array) -> Array:
        """K_m a for every kernel, (M, n): for some kernels of many, those of a ``subset``."""
        rows = self.source.rows
        out = np.empty((len(self.factors), len(rows)))
        if self.linear.size:
            seen = rows.T[self._columns]
            seen *= ((seen @ a) * self.factors[self.linear][self._owner])[:, None]
            out[self.linear] = np.add.reduceat(seen, np.searchsorted(self._owner, np.arange(self.linear.size)), axis=0)
        for few in pieces(np.concatenate([self.radial, self.other]), _TOGETHER):
            for part, block in self._blocks(few, rows):
                out[np.ix_(few, part)] = block @ a
        return out

    def weighted(self, theta: Array, out: Array | None = None) -> Array:
        """sum_m theta_m K_m, (n, n), into ``out`` where given; kernels without weight are not looked at."""
        rows = self.source.rows
        out = np.empty((len(rows), len(rows))) if out is None else out
        out[:] = 0.0
        shares = theta * self.factors
        live = np.flatnonzero(shares[self.radial])
        if live.size:
            own = shares[self.radial[live]]
            add_radial(self.source.by_column, self._where[live], self._squared[live], self._rates[live], own, out)
        for few in pieces(self.other[theta[self.other] != 0.0], _TOGETHER):
            for part, block in self._blocks(few, rows):
                out[part] += np.tensordot(theta[few], block, 1)
        mirror(out)
        c = np.bincount(self._columns, shares[self.linear][self._owner], minlength=rows.shape[1])
        for some in pieces(np.flatnonzero(c > 0.0), _COLUMNS):
            scaled = rows[:, some] * np.sqrt(c[some])
            out += scaled @ scaled.T
        return out

    def scores(self, new: Array, weights: Array, duals: Array) -> Array:
        """Scores (n_new, T) of T machines, sum_m weights[t, m] K_m(new, X) duals[t], for standardised rows (n_new,
        d).
        """
        out = np.zeros((len(new), len(duals)))
        for t, own in enumerate((weights * self.factors)[:, self.linear] if self.linear.size else ()):
            columns = np.bincount(self._columns, own[self._owner], minlength=self.source.rows.shape[1])
            out[:, t] += new[:, : columns.size] @ (columns * (duals[t] @ self.source.rows))
        others = np.concatenate([self.radial, self.other])
        for few in pieces(others[weights[:, others].any(axis=0)], _TOGETHER):
            for part, block in self._blocks(few, new):
                out[part] += np.einsum("mik,tk,tm->it", block, duals, weights[:, few], optimize=True)
        return out

    def _blocks(self, few: Indices, rows: Array, support: Indices | None = None) -> Any:
        """The values of a few kernels on rows (all, or some of them) against the training rows, in pieces: which rows,
        and values (k, r, n).
        """
        _ = self.source.by_column  # laid out once, and handed to the subset
        part = self.source.subset(few)
        for some in pieces(np.arange(len(rows)) if support is None else support, _ROWS):
            check_cancelled()
            yield some, part.cross_standardised(rows[some])


def way_of(spec: KernelSpec) -> str:
    """How a plain kernel is summed: "linear", "radial" or "other"."""
    if spec.is_base:
        return "linear"
    alone = isinstance(spec.features, tuple) and len(spec.features) == 1
    return "radial" if alone and spec.rate is not None and spec.base in ("squared", "absolute") else "other"


def pieces(indices: Indices, size: int) -> list[Indices]:
    """The indices, so many at a time."""
    return [indices[k : k + size] for k in range(0, indices.size, size)]
