"""Letters of a sequence and what each adds to the decision at its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.figures import style
from mklcore.figures.graph_objects import go

ROW, MARGINS = 22, 80
LOWEST_HEIGHT = 170


def positions_figure(found: Any, name: str, *, dark: bool = False) -> go.Figure:
    """What every letter of a sequence adds to the decision at every place: blue less, red more.

    ``found`` with ``letters`` (A,), ``values`` (A, L) and ``words``, as `estimators.positions` makes it; ``name`` of
    the sequence. Places are counted from 1.
    """
    values = np.asarray(found.values, dtype=float)
    reach = float(np.abs(values).max()) or 1.0
    height = max(LOWEST_HEIGHT, ROW * len(found.letters) + MARGINS)
    figure = style.new_figure(_reported(found, name), dark, height, margin={"l": 40, "r": 12, "t": 10, "b": 44})
    figure.add_heatmap(
        x=np.arange(1, values.shape[1] + 1),
        y=list(found.letters),
        z=values,
        zmin=-reach,
        zmax=reach,
        colorscale="RdBu_r",
        colorbar=style.colour_bar("", dark, thickness=10, nticks=5),
        hovertemplate="%{y} at place %{x}: %{z:+.3g}<extra></extra>",
    )
    figure.update_layout(
        xaxis=style.axis(f"place in {style.short(name, 30)}", dark, showgrid=False),
        yaxis=style.axis("", dark, type="category", autorange="reversed", showgrid=False),
    )
    return figure


def _reported(found: Any, name: str) -> str:
    words = ", ".join(f"{one.word} at place {one.place + 1} ({one.effect:+.3g})" for one in found.words[:3])
    return f"What letters of {name} add to the decision, place by place. The strongest words: {words}."
