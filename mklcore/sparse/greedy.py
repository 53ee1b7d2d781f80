"""Greedy coordinate descent for sparse MKL: Algorithms 1 and 2 of Jin, Yang and Mahdavi (2013).

    min_f  L(f) = E_N(f) + lam sum_j ||f_j||_Hj,   E_N(f) = (1/N) sum_i V(f(x_i), y_i),   V = (y - t)^2 / 2         (1)

with f = sum_j f_j. With the residual r = -V' the functional gradients have the norms

    ||grad_j||_H = sqrt(r'K_j r) / N    and    ||grad_j||_l2 = ||K_j r|| / N^{3/2}.

    Algorithm 1 (``FunctionalGreedy``)                       Algorithm 2 (``EmpiricalGreedy``)
    S <- {}, f <- 0                                          f <- 0
    for k = 1 .. d                                           for k = 1 .. d
        j <- argmax_j ||grad_j||_H                               j <- argmax_j ||grad_j||_l2   (repeats allowed)
        exit if ||grad_j||_H <= lam (1 + 1e-6)                   f_j <- f_j + eta/N sum_i r_i k_j(x_i, .)
        S <- S + j;  f <- the minimiser of (1) on S

Algorithm 2 ignores lam, and takes every loss with a slope, with a free b. Its unit step (eta = 1)
descends when lmax(K_j / N) <= 1, which k(x, x) <= 1 implies, and diverges above 2: kernels beyond 1
are divided by their lmax(K_j / N), and the run says so. The projection of r on the span of K_j in
the paper changes coefficients, not the function, and is left out. eta = r'Kr / ||Kr||^2 (K = K_j /
N) is an option of ours. Under another loss than the squared one the unit step is halved until the
loss falls. The rates of the paper are for losses of quadratic type: where V'' may vanish (squared
hinge, Huber) none is claimed (footnote 1).

The minimiser on S is found by Newton's method on the norms t_j = ||f_j||:

    min_{t >= 0}  lam/2 (y'A^{-1} y + sum_j t_j),   A = sum_j t_j K_j + lam N I

With alpha = A^{-1} y the gradient is lam/2 (1 - q_j), q_j = alpha'K_j alpha, and the Hessian is lam
V'A^{-1} V with V = (K_j alpha)_j; f_j = t_j K_j alpha, and the residual is lam N alpha. A step is
the minimum of the quadratic model over t >= 0, so that kernels leave at exactly zero.

What is published, objective and certificate, comes from the coefficients and the kernels
themselves. Any residual r gives a certificate: theta = min(1, lam / max_j ||grad_j||_H) r / N is
feasible, and theta'y - N/2 ||theta||^2 <= L*, with ||grad_j||_H = sqrt(r'K_j r) / N. Under a tiny
lam the norms ||f_j|| run into the millions and what double precision makes of K_j decides: where
that is so, a ParameterError says it, and nothing is published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError
from mklcore.kernels.operators import Dense
from mklcore.problem.driver import ROUNDING, Certificate, Iterate, Method, Status, Trace
from mklcore.problem.losses import Loss, Squared

# What the greedy descent is tuned by. A value changes when two kernels count as equal, not what
# the certificate proves.

SLACK = 1e-6  # active kernels and their copies sit exactly at lam
HALVINGS = 40  # of a step of Algorithm 2
STEPS = 100  # of Newton's method
SHORTEST = 1e-6  # share of a Newton step at least
FLAT = 1e-11  # 1 - ||grad_j||^2 / lam^2 of every chosen kernel at which the steps end
DAMPING = 1e-12  # share of the diagonal that is added to the Hessian: copies make it singular
ROUNDED = 1e-6  # the same where a step that brings nothing has met its digits
CARRIED = 1e-6  # share of the objective that rounding may have
LEVEL = 1e-9  # share of the objective by which a bound may be above it


def has_rate(loss: Loss) -> bool:
    """Whether V'' stays above zero, as it does for losses of quadratic type: only then the paper's
    rates apply.
    """
    return loss.quadratic or loss.smooth


@dataclass(frozen=True, eq=False)
class Gradients:
    """What a point carries: the gradient norms (M,) BEFORE its pick (None at the start), the pick,
    its step length and the intercept.
    """

    norms: Array | None
    pick: int | None = None
    eta: float | None = None
    intercept: float = 0.0


GreedyIterate: TypeAlias = Iterate[Gradients]


def critical_lam(K: Array, y: Array) -> float:
    """The smallest lam at which nothing enters: max_j sqrt(y'K_j y) / N.

    ``K`` (M, n, n), ``y`` (n,).
    """
    largest = max(float(y @ (kernel @ y)) for kernel in K)
    return float(np.sqrt(max(largest, 0.0))) / y.size


class FunctionalGreedy(Method[Gradients]):
    """Algorithm 1 as the driver's method.

    ``K`` (M, n, n); ``y`` (n,) numbers, or labels -1 / +1; ``lam`` > 0; ``n_kernels`` the bound d
    on the number of kernels.

    A point's ``dual`` is (|S|, n): the coefficients of the chosen kernels in order of entry;
    ``weights`` are ||f_j||_H.
    """

    keeps_points = True
    name = "greedy coordinate descent (Algorithm 1)"

    def __init__(self, K: Array, y: Array, lam: float, *, n_kernels: int) -> None:
        self.kernels = Dense(K)
        self.y = y
        self.lam = lam
        self.n_kernels = n_kernels
        self._roots = np.sqrt(np.maximum(self.kernels.diagonals(), 0.0))
        self._t = np.zeros(len(K))  # the norms that the last minimum was found at
        self._gradients = np.zeros(len(K))  # the norms of its gradients

    def init(self) -> GreedyIterate:
        return self._point((), None)

    def step(
        self, best: GreedyIterate, last: GreedyIterate, trace: Trace
    ) -> GreedyIterate | Status:
        chosen = last.selected or ()
        outside = np.setdiff1d(np.arange(self._t.size), chosen)
        if outside.size == 0:
            return Status.EXHAUSTED if trace.gap <= SLACK * best.scale else Status.STALLED
        if len(chosen) >= self.n_kernels:
            return Status.COMPLETE
        pick = int(outside[np.argmax(self._gradients[outside])])
        if self._gradients[pick] <= self.lam * (1.0 + SLACK):
            # no other kernel can enter; the driver says CONVERGED when its certificate agrees
            return Status.STALLED
        return self._point((*chosen, pick), pick)

    def certify(self, best: GreedyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value of (1) from the coefficients and the kernels."""
        _, objective = self._read(best.selected or (), best.dual)
        value = None
        if dual_point is not None:
            limit = self.lam * (1.0 + SLACK)
            largest = self.kernels.quad(dual_point).max()
            value = self._dual(dual_point) if largest <= limit**2 else -np.inf
        energy = float(self.y @ self.y) / self.y.size
        return Certificate(objective, value, floor=1e-15 * energy)

    def _point(self, chosen: tuple[int, ...], pick: int | None) -> GreedyIterate:
        """The minimiser on ``chosen``, from where the last one was, and what it proves."""
        n = self.y.size
        before = None if pick is None else self._gradients
        try:
            with np.errstate(over="raise", invalid="raise"):
                alpha = self._minimise(np.array(chosen, dtype=np.int64))
        except (np.linalg.LinAlgError, FloatingPointError):
            raise self._beyond("a system of the chosen kernels is singular") from None
        r = self.lam * n * alpha
        own = list(chosen)
        t = self._t[own]
        dual = t[:, None] * alpha
        norms, objective = self._read(chosen, dual)
        forms = self.kernels.quad(r)
        self._gradients = np.sqrt(forms) / n
        expected = self._value(r, t * self._gradients[own] / self.lam)
        # rounding of the forms counts against the bound
        sizes = self._roots @ np.abs(r)
        rounded = forms + np.finfo(float).eps * sizes**2
        largest = max(float(rounded.max()), 1e-300)
        share = min(1.0, self.lam * n / np.sqrt(largest))
        theta = (share / n) * r
        lower = self._dual(theta)
        is_carried = abs(objective - expected) <= CARRIED * objective
        if not (is_carried and lower <= objective * (1.0 + LEVEL)):
            raise self._beyond("rounding moves the objective")
        return Iterate(
            norms,
            dual,
            0.0,
            objective,
            lower,
            self.lam * float(norms.sum()),
            solves=min(1, len(chosen)),
            selected=chosen,
            state=Gradients(before, pick),
            dual_point=theta,
        )

    def _minimise(self, chosen: Indices) -> Array:
        """Newton's method on the norms of the ``chosen`` kernels; returns alpha (n,)."""
        t = self._t[chosen]
        value, alpha, solve = self._at(chosen, t)
        before = np.inf
        for _ in range(STEPS):
            V = self.kernels.matvec(alpha, chosen)
            q = V @ alpha
            excess = q - 1.0
            missing = np.where(t > 0.0, np.abs(excess), excess)
            off = float(missing.max(initial=0.0))
            is_at_its_digits = before <= off < ROUNDED
            if off <= FLAT or is_at_its_digits:
                break
            before = off
            # q^(-1/2) is nearly straight in t: Newton's step on it goes far enough at once
            steeper = 2.0 * q * (1.0 - np.sqrt(q))
            slopes = np.where(q > 1.0, steeper, -excess)
            way = least_in_model(2.0 * V @ solve(V.T), slopes, t) - t
            length = 1.0
            trial = self._at(chosen, t + way)
            while trial[0] > value * (1.0 + ROUNDING) and length > SHORTEST:
                length *= 0.5
                trial = self._at(chosen, t + length * way)
            t = t + length * way
            value, alpha, solve = trial
        self._t[chosen] = t
        return alpha

    def _at(self, chosen: Indices, t: Array) -> tuple[float, Array, Callable[[Array], Array]]:
        """y'A^{-1} y + sum_j t_j at the norms ``t`` (|S|,), alpha (n,), and what solves in A."""
        weights = np.zeros(self._t.size)
        weights[chosen] = t
        solve = self.kernels.combine(weights).factor(self.lam * self.y.size)
        alpha = solve(self.y)
        return float(self.y @ alpha + t.sum()), alpha, solve

    def _read(self, chosen: Sequence[int], dual: Array) -> tuple[Array, float]:
        """The norms (M,) and the objective of the coefficients ``dual`` (|S|, n)."""
        norms = np.zeros(self._t.size)
        f = np.zeros(self.y.size)
        for j, a in zip(chosen, dual, strict=True):
            part = self.kernels.gram(j) @ a
            norms[j] = np.sqrt(max(float(a @ part), 0.0))
            f = f + part
        return norms, self._value(self.y - f, norms)

    def _value(self, r: Array, norms: Array) -> float:
        errors = 0.5 * float(r @ r) / self.y.size
        return errors + self.lam * float(norms.sum())

    def _dual(self, theta: Array) -> float:
        return float(theta @ self.y - 0.5 * self.y.size * (theta @ theta))

    def _beyond(self, why: str) -> ParameterError:
        return ParameterError(
            f"lam={self.lam:.3g} is too small for these kernels: ||f|| reaches "
            f"{float(self._t.sum()):.1e}, and in double precision {why}. Take a lam "
            "ten times as large or more."
        )


def least_in_model(hessian: Array, slopes: Array, start: Array) -> Array:
    """min over x >= 0 of slopes'(x - start) + 1/2 (x - start)'H(x - start), all (|S|,).

    With H = R'R it is a least-squares problem in R x.
    """
    from scipy.optimize import nnls  # not at start-up

    sizes = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    model = hessian / (sizes[:, None] * sizes)
    model.flat[:: sizes.size + 1] += DAMPING
    R = np.linalg.cholesky(model).T
    wanted = (hessian @ start - slopes) / sizes
    target = scipy.linalg.solve_triangular(R, wanted, trans=1)
    found: Array = nnls(R, target)[0]
    return found / sizes


class EmpiricalGreedy(Method[Gradients]):
    """Algorithm 2 as the driver's method: ``n_steps`` steps over ``K`` (M, n, n), each kernel as
    often as it wins.

    ``divisors`` (M,) are what the kernels are divided by so that lmax(K_j / N) <= 1
    (``unit_step_divisors``). For squared loss the step is the unit step, or with ``linesearch`` the
    best one; for another ``loss`` the unit step is halved until the loss falls. A point's ``dual``
    is (number of distinct picks, n), ``weights`` are ||f_j||_H, ``objective`` is the mean loss;
    there is no certificate. Each point's state holds its pick, step length and intercept.
    """

    keeps_points = True

    def __init__(
        self,
        K: Array,
        y: Array,
        *,
        n_steps: int,
        divisors: Array,
        linesearch: bool = False,
        loss: Loss | None = None,
        fit_intercept: bool = False,
    ) -> None:
        self.K = K
        self.y = y
        self.n_steps = n_steps
        self.divisors = divisors
        self.linesearch = linesearch
        self.loss = loss or Squared()
        self.fit_intercept = fit_intercept
        # the unit step promises nothing where lmax(K_j / N) is above 2
        self.descends = not self.loss.quadratic
        self.name = "greedy coordinate descent (Algorithm 2)"

    def init(self) -> GreedyIterate:
        self._f = np.zeros(self.y.size)
        self._b = self._intercept(self._f)
        nothing = np.empty((0, self.y.size))
        weights = np.zeros(len(self.K))
        state = Gradients(None, intercept=self._b)
        mean = self._mean(self._f, self._b)
        return Iterate(weights, nothing, 0.0, mean, solves=0, selected=(), state=state)

    def step(
        self, best: GreedyIterate, last: GreedyIterate, trace: Trace
    ) -> GreedyIterate | Status:
        if len(trace.history) > self.n_steps:
            return Status.COMPLETE
        pull = -self.loss.derivative(self._f + self._b, self.y) / self.y.size
        moves = np.array([kernel @ pull for kernel in self.K])
        moves /= self.divisors[:, None]
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
        state = Gradients(lengths / np.sqrt(self.y.size), pick, eta, self._b)
        return self._moved(last, pick, added, state)

    def certify(self, best: GreedyIterate, dual_point: Array | None) -> Certificate:
        """The mean loss from the coefficients and the intercept."""
        nothing = np.zeros_like(self.y)
        f = nothing
        for j, a in zip(best.selected or (), best.dual, strict=True):
            f = f + self.K[j] @ a
        floor = 1e-14 * self._mean(nothing, 0.0)
        return Certificate(self._mean(f, best.state.intercept), floor=floor)

    def _length(self, pull: Array, move: Array, objective: float) -> float:
        """How far along ``move``; 0 where nothing falls."""
        if self.loss.quadratic:
            if not self.linesearch:
                return 1.0
            return self.y.size * float(pull @ move) / float(move @ move)
        eta = 1.0
        fall = float(pull @ move)
        for _ in range(HALVINGS if fall > 0 else 0):
            f = self._f + eta * move
            if self._mean(f, self._intercept(f)) <= objective - 0.25 * eta * fall:
                return eta
            eta *= 0.5
        return 0.0

    def _intercept(self, f: Array) -> float:
        return self.loss.best_intercept(f, self.y) if self.fit_intercept else 0.0

    def _mean(self, f: Array, b: float) -> float:
        return float(np.mean(self.loss.value(f + b, self.y)))

    def _moved(
        self, last: GreedyIterate, pick: int, added: Array, state: Gradients
    ) -> GreedyIterate:
        chosen = last.selected or ()
        if pick in chosen:
            dual = last.dual.copy()
            place = chosen.index(pick)
            dual[place] += added
        else:
            dual = np.vstack([last.dual, added])
            place = len(chosen)
            chosen = (*chosen, pick)
        weights = last.weights.copy()
        own = dual[place]
        weights[pick] = np.sqrt(max(float(own @ (self.K[pick] @ own)), 0.0))
        objective = self._mean(self._f, self._b)
        return Iterate(weights, dual, 0.0, objective, solves=1, selected=chosen, state=state)


def unit_step_divisors(K: Array) -> Array:
    """What each kernel of ``K`` (M, n, n) has to be divided by so that lmax(K_j / N) <= 1: 1 where
    it already is.

    k(x, x) <= 1 on the sample is enough; eigenvalues are computed only where that fails.
    """
    n = K.shape[1]
    divisors = np.ones(K.shape[0])
    for j, kernel in enumerate(K):
        if float(np.trace(kernel)) > n:
            divisors[j] = max(1.0, float(np.linalg.eigvalsh(kernel)[-1]) / n)
    return divisors
