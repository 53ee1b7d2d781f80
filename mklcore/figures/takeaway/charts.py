"""Lines along a path as numbers for the player ``chart``, which draws them where there is no plotly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import captions, scenes, style
from mklcore.figures.paths import AXIS_TITLES, NORM_TICKS, path_positions, solved
from mklcore.figures.weights import leaders

DIGITS = 4  # of every number that is drawn
LABEL_ROOM = 0.078  # between two labels at line ends, as a share of a panel
PAD = 0.02  # of the axis, left and right of the path


def rounded(values: Any, digits: int = DIGITS) -> list[float | None]:
    """Numbers with that many significant digits, None for what is not finite."""
    return [float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in np.asarray(values, dtype=float).tolist()]


def axis_of(path: Any, title: str | None = None) -> scenes.Scale:
    """The axis of the path's own parameter."""
    named, places = AXIS_TITLES.get(path.param, path.param) if title is None else title, path_positions(path)
    low, high = float(places.min()), float(places.max())
    if path.param == "s":
        room = PAD * (high - low) or 0.5
        step = max(1, math.ceil((high - low) / 8))
        ticks = tuple((float(v), f"{v:g}") for v in np.arange(math.ceil(low), high + 1e-9, step))
        return scenes.Scale(named, low - room, high + room, ticks=ticks)
    room = (high / low) ** PAD if high > low else 2.0
    if path.param != "p":
        return scenes.logarithmic(named, low / room, high * room)
    finite = np.isfinite(np.asarray(path.values, dtype=float))
    last = float(places[finite].max(initial=1.0))
    ticks = tuple((t, f"{t:g}") for t in NORM_TICKS if low <= t <= last) + (() if finite.all() else ((high, "∞"),))
    return scenes.Scale(f"{named} (log scale)", low / room, high * room, log=True, ticks=ticks)


def places_of(path: Any, axis: scenes.Scale) -> list[float]:
    """Where the points of a path are on its axis, from 0 to 1."""
    return [round(axis.at(float(position)), 5) for position in path_positions(path)]


def labels_of(path: Any) -> list[str]:
    """What the points of a path are called: "C = 1.1"."""
    return [captions.label(path.param, float(value)) for value in path.values]


def panel_of(path: Any, x: scenes.Scale, y: scenes.Scale, lines: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A panel of lines along one path."""
    return {
        "suffix": "",
        "row": 0,
        "column": 0,
        "title": "",
        "x": x.drawn(),
        "y": {**y.drawn(), "low": y.low, "high": y.high},
        "xs": places_of(path, x),
        "sure": [bool(ok) for ok in solved(path)],
        "labels": labels_of(path),
        "lines": lines,
        **more,
    }


def marks_of(path: Any) -> list[str]:
    """Of every point whether it is certified: "sure", "open", or "none" where the method has no certificate."""
    gaps = np.asarray(path.relative_gap, dtype=float)
    return ["none" if np.isnan(g) else "sure" if ok else "open" for g, ok in zip(gaps, solved(path), strict=True)]


def weight_lines(path: Any, weights: Array, peaks: Array, dark: bool) -> list[dict[str, Any]]:
    """One line per kernel, ``weights`` (L, M): the six with the largest ``peaks`` (M,) coloured and named, the others
    grey.
    """
    colours = style.kernel_colours(path.kernel_families, peaks, dark)
    named = [m for m in style.largest(peaks) if peaks[m] > 0]
    quiet = style.faded(style.theme(dark).grey)
    rest = [m for m in range(weights.shape[1]) if m not in named]
    return [
        {
            "name": path.kernel_names[m],
            "ys": rounded(weights[:, m]),
            "colour": colours[m] if m in named else quiet,
            "width": 2.25 if m in named else 1,
        }
        for m in (*rest, *named)
    ]


def labelled(
    lines: list[dict[str, Any]],
    texts: dict[str, str],
    y: scenes.Scale,
    path: Any,
    hues: dict[str, str],
    room: float = LABEL_ROOM,
) -> list[dict[str, Any]]:
    """The lines with a label at their right ends, moved up or down where two would overlap."""
    last = int(np.argmax(path_positions(path)))
    named = [line for line in lines if line["name"] in texts and line["ys"][last] is not None]
    places = style.spread([y.at(line["ys"][last]) for line in named], room, 0.0, 1.0)
    for line, place in zip(named, places, strict=True):
        line |= {
            "label": texts[line["name"]],
            "label_at": round(float(place), 4),
            "label_colour": hues[line["name"]],
        }
    return lines


def weights_chart(path: Any, dark: bool, *, chart: str, figure: str) -> dict[str, Any]:
    """The solution path: kernel weights along the parameter, with a mark for the certificate of every point."""
    weights = np.asarray(path.weights, dtype=float)
    peaks = style.peak_weights(weights, weights.shape[1])
    top = 1.05 * (float(peaks.max(initial=0.0)) or 1.0)
    x, y = axis_of(path), scenes.linear("weight θ", 0.0, top)
    lines = weight_lines(path, weights, peaks, dark)
    short = captions.labels(path.kernel_names, path.kernel_families)
    named = [m for m in style.largest(peaks) if peaks[m] > 0]
    texts = {path.kernel_names[m]: style.cut(short[m]) for m in named}
    hues = {line["name"]: style.readable(line["colour"], dark, style.TEXT_CONTRAST) for line in lines[-len(named) :]}
    panel = panel_of(path, x, y, labelled(lines, texts, y, path, hues), marks=marks_of(path), title="Solution path")
    return {
        "chart": chart,
        "figure": figure,
        "columns": 1,
        "rows": [19],
        "left": 3.5,
        "right": 8,
        "gap": 0,
        "panels": [panel],
        "alt": f"Weights of {style.counted(weights.shape[1], 'kernel')} along {captions.symbol(path.param)}.",
        "said": [_weights_said(path, weights[k], k) for k in range(len(path.values))],
    }


def _weights_said(path: Any, weights: Array, index: int) -> str:
    gap = float(path.relative_gap[index])
    sure = "no certificate" if np.isnan(gap) else f"within {style.percent(gap)} of the optimum"
    if not path.statuses[index].ok:
        sure = "not solved to tolerance"
    largest = leaders(weights, path.kernel_names) if np.any(weights > 0) else "none above 0"
    return f"At {captions.label(path.param, float(path.values[index]))}: the largest weights are {largest}; {sure}."


def scores_chart(
    path: Any, dark: bool, *, chart: str, figure: str, references: Iterable[tuple[str, float]] = ()
) -> dict[str, Any] | None:
    """Training (grey) and validation (dashed) score along the path; None where none was measured.

    ``references``: scores of other models by name, as dotted lines.
    """
    lines, ends = score_lines(path, dark, list(references))
    known = [value for line in lines for value in line["ys"] if value is not None]
    if not known:
        return None
    x, y = axis_of(path, captions.symbol(path.param)), score_axis(path.score_name, *style.around(known))
    title = f"{path.score_name[:1].upper()}{path.score_name[1:]}"
    panel = panel_of(path, x, y, labelled(lines, dict(zip(ends, ends, strict=True)), y, path, ends), title=title)
    return {
        "chart": chart, "figure": figure, "columns": 1, "rows": [19], "left": 3.25, "right": 5.25, "gap": 0,
        "panels": [panel],
        "alt": f"Scores along {captions.symbol(path.param)}: {path.score_name}.",
        "said": [_scores_said(path, k) for k in range(len(path.values))],
    }  # fmt: skip


def score_axis(name: str, low: float, high: float, title: str = "") -> scenes.Scale:
    """The axis of a score; shares of rows are ticked as percentages."""
    if name not in captions.SHARES:
        return scenes.linear(title, low, high)
    ticks = scenes.linear(title, 100 * low, 100 * high).ticks
    return scenes.Scale(title, low, high, ticks=tuple((value / 100, f"{text} %") for value, text in ticks))


def score_lines(
    path: Any, dark: bool, references: Sequence[tuple[str, float]]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The lines and, by name, the colours of their labels."""
    tone = style.theme(dark)
    looks: tuple[tuple[str, Any, str, list[int]], ...] = (
        ("train", path.train_score, tone.grey, []),
        ("validation", path.val_score, tone.ink, [6, 4]),
    )
    lines = [
        {"name": name, "ys": rounded(scores), "colour": colour, "width": 2, "dash": dash}
        for name, scores, colour, dash in looks
        if np.isfinite(np.asarray(scores, dtype=float)).any()
    ]
    lines += [
        {"name": name, "ys": rounded(np.full(len(path.values), value)), "colour": tone.grey, "width": 1, "dash": [2, 3],
         "dot": False}
        for name, value in references
        if math.isfinite(value)
    ]  # fmt: skip
    hues = {str(line["name"]): style.readable(str(line["colour"]), dark, style.TEXT_CONTRAST) for line in lines}
    return lines, hues


def _scores_said(path: Any, index: int) -> str:
    parts = (("train", path.train_score), ("validation", path.val_score))
    listed = [f"{part} {captions.score(path.score_name, float(scores[index]))}" for part, scores in parts]
    return f"At {captions.label(path.param, float(path.values[index]))}: {', '.join(listed)}."
