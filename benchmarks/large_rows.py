"""Many rows: CPU seconds, peak memory, held-out score and growth of fits on Nystroem features, beside exact ones.

python -m benchmarks.large_rows             every line in a process of its own; writes table and picture of docs/scale/rows.md

Forty RBF kernels on twenty columns, of one column, of two neighbours and of all; labels depend on four of the columns.
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

PAGE = ROOT / "docs" / "scale" / "rows.md"
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


def growth(found: dict[tuple[str, int], dict[str, float]], way: str) -> float:
    """The slope of log time over log n."""
    seconds = [found[way, n]["seconds"] for n in SIZES]
    return float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])


def written(found: dict[tuple[str, int], dict[str, float]]) -> str:
    """The table for the site."""
    lines = [
        "| way | rows | CPU s | peak MB | stack, MB | gap | largest share lost | held-out | growth |",
        "|" + "---|" * 9,
    ]
    for (way, n), one in found.items():
        told = f"exact on {EXACT_ROWS:,} of them" if way == "sample" else f"{COMPONENTS} landmarks, {way}"
        slope = f"n^{growth(found, way):.2f}" if n == SIZES[-1] and way != "sample" else ""
        stored = 8e-6 * 40 * (EXACT_ROWS if way == "sample" else n) ** 2
        lines.append(
            f"| {told} | {n:,} | {one['seconds']:.1f} | {one['megabytes']:.0f} | {stored:,.0f} | {one['gap']:.1e} | "
            f"{one['lost']:.1%} | {one['score']:.4f} | {slope} |"
        )
    where = surroundings()
    return "\n".join([*lines, "", f"{where['day']}, {where['machine']}, load {where['load']}."])


def picture(found: dict[tuple[str, int], dict[str, float]]) -> str:
    """Seconds over rows on log scales as SVG: one line per loss, light or dark as the page is."""
    width, height, left, low = 640, 300, 60, 250
    ways = [way for way in WAYS if way != "sample"]
    seconds = [found[way, n]["seconds"] for way in ways for n in SIZES]
    bottom, top = np.log(min(seconds)) - 0.2, np.log(max(seconds)) + 0.2

    def at(n: int, s: float) -> tuple[float, float]:
        across = (np.log(n) - np.log(SIZES[0])) / (np.log(SIZES[-1]) - np.log(SIZES[0]))
        return left + 20 + across * (width - left - 160), low - (np.log(s) - bottom) / (top - bottom) * (low - 30)

    parts = [f'<text x="{left}" y="18">CPU seconds of one fit over training rows, both on log scales</text>']
    for k, way in enumerate(ways):
        points = [at(n, found[way, n]["seconds"]) for n in SIZES]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = ' stroke-dasharray="6 4"' if k else ""
        parts.append(f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="2"{dash}/>')
        for (x, y), n in zip(points, SIZES, strict=True):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="currentColor"/>')
            parts.append(
                f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{found[way, n]["seconds"]:.1f}</text>'
            )
        parts.append(
            f'<text x="{points[-1][0] + 14:.1f}" y="{points[-1][1] + 4:.1f}">{way}, n^{growth(found, way):.2f}</text>'
        )
    parts += [f'<text x="{at(n, 1.0)[0]:.1f}" y="{low + 24}" text-anchor="middle">{n:,}</text>' for n in SIZES]
    dark = "@media(prefers-color-scheme:dark){svg{color:#ccd}}"
    style = f"<style>svg{{color:#334}}text{{font:12px sans-serif;fill:currentColor}}{dark}</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f"<title>Seconds of a fit on features grow no faster than the rows</title>{style}{''.join(parts)}</svg>\n"
    )


def main() -> None:
    found = {}
    for case in CASES:
        found[case] = alone(*case)
        print(case, found[case], flush=True)
    PAGE.write_text(included(PAGE.read_text(encoding="utf-8"), written(found)), encoding="utf-8")
    (PAGE.parents[1] / "pictures" / "rows.svg").write_text(picture(found), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
