"""From parameters to an answer: the estimator they ask for, the path the worker computes, and one exact point of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from sklearn.base import BaseEstimator

from mklcore.errors import told_elsewhere
from mklcore.estimators.registry import Algorithm, Control, PathParameter, Variant
from mklcore.path import Interval, Path, fit_path, interval_along, path_grid
from mklcore.selection import SelectionFrequency, selection_frequency
from pages._parts.derive import dictionaries, gram_stacks, measuring, shelves, tables
from pages._parts.jobs import board
from pages._parts.params.parameters import METHODS, Params, Setting, applicable

POINTS = 25
SIZES = 50  # of a path over the number of kernels: one run gives all of them
BASELINE_ENTRIES = 8e6
RESAMPLES = 20
QUICK_SECONDS = 0.7  # a point that the neighbours solved in less is solved while the person waits
BASELINES = ("uniform", "best")
SMALL_ENTRIES = 60e6  # kernels x rows x rows up to which a path starts without being asked for


def algorithm(params: Params) -> Algorithm:
    """Return the algorithm in use."""
    return METHODS[params.algorithm]


def runs_over(params: Params) -> PathParameter:
    """Return the parameter the path runs over."""
    method = algorithm(params)
    return method.path(params.path if params.path in method.path_params else method.path_params[0])


def estimator(params: Params) -> BaseEstimator:
    """Return the unfitted estimator the parameters ask for, all but the parameter of the path."""
    method, task = algorithm(params), tables.table(params).task
    settings = {control.name: params.setting(control) for control in acting(params)}
    kernels: Any = "precomputed" if tables.on_stack(params) else dictionaries.dictionary(params)
    if method.prepare is None:
        return method.estimator(task, kernels=kernels, **settings)
    stack = gram_stacks.grams(params).train
    return method.estimator(
        task, kernels=kernels, stack=stack, alignment=lambda: measuring.measures(params).between, **settings
    )


def acting(params: Params) -> tuple[Control, ...]:
    """Return the controls that have an effect under these parameters: not the path's own, nor what another switches off."""
    method, task = algorithm(params), tables.table(params).task
    values: dict[str, Setting] = {control.name: params.setting(control) for control in applicable(method, task)}
    return method.shown(task, runs_over(params).key, values)


def told(params: Params) -> Algorithm | Variant:
    """Return whose formula and words hold under these parameters: a control may change what is solved."""
    acts = {control.name: params.setting(control) for control in acting(params)}
    return algorithm(params).told(acts, tables.table(params).task)


def key(params: Params) -> object:
    """Return the name of the path these parameters ask for."""
    return "path", params.upto("path")


def known(params: Params) -> Path | None:
    """Return the path if it has been computed."""
    return shelves.shelf(params).get(key(params))


def baselines_are_small(params: Params) -> bool:
    """Tell whether the baselines may start unasked: the best single kernel takes a machine per kernel and point."""
    stack = gram_stacks.grams(params).train
    return stack.n_kernels * stack.n_samples**2 <= BASELINE_ENTRIES


def is_small(params: Params) -> bool:
    """Tell whether the path may start without being asked for."""
    stack = gram_stacks.grams(params).train
    return stack.n_kernels * stack.n_samples**2 <= SMALL_ENTRIES


def ask(params: Params) -> None:
    """Have the worker compute the path; it lays the result on the shelf."""
    parts, grams, asked = tables.split(params), gram_stacks.grams(params), estimator(params)
    param, shelf, name = runs_over(params).key, shelves.shelf(params), key(params)

    def work(job: board.Job) -> None:
        # A single point may take seconds: the solver looks at the flag after each of its own steps.
        asked.set_params(callback=lambda record: job.stop.is_set())
        values = path_grid(asked, grams.train, parts.train.y, param, SIZES if param == "s" else POINTS)
        path = fit_path(
            asked, grams.train, parts.train.y, param, values, grams.validation, parts.validation.y, job.tick
        )
        shelf.put(name, path)

    board.start(name, "Path", POINTS, work, belongs=lambda now: key(now) == name)


def point_key(params: Params, value: float) -> object:
    """Return the name of one exact answer."""
    return "point", key(params), value


def point(params: Params, value: float) -> Path:
    """Return the exact answer at ``value`` as a path of one point. Raises ``ParameterError`` in words."""
    with told_elsewhere():
        return shelves.shelf(params).made(point_key(params, value), lambda: _solver_of(params, value)(None))


def _solver_of(params: Params, value: float) -> Callable[[board.Job | None], Path]:
    """Return what solves one point, from the nearest solved point of the path where there is one."""
    parts, grams, param = tables.split(params), gram_stacks.grams(params), runs_over(params).key
    asked, path = estimator(params), known(params)
    nearest = None if path is None else path.estimators[path.nearest(value)]

    def solve(job: board.Job | None) -> Path:
        if job is not None:
            asked.set_params(callback=lambda record: job.stop.is_set())
        return fit_path(
            asked, grams.train, parts.train.y, param, [value], grams.validation, parts.validation.y,
            None if job is None else job.tick, nearest,
        )  # fmt: skip

    return solve


def known_point(params: Params, value: float) -> Path | None:
    """Return the exact answer at ``value`` if it has been computed."""
    return shelves.shelf(params).get(point_key(params, value))


def is_quick(path: Path, value: float) -> bool:
    """Tell whether a point near ``value`` may be solved while the person waits."""
    spent = path.seconds[path.nearest(value)] if path.param != "s" else path.seconds[0]
    return float(spent) <= QUICK_SECONDS


def ask_point(params: Params, value: float) -> None:
    """Have the worker solve one point."""
    name, shelf, solve = point_key(params, value), shelves.shelf(params), _solver_of(params, value)

    def work(job: board.Job) -> None:
        shelf.put(name, solve(job))

    board.start(name, f"Solving at {value:.4g}", 1, work, belongs=lambda now: point_key(now, now.at or 0.0) == name)


def interval(params: Params, path: Path, value: float) -> Interval | None:
    """Return between which numbers the optimum at ``value`` lies, without solving; None where no certificate says."""
    parts, grams = tables.split(params), gram_stacks.grams(params)
    make = lambda: (interval_along(path, grams.train, parts.train.y, value),)  # noqa: E731  None is an answer too
    return shelves.shelf(params).made(("interval", key(params), value), make)[0]


# Baselines and stability


def baseline(params: Params, name: str) -> Params:
    """Return the parameters of a baseline on the same table and kernels, with the same loss: a path that Explore shows too."""
    shared = tuple((k, value) for k, value in params.settings if k in ("loss", "epsilon"))
    return replace(params, algorithm=name, path="", settings=shared, at=None).upto("path")


def baselines(params: Params) -> dict[str, Path | None]:
    """Return the paths of the baselines that are known by now; there are none where the table has no target."""
    task = tables.table(params).task
    return {name: known(baseline(params, name)) for name in BASELINES if METHODS[name].fits(task)}


def baselines_key(params: Params) -> object:
    """Return the name of the work on all baselines."""
    return "baselines", tuple(key(baseline(params, name)) for name in BASELINES)


def ask_baselines(params: Params) -> None:
    """Have the worker compute the baselines' paths."""
    missing = [lane for lane in (baseline(params, name) for name in BASELINES) if known(lane) is None]
    prepared = [
        (lane, tables.split(lane), gram_stacks.grams(lane), estimator(lane), shelves.shelf(lane)) for lane in missing
    ]
    name = baselines_key(params)

    def work(job: board.Job) -> None:
        for place, (lane, parts, grams, asked, shelf) in enumerate(prepared):
            asked.set_params(callback=lambda record: job.stop.is_set())
            values = path_grid(asked, grams.train, parts.train.y, "C", POINTS)
            tick = lambda done, total, place=place: job.tick(place * POINTS + done, POINTS * len(prepared))  # noqa: E731
            path = fit_path(asked, grams.train, parts.train.y, "C", values, grams.validation, parts.validation.y, tick)
            shelf.put(key(lane), path)

    board.start(name, "Baselines", POINTS * len(prepared), work, belongs=lambda now: baselines_key(now) == name)


def frequency_key(params: Params, value: float) -> object:
    """Return the name of the stability check at ``value``."""
    return "frequency", key(params), value


def frequency(params: Params, value: float) -> SelectionFrequency | None:
    """Return how often each kernel was used in refits at ``value``, if it has been asked for."""
    return shelves.shelf(params).get(frequency_key(params, value))


def ask_frequency(params: Params, value: float) -> None:
    """Have the worker refit on halves of the training rows at ``value``."""
    parts, grams, shelf, name = (
        tables.split(params),
        gram_stacks.grams(params),
        shelves.shelf(params),
        frequency_key(params, value),
    )
    asked, over = estimator(params), runs_over(params)
    asked.set_params(**{over.attribute: int(value) if over.key == "s" else value})

    def work(job: board.Job) -> None:
        asked.set_params(callback=lambda record: job.stop.is_set())
        found = selection_frequency(asked, grams.train, parts.train.y, RESAMPLES, params.seed, job.tick)
        shelf.put(name, found)

    board.start(name, "Refits", RESAMPLES, work, belongs=lambda now: key(now) == key(params))


def test_score(params: Params, path: Path, index: int) -> float:
    """Return the score of one point on the test rows."""
    test = tables.split(params).test
    return float(path.estimators[index].score(gram_stacks.test_rows(params), test.y))


def follow(params: Params) -> None:
    """Drop this session's path, and say so, when the table or the kernels it belongs to are no longer those in use."""
    memory = st.session_state
    before: Params | None = memory.get("answered")
    if before is not None and before.upto("kernels") != params.upto("kernels"):
        what = "table or its split" if before.upto("data") != params.upto("data") else "kernels"
        memory["told"] = f"The {what} changed, so the path computed before is dropped. Explore computes it anew."
        del memory["answered"], memory["answer"]
    job: board.Job | None = memory.get("job")
    if job is not None and job.live and not job.belongs(params):
        job.stop.set()


@dataclass(frozen=True, eq=False)
class Answer:
    """A path to show, the parameters it belongs to, and whether it is an older one that waits for its successor."""

    path: Path
    params: Params
    waiting: bool


def answer(params: Params) -> Answer | None:
    """Return what there is to show: the path asked for, else the one before it, else nothing."""
    memory = st.session_state
    path = known(params)
    if path is not None:
        memory["answered"], memory["answer"] = params, path
        memory.pop("told", None)
        return Answer(path, params, waiting=False)
    return Answer(memory["answer"], memory["answered"], waiting=True) if "answer" in memory else None
