"""Kernel estimators by task: classes as codes, or numbers; the other half of every estimator is its method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mklcore.arrays import Array, Indices, Labels
from mklcore.errors import DataError
from mklcore.estimators.base import KernelEstimator, target_of
from mklcore.estimators.calibration import held_out_decisions
from mklcore.estimators.problems import signs
from mklcore.losses import CLASSIFICATION, REGRESSION, Loss
from mklcore.losses.intercepts import centre_of, total_loss
from mklcore.parameters import set_together
from mklcore.selection.probabilities import calibrate, sigmoids
from mklcore.solvers.driver import Fit

_DIGITS = 1e-9  # share of the objective that an intercept with few digits may cost before it is reported


def _is_calibrated(model: Any) -> bool:
    return bool(model.probability) or hasattr(model, "calibration_")


_if_calibrated: Callable[[Callable[..., Array]], Any] = available_if(_is_calibrated)


class KernelClassifier(ClassifierMixin, KernelEstimator):
    """Targets as class codes; ``decision_function`` > 0 means ``classes_[1]`` for two classes."""

    tasks = CLASSIFICATION
    score_name: ClassVar[str] = "accuracy"
    probability: bool = False
    calibration_: Array

    @set_together
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on a table X (n, d) or, with ``kernels="precomputed"``, on a stack (M, n, n), and a target y (n,).

        Of a ``Dataset`` the target is its own unless another is given. With ``probability=True`` the model is fitted
        five times more, on folds of the rows, for `predict_proba`.
        """
        self.__dict__.pop("calibration_", None)
        super().fit(X, y)
        if self.probability:
            target = column_or_1d(target_of(X, y))
            rows, decision = held_out_decisions(self, X, target)
            self.calibrate(decision, target[rows])
        return self

    def calibrate(self, decision: Array, y: Labels) -> Self:
        """Learn what scores mean as probabilities from rows that this model, or one like it, was not fitted on.

        ``decision`` (n,) or (n, n_classes) as `decision_function` has it, ``y`` (n,) the labels; DataError where fewer
        than two classes have two of these rows.
        """
        self.calibration_ = calibrate(decision, y, self.classes_).sigmoids
        return self

    @_if_calibrated
    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n_new, n_classes) of the classes in the order of ``classes_``; there after
        ``probability=True``.

        Platt's sigmoid of the decision values, fitted on held-out rows; several classes one against the rest, divided
        by their sum. The likeliest class may be another than that of ``predict`` where scores are near each other.
        """
        check_is_fitted(self)
        decision = self.decision_function(X)
        if not hasattr(self, "calibration_"):
            raise DataError(
                "This model is a point of a path, whose points are not calibrated: fit it by itself with "
                "probability=True, or call calibrate(decision, y) with held-out rows."
            )
        return sigmoids(decision, self.calibration_)

    @_if_calibrated
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`."""
        found: Array = np.log(self.predict_proba(X))
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted; of a ``Dataset`` the target may be left out."""
        return float(super().score(X, target_of(X, y), sample_weight))

    def path_score(self, predicted: Labels, y: Any, sample_weight: Array | None = None) -> float:
        """The share of rows whose class was predicted."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _target(self, y: Any) -> Indices:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise DataError("The target holds NaN or infinite values; drop or fill these rows first.")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise DataError(
                f"A classifier needs at least two classes; the training target holds one class only "
                f"({self.classes_[0]!r})."
            )
        return codes

    def _targets(self, y: Array) -> list[Array]:
        return [signs(y, k) for k in ((1,) if self.classes_.size == 2 else range(self.classes_.size))]

    def decision_function(self, X: Any) -> Array:
        """Signed scores of rows X (n_new, d), or of a test block (M, n_new, n).

        (n_new,) for two classes, positive for ``classes_[1]``; (n_new, n_classes) for more, the largest wins.
        """
        return self._decisions(X)

    def predict(self, X: Any) -> Array:
        """The class of every row of X (n_new, d), or of a test block (M, n_new, n), as (n_new,)."""
        return self.label(self._decisions(X))

    def label(self, decision: Array) -> Array:
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else np.argmax(decision, axis=1)
        labels: Labels = self.classes_[codes]
        return labels


class KernelRegressor(RegressorMixin, KernelEstimator):
    """Targets as floats."""

    tasks = REGRESSION
    score_name: ClassVar[str] = "R²"

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of the target's variance that is explained; of a ``Dataset`` the target may be left out."""
        return float(super().score(X, target_of(X, y), sample_weight))

    def path_score(self, predicted: Labels, y: Any, sample_weight: Array | None = None) -> float:
        """The share of the target's variance that is explained."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def _target(self, y: Any) -> Array:
        y = column_or_1d(y, warn=True)
        try:
            numbers: Array = y.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"Unknown label type: a regressor needs a numeric target; got one of type {y.dtype}. For classes use "
                f"a classifier."
            ) from None
        if not np.all(np.isfinite(numbers)):
            raise DataError("The target holds NaN or infinite values; drop or fill these rows first.")
        return numbers

    def _centre(self, y: Array) -> float:
        loss: Loss | None = getattr(
            self, "loss_in_use", None
        )  # the greedy methods have none, and take the mean themselves
        weights = getattr(self, "sample_weight_", None)
        return 0.0 if loss is None else centre_of(loss, y if weights is None else y[weights > 0], self.fit_intercept)

    def _move(self, centre: float, y: Array) -> None:
        """Far from zero a number has few digits left for the intercept, and what a loss with kinks costs there is
        published.
        """
        fit: Fit = self.fit_
        if fit.decision is not None:
            loss, weights, kept = (
                self.loss_in_use,
                getattr(self, "sample_weight_", None),
                fit.intercept + centre - centre,
            )
            cost = self.C if weights is None else self.C * weights
            more = total_loss(loss, fit.decision, kept, y, cost) - total_loss(
                loss, fit.decision, fit.intercept, y, cost
            )
            if more > _DIGITS * fit.objective:
                self.fit_ = fit = replace(fit, objective=fit.objective + more)
                self.objective_, self.dual_gap_, self.relative_gap_ = fit.objective, fit.gap, fit.relative_gap
        super()._move(centre, y)

    def predict(self, X: Any) -> Array:
        """Predicted targets (n_new,) for rows X (n_new, d), or for a test block (M, n_new, n)."""
        return self._decisions(X)


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
