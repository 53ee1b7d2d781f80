"""MKL-GOMP: kernels chosen greedily under an l0 budget, the machine refitted after every choice.

    min_f  (1/n) sum_i V(y_i, f(x_i)) + lam ||f||^2      over f in the sum of at most s of the M kernel spaces     (5)

Group orthogonal matching pursuit of Sindhwani and Lozano (2011). The score is the gain of a kernel
on the residual; the printed one lacks 1/n in one of its two terms, and is then never small:

    G <- {}, R <- Y
    repeat   I_j <- (1/n) sum_t R_t' K_j (K_j + lam n I)^{-1} R_t          for every j outside G
             stop if max I_j <= score_tol ||Y||^2 / n, before adding
             G <- G + argmax I_j (ties: lowest index)
             alpha <- (K_G + lam n I)^{-1} Y,   R <- Y - K_G alpha = lam n alpha

The choice is greedy, so there is no certificate. Eigendecompositions, made once per stack
(``Spectra``), serve every lam; a step then costs O(M n^2) for the scores and O(n^3) for the refit:

    K_j = U_j diag(d_j) U_j',    d_j > n eps d_max    (smaller eigenvalues are rounding)

On features, K_j = Phi_j Phi_j', ``FeatureGOMP`` reads Phi'Phi and Phi'Y alone, in systems of the
size of a block or of the chosen blocks:

    I_j <- (1/n) sum_t r_t'(Phi_j'Phi_j + lam n I)^(-1) r_t,     r = Phi_j'(Y - Phi_G v) = c_j - S_jG v
    v <- (Phi_G'Phi_G + lam n I)^(-1) Phi_G'Y

The rows are read once more for the dual (Y - Phi_G v) / (lam n) of every step that is kept.

For other losses (``LossGOMP``) the score is what one kernel alone can still gain, the refit one
machine:

    I_j <- (1/n) sum_i V(y_i, f_i) - min_{g in H_j} { (1/n) sum_i V(y_i, f_i + g(x_i)) + lam ||g||^2 }

which for squared loss is the score above. For a loss with a slope the minimum is found by Newton's
method on a factor of K_j; for the hinge it is a support vector machine whose margins 1 - y_i f_i
are what is left to explain, and kernels that cannot win keep an upper bound of their score once a
first effort is spent. A free intercept is fitted with the machine and stays where it is while
kernels are scored.

Source: Sindhwani and Lozano (2011), equation (5) and section 3 ("extensions for other loss
functions"), which leaves the score under another loss open: this one is the same for the squared
loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import scipy

from mklcore.arrays import Array, Indices, factorised, one_blas_thread, writable
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.features import Features
from mklcore.kernels.operators import Capability, KernelOperator, as_operator, is_stored
from mklcore.problem.driver import Certificate, Iterate, Method, Status, Trace
from mklcore.problem.losses import Loss
from mklcore.problem.machines import solve_machine
from mklcore.problem.solution import MachineTask
from mklcore.problem.svm import smo_single

__all__ = ["GOMP", "Chosen", "Spectra"]


# What the pursuit takes for equal. The values are shares of what rounding or a machine leaves
# open.

SAME = 1e-6  # share of the objective by which one number may seem two
ROUNDED = 1e-12  # the same, of the loss of f = 0
MOST_MB = 2000.0  # of eigenvectors of kernels that are not stored
MANY = 0.25  # share of the kernels from which on all are scored in one product
# relative gap of the machine refitted after a choice; of a score, a share of the loss of f = 0
HINGE_TOL = 1e-9
SMOOTH_TOL = 1e-8  # the same where the loss has a slope
# matrix entries read by one call of a compiled function, so that a cancel takes effect
CHUNK = 20_000_000
ROUNDS = 2  # of scores, the second for the kernels that may still win
STEPS = 50  # Newton steps of a score at most
SETTLED = 1e-10  # relative fall after which a score has settled


@dataclass(frozen=True, eq=False)
class Chosen:
    """State of an iterate: scores before the choice (None at the start), intercepts (T,)."""

    scores: Array | None
    intercepts: Array = field(default_factory=lambda: np.zeros(1))


GOMPIterate: TypeAlias = Iterate[Chosen]


class GOMP(Method[Chosen]):
    """MKL-GOMP with squared loss as the driver's method; every step is kept, so one run is a whole
    path over s.

    ``K`` (M, n, n) or an operator; ``Y`` (n, T) without intercept; ``lam`` > 0; ``n_kernels`` the
    budget s; ``score_tol`` relative stop;
    ``n_candidates`` how many kernels are scored per step, redrawn with ``seed`` (None: all);
    ``allowed`` the kernels that may be chosen (None: all), which is how exact duplicates are left
    out. Without ``n_candidates`` the scores of kernels already chosen are computed too: they show
    how much of their own direction is still shrunk away.
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
        self.K = as_operator(K)
        self.spectra = spectra
        self.Y = Y
        self.lam = lam
        self.n_kernels = n_kernels
        self.score_tol = score_tol
        self.n_candidates = n_candidates
        self.allowed: Indices = (
            np.arange(self.K.n_kernels) if allowed is None else np.asarray(allowed)
        )
        self._random = np.random.default_rng(seed)

    def init(self) -> GOMPIterate:
        self._forget()
        self._energy = self._errors(np.zeros_like(self.Y))
        return self._point(
            (),
            np.zeros_like(self.Y),
            self._energy,
            Chosen(None),
            solves=0,
        )

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
        f = np.zeros_like(self.Y)
        for j in best.selected or ():
            f = f + self.K.gram(j) @ best.dual
        objective = self._objective(f, best.dual, best.state.intercepts)
        return Certificate(objective, floor=1e-15 * abs(self._energy))

    def _objective(self, f: Array, dual: Array, intercepts: Array | float = 0.0) -> float:
        """(5) at f = K dual (n, T)."""
        return self._errors(f + intercepts) + self.lam * float(np.sum(dual * f))

    def _errors(self, f: Array) -> float:
        """The mean loss of f (n, T)."""
        return float(np.sum((self.Y - f) ** 2)) / len(self.Y)

    def _scores(self, last: GOMPIterate, candidates: Indices) -> Array:
        if self.spectra is None:
            self.spectra = Spectra.of(self.K)
        residual = self.Y - self._sum @ last.dual if last.selected else self.Y
        scored = self.allowed if self.n_candidates is None else candidates
        shrink = self.lam * self.Y.shape[0]
        return self.spectra.scores(residual, shrink, scored)

    def _refit(self, chosen: tuple[int, ...], last: GOMPIterate, scores: Array) -> GOMPIterate:
        self._sum += self.K.gram(chosen[-1])
        dual = self._solved(self._sum.copy(), self.Y, self.lam * len(self.Y))
        objective = self._objective(self._sum @ dual, dual)
        self._check(objective, dual)
        if not objective <= last.objective * (1 + SAME):
            raise self._too_small("the objective depends on rounding")
        return self._point(chosen, dual, objective, Chosen(scores))

    def _solved(self, system: Array, rhs: Array, shift: float = 0.0) -> Array:
        try:
            return factorised(system, shift)(rhs)
        except np.linalg.LinAlgError:
            raise self._too_small(
                "the sum of the chosen kernels plus lam n I is singular"
            ) from None

    def _check(self, objective: float, dual: Array) -> None:
        """ParameterError where the system was not solved as asked: then lam Y'dual is another
        number.
        """
        reported = self.lam * float(np.sum(self.Y * dual))
        if not abs(objective - reported) <= SAME * reported + ROUNDED * self._energy:
            raise self._too_small("the objective depends on rounding")

    def _too_small(self, why: str) -> ParameterError:
        return ParameterError(
            f"lam={self.lam:.3g} is too small for these kernels: in double precision "
            f"{why}. Take a larger lam, from about 1e-10 of the largest eigenvalue of the "
            "kernels over n on."
        )

    def _point(
        self,
        chosen: tuple[int, ...],
        dual: Array,
        objective: float,
        state: Chosen,
        solves: int | None = None,
    ) -> GOMPIterate:
        weights = np.zeros(self.K.n_kernels)
        weights[list(chosen)] = 1.0
        solves = self.Y.shape[1] if solves is None else solves
        return Iterate(weights, dual, 0.0, objective, solves=solves, selected=chosen, state=state)


@dataclass(frozen=True, eq=False)
class Spectra:
    """``vectors`` (P, n): the eigenvectors of all M kernels as rows, kernel after kernel;
    ``values`` (P,) their eigenvalues > 0; ``starts`` (M + 1,) where each kernel begins; ``owner``
    (P,) the kernel each row belongs to.
    """

    vectors: Array
    values: Array
    starts: Indices
    owner: Indices

    @classmethod
    def of(cls, K: Array | KernelOperator) -> Spectra:
        """Decompose every kernel of ``K`` (M, n, n): O(n r^2) time and O(r n) memory for a kernel
        of rank r. KernelError where the eigenvectors of kernels that are not stored would not fit.
        """
        K = as_operator(K)
        M = K.n_kernels
        n = K.n_samples
        eps = np.finfo(float).eps
        room = n * M if is_stored(K) else int(MOST_MB * 1e6 / (8 * n))
        # rows beyond the ranks are never touched
        vectors = np.empty((room, n))
        values = np.empty(room)
        starts = np.zeros(M + 1, dtype=np.int64)
        with one_blas_thread():
            for j in range(M):
                d, U = _eigenvectors(K, j)
                keep = d > n * eps * max(float(d.max(initial=0.0)), 0.0)
                begin = int(starts[j])
                end = int(starts[j]) + int(np.count_nonzero(keep))
                if end > room:
                    raise KernelError(
                        f"The eigenvectors of {M} kernels on {n} rows need more than "
                        f"{MOST_MB:.0f} MB: {end} were found in the first "
                        f"{j + 1}. Use fewer rows or kernels, or smoother ones (larger "
                        "widths)."
                    )
                vectors[begin:end] = U[keep]
                values[begin:end] = d[keep]
                starts[j + 1] = end
        return cls(
            vectors[: starts[-1]],
            values[: starts[-1]],
            starts,
            np.repeat(np.arange(M), np.diff(starts)),
        )

    @property
    def n_kernels(self) -> int:
        return self.starts.size - 1

    @property
    def n_samples(self) -> int:
        return int(self.vectors.shape[1])

    def rows(self, j: int) -> slice:
        """Where kernel ``j`` is in ``vectors`` and ``values``."""
        return slice(int(self.starts[j]), int(self.starts[j + 1]))

    def scores(self, R: Array, shrink: float, candidates: Indices) -> Array:
        """I_j of MKL-GOMP for the residual ``R`` (n, T) and ``shrink`` = lam n, (M,); minus
        infinity outside ``candidates``.

        I_j = (1/n) sum_i d_i / (d_i + shrink) ||u_i'R||^2, the gain of one kernel on the residual.
        """
        share = self.values / (self.values + shrink)
        out = np.full(self.n_kernels, -np.inf)
        if candidates.size > MANY * self.n_kernels:
            energy = share * np.sum((self.vectors @ R) ** 2, axis=1)
            found = np.bincount(self.owner, energy, minlength=self.n_kernels) / self.n_samples
            out[candidates] = found[candidates]
            return out
        for j in candidates:
            part = self.rows(j)
            energy = np.sum((self.vectors[part] @ R) ** 2, axis=1)
            out[j] = share[part] @ energy / self.n_samples
        return out


def _eigenvectors(K: KernelOperator, j: int) -> tuple[Array, Array]:
    """Eigenvalues (r,) of kernel j and its eigenvectors as rows (r, n), by the singular values of a
    factor K_j = L'L.

    The factor of a stored kernel is Cholesky's with pivots, which ends at the rank of the kernel: a
    smooth kernel of few columns has a rank far below n. Where the rank is above n / 2 the matrix
    itself is decomposed.
    """
    if is_stored(K):
        gram = K.gram(j)
        lower, pivots, rank, _ = scipy.linalg.lapack.dpstrf(gram, lower=1)
        if 2 * rank > len(gram):
            values, vectors = np.linalg.eigh(gram)
            return values, vectors.T
        L = np.empty((rank, len(gram)))
        L[:, pivots - 1] = np.tril(lower[:, :rank]).T
    else:
        L = factor_of(K, j)
    _, sizes, rows = scipy.linalg.svd(L, full_matrices=False, check_finite=False)
    return sizes**2, rows


def factor_of(K: KernelOperator, j: int) -> Array:
    """L (r, n) with K_j = L'L. KernelError where the kernels cannot be factored one by one."""
    if Capability.FACTORS not in K.capabilities:
        raise KernelError(
            f"Scores of kernels that are not stored need {Capability.FACTORS.value}; these "
            "have none."
        )
    kernels: Any = K
    found: Array = kernels.factor(j)
    return found


class FeatureGOMP(GOMP):
    """``GOMP`` with squared loss on a ``Features``; arguments as there, with the features in place
    of the kernels.
    """

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
        scored = self.allowed if self.n_candidates is None else candidates
        left = self._c - self._S @ self._v
        out = np.full(self.K.n_kernels, -np.inf)
        for j in scored:
            columns = self._columns([int(j)])
            residual = left[columns]
            gain = np.sum(residual * self._solution(columns, residual))
            out[j] = float(gain) / len(self.Y)
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
        errors = float(np.sum(residual**2)) / len(self.Y)
        objective = errors + self.lam * float(np.sum(self._v**2))
        self._check(objective, dual)
        return self._point(chosen, dual, objective, Chosen(scores))


class LossGOMP(GOMP):
    """MKL-GOMP with a ``loss`` that has a slope, or the hinge; ``Y`` (n, T), the losses of the
    columns add up, one set of kernels for all.

    With C = 1 / (2 lam n) every refit is 2 lam times a machine, solved to a relative gap of
    ``tol``; scores under the hinge are exact to that share of the loss of f = 0.
    """

    def __init__(
        self,
        *args: Any,
        loss: Loss,
        fit_intercept: bool = False,
        tol: float | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        if not (loss.sloped or (loss.piecewise_linear and loss.signed)):
            raise ParameterError(f"MKL-GOMP needs the slope of a loss, and {loss.name} has none.")
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol or (SMOOTH_TOL if loss.sloped else HINGE_TOL)
        self.name = f"MKL-GOMP ({loss.name})"
        self._C = 1.0 / (2.0 * self.lam * len(self.Y))

    def init(self) -> GOMPIterate:
        # of the hinge's scores, each the start of the next
        self._duals = np.zeros((self.K.n_kernels, *self.Y.T.shape))
        zero = np.zeros(len(self.Y))
        b = np.zeros(self.Y.shape[1])
        if self.fit_intercept:
            b[:] = [self.loss.best_intercept(zero, y) for y in self.Y.T]
        point = super().init()
        self._energy = self._errors(np.zeros_like(self.Y) + b)
        return replace(point, objective=self._energy, state=Chosen(None, b))

    def _errors(self, f: Array) -> float:
        columns = zip(f.T, self.Y.T, strict=True)
        return float(sum(np.mean(self.loss.value(t, y)) for t, y in columns))

    def _scores(self, last: GOMPIterate, candidates: Indices) -> Array:
        offsets = np.asfortranarray(self._sum @ last.dual + last.state.intercepts)
        low, high = np.full((2, self.K.n_kernels), -np.inf)
        contenders = candidates
        steps = max(20_000, 40 * len(self.Y))
        for _ in range(ROUNDS):
            for j in contenders:
                low[j], high[j] = self._score(int(j), offsets, steps)
            least = max(float(low[candidates].max()), self.score_tol * self._energy)
            unsure = high[candidates] - low[candidates] > 2 * self.tol * self.Y.shape[1]
            contenders = candidates[unsure & (high[candidates] >= least)]
            if contenders.size == 0:
                break
            steps *= 4
        return high

    def _score(self, j: int, offsets: Array, steps: int) -> tuple[float, float]:
        """Bounds on the score of kernel ``j``, under the hinge after at most ``steps`` more steps
        per column.
        """
        columns = list(zip(offsets.T, np.ascontiguousarray(self.Y.T), strict=True))
        if self.loss.sloped:
            gain = sum(self._by_newton(j, offset, y) for offset, y in columns)
            return gain, gain
        low = high = 0.0
        for t, (offset, y) in enumerate(columns):
            margins = 1.0 - y * offset
            left = self._C * float(np.maximum(0.0, margins).sum())
            self._duals[j, t], value, gap = offset_machine(
                self.K.gram(j),
                y,
                margins,
                self._C,
                self._duals[j, t],
                self.tol * self._C * y.size,
                steps,
            )
            high += 2.0 * self.lam * (left - value)
            low += 2.0 * self.lam * (left - value - gap)
        return low, high

    def _factor(self, j: int) -> Array:
        """L (n, r) with K_j = L L'."""
        if self.spectra is None:
            self.spectra = Spectra.of(self.K)
        rows = self.spectra.rows(j)
        roots = np.sqrt(self.spectra.values[rows])
        return np.ascontiguousarray((self.spectra.vectors[rows] * roots[:, None]).T)

    def _by_newton(self, j: int, offset: Array, y: Array) -> float:
        """The score of kernel ``j`` for one column: Newton's method on g = L beta, backtracking."""
        L = self._factor(j)
        loss = self.loss
        lam = self.lam
        n = y.size
        beta = np.zeros(L.shape[1])
        g = np.zeros(n)
        start = value = float(np.mean(loss.value(offset, y)))
        for _ in range(STEPS):
            slope = L.T @ loss.derivative(offset + g, y) / n + 2.0 * lam * beta
            curvature = loss.second_derivative(offset + g, y) / n
            system = (L * curvature[:, None]).T @ L
            system.flat[:: beta.size + 1] += 2.0 * lam
            step = -scipy.linalg.solve(system, slope, assume_a="pos", check_finite=False)
            fall = -float(slope @ step)
            length = 1.0
            if fall <= SETTLED * max(abs(start), 1e-300):
                break
            while length > 1e-8:
                new_beta = beta + length * step
                new_g = L @ new_beta
                new = float(np.mean(loss.value(offset + new_g, y))) + lam * float(
                    new_beta @ new_beta
                )
                if new <= value - 0.25 * length * fall:
                    beta = new_beta
                    g = new_g
                    value = new
                    break
                length *= 0.5
            else:
                break
        return start - value

    def _refit(self, chosen: tuple[int, ...], last: GOMPIterate, scores: Array) -> GOMPIterate:
        self._sum += self.K.gram(chosen[-1])
        found = []
        for y, a in zip(self.Y.T, np.ascontiguousarray(last.dual.T), strict=True):
            task = MachineTask(np.ascontiguousarray(y), self._C, self.loss, self.fit_intercept)
            found.append(solve_machine(self._sum, task, warm=a, accuracy=self.tol))
        dual = np.column_stack([one.dual for one in found])
        b = np.array([one.intercept for one in found])
        objective = self._objective(self._sum @ dual, dual, b)
        reported = 2.0 * self.lam * sum(one.objective for one in found)
        size = max(abs(objective), abs(self._energy))
        if (
            abs(objective - reported) > SAME * size
            or not objective <= last.objective + max(SAME, self.tol) * size
        ):
            raise self._too_small("the machine of the chosen kernels does not settle")
        return self._point(chosen, dual, objective, Chosen(scores, b))


def offset_machine(
    K: Array, y: Array, margins: Array, C: float, warm: Array, accuracy: float, max_steps: int
) -> tuple[Array, float, float]:
    """A support vector machine without intercept whose unit margins are replaced by ``margins``
    (any sign):

        min_g  C sum_i max(0, m_i - y_i g(x_i)) + 1/2 ||g||^2 = max_a  sum_i m_i y_i a_i - 1/2 a'K a,  0 <= y_i a_i <= C

    ``K`` (n, n), ``y`` (n,) of -1 and +1, ``warm`` (n,) a signed dual to start from, ``accuracy``
    an absolute duality gap. Returns the signed dual, the dual value and the gap that is left.
    """
    K = writable(K)
    low = np.minimum(0.0, C * y)
    high = np.maximum(0.0, C * y)
    lin = y * margins
    a = np.clip(warm, low, high)
    v = lin - K @ a
    tolerance = 0.1
    used = 0
    while True:
        steps, violation = smo_single(
            K, low, high, 0.0, a, v, tolerance, min(CHUNK // y.size + 1, max_steps - used)
        )
        used += steps
        f = lin - v
        value = float(lin @ a) - 0.5 * float(a @ f)
        errors = C * float(np.maximum(0.0, margins - y * f).sum())
        gap = errors + 0.5 * float(a @ f) - value
        if gap <= accuracy or used >= max_steps or tolerance < 1e-14:
            return a, value, gap
        if violation <= tolerance:
            tolerance *= 0.1
