"""A decorator that remembers what kernels answered: the dual and the weights of a solver move little from step to step,
and from one point of a path to the next, so that an earlier answer makes most of the next one.

    K_m (s a + d) = s K_m a + K_m d        s the factor of the rows that move together, d the difference elsewhere

Everything is added in double precision. Products are computed anew once the numbers added and taken away are many times
what is left, or where d is nearly as dense as the dual itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.kernels.operators.base import Capability, DenseSum, KernelOperator, WeightedSum, is_stored, same_kernels
from mklcore.kernels.operators.dense import as_operator
from mklcore.kernels.operators.row_cache import RowCache


@dataclass(frozen=True)
class CacheSettings:
    """What the memory of kernels is tuned by.

    Products are sums in double precision whatever the values.
    """

    worth: float = 0.8  # of the rows of a dual: reading more of them is no faster than reading all
    most_added: float = 30.0  # times the dual's own size that may have been added up before products are computed anew
    forms: int = 4  # duals whose forms are kept where kernels are not stored


SETTINGS = CacheSettings()

_ROUNDING = 4.0 * np.finfo(float).eps  # relative difference of two duals, or of two vectors of weights, that is none
_NO_ROWS: Indices = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Products:
    """``values`` (k, n) = K_m a of some ``kernels`` (k,) with a ``dual`` a (n,), and the sum of |changes| they were
    added from.
    """

    kernels: Indices
    dual: Array
    values: Array
    added: float

    @classmethod
    def of(cls, source: KernelOperator, kernels: Indices, dual: Array) -> Products:
        """The products from scratch."""
        return cls(kernels, dual.copy(), source.matvec(dual, kernels), float(np.abs(dual).sum()))

    def at(self, dual: Array, factor: float, rows: Indices, source: KernelOperator) -> Products:
        """The products with another dual (n,), which is ``factor`` times this one except in ``rows``."""
        change = dual - factor * self.dual
        size, added = float(np.abs(dual).sum()), abs(factor) * self.added + float(np.abs(change[rows]).sum())
        dear = rows.size > SETTINGS.worth * np.count_nonzero(dual) or (rows.size > 0 and not is_stored(source))
        if dear or not added <= SETTINGS.most_added * size:
            return Products.of(source, self.kernels, dual)
        found = factor * self.values
        if rows.size:
            here = np.zeros_like(change)
            here[rows] = change[rows]
            found += source.matvec(here, self.kernels)
        return Products(self.kernels, dual.copy(), found, added)

    def places_of(self, kernels: Indices) -> Indices | None:
        """Where some of the kernels are; None unless all of them are here."""
        if not self.kernels.size:
            return None if kernels.size else kernels
        places = np.minimum(np.searchsorted(self.kernels, kernels), self.kernels.size - 1)
        return places if np.array_equal(self.kernels[places], kernels) else None

    def among(self, kernels: Indices) -> Products:
        """The same for some of the kernels, all of which are here."""
        places = self.places_of(kernels)
        return Products(kernels, self.dual, self.values[places], self.added)

    def way_to(self, dual: Array) -> tuple[float, Indices]:
        """The factor that leaves the fewest rows to read for another dual, and these: that of most points, or 1."""
        there = np.flatnonzero(self.dual)
        factors = {1.0}
        if there.size:
            factors.add(float(np.partition(dual[there] / self.dual[there], there.size // 2)[there.size // 2]))
        ways = [(factor, self._differing(dual, factor)) for factor in sorted(factors)]
        return min(ways, key=lambda way: way[1].size)

    def _differing(self, dual: Array, factor: float) -> Indices:
        return np.flatnonzero(np.abs(dual - factor * self.dual) > _ROUNDING * np.abs(dual))


class CachedOperator:
    """M kernels on n rows with a memory of products, quadratic forms and weighted sums.

    Parameters
    ----------
    source : the kernels themselves; sums over them are exact in the precision that they have
    """

    def __init__(self, source: KernelOperator) -> None:
        self.source = source
        # Forms and scores by products with all kernels: where these are read anyway, and most of them from memory.
        self.keeps_products = is_stored(source) and Capability.FEATURES not in source.capabilities
        self._everything: Indices = np.arange(source.n_kernels)
        self._products: list[Products] = []  # the newest first: two of all kernels, one of a subset
        self._forms: list[tuple[Array, Array]] = []  # where kernels are not stored: a dual and the forms of all kernels
        self._decided: tuple[Array, Array, Array] | None = None  # weights, a dual and the scores they gave
        self._sum: Array | None = None
        self._summed: Array | None = None  # the weights (M,) of ``_sum``
        self._rows: RowCache | None = None
        self._on_features: list[Any] = []

    # -- what is remembered

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some in ascending order (k, n); not to be written to."""
        asked = self._everything if kernels is None else kernels
        same = [one for one in self._products if np.array_equal(one.kernels, asked)]
        known = same or [one for one in self._products if one.places_of(asked) is not None]
        found = next((one for one in known if np.array_equal(one.dual, a)), None)
        if found is not None and not same:  # a part of what is remembered is not remembered beside it
            return found.among(asked).values
        if found is None:
            ways = [(one, *one.way_to(a)) for one in known]
            nearest, factor, rows = min(ways, key=lambda way: way[2].size, default=(None, 0.0, _NO_ROWS))
            part = nearest if nearest is None or same else nearest.among(asked)
            found = Products.of(self.source, asked, a) if part is None else part.at(a, factor, rows, self.source)
        self._keep(found)
        return found.values

    def learn(self, a: Array, products: Array) -> None:
        """Remember the products (M, n) of all kernels with ``a`` (n,), which somebody else computed."""
        self._keep(Products(self._everything, a.copy(), products, float(np.abs(a).sum())))

    def knows(self, a: Array) -> bool:
        """Whether the products of all kernels with ``a`` (n,) cost no kernel value: those of a multiple are there."""
        return any(one.way_to(a)[1].size == 0 for one in self._products if self._is_whole(one))

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,); negative round-off is clipped to 0."""
        if self.keeps_products or (kernels is None and self.knows(a)):
            return np.maximum(self.matvec(a, kernels) @ a, 0.0)
        if kernels is not None:
            return self.source.quad(a, kernels)
        for dual, forms in self._forms:
            factor = multiple_of(a, dual)
            if factor is not None:
                return np.asarray(factor**2 * forms)
        found = self.source.quad(a)
        self._forms = [(a.copy(), found), *self._forms[: SETTINGS.forms - 1]]
        return found

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        if self.keeps_products or self.knows(a):
            used = np.flatnonzero(weights)
            mixed: Array = weights[used] @ self.matvec(a, used)
            return mixed
        if self._is_summed(weights):
            assert self._sum is not None
            found: Array = self._sum @ a
        elif self._decided is not None and np.array_equal(weights, self._decided[0]):
            factor = multiple_of(a, self._decided[1])
            found = self.source.decision(weights, a) if factor is None else factor * self._decided[2]
        else:
            found = self.source.decision(weights, a)
        self._decided = weights.copy(), a.copy(), found
        return found

    def combine(self, weights: Array, out: Array | None = None) -> WeightedSum:
        """sum_m weights_m K_m for weights (M,): good until the next one is asked for."""
        if Capability.FEATURES in self.capabilities:
            return self._factored(weights) if out is None else self.source.combine(weights, out)
        if not self._is_summed(weights):
            self.source.combine(weights, self._buffer)
            self._summed = weights.copy()
        if out is None:
            return DenseSum(self._buffer)
        out[:] = self._buffer
        return DenseSum(out)

    def solve_block(self, weights: Array, rows: Indices, shift: Array, rhs: Array) -> Array:
        """(K_theta[rows, rows] + diag(shift))^-1 rhs for some ascending rows; LinAlgError where it is singular."""
        if Capability.FEATURES in self.capabilities:
            return self.combine(weights).solve_block(rows, shift, rhs)
        block = self.combine_block(weights, rows)
        block.flat[:: rows.size + 1] += shift + 1e-10 * np.mean(np.diag(block))
        factor = scipy.linalg.cho_factor(block, lower=True, overwrite_a=True, check_finite=False)
        found: Array = scipy.linalg.cho_solve(factor, rhs, check_finite=False)
        return found

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among ascending rows, (r, r)."""
        if Capability.BLOCKS in self.capabilities and not self._is_summed(weights):
            return self.source.combine_block(weights, rows)
        return self.combine(weights).block(rows)

    @cached_property
    def _diagonals(self) -> Array:
        return self.source.diagonals()

    def diagonals(self) -> Array:
        """K_m(x_i, x_i) of every kernel, (M, n)."""
        return self._diagonals

    def row_cache(self, budget_mb: float, least: int) -> RowCache:
        """The rows read so far, in single precision, within a budget: that of the first who asks."""
        if self._rows is None:
            self._rows = RowCache(self.source, budget_mb, least)
        return self._rows

    # -- what is passed on

    @property
    def n_kernels(self) -> int:
        return self.source.n_kernels

    @property
    def n_samples(self) -> int:
        return self.source.n_samples

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What these kernels can do beyond the protocol."""
        return self.source.capabilities

    @property
    def exact(self) -> CachedOperator:
        """The same kernels with sums in double precision."""
        exact = self.source.exact
        return self if exact is self.source else CachedOperator(exact)

    def with_float32_sums(self) -> CachedOperator:
        """The same kernels with sums in single precision where these cost a fraction; else the kernels themselves."""
        quick = self.source.with_float32_sums()
        return self if quick is self.source else CachedOperator(quick)

    @property
    def values(self) -> Any:
        """The array (M, n, n) of kernels that have one."""
        return self.source.values  # type: ignore[attr-defined]  # asked of kernels with Capability.DENSE alone

    @property
    def n_features(self) -> int:
        """How many features kernels of that kind have, all together."""
        return int(self.source.table.shape[1])  # type: ignore[attr-defined]  # asked of kernels with Capability.FEATURES alone

    def rows(self, i: Indices) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        return self.source.rows(i)

    def row_into(self, i: int, out: Any) -> None:
        """Row i of every kernel into ``out`` (M, n), in the precision of ``out``."""
        self.source.row_into(i, out)

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        return self.source.gram(m)

    def select(self, kernels: Indices) -> KernelOperator:
        """Some of the kernels."""
        return self.source.select(kernels)

    def take(self, rows: Indices) -> KernelOperator:
        """The kernels among some of the training rows."""
        return self.source.take(rows)

    def cross(self, X_new: Any) -> Any:
        """The kernels between new rows and the training rows."""
        return self.source.cross(X_new)

    def blocks(self, X_new: Any = None) -> Any:
        """What models score rows by."""
        return self.source.blocks(X_new)

    # -- inside

    def _factored(self, weights: Array) -> WeightedSum:
        """A sum on features, which remembers its factor: the newest two, since a step is tried from the last one."""
        found = next((one for one in self._on_features if np.array_equal(one.theta, weights)), None)
        if found is None:
            found = self.source.combine(weights.copy())
            self._on_features = [found, *self._on_features[:1]]
        return found

    def _is_whole(self, one: Products) -> bool:
        return one.kernels.size == self._everything.size

    def _keep(self, found: Products) -> None:
        """``found`` in front, and of the others one of all kernels and one of a subset."""
        others = [one for one in self._products if one is not found]
        whole = [one for one in others if self._is_whole(one)][:1]
        some = [one for one in others if not self._is_whole(one)][:1] if self._is_whole(found) else []
        self._products = [found, *whole, *some]

    @property
    def _buffer(self) -> Array:
        if self._sum is None:
            self._sum = np.empty((self.n_samples, self.n_samples))
        return self._sum

    def _is_summed(self, weights: Array) -> bool:
        """Whether the buffer holds the sum at these weights, but for their rounding."""
        summed = self._summed
        return summed is not None and bool(np.all(np.abs(weights - summed) <= _ROUNDING * np.abs(summed)))


def cached(K: Array | KernelOperator, before: CachedOperator | None = None) -> CachedOperator:
    """``K`` with a memory: that of ``before`` where that has the same kernels."""
    operator = K if isinstance(K, CachedOperator) else CachedOperator(as_operator(K))
    return before if before is not None and same_kernels(operator.source, before.source) else operator


def multiple_of(a: Array, b: Array) -> float | None:
    """s with a = s b to rounding, for (n,) vectors; None where there is none."""
    largest = int(np.argmax(np.abs(b)))
    if b[largest] == 0.0:
        return None if np.any(a != 0.0) else 1.0
    factor = float(a[largest] / b[largest])
    return factor if np.allclose(factor * b, a, rtol=1e-12, atol=0.0) else None
