"""Derive which score is measured: the one asked for where it suits the task, else the one that suits the table."""

from typing import Any

import numpy as np

from mklcore.data.dataset import Dataset
from mklcore.selection.scoring import SCORINGS, Score, rarest, scorer_of, scorings_for, usual_scoring
from pages._parts.derive import tables
from pages._parts.params.parameters import PathParams


def offered(params: PathParams) -> dict[str, Score]:
    """Return the scores that suit the task, by name; there are none without a target."""
    return scorings_for(tables.table(params).task)


def scoring(params: PathParams) -> str | None:
    """Return the name of the score in use; None without a target."""
    return name_for(params.scoring, tables.table(params))


def name_for(asked: str, table: Dataset) -> str | None:
    """Return the name of the score on this table where ``asked`` is wanted; None without a target."""
    suits = scorings_for(table.task)
    if not suits:
        return None
    return asked if asked in suits else usual_scoring(table)


def settled(params: PathParams, name: str) -> str:
    """Return what is kept as the parameter when a person chooses a score: nothing where it is the usual one."""
    return "" if name == usual_scoring(tables.table(params)) else name


def special(params: PathParams) -> str | None:
    """Return the name of the score in use where it is not what models measure by themselves."""
    name = scoring(params)
    return None if name in ("accuracy", "r2") else name


def why(params: PathParams) -> str:
    """Return what the score in use says, and why it is the one where nobody chose it."""
    name = scoring(params)
    if name is None:
        return ""
    rare = rarest(tables.table(params))
    if params.scoring in offered(params) or rare is None:
        return SCORINGS[name].help
    return (
        f"Class {rare[0]} holds {100 * rare[1]:.1f} % of the rows: plain accuracy would hardly see it. "
        f"{SCORINGS[name].help}"
    )


def measured(params: PathParams, fitted: Any, rows: np.ndarray, y: np.ndarray) -> float:
    """Return the score in use of a fitted model on rows, or on their block of a stack."""
    name = scoring(params)
    return float(fitted.score(rows, y) if name is None else scorer_of(name)(fitted, rows, y))
