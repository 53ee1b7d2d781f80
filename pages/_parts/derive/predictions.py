"""Derive the model at Explore's cursor."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.data.dataset import Dataset
from mklcore.estimators.explain import NOVELTY
from mklcore.paths.path import Path
from pages._parts.derive import choices, finals, low_rank, paths, tables
from pages._parts.params import places
from pages._parts.params.parameters import Params, PathParams
from pages._parts.predict.row import Row, row_of

# The model


@dataclass(frozen=True, eq=False)
class Chosen:
    """The model at Explore's cursor: a path, which of its points, and the parameters it belongs to."""

    path: Path
    index: int
    params: PathParams
    final: Any = None  # the same model fitted on all rows but the test rows

    @property
    def fitted(self) -> Any:
        return self.path.estimators[self.index] if self.final is None else self.final

    @property
    def judged(self) -> Any:
        """Return the model that has not seen the validation rows, which say how right it is."""
        return self.path.estimators[self.index]

    @property
    def train(self) -> Dataset:
        """Return the rows that the model was fitted on."""
        return low_rank.parts(self.params).train if self.final is None else choices.rest(self.params)

    @property
    def value(self) -> float:
        return float(self.path.values[self.index])

    @property
    def key(self) -> tuple[object, ...]:
        return "chosen", paths.key(self.params), self.value


def chosen(params: Params) -> Chosen | None:
    """Return the model at Explore's cursor, once the path is there. Raises ``ParameterError``."""
    path = paths.known(params)
    if path is None:
        return None
    here = places.place(path, params.at)
    if here.exact:
        return Chosen(paths.point(params, here.value), 0, params, finals.fitted(params, here.value))
    return Chosen(path, here.index, params, finals.fitted(params, here.value))


def row(params: Params) -> Row:
    """Return the row of Predict."""
    return row_of(params, tables.table(params))


def ordinary(said: np.ndarray) -> np.ndarray:
    """Return the answers +1 and -1 of novelty detection."""
    return np.where(np.asarray(said) > 0, NOVELTY[1], NOVELTY[0])
