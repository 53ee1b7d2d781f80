"""Derive which columns count: what the validation score loses when one is shuffled, and how the weight is spread."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.estimators.explain import (
    N_SHARES,
    Shares,
    kernels_by_columns,
    kernels_by_family,
    specs_of,
    weight_shares,
)
from mklcore.estimators.importance import ColumnAnswer, column_importance, kernel_units
from mklcore.kernels.dictionary import Unit
from mklcore.kernels.functions import KernelSpec
from mklcore.paths.path import Path, fit_path_of
from pages._parts.derive import caches, dictionaries, gram_stacks, low_rank, paths, scores, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.derive.paths import Answer
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import PathParams

ROWS = 500  # validation rows that are shuffled


def seen(params: PathParams) -> tuple[Unit, ...]:
    """Return what can count: the columns of the table, its groups or bands where they are many, or the kernels of a
    stack.
    """
    if tables.on_stack(params):
        return kernel_units(gram_stacks.grams(params).train.names)
    return dictionaries.made_of(params)


def n_rows(params: PathParams) -> int:
    """Return how many validation rows are shuffled."""
    return min(ROWS, len(gram_stacks.parts(params).validation.y))


def ranking(params: PathParams, value: float) -> Derived[tuple[ColumnAnswer, ...]]:
    """Return how much every column counts at one point, the most important first."""
    return derived(params, ("importance", value), paths.key)


def together(params: PathParams, value: float) -> Derived[float]:
    """Return what kernels of everything add to the validation score, where there are any."""
    return derived(params, ("together", value), paths.key)


def job(params: PathParams, path: Path, index: int) -> Job:
    """Return the work that shuffles every column and measures what the score loses, then leaves kernels of everything
    out.
    """
    value = float(path.values[index])
    model, columns, scoring = path.estimators[index], seen(params), scores.scoring(params)
    rows, y = _rows(params)

    def shuffle(report: Report) -> tuple[ColumnAnswer, ...]:
        return column_importance(model, rows, y, columns, callback=report.tick, scoring=scoring, seed=params.seed)

    found = ranking(params, value)
    pieces = [found.piece(shuffle, len(columns))]
    rest = _apart(params)
    if rest is not None and path.param in ("C", "lam") and getattr(model, "penalty", None) is None:
        pieces.append(together(params, value).piece(_without(params, path, index, rest)))
    return found.job("Columns", *pieces)


def _rows(params: PathParams) -> tuple[Any, np.ndarray]:
    """Return validation rows, or their block of a stack, and their target; at most ``ROWS`` of them."""
    validation = gram_stacks.parts(params).validation
    if not tables.on_stack(params):
        some = validation.drawn(ROWS, params.seed)
        return some.table, some.y
    block = gram_stacks.grams(params).validation
    return block[:, :ROWS], validation.y[:ROWS]


def _apart(params: PathParams) -> list[int] | None:
    """Return the kernels that do not see everything; None where there are no others, or only they."""
    if tables.on_stack(params) or low_rank.in_use(params):
        return None
    specs = gram_stacks.grams(params).train.specs or ()
    every = set(range(tables.table(params).n_features))
    rest = [m for m, spec in enumerate(specs) if not every or not every <= set(spec.settled)]
    return rest if 0 < len(rest) < len(specs) else None


def _without(params: PathParams, path: Path, index: int, rest: list[int]) -> Callable[[Report], float]:
    """Return what solves the point without kernels of everything, and how much of the score they are worth."""
    given, value = paths.prepared(params), float(path.values[index])
    grams, parts, asked = given.grams, given.parts, given.asked
    more = grams.train, rest, parts.train.y, path.param, [value], grams.validation, parts.validation.y

    def leave_out(report: Report) -> float:
        found = fit_path_of(report.heard_by(asked), *more, scoring=given.scoring)
        return float(path.val_score[index] - found.val_score[0])

    return leave_out


def shares(shown: Answer, what: str, *, every: bool = False) -> Shares:
    """Return the shares of the kernel weights per group of columns or per family along the path: of the largest, or
    all.
    """
    path = shown.path

    def make() -> Shares:
        found = members(shown, what)
        return weight_shares(path.weights, found, limit=len(found) if every else N_SHARES)

    return caches.result_cache(shown.params).made(("shares", what, every, shown.tag), make)


def members(shown: Answer, what: str) -> dict[str, list[int]]:
    """Return the places of the kernels that see each column, or are of each family, by its name."""
    path, table = shown.path, tables.table(shown.params)
    if what == "families":
        return kernels_by_family(path.kernel_families)
    if tables.on_stack(shown.params):
        return {name: [m] for m, name in enumerate(path.kernel_names)}
    fitted = path.estimators[0]  # a path that was kept has none until it is solved anew
    if fitted is not None:
        specs = specs_of(fitted)
    else:
        specs = _specs(shown.params, path) if shown.earlier else gram_stacks.grams(shown.params).train.specs or ()
    units = [(unit.name, unit.columns) for unit in seen(shown.params)]
    views = [(name, members) for name, members in table.groups if len(members) > 1]
    return kernels_by_columns(specs, units, table.source_names, views)


def _specs(params: PathParams, path: Path) -> tuple[KernelSpec, ...]:
    """Return the kernels of a path that came with the project from the dictionary: no matrix is built to draw it."""
    made, n_features = dictionaries.dictionary(params), tables.table(params).n_features
    spec = {
        name: replace(one, features=tuple(one.columns(n_features)))
        for name, one in zip(made.names, made.specs, strict=True)
    }
    return tuple(spec[name] for name in path.kernel_names)
