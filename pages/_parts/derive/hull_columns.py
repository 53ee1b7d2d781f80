"""Derive which columns of the table a hull needs: what its validation score loses when one of them is shuffled."""

from mklcore.data.dataset import Dataset
from mklcore.estimators.effects import TermEffect, term_effect
from mklcore.estimators.importance import ColumnAnswer, column_importance
from mklcore.estimators.terms import Columns, Decomposition, decompose
from mklcore.kernels.dictionary import Unit, units
from pages._parts.derive import caches, hulls, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.derive.hulls import Answer, Hull
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import HullParams

ROWS = 300  # validation rows that are shuffled
REPEATS = 3
TERM_ROWS = 500  # training rows on which shares are taken


def seen(params: HullParams) -> tuple[Unit, ...]:
    """Return the columns of the table as the hull has them: at their places among those that enter; others are left
    out.
    """
    table = tables.table(params)
    place = {j: k for k, j in enumerate(hulls.columns(params))}
    every = units(table, most_columns=table.n_features)
    own = ((unit, tuple(place[j] for j in unit.columns if j in place)) for unit in every)
    return tuple(Unit(unit.name, inside, unit.kind) for unit, inside in own if inside)


def terms(params: HullParams, hull: Hull) -> Decomposition:
    """Return what columns say alone and together in a hull."""
    name = "hull terms", hulls.key(params), hull.value
    return caches.result_cache(params).made(name, lambda: decompose(hull.fitted, _train(params)))


def effect(params: HullParams, hull: Hull, columns: Columns) -> TermEffect:
    """Return the curve or the map of one term of a hull."""
    name = "hull effect", hulls.key(params), hull.value, columns
    return caches.result_cache(params).made(name, lambda: term_effect(hull.fitted, _train(params), columns))


def _train(params: HullParams) -> Dataset:
    """Return training rows with the columns that enter."""
    return hulls.parts(params).train.select(hulls.columns(params)).drawn(TERM_ROWS, params.seed)


def n_rows(params: HullParams) -> int:
    """Return how many validation rows are shuffled."""
    return min(ROWS, hulls.parts(params).validation.n_samples)


def ranking(params: HullParams, value: float) -> Derived[tuple[ColumnAnswer, ...]]:
    """Return how much every column counts in the hull at ``value``, the most important first."""
    return derived(params, ("hull columns", value), hulls.key)


def job(shown: Answer, hull: Hull) -> Job:
    """Return the work that shuffles every column and measures what the score loses."""
    params, columns = shown.params, seen(shown.params)
    some = hulls.parts(params).validation.drawn(ROWS, params.seed)
    rows = some.X[:, hulls.columns(params)]

    def shuffle(report: Report) -> tuple[ColumnAnswer, ...]:
        return column_importance(
            hull.fitted, rows, some.y, columns, repeats=REPEATS, seed=params.seed, callback=report.tick
        )

    return ranking(params, hull.value).work("Columns", shuffle, len(columns))
