"""What one model has learnt, in pictures: functions of a column, a surface over two, weights per class, stability of
choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go
from mklcore.figures.style import leaders

MOST_KERNELS = 20
MOST_POINTS = 400
APART = 0.02  # of an axis: how far the outermost of many rows at one place is moved
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
COLUMNS = 3
PANEL_HEIGHT = 180
PANEL_LETTERS = 16
TICK_ROOM = 78  # pixels between two rows of panels
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
CLASS_HUES = ("linear", "rbf", "polynomial", "laplacian", "hkl", "precomputed")


def component_grid(
    components: Sequence[Any], names: Sequence[str], *, colours: Sequence[str] | None = None, dark: bool = False
) -> go.Figure:
    """Small multiples of f_m(x_j), one panel per component, all on one scale, with the training rows as a rug below.

    ``components`` objects with ``name``, ``column``, ``grid`` (m,), ``values`` (m,) and ``rug`` (n,); ``names`` (d,) of
    the columns; ``colours`` one per component.
    """
    if not components:
        return style.empty_figure("No kernel in use looks at one column only, so there is no curve to draw.", dark)
    for one in components:
        if np.shape(one.values) != np.shape(one.grid):
            raise ParameterError(
                f"A curve needs one value per position; {one.name} has {np.shape(one.values)} for "
                f"{np.shape(one.grid)}. "
                "Choose one output of a model with several."
            )
    across = min(COLUMNS, len(components))
    down = math.ceil(len(components) / across)
    low = min(float(np.min(one.values)) for one in components)
    high = max(float(np.max(one.values)) for one in components)
    room = 0.08 * (high - low) or 0.1
    figure = style.new_figure(
        _component_alt(components, names),
        dark,
        height=30 + PANEL_HEIGHT * down,
        margin={"l": 48, "r": 12, "t": 10, "b": 58},
    )
    hues = list(colours or [style.readable(style.FAMILY_HUES["linear"], dark)] * len(components))
    for k, (one, hue) in enumerate(zip(components, hues, strict=True)):
        _panel(figure, k, (across, down), one, names, hue, (low - 2 * room, high + room), dark)
    return figure


def _panel(
    figure: go.Figure,
    k: int,
    shape: tuple[int, int],
    one: Any,
    names: Sequence[str],
    hue: str,
    limits: tuple[float, float],
    dark: bool,
) -> None:
    across, down = shape
    row, column = divmod(k, across)
    axes = "" if k == 0 else str(k + 1)
    gap, between = 0.06, TICK_ROOM / (PANEL_HEIGHT * down)
    wide, tall = (1 - gap * (across - 1)) / across, (1 - between * (down - 1)) / down
    left, top = column * (wide + gap), 1 - row * (tall + between)
    title = style.short(names[one.column], 26)
    figure.add_scatter(
        x=one.grid,
        y=one.values,
        name=one.name,
        mode="lines",
        line={"color": hue, "width": 2},
        hovertemplate=f"{title} = %{{x:.3g}}<br>adds %{{y:.3g}}<extra></extra>",
        xaxis=f"x{axes}",
        yaxis=f"y{axes}",
    )
    rug = np.asarray(one.rug, dtype=float)
    rug = rug[:: max(1, rug.size // MOST_POINTS)]
    figure.add_scatter(
        x=rug,
        y=np.full(rug.size, limits[0] + 0.02 * (limits[1] - limits[0])),
        name="training rows",
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 7, "color": style.theme(dark).grey},
        hoverinfo="skip",
        xaxis=f"x{axes}",
        yaxis=f"y{axes}",
    )
    across_domain, down_domain = [left, min(left + wide, 1.0)], [max(top - tall, 0.0), top]
    figure.update_layout(
        {
            f"xaxis{axes}": style.axis(
                _two_lines(title), dark, domain=across_domain, anchor=f"y{axes}", showgrid=False, nticks=5
            ),
            f"yaxis{axes}": style.axis(
                "added" if column == 0 else "",
                dark,
                domain=down_domain,
                anchor=f"x{axes}",
                range=list(limits),
                zeroline=True,
                nticks=5,
                showticklabels=column == 0,
            ),
        }
    )


def _two_lines(title: str) -> str:
    """A title of more words than a panel of a phone is wide, broken at the space nearest its middle."""
    spaces = [k for k, letter in enumerate(title) if letter == " "]
    if len(title) <= PANEL_LETTERS or not spaces:
        return title
    middle = min(spaces, key=lambda k: abs(2 * k - len(title)))
    return f"{title[:middle]}<br>{title[middle + 1 :]}"


def _component_alt(components: Sequence[Any], names: Sequence[str]) -> str:
    sentences = [
        f"{names[one.column]} from {style.number(np.min(one.values))} to {style.number(np.max(one.values))}"
        for one in components
    ]
    return (
        f"What {style.counted(len(components), 'kernel')} of one column each add to the score: "
        f"{style.joined(sentences)}."
    )


def surface_plot(
    surface: Any, names: Sequence[str], rows: Any, labels: Any, *, dark: bool = False, height: int = 420
) -> go.Figure:
    """A model over two columns as a map, with the training rows on it.

    ``surface`` with ``columns``, ``x``, ``y``, ``values`` (m, m), ``classes`` and ``kind``; ``names`` (d,) of the
    columns, ``rows`` (n, d) and ``labels`` (n,) of the training rows. Two classes: the signed score, its border at 0
    drawn as a line; more: the class that wins; a number: the prediction.
    """
    table = np.asarray(surface.values, dtype=float)
    if table.shape != (len(surface.y), len(surface.x)):
        raise ParameterError(
            f"A surface needs one value per pair of positions; got {table.shape} for {len(surface.y)} and "
            f"{len(surface.x)}."
        )
    first, second = (style.short(names[j], 40) for j in surface.columns)
    figure = style.new_figure(_surface_alt(surface, names), dark, height, margin={"l": 56, "r": 12, "t": 12, "b": 44})
    {"score": _score_map, "class": _class_map, "number": _number_map}[surface.kind](figure, surface, table, dark)
    _rows_on_map(figure, surface, np.asarray(rows, dtype=float), np.asarray(labels), dark)
    figure.layout.xaxis = style.axis(first, dark, showgrid=False)
    figure.layout.yaxis = style.axis(second, dark, showgrid=False)
    return figure


def _score_map(figure: go.Figure, surface: Any, table: Array, dark: bool) -> None:
    reach = float(np.abs(table).max()) or 1.0
    cold, warm = (_class_colour(k, dark) for k in (0, 1))
    paper = style.theme(dark).paper
    figure.add_heatmap(
        x=surface.x, y=surface.y, z=table, zmin=-reach, zmax=reach, colorscale=[[0, cold], [0.5, paper], [1, warm]],
        opacity=0.6, zsmooth="best", colorbar=style.colour_bar("score", dark),
        hovertemplate="%{x:.3g}, %{y:.3g}<br>score %{z:.3g}<extra></extra>",
    )  # fmt: skip
    figure.add_contour(
        x=surface.x, y=surface.y, z=table, showscale=False, hoverinfo="skip", name="border",
        contours={"start": 0, "end": 0, "size": 1, "coloring": "lines"},
        colorscale=[[0, style.theme(dark).ink], [1, style.theme(dark).ink]], line={"width": 2},
    )  # fmt: skip


def _class_map(figure: go.Figure, surface: Any, table: Array, dark: bool) -> None:
    T = len(surface.classes)
    colours = [_class_colour(k, dark) for k in range(T)]
    steps = [[place, colours[k]] for k in range(T) for place in (k / T, (k + 1) / T)]
    figure.add_heatmap(
        x=surface.x, y=surface.y, z=table, zmin=-0.5, zmax=T - 0.5, colorscale=steps, opacity=0.35, showscale=False,
        text=[[style.short(surface.classes[int(k)], 30) for k in row] for row in table],
        hovertemplate="%{x:.3g}, %{y:.3g}<br>%{text}<extra></extra>",
    )  # fmt: skip


def _number_map(figure: go.Figure, surface: Any, table: Array, dark: bool) -> None:
    figure.add_heatmap(
        x=surface.x, y=surface.y, z=table, colorscale=style.SEQUENTIAL, colorbar=style.colour_bar("prediction", dark),
        zmin=float(table.min()), zmax=float(table.max()), zsmooth="best",
        hovertemplate="%{x:.3g}, %{y:.3g}<br>prediction %{z:.3g}<extra></extra>",
    )  # fmt: skip


def _class_colour(k: int, dark: bool) -> str:
    return style.readable(style.FAMILY_HUES[CLASS_HUES[k % len(CLASS_HUES)]], dark)


def _rows_on_map(figure: go.Figure, surface: Any, rows: Array, labels: Array, dark: bool) -> None:
    step = max(1, len(rows) // MOST_POINTS)
    at, called = _apart(rows[::step][:, list(surface.columns)]), labels[::step]
    edge = {"width": 1, "color": style.theme(dark).paper}
    if surface.kind == "number":
        low, high = float(np.min(surface.values)), float(np.max(surface.values))
        figure.add_scatter(
            x=at[:, 0], y=at[:, 1], mode="markers", name="training rows", text=[style.number(v) for v in called],
            marker={
                "size": 7, "color": called.astype(float), "cmin": low, "cmax": high, "colorscale": style.SEQUENTIAL,
                "line": {"width": 1, "color": style.theme(dark).ink},
            },
            hovertemplate="row with target %{text}<extra></extra>",
        )  # fmt: skip
        return
    for k, name in enumerate(surface.classes):
        mine = called.astype(str) == name
        figure.add_scatter(
            x=at[mine, 0], y=at[mine, 1], mode="markers", name=style.short(name, 30),
            marker={"symbol": SYMBOLS[k % len(SYMBOLS)], "size": 7, "color": _class_colour(k, dark), "line": edge},
            hovertemplate=f"{style.short(name, 30)}<extra></extra>",
        )  # fmt: skip


def _apart(at: Array) -> Array:
    """Points (m, 2) with those at the same place moved a little around it, in the order of a sunflower's seeds, so that
    none hides another. A place is left as it is where one row is.
    """
    moved = at.copy()
    reach = APART * (np.ptp(at, axis=0) if len(at) else np.ones(2))
    _, home, counts = np.unique(at, axis=0, return_inverse=True, return_counts=True)
    for k in np.flatnonzero(counts > 1):
        seeds = np.arange(counts[k])
        angle, radius = seeds * GOLDEN_ANGLE, np.sqrt(seeds / max(int(counts.max()) - 1, 1))
        moved[home.ravel() == k] += reach * np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return moved


def _surface_alt(surface: Any, names: Sequence[str]) -> str:
    first, second = (names[j] for j in surface.columns)
    table = np.asarray(surface.values, dtype=float)
    over = f"over {first} from {style.number(surface.x[0])} to {style.number(surface.x[-1])} and {second} from "
    over += f"{style.number(surface.y[0])} to {style.number(surface.y[-1])}"
    if surface.kind == "number":
        return f"Prediction {over}: from {style.number(table.min())} to {style.number(table.max())}."
    if surface.kind == "score":
        share = float(np.mean(table > 0))
        return (
            f"Score {over}. {surface.classes[1]} wins on {100 * share:.0f} % of the map, {surface.classes[0]} on "
            f"the rest."
        )
    shares = [f"{name} on {100 * float(np.mean(table == k)):.0f} %" for k, name in enumerate(surface.classes)]
    return f"Class that wins {over}: {style.joined(shares)} of the map."


def class_weights(
    weights: Any, problems: Sequence[str], names: Sequence[str], *, limit: int = MOST_KERNELS, dark: bool = False
) -> go.Figure:
    """Kernel weights of every one-vs-rest or one-vs-one problem as a heat map, ``weights`` (T, M), the largest on
    top.
    """
    table = np.atleast_2d(np.asarray(weights, dtype=float))
    if table.shape != (len(problems), len(names)):
        raise ParameterError(
            f"One row per problem and one column per kernel are needed; got {table.shape} for {len(problems)} and "
            f"{len(names)}."
        )
    peaks = table.max(axis=0)
    shown = [int(m) for m in np.argsort(-peaks, kind="stable")[:limit] if peaks[m] > 0] or [0]
    figure = style.new_figure("", dark, height=110 + 22 * len(shown), margin={"l": 48, "r": 12, "t": 12, "b": 60})
    called = [style.short(name, 30) for name in problems]
    figure.add_heatmap(
        x=called, y=list(range(len(shown))), z=table[:, shown].T, zmin=0.0, zmax=float(table.max()) or 1.0,
        colorscale=style.SEQUENTIAL, xgap=1, ygap=1, colorbar=style.colour_bar("weight θ", dark),
        text=[[style.short(names[m], 60)] * len(called) for m in shown],
        hovertemplate="%{text}<br>%{x}: θ = %{z:.3g}<extra></extra>",
    )  # fmt: skip
    figure.layout.xaxis = style.axis("", dark, showgrid=False)
    figure.layout.yaxis = style.row_axis([style.short(names[m], 26) for m in shown], dark)
    sentences = [f"{problem}: {leaders(row, names, 1)}" for problem, row in zip(problems, table, strict=True)]
    left_out = style.counted(len(names) - len(shown), "kernel")
    figure.layout.meta["alt"] = f"Largest kernel weight per problem. {'; '.join(sentences)}. {left_out} not drawn."
    return figure


def selection_bars(
    share: Any, n_resamples: int, names: Sequence[str], families: Sequence[str], *, limit: int = 12, dark: bool = False
) -> go.Figure:
    """How often each kernel was used in refits on half of the rows, ``share`` (M,), the most frequent on top."""
    values = np.asarray(share, dtype=float)
    if not values.size == len(names) == len(families):
        raise ParameterError(
            f"One frequency, name and family per kernel are needed; got {values.size}, {len(names)} and "
            f"{len(families)}."
        )
    order = np.argsort(-values, kind="stable")[:limit]
    colours = style.kernel_colours(families, values, dark)
    figure = style.new_figure(
        "", dark, height=64 + 22 * len(order), bargap=0.3, margin={"l": 48, "r": 48, "t": 8, "b": 40}
    )
    counts = np.round(values * n_resamples).astype(int)
    hover = f"%{{text}}<br>used in %{{x}} of {n_resamples}<extra></extra>"
    style.add_row_bars(figure, counts[order], [names[m] for m in order], [colours[m] for m in order], hover, dark)
    figure.layout.xaxis = style.axis(
        f"times used in {n_resamples} refits", dark, range=[0, n_resamples], tickformat="d"
    )
    always, never = int(np.sum(counts == n_resamples)), int(np.sum(counts == 0))
    figure.layout.meta["alt"] = (
        f"Times each of {style.counted(values.size, 'kernel')} was used in {n_resamples} refits on half of the rows. "
        f"{style.counted(always, 'kernel')} always, {style.counted(never, 'kernel')} never; the most frequent are "
        + style.joined([f"{names[m]} {counts[m]} times" for m in order[:3]])
        + "."
    )
    return figure
