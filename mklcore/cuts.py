"""Cuts of rows for choosing: folds and halves of a table, or of a ready stack of kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, ParameterError
from mklcore.kernels.grams import GramStack
from mklcore.lowrank.features import FeatureStack


def parts_of(estimator: Any, X: Any, y: Labels, n_splits: int, seed: int, cv: Any) -> list[tuple[Indices, Indices]]:
    """The rows to learn from and those left out, a pair per fold: ``cv`` as scikit-learn has it, or ``n_splits`` folds."""
    if cv is None or isinstance(cv, (int, np.integer)):
        return folds(estimator, y, n_splits if cv is None else int(cv), seed)
    found = cv.split(np.zeros((y.shape[0], 1)), y) if hasattr(cv, "split") else cv
    parts = [(np.asarray(train), np.asarray(test)) for train, test in found]
    if len(parts) < 2:
        raise ParameterError(f"cv gives {len(parts)} folds; a mean with its error needs at least two.")
    return parts


def folds(estimator: Any, y: Labels, n_splits: int, seed: int) -> list[tuple[Indices, Indices]]:
    """Training rows and rows left out of every fold: shuffled, and stratified for classifiers; ``y`` (n,) or (n, T)."""
    from sklearn.base import is_classifier
    from sklearn.model_selection import KFold, StratifiedKFold

    whole = isinstance(n_splits, (int, np.integer)) and not isinstance(n_splits, bool)
    if not (whole and 2 <= n_splits <= y.shape[0]):
        raise ParameterError(f"n_splits must be a whole number from 2 to the {y.shape[0]} rows; got {n_splits!r}.")
    if not is_classifier(estimator):
        return list(KFold(n_splits, shuffle=True, random_state=seed).split(y))
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if smallest < n_splits:
        raise DataError(
            f"The smallest class has {smallest} rows, fewer than the {n_splits} folds: some fold would train without it. "
            f"Use n_splits={max(smallest, 2)} or merge small classes."
        )
    return list(StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(y, y))


def cut(X: Any, train: Indices, test: Indices, n: int) -> tuple[Any, Any]:
    """The training part of ``X`` and the part left out: rows of a table, or blocks of a stack."""
    size = (
        X.n_samples if isinstance(X, GramStack | FeatureStack | Dataset) else np.shape(X)[-2 if np.ndim(X) == 3 else 0]
    )
    if size != n:
        raise DataError(f"X has {size} rows and the target has {n}; they must be the same rows.")
    if isinstance(X, Dataset):
        return X.take(train), X.take(test)
    if isinstance(X, GramStack | FeatureStack):
        return X.take(train), X.block(test, train)
    if np.ndim(X) == 3:
        stack = np.asarray(X)
        return np.ascontiguousarray(stack[:, train[:, None], train]), stack[:, test[:, None], train]
    return (X.iloc[train], X.iloc[test]) if hasattr(X, "iloc") else (np.asarray(X)[train], np.asarray(X)[test])


def halves(estimator: Any, y: Array, n: int, seed: int) -> Iterator[tuple[Indices, Indices]]:
    """``n`` random cuts of the rows in two halves, class by class where there are classes."""
    from sklearn.base import is_classifier
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    if y.shape[0] < 4:
        raise DataError(f"Halves need at least 4 rows; there are {y.shape[0]}.")
    if not is_classifier(estimator):
        yield from ShuffleSplit(n, train_size=0.5, random_state=seed).split(y)
        return
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if smallest < 2:
        raise DataError("The smallest class has one row, so half of the rows would miss it. Merge small classes.")
    yield from StratifiedShuffleSplit(n, train_size=0.5, random_state=seed).split(y, y)
