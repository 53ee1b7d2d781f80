"""From the rows of a table to kernels, for training rows and for new rows alike."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mklcore.arrays import Array, Labels
from mklcore.data.dataset import Dataset, Groups, count_rows, row_fingerprints
from mklcore.data.frames import is_raw
from mklcore.data.reading import encoder_of
from mklcore.data.sequences import cut, lengths, strings_in
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.dictionary import (
    KernelDictionary,
    SequenceDictionary,
    as_dictionary,
    stored_as,
)
from mklcore.kernels.features import Nystroem, column_features
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.grams import STACKS_IN_FOLDS, Forecast, GramStack, Rows, as_stack
from mklcore.kernels.operators import Capability, is_operator, is_scored

TABLE_ATTRIBUTES = (
    "row_fingerprints_",
    "sequence_names_",
    "n_numeric_",
    "source_columns_",
    "background_",
    "encoder_",
)
BACKGROUND = 200  # training rows from which Shapley values draw absent columns

# None stands for a default dictionary, which depends on the table.
Kernels: TypeAlias = KernelDictionary | Sequence[KernelSpec] | str | None


@dataclass(kw_only=True, eq=False, repr=False)
class KernelSettings:
    """The parameters of every estimator that combines kernels of a dictionary."""

    kernels: Kernels = None
    normalise: str | None = "auto"
    center: bool = False
    random_state: int | None = None
    callback: Callable[..., Any] | None = None


class TrainingTable(BaseEstimator):
    """The part of an estimator that turns rows into kernels, and remembers its training rows.

    It checks a table or ready kernels, builds kernels from the dictionary in the form that the
    method works on, and evaluates them between new rows and training rows.
    """

    default_normalise: ClassVar[str | None] = "multiplicative"
    requires: ClassVar[frozenset[Capability]] = frozenset()  # what kernels have to be capable of
    weighs_rows: ClassVar[bool] = False  # whether ``fit`` accepts weights of rows

    approximation: Any = None
    row_fingerprints_: Any
    sample_weight_: Any
    encoder_: Any

    @abstractmethod
    def _target(self, y: Any) -> Labels:
        """The checked target as numbers or labels (n,)."""

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """Names of the columns of the training table; None for an array or for ready kernels."""
        if hasattr(self, "encoder_"):
            return tuple(feature.name for feature in self.encoder_.features)
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def know_table(self, data: Dataset) -> Self:
        """Declare ``data`` to be the rows behind ready kernels, which `shapley` needs."""
        self._know_rows(data.X, data.columns)
        return self

    def training_stack(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
    ) -> tuple[Any, Labels]:
        """The kernels of the training rows and the checked target, as ``along`` takes them."""
        if isinstance(X, Dataset):
            y = target_of(X, y)
            sample_weight = X.sample_weight if sample_weight is None else sample_weight
        if sample_weight is not None and not self.weighs_rows:
            self._refuse_weights("sample_weight")
        rows = self._checked_rows(X, reset=True)
        target = self._checked_target(rows, y)
        self.sample_weight_ = self._row_weights(target, y, sample_weight)
        return self._stack(rows), target

    def _row_weights(self, target: Labels, y: Any, given: Any) -> Any:
        """The weights of rows (n,), times those of their classes; None where all rows count alike.

        Raises ``DataError`` unless ``given`` holds a finite weight of 0 or more per row, and one
        above 0 for a row of every class.
        """
        n = len(target)
        class_weight = getattr(self, "class_weight", None)
        if given is not None:
            given = column_or_1d(np.asarray(given, dtype=np.float64))
            is_finite = given.shape == (n,) and np.all(np.isfinite(given))
            if not is_finite or given.min() < 0 or given.max() <= 0:
                raise DataError(
                    f"sample_weight must be {n} finite numbers of 0 or more, one per row and not "
                    f"all zero; got {given!r}."
                )
        if class_weight is not None:
            by_class = compute_sample_weight(class_weight, column_or_1d(y))
            given = by_class if given is None else by_class * given
        is_of_classes = given is not None and is_classifier(self)
        if is_of_classes and np.unique(target[given > 0]).size < self.classes_.size:
            raise DataError(
                "A class has no row of weight above 0: every class needs one; drop its "
                "rows, or give one of them weight."
            )
        return given

    def foresee(self, n_samples: int, n_features: int) -> Forecast:
        """Forecast the form and the bytes in which the kernels of a table will be stored.

        Nothing is built. What a solver stores beside the kernels, such as their sum, is not
        counted. See `mklcore.kernels.dictionary.stored_as`.
        """
        if self._is_precomputed:
            raise ParameterError(
                "Ready kernels have the size they have; only those of a dictionary can be forecast."
            )
        default = KernelDictionary.default
        dictionary = default(n_features) if self.kernels is None else as_dictionary(self.kernels)
        forms = self._forms(n_samples)
        return stored_as(dictionary, n_samples, n_features, forms, self.approximation)

    @property
    def _is_precomputed(self) -> bool:
        if isinstance(self.kernels, str) and self.kernels != "precomputed":
            raise ParameterError(
                f'kernels must be None, a KernelDictionary or "precomputed"; got {self.kernels!r}.'
            )
        return isinstance(self.kernels, str)

    def _stack(self, X: Any) -> Any:
        """The kernels of checked rows: ready ones, or built in the form that fits into memory.

        Raises ``KernelError`` if ready kernels lack a capability that this estimator ``requires``.
        """
        if is_operator(X):
            lacking = self.requires - X.capabilities
            if lacking:
                needed = " and ".join(sorted(capability.value for capability in lacking))
                raise KernelError(
                    f"{type(self).__name__} needs {needed}, which {type(X).__name__} do not have; "
                    "build a stack with KernelDictionary.grams."
                )
            return X
        if self._is_precomputed:
            return GramStack.from_array(X)
        approximation = self.approximation
        if not (approximation is None or isinstance(approximation, Nystroem)):
            raise ParameterError(
                f"approximation must be None or Nystroem(n_components=...); got {approximation!r}."
            )
        dictionary = self._dictionary_for(X)
        normalise = self.default_normalise if self.normalise == "auto" else self.normalise
        n, d = X.shape
        form = stored_as(dictionary, n, d, self._forms(n), approximation).stored
        if form == "features":
            make = column_features if approximation is None else approximation.features
            return make(dictionary, X, normalise, self.center)
        if form == "rows":
            return Rows.build(dictionary, X, normalise, self.center)
        weights = getattr(self, "sample_weight_", None)  # missing in older files
        return dictionary.grams(X, normalise=normalise, center=self.center, sample_weight=weights)

    def _dictionary_for(self, X: Array) -> KernelDictionary:
        """The dictionary of checked rows, with the names of their columns and sequences."""
        kernels = self._default_kernels(X) if self.kernels is None else self.kernels
        dictionary = as_dictionary(kernels)
        if dictionary.feature_names is None and self.column_names is not None:
            dictionary = replace(dictionary, feature_names=self.column_names)
        names = getattr(self, "sequence_names_", ())
        if not names:
            return dictionary
        width = (X.shape[1] - self.n_numeric_) // len(names)
        return dictionary.beside(self.n_numeric_, names, width)

    def _forms(self, n: int) -> tuple[str, ...]:
        """The forms of kernels on n rows that this method can use, as in ``stored_as``."""
        return ("dense",)

    def _default_kernels(self, X: Any) -> KernelDictionary:
        """The default dictionary for columns, for sequences, or for both."""
        n_sequences = len(getattr(self, "sequence_names_", ()))
        if not n_sequences:
            return KernelDictionary.default(X.shape[1])
        d = self.n_numeric_
        # The letters of the sequences alternate: column d + s + k * n_sequences is letter k of s.
        letters = [lengths(X[:, d + s :: n_sequences]) for s in range(n_sequences)]
        strings = SequenceDictionary.suggested(letters)
        return KernelDictionary.default(d) + strings if d else strings

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """``X`` as a validated table (n, d), or as it is when it holds ready kernels."""
        if reset:
            for name in TABLE_ATTRIBUTES:
                self.__dict__.pop(name, None)
        if is_operator(X):
            if not hasattr(X, "names"):
                raise KernelError(
                    f"{type(X).__name__} does not name its kernels; hand over a GramStack, such as "
                    'GramStack.from_array(values), or the array with kernels="precomputed".'
                )
            return X
        strings = strings_in(X)
        if strings is not None:
            n = len(strings)
            X = Dataset(np.empty((n, 0)), np.zeros(n), sequences=(("sequence", strings),))
        data = X if isinstance(X, Dataset) else None
        if data is not None:
            if data.strings or hasattr(self, "sequence_names_"):
                return self._rows_with_letters(data, reset)
            X = data.X
        elif not reset and hasattr(self, "encoder_") and is_raw(X):
            X = self.encoder_.read(X).table
        if self._is_precomputed:
            return self._checked_stack(X, reset)
        rows = validate_data(
            self, X, reset=reset, dtype=np.float64, order="C", ensure_min_samples=2 if reset else 1
        )
        if reset:
            self._know_rows(rows, None if data is None else data.columns)
            if data is not None:
                self.encoder_ = encoder_of(data)
        return rows

    def _checked_stack(self, X: Any, reset: bool) -> Any:
        """Ready kernels (M, n, n) of training rows, or a block (M, n_new, n) of new rows."""
        if self.approximation is not None:
            raise ParameterError(
                "An approximation is made from the columns of a table, and ready "
                "stacks have none: use a KernelDictionary."
            )
        if np.ndim(X) != 3:
            raise KernelError(
                f'kernels="precomputed" takes a stack (M, n, n); got an array of {np.ndim(X)} '
                f"dimensions. {STACKS_IN_FOLDS}"
            )
        return as_stack(X) if reset else X

    def _know_rows(self, rows: Array, columns: Groups | None) -> None:
        """Save the fingerprints of the training rows, and a sample of them for `shapley`.

        ``columns`` are the source columns with their features; by default every feature is one.
        """
        self.row_fingerprints_ = row_fingerprints(rows)
        if columns:
            self.source_columns_ = columns
        else:
            names = getattr(self, "feature_names_in_", map("x{}".format, range(rows.shape[1])))
            self.source_columns_ = tuple((str(name), (j,)) for j, name in enumerate(names))
        sample = np.arange(len(rows))
        if sample.size > BACKGROUND:
            seed = getattr(self, "random_state", None)
            rng = np.random.default_rng(0 if seed is None else seed)
            sample = np.sort(rng.choice(sample.size, BACKGROUND, replace=False))
        self.background_ = rows[sample]

    def _rows_with_letters(self, data: Dataset, reset: bool) -> Array:
        """The numeric columns of a data set, followed by the letters of its sequences."""
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
            columns = dict(data.columns)
            for name in names:
                columns[name] = (*columns.get(name, ()), *data.letter_columns(name))
            self._know_rows(rows, tuple(columns.items()))
            return rows
        known = getattr(self, "sequence_names_", ())
        if names != known or data.n_features != self.n_numeric_:
            raise DataError(
                f"The model was fitted on {self.n_numeric_} columns and the sequences "
                f"{list(known)}; the data have {data.n_features} and {list(names)}. Pass "
                "the same columns and sequences, in the same order."
            )
        width = (self.n_features_in_ - self.n_numeric_) // len(names)
        if data.texts and data.width > width:
            texts = tuple((name, tuple(cut(strings, width))) for name, strings in data.texts)
            data = replace(data, texts=texts, width=0)
        return data.with_letters(width)

    def _blocks(self, X: Any) -> Any:
        """Kernel values (M, n_new, n) between new rows and training rows."""
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

    def _checked_target(self, X: Any, y: Any) -> Labels:
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None; {type(self).__name__} "
                "is supervised."
            )
        n = count_rows(X)
        rows = np.asarray(y).shape[:1]
        if rows not in ((n,), ()):  # checked first, because a wrong length may also lose a class
            advice = f" {STACKS_IN_FOLDS}" if self._is_precomputed else ""
            raise DataError(
                f"The kernels have {n} training rows and the target has {rows[0]}; they must be "
                f"the same rows.{advice}"
            )
        return self._target(y)

    def _refuse_weights(self, name: str) -> None:
        """Raise ``ParameterError``, because this method cannot use weights of rows."""
        weighted = "LpMKLClassifier" if is_classifier(self) else "LpMKLRegressor"
        raise ParameterError(
            f"{type(self).__name__} takes no {name}: every row counts once. Leave it out, repeat "
            f"rows, or use {weighted}, which takes weights of rows."
        )


def target_of(X: Any, y: Any) -> Any:
    """The target ``y``, or that of the ``Dataset`` ``X`` where ``y`` is left out."""
    return X.y if y is None and isinstance(X, Dataset) else y
