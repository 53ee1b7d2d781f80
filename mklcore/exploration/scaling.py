"""What stands before the machine in the model of a first answer: steps of a scikit-learn Pipeline that take rows as
the table has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_is_fitted

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError

KNOTS = 1000  # values of a column that are remembered


class NormalScores(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Every column brought to the normal scores of its ranks: a heavy tail no longer decides which rows are near each
    other.

    The value of rank r among n becomes the normal quantile of (r - 1/2) / n, values that occur several times that of
    their mean rank; between known values it is linear, beyond them constant. A monotone change, column by column.
    Attributes: ``values_`` and ``scores_``, per column the remembered values and their scores; ``n_features_in_``.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the ranks of the columns of X (n, d)."""
        X = check_array(X, dtype=np.float64)
        self.n_features_in_ = X.shape[1]
        known = [_knots(column) for column in X.T]
        self.values_ = tuple(values for values, _ in known)
        self.scores_ = tuple(scores for _, scores in known)
        return self

    def transform(self, X: Any) -> Array:
        """The scores of rows X (m, d)."""
        check_is_fitted(self)
        X = _rows(X, self.n_features_in_)
        columns = zip(X.T, self.values_, self.scores_, strict=True)
        return np.column_stack([np.interp(column, values, scores) for column, values, scores in columns])

    def inverse_transform(self, X: Any) -> Array:
        """Rows in the units of the table from their scores (m, d)."""
        check_is_fitted(self)
        X = _rows(X, self.n_features_in_)
        columns = zip(X.T, self.values_, self.scores_, strict=True)
        return np.column_stack([np.interp(column, scores, values) for column, values, scores in columns])


def _knots(column: Array) -> tuple[Array, Array]:
    """The values of a column and their scores, at most ``KNOTS`` of them."""
    values, first = np.unique(column, return_index=True)
    scores = ndtri((rankdata(column)[first] - 0.5) / column.size)
    if values.size > KNOTS:
        kept = np.unique(np.round(np.linspace(0, values.size - 1, KNOTS)).astype(np.int64))
        values, scores = values[kept], scores[kept]
    return values, scores


def _rows(X: Any, n_features: int) -> Array:
    rows: Array = check_array(X, dtype=np.float64, ensure_min_samples=0)
    if rows.shape[1] != n_features:
        raise DataError(f"The rows have {rows.shape[1]} columns, and the table had {n_features}; use the same columns.")
    return rows


def steps_before(data: Dataset, scaling: str) -> list[tuple[str, Any]]:
    """The fitted steps that bring rows of ``data.X`` to what kernels see; none where rows are taken as they are."""
    return [("scores", NormalScores().fit(data.X))] if scaling else []


def seen_through(steps: Sequence[tuple[str, Any]], data: Dataset) -> Dataset:
    """The table as the kernels of a model see it."""
    return replace(data, X=steps[0][1].transform(data.X)) if steps else data


def as_pipeline(steps: Sequence[tuple[str, Any]], machine: Any) -> Pipeline:
    """The steps and a fitted machine as one model."""
    return Pipeline([*steps, ("machine", machine)])
