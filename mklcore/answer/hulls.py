"""What a hull amounts to: the verdict of an answer, on rows that chose nothing, about the columns
it selects.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from mklcore.answer.chance import LEVEL, judge
from mklcore.answer.exploration import (
    effects,
    growth_of_columns,
    mean_by_owner,
    p_value_of_growth,
    typical_error,
)
from mklcore.answer.verdict import NONE, Verdict
from mklcore.arrays import one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError
from mklcore.paths.scoring import compare_scores, label_of, predictions

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
    is_number = train.task == "regression"
    scoring = "r2" if is_number else "accuracy"
    kind = DummyRegressor if is_number else DummyClassifier
    nothing = np.zeros((rows.n_samples, 1))
    guessing = predictions(kind().fit(np.zeros((train.n_samples, 1)), train.y), nothing)
    said = predictions(model, rows.X)
    ours, guessed = compare_scores([said, guessing], rows.y, scoring, seed)
    found = judge(rows.y, said, guessing, scoring, seed, row_groups=rows.row_groups)
    wrong, guessed_wrong = (
        typical_error(one.answers, rows.y, train.task) for one in (said, guessing)
    )
    selected: list[Any] = []
    if found.relation != NONE:
        known = copy(model).know_table(train)
        ranked, _ = effects(known, rows.drawn(RANKED, seed))
        grown = growth_of_columns(known, rows, rows.X, seed)
        chance = {
            name: p_value_of_growth(mean_by_owner(more, rows.row_groups)) > LEVEL
            for name, more in grown.items()
        }
        selected = [one._replace(chance=chance.get(one.name)) for one in ranked if one.effect > 0.0]
    return Verdict(
        train.target_name,
        train.task,
        label_of(scoring),
        ours.score,
        ours.error,
        guessed.score,
        found.relation,
        rows.n_samples,
        True,
        tuple(one for one in selected if not one.chance),
        tuple(one.name for one in selected if one.chance),
        wrong,
        guessed_wrong,
        p_value=found.p_value,
        measure=found.measure,
        association=found.association,
        beside=False,
    )
