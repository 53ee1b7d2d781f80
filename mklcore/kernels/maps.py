"""New rows to test blocks: the same columns, widths, centring and scales as the training rows, and never new ones.

With r the row means, g the grand mean and f the factors of the training gram (see `grams`), a block K (n_new, n) is

    K_ij <- (K_ij - mean_j K_ij - r_j + g) f'_i f_j

where f'_i = s^(-1/2), or for spherical normalisation the new row's own (centred) self-kernel to the power -1/2.
A `KernelMap` is specs and plain arrays: it is all that a saved model needs, and it does not hold the stack itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Indices, Single
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import as_strings, letters
from mklcore.errors import DataError
from mklcore.kernels.bases import base_diagonal, fill_across, seen_of
from mklcore.kernels.exponentials import Exponentials, Groups
from mklcore.kernels.functions import KernelSpec, RowKernel
from mklcore.kernels.sums import KernelSums

CONSTANT_TOLERANCE = 1e-12


@jit_entry()
def finish_block(
    block: Array,
    left_means: Array,
    right_means: Array,
    grand: float,
    left_factors: Array,
    right_factors: Array,
) -> None:
    """Centre and scale a block (a, b) between new rows and training rows, in place."""
    for i in range(block.shape[0]):
        row = block[i]
        shift = grand - left_means[i]
        for j in range(row.size):
            row[j] = (row[j] + shift - right_means[j]) * (left_factors[i] * right_factors[j])


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
    if n_features is not None:
        as_columns(rows, n_features)
    return rows


def as_columns(rows: Array, n_features: int) -> None:
    """DataError unless rows have as many columns as the kernels were built on."""
    if rows.shape[1] != n_features:
        raise DataError(f"X has {rows.shape[1]} features, but the kernels were built on {n_features} features.")


def are_strings(X: Any) -> bool:
    """Whether X is a list of strings, or an array of them, and no table."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "UO" and bool(X.size) and isinstance(X[0], str)
    return isinstance(X, list | tuple) and bool(X) and isinstance(X[0], str)


def column_statistics(rows: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Mean and biased standard deviation of every column; a constant column gets scale 1. ``weights`` (n,) of rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        if weights is None:
            means, scales = rows.mean(axis=0), rows.std(axis=0)
        else:
            rows = rows[weights > 0]
            means = np.average(rows, axis=0, weights=weights[weights > 0])
            scales = np.sqrt(np.average((rows - means) ** 2, axis=0, weights=weights[weights > 0]))
    wild = np.flatnonzero(~np.isfinite(scales))
    if wild.size:
        raise DataError(f"Column {wild[0]} holds values too large to standardise (above 1e150). Rescale it first.")
    flat = np.ptp(rows, axis=0) <= 10 * np.finfo(np.float64).eps * np.abs(rows).max(axis=0)
    flat |= scales == 0.0  # differences whose squares are below the smallest double
    return np.where(flat, rows[0], means), np.where(flat, 1.0, scales)


def standardise_rows(rows: Array, means: Array, scales: Array) -> Array:
    """(rows - means) / scales; DataError where that leaves the range of doubles."""
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = rows - means
        result /= scales
    wild = np.flatnonzero(~np.isfinite(result).all(axis=0))
    if wild.size:
        raise DataError(f"Column {wild[0]} is too far from its training mean for a double. Check its units.")
    return result


def read_only(array: Array) -> Array:
    """A view of the array that cannot be written through."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def spherical_factors(diagonal: Array, means: Array, grand: float) -> Array:
    """K_ii^(-1/2) of the (centred) self-kernels, and 0 where K_ii is 0 or only rounding."""
    own = diagonal - 2 * means + grand
    floor = CONSTANT_TOLERANCE * np.abs(diagonal) if grand or means.any() else 0.0
    present = own > floor
    return np.where(present, 1.0 / np.sqrt(np.where(present, own, 1.0)), 0.0)


def is_its_base(specs: Sequence[KernelSpec], members: Sequence[int]) -> bool:
    """Whether a base has one kernel alone whose values it is: written where they stay, it need not be copied."""
    return len(members) == 1 and type(specs[members[0]]).fill is RowKernel.fill


def share_bases(specs: Sequence[KernelSpec]) -> Groups:
    """Kernels by what they share: (base, columns) -> their indices. The specs are resolved."""
    groups: Groups = {}
    for m, spec in enumerate(specs):
        groups.setdefault((spec.base_key, spec.settled), []).append(m)
    return groups


def column_scaling(
    rows: Array, specs: Sequence[KernelSpec], standardize: bool, weights: Array | None = None
) -> tuple[Array, Array]:
    """What is taken off every column (d,) and what it is divided by; letters of sequences stay as they are."""
    d = rows.shape[1]
    means, scales = column_statistics(rows, weights) if standardize else (np.zeros(d), np.ones(d))
    seen = sorted({column for spec in specs for column in spec.letters})
    means[seen], scales[seen] = 0.0, 1.0
    return means, scales


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
        for field in fields(self):
            if isinstance(getattr(self, field.name), np.ndarray):
                object.__setattr__(self, field.name, read_only(getattr(self, field.name)))

    def subset(self, kernels: Any) -> "KernelMap":
        """The same map for some of the kernels only, in the given order."""
        chosen = np.asarray(kernels, dtype=np.int64)
        if np.array_equal(chosen, np.arange(len(self.specs))):
            return self  # very many kernels on many rows would be copied for nothing
        return self._sharing(
            specs=tuple(self.specs[m] for m in chosen),
            scales=self.scales[chosen],
            factors=self.factors[chosen],
            row_means=self.row_means[chosen],
            grand_means=self.grand_means[chosen],
        )

    def take(self, rows: Any) -> "KernelMap":
        """The same map with blocks against some of the training rows only."""
        return self._sharing(kept=self.kept[np.asarray(rows)])

    def _sharing(self, **changes: Any) -> "KernelMap":
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
    def sums(self) -> KernelSums:
        """Sums over all kernels without any of their Gram matrices."""
        return KernelSums(self)

    def scores(self, X_new: Any, weights: Array, duals: Array) -> Array:
        """Scores (n_new, T) of T machines, sum_m weights[t, m] K_m(X_new, X) duals[t], with no block of all kernels
        stored.

        X_new (n_new, d) as in `cross`; weights (T, M); duals (T, n_kept).
        """
        if self.center and self.weights is not None:
            block = self.cross(X_new)
            return np.stack([own @ (block @ dual) for own, dual in zip(weights, duals, strict=True)], axis=1)
        return self.sums.scores(self.standardised(X_new), weights, duals)

    def _columns_of(self, columns: Sequence[int]) -> Array:
        """Some of them: a view where they stand side by side."""
        first, last = columns[0], columns[-1]
        if tuple(columns) == tuple(range(first, last + 1)):
            return self.by_column[first : last + 1]
        return np.take(self.by_column, columns, axis=0)

    def cross(self, X_new: Any) -> Array:
        """Kernel values between new rows and training rows, with the training standardisation, scales and centring.

        X_new (n_new, d), or a ``Dataset``, or a list of strings where the kernels see one sequence and nothing else.
        Returns (M, n_new, n_kept), C-contiguous float64. DataError when X_new is not a finite table with d columns.
        """
        return self.cross_standardised(self.standardised(X_new))

    def standardised(self, X_new: Any) -> Array:
        """New rows as ``cross`` takes them, with the training standardisation."""
        rows = as_rows(self.laid_out(X_new))
        if rows.shape[1] == self.rows.shape[1] or not self.reads_letters:
            as_columns(rows, self.rows.shape[1])
            return standardise_rows(rows, self.column_means, self.column_scales)
        more = rows.shape[1] - self.rows.shape[1]  # letters of longer strings
        as_columns(rows[:, : self.rows.shape[1]], self.rows.shape[1])
        means, scales = (
            np.pad(v, (0, more), constant_values=c) for v, c in ((self.column_means, 0.0), (self.column_scales, 1.0))
        )
        return standardise_rows(rows, means, scales)

    @cached_property
    def reads_letters(self) -> bool:
        """Whether some kernel sees sequences."""
        return any(spec.letters for spec in self.specs)

    def laid_out(self, X_new: Any) -> Any:
        """New rows as a table: the letters of a ``Dataset``, or of a list of strings, beside its columns."""
        if isinstance(X_new, Dataset):
            if not X_new.sequences or not self.reads_letters:
                return X_new.X
            return X_new.with_letters((self.rows.shape[1] - X_new.n_features) // len(X_new.sequences))
        if self.reads_letters and are_strings(X_new):
            return letters([as_strings(X_new)], self.rows.shape[1])
        return X_new

    def cross_standardised(self, new: Array, out: Array | None = None) -> Array:
        """The same for rows (n_new, d) that are already standardised, such as the training rows themselves; made in
        ``out`` where it has the shape.
        """
        shape = len(self.specs), new.shape[0], self.kept.size
        out = np.empty(shape) if out is None or out.shape != shape else out
        quick, others = self._shared
        quick.fill(self.by_column, new, self._plain_scales, out)
        if others:
            self._fill(others, new, out)
        return out

    def single_row(self, i: int, out: Single) -> None:
        """Row i of every kernel against all training rows into ``out`` (M, n), in single precision."""
        quick, others = self._shared
        quick.fill_single(self.by_column, self.rows[i], self._plain_scales, out)
        if others:
            row = np.empty((len(self.specs), 1, self.rows.shape[0]))
            self._fill(others, self.rows[i : i + 1], row)
            for m in chain.from_iterable(others.values()):
                out[m] = row[m, 0]

    def _fill(self, groups: Groups, new: Array, out: Array) -> None:
        """The kernels of some groups, one at a time."""
        shape = (new.shape[0], self.rows.shape[0])
        shared, spare = np.empty(shape), np.empty(shape if self._is_cut else (0, 0))
        for (kind, columns), members in groups.items():
            left = seen_of(kind, new, columns)
            alone = is_its_base(self.specs, members) and not self._is_cut
            base = out[members[0]] if alone else shared
            if isinstance(kind, RowKernel):
                kind.between(left, self.rows, False, base)
            else:
                fill_across(kind, left, self._columns_of(columns), False, base)
            diagonal = base_diagonal(kind, left)
            for m in members:
                block = spare if self._is_cut else out[m]
                if not alone:
                    self.specs[m].fill(base, False, block)
                self._finish(m, diagonal, block)
                if self._is_cut:
                    np.take(block, self.kept, axis=1, out=out[m])

    @cached_property
    def _is_cut(self) -> bool:
        """Whether blocks are against some of the training rows only."""
        return not np.array_equal(self.kept, np.arange(self.rows.shape[0]))

    @cached_property
    def _is_plain(self) -> bool:
        """Whether a block is finished once it is multiplied by a number."""
        return not self.center and self.normalise != "spherical"

    @cached_property
    def _plain_scales(self) -> Array:
        """That number for every kernel, (M,)."""
        if not self.factors.shape[1]:  # a model without a row, as of a constant target, has blocks without columns
            return read_only(self.scales**-0.5)
        return read_only(self.scales**-0.5 * self.factors[:, 0])

    @cached_property
    def _shared(self) -> tuple[Exponentials, Groups]:
        """The kernels that are filled in one pass, and the others by what they share."""
        groups = share_bases(self.specs)
        if self._is_cut or not self._is_plain:
            return Exponentials.among(self.specs, {})[0], groups
        return Exponentials.among(self.specs, groups)

    def _finish(self, m: int, diagonal: Array, block: Array) -> None:
        if self._is_plain:
            block *= self._plain_scales[m]
            return
        means = np.average(block, axis=1, weights=self.weights) if self.center else np.zeros(block.shape[0])
        factors: Array = np.full(block.shape[0], self.scales[m] ** -0.5)
        if self.normalise == "spherical":
            own = np.empty((block.shape[0], 1))
            self.specs[m].fill(diagonal[:, None], False, own)
            factors = spherical_factors(own[:, 0], means, self.grand_means[m])
        right, own_factors = (read_only(np.ascontiguousarray(one[m])) for one in (self.row_means, self.factors))
        finish_block(block, means, right, self.grand_means[m], factors, own_factors)
