"""Many rows: CPU seconds, peak memory, held-out score and growth of fits on Nystroem features, beside exact ones.

python -m benchmarks.large_rows [new]       every line, or with "new" those that have no record, each in a process of
                                            its own;
                                            keeps its record, from which docs/scale/rows.md has its table and its
                                                picture

Forty RBF kernels on twenty columns, of one column, of two neighbours and of all; labels depend on four of the columns.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mklcore as mkl
from benchmarks.__main__ import ROOT
from benchmarks.records import growth, keep, kept, on_page, picture
from mklcore.kernels.checks import one_blas_thread
from mklcore.parallel.partitions import fit_parts

SIZES = (3000, 6000, 12_000, 24_000)
STREAMED, STREAMED_COMPONENTS = "squared, streamed", 200
PARTS_ROWS, PART_ROWS = (30_000, 100_000, 300_000, 1_000_000), 20_000
EXACT_ROWS = 2000  # what a first answer is trained on
COMPONENTS = 50
HELD_OUT = 5000
WAYS = ("hinge", "squared", "sample")  # on features with either loss, and exact on a sample of the rows
LARGER = (10.0, 100.0)  # C of the hinge, beside 1: there steps inside take the place of coordinates
CASES = [(way, 1.0, n) for way in WAYS for n in SIZES] + [("hinge", C, n) for C in LARGER for n in SIZES]
CASES += [(STREAMED, 1.0, n) for n in PARTS_ROWS]  # parts that are read where they are used


def table(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows (n, 20) and labels, and held-out ones; the first rows of the larger tables are those of the
    smaller.
    """
    X, y = drawn(np.random.default_rng(1), max(SIZES) + HELD_OUT)
    return X[HELD_OUT:][:n], y[HELD_OUT:][:n], X[:HELD_OUT], y[:HELD_OUT]


def drawn(random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, 20) and labels."""
    X = random.standard_normal((n, 20))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5
    return X, np.where(signal + 0.5 * random.standard_normal(n) > 0, 1.0, -1.0)


@dataclass(frozen=True)
class MadeParts:
    """The rows of the same law in parts, made when they are read: they are never together."""

    n: int

    def __len__(self) -> int:
        return -(-self.n // PART_ROWS)

    def __call__(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        return drawn(np.random.default_rng([1, k]), min(PART_ROWS, self.n - k * PART_ROWS))


def kernels() -> mkl.KernelDictionary:
    """Forty RBF kernels."""
    seen = [(j,) for j in range(20)] + [(j, j + 1) for j in range(19)] + [None]
    return mkl.KernelDictionary(tuple(mkl.RBF(1.0, relative=True, features=columns) for columns in seen))


def estimator(way: str, C: float) -> mkl.LpMKLClassifier:
    """p = 4/3."""
    if way == STREAMED:
        return mkl.LpMKLClassifier(
            p=4 / 3, C=C, loss="squared", kernels=kernels(), approximation=mkl.Nystroem(STREAMED_COMPONENTS)
        )
    if way == "sample":
        return mkl.LpMKLClassifier(p=4 / 3, C=C, kernels=kernels())
    return mkl.LpMKLClassifier(p=4 / 3, C=C, loss=way, kernels=kernels(), approximation=mkl.Nystroem(COMPONENTS))


def measured(way: str, C: float, n: int, first: int = 400) -> dict[str, Any]:
    """One fit in CPU seconds, features included; compiled before on the ``first`` rows."""
    if way == STREAMED:
        return streamed(C, n)
    X, y, held_out, truth = table(n)
    with one_blas_thread():
        estimator(way, C).fit(X[:first], y[:first]).score(held_out[:50], truth[:50])
        rows = np.random.default_rng(0).choice(n, EXACT_ROWS, replace=False) if way == "sample" else np.arange(n)
        began = time.process_time()
        model = estimator(way, C).fit(X[rows], y[rows])
        seconds = time.process_time() - began
        score = float(model.score(held_out, truth))
    return figures(model, way, seconds, score)


def streamed(C: float, n: int) -> dict[str, Any]:
    """One fit to rows in parts, read twice: for the sample that settles landmarks and scales, and for the sums."""
    held_out, truth = drawn(np.random.default_rng(2), HELD_OUT)
    with one_blas_thread():
        fit_parts(estimator(STREAMED, C), MadeParts(400))
        began = time.process_time()
        model = fit_parts(estimator(STREAMED, C), MadeParts(n))
        seconds = time.process_time() - began
        return figures(model, STREAMED, seconds, float(model.score(held_out, truth)))


def figures(model: Any, way: str, seconds: float, score: float) -> dict[str, Any]:
    """What is kept of a fit."""
    return {
        "seconds": seconds,
        "steps": "inside" if "interior point" in model.fit_.solver else "coordinates" if way == "hinge" else "",
        "gap": float(model.relative_gap_),
        "lost": float(np.max(getattr(model, "approximation_error_", np.zeros(1)))),
        "score": score,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def alone(way: str, C: float, n: int) -> dict[str, Any]:
    """The same in a process of its own, so that its peak of memory is its own."""
    command = [sys.executable, "-m", "benchmarks.large_rows", way, repr(C), str(n)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def written(record: Mapping[str, Any]) -> dict[Path, str]:
    """The table and the picture of ``docs/scale/rows.md``."""
    lines = [
        "| way | rows | CPU s | peak MB | stack, MB | gap | largest share lost | held-out | growth |",
        "|" + "---|" * 9,
    ]
    curves: dict[str, list[tuple[float, float]]] = {}
    for one in record["found"]:
        if one["way"] != "sample":
            curves.setdefault(_line(one), []).append((one["rows"], one["seconds"]))
    slopes = {line: f"n^{growth(points):.2f}" for line, points in curves.items()}
    for one in record["found"]:
        way, n = one["way"], one["rows"]
        count = STREAMED_COMPONENTS if way == STREAMED else COMPONENTS
        variant = f"exact on {EXACT_ROWS:,} of them" if way == "sample" else f"{count} landmarks, {_line(one)}"
        variant += f", {one['steps']}" if one.get("steps") else ""
        last = PARTS_ROWS[-1] if way == STREAMED else SIZES[-1]
        slope = slopes[_line(one)] if n == last and way != "sample" else ""
        stored = 8e-6 * 40 * (EXACT_ROWS if way == "sample" else n) ** 2
        lines.append(
            f"| {variant} | {n:,} | {one['seconds']:.1f} | {one['megabytes']:.0f} | {stored:,.0f} | {one['gap']:.1e} | "
            f"{one['lost']:.1%} | {one['score']:.4f} | {slope} |"
        )
    what, title = (
        "CPU seconds of one fit over training rows",
        "Seconds of a fit on features grow no faster than the rows",
    )
    named = {f"{line}, {slopes[line]}": points for line, points in curves.items()}
    return on_page("scale/rows", record, lines) | picture("rows", title, what, named)


def _line(one: Mapping[str, Any]) -> str:
    """The loss of a line of the record, and its C where it is another than 1."""
    C = one.get("C", 1.0)
    return one["way"] if C == 1.0 else f"{one['way']}, C = {C:g}"


def main(only_new: bool) -> None:
    """Measure all lines, or those alone that have none yet."""
    before = kept("large_rows")["found"] if only_new else []
    known = {(one["way"], one.get("C", 1.0), one["rows"]): one for one in before}
    for way, C, n in CASES:
        if (way, C, n) not in known:
            known[way, C, n] = {"way": way, "C": C, "rows": n, **alone(way, C, n)}
            print(known[way, C, n], flush=True)
    keep("large_rows", [known[case] for case in CASES])


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(measured(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))
    else:
        main(sys.argv[1:] == ["new"])
