"""Several paths side by side: the players ``compare`` (their slider), ``chart`` and ``methods``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.axes import Scale, linear, parameter_axis
from mklcore.figures.player_data.bars import heights, kernel_bars, largest_first, shares_of
from mklcore.figures.player_data.charts import (
    ChartJson,
    PanelJson,
    certificate_marks,
    chart,
    panel,
    path_panel,
    score_lines,
    weight_lines,
)
from mklcore.figures.player_data.sliders import SharedSlider

N_BARS = 9
NAME_LENGTH = 24  # letters in the widest column of names


@dataclass(frozen=True)
class MethodView:
    """A method by its title, with its ``path``, or a ``note`` that says why there is none."""

    title: str
    path: Any = None
    note: str = ""


class MethodJson(TypedDict):
    """A method in the player ``methods``: facts and weights (L, B) at the ``positions`` of points.

    ``whole`` tells that the slider cannot stand between two points, ``hollow`` which points are not
    solved to tolerance.
    """

    title: str
    note: str
    whole: bool
    positions: list[float]
    facts: list[list[str]]
    hollow: list[bool]
    weights: list[list[float]]


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
) -> dict[str, Any]:
    """All players of several paths, by their places: "lead" (the slider), "chart" and "methods".

    The slider begins at ``step``. Raises ``ParameterError`` where the paths have different kernels.
    """
    paths = [method.path for method in methods if method.path is not None]
    score = paths[0].score_name if paths else "score"
    peaks = peak_shares(paths)
    shown = largest_first(peaks, N_BARS)
    colours = style.distinct_colours(peaks, dark)
    panels = _panels(methods, paths, score, peaks, colours, dark)
    drawn = []
    for method, weights_panel in zip(methods, panels, strict=False):
        drawn.append(_method(method, shown, weights_panel["xs"]))
    bars = kernel_bars(paths[0], shown, colours, NAME_LENGTH, dark) if paths else []
    glyphs = style.distinct_glyphs(peaks)
    marks = [glyphs[m] for m in shown]
    most = [np.max(method["weights"]) for method in drawn if method["weights"]]
    return {
        "lead": _lead(cursor, drawn, slider, step),
        "chart": _chart(cursor, panels, drawn, slider),
        "methods": {
            "chart": cursor,
            "facts": [
                "at",
                f"validation {score}",
                f"train {score}",
                "kernels used",
                "certificate",
                "solves, time",
            ],
            "names": [bar.label for bar in bars],
            "full": [bar.name for bar in bars],
            "colours": [bar.colour for bar in bars],
            "marks": marks + [""] * (len(bars) - len(shown)),
            "methods": drawn,
            "most": style.positive_or_one(most),
        },
    }


def _lead(
    cursor: str, methods: Sequence[MethodJson], slider: SharedSlider, step: int
) -> dict[str, Any]:
    """The slider; its ``place`` is a step, or where it is ``free`` the best point of each."""
    steps = []
    for label, position, places in zip(slider.labels, slider.positions, slider.places, strict=True):
        steps.append({"label": label, "value": position, "places": list(places)})
    place = {
        "step": step,
        "free": False,
        "places": list(slider.places[step]),
        "label": slider.labels[step],
    }
    shown = []
    for method in methods:
        positions = method["positions"]
        title = method["title"]
        shown.append({"title": title, "positions": positions, "whole": method["whole"]})
    return {
        "chart": cursor,
        "methods": shown,
        "sign": captions.symbol(slider.shared),
        "steps": steps,
        "place": place,
        "turn": 1,
    }


def _chart(
    cursor: str,
    panels: Sequence[PanelJson],
    methods: Sequence[MethodJson],
    slider: SharedSlider,
) -> ChartJson:
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
        points=[list(points) for points in slider.indices],
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
    colours: Sequence[str],
    dark: bool,
) -> list[PanelJson]:
    """A panel of shares of weight for each method, then a panel of scores for each.

    All panels of a row share their upright axis, which is written to the left of the first.
    """
    shares_axis = linear("share of weight", 0.0, 1.05 * style.positive_or_one(peaks), "%")
    values: list[float] = []
    for path in paths:
        values += [*path.train_score, *path.val_score]
    unit = "%" if score in captions.SHARES else ""
    scores_axis = linear(score, *style.around(values), unit)
    last = paths[-1] if paths else None
    above: list[PanelJson] = []
    below: list[PanelJson] = []
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
            glyphs = style.distinct_glyphs(peaks)
            lines = weight_lines(path, shares_of(path.weights), peaks, colours, dark, glyphs=glyphs)
            top = path_panel(path, replace(x, title="", ticks=()), shares_axis, lines)
            lines = score_lines(path, dark)
            for line in lines:
                line["dot"] = True
                if path is not last:
                    line["label"] = ""
            bottom = path_panel(path, x, scores_axis, lines)
            bottom["marks"] = certificate_marks(path)
        top["title"] = method.title
        top["suffix"] = str(2 * k + 1) if k else ""
        bottom["suffix"] = str(2 * k + 2)
        top["method"] = k
        bottom["method"] = k
        above.append(top)
        below.append(bottom)
    return above + below


def _unlabelled(axis: Scale) -> Scale:
    return replace(
        axis,
        title="",
        ticks=tuple((value, "") for value, _ in axis.ticks),
    )


# The table below


def _method(method: MethodView, shown: Sequence[int], positions: Sequence[float]) -> MethodJson:
    path = method.path
    drawn: MethodJson = {
        "title": method.title,
        "note": method.note,
        "whole": False,
        "positions": [],
        "facts": [],
        "hollow": [],
        "weights": [],
    }
    if path is not None:
        drawn["note"] = ""
        drawn["whole"] = path.param == "s"
        drawn["positions"] = list(positions)
        drawn["facts"] = [_facts(path, k) for k in range(len(path.values))]
        drawn["hollow"] = (~captions.solved(path)).tolist()
        drawn["weights"] = np.round(heights(shares_of(path.weights), shown), 5).tolist()
    return drawn


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
