"""Test error against the norm of the weights, sparse against non-sparse."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import style
from mklcore.figures.graph_objects import go

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")


def sparsity_figure(
    norms: Sequence[float], levels: Sequence[str], means: Any, errors: Any, floor: float, *, dark: bool = False
) -> go.Figure:
    """Test error in % against p, one line per sparsity level, and the Bayes error that no method can beat.

    ``norms`` (P,) with infinity last; ``levels`` names of the R lines; ``means`` (R, P), NaN where nothing is measured
    yet; ``errors`` (R, P) standard errors of the means, NaN without repetitions; ``floor`` the Bayes error in %.
    """
    table, spread = np.asarray(means, dtype=float), np.asarray(errors, dtype=float)
    measured = [row for row in range(len(levels)) if np.isfinite(table[row]).any()]
    if not measured:
        return style.empty_figure("No point is measured yet. Start the runs, and they appear one by one.", dark)
    finite = [p for p in norms if np.isfinite(p)]
    places = np.array([p if np.isfinite(p) else 2 * max(finite) for p in norms])
    top = 1.06 * float(np.nanmax(table + np.nan_to_num(spread)))
    figure = style.new_figure(
        _sparsity_alt(norms, levels, table, floor), dark, 360, margin={"l": 52, "r": 150, "t": 16, "b": 44}
    )
    ends = []
    for row in measured:
        colour = level_colour(row, dark)
        bars = {"type": "data", "array": np.nan_to_num(spread[row]), "width": 4, "thickness": 1.2}
        figure.add_scatter(
            x=places, y=table[row], name=levels[row], mode="lines+markers", line={"color": colour, "width": 2},
            marker={"symbol": SYMBOLS[row % len(SYMBOLS)], "size": 8},
            error_y=bars if np.isfinite(spread[row]).any() else None,
            text=[style.number(p) for p in norms],
            hovertemplate=f"{html.escape(levels[row])}<br>p = %{{text}}: %{{y:.1f}} % test error<extra></extra>",
        )  # fmt: skip
        ends.append(style.EndLabel(levels[row], float(table[row][np.isfinite(table[row])][-1]), colour))
    tone = style.theme(dark)
    figure.add_hline(floor, line={"color": tone.muted, "width": 1.5, "dash": "dot"}, name="Bayes error")
    figure.add_annotation(
        style.words(
            f"Bayes error {style.number(floor)} %",
            tone.muted,
            x=0,
            xref="paper",
            xanchor="left",
            y=floor,
            yanchor="top",
        )
    )
    ticks: dict[str, Any] = {"tickvals": list(places), "ticktext": [style.number(p) for p in norms]}
    figure.layout.xaxis = style.log_axis("p, norm of the weights", places, dark, **ticks)
    figure.layout.yaxis = style.axis("test error, %", dark, range=[0, top])
    style.label_ends(figure, ends, (0.0, top), dark)
    return figure


def level_colour(row: int, dark: bool) -> str:
    """The colour of a sparsity level: one of six distinct ones, readable as text."""
    hues = style.six_hues(dark)
    return style.readable(hues[row % len(hues)], dark, style.TEXT_CONTRAST)


def _sparsity_alt(norms: Sequence[float], levels: Sequence[str], table: Array, floor: float) -> str:
    sentences = []
    for level, line in zip(levels, table, strict=True):
        if np.isfinite(line).any():
            best = int(np.nanargmin(line))
            sentences.append(f"{level}: least {style.number(line[best])} % at p = {style.number(norms[best])}.")
    return f"Test error against p; the Bayes error is {style.number(floor)} %. " + " ".join(sentences)
