"""Bounds as curves beside what was measured.

A bound is a broad grey line, solid where it says something and dashed where it is vacuous; the vacuous region is
shaded. Measured errors keep the looks they have on every page: training grey, held-out rows black.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.figures import style
from mklcore.figures.graph_objects import go
from mklcore.figures.paths import NORM_TICKS, norm_axis, norm_positions

HEIGHT = 380
LABEL_ROOM = 100
MANY_POINTS = 20
MOST_BARS = 16


@dataclass(frozen=True, eq=False)
class Curve:
    """One line: ``y`` (L,) with ``error`` (L,) standard errors; ``role`` is "bound", "other", "train" or "test"."""

    name: str
    y: Array
    role: str = "bound"
    error: Array | None = None


def bound_curves(
    x: Any,
    curves: Sequence[Curve],
    *,
    x_title: str,
    y_title: str,
    level: float | None = None,
    level_name: str = "says nothing above",
    kind: str = "count",
    dark: bool = False,
    height: int = HEIGHT,
) -> go.Figure:
    """Draw ``curves`` over ``x`` (L,) on a log scale, with the ``level`` from which on a bound is vacuous.

    ``kind`` of the x axis: "norm" (p from 1 to infinity), "count" (whole numbers) or "log".
    """
    where = norm_positions(x) if kind == "norm" else np.asarray(x, dtype=float)
    order = np.argsort(where, kind="stable")
    where, x = where[order], np.asarray(x, dtype=float)[order]
    curves = [_sorted(curve, order) for curve in curves]
    known = [_positive(curve.y) for curve in curves]
    every = np.concatenate([*known, np.array([level] if level else [])])
    if where.size == 0 or every.size == 0:
        return style.empty_figure("Nothing to draw yet. Choose other values on the left.", dark, height)
    figure = style.new_figure(
        _alt(curves, x, level, x_title), dark, height, margin={"l": 60, "r": LABEL_ROOM, "t": 14, "b": 46}
    )
    low, high = _limits(every)
    if level:
        _shade(figure, level, level_name, high, dark)
    ends = []
    for curve in curves:
        _draw(figure, curve, where, x, level, dark)
        last = np.flatnonzero(np.isfinite(curve.y) & (curve.y > 0))
        if last.size:
            y, at = float(np.log10(curve.y[last[-1]])), float(where[last[-1]])
            place = None if last[-1] == where.size - 1 else at if kind == "count" else float(np.log10(at))
            ends.append(style.EndLabel(style.short(curve.name, 24), y, _look(curve.role, dark)["color"], place))
    figure.layout.xaxis = _x_axis(x, where, x_title, kind, dark)
    figure.layout.yaxis = style.log_axis(y_title, [10**low, 10**high], dark, pad=0.0, showgrid=True)
    style.label_ends(figure, ends, (low, high), dark)
    return figure


def _sorted(curve: Curve, order: Indices) -> Curve:
    error = None if curve.error is None else np.asarray(curve.error, dtype=float)[order]
    return Curve(curve.name, np.asarray(curve.y, dtype=float)[order], curve.role, error)


def _positive(values: Array) -> Array:
    array: Array = np.asarray(values, dtype=float)
    return array[np.isfinite(array) & (array > 0)]


def _limits(every: Array) -> tuple[float, float]:
    low, high = np.log10(every.min()), np.log10(every.max())
    room = 0.06 * (high - low) + 0.08
    return float(low - room), float(high + room)


def _look(role: str, dark: bool) -> dict[str, Any]:
    tone = style.theme(dark)
    looks = {
        "bound": {"color": tone.muted, "width": 4},
        "other": {"color": tone.muted, "width": 1.5},
        "train": {"color": tone.grey, "width": 2},
        "test": {"color": tone.ink, "width": 2},
    }
    return looks[role]


def _draw(figure: go.Figure, curve: Curve, where: Array, x: Any, level: float | None, dark: bool) -> None:
    look, y = _look(curve.role, dark), np.asarray(curve.y, dtype=float)
    shown = np.where(np.isfinite(y) & (y > 0), y, np.nan)
    hover = f"{style.short(curve.name, 40)} %{{y:.3g}} at %{{customdata}}<extra></extra>"
    data = [style.number(v) for v in np.asarray(x, dtype=float)]
    if curve.role == "test":
        bars = None if curve.error is None else {"type": "data", "array": curve.error, "thickness": 1, "width": 0}
        marker = {"size": 6 if where.size <= MANY_POINTS else 4, "color": look["color"]}
        figure.add_scatter(
            x=where, y=shown, mode="lines+markers", line=look, marker=marker,
            error_y=bars, name=curve.name, customdata=data, hovertemplate=hover,
        )  # fmt: skip
        return
    for dash, part in _parts(shown, level if curve.role in ("bound", "other") else None):
        figure.add_scatter(
            x=where, y=part, mode="lines", line={**look, "dash": dash}, name=curve.name, customdata=data,
            hovertemplate=hover,
        )  # fmt: skip
    if np.count_nonzero(np.isfinite(shown)) == 1:
        figure.add_scatter(
            x=where, y=shown, mode="markers", marker={"size": 8, "color": look["color"]}, name=curve.name
        )


def _parts(y: Array, level: float | None) -> list[tuple[str, Array]]:
    """The line in two: solid where both ends of a stretch say something, dashed elsewhere."""
    if level is None:
        return [("solid", y)]
    silent = ~(y < level)
    beside = silent.copy()
    beside[:-1] |= silent[1:]
    beside[1:] |= silent[:-1]
    parts = [("solid", np.where(silent, np.nan, y)), ("dash", np.where(beside, y, np.nan))]
    return [(dash, part) for dash, part in parts if np.isfinite(part).any()]


def _shade(figure: go.Figure, level: float, name: str, high: float, dark: bool) -> None:
    tone = style.theme(dark)
    figure.add_hrect(y0=level, y1=10**high, fillcolor=style.faded(tone.grey, 0.13), line_width=0, layer="below")
    figure.add_hline(y=level, line={"color": tone.muted, "width": 1})
    figure.add_annotation(
        style.words(
            f"{name} {style.number(level)}",
            tone.muted,
            x=0.0,
            xref="x domain",
            xanchor="left",
            xshift=4,
            y=float(np.log10(level)),
            yref="y",
            yanchor="bottom",
        )
    )


def _x_axis(x: Any, where: Array, title: str, kind: str, dark: bool) -> dict[str, Any]:
    if kind == "count":
        top = float(where.max())
        step = {"dtick": 1} if top <= 12 else {}
        return style.axis(title, dark, range=[float(where.min()) - 0.02 * top, top * 1.01], showgrid=False, **step)
    if kind == "log":
        return style.log_axis(title, where, dark)
    return norm_axis(x, title, NORM_TICKS, 0.09, dark)


def _alt(curves: Sequence[Curve], x: Any, level: float | None, x_title: str) -> str:
    parts = []
    for curve in curves:
        finite = _positive(curve.y)
        if finite.size:
            parts.append(f"{curve.name} from {style.number(finite[0])} to {style.number(finite[-1])}")
    values = np.asarray(x, dtype=float)
    extent = f"over {x_title} from {style.number(values[0])} to {style.number(values[-1])}"
    vacuous = f" A bound of {style.number(level)} or more says nothing." if level else ""
    return f"{style.joined(parts)[:1].upper()}{style.joined(parts)[1:]}, {extent}.{vacuous}"


def coherence_dots(
    names: Sequence[str], lower: Any, upper: Any, colours: Sequence[str] | None = None, *, dark: bool = False
) -> go.Figure:
    """Coherence of every other kernel with the good ones, the largest first, with the line at 1.

    Filled where the bounds meet; hollow, with a line from the lower to the upper bound, where they do not.
    """
    low, high = (np.asarray(ends, dtype=float) for ends in (lower, upper))
    if low.size == 0:
        return style.empty_figure("Every kernel is among the good ones. Leave at least one out.", dark)
    order = np.argsort(-high, kind="stable")[:MOST_BARS]
    tone = style.theme(dark)
    exact = high - low <= 1e-6 * np.maximum(high, 1e-300)
    shades = [tone.ink] * low.size if colours is None else list(colours)
    worst = int(order[0])
    alt = (
        f"Coherence of {style.counted(low.size, 'kernel')} with the good ones: the largest is {names[worst]} with "
        f"{style.number(high[worst])}; {int(np.count_nonzero(high < 1))} are below 1."
    )
    figure = style.new_figure(alt, dark, 90 + 22 * len(order), margin={"l": 8, "r": 20, "t": 8, "b": 44})
    labels = [style.short(names[j], 26) for j in order]
    positions = list(range(len(order)))
    for place, j in enumerate(order):
        if not exact[j]:
            figure.add_scatter(
                x=[low[j], high[j]],
                y=[place, place],
                mode="lines",
                line={"color": shades[j], "width": 2, "dash": "dash"},
                hoverinfo="skip",
            )
    figure.add_scatter(
        x=low[order],
        y=positions,
        mode="markers",
        marker={
            "size": 9,
            "color": [shades[j] if exact[j] else tone.paper for j in order],
            "line": {"color": [shades[j] for j in order], "width": 2},
        },
        customdata=[
            f"{style.number(low[j])}" if exact[j] else f"{style.number(low[j])} to {style.number(high[j])}"
            for j in order
        ],
        text=[style.short(names[j], 60) for j in order],
        hovertemplate="%{text}: %{customdata}<extra></extra>",
    )
    figure.add_vline(x=1.0, line={"color": tone.muted, "width": 1})
    top = max(1.05, 1.06 * float(high[order].max()))
    figure.layout.xaxis = style.axis("coherence with the good kernels", dark, range=[0, top], zeroline=True)
    figure.layout.yaxis = style.axis(
        "", dark, tickvals=positions, ticktext=labels, range=[len(order) - 0.4, -0.6], showgrid=False
    )
    return figure


def duplicate_bars(found: Any, names: tuple[str, str] = ("A", "B"), *, dark: bool = False) -> go.Figure:
    """Shares of the weight in the duplicate counterexample: two kernels alone, then copies of the first under two
    solvers.

    ``found`` has ``two_kernels`` (2,), ``symmetric`` and ``block_descent`` (copies + 1,), ``copies`` and ``two_stage``.
    """
    tone = style.theme(dark)
    hues = {
        names[0]: style.readable(style.FAMILY_HUES["rbf"], dark),
        names[1]: style.readable(style.FAMILY_HUES["linear"], dark),
    }
    rows = (
        ("two kernels", found.two_kernels, None),
        (f"{found.copies} copies,<br>symmetric solver", found.symmetric, found.two_stage["symmetric"]),
        (f"{found.copies} copies,<br>block descent", found.block_descent, found.two_stage["block"]),
    )
    keeps = dict(zip("AB", names, strict=True))
    figure = style.new_figure(
        f"Shares of the weight. {found.words}", dark, 250, margin={"l": 8, "r": 84, "t": 8, "b": 44}
    )
    figure.update_layout(barmode="stack", bargap=0.45)
    for title, shares, kept in rows:
        for place, share in enumerate(shares):
            name = names[1] if place == len(shares) - 1 else names[0]
            copy = "" if name == names[1] or len(shares) == 2 else f", copy {place + 1}"
            figure.add_bar(
                x=[float(share)], y=[title], orientation="h",
                marker={"color": hues[name], "line": {"color": tone.paper, "width": 1}},
                text=style.short(name, 10) if share > 0.12 else "", textposition="inside", insidetextanchor="middle",
                textfont={"color": tone.paper}, hovertemplate=f"{style.short(name + copy, 40)}: "
                                                              f"%{{x:.3f}}<extra></extra>",
            )  # fmt: skip
        if kept:
            figure.add_annotation(
                style.words(
                    f"two stages<br>keep {style.short(keeps[kept], 14)}",
                    tone.muted,
                    x=1.0,
                    y=title,
                    xref="x",
                    yref="y",
                    xanchor="left",
                    xshift=6,
                    align="left",
                )
            )
    figure.layout.xaxis = style.axis("share of the weight, ‖f‖ of each kernel over their sum", dark, range=[0, 1])
    figure.layout.yaxis = style.axis("", dark, autorange="reversed", showgrid=False)
    return figure
