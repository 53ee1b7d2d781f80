"""MKL-GOMP for losses other than the squared one: the score is what one kernel alone can still gain, the refit one
machine.

    I_j <- (1/n) sum_i V(y_i, f_i) - min_{g in H_j} { (1/n) sum_i V(y_i, f_i + g(x_i)) + lam ||g||^2 }

which for squared loss is the score of ``gomp``. For a loss with a slope the minimum is found by Newton's method on a
factor of K_j; for the hinge it is a support vector machine whose margins 1 - y_i f_i are what is left to explain, and
kernels that cannot win keep an upper bound of their score once a first effort is spent. A free intercept is fitted with
the machine and stays where it is while kernels are scored.

Source: Sindhwani and Lozano (2011), section 3 ("extensions for other loss functions"); specification, A.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array, Indices, writable
from mklcore.errors import ParameterError
from mklcore.losses import Loss
from mklcore.machines import machine_of
from mklcore.machines.svm import smo_single
from mklcore.solvers.gomp import GOMP, Chosen, GOMPIterate
from mklcore.solvers.gomp import SETTINGS as SHARES
from mklcore.solvers.spectra import Spectra


@dataclass(frozen=True)
class LossGOMPSettings:
    """What the pursuit with other losses is tuned by.

    A value changes how exactly kernels are compared, not the objective that is reported.
    """

    # relative gap of the machine refitted after a choice; of a score, a share of the loss of f = 0
    hinge_tol: float = 1e-9
    smooth_tol: float = 1e-8  # the same where the loss has a slope
    chunk: int = 20_000_000  # matrix entries read by one call of a compiled function, so that a cancel takes effect
    rounds: int = 2  # of scores, the second for the kernels that may still win
    steps: int = 50  # Newton steps of a score at most
    settled: float = 1e-10  # relative fall after which a score has settled


SETTINGS = LossGOMPSettings()


class LossGOMP(GOMP):
    """MKL-GOMP with a ``loss`` that has a slope, or the hinge; ``Y`` (n, T), the losses of the columns add up, one set
    of kernels for all.

    With C = 1 / (2 lam n) every refit is 2 lam times a machine, solved to a relative gap of ``tol``; scores under the
    hinge are exact to that share of the loss of f = 0.
    """

    def __init__(
        self, *args: Any, loss: Loss, fit_intercept: bool = False, tol: float | None = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        if not (loss.sloped or (loss.piecewise_linear and loss.signed)):
            raise ParameterError(f"MKL-GOMP needs the slope of a loss, and {loss.name} has none.")
        self.loss, self.fit_intercept = loss, fit_intercept
        self.tol = tol or (SETTINGS.smooth_tol if loss.sloped else SETTINGS.hinge_tol)
        self.name = f"MKL-GOMP ({loss.name})"
        self._C = 1.0 / (2.0 * self.lam * len(self.Y))

    def init(self) -> GOMPIterate:
        self._duals = np.zeros((self.K.n_kernels, *self.Y.T.shape))  # of the hinge's scores, each the start of the next
        zero = np.zeros(len(self.Y))
        b = np.array([self.loss.best_intercept(zero, y) if self.fit_intercept else 0.0 for y in self.Y.T])
        point = super().init()
        self._energy = self._errors(np.zeros_like(self.Y) + b)
        return replace(point, objective=self._energy, state=Chosen(None, b))

    def _errors(self, f: Array) -> float:
        return float(sum(np.mean(self.loss.value(f[:, t], y)) for t, y in enumerate(self.Y.T)))

    def _scores(self, last: GOMPIterate, candidates: Indices) -> Array:
        offsets = np.asfortranarray(self._sum @ last.dual + last.state.intercepts)
        low, high = np.full((2, self.K.n_kernels), -np.inf)
        contenders, steps = candidates, max(20_000, 40 * len(self.Y))
        for _ in range(SETTINGS.rounds):
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
        """Bounds on the score of kernel ``j``, under the hinge after at most ``steps`` more steps per column."""
        columns = [(t, offsets[:, t], np.ascontiguousarray(y)) for t, y in enumerate(self.Y.T)]
        if self.loss.sloped:
            gain = sum(self._by_newton(j, offset, y) for _, offset, y in columns)
            return gain, gain
        low = high = 0.0
        for t, offset, y in columns:
            margins = 1.0 - y * offset
            left = self._C * float(np.maximum(0.0, margins).sum())
            self._duals[j, t], value, gap = offset_machine(
                self.K.gram(j), y, margins, self._C, self._duals[j, t], self.tol * self._C * y.size, steps
            )
            high += 2.0 * self.lam * (left - value)
            low += 2.0 * self.lam * (left - value - gap)
        return low, high

    def _factor(self, j: int) -> Array:
        """L (n, r) with K_j = L L'."""
        if self.spectra is None:
            self.spectra = Spectra.of(self.K)
        rows = self.spectra.rows(j)
        return np.ascontiguousarray((self.spectra.vectors[rows] * np.sqrt(self.spectra.values[rows])[:, None]).T)

    def _by_newton(self, j: int, offset: Array, y: Array) -> float:
        """The score of kernel ``j`` for one column: Newton's method on g = L beta, backtracking."""
        L, loss, lam, n = self._factor(j), self.loss, self.lam, y.size
        beta, g = np.zeros(L.shape[1]), np.zeros(n)
        start = value = float(np.mean(loss.value(offset, y)))
        for _ in range(SETTINGS.steps):
            slope = L.T @ loss.derivative(offset + g, y) / n + 2.0 * lam * beta
            system = (L * (loss.second_derivative(offset + g, y) / n)[:, None]).T @ L
            system.flat[:: beta.size + 1] += 2.0 * lam
            step = -scipy.linalg.solve(system, slope, assume_a="pos", check_finite=False)
            fall, length = -float(slope @ step), 1.0
            if fall <= SETTINGS.settled * max(abs(start), 1e-300):
                break
            while length > 1e-8:
                new_beta = beta + length * step
                new_g = L @ new_beta
                new = float(np.mean(loss.value(offset + new_g, y))) + lam * float(new_beta @ new_beta)
                if new <= value - 0.25 * length * fall:
                    beta, g, value = new_beta, new_g, new
                    break
                length *= 0.5
            else:
                break
        return start - value

    def _refit(self, chosen: tuple[int, ...], last: GOMPIterate, scores: Array) -> GOMPIterate:
        self._sum += self.K.gram(chosen[-1])
        machine = machine_of(self.loss)
        found = [
            machine(
                self._sum, np.ascontiguousarray(y), self._C, self.loss, self.fit_intercept, warm=a, accuracy=self.tol
            )
            for y, a in zip(self.Y.T, np.ascontiguousarray(last.dual.T), strict=True)
        ]
        dual, b = np.column_stack([one.dual for one in found]), np.array([one.intercept for one in found])
        f = self._sum @ dual
        objective = self._errors(f + b) + self.lam * float(np.sum(dual * f))
        reported = 2.0 * self.lam * sum(one.objective for one in found)
        size = max(abs(objective), abs(self._energy))
        if (
            abs(objective - reported) > SHARES.same * size
            or not objective <= last.objective + max(SHARES.same, self.tol) * size
        ):
            raise self._too_small("the machine of the chosen kernels does not settle")
        return self._point(chosen, dual, objective, Chosen(scores, b))


def offset_machine(
    K: Array, y: Array, margins: Array, C: float, warm: Array, accuracy: float, max_steps: int = 10_000_000
) -> tuple[Array, float, float]:
    """A support vector machine without intercept whose unit margins are replaced by ``margins`` (any sign):

        min_g  C sum_i max(0, m_i - y_i g(x_i)) + 1/2 ||g||^2 = max_a  sum_i m_i y_i a_i - 1/2 a'K a,  0 <= y_i a_i <= C

    ``K`` (n, n), ``y`` (n,) of -1 and +1, ``warm`` (n,) a signed dual to start from, ``accuracy`` an absolute duality
    gap. Returns the signed dual, the dual value and the gap that is left. Source: specification of greedy sparse MKL,
    A.5.
    """
    K, low, high, lin = writable(K), np.minimum(0.0, C * y), np.maximum(0.0, C * y), y * margins
    a = np.clip(warm, low, high)
    v = lin - K @ a
    tolerance, used = 0.1, 0
    while True:
        steps, violation = smo_single(
            K, low, high, 0.0, a, v, tolerance, min(SETTINGS.chunk // y.size + 1, max_steps - used)
        )
        used += steps
        f = lin - v
        value = float(lin @ a) - 0.5 * float(a @ f)
        gap = C * float(np.maximum(0.0, margins - y * f).sum()) + 0.5 * float(a @ f) - value
        if gap <= accuracy or used >= max_steps or tolerance < 1e-14:
            return a, value, gap
        if violation <= tolerance:
            tolerance *= 0.1
