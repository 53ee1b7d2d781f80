"""One column of a table: what it does to the model, above how often its values occur."""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.figures import style
from mklcore.figures.graph_objects import go

SPLIT = 0.26  # share of the height for the values below
BINS = 30
MOST_VALUES = 40  # whole numbers that have a bar each


def column_figure(effect: Any, name: str, said: str = "the score", *, dark: bool = False) -> go.Figure:
    """What a column does to a model, all others at their means, with the training rows' values below.

    ``effect`` with ``at`` and ``values`` (m,), ``names`` (m,) where it is a category, else (), and ``rows``: numbers
    (n,), or counts (m,). ``name`` of the column, ``said`` what the model's value is called.
    """
    tone = style.theme(dark)
    hue = tone.ink  # a sum over kernels of several families has the hue of none
    values = np.asarray(effect.values, dtype=float)
    figure = style.new_figure(
        _caption(effect, name, said, values), dark, height=260,
        margin={"l": 54, "r": 12, "t": 10, "b": 40}, bargap=0.05,
        yaxis=style.axis(f"adds to {said}", dark, domain=[SPLIT + 0.06, 1], zeroline=True, nticks=5),
        yaxis2=style.axis("rows", dark, domain=[0, SPLIT], nticks=2, showgrid=False),
        xaxis=style.axis(style.short(name, 40), dark, anchor="y2", showgrid=False),
    )  # fmt: skip
    if effect.names:
        shown = [style.short(one, 14) for one in effect.names]
        figure.add_bar(
            x=shown, y=values, marker={"color": hue}, hovertemplate=f"%{{x}}<br>%{{y:+.3g}} to {said}<extra></extra>"
        )
        figure.add_bar(
            x=shown,
            y=effect.rows,
            yaxis="y2",
            marker={"color": tone.grey},
            hovertemplate="%{x}: %{y} rows<extra></extra>",
        )
    else:
        figure.add_scatter(
            x=effect.at, y=values, mode="lines", line={"color": hue, "width": 2},
            hovertemplate=f"{style.short(name)} = %{{x:.3g}}<br>%{{y:+.3g}} to {said}<extra></extra>",
        )  # fmt: skip
        counts, edges = np.histogram(effect.rows, bins=histogram_bins(np.asarray(effect.rows, dtype=float)))
        figure.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=counts, width=np.diff(edges), yaxis="y2", marker={"color": tone.grey},
            hovertemplate="%{x:.3g}: %{y} rows<extra></extra>",
        )  # fmt: skip
    return figure


def histogram_bins(rows: Any) -> Any:
    """One bar per value of few whole numbers: equal bins beside them would be empty in turn."""
    low, high = float(rows.min()), float(rows.max())
    if high - low < MOST_VALUES and bool((rows == np.round(rows)).all()):
        return np.arange(low - 0.5, high + 1.0)
    return BINS


def _caption(effect: Any, name: str, said: str, values: Any) -> str:
    low, high = int(values.argmin()), int(values.argmax())
    place = (lambda k: effect.names[k]) if effect.names else (lambda k: style.number(float(effect.at[k])))
    return (
        f"What {name} adds to {said} with all other columns at their means: least, "
        f"{style.number(float(values[low]))}, at "
        f"{place(low)}, most, {style.number(float(values[high]))}, at {place(high)}."
    )
