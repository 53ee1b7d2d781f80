"""The first answer as scikit-learn estimators: a data frame or an array in, a model and what it
found out.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from pandas import DataFrame, isna
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from mklcore.answer.explore import explore
from mklcore.arrays import Array, Labels
from mklcore.data.columns import ReadOptions, distinct_names
from mklcore.data.dataset import Dataset
from mklcore.data.frames import frame_cells, is_frame, with_column
from mklcore.data.reading import read_parsed
from mklcore.data.target import TargetValues
from mklcore.errors import DataError
from mklcore.parameters import set_together


class _Auto(BaseEstimator):
    """Turn rows into a table and run `explore` on it."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _checked(self, X: Any, y: Any) -> tuple[Any, Labels]:
        """Rows and target as they are learned from: an array of finite numbers, or a data frame as
        it is; feature names and count are remembered.

        ValueError without a target, DataError for a target of dates or with gaps, which a data
        frame may hold as None.
        """
        if y is None:
            name = type(self).__name__
            raise ValueError(
                f"requires y to be passed, but the target y is None; {name} is supervised."
            )
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
        else:
            X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        target: Labels = column_or_1d(y, warn=True)
        if target.dtype.kind in "mM":
            raise DataError(
                "The target holds dates or durations: predict a number, such as "
                "(y - y.min()).dt.days."
            )
        if (gaps := np.flatnonzero(isna(target))).size:
            rows = "1 row" if gaps.size == 1 else f"{gaps.size:,} rows"
            raise DataError(
                f"The target is missing (NaN) in {rows}, first in row {gaps[0] + 1}. Drop them."
            )
        return X, target

    def _explored(
        self,
        X: Any,
        y: Any,
        task: str,
        groups: Any,
        name: str,
    ) -> Self:
        check_consistent_length(X, y, groups)
        if is_frame(X):
            table = frame_cells(X)
            named = None
            if groups is not None:
                table, named = with_column(table, "groups", np.asarray(groups, dtype=object))
            # A name for the target that no column has.
            target = distinct_names([*table.names, name])[-1]
            given = TargetValues(y, np.arange(len(y)), task, [])
            data = read_parsed(table, ReadOptions(target=target, row_groups=named), given)
        else:
            data = Dataset(X, y, target_name=name, task=task, row_groups=groups)
        self.encoder_ = data.encoder
        self.exploration_ = explore(data, seed=self.seed, test_size=0.0)
        return self

    def _rows(self, X: Any) -> Any:
        """New rows as the model of the answer takes them."""
        check_is_fitted(self)
        if self.encoder_ is None:
            return validate_data(self, X, reset=False, dtype=np.float64)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.encoder_.read(
            X if is_frame(X) else DataFrame(X, columns=self.feature_names_in_)
        ).table


def _name_of(y: Any) -> str:
    """What a target is called: as its Series, else "target"."""
    name = getattr(y, "name", None)
    return "target" if name is None else str(name)


class AutoMKLClassifier(ClassifierMixin, _Auto):
    """A classifier that chooses its kernels: `explore` on all rows, as a scikit-learn estimator.

    Parameters
    ----------
    seed : int, default 0
        Seed of the random draws: the same number gives the same model.

    Attributes
    ----------
    exploration_ : Exploration
        The answer: columns that matter, path, notes. ``exploration_.model.predict_proba`` has
        probabilities.
    classes_ : ndarray
        The classes in sorted order.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> bool(AutoMKLClassifier().fit(X, y).score(X, y) > 0.9)
    True
    """

    @set_together
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit on rows X (n, d), an array of numbers or a data frame of any columns, and classes y
        (n,); rows of one of ``groups`` (n,) are held out together.
        """
        rows, target = self._checked(X, y)
        assert_all_finite(target, input_name="y")
        check_classification_targets(target)
        self.classes_ = np.unique(target)
        if len(self.classes_) < 2:
            raise DataError(
                f"The target holds one class only ({self.classes_[0]!r}); a classifier "
                "needs at least two."
            )
        task = "binary" if len(self.classes_) == 2 else "multiclass"
        return self._explored(rows, target, task, groups, _name_of(y))

    def decision_function(self, X: Any) -> Array:
        """Signed scores: (n,) for two classes, positive for ``classes_[1]``, else (n, n_classes)."""
        rows = self._rows(X)
        found: Array = self.exploration_.model.decision_function(rows)
        return found

    def predict(self, X: Any) -> Labels:
        """The class of every row."""
        rows = self._rows(X)
        model = self.exploration_.model
        labels: Labels = self.classes_[np.searchsorted(model.classes_, model.predict(rows))]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, n_classes) of the classes in the order of ``classes_``; calibrated on
        held-out folds.
        """
        rows = self._rows(X)
        found: Array = self.exploration_.model.predict_proba(rows)
        return found


class AutoMKLRegressor(RegressorMixin, _Auto):
    """A regressor that chooses its kernels: `explore` on all rows, as a scikit-learn estimator.

    Parameters
    ----------
    seed : int, default 0
        Seed of the random draws: the same number gives the same model.

    Attributes
    ----------
    exploration_ : Exploration
        The answer: columns that matter, path, notes, intervals.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> bool(AutoMKLRegressor().fit(X, y).score(X, y) > 0.4)
    True
    """

    @set_together
    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit on rows X (n, d), an array of numbers or a data frame of any columns, and numbers y
        (n,); rows of one of ``groups`` (n,) are held out together.
        """
        rows, target = self._checked(X, y)
        return self._explored(rows, target.astype(np.float64), "regression", groups, _name_of(y))

    def predict(self, X: Any) -> Array:
        """Predicted numbers (n,)."""
        rows = self._rows(X)
        found: Array = self.exploration_.model.predict(rows)
        return found
