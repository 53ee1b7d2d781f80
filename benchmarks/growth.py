"""How the time of every method, and of peers on the same work, grows with rows, kernels, columns,
classes and costs.

    python -m benchmarks.growth [NAME ...]      with NAMEs measures the methods whose name contains one of them

The time is a power of the size, and the exponent is that of the last step between two sizes. A line
stands beside what an exponent of 3.1 allows from the size before; its note has the exponents of all
steps and all seconds. The curves go to docs/pictures/growth.svg, time over size, both on a scale of
powers of ten. A peer that is not installed has no line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from threadpoolctl import threadpool_limits

import mklcore as mkl
from benchmarks.corners import table
from benchmarks.lines import Line, cpu, reported
from benchmarks.paths import around_svc
from benchmarks.peers import by_easy, by_himalaya
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.saving import save
from mklcore.figures.style import PALETTE
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "growth.svg"
WIDTH, HEIGHT = 960, 380
AXES = ("rows", "kernels")  # whose curves are drawn
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


def estimator(K: np.ndarray, model: Callable[[], Any]) -> Callable[[], Any]:
    """A fit of a new ``model`` to numbers."""
    return partial(model().fit, K, table(K.shape[1])[2])


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


def columns_by_celer(d: int) -> Callable[[], Any]:
    """A lasso of celer on the same columns, at a tenth of the strength that leaves nothing."""
    from celer import Lasso

    X, _, y = table(600, d)
    strongest = float(np.abs(X.T @ y).max()) / len(y)
    return partial(Lasso(alpha=strongest / 10.0).fit, X, y)


def by_wrapper(K: np.ndarray, y: np.ndarray, p: float) -> Any:
    """A wrapper around scikit-learn's SVC, the linear program at p = 1."""
    return around_svc(K, y, p, 1e-3, p == 1.0)


def by_peer(K: np.ndarray, solve: Callable[..., Any]) -> Callable[[], Any]:
    """What a peer does with these kernels and two classes."""
    return partial(solve, K, table(K.shape[1])[1])


class Growth(NamedTuple):
    """Work of one method at growing sizes, and the package that it needs beside this one."""

    what: str
    axis: str
    sizes: tuple[int, ...]
    make: Callable[[int], Callable[[], Any]]
    package: str = "mklcore"


NORMS = {"1": 1.0, "4/3": 4 / 3, "2": 2.0, "inf": np.inf}
SPARSE = {
    "GOMP": lambda: mkl.GOMPRegressor(n_kernels=5, kernels="precomputed"),
    "greedy": lambda: mkl.GreedyMKLRegressor(n_kernels=5, kernels="precomputed"),
    "SMKL": lambda: mkl.SMKLRegressor(kernels="precomputed"),
}
PEERS: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("MKLpy, EasyMKL", "MKLpy", by_easy),
    ("himalaya, random search", "himalaya", by_himalaya),
    ("linear program around SVC, p = 1", "sklearn", partial(by_wrapper, p=1.0)),
    ("analytic update around SVC, p = 4/3", "sklearn", partial(by_wrapper, p=4 / 3)),
)
ROWS = (400, 800, 1600)
PEER_ROWS = (200, 400, 800)  # a search of himalaya on 1,600 rows takes minutes
KERNELS = (100, 400, 1600)


def both_axes(
    name: str,
    fit: Callable[[np.ndarray], Callable[[], Any]],
    rows: tuple[int, ...],
    kernels: tuple[int, ...],
    package: str = "mklcore",
) -> list[Growth]:
    """One method along rows, with twenty kernels, and along kernels, on 200 rows."""
    return [
        Growth(name, "rows", rows, lambda n: fit(stack(n, 20)), package),
        Growth(name, "kernels", kernels, lambda M: fit(stack(200, M)), package),
    ]


def growths() -> list[Growth]:
    """Every method along rows and kernels; lp-norm MKL along classes, costs and columns, too."""
    found = []
    for name, p in NORMS.items():
        for loss in ("hinge", "squared"):
            fit = partial(weighted, loss=loss, p=p)
            found += both_axes(f"{loss}, p = {name}", fit, ROWS, KERNELS)
    for name, model in SPARSE.items():
        found += both_axes(name, partial(estimator, model=model), ROWS, KERNELS[:2])
    for name, package, solve in PEERS:
        fit = partial(by_peer, solve=solve)
        found += both_axes(name, fit, PEER_ROWS, KERNELS[:2], package)
    found.append(Growth("hinge, p = 4/3", "classes", (2, 4, 8), classes))
    found.append(Growth("hinge, p = 4/3", "costs", (5, 10, 20), costs))
    found.append(Growth("squared, p = 1, linear", "columns", (50, 100, 200), columns))
    found.append(Growth("celer, lasso", "columns", (50, 100, 200), columns_by_celer, "celer"))
    return [growth for growth in found if find_spec(growth.package)]


def measured(growth: Growth) -> list[float]:
    """The median CPU seconds of every size, after a first fit that is not counted."""
    seconds = []
    for k, size in enumerate(growth.sizes):
        work = growth.make(size)
        if k == 0:
            work()
        seconds.append(float(np.median([cpu(work)[0] for _ in range(REPEATS)])))
    return seconds


def exponents(sizes: Sequence[int], seconds: Sequence[float]) -> np.ndarray:
    """The exponent of every step: time grows like this power of the size."""
    return np.diff(np.log(seconds)) / np.diff(np.log(sizes))


def line(growth: Growth, seconds: Sequence[float]) -> Line:
    """The last step of a growth beside what the largest exponent allows."""
    before, last = seconds[-2:]
    step = growth.sizes[-1] / growth.sizes[-2]
    powers = ", ".join(f"{one:.1f}" for one in exponents(growth.sizes, seconds))
    times = ", ".join(f"{one:.3g}" for one in seconds)
    sizes = ", ".join(f"{size:,}" for size in growth.sizes)
    what = f"{growth.what}: {sizes} {growth.axis}"
    note = f"exponents {powers}; {times} s"
    return Line(what, [last], "CPU s", before * step**MOST, f"an exponent of {MOST} allows", note)


def picture(curves: Sequence[tuple[Growth, Sequence[float]]]) -> go.Figure:
    """Time over rows on the left and over kernels on the right, one line a method, on scales of
    powers of ten; the lines of peers are dashed.
    """
    figure = make_subplots(cols=2, horizontal_spacing=0.08, y_title="CPU seconds")
    names = list(dict.fromkeys(growth.what for growth, _ in curves))
    for growth, seconds in curves:
        if growth.axis not in AXES:
            continue
        again, colour = divmod(names.index(growth.what), len(PALETTE))
        dash = "dash" if growth.package != "mklcore" else "dashdot" if again else "solid"
        figure.add_scatter(
            x=growth.sizes,
            y=seconds,
            mode="lines",
            line={"color": PALETTE[colour], "dash": dash},
            name=growth.what,
            legendgroup=growth.what,
            showlegend=growth.axis == AXES[0],
            row=1,
            col=1 + AXES.index(growth.axis),
        )
    for col, axis in enumerate(AXES, 1):
        sizes = {size for growth, _ in curves if growth.axis == axis for size in growth.sizes}
        figure.update_xaxes(type="log", tickvals=sorted(sizes), title=axis, col=col)
    figure.update_yaxes(type="log", dtick=1, gridcolor="rgba(118, 118, 118, 0.4)")
    figure.update_xaxes(showgrid=False)
    clear = "rgba(0, 0, 0, 0)"
    figure.update_layout(paper_bgcolor=clear, plot_bgcolor=clear, font_color="#767676")
    figure.update_layout(margin={"t": 10, "r": 10, "b": 50, "l": 60})
    return figure.update_layout(legend={"tracegroupgap": 0, "font_size": 11})


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
        save(picture(curves), PICTURE, width=WIDTH, height=HEIGHT)
    return lines


if __name__ == "__main__":
    run(*sys.argv[1:])
