"""Bars, one per kernel: the weights now, and how well each kernel agrees with the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go
from mklcore.figures.style import leaders

ROW_HEIGHT = 22
N_BARS = 12
MOST_COLUMNS = 16
WORDS = {"rbf": "RBF", "hkl": "node of a hull"}  # families under another word


def weights_bar(
    weights: Any,
    names: Sequence[str],
    families: Sequence[str],
    *,
    peaks: Any = None,
    shares: Any = None,
    limit: int = N_BARS,
    certified: bool = True,
    dark: bool = False,
) -> go.Figure:
    """Kernel weights θ as horizontal bars, the largest on top.

    ``weights`` (M,); ``peaks`` (M,) or (L, M), the weights along a path: they fix the order, the colours and the axis,
    so that nothing but the bars' lengths changes while a cursor moves. ``shares`` (M,) are shares of ||f||, shown on
    hover. At most ``limit`` bars are drawn and the alternative text counts the others. Weights that are not
    ``certified`` are drawn hollow. Raises ``ParameterError`` where the lengths disagree.
    """
    theta = np.asarray(weights, dtype=float)
    _check_lengths(theta, names, families)
    if theta.size == 0:
        return style.empty_figure("No kernel yet. Add one on the Kernels page.", dark)
    highest = style.peak_weights(theta if peaks is None else peaks, theta.size)
    figure = _bars(theta, highest, names, families, limit, dark)
    figure.update_xaxes(title_text="weight θ", range=[0, 1.05 * (float(highest.max()) or 1.0)])
    if shares is not None:
        percents = [style.percent(shares[m]) for m in _order(highest, limit)]
        figure.update_traces(
            customdata=percents, hovertemplate="%{text}<br>θ = %{x:.3g}, %{customdata} of ||f||<extra></extra>"
        )
    if not certified:
        _make_hollow(figure)
    used = int(np.count_nonzero(theta > 0))
    figure.layout.meta["alt"] = (
        f"Kernel weights. {used} of {style.counted(theta.size, 'kernel')} "
        f"{'has' if used == 1 else 'have'} a positive weight; the largest are {leaders(theta, names)}."
        + _not_drawn(theta.size, limit)
        + ("" if certified else " These weights are provisional: the solver has not reached its tolerance.")
    )
    return figure


def target_alignment_bar(
    alignment: Any, names: Sequence[str], families: Sequence[str], *, limit: int = 2 * N_BARS, dark: bool = False
) -> go.Figure:
    """Alignment of every kernel with the target, ``alignment`` (M,) between 0 and 1, best first."""
    values = np.asarray(alignment, dtype=float)
    _check_lengths(values, names, families)
    if values.size == 0:
        return style.empty_figure("No kernel yet. Add one on the Kernels page.", dark)
    figure = _bars(values, values, names, families, limit, dark)
    figure.update_xaxes(title_text="alignment with the target, ⟨K, yy'⟩ / (||K|| ||yy'||)", rangemode="tozero")
    figure.update_traces(hovertemplate="%{text}<br>alignment %{x:.3g}<extra></extra>")
    figure.layout.meta["alt"] = (
        f"Alignment of {style.counted(values.size, 'kernel')} with the target. The best are {leaders(values, names)}."
        + _not_drawn(values.size, limit)
    )
    return figure


def kernels_by_column(
    groups: Mapping[str, Sequence[int]],
    values: Any,
    names: Sequence[str],
    families: Sequence[str],
    title: str,
    *,
    dark: bool = False,
) -> go.Figure:
    """One row per column with a mark per kernel of it at its entry of ``values`` (M,); the largest columns first.

    ``groups`` name the kernels of every column, ``title`` is that of the axis. A family has one hue and one mark.
    """
    heights = np.nan_to_num(np.asarray(values, dtype=float))
    _check_lengths(heights, names, families)
    ranked = sorted(groups, key=lambda name: -max(heights[m] for m in groups[name]))
    shown = ranked[:MOST_COLUMNS]
    rest = len(ranked) - len(shown)
    alt = (
        f"Kernels of {style.counted(len(ranked), 'column')}, {title}: the largest are "
        f"{leaders(heights, names)}.{f' {rest} columns with smaller ones are left out.' if rest else ''}"
    )
    figure = style.new_figure(
        alt, dark, 78 + 22 * len(shown), margin={"l": 8, "r": 16, "t": 34, "b": 40},
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "yref": "paper"}, showlegend=True,
    )  # fmt: skip
    place = {m: row for row, name in enumerate(shown) for m in groups[name]}
    for family, symbol in zip(dict.fromkeys(families), cycle(style.GLYPHS), strict=False):
        mine = [m for m in place if families[m] == family]
        if mine:
            hue = style.readable(style.FAMILY_HUES.get(family, style.FAMILY_HUES["precomputed"]), dark)
            figure.add_scatter(
                x=heights[mine], y=[place[m] for m in mine], mode="markers", name=WORDS.get(family, family),
                marker={"symbol": symbol, "size": 9, "color": hue}, customdata=mine,
                text=[style.short(names[m], 60) for m in mine], hovertemplate="%{text}: %{x:.3f}<extra></extra>",
            )  # fmt: skip
    labels = [style.short(name, 26) for name in shown]
    figure.layout.xaxis = style.axis(title, dark, rangemode="tozero", showgrid=True)
    figure.layout.yaxis = style.axis(
        "", dark, tickvals=list(range(len(shown))), ticktext=labels, range=[len(shown) - 0.4, -0.6], showgrid=True
    )
    return figure


def _check_lengths(values: Array, names: Sequence[str], families: Sequence[str]) -> None:
    if values.ndim == 1 and values.size == len(names) == len(families):
        return
    raise ParameterError(
        f"The bars need one value, one name and one family per kernel; got values of shape {values.shape}, "
        f"{len(names)} names and {len(families)} families. Hand over three lists of one length."
    )


def _order(values: Array, limit: int) -> Indices:
    return np.argsort(-values, kind="stable")[:limit]


def _not_drawn(size: int, limit: int) -> str:
    return f" {style.counted(size - limit, 'smaller kernel')} left out." if size > limit else ""


def _bars(
    values: Array, ranking: Array, names: Sequence[str], families: Sequence[str], limit: int, dark: bool
) -> go.Figure:
    shown = _order(ranking, limit)
    colours = style.kernel_colours(families, ranking, dark)
    figure = style.new_figure("", dark, height=72 + ROW_HEIGHT * len(shown), bargap=0.3)
    style.add_row_bars(
        figure, values[shown], [names[m] for m in shown], [colours[m] for m in shown],
        "%{text}<br>θ = %{x:.3g}<extra></extra>", dark,
    )  # fmt: skip
    figure.layout.xaxis = style.axis("", dark, zeroline=True, zerolinecolor=style.theme(dark).muted)
    return figure


def _make_hollow(figure: go.Figure) -> None:
    bars = figure.data[0]
    outline = {"color": bars.marker.color, "width": 1.5}
    bars.marker = {"color": style.TRANSPARENT, "line": outline}
