"""Very many kernels on few rows: CPU seconds, peak memory, gap, and growth over the number of kernels.

python -m benchmarks.large_kernels          every line in a process of its own; writes the table of docs/scale/kernels.md

One kernel a column, nothing stored. Labels depend on four of the columns, linearly and not, with noise.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

import mklcore as mkl
from benchmarks.__main__ import ROOT, included, surroundings
from mklcore.kernels.checks import one_blas_thread

PAGE = ROOT / "docs" / "scale" / "kernels.md"
N = 500
SIZES = (1250, 2500, 5000, 10_000)
KINDS = {"linear": mkl.Linear(), "RBF": mkl.RBF(1.0)}
CASES = [(kind, p, M) for kind in KINDS for p in (1.0, 4 / 3) for M in SIZES] + [("linear", 4 / 3, 100_000)]


def table(n: int, M: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, M) and labels."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, M))
    signal = X[:, 0] + X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * (X[:, 3] ** 2 - 1)
    return X, np.where(signal + 0.5 * random.standard_normal(n) > 0, 1.0, -1.0)


def measured(kind: str, p: float, M: int) -> dict[str, float]:
    """One fit: CPU seconds of the dictionary, its scales and the fit together; compiled before on a small table."""
    with one_blas_thread():
        for size in (600, M):
            X, y = table(N if size == M else 250, size, 0)
            began = time.process_time()
            kernels = mkl.KernelDictionary.per_feature(KINDS[kind], size)
            model = mkl.LpMKLClassifier(kernels=kernels, p=p, solver="auto").fit(X, y)
            seconds = time.process_time() - began
        held_out = float(model.score(*table(500, M, 1)))
    return {
        "seconds": seconds,
        "gap": float(model.relative_gap_),
        "used": int(model.n_kernels_),
        "score": held_out,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def alone(kind: str, p: float, M: int) -> dict[str, float]:
    """The same in a process of its own, so that its peak of memory is its own."""
    command = [sys.executable, "-m", "benchmarks.large_kernels", kind, repr(p), str(M)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def growth(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log time over log M."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def written(rows: dict[tuple[str, float, int], dict[str, float]]) -> str:
    """The table for the site."""
    lines = ["| kernels | p | M | CPU s | peak MB | stored, MB | gap | used | held-out | growth |", "|" + "---|" * 10]
    for (kind, p, M), found in rows.items():
        same = [m for (k, q, m) in rows if (k, q) == (kind, p) and m in SIZES]
        slope = growth(same, [rows[kind, p, m]["seconds"] for m in same]) if SIZES[-1] == M else None
        lines.append(
            f"| {kind} | {p:.3g} | {M:,} | {found['seconds']:.2f} | {found['megabytes']:.0f} | {8e-6 * M * N * N:,.0f} | "
            f"{found['gap']:.1e} | {found['used']:,} | {found['score']:.3f} | {'' if slope is None else f'M^{slope:.2f}'} |"
        )
    where = surroundings()
    return "\n".join([*lines, "", f"{where['day']}, {where['machine']}, load {where['load']}."])


def main() -> None:
    rows = {}
    for case in CASES:
        rows[case] = alone(*case)
        print(case, rows[case], flush=True)
    PAGE.write_text(included(PAGE.read_text(encoding="utf-8"), written(rows)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(measured(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
