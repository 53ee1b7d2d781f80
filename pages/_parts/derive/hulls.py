"""Hulls of a grid of kernels: what is asked for, the path of hulls the worker computes, and one exact hull between."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.errors import DataError
from mklcore.estimators.registry import ESTIMATORS, Control
from mklcore.path import Path, fit_path, path_grid
from mklcore.solvers.hkl.bases import BASES
from mklcore.solvers.hkl.design import Design
from pages._parts.derive import shelves, tables
from pages._parts.jobs import board
from pages._parts.params import link, parameters
from pages._parts.params.parameters import Params

METHOD = ESTIMATORS["hkl"]
POINTS = 16
USUAL_COLUMNS = 20
MOST_COLUMNS = 40
MEMORY_MB = int(next(control.default for control in METHOD.controls if control.name == "memory_mb"))
QUICK_SECONDS = 1.0  # bound on the provisional search at one λ
AT_ONCE_SECONDS = 0.8  # an exact answer that takes longer is waited for in the background
SMALL_ROWS = 3000  # training rows up to which the hulls start without being asked for
REMEMBERED_POINTS = 4


# What is asked for


def control(name: str) -> Control:
    """Return one of the method's controls, for its words and choices."""
    return next(control for control in METHOD.controls if control.name == name)


def basis_label(key: str) -> str:
    """Return what a person calls the basis."""
    kind: Any = BASES[key]
    return kind.label


def read_columns(text: str, table: Dataset) -> list[int]:
    """Return the column indices a link's list of numbers from 1 on names, in order; those the table lacks are left out."""
    wanted = {int(part) - 1 for part in text.split(",") if part}
    return sorted(j for j in wanted if 0 <= j < table.n_features)


def columns(params: Params) -> list[int]:
    """Return the indices of the columns that enter: those chosen, or the first ones."""
    table = tables.table(params)
    return read_columns(params.hull_columns, table)[:MOST_COLUMNS] or usual_columns(table)


def usual_columns(table: Dataset) -> list[int]:
    """Return the columns that enter when nobody chose."""
    return list(range(min(USUAL_COLUMNS, table.n_features)))


def numbers(indices: list[int]) -> str:
    """Return column indices as a link holds them."""
    return ",".join(str(j + 1) for j in indices)


def settings(params: Params) -> dict[str, Any]:
    """Return the values of all controls by name: the usual ones, those of the link, basis and loss."""
    values: dict[str, Any] = {control.name: control.default for control in METHOD.controls}
    for part in params.hull_more.split(";") if params.hull_more else ():
        name, _, text = part.partition("=")
        values[name] = parameters.value_of(control(name), text)
    return values | {"basis": params.hull_basis, "loss": params.hull_loss}


def with_setting(params: Params, name: str, value: parameters.Setting) -> str:
    """Return what a link holds of the advanced controls once one of them is set."""
    values = settings(params) | {name: value}
    moved = [control for control in METHOD.controls if control.advanced and values[control.name] != control.default]
    return ";".join(f"{control.name}={link.write(values[control.name])}" for control in moved)


def acting(params: Params) -> tuple[Control, ...]:
    """Return the controls that act on this table with these settings."""
    return METHOD.shown(tables.table(params).task, "lam", settings(params))


def estimator(params: Params) -> Any:
    """Return the unfitted estimator the parameters ask for. Raises ``DataError`` in words where there is no target."""
    table = tables.table(params)
    if table.task == "novelty":
        raise DataError("Hulls are learned from a target, and this table has none. Choose one on the Data page.")
    values = settings(params)
    chosen = {control.name: values[control.name] for control in acting(params)} | {"levels": params.hull_degree}
    chosen["max_seconds"] /= len(table.class_names) if table.task == "multiclass" else 1
    return METHOD.estimator(table.task, **chosen)


# The path


def key(params: Params) -> tuple[str, Params]:
    """Return the name of the hulls these parameters ask for."""
    return "hulls", params.hulls()


def quick_key(params: Params) -> tuple[str, Params]:
    """Return the name of the provisional hulls shown until the certified ones are there."""
    return "provisional hulls", params.hulls()


def is_small(params: Params) -> bool:
    """Tell whether the hulls may start without being asked for."""
    return len(tables.split(params).train.y) <= SMALL_ROWS


def ask(params: Params) -> None:
    """Have the worker go on: to the provisional hulls first, then to the ones asked for."""
    shelf = shelves.hulls(params)
    quick = shelf.get(quick_key(params))
    if quick is None and settings(params)["search"] != "necessary":
        quick_job = _start(params, quick_key(params), "First hulls", quick=True)
        if quick_job.live or quick_job.state is not board.JobState.DONE:
            return
    _start(params, key(params), "Hulls", quick=False)


def _start(params: Params, name: tuple[str, Params], title: str, *, quick: bool) -> board.Job:
    """Have the worker compute a path of hulls and lay it on the shelf; the rows are read once for both paths."""
    parts, asked, chosen, shelf = tables.split(params), estimator(params), columns(params), shelves.hulls(params)
    done = shelf.get(quick_key(params))

    def work(job: board.Job) -> None:
        asked.set_params(callback=lambda record: job.stop.is_set())
        rows: Any = done.estimators[0].design_ if done is not None else _rows(asked, parts.train, chosen)
        values = path_grid(asked, rows, parts.train.y, "lam", POINTS)[::-1]  # small hulls first: each starts the next
        if quick:
            # Neither validation nor test rows: a provisional hull can be wrong in kind, so nothing is scored with it.
            asked.set_params(search="necessary", max_seconds=min(QUICK_SECONDS, asked.max_seconds))
            shelf.put(name, fit_path(asked, rows, parts.train.y, "lam", values, callback=job.tick))
            return
        validation = parts.validation.X[:, chosen], parts.validation.y
        shelf.put(name, fit_path(asked, rows, parts.train.y, "lam", values, *validation, job.tick))
        shelf.drop(quick_key(params))

    return board.start(name, title, POINTS, work, belongs=lambda now: now.hulls() == params.hulls())


def _rows(asked: Any, train: Dataset, chosen: list[int]) -> Design:
    return Design(
        train.X[:, chosen],
        asked.basis,
        standardize=asked.standardize,
        normalize=asked.normalize_basis,
        names=[train.feature_names[j] for j in chosen],
        memory_mb=asked.memory_mb,
    )


@dataclass(frozen=True, eq=False)
class Answer:
    """Hulls to show, the parameters they belong to, and whether they wait for others to take their place.

    ``waiting``: they answer older parameters. ``provisional``: they answer these, by the necessary condition alone.
    """

    path: Path
    params: Params
    waiting: bool
    provisional: bool


def answer(params: Params) -> Answer | None:
    """Return what there is to show: the hulls asked for, else provisional ones, else those before them on the same table."""
    memory, path = st.session_state, shelves.hulls(params).get(key(params))
    if path is not None:
        memory["hulls"] = Answer(path, params, waiting=True, provisional=is_provisional(path))
        return Answer(path, params, waiting=False, provisional=is_provisional(path))
    quick = shelves.hulls(params).get(quick_key(params))
    if quick is not None:
        return Answer(quick, params, waiting=False, provisional=True)
    before: Answer | None = memory.get("hulls")
    return before if before is not None and before.params.upto("data") == params.upto("data") else None


def is_provisional(path: Path) -> bool:
    """Tell whether no point of the path has a gap, because only the necessary condition was asked for."""
    return bool(np.isnan(path.relative_gap).all())


# One hull


@dataclass(frozen=True, eq=False)
class Hull:
    """One hull to show: λ, the fitted model, and its scores (nan where nothing may be scored)."""

    value: float
    fitted: Any
    train: float
    validation: float
    exact: bool = False


def at(shown: Answer, index: int) -> Hull:
    """Return one solved point of a path."""
    path, nothing = shown.path, shown.provisional
    train, validation = (float("nan") if nothing else float(s[index]) for s in (path.train_score, path.val_score))
    return Hull(float(path.values[index]), path.estimators[index], train, validation)


def exact_key(params: Params, value: float) -> tuple[object, ...]:
    """Return the name of the hull at one λ between the solved ones."""
    return "hull point", params.hulls(), value


def _points() -> shelves.Shelf:
    return st.session_state.setdefault("hull_points", shelves.Shelf(REMEMBERED_POINTS))


def exact(shown: Answer, value: float) -> Hull | None:
    """Return the hull at ``value``, solved from its nearest neighbour; None while the worker is at it or was stopped."""
    name, points, path = exact_key(shown.params, value), _points(), shown.path
    found = points.get(name)
    if found is not None or board.mine(name) is not None:
        return found
    near = path.estimators[path.nearest(value)]
    parts, chosen, params = tables.split(shown.params), columns(shown.params), shown.params

    def work(job: board.Job) -> None:
        fitted = near.solve_near(value, parts.train.y, lambda record: job.stop.is_set())
        job.tick(1, 1)
        train, validation = (float(fitted.score(part.X[:, chosen], part.y)) for part in (parts.train, parts.validation))
        points.put(name, Hull(value, fitted, train, validation, exact=True))

    job = board.start(name, "Exact hull", 1, work, belongs=lambda now: _still_at(now, params, value))
    if job.ended.wait(AT_ONCE_SECONDS):
        job.told = job.state is board.JobState.DONE
    return points.get(name)


def _still_at(now: Params, params: Params, value: float) -> bool:
    return now.hulls() == params.hulls() and now.hull_at == value


def test_score(params: Params, hull: Hull) -> float:
    """Return the score of one hull on the test rows."""
    test = tables.split(params).test
    return float(hull.fitted.score(test.X[:, columns(params)], test.y))
