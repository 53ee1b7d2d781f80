"""Fifty RBF Gram matrices on the same rows against a loop over scikit-learn's ``rbf_kernel``, side by side: CPU seconds.

    python -m benchmarks.gram_speed [--rows 500 1000 2000]      the figures
    python -m benchmarks gram_speed                             the lines of the table

Ours also normalises every kernel; the loop only stacks them. Beside both stands the limit: writing the stack once into fresh
memory. The three are timed in turn, and medians of the ratios are told.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.lines import Line

KERNELS, COLUMNS, REPEATS = 50, 30, 5


def cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    kept = call()
    spent = time.process_time() - start
    del kept
    return spent


def compare(n: int) -> np.ndarray:
    """CPU seconds (repeats, 3) of the loop, of ours, and of writing the stack once."""
    X = np.random.default_rng(0).standard_normal((n, COLUMNS))
    widths = np.geomspace(0.1, 10.0, KERNELS) * np.sqrt(2.0 * COLUMNS)
    kernels = mkl.KernelDictionary([mkl.RBF(float(width)) for width in widths], standardize=False)
    kernels.grams(X[:20])
    ways: tuple[Callable[[], Any], ...] = (
        lambda: np.stack([rbf_kernel(X, gamma=0.5 / width**2) for width in widths]),
        lambda: kernels.grams(X),
        lambda: np.full((KERNELS, n, n), 1.0),
    )
    return np.array([[cpu(way) for way in ways] for _ in range(REPEATS)])


def run() -> list[Line]:
    """Ours at two sizes beside the loop, and beside what writing so much takes at least."""
    found = []
    with threadpool_limits(1):
        for n in (500, 2000):
            theirs, ours, store = compare(n).T
            what = f"{KERNELS} RBF Gram matrices, n = {n}"
            found.append(Line(what, ours.tolist(), "CPU s", float(np.median(theirs)), "scikit-learn loop"))
            found.append(
                Line(f"{what}, beside memory", ours.tolist(), "CPU s", float(np.median(store)), "writing them")
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=(500, 1000, 2000))
    with threadpool_limits(1):
        for n in parser.parse_args().rows:
            spent = compare(n)
            theirs, ours, store = np.median(spent, axis=0)
            print(
                f"{KERNELS} grams, n = {n}: scikit-learn {theirs:.3f} CPU s, ours {ours:.3f}, ratio "
                f"{np.median(spent[:, 0] / spent[:, 1]):.1f}; writing once {store:.3f}, {np.median(spent[:, 1] / spent[:, 2]):.1f} "
                "times that"
            )


if __name__ == "__main__":
    main()
