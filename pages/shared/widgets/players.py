"""Cursors: where one stands on a path or several, and the players that move it in the browser
without the server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from mklcore.figures import axes, captions, player_data, players
from mklcore.figures.captions import label, symbol
from mklcore.figures.player_data import MethodView, Places, SharedSlider
from mklcore.paths.path import Path
from pages.shared.session import state
from pages.shared.widgets import controls, drawing, grids

if TYPE_CHECKING:
    from pages.shared.values.answers import ComparedMethod  # not at start-up

# Where a cursor stands: on one path, at a solved value or between two, or on several paths at once


# where an exact value may be
BOUNDS = {
    "C": (1e-6, 1e6),
    "lam": (1e-10, 1e6),
    "p": (1.0, math.inf),
}


@dataclass(frozen=True)
class CursorPlace:
    """Where the cursor stands: the index of the nearest solved value, and the value itself if it is
    between them.
    """

    index: int
    value: float
    exact: bool


def bounds(param: str, values: Sequence[float]) -> tuple[float, float]:
    """Return between which values an exact one may be: the usual bounds, or those of a path that
    kernels of another scale lead beyond them.
    """
    low, high = BOUNDS.get(param, (1e-10, 1e10))
    return min([low, *values]), max([high, *values])


def where(path: Path, index: int) -> str:
    """Return what the point of a path is called, as in "C = 1"."""
    return label(path.param, float(path.values[index]))


def place(path: Path, at: float | None) -> CursorPlace:
    """Return where ``at`` is on the path; None stands for the best validation score, or the middle
    where none can choose.

    A value outside its bounds becomes the nearest bound; a number of kernels is whole, from one to
    all of them.
    """
    values = np.asarray(path.values, dtype=float)
    if at is not None and path.param == "s":
        at = float(min(max(round(at), 1), max(len(path.kernel_names), int(values.max()))))
    if at is None:
        index = path.first_look
        return CursorPlace(index, float(values[index]), exact=False)
    low, high = bounds(path.param, values.tolist())
    at = min(max(at, low), high)
    index = path.nearest(at)
    on_grid = bool(values[index] == at or abs(values[index] - at) <= 1e-9 * at)
    return CursorPlace(index, float(values[index]) if on_grid else at, exact=not on_grid)


def edge(path: Path, k: int) -> str:
    """Return a sentence where the best point of a path, ``k``, is at its end, and a value beyond
    those tried may do better; else "".
    """
    last = len(path) - 1
    if not last or path.param in ("p", "s") or k not in (0, last):
        return ""
    if not path.val_score[k] > path.val_score[1 if k == 0 else k - 1]:  # flat at the end
        return ""
    end = "below" if path.values[k] == min(path.values) else "above"
    return (
        f"The best {symbol(path.param)} may lie {end} the range tried. Type a value of it to look "
        "there."
    )


# One cursor of several methods


class SliderPlace(NamedTuple):
    """The position of the slider, and the place of each method on its path, between two points
    where it is no whole number; ``best``: each method stands at its chosen point.
    """

    position: float
    places: Places
    best: bool = False


def shared_place(found: SharedSlider, paths: Sequence[Path | None], at: str) -> SliderPlace:
    """Where ``at`` puts the methods: "" each at its best, a share of each path, or a value of the
    shared parameter.

    A value means nothing to methods without a shared parameter, nor a share to the others: both
    fall back to the best.
    """
    if not at or at.endswith("%") == bool(found.shared):
        indices = tuple(None if path is None else path.first_look for path in paths)
        return SliderPlace(found.nearest_to(indices), indices, best=True)
    position = found.position(float(at.removesuffix("%")))
    return SliderPlace(position, found.at(position))


# One path
#
# Inline components over constant figures: the player moves lines laid over the charts and reports
# once, on release or when the keys rest; bars and texts listen to the player inside the browser,
# where everything along the path is known. The session remembers the last report, so that Python
# moves the cursor only when it chose a new place itself (undo, a link, the number box, a new path).


FINE = ("C", "lam", "p")  # parameters whose slider stops between solved points
CHART = "path_chart"
SCORES = "score_chart"
KEY = "player"
Hear = Callable[[], None]
Report = dict[str, Any]
SCRIPTS = {
    "path_player": "path",
    "path_bars": "bars",
    "path_texts": "texts",
    "path_chart": "chart",
    "hull_player": "hull",
    "playground": "playground",
    "compare_player": "compare",
    "compare_table": "methods",
}
_components = {
    kind: st.components.v2.component(kind, **players.player(script)._asdict())
    for kind, script in SCRIPTS.items()
}


def component(kind: str, key: str, data: Any, **heard: Hear) -> None:
    """Draw what runs in the browser; each of ``heard`` is called when it reports under that name."""
    callbacks: dict[str, Any] = {f"on_{name}_change": act for name, act in heard.items()}
    _components[kind](key=key, data=data, default=dict.fromkeys(heard), **callbacks)


def wait() -> None:
    """Take no report yet: the run that follows reads it."""


def follow(player: str, key: str, name: object, field: str, read: Callable[[Report], Any]) -> None:
    """Take where the cursor of a ``player`` of what is called ``name`` was released into a
    parameter, once; ``read`` makes its value of the browser's report.
    """
    cursor = state.memory().cursors[player]
    report = controls.report(key)
    if cursor.is_new(report) and cursor.name == name:
        cursor.said = read(report)
        state.change(**{field: cursor.said or None})


def released(report: Report, count: int) -> int:
    """Return at which of ``count`` points a player was released."""
    return min(max(int(report["index"]), 0), count - 1)


def listen(path: Path, name: object) -> None:
    """Take the browser's last report about the path called ``name`` into the parameters, once, and
    never beyond its ends.
    """
    follow("path", KEY, name, "at", lambda report: _reported(path, report))


def _reported(path: Path, report: Report) -> float:
    """Return the value where the thumb was released: that of a solved point, or one between two of
    them.
    """
    last = len(path.values) - 1
    index = released(report, last + 1)
    position = report.get("position", index)
    if path.param not in FINE or not isinstance(position, int | float) or position == index:
        return float(path.values[index])
    values = np.asarray(path.values, dtype=float)
    place = min(max(float(position), 0.0), float(last))
    low = min(int(place), last - 1)
    ends = values[low : low + 2]
    part = place - low
    value = (
        (1.0 - part) * ends[0] + part * ends[1]
        if path.param == "p"
        else ends[0] ** (1.0 - part) * ends[1] ** part
    )
    return float(f"{value:.4g}")


class View(NamedTuple):
    """What a component shows at every point of a path: its name, and the entries of any path of the
    same kernels.
    """

    name: str
    of: Callable[[Path], Sequence[Any]]


def bars(
    name: str,
    drawn: Mapping[str, Any],
    pick: Callable[[str], None] | None = None,
    chart: str = CHART,
) -> None:
    """Draw bars that follow the cursor of ``chart``, ``drawn`` by ``player_data``; ``pick`` is
    called with what was clicked of its ``picks``.
    """
    key = f"bars_{name}"

    def picked() -> None:
        if pick is not None and (report := controls.report(key, "picked")):
            pick(str(report["name"]))

    component("path_bars", key, {**drawn, "chart": chart, "set": name}, picked=picked)


def texts(view: View, path: Path, index: int, widths: Sequence[float]) -> None:
    """Draw texts that follow the cursor: columns of lines of runs (class, text), as ``captions``
    makes them.
    """
    drawn = player_data.texts(CHART, view.of(path), widths, index)
    component("path_texts", f"texts_{view.name}", drawn | {"set": view.name})


def chart(key: str, drawn: Mapping[str, Any]) -> None:
    """Draw the panels of a figure, over which the cursor stands, without the title that the page
    says above it.
    """
    panels = [one | {"title": ""} for one in drawn["panels"]]
    component("path_chart", key, {**drawn, "panels": panels})


def playground() -> None:
    """Draw the truth that one makes: it is solved in the visitor's browser, and costs this server
    nothing.
    """
    with st.container(key="playground"):
        component("playground", "playground_picture", {})


def picture(drawn: dict[str, dict[str, Any]], name: str) -> None:
    """Draw panels above a slider of their own, or hulls, as ``player_data.picture_json`` lays them
    out.
    """
    if "hull" in drawn:
        hull(name, drawn["hull"])
        return
    component("path_chart", f"{name}_chart", drawn["chart"])
    component("path_player", name, drawn["play"], report=wait)
    component("path_texts", f"{name}_said", drawn["say"])


def hull(key: str, drawn: Mapping[str, Any]) -> None:
    """Draw hulls, as ``hull_json`` lays them out."""
    component("hull_player", key, drawn, report=wait, picked=wait)


# The threshold of two classes


THRESHOLD_KEY = "threshold_player"


def listen_threshold(steps: Sequence[float], name: object) -> None:
    """Take the threshold at which the slider called ``name`` was let go into the parameters, once."""
    read = lambda report: float(steps[released(report, len(steps))])  # noqa: E731
    follow("threshold", THRESHOLD_KEY, name, "threshold", read)


def threshold(
    drawn: dict[str, dict[str, Any]],
    name: object,
    now: float,
    at: int,
) -> None:
    """Draw the slider of a threshold, its three panels and the table of errors.

    ``now`` is the threshold, which is the step number ``at``.
    """
    turn = state.memory().cursors["threshold"].turns(name, now)
    play = {**drawn["play"], "index": at, "turn": turn}
    picture({**drawn, "play": play, "say": {**drawn["say"], "index": at}}, THRESHOLD_KEY)


def _between(path: Path, value: float) -> float:
    """Return the place of a value among the points of the path, as the slider counts them."""
    places = np.arange(len(path), dtype=float)
    values = np.asarray(path.values, dtype=float)
    scale = np.log if path.param != "p" and values.min() > 0 else np.asarray
    known = scale(values)
    asked = float(scale(np.float64(value)))
    order = np.argsort(known)
    return round(float(np.interp(asked, known[order], places[order])), 4)


def player(
    path: Path, name: object, here: CursorPlace, exact: Path | None, views: Sequence[View]
) -> None:
    """Draw the cursor's slider.

    ``exact`` is the one-point path solved between the path's own values.
    """
    between: dict[str, Any] | None = None
    if exact is not None:
        between = {
            "x": axes.parameter_axis(path).at(here.value),
            "position": _between(path, here.value),
            "label": label(path.param, here.value),
            "spoken": f"{label(path.param, here.value)}, {captions.spoken(exact, 0)}",
            "sets": {view.name: view.of(exact)[0] for view in views},
            "hollow": not exact.statuses[0].ok,
        }
    component(
        "path_player",
        KEY,
        {
            "chart": CHART,
            "charts": [CHART, SCORES],
            **player_data.slider(path, index=here.index),
            "exact": between,
            "smooth": path.param in FINE and len(path) > 1 and bool(np.isfinite(path.values).all()),
            "log": path.param != "p",
            "sign": symbol(path.param),
            "turn": state.memory().cursors["path"].turns(name, state.current().at),
        },
        report=wait,
    )


# Several methods
#
# The session remembers the browser's last report, so that Python moves the cursor only when it
# chose a new place itself: the best point of each method, undo, a link, other methods.


METHODS_CHART = "compare_chart"
METHODS_KEY = "compare_player"
Drawn = dict[str, dict[str, Any]]


def listen_methods(found: SharedSlider, name: object) -> None:
    """Take the browser's last report about the methods called ``name`` into the parameters, once."""
    read = lambda report: found.text(float(report.get("position", report["index"])))  # noqa: E731
    follow("methods", METHODS_KEY, name, "methods_at", read)


def drawn(shown: Sequence[ComparedMethod], found: SharedSlider) -> Drawn:
    """What the players show: a path, or a note, of every method."""
    kinds = {one.label.partition(", ")[0] for one in shown}
    # what parts them alone
    named = [(len(kinds) == 1 and one.label.partition(", ")[2]) or one.label for one in shown]
    methods = [MethodView(name, one.path, one.note) for name, one in zip(named, shown, strict=True)]
    return player_data.methods_json(methods, found, dark=drawing.is_dark(), cursor=METHODS_CHART)


def slider(
    made: Drawn,
    found: SharedSlider,
    here: SliderPlace,
    name: object,
    scored: bool,
) -> None:
    """Draw the slider that leads the lines over the figure; ``scored``: every path that is drawn
    has its best point.
    """
    label = f"{found.value(here.position):.4g} % of each path"
    if here.best:
        label = "each at its best" if scored else "scores follow"
    elif found.shared:
        label = captions.label(found.shared, found.value(here.position))
    place = {"step": here.position, "free": here.best, "places": list(here.places), "label": label}
    turn = state.memory().cursors["methods"].turns(name, state.current().methods_at)
    component(
        "compare_player", METHODS_KEY, {**made["lead"], "place": place, "turn": turn}, report=wait
    )


def methods_chart(made: Drawn) -> None:
    """Draw weights above scores of every method."""
    component("path_chart", METHODS_CHART, made["chart"])


def table(made: Drawn) -> None:
    """Draw facts and kernel weights of every method, which follow the slider."""
    component("compare_table", f"{METHODS_KEY}_table", made["methods"])


# What stands behind a cursor


STEPS = {"C": 0.01, "lam": 0.001, "p": 0.1}


def exact_box(
    path: Path,
    now: float,
    keep: Callable[[float], None],
    key: str,
    **more: Any,
) -> None:
    """Draw the box for an exact value of the path's own parameter, which ``keep`` takes; an empty
    box stands for an infinite norm.
    """
    param, values = path.param, path.values.tolist()
    low, high = bounds(param, values)
    limits: dict[str, Any] = {
        "min_value": low,
        "max_value": high,
        "step": STEPS.get(param, 0.1),
        "format": "%.4g",
    }
    shown: float | None = now
    if param == "s":
        most = int(max([len(path.kernel_names), *values]))
        shown = int(now)
        limits = {"min_value": 1, "max_value": most, "step": 1}
    elif param == "p":
        shown = None if now > 1e6 else now
        limits |= {"max_value": 1e6, "value": None, "placeholder": "∞"}

    def take(chosen: float | None) -> None:
        if chosen is not None or param == "p":
            keep(math.inf if chosen is None else float(chosen))

    controls.view(
        st.number_input,
        f"{symbol(param)}, exactly",
        key,
        shown,
        take,
        help=f"Solves at any {symbol(param)}, also between the points of the path.",
        **limits,
        **more,
    )


def weights_table(point: Path, path: Path, index: int) -> None:
    """Draw the weights of one point as a table, once it is opened; they and the whole path can be
    taken away.
    """
    here = where(point, index)
    label = f"All weights at {here}, as a table"
    opened = st.expander(
        label, icon=":material/table_rows:", key="weights_table", type="compact", on_change="rerun"
    )
    if not opened.open:
        return
    frame = grids.weights(point, index)
    opened.dataframe(
        frame,
        hide_index=True,
        height=280,
        alt=f"Kernel weights at {here}",
        column_config={
            "weight": st.column_config.NumberColumn(format="%.6f"),
            "share": st.column_config.ProgressColumn(format="percent"),
        },
    )
    one, whole, _ = opened.columns([1, 1, 3])
    grids.take(frame, "weights", "csv_weights", "Weights as CSV", one)
    grids.take(lambda: grids.along(path), "path", "csv_path", "Path as CSV", whole)
