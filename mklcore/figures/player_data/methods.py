"""Several paths side by side: the players ``compare`` (their slider), ``chart`` and ``methods``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.axes import Scale, linear, parameter_axis
from mklcore.figures.player_data.bars import (
    by_part,
    heights,
    kernel_bars,
    largest_first,
    shares_of,
)
from mklcore.figures.player_data.charts import (
    certificate_marks,
    chart,
    panel,
    path_panel,
    score_lines,
    weight_lines,
)
from mklcore.figures.player_data.sliders import SharedSlider
from mklcore.figures.style import Json, Texts

N_BARS = 9
NAME_LENGTH = 24  # letters in the widest column of names


@dataclass(frozen=True)
class MethodView:
    """A method by its title, with its ``path``, or a ``note`` that says why there is none."""

    title: str
    path: Any = None
    note: str = ""


def peak_shares(paths: Sequence[Any]) -> Array:
    """The largest share of each kernel (M,) anywhere on ``paths``, which sets order and colours.

    Raises ``ParameterError`` where the paths have different kernels.
    """
    if not paths:
        return np.zeros(0)
    if any(path.kernel_names != paths[0].kernel_names for path in paths):
        raise ParameterError(
            "Methods are compared over the same kernels only. Use one dictionary for all of them."
        )
    shares = [shares_of(path.weights) for path in paths]
    peaks: Array = np.concatenate(shares).max(axis=0)
    return peaks


def methods_json(
    methods: Sequence[MethodView],
    slider: SharedSlider,
    *,
    dark: bool,
    step: int = 0,
    cursor: str = "methods",
) -> Json:
    """All players of several paths, by their places: "lead" (the slider), "chart" and "methods".

    The slider begins at ``step``. Raises ``ParameterError`` where the paths have different kernels.
    """
    paths = [method.path for method in methods if method.path is not None]
    score = paths[0].score_name if paths else "score"
    peaks = peak_shares(paths)
    shown = largest_first(peaks, N_BARS)
    colours = style.distinct_colours(peaks, dark)
    glyphs = style.distinct_glyphs(peaks)
    panels = _panels(methods, paths, score, peaks, colours, glyphs, dark)
    drawn = []
    for method, weights_panel in zip(methods, panels, strict=False):
        drawn.append(_method(method, shown, weights_panel["xs"]))
    bars = kernel_bars(paths[0], shown, colours, NAME_LENGTH, dark) if paths else []
    marks = style.chosen(glyphs, shown)
    most = [np.max(method["weights"]) for method in drawn if method["weights"]]
    names = (
        "at",
        f"validation {score}",
        f"train {score}",
        "kernels used",
        "certificate",
        "solves, time",
    )
    return {
        "lead": _lead(cursor, drawn, slider, step),
        "chart": _chart(cursor, panels, drawn, slider),
        "methods": {
            "chart": cursor,
            "facts": list(names),
            **by_part(bars),
            "marks": marks + [""] * (len(bars) - len(shown)),
            "methods": drawn,
            "most": style.positive_or_one(most),
        },
    }


def _lead(cursor: str, methods: Sequence[Json], slider: SharedSlider, step: int) -> Json:
    """The slider; its ``place`` is a step, or where it is ``free`` the best point of each."""
    steps = []
    for label, position, places in zip(slider.labels, slider.positions, slider.places, strict=True):
        steps.append({"label": label, "value": position, "places": list(places)})
    shown = []
    for method in methods:
        positions = method["positions"]
        shown.append({"title": method["title"], "positions": positions, "whole": method["whole"]})
    begin = steps[step]
    return {
        "chart": cursor,
        "methods": shown,
        "sign": captions.symbol(slider.shared),
        "steps": steps,
        "place": {"step": step, "free": False, "places": begin["places"], "label": begin["label"]},
        "turn": 1,
    }


def _chart(
    cursor: str, panels: Sequence[Json], methods: Sequence[Json], slider: SharedSlider
) -> Json:
    said = []
    for points in slider.indices:
        sentences = []
        for method, point in zip(methods, points, strict=True):
            if point is not None:
                sentences.append(f"{method['title']}: {', '.join(method['facts'][point])}")
        said.append("; ".join(sentences))
    count = style.counted(len(methods), "method")
    return chart(
        cursor,
        cursor,
        panels,
        f"{count} side by side: shares of weight above, scores below.",
        said,
        points=list(map(list, slider.indices)),
        rows=[12.5, 10.5],
        left=9.5,
        narrow=3,
        gap=1.5,
        columns=max(len(methods), 1),
    )


# Panels


def _panels(
    methods: Sequence[MethodView],
    paths: Sequence[Any],
    score: str,
    peaks: Array,
    colours: Texts,
    glyphs: Texts,
    dark: bool,
) -> list[Json]:
    """A panel of shares of weight for each method, then a panel of scores for each.

    All panels of a row share their upright axis, which is written to the left of the first.
    """
    shares_axis = linear("share of weight", 0.0, 1.05 * style.positive_or_one(peaks), "%")
    values: list[float] = []
    for path in paths:
        values += [*path.train_score, *path.val_score]
    unit = "%" if score in captions.SHARES else ""
    scores_axis = linear(score, *style.around(values), unit)
    above = []
    below = []
    for k, method in enumerate(methods):
        if k == 1:
            shares_axis = _unlabelled(shares_axis)
            scores_axis = _unlabelled(scores_axis)
        path = method.path
        if path is None:
            bare = Scale("", 0.0, 1.0)
            top = panel(bare, shares_axis, [], note=method.note)
            bottom = panel(bare, scores_axis, [])
        else:
            x = parameter_axis(path, captions.symbol(path.param))
            shares = shares_of(path.weights)
            lines = weight_lines(path, shares, peaks, colours, dark, mark=glyphs)
            top = path_panel(path, replace(x, title="", ticks=()), shares_axis, lines)
            lines = score_lines(path, dark)
            for line in lines:
                line["dot"] = True
                if path is not paths[-1]:
                    line["label"] = ""
            marks = certificate_marks(path)
            bottom = path_panel(path, x, scores_axis, lines, marks=marks)
        suffix = str(2 * k + 1) if k else ""
        above.append(top | {"title": method.title, "suffix": suffix, "method": k})
        below.append(bottom | {"suffix": str(2 * k + 2), "method": k})
    return above + below


def _unlabelled(axis: Scale) -> Scale:
    return replace(axis, title="", ticks=tuple((value, "") for value, _ in axis.ticks))


# The table below


def _method(method: MethodView, shown: Sequence[int], positions: Sequence[float]) -> Json:
    """A method in the table: facts and weights (L, B) at the ``positions`` of points.

    ``whole`` tells that the slider cannot stand between two points, ``hollow`` which points are not
    solved to tolerance.
    """
    path = method.path
    if path is None:
        empty: Json = {name: [] for name in ("positions", "facts", "hollow", "weights")}
        return empty | {"title": method.title, "note": method.note, "whole": False}
    return {
        "title": method.title,
        "note": "",
        "whole": path.param == "s",
        "positions": list(positions),
        "facts": [_facts(path, k) for k in range(len(path.values))],
        "hollow": (~captions.solved(path)).tolist(),
        "weights": np.round(heights(shares_of(path.weights), shown), 5).tolist(),
    }


def _facts(path: Any, index: int) -> list[str]:
    """Place, scores, size, certificate and cost of a point, in the order of the table."""
    gap = float(path.relative_gap[index])
    if np.isnan(gap):
        certificate = "○ none for this method"
    elif path.statuses[index].ok:
        certificate = f"● within {style.percent(gap)}"
    else:
        certificate = f"○ open, gap {style.percent(gap)}"
    return [
        captions.label(path.param, float(path.values[index])),
        captions.score(path.score_name, float(path.val_score[index])),
        captions.score(path.score_name, float(path.train_score[index])),
        f"{int(path.n_nonzero[index])} of {len(path.kernel_names)}",
        certificate,
        f"{int(path.solves[index])}, {captions.seconds(float(path.seconds[index]))}",
    ]
