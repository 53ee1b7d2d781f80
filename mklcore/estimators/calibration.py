"""From decision values to probabilities: Platt's sigmoid, fitted on held-out rows.

    P(y = 1 | f) = 1 / (1 + exp(A f + B))

A and B have maximum likelihood for the targets (n+ + 1)/(n+ + 2) and 1/(n- + 2). For several
classes, the sigmoids of each class against the rest are divided by their sum.

Source: Platt (1999); Zadrozny and Elkan (2002).
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
FEWEST = 2  # rows that at least two classes need each
_BINS = 10  # of a reliability diagram, with equal widths


def held_out_decisions(model: Any, X: Any, y: Labels) -> tuple[Indices, Array]:
    """Fit ``model`` again on folds, and return the held-out rows and their decision values.

    ``X`` is a table, a stack or a ``Dataset``, ``y`` (n,) labels. A class of one row is never held
    out. Raises ``DataError`` if fewer than two classes have two rows.
    """
    weights = getattr(model, "sample_weight_", None)
    counted = np.ones(y.size, dtype=bool) if weights is None else weights > 0
    counts = np.unique(y[counted], return_counts=True)[1]
    if np.count_nonzero(counts >= 2) < 2:
        raise DataError(
            "probability=True holds rows of every class out, so two classes need at least "
            f"two rows each; the class sizes are {', '.join(map(str, counts[:6]))}."
        )
    seed = int(model.random_state) if isinstance(model.random_state, (int, np.integer)) else 0
    groups = X.row_groups if isinstance(X, Dataset) else None
    n_folds = min(FOLDS, int(np.count_nonzero(repeated(y))))
    held_out = []
    decisions = []
    for train, held in fold_rows(codes_of(y), y.size, n_folds, seed, groups):
        train_part, held_part = cut(X, train, held, y.size)
        arguments = [train_part, y[train]]
        if weights is not None:
            arguments.append(weights[train])
        fitted = _uncalibrated(model).fit(*arguments)
        decide = fitted.decide_blocks if is_operator(held_part) else fitted.decision_function
        decisions.append(decide(held_part))
        held_out.append(held)
    rows = np.concatenate(held_out)
    order = np.argsort(rows, kind="stable")
    order = order[counted[rows[order]]]
    return rows[order], np.concatenate(decisions)[order]


def _uncalibrated(model: Any) -> Any:
    """An unfitted copy for one fold; weights of rows already include those of classes."""
    fresh = clone(model)
    changed = {"probability": False, "callback": None, "class_weight": None}
    known = fresh.get_params()
    fresh.set_params(**{name: value for name, value in changed.items() if name in known})
    return fresh


def calibrate(decision: Array, y: Labels, classes: Labels) -> Array:
    """Slopes and offsets (T, 2) of sigmoids, from held-out decision values (n,) or (n, n_classes).

    ``y`` are the labels of these rows, ``classes`` those of the model in its order. A class of a
    single row also gets a sigmoid, since the prior adds one row to every class. Raises
    ``DataError`` if fewer than two classes have two of the rows. Source: as in the module.
    """
    values = np.asarray(decision, dtype=float)
    y = np.asarray(y)
    n_outputs = 1 if values.ndim == 1 else values.shape[1]
    expected = 1 if values.ndim == 1 and len(classes) == 2 else len(classes)
    if values.shape[0] != y.size or n_outputs != expected:
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
    positive = classes[1:] if values.ndim == 1 else classes
    columns = values.reshape(y.size, -1).T
    pairs = zip(columns, positive, strict=True)
    return np.array([_platt(column, y == label) for column, label in pairs])


def sigmoids(decision: Array, table: Array) -> Array:
    """Probabilities (n, n_classes) from decision values and ``table`` (T, 2) of ``calibrate``."""
    columns = np.asarray(decision, dtype=float).reshape(len(decision), -1)
    found = np.exp(-np.logaddexp(0.0, -(columns * table[:, 0] + table[:, 1])))
    if np.ndim(decision) == 1:
        return np.column_stack([1.0 - found, found])
    total = found.sum(axis=1, keepdims=True)
    equal = 1.0 / found.shape[1]  # where every sigmoid is zero
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), equal)


def reliability(probability: Array, happened: Array) -> tuple[Array, Array, Array]:
    """Mean probability, observed share and number of rows of every bin that holds any row.

    ``probability`` (n,) in [0, 1], ``happened`` (n,) of bool.
    """
    bins = np.minimum((np.asarray(probability) * _BINS).astype(int), _BINS - 1)
    counts = np.bincount(bins, minlength=_BINS)
    occupied = counts > 0
    predicted = np.bincount(bins, probability, _BINS)[occupied] / counts[occupied]
    observed = np.bincount(bins, np.asarray(happened, dtype=float), _BINS)[occupied]
    return predicted, observed / counts[occupied], counts[occupied].astype(float)


def _platt(values: Array, positive: Array) -> tuple[float, float]:
    """The slope and the offset of one sigmoid.

    The soft targets are expressed by two weighted copies of every row, one of either label.
    """
    from sklearn.linear_model import LogisticRegression  # a slow import, only needed here

    n_plus = int(positive.sum())
    n_minus = positive.size - n_plus
    share = np.where(positive, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (n_minus + 2.0))
    scale = float(np.std(values)) or 1.0
    rows = np.concatenate([values, values])[:, None] / scale
    labels = np.repeat([1, 0], values.size)
    weights = np.concatenate([share, 1.0 - share])
    fit = LogisticRegression(C=1e6, max_iter=1000).fit(rows, labels, sample_weight=weights)
    return float(fit.coef_[0, 0]) / scale, float(fit.intercept_[0])
