"""Columns that a kernel sees: given by number, or chosen once their number is known."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.parameters import Interface


class LazyColumns(Interface):
    """Columns chosen once their number is known; subclasses are frozen dataclasses."""

    @abstractmethod
    def resolve(self, n_features: int) -> tuple[int, ...]:
        """The indices of its columns where there are ``n_features``."""


def as_features(owner: str, features: Any) -> tuple[int, ...] | LazyColumns | None:
    if features is None or isinstance(features, LazyColumns):
        return features
    if type(features) is tuple and len(features) == 1 and type(features[0]) is int and features[0] >= 0:
        return features  # there may be very many of these
    if isinstance(features, str) or not isinstance(features, Iterable):
        raise ParameterError(f"{owner}: features must be a tuple of column indices or None, got {features!r}.")
    columns = list(features)
    if not columns:
        raise ParameterError(f"{owner}: features is empty; give at least one column index, or None for all columns.")
    for column in columns:
        if isinstance(column, bool | np.bool_) or not isinstance(column, Integral) or column < 0:
            raise ParameterError(f"{owner}: features must hold column indices from 0 on, got {column!r}.")
    if len(set(columns)) != len(columns):
        raise ParameterError(f"{owner}: features names a column twice: {tuple(columns)}. Give each column once.")
    return tuple(int(column) for column in columns)


def columns_as_text(features: Sequence[int], feature_names: Sequence[str] | None = None) -> str:
    """Columns as a reader says them: "worst radius", "x0, x3, x7", "x0 … x9", "x0, x4, … (12 columns)"."""
    known = () if feature_names is None else feature_names
    words = [str(known[j]) if j < len(known) else f"x{j}" for j in features]
    if len(words) <= 3:
        return ", ".join(words)
    if all(b == a + 1 for a, b in pairwise(features)):
        return f"{words[0]} … {words[-1]}"
    return f"{words[0]}, {words[1]}, … ({len(words)} columns)"
