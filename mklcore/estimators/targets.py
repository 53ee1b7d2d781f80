"""What classifiers and regressors add to an estimator: checked targets, labels, probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mklcore.arrays import Array, Indices, Labels
from mklcore.errors import DataError
from mklcore.estimators.base import KernelEstimator
from mklcore.estimators.calibration import calibrate, sigmoids
from mklcore.estimators.training_table import target_of
from mklcore.problem.driver import Fit
from mklcore.problem.losses import CLASSIFICATION, REGRESSION, centre_of, total_loss

# An intercept may raise the objective by this share through rounding before that is reported.
_DIGITS = 1e-9
NOT_FINITE = "The target holds NaN or infinite values; drop or fill these rows first."


class KernelClassifier(ClassifierMixin, KernelEstimator):
    """A classifier: its targets are codes of classes.

    For two classes, ``decision_function`` > 0 means ``classes_[1]``.
    """

    tasks = CLASSIFICATION
    score_name = "accuracy"
    calibration_: Array

    def calibrate(self, decision: Array, y: Labels) -> Self:
        """Fit `predict_proba` on rows that the model was not fitted on.

        ``decision`` (n,) or (n, n_classes) as `decision_function` returns it, possibly from a model
        fitted on other folds; ``y`` (n,) the labels. Raises ``DataError`` if fewer than two classes
        have two of these rows.
        """
        self.calibration_ = calibrate(decision, y, self.classes_)
        return self

    @property
    def predict_proba(self) -> Callable[[Any], Array]:
        """A function that gives the probabilities (n_new, n_classes) of ``classes_`` for rows X.

        It is available after a fit with ``probability=True``. Probabilities are Platt's sigmoids of
        the decision values, fitted on held-out rows; those of several classes are divided by their
        sum. Where scores are close, the most probable class can differ from that of ``predict``.
        """
        if not (self.probability or hasattr(self, "calibration_")):
            raise AttributeError(
                f"{type(self).__name__} has no predict_proba yet: pass probability=True."
            )
        return self._probabilities

    def _probabilities(self, X: Any) -> Array:
        """Platt's sigmoids of the decision values of rows X."""
        check_is_fitted(self)
        decision = self.decision_function(X)
        if not hasattr(self, "calibration_"):
            raise DataError(
                "This model is a point of a path, whose points are not calibrated: fit it "
                "by itself with probability=True, or call calibrate(decision, y) with "
                "held-out rows."
            )
        return sigmoids(decision, self.calibration_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted; ``y`` may be left out for a ``Dataset``."""
        return float(super().score(X, target_of(X, y), sample_weight))

    def path_score(self, predicted: Labels, y: Any, sample_weight: Array | None = None) -> float:
        """The share of rows whose class was predicted."""
        return float(np.average(np.asarray(y) == np.asarray(predicted), weights=sample_weight))

    def _target(self, y: Any) -> Indices:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise DataError(NOT_FINITE)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise DataError(
                "A classifier needs at least two classes; the training target holds one "
                f"class only ({self.classes_[0]!r})."
            )
        return codes

    def _targets(self, y: Array) -> list[Array]:
        codes = range(1, 2) if self.classes_.size == 2 else range(self.classes_.size)
        return [signs(y, code) for code in codes]

    def decision_function(self, X: Any) -> Array:
        """Signed scores of rows X (n_new, d), or of a test block (M, n_new, n).

        Returns (n_new,) for two classes, positive for ``classes_[1]``; (n_new, n_classes) for more
        classes, of which the one with the largest score is predicted.
        """
        return self._decisions(X)

    def label(self, decision: Array) -> Array:
        is_signed = decision.ndim == 1
        codes = (decision > 0).astype(np.intp) if is_signed else np.argmax(decision, axis=1)
        labels: Labels = self.classes_[codes]
        return labels


class KernelRegressor(RegressorMixin, KernelEstimator):
    """A regressor: its target is one column of floats."""

    tasks = REGRESSION
    score_name = "R²"
    takes_means: ClassVar[bool] = False  # whether the method centres the target itself

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R² of the predictions; ``y`` may be left out for a ``Dataset``."""
        return float(super().score(X, target_of(X, y), sample_weight))

    def path_score(self, predicted: Labels, y: Any, sample_weight: Array | None = None) -> float:
        """R² of the predictions."""
        from sklearn.metrics import r2_score  # a slow import, only needed here

        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def _target(self, y: Any) -> Array:
        shape = np.asarray(y).shape
        if len(shape) > 1 and shape[1] > 1:
            raise DataError(
                f"{type(self).__name__} predicts one number, and the target has {shape[1]} "
                "columns: use JointMKLRegressor, whose targets share their kernels, or fit one "
                "model per column."
            )
        y = column_or_1d(y, warn=True)
        try:
            numbers: Array = y.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(
                "Unknown label type: a regressor needs a numeric target; got one of type "
                f"{y.dtype}. For classes use a classifier."
            ) from None
        if not np.all(np.isfinite(numbers)):
            raise DataError(NOT_FINITE)
        return numbers

    def _centre(self, y: Array) -> float:
        """A centre of the target, which a free intercept absorbs, for better rounding."""
        if self.takes_means:
            return 0.0
        weights = getattr(self, "sample_weight_", None)  # missing in older files
        counted = y if weights is None else y[weights > 0]
        return centre_of(self.loss_in_use, counted, self.fit_intercept)

    def _move(self, centre: float, y: Array) -> None:
        """Add ``centre`` to the intercept of a model fitted on ``y`` (n,), which is centred.

        Far from zero the intercept loses digits to rounding. Where a loss with kinks becomes larger
        by that, the objective and the gap are corrected.
        """
        fit: Fit = self.fit_
        if fit.decision is not None:
            loss = self.loss_in_use
            cost = self.C if self.sample_weight_ is None else self.C * self.sample_weight_
            rounded = fit.intercept + centre - centre
            before = total_loss(loss, fit.decision, fit.intercept, y, cost)
            increase = total_loss(loss, fit.decision, rounded, y, cost) - before
            if increase > _DIGITS * fit.objective:
                fit = replace(fit, objective=fit.objective + increase)
                self.objective_ = fit.objective
                self.dual_gap_ = fit.gap
                self.relative_gap_ = fit.relative_gap
        self.fit_ = replace(fit, intercept=fit.intercept + centre)
        for name in ("intercept_", "refit_intercept_"):
            if hasattr(self, name):
                setattr(self, name, getattr(self, name) + centre)


class SeveralTargets(KernelRegressor):
    """A regressor whose target is one column of floats, or several."""

    def _target(self, y: Any) -> Array:
        table = np.asarray(y)
        if table.ndim != 2:
            return super()._target(y)
        columns = [super(SeveralTargets, self)._target(column) for column in table.T]
        if not columns:
            raise DataError("The target has no columns; give at least one.")
        return np.column_stack(columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def signs(codes: Labels, positive: Any) -> Array:
    """+1 for the rows of the class ``positive``, -1 for all others."""
    return np.where(codes == positive, 1.0, -1.0)
