"""The errors of two classes along the threshold that parts them: a figure, and what moves in a
browser.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import style
from mklcore.figures.axes import linear
from mklcore.figures.captions import runs
from mklcore.figures.player_data import picture_json
from mklcore.figures.player_data.charts import line, panel
from mklcore.figures.style import Figure

MIDDLE = 0.58  # of the width, where the second panel begins
SHARES = (-0.03, 1.03)
LETTERS = 18  # of a class in an axis
SHADE = 0.006  # of the axis, on both sides of the cheapest threshold
TIE = 1e-8  # of an axis, between points that stand above each other


def threshold_figure(errors: Any, threshold: float = 0.0, *, dark: bool = False) -> Figure:
    """ROC and precision-recall curves of two classes, with a mark where ``threshold`` is.

    ``errors`` as `Exploration.errors` has them.
    """
    first, second = errors.classes
    wrong, found = errors.roc
    at = int(np.argmin(np.abs(errors.thresholds - threshold)))
    alt = (
        f"ROC curve, area {errors.area:.3f}, and precision-recall curve, average precision "
        f"{errors.average_precision:.3f}. At a threshold of {style.number(threshold)} "
        f"{found[at]:.1%} of the rows of {second} are found, and {wrong[at]:.1%} of the rows of "
        f"{first} are called {second}."
    )
    figure = style.new_figure(alt, dark, style.SMALL_HEIGHT + 60, margin=style.SMALL_MARGIN)
    tone = style.theme(dark)
    grey = {"color": tone.grey, "width": 1, "dash": "dot"}
    ink = {"color": tone.ink, "width": 2}
    mark = {"color": tone.ink, "size": 11, "symbol": "circle-open", "line": {"width": 2}}
    base = float(np.mean(errors.is_second))
    curves = (("", wrong, found, [0, 1]), ("2", found, errors.precision, [base, base]))
    for suffix, x, y, chance in curves:
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        quiet = axes | {"hoverinfo": "skip"}
        hover = "%{x:.1%}, %{y:.1%}<extra></extra>"
        figure.add_scatter(
            x=[0, 1],
            y=chance,
            mode="lines",
            line=grey,
            **quiet,
        )
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line=ink,
            hovertemplate=hover,
            **axes,
        )
        figure.add_scatter(
            x=x[[at]],
            y=y[[at]],
            mode="markers",
            marker=mark,
            **quiet,
        )
    wrong_title, found_title, right_title = _axes(errors.classes)
    figure.update_layout(
        xaxis={"title": wrong_title, "domain": [0, 1 - MIDDLE]},
        yaxis={"title": found_title},
        xaxis2={"title": found_title, "domain": [MIDDLE, 1], "anchor": "y2"},
        yaxis2={"title": right_title, "anchor": "x2"},
    )
    figure.update_xaxes(range=SHARES, tickformat=".0%")
    return figure.update_yaxes(range=SHARES, tickformat=".0%")


def _axes(classes: tuple[str, str]) -> tuple[str, str, str]:
    """What the shares of both curves are called."""
    first, second = style.shorts(list(classes), LETTERS)
    return f"{first} called {second}", f"{second} found", f"called {second} that are"


def thresholds_json(
    errors: Any, steps: Array, costs: tuple[float, float], *, dark: bool
) -> dict[str, Any]:
    """What the players show of ``errors`` along the rising thresholds ``steps`` (L,): the cost of a
    row, both curves with a mark, and the confusion table.

    ``costs`` are those of a false positive and of a false negative. The cursor is at the first
    step: "index" of "play" and of "say" moves it.
    """
    at = np.minimum(np.searchsorted(errors.thresholds, steps), len(errors.thresholds) - 1)
    wrong, found = (values[at] for values in errors.roc)
    x = linear("threshold of the decision", float(steps[0]), float(steps[-1]))
    names = _axes(errors.classes)
    wrong_axis, found_axis, right_axis = (linear(name, *SHARES, "%") for name in names)
    paid = errors.costs(*costs, steps)
    cost_axis = linear("cost of a row", 0.0, 1.08 * float(paid.max()) or 1.0)
    labels = [f"threshold {style.number(float(value))}" for value in steps]
    said = [errors.says(float(value), *costs) for value in steps]
    roc = f"ROC, area {errors.area:.3f}"
    right = f"Precision {errors.average_precision:.3f} on average"
    panels = []
    for title, name, x_axis, y_axis, xs, ys in (
        ("Cost", "cost of a row", x, cost_axis, steps, paid),
        (roc, names[1], wrong_axis, found_axis, wrong, found),
        (right, names[2], found_axis, right_axis, found, errors.precision[at]),
    ):
        curve = line(name, ys, style.theme(dark).ink, dark, dot=True)
        panels.append(panel(x_axis, y_axis, [curve], xs, labels, title=title))
    least = x.at(errors.cheapest(*costs))
    panels[0]["shade"] = [least - SHADE, least + SHADE]
    for one in panels[1:]:  # where a curve rises upright, the larger threshold comes first
        one["xs"] = [place - TIE * k for k, place in enumerate(one["xs"])]
    made = picture_json(x, steps.tolist(), labels, said, panels, start=0)
    made["play"]["panels"] = [""]
    tables = [_table(errors, float(value), text) for value, text in zip(steps, said, strict=True)]
    made["say"] |= {"texts": tables, "widths": [1, 1, 1, 3]}
    return made


def _table(errors: Any, threshold: float, said: str) -> list[Any]:
    """The confusion table and a sentence as columns of lines, for the player ``texts``."""
    first, second = style.shorts(list(errors.classes), LETTERS)
    table = errors.confusion(threshold).astype(int)
    columns = [[runs("**rows of**"), runs(first), runs(second)]]
    for name, counts in zip((first, second), table.T, strict=True):
        columns.append([runs(f"called {name}", "b"), *(runs(str(count)) for count in counts)])
    return [*columns, [runs(said)]]
