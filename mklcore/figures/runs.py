"""The weights of two models beside each other, one line per kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go

ROW_HEIGHT = 24
N_KERNELS = 12


def weights_beside(
    names: Sequence[str],
    families: Sequence[str],
    first: Any,
    second: Any,
    titles: tuple[str, str],
    *,
    limit: int = N_KERNELS,
    dark: bool = False,
) -> go.Figure:
    """Weights θ of two points: a hollow mark for the first, a full one for the second, joined by a line.

    ``first``, ``second`` (M,), NaN where that run has no such kernel; ``titles`` names the runs. The ``limit`` kernels
    with the largest weight in either are drawn. Raises ``ParameterError`` where lengths disagree.
    """
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not one.shape == other.shape == (len(names),) or len(families) != len(names):
        raise ParameterError(
            f"Two runs need one weight each per kernel; got {one.shape} and {other.shape} for {len(names)} kernels."
        )
    if not len(names):
        return style.empty_figure("No kernel in either run.", dark)
    peaks = np.fmax(np.nan_to_num(one), np.nan_to_num(other))
    shown = np.argsort(-peaks, kind="stable")[:limit]
    figure = style.new_figure(
        _alt(names, one, other, titles, shown), dark, height=90 + ROW_HEIGHT * len(shown),
        margin={"l": 8, "r": 16, "t": 30}, showlegend=False,
    )  # fmt: skip
    colours = style.kernel_colours(families, peaks[None], dark)
    for place, m in enumerate(shown.tolist()):
        _pair(figure, place, style.short(names[m], 28), names[m], colours[m], (one[m], other[m]), titles)
    figure.layout.xaxis = style.axis(
        f"weight θ: ○ {style.short(titles[0], 30)}, ● {style.short(titles[1], 30)}", dark, rangemode="tozero"
    )
    labels = [style.short(names[m], 28) for m in shown.tolist()]
    figure.layout.yaxis = style.row_axis(labels, dark)
    return figure


def _pair(
    figure: go.Figure,
    place: int,
    label: str,
    name: str,
    colour: str,
    values: tuple[float, float],
    titles: tuple[str, str],
) -> None:
    if np.isfinite(values).all():
        figure.add_scatter(
            x=list(values), y=[place, place], mode="lines", line={"color": colour, "width": 2}, hoverinfo="skip"
        )
    for value, title, symbol in zip(values, titles, ("circle-open", "circle"), strict=True):
        if np.isfinite(value):
            figure.add_scatter(
                x=[value], y=[place], mode="markers", cliponaxis=False, name=style.short(title, 40),
                text=[style.short(name, 60)],
                marker={"color": colour, "size": 10, "symbol": symbol, "line": {"width": 2, "color": colour}},
                hovertemplate="%{text}<br>θ = %{x:.3g}<extra>%{fullData.name}</extra>",
            )  # fmt: skip


def _alt(names: Sequence[str], one: Array, other: Array, titles: tuple[str, str], shown: Indices) -> str:
    parts = []
    for m in shown[:3].tolist():
        pair = [style.number(v) if np.isfinite(v) else "no such kernel" for v in (one[m], other[m])]
        parts.append(f"{names[m]} {pair[0]} and {pair[1]}")
    return f"Kernel weights of the runs {titles[0]} and {titles[1]}. The largest: {style.joined(parts)}."
