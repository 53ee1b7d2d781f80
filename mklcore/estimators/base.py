"""What every kernel estimator shares: fitting, predicting, paths, and the published attributes."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mklcore.arrays import Array, Labels
from mklcore.errors import KernelError
from mklcore.estimators.calibration import held_out_decisions
from mklcore.estimators.shapley import shapley_values
from mklcore.estimators.training_table import TABLE_ATTRIBUTES, TrainingTable, target_of
from mklcore.kernels.features import FeatureMap
from mklcore.kernels.operators import Capability, frobenius_norms, is_scored
from mklcore.parameters import check_positive, check_whole, set_together
from mklcore.problem.driver import Fit
from mklcore.problem.losses import Loss, loss_for

BLOCK_MB = 256.0  # memory of one block of kernel values between new rows and training rows
_USED = 1e-6  # a kernel counts as used when its weight is above this share of the largest
_FEWEST_SUMMED = 64  # new rows whose kernels are summed at a time
_POSITIVE = "C", "lam", "tol"  # parameters of several methods
# What `copy_with` keeps of a fit: it depends on the rows alone, and on no parameter of the method.
ROW_ATTRIBUTES = (
    "classes_",
    "n_features_in_",
    "sample_weight_",
    "feature_names_in_",
    *TABLE_ATTRIBUTES,
)


# The attributes of a fitted estimator that are fields of what its solver returned.
PUBLISHED = {
    "weights_": "weights",
    "dual_coef_": "dual_coef",
    "intercept_": "intercept",
    "objective_": "objective",
    "dual_objective_": "dual_objective",
    "dual_point_": "dual_point",
    "dual_gap_": "gap",
    "relative_gap_": "relative_gap",
}


class KernelEstimator(TrainingTable, ABC):
    """Base of every estimator: it fits on the kernels of a table and publishes the solution.

    ``X`` may be a ``Dataset``, which brings its sequences along, and its target where ``y`` is left
    out. It may also be one string per row, for a ``SequenceDictionary``.

    scikit-learn takes the M kernels of an array for rows. With ``kernels="precomputed"``,
    ``cross_val_score`` and ``GridSearchCV`` therefore stop with "inconsistent numbers of samples"
    before this library is called. Use ``cross_validate_path`` instead, or pass a table with a
    ``KernelDictionary``, whose rows scikit-learn can split.
    """

    tasks: ClassVar[tuple[str, ...]] = ()  # the method accepts the losses of these tasks
    score_name: ClassVar[str] = ""  # what ``path_score`` measures
    _dual_per_kernel: ClassVar[bool] = False  # whether every kernel has its own dual coefficients
    # whether the points of a path can be scored in one pass over the blocks
    _scored_together: ClassVar[bool] = True

    _published: ClassVar[dict[str, str]] = PUBLISHED

    probability: bool = False
    _carry: Any = None
    weights_: Any
    dual_coef_: Any
    intercept_: Any
    objective_: Any
    history_: Any
    fit_: Any

    @set_together
    def fit(self, /, X: Any, y: Any = None, **refused: Any) -> Self:
        """Fit on a table X (n, d), or on ready kernels (M, n, n), and a target y (n,).

        Ready kernels need ``kernels="precomputed"``. The target of a ``Dataset`` is used where
        ``y`` is left out. A classifier with ``probability=True`` is fitted five more times, on
        folds of the rows, for `predict_proba`. Raises ``ParameterError`` if ``sample_weight`` is
        given, because this method counts every row once.
        """
        if refused:
            self._refuse_weights(next(iter(refused)))
        return self._fitted(X, y)

    def _fitted(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self._check_parameters()
        stack, target = self.training_stack(X, y, sample_weight)
        self._fit_stack(stack, target)
        self._carry = None  # only the next fit of a path needs it, and it is large
        if self.probability:
            labels = column_or_1d(target_of(X, y))
            rows, decision = held_out_decisions(self, X, labels)
            self.calibrate(decision, labels[rows])
        return self

    def _fit_stack(self, stack: Any, y: Array, warm: Any = None) -> Self:
        """Fit on built kernels and a checked target; ``warm`` is a fitted neighbour or None."""
        for name in ("selected_", "calibration_"):
            self.__dict__.pop(name, None)
        centre = self._centre(y)
        self._solve(stack, y - centre if centre else y, warm)
        if centre:
            self._move(centre, y - centre)
        self._remember(stack, y)
        return self

    def _centre(self, y: Array) -> float:
        """What is subtracted from the target before it is solved for; ``_move`` adds it back."""
        return 0.0

    def _move(self, centre: float, y: Array) -> None:
        """Add ``centre`` to the intercept of a model fitted on the centred target ``y``."""

    def _remember(self, stack: Any, y: Labels) -> None:
        """Save the names of the kernels, the target, and the fingerprints of the training rows."""
        self._remember_kernels(stack)
        self.training_target_ = np.array(y)
        if np.size(getattr(self, "row_fingerprints_", ())) != self.n_train_:
            self.row_fingerprints_ = None

    def _remember_kernels(self, stack: Any) -> None:
        self.kernel_names_ = tuple(stack.names)
        self.kernel_families_ = tuple(stack.families)
        self.n_train_ = stack.n_samples
        self._map = None if self._is_precomputed else stack.transform
        if Capability.FEATURES in stack.capabilities:
            self.approximation_error_ = stack.approximation_error
            # Several problems store their duals as (T, n), several targets as (n, T).
            duals = self.dual_coef_
            is_by_target = len(duals) == stack.n_samples
            duals = np.ascontiguousarray(duals if is_by_target else duals.T)
            coefficients = stack.coefficients(duals)
            self.feature_coef_ = coefficients if is_by_target else coefficients.T
        if self._map is not None and not hasattr(self, "n_features_in_"):
            self.n_features_in_ = self._map.column_means.size
        weights = np.atleast_2d(self.weights_).mean(axis=0)
        used = np.flatnonzero(weights > _USED * max(float(weights.max()), 1e-300))
        self.n_kernels_ = int(used.size)
        if not hasattr(self, "selected_"):
            self.selected_ = used

    def along(
        self,
        stack: Any,
        y: Array,
        attribute: str,
        values: Sequence[float],
    ) -> Iterator[Any]:
        """Yield one fitted copy per value of the parameter ``attribute``.

        Each is started from the one before. ``stack`` and ``y`` are as ``training_stack`` returns
        them. Methods that can reuse more work override this.
        """
        previous: Any = None
        for value in values:
            model = self.copy_with(attribute, value)._fit_stack(stack, y, previous)
            if previous is not None:
                previous._carry = None  # only the next fit needed it, and it is large
            previous = model
            yield model
        previous._carry = None

    @staticmethod
    def path_table(
        points: Sequence[Any], stack: Any
    ) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
        """Weights (L, M) of the points of a path, and the names and families of the M kernels."""
        weights = np.array([np.atleast_2d(point.weights_).mean(axis=0) for point in points])
        return weights, tuple(stack.names), tuple(stack.families)

    def copy_with(self, attribute: str, value: Any) -> Any:
        """Return an unfitted copy with one parameter changed; this object stays as it is."""
        fresh = copy.copy(self)
        for name in list(vars(fresh)):
            is_fitted = name.endswith("_") and not name.startswith("_")
            if is_fitted and name not in ROW_ATTRIBUTES:
                delattr(fresh, name)
        fresh.set_params(**{attribute: value})
        fresh._check_parameters()
        return fresh

    def predict_blocks(self, blocks: Array) -> Array:
        """Predictions from kernel blocks (M, n_new, n), whatever the estimator was fitted on."""
        return self.label(self.decide_blocks(blocks))

    def decide_blocks(self, blocks: Any) -> Array:
        """Decision values sum_m weights_m K_m a + b from kernel blocks (M, n_new, n).

        Returns (n_new,), or (n_new, T) where there are T outputs.
        """
        return self._joined(weighted_blocks(blocks, *self._machines()))

    @staticmethod
    def decide_along(points: Sequence[Any], blocks: Any) -> list[Array]:
        """``decide_blocks`` of every point of a path, with one pass over the blocks."""
        if not points[0]._scored_together:
            return [point.decide_blocks(blocks) for point in points]
        machines = [point._machines() for point in points]
        weights = np.concatenate([point_weights for point_weights, _ in machines])
        duals = np.concatenate([point_duals for _, point_duals in machines])
        ends = np.cumsum([len(point_weights) for point_weights, _ in machines])[:-1]
        scores = np.split(weighted_blocks(blocks, weights, duals), ends, axis=1)
        return [point._joined(columns) for point, columns in zip(points, scores, strict=True)]

    @abstractmethod
    def path_score(self, predicted: Labels, y: Any) -> float:
        """The score of the points of a path, from predictions and the target ``y`` (n_new,)."""

    def lam_range(self, stack: Any, y: Any) -> tuple[float, float]:
        """The smallest and the largest lambda of a path.

        They are four decades below, and one decade above, the largest Frobenius norm of a kernel
        divided by n.
        """
        largest = float(frobenius_norms(stack).max()) / stack.n_samples
        return largest * 1e-4, largest * 10

    def _check_parameters(self) -> None:
        """Raise ``ParameterError`` if a parameter has a value that cannot be used."""
        given = self.get_params(deep=False)
        check_positive(**{name: given[name] for name in _POSITIVE if name in given})
        check_whole("max_iter", given.get("max_iter", 1))
        self.loss_in_use  # noqa: B018  the loss checks itself

    @property
    def loss_in_use(self) -> Loss:
        """The loss object; raises ``ParameterError`` if the method cannot use ``loss``."""
        return loss_for(self.loss, self.tasks, epsilon=getattr(self, "epsilon", 0.1))

    def _targets(self, y: Array) -> list[Array]:
        """The target (n,) of every problem: the columns of ``y``, or the signs of every class."""
        return list(np.atleast_2d(y.T))

    def _columns_less_means(self, y: Array, is_centred: bool) -> tuple[Array, Array]:
        """The target columns (n, T) without their means, and these means (T,).

        The means are 0 unless ``is_centred``.
        """
        Y = np.column_stack(self._targets(y))
        means: Array = Y.mean(axis=0) if is_centred else np.zeros(Y.shape[1])
        return Y - means, means

    @abstractmethod
    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        """Solve on built kernels and publish the solution; ``warm`` as in ``_fit_stack``."""

    def _machines(self) -> tuple[Array, Array]:
        """Weights (T, M) and duals (T, n) of the T machines whose scores make up a decision."""
        duals = self._coefficients
        if np.ndim(self.weights_) == 2:
            return self.weights_, duals
        duals = np.atleast_2d(duals.T)
        return np.broadcast_to(self.weights_, (len(duals), np.size(self.weights_))), duals

    @property
    def _coefficients(self) -> Array:
        """The duals, or the coefficients of the features of an approximation."""
        features = getattr(self, "feature_coef_", None)
        coefficients: Array = self.dual_coef_ if features is None else features
        return coefficients

    @property
    def _numbers_per_row(self) -> int:
        """How many numbers are computed for a new row: kernel values, or values of features."""
        numbers = getattr(self._map, "numbers_per_row", None)
        return len(self.kernel_names_) * self.n_train_ if numbers is None else int(numbers)

    def _joined(self, scores: Array) -> Array:
        """Decision values from the scores (n_new, T) of the machines, which lack intercepts."""
        if np.ndim(self.dual_coef_) == 1:
            scores = scores[:, 0]
        decision: Array = scores + self.intercept_
        return decision

    def label(self, decision: Array) -> Labels:
        """Predictions from decision values."""
        return decision

    def predict(self, X: Any) -> Labels:
        """Predict classes or numbers (n_new,) for rows X (n_new, d) or a block (M, n_new, n)."""
        return self.label(self._decisions(X))

    def _decisions(self, X: Any) -> Array:
        """Decision values of rows X or of a test block, in batches of at most ``BLOCK_MB``."""
        check_is_fitted(self)
        to_kernels = self._map
        if to_kernels is None:
            return self.decide_blocks(self._blocks(X))
        rows = self._checked_rows(X, reset=False)
        if isinstance(to_kernels, FeatureMap) or not self._scored_together:
            blocks = map(to_kernels.cross, batches(rows, rows_in_block(self._numbers_per_row)))
            return np.concatenate([self.decide_blocks(block) for block in blocks])
        # Kernels are summed as they are computed. The rows, which may be long, bound a batch.
        size = max(_FEWEST_SUMMED, rows_in_block(4 * rows.shape[1]))
        weights, duals = self._machines()
        parts = map(to_kernels.standardised, batches(rows, size))
        scores = [to_kernels.scores(part, weights, duals) for part in parts]
        return self._joined(np.concatenate(scores))

    def contributions(self, X: Any, kernels: Sequence[int] | None = None) -> Array:
        """The part f_m of every kernel in the decision f = sum_m f_m + intercept_.

        ``X`` holds rows (n_new, d), or is a test block (M, n_new, n) of precomputed kernels;
        ``kernels`` are the indices m of interest, all by default. Returns f_m (M, n_new), or
        (M, n_new, T) where there are several outputs: one per class, or one per pair of classes for
        one-vs-one machines, whose scores the parts sum to.
        """
        check_is_fitted(self)
        chosen = list(range(len(self.kernel_names_)) if kernels is None else kernels)
        if self._map is None:
            blocks = self._blocks(X)
            if is_scored(blocks):
                raise KernelError(
                    "The contributions of single kernels need a block per kernel: pass "
                    "kernels.cross(X_new), not .blocks."
                )
            return self._parts(blocks[chosen], chosen)
        rows = self._checked_rows(X, reset=False)
        subset = self._map.subset(chosen)
        share = max(len(chosen), 1) / len(self.kernel_names_)
        size = rows_in_block(share * self._numbers_per_row)
        parts = [self._parts(subset.cross(batch), chosen) for batch in batches(rows, size)]
        return np.concatenate(parts, axis=1)

    def shapley(self, X: Any) -> tuple[Array, Any]:
        """Exact Shapley values of every source column for rows X, and the base they add up from.

        Absent columns are drawn independently from ``background_``, at most 200 training rows.
        Returns values (n, d) or (n, d, n_classes) for the d columns of ``source_columns_``, and the
        base, a number or (n_classes,): the decision with every column absent. Base and values sum
        to the decision. Raises ``KernelError`` if a kernel of several columns is neither a product
        nor a sum over columns, or if the model was fitted on ready kernels.
        `mklcore.estimators.shapley.shapley_values` also returns what a column adds alone.
        """
        values, base, _ = shapley_values(self, X)
        return values, base

    def _parts(self, blocks: Array, chosen: Sequence[int]) -> Array:
        """f_m of the chosen kernels on their blocks (m, n_new, n)."""
        weights, duals = self._machines()
        # The shape is given in advance, for the case that no kernel is chosen.
        parts = np.empty((*blocks.shape[:2], len(duals)))
        for part, block, m in zip(parts, blocks, chosen, strict=True):
            part[...] = (block @ duals.T) * weights[:, m]
        return parts[..., 0] if np.ndim(self.dual_coef_) == 1 else parts

    def _publish(self, *fits: Fit) -> None:
        """Publish the fit of one problem, or those of several problems on a leading axis.

        What one of several problems lacks, such as a certificate, is None for all of them.
        """
        for attribute, field in self._published.items():
            values = [getattr(fit, field) for fit in fits]
            found = values[0]
            if len(fits) > 1:
                found = None if any(value is None for value in values) else np.array(values)
            setattr(self, attribute, found)
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.n_solves_ = sum(fit.solves for fit in fits)
        self.status_ = next((fit.status for fit in fits if not fit.status.ok), fits[0].status)
        by_problem = [(fit.history, fit.carry, replace(fit, carry=None)) for fit in fits]
        together = by_problem[0] if len(fits) == 1 else zip(*by_problem, strict=True)
        self.history_, self._carry, self.fit_ = together

    def _publish_columns(self, fit: Fit, intercepts: Array, is_flat: bool) -> None:
        """Publish a fit of target columns (n, T) with their intercepts (T,).

        A single column loses its axis where the target was flat, (n,).
        """
        self._publish(fit)
        self.intercept_ = intercepts
        if is_flat and len(intercepts) == 1:
            self.dual_coef_ = fit.dual_coef[:, 0]
            self.intercept_ = float(intercepts[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(getattr(self, "kernels", None), str):
            tags.input_tags.two_d_array = False
            tags.input_tags.three_d_array = True
            # With this tag scikit-learn's splitters refuse a stack, even without a target.
            tags.input_tags.pairwise = True
        return tags

    def _repr_html_inner(self) -> str:
        if not hasattr(self, "kernel_names_"):
            unfitted: str = super()._repr_html_inner()
            return unfitted
        weights = np.atleast_2d(self.weights_).mean(axis=0)
        rows = ""
        for m in np.argsort(-weights, kind="stable")[:12]:
            if weights[m] > 0:
                name = escape(self.kernel_names_[m])
                weight = f"<td style='text-align:right'>{weights[m]:.3g}</td>"
                rows += f"<tr><td>{name}</td>{weight}</tr>"
        certificate = "no certificate"
        if self.relative_gap_ is not None:
            percent = 100 * float(np.max(self.relative_gap_))
            certificate = f"within {percent:.3g} % of the optimum"
        return (
            f"<b>{type(self).__name__}</b>: {self.n_kernels_} of {len(self.kernel_names_)} kernels "
            f"used, {certificate}<table><tr><th>kernel</th><th>weight</th></tr>{rows}</table>"
        )


def weighted_blocks(blocks: Any, weights: Array, duals: Array) -> Array:
    """Scores (n_new, T) of T machines, sum_m weights[t, m] blocks[m] @ duals[t].

    ``blocks`` (M, n_new, n), ``weights`` (T, M), ``duals`` (T, n). Every block is read once for all
    machines, and only the machines that give it weight use it.
    """
    if is_scored(blocks):
        scored: Array = blocks.scores(weights, duals)
        return scored
    scores = np.zeros((blocks.shape[1], len(duals)))
    for m in np.flatnonzero(weights.any(axis=0)):
        machines = np.flatnonzero(weights[:, m])
        scores[:, machines] += (blocks[m] @ duals[machines].T) * weights[machines, m]
    return scores


def rows_in_block(numbers_per_row: float) -> int:
    """How many rows fit into ``BLOCK_MB``, at 8 bytes a number."""
    return int(BLOCK_MB * 1e6 / (8 * numbers_per_row))


def batches(rows: Any, size: int) -> Iterator[Any]:
    """Yield the rows, at most ``size`` (and at least one) at a time."""
    step = max(1, size)
    for start in range(0, max(rows.shape[0], 1), step):
        yield rows[start : start + step]
