"""Compare, the rail: presets, and one fold per lane with its method, its path and the controls of the registry."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from mklcore.catalog import ESTIMATORS
from mklcore.figures import style
from pages._parts.derive import comparison, paths, tables
from pages._parts.drawing import controls
from pages._parts.params import lanes as params_lanes
from pages._parts.params import parameters, places
from pages._parts.params.lanes import FEWEST, MOST, Lane
from pages._parts.params.parameters import METHODS, Params
from pages._parts.session import fields, history, nav
from pages._parts.session.memory import memory

NORMS = (1.0, 4 / 3, 2.0, float("inf"))
COSTS = (0.1, 1.0, 10.0)


def learners() -> tuple[str, ...]:
    """Return the methods that weigh or choose kernels: all but the baselines."""
    return tuple(name for name in METHODS if name not in paths.BASELINES)


def draw() -> None:
    """Draw presets and lanes, or leave for Explore when a lane is to be opened there."""
    if memory().wishes.granted("leave_compare"):
        nav.go("explore")
    params = history.current()
    lanes = comparison.lanes(params)
    _preset(params, lanes)
    controls.scoring()
    labels = params_lanes.labels(lanes, METHODS, tables.table(params).task)
    for place, label in enumerate(labels):
        with st.expander(f"{place + 1}. {label}", key=f"lane_{place}"):
            _lane(params, lanes, place)
    st.button(
        "Add a lane", key="lane_add", icon=":material/add:", on_click=_keep, args=([*lanes, _next(lanes)],),
        disabled=len(lanes) >= MOST, help=f"From {FEWEST} to {MOST} lanes stand side by side.",
    )  # fmt: skip
    apart = [method.label for method in ESTIMATORS.values() if method.on == "table"]
    if apart:
        st.caption(f"{style.in_words(apart)} learns from the columns themselves: it has a page of its own.")


def _open(own: Params) -> None:
    history.change(algorithm=own.algorithm, path=own.path, settings=own.settings, at=None)
    memory().wishes.leave_compare = True


def _keep(lanes: Sequence[Lane]) -> None:
    history.change(lanes=params_lanes.write(lanes))


def _next(lanes: Sequence[Lane]) -> Lane:
    """Return a lane to add: the first method that is not there yet."""
    used = {lane.algorithm for lane in lanes}
    return Lane(next((name for name in METHODS if name not in used), lanes[0].algorithm))


# Presets


def presets(params: Params) -> dict[str, tuple[Lane, ...]]:
    """Return the named sets of lanes that make sense for the table, built from the registry."""
    task = tables.table(params).task
    losses = next((c for c in METHODS["lp"].controls if c.name == "loss" and task in c.tasks), None)
    now = comparison.of_explore(params)
    baselines = tuple(Lane(name) for name in paths.BASELINES if name in METHODS and name != now.algorithm)
    found = {
        "Four norms, from sparse to even": tuple(_lane_of("lp", p=p) for p in NORMS),
        "All methods and the uniform sum": (*map(Lane, learners()), Lane("uniform"))[:MOST],
        "What Explore shows, and the baselines": (now, *baselines),
        "Kernel by kernel": tuple(
            Lane(name, _over(name, "s")) for name in learners() if "s" in METHODS[name].path_params
        ),
        "MKL-GOMP and ridge under ℓq norms": (
            Lane("gomp", _over("gomp", "lam")),
            *(_lane_of("lp", p=q, loss="squared", fit_intercept=False) for q in NORMS),
        ),
        "Convex and concave prices": (_lane_of("lp", p=1.0), Lane("smkl"), _lane_of("smkl", terms="log")),
        "The norm as path, at three costs": tuple(replace(_lane_of("lp", "p", C=cost)) for cost in COSTS),
    }
    if losses is not None and len(losses.choices) > 1:
        found["One norm, other losses"] = tuple(_lane_of("lp", p=2.0, loss=loss) for loss in losses.choices)
    return {name: lanes for name, lanes in found.items() if FEWEST <= len(lanes) <= MOST}


def _over(name: str, key: str) -> str:
    return "" if METHODS[name].path_params[0] == key else key


def _lane_of(name: str, path: str = "", **settings: parameters.Setting) -> Lane:
    return params_lanes.lane(METHODS[name], path, settings, parameters.accepts)


def _preset(params: Params, lanes: tuple[Lane, ...]) -> None:
    offered = presets(params)
    active = next((name for name, chosen in offered.items() if chosen == lanes), None)
    fields.view(
        st.selectbox, "Preset", "lanes_preset", active,
        lambda name: None if name is None else history.change(lanes=params_lanes.write(offered[name]), lanes_at=""),
        options=list(offered), index=None, placeholder="Lanes of your own",
    )  # fmt: skip
    st.caption("A preset sets all lanes. Below, each lane has the controls of its method.")


# One lane


def _lane(params: Params, lanes: tuple[Lane, ...], place: int) -> None:
    lane = lanes[place]
    method, own = METHODS[lane.algorithm], comparison.lane_params(params, lane)

    def put(changed: Lane) -> None:
        _keep([*lanes[:place], changed, *lanes[place + 1 :]])

    fields.view(
        st.selectbox, "Method", f"lane_{place}_algorithm", lane.algorithm, lambda name: put(Lane(name)),
        options=list(METHODS), format_func=lambda name: METHODS[name].label, help=method.one_line,
    )  # fmt: skip
    if len(method.path_params) > 1:
        fields.view(
            st.segmented_control, "Path over", f"lane_{place}_path", lane.over(METHODS),
            lambda key: put(params_lanes.lane(method, key, dict(lane.settings), parameters.accepts)),
            options=list(method.path_params), format_func=places.symbol, required=True,
        )  # fmt: skip

    def keep(name: str) -> Callable[[parameters.Setting], None]:
        return lambda value: put(
            params_lanes.lane(method, lane.path, {**dict(lane.settings), name: value}, parameters.accepts)
        )

    acting = paths.acting(own)
    rare = [control for control in acting if control.advanced]
    more = bool(rare) and bool(fields.value(f"lane_{place}_more"))
    for control in acting:
        if more or not control.advanced:
            key = f"lane_{place}_{control.name}_{control.kind}"
            controls.widget(control, own.setting(control), key, keep(control.name))
    if rare:
        st.toggle("Advanced settings", key=f"lane_{place}_more")
    st.button("Open on Explore", key=f"lane_{place}_explore", icon=":material/show_chart:", on_click=_open, args=(own,))
    st.button(
        "Remove", key=f"lane_{place}_remove", icon=":material/close:", on_click=_keep,
        args=([*lanes[:place], *lanes[place + 1 :]],), disabled=len(lanes) <= FEWEST,
    )  # fmt: skip
