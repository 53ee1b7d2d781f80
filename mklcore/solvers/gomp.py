"""MKL-GOMP: kernels chosen greedily under an l0 budget, the machine refitted after every choice.

    min_f  (1/n) sum_i V(y_i, f(x_i)) + lam ||f||^2      over f in the sum of at most s of the M kernel spaces     (5)

Group orthogonal matching pursuit of Sindhwani and Lozano (2011), with the corrected score of the specification (A.2):

    G <- {}, R <- Y
    repeat   I_j <- (1/n) sum_t R_t' K_j (K_j + lam n I)^{-1} R_t          for every j outside G
             stop if max I_j <= score_tol ||Y||^2 / n, before adding
             G <- G + argmax I_j (ties: lowest index)
             alpha <- (K_G + lam n I)^{-1} Y,   R <- Y - K_G alpha = lam n alpha

Eigendecompositions of the K_j are computed once (``Spectra``) and serve every lam; a step then costs O(M n^2) for the
scores and O(n^3) for the refit. ``HingeGOMP`` replaces score and refit by those of the support vector machine (A.5): the
score is the gain of one kernel when the margins 1 - y_i f_i are what is left to explain,

    I_j <- (1/n) sum_i V(y_i, f_i) - min_{g in H_j} { (1/n) sum_i V(y_i, f_i + g(x_i)) + lam ||g||^2 },

which for squared loss is the score above. Its minimum has no closed form: kernels that cannot win keep an upper bound of
their score once a first effort is spent. The choice is greedy in either case, so there is no certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy

from mklcore.arrays import Array, Indices, writable
from mklcore.errors import ParameterError
from mklcore.kernels.operators import KernelOperator, as_operator
from mklcore.losses import Hinge
from mklcore.machines.svm import smo_single, solve_svm
from mklcore.solvers.driver import Iterate, Method, Status, Trace
from mklcore.solvers.proof import Certificate
from mklcore.solvers.spectra import Spectra, exact_score, factor_of

__all__ = ["GOMP", "Chosen", "HingeGOMP", "Spectra"]

HINGE_TOL = (
    1e-9  # relative duality gap of the machine refitted after a choice; of a score, a share of the loss of f = 0
)
_SAME, _ROUNDED = 1e-6, 1e-12  # shares of the objective and of the loss of f = 0 by which one number may seem two
_CHUNK = 20_000_000  # matrix entries touched in one call of the compiled function, so that a cancel takes effect
_SINGLE = 1e-5  # share of the residual's energy by which scores in single precision may be wrong, and more
_ROUNDS = 2  # of scores, the second for the kernels that may still win


@dataclass(frozen=True, eq=False)
class Chosen:
    """State of an iterate: scores before the choice (None at the start), ||R|| after it for squared loss, intercepts (T,)."""

    scores: Array | None
    residual_norm: float | None
    intercepts: Array = field(default_factory=lambda: np.zeros(1))


GOMPIterate: TypeAlias = Iterate[Chosen]


class GOMP(Method[Chosen]):
    """MKL-GOMP with squared loss as the driver's method; every step is kept, so one run is a whole path over s.

    ``K`` (M, n, n) or an operator; ``Y`` (n, T) without intercept; ``lam`` > 0; ``n_kernels`` the budget s;
    ``score_tol`` relative stop;
    ``n_candidates`` how many kernels are scored per step, redrawn with ``seed`` (None: all); ``allowed`` the kernels that
    may be chosen (None: all), which is how exact duplicates are left out. Without ``n_candidates`` the scores of kernels
    already chosen are computed too: they show how much of their own direction is still shrunk away.
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
        self._sum = np.zeros((len(Y), len(Y)))
        self._choose(Y, lam, self.K.n_kernels, n_kernels, score_tol, n_candidates, seed, allowed)

    def _choose(
        self,
        Y: Array,
        lam: float,
        of: int,
        n_kernels: int,
        score_tol: float,
        n_candidates: int | None,
        seed: int | None,
        allowed: Indices | None,
    ) -> None:
        """Remember what is chosen how, among ``of`` kernels, however these are held."""
        self.Y, self.lam = Y, lam
        self.n_kernels, self.score_tol, self.n_candidates = n_kernels, score_tol, n_candidates
        self.allowed: Indices = np.arange(of) if allowed is None else np.asarray(allowed)
        self._random = np.random.default_rng(seed)

    def init(self) -> GOMPIterate:
        self._sum[:] = 0.0
        self._energy = self._nothing()
        chosen = Chosen(None, self._residual_norm(self.Y))
        return Iterate(
            np.zeros(self.K.n_kernels), np.zeros_like(self.Y), 0.0, self._energy, solves=0, selected=(), state=chosen
        )

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
        """The objective of (5) from the chosen kernels and their coefficients."""
        f = sum((self.K.gram(j) @ best.dual for j in best.selected or ()), np.zeros_like(self.Y))
        size = self.lam * float(np.sum(best.dual * f))
        return Certificate(self._errors(f) + size, floor=1e-15 * self._nothing())

    def _errors(self, f: Array) -> float:
        return float(np.sum((self.Y - f) ** 2)) / len(self.Y)

    def _nothing(self) -> float:
        """The objective of f = 0."""
        return float(np.sum(self.Y**2)) / len(self.Y)

    def _residual_norm(self, R: Array) -> float | None:
        return float(np.linalg.norm(R))

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
            close = float(scores[candidates].max()) - _SINGLE * float(np.sum(residual**2)) / len(residual)
            for j in candidates[scores[candidates] >= close]:
                scores[j] = exact_score(factor_of(self.K, int(j)), residual, shrink)
        return scores

    def _refit(self, chosen: tuple[int, ...], last: GOMPIterate, scores: Array) -> GOMPIterate:
        n = self.Y.shape[0]
        self._sum += self.K.gram(chosen[-1])
        system = self._sum.copy()
        system.flat[:: n + 1] += self.lam * n
        try:
            factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise self._too_small("the sum of the chosen kernels plus lam n I is singular") from None
        dual = scipy.linalg.cho_solve(factor, self.Y, check_finite=False)
        f = self._sum @ dual
        objective = self._errors(f) + self.lam * float(np.sum(dual * f))
        reported = self.lam * float(np.sum(self.Y * dual))  # the same number, where the system was solved as asked
        if not (
            abs(objective - reported) <= _SAME * reported + _ROUNDED * self._energy
            and objective <= last.objective * (1 + _SAME)
        ):
            raise self._too_small("the objective depends on rounding")
        return self._point(chosen, dual, objective, Chosen(scores, self._residual_norm(self.Y - f)))

    def _too_small(self, why: str) -> ParameterError:
        return ParameterError(
            f"lam={self.lam:.3g} is too small for these kernels: in double precision {why}. Take a larger lam, from about 1e-10 "
            "of the largest eigenvalue of the kernels over n on."
        )

    def _point(self, chosen: tuple[int, ...], dual: Array, objective: float, state: Chosen) -> GOMPIterate:
        weights = np.zeros(self.K.n_kernels)
        weights[list(chosen)] = 1.0
        return Iterate(weights, dual, 0.0, objective, solves=self.Y.shape[1], selected=chosen, state=state)


class HingeGOMP(GOMP):
    """MKL-GOMP with the hinge loss: ``Y`` (n, T) of -1 and +1; the losses of the T columns add up, one set of kernels.

    With C = 1 / (2 lam n) every problem here is 2 lam times a support vector machine without intercept, solved to a relative
    gap of ``tol``; scores are exact to that share of the loss of f = 0.
    """

    name = "MKL-GOMP (hinge)"

    def __init__(self, *args: Any, tol: float = HINGE_TOL, **options: Any) -> None:
        super().__init__(*args, **options)
        self.tol = tol

    def init(self) -> GOMPIterate:
        self._duals = np.zeros((self.K.n_kernels, *self.Y.T.shape))  # of the scores, each the start of the next
        return super().init()

    def _errors(self, f: Array) -> float:
        return float(np.sum(np.maximum(0.0, 1.0 - self.Y * f))) / len(self.Y)

    def _nothing(self) -> float:
        return float(self.Y.shape[1])

    def _residual_norm(self, R: Array) -> float | None:
        return None

    @property
    def _C(self) -> float:
        return 1.0 / (2.0 * self.lam * len(self.Y))

    def _scores(self, last: GOMPIterate, candidates: Indices) -> Array:
        margins = 1.0 - self.Y * (self._sum @ last.dual) if last.selected else np.ones_like(self.Y)
        low, high = np.full((2, self.K.n_kernels), -np.inf)
        contenders, steps = candidates, max(20_000, 40 * self.Y.shape[0])
        for _ in range(_ROUNDS):
            for j in contenders:
                low[j], high[j] = self._score(j, margins, steps)
            least = max(float(low[candidates].max()), self.score_tol * self._energy)
            unsure = high[candidates] - low[candidates] > 2 * self.tol * self.Y.shape[1]
            contenders = candidates[unsure & (high[candidates] >= least)]
            if contenders.size == 0:
                break
            steps *= 4
        return high

    def _score(self, j: int, margins: Array, steps: int) -> tuple[float, float]:
        """Bounds on the score of kernel ``j`` after at most ``steps`` more steps per column."""
        low = high = 0.0
        accuracy = self.tol * self._C * self.Y.shape[0]
        for t in range(self.Y.shape[1]):
            y, m = np.ascontiguousarray(self.Y[:, t]), np.ascontiguousarray(margins[:, t])
            left = self._C * float(np.maximum(0.0, m).sum())
            self._duals[j, t], value, gap = offset_machine(
                self.K.gram(int(j)), y, m, self._C, self._duals[j, t], accuracy, steps
            )
            high += 2.0 * self.lam * (left - value)
            low += 2.0 * self.lam * (left - value - gap)
        return low, high

    def _refit(self, chosen: tuple[int, ...], last: GOMPIterate, scores: Array) -> GOMPIterate:
        self._sum += self.K.gram(chosen[-1])
        machines = [
            solve_svm(self._sum, np.ascontiguousarray(y), self._C, Hinge(), False, warm=a, accuracy=self.tol)
            for y, a in zip(self.Y.T, np.ascontiguousarray(last.dual.T), strict=True)
        ]
        dual = np.column_stack([machine.dual for machine in machines])
        f = self._sum @ dual
        objective = self._errors(f) + self.lam * float(np.sum(dual * f))
        reported = 2.0 * self.lam * sum(machine.objective for machine in machines)
        if abs(objective - reported) > 0.1 * _SAME * objective:
            raise self._too_small("the objective depends on rounding")
        if not objective <= last.objective * (1.0 + max(_SAME, self.tol)):
            raise self._too_small("the machine of the chosen kernels does not settle")
        return self._point(chosen, dual, objective, Chosen(scores, None))


def offset_machine(
    K: Array, y: Array, margins: Array, C: float, warm: Array, accuracy: float, max_steps: int = 10_000_000
) -> tuple[Array, float, float]:
    """A support vector machine without intercept whose unit margins are replaced by ``margins`` (any sign):

        min_g  C sum_i max(0, m_i - y_i g(x_i)) + 1/2 ||g||^2 = max_a  sum_i m_i y_i a_i - 1/2 a'K a,   0 <= y_i a_i <= C

    ``K`` (n, n), ``y`` (n,) of -1 and +1, ``warm`` (n,) a signed dual to start from, ``accuracy`` an absolute duality gap.
    Returns the signed dual, the dual value and the gap that is left. Source: specification of greedy sparse MKL, A.5.
    """
    K, low, high, lin = writable(K), np.minimum(0.0, C * y), np.maximum(0.0, C * y), y * margins
    a = np.clip(warm, low, high)
    v = lin - K @ a
    tolerance, used = 0.1, 0
    while True:
        steps, violation = smo_single(K, low, high, 0.0, a, v, tolerance, min(_CHUNK // y.size + 1, max_steps - used))
        used += steps
        f = lin - v
        value = float(lin @ a) - 0.5 * float(a @ f)
        gap = C * float(np.maximum(0.0, margins - y * f).sum()) + 0.5 * float(a @ f) - value
        if gap <= accuracy or used >= max_steps or tolerance < 1e-14:
            return a, value, gap
        if violation <= tolerance:
            tolerance *= 0.1
