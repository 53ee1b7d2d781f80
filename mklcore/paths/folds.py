"""Folds: cuts of a table or of a ready stack of kernels, and many runs of one kind by joblib.

``n_jobs`` is joblib's: None for one after the other, unless ``joblib.parallel_config`` says
otherwise, as in

    with joblib.parallel_config(backend="loky", n_jobs=4): ...      # processes of this machine
    with joblib.parallel_config(backend="dask"): ...                # the workers of the active distributed.Client
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


def parts_of(
    estimator: Any, X: Any, y: Labels, n_splits: int, seed: int, cv: Any
) -> list[tuple[Indices, Indices]]:
    """The rows to learn from and those left out, a pair per fold: ``cv`` as scikit-learn has it, or
    ``n_splits`` folds.
    """
    owners = X.row_groups if isinstance(X, Dataset) else None
    if cv is None or isinstance(cv, (int, np.integer)):
        return folds(estimator, y, n_splits if cv is None else int(cv), seed, owners)
    found = cv.split(np.zeros((y.shape[0], 1)), y, owners) if hasattr(cv, "split") else cv
    parts = [(np.asarray(train), np.asarray(test)) for train, test in found]
    if len(parts) < 2:
        raise ParameterError(
            f"cv gives {len(parts)} folds; a mean with its error needs at least two."
        )
    return parts


def folds(
    estimator: Any, y: Labels, n_splits: int, seed: int, owners: Labels | None = None
) -> list[tuple[Indices, Indices]]:
    """Training rows and held-out rows of every fold: shuffled, and stratified for classifiers;
    ``y`` (n,) or (n, T).

    ``owners`` (n,) says whose rows are held out together. A class with one row is in the training
    rows of every fold.
    """
    return fold_rows(_classes(estimator, y), y.shape[0], n_splits, seed, owners)


def rare_in_folds(estimator: Any, y: Labels) -> tuple[str, ...]:
    """A note on the classes that no fold holds out, as one sentence; none where there are none."""
    note = "" if _classes(estimator, y) is None else rare_note(y, 2)
    return (note,) if note else ()


def _classes(estimator: Any, y: Labels) -> Indices | None:
    from sklearn.base import is_classifier  # not at start-up

    return codes_of(y) if is_classifier(estimator) else None


def cut(X: Any, train: Indices, test: Indices, n: int) -> tuple[Any, Any]:
    """The training part of ``X`` and the part left out: rows of a table, or blocks of a stack."""
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
    return (
        (X.iloc[train], X.iloc[test])
        if hasattr(X, "iloc")
        else (np.asarray(X)[train], np.asarray(X)[test])
    )


def is_parallel(n_jobs: int | None) -> bool:
    """Whether there will be more than one run at a time."""
    return bool(effective_n_jobs(n_jobs) > 1)


def each(run: Callable[[T], R], given: Iterable[T], n_jobs: int | None = None) -> Iterator[R]:
    """``run`` of everything ``given``, in its order.

    One BLAS thread each, so that the results are the same wherever they are computed: more would
    add up in another order.
    """
    return iter(
        Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_alone)(run, one) for one in given)
    )


def _alone(run: Callable[[T], R], one: T) -> R:
    with one_blas_thread():
        return run(one)
