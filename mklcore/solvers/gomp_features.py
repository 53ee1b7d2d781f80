"""MKL-GOMP on features, from sums over the rows: choosing and refitting read Phi'Phi and Phi'Y alone.

With K_j = Phi_j Phi_j' the score and the refit of ``solvers.gomp`` are systems of the size of a block or of the chosen
blocks:

    I_j <- (1/n) sum_t r_t'(Phi_j'Phi_j + lam n I)^(-1) r_t,     r = Phi_j'(Y - Phi_G v) = c_j - S_jG v
    v <- (Phi_G'Phi_G + lam n I)^(-1) Phi_G'Y

The rows are read once more for the dual (Y - Phi_G v) / (lam n) of every step that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.kernels.features import Features
from mklcore.solvers.gomp import GOMP, Chosen, GOMPIterate
from mklcore.solvers.proof import Certificate


class FeatureGOMP(GOMP):
    """``GOMP`` with squared loss on a ``Features``; arguments as there, with the features in place of the
    kernels."""

    name = "MKL-GOMP of the approximated kernels"
    K: Features

    def _forget(self) -> None:
        self._S, self._c = self.K.gram_of_features, self.K.coefficients(self.Y)
        self._v = np.zeros_like(self._c)

    def certify(self, best: GOMPIterate, dual_point: Array | None) -> Certificate:
        """The objective from the chosen kernels and their coefficients."""
        u = self.K.coefficients(best.dual) * self.K.spread(best.weights)[:, None]
        size = self.lam * float(np.sum(u * u))
        return Certificate(self._errors(self.K.times(u)) + size, floor=1e-15 * self._energy)

    def _scores(self, last: GOMPIterate, candidates: Indices) -> Array:
        n, scored = len(self.Y), self.allowed if self.n_candidates is None else candidates
        left, out = self._c - self._S @ self._v, np.full(self.K.n_kernels, -np.inf)
        for j in scored:
            columns = self._columns([int(j)])
            out[j] = float(np.sum(left[columns] * self._solution(columns, left[columns]))) / n
        return out

    def _columns(self, kernels: Sequence[int]) -> Indices:
        return np.concatenate([np.r_[self.K.transform.part(j)] for j in kernels])

    def _solution(self, columns: Indices, rhs: Array) -> Array:
        block = self._S[np.ix_(columns, columns)]
        block.flat[:: columns.size + 1] += self.lam * len(self.Y)
        return self._solved(block, rhs)

    def _refit(self, chosen: tuple[int, ...], last: GOMPIterate, scores: Array) -> GOMPIterate:
        columns = self._columns(chosen)
        self._v = np.zeros_like(self._v)
        self._v[columns] = self._solution(columns, self._c[columns])
        residual = self.Y - self.K.times(self._v)
        dual = residual / (self.lam * len(self.Y))
        objective = float(np.sum(residual**2)) / len(self.Y) + self.lam * float(np.sum(self._v**2))
        self._check(objective, dual)
        return self._point(chosen, dual, objective, Chosen(scores))
