"""Tables joined by a key: which rows every view has, and the weight of its kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mklcore.figures import style
from mklcore.figures.graph_objects import go

MOST_PATTERNS = 12  # sets of views that rows have, as bands from left to right
ROW_HEIGHT = 34


def view_rows(
    names: Sequence[str], present: Any, weights: Mapping[str, float] | None = None, *, dark: bool = False
) -> go.Figure:
    """A bar per view along the rows, filled where the view has them; rows with the same views are side by side.

    ``present`` (views, rows) of True and False. ``weights`` : the share of the kernel weights of each view, by name,
    written at the right.
    """
    there = np.asarray(present, dtype=bool)
    patterns, counts = np.unique(there.T, axis=0, return_counts=True)
    order = np.lexsort((-counts, -patterns.sum(axis=1)))[:MOST_PATTERNS]
    patterns, counts = patterns[order], counts[order]
    tone, places = style.theme(dark), list(range(len(names)))
    reported = [f"{name} {int(row.sum()):,} of {there.shape[1]:,}" for name, row in zip(names, there, strict=True)]
    figure = style.new_figure(
        f"Rows in every view: {style.joined(reported)}.", dark, height=80 + ROW_HEIGHT * len(names), barmode="stack",
        bargap=0.3, margin={"l": 8, "r": 8, "t": 8},
    )  # fmt: skip
    for pattern, count in zip(patterns, counts, strict=True):
        colours = [tone.grey if one else style.faded(tone.grey, 0.15) for one in pattern]
        hover = [f"{int(count):,} rows {'in' if one else 'missing in'} {style.short(name)}" for one, name in
                 zip(pattern, names, strict=True)]  # fmt: skip
        figure.add_bar(
            x=[int(count)] * len(names), y=places, orientation="h", customdata=hover, showlegend=False,
            marker={"color": colours, "line": {"width": 0}}, hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    total = int(counts.sum())
    figure.layout.annotations = [
        style.words(
            _beside(int(row.sum()), (weights or {}).get(name)), tone.muted, x=total, y=place, xanchor="left", xshift=6
        )
        for place, name, row in zip(places, names, there, strict=True)
    ]
    called = [style.short(name) for name in names]
    figure.layout.xaxis = style.axis("rows, those with the same views together", dark, range=[0, 1.3 * total])
    figure.layout.yaxis = style.row_axis(called, dark)
    return figure


def _beside(rows: int, weight: float | None) -> str:
    return f"{rows:,} rows" + ("" if weight is None else f", {100 * weight:.0f} % of the weight")
