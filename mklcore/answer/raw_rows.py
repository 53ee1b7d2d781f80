"""What an answer says of new rows, as people have them: a data frame, a file, or one row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np

from mklcore.answer.thresholds import USUAL, check_threshold
from mklcore.arrays import Array, Labels, Mask
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, ParameterError
from mklcore.kernels.operators import is_operator


def encoded(model: Any, rows: Any) -> Any:
    """Rows as a model takes them: raw ones with the encoder of its training table, arrays of
    numbers as they are.
    """
    encoder = getattr(model, "encoder_", None)
    if isinstance(rows, np.ndarray | list | Dataset) or is_operator(rows) or encoder is None:
        return rows
    if isinstance(rows, Mapping):
        import pandas as pd  # not at start-up

        rows = pd.DataFrame([rows])
    elif hasattr(rows, "to_frame"):  # a row of a data frame
        rows = rows.to_frame().T
    return encoder.read(rows).table


def on_own_scale(model: Any, values: Array) -> Array:
    """Predictions, or their bounds, on the scale that the target has in the table, where a model
    predicts its logarithm.
    """
    encoder = getattr(model, "encoder_", None)
    found: Array = np.exp(values) if encoder is not None and encoder.log_target else values
    return found


def predicted(model: Any, rows: Any, threshold: float) -> Labels:
    """What a model predicts (n_new,) of rows as it takes them, with its own threshold of two
    classes.
    """
    if threshold == USUAL:
        return on_own_scale(model, model.predict(rows))
    found: Labels = model.label(model.decision_function(rows) - threshold)
    return found


def interval_with(model: Any, sure: Any, rows: Any, level: float) -> Array:
    """The intervals (n_new, 2) of ``sure``, a `Conformal` around a model, for rows as it takes them."""
    return on_own_scale(model, sure.predict_interval(rows, level))


def sets_with(sure: Any, rows: Any, level: float, labels: Labels) -> Mask:
    """Which classes (n_new, n_classes) are in the sets of ``sure``, a `Conformal`, for rows as it
    takes them: each set holds the class that is predicted, of ``labels`` (n_new,), as well.
    """
    found: Mask = sure.predict_set(rows, level) | (np.asarray(labels)[:, None] == sure.classes_)
    return found


class AnswersRows:
    """What an answer says of new rows.

    ``rows`` are a data frame, a path, bytes or an open file with the table's own columns, in any
    order, gaps and unknown categories included; one row as a Series or a dict; or what the model
    takes: numbers as ``Dataset.X`` has them, or a `Dataset`. DataError, by name, where a column is
    missing.
    """

    model: Any
    conformal: Any
    threshold: float

    def predict(self, rows: Any) -> Labels:
        """What the model predicts (n_new,) of new rows: numbers, or classes; of two classes the
        second where the decision is above ``threshold``. Where it has learned the logarithm of a
        target, the target itself.
        """
        return predicted(self.model, encoded(self.model, rows), self.threshold)

    def with_threshold(self, threshold: float) -> Self:
        """The same answer, whose model calls a row the second of two classes where its decision is
        above ``threshold``; the verdict stays that at 0. ParameterError for other models.
        """
        found: Any = replace(cast(Any, self), threshold=check_threshold(self.model, threshold))
        return cast(Self, found)

    def predict_proba(self, rows: Any) -> Array:
        """Probabilities (n_new, n_classes) of the classes of new rows, in the order of
        ``model.classes_``.
        """
        if not hasattr(self.model, "predict_proba"):
            raise ParameterError(
                "This model predicts no probabilities of classes: use predict or predict_interval."
            )
        found: Array = self.model.predict_proba(encoded(self.model, rows))
        return found

    def shapley(self, rows: Any) -> tuple[Array, Any]:
        """What every column adds to what the model says of new rows, and the base, see
        `KernelEstimator.shapley`.
        """
        found: tuple[Array, Any] = self.model.shapley(encoded(self.model, rows))
        return found

    def predict_interval(self, rows: Any, level: float = 0.9) -> Array:
        """Intervals (n_new, 2) that hold the target of new rows with probability ``level``, see
        `Conformal`.
        """
        return interval_with(self.model, self._sure, encoded(self.model, rows), level)

    def predict_set(self, rows: Any, level: float = 0.9) -> Mask:
        """Which classes (n_new, n_classes) are in the set that holds the class of new rows with
        probability ``level``, see `Conformal`.
        """
        read = encoded(self.model, rows)
        return sets_with(self._sure, read, level, predicted(self.model, read, self.threshold))

    @property
    def _sure(self) -> Any:
        if self.conformal is None:
            raise DataError(
                "No intervals were kept with this answer: ask the answer for .conformal, "
                "then save it."
            )
        return self.conformal
