"""How sure the first answer is: conformal intervals and sets around its model, refitted on folds of the rows it learnt
from.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

from sklearn.base import clone

from mklcore.arrays import Array, Labels, Mask
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError
from mklcore.uncertainty.conformal import Conformal


def calibrated(model: Any, decided: Array, y: Labels) -> None:
    """Let a classifier answer `predict_proba`, from the decisions of a model of its kind on rows that one was not
    fitted on.

    ``decided`` (n,) or (n, T) and ``y`` (n,) of those rows; with fewer than two rows of two classes it stays without.
    """
    with suppress(DataError):
        model.calibrate(decided, y)


class Uncertain:
    """Intervals and sets of an answer with a ``model`` that was fitted on the rows ``_learnt_from``."""

    model: Any
    _learnt_from: Dataset

    @cached_property
    def conformal(self) -> Conformal:
        """CV+ around the model: kernel weights are learnt anew in each of five folds, C stays as it was chosen.

        Fitted when it is first asked for: five more fits.
        """
        rows = self._learnt_from
        return Conformal(clone(self.model)).fit(rows if rows.sequences else rows.table, rows.y)

    def predict_interval(self, X: Any, level: float = 0.9) -> Array:
        """Intervals (n_new, 2) that hold the target of new rows ``X`` with probability ``level``, see `Conformal`.

        ParameterError for classes, DataError where there are too few rows for the level.
        """
        return self.conformal.predict_interval(X, level)

    def predict_set(self, X: Any, level: float = 0.9) -> Mask:
        """Which classes (n_new, n_classes), in the order of ``model.classes_``, are in the set that holds the class of
        new rows ``X`` with probability ``level``, see `Conformal`.

        ParameterError for numbers, DataError where there are too few rows for the level.
        """
        return self.conformal.predict_set(X, level)
