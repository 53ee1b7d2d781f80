"""Targets of estimators: labels, which become problems of one class against the rest, and numbers."""

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

# share of the objective that an intercept with few digits may cost before it is reported
_DIGITS = 1e-9


class KernelClassifier(ClassifierMixin, KernelEstimator):
    """Targets as class codes; ``decision_function`` > 0 means ``classes_[1]`` for two classes."""

    tasks = CLASSIFICATION
    score_name: ClassVar[str] = "accuracy"
    calibration_: Array

    def calibrate(self, decision: Array, y: Labels) -> Self:
        """Learn what scores mean as probabilities from rows that this model, or one like it, was
        not fitted on.

        ``decision`` (n,) or (n, n_classes) as `decision_function` has it, ``y`` (n,) the labels;
        DataError where fewer than two classes have two of these rows.
        """
        self.calibration_ = calibrate(decision, y, self.classes_)
        return self

    @property
    def predict_proba(self) -> Callable[[Any], Array]:
        """Probabilities (n_new, n_classes) of the classes in the order of ``classes_``; there after
        ``probability=True``.

        Platt's sigmoid of the decision values, fitted on held-out rows; several classes one against
        the rest, divided by their sum. The likeliest class may be another than that of ``predict``
        where scores are near each other.
        """
        if not (self.probability or hasattr(self, "calibration_")):
            raise AttributeError(
                f"{type(self).__name__} has no predict_proba unless it is told to learn "
                "one: pass probability=True."
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
        """The share of rows whose class is predicted; of a ``Dataset`` the target may be left out."""
        return float(super().score(X, target_of(X, y), sample_weight))

    def path_score(self, predicted: Labels, y: Any, sample_weight: Array | None = None) -> float:
        """The share of rows whose class was predicted."""
        return float(np.average(np.asarray(y) == np.asarray(predicted), weights=sample_weight))

    def _target(self, y: Any) -> Indices:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise DataError(
                "The target holds NaN or infinite values; drop or fill these rows first."
            )
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise DataError(
                "A classifier needs at least two classes; the training target holds one "
                f"class only ({self.classes_[0]!r})."
            )
        return codes

    def _targets(self, y: Array) -> list[Array]:
        against_the_rest = np.where(y == np.arange(self.classes_.size)[:, None], 1.0, -1.0)
        return list(against_the_rest[1:] if self.classes_.size == 2 else against_the_rest)

    def decision_function(self, X: Any) -> Array:
        """Signed scores of rows X (n_new, d), or of a test block (M, n_new, n).

        (n_new,) for two classes, positive for ``classes_[1]``; (n_new, n_classes) for more, the
        largest wins.
        """
        return self._decisions(X)

    def label(self, decision: Array) -> Array:
        codes = (
            (decision > 0).astype(np.intp) if decision.ndim == 1 else np.argmax(decision, axis=1)
        )
        labels: Labels = self.classes_[codes]
        return labels


class KernelRegressor(RegressorMixin, KernelEstimator):
    """Targets as floats."""

    tasks = REGRESSION
    score_name: ClassVar[str] = "R²"
    takes_means: ClassVar[bool] = False  # True where the method takes the mean of the target itself

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of the target's variance that is explained; of a ``Dataset`` the target may be
        left out.
        """
        return float(super().score(X, target_of(X, y), sample_weight))

    def path_score(self, predicted: Labels, y: Any, sample_weight: Array | None = None) -> float:
        """The share of the target's variance that is explained."""
        from sklearn.metrics import r2_score  # not at start-up

        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def _target(self, y: Any) -> Array:
        if (columns := np.asarray(y).shape[1:]) and columns[0] > 1:
            raise DataError(
                f"{type(self).__name__} predicts one number, and the target has "
                f"{columns[0]} columns: use JointMKLRegressor, whose targets share their "
                "kernels, or fit one model per column."
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
            raise DataError(
                "The target holds NaN or infinite values; drop or fill these rows first."
            )
        return numbers

    def _fit_stack(self, stack: Any, y: Array, warm: Any = None) -> Self:
        """Around a middle value of the target, which the free intercept puts back: it is all that
        changes.
        """
        if self.takes_means:
            return super()._fit_stack(stack, y, warm)
        weights = getattr(self, "sample_weight_", None)
        centre = centre_of(
            self.loss_in_use, y if weights is None else y[weights > 0], self.fit_intercept
        )
        self.__dict__.pop("selected_", None)
        self._solve(stack, y - centre, warm)
        if centre:
            self._move(centre, y - centre)
        self._remember(stack, y)
        return self

    def _move(self, centre: float, y: Array) -> None:
        """Put back the ``centre`` that was taken from the target, which left ``y`` (n,).

        Far from zero a number has few digits left for the intercept, and what a loss with kinks
        costs there is published.
        """
        fit: Fit = self.fit_
        if fit.decision is not None:
            loss = self.loss_in_use
            weights = getattr(self, "sample_weight_", None)
            cost = self.C if weights is None else self.C * weights
            near = fit.intercept + centre - centre
            more = total_loss(loss, fit.decision, near, y, cost) - total_loss(
                loss, fit.decision, fit.intercept, y, cost
            )
            if more > _DIGITS * fit.objective:
                fit = replace(fit, objective=fit.objective + more)
                self.objective_ = fit.objective
                self.dual_gap_ = fit.gap
                self.relative_gap_ = fit.relative_gap
        self.fit_ = replace(fit, intercept=fit.intercept + centre)
        for name in ("intercept_", "refit_intercept_"):
            if hasattr(self, name):
                setattr(self, name, getattr(self, name) + centre)


class SeveralTargets(KernelRegressor):
    """Targets as floats, in one column or in several."""

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


def signs(codes: Array, positive: int) -> Array:
    """Labels -1 / +1 for one class against the rest."""
    return np.where(codes == positive, 1.0, -1.0)
