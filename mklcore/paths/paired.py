"""Scores of several models on the same rows: each with its standard error, and the gap to the first with the error of
that gap.

    SE^2 = (G - 1) / G * sum_g (s_g - mean(s))^2,   s_g the score without the rows of group g

The delete-a-group jackknife holds for every score of ``SCORINGS``, as R2 and balanced accuracy are no means over rows.
A gap is the difference of two scores without the same rows, so what both models find hard cancels. Source: Shao and Tu
(1995), The Jackknife and Bootstrap, chapter 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices, Labels
from mklcore.errors import DataError
from mklcore.paths.scoring import Scoring, scored

GROUPS = 40  # of rows that are left out in turn
LEAST_ROWS = 20  # below which no error is given
SURE = 2.0  # standard errors beyond which a gap is no tie


class Predictions(NamedTuple):
    """What a fitted ``model`` says of rows: decision values (n,) or (n, T) and answers (n,)."""

    model: Any
    decision: Array
    answers: Labels

    def take(self, rows: Indices) -> Predictions:
        """The same on some of the rows."""
        return Predictions(self.model, self.decision[rows], self.answers[rows])

    def score(self, y: Labels, scoring: Scoring) -> float:
        """Its score against ``y`` (n,)."""
        return scored(self.model, self.decision, y, scoring, self.answers)


class PairedScore(NamedTuple):
    """A score with its standard error, and the gap to the first model's: positive where the first is ahead."""

    score: float
    error: float
    gap: float
    gap_error: float

    @property
    def place(self) -> str:
        """Where the first model stands beside this one: "ahead", "behind", or "level" where the gap may be 0."""
        if not np.isfinite(self.gap_error) or abs(self.gap) <= SURE * self.gap_error:
            return "level"
        return "ahead" if self.gap > 0 else "behind"


def predictions(model: Any, X: Any) -> Predictions:
    """What any classifier or regressor says of rows ``X``: its decision values, else its probabilities."""
    answers = np.asarray(model.predict(X))
    if not hasattr(model, "classes_"):
        return Predictions(model, np.asarray(answers, dtype=float), answers)
    if hasattr(model, "decision_function"):
        return Predictions(model, np.asarray(model.decision_function(X), dtype=float), answers)
    share = np.asarray(model.predict_proba(X), dtype=float)
    return Predictions(model, share[:, 1] if share.shape[1] == 2 else share, answers)


def compare_scores(said: Sequence[Predictions], y: Labels, scoring: Scoring, seed: int = 0) -> list[PairedScore]:
    """Score several models on the same rows, with standard errors of the scores and of their gaps to the first.

    Parameters
    ----------
    said : sequence of Predictions
        What each model says of the rows, none of which it was fitted on.
    y : array (n,)
        The target of the rows.
    scoring : str or callable
        Score, as in ``scored``.
    seed : int, default 0
        Seed by which rows are put into groups.

    Returns
    -------
    list of PairedScore
        One per model. Errors are NaN below ``LEAST_ROWS`` rows.

    Raises
    ------
    DataError
        where a model says something of another number of rows
    """
    y = np.asarray(y)
    if any(len(one.answers) != y.size for one in said):
        raise DataError(f"Every model needs one answer for each of the {y.size} rows.")
    scores = np.array([one.score(y, scoring) for one in said])
    if y.size < LEAST_ROWS:
        return [PairedScore(float(score), np.nan, float(scores[0] - score), np.nan) for score in scores]
    without = _without_each_group(said, y, scoring, seed)
    return [
        PairedScore(float(score), _error(own), float(scores[0] - score), _error(without[0] - own))
        for score, own in zip(scores, without, strict=True)
    ]


def _without_each_group(said: Sequence[Predictions], y: Labels, scoring: Scoring, seed: int) -> Array:
    """The score of every model without each group of rows, (models, groups)."""
    order = np.random.default_rng(seed).permutation(y.size)
    rows = [np.sort(np.delete(order, np.s_[g::GROUPS])) for g in range(min(GROUPS, y.size))]
    return np.array([[one.take(kept).score(y[kept], scoring) for kept in rows] for one in said])


def _error(values: Array) -> float:
    return float(np.sqrt((values.size - 1) * np.var(values)))
