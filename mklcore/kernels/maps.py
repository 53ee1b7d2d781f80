"""Kernels on rows that come later, and sums over kernels that nobody stores.

A `KernelMap` is specs and plain arrays: all that a saved model needs to compute its kernels on new
rows, with the columns, widths, centring and scales of the training rows. With r the row means, g
the grand mean and f the factors of the training gram, a block K (n_new, n) is finished as

    K_ij <- (K_ij - mean_j K_ij - r_j + g) f'_i f_j

where f = s^(-1/2) for a scale s, and for spherical normalisation f_i = K_ii^(-1/2) of the (centred)
self-kernels. Centring comes first, so that what comes out has the property its normalisation
promises:

| normalise | the factor, from the training gram | promise |
|---|---|---|
| multiplicative | s = tr(K)/n - 1'K1/n^2 | unit variance in feature space (Kloft et al. 2011, eq.
27) |
| spherical | K_ii per row | K_ii = 1 (eq. 28); rows with K_ii = 0 become 0 |
| trace | s = tr(K) | tr(K) = 1 |
| diag | s = max_i K_ii | k(x, x) <= 1 on the training rows |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mklcore._lazy import cached_property
from mklcore.arrays import Array, Indices, Mask
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import as_strings, letters
from mklcore.errors import DataError, KernelError, ParameterError, check_cancelled
from mklcore.kernels.fills import add_radial, finish_block, mirror, radial_forms
from mklcore.kernels.functions import Base, KernelSpec, RowKernel, fill_base

NORMALISATIONS: tuple[str | None, ...] = ("multiplicative", "spherical", "trace", "diag", None)
CONSTANT_TOLERANCE = 1e-12
_COLUMNS = 4096  # of a table weighed at a time: a copy of them is made
_AT_ONCE = 2e8  # pairs of rows, over kernels of one column, whose forms are read without a pause
# rows and kernels of a block: enough to share what they are computed from
_ROWS = 64
_TOGETHER = 32


# -- tables of rows


def as_rows(X: Any, n_features: int | None = None) -> Array:
    """X as a new C-contiguous float64 table (n, d); DataError for anything that is not a finite
    numeric table.
    """
    try:
        raw = np.asarray(X)
        if raw.dtype.kind == "c":
            raise TypeError("complex numbers")
        rows = np.array(raw, dtype=np.float64, order="C", copy=True)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"Kernels need a numeric table X (n, d): {error}. Encode text columns as numbers."
        ) from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise DataError(
            "Kernels need a table X (n, d) with at least one row and one column, got "
            f"shape {rows.shape}. For a single column use X.reshape(-1, 1)."
        )
    bad = np.argwhere(~np.isfinite(rows))
    if bad.size:
        i, j = bad[0]
        raise DataError(
            f"X holds {len(bad)} value(s) that are NaN or infinite, the first in row {i}, "
            f"column {j}. Fill in or drop these rows first."
        )
    if n_features is not None and rows.shape[1] != n_features:
        raise DataError(
            f"X has {rows.shape[1]} features, but the kernels were built on {n_features} features."
        )
    return rows


def column_statistics(rows: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Mean and biased standard deviation of every column; a constant column gets scale 1.

    ``weights`` (n,) of rows.
    """
    if weights is not None:
        rows = rows[weights > 0]
        weights = weights[weights > 0]
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.average(rows, axis=0, weights=weights)
        scales = np.sqrt(np.average((rows - means) ** 2, axis=0, weights=weights))
    wild = np.flatnonzero(~np.isfinite(scales))
    if wild.size:
        raise DataError(
            f"Column {wild[0]} holds values too large to standardise (above 1e150). "
            "Rescale it first."
        )
    flat = np.ptp(rows, axis=0) <= 10 * np.finfo(np.float64).eps * np.abs(rows).max(axis=0)
    flat |= scales == 0.0  # differences whose squares are below the smallest double
    return np.where(flat, rows[0], means), np.where(flat, 1.0, scales)


def standardise_rows(rows: Array, means: Array, scales: Array) -> Array:
    """(rows - means) / scales; DataError where that leaves the range of doubles."""
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = (rows - means) / scales
    wild = np.flatnonzero(~np.isfinite(result).all(axis=0))
    if wild.size:
        raise DataError(
            f"Column {wild[0]} is too far from its training mean for a double. Check its units."
        )
    return result


def spherical_factors(diagonal: Array, means: Array | float, grand: Array | float) -> Array:
    """K_ii^(-1/2) of the (centred) self-kernels, and 0 where K_ii is 0 or only rounding."""
    own = diagonal - 2 * means + grand
    floor = CONSTANT_TOLERANCE * np.abs(diagonal) if np.any(grand) or np.any(means) else 0.0
    present = own > floor
    return np.where(present, 1.0 / np.sqrt(np.where(present, own, 1.0)), 0.0)


# -- from training rows to new rows


@dataclass(frozen=True, eq=False)
class KernelMap:
    """M kernels between any rows and n training rows: as blocks, and as sums over kernels that
    nobody stores.

    specs: M resolved kernels (tuple columns, absolute widths); rows (n, d): training rows after
    standardising; column_means, column_scales (d,); scales (M,): the factor s of each kernel, 1
    where none; factors (M, n), row_means (M, n), grand_means (M,): the f, r, g of the training
    gram, broadcast where they are one number per kernel; kept (n_kept,): which training rows the
    columns of a block refer to; weights (n,) of the training rows in means over them, None where
    all are alike.
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

    @classmethod
    def on(
        cls, X: Any, dictionary: Any, normalise: str | None = None, weights: Array | None = None
    ) -> Self:
        """The kernels of a dictionary resolved on training rows X (n, d), with neither scales nor
        centring; letters of sequences are not standardised. A row of weight w counts as w rows.
        ``normalise`` is refused where it is unknown, before anything is computed.
        """
        if normalise not in NORMALISATIONS:
            known = ", ".join(repr(name) for name in NORMALISATIONS)
            raise ParameterError(f"normalise must be one of {known}, got {normalise!r}.")
        rows = as_rows(X)
        n, d = rows.shape
        means, scales = (
            column_statistics(rows, weights)
            if dictionary.standardize
            else (np.zeros(d), np.ones(d))
        )
        for spec in dictionary.specs:
            means[list(spec.letters)] = 0.0
            scales[list(spec.letters)] = 1.0
        rows = standardise_rows(rows, means, scales)
        settled: list[KernelSpec] = []
        medians: dict[Any, float] = {}
        for spec in dictionary.specs:
            check_cancelled()
            settled.append(spec.settle(rows, weights, medians))
        M = len(settled)
        one = np.broadcast_to(1.0, (M, n))
        zero = np.broadcast_to(0.0, (M, n))
        return cls(
            tuple(settled), rows, means, scales, np.ones(M), one, zero, np.zeros(M), np.arange(n)
        )

    def against(self, landmarks: Array) -> Self:
        """The kernels of a map without centring and scale, against landmarks (m, d) in the place of
        its rows.
        """
        shape = len(self.specs), len(landmarks)
        one = np.broadcast_to(1.0, shape)
        zero = np.broadcast_to(0.0, shape)
        return replace(
            self, rows=landmarks, factors=one, row_means=zero, kept=np.arange(len(landmarks))
        )

    def subset(self, kernels: Any) -> Self:
        """The same map for some of the kernels only, in the given order."""
        chosen = np.asarray(kernels, dtype=np.int64)
        if np.array_equal(chosen, np.arange(len(self.specs))):
            return self  # very many kernels on many rows would be copied for nothing
        own = {
            name: getattr(self, name)[chosen]
            for name in ("scales", "factors", "row_means", "grand_means")
        }
        return self._sharing(specs=tuple(self.specs[m] for m in chosen), **own)

    def take(self, rows: Any) -> Self:
        """The same map with blocks against some of the training rows only."""
        return self._sharing(kept=self.kept[np.asarray(rows)])

    def _sharing(self, **changes: Any) -> Self:
        """A map with other kernels or fewer columns on the same training rows, which are not laid
        out again.
        """
        other = replace(self, **changes)
        if "by_column" in self.__dict__:
            other.__dict__["by_column"] = self.by_column
        return other

    @cached_property
    def by_column(self) -> Array:
        """The training rows column by column, (d, n): what every row of a kernel is computed from."""
        return np.array(self.rows.T, order="C")

    @cached_property
    def groups(self) -> dict[tuple[Base, Any], list[int]]:
        """Kernels by what they share: (base, columns) -> their indices."""
        found: dict[tuple[Base, Any], list[int]] = {}
        for m, spec in enumerate(self.specs):
            base = replace(spec, label=None) if isinstance(spec, RowKernel) else spec.base
            found.setdefault((base, spec.features), []).append(m)
        return found

    @cached_property
    def is_whole(self) -> bool:
        """Whether blocks are against all training rows."""
        return np.array_equal(self.kept, np.arange(len(self.rows)))

    def cross(self, X_new: Any) -> Array:
        """Kernel values between new rows and training rows, with the training standardisation,
        scales and centring.

        X_new (n_new, d), or a ``Dataset``, or a list of strings where the kernels see one sequence
        and nothing else. Returns (M, n_new, n_kept), C-contiguous float64. DataError when X_new is
        not a finite table with d columns.
        """
        return self.cross_standardised(self.standardised(X_new))

    def standardised(self, X_new: Any) -> Array:
        """New rows as ``cross`` takes them: a table, with the letters of sequences beside it,
        standardised as in training.
        """
        d = self.rows.shape[1]
        means = self.column_means
        scales = self.column_scales
        if not any(spec.letters for spec in self.specs):
            return standardise_rows(
                as_rows(X_new.X if isinstance(X_new, Dataset) else X_new, d), means, scales
            )
        if isinstance(X_new, Dataset) and X_new.strings:
            X_new = X_new.with_letters((d - X_new.n_features) // len(X_new.strings))
        elif (
            isinstance(X_new, list | tuple | np.ndarray)
            and len(X_new)
            and isinstance(X_new[0], str)
        ):
            X_new = letters([as_strings(X_new)], d)
        rows = as_rows(X_new)
        more = max(rows.shape[1] - d, 0)  # letters of longer strings
        as_rows(rows[:, :d], d)
        return standardise_rows(
            rows, np.pad(means, (0, more)), np.pad(scales, (0, more), constant_values=1.0)
        )

    def cross_standardised(self, new: Array, out: Array | None = None) -> Array:
        """The same for rows (n_new, d) that are already standardised, such as the training rows
        themselves; made in ``out`` where it has the shape.
        """
        shape = (len(self.specs), len(new), self.kept.size)
        whole = (len(new), len(self.rows))
        out = np.empty(shape) if out is None or out.shape != shape else out
        shared = np.empty(whole)
        spare = np.empty((0, 0) if self.is_whole else whole)
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
        """Centre and scale a block of kernel m between standardised rows and the training rows, in
        place.
        """
        grand = float(self.grand_means[m])
        scale = float(self.scales[m])
        is_spherical = self.normalise == "spherical"
        if not (self.center or is_spherical):
            if scale != 1.0:
                block *= 1.0 / scale
            return
        shift = (
            np.average(block, axis=1, weights=self.weights) if self.center else np.zeros(len(new))
        )
        factor = np.full(len(new), scale**-0.5)
        if is_spherical:
            factor = spherical_factors(self.specs[m].own(new), shift, grand)
        finish_block(block, shift - grand, self.row_means[m].copy(), factor, self.factors[m].copy())

    # -- sums over all kernels

    @cached_property
    def layout(self) -> Layout:
        """How each kernel is summed: see ``Layout``."""
        plain = self.is_whole and not self.center and self.normalise != "spherical"
        ways = np.array([sum_kind(spec) if plain else "other" for spec in self.specs])
        linear, radial, other = (
            np.flatnonzero(ways == way) for way in ("linear", "radial", "other")
        )
        seen = [self.specs[m].settled for m in linear]
        specs = [self.specs[m] for m in radial]
        return Layout(
            linear,
            radial,
            other,
            np.array([j for one in seen for j in one], dtype=np.intp),
            np.repeat(np.arange(len(seen)), [len(one) for one in seen]),
            np.array([spec.settled[0] for spec in specs], dtype=np.intp),
            np.array([spec.base == "squared" for spec in specs], dtype=np.bool_),
            np.array([spec.rate for spec in specs], dtype=np.float64),
            1.0 / self.scales,
        )

    def forms(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for every kernel, (M,), or for some of them, (k,), in their order; ``a`` (n,)."""
        at = self.layout
        rows = self.rows
        support = np.flatnonzero(a)
        asked = (
            np.arange(len(self.specs)) if kernels is None else np.asarray(kernels, dtype=np.int64)
        )
        out = np.zeros(len(self.specs))
        if np.isin(at.linear, asked).any():
            z = (a @ rows)[at.columns]
            out[at.linear] = (
                np.bincount(at.owner, z * z, minlength=at.linear.size) * at.factors[at.linear]
            )
        some = np.flatnonzero(np.isin(at.radial, asked))
        for part in pieces(some, max(1, int(_AT_ONCE / a.size**2))):
            check_cancelled()
            found = np.empty(part.size)
            radial_forms(
                self.by_column, at.where[part], at.squared[part], at.rates[part], a, support, found
            )
            out[at.radial[part]] = found * at.factors[at.radial[part]]
        for few in pieces(at.other[np.isin(at.other, asked)], _TOGETHER):
            for part, block in self._blocks(few, rows, support):
                out[few] += (block @ a) @ a[part]
        return np.maximum(out, 0.0)[asked]

    def products(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n)."""
        if kernels is not None:
            return self.subset(kernels).products(a)
        at = self.layout
        rows = self.rows
        out = np.empty((len(self.specs), len(rows)))
        if at.linear.size:
            seen = rows.T[at.columns]
            seen *= ((seen @ a) * at.factors[at.linear][at.owner])[:, None]
            out[at.linear] = np.add.reduceat(
                seen, np.searchsorted(at.owner, np.arange(at.linear.size)), axis=0
            )
        for few in pieces(np.concatenate([at.radial, at.other]), _TOGETHER):
            for part, block in self._blocks(few, rows):
                out[np.ix_(few, part)] = block @ a
        return out

    def weighted(self, theta: Array, out: Array | None = None) -> Array:
        """sum_m theta_m K_m, (n, n), into ``out`` where given; kernels without weight are not
        looked at.
        """
        at = self.layout
        rows = self.rows
        out = np.empty((len(rows), len(rows))) if out is None else out
        out[:] = 0.0
        shares = theta * at.factors
        live = np.flatnonzero(shares[at.radial])
        if live.size:
            own = shares[at.radial[live]]
            add_radial(self.by_column, at.where[live], at.squared[live], at.rates[live], own, out)
        for few in pieces(at.other[theta[at.other] != 0.0], _TOGETHER):
            for part, block in self._blocks(few, rows):
                out[part] += np.tensordot(theta[few], block, 1)
        mirror(out)
        c = np.bincount(at.columns, shares[at.linear][at.owner], minlength=rows.shape[1])
        for some in pieces(np.flatnonzero(c > 0.0), _COLUMNS):
            scaled = rows[:, some] * np.sqrt(c[some])
            out += scaled @ scaled.T
        return out

    def scores(self, new: Array, weights: Array, duals: Array) -> Array:
        """Scores (n_new, T) of T machines, sum_m weights[t, m] K_m(new, X) duals[t], with no block
        of all kernels stored.

        new (n_new, d): standardised rows; weights (T, M); duals (T, n_kept).
        """
        at = self.layout
        out = np.zeros((len(new), len(duals)))
        for t, own in enumerate((weights * at.factors)[:, at.linear] if at.linear.size else ()):
            columns = np.bincount(at.columns, own[at.owner], minlength=self.rows.shape[1])
            out[:, t] += new[:, : columns.size] @ (columns * (duals[t] @ self.rows))
        others = np.concatenate([at.radial, at.other])
        for few in pieces(others[weights[:, others].any(axis=0)], _TOGETHER):
            for part, block in self._blocks(few, new):
                out[part] += np.einsum(
                    "mik,tk,tm->it", block, duals, weights[:, few], optimize=True
                )
        return out

    def _blocks(self, few: Indices, rows: Array, support: Indices | None = None) -> Any:
        """The values of a few kernels on rows (all, or some of them) against the training rows, in
        pieces: which rows, and values (k, r, n).
        """
        _ = self.by_column  # laid out once, and handed to the subset
        part = self.subset(few)
        for some in pieces(np.arange(len(rows)) if support is None else support, _ROWS):
            check_cancelled()
            yield some, part.cross_standardised(rows[some])


class Layout(NamedTuple):
    """How sums over kernels are made without their Gram matrices, by the indices of three sorts of
    kernels.

    ``linear`` ones need no matrix: with z = X'a the form is sum_j z_j^2 over the kernel's
    ``columns``, which stand end to end with their ``owner``, and their sum is X diag(c) X' with c_j
    the weight of all kernels that see column j. ``radial`` ones, exponentials at ``rates`` of the
    (``squared``) differences of one column ``where``, are filled row by row in a buffer and let go
    again. All ``other``, and all that are centred, spherical or on some of the training rows, go
    through blocks of the map. ``factors`` (M,) are the inverse scales.
    """

    linear: Indices
    radial: Indices
    other: Indices
    columns: Indices
    owner: Indices
    where: Indices
    squared: Mask
    rates: Array
    factors: Array


def normalised(
    plain: KernelMap,
    names: Sequence[str],
    normalise: str | None,
    center: bool,
    diagonals: Array,
    totals: Array,
    sums: Array | None = None,
    weights: Array | None = None,
) -> tuple[KernelMap, Indices, tuple[str, ...], Array]:
    """Kernels with the numbers that centre and scale them, for all forms: the map ``plain`` with
    these, which kernels are kept, notes on constant ones, and the finished diagonals (M, n).

    The numbers come from K_ii (M, n), w'K w (M,) and, with ``center``, K w (M, n), w the
    ``weights`` (n,) of the rows: a row of weight 2 counts as two. A kernel that is constant on the
    training rows has no variance in feature space: what would divide by it leaves it out.
    KernelError where a number overflows, or no kernel is left.
    """
    w = np.ones(diagonals.shape[1]) if weights is None else weights
    n = float(w.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        traces = (diagonals * w).sum(axis=1)
        spreads = traces / n - totals / n**2
    for m in np.flatnonzero(~np.isfinite(spreads)).tolist():
        raise KernelError(
            f"{names[m]} grows beyond the largest number on these rows. Standardise the "
            "columns or lower its degree."
        )
    is_flat = spreads <= CONSTANT_TOLERANCE * traces / n
    needs_spread = center or normalise == "multiplicative"
    is_gone = is_flat & (needs_spread | ((traces <= 0) & (normalise in ("trace", "diag"))))
    flat = np.flatnonzero(is_flat).tolist()
    done = np.where(is_gone, "left out", "kept")
    notes = tuple(
        map(
            "{}: constant on the training rows, {}.".format,
            map(names.__getitem__, flat),
            done[flat],
        )
    )
    kept = np.flatnonzero(~is_gone)
    if not kept.size:
        more = ", …" if len(names) > 3 else ""
        raise KernelError(
            f"Every kernel is constant on the training rows (n_samples = {w.size}): "
            f"{', '.join(names[:3])}{more}. Use rows that differ, or columns that vary."
        )
    shape = kept.size, w.size
    means = np.broadcast_to(0.0, shape)
    grand = np.zeros(kept.size)
    if center and sums is not None:
        means = sums[kept] / n
        grand = totals[kept] / n**2
    own = diagonals[kept] - 2 * means + grand[:, None]
    scales = np.ones(kept.size)
    match normalise:
        case "multiplicative":
            scales = spreads[kept]
        case "trace":
            scales = (own * w).sum(axis=1)
        case "diag":
            scales = own[:, w > 0].max(axis=1)
    factors = np.broadcast_to(scales[:, None] ** -0.5, shape)
    if normalise == "spherical":
        factors = spherical_factors(diagonals[kept], means, grand[:, None])
    found = replace(
        plain,
        specs=tuple(map(plain.specs.__getitem__, kept)),
        scales=scales,
        factors=factors,
        row_means=means,
        grand_means=grand,
        normalise=normalise,
        center=center,
        weights=weights,
    )
    return found, kept, notes, own * factors**2


def sum_kind(spec: KernelSpec) -> str:
    """How a plain kernel is summed: "linear", "radial" or "other"."""
    if spec.is_base:
        return "linear"
    alone = isinstance(spec.features, tuple) and len(spec.features) == 1
    return (
        "radial"
        if alone and spec.rate is not None and spec.base in ("squared", "absolute")
        else "other"
    )


def pieces(indices: Indices, size: int) -> list[Indices]:
    """The indices, so many at a time."""
    return [indices[k : k + size] for k in range(0, indices.size, size)]
