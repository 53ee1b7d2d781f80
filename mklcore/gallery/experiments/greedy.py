"""Greedy selection of kernels: MKL-GOMP against lq-norm MKL, and the geometric rate of greedy
sparse MKL.

Fig. 1 of the MKL-GOMP paper: the two Gaussians of ``lp.toy``; one linear kernel per feature,
variance-normalised; squared loss; lam for every method, and the number of kernels for MKL-GOMP, by
the error on validation rows. With linear kernels a model is one weight per feature, w_j = gamma_j
x_j'alpha / s_j, so that a whole grid of models is scored on 10,000 rows by one product.

The rate: 64 rows; 16 kernels of rank 4 whose spans are columns of a Hadamard matrix, so that they
are orthogonal and k(x, x) = 1; the target is in all spans, a third of the size from one kernel to
the next. Algorithm 2 with unit steps and with line search, Algorithm 1 at a small lambda. Exact
copies of every kernel change nothing.

Source: Sindhwani and Lozano (2011), Figure 1; Jin, Yang and Mahdavi (2013), Algorithms 1 and 2,
Lemma 3.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg import hadamard

from mklcore.arrays import Array
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.greedy import GreedyMKLRegressor
from mklcore.gallery.experiments.base import TableLine
from mklcore.gallery.experiments.lp import INFORMATIVE, N_CHECK, N_TRAIN
from mklcore.gallery.lessons.toy import N_FEATURES, toy_parts
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
_TOL = 1e-4


def sparsity(line: TableLine) -> list[float]:
    """Test error in % of MKL-GOMP and of every lq norm, the kernels MKL-GOMP used, then the base-10
    logarithms of every chosen lam (the right half of the figure).
    """
    count = INFORMATIVE[line.row]
    seeds = [line.seed, count, line.repetition]
    (train, validation, test), stack = toy_parts(count, seeds, N_TRAIN, N_CHECK, N_CHECK)
    y = train.y.astype(np.float64)

    def errors(models: Array, rows: Array, labels: Array) -> Array:
        wrong: Array = np.mean(np.where(rows @ models > 0, 1, -1) != labels[:, None], axis=0)
        return 100.0 * wrong

    models, sizes = _gomp_models(stack, train.X, y)
    ways = [(models, np.repeat(LAMS, sizes.size // LAMS.size), sizes)]
    ways += [(_lq_models(stack, train.X, y, q), LAMS, np.zeros(LAMS.size)) for q in ORDERS]
    tested = []
    chosen = []
    kernels_used = list[float]()
    for models, lams, sizes in ways:
        best = np.lexsort((-lams, sizes, errors(models, validation.X, validation.y)))[0]
        tested.append(float(errors(models[:, [best]], test.X, test.y)[0]))
        chosen.append(float(lams[best]))
        kernels_used.append(float(sizes[best]))
    return [*tested, kernels_used[0], *np.log10(chosen).tolist()]


def _gomp_models(stack: GramStack, X: Array, y: Array) -> tuple[Array, Array]:
    """Weights (d, L S) of every lam and size, lam by lam, and the sizes (L S,)."""
    spectra = Spectra.of(stack.values)
    columns = []
    sizes = []
    for lam in LAMS:
        method = GOMP(
            stack.values, y[:, None], lam, n_kernels=N_FEATURES, score_tol=0.0, spectra=spectra
        )
        points = run(method, tol=0.0, max_iter=N_FEATURES + 1).points or ()
        steps = [*points[1:], *[points[-1]] * (N_FEATURES + 1 - len(points))]
        columns += [point.weights * (X.T @ point.dual[:, 0]) / stack.scales for point in steps]
        sizes += [len(point.selected or ()) for point in steps]
    return np.column_stack(columns), np.array(sizes)


def _lq_models(stack: GramStack, X: Array, y: Array, q: float) -> Array:
    """Weights (d, L) of lq-norm MKL along lam."""
    columns = []
    fit = None
    for lam in LAMS[::-1]:
        fit = lq_mkl(stack, y, lam, q, tol=_TOL, warm=fit)
        columns.append(fit.weights * (X.T @ fit.dual_coef) / stack.scales)
    return np.column_stack(columns[::-1])


def rate(line: TableLine) -> list[float]:
    """Base-10 logarithms of E_N - E* after some steps: Algorithm 2 by unit steps and by line
    search, Algorithm 1, and the bound of Lemma 3.
    """
    steps = STEPS if line.row == COPIES else int(line.row)
    K, y = _problem(line.seed, line.repetition)
    K = np.repeat(K, 2, axis=0) if line.row == COPIES else K
    found = []
    for criterion, step in (
        ("empirical", "unit"),
        ("empirical", "linesearch"),
        ("functional", "unit"),
    ):
        model = GreedyMKLRegressor(
            criterion,
            lam=LAM,
            n_kernels=steps,
            step=step,
            kernels="precomputed",
            fit_intercept=False,
            tol=1e-10,
        )
        # a number of steps is what is asked for, not a tolerance
        with suppress_convergence_warnings():
            residual = y - model.fit(K, y).predict(K)
        found.append(float(residual @ residual) / (2 * len(y)))
    found.append(
        float(
            greedy_decay_bound(
                steps,
                _condition(min(2 * steps, N_KERNELS)),
                0.0,
                3.0,
            )
        )
    )
    return [float(np.log10(max(value, SMALLEST))) for value in found]


def _problem(seed: int, repetition: int) -> tuple[Array, Array]:
    """The kernels (16, 64, 64) and the target (64,), |y| <= 1, which is in their spans: E* = 0."""
    rng = np.random.default_rng([seed, repetition])
    spans = (hadamard(N_ROWS) / np.sqrt(N_ROWS))[:, rng.permutation(N_ROWS)].reshape(
        N_ROWS, N_KERNELS, RANK
    )
    K = np.einsum("imr,jmr->mij", spans, spans) * (N_ROWS / RANK)
    sizes = RATIO ** rng.permutation(N_KERNELS)
    y = np.einsum("imr,mr->i", spans, sizes[:, None] * rng.choice([-1.0, 1.0], (N_KERNELS, RANK)))
    return K, y / np.abs(y).max()


@lru_cache(maxsize=32)
def _condition(d: int) -> float:
    """gamma(d, K), the upper bound; the spans are alike for every draw."""
    return float(restricted_condition(_problem(0, 0)[0], d).upper)
