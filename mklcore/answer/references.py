"""Plain models beside an answer, each with its parameter chosen by rows to learn from.

    linear               straight lines, with the squared loss
    RBF                  one RBF kernel of all columns by values and ranks, with the squared loss
    majority / mean      predicts the same for every row
    forest               the mean of random trees
    boosting             a sum of small trees (histogram gradient boosting)

The first two are chosen by the folds of the answer, the others by a part of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from mklcore._lazy import cached_property
from mklcore.answer.candidates import (
    COARSE,
    EXACT,
    SMOOTH,
    STRAIGHT,
    Candidate,
    DividedRows,
    ScoredCandidate,
    landmarks,
    machine,
    of_all_columns,
    score_along,
)
from mklcore.arrays import one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError, suppress_convergence_warnings
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import Nystroem
from mklcore.kernels.sequences import IN_ROWS
from mklcore.paths.scoring import Scoring, scorer_of

LEAF_SIZES = (1, 5)  # rows per leaf of a forest
N_TREES = 200  # of a forest
LEAVES = (3, 8, 31)  # leaves per tree of boosting
RATE = 0.1  # learning rate of boosting
# Steps of boosting; a step adds one tree per class.
STEPS = 150
MOST_TREES = 1000
FEWEST_STEPS = 20
WORDS = 200  # of all texts together, for trees


@dataclass(frozen=True, eq=False)
class Reference:
    """A plain model: its validation ``score``, and the ``model``, which is fitted on ``rows`` when
    it is asked for.
    """

    score: float
    unfitted: Any
    rows: Dataset

    @cached_property
    def model(self) -> Any:
        """The fitted model."""
        with one_blas_thread(), suppress_convergence_warnings():
            own = hasattr(self.unfitted, "kernels")
            return clone(self.unfitted).fit(self.rows if own else self.rows.X, self.rows.y)


def kernel_references(
    divided: DividedRows, compared: Sequence[ScoredCandidate]
) -> dict[str, Reference]:
    """A linear model and one RBF machine, each with its C by the folds of the answer; candidates
    that were ``compared`` already are not scored again.
    """
    learn = divided.learn
    request = divided.request
    if not compared or request.stack is not None or learn.sequences or not learn.n_features:
        return {}
    straight = KernelDictionary.recommended(learn, whole=False, curved=False)
    low = Nystroem(landmarks(len(straight), False), request.seed)
    linear = machine(learn.task, straight, 2.0, low)
    smooth = machine(learn.task, of_all_columns(learn, SMOOTH), 2.0)
    grid = replace(request, C=None)
    offered = {
        "linear": Candidate(STRAIGHT, linear, grid.costs()),
        "RBF": Candidate("all columns, smooth", smooth, grid.costs(COARSE), "whole"),
    }
    scored_before = {one.candidate.label: one for one in compared}
    found = {}
    for name, one in offered.items():
        scored = scored_before.get(one.label) or score_along(divided, one)
        model = scored.candidate.estimator.copy_with("C", scored.best_value)
        rows = learn.drawn(EXACT, request.seed) if one.way == "whole" else learn
        found[name] = Reference(scored.score, model, rows)
    return found


def plain_references(
    train: Dataset,
    validation: Dataset,
    scoring: Scoring = None,
    names: Sequence[str] = ("forest", "boosting"),
) -> dict[str, Reference]:
    """The models of these ``names``, with parameters fitted on ``train`` and chosen by the score on
    ``validation``: accuracy or R², unless another is given.

    ParameterError for other names, and without a target.
    """
    if train.task == "novelty":
        raise ParameterError(
            "Without a target there is nothing to compare with: plain models need one."
        )
    measure = scorer_of(scoring or ("r2" if train.task == "regression" else "accuracy"))
    offered = _plain_models(train)
    if missing := set(names) - set(offered):
        raise ParameterError(
            f"There is no plain model {sorted(missing)[0]!r}; use {', '.join(offered)}."
        )
    found = {}
    for name, models in offered.items():
        if name not in names:
            continue
        tried = []
        for unfitted in models:
            # The threads of boosting would wait for each other longer than they work.
            with threadpool_limits(1):
                model = clone(unfitted).fit(train.X, train.y)
            score = float(measure(model, validation.X, validation.y))
            tried.append(Reference(score, unfitted, train))
        found[name] = max(tried, key=lambda one: one.score)
    return found


def _plain_models(train: Dataset) -> dict[str, list[Any]]:
    """The unfitted models by name, one for each value of its parameter; trees where there are
    columns. They standardise a numeric target.
    """
    from sklearn.compose import TransformedTargetRegressor  # slow to import
    from sklearn.dummy import DummyClassifier, DummyRegressor  # slow to import
    from sklearn.ensemble import (  # slow to import
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.preprocessing import StandardScaler  # slow to import

    is_number = train.task == "regression"
    forest: Any = RandomForestRegressor if is_number else RandomForestClassifier
    boosting: Any = HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier
    features = 0.5 if is_number else "sqrt"
    columns = 1 if is_number else np.unique(train.y).size
    steps = min(STEPS, max(FEWEST_STEPS, MOST_TREES // columns))
    trees = {
        "forest": [
            forest(N_TREES, min_samples_leaf=rows, max_features=features, random_state=0)
            for rows in LEAF_SIZES
        ],
        "boosting": [
            boosting(max_leaf_nodes=leaves, learning_rate=RATE, max_iter=steps, random_state=0)
            for leaves in LEAVES
        ],
    }
    if not is_number:
        return {"majority": [DummyClassifier()], **trees}
    found: dict[str, list[Any]] = {"mean": [DummyRegressor()]}
    for name, models in trees.items():
        found[name] = [
            TransformedTargetRegressor(model, transformer=StandardScaler()) for model in models
        ]
    return found


def with_words(rows: Dataset, learnt: Dataset) -> Dataset:
    """``rows`` with the most frequent words of the texts of ``learnt`` as columns, for models that
    read no text.
    """
    if not rows.texts:
        return rows
    parts = [rows.X]
    most = max(1, WORDS // len(rows.texts))
    for (_, texts), (_, known) in zip(rows.texts, learnt.texts, strict=True):
        found = TfidfVectorizer(max_features=most, min_df=IN_ROWS, sublinear_tf=True)
        with suppress(ValueError):  # no word is left
            parts.append(found.fit(known).transform(texts).toarray())
    return Dataset(np.hstack(parts), rows.y, task=rows.task)
