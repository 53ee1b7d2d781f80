"""Players: Compare's shared slider, which moves cursors, facts and bars of every method in the browser.

The session remembers the browser's last report, so that Python moves the cursor only when it chose a new place itself:
the best point of each method, the number box, undo, a link, other methods.
"""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from mklcore.figures import moving, players
from mklcore.figures.moving import MethodView, Steps
from mklcore.paths.path import Path
from pages._parts.derive import paths as derive_paths
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
_chart = st.components.v2.component("compare_chart", **players.player("chart")._asdict())
Drawn = dict[str, dict[str, Any]]


def listen(found: Steps, name: object) -> None:
    """Take the browser's last report about the methods called ``name`` into the parameters, once, never beyond the
    ends.
    """
    cursor, report = memory().cursors.methods, fields.report(KEY)
    if cursor.is_new(report) and cursor.name == name:
        text = found.text(float(report.get("position", report["index"])))
        cursor.said = text
        history.change(methods_at=text)


def drawn(shown: Sequence[Shown], notes: Sequence[str], found: Steps, exact: Sequence[Path | None]) -> Drawn:
    """Return what the players show: a path, or a note, of every method, and a path of one point where it is solved
    between its own.
    """
    methods = []
    for one, note, point in zip(shown, notes, exact, strict=True):
        title = one.label + (" (older, until the new one is ready)" if one.waiting else "")
        path = None if one.path is None else derive_paths.picture(one.params, one.path)[1]
        methods.append(MethodView(title, path, note, one.waiting, point))
    return moving.methods_json(methods, found, dark=charts.is_dark(), chart=CHART)


def slider(made: Drawn, found: Steps, here: Place, exact: Sequence[Path | None], name: object) -> None:
    """Draw the slider that leads the lines over the figure.

    ``exact`` holds the one-point paths solved between the points of the methods' paths.
    """
    points, at = made["methods"]["methods"], history.current().methods_at
    stands = [
        one["points"] if point is not None else stand
        for one, point, stand in zip(points, exact, here.places, strict=True)
    ]
    free = here.best or any(exact)
    place = {"step": here.position, "free": free, "places": stands, "label": _label(found, here)}
    turn = memory().cursors.methods.turns(name, at, any(exact) and at)  # every point that is solved is new
    _slider(
        key=KEY, data={**made["lead"], "place": place, "turn": turn}, default={"report": None},
        on_report_change=lambda: None,
    )  # fmt: skip


def chart(made: Drawn) -> None:
    """Draw weights above scores of every method."""
    _chart(key=CHART, data=made["chart"])


def table(made: Drawn) -> None:
    """Draw facts and kernel weights of every method, which follow the slider."""
    _table(key=f"{KEY}_table", data=made["methods"])


def _label(found: Steps, here: Place) -> str:
    if here.best:
        return "each at its best"
    value = found.value(here.position)
    return places.label(found.shared, value) if found.shared else f"{value:.4g} % of each path"
