"""lp-norm MKL against wrappers around scikit-learn's SVC, side by side: CPU seconds, machine
solves, true relative gap.

    python -m benchmarks.paths

A: breast_cancer, 398 training rows, 20 RBF + 30 per-feature linear kernels. B: digits odd / even,
1257 rows, 50 RBF. C = 1, multiplicative normalisation, stopped at a relative gap of 1e-3; the gap
of ours is computed again from scratch.

The wrappers do what somebody would write who cares for speed: kernels without weight are not
summed, and one product K_m a per kernel with support serves update and gap. Beside ours stands the
faster of two: the analytic update, which crawls at p = 1, and there a linear program over all cuts
so far (SILP), which does not. Ours is a solver without checks of its input; those of SVC are a
small part of a step of its wrapper, which is mostly products with Gram matrices.
"""

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.lines import Line, cpu, reported
from mklcore._numba.warmup import warm_up
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm, conjugate_exponent

REPEATS = 5
PATHS = 3
LIMIT = 400


def problem(name: str) -> tuple[mkl.GramStack, np.ndarray]:
    kernels, X, y = table(name)
    return kernels.grams(X), y


def table(name: str) -> tuple[mkl.KernelDictionary, np.ndarray, np.ndarray]:
    data = mkl.load_sample("breast_cancer" if name == "A" else "digits")
    train, _ = data.split(test_size=0.3, seed=0)
    widths = mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.1, 10, 20 if name == "A" else 50))
    kernels = (
        widths + mkl.KernelDictionary.per_feature(mkl.Linear(), data.n_features)
        if name == "A"
        else widths
    )
    return kernels, train.X, np.where(train.y == np.unique(train.y)[-1], 1.0, -1.0)


def around_svc(
    K: np.ndarray, y: np.ndarray, p: float, tol: float, cuts: bool = False
) -> tuple[float, int]:
    """Steps of a fresh SVC and new weights, C = 1: the analytic update, or with ``cuts`` the linear
    program over all steps so far (p = 1); returns the relative gap and the solves.
    """
    penalty = LpNorm(p)
    theta = LpNorm(p).start(len(K))
    best = np.inf
    dual = -np.inf
    sums = list[float]()
    forms = list[np.ndarray]()
    for _ in range(LIMIT):
        used = np.flatnonzero(theta)
        total = K[used[0]] * theta[used[0]]
        for m in used[1:]:
            total += theta[m] * K[m]
        svm = SVC(C=1.0, kernel="precomputed", tol=1e-3).fit(total, y)
        a = svm.dual_coef_[0]
        support = svm.support_
        forms.append(np.array([a @ kernel[np.ix_(support, support)] @ a for kernel in K]))
        sums.append(float(np.abs(a).sum()))
        margins = y * (total[:, support] @ a + svm.intercept_[0])
        best = min(best, float(np.maximum(1.0 - margins, 0.0).sum() + 0.5 * theta @ forms[-1]))
        dual = max(dual, sums[-1] - 0.5 * float(np.linalg.norm(forms[-1], conjugate_exponent(p))))
        if best - dual <= tol * best:
            break
        theta = (
            _by_cuts(np.array(sums), np.array(forms)) if cuts else penalty.update(theta, forms[-1])
        )
    return (best - dual) / best, len(sums)


def _by_cuts(sums: np.ndarray, forms: np.ndarray) -> np.ndarray:
    """The weights on the simplex at which the largest dual value of all machines so far is
    smallest.
    """
    M = forms.shape[1]
    rows = np.hstack([-0.5 * forms, -np.ones((len(forms), 1))])
    found = linprog(
        np.append(np.zeros(M), 1.0),
        rows,
        -sums,
        np.append(np.ones(M), 0.0)[None],
        [1.0],
        bounds=[*[(0.0, None)] * M, (None, None)],
    )
    weights: np.ndarray = np.maximum(found.x[:M], 0.0)
    return weights


def run() -> list[Line]:
    """Problem A at three norms beside the wrapper around SVC, and paths of A and B over C beside
    their cold fits.
    """
    warm_up()
    found, (stack, y) = [], problem("A")
    with threadpool_limits(1):
        for p in (1.0, 4 / 3, 2.0):
            ours = [cpu(partial(certified, stack, y, p))[0] for _ in range(REPEATS)]
            theirs, gap, solves, peer = wrapper(stack.values, y, p)
            note = f"relative gap 1e-3; the wrapper reached {gap:.0e} in {solves} solves"
            found.append(Line(f"fit of A, p = {p:.3g}", ours, "CPU s", theirs, peer, note))
            found.append(_path_line("A", stack, y, p))
        found += [_path_line("B", *problem("B"), p) for p in (1.0, 4 / 3)]
    return found


def wrapper(K: np.ndarray, y: np.ndarray, p: float) -> tuple[float, float, int, str]:
    """CPU seconds, relative gap, solves and name of the faster wrapper."""
    found = []
    for name, cuts in (("analytic update around SVC", False), ("linear program around SVC", True))[
        : 1 + (p == 1)
    ]:
        spent, (gap, solves) = cpu(partial(around_svc, K, y, p, 1e-3, cuts))
        found.append((spent, gap, solves, name))
    return min(found)


def _path_line(name: str, stack: mkl.GramStack, y: np.ndarray, p: float) -> Line:
    """A path over C with its scores, beside fits that know nothing of one another, in turn."""
    model = mkl.LpMKLClassifier(p=p)
    grid = mkl.paths.path_grid(model, stack, y, "C")
    along = list[float]()
    cold = list[float]()
    for _ in range(PATHS):
        spent, path = cpu(partial(mkl.fit_path, model, stack, y, "C", grid))
        along.append(spent)
        cold.append(cpu(partial(_cold, model, stack, y, grid))[0])
    note = f"largest relative gap {path.relative_gap.max():.0e}, {int(path.solves.sum())} machines"
    return Line(
        f"path of {name} over C, p = {p:.3g}",
        along,
        "CPU s",
        float(np.median(cold)),
        "25 cold fits",
        note,
    )


def certified(stack: mkl.GramStack, y: np.ndarray, p: float) -> mkl.Fit:
    """A fit stopped at a gap of 1e-3 of the objective, as the table is stated."""
    return fit_weighted(
        stack.values,
        y,
        1.0,
        make_loss("hinge"),
        LpNorm(p),
        True,
        tol=1e-5,
        callback=lambda record: record.relative_gap <= 1e-3,
    )


def _cold(model: Any, stack: mkl.GramStack, y: np.ndarray, grid: np.ndarray) -> list[Any]:
    return [model.copy_with("C", C).fit(stack, y) for C in grid]


if __name__ == "__main__":
    print(reported(run()))
