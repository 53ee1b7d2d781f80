"""Gram matrices of many kernels as one stack (M, n, n): built, centred, normalised, checked, and carried to new rows.

Every kernel passes the same four steps; kernels with the same base and columns share the first:

    base numbers of row pairs  ->  kernel values (upper triangle)  ->  sums that normalisation needs  ->  finish

    finish:  K_ij <- (K_ij - r_i - r_j + g) f_i f_j

with r the row means and g the grand mean of the training gram (both 0 without centring), f = s^(-1/2) for a scale s,
and f_i = K_ii^(-1/2) for spherical. A test block goes through the same formula with the training r_j, g, f_j, s.
Centring comes before normalisation, so that the stack that comes out has the property its normalisation promises.

| normalise | the factor, from the training gram | promise |
|---|---|---|
| multiplicative | s = tr(K)/n - 1'K1/n^2 | unit variance in feature space (Kloft et al. 2011, eq. 27) |
| spherical | K_ii per row | K_ii = 1 (eq. 28); rows with K_ii = 0 become 0 |
| trace | s = tr(K) | tr(K) = 1 |
| diag | s = max_i K_ii | k(x, x) <= 1 on the training rows |
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NoReturn, Self

import numpy as np

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Indices
from mklcore.errors import KernelError, ParameterError, check_cancelled, never_asked
from mklcore.kernels.bases import fill_base, seen_of
from mklcore.kernels.checks import check_gram, clipped, one_blas_thread
from mklcore.kernels.fills import add_exponentials, write_exponential
from mklcore.kernels.finishing import Finishing
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.maps import (
    KernelMap,
    as_rows,
    column_scaling,
    is_its_base,
    read_only,
    share_bases,
    standardise_rows,
)
from mklcore.kernels.measures import UNCUT, as_stack, duplicates
from mklcore.kernels.medians import column_median
from mklcore.kernels.operators.dense import NO_FUNCTIONS, DenseKernels
from mklcore.kernels.sums import mirror

MEDIAN_ROWS = 2000
TILE = 64
ROWS = 256  # whose exponentials are summed at a time


@jit_entry({"reassoc", "nsz"})
def sum_rows(gram: Array) -> Array:
    """Row sums of a symmetric matrix (n, n) whose upper triangle is filled."""
    n = gram.shape[0]
    sums = np.zeros(n)
    for i in range(n):
        row = gram[i, i + 1 :]
        below = sums[i + 1 :]
        total = gram[i, i]
        for j in range(row.size):
            total += row[j]
            below[j] += row[j]
        sums[i] += total
    return sums


@jit_entry()
def finish_square(gram: Array, means: Array, grand: float, factors: Array) -> None:
    """Centre and scale the upper triangle of gram (n, n) and mirror it.

    Tile by tile: the mirror image is read from a small copy, so that neither half is walked column by column.
    """
    n = gram.shape[0]
    tile = np.empty((TILE, TILE))
    for top in range(0, n, TILE):
        bottom = min(top + TILE, n)
        for left in range(top, n, TILE):
            right = min(left + TILE, n)
            column_means = means[left:right]
            column_factors = factors[left:right]
            for i in range(top, bottom):
                row = gram[i, left:right]
                kept = tile[i - top]
                shift = grand - means[i]
                factor = factors[i]
                for j in range(row.size):
                    kept[j] = (row[j] + shift - column_means[j]) * (factor * column_factors[j])
                if left > top:
                    for j in range(row.size):
                        row[j] = kept[j]
            for j in range(right - left):
                target = gram[left + j, top:bottom]
                for i in range(target.size):
                    target[i] = tile[i, j] if left > top else tile[min(i, j), max(i, j)]


@dataclass(frozen=True)
class Forecast:
    """What a stack will cost before it is built: bytes while building, a rough time in seconds, kernels, and how it is
    stored.

    ``stored``: "double", "single" (one triangle of each kernel), "single, on disk", "features" or "not stored".
    """

    bytes: int
    seconds: float
    n_kernels: int
    stored: str = "double"

    @property
    def megabytes(self) -> float:
        return self.bytes / 1e6

    def with_block(self, n_samples: int, n_new: int) -> "Forecast":
        """The same with the block (M, n_new, n_samples) of new rows against those of the stack."""
        more = 8 * self.n_kernels * n_samples * n_new
        return Forecast(self.bytes + more, self.seconds * (1 + n_new / n_samples), self.n_kernels, self.stored)


def forecast(n_kernels: int, n_samples: int, n_bases: int = 1, n_columns: int = 0, n_medians: int = 0) -> Forecast:
    """Cost of M = n_kernels grams of n_samples rows over `n_bases` shared distance matrices.

    n_columns: columns that these matrices look at, added up; n_medians: how many of them need their median. Seconds are
    per entry 1.5 to 2 ns for a kernel, 2 ns and 0.07 ns a column for a matrix, 8 ns for a median: fitted to one thread
    of a 2 GHz server, with 400 to 1500 rows and 5 to 200 columns.
    """
    entries, sampled = n_samples * n_samples, min(n_samples, MEDIAN_ROWS) ** 2
    seconds = entries * (2.0e-9 * n_kernels + 2.0e-9 * n_bases + 0.07e-9 * n_columns) + sampled * 8.0e-9 * n_medians
    return Forecast(8 * entries * (n_kernels + 1), seconds, n_kernels)


def median_distance(spec: KernelSpec, columns: Array, base: Array, weights: Array | None = None) -> float:
    """Median over row pairs of the distance a relative width counts in.

    columns (n, s); base (n, n) holds their base numbers above the diagonal, or is empty where they are not known. Above
    2000 rows a seeded sample of 2000 is used. Where more than half of the pairs coincide, the median of the others; 1
    where all rows coincide. A row of weight w counts as w rows; a sample is drawn by weight.
    """
    if weights is not None:
        return _weighted_median(spec, columns, weights)
    if columns.shape[0] > MEDIAN_ROWS:
        chosen = np.random.default_rng(0).choice(columns.shape[0], MEDIAN_ROWS, replace=False)
        columns = columns[chosen]
    if columns.shape[1] == 1 and columns.shape[0] > 1 and spec.base in ("squared", "absolute"):
        return column_median(np.sort(columns[:, 0]))
    if len(base) != len(columns):
        base = np.empty((len(columns), len(columns)))
        fill_base(spec.base, columns, columns, True, base)
    if columns.shape[0] < 2:
        return 1.0
    pairs = np.concatenate([base[i, i + 1 :] for i in range(columns.shape[0] - 1)])
    root = np.sqrt if spec.base == "squared" else np.abs
    if (median := _middle(pairs, root)) > 0:
        return median
    apart = pairs[pairs > 0]
    return _middle(apart, root) if apart.size else 1.0


def _weighted_median(spec: KernelSpec, columns: Array, weights: Array) -> float:
    rows = np.flatnonzero(weights)
    if rows.size > MEDIAN_ROWS:
        shares = weights[rows] / weights.sum()
        rows = np.random.default_rng(0).choice(rows, MEDIAN_ROWS, replace=False, p=shares)
        weights = (weights > 0).astype(np.float64)
    columns, w = np.ascontiguousarray(columns[rows]), weights[rows]
    base = np.empty((rows.size, rows.size))
    fill_base(spec.base, columns, columns, True, base)
    one, other = np.triu_indices(rows.size, 1)
    values, counts = base[one, other], w[one] * w[other]
    order = np.argsort(values)
    values, counts = values[order], counts[order]
    together = float(np.maximum(w * (w - 1), 0).sum()) / 2 + float(counts[values <= 0].sum())  # pairs at distance 0
    values, counts = values[values > 0], counts[values > 0]
    if not values.size:
        return 1.0
    sums = np.cumsum(counts)
    total = together + sums[-1]
    if 0.5 * total < together:  # more than half of the pairs coincide
        together, total = 0.0, float(sums[-1])
    ranks = np.array([0.5 * (total - 1.0), 0.5 * total]) - together
    places = np.minimum(np.searchsorted(sums, ranks, side="right"), values.size - 1)
    middle = np.where(ranks < 0.0, 0.0, values[places])
    return float((np.sqrt if spec.base == "squared" else np.abs)(middle).mean())


def _middle(values: Array, root: Callable[[Array], Array]) -> float:
    """The median of an increasing ``root`` of non-negative ``values``, which are reordered in place."""
    ranks = [(values.size - 1) // 2, values.size // 2]
    values.partition(ranks)
    return float(root(values[ranks]).mean())


@dataclass(frozen=True, eq=False)
class GramStack(DenseKernels):
    """M Gram matrices on the same n rows, with what is needed to carry them to new rows.

    values (M, n, n): C-contiguous float64, read-only; names, families, scales: one per kernel, `scales` being the
    factor each gram was divided by (1 where none); specs: the resolved kernels, None for a precomputed stack;
    notes: which kernels were left out or coincide; transform: the `KernelMap` behind `cross`.

    Parameters
    ----------
    values : ndarray of shape (M, n, n)
        Gram matrices, C-contiguous and read-only.
    names : sequence of str
        Names, one for each.
    scales : ndarray of shape (M,)
        Factor by which each Gram matrix was divided.
    families : tuple of str
        Family of every kernel.
    specs : tuple of KernelSpec, default None
        The kernels, in their order.
    notes : tuple of str
        What was noticed while it was made, as sentences.
    transform : KernelMap or None, default None
        Map that computes the kernels on new rows.
    """

    values: Array
    names: tuple[str, ...]
    scales: Array
    families: tuple[str, ...]
    specs: tuple[KernelSpec, ...] | None = None
    notes: tuple[str, ...] = ()
    transform: KernelMap | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", as_stack(self.values))
        object.__setattr__(self, "scales", read_only(self.scales))

    @property
    def shape(self) -> NoReturn:
        """Refused: who asks a stack for its shape, as scikit-learn's splitters do, is about to cut it like a table."""
        raise KernelError(f"A stack of kernels is no table. {UNCUT}")

    @classmethod
    def from_array(
        cls, K: Any, names: Sequence[str] | None = None, *, clip: bool = False, tick: Callable[[], None] = never_asked
    ) -> Self:
        """A stack of kernels computed elsewhere, used as it is: no centring, no normalisation.

        K (M, n, n) numeric. A C-contiguous float64 array is not copied: do not write to it afterwards. KernelError,
        with the kernel's name and the number that failed, unless every kernel is finite, symmetric to 1e-8 of its
        largest entry, and PSD: smallest eigenvalue >= -1e-8 of the largest. With ``clip`` the negative eigenvalues of
        an indefinite kernel are set to 0 instead, with a UserWarning that names it: its test blocks are then no longer
        those of the kernel that was passed. ``tick`` is called every tenth of a second or so; what it raises ends the
        check.

        >>> stack = GramStack.from_array(np.stack([np.eye(3), np.ones((3, 3))]), names=["own", "same"])
        >>> stack.names
        ('own', 'same')
        """
        values = as_stack(K)
        labels = tuple(f"kernel {m}" for m in range(len(values))) if names is None else tuple(map(str, names))
        if len(labels) != len(values):
            raise KernelError(f"The stack holds {len(values)} kernels, but {len(labels)} names were given.")
        with one_blas_thread():
            if clip:
                values = clipped(values, labels)
            room = np.empty(values.shape[1:])
            for label, gram in zip(labels, values, strict=True):
                check_gram(label, gram, tick, room)
        notes = tuple(_duplicate_notes(values, labels))
        return cls(values, labels, np.ones(len(values)), ("precomputed",) * len(values), notes=notes)

    @property
    def normalise(self) -> str | None:
        """The normalisation asked for when the stack was built; None for precomputed stacks."""
        return None if self.transform is None else self.transform.normalise

    def cross(self, X_new: Any) -> Array:
        """Kernel values (M, n_new, n) between new rows X_new (n_new, d) and the rows of this stack.

        A ``Dataset`` brings its sequences along; a stack of one sequence alone takes a list of strings.
        Standardisation, widths, scales and centring are those of the training rows. KernelError for a stack made by
        `from_array`, which does not know its kernel functions.
        """
        if self.transform is None:
            raise KernelError(NO_FUNCTIONS)
        return self.transform.cross(X_new)

    def block(self, rows: Any, columns: Any) -> Array:
        """Kernel values (M, a, b) between two choices of rows (indices or boolean masks), as a new array.

        Scales and centring stay those of all rows of the stack. For a validation score that has not seen the
        validation rows at all, build the stack on the training rows and use `cross`.
        """
        left, right = self._indices(rows), self._indices(columns)
        out = np.empty((self.n_kernels, left.size, right.size))
        for gram, part in zip(self.values, out, strict=True):
            part[...] = gram[left[:, None], right]
        return out

    def take(self, rows: Any) -> "GramStack":
        """The stack on some of its rows (indices or a boolean mask); `cross` then refers to these rows. See `block`
        for what stays fixed."""
        chosen = self._indices(rows)
        transform = None if self.transform is None else self.transform.take(chosen)
        return replace(self, values=self.block(chosen, chosen), transform=transform)

    def select(self, kernels: Sequence[int] | Indices) -> "GramStack":
        """The stack with some of its kernels only, by index and in the given order; scales and centring stay.

        Kernels that follow one another are not copied.
        """
        chosen = [int(m) for m in kernels]
        values = self.values[together(chosen)]
        names, families = (tuple(one[m] for m in chosen) for one in (self.names, self.families))
        specs = None if self.specs is None else tuple(self.specs[m] for m in chosen)
        transform = None if self.transform is None else self.transform.subset(chosen)
        return GramStack(values, names, self.scales[chosen], families, specs, (), transform)

    def _indices(self, rows: Any) -> Indices:
        chosen = np.asarray(rows)
        if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "biu":
            raise KernelError("Rows of a stack are chosen by a list of indices or a boolean mask, and at least one.")
        if chosen.dtype.kind == "b":
            if chosen.size != self.n_samples:
                raise KernelError(f"The mask has {chosen.size} entries, the stack has {self.n_samples} rows.")
            return np.flatnonzero(chosen)
        if chosen.min() < 0 or chosen.max() >= self.n_samples:
            raise KernelError(f"Row indices must be between 0 and {self.n_samples - 1}, got {chosen.tolist()[:5]}.")
        return chosen.astype(np.int64)

    def __repr__(self) -> str:
        return f"GramStack({self.n_kernels} kernels, {self.n_samples} rows, normalise={self.normalise!r})"

    def _repr_html_(self) -> str:
        return kernel_table(repr(self), self.names, self.families, [f"{s:.3g}" for s in self.scales], self.notes)


def together(places: Sequence[int]) -> Any:
    """These places (k,) as an index of an array: a slice, which copies nothing, where they follow one another."""
    first = places[0] if places else 0
    return slice(first, first + len(places)) if list(places) == list(range(first, first + len(places))) else places


def kernel_table(
    title: str, names: Sequence[str], families: Sequence[str], scales: Sequence[str] = (), notes: Sequence[str] = ()
) -> str:
    """An HTML table of kernels for notebooks: the first twelve rows, then how many more."""
    shown = list(zip(names, families, *([scales] if scales else []), strict=True))
    head = "".join(f"<th>{word}</th>" for word in ("kernel", "family", "scale")[: len(shown[0])])
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in shown[:12])
    more = f"<p>and {len(shown) - 12} more</p>" if len(shown) > 12 else ""
    remarks = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<p><b>{escape(title)}</b></p><table><tr>{head}</tr>{body}</table>{more}{remarks}"


def _duplicate_notes(values: Array, names: Sequence[str]) -> list[str]:
    return [
        f"{', '.join(names[m] for m in group)}: the same kernel after normalisation. "
        "All are kept; read their weights together."
        for group in duplicates(values)
    ]


def check_memory(n_kernels: int, n_samples: int, memory_limit_mb: float) -> None:
    """KernelError when the stack would need more than `memory_limit_mb` (1 MB = 10^6 bytes)."""
    if not memory_limit_mb > 0:
        raise ParameterError(f"memory_limit_mb must be a positive number of megabytes, got {memory_limit_mb!r}.")
    needed = forecast(n_kernels, n_samples).megabytes
    if needed > memory_limit_mb:
        rows = int(np.sqrt(memory_limit_mb * 1e6 / (8 * (n_kernels + 1))))
        kernels = int(memory_limit_mb * 1e6 / (8 * n_samples**2)) - 1
        fewer = f", at most {kernels:,} kernels" if kernels > 0 else ""
        raise KernelError(
            f"{n_kernels:,} kernels on {n_samples:,} rows need {needed:,.0f} MB, above the limit of "
            f"{memory_limit_mb:,.0f} MB. Use at most {rows:,} rows{fewer}, or raise memory_limit_mb."
        )


def build_grams(
    X: Any,
    specs: Sequence[KernelSpec],
    names: Sequence[str],
    standardize: bool = True,
    normalise: str | None = "multiplicative",
    center: bool = False,
    memory_limit_mb: float = 4096.0,
    sample_weight: Array | None = None,
) -> GramStack:
    """Grams of every spec on the training rows X (n, d); `KernelDictionary.grams` is the public door.

    Kernels that normalisation cannot scale (constant on the training rows) are left out and named in `notes`.
    """
    rows = as_rows(X)
    n = len(rows)
    finishing = Finishing.of(names, n, normalise, center)
    finishing.weights = sample_weight
    check_memory(len(specs), n, memory_limit_mb)
    means, scales = column_scaling(rows, specs, standardize, sample_weight)
    rows = standardise_rows(rows, means, scales)
    resolved = [spec.met(rows) if sample_weight is None else spec.met(rows, sample_weight) for spec in specs]
    values = np.empty((len(specs), n, n))
    with one_blas_thread():
        _fill(values, rows, resolved, finishing)
    M = len(specs)
    flat = np.ones(M), np.ones((M, n)), np.zeros((M, n)), np.zeros(M)
    return _assemble(values, finishing, KernelMap(tuple(resolved), rows, means, scales, *flat, np.arange(n)))


def _fill(values: Array, rows: Array, specs: list[KernelSpec], finishing: Finishing) -> None:
    """Fill and finish every gram over one shared base matrix, settling relative widths in `specs` on the way."""
    shared = np.empty(values.shape[1:])
    for (kind, columns), members in share_bases(specs).items():
        table, alone = seen_of(kind, rows, columns), is_its_base(specs, members)
        base = values[members[0]] if alone else shared
        fill_base(kind, table, table, True, base)
        relative = [specs[m] for m in members if specs[m].is_relative]
        unit = median_distance(relative[0], table, base, finishing.weights) if relative else 1.0
        for m in members:
            specs[m] = specs[m].at(columns, unit)
        plain = finishing.weights is None and not finishing.by_row
        written = [] if not plain else _write_exponentials(values, base, specs, members, finishing)
        for m in members:
            check_cancelled()
            if m in written:
                continue
            if not alone:
                specs[m].fill(base, True, values[m])
            if finishing.settle(m, values[m].diagonal().copy(), _sums(values[m], finishing.weights)):
                finish_square(values[m], finishing.row_means[m], float(finishing.grand_means[m]), finishing.factors[m])


def _sums(gram: Array, weights: Array | None) -> Array:
    """K w of a matrix whose upper triangle is filled, w = 1 by default."""
    if weights is None:
        return sum_rows(gram)
    mirror(gram)
    found: Array = gram @ weights
    return found


def _write_exponentials(
    values: Array, base: Array, specs: Sequence[KernelSpec], members: Sequence[int], finishing: Finishing
) -> list[int]:
    """Fill those of ``members`` that are exp(-rate * base), and say which: each is written once, with its scale.

    Their sums are found first, without storing anything: making an exponential again costs less than reading it.
    """
    n = len(base)
    quick = [m for m in members if specs[m].rate is not None]
    rates, off = np.array([specs[m].rate for m in quick], dtype=np.float64), np.zeros(len(quick))
    for top in range(0, n, ROWS):
        check_cancelled()
        add_exponentials(base[top : top + ROWS], top, rates, off)
    if quick:
        mirror(base)
    for m, rate, total in zip(quick, rates, off, strict=True):
        check_cancelled()
        if finishing.settle(m, np.ones(n), np.zeros(n), 1.0 - (n + 2.0 * total) / n**2):
            write_exponential(base, rate, finishing.factors[m, 0] ** 2, values[m])
    return quick


def _assemble(values: Array, finishing: Finishing, plain: KernelMap) -> GramStack:
    """Close the gaps that dropped kernels leave, in place, and say what happened."""
    transform, kept = finishing.on(plain), finishing.kept
    for place, m in enumerate(kept):
        if place != m:
            values[place] = values[m]
    values, names = values[: len(kept)], tuple(finishing.names[m] for m in kept)
    return GramStack(
        values,
        names,
        transform.scales,
        tuple(spec.family for spec in transform.specs),
        transform.specs,
        tuple(finishing.notes + _duplicate_notes(values, names)),
        transform,
    )
