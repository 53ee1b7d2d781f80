"""What a bound is set beside: the same quantities measured on the available rows.

Targets are numbers: -1 and +1, or a centred regression target. ``K`` (M, n, n) training kernels,
``cross`` (M, m, n) the kernels between m held-out rows and the training rows. ``callback(done,
total)`` may raise to cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, one_blas_thread
from mklcore.errors import DataError, Progress
from mklcore.gallery.theory.words import require
from mklcore.kernels.grams import as_stack
from mklcore.parameters import check_positive
from mklcore.problem.driver import run
from mklcore.problem.penalties import conjugate_exponent
from mklcore.sparse.gomp import GOMP, Spectra
from mklcore.sparse.greedy import FunctionalGreedy, critical_lam

NOTHING = "No kernel explains anything of this target; there is no path to draw."


def _quiet(done: int, total: int) -> None:
    """Tell nobody how far it is."""


def kernel_radius(K: Any) -> float:
    """R = sqrt(max_m max_i k_m(x_i, x_i)): the smallest R with k_m(x, x) <= R^2 on these rows.

    New rows may need a larger one.
    """
    return float(np.sqrt(max(float(kernel.diagonal().max()) for kernel in as_stack(K))))


class Complexity(NamedTuple):
    """Rademacher complexity on the rows given for norms ``p`` (L,): ``mean`` and ``error`` (L,)
    over random signs.
    """

    p: Array
    mean: Array
    error: Array


def measure_complexity(
    K: Any, p: Sequence[float], draws: int = 50, seed: int = 0, callback: Progress = _quiet
) -> Complexity:
    """How well models with ||w||_{2,q} <= 1, q = 2p / (p + 1), follow random signs;
    ``lp_rademacher_bound`` bounds it.

        Rad = E_sigma sup_w (1/n) sum_i sigma_i f(x_i) = (1/n) E_sigma || ( sqrt(sigma'K_m sigma) )_m ||_{2 p*},
        p* = p / (p - 1)

    The target has no part in it. ``error`` is the standard error over the ``draws``.
    """
    values = as_stack(K)
    orders = np.asarray(p, dtype=float)
    require(draws >= 2, f"draws must be 2 or more, for a standard error; got {draws!r}.")
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (values.shape[1], draws))
    norms = np.empty((len(values), draws))
    with one_blas_thread():
        for m, kernel in enumerate(values):
            callback(m, len(values))
            norms[m] = np.sqrt(np.maximum(np.sum(signs * (kernel @ signs), axis=0), 0.0))
    callback(len(values), len(values))
    found = (
        np.array([np.linalg.norm(norms, 2.0 * conjugate_exponent(q), axis=0) for q in orders])
        / values.shape[1]
    )
    return Complexity(orders, found.mean(axis=1), found.std(axis=1, ddof=1) / np.sqrt(draws))


class GompMeasured(NamedTuple):
    """MKL-GOMP after s = 1, 2, ... kernels, arrays (L,): mean squared error on training and
    held-out rows, ``tau`` =
    ||f||^2 in the sum space.
    """

    s: Array
    train: Array
    held_out: Array
    held_out_error: Array
    tau: Array


def measure_gomp(
    K: Any,
    y: Any,
    cross: Any,
    y_held_out: Any,
    lam: float,
    most: int = 50,
    callback: Progress = _quiet,
) -> GompMeasured:
    """Run MKL-GOMP with squared loss up to ``most`` kernels; ``held_out_error`` is the standard
    error of ``held_out``.
    """
    values = as_stack(K)
    held = np.asarray(cross, dtype=np.float64)
    target, labels = (np.ascontiguousarray(part, dtype=np.float64) for part in (y, y_held_out))
    if target.shape != values.shape[1:2] or held.shape != (len(values), labels.size, target.size):
        raise DataError(
            f"Kernels and targets do not fit: {values.shape}, {target.shape}; "
            f"{held.shape}, {labels.shape}."
        )
    check_positive(lam=lam)
    size = min(int(most), len(values))
    callback(0, size)
    with one_blas_thread():
        method = GOMP(values, target[:, None], lam, n_kernels=size, score_tol=0.0)
        fit = run(method, tol=0.0, max_iter=size + 1, callback=_steps(callback, size))
        points = (fit.points or ())[1:]
        rows = [_errors(point, values, held, target, labels) for point in points]
    if not rows:
        raise DataError(NOTHING)
    callback(size, size)
    return GompMeasured(np.arange(1.0, len(rows) + 1), *np.array(rows).T)


def _errors(
    point: Any, K: Array, cross: Array, y: Array, labels: Array
) -> tuple[float, float, float, float]:
    """Errors on both kinds of rows, the standard error of the second, and ||f||^2."""
    a = point.dual[:, 0]
    used = np.flatnonzero(point.weights)
    inside, outside = (sum(point.weights[m] * (part[m] @ a) for m in used) for part in (K, cross))
    squares = (labels - outside) ** 2
    spread = float(squares.std(ddof=1) / np.sqrt(squares.size)) if squares.size > 1 else np.nan
    return float(np.mean((y - inside) ** 2)), float(squares.mean()), spread, float(a @ inside)


class GreedyMeasured(NamedTuple):
    """Algorithm 1 after d = 1, 2, ... kernels, arrays (L,): ``excess`` = L(f^d) minus the best
    lower bound, so never below L(f^d) - L(f*); ``norm`` = sum_j ||f*_j||, ``start`` the excess of f
    = 0.
    """

    d: Array
    excess: Array
    norm: float
    start: float


def measure_greedy(
    K: Any, y: Any, share: float = 0.1, callback: Progress = _quiet
) -> GreedyMeasured:
    """Run Algorithm 1 to the optimum of (1) at lam = ``share`` of the critical lam; every kernel
    divided by its largest k(x, x) on these rows, as Theorem 1 asks for.
    """
    values = as_stack(K)
    require(
        0 < share < 1, f"share is the part of the critical lam, between 0 and 1; got {share!r}."
    )
    tops = np.array([max(float(kernel.diagonal().max()), 1e-300) for kernel in values])
    scaled = values / tops[:, None, None]
    target = np.asarray(y, dtype=float)
    critical = critical_lam(scaled, target)
    if not critical > 0:
        raise DataError(NOTHING)
    M = len(values)
    callback(0, M)
    with one_blas_thread():
        method = FunctionalGreedy(scaled, Spectra.of(scaled), target, share * critical, n_kernels=M)
        fit = run(method, tol=0.0, max_iter=M + 1, callback=_steps(callback, M))
    points = fit.points or ()
    lower = max(point.dual_objective for point in points if point.dual_objective is not None)
    start, *excess = np.maximum(np.array([point.objective for point in points]) - lower, 0.0)
    callback(M, M)
    return GreedyMeasured(
        np.arange(1.0, len(points)), np.array(excess), float(points[-1].weights.sum()), float(start)
    )


def _steps(callback: Progress, total: int) -> Callable[[Any], bool]:
    def report(record: Any) -> bool:
        callback(min(record.iteration, total), total)
        return False

    return report
