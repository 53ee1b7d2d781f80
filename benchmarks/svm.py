"""One support vector machine for a given Gram matrix against libsvm, side by side: CPU seconds at
equal dual objective.

    python -m benchmarks.svm

RBF kernel on twenty normal columns, a nonlinear boundary and a tenth of the labels turned, C = 0.1,
1, 100. libsvm (at the default tol 1e-3 of scikit-learn's SVC) goes first; ours is stopped at the
loosest accuracy whose dual objective is no lower than the one libsvm reached, to 1e-8 of it. Both
are the bare solver: SVC looks at its input first, and ours does not, so that libsvm is called below
SVC. The two are timed in turn, and the medians of both are reported.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, _libsvm
from threadpoolctl import threadpool_limits

from benchmarks.lines import Line, cpu, reported
from mklcore.problem.losses import make_loss
from mklcore.problem.solution import MachineTask
from mklcore.problem.svm import solve_svm

HINGE = make_loss("hinge")
REPEATS = 5
NOTE = "equal dual objective, either solver alone"


def problem(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A Gram matrix (n, n) and labels -1 / +1 of rows whose boundary bends, a tenth of them turned."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2.0 * X[:, 3]) > 0.0, 1.0, -1.0)
    y[rng.random(n) < 0.1] *= -1.0
    return rbf_kernel(X, gamma=0.05), y


def libsvm(K: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    """The signed dual (n,) that libsvm stops at."""
    svm = SVC(C=C, kernel="precomputed", cache_size=2000).fit(K, y)
    a = np.zeros(y.size)
    a[svm.support_] = svm.dual_coef_[0]
    return a


def bare(K: np.ndarray, y: np.ndarray, C: float) -> Any:
    """libsvm as SVC calls it, without the checks before and after."""
    return _libsvm.fit(K, y, svm_type=0, kernel="precomputed", C=C, tol=1e-3, cache_size=2000.0)


def value(K: np.ndarray, y: np.ndarray, a: np.ndarray) -> float:
    return float(y @ a - 0.5 * a @ K @ a)


def accuracy_for(K: np.ndarray, y: np.ndarray, C: float, wanted: float) -> float:
    """The loosest accuracy at which our dual objective reaches ``wanted``."""
    for accuracy in np.geomspace(0.1, 1e-9, 25):
        if (
            value(K, y, solve_svm(K, MachineTask(y, C, HINGE, True), accuracy=accuracy).dual)
            >= wanted
        ):
            return float(accuracy)
    raise AssertionError("no accuracy reaches the dual objective of libsvm")


def compare(n: int, C: float) -> np.ndarray:
    """Median CPU seconds of libsvm and of ours, in turn."""
    K, y = problem(n)
    wanted = value(K, y, libsvm(K, y, C))
    accuracy = accuracy_for(K, y, C, wanted - 1e-8 * abs(wanted))
    ours = partial(solve_svm, K, MachineTask(y, C, HINGE, True), accuracy=accuracy)
    pairs = [(cpu(lambda: bare(K, y, C))[0], cpu(ours)[0]) for _ in range(REPEATS)]
    return np.median(pairs, axis=0)


def run() -> list[Line]:
    """One machine on 500 rows beside libsvm, at a small, a usual and a large cost."""
    found = []
    with threadpool_limits(1):
        for C in (0.1, 1.0, 100.0):
            theirs, ours = compare(500, C).tolist()
            found.append(Line(f"SVM, n = 500, C = {C:g}", [ours], "CPU s", theirs, "libsvm", NOTE))
    return found


if __name__ == "__main__":
    print(reported(run()))
