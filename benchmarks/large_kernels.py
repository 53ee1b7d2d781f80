"""Very many kernels on few rows: CPU seconds, peak memory, gap, and growth over the number of kernels.

python -m benchmarks.large_kernels [M]      every line, or those of M kernels again, or where M = 0 those that have no
                                            record,
                                            each in a process of its own; keeps its record, from which
                                            docs/scale/kernels.md has its table and its picture

One kernel a column, nothing stored. Labels depend on four of the columns, linearly and not, with noise.
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
from benchmarks.records import growth, keep, kept, on_page, picture
from mklcore.kernels.checks import one_blas_thread

N = 500
SIZES = (1250, 2500, 5000, 10_000)
KINDS = {"linear": mkl.Linear(), "RBF": mkl.RBF(1.0)}
GREEDY = 0.0  # in the place of p: MKL-GOMP until no kernel gains
SPARSE, SPARSE_C = -1.0, 100.0  # in the place of p: SMKL, at a C at which it keeps kernels
CASES = [(kind, p, M) for kind in KINDS for p in (1.0, 4 / 3, GREEDY, SPARSE) for M in SIZES]
CASES += [("linear", 4 / 3, 100_000)]
IN_PLACE = "linear, table kept"  # ``ColumnKernels`` on a table in single precision
CASES += [(IN_PLACE, p, M) for p in (1.0, 4 / 3) for M in (100_000, 1_000_000)]
HELD_OUT = 200  # rows beside such a table


def table(n: int, M: int, seed: int, precision: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, M) and labels."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, M), dtype=precision)
    signal = X[:, 0] + X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * (X[:, 3] ** 2 - 1)
    return X, np.where(signal + 0.5 * random.standard_normal(n) > 0, 1.0, -1.0)


def estimator(kernels: mkl.KernelDictionary, p: float) -> Any:
    """The method that stands for ``p``."""
    if p == SPARSE:
        return mkl.SMKLClassifier(kernels=kernels, C=SPARSE_C)
    return mkl.LpMKLClassifier(kernels=kernels, p=p) if p else mkl.GOMPClassifier(kernels=kernels)


def still_to_move(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """How far the published weights are from stationary, where no certificate can be: the share of them that another
    update of the weights with the published dual would move.
    """
    stack, _ = model.training_stack(X, y)
    weights = np.asarray(model.weights_)
    forms = stack.quad(np.asarray(model.dual_coef_))
    following = model._penalty(stack).update(weights, forms)
    return float(np.abs(following - weights).sum() / max(following.sum(), 1e-300))


def measured(kind: str, p: float, M: int) -> dict[str, float]:
    """One fit: CPU seconds of the kernels, their scales and the fit together; compiled before on a small table."""
    kept, precision = kind == IN_PLACE, np.float32 if kind == IN_PLACE else np.float64
    with one_blas_thread():
        for size in (600, M):
            X, y = table(N if size == M else 250, size, 0, precision)
            began = time.process_time()
            if kept:
                kernels: Any = mkl.ColumnKernels(X)
                model = mkl.LpMKLClassifier(p=p).fit(kernels, y)
            else:
                model = estimator(mkl.KernelDictionary.per_feature(KINDS[kind], size), p).fit(X, y)
            seconds = time.process_time() - began
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        new, truth = table(HELD_OUT if kept else N, M, 1, precision)
        held_out = float(np.mean(model.predict(kernels.blocks(new) if kept else new) == truth))
    return {
        "seconds": seconds,
        "gap": still_to_move(model, X, y) if p == SPARSE else float(model.relative_gap_ or 0.0),
        "used": int(model.n_kernels_),
        "score": held_out,
        "megabytes": megabytes,
    }


def alone(kind: str, p: float, M: int) -> dict[str, float]:
    """The same in a process of its own, so that its peak of memory is its own."""
    command = [sys.executable, "-m", "benchmarks.large_kernels", kind, repr(p), str(M)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def written(record: Mapping[str, Any]) -> dict[Path, str]:
    """The table and the picture of ``docs/scale/kernels.md``."""
    lines = ["| kernels | p | M | CPU s | peak MB | stored, MB | gap | used | held-out | growth |", "|" + "---|" * 10]
    curves: dict[str, list[tuple[float, float]]] = {}
    for one in record["found"]:
        if one["M"] in SIZES:
            curves.setdefault(_line(one["kind"], one["p"]), []).append((one["M"], one["seconds"]))
    for one in record["found"]:
        kind, p, M = one["kind"], one["p"], one["M"]
        name, gap = _reported(p), f"{one['gap']:.1e}" if p else ""
        slope = f"M^{growth(curves[_line(kind, p)]):.2f}" if SIZES[-1] == M else ""
        lines.append(
            f"| {kind} | {name} | {M:,} | {one['seconds']:.2f} | {one['megabytes']:.0f} | "
            f"{8e-6 * M * N * N:,.0f} | {gap} | {one['used']:,} | {one['score']:.3f} | {slope} |"
        )
    what, title = (
        "CPU seconds of one fit over kernels",
        "Seconds of a fit grow hardly faster than the number of kernels",
    )
    return on_page("scale/kernels", record, lines) | picture("kernels", title, what, curves)


def _reported(p: float) -> str:
    return {GREEDY: "greedy", SPARSE: "SMKL"}.get(p, f"{p:.3g}")


def _line(kind: str, p: float) -> str:
    return f"{kind}, p = {p:.3g}" if p > 0 else f"{kind}, {_reported(p)}"


def main(only: int | None = None) -> None:
    """Measure all lines, or those of ``only`` so many kernels again; 0 kernels: those that have no line yet."""
    known = {} if only is None else {(one["kind"], one["p"], one["M"]): one for one in kept("large_kernels")["found"]}
    for kind, p, M in CASES:
        if only == M or (kind, p, M) not in known:
            known[kind, p, M] = {"kind": kind, "p": p, "M": M, **alone(kind, p, M)}
            print(known[kind, p, M], flush=True)
    keep("large_kernels", [known[case] for case in CASES])


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(measured(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))
    else:
        main(*map(int, sys.argv[1:]))
