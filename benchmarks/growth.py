"""How the time of every method grows with rows, kernels, columns, classes and costs.

    python -m benchmarks.growth [NAME ...]      with NAMEs measures the methods whose name contains one of them

The exponent e of the last step between two sizes: e times as many digits of time as of size. A line
stands beside what an exponent of 3.1 allows from the size before, and its note tells all seconds.
The curves go to docs/pictures/growth.svg, time over size, both on a scale of powers of ten.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.corners import table
from benchmarks.lines import Line, cpu, reported
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.style import PALETTE
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "growth.svg"
MOST = 3.1  # exponent that no method may exceed
REPEATS = 2


def stack(n: int, M: int) -> np.ndarray:
    """M RBF kernels on n rows."""
    return mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.25, 4, M)).grams(table(n)[0]).values


def weighted(K: np.ndarray, loss: str, p: float) -> Callable[[], Any]:
    """A fit of lp-norm MKL at C = 1."""
    _, labels, target = table(K.shape[1])
    y = labels if loss == "hinge" else target
    return partial(fit_weighted, K, y, 1.0, make_loss(loss), LpNorm(p), True)


def estimator(K: np.ndarray, model: Any) -> Callable[[], Any]:
    """A fit of ``model`` to numbers."""
    return partial(model.fit, K, table(K.shape[1])[2])


def classes(T: int) -> Callable[[], Any]:
    """One against the rest for T classes, 300 rows and ten kernels."""
    y = np.argsort(np.argsort(table(300)[2])) * T // 300
    return partial(mkl.LpMKLClassifier(p=4 / 3, kernels="precomputed").fit, stack(300, 10), y)


def costs(L: int) -> Callable[[], Any]:
    """A path of L costs, 300 rows and twenty kernels."""
    model = mkl.LpMKLClassifier(p=4 / 3, kernels="precomputed")
    return partial(
        mkl.fit_path, model, stack(300, 20), table(300)[1], "C", np.geomspace(0.01, 100, L)
    )


def columns(d: int) -> Callable[[], Any]:
    """A regression at p = 1 on one linear kernel a column, 600 rows."""
    X, _, y = table(600, d)
    return partial(
        mkl.LpMKLRegressor(kernels=mkl.KernelDictionary.per_feature(mkl.Linear(), d), p=1.0).fit,
        X,
        y,
    )


class Growth(NamedTuple):
    """Work of one method at growing sizes."""

    what: str
    axis: str
    sizes: tuple[int, ...]
    make: Callable[[int], Callable[[], Any]]


NORMS = {"1": 1.0, "4/3": 4 / 3, "2": 2.0, "inf": np.inf}
SPARSE = {
    "GOMP": lambda: mkl.GOMPRegressor(n_kernels=5, kernels="precomputed"),
    "greedy": lambda: mkl.GreedyMKLRegressor(n_kernels=5, kernels="precomputed"),
    "SMKL": lambda: mkl.SMKLRegressor(kernels="precomputed"),
}
ROWS = (400, 800, 1600)
KERNELS = (100, 400, 1600)


def growths() -> list[Growth]:
    """Every method along rows and kernels; lp-norm MKL along classes, costs and columns, too."""
    found = []
    for name, p in NORMS.items():
        for loss in ("hinge", "squared"):
            fit = partial(lambda n, M, loss, p: weighted(stack(n, M), loss, p), loss=loss, p=p)
            found.append(Growth(f"{loss}, p = {name}", "rows", ROWS, lambda n, fit=fit: fit(n, 20)))
            found.append(
                Growth(f"{loss}, p = {name}", "kernels", KERNELS, lambda M, fit=fit: fit(200, M))
            )
    for name, model in SPARSE.items():
        found.append(
            Growth(name, "rows", ROWS, lambda n, model=model: estimator(stack(n, 20), model()))
        )
        found.append(
            Growth(
                name,
                "kernels",
                KERNELS[:2],
                lambda M, model=model: estimator(stack(200, M), model()),
            )
        )
    found.append(Growth("hinge, p = 4/3", "classes", (2, 4, 8), classes))
    found.append(Growth("hinge, p = 4/3", "costs", (5, 10, 20), costs))
    found.append(Growth("squared, p = 1, linear", "columns", (50, 100, 200), columns))
    return found


def measured(growth: Growth) -> list[float]:
    """The median CPU seconds of every size, after a first fit that is not counted."""
    seconds = []
    for k, size in enumerate(growth.sizes):
        work = growth.make(size)
        if k == 0:
            work()
        seconds.append(float(np.median([cpu(work)[0] for _ in range(REPEATS)])))
    return seconds


def line(growth: Growth, seconds: Sequence[float]) -> Line:
    """The last step of a growth beside what the largest exponent allows."""
    (before, last), step = seconds[-2:], growth.sizes[-1] / growth.sizes[-2]
    exponent = np.log(last / before) / np.log(step)
    sizes = " to ".join(f"{size:,}" for size in growth.sizes[-2:])
    note = f"exponent {exponent:.1f}; {', '.join(f'{one:.3g}' for one in seconds)} s"
    what = f"{growth.what}: {sizes} {growth.axis}"
    return Line(what, [last], "CPU s", before * step**MOST, f"an exponent of {MOST} allows", note)


def picture(curves: Sequence[tuple[Growth, Sequence[float]]]) -> str:
    """Time over size for rows (left) and kernels (right) as SVG, one line a method, both on a log
    scale.
    """
    parts = []
    width = 420
    height = 300
    names = list(
        dict.fromkeys(growth.what for growth, _ in curves if growth.axis in ("rows", "kernels"))
    )
    for side, axis in enumerate(("rows", "kernels")):
        shown = [(growth, seconds) for growth, seconds in curves if growth.axis == axis]
        if not shown:
            continue
        across = np.log10([size for growth, _ in shown for size in growth.sizes])
        up = np.log10([one for _, seconds in shown for one in seconds])
        for growth, seconds in shown:
            x = (
                50
                + side * (width + 40)
                + (width - 60) * (np.log10(growth.sizes) - across.min()) / np.ptp(across)
            )
            y = 20 + (height - 60) * (up.max() - np.log10(seconds)) / np.ptp(up)
            colour = PALETTE[names.index(growth.what) % len(PALETTE)]
            points = " ".join(f"{a:.0f},{b:.0f}" for a, b in zip(x, y, strict=True))
            parts.append(
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
            )
            label = html.escape(growth.what)
            parts.append(
                f'<text x="{x[-1] + 4:.0f}" y="{y[-1] + 4:.0f}" fill="{colour}">{label}</text>'
            )
        low = 10 ** across.min()
        high = 10 ** across.max()
        said = (
            f"{low:,.0f} to {high:,.0f} {axis}, {10 ** up.min():.2g} to {10 ** up.max():.2g} CPU s"
        )
        parts.append(
            f'<text x="{50 + side * (width + 40)}" y="{height - 10}" fill="#767676">{said}</text>'
        )
    size = f'viewBox="0 0 {2 * width + 180} {height}" font-family="sans-serif" font-size="11"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n' + "\n".join(parts) + "\n</svg>\n"


def run(*chosen: str) -> list[Line]:
    """Every growth; without ``chosen`` the picture is drawn again."""
    curves = []
    lines = []
    with threadpool_limits(1), suppress_convergence_warnings():
        for growth in growths():
            if chosen and not any(name in growth.what for name in chosen):
                continue
            curves.append((growth, measured(growth)))
            lines.append(line(*curves[-1]))
            print(reported(lines[-1:]).splitlines()[-1], flush=True)
    if not chosen:
        PICTURE.write_text(picture(curves), encoding="utf-8")
    return lines


if __name__ == "__main__":
    run(*sys.argv[1:])
