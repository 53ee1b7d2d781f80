"""Static maps of tables: a Gram matrix, alignments of kernels, weights per class, a confusion
matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Mask
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.style import graph_objects as go
from mklcore.figures.style import leaders

# of a Gram matrix
MOST_CELLS = 160
MOST_CLASSES = 10
# kernels that are named; classes up to which every cell carries its number
MOST_NAMES = 30
MOST_NUMBERS = 12
MOST_KERNELS = 20
ROW_HEIGHT = 23
DEEPEST = 0.6  # of the grey of a cell, on which its number can still be read


def gram_heatmap(K: Any, labels: Any = None, *, dark: bool = False) -> go.Figure:
    """One Gram matrix K (n, n) as a heat map.

    With ``labels`` (n,) the rows are sorted by them, so that a kernel that fits the target shows
    blocks. A matrix of more than 160 rows is drawn as the means of equal blocks, and the axis title
    says how large they are.
    """
    gram = style.shaped("A Gram matrix", K, *2 * (len(K),))
    n = gram.shape[0]
    order, classes = _sorting(labels, n)
    cells, edges = block_means(gram[np.ix_(order, order)])
    size = -(-n // len(cells))
    middles = (edges[:-1] + 1 + edges[1:]) / 2
    title = "training row" + (", sorted by target" if labels is not None else "")
    title += f"<br>each cell: mean of about {size} × {size} entries" if size > 1 else ""
    alt = (
        f"Heat map of a Gram matrix of {style.counted(n, 'row')}. Entries run from "
        f"{style.number(gram.min())} to {style.number(gram.max())} with mean "
        f"{style.number(gram.mean())}."
    ) + (f" Rows are sorted by target: {style.joined([c for c, _ in classes])}." if classes else "")
    figure = _matrix(
        alt,
        cells,
        "k(x, z)",
        (float(cells.min()), float(cells.max())),
        dark,
        x=middles,
        y=middles,
        hovertemplate="rows %{y:.0f} and %{x:.0f}<br>k(x, z) = %{z:.3g}<extra></extra>",
    ).update_xaxes(title_text=title)
    for _, end in classes[:-1]:
        figure.add_vline(end + 0.5, line={"color": "#FFFFFF", "width": 1})
        figure.add_hline(end + 0.5, line={"color": "#FFFFFF", "width": 1})
    return figure


def alignment_heatmap(A: Any, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Alignment between kernels, A (M, M) with entries from 0 (nothing in common) to 1 (the same up
    to a factor).
    """
    M = len(names)
    table = style.shaped("An alignment matrix", A, M, M)
    alt = f"Alignment between {style.counted(M, 'kernel')}."
    labels = style.shorts(names, 28)
    if M > 1:
        below = np.tril(table, -1) + np.triu(np.full_like(table, -np.inf))
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(below)), table.shape))
        alt += f" The closest pair is {names[j]} and {names[i]} with {style.number(table[i, j])}."
    figure = _matrix(
        alt,
        table,
        "alignment",
        (min(0.0, float(table.min())), 1.0),
        dark,
        text=[[f"{row}<br>{column}" for column in labels] for row in labels],
        hovertemplate="%{text}<br>alignment %{z:.3g}<extra></extra>",
    )
    if M <= MOST_NAMES:  # columns have the order of rows
        figure.update_yaxes(showticklabels=True, tickvals=list(range(M)), ticktext=labels)
    return figure


def norm_map(found: Any, *, dark: bool = False) -> go.Figure:
    """Validation scores over the norm p and C, with the points within one standard error of the
    best outlined.

    ``found`` : scores of folds (F, P, S) over ("p", "C"), as ``cross_validate_path`` gives them: it
    has ``params``, ``grids``, ``val_score``, ``standard_error`` and ``score_name``. Norms are
    evenly spaced in 1/p, C in its logarithm. Raises ``ParameterError`` for other parameters.
    """
    if tuple(found.params) != ("p", "C"):
        raise ParameterError(
            f"A map is drawn over the parameters p and C, in this order; got {tuple(found.params)}."
        )
    (norms, costs), scores, best = found.grids, found.val_score, best_of_map(found)
    inside = within_one_error(found)
    alt = norm_map_said(found)
    percent = found.score_name in captions.SHARES
    what = f"{found.score_name}{', %' if percent else ''}"
    cells = (100.0 if percent else 1.0) * scores.T
    places = np.arange(len(norms))
    heights = np.arange(len(costs))
    texts = [[f"p = {style.number(p)}, C = {style.number(c)}" for p in norms] for c in costs]
    figure = style.new_figure(alt, dark, height=360).add_heatmap(
        z=cells,
        x=places,
        y=heights,
        colorscale=style.SEQUENTIAL,
        colorbar=style.colour_bar(what, dark),
        text=texts,
        hovertemplate="%{text}<br>" + f"{what} %{{z:.4g}}<extra></extra>",
    )
    ink = style.theme(dark).ink
    paper = style.theme(dark).paper
    for colour, width in ((paper, 4.0), (ink, 1.5)):
        xs, ys = _outline(inside)
        figure.add_scatter(
            x=xs, y=ys, mode="lines", line={"color": colour, "width": width}, hoverinfo="skip"
        )
    mark = {"symbol": "diamond", "size": 12, "color": paper, "line": {"color": ink, "width": 1.75}}
    figure.add_scatter(x=[best[0]], y=[best[1]], mode="markers", marker=mark, hoverinfo="skip")
    named = {"tickvals": places, "ticktext": [style.number(p) for p in norms], "showgrid": False}
    figure.layout.xaxis = style.axis(
        "norm p of the weights: few kernels at 1, all alike at ∞", dark, **named
    )
    named = {"tickvals": heights, "ticktext": [style.number(c) for c in costs], "showgrid": False}
    figure.layout.yaxis = style.axis("C (log scale)", dark, **named)
    return figure.update_layout(showlegend=False)


def best_of_map(found: Any) -> tuple[int, int]:
    """The place (row, column) of the best mean score: of equal ones the sparser norm, then the
    smaller C.
    """
    place = int(np.argmax(found.val_score >= found.val_score.max() - 1e-12))
    row, column = np.unravel_index(place, found.val_score.shape)
    return int(row), int(column)


def within_one_error(found: Any) -> Mask:
    """Which points (P, S) score within one standard error of the best."""
    best = best_of_map(found)
    inside: Mask = found.val_score >= found.val_score[best] - found.standard_error[best]
    return inside


def norm_map_said(found: Any) -> str:
    """What the map shows: the best point, how many others are as good, and whether it is at the
    edge.
    """
    (norms, costs), best = found.grids, best_of_map(found)
    count = found.val_score.size
    inside = int(within_one_error(found).sum())
    where = f"p = {style.number(norms[best[0]])} and C = {style.number(costs[best[1]])}"
    edge = (
        " The best C is at the edge of the map."
        if best[1] in (0, len(costs) - 1) and len(costs) > 1
        else ""
    )
    folds = style.counted(len(found.scores), "fold")
    return (
        f"The best {found.score_name}, "
        f"{captions.score(found.score_name, float(found.val_score[best]))} over {folds}, "
        f"is at {where}. {inside} of {count} points, outlined, are within one standard "
        f"error of it.{edge}"
    )


def _outline(inside: Mask) -> tuple[list[float | None], list[float | None]]:
    """The sides of cells that are ``inside`` (P, S) and have a neighbour that is not, as broken
    lines.
    """
    xs = list[float | None]()
    ys = list[float | None]()
    framed = np.pad(inside, 1)
    for a, b in np.argwhere(inside):
        for step_x, step_y in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            if framed[a + 1 + step_x, b + 1 + step_y]:
                continue
            middle_x = a + step_x / 2
            middle_y = b + step_y / 2
            xs += [middle_x - abs(step_y) / 2, middle_x + abs(step_y) / 2, None]
            ys += [middle_y - abs(step_x) / 2, middle_y + abs(step_x) / 2, None]
    return xs, ys


def _matrix(
    alt: str, cells: Array, what: str, limits: tuple[float, float], dark: bool, **more: Any
) -> go.Figure:
    figure = style.new_figure(alt, dark, height=420).add_heatmap(
        z=cells,
        colorscale=style.SEQUENTIAL,
        zmin=limits[0],
        zmax=limits[1],
        colorbar=style.colour_bar(what, dark),
        **more,
    )
    hidden = {"showgrid": False, "showticklabels": False, "constrain": "domain"}
    figure.layout.xaxis = style.axis("", dark, **hidden)
    figure.layout.yaxis = style.axis("", dark, autorange="reversed", scaleanchor="x", **hidden)
    return figure


def block_means(table: Array, most: int = MOST_CELLS) -> tuple[Array, Array]:
    """Means over blocks of at most ``most`` x ``most`` equal parts, and the (parts + 1,) edges of
    the parts.
    """
    n = table.shape[0]
    edges = np.linspace(0, n, min(n, most) + 1).round().astype(int)
    sums = np.add.reduceat(np.add.reduceat(table, edges[:-1], axis=0), edges[:-1], axis=1)
    sizes = np.diff(edges)
    return sums / np.outer(sizes, sizes), edges


def _sorting(labels: Any, n: int) -> tuple[Indices, list[tuple[str, int]]]:
    """Row order, and where each class ends; no classes without labels or where there are too many
    to tell apart.
    """
    if labels is None:
        return np.arange(n), []
    target = np.asarray(labels)
    if target.shape != (n,):
        raise ParameterError(
            f"A Gram matrix of {n} rows needs {n} labels, got shape {target.shape}."
        )
    found, counts = np.unique(target, return_counts=True)
    ends = np.cumsum(counts)
    classes = (
        [(str(c), int(e)) for c, e in zip(found, ends, strict=True)]
        if len(found) <= MOST_CLASSES
        else []
    )
    return np.argsort(target, kind="stable"), classes


def class_weights(
    weights: Any, problems: Sequence[str], names: Sequence[str], *, dark: bool = False
) -> go.Figure:
    """Kernel weights of every one-vs-rest or one-vs-one problem as a heat map, ``weights`` (T, M),
    the largest on top.
    """
    table = style.shaped("Weights", weights, len(problems), len(names))
    peaks = table.max(axis=0)
    shown = [int(m) for m in np.argsort(-peaks, kind="stable")[:MOST_KERNELS] if peaks[m] > 0] or [
        0
    ]
    sentences = [
        f"{problem}: {leaders(row, names, 1)}" for problem, row in zip(problems, table, strict=True)
    ]
    left_out = style.counted(len(names) - len(shown), "kernel")
    figure = style.new_figure(
        f"Largest kernel weight per problem. {'; '.join(sentences)}. {left_out} not drawn.",
        dark,
        110 + ROW_HEIGHT * len(shown),
        margin={"r": 12, "t": 12, "b": 60},
    )
    figure.add_heatmap(
        z=table[:, shown].T,
        zmin=0.0,
        zmax=float(table.max()) or 1.0,
        colorscale=style.SEQUENTIAL,
        xgap=1,
        ygap=1,
        colorbar=style.colour_bar("weight θ", dark),
        text=[
            [f"{style.short(names[m], 60)}<br>{style.short(one, 30)}" for one in problems]
            for m in shown
        ],
        hovertemplate="%{text}: θ = %{z:.3g}<extra></extra>",
    )
    called = style.shorts(problems, 30)
    ticks = {"tickvals": list(range(len(called))), "ticktext": called}
    figure.layout.xaxis = style.axis("", dark, showgrid=False, **ticks)
    figure.layout.yaxis = style.row_axis(style.shorts([names[m] for m in shown], 26), dark)
    return figure


def confusion_figure(counts: Array, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Rows of each class (down) by the class the model says (across): ``counts`` (k, k), shades by
    share of the row.
    """
    table = style.shaped("Counts", counts, len(names), len(names))
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    right = float(np.trace(table)) / max(float(table.sum()), 1.0)
    worst = int(np.argmin(np.diag(share)))
    figure = style.new_figure(
        (
            f"Confusion matrix over {int(table.sum())} rows: {right:.1%} on the diagonal; the "
            f"class found least often is {names[worst]}, {share[worst, worst]:.1%} of its "
            f"{int(table[worst].sum())} rows."
        ),
        dark,
        style.SMALL_HEIGHT,
        margin=style.SMALL_MARGIN,
    )
    called = style.shorts([str(name) for name in names], 14)
    tone = style.theme(dark)
    figure.add_heatmap(
        z=share,
        zmin=0.0,
        zmax=1.0,
        showscale=False,
        customdata=table,
        xgap=2,
        ygap=2,
        colorscale=[[0.0, tone.grid], [1.0, style.faded(tone.grey, DEEPEST)]],
        texttemplate="%{text}",
        text=[[f"{int(n)}" for n in row] for row in table] if len(called) <= MOST_NUMBERS else None,
        textfont={"color": tone.ink},
        hovertemplate="%{customdata:.0f} rows, %{z:.1%} of their class<extra></extra>",
    )
    # two names may be cut alike
    ticks = {"tickvals": list(range(len(called))), "ticktext": called, "showgrid": False}
    figure.layout.xaxis = style.axis("predicted class", dark, **ticks)
    figure.update_yaxes(
        style.axis("true class", dark, autorange="reversed", **ticks), title_standoff=14
    )
    return figure
