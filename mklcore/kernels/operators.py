"""M kernels on n rows, and their weighted sum, as solvers see them: two protocols, stored matrices,
and one cache.

There are three forms. `Dense` stores Gram matrices (`grams.GramStack` is one), `features.Features`
stores features whose inner products are the kernels, `rows.Rows` stores the table and computes what
is asked for. A solver never asks which class it works on: what differs is a ``Capability``, and a
method that needs one says so in ``requires``. `CachedOperator` remembers what any of the three
answered: the dual and the weights of a solver move little from step to step, and from one point of
a path to the next, so that an earlier answer makes most of the next one.

    K_m (s a + d) = s K_m a + K_m d        s the factor of the rows that move together, d the difference elsewhere
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
from mklcore.kernels.fills import mirror

NO_FUNCTIONS = (
    "This stack was made from an array, so it cannot evaluate its kernels on new rows. "
    "Pass test blocks of shape (M, n_new, n) to predict instead."
)


class Capability(enum.Enum):
    """What kernels can do beyond the protocol; the value says it."""

    DENSE = "Gram matrices stored in double precision, as one array ``values`` (M, n, n)"
    STORED = (
        "kernel values that are stored, so that reading them again costs no more than their bytes"
    )
    FEATURES = (
        "features Phi_m with K_m = Phi_m Phi_m', by which forms, sums and their systems cost "
        "no kernel value"
    )
    FACTORS = "factors L (r, n) with K_m = L'L, without the Gram matrix"


@runtime_checkable
class WeightedSum(Protocol):
    """K_theta = sum_m theta_m K_m on n rows; ``matrix`` (n, n) where it is made, None where only
    features are.
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
        """(K_theta + diag(shift))^-1 rhs for rhs (n,) or (n, T) and shift > 0; ``LinAlgError``
        where that is singular.
        """
        ...

    def factor(self, shift: float | Array) -> Callable[[Array], Array]:
        """What solves (K_theta + diag(shift)) z = r for r (n,) or (n, T), factorised once."""
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
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n).

        Rows where a is zero are not read.
        """
        ...

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,); negative round-off is clipped
        to 0.
        """
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
        """The kernels among some of the training rows; scales and centring stay those of all rows."""
        ...

    def cross(self, X_new: Any) -> Any:
        """The kernels between new rows X_new (n_new, d) and the training rows, as blocks (M, n_new,
        n).
        """
        ...

    def blocks(self, X_new: Any = None) -> Any:
        """What models score rows by: ``cross(X_new)``, or the kernels among the training rows;
        where these would be too large, what makes them a few rows at a time.
        """
        ...


def is_operator(X: Any) -> bool:
    """Whether ``X`` is kernels on rows, not a table of columns."""
    # asking a protocol for all its members takes longer than many a product
    return hasattr(type(X), "combine_block")


def is_stored(kernels: KernelOperator) -> bool:
    """Whether kernel values are stored; else every sum computes all of them again."""
    return Capability.STORED in kernels.capabilities


def is_scored(blocks: Any) -> bool:
    """Whether blocks of kernel values are not stored, so that all one can ask for are scores of
    them.
    """
    return hasattr(type(blocks), "scores")


def frobenius_norms(kernels: KernelOperator) -> Array:
    """||K_m|| of every kernel, (M,); where there are features Phi_m, that of Phi_m'Phi_m."""
    if Capability.FEATURES in kernels.capabilities:
        factors = (kernels.factor(m) for m in range(kernels.n_kernels))  # type: ignore[attr-defined]
        return np.array([float(np.linalg.norm(L @ L.T)) for L in factors])
    return np.array([float(np.linalg.norm(kernels.gram(m))) for m in range(kernels.n_kernels)])


def as_operator(K: Any) -> KernelOperator:
    """``K`` where it is an operator, else the one on the array (M, n, n)."""
    return K if is_operator(K) else Dense(np.asarray(K))


# -- stored Gram matrices


class DenseSum:
    """A weighted sum as one matrix (n, n) in double precision, which must not change while its
    systems are solved.

    The newest factor is kept, since a Newton step solves with that of its machine. Where many
    shifts follow one another, as along a path over C, the matrix is made tridiagonal once:

        K = Q T Q',     (K + s I)^-1 = Q (T + s I)^-1 Q'

    That takes as long as three Cholesky factors, and O(n^2) for every further shift.
    """

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self._n_factors = 0
        self._factored: tuple[Array, Callable[[Array], Array]] | None = None
        self._tridiagonal: Tridiagonal | None = None

    def matvec(self, a: Array) -> Array:
        product: Array = self.matrix @ a
        return product

    def block(self, rows: Indices) -> Array:
        part: Array = self.matrix[np.ix_(rows, rows)]
        return part

    def solve(self, rhs: Array, shift: float | Array) -> Array:
        shifts = np.broadcast_to(shift, len(self.matrix))
        if self._factored is not None and np.array_equal(self._factored[0], shifts):
            return self._factored[1](rhs)
        is_even = len(shifts) > 1 and bool(np.all(shifts == shifts[0]))
        if is_even and self._n_factors >= FACTORS_BEFORE:
            self._factored = None
            self._tridiagonal = self._tridiagonal or Tridiagonal(self.matrix)
            return self._tridiagonal.solve(rhs, float(shifts[0]))
        self._n_factors += is_even
        self._factored = shifts.copy(), self.factor(shift)
        return self._factored[1](rhs)

    def factor(self, shift: float | Array) -> Callable[[Array], Array]:
        return factorised(self.matrix.copy(), shift)


# Cholesky factors of one matrix, which together cost as much as making it tridiagonal
FACTORS_BEFORE = 3


class Tridiagonal:
    """A symmetric matrix (n, n) as Q T Q' with T tridiagonal and Q a product of Householder
    reflections.
    """

    def __init__(self, matrix: Array) -> None:
        lapack = scipy.linalg.lapack
        n = len(matrix)
        room = int(lapack.dsytrd_lwork(n, lower=1)[0])
        reduced, self._diagonal, self._beside, self._tau, _ = lapack.dsytrd(
            matrix, lower=1, lwork=room
        )
        self._reflections = np.asfortranarray(reduced[1:, :-1])

    def solve(self, rhs: Array, shift: float) -> Array:
        """(K + shift I)^-1 rhs for rhs (n,) or (n, T); ``LinAlgError`` where that is not positive
        definite.
        """
        turned = self._turned(rhs.reshape(len(rhs), -1), "T")
        *_, solved, fault = scipy.linalg.lapack.dptsv(self._diagonal + shift, self._beside, turned)
        if fault:
            raise np.linalg.LinAlgError(
                f"The leading minor of order {fault} is not positive definite."
            )
        return self._turned(solved, "N").reshape(rhs.shape)

    def _turned(self, columns: Array, side: str) -> Array:
        """Q' columns where ``side`` is "T", Q columns where it is "N"; the first row stays as it
        is.
        """
        found = np.array(columns, order="F")
        room = 64 * len(columns)  # of blocks of reflections
        below = np.asfortranarray(found[1:])
        found[1:] = scipy.linalg.lapack.dormqr(
            "L", side, self._reflections, self._tau, below, lwork=room
        )[0]
        return found


class Dense:
    """M Gram matrices on n rows in one array ``values`` (M, n, n), float64 and C-contiguous.

    Compiled functions read them, and never the rows that a dual of zero does not touch.
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
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n).

        Rows where a is zero are not read.
        """
        return products_of(
            self.values,
            a,
            np.flatnonzero(a),
            np.arange(self.n_kernels) if kernels is None else kernels,
        )

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,); negative round-off is clipped
        to 0; for a (n, T) the sum over its columns.
        """
        chosen = np.arange(self.n_kernels) if kernels is None else kernels
        if a.ndim == 2:
            return np.maximum([np.vdot(self.values[m] @ a, a) for m in chosen], 0.0)
        return forms_of(self.values, a, np.flatnonzero(a), chosen)

    def combine(self, weights: Array, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,); made in ``out`` (n, n) where one is given."""
        matrix = np.empty(self.values.shape[1:]) if out is None else out
        add_up(self.values, np.flatnonzero(weights), weights, matrix)
        return DenseSum(matrix)

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among ascending rows, as a new (r, r) matrix."""
        return block_of(self.values, np.flatnonzero(weights), weights, rows)

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        used = np.flatnonzero(weights)
        found: Array = weights[used] @ self.matvec(a, used)
        return found

    def rows(self, i: Indices | slice) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        return self.values[:, i, :]

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        found: Array = self.values[m]
        return found

    def select(self, kernels: Indices) -> Dense:
        """Some of the kernels, copied."""
        return Dense(np.ascontiguousarray(self.values[kernels]))

    def take(self, rows: Indices) -> Dense:
        """The kernels among some of the rows, copied."""
        return Dense(grams_among(self.values, rows, rows))

    def cross(self, X_new: Any) -> Array:
        """KernelError: an array does not know its kernel functions."""
        raise KernelError(NO_FUNCTIONS)

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
    """out = sum over ``live`` of weights[m] K[m]: upper triangles are read, rows of four kernels at
    a time.
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
    """The same among ascending rows, as a new (r, r) matrix."""
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
    """K[m] a for m in ``live``, a read on ``rows``, four at a time: one alone leaves the memory
    waiting for its sums.
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
    """a'K[m] a for m in ``live``: whole runs of each row right of the diagonal are read, which
    takes a third of the time of single entries.
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


# -- what is remembered


WORTH = 0.8  # of the rows of a dual: reading more of them is no faster than reading all
# times the dual's own size that may have been added up before products are computed anew
MOST_ADDED = 30.0
FORMS = 4  # duals whose forms are kept where kernels are not stored
# relative difference of two duals, or of two vectors of weights, that is none
_ROUNDING = 4.0 * np.finfo(float).eps


def way_between(known: Array, a: Array) -> tuple[float, Indices]:
    """The factor s, that of most points or 1, and the fewest rows in which a (n,) is not s times a
    ``known`` dual.
    """
    there = np.flatnonzero(known)
    rounding = _ROUNDING * np.abs(a)
    best = 1.0, np.flatnonzero(np.abs(a - known) > rounding)
    if there.size and best[1].size:
        s = float(np.partition(a[there] / known[there], there.size // 2)[there.size // 2])
        rows = np.flatnonzero(np.abs(a - s * known) > rounding)
        best = (s, rows) if rows.size < best[1].size else best
    return best


@dataclass(frozen=True, eq=False)
class Products:
    """``values`` (k, n) = K_m a of some ``kernels`` (k,) with a ``dual`` a (n,), and the sum of
    |changes| they were added from.
    """

    kernels: Indices
    dual: Array
    values: Array
    added: float


class CachedOperator:
    """M kernels on n rows with a memory of products, quadratic forms and weighted sums.

    Parameters
    ----------
    source : the kernels themselves
    """

    def __init__(self, source: KernelOperator) -> None:
        self.source = source
        self.capabilities = source.capabilities
        self.n_kernels = source.n_kernels
        self.n_samples = source.n_samples
        # Forms and scores by products with all kernels: where these are read anyway, and most of
        # them from memory.
        self.keeps_products = {Capability.STORED, Capability.FEATURES} & source.capabilities == {
            Capability.STORED
        }
        self._everything: Indices = np.arange(source.n_kernels)
        self._wholes: list[Products] = []  # of all kernels, the newest two
        self._part: list[Products] = []  # of some of them, the newest
        # where kernels are not stored: a dual and the forms of all kernels
        self._forms: list[tuple[Array, Array]] = []
        # weights, a dual and the scores they gave
        self._decided: tuple[Array, Array, Array] | None = None
        self._sum = DenseSum(np.empty((0, 0)))
        self._summed: Array | None = None  # the weights (M,) of ``_sum``
        # the rows read so far, in single precision, where a solver keeps them
        self.row_cache: RowCache | None = None
        self._on_features: list[Any] = []
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
        return self.source.values  # type: ignore[attr-defined]  # asked of kernels with Capability.DENSE alone

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n); not to be written to.

        Made from the products of a dual before it, s times which ``a`` is but for few rows, where
        that is less to read.
        """
        asked = self._everything if kernels is None else kernels
        best: Products | None = None
        factor = 0.0
        rows = self._everything
        for one in (*self._wholes, *self._part):
            if one.kernels is self._everything or np.array_equal(one.kernels, asked):
                way = way_between(one.dual, a)
                if best is None or way[1].size < rows.size:
                    best, (factor, rows) = one, way
        added = size = float(np.abs(a).sum())
        found = None
        if best is not None:
            known = best.values if np.array_equal(best.kernels, asked) else best.values[asked]
            if factor == 1.0 and not rows.size:
                return known
            change = np.zeros_like(a)
            change[rows] = a[rows] - factor * best.dual[rows]
            moved = abs(factor) * best.added + float(np.abs(change).sum())
            stored = Capability.STORED in self.capabilities
            is_near = not rows.size or (stored and rows.size <= WORTH * np.count_nonzero(a))
            if is_near and moved <= MOST_ADDED * size:
                added = moved
                found = factor * known
                if rows.size:
                    found += self.source.matvec(change, asked)
        if found is None:
            found = self.source.matvec(a, asked)
        kept = Products(asked, a.copy(), found, added)
        if asked is self._everything:
            self._wholes = [kept, *self._wholes[:1]]
        else:
            self._part = [kept]
        return found

    def learn(self, a: Array, products: Array) -> None:
        """Remember the products (M, n) of all kernels with ``a`` (n,), which somebody else
        computed.
        """
        learnt = Products(self._everything, a.copy(), products, float(np.abs(a).sum()))
        self._wholes = [learnt, *self._wholes[:1]]

    def knows(self, a: Array) -> bool:
        """Whether the products of all kernels with ``a`` (n,) cost no kernel value: those of a
        multiple are there.
        """
        return any(way_between(one.dual, a)[1].size == 0 for one in self._wholes)

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,); negative round-off is clipped
        to 0.
        """
        if self.keeps_products or (kernels is None and self.knows(a)):
            return np.maximum(self.matvec(a, kernels) @ a, 0.0)
        if kernels is not None:
            return self.source.quad(a, kernels)
        for dual, forms in self._forms:
            factor, rows = way_between(dual, a)
            if not rows.size:
                return np.asarray(factor**2 * forms)
        found = self.source.quad(a)
        self._forms = [(a.copy(), found), *self._forms[: FORMS - 1]]
        return found

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        if self.keeps_products or self.knows(a):
            used = np.flatnonzero(weights)
            mixed: Array = weights[used] @ self.matvec(a, used)
            return mixed
        if self._is_summed(weights):
            return self._sum.matvec(a)
        if self._decided is not None and np.array_equal(weights, self._decided[0]):
            factor, rows = way_between(self._decided[1], a)
            if not rows.size:
                return factor * self._decided[2]
        found = self.source.decision(weights, a)
        self._decided = weights.copy(), a.copy(), found
        return found

    def combine(self, weights: Array) -> WeightedSum:
        """sum_m weights_m K_m for weights (M,): good until the next one is asked for.

        Sums on features remember their factor: the newest two, since a step is tried from the last
        one.
        """
        source: Any = self.source
        if Capability.FEATURES in self.capabilities:
            found: Any = next(
                (one for one in self._on_features if np.array_equal(one.theta, weights)), None
            )
            if found is None:
                found = source.combine(weights.copy())
                self._on_features = [found, *self._on_features[:1]]
            total: WeightedSum = found
            return total
        if not self._is_summed(weights):
            matrix = (
                self._sum.matrix
                if self._sum.matrix.size
                else np.empty((self.n_samples, self.n_samples))
            )
            source.combine(weights, matrix)
            self._sum = DenseSum(matrix)
            self._summed = weights.copy()
        return self._sum

    def solve_block(self, weights: Array, rows: Indices, shift: Array, rhs: Array) -> Array:
        """(K_theta[rows, rows] + diag(shift))^-1 rhs for some ascending rows; LinAlgError where it
        is singular.

        A ``shift`` below what rounding makes of a singular block is lifted to that.
        """
        if Capability.FEATURES in self.capabilities:
            total: Any = self.combine(weights)
            solved: Array = total.solve_block(rows, shift, rhs)
            return solved
        if rows.size == self.n_samples and self._is_summed(weights):
            return self._sum.solve(
                rhs, np.maximum(shift, 1e-10 * float(np.trace(self._sum.matrix)) / rows.size)
            )
        block = self.combine_block(weights, rows)
        return DenseSum(block).solve(
            rhs, np.maximum(shift, 1e-10 * float(np.trace(block)) / rows.size)
        )

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among ascending rows, (r, r)."""
        if is_stored(self) and not self._is_summed(weights):
            return self.source.combine_block(weights, rows)
        return self.combine(weights).block(rows)

    @property
    def n_features(self) -> int:
        """How many features kernels of that kind have, all together."""
        return int(self.source.table.shape[1])  # type: ignore[attr-defined]  # asked of kernels with Capability.FEATURES alone

    def _is_summed(self, weights: Array) -> bool:
        """Whether the buffer holds the sum at these weights, but for their rounding."""
        summed = self._summed
        return summed is not None and bool(
            np.all(np.abs(weights - summed) <= _ROUNDING * np.abs(summed))
        )


class RowCache:
    """Least recently used rows within a budget of memory, all kernels of one training row together,
    as float32.

    ``slab`` (most, M, n) float32 holds them; ``fetch`` tells in which slots, ``slot`` (n,) where
    each row is or -1.
    """

    def __init__(self, source: KernelOperator, budget_mb: float, least: int) -> None:
        self.source = source
        M = source.n_kernels
        n = source.n_samples
        self.most: int = min(n, max(least, int(budget_mb * 1e6 / (4 * M * n))))
        self.slab = np.empty((self.most, M, n), dtype=np.float32)
        self.slot = np.full(n, -1)
        self._used: OrderedDict[int, None] = OrderedDict()
        self.is_full = False  # whether the next row that is missing takes the place of the oldest

    def oldest(self, most: int) -> Indices:
        """At most so many of the rows that are here, the one that leaves first in front."""
        return np.array(list(islice(self._used, most)), dtype=np.int64)

    def fetch(self, rows: Indices) -> Indices:
        """Slots of the rows asked for (at most ``most``), in their order; missing ones are
        computed.
        """
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
    """``K`` with a memory: that of ``before`` where that has the same kernels."""
    source: Any = as_operator(K)
    operator = source if isinstance(source, CachedOperator) else CachedOperator(source)
    return (
        before if before is not None and same_kernels(operator.source, before.source) else operator
    )


def same_kernels(one: KernelOperator, other: KernelOperator) -> bool:
    """Whether two operators are the same kernels: one object, or dense ones on one piece of memory."""
    if one is other:
        return True
    if Capability.DENSE not in one.capabilities & other.capabilities:
        return False
    mine, theirs = (np.asarray(vars(kernels)["values"]) for kernels in (one, other))
    return mine.shape == theirs.shape and mine.ctypes.data == theirs.ctypes.data
