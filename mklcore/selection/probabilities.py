"""From decision values to probabilities: Platt's sigmoid or an isotonic step function, fitted on rows the model has not
seen.

    Platt      P(y = 1 | f) = 1 / (1 + exp(A f + B)),   A, B by maximum likelihood with targets (n+ + 1)/(n+ + 2), 1/(n-
               + 2)
    isotonic   the non-decreasing function of f closest to the labels in squares

Several classes: one against the rest each, then divided by their sum. Source: Platt (1999); Zadrozny and Elkan (2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array, Labels
from mklcore.data.splitting import codes_of, fold_rows
from mklcore.errors import DataError, ParameterError
from mklcore.parameters import check_choice

METHODS = ("platt", "isotonic")
FEWEST = 2  # rows of a class that a map needs on both sides
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Probabilities:
    """Maps from decision values to probabilities of ``classes``, fitted by ``calibrate`` on ``n_rows`` rows."""

    classes: Labels
    method: str
    maps: tuple[Any, ...]
    n_rows: int

    @property
    def sigmoids(self) -> Array:
        """Slopes and offsets (T, 2) of Platt's maps; ParameterError where one is a step function."""
        if not all(isinstance(one, _Sigmoid) for one in self.maps):
            raise ParameterError('Step functions have no slope: calibrate with method="platt".')
        return np.array([(one.slope, one.offset) for one in self.maps])

    def of(self, decision: Array) -> Array:
        """Probabilities (n, n_classes) for decision values (n,) of two classes, or (n, n_classes); rows add up to 1."""
        return _shares(decision, self.maps)


def sigmoids(decision: Array, table: Array) -> Array:
    """Probabilities (n, n_classes) from decision values and the slopes and offsets (T, 2) of
    ``Probabilities.sigmoids``.
    """
    return _shares(decision, [_Sigmoid(slope, offset) for slope, offset in table])


def _shares(decision: Array, maps: Sequence[Any]) -> Array:
    columns = np.asarray(decision, dtype=float)
    if columns.ndim == 1:
        positive = maps[0](columns)
        return np.column_stack([1.0 - positive, positive])
    found = np.column_stack([one(column) for one, column in zip(maps, columns.T, strict=True)])
    total = found.sum(axis=1, keepdims=True)
    even = np.full_like(found, 1.0 / found.shape[1])
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), even)


def calibrate(decision: Array, y: Labels, classes: Labels, method: str = "platt") -> Probabilities:
    """Fit the maps on decision values (n,) or (n, n_classes) of rows with labels ``y`` that the model was not fitted
    on.

    ``classes`` in the order of the model's ``classes_``; ``method`` "platt" or "isotonic", which needs some hundred
    rows. A class with fewer than two of the rows gets Platt's sigmoid, whose prior of one row stands for what is not
    known of it. DataError where fewer than two classes have two of the rows. Source: as in the module.
    """
    check_choice("method", method, METHODS)
    values, y = np.asarray(decision, dtype=float), np.asarray(y)
    expected = 1 if values.ndim == 1 else values.shape[1]
    if (
        values.shape[0] != y.size
        or (expected == 1 and len(classes) != 2)
        or (expected > 1 and expected != len(classes))
    ):
        raise DataError(
            f"Decision values (n,) for two classes or (n, {len(classes)}) are needed for {y.size} labels; got "
            f"{values.shape}."
        )
    counts = np.array([np.count_nonzero(y == one) for one in classes])
    if np.count_nonzero(counts >= FEWEST) < 2:
        raise DataError(
            f"Class {classes[int(counts.argmin())]!s} has fewer than {FEWEST} of these {y.size} rows: no probability "
            f"can be "
            "fitted. Use more rows."
        )
    places = [1] if values.ndim == 1 else range(len(classes))
    table = values.reshape(y.size, -1)
    maps = tuple(
        (_platt if method == "platt" or counts[k] < FEWEST else _isotonic)(column, y == classes[k])
        for column, k in zip(table.T, places, strict=True)
    )
    return Probabilities(np.asarray(classes), method, maps, y.size)


def cross_fitted(decision: Array, y: Labels, classes: Labels, method: str = "platt", seed: int = 0) -> Array:
    """Probabilities (n, n_classes) of the same rows, each from maps fitted without its fold: what calibration may be
    judged by.

    DataError where fewer than two classes have four rows; rarer ones are spread over the folds.
    """
    values, y = np.asarray(decision, dtype=float), np.asarray(y)
    counts = np.array([np.count_nonzero(y == one) for one in classes])
    enough = counts[counts >= 2 * FEWEST]
    if enough.size < 2:
        raise DataError(
            f"The smallest class has {counts.min()} of these {y.size} rows; folds that leave some out need "
            f"{2 * FEWEST}, of "
            "two classes at least. Use more rows."
        )
    found = calibrate(values, y, classes, method).of(values)  # of a class of one row, which no fold leaves out
    for train, rest in fold_rows(codes_of(y), y.size, min(FOLDS, int(enough.min()) // FEWEST), seed):
        found[rest] = calibrate(values[train], y[train], classes, method).of(values[rest])
    return found


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


def brier(probabilities: Array, y: Labels, classes: Labels) -> float:
    """Mean squared distance of probabilities (n, n_classes) from the 0/1 truth, halved: 0 is perfect, 0.25 a coin."""
    truth = np.asarray(y)[:, None] == np.asarray(classes)[None, :]
    return float(np.mean(np.sum((probabilities - truth) ** 2, axis=1)) / 2.0)


class _Sigmoid:
    def __init__(self, slope: float, offset: float) -> None:
        self.slope, self.offset = slope, offset

    def __call__(self, values: Array) -> Array:
        return np.exp(-np.logaddexp(0.0, -(self.slope * values + self.offset)))


def _platt(values: Array, positive: Array) -> _Sigmoid:
    """Labels become the shares that a uniform prior leaves, as two weighted copies of every row."""
    from sklearn.linear_model import LogisticRegression

    n_plus = int(positive.sum())
    share = np.where(positive, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (positive.size - n_plus + 2.0))
    scale = float(np.std(values)) or 1.0
    rows, labels = np.concatenate([values, values])[:, None] / scale, np.repeat([1, 0], values.size)
    fit = LogisticRegression(C=1e6, max_iter=1000).fit(rows, labels, sample_weight=np.concatenate([share, 1.0 - share]))
    return _Sigmoid(float(fit.coef_[0, 0]) / scale, float(fit.intercept_[0]))


def _isotonic(values: Array, positive: Array) -> Any:
    from sklearn.isotonic import IsotonicRegression

    fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(values, positive.astype(float))
    return fit.predict
