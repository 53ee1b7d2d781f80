"""Players: the cursor over λ, dragged without a round trip, with grid, graph and relevance that
follow it.

One inline component. It holds every hull of the path as numbers, and reports once: on release, when
the keys rest, or when a node is clicked. The session remembers the last reports, so that Python
moves the cursor only when it chose a new place itself (undo, a link, the number box, a new path, an
exact hull that has arrived).
"""

from collections.abc import Sequence
from typing import Any

from mklcore.figures import captions
from mklcore.figures import hulls as drawn_hulls
from mklcore.figures.hulls import HullLayout, hull_layout
from mklcore.hkl.stability import Stability
from mklcore.paths.path import Path
from pages.shared.export.saved import EarlierHulls
from pages.shared.session import state
from pages.shared.session.parameters import Params
from pages.shared.values import hulls, tables
from pages.shared.values.hulls import HullsView, HullView
from pages.shared.widgets import controls, drawing
from pages.shared.widgets.players import follow, place, released
from pages.shared.widgets.players import hull as hull_picture
from pages.shared.work import work

KEY = "hull_player"


def label(value: float) -> str:
    """Return "λ = 0.012"."""
    return captions.label("lam", value)


def listen(shown: HullsView) -> None:
    """Take the browser's last reports into the parameters, each of them once: where the cursor was
    let go, what was clicked.
    """
    picked = controls.report(KEY, "picked")
    _follow(shown.path, _name(shown))
    if state.memory().cursors["nodes"].is_new(picked):
        node = str(picked["node"])
        if _is_node(shown, node):
            state.change(hull_node=node)


def _follow(path: Path, name: object) -> None:
    """Take where the cursor of what is called ``name`` was let go into the parameters, once."""
    read = lambda report: float(path.values[released(report, len(path))])  # noqa: E731
    follow("hull", KEY, name, "hull_at", read)


def _is_node(shown: HullsView, text: str) -> bool:
    """Tell whether what the browser calls a node is one of this grid."""
    try:
        found = hulls.read_node(
            text, hulls.columns(shown.params), shown.path.estimators[0].design_.q
        )
    except ValueError:
        return False
    return found is not None


def _name(shown: HullsView) -> object:
    return hulls.key(shown.params), shown.provisional


def drawn(shown: HullsView) -> tuple[HullLayout, list[dict[str, Any]]]:
    """Return places and states of a path, made once."""
    table, chosen = tables.table(shown.params), hulls.columns(shown.params)
    pair = hulls.pair(shown.path, state.current().hull_pair, chosen, table)

    def make() -> tuple[HullLayout, list[dict[str, Any]]]:
        layout = hull_layout(shown.path.estimators, [table.feature_names[j] for j in chosen], pair)
        every = [hulls.at(shown, i) for i in range(len(shown.path))]
        return layout, [_state(shown, hull, layout) for hull in every]

    return work.now(("hull states", hulls.key(shown.params), shown.provisional, pair), make)


def _state(shown: HullsView, hull: HullView, layout: HullLayout) -> dict[str, Any]:
    return drawn_hulls.player_state(hull.fitted, layout, shown.path.score_name, hull.validation)


def player_of(found: EarlierHulls, params: Params) -> None:
    """Draw hulls that came with the project: cursor, grid, graph and relevance; there are no models
    to click for more.
    """
    name = "earlier", hulls.key(params)
    _follow(found.path, name)
    now = state.current()
    here = place(found.path, now.hull_at)
    _draw(
        found.layout,
        found.states,
        hulls.columns(params),
        index=here.index,
        turn=_turn(name),
    )


def player(
    shown: HullsView, index: int, between: HullView | None, selected: str, stable: Stability | None
) -> None:
    """Draw the cursor and the pictures that follow it.

    ``between`` is a hull solved between the points of the path, ``stable`` how often the columns of
    the hull that is shown are selected on other rows.
    """
    layout, states = drawn(shown)
    ticks = None if stable is None else [float(stable.columns[i]) for i in layout.bars]
    exact = None if between is None else _state(shown, between, layout)
    _draw(
        layout,
        states,
        hulls.columns(shown.params),
        index=index,
        exact=exact,
        selected=selected,
        ticks=ticks,
        turn=_turn(_name(shown), between is not None),
    )


def _turn(name: object, given: object = None) -> int:
    return state.memory().cursors["hull"].turns(name, state.current().hull_at, given)


def _draw(
    layout: HullLayout,
    states: Sequence[dict[str, Any]],
    chosen: list[int],
    **now: Any,
) -> None:
    numbers = [j + 1 for j in chosen]
    drawn = drawn_hulls.hull_json(layout, states, numbers, dark=drawing.is_dark())
    hull_picture(KEY, {**drawn, **now})
