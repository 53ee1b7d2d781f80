"""Work at the edges of what people ask for: many kernels, plain sums, linear kernels of columns,
wide tables.

    python -m benchmarks.corners [NAME ...]      with NAMEs measures the lines whose name contains one of them

Each line stands beside a peer on the same work, or beside the matrix factors that the work cannot
do without.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import scipy
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.lines import Line, cpu, reported
from benchmarks.paths import problem
from mklcore.errors import suppress_convergence_warnings
from mklcore.estimators.shapley import shapley_values
from mklcore.kernels.operators import Dense
from mklcore.lp.schedule import fit_weighted
from mklcore.paths.choosing import choose_C
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm

REPEATS = 2
COSTS = np.geomspace(1e-2, 1e2, 25)
TWENTY = np.geomspace(1e-2, 1e2, 20)
_problem = cache(partial(problem, "A"))


def table(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows X (n, d), labels -1 / +1 that hang on three columns, and a target of numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    target = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n)
    return X, np.where(target > 0, 1.0, -1.0), target - target.mean()


@cache
def widths(n: int, M: int) -> Dense:
    """M RBF kernels on n rows, of widths from narrow to wide."""
    grid = mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.25, 4, M))
    return Dense(grid.grams(table(n)[0]).values)


def many_kernels(loss: str, p: float) -> Any:
    """One fit of 2,000 one-column kernels on 200 rows."""
    _, labels, target = table(200, 100)
    stack = _columns_of(200, 100, 20)
    y = labels if loss == "hinge" else target
    return fit_weighted(stack, y, 1.0, make_loss(loss), LpNorm(p), True)


@cache
def _columns_of(n: int, d: int, each: int) -> Dense:
    """RBF kernels of single columns, ``each`` widths a column."""
    grid = mkl.log_grid(0.1, 10, each) if each > 1 else [1.0]
    kernels = mkl.KernelDictionary.per_feature([mkl.RBF(width) for width in grid], d)
    return Dense(kernels.grams(table(n, d)[0]).values)


def plain_sum(n: int) -> Any:
    """One machine on the sum of twenty kernels at C = 100."""
    _, labels, _ = table(n)
    return fit_weighted(widths(n, 20), labels, 100.0, make_loss("hinge"), LpNorm(np.inf), True)


def by_libsvm(n: int) -> Any:
    """The same by scikit-learn's SVC."""
    return SVC(C=100.0, kernel="precomputed").fit(widths(n, 20).values.sum(axis=0), table(n)[1])


def greedy(kind: str) -> Any:
    """Ten of fifty one-column kernels on 800 rows."""
    stack = _columns_of(800, 50, 1)
    y = table(800, 50)[2]
    return GREEDY[kind](n_kernels=10, kernels="precomputed").fit(stack.values, y)


def eigenvectors() -> Any:
    """The eigenvectors of ten of those kernels."""
    return [np.linalg.eigh(gram) for gram in _columns_of(800, 50, 1).values[:10]]


def groups(n: int, d: int) -> Any:
    """l1-norm MKL of one linear kernel a column, from the table on."""
    X, _, target = table(n, d)
    kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), d)
    return mkl.LpMKLRegressor(kernels=kernels, p=1.0, loss="squared", C=10.0 / n).fit(X, target)


def ridge_path(p: float) -> Any:
    """Nine costs of the squared loss on 1,600 rows."""
    stack = widths(1600, 20)
    y = table(1600)[2]
    model = mkl.LpMKLRegressor(p=p, loss="squared", kernels="precomputed")
    return mkl.fit_path(model, stack.values, y, "C", np.geomspace(0.1, 10, 9))


def factors(count: int, n: int) -> Any:
    """So many Cholesky factors of a sum of kernels on n rows."""
    total = widths(n, 20).values.sum(axis=0) + np.eye(n)
    return [scipy.linalg.cholesky(total) for _ in range(count)]


def ridge_sum() -> Any:
    """25 costs of the squared loss on the plain sum of twenty kernels, 1,000 rows."""
    model = mkl.UniformMKLRegressor(kernels="precomputed")
    return mkl.fit_path(model, widths(1000, 20).values, table(1000)[2], "C", COSTS)


@cache
def _wide_model(d: int) -> tuple[Any, np.ndarray]:
    X, _, target = table(300, d)
    kernels = mkl.KernelDictionary.rbf_grid([1.0, 3.0])
    return mkl.LpMKLRegressor(kernels=kernels, p=2.0).fit(X, target), X[:20]


def shapley(d: int) -> Any:
    """Shapley values of twenty rows with d columns."""
    model, rows = _wide_model(d)
    return shapley_values(model, rows)


def folds() -> Any:
    """Twenty costs on five folds at p = 2, problem A."""
    stack, y = _problem()
    return choose_C(mkl.LpMKLClassifier(p=2.0), stack, y, TWENTY, rule="kfold", n_splits=5)


def folds_by_sklearn() -> Any:
    """The same costs and folds of one SVC on the plain sum."""
    stack, y = _problem()
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": TWENTY}, cv=5)
    return search.fit(stack.values.sum(axis=0), y)


def simple(model: Any) -> Any:
    """A baseline of problem A."""
    return model.fit(*_problem())


def simple_by_mklpy(kind: str) -> Any:
    """The same by MKLpy."""
    from MKLpy.algorithms import AverageMKL, EasyMKL

    stack, y = _problem()
    return (AverageMKL() if kind == "Uniform" else EasyMKL()).fit(list(stack.values), y)


class Corner(NamedTuple):
    """Work of ours beside that of a peer."""

    what: str
    ours: Callable[[], Any]
    peer: str
    theirs: Callable[[], Any]


def eigenvalues(M: int) -> Any:
    """One eigendecomposition of the size of Newton's Hessian."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((M, M))
    return np.linalg.eigh(A + A.T)


def ridge_grid() -> Any:
    """Twenty-five machines of scikit-learn on the same sum."""
    total = widths(1000, 20).values.sum(axis=0)
    y = table(1000)[2]
    return [KernelRidge(alpha=1.0 / C, kernel="precomputed").fit(total, y) for C in COSTS]


def by_lasso(n: int, d: int) -> Any:
    """The lasso whose model is that of `groups`, at the slope of half the square of its sum of
    norms.
    """
    X, alpha = _lasso(n, d)
    return Lasso(alpha=alpha, tol=1e-5, max_iter=10_000).fit(X, table(n, d)[2])


@cache
def _lasso(n: int, d: int) -> tuple[np.ndarray, float]:
    """Standardised columns, and the strength at which a lasso has the model of `groups`."""
    X = table(n, d)[0]
    columns = (X - X.mean(axis=0)) / X.std(axis=0)
    model = groups(n, d)
    norms = model.weights_ * np.abs(columns.T @ model.dual_coef_)
    return columns, float(np.sum(norms)) / 10.0


LOSSES = (("hinge", 1.0), ("squared", 1.0), ("squared", 4 / 3))
SHAPES = ((5000, 300), (2000, 500), (500, 5000))
GREEDY: dict[str, Any] = {"GOMP": mkl.GOMPRegressor, "greedy": mkl.GreedyMKLRegressor}
EIGH, TEN, NINE = partial(eigenvalues, 2000), "ten eigh of 800", partial(factors, 9, 1600)
CORNERS = [
    *(
        Corner(
            f"2,000 kernels, {loss}, p = {p:.3g}",
            partial(many_kernels, loss, p),
            "one eigh of 2,000",
            EIGH,
        )
        for loss, p in LOSSES
    ),
    Corner(
        "3,200 rows, p = infinity, C = 100",
        partial(plain_sum, 3200),
        "libsvm",
        partial(by_libsvm, 3200),
    ),
    *(
        Corner(f"{kind}, 10 of 50 one-column kernels", partial(greedy, kind), TEN, eigenvectors)
        for kind in GREEDY
    ),
    *(
        Corner(
            f"linear kernels of {d:,} columns, {n:,} rows",
            partial(groups, n, d),
            "Lasso",
            partial(by_lasso, n, d),
        )
        for n, d in SHAPES
    ),
    *(
        Corner(
            f"9 costs, 1,600 rows, p = {p:.3g}", partial(ridge_path, p), "9 Cholesky factors", NINE
        )
        for p in (1.0, 4 / 3)
    ),
    Corner(
        "25 costs, squared, 1,000 rows, p = infinity",
        ridge_sum,
        "25 machines of KernelRidge",
        ridge_grid,
    ),
    Corner(
        "Shapley values of 500 columns, 20 rows",
        partial(shapley, 500),
        "those of 100",
        partial(shapley, 100),
    ),
    Corner("5 folds of 20 costs, p = 2", folds, "GridSearchCV of SVC on the sum", folds_by_sklearn),
    Corner(
        "plain sum of A",
        partial(simple, mkl.UniformMKLClassifier()),
        "AverageMKL of MKLpy",
        partial(simple_by_mklpy, "Uniform"),
    ),
    Corner(
        "margin weights of A",
        partial(simple, mkl.AlignedMKLClassifier("margin")),
        "EasyMKL of MKLpy",
        partial(simple_by_mklpy, "margin"),
    ),
]


def run(*chosen: str) -> list[Line]:
    """Every corner, ours and theirs in turn; the first turn warms what is compiled."""
    found = []
    with threadpool_limits(1), suppress_convergence_warnings():
        for corner in CORNERS:
            if chosen and not any(name in corner.what for name in chosen):
                continue
            turns = []
            for _ in range(REPEATS + 1):
                try:
                    peer = cpu(corner.theirs)[0]
                except ImportError:
                    peer = np.nan
                turns.append((cpu(corner.ours)[0], peer))
            ours, theirs = zip(*turns[1:], strict=True)
            found.append(Line(corner.what, ours, "CPU s", float(np.median(theirs)), corner.peer))
            print(reported(found[-1:]).splitlines()[-1], flush=True)
    return found


if __name__ == "__main__":
    run(*sys.argv[1:])
