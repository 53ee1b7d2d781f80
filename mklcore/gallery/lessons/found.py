"""What a lesson found, how it is kept, and how the players draw it under one slider."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import style
from mklcore.figures.axes import Scale, linear, logarithmic, named
from mklcore.figures.player_data import picture_json
from mklcore.figures.player_data.charts import bar_panel, line, panel
from mklcore.figures.style import Json

DIGITS = 5  # of a number that is kept
MOST_TICKS = 18
ENDS = ("first", "last", "here", "least", "most")


@dataclass(frozen=True)
class LessonResult:
    """What a lesson has computed, and what its players show.

    answer : the right answer
    facts : figures of its text, by name
    at : positions of the slider
    start : index of the position at which it begins
    series : numbers or texts by name, one entry per position of the slider, or one list per entry
        for several lines
    bars : names, hues and heights (L, B) of upright bars, by name
    hull : what the player ``hull`` shows in a lesson about hulls
    pair : two columns of the grid of that lesson
    """

    answer: str
    facts: dict[str, str]
    at: tuple[float, ...]
    start: int
    series: dict[str, list[Any]] = field(default_factory=dict)
    bars: dict[str, list[Any]] = field(default_factory=dict)
    hull: dict[str, Any] | None = None
    pair: tuple[int, ...] = ()

    def along(self) -> dict[str, Sequence[Any]]:
        """The series, and the positions of the slider as "at"."""
        return {"at": self.at, **self.series}

    def figures(self) -> dict[str, str]:
        """The figures of its text: the facts, and every series at its ends.

        They are called "errors_first", "errors_last", "errors_here" (where the slider begins),
        "errors_least" and "errors_most".
        """
        figures = dict(self.facts)
        for name, values in self.along().items():
            if len(values) == len(self.at) and not isinstance(values[0], list):
                ends = (values[0], values[-1], values[self.start], min(values), max(values))
                for end, value in zip(ENDS, ends, strict=True):
                    figures[f"{name}_{end}"] = _written(value)
        return figures

    def to_json(self) -> str:
        """The text it is kept as."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> LessonResult:
        """What is kept as ``text``."""
        kept = json.loads(text)
        return cls(**kept | {"at": tuple(kept["at"]), "pair": tuple(kept["pair"])})


class Bars(NamedTuple):
    """Upright bars: a name and a hue each, and ``heights`` (L, B) at every position."""

    names: Sequence[str]
    hues: Sequence[str]
    heights: Array


def found(
    answer: str,
    facts: Mapping[str, Any],
    at: Any,
    start: int,
    *,
    hull: Any = None,
    pair: Sequence[int] = (),
    **series: Any,
) -> LessonResult:
    """What a computation found, with its arrays as lists and its figures as texts."""
    bars = {}
    lists = {}
    for name, value in series.items():
        if isinstance(value, Bars):
            bars[name] = [*value[:2], _plain(value.heights)]
        else:
            # One number holds at every position.
            lists[name] = _plain(value if np.ndim(value) else [value] * len(at))
    texts = {name: _written(figure) for name, figure in facts.items()}
    return LessonResult(answer, texts, tuple(_plain(at)), start, lists, bars, hull, tuple(pair))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence | np.ndarray):
        return [_plain(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float | np.floating) else int(value)


def _written(figure: Any) -> str:
    return figure if isinstance(figure, str) else style.number(figure)


def fill(text: str, facts: Mapping[str, str]) -> str:
    """``text`` with every ⟨name⟩ replaced by its figure."""
    return re.sub(r"⟨(\w+)⟩", lambda match: facts[match[1]], text)


def drawn(
    layout: Mapping[str, Any],
    result: LessonResult,
    facts: Mapping[str, str],
    *,
    dark: bool,
) -> Json:
    """What the players of a lesson show, by their places, as the ``layout`` of its text says."""
    if result.hull is not None:
        hue = style.family_shade("hkl", 0, dark)
        return {"hull": result.hull | {"hue": hue, "index": result.start, "tells": True}}
    said = []
    labels = []
    for k in range(len(result.at)):
        figures = dict(facts)
        for name, values in result.along().items():
            if len(values) > k and not isinstance(values[k], list):
                figures[name] = _written(values[k])
        said.append(fill(layout["said"], figures))
        labels.append(fill(layout["label"], figures))
    slider = layout["slider"]
    x = logarithmic(slider["title"], result.at)
    if "names" in slider:
        x = named(slider["title"], result.series[slider["names"]])
    panels = [_panel(panel, x, result, labels, facts, dark) for panel in layout["panels"]]
    return picture_json(
        x, result.at, labels, said, panels, start=result.start, columns=layout["columns"]
    )


def _panel(
    layout: Mapping[str, Any],
    x: Scale,
    result: LessonResult,
    labels: Sequence[str],
    facts: Mapping[str, str],
    dark: bool,
) -> Json:
    title = fill(layout["title"], facts)
    more = {"title": title, "span": layout.get("span", 1), "labels": list(labels)}
    if "bars" in layout:
        names, hues, heights = result.bars[layout["bars"]]
        step = -(-len(names) // MOST_TICKS)
        ticks = [""] * len(names)
        for k in range(0, len(names), step):
            ticks[k] = names[k].split(",")[0].removeprefix(layout.get("drop", ""))
        colours = [_hue(hue, dark) for hue in hues]
        return bar_panel((layout["x"], layout["y"]), names, heights, colours, ticks, **more)
    lines = []
    for entry in layout["lines"]:
        lines += _lines(entry, result, dark)
    known = np.concatenate([drawn_line["ys"] for drawn_line in lines])
    low = min(layout.get("from", 0.0), float(known.min()))
    high = float(known.max())
    if layout.get("log"):
        y = logarithmic(layout["y"], [0.5 * known.min(), 2.0 * high])
    else:
        y = linear(layout["y"], low, layout.get("to", low + 1.05 * (high - low)))
    if "shade" in layout:
        more["shade"] = [x.at(at) for at in result.series[layout["shade"]]]
    return panel(x, y, lines, result.at, **more)


def _lines(
    entry: Mapping[str, Any],
    result: LessonResult,
    dark: bool,
) -> list[Json]:
    """The line of a series, or one for each of several series."""
    key = entry["of"]
    look = {name: entry[name] for name in ("label", "width", "dash", "opacity") if name in entry}
    colour = _hue(entry.get("hue", "ink"), dark)
    name = entry.get("name", entry.get("label", key))
    table = np.array(result.series[key], dtype=float)
    if table.ndim == 1:
        return [line(name, table, colour, dark, **look)]
    return [line(f"{name} {k + 1}", ys, colour, dark, **look) for k, ys in enumerate(table.T)]


def _hue(role: str, dark: bool) -> str:
    """A colour by its role: "ink", "grey", or a family of kernels with the number of the kernel."""
    if role in ("ink", "grey"):
        return str(getattr(style.theme(dark), role))
    family, _, member = role.partition(" ")
    return style.family_shade(family, int(member or 0), dark)
