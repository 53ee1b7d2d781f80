"""One column of a table: what it does to the model, above how often its values occur."""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array
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
    hue = style.theme(dark).ink  # a sum over kernels of several families has the hue of none
    values = np.asarray(effect.values, dtype=float)
    return curve_figure(effect, values, None, name, said, _caption(effect, name, said, values), hue, dark)


def curve_figure(
    axis: Any, values: Array, reach: Array | None, name: str, said: str, alt: str, hue: str, dark: bool
) -> go.Figure:
    """What the column ``name`` adds, ``values`` (m,) ± ``reach`` at the places of ``axis``, above its training rows."""
    tone = style.theme(dark)
    figure = style.new_figure(
        alt, dark, height=260 if reach is None else 280,
        margin={"l": 54, "r": 12, "t": 10, "b": 40}, bargap=0.05,
        yaxis=style.axis(f"adds to {said}", dark, domain=[SPLIT + 0.06, 1], zeroline=True, nticks=5),
        yaxis2=style.axis("rows", dark, domain=[0, SPLIT], nticks=2, showgrid=False),
        xaxis=style.axis(style.short(name, 40), dark, anchor="y2", showgrid=False),
    )  # fmt: skip
    if axis.names:
        shown = [style.short(one, 14) for one in axis.names]
        figure.add_bar(
            x=shown, y=values, marker={"color": hue}, hovertemplate=f"%{{x}}<br>%{{y:+.3g}} to {said}<extra></extra>",
            error_y=None if reach is None else {"array": reach, "color": tone.ink, "thickness": 1.5},
        )  # fmt: skip
        below = {"x": shown, "y": axis.rows, "hovertemplate": "%{x}: %{y} rows<extra></extra>"}
    else:
        _add_curve(figure, axis, values, reach, name, said, hue)
        counts, edges = np.histogram(axis.rows, bins=histogram_bins(np.asarray(axis.rows, dtype=float)))
        below = {
            "x": (edges[:-1] + edges[1:]) / 2, "y": counts, "width": np.diff(edges),
            "hovertemplate": "%{x:.3g}: %{y} rows<extra></extra>",
        }  # fmt: skip
    figure.add_bar(yaxis="y2", marker={"color": tone.grey}, **below)
    return figure


def _add_curve(
    figure: go.Figure, axis: Any, values: Array, reach: Array | None, name: str, said: str, hue: str
) -> None:
    if reach is not None:
        figure.add_scatter(
            x=np.concatenate([axis.at, axis.at[::-1]]), y=np.concatenate([values + reach, (values - reach)[::-1]]),
            fill="toself", fillcolor=style.faded(hue, 0.25), line={"width": 0}, hoverinfo="skip", name="band",
        )  # fmt: skip
    spread = "" if reach is None else " ± %{customdata:.2g}"
    figure.add_scatter(
        x=axis.at, y=values, mode="lines", line={"color": hue, "width": 2}, name="term", customdata=reach,
        hovertemplate=f"{style.short(name)} = %{{x:.3g}}<br>%{{y:+.3g}}{spread} to {said}<extra></extra>",
    )  # fmt: skip


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
