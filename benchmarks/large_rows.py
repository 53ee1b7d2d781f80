"""Many rows: CPU seconds, peak memory, held-out score and growth of fits on Nystroem features, beside exact ones.

python -m benchmarks.large_rows             every line in a process of its own; keeps its record, from which docs/scale/rows.md
                                            has its table and its picture

Forty RBF kernels on twenty columns, of one column, of two neighbours and of all; labels depend on four of the columns.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import mklcore as mkl
from benchmarks.__main__ import ROOT
from benchmarks.records import growth, keep, on_page, picture
from mklcore.kernels.checks import one_blas_thread

SIZES = (3000, 6000, 12_000, 24_000)
EXACT_ROWS = 2000  # what a first answer is trained on
COMPONENTS = 50
HELD_OUT = 5000
WAYS = ("hinge", "squared", "sample")  # on features with either loss, and exact on a sample of the rows
CASES = [(way, n) for way in WAYS for n in SIZES]


def table(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows (n, 20) and labels, and held-out ones; the first rows of the larger tables are those of the smaller."""
    random = np.random.default_rng(1)
    X = random.standard_normal((max(SIZES) + HELD_OUT, 20))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5
    y = np.where(signal + 0.5 * random.standard_normal(len(X)) > 0, 1.0, -1.0)
    return X[HELD_OUT:][:n], y[HELD_OUT:][:n], X[:HELD_OUT], y[:HELD_OUT]


def kernels() -> mkl.KernelDictionary:
    """Forty RBF kernels."""
    seen = [(j,) for j in range(20)] + [(j, j + 1) for j in range(19)] + [None]
    return mkl.KernelDictionary(tuple(mkl.RBF(1.0, relative=True, features=columns) for columns in seen))


def estimator(way: str) -> mkl.LpMKLClassifier:
    """p = 4/3 at C = 1, or at the C at which squared loss weighs as much."""
    if way == "sample":
        return mkl.LpMKLClassifier(p=4 / 3, kernels=kernels())
    return mkl.LpMKLClassifier(p=4 / 3, loss=way, kernels=kernels(), approximation=mkl.Nystroem(COMPONENTS))


def measured(way: str, n: int) -> dict[str, float]:
    """One fit in CPU seconds, features included; compiled before on a small table."""
    X, y, held_out, truth = table(n)
    with one_blas_thread():
        estimator(way).fit(X[:400], y[:400]).score(held_out[:50], truth[:50])
        rows = np.random.default_rng(0).choice(n, EXACT_ROWS, replace=False) if way == "sample" else np.arange(n)
        began = time.process_time()
        model = estimator(way).fit(X[rows], y[rows])
        seconds = time.process_time() - began
        score = float(model.score(held_out, truth))
    return {
        "seconds": seconds,
        "gap": float(model.relative_gap_),
        "lost": float(np.max(getattr(model, "approximation_error_", np.zeros(1)))),
        "score": score,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def alone(way: str, n: int) -> dict[str, float]:
    """The same in a process of its own, so that its peak of memory is its own."""
    command = [sys.executable, "-m", "benchmarks.large_rows", way, str(n)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def written(record: Mapping[str, Any]) -> dict[Path, str]:
    """The table and the picture of ``docs/scale/rows.md``."""
    lines = [
        "| way | rows | CPU s | peak MB | stack, MB | gap | largest share lost | held-out | growth |",
        "|" + "---|" * 9,
    ]
    curves: dict[str, list[tuple[float, float]]] = {}
    for one in record["found"]:
        way, n = one["way"], one["rows"]
        if way != "sample":
            curves.setdefault(way, []).append((n, one["seconds"]))
    slopes = {way: f"n^{growth(points):.2f}" for way, points in curves.items()}
    for one in record["found"]:
        way, n = one["way"], one["rows"]
        told = f"exact on {EXACT_ROWS:,} of them" if way == "sample" else f"{COMPONENTS} landmarks, {way}"
        slope = slopes[way] if n == SIZES[-1] and way != "sample" else ""
        stored = 8e-6 * 40 * (EXACT_ROWS if way == "sample" else n) ** 2
        lines.append(
            f"| {told} | {n:,} | {one['seconds']:.1f} | {one['megabytes']:.0f} | {stored:,.0f} | {one['gap']:.1e} | "
            f"{one['lost']:.1%} | {one['score']:.4f} | {slope} |"
        )
    what, title = (
        "CPU seconds of one fit over training rows",
        "Seconds of a fit on features grow no faster than the rows",
    )
    named = {f"{way}, {slopes[way]}": points for way, points in curves.items()}
    return on_page("scale/rows", record, lines) | picture("rows", title, what, named)


def main() -> None:
    found = []
    for way, n in CASES:
        found.append({"way": way, "rows": n, **alone(way, n)})
        print(found[-1], flush=True)
    keep("large_rows", found)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
