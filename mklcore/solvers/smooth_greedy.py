"""Greedy coordinate descent for every loss with a machine, with norms in the kernel spaces and on the data.

    min_f  L(f) = (1/N) sum_i V(f(x_i) + b, y_i) + sum_j ( lam ||f_j||_H + mu ||f_j||_l2(D) )

with ||f_j||_l2(D)^2 = (1/N) sum_i f_j(x_i)^2.

Algorithm 1: the kernel whose gradient the norms can bear least enters, then L is minimised on the kernels chosen. With
lam ||f|| = min_t lam/2 (||f||^2 / t + t), and likewise s for the norm on the data, a minimisation alternates between one machine
on sum_j K_j(t, s), in the eigenvectors of K_j

    d -> 1 / ( lam / (t d) + mu / (s N) ),

and t_j = ||f_j||_H, s_j = ||f_j||_l2(D); each step lowers L. The machine's dual theta proves a lower bound once it is scaled into

    { theta = v + w for every j:  sqrt(v'K_j v) <= lam,  sqrt(N) ||w|| <= mu }.

Algorithm 2: a gradient step along the kernel with the largest gradient on the data, halved until the loss falls.
The rates of the paper are for losses of quadratic type: where V'' may vanish (squared hinge, Huber) none is claimed.

Source: Jin, Yang and Mahdavi (2013), Algorithms 1 and 2, footnote 1 and the regulariser named after equation (6), which is that of
Koltchinskii and Yuan (2010). The alternation and the certificate are our own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mklcore.arrays import Array
from mklcore.losses import Loss
from mklcore.machines import machine_of
from mklcore.solvers.driver import Iterate, Method, Status, Trace
from mklcore.solvers.greedy import SLACK, Gradients, GreedyIterate
from mklcore.solvers.proof import Certificate
from mklcore.solvers.spectra import Spectra

_ROUNDS, _BISECTIONS = 3000, 80
_GONE = 1e-12  # share of the largest norm below which a block is none
_FASTEST = 16.0  # exponent of an extrapolated step
_MACHINE = 1e-8


def has_rate(loss: Loss) -> bool:
    """Whether V'' stays above zero, as it does for losses of quadratic type: only then the paper's rates apply."""
    return loss.quadratic or loss.smooth


@dataclass(frozen=True, eq=False)
class _State:
    """A minimiser on some kernels: dual theta (n,), intercept, coefficients (|S|, n), both norms (|S|,), the objective."""

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
        for _ in range(_BISECTIONS):
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

    def norms_of(self, j: int, a: Array, f: Array) -> tuple[float, float]:
        """||f_j||_H and ||f_j||_l2(D) of f_j = K_j a."""
        return float(np.sqrt(max(float(a @ f), 0.0))), float(np.linalg.norm(f)) / np.sqrt(self.n)


class SmoothFunctional(Method[Gradients]):
    """Algorithm 1 as the driver's method, for any ``loss`` with a machine and ``mu`` >= 0.

    ``K`` (M, n, n) and its ``spectra``; ``y`` (n,) labels -1 / +1 or numbers; ``n_kernels`` the bound d. A point's ``dual`` is
    (|S|, n), its ``weights`` are ||f_j||_H, its state holds the intercept.
    """

    keeps_points = True
    name = "greedy coordinate descent (Algorithm 1, any loss)"

    def __init__(
        self,
        K: Array,
        spectra: Spectra,
        y: Array,
        lam: float,
        *,
        loss: Loss,
        mu: float = 0.0,
        fit_intercept: bool = False,
        n_kernels: int,
        tol: float,
    ) -> None:
        self.K, self.y, self.lam, self.mu, self.loss = K, y, lam, mu, loss
        self.fit_intercept, self.n_kernels, self.tol = fit_intercept, n_kernels, tol
        self.blocks = Blocks(spectra, lam, mu)
        self._gauges = np.zeros(len(K))

    def init(self) -> GreedyIterate:
        self._t, self._s = np.zeros((2, len(self.K)))
        return self._point((), None, 1)

    def step(self, best: GreedyIterate, last: GreedyIterate, trace: Trace) -> GreedyIterate | Status:
        chosen = last.selected or ()
        outside = np.setdiff1d(np.arange(len(self.K)), chosen)
        if outside.size == 0:
            return Status.EXHAUSTED if trace.gap <= SLACK * best.scale else Status.STALLED
        if len(chosen) >= self.n_kernels:
            return Status.COMPLETE
        pick = int(outside[np.argmax(self._gauges[outside])])
        if self._gauges[pick] <= 1.0 + SLACK:
            return Status.STALLED  # no other kernel can enter; the driver says CONVERGED when its certificate agrees
        positive = self._t[self._t > 0]
        self._t[pick] = float(positive.mean()) if positive.size else self._first(pick)
        self._s[pick] = self._t[pick]
        return self._point((*chosen, pick), pick, 1)

    def certify(self, best: GreedyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value from the coefficients and the kernels."""
        chosen = best.selected or ()
        parts = [self.K[j] @ a for j, a in zip(chosen, best.dual, strict=True)]
        price = sum(
            self._price(*self.blocks.norms_of(j, a, f)) for j, a, f in zip(chosen, best.dual, parts, strict=True)
        )
        f = sum(parts, np.full(self.y.size, best.state.intercept))
        objective = float(np.mean(self.loss.value(f, self.y))) + float(price)
        if dual_point is None:
            return Certificate(objective, floor=1e-14)
        top = max(self.blocks.gauge(j, dual_point) for j in range(len(self.K)))
        value = self.loss.dual(dual_point, self.y, 1.0 / self.y.size)
        return Certificate(objective, value if top <= 1.0 + 1e-6 else -np.inf, floor=1e-14)

    def _price(self, norm: float, on_data: float) -> float:
        return self.lam * norm + self.mu * on_data

    def _first(self, j: int) -> float:
        """A norm to start from: that of the gradient, over the curvature of the kernel."""
        _, d = self.blocks.parts(j)
        return max(float(self._gauges[j]) - 1.0, 1e-3) / max(float(d.max(initial=0.0)) / self.y.size, 1e-12)

    def _minimised(self, chosen: tuple[int, ...]) -> _State:
        """L on ``chosen``, to a duality gap of a tenth of the tolerance: plain steps, and extrapolated ones while these pay."""
        best = last = self._solved(chosen, self._t, self._s, None)
        power, lower, theta = 1.0, -np.inf, last.theta
        for _ in range(_ROUNDS if chosen else 0):
            value = self._lower(last.theta, chosen)
            if value > lower:
                lower, theta = value, last.theta
            size = min(self._regulariser(best), abs(best.objective))
            if best.objective - lower <= 0.1 * self.tol * max(size, 1e-10):
                break
            own = list(chosen)
            t, s = self._t.copy(), self._s.copy()
            t[own], s[own] = (
                self._moved(self._t[own], last.norms, power),
                self._moved(self._s[own], last.on_data, power),
            )
            trial = self._solved(chosen, t, s, last.theta)
            if trial.objective > last.objective and power > 1.0:
                t[own], s[own], power = last.norms, last.on_data, 1.0
                trial = self._solved(chosen, t, s, last.theta)
            else:
                power = min(1.5 * power, _FASTEST)
            self._t, self._s, last = t, s, trial
            best = last if last.objective <= best.objective else best
        return replace(best, theta=theta)

    @staticmethod
    def _moved(old: Array, new: Array, power: float) -> Array:
        share = np.divide(new, old, out=np.ones_like(new), where=old > 0)
        moved: Array = old * np.clip(share, 1e-3, 1e3) ** power
        return np.where(moved > _GONE * max(float(moved.max(initial=0.0)), 1e-300), moved, 0.0)

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
            total, self.y, 1.0 / n, self.loss, self.fit_intercept, warm=warm, accuracy=min(_MACHINE, 1e-3 * self.tol)
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

    def _point(self, chosen: tuple[int, ...], pick: int | None, solves: int) -> GreedyIterate:
        before = None if pick is None else self._gauges
        state = self._minimised(chosen)
        self._gauges = np.array([self.blocks.gauge(j, state.theta) for j in range(len(self.K))])
        value, theta = self._scaled(state.theta, float(self._gauges.max()))
        weights = np.zeros(len(self.K))
        weights[list(chosen)] = state.norms
        scale = max(self._regulariser(state), 1e-12 * abs(state.objective))
        return Iterate(
            weights, state.dual, 0.0, state.objective, value, scale, solves=solves, selected=chosen,
            state=Gradients(before, pick, None, state.intercept), dual_point=theta,
        )  # fmt: skip
