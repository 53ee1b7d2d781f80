"""The first answer as scikit-learn estimators: a data frame or an array in, a model and what it found out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from pandas import DataFrame
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from mklcore.answer.explore import explore
from mklcore.arrays import Array, Labels
from mklcore.data.columns import ReadOptions
from mklcore.data.dataset import Dataset
from mklcore.data.files import Table
from mklcore.data.reading import read_parsed
from mklcore.errors import DataError
from mklcore.parameters import set_together

TARGET = "target of the estimator"  # what the target is called beside the columns of a data frame


class _Auto(BaseEstimator):
    """Rows to a table, and the table to `explore`."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _checked(self, X: Any) -> Any:
        """An array of finite numbers, or a data frame as it is; feature names and count are remembered."""
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True)
            return X
        return validate_data(self, X, dtype=np.float64, ensure_min_samples=2)

    def _explored(self, X: Any, y: Labels, task: str) -> Self:
        check_consistent_length(X, y)
        self.__dict__.pop("encoder_", None)
        if hasattr(X, "columns"):
            read = ReadOptions(target=TARGET, task="regression" if task == "regression" else "classification")
            data, self.encoder_ = read_parsed(_cells(X, y), read)
        else:
            data = Dataset(X, y, task=task)
        self.exploration_ = explore(data, seed=self.seed, test_size=0.0)
        return self

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self)
        if not hasattr(self, "encoder_"):
            rows: Array = validate_data(self, X, reset=False, dtype=np.float64)
            return rows
        validate_data(self, X, reset=False, skip_check_array=True)
        if not hasattr(X, "columns"):
            X = DataFrame(X, columns=self.feature_names_in_)
        return self.encoder_.of_table(_cells(X)).table


def _cells(frame: Any, y: Labels | None = None) -> Table:
    """A data frame as the cells of a file: numbers as they are, all else as text, gaps as empty cells."""
    cells = [
        column.to_numpy(dtype=np.float64, na_value=np.nan)
        if is_numeric_dtype(column) and not is_bool_dtype(column)
        else column.astype("string").fillna("").to_numpy(dtype=object)
        for _, column in frame.items()
    ]
    names = tuple(str(name) for name in frame.columns)
    if y is None:
        return Table(names, tuple(cells))
    return Table((*names, TARGET), (*cells, np.asarray(y, dtype=np.float64)))


class AutoMKLClassifier(ClassifierMixin, _Auto):
    """A classifier that chooses its kernels: `explore` on all rows, as a scikit-learn estimator.

    Parameters
    ----------
    seed : int, default 0
        Seed of the random draws: the same number gives the same model.

    Attributes
    ----------
    exploration_ : Exploration
        The answer: columns that matter, path, notes. ``exploration_.model.predict_proba`` has probabilities.
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
    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows X (n, d), an array of numbers or a data frame of any columns, and classes y (n,)."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None; AutoMKLClassifier is supervised.")
        rows = self._checked(X)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(f"The target holds one class only ({self.classes_[0]!r}); a classifier needs at least two.")
        return self._explored(rows, codes, "binary" if len(self.classes_) == 2 else "multiclass")

    def decision_function(self, X: Any) -> Array:
        """Signed scores: (n,) for two classes, positive for ``classes_[1]``, else (n, n_classes)."""
        rows = self._rows(X)
        found: Array = self.exploration_.model.decision_function(rows)
        return found

    def predict(self, X: Any) -> Labels:
        """The class of every row."""
        rows = self._rows(X)
        labels: Labels = self.classes_[self.exploration_.model.predict(rows)]
        return labels


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
    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows X (n, d), an array of numbers or a data frame of any columns, and numbers y (n,)."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None; AutoMKLRegressor is supervised.")
        y = column_or_1d(y, warn=True).astype(np.float64)
        return self._explored(self._checked(X), y, "regression")

    def predict(self, X: Any) -> Array:
        """Predicted numbers (n,)."""
        rows = self._rows(X)
        found: Array = self.exploration_.model.predict(rows)
        return found
