"""Our numbers beside those of a paper: ours filled with error bars, the reference hollow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from mklcore.figures import style

HEIGHT = 400
LABEL_ROOM = 90
SHIFT = 0.035  # of the distance of two rows: ours to the left, the reference to the right


def comparison_plot(
    comparison: Any,
    part: slice,
    *,
    y_title: str,
    row_name: str,
    ordered: bool = True,
    floor: Sequence[float] | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw the columns ``part`` of a comparison over its rows.

    ``comparison`` has ``rows``, ``columns``, and (rows, columns) arrays ``ours``, ``ours_error``, ``reference`` and
    ``reference_error``; bars are one standard error. Lines join the rows where they follow an order; ``floor`` is the error
    that no method can beat, one per row.
    """
    columns = comparison.columns[part]
    hues = _hues(len(columns), dark)
    ours, reference = comparison.ours[:, part], comparison.reference[:, part]
    figure = style.new_figure(
        _alt(comparison, part, y_title), dark, HEIGHT, margin={"l": 52, "r": LABEL_ROOM, "t": 14, "b": 48}
    )
    places = np.arange(len(comparison.rows), dtype=float)
    bars = (np.nan_to_num(comparison.ours_error[:, part]), np.nan_to_num(comparison.reference_error[:, part]))
    limits = _limits(np.concatenate([ours - bars[0], ours + bars[0], reference - bars[1], reference + bars[1]]))
    ends = []
    for k, column in enumerate(columns):
        offset = 0.0 if ordered else 0.5 * ((k + 0.5) / len(columns) - 0.5)
        for found, error, shift, hollow in (
            (ours[:, k], comparison.ours_error[:, part][:, k], -SHIFT, False),
            (reference[:, k], comparison.reference_error[:, part][:, k], SHIFT, True),
        ):
            _series(
                figure, places + offset + shift, found, error, hues[k], hollow, ordered, column, comparison.rows, dark
            )
        last = ours[-1, k] if np.isfinite(ours[-1, k]) else reference[-1, k]
        if ordered and np.isfinite(last):
            ends.append(style.EndLabel(style.short(column, 16), float(last), hues[k]))
    if floor is not None:
        _floor(figure, places, floor, ordered, dark)
    figure.update_xaxes(
        style.axis(
            row_name, dark, tickvals=places, ticktext=[style.short(row, 22) for row in comparison.rows],
            range=[-0.4, len(places) - 0.6], showgrid=False,
        )
    )  # fmt: skip
    figure.update_yaxes(style.axis(y_title, dark, range=list(limits), zeroline=True))
    if ordered:
        style.label_ends(figure, ends, limits, dark)
    else:
        _names(figure, columns, hues, dark)
    return figure


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


def _series(
    figure: go.Figure,
    x: Any,
    y: Any,
    error: Any,
    hue: str,
    hollow: bool,
    ordered: bool,
    name: str,
    rows: Any,
    dark: bool,
) -> None:
    who = "reference" if hollow else "ours"
    bars = {"type": "data", "array": np.nan_to_num(error), "thickness": 1.2, "width": 3, "color": hue}
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines+markers" if ordered else "markers",
        line={"color": hue, "width": 1 if hollow else 2, "dash": "dash" if hollow else "solid"},
        marker={
            "size": 8 if hollow else 7,
            "symbol": "diamond-open" if hollow else "circle",
            "color": hue,
        },
        error_y=bars if np.isfinite(error).any() else None,
        name=f"{name}, {who}",
        customdata=list(rows),
        hovertemplate=f"{style.short(name, 40)}, {who}: %{{y:.3g}} at %{{customdata}}<extra></extra>",
    )


def _floor(figure: go.Figure, places: Any, floor: Sequence[float], ordered: bool, dark: bool) -> None:
    tone = style.theme(dark)
    if not ordered:  # a short line of its own for every row, with a gap between them
        floor = [value for low in floor for value in (low, low, np.nan)]
        places = [value for place in places for value in (place - 0.3, place + 0.3, np.nan)]
    figure.add_scatter(
        x=places, y=list(floor), mode="lines", line={"color": tone.grey, "width": 1, "dash": "dot"}, name="Bayes error",
        hovertemplate="Bayes error %{y:.2f}<extra></extra>",
    )  # fmt: skip
    figure.add_annotation(
        text="Bayes error", x=float(places[0]), y=float(floor[0]), xanchor="left", yanchor="top", showarrow=False,
        font={"size": style.LABEL_SIZE, "color": tone.muted},
    )  # fmt: skip


def _names(figure: go.Figure, columns: Sequence[str], hues: Sequence[str], dark: bool) -> None:
    """Names of the columns at the right edge, in their colours, one below the other."""
    for k, (column, hue) in enumerate(zip(columns, hues, strict=True)):
        figure.add_annotation(
            text=style.short(column, 16), x=1.0, xref="paper", xanchor="left", xshift=8, y=1.0, yref="paper",
            yanchor="top", yshift=-18 * k, showarrow=False,
            font={"size": style.LABEL_SIZE, "color": style.readable(hue, dark, style.TEXT_CONTRAST)},
        )  # fmt: skip


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
