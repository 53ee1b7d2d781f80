"""Derive a first look: the path on a few hundred rows, at once, while the path on all that fit is on its way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.data.dataset import Dataset, counted
from mklcore.estimators.importance import ColumnAnswer, column_importance
from mklcore.kernels.dictionary import Unit
from mklcore.kernels.measures import alignment_matrix
from mklcore.paths.path import Path, fit_path, no_better, path_grid
from mklcore.selection.paired import compared, said_by
from pages._parts.derive import choices, dictionaries, finals, gram_stacks, left_out, low_rank, paths, scores, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Job, Report
from pages._parts.params.parameters import Params, PathParams

ROWS = 300
REPEATS = 3
FEWEST = 60  # rows that judge, below which nothing is said of a column
SURE = 3.0  # standard errors above zero: with a dozen columns by chance in one look of fifty
LEAST = 6  # points from which a path that is being solved says more than the first look
ENTRIES = 6e6  # kernels x rows x rows up to which the answer itself is there as soon
PATIENCE = 1.0
POINTS, COARSE = 13, 7  # values of C of the path, and where each is the work of many classes
MANY_CLASSES = 4  # from which the grid is coarse
BEHIND = 3  # points after the best one that have to be no better before the path ends
FIRST = "First look"


@dataclass(frozen=True, eq=False)
class Look:
    """The path on a few rows, the standard ``error`` of its best score, and the columns whose drop in the score is
    distinguishable from zero there, each with its standard error: of the others so few rows say nothing.
    """

    path: Path
    columns: tuple[ColumnAnswer, ...]
    error: float = np.nan


def grid_points(data: Dataset) -> int:
    """Return how many values of C a first path has: fewer where every point is the work of many classes."""
    return COARSE if data.task == "multiclass" and len(data.class_names) >= MANY_CLASSES else POINTS


def first(params: PathParams) -> Derived[Look]:
    """Return the first look at these parameters."""
    return derived(params, "look", paths.key)


def wanted(params: PathParams) -> bool:
    """Tell whether a first look is worth its while: the answer itself takes longer, and a few rows can stand for
    all.
    """
    if tables.on_stack(params) or tables.table(params).task == "novelty":
        return False
    return paths.known(params) is None and low_rank.entries(params) > ENTRIES


def job(params: PathParams) -> Job:
    """Return the work that gives the first look."""
    cut, seen = gram_stacks.parts(params), dictionaries.made_of(params)
    train, judge = cut.train.drawn(ROWS, params.seed), cut.validation.drawn(ROWS, params.seed)
    kernels, make, over = dictionaries.dictionary(params), paths.maker(params), paths.runs_over(params).key
    named, scoring, center = dictionaries.scale(params), scores.scoring(params), params.center
    points = grid_points(cut.train)

    def look(report: Report) -> Look:
        stack = kernels.grams(train, named, center)
        asked: Any = report.heard_by(make(lambda: stack, lambda: alignment_matrix(stack)))
        values, blocks = path_grid(asked, stack, train.y, over, points), stack.cross(judge)
        until = no_better(blocks, judge.y, points // 2, BEHIND, scoring) if over == "C" else None
        path = fit_path(asked, stack, train.y, over, values, blocks, judge.y, report.tick, scoring=scoring, until=until)
        best = path.estimators[path.first_look]
        (score,) = compared([said_by(best, judge.table)], judge.y, scoring)
        return Look(path, distinct(best, judge, seen, scoring), score.error)

    found, usual = first(params), paths.are_usual(params)
    return found.work("First look", look, points, patience=PATIENCE, counts="points", usual=usual)


def distinct(model: Any, judge: Dataset, seen: Sequence[Unit], scoring: Any) -> tuple[ColumnAnswer, ...]:
    """Return the columns whose drop in the score on the rows ``judge`` is distinguishable from zero, largest first."""
    if len(judge.y) < FEWEST:
        return ()
    found = column_importance(model, judge.table, judge.y, seen, scoring=scoring, repeats=REPEATS)
    return tuple(one for one in found if one.importance > SURE * one.importance_sd)


def answer(params: Params) -> paths.Answer | None:
    """Return what there is to show: the path asked for, else what of it is known by now, else the answer before it."""
    whole = paths.answer(params)
    if paths.known(params) is not None or (whole is not None and whole.earlier):
        return whole
    look, part = first(params).value, paths.so_far(params).value
    if part is not None and (look is None or len(part) >= LEAST):
        stage = f"{counted(len(part), 'point')} solved so far"
        columns, elsewhere = () if look is None else look.columns, part.estimators[0] is None
        return paths.Answer(part, params, True, stage, columns, elsewhere)
    if look is not None:
        return paths.Answer(look.path, params, True, FIRST, look.columns, error=look.error)
    return whole


def rows_caption(shown: paths.Answer) -> str:
    """Return how many rows are used for what, of how many, and whether the answer still gets better."""
    params = shown.params
    used, full = low_rank.parts(params), tables.split(params)
    n_used, n_judges = len(used.train.y), len(used.validation.y)
    follows = ""
    if shown.stage:
        n_train = ROWS if shown.stage == FIRST else n_used
        follows = f"**{shown.stage}**; the answer on {n_used:,} rows follows. "
        n_used, n_judges = min(n_train, n_used), min(n_train, n_judges)
    how = "at random" if full.train.task in ("regression", "novelty") else "class by class"
    drawn = f"{n_used:,} of {len(full.train.y):,} training rows, drawn {how}"
    trained = f"all {n_used:,} training rows" if n_used == len(full.train.y) else drawn
    every = n_judges == len(full.validation.y) or (not shown.stage and left_out.known(params))
    chosen = f"all {len(full.validation.y):,}" if every else f"{n_judges:,} of {len(full.validation.y):,}"
    if not shown.stage and shown.path.chosen is not None:
        by = f"chosen by {choices.FOLDS} folds over training and validation rows"
    else:
        by = f"chosen on {chosen} validation rows{'' if every else ', the others follow'}"
    final = " Predict uses this model fitted again on training and validation rows." if finals.wanted(params) else ""
    return f"{follows}Trained on {trained}; {by}.{final} The test score counts all {len(full.test.y):,} test rows."
