"""Our numbers beside those of a paper: ours filled with error bars, the reference hollow.

Rows in an order stand from left to right and are joined by lines, one series beside the next where there are several.
Rows without an order, such as tables, are one below the other: every method has a line of its own while there is room,
with its name at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from mklcore.figures import style
from mklcore.figures.graph_objects import go

HEIGHT = 400
LABEL_ROOM, LETTER = 14, 6.5  # px beside the names at the right edge, and per letter of them
SHIFT = 0.035  # of the distance of two rows: ours to the left, the reference to the right
GAP = 0.6  # rows' worth of room between two series
NEAR_FOOT = 0.08  # of the height of the picture
MOST_NAMED = 24  # lines of a table that are named one by one
LINE, TABLE_ROW = 24, 34  # px of a named line, and of a row of a longer table
TABLE_MARGIN = 74
BELOW = 0.16  # of a line: how far below ours the reference is


def comparison_plot(
    comparison: Any,
    part: slice,
    *,
    y_title: str,
    row_name: str,
    ordered: bool = True,
    floor: float | None = None,
    marks: Sequence[tuple[str, str]] | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw the columns ``part`` of a comparison over its rows.

    ``comparison`` has ``rows``, ``columns``, and (rows, columns) arrays ``ours``, ``ours_error``, ``reference`` and
    ``reference_error``; bars are one standard error. Lines join the rows where they follow an order; ``floor`` is the
    error that no method can beat; ``marks`` are (series, tick) of every row, and lines end where a series
    does.
    """
    if not ordered:
        return _table(comparison, part, y_title, floor, dark)
    marks = marks or [("", row) for row in comparison.rows]
    columns, series = comparison.columns[part], _series_of(marks)
    places = np.concatenate([np.arange(own.start, own.stop) + GAP * k for k, own in enumerate(series)])
    room = LABEL_ROOM + LETTER * max(len(style.short(column, 16)) for column in columns)
    top = 30 if len(series) > 1 else 14
    figure = style.new_figure(
        _alt(comparison, part, y_title), dark, HEIGHT, margin={"l": 52, "r": room, "t": top, "b": 48}
    )
    limits = _limits(_reached(comparison, part))
    ends = _lines(figure, comparison, part, places, series, _hues(len(columns), dark))
    if floor is not None:
        for own in series:
            _floor(figure, places[[own.start, own.stop - 1]], [floor, floor], dark)
        low = floor - limits[0] < NEAR_FOOT * (
            limits[1] - limits[0]
        )  # its name would be on the axis: lines rise to the right
        place = {"x": float(places[-1]), "xanchor": "right", "yanchor": "bottom"} if low else {"x": float(places[0])}
        _name_floor(figure, dark, y=floor, **place)
    if len(series) > 1:
        _head_series(figure, places, [(marks[own.start][0], own) for own in series], dark)
    ticks = {"tickvals": places, "ticktext": [style.short(tick, 22) for _, tick in marks], "tickangle": 0}
    figure.layout.xaxis = style.axis(row_name, dark, range=[-0.4, places[-1] + 0.4], showgrid=False, **ticks)
    figure.layout.yaxis = style.axis(y_title, dark, range=list(limits), zeroline=True)
    style.label_ends(figure, ends, limits, dark)
    return figure


def _lines(
    figure: go.Figure, comparison: Any, part: slice, places: Any, series: Sequence[slice], hues: Sequence[str]
) -> list[style.EndLabel]:
    """Draw every column of every series; returns the names of the columns where their lines end."""
    ends = dict[str, style.EndLabel]()
    for k, (column, who, values, errors) in enumerate(_values(comparison, part)):
        hue, hollow = hues[k // 2], who == "reference"
        for own in series:
            figure.add_scatter(
                x=places[own] + (SHIFT if hollow else -SHIFT), y=values[own], mode="lines+markers",
                line={"color": hue, "width": 1 if hollow else 2, "dash": "dash" if hollow else "solid"},
                error_y=_bars(errors[own], hue), customdata=list(comparison.rows[own]),
                hovertemplate=f"{style.short(column, 40)}, {who}: %{{y:.3g}} at %{{customdata}}<extra></extra>",
                **_look(column, who, hue),
            )  # fmt: skip
        if np.isfinite(values[-1]):
            ends.setdefault(column, style.EndLabel(style.short(column, 16), float(values[-1]), hue))
    return list(ends.values())


def _head_series(figure: go.Figure, places: Any, named: Sequence[tuple[str, slice]], dark: bool) -> None:
    """The name of every series above it."""
    for name, own in named:
        figure.add_annotation(
            style.words(
                f"<b>{escape(name)}</b>",
                style.theme(dark).ink,
                x=float(places[own].mean()),
                y=1.0,
                yref="paper",
                yanchor="bottom",
            )
        )


def _series_of(marks: Sequence[tuple[str, str]]) -> list[slice]:
    """Where each series begins and ends."""
    found, start = [], 0
    for _, own in groupby(marks, key=lambda mark: mark[0]):
        stop = start + len(list(own))
        found.append(slice(start, stop))
        start = stop
    return found


def _values(comparison: Any, part: slice) -> Iterator[tuple[str, str, Any, Any]]:
    """Column, whose numbers, the numbers and their errors: ours and the reference in turn."""
    for k in range(len(comparison.columns))[part]:
        yield comparison.columns[k], "ours", comparison.ours[:, k], comparison.ours_error[:, k]
        yield comparison.columns[k], "reference", comparison.reference[:, k], comparison.reference_error[:, k]


def _reached(comparison: Any, part: slice) -> Any:
    """All numbers with their bars."""
    ends = [
        values + sign * np.nan_to_num(errors) for _, _, values, errors in _values(comparison, part) for sign in (-1, 1)
    ]
    return np.concatenate(ends)


def _limits(reached: Any) -> tuple[float, float]:
    """From 0, or from the least where numbers are negative, as logarithms are, to the largest, with some room."""
    known = reached[np.isfinite(reached)]
    low = min(0.0, float(known.min())) if known.size else 0.0
    high = float(known.max()) if known.size and (low < 0 or known.max() > 0) else 1.0
    room = (high - low) or 1.0
    return low - 0.04 * room, high + 0.06 * room


def _hues(count: int, dark: bool) -> list[str]:
    hues = [style.readable(hue, dark) for hue in style.FAMILY_HUES.values()]
    return [hues[k] if k < len(hues) else style.theme(dark).grey for k in range(count)]


def _look(column: str, who: str, hue: str) -> dict[str, Any]:
    hollow = who == "reference"
    marker = {"size": 8 if hollow else 7, "symbol": "diamond-open" if hollow else "circle", "color": hue}
    return {"marker": marker, "name": f"{column}, {who}"}


def _bars(errors: Any, hue: str) -> dict[str, Any] | None:
    if not np.isfinite(errors).any():
        return None
    return {"type": "data", "array": np.nan_to_num(errors), "thickness": 1.2, "width": 3, "color": hue}


# Rows without an order


def _table(comparison: Any, part: slice, title: str, floor: float | None, dark: bool) -> go.Figure:
    """Rows one below the other, values from left to right; the names of methods stand at their lines, or once at the
    top.
    """
    columns, count = comparison.columns[part], len(comparison.rows)
    hues, named = _hues(len(columns), dark), (len(columns) + 1) * count <= MOST_NAMED
    step = float(len(columns) + 1) if named else 1.0
    tops = step * np.arange(count)
    apart = 1.0 + np.arange(len(columns)) if named else 0.7 * ((np.arange(len(columns)) + 0.5) / len(columns) - 0.5)
    height = TABLE_MARGIN + round((LINE if named else TABLE_ROW) * step * count)
    figure = style.new_figure(
        _alt(comparison, part, title), dark, height, margin={"l": 52, "r": 14, "t": 14 if named else 34, "b": 48}
    )
    reached = _reached(comparison, part)
    limits = _close_limits(np.append(reached, floor) if floor is not None else reached)
    for k, (column, who, values, errors) in enumerate(_values(comparison, part)):
        figure.add_scatter(
            x=values,
            y=tops + apart[k // 2] + (BELOW / (1 if named else 2) if who == "reference" else 0.0),
            mode="markers",
            error_x=_bars(errors, hues[k // 2]),
            customdata=list(comparison.rows),
            hovertemplate=f"{style.short(column, 40)}, {who}: %{{x:.3g}} at %{{customdata}}<extra></extra>",
            **_look(column, who, hues[k // 2]),
        )
    if floor is not None:
        for top in tops:
            _floor(figure, [floor, floor], [top + apart[0] - 0.5, top + apart[-1] + 0.5], dark)
        _name_floor(figure, dark, x=floor, y=float(tops[0]), yanchor="middle" if named else "bottom")
    rows = [style.short(row, 26) for row in comparison.rows]
    if named:
        _head_rows(figure, rows, tops, dark)
        ticks = {
            "tickvals": np.add.outer(tops, apart).ravel(),
            "ticktext": [style.short(c, 20) for c in columns] * count,
        }
    else:
        _names(figure, columns, hues, dark)
        ticks = {"tickvals": tops, "ticktext": rows}
    ends = [step * count - 0.5, -0.5]
    figure.layout.xaxis = style.axis(title, dark, range=list(limits))
    figure.layout.yaxis = style.axis("", dark, range=ends, showgrid=named, **ticks)
    return figure


def _close_limits(reached: Any) -> tuple[float, float]:
    """From 0 where that is near, else just around the numbers: points need no common foot as bars do."""
    known = reached[np.isfinite(reached)]
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    low = 0.0 if 0.0 < low < high / 3 else low
    room = (high - low) or abs(high) or 1.0
    return low - (0.0 if low == 0.0 else 0.08 * room), high + 0.08 * room


def _head_rows(figure: go.Figure, rows: Sequence[str], tops: Any, dark: bool) -> None:
    for row, top in zip(rows, tops, strict=True):
        figure.add_annotation(
            style.words(
                f"<b>{row}</b>",
                style.theme(dark).ink,
                x=0.0,
                xref="paper",
                xanchor="left",
                y=float(top),
                yanchor="middle",
            )
        )


def _names(figure: go.Figure, columns: Sequence[str], hues: Sequence[str], dark: bool) -> None:
    """Names of the columns in one line above the rows, in their colours."""
    tones = [style.readable(hue, dark, style.TEXT_CONTRAST) for hue in hues]
    words = [f'<span style="color:{tone}">{style.short(c, 16)}</span>' for c, tone in zip(columns, tones, strict=True)]
    figure.add_annotation(
        style.words(
            " &nbsp; ".join(words),
            None,
            x=0.0,
            xref="paper",
            xanchor="left",
            y=1.0,
            yref="paper",
            yanchor="bottom",
            yshift=4,
        )
    )


# What no method can beat, and words


def _floor(figure: go.Figure, x: Any, y: Any, dark: bool) -> None:
    figure.add_scatter(
        x=x,
        y=list(y),
        mode="lines",
        line={"color": style.theme(dark).grey, "width": 1, "dash": "dot"},
        name="Bayes error",
        hovertemplate="Bayes error<extra></extra>",
    )


def _name_floor(figure: go.Figure, dark: bool, **place: Any) -> None:
    figure.add_annotation(
        style.words("Bayes error", style.theme(dark).muted, **{"xanchor": "left", "yanchor": "top", **place})
    )


def _cell(row: str, ours: float, theirs: float) -> str:
    said = [] if np.isnan(ours) else [style.number(ours)]
    said += [] if np.isnan(theirs) else [f"reference {style.number(theirs)}"]
    return f"{row} {' against '.join(said) or 'unknown'}"


def _alt(comparison: Any, part: slice, y_title: str) -> str:
    parts = []
    for k in range(len(comparison.columns))[part]:
        cells = [
            _cell(row, ours, theirs)
            for row, ours, theirs in zip(
                comparison.rows, comparison.ours[:, k], comparison.reference[:, k], strict=True
            )
        ]
        parts.append(f"{comparison.columns[k]}: {', '.join(cells)}")
    return f"{y_title[:1].upper()}{y_title[1:]}, ours and the reference. {'; '.join(parts)}."
