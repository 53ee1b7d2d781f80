"""MKL-GOMP: kernels chosen greedily under an l0 budget, the machine refitted after every choice.

    min_f  (1/n) sum_i V(y_i, f(x_i)) + lam ||f||^2      over f in the sum of at most s of the M kernel spaces     (5)

Group orthogonal matching pursuit of Sindhwani and Lozano (2011), with the corrected score of the specification (A.2):

    G <- {}, R <- Y
    repeat   I_j <- (1/n) sum_t R_t' K_j (K_j + lam n I)^{-1} R_t          for every j outside G
             stop if max I_j <= score_tol ||Y||^2 / n, before adding
             G <- G + argmax I_j (ties: lowest index)
             alpha <- (K_G + lam n I)^{-1} Y,   R <- Y - K_G alpha = lam n alpha

Eigendecompositions of the K_j are computed once (``Spectra``) and serve every lam; a step then costs O(M n^2) for the
scores and O(n^3) for the refit. ``solvers.gomp_losses`` replaces both for the other losses. The choice is greedy, so
there is no certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError
from mklcore.kernels.operators import KernelOperator, as_operator
from mklcore.solvers.driver import Iterate, Method, Status, Trace
from mklcore.solvers.proof import Certificate
from mklcore.solvers.spectra import Spectra, exact_score, factor_of

__all__ = ["GOMP", "Chosen", "Spectra"]


@dataclass(frozen=True)
class GOMPSettings:
    """What the pursuit takes for equal.

    The values are shares of what rounding or a machine leaves open.
    """

    same: float = 1e-6  # share of the objective by which one number may seem two
    rounded: float = 1e-12  # the same, of the loss of f = 0
    single: float = 1e-5  # share of the residual's energy by which scores in single precision may be wrong, and more


SETTINGS = GOMPSettings()


@dataclass(frozen=True, eq=False)
class Chosen:
    """State of an iterate: scores before the choice (None at the start), intercepts (T,)."""

    scores: Array | None
    intercepts: Array = field(default_factory=lambda: np.zeros(1))


GOMPIterate: TypeAlias = Iterate[Chosen]


class GOMP(Method[Chosen]):
    """MKL-GOMP with squared loss as the driver's method; every step is kept, so one run is a whole path over s.

    ``K`` (M, n, n) or an operator; ``Y`` (n, T) without intercept; ``lam`` > 0; ``n_kernels`` the budget s;
    ``score_tol`` relative stop;
    ``n_candidates`` how many kernels are scored per step, redrawn with ``seed`` (None: all); ``allowed`` the kernels
    that may be chosen (None: all), which is how exact duplicates are left out. Without ``n_candidates`` the scores of
    kernels already chosen are computed too: they show how much of their own direction is still shrunk away.
    """

    keeps_points = True
    name = "MKL-GOMP"

    def __init__(
        self,
        K: Array | KernelOperator,
        Y: Array,
        lam: float,
        *,
        n_kernels: int,
        score_tol: float,
        n_candidates: int | None = None,
        seed: int | None = None,
        allowed: Indices | None = None,
        spectra: Spectra | None = None,
    ) -> None:
        self.K, self.spectra = as_operator(K), spectra
        self.Y, self.lam = Y, lam
        self.n_kernels, self.score_tol, self.n_candidates = n_kernels, score_tol, n_candidates
        self.allowed: Indices = np.arange(self.K.n_kernels) if allowed is None else np.asarray(allowed)
        self._random = np.random.default_rng(seed)

    def init(self) -> GOMPIterate:
        self._forget()
        self._energy = self._errors(np.zeros_like(self.Y))
        return self._point((), np.zeros_like(self.Y), self._energy, Chosen(None), solves=0)

    def _forget(self) -> None:
        """Start without kernels."""
        self._sum = np.zeros((len(self.Y), len(self.Y)))

    def step(self, best: GOMPIterate, last: GOMPIterate, trace: Trace) -> GOMPIterate | Status:
        chosen = last.selected or ()
        if len(chosen) >= self.n_kernels:
            return Status.COMPLETE
        candidates = np.setdiff1d(self.allowed, chosen)
        if candidates.size == 0:
            return Status.EXHAUSTED
        if self.n_candidates is not None and self.n_candidates < candidates.size:
            candidates = np.sort(self._random.choice(candidates, self.n_candidates, replace=False))
        scores = self._scores(last, candidates)
        pick = int(candidates[np.argmax(scores[candidates])])
        if scores[pick] <= self.score_tol * self._energy:
            return Status.NO_GAIN
        return self._refit((*chosen, pick), last, scores)

    def certify(self, best: GOMPIterate, dual_point: Array | None) -> Certificate:
        """The objective of (5) from the chosen kernels, their coefficients and the intercepts."""
        f = sum((self.K.gram(j) @ best.dual for j in best.selected or ()), np.zeros_like(self.Y))
        errors = self._errors(f + best.state.intercepts)
        return Certificate(errors + self.lam * float(np.sum(best.dual * f)), floor=1e-15 * abs(self._energy))

    def _errors(self, f: Array) -> float:
        """The mean loss of f (n, T)."""
        return float(np.sum((self.Y - f) ** 2)) / len(self.Y)

    def _scores(self, last: GOMPIterate, candidates: Indices) -> Array:
        if self.spectra is None:
            self.spectra = Spectra.of(self.K)
        residual = self.Y - self._sum @ last.dual if last.selected else self.Y
        scored = self.allowed if self.n_candidates is None else candidates
        shrink = self.lam * self.Y.shape[0]
        scores = self.spectra.scores(residual, shrink, scored)
        if (
            self.spectra.vectors.dtype == np.float32
        ):  # in single precision: those that may be the largest again, in double
            close = float(scores[candidates].max()) - SETTINGS.single * float(np.sum(residual**2)) / len(residual)
            for j in candidates[scores[candidates] >= close]:
                scores[j] = exact_score(factor_of(self.K, int(j)), residual, shrink)
        return scores

    def _refit(self, chosen: tuple[int, ...], last: GOMPIterate, scores: Array) -> GOMPIterate:
        self._sum += self.K.gram(chosen[-1])
        dual, objective = self._ridge(self._sum)
        self._check(objective, dual)
        if not objective <= last.objective * (1 + SETTINGS.same):
            raise self._too_small("the objective depends on rounding")
        return self._point(chosen, dual, objective, Chosen(scores))

    def _ridge(self, total: Array) -> tuple[Array, float]:
        """Coefficients on a sum of kernels, and the objective."""
        system = total.copy()
        system.flat[:: len(system) + 1] += self.lam * len(self.Y)
        dual = self._solved(system, self.Y)
        f = total @ dual
        return dual, self._errors(f) + self.lam * float(np.sum(dual * f))

    def _solved(self, system: Array, rhs: Array) -> Array:
        try:
            factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise self._too_small("the sum of the chosen kernels plus lam n I is singular") from None
        solution: Array = scipy.linalg.cho_solve(factor, rhs, check_finite=False)
        return solution

    def _check(self, objective: float, dual: Array) -> None:
        """ParameterError where the system was not solved as asked: then lam Y'dual is another number."""
        reported = self.lam * float(np.sum(self.Y * dual))
        if not abs(objective - reported) <= SETTINGS.same * reported + SETTINGS.rounded * self._energy:
            raise self._too_small("the objective depends on rounding")

    def _too_small(self, why: str) -> ParameterError:
        return ParameterError(
            f"lam={self.lam:.3g} is too small for these kernels: in double precision {why}. Take a larger lam, from "
            f"about 1e-10 "
            "of the largest eigenvalue of the kernels over n on."
        )

    def _point(
        self, chosen: tuple[int, ...], dual: Array, objective: float, state: Chosen, solves: int | None = None
    ) -> GOMPIterate:
        weights = np.zeros(self.K.n_kernels)
        weights[list(chosen)] = 1.0
        solves = self.Y.shape[1] if solves is None else solves
        return Iterate(weights, dual, 0.0, objective, solves=solves, selected=chosen, state=state)
