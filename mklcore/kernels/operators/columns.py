"""Linear kernels of single columns, as many as a table has, computed from the table itself.

K_m(x, z) = phi_m(x) phi_m(z) with phi_m = (x_m - mean_m) / deviation_m on the training rows, which is what
``KernelDictionary.per_feature(Linear(), M)`` makes of a table. The table is neither copied nor converted: beside it
there are three numbers and a name per kernel, so that a million kernels on 500 rows fit beside their 2 GB of single
precision.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array, Indices, Single
from mklcore.errors import DataError, KernelError, check_cancelled
from mklcore.kernels.functions import Linear
from mklcore.kernels.operators.base import Capability, DenseSum
from mklcore.kernels.sums import mirror

MOST_ROWS = 4000  # up to which kernels that are not stored are summed in every step
_VALUES = 1_000_000  # features in double precision that are held at a time
_CONSTANT = 1e-12  # deviation of a constant column, as a share of its largest value
_SHOWN = 3  # columns that a refusal names


class ColumnKernels:
    """M linear kernels on n training rows, one per column of ``X``, each of variance 1.

    Parameters
    ----------
    X : ndarray of shape (n, M)
        At most 4000 training rows in single or double precision, also mapped from a file. Kept, not copied: leave it as
        it is for as long as the kernels are used. Sums over it are in double precision. Columns that are constant are
        left out and named in ``notes``.
    names : sequence of str or None, default None
        Names of the columns; None for x0, x1 and so on.

    Raises
    ------
    DataError
        For a table that is not finite, or has fewer than two rows.
    KernelError
        Where names and columns do not match, two names are the same, every column is constant, or there are more rows.

    Examples
    --------
    >>> kernels = ColumnKernels(np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 6.0]], dtype=np.float32))
    >>> kernels.names
    ('linear x0', 'linear x1')
    >>> kernels.quad(np.array([1.0, 0.0, -1.0])).round(3)
    array([5.786, 4.5  ])
    """

    transform, normalise = None, "multiplicative"

    def __init__(self, X: Any, names: Sequence[str] | None = None) -> None:
        table = X if isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64) else np.asarray(X, dtype=float)
        if table.ndim != 2 or min(table.shape, default=0) < 1 or table.shape[0] < 2:
            raise DataError(f"Kernels of columns need a table (n, M) of two rows or more, got shape {table.shape}.")
        self._table, (n, M) = table, table.shape
        if n > MOST_ROWS:
            raise KernelError(
                f"Kernels of columns are for very many columns on at most {MOST_ROWS:,} rows, this table has {n:,}. "
                f"Use KernelDictionary.per_feature(Linear(), {M}), which keeps features."
            )
        called = [f"x{m}" for m in range(M)] if names is None else [str(name) for name in names]
        if len(called) != M:
            raise KernelError(f"There are {len(called)} names for {M} columns; give one per column, or none.")
        if names is not None and len(set(called)) < M:
            raise KernelError("Two columns have the same name; give every column its own, or none.")
        means, spreads = np.empty(M), np.empty(M)
        for part in _parts(M, n):
            own = table[:, part].astype(np.float64)
            if not np.isfinite(own).all():
                bad = np.flatnonzero(~np.isfinite(own).all(axis=0))[:_SHOWN] + part.start
                raise DataError(
                    f"Column {', '.join(called[m] for m in bad)} is not finite; fill gaps, or leave it out."
                )
            means[part] = own.mean(axis=0)
            spreads[part] = own.std(axis=0)
            spreads[part][spreads[part] <= _CONSTANT * np.abs(own).max(axis=0)] = 0.0
        kept = np.flatnonzero(spreads)
        if not kept.size:
            raise KernelError("Every column is constant on the training rows, so that no kernel is left.")
        gone = np.setdiff1d(np.arange(M), kept)
        self.notes = tuple(f"linear {called[m]}: constant on the training rows, left out." for m in gone)
        self.names = tuple(f"linear {called[m]}" for m in kept)
        self._single = False
        self._columns, self._means, self._factors = kept, means[kept], 1.0 / spreads[kept]

    @property
    def families(self) -> tuple[str, ...]:
        """The registry key of every kernel."""
        return ("linear",) * self.n_kernels

    @property
    def specs(self) -> tuple[Linear, ...]:
        """The kernels, made when they are read."""
        return tuple(Linear(features=(int(m),)) for m in self._columns)

    @property
    def n_kernels(self) -> int:
        return self._columns.size

    @property
    def n_samples(self) -> int:
        return len(self._table)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What these kernels can do beyond the protocol."""
        can = {Capability.FACTORS, Capability.CHEAP_ROWS}
        return frozenset(can if self._single else {*can, Capability.EXACT})

    @property
    def exact(self) -> ColumnKernels:
        """The kernels with sums in double precision."""
        return self._with(single=False) if self._single else self

    def with_float32_sums(self) -> ColumnKernels:
        """The kernels with sums in single precision, which take half the time."""
        return self if self._single else self._with(single=True)

    def diagonals(self) -> Diagonals:
        """K_m(x_i, x_i) of every kernel, (M, n), made when they are read."""
        return Diagonals(self)

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n)."""
        found = np.empty((self.n_kernels if kernels is None else len(kernels), self.n_samples))
        for part, Z in self.features(kernels):
            found[part] = (Z * (a @ Z)).T
        return found

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,); for a (n, T) the sum over its columns."""
        found, columns = np.empty(self.n_kernels if kernels is None else len(kernels)), a.reshape(len(a), -1)
        for part, Z in self.features(kernels):
            found[part] = np.sum((columns.T.astype(Z.dtype, copy=False) @ Z) ** 2, axis=0)
        return found

    def combine(self, weights: Array, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,); made in ``out`` (n, n) where one is given."""
        n, live = self.n_samples, np.flatnonzero(weights)
        total = np.empty((n, n)) if out is None else out
        total[:] = 0.0
        product = scipy.linalg.blas.ssyrk if self._single else scipy.linalg.blas.dsyrk
        for part, Z in self.features(None if live.size == self.n_kernels else live):
            Z *= np.sqrt(weights[live[part]]).astype(Z.dtype)
            total += product(1.0, Z.T, trans=1, lower=1).T  # (n, n), what is above the diagonal
        mirror(total)
        return DenseSum(total)

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among some rows, (r, r)."""
        found: Array = self.take(rows).combine(weights).matrix
        return found

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        return self.blocks().scores(weights[None], a[None])[:, 0]

    def rows(self, i: Indices) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        found = np.empty((self.n_kernels, len(i), self.n_samples))
        for part, Z in self.features():
            found[part] = Z[i].T[:, :, None] * Z.T[:, None, :]
        return found

    def row_into(self, i: int, out: Array | Single) -> None:
        """Row i of every kernel into ``out`` (M, n), in the precision of ``out``."""
        for part, Z in self.features():
            out[part] = (Z * Z[i]).T

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        found: Array = self.grams(np.array([m]))[0]
        return found

    def grams(self, kernels: Indices) -> Array:
        """The Gram matrices of some of the kernels, (k, n, n)."""
        found = np.empty((len(kernels), self.n_samples, self.n_samples))
        for part, Z in self.features(kernels):
            found[part] = Z.T[:, :, None] * Z.T[:, None, :]
        return found

    def factor(self, m: int) -> Array:
        """L (1, n) with K_m = L'L."""
        ((_, Z),) = self.features(np.array([m]))
        return np.ascontiguousarray(Z.T, dtype=np.float64)

    def select(self, kernels: Indices) -> ColumnKernels:
        """Some of the kernels, on the same table."""
        return self._with(
            columns=self._columns[kernels],
            means=self._means[kernels],
            factors=self._factors[kernels],
            names=tuple(self.names[m] for m in kernels),
        )

    def take(self, rows: Indices) -> ColumnKernels:
        """The kernels among some of the training rows, copied; means and deviations stay those of all rows."""
        return self._with(table=self._table[rows])

    def block(self, rows: Indices, columns: Indices) -> ColumnBlocks:
        """What scores some training rows by others."""
        return ColumnBlocks(self.take(columns), self._table[rows])

    def cross(self, X_new: Any) -> Array:
        """Kernel values (M, n_new, n) between new rows X_new (n_new, M) and the training rows."""
        new = self._checked(X_new)
        found = np.empty((self.n_kernels, len(new), self.n_samples))
        for part, Z in self.features():
            found[part] = self.standardised(new, part).T[:, :, None] * Z.T[:, None, :]
        return found

    def blocks(self, X_new: Any = None) -> ColumnBlocks:
        """What models score rows by: new rows X_new (n_new, M), or the training rows."""
        return ColumnBlocks(self, self._table if X_new is None else self._checked(X_new))

    def features(self, kernels: Indices | None = None) -> Iterator[tuple[slice, Any]]:
        """The features (n, c) of all kernels, or of some, a few kernels at a time: their places, and a new array."""
        chosen = np.arange(self.n_kernels) if kernels is None else np.asarray(kernels)
        for part in _parts(chosen.size, self.n_samples):
            check_cancelled()
            yield part, self.standardised(self._table, chosen[part])

    def standardised(self, rows: Any, kernels: Any) -> Any:
        """The features (n_new, c) of rows (n_new, M) for some kernels, a slice or indices, as a new array."""
        columns = self._columns[kernels]
        run = columns.size and columns[-1] - columns[0] == columns.size - 1 and bool(np.all(np.diff(columns) == 1))
        own = rows[:, columns[0] : columns[-1] + 1] if run else rows[:, columns]
        found = own.astype(np.float32 if self._single else np.float64)
        found -= self._means[kernels]
        found *= self._factors[kernels]
        return found

    def _checked(self, X_new: Any) -> Any:
        """New rows as a finite table with the columns of the training rows."""
        new, d = np.asarray(X_new), self._table.shape[1]
        if new.ndim != 2 or new.shape[1] != d or new.dtype.kind not in "fiu":
            raise DataError(f"New rows are a table of numbers (n_new, {d}), got shape {new.shape} of {new.dtype}.")
        if not all(np.isfinite(new[:, part]).all() for part in _parts(d, len(new))):
            raise DataError("New rows hold values that are not finite; fill gaps, or leave these rows out.")
        return new

    def _with(self, **changed: Any) -> ColumnKernels:
        """A copy with some of what it holds changed; nothing checked is checked again."""
        other = copy.copy(self)
        for name, value in changed.items():
            setattr(other, name if name == "names" else f"_{name}", value)
        return other


class ColumnBlocks:
    """Kernel values between rows and the training rows that are not stored: one can ask for scores of them."""

    def __init__(self, kernels: ColumnKernels, rows: Any) -> None:
        self._kernels, self._rows = kernels, rows
        self.shape = kernels.n_kernels, len(rows), kernels.n_samples

    def scores(self, weights: Array, duals: Array) -> Array:
        """sum_m weights[t, m] K_m(rows, X) duals[t], (n_new, T), for ``weights`` (T, M) and ``duals`` (T, n)."""
        found, kernels = np.zeros((len(self._rows), len(duals))), self._kernels.exact
        live = np.flatnonzero(weights.any(axis=0))
        for part, Z in kernels.features(live):
            own = live[part]
            found += kernels.standardised(self._rows, own) @ ((duals @ Z) * weights[:, own]).T
        return found


class Diagonals:
    """K_m(x_i, x_i), (M, n), of kernels of columns: made when read, a few kernels at a time."""

    def __init__(self, kernels: ColumnKernels) -> None:
        self._kernels = kernels
        self.shape = kernels.n_kernels, kernels.n_samples

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, kernels: Any) -> Array:
        found: Array = self._kernels.exact.standardised(self._kernels._table, kernels).T ** 2
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def mean(self, axis: int) -> Array:
        """Means over the rows, (M,)."""
        return self.sum(axis) / self.shape[1]

    def sum(self, axis: int) -> Array:
        """Sums over the rows, (M,)."""
        assert axis == 1
        found = np.empty(len(self))
        for part, Z in self._kernels.exact.features():
            found[part] = np.sum(Z * Z, axis=0)
        return found


def _parts(count: int, n: int) -> Iterator[slice]:
    """Slices of ``count`` columns of n rows, as many at a time as there is room for."""
    step = max(1, _VALUES // max(1, n))
    return (slice(k, min(k + step, count)) for k in range(0, count, step))
