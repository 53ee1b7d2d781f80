"""Pictures along a path: kernel weights, scores, and how the gap closes.

Every path figure reads a ``Path`` by its fields alone: ``param``, ``values`` (L,), ``weights`` (L, M), ``statuses``,
``train_score``, ``val_score``, ``score_name``, ``kernel_names``, ``kernel_families``. A line is solid between two
points solved to tolerance and dashed elsewhere: what is not certain is drawn, and seen to be so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
LABEL_ROOM = 130
REACH = 0.5  # of the spread of the scores, by which a reference may be outside and still have its line
SAME = 0.02  # of that spread: references nearer to each other share a label


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


def measured_scores(paths: Sequence[Any]) -> list[float]:
    """Every training and validation score of some paths."""
    return [float(value) for path in paths for scores in (path.train_score, path.val_score) for value in scores]


def weight_path(path: Any, index: int | None = None, *, dark: bool = False) -> go.Figure:
    """Kernel weights θ along the path, one line per kernel, with a cursor at the ``index``-th value.

    The six kernels largest anywhere on the path are drawn in their colours and named at the line's end; the rest step
    back to grey. Raises ``ParameterError`` for an index outside the path.
    """
    if len(path.values) == 0:
        return style.empty_figure("No path yet. Choose a range and press Compute.", dark)
    figure = style.new_figure(_weight_alt(path, index), dark, margin={"l": 52, "r": LABEL_ROOM, "t": 16, "b": 44})
    _draw_weights(figure, path, dark, "")
    _draw_cursor(figure, path, index, dark)
    return figure


def score_path(
    path: Any,
    index: int | None = None,
    *,
    test: Sequence[float] | None = None,
    dark: bool = False,
    narrow: bool = False,
    references: Sequence[tuple[str, float]] = (),
) -> go.Figure:
    """Training (grey) and validation (dashed) score along the path, with a cursor at the ``index``-th value.

    ``test`` (L,), nan wherever it has not been asked for, is drawn as dots. Points not solved to tolerance are hollow.
    ``narrow`` saves room for a small place: few ticks, and the score's name is left to a title beside the figure.
    ``references``: scores of other models by name, as dotted lines; those far away are stated beside the end of the
    scale.
    """
    if len(path.values) == 0:
        return style.empty_figure("No path yet. Choose a range and press Compute.", dark)
    alt = f"{_score_alt(path, index, test)}{_references_alt(references)}"
    figure = style.new_figure(alt, dark, margin={"l": 52, "r": 72, "t": 16, "b": 44})
    _draw_scores(figure, path, dark, "", test, references)
    _draw_cursor(figure, path, index, dark)
    if narrow:
        ticks = figure.layout.xaxis.tickvals or ()
        step = max(1, -(-len(ticks) // 3))
        if ticks:
            figure.update_xaxes(tickvals=ticks[::step], ticktext=figure.layout.xaxis.ticktext[::step])
        scale = " (log scale)" if figure.layout.xaxis.type == "log" else ""
        figure.update_xaxes(tickangle=0, title_text=f"{symbol(path.param)}{scale}")
        figure.update_yaxes(title_text=None)
        figure.update_layout(margin_l=36, margin_r=62)
    return figure


def gap_convergence(history: Sequence[Any], *, dark: bool = False) -> go.Figure:
    """Relative duality gap, as a percentage of the optimum, after every iteration of one fit.

    ``history`` holds records with ``iteration``, ``relative_gap``, ``solves`` and ``seconds``.
    """
    gaps = np.array([np.nan if r.relative_gap is None else float(r.relative_gap) for r in history])
    if not np.isfinite(gaps).any():
        return style.empty_figure("This method has no certificate, so there is no gap to follow.", dark)
    shown = 100 * np.maximum(gaps, np.finfo(float).eps)
    tone, rounds = style.theme(dark), [r.iteration for r in history]
    figure = style.new_figure(_gap_alt(gaps, history), dark, margin={"l": 56, "r": 72, "t": 16, "b": 44})
    figure.add_scatter(
        x=rounds,
        y=shown,
        name="relative gap",
        mode="lines+markers",
        line={"color": tone.ink, "width": 2},
        marker={"size": 5},
        customdata=[[r.solves, r.seconds] for r in history],
        hovertemplate="iteration %{x}: %{y:.2g} % of the optimum"
        "<br>%{customdata[0]} solves, %{customdata[1]:.1f} s<extra></extra>",
    )
    figure.layout.xaxis = style.axis("iteration", dark, tickformat="d", rangemode="tozero")
    figure.layout.yaxis = style.log_axis("gap, % of the optimum", shown, dark, pad=0.06, showgrid=True)
    return figure


# Drawing


def _draw_weights(figure: go.Figure, path: Any, dark: bool, axes: str) -> None:
    weights = np.asarray(path.weights, dtype=float)
    peaks = style.peak_weights(weights, weights.shape[1])
    colours = style.kernel_colours(path.kernel_families, peaks, dark)
    named = [m for m in style.largest(peaks) if peaks[m] > 0]
    rest = [m for m in range(weights.shape[1]) if m not in named]
    grey = style.faded(style.theme(dark).grey)
    drawn = [("the other kernels", rest, {"color": grey, "width": 1})]
    drawn += [(path.kernel_names[m], [m], {"color": colours[m], "width": 2}) for m in named]
    for name, kernels, line in drawn:
        for trace in kernel_lines(path, weights, kernels, line, "θ = %{y:.3g}"):
            figure.add_scatter(name=name, xaxis=f"x{axes}", yaxis=f"y{axes}", **trace)
    top = 1.05 * (float(peaks.max(initial=0.0)) or 1.0)
    figure.update_layout(
        {
            f"xaxis{axes}": _parameter_axis(path, dark),
            f"yaxis{axes}": style.axis("weight θ", dark, range=[-0.01 * top, top], zeroline=True),
        }
    )
    last = int(np.argmax(path_positions(path)))
    ends = [style.EndLabel(style.short(path.kernel_names[m], 20), float(weights[last, m]), colours[m]) for m in named]
    style.label_ends(figure, ends, (-0.01 * top, top), dark, axes)


def kernel_lines(
    path: Any, heights: Array, kernels: Sequence[int], line: dict[str, Any], said: str
) -> Iterator[dict[str, Any]]:
    """The given kernels as one trace, and a dashed one where the path is not solved; gaps part the lines.

    ``heights`` (L, M) with what is ``said`` of each on hover. Numbers of Python: plotly asks what each other one is.
    """
    order = np.argsort(path_positions(path), kind="stable")
    positions, table = path_positions(path)[order].tolist(), heights[order].tolist()
    for is_solved, runs in stretches(solved(path)[order]).items():
        x, y, text = list[Any](), list[Any](), list[Any]()
        for m, (start, stop) in product(kernels, runs):
            x += [*positions[start:stop], None]
            y += [*(row[m] for row in table[start:stop]), None]
            text += [style.short(path.kernel_names[m], 60)] * (stop - start + 1)
        if x:
            yield {
                "x": x[:-1],
                "y": y[:-1],
                "text": text[:-1],
                "mode": "lines" if len(positions) > 1 else "markers",
                "line": {**line, "dash": "solid" if is_solved else "dash"},
                "meta": {"solved": is_solved, "kernels": list(kernels)},
                "hovertemplate": f"%{{text}}<br>{said} at {symbol(path.param)} = %{{x:.3g}}"
                + ("" if is_solved else "<br>not solved to tolerance")
                + "<extra></extra>",
            }


def stretches(done: Mask) -> dict[bool, list[tuple[int, int]]]:
    """Runs [start, stop) of points joined by solved segments (True) and by the others (False).

    A segment is solved where both its ends are; runs share their end points, so the line has no holes.
    """
    if len(done) == 1:
        return {True: [(0, 1)] if done[0] else [], False: [] if done[0] else [(0, 1)]}
    segments = done[:-1] & done[1:]
    breaks = np.flatnonzero(np.diff(segments.astype(int))) + 1
    edges = [0, *(int(b) for b in breaks), len(segments)]
    runs: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for start, stop in pairwise(edges):
        runs[bool(segments[start])].append((start, stop + 1))
    return runs


def _draw_scores(
    figure: go.Figure, path: Any, dark: bool, axes: str, test: Sequence[float] | None,
    references: Sequence[tuple[str, float]] = (),
) -> None:  # fmt: skip
    tone = style.theme(dark)
    looks = {
        "train": ("lines", tone.grey, "solid"),
        "validation": ("lines", tone.ink, "dash"),
        "test": ("lines+markers", tone.ink, "solid"),
    }
    positions = path_positions(path)
    order = np.argsort(positions, kind="stable")
    ends: list[style.EndLabel] = []
    every: list[float] = []
    for name, scores in _scores(path, test).items():
        y = scores[order]
        mode, colour, dash = looks[name]
        figure.add_scatter(
            x=positions[order],
            y=y,
            name=name,
            mode="markers" if len(order) == 1 else mode,
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"{name} {path.score_name} %{{y:.3f}} at {symbol(path.param)} = %{{x:.3g}}<extra></extra>",
            xaxis=f"x{axes}",
            yaxis=f"y{axes}",
        )
        known = y[np.isfinite(y)]
        ends.append(style.EndLabel(name, float(known[-1]), colour))
        every += known.tolist()
    _mark_provisional(figure, path, dark, axes)
    ends += _draw_references(figure, references, every, positions, dark, axes)
    limits = style.around(every)
    figure.update_layout(
        {
            f"xaxis{axes}": _parameter_axis(path, dark),
            f"yaxis{axes}": style.axis(path.score_name, dark, range=list(limits)),
        }
    )
    style.label_ends(figure, ends, limits, dark, axes)


def _references_alt(references: Sequence[tuple[str, float]]) -> str:
    listed = ", ".join(f"{name} {style.number(value)}" for name, value in references)
    return f" Beside it, on the same rows: {listed}." if listed else ""


def _draw_references(
    figure: go.Figure,
    references: Sequence[tuple[str, float]],
    every: list[float],
    positions: Array,
    dark: bool,
    axes: str,
) -> list[style.EndLabel]:
    """Dotted lines for the scores of other models; ``every`` score that is drawn grows by theirs.

    Far ones become words.
    """
    tone, far = style.theme(dark), {"↓": list[str](), "↑": list[str]()}
    ends: list[style.EndLabel] = []
    shared: dict[int, int] = {}
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    room = REACH * (high - low) or 0.05
    for name, value in references:
        if not low - room <= value <= high + room:
            arrow = "↓" if value < low else "↑"
            far[arrow].append(f"{name}<br>{arrow} {style.number(value)}")
            continue
        every.append(value)
        near = next((k for k, end in enumerate(ends) if abs(end.y - value) <= SAME * (high - low)), None)
        if near is not None:  # two lines and two labels on one place could not be read
            shared[near] = shared.get(near, 1) + 1
            ends[near] = replace(ends[near], text=f"{shared[near]} models")
        figure.add_scatter(
            x=[float(np.min(positions)), float(np.max(positions))],
            y=[value, value],
            name=name,
            mode="lines",
            line={"color": tone.grey, "width": 1, "dash": "dot"},
            hovertemplate=f"{name} {value:.3f}<extra></extra>",
            xaxis=f"x{axes}",
            yaxis=f"y{axes}",
        )
        if near is None:
            ends.append(style.EndLabel(name, value, tone.grey))
    for arrow, label in far.items():
        if label:  # beside the end of the axis that they are beyond, where no curve is
            below = arrow == "↓"
            figure.add_annotation(
                style.words(
                    "<br>".join(label),
                    tone.muted,
                    name="far",
                    x=1.0,
                    xref=f"x{axes} domain",
                    xanchor="left",
                    xshift=6,
                    align="left",
                    y=0 if below else 1,
                    yref=f"y{axes} domain",
                    yanchor="top" if below else "bottom",
                    yshift=-8 if below else 8,
                )
            )
            side = "b" if below else "t"
            figure.layout.margin[side] = max(figure.layout.margin[side], 12 + 2 * style.LABEL_GAP * len(label))
    return ends


def _scores(path: Any, test: Sequence[float] | None) -> dict[str, Array]:
    """The scores that were measured anywhere on the path, by name."""
    candidates = {"train": path.train_score, "validation": path.val_score, "test": test}
    arrays = {name: np.asarray(scores, dtype=float) for name, scores in candidates.items() if scores is not None}
    return {name: scores for name, scores in arrays.items() if np.isfinite(scores).any()}


def _mark_provisional(figure: go.Figure, path: Any, dark: bool, axes: str) -> None:
    open_points = ~solved(path)
    scores = list(_scores(path, None).values())
    if not scores or not open_points.any():
        return
    figure.add_scatter(
        x=path_positions(path)[open_points],
        y=scores[-1][open_points],
        name="not solved to tolerance",
        mode="markers",
        marker={"symbol": "circle-open", "size": 7, "color": style.theme(dark).ink},
        hovertemplate="not solved to tolerance<extra></extra>",
        xaxis=f"x{axes}",
        yaxis=f"y{axes}",
    )


def _parameter_axis(path: Any, dark: bool) -> dict[str, Any]:
    title, positions = AXIS_TITLES.get(path.param, path.param), path_positions(path)
    if path.param == "s":
        return style.axis(title, dark, tickformat="d", showgrid=False)
    if path.param != "p":
        return style.log_axis(title, positions, dark)
    return norm_axis(path.values, title, NORM_TICKS, 0.09, dark)


def norm_axis(p: Any, title: str, all_ticks: Sequence[float], room: float, dark: bool, **more: Any) -> dict[str, Any]:
    """The axis of norms with those of ``all_ticks`` that are within, a share ``room`` of it apart, and ∞ at the end."""
    positions, finite = norm_positions(p), np.isfinite(np.asarray(p, dtype=float))
    ticks = [t for t in all_ticks if positions.min() <= t <= positions[finite].max(initial=1.0)]
    ticks = style.thinned(ticks, room * float(np.log(positions.max() / positions.min()) or 1.0))
    labels = [f"{t:g}" for t in ticks] + ([] if finite.all() else ["∞"])
    places = ticks + ([] if finite.all() else [float(positions[~finite][0])])
    return style.log_axis(title, positions, dark, tickvals=places, ticktext=labels, **more)


def _draw_cursor(figure: go.Figure, path: Any, index: int | None, dark: bool) -> None:
    if index is None:
        return
    position = float(path_positions(path)[_checked(path, index)])
    figure.add_vline(position, name="cursor", line={"color": style.theme(dark).ink, "width": 1.5})


def _checked(path: Any, index: int) -> int:
    if 0 <= index < len(path.values):
        return index
    raise ParameterError(
        f"The cursor is at index {index}, but the path has {len(path.values)} points. "
        f"Choose an index from 0 to {len(path.values) - 1}."
    )


# Words


def _extent(path: Any) -> str:
    values = np.asarray(path.values, dtype=float)
    return (
        f"along {symbol(path.param)} from {style.number(values.min())} to {style.number(values.max())} "
        f"({style.counted(len(values), 'solved point')})"
    )


def _weight_alt(path: Any, index: int | None) -> str:
    weights = np.asarray(path.weights, dtype=float)
    at = int(np.argmax(path_positions(path))) if index is None else _checked(path, index)
    used, provisional = int(np.count_nonzero(weights[at] > 0)), int((~solved(path)).sum())
    return (
        f"Weights of {style.counted(weights.shape[1], 'kernel')} {_extent(path)}. "
        f"At {symbol(path.param)} = {style.number(path.values[at])} the largest weights are "
        f"{leaders(weights[at], path.kernel_names)}; {style.counted(used, 'kernel')} "
        f"{'has' if used == 1 else 'have'} a positive weight."
        + (f" Dashed: {style.counted(provisional, 'point')} not solved to tolerance." if provisional else "")
    )


def _score_alt(path: Any, index: int | None, test: Sequence[float] | None) -> str:
    sentences = []
    for name, scores in _scores(path, test).items():
        best = int(np.nanargmax(scores))
        at = f"{symbol(path.param)} = {style.number(path.values[best])}"
        sentence = f"The {name} {path.score_name} is highest, {style.number(scores[best])}, at {at}"
        if index is not None:
            sentence += f", and {style.number(scores[_checked(path, index)])} at the cursor"
        sentences.append(f"{sentence}.")
    return f"Scores {_extent(path)}. " + (" ".join(sentences) or "No score was measured.")


def _gap_alt(gaps: Array, history: Sequence[Any]) -> str:
    known = gaps[np.isfinite(gaps)]
    return (
        f"Relative duality gap, on a logarithmic axis: {style.percent(known[0])} of the optimum at the start and "
        f"{style.percent(known[-1])} after {style.counted(history[-1].iteration, 'iteration')} and "
        f"{style.counted(history[-1].solves, 'machine solve')}."
    )
