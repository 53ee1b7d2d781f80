"""lp-norm MKL against a wrapper around scikit-learn's SVC, side by side: CPU seconds, machine solves, true relative gap.

    python benchmarks/lp_speed.py            two problems, p = 1, 4/3, 2, and a 25-point C path

A: breast_cancer, 398 training rows, 20 RBF + 30 per-feature linear kernels. B: digits odd / even, 1257 rows, 50 RBF.
C = 1, multiplicative normalisation, stopped at a relative gap of 1e-3; the gap is computed again from scratch.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import mklcore as mkl
from mklcore.losses import make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import certificate, fit_weighted

REPEATS = 5
LIMIT = 400


def problem(name: str) -> tuple[mkl.GramStack, np.ndarray]:
    data = mkl.load_sample("breast_cancer" if name == "A" else "digits")
    train, _ = data.split(test_size=0.3, seed=0)
    widths = mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.1, 10, 20 if name == "A" else 50))
    kernels = widths + mkl.KernelDictionary.per_feature(mkl.Linear(), data.n_features) if name == "A" else widths
    return kernels.grams(train.X), np.where(train.y == np.unique(train.y)[-1], 1.0, -1.0)


def around_svc(K: np.ndarray, y: np.ndarray, p: float, tol: float) -> tuple[float, int]:
    """Algorithm 1 with the analytic update and a fresh SVC at every step; returns the relative gap and the solves."""
    penalty, theta, best, dual = LpNorm(p), LpNorm(p).start(len(K)), np.inf, -np.inf
    for step in range(1, LIMIT + 1):
        svm = SVC(C=1.0, kernel="precomputed", tol=1e-3).fit(np.tensordot(theta, K, 1), y)
        a = np.zeros(y.size)
        a[svm.support_] = svm.dual_coef_[0]
        primal, bound = certificate(K, y, theta, a, svm.intercept_[0], "hinge", 1.0, penalty)
        best, dual = min(best, primal), max(dual, bound)
        if best - dual <= tol * best:
            break
        theta = penalty.update(theta, np.array([a @ kernel @ a for kernel in K]))
    return (best - dual) / best, step


def cpu(call: Callable[[], object], repeats: int = REPEATS) -> tuple[float, object]:
    spent, result = [], None
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        spent.append(time.process_time() - start)
    return float(np.median(spent)), result


def main() -> None:
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    mkl.warm_up()
    loss = make_loss("hinge")
    with threadpool_limits(1):
        for name in ("A", "B"):
            stack, y = problem(name)
            for p in (1.0, 4 / 3, 2.0):
                enough = lambda record: record.relative_gap <= 1e-3  # noqa: E731  stop on gap / P, as the table is stated

                def fit(stack=stack, y=y, p=p, enough=enough):
                    return fit_weighted(stack.values, y, 1.0, loss, LpNorm(p), True, tol=1e-6, callback=enough)

                seconds, found = cpu(fit)
                primal, dual = certificate(
                    stack.values, y, found.weights, found.dual_coef, found.intercept, loss, 1.0, LpNorm(p)
                )
                slow, (gap, solves) = cpu(lambda stack=stack, y=y, p=p: around_svc(stack.values, y, p, 1e-3), 1)
                print(
                    f"{name} {stack.n_samples} x {stack.n_kernels}, p = {p:.3g}: {seconds:.3f} CPU s, {found.solves} solves, "
                    f"gap {found.relative_gap:.1e} (at its own point {(primal - dual) / primal:.1e}); around SVC {slow:.2f} CPU s, "
                    f"{solves} solves, gap {gap:.1e}: ratio {slow / seconds:.1f}"
                )
            model = mkl.LpMKLClassifier(p=1.0)
            grid = mkl.path_grid(model, stack, y, "C")
            along, path = cpu(lambda: mkl.fit_path(model, stack, y, "C", grid), 1)
            cold, _ = cpu(lambda: model._copy_with("C", 1.0).fit(stack, y), 3)
            print(
                f"{name} path over C, 25 points, p = 1: {along:.2f} CPU s = {along / cold:.1f} cold fits at C = 1, "
                f"largest relative gap {path.relative_gap.max():.1e}, {path.solves.sum()} solves"
            )


if __name__ == "__main__":
    main()
