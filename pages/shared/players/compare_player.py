"""Players: Compare's shared slider, which moves cursors, facts and bars of every method in the browser.

The session remembers the browser's last report, so that Python moves the cursor only when it chose a new place itself:
the best point of each method, undo, a link, other methods.
"""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from mklcore.figures import moving, players
from mklcore.figures.moving import MethodView, SharedSlider
from pages.shared.derive.comparison import ComparedMethod
from pages.shared.drawing import charts
from pages.shared.params import places
from pages.shared.params.steps import SliderPlace
from pages.shared.session import fields, history
from pages.shared.session.memory import memory

CHART = "compare_chart"
KEY = "compare_player"
_slider = st.components.v2.component("compare_player", **players.player("compare")._asdict())
_table = st.components.v2.component("compare_table", **players.player("methods")._asdict())
_chart = st.components.v2.component("compare_chart", **players.player("chart")._asdict())
Drawn = dict[str, dict[str, Any]]


def listen(found: SharedSlider, name: object) -> None:
    """Take the browser's last report about the methods called ``name`` into the parameters, once."""
    cursor, report = memory().cursors.methods, fields.report(KEY)
    if cursor.is_new(report) and cursor.name == name:
        text = found.text(float(report.get("position", report["index"])))
        cursor.said = text
        history.change(methods_at=text)


def drawn(shown: Sequence[ComparedMethod], found: SharedSlider) -> Drawn:
    """What the players show: a path, or a note, of every method."""
    methods = [MethodView(one.label, one.path, one.note) for one in shown]
    return moving.methods_json(methods, found, dark=charts.is_dark(), chart=CHART)


def slider(made: Drawn, found: SharedSlider, here: SliderPlace, name: object) -> None:
    """Draw the slider that leads the lines over the figure."""
    label = "each at its best" if here.best else f"{found.value(here.position):.4g} % of each path"
    if found.shared and not here.best:
        label = places.label(found.shared, found.value(here.position))
    place = {"step": here.position, "free": here.best, "places": list(here.places), "label": label}
    turn = memory().cursors.methods.turns(name, history.current().methods_at)
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
