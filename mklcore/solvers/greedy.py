"""Greedy coordinate descent for sparse MKL: Algorithms 1 and 2 of Jin, Yang and Mahdavi (2013).

    min_f  L(f) = E_N(f) + lam sum_j ||f_j||_Hj,   E_N(f) = (1/N) sum_i V(f(x_i), y_i),   V = (y - t)^2 / 2         (1)

with f = sum_j f_j. With the residual r = -V' the functional gradients have norms ||grad_j||_H = sqrt(r'K_j r) / N and
||grad_j||_l2 = ||K_j r|| / N^{3/2}.

    Algorithm 1 (``FunctionalGreedy``)                       Algorithm 2 (``EmpiricalGreedy``)
    S <- {}, f <- 0                                          f <- 0
    for k = 1 .. d                                           for k = 1 .. d
        j <- argmax_j ||grad_j||_H                               j <- argmax_j ||grad_j||_l2   (repeats allowed)
        exit if ||grad_j||_H <= lam (1 + 1e-6)                   f_j <- f_j + eta/N sum_i r_i k_j(x_i, .)
        S <- S + j;  f <- the minimiser of (1) on S

The minimiser on S is found by ``BlockDescent``.

Algorithm 2 ignores lam, and takes every loss with a slope, with a free b. Its unit step (eta = 1) descends when
lmax(K_j / N) <= 1, which k(x, x) <= 1 implies, and diverges above 2: kernels beyond 1 are divided by their
lmax(K_j / N), and the run says so. The projection of r on the span of K_j in the paper changes coefficients, not the
function, and is left out. eta = r'Kr / ||Kr||^2 (K = K_j / N) is an option of ours. Under another loss than the squared
one the unit step is halved until the loss falls. The rates of the paper are for losses of quadratic type: where V'' may
vanish (squared hinge, Huber) none is claimed (footnote 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mklcore.arrays import Array
from mklcore.losses import Loss, Squared
from mklcore.solvers.block_descent import BlockDescent, Minimum
from mklcore.solvers.driver import Iterate, Method, Status, Trace
from mklcore.solvers.proof import Certificate
from mklcore.solvers.spectra import Spectra


@dataclass(frozen=True)
class GreedySettings:
    """What the greedy descent is tuned by.

    A value changes when two kernels count as equal, not what the certificate proves.
    """

    slack: float = 1e-6  # active kernels and their copies sit exactly at lam
    halvings: int = 40  # of a step of Algorithm 2


SETTINGS = GreedySettings()


def has_rate(loss: Loss) -> bool:
    """Whether V'' stays above zero, as it does for losses of quadratic type: only then the paper's rates apply."""
    return loss.quadratic or loss.smooth


@dataclass(frozen=True, eq=False)
class Gradients:
    """What a point carries: the gradient norms (M,) BEFORE its pick (None at the start), the pick, its step length and
    the intercept."""

    norms: Array | None
    pick: int | None = None
    eta: float | None = None
    intercept: float = 0.0


GreedyIterate: TypeAlias = Iterate[Gradients]


def critical_lam(K: Array, y: Array) -> float:
    """The smallest lam at which nothing enters: max_j sqrt(y'K_j y) / N. ``K`` (M, n, n), ``y`` (n,)."""
    return float(np.sqrt(max(max(float(y @ (kernel @ y)) for kernel in K), 0.0))) / y.size


class FunctionalGreedy(Method[Gradients]):
    """Algorithm 1 as the driver's method. ``K`` (M, n, n) and its ``spectra``; ``y`` (n,) numbers, or labels -1 / +1;
    ``lam`` > 0; ``n_kernels`` the bound d on the number of kernels.

    A point's ``dual`` is (|S|, n): the coefficients of the chosen kernels in order of entry; ``weights`` are ||f_j||_H.
    """

    keeps_points = True
    name = "greedy coordinate descent (Algorithm 1)"

    def __init__(self, K: Array, spectra: Spectra, y: Array, lam: float, *, n_kernels: int) -> None:
        self.lam, self.n_kernels = lam, n_kernels
        self.minimiser = BlockDescent(K, spectra, y, lam)
        self._last: Minimum

    def init(self) -> GreedyIterate:
        return self._point((), None)

    def step(self, best: GreedyIterate, last: GreedyIterate, trace: Trace) -> GreedyIterate | Status:
        chosen, gradients = last.selected or (), self._last.gradients
        outside = np.setdiff1d(np.arange(gradients.size), chosen)
        if outside.size == 0:
            return Status.EXHAUSTED if trace.gap <= SETTINGS.slack * best.scale else Status.STALLED
        if len(chosen) >= self.n_kernels:
            return Status.COMPLETE
        pick = int(outside[np.argmax(gradients[outside])])
        if gradients[pick] <= self.lam * (1.0 + SETTINGS.slack):
            return Status.STALLED  # no other kernel can enter; the driver says CONVERGED when its certificate agrees
        return self._point((*chosen, pick), pick)

    def certify(self, best: GreedyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value of (1) from the coefficients and the kernels."""
        return self.minimiser.certificate(best.selected or (), best.dual, dual_point)

    def _point(self, chosen: tuple[int, ...], pick: int | None) -> GreedyIterate:
        before = None if pick is None else self._last.gradients
        self._last = at = self.minimiser.minimum(chosen)
        return Iterate(
            at.norms, at.dual, 0.0, at.objective, at.lower, at.scale, solves=min(1, len(chosen)), selected=chosen,
            state=Gradients(before, pick), dual_point=at.theta,
        )  # fmt: skip


class EmpiricalGreedy(Method[Gradients]):
    """Algorithm 2 as the driver's method: ``n_steps`` steps over ``K`` (M, n, n), each kernel as often as it wins.

    ``divisors`` (M,) are what the kernels are divided by so that lmax(K_j / N) <= 1 (``unit_step_divisors``). For
    squared loss the step is the unit step, or with ``linesearch`` the best one; for another ``loss`` the unit step is
    halved until the loss falls. A point's ``dual`` is (number of distinct picks, n), ``weights`` are ||f_j||_H,
    ``objective`` is the mean loss; there is no certificate. Each point's state holds its pick, step length and
    intercept.
    """

    keeps_points = True

    def __init__(
        self, K: Array, y: Array, *, n_steps: int, divisors: Array, linesearch: bool = False, loss: Loss | None = None,
        fit_intercept: bool = False,
    ) -> None:  # fmt: skip
        self.K, self.y, self.n_steps, self.divisors, self.linesearch = K, y, n_steps, divisors, linesearch
        self.loss, self.fit_intercept = loss or Squared(), fit_intercept
        self.descends = not self.loss.quadratic  # the unit step promises nothing where lmax(K_j / N) is above 2
        self.name = "greedy coordinate descent (Algorithm 2)"

    def init(self) -> GreedyIterate:
        self._f = np.zeros(self.y.size)
        self._b = self._intercept(self._f)
        nothing, weights = np.empty((0, self.y.size)), np.zeros(len(self.K))
        state = Gradients(None, intercept=self._b)
        return Iterate(weights, nothing, 0.0, self._mean(self._f, self._b), solves=0, selected=(), state=state)

    def step(self, best: GreedyIterate, last: GreedyIterate, trace: Trace) -> GreedyIterate | Status:
        if len(trace.history) > self.n_steps:
            return Status.COMPLETE
        pull = -self.loss.derivative(self._f + self._b, self.y) / self.y.size
        moves = np.array([kernel @ pull for kernel in self.K]) / self.divisors[:, None]
        lengths = np.linalg.norm(moves, axis=1)
        pick = int(np.argmax(lengths))
        if lengths[pick] <= 1e-14 * np.linalg.norm(self.y):
            return Status.NO_GAIN
        eta = self._length(pull, moves[pick], last.objective)
        if eta == 0.0:
            return Status.NO_GAIN
        self._f = self._f + eta * moves[pick]
        self._b = self._intercept(self._f)
        added = (eta / self.divisors[pick]) * pull
        return self._moved(last, pick, added, Gradients(lengths / np.sqrt(self.y.size), pick, eta, self._b))

    def certify(self, best: GreedyIterate, dual_point: Array | None) -> Certificate:
        """The mean loss from the coefficients and the intercept."""
        f = sum((self.K[j] @ a for j, a in zip(best.selected or (), best.dual, strict=True)), np.zeros_like(self.y))
        return Certificate(self._mean(f, best.state.intercept), floor=1e-14 * self._mean(np.zeros_like(f), 0.0))

    def _length(self, pull: Array, move: Array, objective: float) -> float:
        """How far along ``move``; 0 where nothing falls."""
        if self.loss.quadratic:
            return self.y.size * float(pull @ move) / float(move @ move) if self.linesearch else 1.0
        eta, fall = 1.0, float(pull @ move)
        for _ in range(SETTINGS.halvings if fall > 0 else 0):
            f = self._f + eta * move
            if self._mean(f, self._intercept(f)) <= objective - 0.25 * eta * fall:
                return eta
            eta *= 0.5
        return 0.0

    def _intercept(self, f: Array) -> float:
        return self.loss.best_intercept(f, self.y) if self.fit_intercept else 0.0

    def _mean(self, f: Array, b: float) -> float:
        return float(np.mean(self.loss.value(f + b, self.y)))

    def _moved(self, last: GreedyIterate, pick: int, added: Array, state: Gradients) -> GreedyIterate:
        chosen = last.selected or ()
        if pick in chosen:
            dual, place = last.dual.copy(), chosen.index(pick)
            dual[place] += added
        else:
            dual, place, chosen = np.vstack([last.dual, added]), len(chosen), (*chosen, pick)
        weights = last.weights.copy()
        weights[pick] = np.sqrt(max(float(dual[place] @ (self.K[pick] @ dual[place])), 0.0))
        objective = self._mean(self._f, self._b)
        return Iterate(weights, dual, 0.0, objective, solves=1, selected=chosen, state=state)


def unit_step_divisors(K: Array) -> Array:
    """What each kernel of ``K`` (M, n, n) has to be divided by so that lmax(K_j / N) <= 1: 1 where it already is.

    k(x, x) <= 1 on the sample is enough; eigenvalues are computed only where that fails.
    """
    n = K.shape[1]
    divisors = np.ones(K.shape[0])
    for j, kernel in enumerate(K):
        if float(np.trace(kernel)) > n:
            divisors[j] = max(1.0, float(np.linalg.eigvalsh(kernel)[-1]) / n)
    return divisors
