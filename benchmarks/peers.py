"""Other libraries on the same Gram matrices, where they are installed: ``pip install -e ".[bench]"``.

    python -m benchmarks.peers

A: breast_cancer, 398 training rows, 50 kernels, C = 1. None of the peers solves the same problem to a certificate: EasyMKL
has a criterion of its own, a random search draws weights, a general solver states the problem at p = 2 for itself. The note
says what was solved.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.lines import Line, told
from benchmarks.lp_speed import problem
from benchmarks.svm_speed import cpu

REPEATS = 5
WIDTHS = mkl.log_grid(0.1, 10, 50)


def run() -> list[Line]:
    """Fifty Gram matrices beside scikit-learn's loop, and a fit at p = 2 beside every peer that is installed."""
    mkl.warmup.warm_up()
    with threadpool_limits(1):
        return [_grams(), *_fits()]


def _grams() -> Line:
    rows = mkl.load_sample("breast_cancer").split(test_size=0.3, seed=0)[0].X
    kernels = mkl.KernelDictionary.rbf_widths(WIDTHS)
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    loop = lambda: [rbf_kernel(standard, gamma=0.5 / width**2) for width in WIDTHS]  # noqa: E731
    ours, theirs = _turns(lambda: kernels.grams(rows, normalise=None), loop)
    return Line("50 RBF Gram matrices, n = 398", ours, "CPU s", float(np.median(theirs)), "scikit-learn loop")


def _fits() -> list[Line]:
    stack, y = problem("A")
    fit = lambda: mkl.LpMKLClassifier(p=2.0).fit(stack, y)  # noqa: E731
    found = []
    for name, (module, peer, note) in PEERS.items():
        if find_spec(module) is not None:
            ours, theirs = _turns(fit, lambda peer=peer: peer(stack.values, y))
            found.append(Line(f"fit of A at p = 2, beside {name}", ours, "CPU s", float(np.median(theirs)), name, note))
    return found


def _turns(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[list[float], list[float]]:
    """CPU seconds of both, in turn."""
    pairs = [(cpu(ours), cpu(theirs)) for _ in range(REPEATS)]
    return [one for one, _ in pairs], [other for _, other in pairs]


def _easy(K: np.ndarray, y: np.ndarray) -> Any:
    from MKLpy.algorithms import EasyMKL

    return EasyMKL().fit(list(K), y)


def _himalaya(K: np.ndarray, y: np.ndarray) -> Any:
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    return MultipleKernelRidgeCV("precomputed", solver_params={"n_iter": 20, "progress_bar": False}).fit(K, y)


def _clarabel(K: np.ndarray, y: np.ndarray) -> Any:
    import cvxpy as cp

    a, q = cp.Variable(y.size), cp.Variable(len(K), nonneg=True)
    roots = [np.linalg.cholesky(kernel + 1e-8 * np.eye(y.size)).T for kernel in K]
    box = [cp.multiply(y, a) >= 0, cp.multiply(y, a) <= 1, cp.sum(a) == 0]
    forms = [cp.quad_over_lin(root @ a, 1.0) <= q[m] for m, root in enumerate(roots)]
    return cp.Problem(cp.Maximize(y @ a - 0.5 * cp.norm(q, 2)), box + forms).solve(solver="CLARABEL")


PEERS: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], Any], str]] = {
    "MKLpy": ("MKLpy", _easy, "EasyMKL: another criterion, no certificate"),
    "himalaya": ("himalaya", _himalaya, "random search over 20 draws of weights, squared loss"),
    "cvxpy with Clarabel": ("cvxpy", _clarabel, "the same problem, to the solver's own tolerance"),
}

if __name__ == "__main__":
    print(told(run()))
