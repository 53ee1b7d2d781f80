"""M kernels on n rows and their weighted sum, as solvers see them: protocols and implementations.

There are three forms of kernels. `Dense` stores Gram matrices (`grams.GramStack` is one),
`features.Features` stores features whose inner products are the kernels, and `grams.Rows` stores
the table and computes kernel values on request. Solvers check a ``Capability`` and never the class,
and a method declares in ``requires`` which capabilities it needs. `CachedOperator` remembers
results of any of the three: the dual and the weights change little from step to step of a solver,
and from point to point of a path, so that an earlier result is most of the next one:

    K_m (s a + d) = s K_m a + K_m d

where s is the factor of the rows that change proportionally, and d the difference in the others.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Indices, factorised, read_only
from mklcore.errors import KernelError
from mklcore.kernels import by_numpy
from mklcore.kernels.kernel_map import mirror


class Capability(enum.Enum):
    """What kernels can do beyond the protocol; the value describes it in words."""

    DENSE = "Gram matrices stored in double precision, as one array ``values`` (M, n, n)"
    STORED = (
        "kernel values that are stored, so that reading them again costs no more than their bytes"
    )
    FEATURES = (
        "features Phi_m with K_m = Phi_m Phi_m', which give forms, sums and their systems without "
        "kernel values"
    )
    FACTORS = "factors L (r, n) with K_m = L'L, without the Gram matrix"


@runtime_checkable
class WeightedSum(Protocol):
    """K_theta = sum_m theta_m K_m on n rows.

    ``matrix`` (n, n) is None where the sum is represented by features only.
    """

    @property
    def matrix(self) -> Array | None: ...

    def matvec(self, a: Array) -> Array:
        """K_theta a for a (n,) or (n, T), of the same shape."""
        ...

    def block(self, rows: Indices) -> Array:
        """K_theta among some rows, (r, r)."""
        ...

    def solve(self, rhs: Array, shift: float | Array) -> Array:
        """(K_theta + diag(shift))^-1 rhs for rhs (n,) or (n, T) and shift > 0.

        Raises ``LinAlgError`` where the matrix is singular.
        """
        ...

    def factor(self, shift: float | Array) -> Callable[[Array], Array]:
        """A function that solves (K_theta + diag(shift)) z = r for r (n,) or (n, T).

        The matrix is factorised once.
        """
        ...


@runtime_checkable
class KernelOperator(Protocol):
    """M kernels on n training rows."""

    @property
    def n_kernels(self) -> int:
        """M."""
        ...

    @property
    def n_samples(self) -> int:
        """n."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What these kernels can do beyond the protocol."""
        ...

    def diagonals(self) -> Array:
        """K_m(x_i, x_i) of every kernel, (M, n)."""
        ...

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some of them (k, n).

        Rows where a is zero are not read.
        """
        ...

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some of them (k,), at least 0."""
        ...

    def combine(self, weights: Array) -> WeightedSum:
        """sum_m weights_m K_m for weights (M,)."""
        ...

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among ascending rows, (r, r)."""
        ...

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        ...

    def rows(self, i: Indices | slice) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        ...

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        ...

    def select(self, kernels: Indices) -> KernelOperator:
        """Some of the kernels."""
        ...

    def take(self, rows: Indices) -> KernelOperator:
        """The kernels among some of the training rows, with the scales and centring of all rows."""
        ...

    def cross(self, X_new: Any) -> Any:
        """Kernel values (M, n_new, n) between new rows X_new (n_new, d) and the training rows."""
        ...

    def blocks(self, X_new: Any = None) -> Any:
        """``cross(X_new)``, or the kernels among the training rows, for computing scores.

        Where these would be too large, the result computes scores a few rows at a time.
        """
        ...


def is_operator(X: Any) -> bool:
    """Whether ``X`` is a kernel operator and not a table of columns."""
    # Checking a protocol for all its members can take longer than a product.
    return hasattr(type(X), "combine_block")


def is_stored(kernels: KernelOperator) -> bool:
    """Whether kernel values are stored; else every sum computes all of them again."""
    return Capability.STORED in kernels.capabilities


def is_scored(blocks: Any) -> bool:
    """Whether blocks only compute scores, because their kernel values are not stored."""
    return hasattr(type(blocks), "scores")


def frobenius_norms(kernels: KernelOperator) -> Array:
    """||K_m|| of every kernel, (M,); where there are features Phi_m, that of Phi_m'Phi_m."""
    source: Any = kernels  # only kernels with Capability.FEATURES have factors
    norms = np.empty(kernels.n_kernels)
    for m in range(norms.size):
        matrix = kernels.gram(m)
        if Capability.FEATURES in kernels.capabilities:
            L = source.factor(m)
            matrix = L @ L.T
        norms[m] = np.linalg.norm(matrix)
    return norms


def as_operator(K: Any) -> KernelOperator:
    """``K`` if it is an operator, else an operator on the array (M, n, n)."""
    return K if is_operator(K) else Dense(np.asarray(K))


# -- stored Gram matrices


class DenseSum:
    """A weighted sum as one matrix (n, n), which must not change while its systems are solved.

    The newest factor is kept, because a Newton step solves with the factor of its machine. Where
    many shifts follow one another, as along a path over C, the matrix is reduced to a tridiagonal
    matrix once:

        K = Q T Q',     (K + s I)^-1 = Q (T + s I)^-1 Q'

    This costs as much as three Cholesky factors, and O(n^2) for every further shift.
    """

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self._n_factors = 0
        self._factored: tuple[Array, Callable[[Array], Array]] | None = None
        self._tridiagonal: Tridiagonal | None = None

    def matvec(self, a: Array) -> Array:
        return self.matrix @ a

    def block(self, rows: Indices) -> Array:
        part: Array = self.matrix[np.ix_(rows, rows)]
        return part

    def solve(self, rhs: Array, shift: float | Array) -> Array:
        shifts = np.broadcast_to(shift, len(self.matrix))
        if self._factored is None or not np.array_equal(self._factored[0], shifts):
            is_even = len(shifts) > 1 and bool(np.all(shifts == shifts[0]))
            if is_even and self._n_factors >= FACTORS_BEFORE:
                self._tridiagonal = self._tridiagonal or Tridiagonal(self.matrix)
                return self._tridiagonal.solve(rhs, float(shifts[0]))
            self._n_factors += is_even
            self._factored = shifts.copy(), self.factor(shift)
        return self._factored[1](rhs)

    def factor(self, shift: float | Array) -> Callable[[Array], Array]:
        return factorised(self.matrix.copy(), shift)


# The number of Cholesky factors that cost as much as reducing the matrix to tridiagonal form.
FACTORS_BEFORE = 3


class Tridiagonal:
    """A symmetric matrix (n, n) as Q T Q', T tridiagonal and Q a product of reflections."""

    def __init__(self, matrix: Array) -> None:
        lapack = scipy.linalg.lapack
        n = len(matrix)
        lwork = int(lapack.dsytrd_lwork(n, lower=1)[0])
        reduced, self._diagonal, self._off_diagonal, self._tau, _ = lapack.dsytrd(
            matrix, lower=1, lwork=lwork
        )
        self._reflections = np.asfortranarray(reduced[1:, :-1])

    def solve(self, rhs: Array, shift: float) -> Array:
        """(K + shift I)^-1 rhs for rhs (n,) or (n, T).

        Raises ``LinAlgError`` where the matrix is not positive definite.
        """
        turned = self._turned(rhs.reshape(len(rhs), -1), "T")
        shifted = self._diagonal + shift
        *_, solved, info = scipy.linalg.lapack.dptsv(shifted, self._off_diagonal, turned)
        if info:
            raise np.linalg.LinAlgError(
                f"The leading minor of order {info} is not positive definite."
            )
        return self._turned(solved, "N").reshape(rhs.shape)

    def _turned(self, columns: Array, side: str) -> Array:
        """Q' columns where ``side`` is "T", Q columns where it is "N".

        The first row does not change.
        """
        turned = np.array(columns, order="F")
        lwork = 64 * len(columns)  # for blocks of reflections
        below = np.asfortranarray(turned[1:])
        turned[1:] = scipy.linalg.lapack.dormqr(
            "L", side, self._reflections, self._tau, below, lwork=lwork
        )[0]
        return turned


class Dense:
    """M Gram matrices on n rows in one array ``values`` (M, n, n), float64 and C-contiguous.

    Compiled functions read them, except for rows where the dual is zero.
    """

    capabilities = frozenset({Capability.DENSE, Capability.STORED})

    n_kernels: int
    n_samples: int

    def __init__(self, values: Array) -> None:
        self.values = read_only(values)
        self.n_kernels, self.n_samples = values.shape[:2]

    def diagonals(self) -> Array:
        """K_m(x_i, x_i) of every kernel, (M, n)."""
        return np.ascontiguousarray(np.einsum("mii->mi", self.values))

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some of them (k, n).

        Rows where a is zero are not read.
        """
        chosen = np.arange(self.n_kernels) if kernels is None else kernels
        return products_of(self.values, a, np.flatnonzero(a), chosen)

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some of them (k,), at least 0.

        For a (n, T) it is the sum over its columns.
        """
        chosen = np.arange(self.n_kernels) if kernels is None else kernels
        if a.ndim == 2:
            return np.maximum(
                [np.vdot(self.values[m] @ a, a) for m in chosen],
                0.0,
            )
        return forms_of(self.values, a, np.flatnonzero(a), chosen)

    def combine(self, weights: Array, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,), in ``out`` (n, n) where it is given."""
        matrix = np.empty(self.values.shape[1:]) if out is None else out
        add_up(self.values, np.flatnonzero(weights), weights, matrix)
        return DenseSum(matrix)

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among ascending rows, as a new (r, r) matrix."""
        return block_of(self.values, np.flatnonzero(weights), weights, rows)

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        used = np.flatnonzero(weights)
        return weights[used] @ self.matvec(a, used)

    def rows(self, i: Indices | slice) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        return self.values[:, i, :]

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        gram: Array = self.values[m]
        return gram

    def select(self, kernels: Indices) -> Dense:
        """Some of the kernels, copied."""
        return Dense(np.ascontiguousarray(self.values[kernels]))

    def take(self, rows: Indices) -> Dense:
        """The kernels among some of the rows, copied."""
        return Dense(grams_among(self.values, rows, rows))

    def cross(self, X_new: Any) -> Array:
        """Raises ``KernelError``: an array does not know its kernel functions."""
        raise KernelError(
            "This stack was made from an array, so it cannot evaluate its kernels on new rows. "
            "Pass test blocks of shape (M, n_new, n) to predict instead."
        )

    def blocks(self, X_new: Any = None) -> Array:
        """Kernel values of new rows, or among the training rows."""
        return self.values if X_new is None else self.cross(X_new)


def grams_among(K: Array, rows: Indices, columns: Indices) -> Array:
    """Kernel values (M, a, b) of some rows and columns of K (M, n, n), as a new array.

    One kernel after another: choosing in all of them at once takes four times as long.
    """
    found = np.empty((len(K), rows.size, columns.size))
    for gram, part in zip(K, found, strict=True):
        np.take(gram[rows], columns, axis=1, out=part, mode="wrap")  # "raise" copies once more
    return found


@jit_entry({"contract"}, numpy=by_numpy.add_up)
def add_up(K: Array, live: Indices, weights: Array, out: Array) -> None:
    """out = sum over ``live`` of weights[m] K[m].

    Upper triangles are read, rows of four kernels at a time.
    """
    n = out.shape[0]
    last = live.size - 1
    for i in range(n):
        row = out[i, i:]
        row[:] = 0.0
        for d in range(0, live.size, 4):
            m0 = live[d]
            m1 = live[min(d + 1, last)]
            m2 = live[min(d + 2, last)]
            m3 = live[min(d + 3, last)]
            w0 = weights[m0]
            w1 = weights[m1] if d < last else 0.0
            w2 = weights[m2] if d + 1 < last else 0.0
            w3 = weights[m3] if d + 2 < last else 0.0
            s0 = K[m0, i, i:]
            s1 = K[m1, i, i:]
            s2 = K[m2, i, i:]
            s3 = K[m3, i, i:]
            for k in range(row.size):
                row[k] += (w0 * s0[k] + w1 * s1[k]) + (w2 * s2[k] + w3 * s3[k])
    mirror(out)


@jit_entry(numpy=by_numpy.block_of)
def block_of(K: Array, live: Indices, weights: Array, rows: Indices) -> Array:
    """The same sum among ascending rows, as a new (r, r) matrix."""
    r = rows.size
    out = np.zeros((r, r))
    for m in live:
        for i in range(r):
            source = K[m, rows[i]]
            w = weights[m]
            for k in range(i, r):
                out[i, k] += w * source[rows[k]]
    mirror(out)
    return out


@jit_entry({"contract"}, numpy=by_numpy.products_of)
def products_of(K: Array, a: Array, rows: Indices, live: Indices) -> Array:
    """K[m] a for m in ``live``, where a is nonzero on ``rows``.

    Four rows are added at a time, because the sums of a single one would keep the memory waiting.
    """
    M = live.size
    n = K.shape[1]
    G = np.zeros((M, n))
    last = rows.size - 1
    for k in range(M):
        source = K[live[k]]
        target = G[k]
        for d in range(0, rows.size, 4):
            r0 = rows[d]
            r1 = rows[min(d + 1, last)]
            r2 = rows[min(d + 2, last)]
            r3 = rows[min(d + 3, last)]
            c0 = a[r0]
            c1 = a[r1] if d < last else 0.0
            c2 = a[r2] if d + 1 < last else 0.0
            c3 = a[r3] if d + 2 < last else 0.0
            s0 = source[r0]
            s1 = source[r1]
            s2 = source[r2]
            s3 = source[r3]
            for i in range(n):
                target[i] += c0 * s0[i] + c1 * s1[i] + c2 * s2[i] + c3 * s3[i]
    return G


@jit_entry({"reassoc", "contract"}, numpy=by_numpy.forms_of)
def forms_of(K: Array, a: Array, rows: Indices, live: Indices) -> Array:
    """a'K[m] a for m in ``live``, where a is nonzero on ``rows``.

    The whole upper part of each row is read, which takes a third of the time of reading single
    entries.
    """
    Q = np.zeros(live.size)
    for m in range(live.size):
        total = 0.0
        gram = K[live[m]]
        for r in rows:
            source = gram[r, r:]
            tail = a[r:]
            inner = 0.0
            for k in range(source.size):
                inner += source[k] * tail[k]
            total += a[r] * (2.0 * inner - source[0] * a[r])
        Q[m] = max(total, 0.0)
    return Q


# -- the cache


# Share of the rows of a dual that is worth reading: reading more is no faster than reading all.
WORTH_READING = 0.8
# Products are recomputed when the changes that were added up exceed this many times the dual.
MOST_ADDED = 30.0
N_FORMS = 4  # duals whose forms are remembered where kernels are not stored
# Relative difference below which two duals, or two vectors of weights, count as equal.
_ROUNDING = 4.0 * np.finfo(float).eps


def way_between(known: Array, a: Array) -> tuple[float, Indices]:
    """The factor s and the fewest rows in which a (n,) differs from s times a ``known`` dual.

    s is 1, or the median of the ratios of both.
    """
    support = np.flatnonzero(known)
    rounding = _ROUNDING * np.abs(a)
    rows = np.flatnonzero(np.abs(a - known) > rounding)
    if support.size and rows.size:
        middle = support.size // 2
        s = float(np.partition(a[support] / known[support], middle)[middle])
        scaled_rows = np.flatnonzero(np.abs(a - s * known) > rounding)
        if scaled_rows.size < rows.size:
            return s, scaled_rows
    return 1.0, rows


@dataclass(frozen=True, eq=False)
class Products:
    """``values`` (k, n) = K_m a for some ``kernels`` (k,) and a ``dual`` a (n,).

    ``added`` is the sum of |changes| from which they were added up.
    """

    kernels: Indices
    dual: Array
    values: Array
    added: float


class CachedOperator:
    """M kernels on n rows that remember products, quadratic forms and weighted sums.

    Parameters
    ----------
    source : the kernels themselves
    """

    def __init__(self, source: KernelOperator) -> None:
        self.source = source
        self.capabilities = source.capabilities
        self.n_kernels = source.n_kernels
        self.n_samples = source.n_samples
        # Forms and scores of stored kernels use products with all kernels, which are computed
        # anyway, and most of them are remembered.
        has_features = Capability.FEATURES in source.capabilities
        self.keeps_products = is_stored(source) and not has_features
        self._everything: Indices = np.arange(source.n_kernels)
        self._wholes: list[Products] = []  # the newest two of all kernels
        self._part: Products | None = None  # the newest of some kernels
        # Duals and the forms of all kernels, where kernels are not stored.
        self._forms: list[tuple[Array, Array]] = []
        # The newest weights (M,), and the sum with them.
        self._summed: tuple[Array, DenseSum] | None = None
        # The rows that a solver has read, in single precision, if it keeps them.
        self.row_cache: RowCache | None = None
        # The newest two sums on features, with their weights.
        self._on_features: list[tuple[Array, WeightedSum]] = []
        self.rows = source.rows
        self.gram = source.gram
        self.diagonals = source.diagonals
        self.select = source.select
        self.take = source.take
        self.cross = source.cross
        self.blocks = source.blocks

    @property
    def values(self) -> Any:
        """The array (M, n, n) of kernels that have one."""
        source: Any = self.source  # only kernels with Capability.DENSE have values
        return source.values

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some of them (k, n); not to be written to.

        If ``a`` is s times an earlier dual except in a few rows, the earlier products are updated.
        """
        chosen = self._everything if kernels is None else kernels
        size = float(np.abs(a).sum())
        added = size
        values = None
        remembered = list(self._wholes)
        if self._part is not None and np.array_equal(self._part.kernels, chosen):
            remembered.append(self._part)
        ways = [(earlier, *way_between(earlier.dual, a)) for earlier in remembered]
        if ways:
            nearest, factor, rows = min(ways, key=lambda way: way[2].size)
            known = nearest.values
            if not np.array_equal(nearest.kernels, chosen):
                known = known[chosen]
            if factor == 1.0 and not rows.size:
                return known
            change = np.zeros_like(a)
            change[rows] = a[rows] - factor * nearest.dual[rows]
            updated = abs(factor) * nearest.added + float(np.abs(change).sum())
            is_fast = is_stored(self) and rows.size <= WORTH_READING * np.count_nonzero(a)
            if (is_fast or not rows.size) and updated <= MOST_ADDED * size:
                added = updated
                values = factor * known
                if rows.size:
                    values += self.source.matvec(change, chosen)
        if values is None:
            values = self.source.matvec(a, chosen)
        products = Products(chosen, a.copy(), values, added)
        if chosen is self._everything:
            self._wholes = [products, *self._wholes[:1]]
        else:
            self._part = products
        return values

    def learn(self, a: Array, products: Array) -> None:
        """Remember products (M, n) of all kernels with ``a`` (n,) that were computed elsewhere."""
        learnt = Products(
            self._everything,
            a.copy(),
            products,
            float(np.abs(a).sum()),
        )
        self._wholes = [learnt, *self._wholes[:1]]

    def knows(self, a: Array) -> bool:
        """Whether products of all kernels with a multiple of ``a`` (n,) are remembered."""
        return any(way_between(earlier.dual, a)[1].size == 0 for earlier in self._wholes)

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some of them (k,), at least 0."""
        if self.keeps_products or (kernels is None and self.knows(a)):
            return np.maximum(self.matvec(a, kernels) @ a, 0.0)
        if kernels is not None:
            return self.source.quad(a, kernels)
        for dual, forms in self._forms:
            factor, rows = way_between(dual, a)
            if not rows.size:
                return np.asarray(factor**2 * forms)
        forms = self.source.quad(a)
        self._forms = [(a.copy(), forms), *self._forms[: N_FORMS - 1]]
        return forms

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        if self.keeps_products or self.knows(a):
            used = np.flatnonzero(weights)
            return weights[used] @ self.matvec(a, used)
        known = self._sum_with(weights)
        return self.source.decision(weights, a) if known is None else known.matvec(a)

    def combine(self, weights: Array) -> WeightedSum:
        """sum_m weights_m K_m for weights (M,), valid until the next call.

        The newest two sums on features are kept with their factors, because a step is tried from
        the last one.
        """
        source: Any = self.source
        if Capability.FEATURES in self.capabilities:
            for theta, earlier in self._on_features:
                if np.array_equal(theta, weights):
                    return earlier
            theta = weights.copy()
            total: WeightedSum = source.combine(theta)
            self._on_features = [(theta, total), *self._on_features[:1]]
            return total
        known = self._sum_with(weights)
        if known is None:
            buffer = None if self._summed is None else self._summed[1].matrix
            known = source.combine(weights, buffer)
            self._summed = weights.copy(), known
        return known

    def solve_block(self, weights: Array, rows: Indices, shift: Array, rhs: Array) -> Array:
        """(K_theta[rows, rows] + diag(shift))^-1 rhs for some ascending rows.

        A ``shift`` below the rounding of a singular block is raised to it. Raises ``LinAlgError``
        where the block is singular.
        """
        if Capability.FEATURES in self.capabilities:
            total: Any = self.combine(weights)
            solved: Array = total.solve_block(rows, shift, rhs)
            return solved
        block = self._sum_with(weights) if rows.size == self.n_samples else None
        if block is None:
            block = DenseSum(self.combine_block(weights, rows))
        rounding = 1e-10 * float(np.trace(block.matrix)) / rows.size
        return block.solve(rhs, np.maximum(shift, rounding))

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among ascending rows, (r, r)."""
        if is_stored(self) and self._sum_with(weights) is None:
            return self.source.combine_block(weights, rows)
        return self.combine(weights).block(rows)

    @property
    def n_features(self) -> int:
        """The number of features of all kernels together, for kernels with features."""
        source: Any = self.source  # only kernels with Capability.FEATURES have a table
        return int(source.table.shape[1])

    def _sum_with(self, weights: Array) -> DenseSum | None:
        """The sum that is remembered, if it has these weights up to rounding."""
        if self._summed is None:
            return None
        summed, known = self._summed
        return known if np.all(np.abs(weights - summed) <= _ROUNDING * np.abs(summed)) else None


class RowCache:
    """The most recently used rows of all kernels, as float32, within a memory budget.

    ``slab`` (most, M, n) holds the rows; ``fetch`` returns their slots, and ``slot`` (n,) is the
    slot of each row or -1.
    """

    def __init__(self, source: KernelOperator, budget_mb: float, least: int) -> None:
        self.source = source
        M = source.n_kernels
        n = source.n_samples
        self.most: int = min(
            n,
            max(least, int(budget_mb * 1e6 / (4 * M * n))),
        )
        self.slab = np.empty((self.most, M, n), dtype=np.float32)
        self.slot = np.full(n, -1)
        self._used: OrderedDict[int, None] = OrderedDict()
        self.is_full = False  # whether the next missing row replaces the oldest one

    def oldest(self, most: int) -> Indices:
        """At most ``most`` rows of the cache, beginning with the one that is replaced first."""
        return np.array(list(islice(self._used, most)), dtype=np.int64)

    def fetch(self, rows: Indices) -> Indices:
        """The slots of at most ``most`` rows, in their order; missing rows are computed."""
        for i in rows.tolist():
            if i in self._used:
                self._used.move_to_end(i)
        for i in rows[self.slot[rows] < 0].tolist():
            slot = len(self._used)
            if slot == self.most:
                oldest, _ = self._used.popitem(last=False)
                slot = int(self.slot[oldest])
                self.slot[oldest] = -1
            self._used[i] = None
            self.slot[i] = slot
            self.slab[slot] = self.source.rows(slice(i, i + 1))[:, 0]
        self.is_full = len(self._used) == self.most
        return self.slot[rows]


def cached(K: Array | KernelOperator, before: CachedOperator | None = None) -> CachedOperator:
    """``K`` with a memory: that of ``before`` if it has the same kernels."""
    source: Any = as_operator(K)
    operator = source if isinstance(source, CachedOperator) else CachedOperator(source)
    if before is not None and same_kernels(operator.source, before.source):
        return before
    return operator


def same_kernels(one: KernelOperator, other: KernelOperator) -> bool:
    """Whether two operators hold the same kernels: one object, or one array in memory."""
    if one is other:
        return True
    if Capability.DENSE not in one.capabilities & other.capabilities:
        return False
    ours = np.asarray(vars(one)["values"])
    theirs = np.asarray(vars(other)["values"])
    return ours.shape == theirs.shape and ours.ctypes.data == theirs.ctypes.data
