"""MKL-GOMP on features, from sums over the rows: choosing and refitting read Phi'Phi and Phi'Y alone.

With K_j = Phi_j Phi_j' the score and the refit of ``solvers.gomp`` are systems of the size of a block or of the chosen blocks:

    I_j <- (1/n) sum_t r_t'(Phi_j'Phi_j + lam n I)^(-1) r_t,     r = Phi_j'(Y - Phi_G v) = c_j - S_jG v
    v <- (Phi_G'Phi_G + lam n I)^(-1) Phi_G'Y

The rows are read once more for the dual (Y - Phi_G v) / (lam n) of every step that is kept.
"""

from __future__ import annotations

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.kernels.operators.factored import FeatureStack
from mklcore.solvers.driver import Iterate
from mklcore.solvers.gomp import GOMP, Chosen, GOMPIterate
from mklcore.solvers.proof import Certificate


class FeatureGOMP(GOMP):
    """``GOMP`` with squared loss on a ``FeatureStack``; arguments as there, with the features in place of the kernels."""

    name = "MKL-GOMP of the approximated kernels"

    def __init__(
        self,
        stack: FeatureStack,
        Y: Array,
        lam: float,
        *,
        n_kernels: int,
        score_tol: float,
        n_candidates: int | None = None,
        seed: int | None = None,
        allowed: Indices | None = None,
    ) -> None:
        self.stack, self._S, self._c = stack, stack.gram_of_features, stack.coefficients(Y)
        self._choose(Y, lam, stack.n_kernels, n_kernels, score_tol, n_candidates, seed, allowed)

    def init(self) -> GOMPIterate:
        self._energy, self._v = self._nothing(), np.zeros((self.stack.table.shape[1], self.Y.shape[1]))
        chosen = Chosen(None, self._residual_norm(self.Y))
        weights = np.zeros(self.stack.n_kernels)
        return Iterate(weights, np.zeros_like(self.Y), 0.0, self._energy, solves=0, selected=(), state=chosen)

    def certify(self, best: GOMPIterate, dual_point: Array | None) -> Certificate:
        """The objective from the chosen kernels and their coefficients."""
        u = self.stack.coefficients(best.dual) * self.stack.spread(best.weights)[:, None]
        size = self.lam * float(np.sum(u * u))
        return Certificate(self._errors(self.stack.times(u)) + size, floor=1e-15 * self._nothing())

    def _scores(self, last: GOMPIterate, candidates: Indices) -> Array:
        n, scored = len(self.Y), self.allowed if self.n_candidates is None else candidates
        left, out = self._c - self._S @ self._v, np.full(self.stack.n_kernels, -np.inf)
        for j in scored:
            part = self.stack.transform.part(int(j))
            r = left[part]
            out[j] = float(np.sum(r * scipy.linalg.cho_solve(self._system(np.arange(part.start, part.stop)), r))) / n
        return out

    def _system(self, columns: Indices) -> tuple[Array, bool]:
        block = self._S[np.ix_(columns, columns)]
        block.flat[:: columns.size + 1] += self.lam * len(self.Y)
        try:
            factor: tuple[Array, bool] = scipy.linalg.cho_factor(
                block, lower=True, overwrite_a=True, check_finite=False
            )
        except np.linalg.LinAlgError:
            raise self._too_small("a block of features plus lam n I is singular") from None
        return factor

    def _refit(self, chosen: tuple[int, ...], last: GOMPIterate, scores: Array) -> GOMPIterate:
        parts = [self.stack.transform.part(j) for j in chosen]
        columns = np.concatenate([np.arange(part.start, part.stop) for part in parts])
        self._v = np.zeros_like(self._v)
        self._v[columns] = scipy.linalg.cho_solve(self._system(columns), self._c[columns], check_finite=False)
        residual = self.Y - self.stack.times(self._v)
        dual = residual / (self.lam * len(self.Y))
        objective = float(np.sum(residual**2)) / len(self.Y) + self.lam * float(np.sum(self._v**2))
        reported = self.lam * float(np.sum(self.Y * dual))  # the same number, where the system was solved as asked
        if not (abs(objective - reported) <= 1e-6 * reported + 1e-12 * self._energy):
            raise self._too_small("the objective depends on rounding")
        return self._point(chosen, dual, objective, Chosen(scores, self._residual_norm(residual)))

    def _point(self, chosen: tuple[int, ...], dual: Array, objective: float, state: Chosen) -> GOMPIterate:
        weights = np.zeros(self.stack.n_kernels)
        weights[list(chosen)] = 1.0
        return Iterate(weights, dual, 0.0, objective, solves=self.Y.shape[1], selected=chosen, state=state)
