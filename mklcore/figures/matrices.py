"""Static maps of tables: a Gram matrix, alignments of kernels, weights per class, a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.style import graph_objects as go
from mklcore.figures.style import leaders

MOST_CELLS, MOST_CLASSES = 160, 10  # of a Gram matrix
MOST_NAMES, MOST_NUMBERS = 30, 12  # kernels that are named; classes up to which every cell carries its number
MOST_KERNELS, ROW_HEIGHT = 20, 23
DEEPEST = 0.6  # of the grey of a cell, on which its number can still be read


def gram_heatmap(K: Any, labels: Any = None, *, dark: bool = False) -> go.Figure:
    """One Gram matrix K (n, n) as a heat map.

    With ``labels`` (n,) the rows are sorted by them, so that a kernel that fits the target shows blocks. A matrix of
    more than 160 rows is drawn as the means of equal blocks, and the axis title says how large they are.
    """
    gram = style.shaped("A Gram matrix", K, *2 * (len(K),))
    n = gram.shape[0]
    order, classes = _sorting(labels, n)
    cells, edges = block_means(gram[np.ix_(order, order)])
    size, middles = -(-n // len(cells)), (edges[:-1] + 1 + edges[1:]) / 2
    title = "training row" + (", sorted by target" if labels is not None else "")
    title += f"<br>each cell: mean of about {size} × {size} entries" if size > 1 else ""
    alt = (
        f"Heat map of a Gram matrix of {style.counted(n, 'row')}. Entries run from {style.number(gram.min())} to "
        f"{style.number(gram.max())} with mean {style.number(gram.mean())}."
        + (f" Rows are sorted by target: {style.joined([c for c, _ in classes])}." if classes else "")
    )
    figure = _matrix(
        alt, cells, "k(x, z)", (float(cells.min()), float(cells.max())), dark, x=middles, y=middles,
        hovertemplate="rows %{y:.0f} and %{x:.0f}<br>k(x, z) = %{z:.3g}<extra></extra>",
    ).update_xaxes(title_text=title)  # fmt: skip
    for _, end in classes[:-1]:
        figure.add_vline(end + 0.5, line={"color": "#FFFFFF", "width": 1})
        figure.add_hline(end + 0.5, line={"color": "#FFFFFF", "width": 1})
    return figure


def alignment_heatmap(A: Any, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Alignment between kernels, A (M, M) with entries from 0 (nothing in common) to 1 (the same up to a factor)."""
    M = len(names)
    table = style.shaped("An alignment matrix", A, M, M)
    alt, labels = f"Alignment between {style.counted(M, 'kernel')}.", style.shorts(names, 28)
    if M > 1:
        below = np.tril(table, -1) + np.triu(np.full_like(table, -np.inf))
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(below)), table.shape))
        alt += f" The closest pair is {names[j]} and {names[i]} with {style.number(table[i, j])}."
    figure = _matrix(
        alt, table, "alignment", (min(0.0, float(table.min())), 1.0), dark,
        text=[[f"{row}<br>{column}" for column in labels] for row in labels],
        hovertemplate="%{text}<br>alignment %{z:.3g}<extra></extra>",
    )  # fmt: skip
    if M <= MOST_NAMES:  # columns have the order of rows
        figure.update_yaxes(showticklabels=True, tickvals=list(range(M)), ticktext=labels)
    return figure


def _matrix(alt: str, cells: Array, what: str, limits: tuple[float, float], dark: bool, **more: Any) -> go.Figure:
    figure = style.new_figure(alt, dark, height=420).add_heatmap(
        z=cells, colorscale=style.SEQUENTIAL, zmin=limits[0], zmax=limits[1], colorbar=style.colour_bar(what, dark),
        **more,
    )  # fmt: skip
    hidden = {"showgrid": False, "showticklabels": False, "constrain": "domain"}
    figure.layout.xaxis = style.axis("", dark, **hidden)
    figure.layout.yaxis = style.axis("", dark, autorange="reversed", scaleanchor="x", **hidden)
    return figure


def block_means(table: Array, most: int = MOST_CELLS) -> tuple[Array, Array]:
    """Means over blocks of at most ``most`` x ``most`` equal parts, and the (parts + 1,) edges of the parts."""
    n = table.shape[0]
    edges = np.linspace(0, n, min(n, most) + 1).round().astype(int)
    sums = np.add.reduceat(np.add.reduceat(table, edges[:-1], axis=0), edges[:-1], axis=1)
    sizes = np.diff(edges)
    return sums / np.outer(sizes, sizes), edges


def _sorting(labels: Any, n: int) -> tuple[Indices, list[tuple[str, int]]]:
    """Row order, and where each class ends; no classes without labels or where there are too many to tell apart."""
    if labels is None:
        return np.arange(n), []
    target = np.asarray(labels)
    if target.shape != (n,):
        raise ParameterError(f"A Gram matrix of {n} rows needs {n} labels, got shape {target.shape}.")
    found, counts = np.unique(target, return_counts=True)
    ends = np.cumsum(counts)
    classes = [(str(c), int(e)) for c, e in zip(found, ends, strict=True)] if len(found) <= MOST_CLASSES else []
    return np.argsort(target, kind="stable"), classes


def class_weights(weights: Any, problems: Sequence[str], names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Kernel weights of every one-vs-rest or one-vs-one problem as a heat map, ``weights`` (T, M), the largest on
    top.
    """
    table = style.shaped("Weights", weights, len(problems), len(names))
    peaks = table.max(axis=0)
    shown = [int(m) for m in np.argsort(-peaks, kind="stable")[:MOST_KERNELS] if peaks[m] > 0] or [0]
    sentences = [f"{problem}: {leaders(row, names, 1)}" for problem, row in zip(problems, table, strict=True)]
    left_out = style.counted(len(names) - len(shown), "kernel")
    figure = style.new_figure(
        f"Largest kernel weight per problem. {'; '.join(sentences)}. {left_out} not drawn.", dark,
        110 + ROW_HEIGHT * len(shown), margin={"r": 12, "t": 12, "b": 60},
    )  # fmt: skip
    figure.add_heatmap(
        z=table[:, shown].T, zmin=0.0, zmax=float(table.max()) or 1.0, colorscale=style.SEQUENTIAL, xgap=1, ygap=1,
        colorbar=style.colour_bar("weight θ", dark),
        text=[[f"{style.short(names[m], 60)}<br>{style.short(one, 30)}" for one in problems] for m in shown],
        hovertemplate="%{text}: θ = %{z:.3g}<extra></extra>",
    )  # fmt: skip
    called = style.shorts(problems, 30)
    ticks = {"tickvals": list(range(len(called))), "ticktext": called}
    figure.layout.xaxis = style.axis("", dark, showgrid=False, **ticks)
    figure.layout.yaxis = style.row_axis(style.shorts([names[m] for m in shown], 26), dark)
    return figure


def confusion_figure(counts: Array, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Rows of each class (down) by the class the model says (across): ``counts`` (k, k), shades by share of the row."""
    table = style.shaped("Counts", counts, len(names), len(names))
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    right, worst = float(np.trace(table)) / max(float(table.sum()), 1.0), int(np.argmin(np.diag(share)))
    figure = style.new_figure(
        f"Confusion matrix over {int(table.sum())} rows: {right:.1%} on the diagonal; the class found least often is "
        f"{names[worst]}, {share[worst, worst]:.1%} of its {int(table[worst].sum())} rows.",
        dark, style.SMALL_HEIGHT, margin=style.SMALL_MARGIN,
    )  # fmt: skip
    called, tone = style.shorts([str(name) for name in names], 14), style.theme(dark)
    figure.add_heatmap(
        z=share, zmin=0.0, zmax=1.0, showscale=False, customdata=table, xgap=2, ygap=2,
        colorscale=[[0.0, tone.grid], [1.0, style.faded(tone.grey, DEEPEST)]], texttemplate="%{text}",
        text=[[f"{int(n)}" for n in row] for row in table] if len(called) <= MOST_NUMBERS else None,
        textfont={"color": tone.ink}, hovertemplate="%{customdata:.0f} rows, %{z:.1%} of their class<extra></extra>",
    )  # fmt: skip
    ticks = {"tickvals": list(range(len(called))), "ticktext": called, "showgrid": False}  # two names may be cut alike
    figure.layout.xaxis = style.axis("predicted class", dark, **ticks)
    figure.update_yaxes(style.axis("true class", dark, autorange="reversed", **ticks), title_standoff=14)
    return figure
