"""From parameters to an answer: the estimator they ask for, the path the worker computes, and one exact point of it."""

import warnings
from dataclasses import dataclass

import streamlit as st
from sklearn.base import BaseEstimator

from mklcore.errors import NotConvergedWarning
from mklcore.estimators.registry import Algorithm, PathParameter
from mklcore.path import Path, fit_path, path_grid
from pages._parts import cache, jobs
from pages._parts.controls import applicable
from pages._parts.state import METHODS, Params

POINTS = 25
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
    method, task = algorithm(params), cache.table(params).task
    settings = {control.name: params.setting(control) for control in applicable(method, task)}
    settings.pop(runs_over(params).attribute, None)
    return method.estimator(task, kernels=cache.dictionary(params), **settings)


def key(params: Params) -> object:
    """Return the name of the path these parameters ask for."""
    return "path", params.upto("path")


def known(params: Params) -> Path | None:
    """Return the path if it has been computed."""
    return cache.shelf(params).get(key(params))


def is_small(params: Params) -> bool:
    """Tell whether the path may start without being asked for."""
    stack = cache.grams(params).train
    return stack.n_kernels * stack.n_samples**2 <= SMALL_ENTRIES


def ask(params: Params) -> None:
    """Have the worker compute the path; it lays the result on the shelf."""
    parts, grams, asked = cache.split(params), cache.grams(params), estimator(params)
    param, shelf, name = runs_over(params).key, cache.shelf(params), key(params)

    def work(job: jobs.Job) -> None:
        quiet()
        # A single point may take seconds: the solver looks at the flag after each of its own steps.
        asked.set_params(callback=lambda record: job.stop.is_set())
        values = path_grid(asked, grams.train, parts.train.y, param, POINTS)
        quiet()
        path = fit_path(
            asked, grams.train, parts.train.y, param, values, grams.validation, parts.validation.y, job.tick
        )
        shelf.put(name, path)

    jobs.start(name, "Path", POINTS, work)


def quiet() -> None:
    """Keep warnings about points short of their tolerance off the server's log: the screen tells them, with the gap."""
    warnings.filterwarnings("ignore", category=NotConvergedWarning)


def point(params: Params, value: float) -> Path:
    """Return the exact answer at ``value`` as a path of one point. Raises ``ParameterError`` in words."""
    parts, grams, param = cache.split(params), cache.grams(params), runs_over(params).key

    def solve() -> Path:
        quiet()
        return fit_path(
            estimator(params), grams.train, parts.train.y, param, [value], grams.validation, parts.validation.y
        )

    return cache.shelf(params).made(("point", key(params), value), solve)


def test_score(params: Params, path: Path, index: int) -> float:
    """Return the score of one point on the test rows."""
    test = cache.split(params).test
    return float(path.estimators[index].score(test.X, test.y))


def follow(params: Params) -> None:
    """Drop this session's path, and say so, when the table or the kernels it belongs to are no longer those in use."""
    memory = st.session_state
    before: Params | None = memory.get("answered")
    if before is not None and before.upto("kernels") != params.upto("kernels"):
        what = "table or its split" if before.upto("data") != params.upto("data") else "kernels"
        memory["told"] = f"The {what} changed, so the path computed before is dropped. Explore computes it anew."
        del memory["answered"], memory["answer"]
    job: jobs.Job | None = memory.get("job")
    if job is not None and job.live and job.key not in (key(params), ("hulls", params.hulls())):
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
