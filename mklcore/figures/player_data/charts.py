"""The player ``chart``: panels of lines and bars, among them weights and scores along a path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack, cast

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import captions, style
from mklcore.figures.axes import AxisJson, Scale, linear, named, norm_positions, parameter_axis

Numbers = list[float | None]

DIGITS = 4  # significant digits of every number that is drawn
LABEL_ROOM = 0.08  # least distance of two labels at line ends, as a share of a panel
# A reference further outside the scores than this share of their spread has no line.
REFERENCE_ROOM = 0.5
CURSOR = "path"  # name of the cursor of a path that stands alone


class LineOptions(TypedDict, total=False):
    """How a line looks: ``dash`` in pixels, a ``dot`` under the cursor, a sign ``mark`` along it.

    ``end`` is the height of the label where the line itself does not reach the right end.
    """

    width: float
    opacity: float
    dash: list[int]
    dot: bool
    mark: str
    end: float


class LineJson(LineOptions, total=False):
    """One line of a panel, or one bar that has a height at every point."""

    name: str
    ys: Numbers
    colour: str
    label: str
    label_colour: str
    label_at: float


class PanelOptions(TypedDict, total=False):
    """What a panel may have beside its lines.

    ``sure`` tells which points are solved to tolerance, ``marks`` is the certificate of every
    point, ``shade`` a part of the x axis, ``span`` the number of columns, ``method`` the number of
    the method whose path the panel follows, and ``note`` a text in the middle.
    """

    suffix: str
    sure: list[bool]
    marks: list[str]
    note: str
    bars: list[LineJson]
    span: int
    shade: list[float]
    method: int


class PanelJson(PanelOptions):
    """One panel: its axes, the places ``xs`` of its points from 0 to 1, and its lines."""

    title: str
    labels: list[str]
    x: AxisJson
    y: AxisJson
    xs: list[float]
    lines: list[LineJson]


class ChartOptions(TypedDict, total=False):
    """The layout of panels in rem, and for every step the point of each method (``points``)."""

    columns: int
    rows: list[float]
    left: float
    right: float
    gap: float
    wraps: float
    narrow: float
    points: list[list[int | None]]


class ChartJson(ChartOptions):
    """Panels of one figure that follow the cursor ``chart``; ``said`` is read out at its places."""

    chart: str
    figure: str
    panels: list[PanelJson]
    alt: str
    said: list[str]


# Any lines and bars


def rounded(values: Any) -> Numbers:
    """Numbers with four significant digits; None for numbers that are not finite."""
    numbers = np.asarray(values, dtype=float).ravel().tolist()
    return [float(f"{v:.{DIGITS}g}") if math.isfinite(v) else None for v in numbers]


def line(
    name: str,
    ys: Any,
    colour: str,
    dark: bool,
    *,
    label: str = "",
    **options: Unpack[LineOptions],
) -> LineJson:
    """One line of a panel, with a readable ``label`` at its right end."""
    drawn: LineJson = {"name": name, "ys": rounded(ys), "colour": colour, "width": 2}
    drawn.update(cast(LineJson, options))
    if label:
        drawn["label"] = label
        drawn["label_colour"] = style.readable(colour, dark, style.TEXT_CONTRAST)
    return drawn


def panel(
    x: Scale,
    y: Scale,
    lines: Sequence[LineJson],
    positions: Any = (),
    labels: Sequence[str] = (),
    *,
    title: str = "",
    **options: Unpack[PanelOptions],
) -> PanelJson:
    """A panel of ``lines`` over ``positions`` of the axis ``x``.

    Labels of lines are moved up or down where they would overlap.
    """
    xs = [x.at(float(position)) for position in positions]
    last = int(np.argmax(xs)) if xs else 0
    labelled = [line for line in lines if line.get("label")]
    ends = [y.at(line.get("end", line["ys"][last]) or 0.0) for line in labelled]
    places = style.spread(ends, LABEL_ROOM, 0.0, 1.0).tolist()
    for line, place in zip(labelled, places, strict=True):
        line["label_at"] = round(place, 4)
    defaults: PanelOptions = {"suffix": "", "sure": [True] * len(xs)}
    return {
        "title": title,
        "labels": list(labels),
        "x": x.to_json(),
        "y": y.to_json(),
        "xs": xs,
        "lines": list(lines),
        **defaults,
        **options,
    }


def bar_panel(
    title: str,
    axes: tuple[str, str],
    names: Sequence[str],
    table: Any,
    colours: Sequence[str],
    ticks: Sequence[str],
    labels: Sequence[str] = (),
    **options: Unpack[PanelOptions],
) -> PanelJson:
    """A panel with an upright bar per column of ``table`` (L, B), whose heights follow a slider."""
    values = np.asarray(table, dtype=float)
    bars: list[LineJson] = []
    for name, heights, colour in zip(names, values.T, colours, strict=True):
        bars.append({"name": name, "ys": rounded(heights), "colour": colour})
    y = linear(axes[1], 0.0, 1.05 * style.positive_or_one(values))
    drawn = panel(named(axes[0], ticks), y, [], labels=labels, title=title, **options)
    drawn["bars"] = bars
    return drawn


def chart(
    cursor: str,
    figure: str,
    panels: Sequence[PanelJson],
    alt: str,
    said: Sequence[str],
    **options: Unpack[ChartOptions],
) -> ChartJson:
    """Panels of one ``figure`` that follow a ``cursor``; ``said`` is read out at its places."""
    defaults: ChartOptions = {"columns": 1, "rows": [19], "left": 3.5, "right": 5.25, "gap": 0}
    return {
        "chart": cursor,
        "figure": figure,
        "panels": list(panels),
        "alt": alt,
        "said": list(said),
        **defaults,
        **options,
    }


# Weights and scores along a path


def path_panel(
    path: Any,
    x: Scale,
    y: Scale,
    lines: Sequence[LineJson],
    title: str = "",
) -> PanelJson:
    """A panel of lines over the points of a path."""
    labels = captions.point_labels(path)
    drawn = panel(x, y, lines, norm_positions(path.values), labels, title=title)
    drawn["sure"] = captions.solved(path).tolist()
    return drawn


def certificate_marks(path: Any) -> list[str]:
    """The certificate of every point: "sure", "open", or "none" where the method has none."""
    marks = ["sure" if ok else "open" for ok in captions.solved(path)]
    gaps = np.asarray(path.relative_gap, dtype=float)
    return ["none" if np.isnan(gap) else mark for gap, mark in zip(gaps, marks, strict=True)]


def path_colours(path: Any, peaks: Array, dark: bool) -> list[str]:
    """The colours of the kernels of a path, whose largest weights anywhere are ``peaks`` (M,)."""
    families = captions.families(path.kernel_names, path.kernel_families)
    return style.kernel_colours(families, peaks, dark)


def weight_lines(
    path: Any,
    weights: Array,
    peaks: Array,
    colours: Sequence[str],
    dark: bool,
    *,
    labels: Sequence[str] | None = None,
    glyphs: Sequence[str] | None = None,
) -> list[LineJson]:
    """One line per kernel of ``weights`` (L, M): the six with the largest ``peaks`` have colours.

    These six are drawn last, with their ``labels`` (M,) or ``glyphs`` (M,); the others are grey.
    """
    largest = [m for m in style.largest(peaks) if peaks[m] > 0]
    quiet = style.faded(style.theme(dark).grey)
    names = path.kernel_names
    others = [m for m in range(len(peaks)) if m not in largest]
    lines = [line(names[m], weights[:, m], quiet, dark, width=1) for m in others]
    for m in largest:
        label = labels[m] if labels else ""
        coloured = line(names[m], weights[:, m], colours[m], dark, label=label, width=2.25)
        if glyphs:
            coloured["mark"] = glyphs[m]
        lines.append(coloured)
    return lines


def weights_chart(
    path: Any, dark: bool, *, cursor: str = CURSOR, figure: str = "path_weights"
) -> ChartJson:
    """Kernel weights along the parameter of a path, with the certificate of every point."""
    weights = np.asarray(path.weights, dtype=float)
    n_kernels = weights.shape[1]
    peaks = style.peak_weights(weights, n_kernels)
    labels = style.cuts(captions.labels(path.kernel_names, path.kernel_families))
    lines = weight_lines(path, weights, peaks, path_colours(path, peaks, dark), dark, labels=labels)
    weights_panel = path_panel(
        path,
        parameter_axis(path),
        linear("weight θ", 0.0, 1.05 * style.positive_or_one(peaks)),
        lines,
        "Solution path",
    )
    weights_panel["marks"] = certificate_marks(path)
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
) -> ChartJson | None:
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
    grey = style.theme(dark).grey
    for name, value in references:
        if not math.isfinite(value):
            continue
        is_near = low - room <= value <= high + room
        label = name
        if is_near:
            measured.append(value)
        else:
            label += f" {'↓' if value < low else '↑'} {style.number(value)}"
        ys = np.full(len(path.values), value if is_near else np.nan)
        lines.append(
            line(
                name,
                ys,
                grey,
                dark,
                label=label,
                width=1,
                dash=[2, 3],
                dot=False,
                end=value,
            )
        )
    unit = "%" if path.score_name in captions.SHARES else ""
    scores_panel = path_panel(
        path,
        parameter_axis(path, captions.symbol(path.param)),
        linear("", *style.around(measured), unit),
        lines,
        path.score_name[:1].upper() + path.score_name[1:],
    )
    alt = captions.scores_alt(path, references)
    said = [captions.scores_said(path, k) for k in range(len(path.values))]
    return chart(cursor, figure, [scores_panel], alt, said, left=3.25)


def score_lines(path: Any, dark: bool) -> list[LineJson]:
    """The scores that were measured along a path, on training and on validation rows."""
    tone = style.theme(dark)
    lines = []
    for name, scores in captions.scores(path):
        if not np.isfinite(np.asarray(scores, dtype=float)).any():
            continue
        if name == "train":
            lines.append(line(name, scores, tone.grey, dark, label=name))
        else:
            lines.append(line(name, scores, tone.ink, dark, label=name, dash=[6, 4]))
    return lines
