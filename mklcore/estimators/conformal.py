"""Conformal prediction: intervals and sets of classes that hold the truth with a given probability.

Held-out rows i have scores s_i of models fitted without them. With k = ceil(level (n + 1)) and f_i
the model without row i:

    numbers   s_i = |y_i - f_i(x_i)|;  from the (n + 1 - k)-th smallest f_i(x) - s_i to the k-th smallest f_i(x) + s_i
    classes   every class c with  #{i : s_i < s(f_i(x), c)} < level (n + 1)

The score of a class is the largest output of the other classes minus its own. A model for every
fold is the method CV+. Where rows are exchangeable, it covers with probability 1 - 2 (1 - level) at
least, less a term that is small where folds are large or many, and close to ``level`` in practice.
A splitter that holds out one part only, such as ``ShuffleSplit(1)``, is split conformal prediction,
which covers with probability ``level`` at least. Nothing is drawn for a new row: its set does not
depend on the rows beside it.

Source: Vovk, Gammerman, Shafer (2005); Barber, Candes, Ramdas, Tibshirani (2021), Predictive
inference with the jackknife+, Annals of Statistics 49, theorems 1 and 4.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mklcore.arrays import Array, Indices, Labels, Mask
from mklcore.data.dataset import Dataset, count_rows
from mklcore.data.splitting import codes_of, fold_rows
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.training_table import target_of
from mklcore.parameters import is_finite_number, set_together

_NUMBERS = 4_000_000  # of one chunk of new rows times held-out rows
_LEVELS = 1e-9  # rounding of level (n + 1)
_TIE = 1e-9  # of the largest score: a difference that may be rounding


def check_level(level: Any) -> None:
    """ParameterError for what is no number between 0 and 1."""
    if not (is_finite_number(level) and 0.0 < level < 1.0):
        raise ParameterError(
            f"level is the share of rows to cover and must be between 0 and 1; got {level!r}."
        )


def rank_of(level: float, n: int) -> int:
    """Which of n ordered scores is needed; DataError where the level needs more of them."""
    check_level(level)
    k = int(np.ceil(level * (n + 1) - _LEVELS))
    if k > n:
        raise DataError(
            f"A level of {level:g} needs at least "
            f"{int(np.ceil(level / (1.0 - level) - _LEVELS))} held-out rows, and there are "
            f"{n}. Use a lower level, more rows, or folds that hold every row out."
        )
    return k


def margins(said: Array) -> Array:
    """The largest output of the other classes minus that of each class, for outputs (..., T) of T
    classes.
    """
    two = np.partition(said, -2, axis=-1)[..., -2:]
    best = two[..., 1:]
    second = two[..., :1]
    return np.where(said == best, second, best) - said


class Conformal(MetaEstimatorMixin, BaseEstimator):
    """Prediction intervals for numbers, and sets of classes, around any estimator of scikit-learn's
    kind.

    Parameters
    ----------
    estimator : estimator
        The regressor or classifier; it is cloned, not changed.
    level : float, default 0.9
        Share of new rows whose truth is to be covered, between 0 and 1.
    cv : int or splitter, default 5
        Number of folds, or a splitter of scikit-learn that holds a row out once at most. Enough
        rows for the level have to be held out.
    random_state : int or None, default 0
        Seed of the folds.

    Attributes
    ----------
    estimator_ : the model that predicts, with its decisions and probabilities, fitted on all rows
    scores_ : (n,) of the held-out rows, fold by fold, the smaller the better they conform
    models_, held_out_ : the model of every fold, and the rows that each has not seen
    classes_ : of classifiers

    A class with fewer rows than folds is held out as far as it has rows; a class of one row never
    is. Sets always hold the predicted class, so that none is empty: where the classifier errs less
    often than 1 - ``level``, they cover more than asked.

    >>> from sklearn.linear_model import Ridge
    >>> X = np.arange(40.0)[:, None]
    >>> bands = Conformal(Ridge(), level=0.8).fit(X, X[:, 0] + np.tile([-1.0, 1.0], 20)).predict_interval(X)
    >>> bands.shape
    (40, 2)
    """

    def __init__(
        self,
        estimator: Any,
        level: float = 0.9,
        cv: Any = 5,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.level = level
        self.cv = cv
        self.random_state = random_state

    @set_together
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model that predicts and those without the held-out rows; ``X`` rows or a
        ``Dataset``, ``y`` (n,).
        """
        check_level(self.level)
        made = self.estimator
        y = target_of(X, y)
        if not (is_classifier(made) or is_regressor(made)):
            raise ParameterError(
                "Conformal wraps a regressor or a classifier of scikit-learn's kind; "
                f"{type(made).__name__} is neither."
            )
        X = X if isinstance(X, Dataset) else indexable(X)[0]
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None; Conformal is supervised."
            )
        n = count_rows(X)
        if n > 1:
            rank_of(self.level, n)  # before anything is fitted
        self.estimator_ = clone(made).fit(X, y)  # which names what is wrong with rows or target
        if n < 2:
            raise DataError("Intervals hold rows out and need at least two; got one sample.")
        target = column_or_1d(y, warn=True)
        parts = self._parts(target, is_classifier(made), getattr(X, "row_groups", None))
        self.__dict__.pop("classes_", None)
        if is_classifier(made):
            self.classes_ = self.estimator_.classes_
        self.models_ = []
        scores = []
        for train, held in parts:
            model = clone(made).fit(some_rows(X, train), target[train])
            self.models_.append(model)
            scores.append(self._scores(model, some_rows(X, held), target[held]))
        self.held_out_ = [held for _, held in parts]
        self.scores_ = np.concatenate(scores)
        self.model_of_ = np.repeat(np.arange(len(parts)), [held.size for held in self.held_out_])
        rank_of(self.level, self.scores_.size)
        return self

    def _parts(
        self, y: Labels, are_classes: bool, owners: Labels | None
    ) -> list[tuple[Indices, Indices]]:
        """Rows to learn from and rows held out, a pair per fold."""
        n = y.size
        if isinstance(self.cv, (str, bool, float)):
            raise ParameterError(f"cv must be a number of folds or a splitter; got {self.cv!r}.")
        if isinstance(self.cv, (int, np.integer)):
            codes = codes_of(y) if are_classes else None
            return fold_rows(codes, n, min(int(self.cv), n), self.random_state or 0, owners)
        found = list(check_cv(self.cv, y, classifier=are_classes).split(np.zeros(n), y, owners))
        held = np.concatenate([rows for _, rows in found])
        if np.unique(held).size < held.size:
            raise ParameterError(
                "cv must hold every row out once at most: use KFold or a number, not "
                "repeated folds."
            )
        return found

    def _scores(self, model: Any, X: Any, y: Labels) -> Array:
        """How far held-out targets (n,) are from what their model says."""
        said = self._outputs(model, X)
        if hasattr(self, "classes_"):
            own = np.searchsorted(self.classes_, y)
            found: Array = margins(said)[np.arange(len(y)), own]
            return found
        missed: Array = np.abs(np.asarray(y, dtype=float) - said)
        return missed

    def _outputs(self, model: Any, X: Any) -> Array:
        """What a model says, as scores are taken of it: numbers (n_new,), or for classes one column
        per class of ``classes_``.
        """
        if not hasattr(self, "classes_"):
            return np.asarray(model.predict(X), dtype=float).ravel()
        decides = hasattr(model, "decision_function")
        said = np.asarray(
            model.decision_function(X) if decides else model.predict_proba(X), dtype=float
        )
        if said.ndim == 1:
            said = np.column_stack([-said, said])
        whole = np.full((len(said), len(self.classes_)), -np.inf if decides else 0.0)
        whole[:, np.searchsorted(self.classes_, model.classes_)] = said
        return whole

    def predict(self, X: Any) -> Labels:
        """What the wrapped model predicts, (n_new,)."""
        check_is_fitted(self, "estimator_")
        found: Labels = self.estimator_.predict(X)
        return found

    def predict_interval(self, X: Any, level: float | None = None) -> Array:
        """Lower and upper ends (n_new, 2) of intervals that hold the truth with probability
        ``level`` (None: that of the object).

        DataError where too few rows were held out for another level; ParameterError for a
        classifier.
        """
        check_is_fitted(self, "scores_")
        if hasattr(self, "classes_"):
            raise ParameterError(
                "Intervals are for numbers, and this model predicts classes: use predict_set."
            )
        n = self.scores_.size
        k = rank_of(self.level if level is None else level, n)
        said = np.stack([self._outputs(model, X) for model in self.models_], axis=1)
        ends = np.empty((len(said), 2))
        step = max(1, _NUMBERS // n)
        for first in range(0, len(said), step):
            part = slice(first, first + step)
            middle = said[part, self.model_of_]
            lower = np.partition(middle - self.scores_, n - k, axis=1)
            upper = np.partition(middle + self.scores_, k - 1, axis=1)
            ends[part] = np.column_stack([lower[:, n - k], upper[:, k - 1]])
        crossed = ends[:, 0] > ends[:, 1]
        ends[crossed] = ends[crossed].mean(axis=1, keepdims=True)
        return ends

    def predict_set(self, X: Any, level: float | None = None) -> Mask:
        """Which classes (n_new, n_classes), in the order of ``classes_``, belong to the set that
        holds the truth with probability ``level`` (None: that of the object).

        DataError where too few rows were held out for the level; ParameterError for a regressor.
        """
        check_is_fitted(self, "scores_")
        if not hasattr(self, "classes_"):
            raise ParameterError(
                "Sets are for classes, and this model predicts a number: use predict_interval."
            )
        k = rank_of(self.level if level is None else level, self.scores_.size)
        smaller: Any = 0
        for place, model in enumerate(self.models_):
            own = np.sort(self.scores_[self.model_of_ == place])
            # A row that equals a held-out one has the same score, up to rounding: it does not count
            # as smaller.
            least = margins(self._outputs(model, X)) - _TIE * max(
                float(np.abs(own).max(initial=0.0)), _TIE
            )
            smaller = smaller + np.searchsorted(own, least, side="left")
        likely: Mask = smaller < k
        predicted = np.searchsorted(self.classes_, self.predict(X))
        likely[np.arange(len(likely)), predicted] = True
        return likely

    def score(self, X: Any, y: Any = None) -> float:
        """The score of the wrapped model."""
        check_is_fitted(self, "estimator_")
        return float(self.estimator_.score(X, target_of(X, y)))

    def __getattr__(self, name: str) -> Any:
        if name in ("n_features_in_", "feature_names_in_") and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__} has no {name}; some are there after fit.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags = own.classifier_tags
        tags.regressor_tags = own.regressor_tags
        tags.input_tags = own.input_tags
        tags.target_tags = own.target_tags
        tags.target_tags.multi_output = False
        return tags


def some_rows(X: Any, rows: Indices) -> Any:
    """Some rows of a table of any kind, or of a ``Dataset``."""
    return X.take(rows) if isinstance(X, Dataset) else _safe_indexing(X, rows)
