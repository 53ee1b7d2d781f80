"""What a hierarchical model does with the variables: how much each carries, and what one node adds to the
prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go
from mklcore.figures.style import leaders


def relevance_bars(relevance: Any, names: Sequence[str], *, limit: int = 20, dark: bool = False) -> go.Figure:
    """How much each variable carries, as shares: sum of ||beta_v||^2 over the nodes that touch it, ``relevance`` (p,).

    An interaction counts for each of its variables, so shares may add up to more than one.
    """
    values = np.asarray(relevance, dtype=float)
    if values.ndim != 1 or values.size != len(names):
        raise ParameterError(
            f"One relevance per variable name is needed; got {values.shape} for {len(names)} names. Hand over two "
            f"lists of "
            "one length."
        )
    order = np.argsort(-values, kind="stable")[:limit]
    shares = values / (float(values.max(initial=0.0)) or 1.0)
    figure = style.new_figure("", dark, height=72 + 22 * len(order), bargap=0.3)
    hues = [style.readable(style.FAMILY_HUES["hkl"], dark)] * len(order)
    hover = "%{text}<br>%{x:.1%} of the most relevant<extra></extra>"
    style.add_row_bars(figure, shares[order], [names[i] for i in order], hues, hover, dark)
    figure.layout.xaxis = style.axis("relevance, share of the largest", dark, range=[0, 1.05])
    used = int(np.count_nonzero(values > 0))
    figure.layout.meta["alt"] = (
        f"Relevance of variables. {used} of {style.counted(values.size, 'variable')} "
        f"{'is' if used == 1 else 'are'} in the hull; the largest shares are {leaders(shares, names)}."
    )
    return figure


def component_plot(
    axes: Sequence[Any],
    values: Any,
    names: Sequence[str],
    title: str,
    *,
    certified: bool = True,
    dark: bool = False,
) -> go.Figure:
    """What one node adds to the prediction: a line over one variable, or a map over two.

    ``axes`` one or two arrays of positions, ``values`` (m,) or (m2, m1) at them, ``names`` of the variables, ``title``
    of the node. Without a certificate the line is dashed and the text says so. Raises ParameterError for more than two
    variables or shapes that disagree.
    """
    grids, table = [np.asarray(axis, dtype=float) for axis in axes], np.asarray(values, dtype=float)
    if len(grids) not in (1, 2) or len(names) != len(grids) or table.shape != tuple(g.size for g in reversed(grids)):
        raise ParameterError(
            f"A component is drawn over one or two variables, with one value per position; got {len(grids)} axes, "
            f"{len(names)} names and values of shape {table.shape}."
        )
    hue = style.readable(style.FAMILY_HUES["hkl"], dark)
    figure = style.new_figure("", dark)
    if len(grids) == 1:
        figure.add_scatter(
            x=grids[0],
            y=table,
            mode="lines",
            line={"color": hue, "width": 2, "dash": "solid" if certified else "dash"},
            hovertemplate="%{x:.3g}: %{y:.3g}<extra></extra>",
        )
        figure.layout.yaxis = style.axis(f"added by {style.short(title, 30)}", dark, zeroline=True)
    else:
        figure.add_heatmap(
            x=grids[0], y=grids[1], z=table, colorscale=style.SEQUENTIAL,
            hovertemplate="%{x:.3g}, %{y:.3g}: %{z:.3g}<extra></extra>",
            colorbar={"title": {"text": "added"}, "tickfont": {"color": style.theme(dark).muted}},
        )  # fmt: skip
        figure.layout.yaxis = style.axis(style.short(names[1], 30), dark)
    figure.layout.xaxis = style.axis(style.short(names[0], 30), dark)
    figure.layout.meta["alt"] = (
        f"What {title} adds to the prediction over {' and '.join(names)}: from {style.number(table.min())} to "
        f"{style.number(table.max())}." + ("" if certified else " Not certified.")
    )
    return figure
