"""From decision values to probabilities: Platt's sigmoid, fitted on rows the model has not seen.

    P(y = 1 | f) = 1 / (1 + exp(A f + B)),   A, B by maximum likelihood with targets (n+ + 1)/(n+ + 2), 1/(n- + 2)

Several classes: one against the rest each, then divided by their sum. Source: Platt (1999); Zadrozny and Elkan (2002).
"""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array, Labels
from mklcore.errors import DataError

FEWEST = 2  # rows of a class that a sigmoid needs on both sides


def calibrate(decision: Array, y: Labels, classes: Labels) -> Array:
    """Fit slopes and offsets (T, 2) on decision values (n,) or (n, n_classes) of rows with labels ``y`` that the model
    was not fitted on.

    ``classes`` in the order of the model's ``classes_``. A class of one row gets a sigmoid, too, whose prior of one row
    stands for what is not known of it. DataError where fewer than two classes have two of the rows. Source: as in the
    module.
    """
    values, y = np.asarray(decision, dtype=float), np.asarray(y)
    expected = 1 if values.ndim == 1 else values.shape[1]
    if values.shape[0] != y.size or expected != (1 if values.ndim == 1 and len(classes) == 2 else len(classes)):
        raise DataError(
            f"Decision values (n,) for two classes or (n, {len(classes)}) are needed for {y.size} labels; got "
            f"{values.shape}."
        )
    counts = np.array([np.count_nonzero(y == one) for one in classes])
    if np.count_nonzero(counts >= FEWEST) < 2:
        raise DataError(
            f"Class {classes[int(counts.argmin())]!s} has fewer than {FEWEST} of these {y.size} rows: no probability "
            "can be fitted. Use more rows."
        )
    places = [1] if values.ndim == 1 else range(len(classes))
    table = values.reshape(y.size, -1)
    return np.array([_platt(column, y == classes[k]) for column, k in zip(table.T, places, strict=True)])


def sigmoids(decision: Array, table: Array) -> Array:
    """Probabilities (n, n_classes) from decision values (n,) or (n, n_classes) and slopes and offsets (T, 2)."""
    columns = np.asarray(decision, dtype=float).reshape(len(decision), -1)
    found = np.exp(-np.logaddexp(0.0, -(columns * table[:, 0] + table[:, 1])))
    if np.ndim(decision) == 1:
        return np.column_stack([1.0 - found, found])
    total = found.sum(axis=1, keepdims=True)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), 1.0 / found.shape[1])


def reliability(probability: Array, happened: Array, n_bins: int = 10) -> tuple[Array, Array, Array]:
    """Mean probability, share that happened and number of rows, per bin of equal width that holds any row.

    ``probability`` (n,) in [0, 1], ``happened`` (n,) of bool.
    """
    place = np.minimum((np.asarray(probability) * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(place, minlength=n_bins)
    some = counts > 0
    said = np.bincount(place, probability, n_bins)[some] / counts[some]
    share = np.bincount(place, np.asarray(happened, dtype=float), n_bins)[some] / counts[some]
    return said, share, counts[some].astype(float)


def _platt(values: Array, positive: Array) -> tuple[float, float]:
    """Labels become the shares that a uniform prior leaves, as two weighted copies of every row."""
    from sklearn.linear_model import LogisticRegression  # not at start-up

    n_plus = int(positive.sum())
    share = np.where(positive, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (positive.size - n_plus + 2.0))
    scale = float(np.std(values)) or 1.0
    rows, labels = np.concatenate([values, values])[:, None] / scale, np.repeat([1, 0], values.size)
    fit = LogisticRegression(C=1e6, max_iter=1000).fit(rows, labels, sample_weight=np.concatenate([share, 1.0 - share]))
    return float(fit.coef_[0, 0]) / scale, float(fit.intercept_[0])
