"""Derive scores on all validation rows, where only some of them choose the point of a path."""

from collections.abc import Callable
from typing import Any

from mklcore.paths.held_out import scored_on
from mklcore.paths.path import Path
from pages._parts.derive import gram_stacks, low_rank, scores, tables
from pages._parts.params.parameters import PathParams


def wanted(params: PathParams) -> bool:
    """Tell whether there are validation rows that did not choose."""
    if tables.on_stack(params) or tables.table(params).task == "novelty":
        return False
    return len(gram_stacks.parts(params).validation.y) < len(tables.split(params).validation.y)


def judge(params: PathParams) -> Callable[[Path, Callable[[int, int], Any] | None], Path]:
    """Return what gives a path its scores on all validation rows; where all of them chose, the path as it is."""
    if not wanted(params):
        return lambda path, tick: path
    held, rows, scoring = low_rank.work(params), tables.split(params).validation, scores.scoring(params)
    return lambda path, tick: scored_on(path, held().train, rows.table, rows.y, scoring, tick)
