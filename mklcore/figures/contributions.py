"""One prediction taken apart: what every kernel adds to f(x)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go
from mklcore.figures.weights import N_BARS, ROW_HEIGHT


def contribution_bars(
    values: Any,
    names: Sequence[str],
    families: Sequence[str],
    *,
    intercept: float = 0.0,
    before: Any = None,
    ranking: Any = None,
    peaks: Any = None,
    limit: int = N_BARS,
    dark: bool = False,
) -> go.Figure:
    """What each kernel adds to f(x) = sum_m f_m(x) + b, as bars to the right (up) and to the left (down).

    ``values`` f_m(x) (M,); ``before`` (M,) the same at an earlier row, drawn as a line across each bar; ``ranking``
    (M,) fixes the order of the bars, so that they stay in place while the row changes, and ``peaks`` their colours, as
    in ``weights_bar``. Kernels beyond ``limit`` are summed in a last bar. Raises ``ParameterError`` where lengths
    disagree.
    """
    parts = np.asarray(values, dtype=float)
    if parts.ndim != 1 or not parts.size == len(names) == len(families):
        raise ParameterError(
            f"The bars need one value, one name and one family per kernel; got values of shape {parts.shape}, "
            f"{len(names)} names and {len(families)} families."
        )
    if parts.size == 0:
        return style.empty_figure("No kernel is in use at this point, so every row gets the same answer.", dark)
    order = np.argsort(-np.abs(parts if ranking is None else np.asarray(ranking, dtype=float)), kind="stable")
    shown, rest = (order, order[:0]) if parts.size <= limit + 1 else (order[:limit], order[limit:])
    colours = style.kernel_colours(families, np.abs(parts) if peaks is None else peaks, dark)
    rows = _rows(parts, shown, rest)
    called = [names[m] for m in shown] + ([f"{rest.size} others, summed"] if rest.size else [])
    hues = [colours[m] for m in shown] + ([style.theme(dark).grey] if rest.size else [])
    figure = style.new_figure("", dark, height=76 + ROW_HEIGHT * len(rows), bargap=0.3, margin={"l": 8, "t": 8})
    style.add_row_bars(
        figure, rows, called, hues,
        "%{text}<br>adds %{x:.3g}, %{customdata} of what all kernels add<extra></extra>", dark, 24,
        customdata=[style.percent(share) for share in np.abs(rows) / (float(np.abs(parts).sum()) or 1.0)],
    )  # fmt: skip
    figure.layout.xaxis = style.axis("added to f(x)", dark, zeroline=True, zerolinecolor=style.theme(dark).muted)
    if before is not None:
        _draw_before(figure, _rows(np.asarray(before, dtype=float), shown, rest), dark)
    total = float(parts.sum()) + intercept
    figure.layout.meta["alt"] = (
        f"What each kernel adds to f(x). {_leaders(parts, names)} Together with b = {style.number(intercept)} they "
        f"make "
        f"f(x) = {style.number(total)}."
    )
    return figure


def shares(values: Any) -> Array:
    """|f_m| as a share of the sum of all |f_m|, (M,); zero where nothing is added."""
    sizes: Array = np.abs(np.asarray(values, dtype=float))
    return sizes / (float(sizes.sum()) or 1.0)


def _rows(parts: Array, shown: Indices, rest: Indices) -> Array:
    return np.append(parts[shown], parts[rest].sum()) if rest.size else parts[shown]


def _draw_before(figure: go.Figure, rows: Array, dark: bool) -> None:
    figure.add_scatter(
        x=rows,
        y=np.arange(len(rows)),
        mode="markers",
        marker={"symbol": "line-ns", "size": 14, "line": {"width": 2, "color": style.theme(dark).ink}},
        hovertemplate="before the changes: %{x:.3g}<extra></extra>",
    )


def _leaders(parts: Array, names: Sequence[str], count: int = 3) -> str:
    top = [m for m in np.argsort(-np.abs(parts), kind="stable")[:count] if parts[m] != 0]
    if not top:
        return "No kernel adds anything."
    said = style.joined([f"{names[m]} with {style.number(parts[m])}" for m in top])
    return f"The largest parts: {said}."
