"""The quantities that theorems bound, measured on the available rows.

Targets are numbers: -1 and +1, or a centred regression target. ``K`` (M, n, n) are the kernels of
the training rows, and ``cross`` (M, m, n) those between m held-out rows and the training rows.
``callback(done, total)`` may raise to cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import sem

from mklcore.arrays import Array, one_blas_thread
from mklcore.errors import DataError, Progress
from mklcore.gallery.theory.words import require
from mklcore.kernels.grams import as_stack
from mklcore.parameters import check_positive
from mklcore.problem.driver import run
from mklcore.problem.penalties import conjugate_exponent
from mklcore.sparse.gomp import GOMP
from mklcore.sparse.greedy import FunctionalGreedy, critical_lam

NOTHING = "No kernel explains anything of this target; there is no path to draw."


def _quiet(done: int, total: int) -> None:
    """Report no progress."""


def kernel_radius(K: Any) -> float:
    """The smallest R with k_m(x, x) <= R^2 on these rows; new rows may need a larger one."""
    diagonals = np.diagonal(as_stack(K), axis1=1, axis2=2)
    return float(np.sqrt(diagonals.max()))


class Complexity(NamedTuple):
    """Rademacher complexity for norms ``p`` (L,): ``mean`` and ``error`` (L,) over random signs."""

    p: Array
    mean: Array
    error: Array


def measure_complexity(
    K: Any, p: Sequence[float], draws: int = 50, seed: int = 0, callback: Progress = _quiet
) -> Complexity:
    """Measure how well models with ||w||_{2,q} <= 1, q = 2p / (p + 1), follow random signs:

        Rad = E_sigma sup_w (1/n) sum_i sigma_i f(x_i) = (1/n) E_sigma || ( sqrt(sigma'K_m sigma) )_m ||_{2 p*},
        p* = p / (p - 1)

    ``lp_rademacher_bound`` bounds it, and the target has no part in it. ``error`` is the standard
    error over the ``draws``.
    """
    values = as_stack(K)
    orders = np.asarray(p, dtype=float)
    require(draws >= 2, f"draws must be 2 or more, for a standard error; got {draws!r}.")
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (values.shape[1], draws))
    norms = np.empty((len(values), draws))
    with one_blas_thread():
        for m, kernel in enumerate(values):
            callback(m, len(values))
            forms = np.sum(signs * (kernel @ signs), axis=0)
            norms[m] = np.sqrt(np.maximum(forms, 0.0))
    callback(len(values), len(values))
    complexities = np.empty((orders.size, draws))
    for k, order in enumerate(orders):
        complexities[k] = np.linalg.norm(norms, 2.0 * conjugate_exponent(order), axis=0)
    complexities /= values.shape[1]
    return Complexity(orders, complexities.mean(axis=1), sem(complexities, axis=1))


class GompMeasured(NamedTuple):
    """MKL-GOMP after s = 1, 2, ... kernels; all arrays are (L,).

    ``train`` and ``held_out`` are mean squared errors, ``held_out_error`` is the standard error of
    the latter, and ``tau`` is ||f||^2 in the sum space.
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
    """Run MKL-GOMP with squared loss up to ``most`` kernels."""
    values = as_stack(K)
    held = np.asarray(cross, dtype=np.float64)
    target = np.ascontiguousarray(y, dtype=np.float64)
    labels = np.ascontiguousarray(y_held_out, dtype=np.float64)
    shape = (len(values), labels.size, target.size)
    if target.shape != values.shape[1:2] or held.shape != shape:
        raise DataError(
            f"Kernels and targets do not fit: {values.shape}, {target.shape}; "
            f"{held.shape}, {labels.shape}."
        )
    check_positive(lam=lam)
    size = min(int(most), len(values))
    with one_blas_thread():
        method = GOMP(values, target[:, None], lam, n_kernels=size, score_tol=0.0)
        points = _points(method, size, callback)[1:]
        if not points:
            raise DataError(NOTHING)
        rows = np.empty((len(points), 4))
        for k, point in enumerate(points):
            a = point.dual[:, 0]
            used = np.flatnonzero(point.weights)
            inside = np.tensordot(point.weights[used], values[used] @ a, 1)
            outside = np.tensordot(point.weights[used], held[used] @ a, 1)
            squares = (labels - outside) ** 2
            error = sem(squares) if squares.size > 1 else np.nan
            rows[k] = np.mean((target - inside) ** 2), squares.mean(), error, a @ inside
    return GompMeasured(np.arange(1.0, len(rows) + 1), *rows.T)


class GreedyMeasured(NamedTuple):
    """Algorithm 1 after d = 1, 2, ... kernels; arrays are (L,).

    ``excess`` is L(f^d) minus the best lower bound, and so never below L(f^d) - L(f*). ``norm`` is
    sum_j ||f*_j||, and ``start`` is the excess of f = 0.
    """

    d: Array
    excess: Array
    norm: float
    start: float


def measure_greedy(
    K: Any, y: Any, share: float = 0.1, callback: Progress = _quiet
) -> GreedyMeasured:
    """Run Algorithm 1 to the optimum of (1) at lam = ``share`` of the critical lam.

    Every kernel is divided by its largest k(x, x) on these rows, as Theorem 1 requires.
    """
    values = as_stack(K)
    require(
        0 < share < 1, f"share is the part of the critical lam, between 0 and 1; got {share!r}."
    )
    tops = np.diagonal(values, axis1=1, axis2=2).max(axis=1)
    scaled = values / np.maximum(tops, 1e-300)[:, None, None]
    target = np.asarray(y, dtype=float)
    critical = critical_lam(scaled, target)
    if not critical > 0:
        raise DataError(NOTHING)
    M = len(values)
    with one_blas_thread():
        method = FunctionalGreedy(scaled, target, share * critical, n_kernels=M)
        points = _points(method, M, callback)
    lower = max(point.dual_objective for point in points if point.dual_objective is not None)
    excess = np.maximum([point.objective - lower for point in points], 0.0)
    sizes = np.arange(1.0, len(points))
    norm = float(points[-1].weights.sum())
    return GreedyMeasured(sizes, excess[1:], norm, float(excess[0]))


def _points(method: Any, size: int, callback: Progress) -> Sequence[Any]:
    """The points of a run over at most ``size`` kernels, which reports its progress."""

    def report(record: Any) -> bool:
        callback(min(record.iteration, size), size)
        return False

    callback(0, size)
    fit = run(method, tol=0.0, max_iter=size + 1, callback=report)
    callback(size, size)
    return fit.points or ()
