"""Pictures of methods beyond the five papers: views of several targets, scales of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.figures import style
from mklcore.figures.graph_objects import go

HEIGHT = 300


def target_views(found: Any, *, dark: bool = False) -> go.Figure:
    """What every view explains of every target: shares of R2 as bars, one group per target, with R2 above it.

    ``found`` with ``targets`` (T,), ``views`` (V,), ``shares`` (V, T), ``weights`` (V,) and ``r2`` (T,).
    """
    tone, hues = style.theme(dark), style.six_hues(dark)
    said = [f"{name} {style.number(float(r2))}" for name, r2 in zip(found.targets, found.r2, strict=True)]
    figure = style.new_figure(
        f"Share of R2 of every target by view; R2 of {style.joined(said)}.", dark, HEIGHT, barmode="group",
        bargap=0.25, showlegend=True, margin={"l": 52, "r": 16, "t": 40, "b": 30},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
    rows = zip(found.views, found.shares, found.weights, strict=True)
    for k, (view, shares, weight) in enumerate(rows):
        figure.add_bar(
            x=list(found.targets), y=shares, name=f"{style.short(view)}, weight {weight:.2f}",
            marker={"color": hues[k % len(hues)]},
            hovertemplate="%{y:.1%} of %{x}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    for name, r2, shares in zip(found.targets, found.r2, found.shares.T, strict=True):
        figure.add_annotation(
            style.words(f"R² {float(r2):.2f}", tone.muted, x=name, y=float(shares.max()), yanchor="bottom", yshift=4)
        )
    figure.layout.xaxis = style.axis("", dark, showgrid=False)
    figure.layout.yaxis = style.axis("share of variance explained", dark, tickformat=".0%")
    return figure


def column_scales(found: Any, *, dark: bool = False) -> go.Figure:
    """The scale of every column as a bar, those that decide filled: ``scales`` and ``decides`` (d,)."""
    scales, decides = np.asarray(found.scales, dtype=float), np.asarray(found.decides, dtype=bool)
    kept = int(np.count_nonzero(scales > 0))
    hit = int(np.count_nonzero((scales > 0) & decides))
    figure = style.new_figure(
        f"Learned scales of {scales.size} columns: {kept} are above 0, {hit} of the {int(decides.sum())} that decide.",
        dark, HEIGHT, bargap=0.2, showlegend=True, margin={"l": 52, "r": 16, "t": 40, "b": 44}, barmode="overlay",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )  # fmt: skip
    numbers = np.arange(1, scales.size + 1)
    hue, grey = style.six_hues(dark)[4], style.theme(dark).grey
    for name, rows, colour in (("decides", decides, hue), ("does not decide", ~decides, grey)):
        figure.add_bar(x=numbers[rows], y=scales[rows], name=name, marker={"color": colour})
    figure.layout.xaxis = style.axis("column", dark, showgrid=False)
    figure.layout.yaxis = style.axis("scale", dark, rangemode="tozero")
    return figure
