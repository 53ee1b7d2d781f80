"""Derive which columns of the table a hull needs: what its validation score loses when one of them is shuffled."""

from functools import partial

from mklcore.estimators.importance import ColumnAnswer, column_importance
from mklcore.kernels.units import Unit, units
from pages._parts.derive import hulls, shelves, tables
from pages._parts.derive.hulls import Answer, Hull
from pages._parts.jobs.job import Job, Piece, Report
from pages._parts.params.parameters import HullParams

ROWS = 300  # validation rows that are shuffled
REPEATS = 3


def seen(params: HullParams) -> tuple[Unit, ...]:
    """Return the columns of the table as the hull has them: at their places among those that enter; others are left out."""
    table = tables.table(params)
    place = {j: k for k, j in enumerate(hulls.columns(params))}
    every = units(table, most_columns=table.n_features)
    own = ((unit, tuple(place[j] for j in unit.columns if j in place)) for unit in every)
    return tuple(Unit(unit.name, inside, unit.kind) for unit, inside in own if inside)


def key(params: HullParams, value: float) -> object:
    """Return the name of the answer at one hull."""
    return "hull columns", hulls.key(params), value


def known(params: HullParams, value: float) -> tuple[ColumnAnswer, ...] | None:
    """Return how much every column counts in the hull at ``value``, the most important first, if it has been computed."""
    return shelves.shelf(params).get(key(params, value))


def job(shown: Answer, hull: Hull) -> Job:
    """Return the work that shuffles every column and measures what the score loses."""
    params, name, columns = shown.params, key(shown.params, hull.value), seen(shown.params)
    some = hulls.parts(params).validation.drawn(ROWS, params.seed)
    rows = some.X[:, hulls.columns(params)]

    def shuffle(report: Report) -> tuple[ColumnAnswer, ...]:
        return column_importance(
            hull.fitted, rows, some.y, columns, repeats=REPEATS, seed=params.seed, callback=report.tick
        )

    piece = Piece(shuffle, partial(shelves.shelf(params).put, name), len(columns))
    return Job(
        name, "Columns", (piece,), lambda now: now.part(HullParams) == params.part(HullParams), needs=hulls.NEEDS
    )
