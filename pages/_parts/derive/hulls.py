"""Derive hulls of a grid of kernels: what is asked for, the path the worker computes, and one exact hull between."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.catalog import ESTIMATORS, Control
from mklcore.data.dataset import Dataset, Split
from mklcore.errors import DataError
from mklcore.paths.path import Path, fit_path, path_grid
from mklcore.solvers.hkl.bases import BASES
from mklcore.solvers.hkl.design import Design
from pages._parts.derive import caches, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Piece, Report
from pages._parts.params import algorithms
from pages._parts.params.algorithms import Setting
from pages._parts.params.parameters import DataParams, HullParams, Params
from pages._parts.session.memory import Answered, memory

METHOD = ESTIMATORS["hkl"]
POINTS = 16
USUAL_COLUMNS = 20
MOST_COLUMNS = 40
MEMORY_MB = int(next(control.default for control in METHOD.controls if control.name == "memory_mb"))
QUICK_SECONDS = 1.0  # bound on the provisional search at one λ
AT_ONCE_SECONDS = 1.0  # an exact answer that takes longer is waited for in the background
SMALL_ROWS = 3000  # training rows up to which the hulls start without being asked for
ROWS, JUDGES = 2000, 2000  # training and validation rows that are used unasked


# What is asked for


def control(name: str) -> Control:
    """Return one of the method's controls, for its words and choices."""
    return next(control for control in METHOD.controls if control.name == name)


def basis_label(key: str) -> str:
    """Return what a person calls the basis."""
    kind: Any = BASES[key]
    return kind.label


def read_columns(text: str, table: Dataset) -> list[int]:
    """Return the column indices a link's list of numbers from 1 on names, in order; those the table lacks are left
    out.
    """
    wanted = {int(part) - 1 for part in text.split(",") if part}
    return sorted(j for j in wanted if 0 <= j < table.n_features)


def columns(params: HullParams) -> list[int]:
    """Return the indices of the columns that enter: those chosen, or the first ones."""
    table = tables.table(params)
    return read_columns(params.hull_columns, table)[:MOST_COLUMNS] or usual_columns(table)


def usual_columns(table: Dataset) -> list[int]:
    """Return the columns that enter when nobody chose."""
    return list(range(min(USUAL_COLUMNS, table.n_features)))


def numbers(indices: list[int]) -> str:
    """Return column indices as a link holds them."""
    return ",".join(str(j + 1) for j in indices)


def settings(params: HullParams) -> dict[str, Any]:
    """Return the values of all controls by name: the usual ones, those of the link, basis and loss."""
    values: dict[str, Any] = {control.name: control.default for control in METHOD.controls}
    for part in params.hull_more.split(";") if params.hull_more else ():
        name, _, text = part.partition("=")
        values[name] = algorithms.read([control(name)], text)
    return values | {"basis": params.hull_basis, "loss": params.hull_loss}


def with_setting(params: HullParams, name: str, value: Setting) -> str:
    """Return what a link holds of the advanced controls once one of them is set."""
    values = settings(params) | {name: value}
    moved = [control for control in METHOD.controls if control.advanced and values[control.name] != control.default]
    return ";".join(f"{control.name}={algorithms.write(values[control.name])}" for control in moved)


def acting(params: HullParams) -> tuple[Control, ...]:
    """Return the controls that act on this table with these settings."""
    return METHOD.shown(tables.table(params).task, "lam", settings(params))


def estimator(params: HullParams) -> Any:
    """Return the unfitted estimator the parameters ask for. Raises ``DataError`` where there is no target."""
    table = tables.table(params)
    if table.task == "novelty":
        raise DataError("Hulls are learned from a target, and this table has none. Choose one on the Data page.")
    values = settings(params)
    chosen = {control.name: values[control.name] for control in acting(params)} | {"levels": params.hull_degree}
    chosen["max_seconds"] /= len(table.class_names) if table.task == "multiclass" else 1
    return METHOD.estimator(table.task, **chosen)


# The path


def key(params: HullParams) -> HullParams:
    """Return what hulls depend on."""
    return params.part(HullParams)


def certified(params: HullParams) -> Derived[Path]:
    """Return the hulls these parameters ask for."""
    return derived(params, "hulls", key, caches.hulls)


def provisional(params: HullParams) -> Derived[Path]:
    """Return the hulls by the necessary condition alone, shown until the certified ones are there."""
    return derived(params, "provisional hulls", key, caches.hulls)


def parts(params: HullParams) -> Split:
    """Return the split whose training and validation rows hulls are learned and chosen on: drawn where there are many.

    Test rows stay as they are. ``hull_rows`` training rows where a person asked for a number of them, else ``ROWS``.
    """
    return tables.drawn(params, params.hull_rows or ROWS, JUDGES)


def is_small(params: HullParams) -> bool:
    """Tell whether the hulls may start without being asked for."""
    return len(parts(params).train.y) <= SMALL_ROWS


def job(params: HullParams) -> Job:
    """Return the work that comes next: the provisional hulls first, then the ones asked for."""
    first, last = provisional(params), certified(params)
    if first.value is None and settings(params)["search"] != "necessary":
        return first.work("First hulls", _provisional(params), POINTS)

    def keep(path: Path) -> None:
        last.keep(path)
        first.drop()

    return last.job("Hulls", Piece(_certified(params), keep, POINTS))


def _certified(params: HullParams) -> Callable[[Report], Path]:
    """Return how to get the path of hulls; the rows are read once for this one and the provisional one."""
    cut, asked, chosen = parts(params), estimator(params), columns(params)
    quick = provisional(params).value

    def solve(report: Report) -> Path:
        report.heard_by(asked)
        rows: Any = quick.estimators[0].design_ if quick is not None else _rows(asked, cut.train, chosen)
        values = _values(asked, rows, cut.train)
        validation = cut.validation.X[:, chosen], cut.validation.y
        return fit_path(asked, rows, cut.train.y, "lam", values, *validation, report.tick)

    return solve


def _provisional(params: HullParams) -> Callable[[Report], Path]:
    """Return how to get a path by the necessary condition alone.

    Neither validation nor test rows: a provisional hull can be wrong in kind, so nothing is scored with it.
    """
    train, asked, chosen = parts(params).train, estimator(params), columns(params)

    def solve(report: Report) -> Path:
        rows: Any = _rows(report.heard_by(asked), train, chosen)
        values = _values(asked, rows, train)
        asked.set_params(search="necessary", max_seconds=min(QUICK_SECONDS, asked.max_seconds))
        return fit_path(asked, rows, train.y, "lam", values, callback=report.tick)

    return solve


def _values(asked: Any, rows: Any, train: Dataset) -> Any:
    return path_grid(asked, rows, train.y, "lam", POINTS)[::-1]  # small hulls first: each starts the next


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
    """Return what there is to show: the hulls asked for, else provisional ones, else those before them on the same
    table.
    """
    path, mind = certified(params).value, memory()
    if path is not None:
        mind.hulls = Answered(path, params)
        return Answer(path, params, waiting=False, provisional=is_provisional(path))
    quick = provisional(params).value
    if quick is not None:
        return Answer(quick, params, waiting=False, provisional=True)
    before = mind.hulls
    if before is None or before.params.part(DataParams) != params.part(DataParams):
        return None
    return Answer(before.path, before.params, waiting=True, provisional=is_provisional(before.path))


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


def exact(shown: Answer, value: float) -> Derived[Hull]:
    """Return the hull at one λ between the solved ones."""
    points = memory().caches.hull_points
    found = derived(shown.params, ("hull point", value), key, lambda params: points)
    return replace(found, is_wanted=lambda now: found.is_wanted(now) and now.hull_at == value)


def exact_job(shown: Answer, value: float) -> Job:
    """Return the work that solves the hull at ``value`` from its nearest neighbour."""
    path, params = shown.path, shown.params
    near = path.estimators[path.nearest(value)]
    cut, chosen = parts(params), columns(params)

    def solve(report: Report) -> Hull:
        fitted = near.solve_near(value, cut.train.y, lambda record: report.unwanted())
        report.tick(1, 1)
        train, validation = (float(fitted.score(part.X[:, chosen], part.y)) for part in (cut.train, cut.validation))
        return Hull(value, fitted, train, validation, exact=True)

    return exact(shown, value).work("Exact hull", solve, patience=AT_ONCE_SECONDS)


def test_score(params: HullParams, hull: Hull) -> float:
    """Return the score of one hull on the test rows."""
    test = tables.split(params).test
    return float(hull.fitted.score(test.X[:, columns(params)], test.y))


def rows_caption(params: HullParams) -> str:
    """Return how many rows are used for what, where not all of them are; empty elsewhere."""
    used, full = parts(params), tables.split(params)
    if used is full:
        return ""
    return (
        f"Trained on {len(used.train.y):,} of {len(full.train.y):,} training rows, chosen on "
        f"{len(used.validation.y):,} of "
        f"{len(full.validation.y):,} validation rows, drawn with every class in its share. The test score counts all "
        f"{len(full.test.y):,} test rows."
    )
