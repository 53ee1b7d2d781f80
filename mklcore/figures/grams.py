"""Pictures of kernels: a Gram matrix, how kernels align with each other, how fast eigenvalues decay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go

MOST_CELLS = 160
MOST_NAMES = 30
MOST_CLASSES = 10


def gram_heatmap(K: Any, labels: Any = None, *, dark: bool = False) -> go.Figure:
    """One Gram matrix K (n, n) as a heat map.

    With ``labels`` (n,) the rows are sorted by them, so that a kernel that fits the target shows blocks. A matrix of
    more than 160 rows is drawn as the means of equal blocks, and the axis title says how large they are.
    """
    gram = _square(K, "A Gram matrix")
    n = gram.shape[0]
    order, classes = _sorting(labels, n)
    cells, edges = block_means(gram[np.ix_(order, order)])
    size = -(-n // len(cells))
    title = "training row" + (", sorted by target" if labels is not None else "")
    title += f"<br>each cell: mean of about {size} × {size} entries" if size > 1 else ""
    figure = _heatmap(cells, "k(x, z)", (float(cells.min()), float(cells.max())), dark)
    middles = (edges[:-1] + 1 + edges[1:]) / 2
    figure.update_traces(
        x=middles, y=middles, hovertemplate="rows %{y:.0f} and %{x:.0f}<br>k(x, z) = %{z:.3g}<extra></extra>"
    )
    figure.update_xaxes(title_text=title)
    for _, end in classes[:-1]:
        figure.add_vline(end + 0.5, line={"color": "#FFFFFF", "width": 1})
        figure.add_hline(end + 0.5, line={"color": "#FFFFFF", "width": 1})
    figure.layout.meta["alt"] = (
        f"Heat map of a Gram matrix of {style.counted(n, 'row')}. Entries run from {style.number(gram.min())} to "
        f"{style.number(gram.max())} with mean {style.number(gram.mean())}."
        + (f" Rows are sorted by target: {style.joined([c for c, _ in classes])}." if classes else "")
    )
    return figure


def alignment_heatmap(A: Any, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Alignment between kernels, A (M, M) with entries from 0 (nothing in common) to 1 (the same up to a factor)."""
    table = _square(A, "An alignment matrix")
    M = table.shape[0]
    if len(names) != M:
        raise ParameterError(f"An alignment matrix of {M} kernels needs {M} names, got {len(names)}.")
    figure = _heatmap(table, "alignment", (min(0.0, float(table.min())), 1.0), dark)
    labels = [style.short(name, 28) for name in names]
    figure.update_traces(
        text=[[f"{row}<br>{column}" for column in labels] for row in labels],
        hovertemplate="%{text}<br>alignment %{z:.3g}<extra></extra>",
    )
    if M <= MOST_NAMES:  # columns have the order of rows
        figure.update_yaxes(showticklabels=True, tickvals=list(range(M)), ticktext=labels)
    figure.layout.meta["alt"] = f"Alignment between {style.counted(M, 'kernel')}.{_closest_pair(table, names)}"
    return figure


def eigenvalue_decay(
    values: Any, names: Sequence[str], *, colours: Sequence[str] | None = None, dark: bool = False
) -> go.Figure:
    """Eigenvalues of one Gram matrix (n,) or several (M, n), largest first, on a logarithmic axis.

    Eigenvalues below n machine epsilons of the largest are numerical zeros and left out; the text tells how many stay.
    ``colours`` are those of these kernels in their dictionary (``kernel_colours``); six hues and grey without them.
    """
    spectra = [np.sort(row)[::-1] for row in np.atleast_2d(np.asarray(values, dtype=float))]
    if colours is None:
        colours = style.kernel_colours(["precomputed"] * len(names), -np.arange(float(len(names))) + len(names), dark)
    if not len(spectra) == len(names) == len(colours):
        raise ParameterError(f"{len(spectra)} spectra need a name and a colour each; got {len(names)} names.")
    kept = [row[row > row.size * np.finfo(float).eps * max(float(row[0]), 0.0)] for row in spectra]
    figure = style.new_figure("", dark, margin={"l": 56, "r": 120, "t": 16, "b": 44})
    for name, row, colour in zip(names, kept, colours, strict=True):
        figure.add_scatter(
            x=np.arange(1, row.size + 1),
            y=row,
            name=name,
            mode="lines" if row.size > 1 else "markers",
            line={"color": colour, "width": 2},
            text=[style.short(name, 60)] * row.size,
            hovertemplate="%{text}<br>eigenvalue %{x}: %{y:.3g}<extra></extra>",
        )
    figure.layout.xaxis = style.axis("rank of the eigenvalue", dark)
    figure.layout.yaxis = style.log_axis("eigenvalue", np.concatenate(kept), dark, showgrid=True)
    _label_spectra(figure, names, kept, colours, dark)
    sentences = [_decay_as_text(*one) for one in list(zip(names, kept, spectra, strict=True))[: style.N_NAMED]]
    figure.layout.meta["alt"] = "Eigenvalue decay on a logarithmic axis. " + " ".join(sentences)
    return figure


def block_means(table: Array, most: int = MOST_CELLS) -> tuple[Array, Array]:
    """Means over blocks of at most ``most`` x ``most`` equal parts, and the (parts + 1,) edges of the parts."""
    n = table.shape[0]
    edges = np.linspace(0, n, min(n, most) + 1).round().astype(int)
    sums = np.add.reduceat(np.add.reduceat(table, edges[:-1], axis=0), edges[:-1], axis=1)
    sizes = np.diff(edges)
    return sums / np.outer(sizes, sizes), edges


def _square(values: Any, what: str) -> Array:
    table = np.asarray(values, dtype=float)
    if table.ndim == 2 and table.shape[0] == table.shape[1] > 0:
        return table
    raise ParameterError(f"{what} is square, (n, n) with n > 0; got shape {table.shape}. Pick one kernel of the stack.")


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


def _heatmap(cells: Array, what: str, limits: tuple[float, float], dark: bool) -> go.Figure:
    figure = style.new_figure("", dark, height=420)
    figure.add_heatmap(
        z=cells,
        colorscale=style.SEQUENTIAL,
        zmin=limits[0],
        zmax=limits[1],
        colorbar=style.colour_bar(what, dark, thickness=10),
    )
    hidden = {"showgrid": False, "showticklabels": False, "constrain": "domain"}
    figure.layout.xaxis = style.axis("", dark, **hidden)
    figure.layout.yaxis = style.axis("", dark, autorange="reversed", scaleanchor="x", **hidden)
    return figure


def _closest_pair(table: Array, names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    below = np.tril(table, -1) + np.triu(np.full_like(table, -np.inf))
    i, j = (int(k) for k in np.unravel_index(int(np.argmax(below)), table.shape))
    return f" The closest pair is {names[j]} and {names[i]} with {style.number(table[i, j])}."


def _decay_as_text(name: str, kept: Array, spectrum: np.ndarray) -> str:
    if kept.size == 0:
        return f"{name} has no positive eigenvalue."
    half = int(np.searchsorted(np.cumsum(kept), 0.5 * kept.sum())) + 1
    first = "the first one holds" if half == 1 else f"the first {half} hold"
    return f"{name} keeps {kept.size} of {spectrum.size} eigenvalues, and {first} half of the trace."


def _label_spectra(
    figure: go.Figure, names: Sequence[str], kept: Sequence[Array], colours: Sequence[str], dark: bool
) -> None:
    labels = [
        style.EndLabel(style.short(name), float(np.log10(row[-1])), colour, x=float(row.size))
        for name, row, colour in zip(names, kept, colours, strict=True)
        if row.size
    ]
    low, high = figure.layout.yaxis.range
    style.label_ends(figure, labels[: style.N_NAMED], (low, high), dark)
