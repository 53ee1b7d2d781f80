"""What all kernel estimators share: kernels in, one fit out, scikit-learn's conventions around it."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
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
from mklcore.parameters import set_together
from mklcore.problem.driver import Fit
from mklcore.problem.losses import Loss, loss_for


def weighted_blocks(blocks: Any, weights: Array, duals: Array) -> Array:
    """Scores (n_new, T) of T machines, sum_m weights[t, m] blocks[m] @ duals[t], from blocks (M,
    n_new, n).

    ``weights`` (T, M), ``duals`` (T, n). Every block is read once for all machines, and only by
    those that give it weight.
    """
    if is_scored(blocks):
        scored: Array = blocks.scores(weights, duals)
        return scored
    out = np.zeros((blocks.shape[1], len(duals)))
    for m in np.flatnonzero(weights.any(axis=0)):
        used = np.flatnonzero(weights[:, m])
        out[:, used] += (blocks[m] @ duals[used].T) * weights[used, m]
    return out


_BLOCK_MB = 256.0
ROW_ATTRIBUTES = (
    "classes_",
    "n_features_in_",
    "sample_weight_",
    "feature_names_in_",
    *TABLE_ATTRIBUTES,
)
# where blocks would hold fewer new rows, kernels are summed as they are computed
_FEWEST_ROWS = 256
_FEWEST_SUMMED = 64
USED = 1e-6  # a kernel counts as used when its weight is above this share of the largest


class KernelEstimator(TrainingTable, ABC):
    """Base of every estimator: fits on the kernels of the training table and publishes the fit.

    What its parameters mean is said in the docstring of every estimator. Two things concern all of
    them. ``X`` may be a ``Dataset``, whose sequences come along and whose target is taken where
    ``y`` is left out; or strings, one per row, for a ``SequenceDictionary``. And scikit-learn
    counts the M kernels of an array as its rows: with ``kernels="precomputed"``,
    ``cross_val_score`` and ``GridSearchCV`` stop before this library is asked ("inconsistent
    numbers of samples"). Use ``cross_validate_path``, pass a ``GramStack`` to see the reason, or
    pass a table with a ``KernelDictionary``, which they can cut.
    """

    tasks: ClassVar[tuple[str, ...]] = ()  # whose losses it takes
    score_name: ClassVar[str] = ""  # what ``path_score`` measures
    _dual_per_kernel: ClassVar[bool] = False  # True where every kernel has coefficients of its own
    # False where the points of a path do not share weighted sums of blocks
    _scored_together: ClassVar[bool] = True

    probability: bool = False
    _carry: Any = None
    weights_: Any
    dual_coef_: Any
    intercept_: Any
    objective_: Any
    dual_objective_: Any
    dual_point_: Any
    dual_gap_: Any
    relative_gap_: Any
    history_: Any
    fit_: Any

    @set_together
    def fit(self, /, X: Any, y: Any = None, **refused: Any) -> Self:
        """Fit on a table X (n, d) or, with ``kernels="precomputed"``, on a stack (M, n, n), and a
        target y (n,).

        Of a ``Dataset`` the target is its own unless another is given. A classifier with
        ``probability=True`` is fitted five times more, on folds of the rows, for `predict_proba`.
        ParameterError for ``sample_weight``, which methods do not take whose proofs count every row
        once.
        """
        if refused:
            self._refuse_weights(next(iter(refused)))
        return self._fitted(X, y)

    def _fitted(self, X: Any, y: Any) -> Self:
        self._check_parameters()
        stack, target = self.training_stack(X, y)
        self._fit_stack(stack, target)
        self._carry = None  # a path hands it on; alone it would only hold memory
        if self.probability:
            labels = column_or_1d(target_of(X, y))
            rows, decision = held_out_decisions(self, X, labels)
            self.calibrate(decision, labels[rows])
        return self

    def _fit_stack(self, stack: Any, y: Array, warm: Any = None) -> Self:
        """Fit on a built stack and a checked target; ``warm`` is a fitted estimator of a
        neighbouring problem.
        """
        for name in ("selected_", "calibration_"):
            self.__dict__.pop(name, None)
        self._solve(stack, y, warm)
        self._remember(stack, y)
        return self

    def _remember(self, stack: Any, y: Labels) -> None:
        """What a fitted model keeps of its training: names, the target it was solved for, which
        rows they were.
        """
        self._remember_kernels(stack)
        self.training_target_ = np.array(y)
        known = getattr(self, "row_fingerprints_", None)
        if known is None or known.size != self.n_train_:
            self.row_fingerprints_ = None

    def _remember_kernels(self, stack: Any) -> None:
        self.kernel_names_ = tuple(stack.names)
        self.kernel_families_ = tuple(stack.families)
        self.n_train_ = stack.n_samples
        self._map = None if self._is_precomputed else stack.transform
        if Capability.FEATURES in stack.capabilities:
            self.approximation_error_ = stack.approximation_error
            flipped = self.dual_coef_.ndim > 1 and self.dual_coef_.shape[0] != stack.n_samples
            duals = self.dual_coef_.T if flipped else self.dual_coef_
            found = stack.coefficients(np.ascontiguousarray(duals))
            self.feature_coef_ = found.T if flipped else found
        if self._map is not None and not hasattr(self, "n_features_in_"):
            self.n_features_in_ = self._map.column_means.size
        weights = np.atleast_2d(self.weights_).mean(axis=0)
        used = np.flatnonzero(weights > USED * max(float(weights.max()), 1e-300))
        self.n_kernels_ = int(used.size)
        if not hasattr(self, "selected_"):
            self.selected_ = used

    def along(
        self,
        stack: Any,
        y: Array,
        param: str,
        values: Sequence[float],
        attribute: str,
        start: Any = None,
    ) -> Iterator[Any]:
        """One fitted copy per value of ``param``, which the estimator calls ``attribute``, each
        started from the one before.

        ``stack``, ``y`` as ``training_stack`` returns them; ``start`` a fitted model of a
        neighbouring value for the first. Methods with a shorter way override this.
        """
        previous = given = start
        for value in values:
            following = self.copy_with(attribute, value)._fit_stack(stack, y, previous)
            if previous is not None and previous is not given:
                previous._carry = None  # only the next neighbour needs it, and it is large
            previous = following
            yield previous
        if previous is not None:
            previous._carry = None

    @staticmethod
    def path_table(
        points: Sequence[Any], stack: Any
    ) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
        """Weights (L, M) of the points of a path, and the names and families of the M kernels."""
        weights = np.array([np.atleast_2d(point.weights_).mean(axis=0) for point in points])
        return weights, tuple(stack.names), tuple(stack.families)

    def copy_with(self, attribute: str, value: Any) -> Any:
        """An unfitted copy with one parameter changed; the user's own object is never touched."""
        fresh = copy.copy(self)
        for name in [
            name for name in vars(fresh) if name.endswith("_") and not name.startswith("_")
        ]:
            if name not in ROW_ATTRIBUTES:
                delattr(fresh, name)
        kind: Any = type(self)
        if attribute in parameters_of(kind):
            setattr(fresh, attribute, value)
        else:
            fresh.set_params(**{attribute: value})  # which refuses, and names those there are
        fresh._check_parameters()
        return fresh

    def decide_blocks(self, blocks: Array) -> Array:
        """Decision values from kernel blocks (M, n_new, n), whatever the estimator was fitted on."""
        return self._decide(blocks)

    def predict_blocks(self, blocks: Array) -> Array:
        """Predictions from kernel blocks (M, n_new, n), whatever the estimator was fitted on."""
        return self.label(self._decide(blocks))

    @staticmethod
    def decide_along(points: Sequence[Any], blocks: Any) -> list[Array]:
        """``decide_blocks`` of every point of a path; the blocks (M, n_new, n) are read once for
        all points.
        """
        if not points[0]._scored_together:
            return [point.decide_blocks(blocks) for point in points]
        machines = [point._machines() for point in points]
        weights, duals = (np.concatenate(parts) for parts in zip(*machines, strict=True))
        ends = np.cumsum([len(part) for part, _ in machines])[:-1]
        scores = np.split(weighted_blocks(blocks, weights, duals), ends, axis=1)
        return [point._joined(own) for point, own in zip(points, scores, strict=True)]

    @property
    def training_decision(self) -> Array | None:
        """Decision values on the training rows where fitting has left them, which spares their
        kernels another pass.
        """
        return None

    @abstractmethod
    def path_score(self, predicted: Labels, y: Any) -> float:
        """What paths measure at every point, from predictions and the target ``y`` (n_new,)."""

    def lam_range(self, stack: Any, y: Any) -> tuple[float, float]:
        """The lambdas between which a path moves: four decades below the largest eigenvalue of a
        kernel over n, one above.
        """
        largest = float(frobenius_norms(stack).max()) / stack.n_samples
        return largest * 1e-4, largest * 10

    @abstractmethod
    def _check_parameters(self) -> None:
        """A ParameterError where a parameter cannot be used."""

    @property
    def loss_in_use(self) -> Loss:
        """The loss object behind ``loss``; ParameterError where this method cannot take it."""
        return loss_for(self.loss, self.tasks, epsilon=getattr(self, "epsilon", 0.1))

    def _targets(self, y: Array) -> list[Array]:
        """The targets (n,) of the problems behind ``y``: its columns, or of classes the signs of
        each.
        """
        return list(np.atleast_2d(y.T))

    @abstractmethod
    def _solve(self, stack: Any, y: Array, warm: Any) -> None:
        """The solution on built kernels, in attributes; ``warm`` is a fitted neighbour or None."""

    def _decide(self, blocks: Any) -> Array:
        """sum_m weights_m K_m a + b on blocks (M, n_new, n); one column per output where there are
        several.
        """
        return self._joined(weighted_blocks(blocks, *self._machines()))

    def _machines(self) -> tuple[Array, Array]:
        """Weights (T, M) and duals (T, n) of the T machines whose scores make a decision."""
        duals = self._coefficients
        if np.ndim(self.weights_) == 2:
            return self.weights_, duals
        duals = np.atleast_2d(duals.T)
        return np.broadcast_to(self.weights_, (len(duals), np.size(self.weights_))), duals

    @property
    def _coefficients(self) -> Array:
        """What blocks are multiplied by: the duals, or of an approximated model the coefficients of
        its features.
        """
        found: Array = (
            self.dual_coef_ if getattr(self, "feature_coef_", None) is None else self.feature_coef_
        )
        return found

    @property
    def _numbers_per_row(self) -> int:
        """How many numbers a new row costs: its kernel values, or values at the landmarks and
        features.
        """
        found = getattr(self._map, "numbers_per_row", None)
        return len(self.kernel_names_) * self.n_train_ if found is None else int(found)

    def _joined(self, scores: Array) -> Array:
        """Decision values from the scores (n_new, T) of the machines, without their intercepts."""
        values: Array = (
            scores[:, 0] if np.ndim(self.dual_coef_) == 1 else scores
        ) + self.intercept_
        return values

    def label(self, decision: Array) -> Labels:
        """Predictions from decision values."""
        return decision

    def predict(self, X: Any) -> Labels:
        """Predictions (n_new,) for rows X (n_new, d), or for a test block (M, n_new, n): classes,
        or numbers.
        """
        return self.label(self._decisions(X))

    def _decisions(self, X: Any) -> Array:
        """Decision values of rows X, a few at a time so that no block outgrows ``_BLOCK_MB``; or of
        a test block.
        """
        check_is_fitted(self)
        if self._map is None:
            return self._decide(self._blocks(X))
        rows = self._checked_rows(X, reset=False)
        step = int(_BLOCK_MB * 1e6 / (8 * self._numbers_per_row))
        if step < _FEWEST_ROWS and self._scored_together and not isinstance(self._map, FeatureMap):
            # rows may be very long, too
            few = max(_FEWEST_SUMMED, int(0.25 * _BLOCK_MB * 1e6 / (8 * rows.shape[1])))
            new = (self._map.standardised(rows[k : k + few]) for k in range(0, rows.shape[0], few))
            parts = (self._map.scores(part, *self._machines()) for part in new)
            return self._joined(np.concatenate(list(parts)))
        step = max(1, step)
        if rows.shape[0] <= step:
            return self._decide(self._map.cross(rows))
        return np.concatenate(
            [
                self._decide(self._map.cross(rows[k : k + step]))
                for k in range(0, rows.shape[0], step)
            ]
        )

    def contributions(self, X: Any, kernels: Sequence[int] | None = None) -> Array:
        """Which kernel said what: f = sum_m f_m + intercept_, taken apart.

        ``X`` rows (n_new, d), or a test block (M, n_new, n) for a precomputed stack; ``kernels``
        the m to look at, all by default. Returns f_m (M, n_new), or (M, n_new, T) where there are
        several outputs: one per class, or per pair of classes for one-vs-one machines, whose scores
        they sum to.
        """
        check_is_fitted(self)
        chosen = list(range(len(self.kernel_names_)) if kernels is None else kernels)
        if self._map is None:
            if is_scored(blocks := self._blocks(X)):
                raise KernelError(
                    "What single kernels say needs their blocks: pass "
                    "kernels.cross(X_new), not .blocks."
                )
            return self._parts(blocks[chosen], chosen)
        rows = self._checked_rows(X, reset=False)
        part = self._map.subset(chosen)
        share = max(len(chosen), 1) / len(self.kernel_names_)
        step = max(1, int(_BLOCK_MB * 1e6 / (8 * share * self._numbers_per_row)))
        pieces = [
            self._parts(part.cross(rows[k : k + step]), chosen)
            for k in range(0, max(rows.shape[0], 1), step)
        ]
        return np.concatenate(pieces, axis=1)

    def shapley(self, X: Any) -> tuple[Array, Any]:
        """What every source column adds to the decision of rows X: exact Shapley values, and the
        base they add to.

        Absent columns are drawn, each by itself, from ``background_``, at most 200 training rows.
        Returns values (n, d) or (n, d, n_classes) for the d columns of ``source_columns_``, and the
        base, a number or (n_classes,), which is the decision with every column drawn by itself; it
        sums with the values to the decision. KernelError, by name, for kernels of several columns
        that are no product or sum over columns, and for models of ready stacks. See
        `mklcore.estimators.shapley.shapley_values`, which also tells what a column says alone.
        """
        values, base, _ = shapley_values(self, X)
        return values, base

    def _parts(self, blocks: Array, chosen: Sequence[int]) -> Array:
        """f_m of the chosen kernels on their blocks (m, n_new, n)."""
        weights, duals = self._machines()
        pieces = [
            (block @ duals.T) * weights[:, m] for block, m in zip(blocks, chosen, strict=True)
        ]
        # where no kernel is chosen, too
        parts = np.array(pieces).reshape(*blocks.shape[:2], len(duals))
        return parts[..., 0] if np.ndim(self.dual_coef_) == 1 else parts

    def _publish(self, fit: Fit) -> None:
        self.weights_ = fit.weights
        self.dual_coef_ = fit.dual_coef
        self.intercept_ = fit.intercept
        self.objective_ = fit.objective
        self.dual_objective_ = fit.dual_objective
        self.dual_point_ = fit.dual_point
        self.dual_gap_ = fit.gap
        self.relative_gap_ = fit.relative_gap
        self.status_ = fit.status
        self.history_ = fit.history
        self.fit_ = replace(fit, carry=None)
        self._carry = fit.carry
        self.n_iter_ = fit.n_iter
        self.n_solves_ = fit.solves

    def _publish_several(self, fits: Sequence[Fit], weights: Any, duals: Any) -> None:
        """What several problems found, on a leading axis; a certificate where all have one."""
        proved = all(fit.dual_objective is not None for fit in fits)
        self.weights_ = weights
        self.dual_coef_ = duals
        self.intercept_ = np.array([fit.intercept for fit in fits])
        self.objective_ = np.array([fit.objective for fit in fits])
        self.dual_objective_ = np.array([fit.dual_objective for fit in fits]) if proved else None
        self.dual_gap_ = self.objective_ - self.dual_objective_ if proved else None
        self.relative_gap_ = np.array([fit.relative_gap for fit in fits]) if proved else None
        self.dual_point_ = np.array([fit.dual_point for fit in fits]) if proved else None
        self.history_ = tuple(fit.history for fit in fits)
        self.fit_ = tuple(replace(fit, carry=None) for fit in fits)
        self._carry = tuple(fit.carry for fit in fits)
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.n_solves_ = sum(fit.solves for fit in fits)
        self.status_ = next((fit.status for fit in fits if not fit.status.ok), fits[0].status)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(getattr(self, "kernels", None), str):
            tags.input_tags.two_d_array = False
            tags.input_tags.three_d_array = True
            # scikit-learn's splitters refuse a stack then, even without a target
            tags.input_tags.pairwise = True
        return tags

    def _repr_html_inner(self) -> str:
        if not hasattr(self, "kernel_names_"):
            unfitted: str = super()._repr_html_inner()
            return unfitted
        weights = np.atleast_2d(self.weights_).mean(axis=0)
        order = np.argsort(-weights, kind="stable")[:12]
        rows = "".join(
            (
                f"<tr><td>{escape(self.kernel_names_[m])}</td><td "
                f"style='text-align:right'>{weights[m]:.3g}</td></tr>"
            )
            for m in order
            if weights[m] > 0
        )
        gap = self.relative_gap_
        certificate = (
            "no certificate"
            if gap is None
            else f"within {100 * float(np.max(gap)):.3g} % of the optimum"
        )
        return (
            f"<b>{type(self).__name__}</b>: {self.n_kernels_} of {len(self.kernel_names_)} "
            "kernels used, "
            f"{certificate}<table><tr><th>kernel</th><th>weight</th></tr>{rows}</table>"
        )


@cache
def parameters_of(kind: Any) -> frozenset[str]:
    """The names of the parameters of a class of estimators: scikit-learn reads its signature
    whenever one is set.
    """
    return frozenset(kind._get_param_names())
