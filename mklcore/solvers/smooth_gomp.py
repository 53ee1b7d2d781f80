"""MKL-GOMP for every loss with a slope: the score is what one kernel alone can still gain, the refit one machine.

    I_j <- (1/n) sum_i V(y_i, f_i) - min_{g in H_j} { (1/n) sum_i V(y_i, f_i + g(x_i)) + lam ||g||^2 }

which for squared loss is the score of ``gomp``. The minimum is found by Newton's method on a factor of K_j. A free intercept is
fitted with the machine and stays where it is while kernels are scored.

Source: Sindhwani and Lozano (2011), section 3 ("extensions for other loss functions"); specification, A.5.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError
from mklcore.losses import Loss
from mklcore.machines import machine_of
from mklcore.solvers.gomp import GOMP, Chosen, GOMPIterate
from mklcore.solvers.proof import Certificate
from mklcore.solvers.spectra import Spectra

TOL = 1e-8  # relative duality gap of the refitted machine
_STEPS, _SETTLED = 50, 1e-10
_SAME = 1e-6


class SmoothGOMP(GOMP):
    """MKL-GOMP with a loss that has a slope; ``Y`` (n, T), the losses of the columns add up, one set of kernels for all."""

    name = "MKL-GOMP (smooth loss)"

    def __init__(self, *args: Any, loss: Loss, fit_intercept: bool = False, tol: float = TOL, **options: Any) -> None:
        super().__init__(*args, **options)
        if not loss.sloped:
            raise ParameterError(f"MKL-GOMP needs the slope of a loss, and {loss.name} has none.")
        self.loss, self.fit_intercept, self.tol = loss, fit_intercept, tol

    def init(self) -> GOMPIterate:
        point = super().init()
        zero = np.zeros(len(self.Y))
        b = [self.loss.best_intercept(zero, y) if self.fit_intercept else 0.0 for y in self.Y.T]
        self._energy = self._total(np.zeros_like(self.Y), np.array(b))
        return replace(point, objective=self._energy, state=Chosen(None, None, np.array(b)))

    def certify(self, best: GOMPIterate, dual_point: Array | None) -> Certificate:
        """The objective from the chosen kernels, their coefficients and the intercepts."""
        f = sum((self.K.gram(j) @ best.dual for j in best.selected or ()), np.zeros_like(self.Y))
        size = self.lam * float(np.sum(best.dual * f))
        return Certificate(self._total(f, best.state.intercepts) + size, floor=1e-15 * abs(self._energy))

    def _total(self, f: Array, b: Array) -> float:
        return float(sum(np.mean(self.loss.value(f[:, t] + b[t], y)) for t, y in enumerate(self.Y.T)))

    def _nothing(self) -> float:
        return self._total(np.zeros_like(self.Y), np.zeros(self.Y.shape[1]))

    def _residual_norm(self, R: Array) -> float | None:
        return None

    def _scores(self, last: GOMPIterate, candidates: Indices) -> Array:
        offsets = (self._sum @ last.dual if last.selected else np.zeros_like(self.Y)) + last.state.intercepts
        scores = np.full(self.K.n_kernels, -np.inf)
        for j in candidates:
            scores[j] = sum(
                self._gain(int(j), np.ascontiguousarray(offsets[:, t]), np.ascontiguousarray(y))
                for t, y in enumerate(self.Y.T)
            )
        return scores

    def _factor(self, j: int) -> Array:
        """L (n, r) with K_j = L L'."""
        if self.spectra is None:
            self.spectra = Spectra.of(self.K)
        rows = self.spectra.rows(j)
        return np.ascontiguousarray((self.spectra.vectors[rows] * np.sqrt(self.spectra.values[rows])[:, None]).T)

    def _gain(self, j: int, offset: Array, y: Array) -> float:
        """The score of kernel ``j`` for one column: Newton's method on g = L beta, backtracking."""
        L, loss, lam, n = self._factor(j), self.loss, self.lam, y.size
        beta, g = np.zeros(L.shape[1]), np.zeros(n)
        start = value = float(np.mean(loss.value(offset, y)))
        for _ in range(_STEPS):
            slope = L.T @ loss.derivative(offset + g, y) / n + 2.0 * lam * beta
            system = (L * (loss.second_derivative(offset + g, y) / n)[:, None]).T @ L
            system.flat[:: beta.size + 1] += 2.0 * lam
            step = -scipy.linalg.solve(system, slope, assume_a="pos", check_finite=False)
            fall, length = -float(slope @ step), 1.0
            if fall <= _SETTLED * max(abs(start), 1e-300):
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
        n = len(self.Y)
        self._sum += self.K.gram(chosen[-1])
        C, machine = 1.0 / (2.0 * self.lam * n), machine_of(self.loss)
        found = [
            machine(self._sum, np.ascontiguousarray(y), C, self.loss, self.fit_intercept, warm=a, accuracy=self.tol)
            for y, a in zip(self.Y.T, np.ascontiguousarray(last.dual.T), strict=True)
        ]
        dual = np.column_stack([one.dual for one in found])
        f, b = self._sum @ dual, np.array([one.intercept for one in found])
        objective = self._total(f, b) + self.lam * float(np.sum(dual * f))
        reported = 2.0 * self.lam * sum(one.objective for one in found)
        size = max(abs(objective), abs(self._energy))
        if abs(objective - reported) > _SAME * size or not objective <= last.objective + _SAME * size:
            raise self._too_small("the machine of the chosen kernels does not settle")
        return self._point(chosen, dual, objective, Chosen(scores, None, b))
