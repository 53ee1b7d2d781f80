"""Greedy selection: MKL-GOMP against lq-norm MKL, and the geometric rate of greedy sparse MKL.

Figure 1 of the MKL-GOMP paper takes the two Gaussians of ``lp.toy``, one linear kernel per feature,
normalised by its variance, and the squared loss. The error on validation rows chooses lam for every
method, and the number of kernels for MKL-GOMP. With linear kernels a model is one weight per
feature, w_j = gamma_j x_j'alpha / s_j, so that one product scores a whole grid of models on 10,000
rows.

The rate is measured on 64 rows with 16 kernels of rank 4, whose spans are columns of a Hadamard
matrix, so that they are orthogonal and k(x, x) = 1. The target is in all spans; its part in each is
a third of that in the one before. Algorithm 2 runs with unit steps and with line search, and
Algorithm 1 at a small lambda. Exact copies of every kernel change nothing.

Source: Sindhwani and Lozano (2011), Figure 1; Jin, Yang and Mahdavi (2013), Algorithms 1 and 2,
Lemma 3.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import hadamard

from mklcore.arrays import Array
from mklcore.estimators.greedy import GreedyMKLRegressor
from mklcore.gallery.experiments.base import TableLine
from mklcore.gallery.experiments.lp import INFORMATIVE, N_CHECK, N_TRAIN
from mklcore.gallery.lessons.toy import N_FEATURES, linear_errors, linear_model, toy_parts
from mklcore.gallery.theory.greedy import greedy_decay_bound, restricted_condition
from mklcore.kernels.grams import GramStack
from mklcore.problem.driver import run
from mklcore.sparse.gomp import GOMP, Spectra
from mklcore.sparse.variants import lq_mkl

LAMS = np.geomspace(1e-4, 1e4, 17)
ORDERS = (1.0, 4.0 / 3.0, 2.0, 4.0, np.inf)
N_ROWS = 64
N_KERNELS = 16
RANK = 4
RATIO = 1.0 / 3.0
LAM = 1e-6
SMALLEST = 1e-16
STEPS = 12
COPIES = "12, every kernel twice"
ALGORITHMS = (("empirical", "unit"), ("empirical", "linesearch"), ("functional", "unit"))
_TOL = 1e-4


def sparsity(line: TableLine) -> list[float]:
    """Measure Figure 1: test errors, kernels of MKL-GOMP, and the chosen values of lam.

    The test errors in % are those of MKL-GOMP and of every lq norm. The base-10 logarithms of every
    chosen lam are the right half of the figure.
    """
    count = INFORMATIVE[line.row]
    seeds = [line.seed, count, line.repetition]
    (train, validation, test), stack = toy_parts(count, seeds, N_TRAIN, N_CHECK, N_CHECK)
    y = train.y.astype(np.float64)
    models, sizes = _gomp_models(stack, train.X, y)
    lams = np.repeat(LAMS, sizes.size // LAMS.size)
    # Ties go to the fewest kernels, then to the largest lam.
    best = np.lexsort((-lams, sizes, linear_errors(validation, models)))[0]
    tested = [linear_errors(test, models)[best]]
    chosen = [lams[best]]
    for q in ORDERS:
        norm_models = _lq_models(stack, train.X, y, q)
        best_lam = np.lexsort((-LAMS, linear_errors(validation, norm_models)))[0]
        tested.append(linear_errors(test, norm_models)[best_lam])
        chosen.append(LAMS[best_lam])
    return [*tested, sizes[best], *np.log10(chosen)]


def _gomp_models(stack: GramStack, X: Array, y: Array) -> tuple[Array, Array]:
    """Weights (d, L S) of every lam and size, lam by lam, and the sizes (L S,)."""
    spectra = Spectra.of(stack.values)
    options: dict[str, Any] = {"n_kernels": N_FEATURES, "score_tol": 0.0, "spectra": spectra}
    columns = []
    sizes = []
    for lam in LAMS:
        method = GOMP(stack.values, y[:, None], lam, **options)
        points = run(method, tol=0.0, max_iter=N_FEATURES + 1).points or ()
        # A run that ends early repeats its last model, so that every lam has as many.
        for step in range(1, N_FEATURES + 1):
            point = points[min(step, len(points) - 1)]
            columns.append(linear_model(stack, X, point.weights, point.dual[:, 0]))
            sizes.append(len(point.selected or ()))
    return np.column_stack(columns), np.array(sizes)


def _lq_models(stack: GramStack, X: Array, y: Array, q: float) -> Array:
    """Weights (d, L) of lq-norm MKL along lam, from the largest to the smallest."""
    models = np.empty((N_FEATURES, LAMS.size))
    fit = None
    for k in reversed(range(LAMS.size)):
        fit = lq_mkl(stack, y, LAMS[k], q, tol=_TOL, warm=fit)
        models[:, k] = linear_model(stack, X, fit.weights, fit.dual_coef)
    return models


def rate(line: TableLine) -> Array:
    """Base-10 logarithms of E_N - E* after some steps, and that of the bound of Lemma 3.

    The steps are those of Algorithm 2 with unit steps and with line search, and of Algorithm 1.
    """
    steps = STEPS if line.row == COPIES else int(line.row)
    K, y = _problem(line.seed, line.repetition)
    if line.row == COPIES:
        K = np.repeat(K, 2, axis=0)
    excess = []
    for criterion, step in ALGORITHMS:
        model = GreedyMKLRegressor(
            criterion,
            lam=LAM,
            n_kernels=steps,
            step=step,
            kernels="precomputed",
            fit_intercept=False,
            tol=1e-10,
        )
        residual = y - model.fit(K, y).predict(K)
        excess.append(float(residual @ residual) / (2 * len(y)))
    condition = _condition(min(2 * steps, N_KERNELS))
    excess.append(greedy_decay_bound(steps, condition, 0.0, 3.0))
    return np.log10(np.maximum(excess, SMALLEST))


def _problem(seed: int, repetition: int) -> tuple[Array, Array]:
    """The kernels (16, 64, 64) and a target (64,), |y| <= 1, in their spans, so that E* = 0."""
    rng = np.random.default_rng([seed, repetition])
    columns = (hadamard(N_ROWS) / np.sqrt(N_ROWS))[:, rng.permutation(N_ROWS)]
    spans = columns.reshape(N_ROWS, N_KERNELS, RANK)
    K = np.einsum("imr,jmr->mij", spans, spans) * (N_ROWS / RANK)
    sizes = RATIO ** rng.permutation(N_KERNELS)
    signs = rng.choice([-1.0, 1.0], (N_KERNELS, RANK))
    y = np.einsum("imr,mr->i", spans, sizes[:, None] * signs)
    return K, y / np.abs(y).max()


@lru_cache(maxsize=32)
def _condition(d: int) -> float:
    """The upper bound of gamma(d, K), which is the same for every draw."""
    return float(restricted_condition(_problem(0, 0)[0], d).upper)
