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

The minimiser on S is found by ``BlockDescent``.

Algorithm 2 ignores lam, and takes every loss with a slope, with a free b. Its unit step (eta = 1)
descends when lmax(K_j / N) <= 1, which k(x, x) <= 1 implies, and diverges above 2: kernels beyond 1
are divided by their lmax(K_j / N), and the run says so. The projection of r on the span of K_j in
the paper changes coefficients, not the function, and is left out. eta = r'Kr / ||Kr||^2 (K = K_j /
N) is an option of ours. Under another loss than the squared one the unit step is halved until the
loss falls. The rates of the paper are for losses of quadratic type: where V'' may vanish (squared
hinge, Huber) none is claimed (footnote 1).

Block descent for one l1 problem under squared loss, on some of M kernels: what Algorithm 1 of
``greedy.py`` minimises.

    min_f  L(f) = 1/(2N) sum_i (y_i - f(x_i))^2 + lam sum_j ||f_j||_Hj,    f = sum_j f_j                             (1)

Blocks are solved exactly: with K_j = U diag(d) U' and c = U'(r + f_j), f_j = 0 where
sqrt(sum d c^2) <= lam N. Elsewhere ||f_j|| = t is the root of sum d c^2 / (d t + lam N)^2 = 1, and
f_j = K_j U c t / (d t + lam N).
Where blocks are nearly parallel the descent creeps: after some sweeps a few Newton steps on the
norms of the chosen blocks, min over t >= 0 of lam/2 (y'(sum t_j K_j + lam N I)^{-1} y + sum t_j),
carry it on if they lower L; descent has the last word. The residual is computed anew from the
coefficients before a minimum is believed, and what is published, objective and certificate, from
the coefficients and the kernels themselves. Under a tiny lam the norms ||f_j|| run into the
millions and what double precision makes of K_j decides: where that is so, a ParameterError says it,
and nothing is published. Any residual r gives a certificate: theta = min(1, lam / max_j
||grad_j||_H) r / N is feasible, and theta'y - N/2 ||theta||^2 <= L*, with ||grad_j||_H = sqrt(r'K_j
r) / N.

Products of a Gram matrix in twice the working precision: what tiny quadratic forms of large vectors
need.

Where r'Kr is far below ||r||^2 ||K||, as for the residual of a least-squares fit under a tiny
penalty, plain summation leaves nothing but rounding. Here every product keeps its own rounding
error and the errors are added up beside the sum.

Source: Ogita, Rump and Oishi (2005), algorithm Dot2; Dekker (1971) for the product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices, factorised, longest_step
from mklcore.errors import MKLError, ParameterError
from mklcore.kernels.operators import Dense
from mklcore.problem.driver import Certificate, Iterate, Method, Status, Trace
from mklcore.problem.losses import Loss, Squared
from mklcore.sparse.gomp import Spectra

# What the greedy descent is tuned by. A value changes when two kernels count as equal, not what
# the certificate proves.

SLACK = 1e-6  # active kernels and their copies sit exactly at lam
HALVINGS = 40  # of a step of Algorithm 2
STILL = 1e-12  # a sweep that changes r by less than this share of y has settled
# matrix entries touched in one call of a compiled function, so that a cancel takes effect
CHUNK = 40_000_000
SWEEPS = 30  # before Newton steps are tried
MAX_SWEEPS = 100_000
# ||grad_j|| of a kernel in use differs from lam by less than this share at a minimum
AT_LAM = 1e-8
ROUNDS = 40  # of descent from a residual computed anew
# share of that difference in the last round above which another brings nothing
NEARER = 0.9
NEWTON_STEPS = 8
FLAT = 1e-11  # 1 - ||grad_j||^2 / lam^2 of every chosen block at which they end
# share of (lam N)^2 that rounding may have of r'K_j r before it is computed in twice the precision
SURE = 1e-9
CARRIED = 1e-6  # share of the objective that rounding may have
LEVEL = 1e-9  # share of the objective by which a bound may be above it
REFINED = 5  # steps of iterative refinement for the dual


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

    ``K`` (M, n, n) and its ``spectra``; ``y`` (n,) numbers, or labels -1 / +1; ``lam`` > 0;
    ``n_kernels`` the bound d on the number of kernels.

    A point's ``dual`` is (|S|, n): the coefficients of the chosen kernels in order of entry;
    ``weights`` are ||f_j||_H.
    """

    keeps_points = True
    name = "greedy coordinate descent (Algorithm 1)"

    def __init__(
        self,
        K: Array,
        spectra: Spectra,
        y: Array,
        lam: float,
        *,
        n_kernels: int,
    ) -> None:
        self.lam = lam
        self.n_kernels = n_kernels
        self.minimiser = BlockDescent(K, spectra, y, lam)
        self._last: Minimum

    def init(self) -> GreedyIterate:
        return self._point((), None)

    def step(
        self, best: GreedyIterate, last: GreedyIterate, trace: Trace
    ) -> GreedyIterate | Status:
        chosen = last.selected or ()
        gradients = self._last.gradients
        outside = np.setdiff1d(np.arange(gradients.size), chosen)
        if outside.size == 0:
            return Status.EXHAUSTED if trace.gap <= SLACK * best.scale else Status.STALLED
        if len(chosen) >= self.n_kernels:
            return Status.COMPLETE
        pick = int(outside[np.argmax(gradients[outside])])
        if gradients[pick] <= self.lam * (1.0 + SLACK):
            # no other kernel can enter; the driver says CONVERGED when its certificate agrees
            return Status.STALLED
        return self._point((*chosen, pick), pick)

    def certify(self, best: GreedyIterate, dual_point: Array | None) -> Certificate:
        """Objective and dual value of (1) from the coefficients and the kernels."""
        return self.minimiser.certificate(best.selected or (), best.dual, dual_point)

    def _point(self, chosen: tuple[int, ...], pick: int | None) -> GreedyIterate:
        before = None if pick is None else self._last.gradients
        self._last = at = self.minimiser.minimum(chosen)
        return Iterate(
            at.norms,
            at.dual,
            0.0,
            at.objective,
            at.lower,
            at.scale,
            solves=min(1, len(chosen)),
            selected=chosen,
            state=Gradients(before, pick),
            dual_point=at.theta,
        )


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


@dataclass(frozen=True, eq=False)
class Minimum:
    """The minimiser on the kernels chosen, and what it proves of the problem on all.

    ``dual`` (|S|, n) are the coefficients, ``norms`` (M,) the ||f_j||; ``theta`` (n,) is a feasible
    dual point of value ``lower``, ``gradients`` (M,) the gradient norms, of which lam is what a
    kernel can bear; ``scale`` the regulariser.
    """

    dual: Array
    norms: Array
    objective: float
    lower: float
    theta: Array
    gradients: Array
    scale: float


@jit_helper()
def block_norm(d: Array, c: Array, floor: float) -> float:
    """The root t of sum d c^2 / (d t + floor)^2 = 1, or 0 when sqrt(sum d c^2) <= floor.

    Newton on the reciprocal root, which is concave and nearly straight in t: it rises to the root
    from the left.
    """
    t: float = 0.0
    for _ in range(100):
        total = 0.0
        slope = 0.0
        for i in range(d.size):
            inverse = 1.0 / (d[i] * t + floor)
            part = d[i] * (c[i] * inverse) ** 2
            total += part
            slope += d[i] * inverse * part
        if total <= 1.0:
            return t
        step = total * (np.sqrt(total) - 1.0) / slope
        t += step
        if step <= 1e-15 * t:
            return t
    return t


@jit_helper({"nsz", "reassoc", "contract"})
def _spectrum_of(vectors: Array, r: Array, first: int, c: Array) -> None:
    for i in range(c.size):
        row = vectors[first + i]
        total = 0.0
        for k in range(r.size):
            total += row[k] * r[k]
        c[i] = total


@jit_helper({"nsz", "reassoc", "contract"})
def _add_rows(vectors: Array, first: int, coefficients: Array, r: Array) -> None:
    for i in range(coefficients.size):
        if coefficients[i] != 0.0:
            row = vectors[first + i]
            factor = coefficients[i]
            for k in range(r.size):
                r[k] += factor * row[k]


@jit_entry(loops="Greedy coordinate descent")
def descend_blocks(
    vectors: Array,
    values: Array,
    starts: Indices,
    chosen: Indices,
    floor: float,
    b: Array,
    r: Array,
    norms: Array,
    still: float,
    sweeps: int,
) -> tuple[int, float]:
    """Cyclic block descent of (1) on the kernels ``chosen`` in place; returns (sweeps made, change
    of r in the last).

    b (P,): f_j = K_j U_j b_j; r (n,) the residual; norms (M,) the ||f_j||; floor = lam N; stops
    when a sweep changes r by ``still`` or less.
    """
    before = np.empty(r.size)
    change = 0.0
    for sweep in range(sweeps):
        for k in range(r.size):
            before[k] = r[k]
        for j in chosen:
            first = starts[j]
            last = starts[j + 1]
            d = values[first:last]
            old = b[first:last]
            c = np.empty(d.size)
            _spectrum_of(vectors, r, first, c)
            for i in range(d.size):
                c[i] += d[i] * old[i]
            t = block_norm(d, c, floor)
            norms[j] = t
            for i in range(d.size):
                new = c[i] * t / (d[i] * t + floor)
                c[i] = d[i] * (old[i] - new)
                old[i] = new
            _add_rows(vectors, first, c, r)
        change = 0.0
        for k in range(r.size):
            change += (r[k] - before[k]) ** 2
        change = np.sqrt(change)
        if change <= still:
            return sweep + 1, change
    return sweeps, change


def certificate_of(
    y: Array,
    r: Array,
    gradients: Array,
    lam: float,
) -> tuple[float, Array]:
    """The dual value of (1) that the residual ``r`` gives, and the feasible theta (n,) that has it;
    ``gradients`` (M,) are the ||grad_j||_H of ``r``.
    """
    largest = float(gradients.max(initial=0.0))
    share = min(1.0, lam / largest) if largest > 0 else 1.0
    theta = (share / y.size) * r
    return float(theta @ y - 0.5 * y.size * (theta @ theta)), theta


def l1_values(
    K: Array,
    y: Array,
    lam: float,
    chosen: Sequence[int],
    dual: Array,
    theta: Array | None,
    forms: Array | None,
) -> Certificate:
    """Objective of (1) from the coefficients ``dual`` (|S|, n) of the kernels ``chosen``, and the
    value of ``theta`` (n,), whose ``forms`` (M,) theta'K_j theta say whether it is feasible.
    """
    n = y.size
    floor = 1e-15 * float(y @ y) / y.size
    f = np.zeros(n)
    size = 0.0
    for j, a in zip(chosen, dual, strict=True):
        part = K[j] @ a
        f = f + part
        size += np.sqrt(max(float(a @ part), 0.0))
    r = y - f
    objective = 0.5 * float(r @ r) / n + lam * float(size)
    if theta is None or forms is None:
        return Certificate(objective, floor=floor)
    limit = (lam * (1.0 + 1e-6)) ** 2
    # rounding, or a dual that is not feasible: the exact forms tell
    if forms.max(initial=0.0) > limit:
        forms = exact_forms(K, theta)
    value = float(theta @ y - 0.5 * n * (theta @ theta))
    return Certificate(
        objective, value if forms.max(initial=0.0) <= limit else -np.inf, floor=floor
    )


def newton_norms(
    K: Array, y: Array, lam: float, chosen: Indices, norms: Array
) -> tuple[Array, Array, Array]:
    """A few damped Newton steps on min_{t >= 0} lam/2 (y'(sum_j t_j K_j + lam N I)^{-1} y + sum_j
    t_j), t_j = ||f_j||.

    ``norms`` (M,) is the start; only positive entries of ``chosen`` move. Returns t (M,), alpha =
    (...)^{-1} y, and K_j alpha for the chosen kernels (|S|, n).
    """
    n = y.size
    t = norms.copy()
    system = np.empty(K.shape[1:])
    free = chosen[norms[chosen] > 0]
    for step in range(NEWTON_STEPS + 1):
        Dense(K).combine(t, system)
        solve = factorised(system, lam * n)
        alpha = solve(y)
        products = np.array([K[j] @ alpha for j in free])
        slopes = 1.0 - products @ alpha if free.size else np.zeros(0)
        if step == NEWTON_STEPS or np.max(np.abs(slopes), initial=0.0) <= FLAT:
            break
        curvature = 2.0 * products @ solve(products.T)
        curvature.flat[:: free.size + 1] *= 1.0 + 1e-12
        solved = np.linalg.lstsq(curvature, -slopes, rcond=None)
        move: Array = np.asarray(solved[0], dtype=np.float64)
        t[free] += min(1.0, 0.9 * longest_step(t[free], move)) * move
    return t, alpha, np.array([K[j] @ alpha for j in chosen])


def refined_residual(
    K: Array,
    y: Array,
    lam: float,
    chosen: Sequence[int],
    norms: Array,
) -> Array:
    """The residual lam N alpha of (sum_j t_j K_j + lam N I) alpha = y at t = ``norms`` (M,),
    refined against the kernels ``chosen`` in twice the precision: what is left of y when f is large
    in norm and nearly y.
    """
    n = y.size
    system = np.empty(K.shape[1:])
    Dense(K).combine(norms, system)
    solve = factorised(system, lam * n)
    alpha = solve(y)
    for _ in range(REFINED):
        left = y - lam * n * alpha
        for j in chosen:
            left -= norms[j] * exact_products(K[j], alpha)
        alpha += solve(left)
    return lam * n * alpha


class BlockDescent:
    """Minimisers of (1) on growing sets of kernels.

    ``K`` (M, n, n) and its ``spectra``; ``y`` (n,), ``lam`` > 0.
    """

    def __init__(self, K: Array, spectra: Spectra, y: Array, lam: float) -> None:
        self.K = K
        self.spectra = spectra
        self.y = y
        self.lam = lam
        self._b = np.zeros(spectra.values.size)
        self._r = y.copy()
        self._norms = np.zeros(spectra.n_kernels)
        self._lower = -np.inf
        self._largest = spectra.largest()

    def minimum(self, chosen: tuple[int, ...]) -> Minimum:
        """The minimiser on ``chosen``, from where the last one was."""
        if chosen:
            try:
                self._minimise(np.array(chosen, dtype=np.int64))
            except np.linalg.LinAlgError:
                raise self._beyond("a system of the chosen kernels is singular") from None
        return self._published(chosen)

    def certificate(self, chosen: Sequence[int], dual: Array, theta: Array | None) -> Certificate:
        """Objective and dual value from the coefficients; the gradient norms at ``theta`` say
        whether it is feasible.
        """
        forms = None if theta is None else self.spectra.forms(theta)
        return l1_values(self.K, self.y, self.lam, chosen, dual, theta, forms)

    def _minimise(self, chosen: Indices) -> None:
        """Minimise (1) on ``chosen``, from where the last minimisation ended, until a residual
        computed anew agrees.
        """
        used = 0
        newton = True
        before = np.inf
        for _ in range(ROUNDS):
            used, newton = self._descend(chosen, used, newton)
            self._refresh(chosen)
            off = self._off_lam(chosen)
            if used >= MAX_SWEEPS or off <= AT_LAM or off > NEARER * before:
                return  # settled, or as near as rounding lets it: the certificate says how well
            if not self._jump(chosen):
                return
            before = off

    def _descend(self, chosen: Indices, used: int, newton: bool) -> tuple[int, bool]:
        """Block descent on ``chosen`` until r stands still; the sweeps made so far, and whether
        Newton steps still help.
        """
        s = self.spectra
        work = max(1, int(np.sum(np.diff(s.starts)[chosen]))) * self.y.size
        still = STILL * float(np.linalg.norm(self.y))
        change = np.inf
        while used < MAX_SWEEPS:
            sweeps = min(SWEEPS if newton else MAX_SWEEPS, max(1, CHUNK // work))
            made, change = descend_blocks(
                s.vectors,
                s.values,
                s.starts,
                chosen,
                self.lam * self.y.size,
                self._b,
                self._r,
                self._norms,
                still,
                sweeps,
            )
            used += made
            if change <= still:
                return used, newton
            if not np.isfinite(change):
                raise self._beyond("the coefficients overflow")
            newton = newton and self._jump(chosen)
        if self._rounding(
            chosen.tolist(), self._coefficients(chosen.tolist())
        ) > CARRIED * self._value(self._r, self._norms):
            raise self._beyond("rounding stirs the residual as much as a sweep does")
        raise MKLError(
            f"Block descent has not settled after {used} sweeps (change {change:.1e}, "
            f"asked {still:.1e}): the chosen kernels are nearly the same. Remove "
            "near-duplicates, or raise lam."
        )

    def _refresh(self, chosen: Indices) -> None:
        """The residual from the coefficients, free of what sweeps have piled up."""
        self._r = self.y.copy()
        for j in chosen:
            part = self.spectra.rows(j)
            coefficients = self.spectra.values[part] * self._b[part]
            self._r -= coefficients @ self.spectra.vectors[part]

    def _off_lam(self, chosen: Indices) -> float:
        """The largest violation of ||grad_j|| = lam where f_j is not 0, <= lam where it is, as a
        share of lam.
        """
        excess = np.array([self._own_gradient(j) for j in chosen]) / self.lam - 1.0
        return float(np.max(np.where(self._norms[chosen] > 0, np.abs(excess), excess)))

    def _own_gradient(self, j: int) -> float:
        part = self.spectra.rows(j)
        spectrum = self.spectra.vectors[part] @ self._r
        return float(np.sqrt(self.spectra.values[part] @ spectrum**2)) / self.y.size

    def _jump(self, chosen: Indices) -> bool:
        """Newton steps on the norms of the chosen blocks; False, and nothing changed, when they do
        not lower L.
        """
        try:
            start = self._norms
            norms, alpha, products = newton_norms(self.K, self.y, self.lam, chosen, start)
        except np.linalg.LinAlgError:
            return False
        r = self.lam * self.y.size * alpha
        sizes = norms.copy()
        sizes[chosen] *= np.sqrt(np.maximum(products @ alpha, 0.0))
        if not self._value(r, sizes) < self._value(self._r, self._norms):
            return False
        for j in chosen:
            part = self.spectra.rows(j)
            self._b[part] = norms[j] * (self.spectra.vectors[part] @ alpha)
        self._r[:] = r
        self._norms = sizes
        return True

    def _value(self, r: Array, norms: Array) -> float:
        return 0.5 * float(r @ r) / self.y.size + self.lam * float(norms.sum())

    def _published(self, chosen: tuple[int, ...]) -> Minimum:
        """What is published: norms, objective and certificate from the coefficients and the kernels
        alone.
        """
        dual = self._coefficients(chosen)
        parts = [self.K[j] @ a for j, a in zip(chosen, dual, strict=True)]
        norms, objective = self._read(chosen, dual, parts)
        if chosen and self._rounding(chosen, dual) > SURE * objective:
            plain = objective
            parts = [exact_products(self.K[j], a) for j, a in zip(chosen, dual, strict=True)]
            norms, objective = self._read(chosen, dual, parts)
            if abs(plain - objective) > CARRIED * objective:
                raise self._beyond("rounding moves the objective by more than a millionth")
        lower, theta, gradients = max(self._certificates(chosen), key=lambda found: found[0])
        self._lower = max(self._lower, lower)
        if LEVEL * objective < self._lower - objective <= CARRIED * objective:
            raise self._beyond(
                "kernels that are singular but for rounding lift the bound above the objective"
            )
        return Minimum(
            dual, norms, objective, lower, theta, gradients, self.lam * float(norms.sum())
        )

    def _coefficients(self, chosen: Sequence[int]) -> Array:
        dual = np.empty((len(chosen), self.y.size))
        for own, j in zip(dual, chosen, strict=True):
            part = self.spectra.rows(j)
            own[:] = self._b[part] @ self.spectra.vectors[part]
        return dual

    def _read(
        self, chosen: tuple[int, ...], dual: Array, parts: list[Array]
    ) -> tuple[Array, float]:
        """The norms (M,) and the objective of the coefficients ``dual`` (|S|, n), ``parts`` (|S|,
        n) being the f_j.
        """
        norms = np.zeros(self.spectra.n_kernels)
        f = np.zeros(self.y.size)
        for j, a, part in zip(chosen, dual, parts, strict=True):
            norms[j] = np.sqrt(max(float(a @ part), 0.0))
            f = f + part
        return norms, self._value(self.y - f, norms)

    def _certificates(
        self,
        chosen: tuple[int, ...],
    ) -> Iterator[tuple[float, Array, Array]]:
        """Dual value, theta and gradient norms of the residual, and, where rounding shows in it, of
        a refined one.
        """
        gradients, noisy = self._gradient_norms(self._r)
        yield *certificate_of(self.y, self._r, gradients, self.lam), gradients
        if noisy and chosen:
            try:
                r = refined_residual(self.K, self.y, self.lam, chosen, self._norms)
            except np.linalg.LinAlgError:
                return
            gradients, _ = self._gradient_norms(r)
            yield *certificate_of(self.y, r, gradients, self.lam), gradients

    def _gradient_norms(self, r: Array) -> tuple[Array, bool]:
        """||grad_j||_H (M,) from the kernels themselves, in twice the precision where rounding
        would show: then True.
        """
        largest = float(self._largest.max(initial=0.0))
        noise = np.finfo(float).eps * largest * float(r @ r)
        noisy = bool(noise > SURE * (self.lam * self.y.size) ** 2)
        forms = np.array([r @ (kernel @ r) for kernel in self.K])
        if noisy:
            forms = exact_forms(self.K, r)
        return np.sqrt(np.maximum(forms, 0.0)) / self.y.size, noisy

    def _rounding(self, chosen: Sequence[int], dual: Array) -> float:
        """A bound on how far rounding can move the objective of the coefficients when it is
        computed from the kernels.
        """
        size = np.linalg.norm(dual, axis=1)
        own = list(chosen)
        eps = np.finfo(float).eps * self._largest[own]
        norms = self._norms[own]
        f = float(eps @ size)
        moved = np.divide(eps * size**2, 2.0 * norms, out=np.zeros_like(norms), where=norms > 0)
        in_errors = (float(np.linalg.norm(self._r)) * f + f * f) / self.y.size
        return in_errors + self.lam * float(moved.sum())

    def _beyond(self, why: str) -> ParameterError:
        return ParameterError(
            f"lam={self.lam:.3g} is too small for these kernels: ||f|| reaches "
            f"{float(self._norms.sum()):.1e}, and in double precision {why}. Take a lam "
            "ten times as large or more."
        )


_SPLITTER = 134217729.0  # 2^27 + 1 cuts a float64 into two halves whose products are exact


@jit_entry(loops="Greedy coordinate descent")
def exact_dot(a: Array, b: Array) -> float:
    """a'b for (n,) vectors, rounded once, as if summed in twice the precision."""
    total = 0.0
    small = 0.0
    for k in range(a.size):
        x = a[k]
        y = b[k]
        product = x * y
        high = _SPLITTER * x
        x_high = high - (high - x)
        x_low = x - x_high
        high = _SPLITTER * y
        y_high = high - (high - y)
        y_low = y - y_high
        error = x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
        added = total + product
        part = added - total
        small += (total - (added - part)) + (product - part) + error
        total = added
    return total + small


@jit_entry(loops="Greedy coordinate descent")
def exact_products(K: Array, a: Array) -> Array:
    """K a for (n, n) and (n,): every entry rounded once."""
    out = np.empty(a.size)
    for i in range(a.size):
        out[i] = exact_dot(K[i], a)
    return out


def exact_forms(K: Array, a: Array) -> Array:
    """a'K_m a for every kernel of ``K`` (M, n, n), as (M,); below zero where rounding has made K_m
    indefinite.
    """
    return np.array([exact_dot(a, exact_products(kernel, a)) for kernel in K])
