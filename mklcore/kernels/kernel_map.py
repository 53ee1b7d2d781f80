"""Kernels between new rows and training rows, and sums over kernels that are never stored.

A `KernelMap` consists of specs and plain arrays. It is all that a saved model needs to evaluate its
kernels on new rows, with the columns, widths, centring and scales of the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np

from mklcore._lazy import cached_property
from mklcore.arrays import Array, Indices, Mask, Names
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import as_strings, letters, strings_in
from mklcore.errors import DataError, KernelError, ParameterError, check_cancelled
from mklcore.kernels.compiled_grams import add_radial, finish_block, mirror, radial_forms
from mklcore.kernels.functions import Base, KernelSpec, Medians, RowKernel, fill_base
from mklcore.kernels.normalisation import (
    CONSTANT_TOLERANCE,
    NORMALISATIONS,
    column_statistics,
    spherical_factors,
    standardise_rows,
)

_COLUMNS = 4096  # columns of a table that are copied at a time
_PAIRS = 2e8  # pairs of rows, over kernels of one column, between two checks for cancellation
# Rows and kernels of a block: enough of both that base numbers are shared.
_ROWS = 64
_KERNELS = 32


@dataclass(frozen=True, eq=False)
class KernelMap:
    """M kernels between any rows and n training rows, as blocks and as sums without blocks.

    specs : M resolved kernels (tuple columns, absolute widths)
    rows : (n, d), the standardised training rows
    column_means, column_scales : (d,), by which new rows are standardised
    scales : (M,), the scale s of each kernel, 1 where there is none
    factors, row_means, grand_means : (M, n), (M, n) and (M,), the f, r and g of the training Gram
        matrices, see ``normalisation.py``; broadcast where they are one number per kernel
    kept : (n_kept,), the training rows that the columns of a block stand for
    weights : (n,), weights of the training rows in means over them; None where all are equal
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
        """The kernels of a dictionary resolved on training rows X (n, d), not centred or scaled.

        Letters of sequences are not standardised. A row of weight w counts as w rows. An unknown
        ``normalise`` raises ``ParameterError`` before anything is computed.
        """
        if normalise not in NORMALISATIONS:
            known = ", ".join(repr(name) for name in NORMALISATIONS)
            raise ParameterError(f"normalise must be one of {known}, got {normalise!r}.")
        rows = as_rows(X)
        n, d = rows.shape
        means = np.zeros(d)
        scales = np.ones(d)
        if dictionary.standardize:
            means, scales = column_statistics(rows, weights)
        for spec in dictionary.specs:
            means[list(spec.letters)] = 0.0
            scales[list(spec.letters)] = 1.0
        rows = standardise_rows(rows, means, scales)
        settled: list[KernelSpec] = []
        medians: Medians = {}
        for spec in dictionary.specs:
            check_cancelled()
            settled.append(spec.settle(rows, weights, medians))
        M = len(settled)
        return cls(
            specs=tuple(settled),
            rows=rows,
            column_means=means,
            column_scales=scales,
            scales=np.ones(M),
            factors=np.broadcast_to(1.0, (M, n)),
            row_means=np.broadcast_to(0.0, (M, n)),
            grand_means=np.zeros(M),
            kept=np.arange(n),
        )

    def against(self, landmarks: Array) -> Self:
        """The map with landmarks (m, d) as its rows; for maps that are not centred or scaled."""
        shape = len(self.specs), len(landmarks)
        return replace(
            self,
            rows=landmarks,
            factors=np.broadcast_to(1.0, shape),
            row_means=np.broadcast_to(0.0, shape),
            kept=np.arange(len(landmarks)),
        )

    def subset(self, kernels: Any) -> Self:
        """The map of some of the kernels, in the given order."""
        chosen = np.asarray(kernels, dtype=np.int64)
        if np.array_equal(chosen, np.arange(len(self.specs))):
            return self  # copying many kernels on many rows would be expensive
        return self._sharing(
            specs=tuple(self.specs[m] for m in chosen),
            scales=self.scales[chosen],
            factors=self.factors[chosen],
            row_means=self.row_means[chosen],
            grand_means=self.grand_means[chosen],
        )

    def take(self, rows: Any) -> Self:
        """The map whose blocks are against some of the training rows only."""
        return self._sharing(kept=self.kept[np.asarray(rows)])

    def _sharing(self, **changes: Any) -> Self:
        """The map with ``changes`` that do not affect its rows, so that ``by_column`` is shared."""
        other = replace(self, **changes)
        if "by_column" in self.__dict__:
            other.__dict__["by_column"] = self.by_column
        return other

    @cached_property
    def by_column(self) -> Array:
        """The training rows column by column, (d, n), from which rows of kernels are computed."""
        return np.array(self.rows.T, order="C")

    @cached_property
    def groups(self) -> dict[tuple[Base, Any], list[int]]:
        """The kernels that share their base numbers, by base and columns."""
        groups: dict[tuple[Base, Any], list[int]] = {}
        for m, spec in enumerate(self.specs):
            base = replace(spec, label=None) if isinstance(spec, RowKernel) else spec.base
            groups.setdefault((base, spec.features), []).append(m)
        return groups

    @cached_property
    def is_whole(self) -> bool:
        """Whether blocks are against all training rows."""
        return np.array_equal(self.kept, np.arange(len(self.rows)))

    # -- blocks

    def cross(self, X_new: Any) -> Array:
        """Kernel values (M, n_new, n_kept) between new rows and training rows.

        X_new (n_new, d), or a ``Dataset``, or a list of strings where the kernels see one sequence
        and nothing else. Standardisation, scales and centring are those of training. Raises
        ``DataError`` when X_new is not a finite table with d columns.
        """
        return self.cross_standardised(self.standardised(X_new))

    def standardised(self, X_new: Any) -> Array:
        """New rows as a table, with the letters of sequences beside it, standardised."""
        d = self.rows.shape[1]
        means = self.column_means
        scales = self.column_scales
        if not any(spec.letters for spec in self.specs):
            table = X_new.X if isinstance(X_new, Dataset) else X_new
            return standardise_rows(as_rows(table, d), means, scales)
        if isinstance(X_new, Dataset) and X_new.strings:
            X_new = X_new.with_letters((d - X_new.n_features) // len(X_new.strings))
        elif strings_in(X_new) is not None:
            X_new = letters([as_strings(X_new)], d)
        rows = as_rows(X_new)
        if rows.shape[1] < d:
            raise _wrong_width(rows, d)
        # Longer strings than in training have more letters, which are not standardised.
        n_more = max(rows.shape[1] - d, 0)
        means = np.pad(means, (0, n_more))
        scales = np.pad(scales, (0, n_more), constant_values=1.0)
        return standardise_rows(rows, means, scales)

    def cross_standardised(self, new: Array, out: Array | None = None) -> Array:
        """Kernel values (M, n_new, n_kept) for rows (n_new, d) that are already standardised.

        They are written into ``out`` where it has this shape.
        """
        shape = (len(self.specs), len(new), self.kept.size)
        pairs = (len(new), len(self.rows))
        out = np.empty(shape) if out is None or out.shape != shape else out
        base = np.empty(pairs)
        whole_block = np.empty((0, 0) if self.is_whole else pairs)
        with np.errstate(over="ignore", invalid="ignore"):
            for (kind, columns), members in self.groups.items():
                by_column = None if isinstance(kind, RowKernel) else self._columns(columns)
                fill_base(kind, columns, new, self.rows, False, base, by_column)
                for m in members:
                    block = out[m] if self.is_whole else whole_block
                    self.specs[m].fill(base, False, block)
                    self._finish(m, new, block)
                    if not self.is_whole:
                        np.take(block, self.kept, axis=1, out=out[m])
        return out

    def _columns(self, columns: Sequence[int]) -> Array:
        """Some columns of the training rows (s, n): a view where they are contiguous."""
        first = columns[0]
        stop = columns[-1] + 1
        if tuple(columns) == tuple(range(first, stop)):
            return self.by_column[first:stop]
        return np.take(self.by_column, columns, axis=0)

    def _finish(self, m: int, new: Array, block: Array) -> None:
        """Centre and scale a block of kernel m between new and training rows, in place."""
        grand = float(self.grand_means[m])
        scale = float(self.scales[m])
        is_spherical = self.normalise == "spherical"
        if not (self.center or is_spherical):
            if scale != 1.0:
                block *= 1.0 / scale
            return
        means = np.zeros(len(new))
        if self.center:
            means = np.average(block, axis=1, weights=self.weights)
        factors = np.full(len(new), scale**-0.5)
        if is_spherical:
            factors = spherical_factors(self.specs[m].own(new), means, grand)
        row_means = self.row_means[m].copy()
        finish_block(block, means - grand, row_means, factors, self.factors[m].copy())

    # -- sums over all kernels

    @cached_property
    def layout(self) -> Layout:
        """How each kernel is summed, see ``Layout``."""
        is_plain = self.is_whole and not self.center and self.normalise != "spherical"
        kinds = np.array([sum_kind(spec) if is_plain else "other" for spec in self.specs])
        linear = np.flatnonzero(kinds == "linear")
        radial = np.flatnonzero(kinds == "radial")
        columns = [self.specs[m].settled for m in linear]
        radial_specs = [self.specs[m] for m in radial]
        return Layout(
            linear=linear,
            radial=radial,
            other=np.flatnonzero(kinds == "other"),
            columns=np.array(list(chain.from_iterable(columns)), dtype=np.intp),
            owner=np.repeat(np.arange(len(columns)), list(map(len, columns))),
            where=np.array([spec.settled[0] for spec in radial_specs], dtype=np.intp),
            squared=np.array([spec.base == "squared" for spec in radial_specs], dtype=np.bool_),
            rates=np.array([spec.rate for spec in radial_specs], dtype=np.float64),
            factors=1.0 / self.scales,
        )

    def forms(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,), or of some of them (k,) in their order."""
        layout = self.layout
        rows = self.rows
        support = np.flatnonzero(a)
        chosen = np.arange(len(self.specs))
        if kernels is not None:
            chosen = np.asarray(kernels, dtype=np.int64)
        out = np.zeros(len(self.specs))
        if np.isin(layout.linear, chosen).any():
            z = (a @ rows)[layout.columns]
            squares = np.bincount(layout.owner, z * z, minlength=layout.linear.size)
            out[layout.linear] = squares * layout.factors[layout.linear]
        radial = np.flatnonzero(np.isin(layout.radial, chosen))
        for part in pieces(radial, max(1, int(_PAIRS / a.size**2))):
            check_cancelled()
            forms = np.empty(part.size)
            radial_forms(
                self.by_column,
                layout.where[part],
                layout.squared[part],
                layout.rates[part],
                a,
                support,
                forms,
            )
            out[layout.radial[part]] = forms * layout.factors[layout.radial[part]]
        other = layout.other[np.isin(layout.other, chosen)]
        for members in pieces(other, _KERNELS):
            for part, block in self._blocks(members, rows, support):
                out[members] += (block @ a) @ a[part]
        return np.maximum(out, 0.0)[chosen]

    def products(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some of them (k, n)."""
        if kernels is not None:
            return self.subset(kernels).products(a)
        layout = self.layout
        rows = self.rows
        out = np.empty((len(self.specs), len(rows)))
        if layout.linear.size:
            seen = rows.T[layout.columns]
            seen *= ((seen @ a) * layout.factors[layout.linear][layout.owner])[:, None]
            starts = np.searchsorted(layout.owner, np.arange(layout.linear.size))
            out[layout.linear] = np.add.reduceat(seen, starts, axis=0)
        for members in pieces(np.concatenate([layout.radial, layout.other]), _KERNELS):
            for part, block in self._blocks(members, rows):
                out[np.ix_(members, part)] = block @ a
        return out

    def weighted(self, theta: Array, out: Array | None = None) -> Array:
        """sum_m theta_m K_m (n, n), in ``out`` where given; kernels of weight 0 are skipped."""
        layout = self.layout
        rows = self.rows
        out = np.empty((len(rows), len(rows))) if out is None else out
        out[:] = 0.0
        weights = theta * layout.factors
        active = np.flatnonzero(weights[layout.radial])
        if active.size:
            add_radial(
                self.by_column,
                layout.where[active],
                layout.squared[active],
                layout.rates[active],
                weights[layout.radial[active]],
                out,
            )
        for members in pieces(layout.other[theta[layout.other] != 0.0], _KERNELS):
            for part, block in self._blocks(members, rows):
                out[part] += np.tensordot(theta[members], block, 1)
        mirror(out)
        linear_weights = weights[layout.linear][layout.owner]
        c = np.bincount(layout.columns, linear_weights, minlength=rows.shape[1])
        for columns in pieces(np.flatnonzero(c > 0.0), _COLUMNS):
            scaled = rows[:, columns] * np.sqrt(c[columns])
            out += scaled @ scaled.T
        return out

    def scores(self, new: Array, weights: Array, duals: Array) -> Array:
        """Scores sum_m weights[t, m] K_m(new, X) duals[t] of T machines, (n_new, T).

        No block of all kernels is stored. new (n_new, d): standardised rows; weights (T, M); duals
        (T, n_kept).
        """
        layout = self.layout
        out = np.zeros((len(new), len(duals)))
        if layout.linear.size:
            linear_weights = (weights * layout.factors)[:, layout.linear]
            for t, of_machine in enumerate(linear_weights):
                c = np.bincount(
                    layout.columns, of_machine[layout.owner], minlength=self.rows.shape[1]
                )
                out[:, t] += new[:, : c.size] @ (c * (duals[t] @ self.rows))
        others = np.concatenate([layout.radial, layout.other])
        for members in pieces(others[weights[:, others].any(axis=0)], _KERNELS):
            member_weights = weights[:, members]
            for part, block in self._blocks(members, new):
                out[part] += np.einsum("mik,tk,tm->it", block, duals, member_weights, optimize=True)
        return out

    def _blocks(
        self, kernels: Indices, rows: Array, support: Indices | None = None
    ) -> Iterator[tuple[Indices, Array]]:
        """Blocks of some kernels between ``rows``, or the ``support`` of them, and training rows.

        Yields the indices of r rows, and their kernel values (k, r, n).
        """
        _ = self.by_column  # computed once, and shared with the subset
        part = self.subset(kernels)
        for indices in pieces(np.arange(len(rows)) if support is None else support, _ROWS):
            check_cancelled()
            yield indices, part.cross_standardised(rows[indices])


class Layout(NamedTuple):
    """How sums over kernels are computed without Gram matrices, for three kinds of kernels.

    ``linear`` kernels need no matrix: with z = X'a the form is sum_j z_j^2 over the kernel's
    ``columns``, which are concatenated with their ``owner``. The weighted sum is X diag(c) X', c_j
    being the weight of all kernels that see column j. ``radial`` kernels, exponentials at ``rates``
    of the (``squared``) differences of one column ``where``, are computed row by row, without
    storing them. All ``other`` kernels, and all that are centred, spherical or on some of the
    training rows, are computed as blocks of the map. ``factors`` (M,) are the inverse scales.
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


def sum_kind(spec: KernelSpec) -> str:
    """The kind of a plain kernel in a ``Layout``: "linear", "radial" or "other"."""
    if spec.is_base:
        return "linear"
    has_one_column = isinstance(spec.features, tuple) and len(spec.features) == 1
    is_exponential = spec.rate is not None and spec.base in ("squared", "absolute")
    return "radial" if has_one_column and is_exponential else "other"


def pieces(indices: Indices, size: int) -> list[Indices]:
    """The indices in parts of at most ``size``."""
    return [indices[k : k + size] for k in range(0, indices.size, size)]


def as_rows(X: Any, n_features: int | None = None) -> Array:
    """X as a new C-contiguous float64 table (n, d), checked to be finite and numeric."""
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
    missing = np.argwhere(~np.isfinite(rows))
    if missing.size:
        i, j = missing[0]
        raise DataError(
            f"X holds {len(missing)} value(s) that are NaN or infinite, the first in row {i}, "
            f"column {j}. Fill in or drop these rows first."
        )
    if n_features is not None and rows.shape[1] != n_features:
        raise _wrong_width(rows, n_features)
    return rows


def _wrong_width(rows: Array, n_features: int) -> DataError:
    """What to raise for rows of another table than that of the kernels."""
    return DataError(
        f"X has {rows.shape[1]} features, but the kernels were built on {n_features} features."
    )


def normalised(
    plain: KernelMap,
    names: Sequence[str],
    normalise: str | None,
    center: bool,
    diagonals: Array,
    totals: Array,
    sums: Array | None = None,
    weights: Array | None = None,
) -> tuple[KernelMap, Indices, Names, Array]:
    """The map ``plain`` with centring and scales, whatever form its kernels are stored in.

    Returns the map, which kernels it keeps, notes on constant kernels, and the diagonals (M, n)
    after normalisation. The numbers are computed from K_ii (M, n), w'K w (M,) and, with
    ``center``, K w (M, n), where w are the ``weights`` (n,) of the rows: a row of weight 2 counts
    as two. A kernel that is constant on the training rows has no variance in feature space, and is
    left out where its normalisation would divide by it. Raises ``KernelError`` where a number
    overflows, or no kernel is left.
    """
    w = np.ones(diagonals.shape[1]) if weights is None else weights
    n = float(w.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        traces = (diagonals * w).sum(axis=1)
        variances = traces / n - totals / n**2
    is_constant = variances <= CONSTANT_TOLERANCE * traces / n
    needs_variance = center or normalise == "multiplicative"
    needs_trace = normalise in ("trace", "diag")
    is_left_out = is_constant & (needs_variance | ((traces <= 0) & needs_trace))
    notes = _notes_on_constants(names, variances, is_constant, is_left_out, w.size)
    kept = np.flatnonzero(~is_left_out)
    shape = kept.size, w.size
    means = np.broadcast_to(0.0, shape)
    grand = np.zeros(kept.size)
    if center and sums is not None:
        means = sums[kept] / n
        grand = totals[kept] / n**2
    centred = diagonals[kept] - 2 * means + grand[:, None]
    scales = np.ones(kept.size)
    match normalise:
        case "multiplicative":
            scales = variances[kept]
        case "trace":
            scales = (centred * w).sum(axis=1)
        case "diag":
            scales = centred[:, w > 0].max(axis=1)
    factors = np.broadcast_to(scales[:, None] ** -0.5, shape)
    if normalise == "spherical":
        factors = spherical_factors(diagonals[kept], means, grand[:, None])
    transform = replace(
        plain,
        specs=tuple(plain.specs[m] for m in kept),
        scales=scales,
        factors=factors,
        row_means=means,
        grand_means=grand,
        normalise=normalise,
        center=center,
        weights=weights,
    )
    return transform, kept, notes, centred * factors**2


def _notes_on_constants(
    names: Sequence[str], variances: Array, is_constant: Mask, is_left_out: Mask, n_samples: int
) -> Names:
    """Notes on kernels that are constant; KernelError where no kernel is left, or one overflows."""
    for m in np.flatnonzero(~np.isfinite(variances)).tolist():
        raise KernelError(
            f"{names[m]} grows beyond the largest number on these rows. Standardise the "
            "columns or lower its degree."
        )
    if is_left_out.all():
        more = ", …" if len(names) > 3 else ""
        raise KernelError(
            f"Every kernel is constant on the training rows (n_samples = {n_samples}): "
            f"{', '.join(names[:3])}{more}. Use rows that differ, or columns that vary."
        )
    notes = []
    for m in np.flatnonzero(is_constant).tolist():
        consequence = "left out" if is_left_out[m] else "kept"
        notes.append(f"{names[m]}: constant on the training rows, {consequence}.")
    return tuple(notes)
