"""Players: Compare's shared slider, which moves cursors, facts and bars of every method in the browser.

The session remembers the browser's last report, so that Python moves the cursor only when it chose a new place itself:
the best point of each method, the number box, undo, a link, other methods.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from mklcore.figures import path_positions, players, side_by_side
from mklcore.figures.steps import Steps
from mklcore.paths.path import Path
from pages._parts.derive.comparison import Shown
from pages._parts.drawing import charts
from pages._parts.params import places
from pages._parts.params.steps import Place
from pages._parts.session import fields, history
from pages._parts.session.memory import memory

CHART = "compare_chart"
KEY = "compare_player"
_slider = st.components.v2.component("compare_player", **players.player("compare")._asdict())
_table = st.components.v2.component("compare_table", **players.player("methods")._asdict())


def listen(found: Steps, name: object) -> None:
    """Take the browser's last report about the methods called ``name`` into the parameters, once, never beyond the
    ends.
    """
    cursor, report = memory().cursors.methods, fields.report(KEY)
    if cursor.is_new(report) and cursor.name == name:
        text = found.text(float(report.get("position", report["index"])))
        cursor.said = text
        history.change(methods_at=text)


def slider(drawn: Sequence[Shown], found: Steps, here: Place, exact: Sequence[Path | None], name: object) -> None:
    """Draw the slider that leads the lines over the figure.

    ``exact`` holds the one-point paths solved between the points of the methods' paths.
    """
    each, at = _methods(drawn, exact), history.current().methods_at
    places = [
        one["points"] if point is not None else stand
        for one, point, stand in zip(each, exact, here.places, strict=True)
    ]
    _slider(
        key=KEY,
        data={
            "chart": CHART,
            "methods": [{name: one[name] for name in ("title", "positions", "whole")} for one in each],
            **side_by_side.led(found),
            "place": {
                "step": here.position,
                "free": here.best or any(exact),
                "places": places,
                "label": _label(found, here),
            },
            "turn": memory().cursors.methods.turns(name, at, any(exact) and at),  # every point that is solved is new
        },
        default={"report": None},
        on_report_change=lambda: None,
    )  # fmt: skip


def table(drawn: Sequence[Shown], exact: Sequence[Path | None]) -> None:
    """Draw facts and kernel weights of every method, which follow the slider."""
    paths, each = [one.path for one in drawn if one.path is not None], _methods(drawn, exact)
    rows = side_by_side.kernels(paths, side_by_side.order(paths), dark=charts.is_dark())
    _table(
        key=f"{KEY}_table",
        data={
            "chart": CHART, "facts": side_by_side.facts(paths), **rows, "methods": each,
            "most": side_by_side.longest(each),
        },
    )  # fmt: skip


def _label(found: Steps, here: Place) -> str:
    if here.best:
        return "each at its best"
    value = found.value(here.position)
    return places.label(found.shared, value) if found.shared else f"{value:.4g} % of each path"


def _methods(drawn: Sequence[Shown], exact: Sequence[Path | None]) -> list[dict[str, Any]]:
    shown = side_by_side.order([one.path for one in drawn if one.path is not None])
    return [_method(one, point, shown) for one, point in zip(drawn, exact, strict=True)]


def _method(one: Shown, exact: Path | None, shown: list[int]) -> dict[str, Any]:
    """Return what the browser needs of one method; an exact point comes after the points of the path."""
    title = one.label + (" (older, until the new one is ready)" if one.waiting else "")
    if one.path is None:
        note = "Failed" if one.error else "Not there yet"
        return {
            "title": title, "note": note, "waiting": False, "whole": False, "points": 0, "positions": [], "facts": [],
            "hollow": [], "weights": [],
        }  # fmt: skip
    parts = [one.path] if exact is None else [one.path, exact]
    positions = path_positions(one.path).tolist()
    if exact is not None:
        value = float(exact.values[0])
        positions.append(value if np.isfinite(value) else max(positions))
    return side_by_side.method(title, parts, positions, shown) | {"waiting": one.waiting}
