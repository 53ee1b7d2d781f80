"""What a score measures: scikit-learn's scorers by name, what a reader calls them, and which of
them suits a table.

A model may have been fitted on kernels, where a scorer would look for a table. `Decided` stands in
for it: a model whose decisions on the rows are known, which is all that a scorer asks for.

Several models on the same rows have scores with standard errors, and gaps to the first with the
error of the gap:

    SE^2 = (G - 1) / G * sum_g (s_g - mean(s))^2,   s_g the score without the rows of group g

The delete-a-group jackknife holds for every score, as R2 and balanced accuracy are no means over
rows. A gap is the difference of two scores without the same rows, so what both models find hard
cancels. Source: Shao and Tu (1995), The Jackknife and Bootstrap, chapter 2.
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
GROUPS = 40  # of rows that are left out in turn
LEAST_ROWS = 20  # below which no error is given
LEAST_GAP = 0.001  # of R² and of shares of rows: a smaller gap is "the same"
# standard deviations of the differences of rows, below which a gap is "the same"
LEAST_DEVIATIONS = 0.01
SURE = 2.0  # standard errors beyond which a gap is no tie
RARE = 0.4  # share of an even share that the smallest class must reach
Scoring: TypeAlias = str | Callable[[Any, Any, Any], float] | None


@dataclass(frozen=True)
class Score:
    """One way to score: scikit-learn's ``name``, the reader's ``label``, for which tasks, whether
    it is a share of rows, and what it says in a sentence.
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
SHARES = frozenset(
    score.label for score in SCORINGS.values() if score.share
)  # labels of scores that are shares of rows
ACCEPTED = "share accepted"  # the score where there is no target


class Decided:
    """A fitted model whose decisions on some rows are known, as a scorer of scikit-learn wants one.

    ``model`` a fitted estimator of this library, ``decision`` (n,) or (n, T) its decision values,
    ``said`` (n,) its answers where they are known already; what a scorer hands in as rows is not
    looked at.
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
        """Nothing is left to learn."""
        return self

    def predict(self, X: Any) -> Any:
        """Predictions of the decisions it was given."""
        return self._model.label(self._decision) if self._said is None else self._said


def balanced(y: Any, predicted: Any, sample_weight: Array | None = None) -> float:
    """``balanced_accuracy_score`` of scikit-learn, also where a class was predicted that no row of
    ``y`` has: the mean over the classes that rows have.
    """
    from sklearn.metrics import balanced_accuracy_score  # not at start-up

    labels = np.unique(y)
    said = np.asarray(predicted)
    if sample_weight is not None or (labels.size > 1 and np.isin(said, labels).all()):
        return float(balanced_accuracy_score(y, predicted, sample_weight=sample_weight))
    return float(np.mean([np.mean(said[np.asarray(y) == label] == label) for label in labels]))


def _or_chance(name: str, chance: float) -> Callable[..., float]:
    """The score ``name`` of scikit-learn, also where all rows have one class: ``chance``."""

    def measure(y: Any, given: Any, sample_weight: Array | None = None) -> float:
        from sklearn import metrics  # not at start-up

        return (
            chance
            if np.unique(y).size < 2
            else float(getattr(metrics, name)(y, given, sample_weight=sample_weight))
        )

    measure.__name__ = name
    return measure


# scores that scikit-learn leaves undefined, or warns of, where validation rows lack a class
_ONE_CLASS = {
    "balanced_accuracy": (balanced, "predict"),
    "matthews_corrcoef": (_or_chance("matthews_corrcoef", 0.0), "predict"),
    "roc_auc": (_or_chance("roc_auc_score", 0.5), ("decision_function", "predict_proba")),
}


def scorer_of(scoring: Scoring) -> Callable[[Any, Any, Any], float]:
    """The scorer behind a name of scikit-learn's ("balanced_accuracy", "roc_auc", ...), or the
    scorer itself.

    Every score of ``SCORINGS`` is defined where rows lack a class. ParameterError for a name that
    scikit-learn does not know and for what cannot be called.
    """
    from sklearn.metrics import get_scorer, make_scorer  # not at start-up

    if isinstance(scoring, str) and scoring in _ONE_CLASS:
        measure, response = _ONE_CLASS[scoring]
        made: Callable[[Any, Any, Any], float] = make_scorer(measure, response_method=response)
        return made
    if not isinstance(scoring, str) and not callable(scoring):
        raise ParameterError(
            f"scoring is a scorer of scikit-learn or its name; got {scoring!r}. {_SOME}"
        )
    try:
        scorer: Callable[[Any, Any, Any], float] = get_scorer(scoring)
    except ValueError:
        raise ParameterError(f"scikit-learn has no scorer {scoring!r}. {_SOME}") from None
    return scorer


_SOME = f"Some names: {', '.join(SCORINGS)}."


def label_of(scoring: Scoring) -> str:
    """What a reader calls the score: "balanced accuracy" for "balanced_accuracy"; a scorer goes by
    the name it has.
    """
    if isinstance(scoring, str):
        return SCORINGS[scoring].label if scoring in SCORINGS else scoring.replace("_", " ")
    inner = getattr(scoring, "_score_func", scoring)
    return str(getattr(inner, "__name__", "score")).replace("_", " ")


class Judge:
    """One score and one target, for as many models as there are: what the target is gets looked at
    once.

    ``y`` (n,) the target, ``scoring`` as in ``scored``. ParameterError where there is no such
    score, or no target.
    """

    def __init__(self, y: Labels, scoring: Scoring) -> None:
        self._scoring = scoring
        self._scorer = scorer_of(scoring)
        if y is None:
            raise ParameterError(
                f"The score {label_of(scoring)!r} compares with a target, and there is "
                "none: leave scoring out."
            )
        self._y = np.asarray(y)

    def __call__(self, model: Any, decision: Array, said: Labels | None = None) -> float:
        """The score of decision values (n,) or (n, T) of a fitted ``model``; ``said`` (n,) as in
        ``scored``.
        """
        if self._scoring == "accuracy" and said is not None:
            return float(np.mean(np.asarray(said) == self._y))
        try:
            return float(self._scorer(Decided(model, decision, said), None, self._y))
        except AttributeError:
            raise ParameterError(
                f"The scoring {label_of(self._scoring)!r} cannot judge these predictions: "
                "it asks for probabilities, and these machines give decision values. "
                f"{_SOME}"
            ) from None
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"The scoring {label_of(self._scoring)!r} cannot judge these predictions: "
                f"{str(error).splitlines()[0]} {_SOME}"
            ) from None


def scored(
    model: Any, decision: Array, y: Labels, scoring: Scoring, said: Labels | None = None
) -> float:
    """The score by ``scoring`` of decision values (n,) or (n, T) of a fitted ``model`` against the
    target ``y`` (n,).

    ``said`` (n,): its answers, where they are known already and written as ``y`` is.
    ParameterError where the scorer cannot judge them: probabilities asked of a machine that gives
    none, two classes asked where there are more, no target at all.
    """
    return Judge(y, scoring)(model, decision, said)


def rarest(data: Dataset) -> tuple[str, float] | None:
    """The smallest class and its share of the rows where it is rare: below ``RARE`` of an even
    share.

    None elsewhere.
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
    """A score with its standard error, and the gap to the first model's: positive where the first
    is ahead.

    A gap of at most ``floor`` matters to nobody, however sure it is: one hundredth of a standard
    deviation of the differences of single rows, and .001 of R² and of shares of rows.
    """

    score: float
    error: float
    gap: float
    gap_error: float
    floor: float = 0.0

    @property
    def place(self) -> str:
        """Where the first model stands beside this one: "same" where the gap is at most ``floor``,
        "ahead", "behind", or "level" where the gap may be 0.
        """
        if abs(self.gap) <= self.floor:
            return "same"
        if not np.isfinite(self.gap_error) or abs(self.gap) <= SURE * self.gap_error:
            return "level"
        return "ahead" if self.gap > 0 else "behind"


def predictions(model: Any, X: Any) -> Predictions:
    """What any classifier or regressor says of rows ``X``: its decision values, else its
    probabilities.
    """
    answers = np.asarray(model.predict(X))
    if not hasattr(model, "classes_"):
        return Predictions(model, np.asarray(answers, dtype=float), answers)
    if hasattr(model, "decision_function"):
        return Predictions(model, np.asarray(model.decision_function(X), dtype=float), answers)
    share = np.asarray(model.predict_proba(X), dtype=float)
    return Predictions(model, share[:, 1] if share.shape[1] == 2 else share, answers)


def compare_scores(
    said: Sequence[Predictions], y: Labels, scoring: Scoring, seed: int = 0
) -> list[PairedScore]:
    """Score several models on the same rows, with standard errors of the scores and of their gaps
    to the first.

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
    is_share = scoring == "r2" or label_of(scoring) in SHARES
    least = LEAST_GAP if is_share else 0.0
    if y.size < LEAST_ROWS:
        return [
            PairedScore(float(score), np.nan, float(scores[0] - score), np.nan, least)
            for score in scores
        ]
    found = []
    without = _without_each_group(said, y, scoring, seed)
    for score, own in zip(scores, without, strict=True):
        gap_error = _error(without[0] - own)
        floor = max(least, LEAST_DEVIATIONS * gap_error * float(np.sqrt(y.size)))
        found.append(
            PairedScore(float(score), _error(own), float(scores[0] - score), gap_error, floor)
        )
    return found


def _without_each_group(
    said: Sequence[Predictions], y: Labels, scoring: Scoring, seed: int
) -> Array:
    """The score of every model without each group of rows, (models, groups)."""
    order = np.random.default_rng(seed).permutation(y.size)
    rows = [np.sort(np.delete(order, np.s_[g::GROUPS])) for g in range(min(GROUPS, y.size))]
    return np.array([[one.take(kept).score(y[kept], scoring) for kept in rows] for one in said])


def _error(values: Array) -> float:
    return float(np.sqrt((values.size - 1) * np.var(values)))
