"""The first answer as scikit-learn estimators: a data frame or an array in, a model and what it found out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from mklcore.answer.explore import explore
from mklcore.arrays import Array, Labels
from mklcore.data.dataset import Dataset, Groups
from mklcore.errors import DataError

MOST_LEVELS = 50  # of a category; the rare ones are one


class _Auto(BaseEstimator):
    """Rows to a table, and the table to `explore`."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _explored(self, table: tuple[Array, tuple[str, ...], Groups], y: Labels, task: str) -> Self:
        rows, names, columns = table
        check_consistent_length(rows, y)
        data = Dataset(rows, y, names, task=task, columns=columns)
        self.exploration_ = explore(data, seed=self.seed, test_size=0.0)
        return self

    def _learnt_rows(self, X: Any) -> tuple[Array, tuple[str, ...], Groups]:
        self.__dict__.pop("columns_", None)
        if not hasattr(X, "columns"):
            rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            return rows, (), ()
        validate_data(self, X, skip_check_array=True)
        names = [str(name) for name in X.columns]
        self.columns_ = _encoder(X).fit(X)
        rows = np.asarray(self.columns_.transform(X), dtype=np.float64)
        made = [str(name) for name in self.columns_.get_feature_names_out()]
        groups: dict[str, list[int]] = {}
        for j, name in enumerate(made):
            kind, _, rest = name.partition("__")
            own = rest if kind == "number" else max((n for n in names if rest.startswith(f"{n}_")), key=len)
            groups.setdefault(own, []).append(j)
        features = tuple(name.partition("__")[2] for name in made)
        return rows, features, tuple((name, tuple(members)) for name, members in groups.items())

    def _rows(self, X: Any) -> Array:
        check_is_fitted(self)
        if not hasattr(self, "columns_"):
            rows: Array = validate_data(self, X, reset=False, dtype=np.float64)
            return rows
        validate_data(self, X, reset=False, skip_check_array=True)
        if not hasattr(X, "columns"):
            from pandas import DataFrame

            X = DataFrame(X, columns=self.feature_names_in_)
        return np.asarray(self.columns_.transform(X), dtype=np.float64)


def _encoder(frame: Any) -> Any:
    """Numbers as they are, gaps at their median; every other column as 0 and 1 for its values."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    numbers = [name for name in frame.columns if is_numeric_dtype(frame[name]) and not is_bool_dtype(frame[name])]
    others = [name for name in frame.columns if name not in numbers]
    as_text = FunctionTransformer(_texts, feature_names_out="one-to-one")
    levels = OneHotEncoder(handle_unknown="ignore", max_categories=MOST_LEVELS, sparse_output=False)
    return ColumnTransformer(
        [("number", SimpleImputer(strategy="median"), numbers), ("category", make_pipeline(as_text, levels), others)]
    )


def _texts(frame: Any) -> Any:
    return frame.astype("string").fillna("missing").astype(object)


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

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows X (n, d), an array of numbers or a data frame of any columns, and classes y (n,)."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None; AutoMKLClassifier is supervised.")
        table = self._learnt_rows(X)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(f"The target holds one class only ({self.classes_[0]!r}); a classifier needs at least two.")
        return self._explored(table, codes, "binary" if len(self.classes_) == 2 else "multiclass")

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

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows X (n, d), an array of numbers or a data frame of any columns, and numbers y (n,)."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None; AutoMKLRegressor is supervised.")
        y = column_or_1d(y, warn=True).astype(np.float64)
        return self._explored(self._learnt_rows(X), y, "regression")

    def predict(self, X: Any) -> Array:
        """Predicted numbers (n,)."""
        rows = self._rows(X)
        found: Array = self.exploration_.model.predict(rows)
        return found
