"""From lanes to answers: the parameters of each lane, the paths the worker computes one after the other, exact points.

A lane is the same thing as a state of Explore: both look on the same shelf, so neither computes what the other has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from mklcore.errors import MKLError
from mklcore.path import Path, fit_path, path_grid
from pages._parts.derive import gram_stacks, tables
from pages._parts.derive import paths as derive_paths
from pages._parts.derive import shelves as derive_shelves
from pages._parts.jobs import board
from pages._parts.params import lanes as params_lanes
from pages._parts.params.lanes import Lane
from pages._parts.params.parameters import METHODS, Params, accepts


@dataclass(frozen=True, eq=False)
class Shown:
    """What one lane has to show: its name, its parameters, its path if there is one, and why not if there is none.

    ``waiting``: the path is an older one of this lane, shown until its successor is there.
    """

    label: str
    lane: Lane
    params: Params
    path: Path | None = None
    waiting: bool = False
    error: str = ""


def lanes(params: Params) -> tuple[Lane, ...]:
    """Return the lanes the parameters ask for."""
    return params_lanes.read(params.lanes, METHODS, accepts)


def of_explore(params: Params) -> Lane:
    """Return what Explore shows as a lane."""
    return params_lanes.lane(METHODS[params.algorithm], params.path, dict(params.settings), accepts)


def lane_params(params: Params, lane: Lane) -> Params:
    """Return the parameters under which Explore would show the lane; Explore's own where it shows just this lane."""
    if of_explore(params) == lane:
        return params.upto("path")
    return replace(params, algorithm=lane.algorithm, path=lane.path, settings=lane.settings).upto("path")


def usable(params: Params, names: Sequence[str]) -> list[str]:
    """Return those of the algorithms, by key, that the app knows and the table has a task for."""
    return [name for name in names if name in METHODS] if tables.table(params).task != "novelty" else []


# Paths


def _errors() -> dict[object, str]:
    return st.session_state.setdefault("compare_errors", {})


def key(params: Params) -> object:
    """Return the name of the work on all lanes."""
    return "compare", tuple(derive_paths.key(lane_params(params, lane)) for lane in lanes(params))


def missing(params: Params) -> list[Params]:
    """Return the parameters of the lanes that have neither a path nor a reason to have none."""
    asked = dict.fromkeys(lane_params(params, lane) for lane in lanes(params))
    return [one for one in asked if derive_paths.known(one) is None and derive_paths.key(one) not in _errors()]


def is_small(params: Params, wanted: Sequence[Params]) -> bool:
    """Tell whether the paths may start without being asked for."""
    stack = gram_stacks.grams(wanted[0]).train
    return len(wanted) * stack.n_kernels * stack.n_samples**2 <= 2 * derive_paths.SMALL_ENTRIES


def ask(params: Params) -> None:
    """Have the worker compute every missing path, lane by lane; each lies on the shelf as soon as it ends."""
    prepared, errors = [], _errors()
    for one in missing(params):
        try:
            over = derive_paths.runs_over(one).key
            prepared.append(
                (
                    one,
                    tables.split(one),
                    gram_stacks.grams(one),
                    derive_paths.estimator(one),
                    over,
                    derive_shelves.shelf(one),
                )
            )
        except MKLError as error:
            errors[derive_paths.key(one)] = str(error)

    def work(job: board.Job) -> None:
        for place, (one, parts, grams, asked, over, shelf) in enumerate(prepared):
            asked.set_params(callback=lambda record: job.stop.is_set())
            tick = partial(_tick, job, place, len(prepared))
            try:
                size = derive_paths.SIZES if over == "s" else derive_paths.POINTS
                values = path_grid(asked, grams.train, parts.train.y, over, size)
                path = fit_path(
                    asked, grams.train, parts.train.y, over, values, grams.validation, parts.validation.y, tick
                )
                shelf.put(derive_paths.key(one), path)
            except MKLError as error:
                errors[derive_paths.key(one)] = str(error)

    name = key(params)
    if prepared:
        total = derive_paths.POINTS * len(prepared)
        board.start(name, "Paths of all lanes", total, work, belongs=lambda now: key(now) == name)


def _tick(job: board.Job, place: int, count: int, done: int, total: int) -> None:
    job.tick(place * derive_paths.POINTS + round(derive_paths.POINTS * done / total), derive_paths.POINTS * count)


def again(params: Params) -> None:
    """Forget what failed and start once more."""
    for lane in lanes(params):
        _errors().pop(derive_paths.key(lane_params(params, lane)), None)
    ask(params)


def shown(params: Params) -> list[Shown]:
    """Return what there is to show, lane by lane: its path, else the one this lane had before, else nothing."""
    asked, memory = lanes(params), st.session_state.setdefault("compare_shown", {})
    labels = params_lanes.labels(asked, METHODS, tables.table(params).task)
    found = []
    for place, (lane, label) in enumerate(zip(asked, labels, strict=True)):
        one = lane_params(params, lane)
        path, error = derive_paths.known(one), _errors().get(derive_paths.key(one), "")
        if path is not None:
            memory[place] = Shown(label, lane, one, path)
            found.append(memory[place])
        elif not error and place in memory and memory[place].params.upto("kernels") == one.upto("kernels"):
            found.append(replace(memory[place], waiting=True))
        else:
            found.append(Shown(label, lane, one, error=error))
    return found


# Exact points


def points(params: Params, drawn: Sequence[Shown], value: float) -> list[Path | None]:
    """Return the answer of every lane solved at ``value`` itself; all None while the worker solves them.

    Raises ``MKLError`` in words where the value cannot be solved at.
    """
    ready = [one for one in drawn if one.path is not None and not one.waiting]
    unknown = [one for one in ready if derive_paths.known_point(one.params, value) is None]
    if all(derive_paths.is_quick(one.path, value) for one in unknown if one.path is not None):
        found = {id(one): derive_paths.point(one.params, value) for one in ready}
        return [found.get(id(one)) for one in drawn]
    paths = board.mine(key(params))
    if paths is None or not paths.live:  # else it would stop the work on the lanes that are still to come
        _ask_points(params, unknown, value)
    if all(derive_paths.known_point(one.params, value) is not None for one in ready):
        return [derive_paths.known_point(one.params, value) for one in drawn]
    return [None] * len(drawn)


def points_key(params: Params, value: float) -> object:
    """Return the name of the work on exact points."""
    return "compare points", key(params), value


def _ask_points(params: Params, unknown: Sequence[Shown], value: float) -> None:
    name = points_key(params, value)
    job = board.mine(name)
    if job is not None and (job.live or job.state is not board.JobState.DONE):
        return
    prepared = [
        (one.params, tables.split(one.params), gram_stacks.grams(one.params), derive_paths.estimator(one.params))
        for one in unknown
    ]
    shelves = [derive_shelves.shelf(one.params) for one in unknown]
    overs = [derive_paths.runs_over(one.params).key for one in unknown]

    def work(job: board.Job) -> None:
        for done, ((one, parts, grams, asked), shelf, over) in enumerate(zip(prepared, shelves, overs, strict=True)):
            asked.set_params(callback=lambda record: job.stop.is_set())
            answer = fit_path(
                asked, grams.train, parts.train.y, over, [value], grams.validation, parts.validation.y
            )  # fmt: skip
            shelf.put(derive_paths.point_key(one, value), answer)
            job.tick(done + 1, len(prepared))

    board.start(
        name,
        f"Solving every lane at {value:.4g}",
        len(prepared),
        work,
        belongs=lambda now: points_key(now, value) == name,
    )
