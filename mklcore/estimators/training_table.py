"""The training table of an estimator: rows in, kernels out, and the same for new rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

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
BACKGROUND = 200  # training rows that absent columns are drawn from by Shapley values

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


class TrainingTable(BaseEstimator):
    """What an estimator knows of its training rows: their kernels, their names, which rows they were.

    It checks a table or ready kernels, builds kernels from the dictionary in the form that the
    method works on, and carries them to new rows.
    """

    default_normalise: ClassVar[str | None] = "multiplicative"
    requires: ClassVar[frozenset[Capability]] = frozenset()  # of kernels
    weighs_rows: ClassVar[bool] = False  # whether rows may count unequally

    approximation: Any = None
    row_fingerprints_: Any
    encoder_: Any

    @abstractmethod
    def _target(self, y: Any) -> Labels:
        """The checked target as numbers or labels (n,)."""

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """What the columns of the training table are called; None where it is an array, or ready
        kernels.
        """
        if hasattr(self, "encoder_"):
            return tuple(one.name for one in self.encoder_.features)
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    def know_table(self, data: Dataset) -> Self:
        """Take the rows of a table for those of the kernels that it was fitted on, as `shapley`
        needs them.
        """
        self._know_rows(data.X, data.columns)
        return self

    def training_stack(self, X: Any, y: Any) -> tuple[Any, Labels]:
        """The kernels of the training rows ``X``, built or checked, and the checked target, ready
        for ``along``.
        """
        if not self.weighs_rows and isinstance(X, Dataset) and X.sample_weight is not None:
            self._refuse_weights("sample_weight")
        rows = self._checked_rows(X, reset=True)
        target = self._checked_target(rows, target_of(X, y))
        return self._stack(rows), target

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
            for name in TABLE_ATTRIBUTES:
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

    def _refuse_weights(self, name: str) -> None:
        """ParameterError for what this method cannot be fitted with."""
        raise ParameterError(
            f"{type(self).__name__} takes no {name}: every row counts once. Leave it out, "
            "repeat rows, or use "
            f"LpMKL{'Classifier' if is_classifier(self) else 'Regressor'}, which takes "
            "weights of rows."
        )


def target_of(X: Any, y: Any) -> Any:
    """The target, which a ``Dataset`` brings along."""
    return X.y if y is None and isinstance(X, Dataset) else y
