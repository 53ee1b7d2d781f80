"""Gram matrices of many kernels as one stack (M, n, n), or their rows on request; their checks.

Every kernel passes the same steps, and kernels with the same base and columns share the first:

    base numbers of pairs of rows  ->  kernel values  ->  sums  ->  normalised values

A `GramStack` stores the result (see `normalisation`). `Rows` stores only the table and the numbers
for normalisation, for training sets whose stack would not fit into memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np
import scipy

from mklcore.arrays import Array, Indices, Mask, Names, one_blas_thread
from mklcore.errors import DataError, KernelError, check_cancelled
from mklcore.kernels.kernel_map import (
    CONSTANT_TOLERANCE,
    KernelMap,
    Mapped,
    normalised,
    pieces,
    sum_kind,
)
from mklcore.kernels.operators import Capability, Dense, DenseSum, grams_among

DUPLICATE_TOLERANCE = 1e-10
SAME_SCALE = 1e-9  # relative difference of the scales of equal kernels
SYMMETRY_TOLERANCE = PSD_TOLERANCE = 1e-8
EXACT_ROWS = 1500  # rows up to which all eigenvalues are computed where a factor fails
MOST_SUMMED_ROWS = 4000  # rows up to which scores are computed from the summed matrix

STACKS_IN_FOLDS = (
    "scikit-learn's splitters cannot cut stacks: use mklcore.cross_validate_path, or a "
    "KernelDictionary inside a Pipeline; by hand, GramStack.from_array(K).take(rows) cuts "
    "both axes."
)


@dataclass(frozen=True)
class Forecast:
    """The cost of a stack before it is built: bytes while building, rough seconds, kernels.

    ``stored`` is how it is stored: "dense", "features" or "rows", see `mklcore.kernels.dictionary.stored_as`.
    """

    bytes: int
    seconds: float
    n_kernels: int
    stored: str = "dense"

    @property
    def megabytes(self) -> float:
        return self.bytes / 1e6


@dataclass(frozen=True, eq=False)
class GramStack(Dense, Mapped):
    """M Gram matrices on the same n rows, with what is needed to carry them to new rows.

    values (M, n, n): C-contiguous float64, read-only; names, families, scales: one per kernel,
    `scales` being the factor each gram was divided by (1 where none); specs: the resolved kernels,
    None for a precomputed stack; notes: which kernels were left out or coincide; transform: the
    `KernelMap` behind `cross`, None for a precomputed stack.

    Parameters
    ----------
    values : ndarray of shape (M, n, n)
        Gram matrices, C-contiguous and read-only.
    names : sequence of str
        Names, one for each.
    transform : KernelMap or None, default None
        Map that computes the kernels on new rows.
    notes : tuple of str
        What was noticed while it was made, as sentences.
    """

    values: Array
    names: Names
    transform: KernelMap | None = None
    notes: Names = ()

    def __post_init__(self) -> None:
        values = as_stack(self.values)
        self.__dict__.update(
            values=values,
            n_kernels=len(values),
            n_samples=values.shape[1],
        )

    @property
    def shape(self) -> NoReturn:
        """Raises ``KernelError``: a stack cannot be cut like a table.

        scikit-learn's splitters read this attribute before they cut.
        """
        raise KernelError(f"A stack of kernels is no table. {STACKS_IN_FOLDS}")

    @classmethod
    def from_array(
        cls,
        K: Any,
        names: Sequence[str] | None = None,
    ) -> Self:
        """A stack of kernels computed elsewhere, used as it is: no centring, no normalisation.

        K (M, n, n) numeric. A C-contiguous float64 array is not copied: do not write to it
        afterwards. Raises ``KernelError``, with the kernel's name and the number that failed,
        unless every kernel is finite, symmetric to 1e-8 of its largest entry, and PSD: smallest
        eigenvalue >= -1e-8 of the largest.

        >>> K = np.stack([np.eye(3), np.ones((3, 3))])
        >>> GramStack.from_array(K, names=["identity", "constant"]).names
        ('identity', 'constant')
        """
        values = as_stack(K)
        if names is None:
            names = [f"kernel {m}" for m in range(len(values))]
        labels = tuple(map(str, names))
        if len(labels) != len(values):
            raise KernelError(
                f"The stack holds {len(values)} kernels, but {len(labels)} names were given."
            )
        with one_blas_thread():
            for label, gram in zip(labels, values, strict=True):
                check_gram(label, gram)
        return cls(values, labels, notes=duplicate_notes(values, labels))

    def cross(self, X_new: Any) -> Array:
        """Kernel values (M, n_new, n) between new rows X_new (n_new, d) and the rows of this stack.

        A ``Dataset`` contains its sequences; a stack of one sequence alone takes a list of strings.
        Standardisation, widths, scales and centring are those of the training rows. Raises
        ``KernelError`` for a stack made by `from_array`, which does not know its kernel functions.
        """
        return super().cross(X_new) if self.transform is None else self.transform.cross(X_new)

    def block(self, rows: Any, columns: Any) -> Array:
        """Kernel values (M, a, b) between two selections of rows (indices or masks), copied.

        Scales and centring stay those of all rows of the stack. For a validation score that is
        independent of the validation rows, build the stack on the training rows and use `cross`.
        """
        every = np.arange(self.n_samples)
        return grams_among(self.values, every[rows], every[columns])

    def take(self, rows: Any) -> GramStack:
        """The stack on some of its rows (indices or a mask), to which `cross` then refers.

        See `block` for what does not change.
        """
        chosen = np.arange(self.n_samples)[rows]
        transform = None if self.transform is None else self.transform.take(chosen)
        return replace(self, values=self.block(chosen, chosen), transform=transform)

    def select(self, kernels: Sequence[int] | Indices) -> GramStack:
        """The stack with some of its kernels, by index; scales and centring do not change."""
        transform = None if self.transform is None else self.transform.subset(kernels)
        values = self.values[np.asarray(kernels)]
        return GramStack(values, self.names_of(kernels), transform)

    def __repr__(self) -> str:
        return (
            f"GramStack({self.n_kernels} kernels, {self.n_samples} rows, "
            f"normalise={self.normalise!r})"
        )


def duplicate_notes(values: Array, names: Sequence[str]) -> Names:
    notes = []
    for group in duplicates(values):
        same = ", ".join(names[m] for m in group)
        notes.append(
            f"{same}: the same kernel after normalisation. All are kept; read their weights "
            "together."
        )
    return tuple(notes)


# -- rows computed on request


class Rows(Mapped):
    """M kernels on n training rows, computed on request; only a weighted sum is ever stored.

    ``names``, ``notes`` and ``transform`` are as in ``GramStack``. Kernels that are constant on the
    training rows are left out and named in ``notes``.
    """

    capabilities = frozenset({Capability.FACTORS})

    transform: KernelMap

    def __init__(
        self,
        transform: KernelMap,
        names: Sequence[str],
        diagonal: Array,
        notes: Sequence[str] = (),
    ) -> None:
        self.transform = transform
        self.names = tuple(names)
        self._diagonals = diagonal
        self.notes = tuple(notes)
        self.n_kernels = len(transform.specs)
        self.n_samples = len(transform.rows)
        self.matvec = transform.products
        self.quad = transform.forms

    @classmethod
    def build(
        cls,
        dictionary: Any,
        X: Any,
        normalise: str | None = "multiplicative",
        center: bool = False,
    ) -> Self:
        """Resolve the dictionary on training rows X (n, d) and compute its scales; no stack."""
        plain = KernelMap.on(X, dictionary, normalise)
        names = dictionary.names
        ones = np.ones(len(plain.rows))
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is reported by name
            plain_diagonals = np.array([spec.own(plain.rows) for spec in plain.specs])
            sums = plain.products(ones) if center else None
            totals = plain.forms(ones) if sums is None else sums.sum(axis=1)
        transform, kept, notes, diagonals = normalised(
            plain,
            names,
            normalise,
            center,
            plain_diagonals,
            totals,
            sums,
        )
        return cls(transform, [names[m] for m in kept], diagonals, notes)

    def diagonals(self) -> Array:
        """K_m(x_i, x_i) of every kernel, (M, n)."""
        return self._diagonals

    def rows(self, i: Indices | slice) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        return self.transform.cross_standardised(self.transform.rows[i])

    def combine(self, weights: Array, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,), in ``out`` (n, n) where it is given."""
        return DenseSum(self.transform.weighted(weights, out))

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among some rows, (r, r)."""
        return self.combine(weights).block(rows)

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        if self.n_samples <= MOST_SUMMED_ROWS:  # reads each pair of rows once
            return self.transform.weighted(weights) @ a
        return self.transform.scores(
            self.transform.rows,
            weights[None],
            a[None],
        )[:, 0]

    def select(self, kernels: Indices) -> Rows:
        """Some of the kernels."""
        return Rows(
            self.transform.subset(kernels),
            self.names_of(kernels),
            self._diagonals[kernels],
        )

    def take(self, rows: Indices) -> Rows:
        """The kernels among some of the training rows, with the scales of all rows.

        Raises ``KernelError`` for centred kernels, whose means are those of all rows.
        """
        if self.transform.center:
            raise KernelError(
                "Centred kernels that are not stored cannot be cut: their means are of "
                "all rows. Build a stack with KernelDictionary.grams, or leave center out."
            )
        diagonals = np.ascontiguousarray(self._diagonals[:, rows])
        return Rows(self.transform.take(rows), self.names, diagonals, self.notes)

    def grams(self, kernels: Sequence[int] | Indices) -> Array:
        """The Gram matrices of some of the kernels, (k, n, n)."""
        return self.transform.cross_standardised(self.transform.rows, kernels)

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        gram: Array = self.grams([m])[0]
        return gram

    def factor(self, m: int) -> Array:
        """The rows (r, n) of L' with K_m = L L'.

        For a linear kernel these are its columns, else a Cholesky factor with the largest pivots
        first, which ends where the rest of the trace is rounding.
        """
        transform = self.transform
        if sum_kind(transform.specs[m]) == "linear" and transform.is_divided:
            columns = transform.rows[:, list(transform.specs[m].settled)]
            return np.array(columns.T * transform.scales[m] ** -0.5, order="C")
        K = self.gram(m)
        floor = len(K) * np.finfo(float).eps * float(K.diagonal().max())
        L, pivots, rank, _ = scipy.linalg.lapack.dpstrf(
            K.T,
            tol=floor,
            lower=1,
            overwrite_a=True,
        )
        out = np.empty((rank, len(K)))
        out[:, pivots - 1] = np.tril(L)[:, :rank].T
        return out

    def cross(self, X_new: Any) -> Array:
        """Kernel values (M, n_new, n) between new rows X_new (n_new, d) and the training rows."""
        return self.transform.cross(X_new)

    def blocks(self, X_new: Any = None) -> RowBlocks:
        """Scores of new rows, or of the training rows, where ``cross`` would be too large."""
        rows = self.transform.rows if X_new is None else self.transform.standardised(X_new)
        return RowBlocks(self, rows)

    def block(self, rows: Indices, columns: Indices) -> RowBlocks:
        """Scores of some training rows by others."""
        return RowBlocks(self.take(columns), self.transform.rows[rows])


class RowBlocks:
    """Kernel values between new rows and training rows that are never stored, only their scores."""

    def __init__(self, rows: Rows, new: Array) -> None:
        self._rows = rows
        self._new = new
        self.shape = rows.n_kernels, len(new), rows.n_samples

    def scores(self, weights: Array, duals: Array) -> Array:
        """sum_m weights[t, m] K_m(new, X) duals[t], (n_new, T); weights (T, M), duals (T, n)."""
        return self._rows.transform.scores(self._new, weights, duals)


class SummedRows(Rows):
    """The rows of the plain sum of all kernels, as a dictionary of one kernel."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(
            rows.transform,
            ("sum",),
            rows.diagonals().sum(axis=0)[None],
            rows.notes,
        )
        self.n_kernels = 1

    def rows(self, i: Indices | slice) -> Array:
        """Rows of the sum, (1, b, n)."""
        rows = self.transform.rows[i]
        out = np.zeros((1, len(rows), self.n_samples))
        for kernels in pieces(np.arange(len(self.transform.specs)), 32):
            out[0] += self.transform.cross_standardised(rows, kernels).sum(axis=0)
        return out


# -- stacks from elsewhere


def as_stack(K: Any) -> Array:
    """K as a C-contiguous read-only float64 array (M, n, n), without a copy if it is one.

    Raises ``KernelError`` when K is not a numeric stack of square matrices.
    """
    raw = getattr(K, "values", K)
    try:
        array = np.asarray(raw)
    except ValueError as error:
        raise KernelError(
            f"A kernel stack must be a numeric array (M, n, n); this one is ragged ({error})."
        ) from None
    if array.dtype.kind not in "biuf":
        raise KernelError(
            f"A kernel stack must be numeric; this one has dtype {array.dtype}. Convert it "
            "to float64 first."
        )
    if array.ndim != 3:
        hint = " For one kernel pass K[None]." if array.ndim == 2 else ""
        raise KernelError(
            "A kernel stack must have three axes (M, n, n); this one has shape "
            f"{array.shape}.{hint}"
        )
    if array.shape[1] != array.shape[2]:
        raise KernelError(
            "A kernel stack must hold square matrices (M, n, n); this one has shape "
            f"{array.shape}. Blocks between test and training rows belong to predict, not "
            f"to fit. {STACKS_IN_FOLDS}"
        )
    if array.size == 0:
        raise KernelError(
            "A kernel stack needs at least one kernel and one row; this one has shape "
            f"{array.shape}."
        )
    view = np.ascontiguousarray(array, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def duplicates(K: Any, same_scale: bool = False) -> tuple[tuple[int, ...], ...]:
    """Groups of kernels that are equal up to a positive factor, or with their scale.

    They are equal to 1e-10 once max_i K_ii = 1. Returns a tuple of groups of indices, each
    ascending with at least two members, ordered by their first index.
    """
    values = as_stack(K)
    n = values.shape[1]
    largest = values.diagonal(axis1=1, axis2=2).max(axis=1)
    factors = 1.0 / np.where(largest > 0, largest, 1.0)
    # A random projection of a few rows tells most kernels apart, and only kernels with nearly equal
    # projections are compared in full.
    rows = np.unique(np.linspace(0, n - 1, min(n, 4)).astype(np.int64))
    probe = np.random.default_rng(0).uniform(-1.0, 1.0, (rows.size, n))
    keys = factors * np.einsum("rj,mrj->m", probe, values[:, rows])
    slack = DUPLICATE_TOLERANCE * np.abs(probe).sum() * (1 + 1e-6)
    groups: list[list[int]] = []
    for m in range(len(values)):
        for group in groups:
            first = group[0]
            if abs(keys[m] - keys[first]) > slack:
                continue
            scales = largest[[first, m]]
            if same_scale and np.ptp(scales) > SAME_SCALE * scales.max():
                continue
            difference = values[first] * factors[first] - values[m] * factors[m]
            if np.abs(difference).max() <= DUPLICATE_TOLERANCE:
                group.append(m)
                break
        else:
            groups.append([m])
    return tuple(tuple(group) for group in groups if len(group) > 1)


# -- whether a matrix is a kernel: finite, symmetric, positive semidefinite


def check_gram(name: str, gram: Array) -> None:
    """Raise ``KernelError`` unless gram (n, n) is finite, symmetric and positive semidefinite.

    See `GramStack.from_array`.
    """
    check_cancelled()
    size = float(np.abs(gram).max())
    if not np.isfinite(size):
        i, j = np.argwhere(~np.isfinite(gram))[0]
        raise KernelError(
            f"{name} is not finite: entry ({i}, {j}) is {gram[i, j]}. Recompute it, or "
            "leave out the rows it belongs to."
        )
    if not scipy.linalg.issymmetric(gram):
        gap = float(np.abs(gram - gram.T).max())
        most = SYMMETRY_TOLERANCE * size
        if gap > most:
            raise KernelError(
                f"{name} is not symmetric: max |K_ij - K_ji| is {gap:.3g}, at most {most:.3g} was "
                "expected. Use (K + K') / 2 if the difference is rounding."
            )
    smallest, largest = smallest_eigenvalue(gram)
    least = -PSD_TOLERANCE * max(largest, 0.0)
    if smallest < least:
        number = f"{smallest:.3g}" if np.isfinite(smallest) else "below that"
        raise KernelError(
            f"{name} is not positive semidefinite: its smallest eigenvalue is {number}, at least "
            f"{least:.3g} (-1e-8 of the largest) was expected. Compute it in float64, or clip its "
            "negative eigenvalues to 0."
        )


def smallest_eigenvalue(gram: Array) -> tuple[float, float]:
    """The smallest and the largest eigenvalue of a symmetric gram (n, n).

    The smallest is given as 0 where a Cholesky factor of gram + 1e-8 r I shows that it is at least
    -1e-8 of the largest, r being a lower bound of the largest. On many rows Lanczos steps give a
    smallest eigenvalue that is at least the true one. Where they do not converge it is minus
    infinity: the factor has failed, so there is a negative one.
    """
    largest = float(gram.diagonal().max())
    if not gram.any() or _has_factor(gram, largest):
        return 0.0, largest
    check_cancelled()
    if len(gram) <= EXACT_ROWS:
        spectrum = np.linalg.eigvalsh(gram)
        return float(spectrum[0]), float(spectrum[-1])
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh  # slow to import

    def times(vector: Array) -> Array:
        check_cancelled()
        return gram @ vector

    start = np.random.default_rng(1).standard_normal(len(gram))
    operator = LinearOperator(gram.shape, matvec=times, dtype=np.float64)
    options = {"v0": start, "tol": 1e-3, "maxiter": 20, "return_eigenvectors": False}

    def extreme(which: str, without_convergence: float) -> float:
        try:
            return float(eigsh(operator, 1, which=which, **options)[0])
        except ArpackNoConvergence:
            return without_convergence

    largest = extreme("LA", float(start @ gram @ start / (start @ start)))
    if _has_factor(gram, largest):
        return 0.0, largest
    return extreme("SA", -np.inf), largest


def _has_factor(gram: Array, largest: float) -> bool:
    shifted = gram.T.copy()
    shifted.flat[:: len(gram) + 1] += PSD_TOLERANCE * max(largest, 0.0)
    _, failed = scipy.linalg.lapack.dpotrf(
        shifted.T,
        lower=True,
        clean=False,
        overwrite_a=True,
    )
    return not failed


# -- numbers that describe a stack, without a second array of M n^2 numbers


def alignment_matrix(K: Any) -> Array:
    """A_ij = <K_i, K_j>_F / (||K_i||_F ||K_j||_F), uncentred (Kloft et al. 2011, Figs. 5 and 6).

    K (M, n, n) is a stack or an array. Returns (M, M), symmetric, in [0, 1] for PSD kernels, with 0
    for a kernel that is 0.

    Parameters
    ----------
    K : ndarray of shape (M, n, n) or GramStack
        Gram matrices of the M kernels on the same n rows.

    Returns
    -------
    ndarray of shape (M, M)
        Alignments of every pair of kernels, 1 on the diagonal.

    Examples
    --------
    >>> alignment_matrix(np.stack([np.eye(2), 3 * np.eye(2)])).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    values = as_stack(K)
    flat = values.reshape(values.shape[0], -1)
    products = flat @ flat.T
    norms = np.sqrt(np.diag(products))
    present = norms > 0
    norms[~present] = 1.0
    alignment: Array = np.clip(products / np.outer(norms, norms), -1.0, 1.0)
    np.fill_diagonal(alignment, present.astype(np.float64))
    return alignment


def target_alignment(K: Any, y: Any, task: str) -> Array:
    """Alignment (M,) of every kernel with Y Y': <K_m, Y Y'>_F / (||K_m||_F ||Y Y'||_F).

    y (n,) holds labels or numbers, and Y (n, T) is +-1 for two classes, one-hot for more, and
    centred where the ``task`` is "regression".
    """
    if task == "regression":
        target = np.asarray(y, dtype=np.float64)[:, None]
        columns = target - float(target.mean())
    else:
        labels, codes = np.unique(y, return_inverse=True)
        if labels.size < 2:
            raise DataError(
                f"A target needs at least two classes, this one has only {labels[0]!r}."
            )
        columns = np.eye(labels.size)[codes]
        if labels.size == 2:
            columns = 2.0 * columns[:, 1:] - 1.0
    values = as_stack(K)
    ideal = float(np.linalg.norm(columns.T @ columns))
    aligned = np.array([np.sum(columns * (gram @ columns)) for gram in values])
    norms = np.array([np.linalg.norm(gram) for gram in values])
    return _quotients(aligned, norms * ideal)


def _quotients(above: Array, below: Array) -> Array:
    """above / below for every kernel (M,), 0 where the divisor is 0."""
    present = below > 0.0
    return np.where(present, above, 0.0) / np.where(present, below, 1.0)


def effective_rank(K: Any) -> Array:
    """(sum of eigenvalues)^2 / (sum of their squares) = tr(K)^2 / ||K||_F^2, shape (M,).

    It is 1 when one direction holds everything, n when all directions are equal, and 0 for a kernel
    that is 0. It needs no decomposition.
    """
    values = as_stack(K)
    traces = np.einsum("mii->m", values)
    squares = np.einsum("mij,mij->m", values, values)
    return _quotients(traces**2, squares)


def constant_kernels(K: Any) -> Mask:
    """Which kernels (M,) are constant: tr(K)/n - 1'K1/n^2 is negligible beside tr(K)/n."""
    values = as_stack(K)
    diagonal_means = np.einsum("mii->m", values) / values.shape[1]
    variances = diagonal_means - values.mean(axis=(1, 2))
    return np.asarray(variances <= CONSTANT_TOLERANCE * diagonal_means)


def effective_rows(K: Any) -> Array:
    """The number of rows that determine a kernel: (sum_i s_i)^2 / sum_i s_i^2, shape (M,).

    s_i are the squared distances from the mean row in feature space. The number is n where all rows
    are equally far from it, and 2 where two rows are far out and all others are together: such a
    kernel aligns with any other that has a block there. It is 0 for a constant kernel.

    >>> effective_rows(np.diag([1.0, 1.0, 0.0, 0.0])[None]).round(3).tolist()
    [2.769]
    """
    values = as_stack(K)
    diagonals = np.einsum("mii->mi", values)
    row_means = values.mean(axis=1)
    distances = diagonals - 2 * row_means + row_means.mean(axis=1, keepdims=True)
    distances = np.maximum(distances, 0.0)
    sums = distances.sum(axis=1)
    squares = (distances**2).sum(axis=1)
    rows = _quotients(sums**2, squares)
    rows[constant_kernels(values)] = 0.0
    return rows
