"""Static figures along a path: kernel weights, scores, and how the gap closes.

Every path figure reads a ``Path`` by its fields alone: ``param``, ``values`` (L,), ``weights`` (L, M), ``statuses``,
``train_score``, ``val_score``, ``score_name``, ``kernel_names``, ``kernel_families``. A line is solid between two
points solved to tolerance and dashed elsewhere: what is not certain is drawn, and seen to be so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np

from mklcore.arrays import Array, Mask
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.captions import symbol
from mklcore.figures.graph_objects import go
from mklcore.figures.style import leaders

AXIS_TITLES = {
    "C": "C, cost of an error",
    "lam": "λ, ridge penalty",
    "p": "p, norm of the weights",
    "s": "s, number of kernels",
}
NORM_TICKS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
NO_PATH = "No path yet. Choose a range and press Compute."
REACH = 0.5  # of the spread of the scores, by which a reference may be outside and still have its line


def norm_positions(p: Any) -> Array:
    """Where each value is on an axis (L,): the value itself, and infinity a doubling beyond the largest finite."""
    values = np.asarray(p, dtype=float)
    finite = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, 2 * finite.max() if finite.size else 1.0)


def path_positions(path: Any) -> Array:
    """Where each solved value is on the x axis (L,): the value itself, with p = ∞ one doubling to the right."""
    return norm_positions(path.values)


def solved(path: Any) -> Mask:
    """Which points of the path did all they were asked to do (L,); the others stopped before their tolerance."""
    return np.array([status.ok for status in path.statuses], dtype=bool)


def weight_path(path: Any, index: int | None = None, *, dark: bool = False) -> go.Figure:
    """Kernel weights θ along the path, one line per kernel, with a cursor at the ``index``-th value.

    The six kernels largest anywhere on the path are drawn in their colours and named at the line's end; the rest step
    back to grey. Raises ``ParameterError`` for an index outside the path.
    """
    if len(path.values) == 0:
        return style.empty_figure(NO_PATH, dark)
    weights = np.asarray(path.weights, dtype=float)
    figure = style.new_figure(_weight_alt(path, weights, index), dark, margin={"l": 52, "r": 130, "t": 16, "b": 44})
    peaks = style.peak_weights(weights, weights.shape[1])
    colours, named = style.kernel_colours(path.kernel_families, peaks, dark), style.largest(peaks)
    named = [m for m in named if peaks[m] > 0]
    rest = [m for m in range(weights.shape[1]) if m not in named]
    quiet = {"color": style.faded(style.theme(dark).grey), "width": 1}
    _kernel_lines(figure, path, weights, rest, quiet, "the other kernels")
    for m in named:
        _kernel_lines(figure, path, weights, [m], {"color": colours[m], "width": 2}, path.kernel_names[m])
    limits = -0.0105 * (float(peaks.max(initial=0.0)) or 1.0), 1.05 * (float(peaks.max(initial=0.0)) or 1.0)
    figure.layout.xaxis = parameter_axis(path, dark)
    figure.layout.yaxis = style.axis("weight θ", dark, range=list(limits), zeroline=True)
    last = int(np.argmax(path_positions(path)))
    ends = [style.EndLabel(style.short(path.kernel_names[m], 20), float(weights[last, m]), colours[m]) for m in named]
    style.label_ends(figure, ends, limits, dark)
    return _with_cursor(figure, path, index, dark)


def score_path(
    path: Any, index: int | None = None, *, test: Sequence[float] | None = None,
    references: Sequence[tuple[str, float]] = (), dark: bool = False,
) -> go.Figure:  # fmt: skip
    """Training (grey) and validation (dashed) score along the path, with a cursor at the ``index``-th value.

    ``test`` (L,), nan wherever it has not been asked for, is drawn as dots. Points not solved to tolerance are hollow.
    ``references``: scores of other models by name, as dotted lines; those far away are stated at the end of the scale.
    """
    if len(path.values) == 0:
        return style.empty_figure(NO_PATH, dark)
    tone, scores = style.theme(dark), _scores(path, test)
    figure = style.new_figure(_score_alt(path, scores, index, references), dark,
                              margin={"l": 52, "r": 88, "t": 16, "b": 44})  # fmt: skip
    order = np.argsort(path_positions(path), kind="stable")
    x, every, ends = path_positions(path)[order], list[float](), list[style.EndLabel]()
    looks = {
        "train": ("lines", tone.grey, "solid"),
        "validation": ("lines", tone.ink, "dash"),
        "test": ("lines+markers", tone.ink, "solid"),
    }
    for name, values in scores.items():
        mode, colour, dash = looks[name]
        figure.add_scatter(
            x=x, y=values[order], name=name, mode="markers" if len(order) == 1 else mode,
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"{name} {path.score_name} %{{y:.3f}} at {symbol(path.param)} = %{{x:.3g}}<extra></extra>",
        )  # fmt: skip
        known = values[order][np.isfinite(values[order])]
        ends.append(style.EndLabel(name, float(known[-1]), colour))
        every += known.tolist()
    short_of = ~solved(path)[order]
    if scores and short_of.any():
        figure.add_scatter(
            x=x[short_of], y=list(scores.values())[-1][order][short_of], name="not solved to tolerance", mode="markers",
            marker={"symbol": "circle-open", "size": 7, "color": tone.ink},
            hovertemplate="not solved to tolerance<extra></extra>",
        )  # fmt: skip
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    room = REACH * (high - low) or 0.05
    for name, value in references:
        if low - room <= value <= high + room:
            line = {"color": tone.grey, "width": 1, "dash": "dot"}
            figure.add_scatter(x=[x[0], x[-1]], y=[value, value], name=name, mode="lines", line=line,
                               hovertemplate=f"{name} {value:.3f}<extra></extra>")  # fmt: skip
            ends.append(style.EndLabel(name, value, tone.grey))
            every.append(value)
        else:
            label, end = f"{name} {'↓' if value < low else '↑'} {style.number(value)}", low if value < low else high
            ends.append(style.EndLabel(label, end, tone.grey))
    limits = style.around(every)
    figure.layout.xaxis = parameter_axis(path, dark)
    figure.layout.yaxis = style.axis(path.score_name, dark, range=list(limits))
    style.label_ends(figure, ends, limits, dark)
    return _with_cursor(figure, path, index, dark)


def gap_convergence(history: Sequence[Any], *, dark: bool = False) -> go.Figure:
    """Relative duality gap, as a percentage of the optimum, after every iteration of one fit.

    ``history`` holds records with ``iteration``, ``relative_gap``, ``solves`` and ``seconds``.
    """
    gaps = np.array([np.nan if r.relative_gap is None else float(r.relative_gap) for r in history])
    known = gaps[np.isfinite(gaps)]
    if not known.size:
        return style.empty_figure("This method has no certificate, so there is no gap to follow.", dark)
    alt = (
        f"Relative duality gap, on a logarithmic axis: {style.percent(known[0])} of the optimum at the start and "
        f"{style.percent(known[-1])} after {style.counted(history[-1].iteration, 'iteration')} and "
        f"{style.counted(history[-1].solves, 'machine solve')}."
    )
    shown = 100 * np.maximum(gaps, np.finfo(float).eps)
    figure = style.new_figure(alt, dark, margin={"l": 56, "r": 72, "t": 16, "b": 44})
    figure.add_scatter(
        x=[r.iteration for r in history], y=shown, name="relative gap", mode="lines+markers", marker={"size": 5},
        line={"color": style.theme(dark).ink, "width": 2}, customdata=[[r.solves, r.seconds] for r in history],
        hovertemplate="iteration %{x}: %{y:.2g} % of the optimum"
        "<br>%{customdata[0]} solves, %{customdata[1]:.1f} s<extra></extra>",
    )  # fmt: skip
    figure.layout.xaxis = style.axis("iteration", dark, tickformat="d", rangemode="tozero")
    figure.layout.yaxis = style.log_axis("gap, % of the optimum", shown, dark, pad=0.06, showgrid=True)
    return figure


def parameter_axis(path: Any, dark: bool) -> dict[str, Any]:
    """The axis of the path's own parameter."""
    title = AXIS_TITLES.get(path.param, path.param)
    if path.param == "s":
        return style.axis(title, dark, tickformat="d", showgrid=False)
    if path.param != "p":
        return style.log_axis(title, path_positions(path), dark)
    return norm_axis(path.values, title, NORM_TICKS, 0.09, dark)


def norm_axis(p: Any, title: str, all_ticks: Sequence[float], room: float, dark: bool) -> dict[str, Any]:
    """The axis of norms with those of ``all_ticks`` that are within, a share ``room`` of it apart, and ∞ at the end."""
    positions, finite = norm_positions(p), np.isfinite(np.asarray(p, dtype=float))
    ticks = [t for t in all_ticks if positions.min() <= t <= positions[finite].max(initial=1.0)]
    ticks = style.thinned(ticks, room * float(np.log(positions.max() / positions.min()) or 1.0))
    labels = [f"{t:g}" for t in ticks] + ([] if finite.all() else ["∞"])
    places = ticks + ([] if finite.all() else [float(positions[~finite][0])])
    return style.log_axis(title, positions, dark, tickvals=places, ticktext=labels)


def _kernel_lines(
    figure: go.Figure, path: Any, heights: Array, kernels: Sequence[int], line: dict[str, Any], name: str
) -> None:
    """The given kernels as one trace, and a dashed one where the path is not solved; gaps part the lines."""
    order = np.argsort(path_positions(path), kind="stable")
    positions, table = path_positions(path)[order].tolist(), heights[order].tolist()  # plotly would ask what each is
    for is_solved, runs in _stretches(solved(path)[order]).items():
        x, y, text = list[Any](), list[Any](), list[Any]()
        for m, (start, stop) in product(kernels, runs):
            x += [*positions[start:stop], None]
            y += [*(row[m] for row in table[start:stop]), None]
            text += [style.short(path.kernel_names[m], 60)] * (stop - start + 1)
        if x:
            where = f"{symbol(path.param)} = %{{x:.3g}}"
            unsure = "" if is_solved else "<br>not solved to tolerance"
            figure.add_scatter(
                x=x[:-1], y=y[:-1], text=text[:-1], name=name, mode="lines" if len(positions) > 1 else "markers",
                line={**line, "dash": "solid" if is_solved else "dash"},
                hovertemplate=f"%{{text}}<br>θ = %{{y:.3g}} at {where}{unsure}<extra></extra>",
            )  # fmt: skip


def _stretches(done: Mask) -> dict[bool, list[tuple[int, int]]]:
    """Runs [start, stop) of points joined by solved segments (True) and by the others (False).

    A segment is solved where both its ends are; runs share their end points, so the line has no holes.
    """
    segments = done[:-1] & done[1:] if len(done) > 1 else done
    edges = [0, *(np.flatnonzero(np.diff(segments.astype(int))) + 1).tolist(), len(segments)]
    runs: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for start, stop in pairwise(edges):
        runs[bool(segments[start])].append((start, min(stop + 1, len(done))))
    return runs


def _scores(path: Any, test: Sequence[float] | None) -> dict[str, Array]:
    """The scores that were measured anywhere on the path, by name."""
    candidates = {"train": path.train_score, "validation": path.val_score, "test": test}
    arrays = {name: np.asarray(scores, dtype=float) for name, scores in candidates.items() if scores is not None}
    return {name: scores for name, scores in arrays.items() if np.isfinite(scores).any()}


def _with_cursor(figure: go.Figure, path: Any, index: int | None, dark: bool) -> go.Figure:
    if index is not None:
        position = float(path_positions(path)[_checked(path, index)])
        figure.add_vline(position, name="cursor", line={"color": style.theme(dark).ink, "width": 1.5})
    return figure


def _checked(path: Any, index: int) -> int:
    if 0 <= index < len(path.values):
        return index
    raise ParameterError(
        f"The cursor is at index {index}, but the path has {len(path.values)} points. "
        f"Choose an index from 0 to {len(path.values) - 1}."
    )


def _extent(path: Any) -> str:
    values = np.asarray(path.values, dtype=float)
    return (
        f"along {symbol(path.param)} from {style.number(values.min())} to {style.number(values.max())} "
        f"({style.counted(len(values), 'solved point')})"
    )


def _weight_alt(path: Any, weights: Array, index: int | None) -> str:
    at = int(np.argmax(path_positions(path))) if index is None else _checked(path, index)
    used, provisional = int(np.count_nonzero(weights[at] > 0)), int((~solved(path)).sum())
    return (
        f"Weights of {style.counted(weights.shape[1], 'kernel')} {_extent(path)}. "
        f"At {symbol(path.param)} = {style.number(path.values[at])} the largest weights are "
        f"{leaders(weights[at], path.kernel_names)}; {style.counted(used, 'kernel')} "
        f"{'has' if used == 1 else 'have'} a positive weight."
        + (f" Dashed: {style.counted(provisional, 'point')} not solved to tolerance." if provisional else "")
    )


def _score_alt(path: Any, every: dict[str, Array], index: int | None, references: Sequence[tuple[str, float]]) -> str:
    sentences = []
    for name, scores in every.items():
        best = int(np.nanargmax(scores))
        at = f"{symbol(path.param)} = {style.number(path.values[best])}"
        here = "" if index is None else f", and {style.number(scores[_checked(path, index)])} at the cursor"
        sentences.append(f"The {name} {path.score_name} is highest, {style.number(scores[best])}, at {at}{here}.")
    listed = ", ".join(f"{name} {style.number(value)}" for name, value in references)
    beside = [f"Beside it, on the same rows: {listed}."] if listed else []
    return f"Scores {_extent(path)}. {' '.join([*(sentences or ['No score was measured.']), *beside])}"
