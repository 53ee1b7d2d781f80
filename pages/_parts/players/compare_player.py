"""Players: Compare's shared slider, one component that moves cursors, facts and bars of every lane in the browser.

The session remembers the browser's last report, so that Python moves the cursor only when it chose a new place itself:
the best point of each lane, the number box, undo, a link, other lanes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from mklcore.figures import lanes, path_positions, players
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
_component = st.components.v2.component("compare_player", **players.player("compare")._asdict())


def listen(found: Steps, name: object) -> None:
    """Take the browser's last report about the lanes called ``name`` into the parameters, once, never beyond the
    ends.
    """
    cursor, report = memory().cursors.lanes, fields.report(KEY)
    if cursor.is_new(report) and cursor.name == name:
        text = found.text(min(max(int(report["index"]), 0), len(found.values) - 1))
        cursor.said = text
        history.change(lanes_at=text)


def draw(drawn: Sequence[Shown], found: Steps, here: Place, exact: Sequence[Path | None], name: object) -> None:
    """Draw slider, facts and bars.

    ``exact`` holds the one-point paths solved between the points of the lanes' paths.
    """
    paths = [one.path for one in drawn if one.path is not None]
    shown = lanes.order(paths)
    each = [_lane(one, point, shown) for one, point in zip(drawn, exact, strict=True)]
    indices = [
        lane["points"] if point is not None else at for lane, point, at in zip(each, exact, here.indices, strict=True)
    ]
    _component(
        key=KEY,
        data={
            "chart": CHART,
            "facts": lanes.facts(paths),
            **lanes.kernels(paths, shown, dark=charts.is_dark()),
            "lanes": each,
            "most": lanes.longest(each),
            "steps": [
                {"label": label, "indices": list(points)}
                for label, points in zip(found.labels, found.indices, strict=True)
            ],
            "place": {
                "step": here.step,
                "free": here.kind != "step",
                "indices": indices,
                "label": _label(found, here),
            },
            "turn": memory().cursors.lanes.turns(name, history.current().lanes_at, any(exact)),
        },
        default={"report": None},
        on_report_change=lambda: None,
    )  # fmt: skip


def _label(found: Steps, here: Place) -> str:
    if here.kind == "exact" and here.value is not None:
        return places.label(found.shared, here.value)
    return "each at its best" if here.kind == "best" else found.labels[here.step]


def _lane(one: Shown, exact: Path | None, shown: list[int]) -> dict[str, Any]:
    """Return what the browser needs of one lane; an exact point comes after the points of the path."""
    title = one.label + (" (older, until the new one is ready)" if one.waiting else "")
    if one.path is None:
        note = "Failed" if one.error else "Not there yet"
        return {
            "title": title, "note": note, "waiting": False, "points": 0, "positions": [], "facts": [], "hollow": [],
            "weights": [],
        }  # fmt: skip
    parts = [one.path] if exact is None else [one.path, exact]
    positions = path_positions(one.path).tolist()
    if exact is not None:
        value = float(exact.values[0])
        positions.append(value if np.isfinite(value) else max(positions))
    return lanes.lane(title, parts, positions, shown) | {"waiting": one.waiting}
