"""Players: the cursor over λ, dragged without a round trip, with grid, graph and relevance that follow it.

One inline component. It holds every hull of the path as numbers, and reports once: on release, when the keys rest, or
when a node is clicked. The session remembers the last reports, so that Python moves the cursor only when it chose a new
place itself (undo, a link, the number box, a new path, an exact hull that has arrived).
"""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from mklcore.figures import captions, hull_states, players
from mklcore.figures.hull_states import HullLayout, hull_layout
from mklcore.paths.path import Path
from pages._parts.derive import caches, earlier, hull_words, hulls, tables
from pages._parts.derive.hulls import Answer, Hull
from pages._parts.drawing import charts
from pages._parts.params import places
from pages._parts.params.parameters import Params
from pages._parts.session import fields, history
from pages._parts.session.memory import memory

KEY = "hull_player"
_component = st.components.v2.component("hull_player", **players.player("hull")._asdict())


def label(value: float) -> str:
    """Return "λ = 0.012"."""
    return captions.label("lam", value)


def listen(shown: Answer) -> None:
    """Take the browser's last reports into the parameters, each of them once: where the cursor was let go, what was
    clicked.
    """
    cursor, report, picked = memory().cursors.hull, fields.report(KEY), fields.report(KEY, "picked")
    if cursor.is_new(report) and cursor.name == _name(shown):
        index = min(max(int(report["index"]), 0), len(shown.path) - 1)
        cursor.said = float(shown.path.values[index])
        history.change(hull_at=cursor.said)
    if cursor.takes_pick(picked) and _is_node(shown, str(picked["node"])):
        history.change(hull_node=str(picked["node"]))


def _is_node(shown: Answer, text: str) -> bool:
    """Tell whether what the browser calls a node is one of this grid."""
    try:
        found = hull_words.read_node(text, hulls.columns(shown.params), shown.path.estimators[0].design_.q)
    except ValueError:
        return False
    return found is not None


def _name(shown: Answer) -> object:
    return hulls.key(shown.params), shown.waiting, shown.provisional


def drawn(shown: Answer) -> tuple[HullLayout, list[dict[str, Any]]]:
    """Return places and states of a path, made once."""
    table, chosen = tables.table(shown.params), hulls.columns(shown.params)
    pair = hull_words.pair(shown.path, history.current().hull_pair, chosen, table)

    def make() -> tuple[HullLayout, list[dict[str, Any]]]:
        layout = hull_layout(shown.path.estimators, [table.feature_names[j] for j in chosen], pair)
        return layout, [_state(shown, hulls.at(shown, i), layout) for i in range(len(shown.path))]

    return caches.result_cache(shown.params).made(
        ("hull states", hulls.key(shown.params), shown.provisional, pair), make
    )


def _state(shown: Answer, hull: Hull, layout: HullLayout) -> dict[str, Any]:
    said = hull_states.hull_words(hull.fitted, shown.path.score_name, hull.validation)
    return hull_states.player_state(hull.fitted, layout, said | {"label": label(hull.value)})


def kept(shown: Answer) -> earlier.Hulls:
    """Return what a path of hulls looks like, to come with the project."""
    layout, states = drawn(shown)
    return earlier.Hulls(shown.path, layout, tuple(states))


def player_of(found: earlier.Hulls, params: Params) -> None:
    """Draw hulls that came with the project: cursor, grid, graph and relevance; there are no models to click for
    more.
    """
    cursor, report = memory().cursors.hull, fields.report(KEY)
    name = "earlier", hulls.key(params)
    if cursor.is_new(report) and cursor.name == name:
        cursor.said = float(found.path.values[min(max(int(report["index"]), 0), len(found.path) - 1)])
        history.change(hull_at=cursor.said)
    now = history.current()
    here = places.place(found.path, now.hull_at)
    turn = cursor.turns(name, now.hull_at)
    _draw(found.layout, found.states, hulls.columns(params), index=here.index, exact=None, turn=turn, selected="")


def graph_player(path: Path, params: Params) -> int:
    """Draw the hulls of a graph along lambda, whose nodes are described in the browser; return the point shown."""
    cursor, report = memory().cursors.hull, fields.report(KEY)
    name = "graph", params.graph, params.seed, len(path)
    if cursor.is_new(report) and cursor.name == name:
        cursor.said = float(path.values[min(max(int(report["index"]), 0), len(path) - 1)])
        history.change(hull_at=cursor.said)
    here = places.place(path, history.current().hull_at)

    def make() -> tuple[HullLayout, list[dict[str, Any]]]:
        layout = hull_layout(path.estimators)
        said = [
            hull_states.hull_words(fitted, path.score_name, float(score))
            for fitted, score in zip(path.estimators, path.val_score, strict=True)
        ]
        reported = zip(path.estimators, said, strict=True)
        return layout, [hull_states.player_state(fitted, layout, line) for fitted, line in reported]

    layout, states = caches.result_cache(Params()).made(("graph states", name), make)
    turn = cursor.turns(name, history.current().hull_at)
    _draw(layout, states, [], index=here.index, exact=None, turn=turn, selected="", tells=True)
    return here.index


def player(shown: Answer, index: int, between: Hull | None, selected: str) -> None:
    """Draw the cursor and the pictures that follow it. ``between`` is a hull solved between the points of the path."""
    layout, states = drawn(shown)
    exact = None if between is None else _state(shown, between, layout)
    turn = memory().cursors.hull.turns(_name(shown), history.current().hull_at, between is not None)
    _draw(
        layout, states, hulls.columns(shown.params), index=index, exact=exact, turn=turn, selected=selected,
        waiting=shown.waiting,
    )  # fmt: skip


def _draw(
    layout: HullLayout,
    states: Sequence[dict[str, Any]],
    chosen: list[int],
    *,
    index: int,
    exact: dict[str, Any] | None,
    turn: int,
    selected: str,
    waiting: bool = False,
    tells: bool = False,
) -> None:
    _component(
        key=KEY,
        data={
            **hull_states.hull_player(layout, states, [j + 1 for j in chosen], dark=charts.is_dark()),
            "index": index,
            "exact": exact,
            "turn": turn,
            "selected": selected,
            "waiting": waiting,
            "tells": tells,
        },
        default={"report": None, "picked": None},
        on_report_change=lambda: None,
        on_picked_change=lambda: None,
    )  # fmt: skip
