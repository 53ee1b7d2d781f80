"""Alternation for one l1 problem under any loss with a machine, with norms in the kernel spaces and on the data.

    min_f  L(f) = (1/N) sum_i V(f(x_i) + b, y_i) + sum_j ( lam ||f_j||_H + mu ||f_j||_l2(D) )

with ||f_j||_l2(D)^2 = (1/N) sum_i f_j(x_i)^2: what Algorithm 1 of ``greedy.py`` minimises on the kernels chosen. With
lam ||f|| = min_t lam/2 (||f||^2 / t + t), and likewise s for the norm on the data, a minimisation alternates between
one machine on sum_j K_j(t, s), in the eigenvectors of K_j

    d -> 1 / ( lam / (t d) + mu / (s N) ),

and t_j = ||f_j||_H, s_j = ||f_j||_l2(D); each step lowers L. The machine's dual theta proves a lower bound once it is
scaled into

    { theta = v + w for every j:  sqrt(v'K_j v) <= lam,  sqrt(N) ||w|| <= mu }.

Source: the regulariser is named after equation (6) of Jin, Yang and Mahdavi (2013), from Koltchinskii and Yuan (2010).
The alternation and the certificate are our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mklcore.arrays import Array
from mklcore.losses import Loss
from mklcore.machines import machine_of
from mklcore.solvers.block_descent import Minimum
from mklcore.solvers.proof import Certificate
from mklcore.solvers.spectra import Spectra


@dataclass(frozen=True)
class AlternationSettings:
    """What the alternation is tuned by; a value changes how long it takes, not what its certificate proves."""

    rounds: int = 3000
    bisections: int = 80  # for the share of a dual that the norm on the data takes
    gone: float = 1e-12  # share of the largest norm below which a block is none
    fastest: float = 16.0  # exponent of an extrapolated step
    accuracy: float = 1e-8  # of a machine


SETTINGS = AlternationSettings()


@dataclass(frozen=True, eq=False)
class _State:
    """A minimiser on some kernels: dual theta (n,), intercept, coefficients (|S|, n), both norms (|S|,), the
    objective."""

    theta: Array
    intercept: float
    dual: Array
    norms: Array
    on_data: Array
    objective: float


class Blocks:
    """The norms of M kernels on n rows through their eigenvectors, at prices ``lam`` and ``mu``."""

    def __init__(self, spectra: Spectra, lam: float, mu: float) -> None:
        self.spectra, self.lam, self.mu, self.n = spectra, lam, mu, spectra.n_samples

    def parts(self, j: int) -> tuple[Array, Array]:
        """Eigenvectors (r, n) and eigenvalues (r,) of kernel ``j``."""
        rows = self.spectra.rows(j)
        return self.spectra.vectors[rows], self.spectra.values[rows]

    def shrunk(self, j: int, t: float, s: float) -> Array:
        """The eigenvalues of K_j(t, s) over those of K_j."""
        _, d = self.parts(j)
        if t <= 0.0 or (self.mu > 0.0 and s <= 0.0):
            return np.zeros(d.size)
        if self.mu == 0.0:
            return np.full(d.size, t / self.lam)
        return 1.0 / (self.lam / t + self.mu * d / (s * self.n))

    def gauge(self, j: int, theta: Array) -> float:
        """What ``theta`` (n,) has to be divided by to be feasible for kernel ``j``."""
        U, d = self.parts(j)
        c = U @ theta
        whole = float(np.sqrt(np.sum(d * c**2))) / self.lam
        if self.mu == 0.0 or whole == 0.0:
            return whole
        low, high = -40.0, 40.0  # log10 of rho over the largest eigenvalue: w = D / (D + rho) c
        for _ in range(SETTINGS.bisections):
            middle = 0.5 * (low + high)
            if self._sides(c, d, middle)[0] > self._sides(c, d, middle)[1]:
                high = middle
            else:
                low = middle
        return min(max(self._sides(c, d, high)), whole)

    def _sides(self, c: Array, d: Array, logarithm: float) -> tuple[float, float]:
        """What is left to the norm in the kernel space, and what the norm on the data takes, over their prices."""
        w = c * d / (d + 10.0**logarithm * float(d.max()))
        left = float(np.sqrt(np.sum(d * (c - w) ** 2))) / self.lam
        return left, float(np.sqrt(self.n * (w @ w))) / self.mu

    def norms_of(self, a: Array, f: Array) -> tuple[float, float]:
        """||f_j||_H and ||f_j||_l2(D) of f = K_j a."""
        return float(np.sqrt(max(float(a @ f), 0.0))), float(np.linalg.norm(f)) / np.sqrt(self.n)


class Alternation:
    """Minimisers on growing sets of kernels, for any ``loss`` with a machine and ``mu`` >= 0.

    ``K`` (M, n, n) and its ``spectra``; ``y`` (n,) labels -1 / +1 or numbers; ``tol`` relative duality gap of the
    whole.
    """

    def __init__(
        self, K: Array, spectra: Spectra, y: Array, lam: float, loss: Loss, mu: float, fit_intercept: bool, tol: float
    ) -> None:
        self.K, self.y, self.lam, self.mu, self.loss = K, y, lam, mu, loss
        self.fit_intercept, self.tol = fit_intercept, tol
        self.blocks = Blocks(spectra, lam, mu)
        self._gauges, self._t, self._s = np.zeros((3, len(K)))
        self._chosen: tuple[int, ...] = ()

    def minimum(self, chosen: tuple[int, ...]) -> Minimum:
        """The minimiser on ``chosen``, from where the last one was."""
        for pick in set(chosen) - set(self._chosen):
            positive = self._t[self._t > 0]
            self._t[pick] = self._s[pick] = float(positive.mean()) if positive.size else self._first(pick)
        self._chosen, state = chosen, self._minimised(chosen)
        self._gauges = np.array([self.blocks.gauge(j, state.theta) for j in range(len(self.K))])
        value, theta = self._scaled(state.theta, float(self._gauges.max()))
        norms = np.zeros(len(self.K))
        norms[list(chosen)] = state.norms
        scale = max(self._regulariser(state), 1e-12 * abs(state.objective))
        return Minimum(
            state.dual, norms, state.objective, value, theta, self.lam * self._gauges, scale, state.intercept
        )

    def certificate(self, chosen: Sequence[int], dual: Array, intercept: float, theta: Array | None) -> Certificate:
        """Objective and dual value from the coefficients and the kernels."""
        parts = [self.K[j] @ a for j, a in zip(chosen, dual, strict=True)]
        norms = [self.blocks.norms_of(a, f) for a, f in zip(dual, parts, strict=True)]
        price = sum(self.lam * norm + self.mu * on_data for norm, on_data in norms)
        f = sum(parts, np.full(self.y.size, intercept))
        objective = float(np.mean(self.loss.value(f, self.y))) + float(price)
        if theta is None:
            return Certificate(objective, floor=1e-14)
        top = max(self.blocks.gauge(j, theta) for j in range(len(self.K)))
        value = self.loss.dual(theta, self.y, 1.0 / self.y.size)
        return Certificate(objective, value if top <= 1.0 + 1e-6 else -np.inf, floor=1e-14)

    def _first(self, j: int) -> float:
        """A norm to start from: that of the gradient, over the curvature of the kernel."""
        _, d = self.blocks.parts(j)
        return max(float(self._gauges[j]) - 1.0, 1e-3) / max(float(d.max(initial=0.0)) / self.y.size, 1e-12)

    def _minimised(self, chosen: tuple[int, ...]) -> _State:
        """L on ``chosen``, to a duality gap of a tenth of the tolerance: plain steps, and extrapolated ones while these
        pay."""
        best = last = self._solved(chosen, self._t, self._s, None)
        power, lower, theta = 1.0, -np.inf, last.theta
        for _ in range(SETTINGS.rounds if chosen else 0):
            value = self._lower(last.theta, chosen)
            if value > lower:
                lower, theta = value, last.theta
            size = min(self._regulariser(best), abs(best.objective))
            if best.objective - lower <= 0.1 * self.tol * max(size, 1e-10):
                break
            own = list(chosen)
            t, s = self._t.copy(), self._s.copy()
            t[own] = self._moved(self._t[own], last.norms, power)
            s[own] = self._moved(self._s[own], last.on_data, power)
            trial = self._solved(chosen, t, s, last.theta)
            if trial.objective > last.objective and power > 1.0:
                t[own], s[own], power = last.norms, last.on_data, 1.0
                trial = self._solved(chosen, t, s, last.theta)
            else:
                power = min(1.5 * power, SETTINGS.fastest)
            self._t, self._s, last = t, s, trial
            best = last if last.objective <= best.objective else best
        return replace(best, theta=theta)

    @staticmethod
    def _moved(old: Array, new: Array, power: float) -> Array:
        share = np.divide(new, old, out=np.ones_like(new), where=old > 0)
        moved: Array = old * np.clip(share, 1e-3, 1e3) ** power
        return np.where(moved > SETTINGS.gone * max(float(moved.max(initial=0.0)), 1e-300), moved, 0.0)

    def _regulariser(self, state: _State) -> float:
        return self.lam * float(state.norms.sum()) + self.mu * float(state.on_data.sum())

    def _solved(self, chosen: tuple[int, ...], t: Array, s: Array, warm: Array | None) -> _State:
        n, total = self.y.size, np.zeros((self.y.size, self.y.size))
        shares = []
        for j in chosen:
            U, d = self.blocks.parts(j)
            share = self.blocks.shrunk(j, float(t[j]), float(s[j]))
            shares.append(share)
            total += (U.T * (share * d)) @ U
        found = machine_of(self.loss)(
            total,
            self.y,
            1.0 / n,
            self.loss,
            self.fit_intercept,
            warm=warm,
            accuracy=min(SETTINGS.accuracy, 1e-3 * self.tol),
        )
        dual = np.empty((len(chosen), n))
        norms, on_data, f = np.zeros(len(chosen)), np.zeros(len(chosen)), np.zeros(n)
        for place, (j, share) in enumerate(zip(chosen, shares, strict=True)):
            U, d = self.blocks.parts(j)
            c = share * (U @ found.dual)
            dual[place] = c @ U
            norms[place], on_data[place] = np.sqrt(d @ c**2), np.linalg.norm(d * c) / np.sqrt(n)
            f += (d * c) @ U
        b = self.loss.best_intercept(f, self.y) if self.fit_intercept else 0.0
        price = self.lam * float(norms.sum()) + self.mu * float(on_data.sum())
        return _State(found.dual, b, dual, norms, on_data, float(np.mean(self.loss.value(f + b, self.y))) + price)

    def _lower(self, theta: Array, among: tuple[int, ...]) -> float:
        top = max((self.blocks.gauge(j, theta) for j in among), default=0.0)
        return self._scaled(theta, top)[0]

    def _scaled(self, theta: Array, top: float) -> tuple[float, Array]:
        """The best dual value of multiples of ``theta`` that a gauge of ``top`` allows."""
        C, most = 1.0 / self.y.size, 1.0 / max(top, 1e-300)
        tried = {min(1.0, most), min(self.loss.best_multiple(theta, self.y, C, 0.0), most)}
        return max(((self.loss.dual(x * theta, self.y, C), x * theta) for x in tried), key=lambda found: found[0])
