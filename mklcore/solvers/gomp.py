"""MKL-GOMP: kernels chosen greedily under an l0 budget, ridge refit after every choice.

    min_f  (1/n) sum_i ||y_i - f(x_i)||^2 + lam ||f||^2      over f in the sum of at most s of the M kernel spaces     (5)

Group orthogonal matching pursuit of Sindhwani and Lozano (2011), with the corrected score of the specification (A.2):

    G <- {}, R <- Y
    repeat   I_j <- (1/n) sum_t R_t' K_j (K_j + lam n I)^{-1} R_t          for every j outside G
             stop if max I_j <= score_tol ||Y||^2 / n, before adding
             G <- G + argmax I_j (ties: lowest index)
             alpha <- (K_G + lam n I)^{-1} Y,   R <- Y - K_G alpha = lam n alpha

Eigendecompositions of the K_j are computed once (``Spectra``) and serve every lam; a step then costs O(M n^2) for the
scores and O(n^3) for the refit. Scores and objective are exact; the choice is greedy, so there is no dual certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mklcore.kernels.checks import one_blas_thread
from mklcore.solvers.driver import Array, Board, Point, Status


@dataclass(frozen=True, eq=False)
class Spectra:
    """Eigendecompositions K_j = U_j diag(d_j) U_j' with negligible eigenvalues cut: ``vectors[j]`` (n, r_j), ``values[j]``."""

    vectors: tuple[Array, ...]
    values: tuple[Array, ...]

    @classmethod
    def of(cls, K: Array) -> Spectra:
        """Decompose every kernel of ``K`` (M, n, n): O(M n^3) time, O(M n r) memory."""
        vectors, values = [], []
        with one_blas_thread():
            for kernel in K:
                d, U = np.linalg.eigh(kernel)
                keep = d > kernel.shape[0] * np.finfo(float).eps * max(float(d[-1]), 0.0)
                vectors.append(np.ascontiguousarray(U[:, keep].T))
                values.append(d[keep])
        return cls(tuple(vectors), tuple(values))

    def scores(self, R: Array, shrink: float, candidates: Array) -> Array:
        """I_j for the residual ``R`` (n, T) and ``shrink`` = lam n; entries outside ``candidates`` are minus infinity."""
        out = np.full(len(self.values), -np.inf)
        for j in candidates:
            energy = np.sum((self.vectors[j] @ R) ** 2, axis=1)
            out[j] = float(np.sum(self.values[j] / (self.values[j] + shrink) * energy)) / R.shape[0]
        return out


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a GOMP point carries: scores before the choice (None at the start) and the residual norm after it."""

    scores: Array | None
    residual_norm: float


class GOMP:
    """MKL-GOMP with squared loss as the driver's method; every step is kept, so one run is a whole path over s.

    ``K`` (M, n, n); ``Y`` (n, T) without intercept; ``lam`` > 0; ``n_kernels`` the budget s; ``score_tol`` relative stop;
    ``n_candidates`` how many kernels are scored per step, redrawn with ``seed`` (None: all); ``allowed`` the kernels that
    may be chosen (None: all), which is how exact duplicates are left out.
    """

    keeps_points = True

    def __init__(
        self,
        K: Array,
        Y: Array,
        lam: float,
        *,
        n_kernels: int,
        score_tol: float,
        n_candidates: int | None = None,
        seed: int | None = None,
        allowed: Array | None = None,
        spectra: Spectra | None = None,
    ) -> None:
        self.K, self.Y, self.lam = K, Y, lam
        self.n_kernels, self.score_tol, self.n_candidates = n_kernels, score_tol, n_candidates
        self.allowed = np.arange(K.shape[0]) if allowed is None else np.asarray(allowed)
        self._spectra = spectra
        self.name = "MKL-GOMP"
        self._random = np.random.default_rng(seed)
        self._sum = np.zeros(K.shape[1:])

    def start(self) -> Point:
        self._sum[:] = 0.0
        self.spectra = self._spectra or Spectra.of(self.K)
        nothing = Chosen(None, float(np.linalg.norm(self.Y)))
        return Point(
            np.zeros(self.K.shape[0]),
            np.zeros_like(self.Y),
            0.0,
            float(np.sum(self.Y**2)) / self.Y.shape[0],
            solves=0,
            selected=(),
            state=nothing,
        )

    def step(self, best: Point, last: Point, board: Board) -> Point | Status:
        chosen = last.selected or ()
        if len(chosen) >= self.n_kernels:
            return Status.COMPLETE
        open_kernels = np.setdiff1d(self.allowed, chosen)
        if open_kernels.size == 0:
            return Status.EXHAUSTED
        n = self.Y.shape[0]
        if self.n_candidates is not None and self.n_candidates < open_kernels.size:
            open_kernels = np.sort(self._random.choice(open_kernels, self.n_candidates, replace=False))
        residual = self.Y - self._sum @ last.dual if chosen else self.Y
        scores = self.spectra.scores(residual, self.lam * n, open_kernels)
        pick = int(np.argmax(scores))
        if scores[pick] <= self.score_tol * float(np.sum(self.Y**2)) / n:
            return Status.NO_GAIN
        return self._refit((*chosen, pick), scores)

    def finish(self, best: Point) -> Point:
        return best

    def _refit(self, chosen: tuple[int, ...], scores: Array) -> Point:
        n = self.Y.shape[0]
        self._sum += self.K[chosen[-1]]
        system = self._sum.copy()
        system.flat[:: n + 1] += self.lam * n
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        dual = cho_solve(factor, self.Y, check_finite=False)
        weights = np.zeros(self.K.shape[0])
        weights[list(chosen)] = 1.0
        objective = self.lam * float(np.sum(self.Y * dual))
        state = Chosen(scores, float(self.lam * n * np.linalg.norm(dual)))
        return Point(weights, dual, 0.0, objective, selected=chosen, state=state)
