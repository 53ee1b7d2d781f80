"""Static maps: a Gram matrix, alignments, weights per class, confusion, and scores over p and C."""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Mask
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.style import Figure, Texts, leaders

MOST_CELLS = 160  # rows of a Gram matrix that are drawn one by one
MOST_CLASSES = 10  # classes of a Gram matrix that are marked
MOST_NAMES = 30  # kernels with a label
MOST_NUMBERS = 12  # classes up to which every cell shows its number
MOST_KERNELS = 20
ROW_HEIGHT = 23
DEEPEST = 0.6  # opacity of the darkest cell on which a number can still be read


# Kernels


def gram_heatmap(
    K: Any,
    labels: Any = None,
    *,
    dark: bool = False,
) -> Figure:
    """One Gram matrix K (n, n) as a heat map.

    With ``labels`` (n,) the rows are sorted by them, so that a kernel that fits the target shows
    blocks. A matrix of more than 160 rows is drawn as the means of equal blocks, and the axis title
    states their size.
    """
    gram = style.shaped("A Gram matrix", K, len(K), len(K))
    n = gram.shape[0]
    order, classes = _sorting(labels, n)
    cells, edges = block_means(gram[np.ix_(order, order)])
    size = -(-n // len(cells))
    title = "training row" if labels is None else "training row, sorted by target"
    if size > 1:
        title += f"<br>each cell: mean of about {size} × {size} entries"
    low = style.number(gram.min())
    high = style.number(gram.max())
    alt = (
        f"Heat map of a Gram matrix of {style.counted(n, 'row')}. Entries run from {low} to {high} "
        f"with mean {style.number(gram.mean())}."
    )
    if classes:
        alt += f" Rows are sorted by target: {style.joined([name for name, _ in classes])}."
    middles = (edges[:-1] + 1 + edges[1:]) / 2
    figure = _square(
        alt,
        cells,
        "k(x, z)",
        (float(cells.min()), float(cells.max())),
        dark,
        x=middles,
        y=middles,
        hovertemplate="rows %{y:.0f} and %{x:.0f}<br>k(x, z) = %{z:.3g}<extra></extra>",
    )
    for _, end in classes[:-1]:
        figure.add_vline(end + 0.5, line={"color": "#FFFFFF", "width": 1})
        figure.add_hline(end + 0.5, line={"color": "#FFFFFF", "width": 1})
    return figure.update_xaxes(title_text=title)


def block_means(table: Array, most: int = MOST_CELLS) -> tuple[Array, Array]:
    """Means over at most ``most`` x ``most`` equal blocks, and the edges (blocks + 1,)."""
    n = table.shape[0]
    edges = np.linspace(0, n, min(n, most) + 1).round().astype(int)
    row_sums = np.add.reduceat(table, edges[:-1], axis=0)
    sums = np.add.reduceat(row_sums, edges[:-1], axis=1)
    sizes = np.diff(edges)
    return sums / np.outer(sizes, sizes), edges


def _sorting(
    labels: Any,
    n: int,
) -> tuple[Indices, list[tuple[str, int]]]:
    """The order of rows, and the last row of each class unless there are too many classes."""
    if labels is None:
        return np.arange(n), []
    target = np.asarray(labels)
    if target.shape != (n,):
        raise ParameterError(
            f"A Gram matrix of {n} rows needs {n} labels, got shape {target.shape}."
        )
    names, counts = np.unique(target, return_counts=True)
    ends = np.cumsum(counts).tolist()
    classes = list(zip(map(str, names), ends, strict=True))
    return np.argsort(target, kind="stable"), classes if len(names) <= MOST_CLASSES else []


def alignment_heatmap(
    A: Any,
    names: Texts,
    *,
    dark: bool = False,
) -> Figure:
    """Alignment of kernels, A (M, M): from 0 (orthogonal) to 1 (equal up to a factor)."""
    M = len(names)
    table = style.shaped("An alignment matrix", A, M, M)
    alt = f"Alignment between {style.counted(M, 'kernel')}."
    if M > 1:
        below = np.where(np.tri(M, k=-1) > 0, table, -np.inf)
        i, j = divmod(int(np.argmax(below)), M)
        alt += f" The closest pair is {names[j]} and {names[i]} with {style.number(table[i, j])}."
    labels = style.shorts(names, 28)
    figure = _square(
        alt,
        table,
        "alignment",
        (min(0.0, float(table.min())), 1.0),
        dark,
        text=_cell_texts(labels, labels),
        hovertemplate="%{text}<br>alignment %{z:.3g}<extra></extra>",
    )
    if M <= MOST_NAMES:  # columns are in the order of rows
        figure.update_yaxes(showticklabels=True, tickvals=list(range(M)), ticktext=labels)
    return figure


def _cell_texts(rows: Texts, columns: Texts) -> list[list[str]]:
    return [[f"{row}<br>{column}" for column in columns] for row in rows]


def _square(
    alt: str,
    cells: Array,
    what: str,
    limits: tuple[float, float],
    dark: bool,
    **options: Any,
) -> Figure:
    """A map with equal axes, whose colours run over ``limits``."""
    figure = style.new_figure(alt, dark, height=420).add_heatmap(
        z=cells,
        zmin=limits[0],
        zmax=limits[1],
        colorbar={"title": what},
        **options,
    )
    hidden = {"title": "", "showgrid": False, "showticklabels": False, "constrain": "domain"}
    figure.update_xaxes(**hidden)
    figure.update_yaxes(autorange="reversed", scaleanchor="x", **hidden)
    return figure


# Scores over p and C


def norm_map(scores: Any, *, dark: bool = False) -> Figure:
    """Validation scores over p and C; points within one standard error of the best are marked.

    ``scores`` are those of folds (F, P, S) over ("p", "C"), as ``cross_validate_path`` returns
    them, with ``params``, ``grids``, ``val_score``, ``standard_error`` and ``score_name``. Norms
    are evenly spaced in 1/p, C in its logarithm. Raises ``ParameterError`` for other parameters.
    """
    params = tuple(scores.params)
    if params != ("p", "C"):
        raise ParameterError(
            f"A map is drawn over the parameters p and C, in this order; got {params}."
        )
    norms, costs = [list(map(style.number, grid)) for grid in scores.grids]
    is_share = scores.score_name in captions.SHARES
    what = f"{scores.score_name}, %" if is_share else scores.score_name
    figure = style.new_figure(norm_map_said(scores), dark, height=360).add_heatmap(
        z=(100.0 if is_share else 1.0) * scores.val_score.T,
        x=np.arange(len(norms)),
        y=np.arange(len(costs)),
        colorbar={"title": what},
        text=[[f"p = {p}, C = {cost}" for p in norms] for cost in costs],
        hovertemplate=f"%{{text}}<br>{what} %{{z:.4g}}<extra></extra>",
    )
    tone = style.theme(dark)
    row, column = best_of_map(scores)
    xs, ys = np.nonzero(within_one_error(scores))
    is_best = (xs == row) & (ys == column)
    mark = {
        "symbol": np.where(is_best, "diamond", "circle"),
        "size": np.where(is_best, 12, 7),
        "color": tone.paper,
        "line": {"color": tone.ink, "width": 1.75},
    }
    figure.add_scatter(x=xs, y=ys, mode="markers", marker=mark, hoverinfo="skip")
    title = "norm p of the weights: few kernels at 1, all alike at ∞"
    figure.update_xaxes(title=title, **style.category_ticks(norms))
    figure.update_yaxes(title="C (log scale)", **style.category_ticks(costs))
    return figure


def best_of_map(scores: Any) -> tuple[int, int]:
    """The best mean score; of equal ones that with the sparser norm, then with the smaller C."""
    best = int(np.argmax(scores.val_score >= scores.val_score.max() - 1e-12))
    n_columns: int = scores.val_score.shape[1]
    return divmod(best, n_columns)


def within_one_error(scores: Any) -> Mask:
    """Which points (P, S) score within one standard error of the best."""
    best = best_of_map(scores)
    inside: Mask = scores.val_score >= scores.val_score[best] - scores.standard_error[best]
    return inside


def norm_map_said(scores: Any) -> str:
    """The best point, how many others are as good, and whether it lies at the edge of the map."""
    norms, costs = scores.grids
    row, column = best_of_map(scores)
    best = captions.score(scores.score_name, float(scores.val_score[row, column]))
    place = f"p = {style.number(norms[row])} and C = {style.number(costs[column])}"
    inside = int(within_one_error(scores).sum())
    are = "is" if inside == 1 else "are"
    text = (
        f"The best {scores.score_name}, {best} over {style.counted(len(scores.scores), 'fold')}, "
        f"is at {place}. {inside} of {scores.val_score.size} points, marked, {are} within one "
        "standard error of it."
    )
    if len(costs) > 1 and column in (0, len(costs) - 1):
        text += " The best C is at the edge of the map."
    return text


# Classes


def class_weights(
    weights: Any,
    problems: Texts,
    names: Texts,
    *,
    dark: bool = False,
) -> Figure:
    """Kernel weights (T, M) of every one-vs-rest or one-vs-one problem, the largest on top."""
    table = style.shaped("Weights", weights, len(problems), len(names))
    peaks = table.max(axis=0)
    largest = np.argsort(-peaks, kind="stable")[:MOST_KERNELS]
    shown = [int(m) for m in largest if peaks[m] > 0] or [0]
    sentences = []
    for problem, row in zip(problems, table, strict=True):
        sentences.append(f"{problem}: {leaders(row, names, 1)}")
    others = style.counted(len(names) - len(shown), "kernel")
    figure = style.new_figure(
        f"Largest kernel weight per problem. {'; '.join(sentences)}. {others} not drawn.",
        dark,
        110 + ROW_HEIGHT * len(shown),
        margin={"r": 12, "t": 12, "b": 60},
    )
    columns = style.each_short(problems, 30)
    rows = style.each_short(style.chosen(names, shown), 60)
    figure.add_heatmap(
        z=table[:, shown].T,
        zmin=0.0,
        zmax=style.positive_or_one(table),
        xgap=1,
        ygap=1,
        colorbar={"title": "weight θ"},
        text=_cell_texts(rows, columns),
        hovertemplate="%{text}: θ = %{z:.3g}<extra></extra>",
    )
    ticks = style.category_ticks(style.shorts(problems, 30))
    figure.update_xaxes(title="", **ticks)
    figure.update_yaxes(**style.row_ticks(style.shorts(style.chosen(names, shown), 26)))
    return figure


def confusion_figure(
    counts: Array,
    names: Texts,
    *,
    dark: bool = False,
) -> Figure:
    """A confusion matrix ``counts`` (k, k): true classes down, predicted classes across.

    Shades are shares of the rows of a true class.
    """
    table = style.shaped("Counts", counts, len(names), len(names))
    sizes = table.sum(axis=1)
    shares = table / np.maximum(sizes[:, None], 1.0)
    total = float(table.sum())
    correct = float(np.trace(table)) / max(total, 1.0)
    worst = int(np.argmin(np.diag(shares)))
    alt = (
        f"Confusion matrix over {int(total)} rows: {correct:.1%} on the diagonal; the class found "
        f"least often is {names[worst]}, {shares[worst, worst]:.1%} of its {int(sizes[worst])} "
        "rows."
    )
    figure = style.new_figure(alt, dark, style.SMALL_HEIGHT, margin=style.SMALL_MARGIN)
    labels = style.shorts([str(name) for name in names], 14)
    tone = style.theme(dark)
    figure.add_heatmap(
        z=shares,
        zmin=0.0,
        zmax=1.0,
        showscale=False,
        customdata=table,
        xgap=2,
        ygap=2,
        colorscale=[[0.0, tone.grid], [1.0, style.faded(tone.grey, DEEPEST)]],
        texttemplate="%{text}",
        text=table.astype(int).astype(str) if len(labels) <= MOST_NUMBERS else None,
        textfont={"color": tone.ink},
        hovertemplate="%{customdata:.0f} rows, %{z:.1%} of their class<extra></extra>",
    )
    ticks = style.category_ticks(labels)
    figure.update_xaxes(title="predicted class", **ticks)
    figure.update_yaxes(title="true class", autorange="reversed", **ticks)
    figure.layout.yaxis.title.standoff = 14
    return figure
