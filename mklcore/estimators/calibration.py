"""From decision values to probabilities: Platt's sigmoid, fitted on rows the model has not seen.

    P(y = 1 | f) = 1 / (1 + exp(A f + B)),   A, B by maximum likelihood with targets (n+ + 1)/(n+ + 2), 1/(n- + 2)

Several classes: one against the rest each, then divided by their sum. Source: Platt (1999);
Zadrozny and Elkan (2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import codes_of, fold_rows, repeated
from mklcore.errors import DataError
from mklcore.kernels.operators import is_operator
from mklcore.paths.folds import cut

FOLDS = 5
_BINS = 10  # of equal width, in which probabilities are compared with what happened
FEWEST = 2  # rows of a class that a sigmoid needs on both sides


def held_out_decisions(model: Any, X: Any, y: Labels) -> tuple[Indices, Array]:
    """Which rows were held out, and their decision values, by ``model`` fitted again on ``FOLDS``
    folds.

    ``X`` a table, a stack or a ``Dataset``, ``y`` (n,) labels. A class of one row is never held
    out. DataError where fewer than two classes have two rows, and for ready Gram matrices (p, q+1,
    n, n), which cannot be cut.
    """
    if not (
        is_operator(X) or isinstance(X, Dataset) or hasattr(X, "iloc") or hasattr(X, "release")
    ):
        X = np.asarray(X)
    if getattr(X, "ndim", 2) == 4 or hasattr(X, "release"):
        raise DataError(
            "probability=True refits on folds of the rows, and ready Gram matrices per "
            "level cannot be cut."
        )
    weights = getattr(model, "sample_weight_", None)
    counted = np.ones(y.size, dtype=bool) if weights is None else weights > 0
    counts = np.unique(y[counted], return_counts=True)[1]
    if np.count_nonzero(counts >= 2) < 2:
        raise DataError(
            "probability=True holds rows of every class out, so two classes need at least "
            f"two rows each; the class sizes are {', '.join(map(str, counts[:6]))}."
        )
    seed = int(model.random_state) if isinstance(model.random_state, (int, np.integer)) else 0
    owners = X.row_groups if isinstance(X, Dataset) else None
    folds = fold_rows(
        codes_of(y), y.size, min(FOLDS, int(np.count_nonzero(repeated(y)))), seed, owners
    )
    found: Array | None = None
    seen = np.zeros(y.size, dtype=bool)
    for train, held in folds:
        part, rest = cut(X, train, held, y.size)
        # which weights hold already
        own = {"probability": False, "callback": None, "class_weight": None}
        fresh = clone(model)
        fresh.set_params(
            **{name: value for name, value in own.items() if name in fresh.get_params()}
        )
        fitted = (
            fresh.fit(part, y[train])
            if weights is None
            else fresh.fit(part, y[train], weights[train])
        )
        said = fitted.decide_blocks(rest) if is_operator(X) else fitted.decision_function(rest)
        found = np.zeros((y.size, *said.shape[1:])) if found is None else found
        found[held] = said
        seen[held] = True
    rows = np.flatnonzero(seen & counted)
    return rows, found[rows]  # type: ignore[index]  # there are folds


def calibrate(decision: Array, y: Labels, classes: Labels) -> Array:
    """Fit slopes and offsets (T, 2) on decision values (n,) or (n, n_classes) of rows with labels
    ``y`` that the model was not fitted on.

    ``classes`` in the order of the model's ``classes_``. A class of one row gets a sigmoid, too,
    whose prior of one row stands for what is not known of it. DataError where fewer than two
    classes have two of the rows. Source: as in the module.
    """
    values = np.asarray(decision, dtype=float)
    y = np.asarray(y)
    expected = 1 if values.ndim == 1 else values.shape[1]
    if values.shape[0] != y.size or expected != (
        1 if values.ndim == 1 and len(classes) == 2 else len(classes)
    ):
        raise DataError(
            f"Decision values (n,) for two classes or (n, {len(classes)}) are needed for "
            f"{y.size} labels; got {values.shape}."
        )
    counts = np.array([np.count_nonzero(y == one) for one in classes])
    if np.count_nonzero(counts >= FEWEST) < 2:
        raise DataError(
            f"Class {classes[int(counts.argmin())]!s} has fewer than {FEWEST} of these "
            f"{y.size} rows: no probability can be fitted. Use more rows."
        )
    places = [1] if values.ndim == 1 else range(len(classes))
    table = values.reshape(y.size, -1)
    return np.array(
        [_platt(column, y == classes[k]) for column, k in zip(table.T, places, strict=True)]
    )


def sigmoids(decision: Array, table: Array) -> Array:
    """Probabilities (n, n_classes) from decision values (n,) or (n, n_classes) and slopes and
    offsets (T, 2).
    """
    columns = np.asarray(decision, dtype=float).reshape(len(decision), -1)
    found = np.exp(-np.logaddexp(0.0, -(columns * table[:, 0] + table[:, 1])))
    if np.ndim(decision) == 1:
        return np.column_stack([1.0 - found, found])
    total = found.sum(axis=1, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), 1.0 / found.shape[1])


def reliability(probability: Array, happened: Array) -> tuple[Array, Array, Array]:
    """Mean probability, share that happened and number of rows, per bin that holds any row.

    ``probability`` (n,) in [0, 1], ``happened`` (n,) of bool.
    """
    place = np.minimum((np.asarray(probability) * _BINS).astype(int), _BINS - 1)
    counts = np.bincount(place, minlength=_BINS)
    some = counts > 0
    said = np.bincount(place, probability, _BINS)[some] / counts[some]
    share = np.bincount(place, np.asarray(happened, dtype=float), _BINS)[some] / counts[some]
    return said, share, counts[some].astype(float)


def _platt(values: Array, positive: Array) -> tuple[float, float]:
    """Labels become the shares that a uniform prior leaves, as two weighted copies of every row."""
    from sklearn.linear_model import LogisticRegression  # not at start-up

    n_plus = int(positive.sum())
    share = np.where(
        positive, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (positive.size - n_plus + 2.0)
    )
    scale = float(np.std(values)) or 1.0
    rows = np.concatenate([values, values])[:, None] / scale
    labels = np.repeat([1, 0], values.size)
    fit = LogisticRegression(C=1e6, max_iter=1000).fit(
        rows, labels, sample_weight=np.concatenate([share, 1.0 - share])
    )
    return float(fit.coef_[0, 0]) / scale, float(fit.intercept_[0])
