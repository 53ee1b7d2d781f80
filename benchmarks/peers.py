"""Other libraries on the same Gram matrices, where they are installed: ``pip install -e
".[peers]"``.

    python -m benchmarks.peers

A: breast_cancer, 398 training rows, 50 kernels, C = 1. None of the peers solves the same problem to
a certificate: EasyMKL has a criterion of its own, a random search draws weights and scores each on
five folds, so that ours is scored on as many folds and costs; a general solver states the problem
at p = 2 for itself, and what translating it takes is part of its line. The note says what was
solved. Where every kernel is linear and the loss squared, l1-norm MKL is a group lasso at another
scale: celer solves that, at the scale where both have the same predictions, from columns instead of
Gram matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.corners import table
from benchmarks.grams import into
from benchmarks.lines import Line, cpu, reported
from benchmarks.paths import problem
from mklcore._numba.warmup import warm_up
from mklcore.kernels.features import column_features
from mklcore.lp.schedule import fit_weighted
from mklcore.paths.choosing import choose_C
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm

REPEATS = 5
PATIENCE = 10.0  # CPU s of a peer
DRAWS = 20
WIDTHS = mkl.log_grid(0.1, 10, 50)


def run() -> list[Line]:
    """Fifty Gram matrices beside scikit-learn's loop, and a fit at p = 2 beside every peer that is
    installed.
    """
    warm_up()
    with threadpool_limits(1):
        return [_grams(), *_fits(), *_group_lasso()]


def _grams() -> Line:
    rows = mkl.load_sample("breast_cancer").split(test_size=0.3, seed=0)[0].X
    kernels = mkl.KernelDictionary.rbf_widths(WIDTHS)
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    buffer = np.ones((len(WIDTHS), len(rows), len(rows)))
    ours, theirs = _turns(
        lambda: kernels.grams(rows, normalise=None),
        lambda: into(buffer, standard, 0.5 / np.square(WIDTHS)),
    )
    peer = "scikit-learn loop into a kept buffer"
    return Line("50 RBF Gram matrices, n = 398", ours, "CPU s", float(np.median(theirs)), peer)


def _fits() -> list[Line]:
    whole, labels = problem("A")
    found = []
    for name, (module, peer, rows, note) in PEERS.items():
        if find_spec(module) is not None:
            stack, y = (
                (whole, labels) if rows is None else (whole.take(np.arange(rows)), labels[:rows])
            )
            work, fit = OURS.get(name, ("fit", mkl.LpMKLClassifier(p=2.0).fit))
            ours, theirs = _turns(partial(fit, stack, y), partial(peer, stack.values, y))
            size = f" ({rows} rows)" if rows else ""
            what = f"{work} of A{size} at p = 2, beside {name}"
            found.append(Line(what, ours, "CPU s", float(np.median(theirs)), name, note))
    return found


def _group_lasso() -> list[Line]:
    """Groups of columns at p = 1 with the squared loss, beside celer where it is installed: ten of
    three columns each, and single columns of small, long and wide tables.
    """
    if find_spec("celer") is None:
        return []
    train = mkl.load_sample("breast_cancer").split(test_size=0.3, seed=0)[0]
    labels = np.where(train.y == np.unique(train.y)[-1], 1.0, -1.0)
    tens = [list(range(k, 30, 10)) for k in range(10)]
    found = [_beside_celer("10 groups of columns", train.X, labels, tens, 1.0)]
    for n, d in ((398, 30), (2000, 500), (500, 5000)):
        X, _, target = table(n, d)
        what = f"{d:,} single columns of {n:,} rows"
        found.append(_beside_celer(what, X, target, [[j] for j in range(d)], 10.0))
    return found


def _beside_celer(
    what: str, X: np.ndarray, y: np.ndarray, groups: list[list[int]], C: float
) -> Line:
    """A fit on the columns beside the lasso of celer with the same predictions."""
    from celer import GroupLasso, Lasso

    n = len(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(n)
    y = y - y.mean()
    kernels = mkl.KernelDictionary(
        mkl.KernelDictionary.per_group(mkl.Linear(), groups).specs, standardize=False
    )
    # of use for every penalty strength, as the columns of celer
    columns = column_features(kernels, Z, normalise=None)
    fit = partial(fit_weighted, columns, y, C, make_loss("squared"), LpNorm(1.0), False, tol=1e-6)
    found = fit()
    # of 1/2 (sum of norms)^2 / C the slope
    size = float(np.sum(found.weights * np.sqrt(columns.quad(found.dual_coef)))) / C
    settings = {"alpha": size / n, "fit_intercept": False, "tol": 1e-8}
    is_single = len(groups) == X.shape[1]
    lasso = Lasso(**settings) if is_single else GroupLasso(groups=groups, **settings)
    fitted = columns.decision(found.weights, found.dual_coef)
    apart = np.abs(Z @ lasso.fit(Z, y).coef_ - fitted).max()
    ours, theirs = _turns(fit, partial(lasso.fit, Z, y))
    note = f"the same predictions to {apart:.0e}; both work on columns"
    beside = float(np.median(theirs))
    return Line(f"{what}, p = 1, squared", ours, "CPU s", beside, "celer", note)


def _turns(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[list[float], list[float]]:
    """CPU seconds of both, in turn; a peer that takes long is asked less often."""
    pairs: list[tuple[float, float]] = []
    while len(pairs) < REPEATS and sum(other for _, other in pairs) < PATIENCE:
        pairs.append((cpu(ours)[0], cpu(theirs)[0]))
    return [one for one, _ in pairs], [other for _, other in pairs]


def _folds(stack: mkl.GramStack, y: np.ndarray) -> Any:
    """Twenty costs on five folds with the squared loss, and a fit at the best: as much as a search
    over twenty draws.
    """
    model = mkl.LpMKLRegressor(p=2.0, loss="squared")
    return choose_C(model, stack, y, np.geomspace(1e-2, 1e2, DRAWS), rule="kfold", n_splits=5)


def by_easy(K: np.ndarray, y: np.ndarray) -> Any:
    """EasyMKL of MKLpy, which chooses weights by margins."""
    from MKLpy.algorithms import EasyMKL

    return EasyMKL().fit(list(K), y)


def by_himalaya(K: np.ndarray, y: np.ndarray) -> Any:
    """A random search of himalaya over draws of weights on five folds."""
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    return MultipleKernelRidgeCV(
        "precomputed", cv=5, solver_params={"n_iter": DRAWS, "progress_bar": False}
    ).fit(K, y)


def _clarabel(K: np.ndarray, y: np.ndarray) -> Any:
    # Its names are found when they are first used, which mypy cannot follow.
    cp: Any = import_module("cvxpy")
    a = cp.Variable(y.size)
    q = cp.Variable(len(K), nonneg=True)
    roots = [np.linalg.cholesky(kernel + 1e-8 * np.eye(y.size)).T for kernel in K]
    box = [cp.multiply(y, a) >= 0, cp.multiply(y, a) <= 1, cp.sum(a) == 0]
    forms = [cp.quad_over_lin(root @ a, 1.0) <= q[m] for m, root in enumerate(roots)]
    return cp.Problem(cp.Maximize(y @ a - 0.5 * cp.norm(q, 2)), box + forms).solve(
        solver="CLARABEL"
    )


PEERS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], Any], int | None, str]] = {
    "MKLpy": ("MKLpy", by_easy, None, "EasyMKL: another criterion, no certificate"),
    "himalaya": (
        "himalaya",
        by_himalaya,
        None,
        "random search over 20 draws of weights on 5 folds, ours over 20 costs; squared loss",
    ),
    "cvxpy with Clarabel": (
        "cvxpy",
        _clarabel,
        100,
        (
            "the same problem, to the solver's own tolerance, and its translation; all rows "
            "take it minutes"
        ),
    ),
}

# What stands beside a peer that does more than one fit.
OURS: dict[str, tuple[str, Callable[..., Any]]] = {"himalaya": ("5 folds and a fit", _folds)}

if __name__ == "__main__":
    print(reported(run()))
