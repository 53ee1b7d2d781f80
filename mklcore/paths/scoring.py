"""Scores: scikit-learn's scorers by name, their labels, and which of them suits a table.

A model may have been fitted on kernels, where a scorer expects a table. `Decided` replaces it: a
model whose decisions on the rows are known, which is all that a scorer needs.

Several models on the same rows have scores with standard errors, and gaps to the first with the
error of the gap:

    SE^2 = (G - 1) / G * sum_g (s_g - mean(s))^2,   s_g the score without the rows of group g

The delete-a-group jackknife applies to every score, while R2 and balanced accuracy are not means
over rows. A gap is the difference of two scores without the same rows, so that rows which both
models find difficult cancel. Source: Shao and Tu (1995), The Jackknife and Bootstrap, chapter 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, ParameterError

CLASSES = ("binary", "multiclass")
GROUPS = 40  # groups of rows that are left out in turn
LEAST_ROWS = 20  # rows below which errors are not estimated
LEAST_GAP = 0.001  # relevant gap of R² and of shares of rows
LEAST_DEVIATIONS = 0.01  # relevant gap in standard deviations of the differences of rows
SURE = 2.0  # standard errors beyond which a gap is no tie
RARE = 0.4  # a class is rare below this multiple of an equal share
Scoring: TypeAlias = str | Callable[[Any, Any, Any], float] | None


@dataclass(frozen=True)
class Score:
    """A score: scikit-learn's ``name``, its ``label``, its tasks, and a sentence about it.

    ``share`` tells whether it is a share of rows.
    """

    name: str
    label: str
    tasks: tuple[str, ...]
    share: bool
    help: str


SCORINGS = {
    score.name: score
    for score in (
        Score(
            "accuracy",
            "accuracy",
            CLASSES,
            True,
            "Share of the rows whose class is right; a rare class hardly counts.",
        ),
        Score(
            "balanced_accuracy",
            "balanced accuracy",
            CLASSES,
            True,
            (
                "Mean over the classes of the share of their rows that is right: every class "
                "counts alike."
            ),
        ),
        Score(
            "matthews_corrcoef",
            "Matthews correlation",
            CLASSES,
            False,
            (
                "Correlation of predicted and true classes: 0 is chance, 1 perfect, however "
                "rare a class."
            ),
        ),
        Score(
            "f1_macro",
            "mean F1",
            CLASSES,
            False,
            "Mean over the classes of the harmonic mean of precision and recall.",
        ),
        Score(
            "roc_auc",
            "AUC",
            ("binary",),
            False,
            "How often a row of the second class is ranked above one of the first: 0.5 is chance.",
        ),
        Score(
            "r2",
            "R²",
            ("regression",),
            False,
            "Share of the target's variance that is explained; 0 is the mean.",
        ),
        Score(
            "neg_root_mean_squared_error",
            "minus RMSE",
            ("regression",),
            False,
            (
                "Minus the root of the mean squared error, in units of the target: nearer to "
                "0 is better."
            ),
        ),
        Score(
            "neg_mean_absolute_error",
            "minus mean absolute error",
            ("regression",),
            False,
            (
                "Minus the mean absolute error, in units of the target: single large errors "
                "weigh less."
            ),
        ),
    )
}
# The labels of scores that are shares of rows.
SHARES = frozenset(score.label for score in SCORINGS.values() if score.share)
ACCEPTED = "share accepted"  # the score where there is no target


class Decided:
    """A fitted model whose decisions on some rows are known, as scorers of scikit-learn need it.

    ``model`` is a fitted estimator of this library, ``decision`` (n,) or (n, T) its decision
    values, and ``said`` (n,) its predictions where they are known already. The rows that a scorer
    passes are ignored.
    """

    def __init__(self, model: Any, decision: Array, said: Labels | None = None) -> None:
        self._model = model
        self._decision = decision
        self._said = said
        self._estimator_type = getattr(model, "_estimator_type", None)
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_

            def decision_function(X: Any) -> Array:
                return decision

            self.decision_function = decision_function

    def __sklearn_tags__(self) -> Any:
        return self._model.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Decided:
        """Do nothing: the model is fitted."""
        return self

    def predict(self, X: Any) -> Any:
        """The predictions that belong to the decisions."""
        return self._model.label(self._decision) if self._said is None else self._said


def balanced(y: Any, predicted: Any, sample_weight: Array | None = None) -> float:
    """The mean over the classes of ``y`` of the share of their rows that is predicted.

    That of scikit-learn warns where a predicted class has no rows.
    """
    _, codes = np.unique(y, return_inverse=True)
    weights = np.ones(codes.size) if sample_weight is None else sample_weight
    hits = np.asarray(predicted) == np.asarray(y)
    shares = np.bincount(codes, weights * hits) / np.bincount(codes, weights)
    return float(np.mean(shares))


def _or_chance(name: str, chance: float) -> Callable[..., float]:
    """The score ``name`` of scikit-learn, and ``chance`` where all rows have one class."""

    def measure(y: Any, predicted: Any, sample_weight: Array | None = None) -> float:
        from sklearn import metrics  # slow to import

        if np.unique(y).size < 2:
            return chance
        return float(getattr(metrics, name)(y, predicted, sample_weight=sample_weight))

    measure.__name__ = name
    return measure


# Scores that are undefined in scikit-learn, or cause a warning, where rows lack a class.
_ONE_CLASS = {
    "balanced_accuracy": (balanced, "predict"),
    "matthews_corrcoef": (_or_chance("matthews_corrcoef", 0.0), "predict"),
    "roc_auc": (_or_chance("roc_auc_score", 0.5), ("decision_function", "predict_proba")),
}


def scorer_of(scoring: Scoring) -> Callable[[Any, Any, Any], float]:
    """The scorer for a name of scikit-learn's ("balanced_accuracy", ...), or the scorer itself.

    Every score of ``SCORINGS`` is defined where rows lack a class. Raises ``ParameterError`` for a
    name that scikit-learn does not know, and for objects that cannot be called.
    """
    from sklearn.metrics import get_scorer, make_scorer  # slow to import

    if isinstance(scoring, str) and scoring in _ONE_CLASS:
        measure, response = _ONE_CLASS[scoring]
        own_scorer: Callable[..., float] = make_scorer(measure, response_method=response)
        return own_scorer
    try:
        scorer: Callable[[Any, Any, Any], float] = get_scorer(scoring)
    except ValueError:
        raise ParameterError(
            f"scoring is a scorer of scikit-learn or its name; got {scoring!r}. {_SOME}"
        ) from None
    return scorer


_SOME = f"Some names: {', '.join(SCORINGS)}."


def label_of(scoring: Scoring) -> str:
    """The label of a score: "balanced accuracy" for "balanced_accuracy", or a scorer's name."""
    if isinstance(scoring, str):
        return SCORINGS[scoring].label if scoring in SCORINGS else scoring.replace("_", " ")
    inner = getattr(scoring, "_score_func", scoring)
    return str(getattr(inner, "__name__", "score")).replace("_", " ")


def scored(
    model: Any, decision: Array, y: Labels, scoring: Scoring, said: Labels | None = None
) -> float:
    """The score of decision values (n,) or (n, T) of a fitted ``model`` against the target ``y``.

    ``said`` (n,): its predictions, where they are known already, written as in ``y``. Raises
    ``ParameterError`` where the scorer cannot judge them: it needs probabilities that a machine
    does not give, or two classes where there are more, or a target where there is none.
    """
    name = label_of(scoring)
    if y is None:
        raise ParameterError(
            f"The score {name!r} compares with a target, and there is none: leave scoring out."
        )
    if scoring == "accuracy" and said is not None:
        return float(np.mean(np.asarray(said) == y))
    scorer = scorer_of(scoring)
    try:
        return float(scorer(Decided(model, decision, said), None, np.asarray(y)))
    except AttributeError:
        reason = "it needs probabilities, and these machines give decision values."
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
    raise ParameterError(
        f"The scoring {name!r} cannot judge these predictions: {reason} {_SOME}"
    ) from None


def rarest(data: Dataset) -> tuple[str, float] | None:
    """The smallest class and its share of the rows where it is rare, else None.

    A class is rare below the share ``RARE`` of an equal share.
    """
    if data.task not in CLASSES:
        return None
    labels, counts = np.unique(data.y, return_counts=True)
    least = int(counts.argmin())
    share = float(counts[least] / counts.sum())
    return (str(labels[least]), share) if share < RARE / labels.size else None


def scorings_for(task: str) -> dict[str, Score]:
    """The scores that suit a task, by name."""
    return {name: score for name, score in SCORINGS.items() if task in score.tasks}


# Several models on the same rows


class Predictions(NamedTuple):
    """Decision values (n,) or (n, T) and predictions (n,) of a fitted ``model``."""

    model: Any
    decision: Array
    answers: Labels

    def take(self, rows: Indices) -> Predictions:
        """The same for some of the rows."""
        return Predictions(self.model, self.decision[rows], self.answers[rows])

    def score(self, y: Labels, scoring: Scoring) -> float:
        """The score against ``y`` (n,)."""
        return scored(self.model, self.decision, y, scoring, self.answers)


class PairedScore(NamedTuple):
    """A score with its standard error, and the gap to the first model, which is ahead if positive.

    A gap of at most ``floor`` is irrelevant, however certain it is: one hundredth of a standard
    deviation of the differences of single rows, and .001 of R² and of shares of rows.
    """

    score: float
    error: float
    gap: float
    gap_error: float
    floor: float = 0.0

    @property
    def place(self) -> str:
        """The place of the first model: "same", "ahead", "behind", or "level".

        It is "same" where the gap is at most ``floor``, and "level" where the gap may be 0.
        """
        if abs(self.gap) <= self.floor:
            return "same"
        if not np.isfinite(self.gap_error) or abs(self.gap) <= SURE * self.gap_error:
            return "level"
        return "ahead" if self.gap > 0 else "behind"


def predictions(model: Any, X: Any) -> Predictions:
    """Predictions of any classifier or regressor for rows ``X``.

    Its decision values are used, or its probabilities where it has none.
    """
    answers = np.asarray(model.predict(X))
    if not hasattr(model, "classes_"):
        return Predictions(model, np.asarray(answers, dtype=float), answers)
    if hasattr(model, "decision_function"):
        return Predictions(model, np.asarray(model.decision_function(X), dtype=float), answers)
    probabilities = np.asarray(model.predict_proba(X), dtype=float)
    if probabilities.shape[1] == 2:
        probabilities = probabilities[:, 1]
    return Predictions(model, probabilities, answers)


def compare_scores(
    said: Sequence[Predictions], y: Labels, scoring: Scoring, seed: int = 0
) -> list[PairedScore]:
    """Score several models on the same rows, with standard errors and gaps to the first model.

    Parameters
    ----------
    said : sequence of Predictions
        Predictions of each model for the rows, none of which it was fitted on.
    y : array (n,)
        The target of the rows.
    scoring : str or callable
        Score, as in ``scored``.
    seed : int, default 0
        Seed of the random groups of rows.

    Returns
    -------
    list of PairedScore
        One per model. Errors are NaN below ``LEAST_ROWS`` rows.

    Raises
    ------
    DataError
        If a model has predictions for another number of rows.
    """
    y = np.asarray(y)
    if any(len(one.answers) != y.size for one in said):
        raise DataError(f"Every model needs one answer for each of the {y.size} rows.")
    scores = np.array([one.score(y, scoring) for one in said])
    is_share = scoring == "r2" or label_of(scoring) in SHARES
    floors = np.full(scores.size, LEAST_GAP if is_share else 0.0)
    errors = np.full(scores.size, np.nan)
    gap_errors = np.full(scores.size, np.nan)
    if y.size >= LEAST_ROWS:
        without = _without_each_group(said, y, scoring, seed)
        errors = _jackknife(without)
        gap_errors = _jackknife(without[0] - without)
        deviations = gap_errors * float(np.sqrt(y.size))
        floors = np.maximum(floors, LEAST_DEVIATIONS * deviations)
    columns = (scores, errors, scores[0] - scores, gap_errors, floors)
    return [PairedScore(*row) for row in np.transpose(columns).tolist()]


def _without_each_group(
    said: Sequence[Predictions], y: Labels, scoring: Scoring, seed: int
) -> Array:
    """The score of every model without each group of rows, (models, groups)."""
    order = np.random.default_rng(seed).permutation(y.size)
    scores = np.empty((len(said), min(GROUPS, y.size)))
    for g in range(scores.shape[1]):
        rows = np.sort(np.delete(order, np.s_[g::GROUPS]))
        scores[:, g] = [one.take(rows).score(y[rows], scoring) for one in said]
    return scores


def _jackknife(values: Array) -> Array:
    """The jackknife error of every row of ``values`` (models, groups)."""
    errors: Array = np.sqrt((values.shape[1] - 1) * np.var(values, axis=1))
    return errors
