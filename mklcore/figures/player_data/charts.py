"""The player ``chart``: panels of lines and bars, among them weights and scores along a path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import captions, style
from mklcore.figures.axes import Scale, linear, named, norm_positions, parameter_axis
from mklcore.figures.style import Json, Texts, floats

Numbers = list[float | None]

DIGITS = 4  # significant digits of every number that is drawn
LABEL_ROOM = 0.08  # least distance of two labels at line ends, as a share of a panel
# A reference further outside the scores than this share of their spread has no line.
REFERENCE_ROOM = 0.5
CURSOR = "path"  # name of the cursor of a path that stands alone


# Any lines and bars


def rounded(values: Any) -> Numbers:
    """Numbers with four significant digits; None for numbers that are not finite."""
    numbers = floats(values).ravel().tolist()
    return [float(f"{v:.{DIGITS}g}") if math.isfinite(v) else None for v in numbers]


def line(
    name: str,
    ys: Any,
    colour: str,
    dark: bool,
    *,
    label: str = "",
    **look: Any,
) -> Json:
    """One line of a panel, with a readable ``label`` at its right end.

    Its ``look`` has a ``width``, an ``opacity``, a ``dash`` in pixels, a ``dot`` under the cursor,
    a sign ``mark`` along it, and the height ``end`` of a label that the line itself does not reach.
    """
    drawn = {"name": name, "ys": rounded(ys), "colour": colour, "width": 2, **look}
    if label:
        drawn["label"] = label
        drawn["label_colour"] = style.readable(colour, dark, style.TEXT_CONTRAST)
    return drawn


def panel(
    x: Scale,
    y: Scale,
    lines: Sequence[Json],
    positions: Any = (),
    labels: Texts = (),
    **more: Any,
) -> Json:
    """A panel of ``lines`` over ``positions`` of the axis ``x``.

    Labels of lines are moved up or down where they would overlap. A panel may have ``more``: a
    ``title``, its ``bars``, which points are solved to tolerance (``sure``), the certificate of
    every point (``marks``), a part of the x axis as ``shade``, the number of columns that it takes
    (``span``), the ``method`` whose path it follows, and a ``note`` in its middle.
    """
    xs = [x.at(float(position)) for position in positions]
    last = int(np.argmax(xs)) if xs else 0
    labelled = [line for line in lines if line.get("label")]
    ends = [y.at(line.get("end", line["ys"][last]) or 0.0) for line in labelled]
    places = style.spread(ends, LABEL_ROOM, 0.0, 1.0).tolist()
    for line, place in zip(labelled, places, strict=True):
        line["label_at"] = round(place, 4)
    return {
        "title": "",
        "suffix": "",
        "labels": list(labels),
        "x": x.to_json(),
        "y": y.to_json(),
        "xs": xs,
        "lines": list(lines),
        "sure": [True] * len(xs),
        **more,
    }


def bar_panel(
    axes: tuple[str, str],
    names: Texts,
    table: Any,
    colours: Texts,
    ticks: Texts,
    **more: Any,
) -> Json:
    """A panel with an upright bar per column of ``table`` (L, B), whose heights follow a slider."""
    values = floats(table)
    bars = []
    for name, heights, colour in zip(names, values.T, colours, strict=True):
        bars.append({"name": name, "ys": rounded(heights), "colour": colour})
    y = linear(axes[1], 0.0, 1.05 * style.positive_or_one(values))
    return panel(named(axes[0], ticks), y, [], bars=bars, **more)


def chart(
    cursor: str,
    figure: str,
    panels: Sequence[Json],
    alt: str,
    said: Texts,
    **layout: Any,
) -> Json:
    """Panels of one ``figure`` that follow a ``cursor``; ``said`` is read out at its places.

    Sizes of the ``layout`` are in rem. Its ``points`` are the point of each method at every step.
    """
    return {
        "chart": cursor,
        "figure": figure,
        "panels": list(panels),
        "alt": alt,
        "said": list(said),
        "columns": 1,
        "rows": [19],
        "left": 3.5,
        "right": 5.25,
        "gap": 0,
        **layout,
    }


# Weights and scores along a path


def path_panel(
    path: Any,
    x: Scale,
    y: Scale,
    lines: Sequence[Json],
    **more: Any,
) -> Json:
    """A panel of lines over the points of a path."""
    labels = captions.point_labels(path)
    sure = captions.solved(path).tolist()
    return panel(x, y, lines, norm_positions(path.values), labels, sure=sure, **more)


def certificate_marks(path: Any) -> list[str]:
    """The certificate of every point: "sure", "open", or "none" where the method has none."""
    marks = np.where(captions.solved(path), "sure", "open")
    marks[np.isnan(floats(path.relative_gap))] = "none"
    names: list[str] = marks.tolist()
    return names


def path_colours(path: Any, peaks: Array, dark: bool) -> list[str]:
    """The colours of the kernels of a path, whose largest weights anywhere are ``peaks`` (M,)."""
    families = captions.families(path.kernel_names, path.kernel_families)
    return style.kernel_colours(families, peaks, dark)


def weight_lines(
    path: Any, weights: Array, peaks: Array, colours: Texts, dark: bool, **looks: Any
) -> list[Json]:
    """One line per kernel of ``weights`` (L, M): the six with the largest ``peaks`` have colours.

    These six are drawn last, with their entries of the ``looks`` ``label`` (M,) or ``mark`` (M,).
    The others are grey.
    """
    largest = [m for m in style.largest(peaks) if peaks[m] > 0]
    quiet = style.faded(style.theme(dark).grey)
    names = path.kernel_names
    others = [m for m in range(len(peaks)) if m not in largest]
    lines = [line(names[m], weights[:, m], quiet, dark, width=1) for m in others]
    for m in largest:
        own = {name: values[m] for name, values in looks.items()}
        lines.append(
            line(
                names[m],
                weights[:, m],
                colours[m],
                dark,
                width=2.25,
                **own,
            )
        )
    return lines


def weights_chart(
    path: Any, dark: bool, *, cursor: str = CURSOR, figure: str = "path_weights"
) -> Json:
    """Kernel weights along the parameter of a path, with the certificate of every point."""
    weights = floats(path.weights)
    n_kernels = weights.shape[1]
    peaks = style.peak_weights(weights, n_kernels)
    labels = style.cuts(captions.labels(path.kernel_names, path.kernel_families))
    colours = path_colours(path, peaks, dark)
    weights_panel = path_panel(
        path,
        parameter_axis(path),
        linear("weight θ", 0.0, 1.05 * style.positive_or_one(peaks)),
        weight_lines(path, weights, peaks, colours, dark, label=labels),
        title="Solution path",
        marks=certificate_marks(path),
    )
    alt = f"Weights of {style.counted(n_kernels, 'kernel')} {captions.along(path)}."
    said = [captions.weights_said(path, k) for k in range(len(path.values))]
    return chart(cursor, figure, [weights_panel], alt, said, right=8)


def scores_chart(
    path: Any,
    dark: bool,
    *,
    cursor: str = CURSOR,
    figure: str = "path_scores",
    references: Sequence[tuple[str, float]] = (),
) -> Json | None:
    """Training (grey) and validation (dashed) scores along a path; None where none was measured.

    ``references`` are scores of other models by name, drawn as dotted lines. One that is far away
    is written at the end of the scale instead.
    """
    lines = score_lines(path, dark)
    measured: list[float] = []
    for score_line in lines:
        measured += [y for y in score_line["ys"] if y is not None]
    if not measured:
        return None
    low = min(measured)
    high = max(measured)
    room = REFERENCE_ROOM * (high - low) or 0.05
    look = {"width": 1, "dash": [2, 3], "dot": False}
    for name, value in references:
        if not math.isfinite(value):
            continue
        label = name
        height = value
        if low - room <= value <= high + room:
            measured.append(value)
        else:
            label += f" {'↓' if value < low else '↑'} {style.number(value)}"
            height = math.nan
        ys = [height] * len(path.values)
        grey = style.theme(dark).grey
        lines.append(
            line(
                name,
                ys,
                grey,
                dark,
                label=label,
                end=value,
                **look,
            )
        )
    unit = "%" if path.score_name in captions.SHARES else ""
    scores_panel = path_panel(
        path,
        parameter_axis(path, captions.symbol(path.param)),
        linear("", *style.around(measured), unit),
        lines,
        title=path.score_name[:1].upper() + path.score_name[1:],
    )
    alt = captions.scores_alt(path, references)
    said = [captions.scores_said(path, k) for k in range(len(path.values))]
    return chart(cursor, figure, [scores_panel], alt, said, left=3.25)


def score_lines(path: Any, dark: bool) -> list[Json]:
    """The scores that were measured along a path, on training and on validation rows."""
    tone = style.theme(dark)
    looks: dict[str, Json] = {
        "train": {"colour": tone.grey},
        "validation": {"colour": tone.ink, "dash": [6, 4]},
    }
    lines = []
    for name, scores in captions.scores(path):
        if np.isfinite(floats(scores)).any():
            lines.append(line(name, scores, dark=dark, label=name, **looks[name]))
    return lines
