"""Kernels between new rows and training rows, and sums over kernels that are never stored.

A `KernelMap` consists of specs and plain arrays. It is all that a saved model needs to evaluate its
kernels on new rows, with the columns, widths, centring and scales of the training rows.

With r the row means of a training Gram matrix, g its grand mean, f its factors and f' those of the
new rows, a block K (n_new, n) of kernel values becomes

    K_ij <- (K_ij - mean_j K_ij - r_j + g) f'_i f_j

where f = s^(-1/2) for a scale s, and f_i = K_ii^(-1/2) of the (centred) self-kernels for spherical
normalisation. Centring comes first, so that the result has the property of its normalisation:

| normalise | scale s of the training Gram matrix | property |
|---|---|---|
| multiplicative | tr(K)/n - 1'K1/n^2 | variance 1 in feature space (Kloft et al. 2011, eq. 27) |
| spherical | K_ii per row | K_ii = 1 (eq. 28); rows with K_ii = 0 become 0 |
| trace | tr(K) | tr(K) = 1 |
| diag | max_i K_ii | k(x, x) <= 1 on the training rows |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple, Self

import numpy as np
import scipy

from mklcore._lazy import cached_property
from mklcore._numba.decorators import COMPILES, jit_entry, jit_helper
from mklcore.arrays import Array, Indices, Mask, Names, read_only
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import as_strings, letters, strings_in
from mklcore.errors import DataError, KernelError, ParameterError, check_cancelled
from mklcore.kernels import by_numpy
from mklcore.kernels.functions import KernelSpec, Medians, RowKernel, exponentials, fill_base

NORMALISATIONS: tuple[str | None, ...] = ("multiplicative", "spherical", "trace", "diag", None)
CONSTANT_TOLERANCE = 1e-12
# Rows and columns of a mirrored tile, and the number of kernels whose columns fit into the
# processor's cache together.
TILE = 32
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
        matrices, see above; broadcast where they are one number per kernel
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

    def subset(self, kernels: Any) -> Self:
        """The map of some of the kernels, in the given order."""
        chosen = np.asarray(kernels, dtype=np.int64)
        if np.array_equal(chosen, np.arange(len(self.specs))):
            return self  # copying many kernels on many rows would be expensive
        return replace(
            self,
            specs=tuple(self.specs[m] for m in chosen),
            scales=self.scales[chosen],
            factors=self.factors[chosen],
            row_means=self.row_means[chosen],
            grand_means=self.grand_means[chosen],
        )

    def take(self, rows: Indices) -> Self:
        """The map whose blocks are against some of the training rows only.

        A centred map keeps the others, because its means are over all of them.
        """
        if self.center:
            return replace(self, kept=self.kept[rows])
        return replace(
            self,
            rows=self.rows[rows],
            factors=self.factors[:, rows],
            row_means=self.row_means[:, rows],
            kept=np.arange(len(rows)),
            weights=None,
        )

    @cached_property
    def by_column(self) -> Array:
        """The training rows column by column, (d, n), from which rows of kernels are computed."""
        return np.array(self.rows.T, order="C")

    def groups(self, kernels: Sequence[int] | Indices) -> list[list[int]]:
        """The places among ``kernels`` of those that share their base numbers."""
        groups: dict[Any, list[int]] = {}
        for place, m in enumerate(kernels):
            spec = self.specs[m]
            key = place if isinstance(spec, RowKernel) else (spec.base, spec.features)
            groups.setdefault(key, []).append(place)
        return list(groups.values())

    @cached_property
    def is_whole(self) -> bool:
        """Whether blocks are against all training rows."""
        return np.array_equal(self.kept, np.arange(len(self.rows)))

    @property
    def is_divided(self) -> bool:
        """Whether kernels are divided by one number each, and neither centred nor spherical."""
        return not self.center and self.normalise != "spherical"

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
        has_letters = any(spec.letters for spec in self.specs)
        if isinstance(X_new, Dataset):
            table = X_new.X
            if has_letters and X_new.strings:
                table = X_new.with_letters((d - X_new.n_features) // len(X_new.strings))
            X_new = table
        elif has_letters and strings_in(X_new) is not None:
            X_new = letters([as_strings(X_new)], d)
        rows = as_rows(X_new)
        # Longer strings than in training have more letters, which are not standardised.
        n_more = rows.shape[1] - d
        if n_more < 0 or (n_more and not has_letters):
            raise DataError(
                f"X has {rows.shape[1]} features, but the kernels were built on {d} features."
            )
        means = np.pad(self.column_means, (0, n_more))
        scales = np.pad(self.column_scales, (0, n_more), constant_values=1.0)
        return standardise_rows(rows, means, scales)

    def cross_standardised(
        self,
        new: Array,
        kernels: Sequence[int] | Indices | None = None,
        out: Array | None = None,
    ) -> Array:
        """Values (M, n_new, n_kept), or of some kernels, for rows (n_new, d) that are standardised.

        They are written into ``out`` where it has the shape of all values.
        """
        chosen = range(len(self.specs)) if kernels is None else kernels
        shape = len(chosen), len(new), len(self.rows)
        out = np.empty(shape) if out is None or out.shape != shape else out
        base = np.empty(shape[1:])
        with np.errstate(over="ignore", invalid="ignore"):
            for places in self.groups(chosen):
                first = self.specs[chosen[places[0]]]
                fill_base(first, new, self.rows, False, base, self.by_column)
                for place in places:
                    self.specs[chosen[place]].fill(base, False, out[place])
                    self._finish(chosen[place], new, out[place])
        return out if self.is_whole else np.take(out, self.kept, axis=2)

    def _finish(self, m: int, new: Array, block: Array) -> None:
        """Centre and scale a block of kernel m between new and training rows, in place."""
        scale = float(self.scales[m])
        if self.is_divided:
            if scale != 1.0:
                block *= 1.0 / scale
            return
        grand = float(self.grand_means[m])
        means = np.zeros(len(new))
        if self.center:
            means = np.average(block, axis=1, weights=self.weights)
        factors = np.full(len(new), scale**-0.5)
        if self.normalise == "spherical":
            factors = spherical_factors(self.specs[m].own(new), means, grand)
        row_means = self.row_means[m].copy()
        finish_block(block, means - grand, row_means, factors, self.factors[m].copy())

    # -- sums over all kernels

    @cached_property
    def layout(self) -> Layout:
        """How each kernel is summed, see ``Layout``."""
        is_plain = self.is_whole and self.is_divided
        kinds = np.array([sum_kind(spec) if is_plain else "other" for spec in self.specs])
        if not COMPILES:  # blocks are faster than loops in Python
            kinds[kinds == "radial"] = "other"
        radial = np.flatnonzero(kinds == "radial")
        radial_specs = [self.specs[m] for m in radial]
        factors = 1.0 / self.scales
        columns: list[int] = []
        sizes = np.zeros(kinds.size, dtype=np.intp)
        for m in np.flatnonzero(kinds == "linear"):
            columns += self.specs[m].settled
            sizes[m] = len(self.specs[m].settled)
        places = np.array(columns, dtype=np.intp), np.cumsum([0, *sizes])
        slopes = scipy.sparse.csr_array(
            (np.repeat(factors, sizes), *places), shape=(kinds.size, self.rows.shape[1])
        )
        return Layout(
            slopes=slopes,
            radial=radial,
            other=np.flatnonzero(kinds == "other"),
            where=np.array([spec.settled[0] for spec in radial_specs], dtype=np.intp),
            squared=np.array([spec.base == "squared" for spec in radial_specs], dtype=np.bool_),
            rates=np.array([spec.rate for spec in radial_specs], dtype=np.float64),
            factors=factors,
        )

    def forms(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,), or of some of them (k,) in their order."""
        layout = self.layout
        rows = self.rows
        support = np.flatnonzero(a)
        chosen = np.arange(len(self.specs))
        if kernels is not None:
            chosen = np.asarray(kernels, dtype=np.int64)
        out: Array = layout.slopes @ (a @ rows) ** 2
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
        out: Array = layout.slopes.multiply(a @ rows) @ rows.T
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
        c = theta @ layout.slopes
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
        if layout.slopes.nnz:
            slopes = (weights @ layout.slopes) * (duals @ self.rows)
            out += new[:, : slopes.shape[1]] @ slopes.T
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
        for indices in pieces(np.arange(len(rows)) if support is None else support, _ROWS):
            check_cancelled()
            yield indices, self.cross_standardised(rows[indices], kernels)


class Mapped:
    """Kernels with ``names`` and ``notes``, and what their map ``transform`` knows of them.

    Kernels from an array have no map.
    """

    names: Names
    notes: Names
    transform: Any

    @property
    def specs(self) -> tuple[KernelSpec, ...] | None:
        """The resolved kernels, or None without a map."""
        return None if self.transform is None else self.transform.specs

    @property
    def families(self) -> Names:
        """The family of every kernel."""
        if self.transform is None:
            return ("precomputed",) * len(self.names)
        return tuple(spec.family for spec in self.transform.specs)

    @property
    def scales(self) -> Array:
        """The factor (M,) by which each kernel was divided."""
        if self.transform is None:
            return np.ones(len(self.names))
        return read_only(self.transform.scales)

    @property
    def normalise(self) -> str | None:
        """How the kernels were scaled; None without a map."""
        return None if self.transform is None else self.transform.normalise

    def names_of(self, kernels: Sequence[int] | Indices) -> Names:
        """The names of some kernels."""
        return tuple(self.names[m] for m in kernels)

    def _repr_html_(self) -> str:
        scales = [f"{scale:.3g}" for scale in self.scales]
        return kernel_table(
            repr(self),
            self.notes,
            kernel=self.names,
            family=self.families,
            scale=scales,
        )


def kernel_table(title: str, notes: Sequence[str] = (), **columns: Sequence[str]) -> str:
    """An HTML table of kernels for notebooks: the first twelve rows, then how many more."""
    from pandas import DataFrame  # not at start-up

    frame = DataFrame(columns)
    table = frame.head(12).to_html(index=False, border=0)
    more = f"<p>and {len(frame) - 12} more</p>" if len(frame) > 12 else ""
    remarks = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<p><b>{escape(title)}</b></p>{table}{more}{remarks}"


class Layout(NamedTuple):
    """How sums over kernels are computed without Gram matrices, for three kinds of kernels.

    Linear kernels need no matrix: with z = X'a the form is sum_j s_j z_j^2 over the columns that
    the kernel sees, and the weighted sum is X diag(c) X', c_j being the weight of all kernels that
    see column j. Their rows of the sparse ``slopes`` (M, d) hold s, the inverse scale, and those of
    other kernels nothing. ``radial`` kernels, exponentials at ``rates`` of the (``squared``)
    differences of one column ``where``, are computed row by row, without storing them. All
    ``other`` kernels, and all that are centred, spherical or on some of the training rows, are
    computed as blocks of the map. ``factors`` (M,) are the inverse scales.
    """

    slopes: Any
    radial: Indices
    other: Indices
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


def as_rows(X: Any) -> Array:
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
    return rows


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


# -- columns and scales


def column_statistics(rows: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Mean and biased standard deviation of every column; a constant column gets scale 1.

    A row counts as many times as its entry of ``weights`` (n,).
    """
    if weights is not None:
        rows = rows[weights > 0]
        weights = weights[weights > 0]
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.average(rows, axis=0, weights=weights)
        scales = np.sqrt(
            np.average(
                (rows - means) ** 2,
                axis=0,
                weights=weights,
            )
        )
    overflowing = np.flatnonzero(~np.isfinite(scales))
    if overflowing.size:
        raise DataError(
            f"Column {overflowing[0]} holds values too large to standardise (above 1e150). "
            "Rescale it first."
        )
    largest = np.abs(rows).max(axis=0)
    constant = np.ptp(rows, axis=0) <= 10 * np.finfo(np.float64).eps * largest
    constant |= scales == 0.0  # the squares of the differences are below the smallest double
    return np.where(constant, rows[0], means), np.where(constant, 1.0, scales)


def standardise_rows(rows: Array, means: Array, scales: Array) -> Array:
    """(rows - means) / scales; raises ``DataError`` where the result is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = (rows - means) / scales
    overflowing = np.flatnonzero(~np.isfinite(result).all(axis=0))
    if overflowing.size:
        raise DataError(
            f"Column {overflowing[0]} is too far from its training mean for a double. Check its "
            "units."
        )
    return result


def standardised(rows: Array) -> Array:
    """The rows less the means of their columns, over the standard deviations."""
    return standardise_rows(rows, *column_statistics(rows))


def spherical_factors(diagonal: Array, means: Array | float, grand: Array | float) -> Array:
    """K_ii^(-1/2) of the (centred) self-kernels, and 0 where K_ii is 0 or only rounding."""
    centred = diagonal - 2 * means + grand
    is_centred = np.any(grand) or np.any(means)
    rounding = CONSTANT_TOLERANCE * np.abs(diagonal) if is_centred else 0.0
    positive = centred > rounding
    return np.where(
        positive,
        1.0 / np.sqrt(np.where(positive, centred, 1.0)),
        0.0,
    )


# -- compiled loops over Gram matrices


@jit_entry({"reassoc", "nsz"})
def exponential_sums(base: Array, rates: Array) -> Array:
    """Sums (M,) of exp(-rates[m] base[i, j]) over j > i of base (n, n), without storing a value.

    Every row of base is read once. A kernel that is divided by its sum is computed twice and
    written once, because computing an exponential costs less than reading it.
    """
    out = np.zeros(rates.size)
    buffer = np.empty(base.shape[1])
    for i in range(base.shape[0]):
        source = base[i, i + 1 :]
        exponents = buffer[: source.size]
        for m in range(rates.size):
            exponentials(source, rates[m], exponents)
            total = 0.0
            for j in range(exponents.size):
                total += exponents[j]
            out[m] += total
    return out


@jit_entry()
def write_exponential(base: Array, rate: float, scale: float, out: Array) -> None:
    """out = scale exp(-rate * base) for symmetric (n, n); base may be out itself.

    Whole rows are computed, because copying one half costs more than computing it again.
    """
    buffer = np.empty(base.shape[1])  # the base itself may be overwritten
    for i in range(out.shape[0]):
        row = out[i]
        exponentials(base[i], rate, buffer)
        for j in range(row.size):
            row[j] = scale * buffer[j]


@jit_entry(numpy=by_numpy.finish_block)
def finish_block(
    block: Array,
    left: Array,
    right: Array,
    rows: Array,
    columns: Array,
) -> None:
    """block[i, j] = (block[i, j] - left[i] - right[j]) rows[i] columns[j], in place.

    The block is read once, and a symmetric block stays exactly symmetric.
    """
    for i in range(block.shape[0]):
        row = block[i]
        shift = left[i]
        factor = rows[i]
        for j in range(row.size):
            row[j] = (row[j] - (shift + right[j])) * (factor * columns[j])


@jit_entry(numpy=by_numpy.mirror)
def mirror(out: Array) -> None:
    """Copy the upper triangle of out (n, n) to the lower one, tile by tile."""
    n = out.shape[0]
    for top in range(0, n, TILE):
        for left in range(top, n, TILE):
            for i in range(top, min(top + TILE, n)):
                for k in range(max(left, i + 1), min(left + TILE, n)):
                    out[k, i] = out[i, k]


@jit_helper({"reassoc", "contract"})
def inner_product(left: Array, right: Array) -> float:
    """left'right in a loop that the compiler may vectorise."""
    total = 0.0
    for k in range(left.size):
        total += left[k] * right[k]
    return total


@jit_helper()
def _row(
    column: Array,
    here: float,
    squared: Any,
    rate: float,
    buffer: Array,
    out: Array,
) -> None:
    """out = exp(-rate base), base the squared or absolute differences to ``here``."""
    if squared:
        for k in range(out.size):
            gap = column[k] - here
            buffer[k] = gap * gap
    else:
        for k in range(out.size):
            buffer[k] = abs(column[k] - here)
    exponentials(buffer, rate, out)


@jit_entry()
def radial_forms(
    columns: Array,
    where: Indices,
    squared: Any,
    rates: Array,
    a: Array,
    support: Indices,
    out: Array,
) -> None:
    """out[q] = a'K_q a for kernels exp(-rate base) of column ``where[q]`` of ``columns`` (d, n).

    Only the rows ``support``, where a is not zero, are read.
    """
    s = support.size
    x = np.empty(s)
    buffer = np.empty(s)
    values = np.empty(s)
    dual = np.empty(s)
    for i in range(s):
        dual[i] = a[support[i]]
    for q in range(where.size):
        column = columns[where[q]]
        total = 0.0
        for i in range(s):
            x[i] = column[support[i]]
        for i in range(s):
            _row(
                x[i:],
                x[i],
                squared[q],
                rates[q],
                buffer[i:],
                values[i:],
            )
            total += dual[i] * (2.0 * inner_product(values[i:], dual[i:]) - dual[i])
        out[q] = total


@jit_entry()
def add_radial(
    columns: Array, where: Indices, squared: Any, rates: Array, weights: Array, out: Array
) -> None:
    """Upper triangle of out += sum_q weights[q] K_q, for kernels as in ``radial_forms``."""
    n = out.shape[0]
    buffer = np.empty(n)
    values = np.empty(n)
    for first in range(0, where.size, TILE):
        for i in range(n):
            row = out[i, i:]
            kernel_row = values[i:]
            for q in range(first, min(first + TILE, where.size)):
                column = columns[where[q]]
                w = weights[q]
                _row(
                    column[i:],
                    column[i],
                    squared[q],
                    rates[q],
                    buffer[i:],
                    kernel_row,
                )
                for k in range(row.size):
                    row[k] += w * kernel_row[k]
