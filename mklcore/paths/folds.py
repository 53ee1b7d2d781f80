"""Folds of a table or of a stack of kernels, and parallel runs by joblib.

``n_jobs`` is joblib's: None for one run after the other, unless ``joblib.parallel_config`` changes
it, as in

    with joblib.parallel_config(backend="loky", n_jobs=4): ...  # processes of this machine
    with joblib.parallel_config(backend="dask"): ...  # workers of the active distributed.Client
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from mklcore.arrays import Indices, Labels, one_blas_thread
from mklcore.data.dataset import Dataset, count_rows
from mklcore.data.splitting import codes_of, fold_rows, rare_note
from mklcore.errors import DataError, ParameterError
from mklcore.kernels.operators import grams_among, is_operator

T = TypeVar("T")
R = TypeVar("R")


def fold_pairs(
    estimator: Any, X: Any, y: Labels, n_splits: int, seed: int, cv: Any
) -> tuple[list[tuple[Indices, Indices]], tuple[str, ...]]:
    """Training rows and held-out rows of every fold, by ``cv`` or as ``n_splits`` folds.

    ``cv`` is a number of folds, a splitter of scikit-learn, or pairs of rows. Also returns a note
    on the classes that no fold of ours holds out, if there are any.
    """
    owners = X.row_groups if isinstance(X, Dataset) else None
    if cv is None or isinstance(cv, (int, np.integer)):
        note = "" if _classes(estimator, y) is None else rare_note(y, 2)
        parts = folds(estimator, y, n_splits if cv is None else int(cv), seed, owners)
        return parts, (note,) if note else ()
    pairs = cv
    if hasattr(cv, "split"):
        pairs = cv.split(
            np.zeros((y.shape[0], 1)),
            y,
            owners,
        )
    parts = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
    if len(parts) < 2:
        raise ParameterError(
            f"cv gives {len(parts)} folds; a mean with its error needs at least two."
        )
    return parts, ()


def folds(
    estimator: Any, y: Labels, n_splits: int, seed: int, owners: Labels | None = None
) -> list[tuple[Indices, Indices]]:
    """Training rows and held-out rows of every fold: shuffled, and stratified for classifiers.

    ``y`` (n,) or (n, T). Rows with the same entry of ``owners`` (n,) are held out together. A class
    with one row is in the training rows of every fold.
    """
    return fold_rows(_classes(estimator, y), y.shape[0], n_splits, seed, owners)


def _classes(estimator: Any, y: Labels) -> Indices | None:
    from sklearn.base import is_classifier  # slow to import

    return codes_of(y) if is_classifier(estimator) else None


def cut(
    X: Any,
    train: Indices,
    test: Indices,
    n: int,
) -> tuple[Any, Any]:
    """The training part of ``X`` and the held-out part: rows of a table, or blocks of a stack."""
    size = count_rows(X)
    if size != n:
        raise DataError(f"X has {size} rows and the target has {n}; they must be the same rows.")
    if isinstance(X, Dataset):
        return X.take(train), X.take(test)
    if is_operator(X):
        return X.take(train), X.block(test, train)
    if np.ndim(X) == 3:
        stack = np.asarray(X)
        return grams_among(stack, train, train), grams_among(stack, test, train)
    rows = X.iloc if hasattr(X, "iloc") else np.asarray(X)
    return rows[train], rows[test]


def is_parallel(n_jobs: int | None) -> bool:
    """Whether more than one run takes place at a time."""
    return bool(effective_n_jobs(n_jobs) > 1)


def each(
    run: Callable[[T], R],
    items: Iterable[T],
    n_jobs: int | None = None,
) -> Iterator[R]:
    """``run`` of every item, in order.

    Each run has one BLAS thread, because several threads would add up in an order that depends on
    the machine.
    """
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    return iter(parallel(delayed(_with_one_thread)(run, item) for item in items))


def _with_one_thread(run: Callable[[T], R], item: T) -> R:
    with one_blas_thread():
        return run(item)
