"""Products of stored kernels with a dual that moves: along a solver's steps, and along a path, most of its entries stay, or
grow together with C, so that only the rows of the others are read.

    K_m (s a + d) = s K_m a + K_m d        s the factor of the points that move together, d the difference elsewhere

Everything is summed in double precision; once what was added and taken away is many times what is left, or d is nearly as
dense as the dual itself, the products are made afresh.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.kernels.operators.base import KernelOperator, same_kernels

_WORTH = 0.8  # of the rows of a dual: more of them are no quicker than all of them
_MOST = 30.0  # times the dual's own size that may have been added up: the rounding of so many sums shows nowhere
_ALIKE = 4.0 * np.finfo(float).eps  # relative difference of a dual and a multiple of another that is rounding


@dataclass(frozen=True, eq=False)
class Running:
    """``products`` (L, n) = K_m a of the kernels ``live`` (L,) of M with the ``dual`` a (n,); ``added`` is the
    sum of the |changes| that they were summed from."""

    kernels: KernelOperator
    live: Indices
    dual: Array
    products: Array
    added: float

    @classmethod
    def afresh(cls, kernels: KernelOperator, live: Indices, dual: Array) -> Running:
        """The products from scratch."""
        found = kernels.matvec(dual, live)
        return cls(kernels, live, dual, found, float(np.abs(dual).sum()))

    @property
    def forms(self) -> Array:
        """Q (L,) = a'K_m a, negative round-off clipped."""
        return np.maximum(self.products @ self.dual, 0.0)

    def at(self, dual: Array) -> Running:
        """The products with another dual (n,), by the rows in which it differs where these are few."""
        if dual is self.dual:
            return self
        factor, rows = self._way(dual)
        change = dual - factor * self.dual
        size, added = float(np.abs(dual).sum()), abs(factor) * self.added + float(np.abs(change[rows]).sum())
        if rows.size > _WORTH * np.count_nonzero(dual) or not added <= _MOST * size:
            return Running.afresh(self.kernels, self.live, dual)
        found = factor * self.products
        if rows.size:
            here = np.zeros_like(change)
            here[rows] = change[rows]
            found += self.kernels.matvec(here, self.live)
        return Running(self.kernels, self.live, dual, found, added)

    def among(self, places: Indices) -> Running:
        """The same for some of the kernels, by their ``places`` in ``live``."""
        return Running(self.kernels, self.live[places], self.dual, self.products[places], self.added)

    def _way(self, dual: Array) -> tuple[float, Indices]:
        """The factor that leaves the fewest rows to read, and these rows: that of most points, or 1."""
        there = np.flatnonzero(self.dual)
        factors = {1.0, float(np.median(dual[there] / self.dual[there]))} if there.size else {1.0}
        ways = [(factor, self._differing(dual, factor)) for factor in sorted(factors)]
        return min(ways, key=lambda way: way[1].size)

    def _differing(self, dual: Array, factor: float) -> Indices:
        return np.flatnonzero(np.abs(dual - factor * self.dual) > _ALIKE * np.abs(dual))


def moved(running: Running | None, kernels: KernelOperator, live: Indices, dual: Array) -> Running:
    """The products of the kernels ``live`` with ``dual`` by what is at hand, where that is of these kernels."""
    if running is None or not same_kernels(running.kernels, kernels) or not np.array_equal(running.live, live):
        return Running.afresh(kernels, live, dual)
    return running.at(dual)
