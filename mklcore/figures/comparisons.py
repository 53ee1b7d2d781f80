"""What was measured beside what it is compared with: a paper's numbers, a bound, the error that no method can beat.

Ours are filled, with bars of one standard error; a paper's numbers are hollow. A bound is a broad grey line, solid
where it says something and dashed where it is vacuous.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import style
from mklcore.figures.graph_objects import go
from mklcore.figures.paths import NORM_TICKS, norm_axis, norm_positions

HEIGHT = 400
LABEL_ROOM, LETTER = 14, 6.5  # px beside the names at the right edge, and per letter of them
SHIFT, GAP = 0.035, 0.6  # of the distance of two rows: ours to the left; room between two series
MOST_NAMED, LINE, TABLE_ROW = 24, 24, 34  # lines of a table that are named one by one; px of one, and of other rows
BELOW = 0.16  # of a line: how far below ours the reference is
MANY_POINTS = 20
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")


# A paper's numbers


def comparison_plot(
    comparison: Any, part: slice, *, y_title: str, row_name: str, ordered: bool = True, floor: float | None = None,
    marks: Sequence[tuple[str, str]] | None = None, dark: bool = False,
) -> go.Figure:  # fmt: skip
    """Draw the columns ``part`` of a comparison over its rows.

    ``comparison`` has ``rows``, ``columns``, and (rows, columns) arrays ``ours``, ``ours_error``, ``reference`` and
    ``reference_error``; bars are one standard error. Lines join the rows where they follow an order; ``floor`` is the
    error that no method can beat; ``marks`` are (series, tick) of every row, and lines end where a series does.
    """
    if not ordered:
        return _table(comparison, part, y_title, floor, dark)
    marks = marks or [("", row) for row in comparison.rows]
    series, start = list[tuple[str, slice]](), 0
    for name, group in groupby(marks, key=lambda mark: mark[0]):
        series.append((name, slice(start, start + len(list(group)))))
        start = series[-1][1].stop
    places = np.concatenate([np.arange(own.start, own.stop) + GAP * k for k, (_, own) in enumerate(series)])
    columns = comparison.columns[part]
    room = LABEL_ROOM + LETTER * max(len(style.short(column, 16)) for column in columns)
    margin = {"l": 52, "r": room, "t": 30 if len(series) > 1 else 14, "b": 48}
    figure = style.new_figure(_alt(comparison, part, y_title), dark, HEIGHT, margin=margin)
    reached = _reached(comparison, part)
    low, high = min(0.0, float(reached.min(initial=0.0))), float(reached.max(initial=-np.inf))
    high = high if np.isfinite(high) and (low < 0 or high > 0) else 1.0
    limits = low - 0.04 * (high - low), high + 0.06 * (high - low)
    ends = dict[str, style.EndLabel]()
    for column, hollow, hue, values, errors in _values(comparison, part, dark):
        for _, own in series:
            figure.add_scatter(
                x=places[own] + (SHIFT if hollow else -SHIFT), y=values[own], mode="lines+markers",
                line={"color": hue, "width": 1 if hollow else 2, "dash": "dash" if hollow else "solid"},
                error_y=_bars(errors[own], hue), customdata=list(comparison.rows[own]),
                **_look(column, hollow, hue, "%{y:.3g}"),
            )  # fmt: skip
        if np.isfinite(values[-1]):
            ends.setdefault(column, style.EndLabel(style.short(column, 16), float(values[-1]), hue))
    for name, own in series:
        if floor is not None:
            _floor(figure, places[[own.start, own.stop - 1]], [floor, floor], dark)
        if len(series) > 1:
            figure.add_annotation(style.words(
                f"<b>{escape(name)}</b>", style.theme(dark).ink, x=float(places[own].mean()), y=1.0, yref="paper",
                yanchor="bottom",
            ))  # fmt: skip
    if floor is not None:
        near = floor - limits[0] < 0.08 * (limits[1] - limits[0])  # on the axis: its name goes where lines have risen
        place = {"x": float(places[-1]), "xanchor": "right", "yanchor": "bottom"} if near else {"x": float(places[0])}
        _name_floor(figure, dark, y=floor, **place)
    ticks = {"tickvals": places, "ticktext": [style.short(tick, 22) for _, tick in marks], "tickangle": 0}
    figure.layout.xaxis = style.axis(row_name, dark, range=[-0.4, places[-1] + 0.4], showgrid=False, **ticks)
    figure.layout.yaxis = style.axis(y_title, dark, range=list(limits), zeroline=True)
    style.label_ends(figure, list(ends.values()), limits, dark)
    return figure


def _table(comparison: Any, part: slice, title: str, floor: float | None, dark: bool) -> go.Figure:
    """Rows one below the other, values from left to right; the names of methods stand at their lines, or once at the
    top.
    """
    columns, count = comparison.columns[part], len(comparison.rows)
    named = (len(columns) + 1) * count <= MOST_NAMED
    step, k = float(len(columns) + 1) if named else 1.0, np.arange(len(columns))
    tops, apart = step * np.arange(count), 1.0 + k if named else 0.7 * ((k + 0.5) / len(columns) - 0.5)
    height = 74 + round((LINE if named else TABLE_ROW) * step * count)
    margin = {"l": 52, "r": 14, "t": 14 if named else 34, "b": 48}
    figure = style.new_figure(_alt(comparison, part, title), dark, height, margin=margin)
    hues = []
    for place, (column, hollow, hue, values, errors) in enumerate(_values(comparison, part, dark)):
        hues += [] if hollow else [hue]
        below = BELOW / (1 if named else 2) if hollow else 0.0
        figure.add_scatter(
            x=values, y=tops + apart[place // 2] + below, mode="markers", error_x=_bars(errors, hue),
            customdata=list(comparison.rows), **_look(column, hollow, hue, "%{x:.3g}"),
        )  # fmt: skip
    if floor is not None:
        for top in tops:
            _floor(figure, [floor, floor], [top + apart[0] - 0.5, top + apart[-1] + 0.5], dark)
        _name_floor(figure, dark, x=floor, y=float(tops[0]), yanchor="middle" if named else "bottom")
    rows = [style.short(row, 26) for row in comparison.rows]
    ticks = {"tickvals": tops, "ticktext": rows}
    left = {"x": 0.0, "xref": "paper", "xanchor": "left"}
    if named:
        names = [style.short(column, 20) for column in columns]
        ticks = {"tickvals": np.add.outer(tops, apart).ravel(), "ticktext": names * count}
        ink = style.theme(dark).ink
        for row, top in zip(rows, tops, strict=True):
            figure.add_annotation(style.words(f"<b>{row}</b>", ink, y=float(top), yanchor="middle", **left))
    else:
        tones = [style.readable(hue, dark, style.TEXT_CONTRAST) for hue in hues]
        names = [f'<span style="color:{t}">{style.short(c, 16)}</span>' for c, t in zip(columns, tones, strict=True)]
        above = {"y": 1.0, "yref": "paper", "yanchor": "bottom", "yshift": 4}
        figure.add_annotation(style.words(" &nbsp; ".join(names), None, **left, **above))
    reached = np.append(_reached(comparison, part), [] if floor is None else [floor])
    low, high = (float(reached.min()), float(reached.max())) if reached.size else (0.0, 1.0)
    low = 0.0 if 0.0 < low < high / 3 else low  # points need no common foot as bars do
    room = 0.08 * ((high - low) or abs(high) or 1.0)
    figure.layout.xaxis = style.axis(title, dark, range=[low - room * (low != 0.0), high + room])
    figure.layout.yaxis = style.axis("", dark, range=[step * count - 0.5, -0.5], showgrid=named, **ticks)
    return figure


def _values(comparison: Any, part: slice, dark: bool) -> Iterator[tuple[str, bool, str, Array, Array]]:
    """Column, whether the numbers are the paper's, colour, numbers and their errors: ours and the reference in turn."""
    hues = [style.readable(hue, dark) for hue in style.FAMILY_HUES.values()]
    for place, k in enumerate(range(len(comparison.columns))[part]):
        hue = hues[place] if place < len(hues) else style.theme(dark).grey
        yield comparison.columns[k], False, hue, comparison.ours[:, k], comparison.ours_error[:, k]
        yield comparison.columns[k], True, hue, comparison.reference[:, k], comparison.reference_error[:, k]


def _reached(comparison: Any, part: slice) -> Array:
    """All numbers with their bars, those that are known."""
    tables = ((comparison.ours, comparison.ours_error), (comparison.reference, comparison.reference_error))
    ends = [(v + s * np.nan_to_num(e))[:, part].ravel() for v, e in tables for s in (-1, 1)]
    found: Array = np.concatenate(ends)
    return found[np.isfinite(found)]


def _look(column: str, hollow: bool, hue: str, value: str) -> dict[str, Any]:
    who = "reference" if hollow else "ours"
    return {
        "marker": {"size": 8 if hollow else 7, "symbol": "diamond-open" if hollow else "circle", "color": hue},
        "name": f"{column}, {who}",
        "hovertemplate": f"{style.short(column, 40)}, {who}: {value} at %{{customdata}}<extra></extra>",
    }


def _bars(errors: Any, hue: str) -> dict[str, Any] | None:
    known = np.nan_to_num(errors)
    return {"type": "data", "array": known, "thickness": 1.2, "width": 3, "color": hue} if known.any() else None


def _floor(figure: go.Figure, x: Any, y: Any, dark: bool) -> None:
    line = {"color": style.theme(dark).grey, "width": 1, "dash": "dot"}
    hover = "Bayes error<extra></extra>"
    figure.add_scatter(x=x, y=list(y), mode="lines", line=line, name="Bayes error", hovertemplate=hover)


def _name_floor(figure: go.Figure, dark: bool, **place: Any) -> None:
    name = {"xanchor": "left", "yanchor": "top", **place}
    figure.add_annotation(style.words("Bayes error", style.theme(dark).muted, **name))


def _alt(comparison: Any, part: slice, title: str) -> str:
    def cell(row: str, ours: float, theirs: float) -> str:
        both = ((ours, ""), (theirs, "reference "))
        known = [f"{who}{style.number(value)}" for value, who in both if np.isfinite(value)]
        return f"{row} {' against '.join(known) or 'unknown'}"

    columns = [
        f"{comparison.columns[k]}: "
        + ", ".join(map(cell, comparison.rows, comparison.ours[:, k], comparison.reference[:, k]))
        for k in range(len(comparison.columns))[part]
    ]
    return f"{title[:1].upper()}{title[1:]}, ours and the reference. {'; '.join(columns)}."


@dataclass(frozen=True, eq=False)
class Curve:
    """One line: ``y`` (L,) with ``error`` (L,) standard errors; ``role`` is "bound", "other", "train" or "test"."""

    name: str
    y: Array
    role: str = "bound"
    error: Array | None = None


def bound_curves(
    x: Any, curves: Sequence[Curve], *, x_title: str, y_title: str, level: float | None = None,
    level_name: str = "says nothing above", kind: str = "count", dark: bool = False,
) -> go.Figure:  # fmt: skip
    """Draw ``curves`` over ``x`` (L,) on a log scale, with the ``level`` from which on a bound is vacuous.

    ``kind`` of the x axis: "norm" (p from 1 to infinity), "count" (whole numbers) or "log".
    """
    values, tone = np.asarray(x, dtype=float), style.theme(dark)
    order = np.argsort(values, kind="stable")
    values = values[order]
    where = norm_positions(values) if kind == "norm" else values
    shown = [np.asarray(curve.y, dtype=float)[order] for curve in curves]
    shown = [np.where(np.isfinite(y) & (y > 0), y, np.nan) for y in shown]
    every = np.concatenate([*shown, np.array([level] if level else [])])
    every = every[np.isfinite(every)]
    if where.size == 0 or every.size == 0:
        return style.empty_figure("Nothing to draw yet. Choose other values on the left.", dark)
    ends = [(curve.name, y[np.isfinite(y)]) for curve, y in zip(curves, shown, strict=True)]
    said = style.joined([f"{n} from {style.number(y[0])} to {style.number(y[-1])}" for n, y in ends if y.size])
    alt = (
        f"{said[:1].upper()}{said[1:]}, over {x_title} from {style.number(values[0])} to {style.number(values[-1])}."
        + (f" A bound of {style.number(level)} or more says nothing." if level else "")
    )
    figure = style.new_figure(alt, dark, 380, margin={"l": 60, "r": 100, "t": 14, "b": 46})
    low, high = (float(end) for end in np.log10([every.min(), every.max()]))
    room = 0.06 * (high - low) + 0.08
    low, high = low - room, high + room
    if level:
        figure.add_hrect(y0=level, y1=10**high, fillcolor=style.faded(tone.grey, 0.13), line_width=0, layer="below")
        figure.add_hline(y=level, line={"color": tone.muted, "width": 1})
        place = {"x": 0.0, "xref": "x domain", "xanchor": "left", "xshift": 4, "yref": "y", "yanchor": "bottom"}
        text = f"{level_name} {style.number(level)}"
        figure.add_annotation(style.words(text, tone.muted, y=float(np.log10(level)), **place))
    labels = []
    for curve, y in zip(curves, shown, strict=True):
        look = _draw(figure, curve, where, values, y, order, level, dark)
        known = np.flatnonzero(np.isfinite(y))
        if known.size:
            last = float(where[known[-1]])
            at = None if known[-1] == where.size - 1 else last if kind == "count" else float(np.log10(last))
            name = style.short(curve.name, 24)
            labels.append(style.EndLabel(name, float(np.log10(y[known[-1]])), look["color"], at))
    if kind == "count":
        top, step = float(where.max()), {"dtick": 1} if where.max() <= 12 else {}
        ends_of = [float(where.min()) - 0.02 * top, top * 1.01]
        figure.layout.xaxis = style.axis(x_title, dark, range=ends_of, showgrid=False, **step)
    elif kind == "log":
        figure.layout.xaxis = style.log_axis(x_title, where, dark)
    else:
        figure.layout.xaxis = norm_axis(values, x_title, NORM_TICKS, 0.09, dark)
    figure.layout.yaxis = style.log_axis(y_title, [10**low, 10**high], dark, pad=0.0, showgrid=True)
    style.label_ends(figure, labels, (low, high), dark)
    return figure


def _draw(
    figure: go.Figure, curve: Curve, where: Array, x: Array, y: Array, order: Any, level: float | None, dark: bool
) -> dict[str, Any]:
    """One line, for a bound in two: solid where both ends of a stretch say something, dashed elsewhere."""
    tone = style.theme(dark)
    looks = {"bound": (tone.muted, 4), "other": (tone.muted, 1.5), "train": (tone.grey, 2), "test": (tone.ink, 2)}
    look = dict(zip(("color", "width"), looks[curve.role], strict=True))
    parts, more = [("solid", y)], dict[str, Any]({"mode": "lines"})
    if curve.role == "test" or np.count_nonzero(np.isfinite(y)) == 1:
        size = 8 if where.size == 1 else 6 if where.size <= MANY_POINTS else 4
        more = {"mode": "lines+markers", "marker": {"size": size, "color": look["color"]}}
    if curve.error is not None:
        more["error_y"] = {"type": "data", "array": np.asarray(curve.error)[order], "thickness": 1, "width": 0}
    if level is not None and curve.role in ("bound", "other"):
        silent = ~(y < level)
        beside = silent | np.append(silent[1:], False) | np.append(False, silent[:-1])
        parts = [("solid", np.where(silent, np.nan, y)), ("dash", np.where(beside, y, np.nan))]
    for dash, part in parts:
        if np.isfinite(part).any():
            figure.add_scatter(
                x=where, y=part, line={**look, "dash": dash}, name=curve.name, **more,
                customdata=[style.number(v) for v in x],
                hovertemplate=f"{style.short(curve.name, 40)} %{{y:.3g}} at %{{customdata}}<extra></extra>",
            )  # fmt: skip
    return look
