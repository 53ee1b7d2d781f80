"""A path as one file: weights, solution path, scores and certificate that follow one cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.figures import captions, moving, style
from mklcore.figures.takeaway import charts
from mklcore.figures.takeaway.page import About, Mount, explanation, page, place

CHART, WEIGHTS, SCORES = "path", "weights", "scores"


def path_page(
    path: Any,
    about: About | None = None,
    *,
    index: int | None = None,
    columns: tuple[Sequence[str], Any] | None = None,
    references: Sequence[tuple[str, float]] = (),
) -> str:
    """One HTML file in which a person drags along ``path``, offline: everything drawn is inside, and no row of the
    table.

    ``index`` is where the cursor begins, ``path.first_look`` without it. ``columns`` are names (G,) and shares (L, G)
    of the weight per column, group or family; ``references`` scores of other models by name. Raises ``ParameterError``
    for a path without points, and for an index or shares that do not belong to it.
    """
    start = checked(path, index)
    described = about or About()
    described = described if described.title else replace(described, title=_title(path))
    if columns is not None and np.shape(columns[1]) != (len(path.values), len(columns[0])):
        raise ParameterError(
            f"Shares of columns come as {len(path.values)} points × {len(columns[0])} names; got "
            f"{np.shape(columns[1])}."
        )
    scored = charts.scores_chart(path, False, chart=CHART, figure=SCORES, references=references) is not None
    body = "".join(
        [
            f'<div class="views path{"" if scored else " bare"}">',
            place("play", "play", leads=True),
            place("say", "say") if columns is not None else "",
            place("bars", "bars"),
            place("chart", "chart"),
            place("scores", "scores") if scored else "",
            place("facts", "facts"),
            "</div>",
            f"<details><summary>All {len(path.kernel_names)} kernels at the cursor</summary>{place('all')}</details>",
            f'<div class="more">{place("columns") if columns is not None else ""}<div>{explanation(described)}</div></div>',  # noqa: E501
        ]
    )
    return page(described, body, lambda dark: _mounts(path, start, columns, references, dark))


def checked(path: Any, index: int | None) -> int:
    """Where the cursor begins on a path."""
    if len(path.values) == 0:
        raise ParameterError("The path has no points; there is nothing to drag along. Fit it first, with fit_path.")
    if index is not None and not 0 <= index < len(path.values):
        raise ParameterError(f"The path has points 0 to {len(path.values) - 1}; got the index {index}.")
    return int(path.first_look) if index is None else index


def _title(path: Any) -> str:
    return f"Kernel weights along {captions.symbol(path.param)}"


def _mounts(
    path: Any,
    index: int,
    columns: tuple[Sequence[str], Any] | None,
    references: Sequence[tuple[str, float]],
    dark: bool,
) -> list[Mount]:
    weights = charts.weights_chart(path, dark, chart=CHART, figure=WEIGHTS)
    scores = charts.scores_chart(path, dark, chart=CHART, figure=SCORES, references=references)
    mounts = [Mount("chart", "chart", weights)]
    if scores is not None:
        mounts.append(Mount("chart", "scores", scores))
    rows, table = moving.kernel_rows(path, dark=dark), moving.kernel_bars(path)
    longest = moving.longest_kernel(table, rows, len(path.kernel_names))
    mounts.append(_bars("bars", path, rows, table, "Weights θ at ", index, most=longest, sortable=True))
    every = len(path.kernel_names)
    all_rows, all_bars = moving.kernel_rows(path, dark=dark, most=every), moving.kernel_bars(path, most=every)
    mounts.append(
        _bars("all", path, all_rows, all_bars, "Every kernel at ", index, most=longest, sortable=True, tall=True)
    )
    if columns is not None:
        mounts += _of_columns(path, columns, index, dark)
    facts = [
        [[captions.certificate(path, k)], captions.cost(path, k), captions.measured(path, k)]
        for k in range(len(path.values))
    ]
    mounts.append(Mount("texts", "facts", _texts(facts, [2, 1, 1.35], index)))
    lead = {
        **moving.slider(path, index=index),
        "x": weights["panels"][0]["xs"],
        "chart": CHART,
        "charts": [WEIGHTS, SCORES],
        "turn": 1,
    }
    return [*mounts, Mount("path", "play", lead)]


def _bars(name: str, path: Any, rows: moving.Rows, table: Any, title: str, index: int, **more: Any) -> Mount:
    data = {**moving.bars(path, rows, table, title, index=index, **more), "chart": CHART, "set": name}
    return Mount("bars", name, data)


def _texts(texts: list[Any], widths: list[float], index: int) -> dict[str, Any]:
    return {"chart": CHART, "set": "", "texts": texts, "widths": widths, "index": index, "waiting": False}


def _of_columns(path: Any, columns: tuple[Sequence[str], Any], index: int, dark: bool) -> list[Mount]:
    names, shares = list(columns[0]), np.round(np.asarray(columns[1], dtype=float), 4)
    tone = style.theme(dark)
    rows = [(style.cut(name, 24), name, tone.grey) for name in names]
    said = [
        [[[*captions.where_the_weight_is(path.param, float(path.values[k]), names, shares[k].tolist()), ["", "."]]]]
        for k in range(len(path.values))
    ]
    bars = _bars("columns", path, rows, shares.tolist(), "Share of the weight at ", index, unit="%", most=1.0)
    return [Mount("texts", "say", _texts(said, [1], index)), bars]
