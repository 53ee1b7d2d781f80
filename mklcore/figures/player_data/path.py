"""The players ``path`` (a slider) and ``texts``, and everything one slider leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mklcore.figures import captions
from mklcore.figures.axes import Scale, norm_positions, parameter_axis
from mklcore.figures.player_data.bars import column_bars, weight_bars
from mklcore.figures.player_data.charts import CURSOR, chart, scores_chart, weights_chart
from mklcore.figures.style import Json, Texts

PICTURE = "picture"


def texts(
    chart: str,
    points: Sequence[Any],
    widths: Sequence[float],
    index: int,
) -> Json:
    """Columns of lines of runs, as ``captions`` makes them, at each of the ``points``."""
    return {
        "chart": chart,
        "set": "",
        "texts": list(points),
        "widths": list(widths),
        "index": index,
    }


def slider(path: Any, *, index: int, **more: Any) -> Json:
    """The slider over the points of a path, which begins at ``index``.

    It may name the ``charts`` that follow it, and ``turn`` counts how often Python moved it.
    """
    axis = parameter_axis(path)
    values = norm_positions(path.values).tolist()
    labels = captions.point_labels(path)
    spoken = [f"{label}, {captions.spoken(path, k)}" for k, label in enumerate(labels)]
    return {
        "x": [axis.at(value) for value in values],
        "values": values,
        "labels": labels,
        "spoken": spoken,
        "index": index,
        "exact": None,
        **more,
    }


def path_json(
    path: Any,
    *,
    dark: bool,
    index: int | None = None,
    columns: tuple[Sequence[Any], Any] | None = None,
    references: Sequence[tuple[str, float]] = (),
    says: Texts = (),
) -> Json:
    """All players of one path, by their places: "play", "chart", "bars", "all" and "facts".

    "scores" is there where scores were measured, "say" for the sentences ``says`` above the
    picture, and "columns" for ``columns``, two arguments of ``column_bars``. ``index`` is where the
    cursor begins, ``path.first_look`` by default; ``references`` are scores of other models by
    name. Raises ``ParameterError`` for a path without points, and for an index or effects that do
    not belong to it.
    """
    start = captions.checked(path, index)
    players: Json = {
        "chart": weights_chart(path, dark),
        "bars": weight_bars(path, index=start, dark=dark),
        "all": weight_bars(path, index=start, dark=dark, every=True),
        "facts": texts(CURSOR, captions.facts(path), [1.4, 1, 1.35], start),
    }
    scores = scores_chart(path, dark, references=references)
    if scores is not None:
        players["scores"] = scores
    if says:
        sentences = [[captions.runs(text) for text in says]]
        players["say"] = texts(CURSOR, [sentences] * len(path.values), [1], start)
    if columns is not None:
        players["columns"] = column_bars(path, *columns, index=start, dark=dark) | {"picks": None}
    for name in {"bars", "all", "columns"} & players.keys():
        players[name]["set"] = name
    charts = [players[name]["figure"] for name in ("chart", "scores") if name in players]
    return players | {"play": slider(path, index=start, chart=CURSOR, charts=charts, turn=1)}


def picture_json(
    scale: Scale,
    positions: Sequence[float],
    labels: Texts,
    said: Texts,
    panels: Sequence[Json],
    *,
    start: int,
    columns: int = 3,
) -> Json:
    """Panels that one slider leads, by their places: "play", "say" and "chart".

    The slider has the axis ``scale`` and begins at the position number ``start``. Panels without
    places of points do not share its axis. ``said`` is a sentence for each of the ``positions``.
    """
    for k, panel in enumerate(panels):
        panel["suffix"] = str(k + 1) if k else ""
    drawn = chart(
        PICTURE,
        PICTURE,
        panels,
        " ".join(f"{panel['title']}." for panel in panels),
        said,
        columns=columns,
        rows=[15.5],
        left=3.25,
        wraps=17,
    )
    sentences = [[[captions.runs(text)]] for text in said]
    return {
        "play": {
            "x": [scale.at(position) for position in positions],
            "labels": list(labels),
            "chart": PICTURE,
            "charts": [PICTURE],
            "spoken": [f"{label}. {text}" for label, text in zip(labels, said, strict=True)],
            "index": start,
            "exact": None,
            "turn": 1,
            "panels": [panel["suffix"] for panel in panels if panel["xs"]],
        },
        "say": texts(PICTURE, sentences, [1], start),
        "chart": drawn,
    }
