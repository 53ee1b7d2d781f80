"""Drawing figures: with their alternative text, dimmed while they wait, and the two small ones only pages need."""

from typing import Literal

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from mklcore.data.dataset import Dataset, Split
from mklcore.figures import style
from pages.shared.session import history

DIMMED = 0.33
MOST_CLASSES = 12
CONFIG = {"displayModeBar": False}  # it would cover labels; figures are taken away beside their titles


def is_dark() -> bool:
    """Tell whether the person looks at the dark theme."""
    return st.context.theme.type == "dark"


def show(figure: go.Figure, key: str, height: int | None = None, width: int | Literal["stretch"] = "stretch") -> None:
    """Draw a figure with the alternative text it carries."""
    if height is not None:
        figure.layout.height, figure.layout.margin.t = height, 12
    if history.current().present:
        figure = style.enlarged(figure)
    st.plotly_chart(figure, width=width, key=key, alt=figure.layout.meta["alt"], config=CONFIG)


def dimmed(figure: go.Figure, *, dark: bool) -> go.Figure:
    """Return the figure greyed by a third: it answers an older question while the new answer is computed."""
    older = go.Figure(figure)
    veil = style.faded(style.theme(dark).paper, DIMMED)
    older.add_shape(
        type="rect", xref="paper", yref="paper", x0=-0.2, x1=1.3, y0=-0.3, y1=1.2, fillcolor=veil, line_width=0
    )
    older.layout.meta["alt"] = "An older answer, shown until the new one is ready. " + older.layout.meta["alt"]
    return older


def target_figure(table: Dataset, parts: Split, *, dark: bool = False) -> go.Figure:
    """Draw how the target is distributed: rows per class and part, or the histogram of a number."""
    return _histogram(table, dark) if table.task == "regression" else _classes(parts, dark)


def _classes(parts: Split, dark: bool) -> go.Figure:
    tone = style.theme(dark)
    names = parts.train.class_names[:MOST_CLASSES]
    counts = {
        part: [int(np.count_nonzero(rows.y.astype(str) == name)) for name in names]
        for part, rows in parts._asdict().items()
    }
    totals = [sum(column) for column in zip(*counts.values(), strict=True)]
    n_rows = sum(len(part.y) for part in parts)
    alt = "Rows per class: " + style.joined(
        [f"{name} {total} ({100 * total / n_rows:.0f} %)" for name, total in zip(names, totals, strict=True)]
    )
    figure = style.new_figure(
        f"{alt}.", dark, height=90 + 34 * len(names), barmode="stack", bargap=0.35, margin={"l": 8, "r": 8, "t": 8}
    )
    shades = {"train": style.faded(tone.grey, 0.45), "validation": tone.grey, "test": tone.ink}
    called, places = [style.short(name) for name in names], list(range(len(names)))  # two names may be short alike
    for part, column in counts.items():
        figure.add_bar(
            x=column,
            y=places,
            customdata=called,
            orientation="h",
            name=part,
            marker={"color": shades[part]},
            hovertemplate=f"%{{customdata}}, {part}: %{{x}} rows<extra></extra>",
        )
    figure.layout.annotations = [
        style.words(f"{total} ({100 * total / n_rows:.0f} %)", tone.muted, x=total, y=place, xanchor="left", xshift=6)
        for place, total in zip(places, totals, strict=True)
    ]  # fmt: skip
    reach = [0, 1.3 * max(totals, default=1)]
    figure.layout.xaxis = style.axis("rows for training, validation and test, from the left", dark, range=reach)
    figure.layout.yaxis = style.row_axis(called, dark)
    return figure


def _histogram(table: Dataset, dark: bool) -> go.Figure:
    y = table.y.astype(float)
    alt = f"Histogram of {table.target_name}: {len(y)} rows from {style.number(y.min())} to {style.number(y.max())}."
    figure = style.new_figure(alt, dark, height=220, bargap=0.04, margin={"l": 48, "r": 16, "t": 8})
    heights, edges = np.histogram(y, bins=min(30, max(5, int(np.sqrt(len(y))))))
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=heights,
        width=np.diff(edges),
        marker={"color": style.theme(dark).grey},
        hovertemplate="around %{x:.3g}: %{y} rows<extra></extra>",
    )
    figure.layout.xaxis = style.axis(style.short(table.target_name, 40), dark)
    figure.layout.yaxis = style.axis("rows", dark)
    return figure
