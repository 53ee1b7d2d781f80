"""Kernels of views: a row that is missing in a view says nothing there, and is like no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mklcore.arrays import Array, Mask
from mklcore.errors import ParameterError
from mklcore.kernels.composed import own_values, settled_part, values_of
from mklcore.kernels.functions import KernelSpec, RowKernel


@dataclass(frozen=True, repr=False)
class InView(RowKernel):
    """k(x, z) where both rows are in the view, else 0: a missing row is the origin of the view's feature space.

    Parameters
    ----------
    part : the kernel on the columns of the view
    present : the column that says which rows are in the view: 1 for those that are, -1 for the others, as
        ``read_tables`` makes it

    The Gram matrix is that of ``part`` with the rows and columns of missing rows set to 0, so it is positive
    semidefinite whenever that is. A relative width is measured on the rows that are there.

    >>> from mklcore.kernels.functions import Linear
    >>> InView(Linear(features=(0, 1), label="sound"), 2).name()
    'linear sound, where present'
    """

    part: KernelSpec
    present: int

    family: ClassVar[str] = "view"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.present, (int, np.integer)) and not isinstance(self.present, bool)
        if not isinstance(self.part, KernelSpec) or not whole or self.present < 0:
            raise ParameterError(
                f"InView takes one kernel and the index of a column; got {self.part!r} and {self.present!r}."
            )

    @property
    def is_relative(self) -> bool:
        return self.part.is_relative

    @property
    def title(self) -> str:
        return f"{self.part.title}, where present"

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        return f"{self.part.name(feature_names)}, where present"

    def columns(self, n_features: int) -> tuple[int, ...]:
        return tuple(sorted({*self.part.columns(n_features), self.present}))

    def met(self, rows: Array) -> Self:
        there = rows[self._mask(rows)]
        part = settled_part(self.part, there if len(there) > 1 else rows)
        return replace(self, part=part, features=tuple(sorted({*part.settled, self.present})))

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        out[...] = values_of(self.part, left, right, upper)
        out *= np.outer(self._mask(left), self._mask(right))

    def own(self, rows: Array) -> Array:
        found: Array = own_values(self.part, rows) * self._mask(rows)
        return found

    def _mask(self, rows: Array) -> Mask:
        """Which rows are in the view: standardising leaves their 1 at 0 or above, and takes -1 below it."""
        mask: Mask = rows[:, self.present] >= 0.0
        return mask
