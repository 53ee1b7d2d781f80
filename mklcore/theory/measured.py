"""What a bound is set beside: the same quantities measured on the available rows.

Targets are numbers: -1 and +1, or a centred regression target. ``K`` (M, n, n) training kernels, ``cross`` (M, m, n)
the kernels between m held-out rows and the training rows. ``callback(done, total)`` may raise to cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array, one_blas_thread
from mklcore.errors import DataError, ParameterError
from mklcore.kernels.grams import as_stack
from mklcore.losses import make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import fit_weighted
from mklcore.solvers.driver import run
from mklcore.solvers.gomp import GOMP, Spectra
from mklcore.solvers.greedy import EmpiricalGreedy, FunctionalGreedy, critical_lam
from mklcore.solvers.problem import WarmStart
from mklcore.theory.words import require, require_positive

Progress = Callable[[int, int], Any] | None
EMPIRICAL_STEPS = 30  # of Algorithm 2, whose steps Theorem 5 counts


def kernel_radius(K: Any) -> float:
    """R = sqrt(max_m max_i k_m(x_i, x_i)): the smallest R with k_m(x, x) <= R^2 on these rows.

    New rows may need a larger one.
    """
    return float(np.sqrt(max(float(kernel.diagonal().max()) for kernel in as_stack(K))))


def block_norm(K: Any, weights: Any, dual: Any, p: float) -> float:
    """B = ||w||_{2,q} = (sum_m ||w_m||^q)^{1/q}, q = 2p / (p + 1), of f = sum_m weights_m K_m dual: the norm the lp
    bounds need.
    """
    theta, a = np.asarray(weights, dtype=float), np.asarray(dual, dtype=float)
    norms = np.array([w * np.sqrt(max(float(a @ (k @ a)), 0.0)) for w, k in zip(theta, as_stack(K), strict=True)])
    q = 2.0 if np.isinf(p) else 2.0 * p / (p + 1.0)
    return float(np.sum(norms**q) ** (1.0 / q))


@dataclass(frozen=True, eq=False)
class LpMeasured:
    """Models of lp-norm MKL without intercept over norms p (L,): ``norms`` B, decisions on training (L, n) and held-out
    rows (L, m) with their labels, ``gaps`` relative duality gaps.
    """

    p: Array
    norms: Array
    gaps: Array
    decisions: Array
    held_out: Array
    y: Array
    y_held_out: Array

    def margin_risk(self, margin: float) -> Array:
        """Mean of min(1, max(0, 1 - y f(x) / margin)) on the training rows, (L,)."""
        require_positive(margin=margin)
        risk: Array = np.clip(1.0 - self.y * self.decisions / margin, 0.0, 1.0).mean(axis=1)
        return risk

    @property
    def error(self) -> Array:
        """Share of held-out rows with the wrong sign, (L,)."""
        error: Array = np.mean(self.y_held_out * self.held_out <= 0, axis=1)
        return error

    @property
    def regulariser(self) -> Array:
        """R = 1/2 sum_m ||w_m||^2 / theta_m = B^2 / 2 at the optimum, (L,)."""
        half: Array = 0.5 * self.norms**2
        return half

    def objective(self, C: float) -> Array:
        """C sum_i max(0, 1 - y f(x_i)) + R of models of the hinge loss, (L,), for the ``C`` they were fitted with."""
        loss: Array = np.maximum(0.0, 1.0 - self.y * self.decisions).sum(axis=1)
        return C * loss + self.regulariser


def measure_lp(
    K: Any,
    y: Any,
    cross: Any,
    y_held_out: Any,
    p: Sequence[float],
    C: float = 1.0,
    loss: str = "hinge",
    tol: float = 1e-3,
    callback: Progress = None,
) -> LpMeasured:
    """Fit lp-norm MKL without intercept at every p, because the bounds of the paper are about such models."""
    values, target, held, labels = _checked(K, y, cross, y_held_out)
    if not (np.all(np.abs(target) == 1) and np.all(np.abs(labels) == 1)):
        raise DataError("The bounds on the error are about two classes: the target must be -1 and +1.")
    rows: list[tuple[float, float, Array, Array]] = []
    warm = None
    for done, norm in enumerate(p):
        _tell(callback, done, len(p))
        heard = _steps(None if callback is None else lambda *_, done=done: callback(done, len(p)), len(p))
        fit = fit_weighted(values, target, C, make_loss(loss), LpNorm(norm), False, tol=tol, warm=warm, callback=heard)
        warm = WarmStart(fit.weights, fit.dual_coef, C)
        size = block_norm(values, fit.weights, fit.dual_coef, norm)
        inside, outside = (_decide(part, fit.weights, fit.dual_coef) for part in (values, held))
        rows.append((size, float(fit.relative_gap or 0.0), inside, outside))
    _tell(callback, len(p), len(p))
    sizes, gaps, fitted, new = (np.array(column) for column in zip(*rows, strict=True))
    return LpMeasured(np.asarray(p, dtype=float), sizes, gaps, fitted, new, target, labels)


@dataclass(frozen=True, eq=False)
class GompMeasured:
    """MKL-GOMP after s = 1, 2, ... kernels, arrays (L,): mean squared error on training and held-out rows, ``tau`` =
    ||f||^2 in the sum space; ``order`` the kernels by entry, ``lam`` the ridge.
    """

    s: Array
    train: Array
    held_out: Array
    held_out_error: Array
    tau: Array
    order: tuple[int, ...]
    lam: float


def measure_gomp(
    K: Any, y: Any, cross: Any, y_held_out: Any, lam: float, most: int = 50, callback: Progress = None
) -> GompMeasured:
    """Run MKL-GOMP with squared loss up to ``most`` kernels; ``held_out_error`` is the standard error of
    ``held_out``.
    """
    values, target, held, labels = _checked(K, y, cross, y_held_out)
    require_positive(lam=lam)
    size = min(int(most), len(values))
    _tell(callback, 0, size)
    with one_blas_thread():
        method = GOMP(values, target[:, None], lam, n_kernels=size, score_tol=0.0)
        fit = run(method, tol=0.0, max_iter=size + 1, callback=_steps(callback, size))
        points = (fit.points or ())[1:]
        rows = [_squares(point, values, held, target, labels) for point in points]
    if not rows:
        raise DataError("No kernel explains anything of this target; there is no path to draw.")
    train, errors, spread, tau = (np.array(column) for column in zip(*rows, strict=True))
    _tell(callback, size, size)
    order = tuple(int(j) for j in points[-1].selected or ())
    return GompMeasured(np.arange(1.0, len(rows) + 1), train, errors, spread, tau, order, float(lam))


def _squares(point: Any, K: Array, cross: Array, y: Array, labels: Array) -> tuple[float, float, float, float]:
    a = point.dual[:, 0]
    inside, outside = _decide(K, point.weights, a), _decide(cross, point.weights, a)
    squares = (labels - outside) ** 2
    spread = float(squares.std(ddof=1) / np.sqrt(squares.size)) if squares.size > 1 else np.nan
    return float(np.mean((y - inside) ** 2)), float(squares.mean()), spread, float(a @ inside)


@dataclass(frozen=True, eq=False)
class GreedyMeasured:
    """Algorithm 1 after d = 1, 2, ... kernels, arrays (L,): ``objective`` L(f^d) and ``excess`` = L(f^d) minus the best
    lower bound, so never below L(f^d) - L(f*); ``norm`` = sum_j ||f*_j||, ``start`` the excess of f = 0, ``critical``
    lam.

    ``loss`` = E_N(f*), and ``empirical`` (D + 1,) is E_N of Algorithm 2 after 0, 1, ..., D steps: what Theorem 5
    compares.
    """

    d: Array
    objective: Array
    excess: Array
    norm: float
    start: float
    lam: float
    critical: float
    order: tuple[int, ...]
    loss: float
    empirical: Array


def measure_greedy(
    K: Any, y: Any, share: float = 0.1, callback: Progress = None, *, steps: int = EMPIRICAL_STEPS
) -> GreedyMeasured:
    """Run Algorithm 1 to the optimum of (1) at lam = ``share`` of the critical lam, and ``steps`` unit steps of
    Algorithm 2; every kernel divided by its largest k(x, x) on these rows, as Theorems 1 and 5 ask for.
    """
    values = as_stack(K)
    require(0 < share < 1, f"share is the part of the critical lam, between 0 and 1; got {share!r}.")
    tops = np.array([max(float(kernel.diagonal().max()), 1e-300) for kernel in values])
    scaled, target = values / tops[:, None, None], np.asarray(y, dtype=float)
    critical = critical_lam(scaled, target)
    if not critical > 0:
        raise DataError("No kernel explains anything of this target; there is no path to draw.")
    M, lam = len(values), share * critical
    _tell(callback, 0, M)
    with one_blas_thread():
        method = FunctionalGreedy(scaled, Spectra.of(scaled), target, lam, n_kernels=M)
        fit = run(method, tol=0.0, max_iter=M + 1, callback=_steps(callback, M))
        other = EmpiricalGreedy(scaled, target, n_steps=steps, linesearch=False, divisors=np.ones(M))
        empirical = np.array([point.objective for point in run(other, tol=0.0, max_iter=steps + 1).points or ()])
    points = fit.points or ()
    lower = max(point.dual_objective for point in points if point.dual_objective is not None)
    objective = np.array([point.objective for point in points])
    excess = np.maximum(objective - lower, 0.0)
    last = points[-1]
    _tell(callback, M, M)
    counted, norm = np.arange(1.0, len(points)), float(last.weights.sum())
    order = tuple(int(j) for j in last.selected or ())
    return GreedyMeasured(
        counted,
        objective[1:],
        excess[1:],
        norm,
        float(excess[0]),
        lam,
        critical,
        order,
        last.objective - lam * norm,
        empirical,
    )


@dataclass(frozen=True)
class Recovery:
    """How often MKL-GOMP chose exactly the ``good`` kernels: ``hits`` of ``draws``."""

    good: tuple[int, ...]
    hits: int
    draws: int

    @property
    def standard_error(self) -> float:
        """Standard error of hits / draws, with half a hit and half a miss added so that it is never 0."""
        share = (self.hits + 0.5) / (self.draws + 1.0)
        return float(np.sqrt(share * (1.0 - share) / (self.draws + 1.0)))


def measure_recovery(
    K: Any,
    good: Sequence[int],
    lam: float,
    noise: float = 0.1,
    draws: int = 40,
    seed: int = 0,
    callback: Progress = None,
) -> Recovery:
    """Make targets from the ``good`` kernels and count how often MKL-GOMP picks these and no other with as many steps.

    y = sum_{j in good} g_j + noise e,    g_j ~ N(0, K_j) scaled to mean square 1,  e ~ N(0, I)
    """
    values, chosen = as_stack(K), sorted({int(j) for j in good})
    require_positive(lam=lam, draws=draws)
    require(noise >= 0, f"noise is a standard deviation and must be 0 or more; got {noise!r}.")
    if not chosen or chosen[0] < 0 or chosen[-1] >= len(values):
        raise ParameterError(f"good must name kernels from 0 to {len(values) - 1}, at least one; got {list(good)!r}.")
    random, n, hits = np.random.default_rng(seed), values.shape[1], 0
    with one_blas_thread():
        spectra = Spectra.of(values)
        for draw in range(draws):
            _tell(callback, draw, draws)
            y = np.sum([_function(spectra, j, random) for j in chosen], axis=0) + noise * random.standard_normal(n)
            method = GOMP(values, y[:, None], lam, n_kernels=len(chosen), score_tol=0.0, spectra=spectra)
            found = run(method, tol=0.0, max_iter=len(chosen) + 1).selected or ()
            hits += sorted(found) == chosen
    _tell(callback, draws, draws)
    return Recovery(tuple(chosen), hits, draws)


def _function(spectra: Spectra, j: int, random: np.random.Generator) -> Array:
    part = spectra.rows(j)
    g: Array = (np.sqrt(spectra.values[part]) * random.standard_normal(part.stop - part.start)) @ spectra.vectors[part]
    size = float(np.sqrt(np.mean(g**2)))
    return g / size if size > 0 else g


def _decide(K: Array, weights: Array, dual: Array) -> Array:
    out = np.zeros(K.shape[1])
    for m in np.flatnonzero(weights):
        out += weights[m] * (K[m] @ dual)
    return out


def _checked(K: Any, y: Any, cross: Any, y_held_out: Any) -> tuple[Array, Array, Array, Array]:
    values, held = as_stack(K), np.asarray(cross, dtype=np.float64)
    target, labels = (np.ascontiguousarray(part, dtype=np.float64) for part in (y, y_held_out))
    expected = (values.shape[0], labels.size, values.shape[1])
    if target.shape != (values.shape[1],) or held.shape != expected:
        raise DataError(
            f"Kernels and targets do not fit: {values.shape}, {target.shape}; {held.shape}, {labels.shape}."
        )
    return values, target, held, labels


def _tell(callback: Progress, done: int, total: int) -> None:
    if callback is not None:
        callback(done, total)


def _steps(callback: Progress, total: int) -> Callable[[Any], bool]:
    def report(record: Any) -> bool:
        _tell(callback, min(record.iteration, total), total)
        return False

    return report
