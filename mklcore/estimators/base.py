"""What all kernel estimators share: kernels in, one fit out, scikit-learn's conventions around it."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.dataset import Dataset, Groups, count_rows, row_fingerprints
from mklcore.data.frames import is_raw
from mklcore.data.reading import encoder_of
from mklcore.data.sequences import cut, lengths, strings_in
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.estimators.calibration import calibrate, held_out_decisions, sigmoids
from mklcore.estimators.shapley import shapley_values
from mklcore.kernels.dictionary import (
    KernelDictionary,
    SequenceDictionary,
    as_dictionary,
    stored_as,
)
from mklcore.kernels.features import FeatureMap, Nystroem, column_features
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.grams import STACKS_IN_FOLDS, Forecast, GramStack, Rows, as_stack
from mklcore.kernels.operators import Capability, frobenius_norms, is_operator, is_scored
from mklcore.parameters import set_together
from mklcore.problem.driver import Fit
from mklcore.problem.losses import CLASSIFICATION, REGRESSION, Loss, centre_of, loss_for, total_loss


def signs(codes: Array, positive: int) -> Array:
    """Labels -1 / +1 for one class against the rest."""
    return np.where(codes == positive, 1.0, -1.0)


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
_OF_TABLE = (
    "row_fingerprints_",
    "sequence_names_",
    "n_numeric_",
    "source_columns_",
    "background_",
    "encoder_",
)
_OF_ROWS = ("classes_", "n_features_in_", "sample_weight_", "feature_names_in_", *_OF_TABLE)
# where blocks would hold fewer new rows, kernels are summed as they are computed
_FEWEST_ROWS = 256
_FEWEST_SUMMED = 64
BACKGROUND = 200  # training rows that absent columns are drawn from by Shapley values
USED = 1e-6  # a kernel counts as used when its weight is above this share of the largest


# None: a default dictionary from X
Kernels: TypeAlias = KernelDictionary | Sequence[KernelSpec] | str | None


@dataclass(kw_only=True, eq=False, repr=False)
class KernelSettings:
    """Parameters of the estimators on a dictionary: fields, from which a dataclass makes the
    ``__init__``.
    """

    kernels: Kernels = None
    normalise: str | None = "auto"
    center: bool = False
    random_state: int | None = None
    callback: Callable[..., Any] | None = None


class KernelEstimator(BaseEstimator, ABC):
    """Base of every estimator on kernels: builds or checks the stack, carries it to new rows,
    publishes the fit.

    Shared parameters
    -----------------
    X may also be a ``Dataset``: its sequences come along, and ``y`` may then be left out. Strings,
    one per row, are rows for a ``SequenceDictionary``.
    kernels : None (a default dictionary from X), a ``KernelDictionary`` or ``SequenceDictionary``,
    a list of kernels
        such as ``[RBF(1.0), Linear()]``, or "precomputed" (X is a stack (M, n, n)).
        scikit-learn counts the M kernels of an array as its rows: ``cross_val_score`` and
        ``GridSearchCV`` end with "inconsistent numbers of samples", or without a target "X should
        be a square kernel matrix", before this library is asked. Use ``cross_validate_path``, hand
        them a ``GramStack`` to see the reason, or a table with a ``KernelDictionary``, which they
        can cut
    normalise : "auto" (this estimator's own), "multiplicative", "spherical", "trace", "diag" or
    None; stacks are never
        touched
    center : centre the kernels in feature space
    approximation : None, or of lp-norm learning and MKL-GOMP ``Nystroem(n_components)``: kernels of
    low rank for many
        rows. The certificate and ``dual_point_`` are then of the approximated kernels, and
        ``approximation_error_`` (M,) is the share of each kernel's trace that is lost
    """

    default_normalise: ClassVar[str | None] = "multiplicative"
    requires: ClassVar[frozenset[Capability]] = frozenset()  # of kernels
    tasks: ClassVar[tuple[str, ...]] = ()  # whose losses it takes
    weighs_rows: ClassVar[bool] = False  # whether rows may count unequally
    score_name: ClassVar[str] = ""  # what ``path_score`` measures
    _dual_per_kernel: ClassVar[bool] = False  # True where every kernel has coefficients of its own
    # False where the points of a path do not share weighted sums of blocks
    _scored_together: ClassVar[bool] = True

    approximation: Any = None
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
    row_fingerprints_: Any
    encoder_: Any

    # -- kernels
    # -------------------------------------------------------------------------------------------------

    @property
    def _is_precomputed(self) -> bool:
        if isinstance(self.kernels, str) and self.kernels != "precomputed":
            raise ParameterError(
                f'kernels must be None, a KernelDictionary or "precomputed"; got {self.kernels!r}.'
            )
        return isinstance(self.kernels, str)

    def _stack(self, X: Any) -> Any:
        """The kernels of ``X``: ready ones, or built from the dictionary in the form that
        `mklcore.kernels.stored_as` says; KernelError where ready ones cannot do what this estimator
        ``requires``.
        """
        if is_operator(X):
            lacking = self.requires - X.capabilities
            if lacking:
                needed = " and ".join(sorted(one.value for one in lacking))
                raise KernelError(
                    f"{type(self).__name__} needs {needed}, which {type(X).__name__} do not have; "
                    "build a stack with KernelDictionary.grams."
                )
            return X
        if self._is_precomputed:
            return GramStack.from_array(X)
        dictionary = (
            self._default_kernels(X) if self.kernels is None else as_dictionary(self.kernels)
        )
        if dictionary.feature_names is None and self.column_names is not None:
            dictionary = replace(dictionary, feature_names=self.column_names)
        normalise = self.default_normalise if self.normalise == "auto" else self.normalise
        names = getattr(self, "sequence_names_", ())
        if names:
            dictionary = dictionary.beside(
                self.n_numeric_, names, (X.shape[1] - self.n_numeric_) // len(names)
            )
        approximation = self.approximation
        if not (approximation is None or isinstance(approximation, Nystroem)):
            raise ParameterError(
                f"approximation must be None or Nystroem(n_components=...); got {approximation!r}."
            )
        stored = stored_as(
            dictionary, len(X), X.shape[1], self._forms(len(X)), approximation
        ).stored
        if stored == "features":
            make = column_features if approximation is None else approximation.features
            return make(dictionary, X, normalise, self.center)
        if stored == "rows":
            return Rows.build(dictionary, X, normalise, self.center)
        weights = getattr(self, "sample_weight_", None)
        return dictionary.grams(X, normalise=normalise, center=self.center, sample_weight=weights)

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """What the columns of the training table are called; None where it is an array, or ready
        kernels.
        """
        if hasattr(self, "encoder_"):
            return tuple(one.name for one in self.encoder_.features)
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def foresee(self, n_samples: int, n_features: int) -> Forecast:
        """Bytes in which the kernels of ``n_samples`` rows will be held, and in which form, before
        anything is made; see `mklcore.kernels.stored_as`. What a solver keeps beside them, such as
        their sum, is not counted.
        """
        if self._is_precomputed:
            raise ParameterError(
                "Ready stacks are as large as they are; what is foreseen are kernels of a "
                "dictionary."
            )
        dictionary = (
            KernelDictionary.default(n_features)
            if self.kernels is None
            else as_dictionary(self.kernels)
        )
        approximation = self.approximation
        return stored_as(dictionary, n_samples, n_features, self._forms(n_samples), approximation)

    def _forms(self, n: int) -> tuple[str, ...]:
        """The forms of kernels on n rows that this method works on, as in
        `mklcore.kernels.stored_as`.
        """
        return ("dense",)

    def _default_kernels(self, X: Any) -> KernelDictionary:
        """A dictionary for columns, for sequences, or for both."""
        names = getattr(self, "sequence_names_", ())
        if not names:
            return KernelDictionary.default(X.shape[1])
        d = self.n_numeric_
        strings = SequenceDictionary.suggested(
            [lengths(X[:, d + s :: len(names)]) for s in range(len(names))]
        )
        found: KernelDictionary = KernelDictionary.default(d) + strings if d else strings
        return found

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """``X`` as a validated table, or as it is when it is a stack."""
        if reset:
            for name in _OF_TABLE:
                self.__dict__.pop(name, None)
        if is_operator(X):
            if not hasattr(X, "names"):
                raise KernelError(
                    f"{type(X).__name__} does not name its kernels; hand over a GramStack, such as "
                    'GramStack.from_array(values), or the array with kernels="precomputed".'
                )
            return X
        if (strings := strings_in(X)) is not None:
            X = Dataset(
                np.empty((len(strings), 0)),
                np.zeros(len(strings)),
                sequences=(("sequence", strings),),
            )
        data = X if isinstance(X, Dataset) else None
        if isinstance(X, Dataset):
            if X.strings or hasattr(self, "sequence_names_"):
                return self._rows_with_letters(X, reset)
            X = X.X
        elif not reset and hasattr(self, "encoder_") and is_raw(X):
            X = self.encoder_.read(X).table
        if self._is_precomputed:
            if self.approximation is not None:
                raise ParameterError(
                    "An approximation is made from the columns of a table, and ready "
                    "stacks have none: use a KernelDictionary."
                )
            if np.ndim(X) != 3:
                raise KernelError(
                    f'kernels="precomputed" takes a stack (M, n, n); got an array of {np.ndim(X)} dimensions. '
                    f"{STACKS_IN_FOLDS}"
                )
            return as_stack(X) if reset else X
        rows = validate_data(
            self, X, reset=reset, dtype=np.float64, order="C", ensure_min_samples=2 if reset else 1
        )
        if reset:
            self._know_rows(rows, None if data is None else data.columns)
            if data is not None:
                self.encoder_ = encoder_of(data)
        return rows

    def _know_rows(self, rows: Array, columns: Groups | None) -> None:
        """Remember which rows these are, some of them as the background of `shapley`, and the
        source ``columns``, one for every feature by default.
        """
        self.row_fingerprints_ = row_fingerprints(rows)
        names = getattr(self, "feature_names_in_", map("x{}".format, range(rows.shape[1])))
        self.source_columns_ = columns or tuple(
            zip(map(str, names), zip(range(rows.shape[1])), strict=True)
        )
        kept = np.arange(len(rows))
        seed = getattr(self, "random_state", None)
        if kept.size > BACKGROUND:
            kept = np.sort(
                np.random.default_rng(0 if seed is None else seed).choice(
                    kept.size, BACKGROUND, replace=False
                )
            )
        self.background_ = rows[kept]

    def _rows_with_letters(self, data: Dataset, reset: bool) -> Array:
        """The rows of a data set with the letters of its sequences beside them."""
        if self._is_precomputed:
            raise KernelError(
                'kernels="precomputed" takes a stack (M, n, n), and a Dataset is a table; '
                "give a dictionary."
            )
        names = tuple(name for name, _ in data.strings)
        if reset:
            rows = data.table
            self.sequence_names_ = names
            self.n_numeric_ = data.n_features
            self.n_features_in_ = rows.shape[1]
            self.encoder_ = encoder_of(data)
            self.__dict__.pop("feature_names_in_", None)
            own = dict(data.columns)
            letters = {name: (*own.get(name, ()), *data.letter_columns(name)) for name in names}
            self._know_rows(rows, tuple((own | letters).items()))
            return rows
        known = getattr(self, "sequence_names_", ())
        if names != known or data.n_features != self.n_numeric_:
            raise DataError(
                f"The model was fitted on {self.n_numeric_} columns and the sequences "
                f"{list(known)}; the data have {data.n_features} and {list(names)}. Pass "
                "the same columns and sequences, in the same order."
            )
        room = (self.n_features_in_ - self.n_numeric_) // len(names)
        if data.texts and data.width > room:
            data = replace(
                data,
                texts=tuple((name, tuple(cut(strings, room))) for name, strings in data.texts),
                width=0,
            )
        return data.with_letters(room)

    def _blocks(self, X: Any) -> Any:
        """Kernel values between new rows and the training rows for every kernel, (M, n_new, n)."""
        check_is_fitted(self)
        if self._map is not None:
            return self._map.cross(self._checked_rows(X, reset=False))
        blocks = X if is_scored(X) else np.asarray(X, dtype=np.float64)
        expected = (len(self.kernel_names_), self.n_train_)
        if len(blocks.shape) != 3 or (blocks.shape[0], blocks.shape[2]) != expected:
            raise KernelError(
                f"Test blocks must be (M, n_new, n) with M = {expected[0]} kernels and n = "
                f"{expected[1]} training rows; got shape {blocks.shape}."
            )
        return blocks

    # -- fitting
    # -------------------------------------------------------------------------------------------------

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

    def _refuse_weights(self, name: str) -> None:
        """ParameterError for what this method cannot be fitted with."""
        raise ParameterError(
            f"{type(self).__name__} takes no {name}: every row counts once. Leave it out, "
            "repeat rows, or use "
            f"LpMKL{'Classifier' if is_classifier(self) else 'Regressor'}, which takes "
            "weights of rows."
        )

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

    def _checked_target(self, X: Any, y: Any) -> Labels:
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None; {type(self).__name__} "
                "is supervised."
            )
        n = count_rows(X)
        rows = np.asarray(y).shape[:1]
        if rows not in ((n,), ()):  # refused before the check of the classes
            raise DataError(
                (
                    f"The kernels have {n} training rows and the target has {rows[0]}; they "
                    "must be the same rows."
                )
                + (f" {STACKS_IN_FOLDS}" if self._is_precomputed else "")
            )
        return self._target(y)

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

    # -- along a path: what ``mklcore.paths.path.PathEstimator`` asks for

    def training_stack(self, X: Any, y: Any) -> tuple[Any, Labels]:
        """The kernels of the training rows ``X``, built or checked, and the checked target, ready
        for ``along``.
        """
        if not self.weighs_rows and isinstance(X, Dataset) and X.sample_weight is not None:
            self._refuse_weights("sample_weight")
        rows = self._checked_rows(X, reset=True)
        target = self._checked_target(rows, target_of(X, y))
        return self._stack(rows), target

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
            if name not in _OF_ROWS:
                delattr(fresh, name)
        kind: Any = type(self)
        if attribute in parameters_of(kind):
            setattr(fresh, attribute, value)
        else:
            fresh.set_params(**{attribute: value})  # which refuses, and names those there are
        fresh._check_parameters()
        return fresh

    def know_table(self, data: Dataset) -> Self:
        """Take the rows of a table for those of the kernels that it was fitted on, as `shapley`
        needs them.
        """
        self._know_rows(data.X, data.columns)
        return self

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

    # -- what a subclass says
    # -------------------------------------------------------------------------------------

    @abstractmethod
    def _check_parameters(self) -> None:
        """A ParameterError where a parameter cannot be used."""

    @abstractmethod
    def _target(self, y: Any) -> Labels:
        """The checked target as numbers or labels (n,)."""

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

    # -- shared checks and words
    # ----------------------------------------------------------------------------------

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


def target_of(X: Any, y: Any) -> Any:
    """The target, which a ``Dataset`` brings along."""
    return X.y if y is None and isinstance(X, Dataset) else y


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
