"""Fifty RBF Gram matrices on the same rows against a loop over scikit-learn's ``rbf_kernel``, side
by side: CPU seconds.

    python -m benchmarks.grams

The loop writes every matrix into a buffer that is kept from run to run, as who makes many stacks
would; ours makes a fresh stack and normalises every kernel. The same loop into fresh arrays,
stacked at the end, spends most of its time on memory that is touched for the first time: it stands
beside ours in a line of its own. The limit is writing the stack once into fresh memory. All are
timed in turn, and medians of the ratios are reported.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.lines import Line, cpu, reported

KERNELS = 50
COLUMNS = 30
REPEATS = 5


def into(buffer: np.ndarray, X: np.ndarray, gammas: np.ndarray) -> None:
    """scikit-learn's loop into memory that is there already."""
    for place, gamma in zip(buffer, gammas, strict=True):
        place[...] = rbf_kernel(X, gamma=gamma)


def compare(n: int) -> np.ndarray:
    """CPU seconds (repeats, 4) of the loop into a kept buffer, of ours, of the loop into fresh
    arrays, and of writing once.
    """
    X = np.random.default_rng(0).standard_normal((n, COLUMNS))
    widths = np.geomspace(0.1, 10.0, KERNELS) * np.sqrt(2.0 * COLUMNS)
    kernels = mkl.KernelDictionary(
        tuple(mkl.RBF(float(width)) for width in widths), standardize=False
    )
    kernels.grams(X[:20])
    gammas, buffer = 0.5 / widths**2, np.ones((KERNELS, n, n))
    ways: tuple[Callable[[], Any], ...] = (
        lambda: into(buffer, X, gammas),
        lambda: kernels.grams(X),
        lambda: np.stack([rbf_kernel(X, gamma=gamma) for gamma in gammas]),
        lambda: np.full((KERNELS, n, n), 1.0),
    )
    return np.array([[cpu(way)[0] for way in ways] for _ in range(REPEATS)])


def run() -> list[Line]:
    """Ours at two sizes beside the loop, and beside what writing so much takes at least."""
    found = []
    with threadpool_limits(1):
        for n in (500, 2000):
            kept, ours, fresh, store = compare(n).T
            beside = {
                "": (
                    kept,
                    "scikit-learn loop into a kept buffer",
                    "ours into fresh memory, normalised",
                ),
                ", fresh arrays": (
                    fresh,
                    "scikit-learn loop, stacked",
                    "most of it is memory touched for the first time",
                ),
                ", beside memory": (store, "writing them", ""),
            }
            for which, (theirs, peer, note) in beside.items():
                what = f"{KERNELS} RBF Gram matrices, n = {n}{which}"
                found.append(
                    Line(what, ours.tolist(), "CPU s", float(np.median(theirs)), peer, note)
                )
    return found


if __name__ == "__main__":
    print(reported(run()))
