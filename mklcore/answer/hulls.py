"""What a hull amounts to: the verdict of an answer, on rows that chose nothing, about the columns
it selects.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

from mklcore.answer.chance import LEVEL
from mklcore.answer.effects import (
    correlated_sets,
    effects,
    growth_of_columns,
    p_value_of_growth,
)
from mklcore.answer.exploration import verdict_on
from mklcore.answer.verdict import NONE, Verdict
from mklcore.arrays import one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError
from mklcore.paths.scoring import predictions

RANKED = 100  # rows on which effects are taken


@one_blas_thread()
def hull_verdict(
    model: Any,
    train: Dataset,
    rows: Dataset,
    *,
    seed: int = 0,
) -> Verdict:
    """How well does a hull predict rows that chose nothing, and which of its columns could be
    chance?

    Parameters
    ----------
    model : HKLClassifier or HKLRegressor
        A fitted hull.
    train : Dataset
        The rows it was fitted on.
    rows : Dataset
        The same columns of rows that neither fitted nor chose it.
    seed : int, default 0
        Seed of permutations and of the rows on which effects are taken.

    Returns
    -------
    Verdict
        As `explore` gives it: predictions are judged by a permutation test, and a column could be
        chance where permuting it raises no squared error for sure. No other models are spoken of.

    Raises
    ------
    DataError
        without a target

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.hkl import HKLRegressor
    >>> train, rows = load_sample("diabetes").select([2, 3, 8]).drawn(200, 0).split(0.4, 0)
    >>> model = HKLRegressor(lam=0.3).fit(train.X, train.y)
    >>> hull_verdict(model, train, rows).relation
    'better'
    """
    if train.task == "novelty":
        raise DataError("Hulls are learned from a target: choose one.")
    scoring = "r2" if train.task == "regression" else "accuracy"
    found = verdict_on(train, rows, predictions(model, rows.X), scoring, seed)
    if found.relation == NONE:
        return replace(found, beside=False)
    known = copy(model).know_table(train)
    ranked, _ = effects(known, rows.drawn(RANKED, seed))
    growth = growth_of_columns(known, rows, correlated_sets(rows), seed)
    selected = []
    by_chance = []
    for column in ranked:
        if column.effect == 0.0:
            continue
        if p_value_of_growth(growth[column.name]) > LEVEL:
            by_chance.append(column.name)
        else:
            selected.append(column._replace(chance=False))
    return replace(found, matters=tuple(selected), chance=tuple(by_chance), beside=False)
