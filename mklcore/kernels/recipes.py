"""Recipes of dictionaries: which kinds of kernels to put on which columns, as counts and names.

A `Recipe` needs no table, so a sidebar or a link can hold it. `Recipe.specs` turns it into kernels
once the number of columns and their groups are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mklcore.arrays import Names
from mklcore.kernels.dictionary import BAND_KERNELS, KernelDictionary
from mklcore.kernels.functions import KERNELS, RBF, KernelSpec, Laplacian, Linear, Polynomial

AUTO_FEATURES = 40  # columns up to which "auto" puts a kernel on every single column
WIDEST = 4.0  # largest multiple of the median distance; the smallest is its inverse
OTHER_WIDTHS = 3  # of each kernel of all columns that has no count in a recipe
_SEVERAL: dict[str, tuple[KernelSpec, ...]] = {
    "both": (Linear(), RBF(1.0, relative=True)),
    "spectral": BAND_KERNELS,
}


def kinds() -> dict[str, tuple[KernelSpec, ...]]:
    """The kinds of kernels on a choice of columns: all registered ones, and two sets of them."""
    return {key: (entry.usual(),) for key, entry in KERNELS.items()} | _SEVERAL


def other_kernels() -> Names:
    """The registered kernels that a recipe has no count for."""
    return tuple(
        key
        for key, entry in KERNELS.items()
        if entry.spec not in (RBF, Laplacian, Linear, Polynomial)
    )


@dataclass(frozen=True)
class Recipe:
    """The contents of a dictionary: kernels of all columns, of single columns, and of other parts.

    widths, laplacians : how many RBF and Laplacian kernels of all columns, see ``width_multiples``

    others : other kernels of all columns, as keys of ``KERNELS`` separated by commas; kernels with
    a width get three widths each

    linear, degree : whether there is a linear kernel of all columns; the degree of a polynomial
    one, 0 for none

    each : the kind on every single column, "none", or "auto", which is linear up to
    ``AUTO_FEATURES`` columns

    groups, group_kernels : whether every group of columns gets kernels, and their kind

    bands, band_kernels : how many contiguous bands of columns, at most one per column, and their
    kind

    subspaces, subspace_size, subspace_kernel, subspace_seed : how many random choices of how many
    columns, their kind and their seed

    Kinds are the keys of ``kinds()``.
    """

    widths: int = 5
    laplacians: int = 0
    others: str = ""
    linear: bool = True
    degree: int = 2
    each: str = "auto"
    groups: bool = False
    group_kernels: str = "rbf"
    bands: int = 0
    band_kernels: str = "linear"
    subspaces: int = 0
    subspace_size: int = 3
    subspace_kernel: str = "rbf"
    subspace_seed: int = 0

    @classmethod
    def of(cls, settings: Any) -> Recipe:
        """The recipe among the fields of any object that has all of them."""
        return cls(**{field.name: getattr(settings, field.name) for field in fields(cls)})

    def specs(
        self,
        n_features: int,
        groups: Sequence[Any] = (),
    ) -> tuple[KernelSpec, ...]:
        """The kernels on a table of ``n_features`` columns; there may be none.

        ``groups`` are (name, column indices) pairs.
        """
        return (*self._on_all_columns(), *self._on_parts(n_features, groups))

    def _on_all_columns(self) -> Iterator[KernelSpec]:
        for width in width_multiples(self.widths):
            yield RBF(width, relative=True)
        for width in width_multiples(self.laplacians):
            yield Laplacian(width, relative=True)
        for key in filter(None, self.others.split(",")):
            usual: Any = KERNELS[key].usual()
            if usual.relative:
                yield from [replace(usual, width=w) for w in width_multiples(OTHER_WIDTHS)]
            else:
                yield usual
        if self.linear:
            yield Linear()
        if self.degree:
            yield Polynomial(self.degree)

    def _on_parts(self, n_features: int, groups: Sequence[Any]) -> Iterator[KernelSpec]:
        build = KernelDictionary
        each = self.each
        by_kind = kinds()
        if each == "auto":
            each = "linear" if n_features <= AUTO_FEATURES else "none"
        if each != "none":
            yield from build.per_feature(by_kind[each][0], n_features)
        if self.groups and groups:
            yield from build.per_group(by_kind[self.group_kernels], groups)
        unresolved: list[KernelSpec] = []
        if self.bands:
            unresolved += build.bands(min(self.bands, n_features), by_kind[self.band_kernels])
        if self.subspaces:
            size = min(self.subspace_size, n_features)
            chosen = by_kind[self.subspace_kernel]
            unresolved += build.random_subspaces(chosen, size, self.subspaces, self.subspace_seed)
        for spec in unresolved:
            yield spec.beside(n_features, (), 0)


def width_multiples(count: int) -> list[float]:
    """``count`` multiples of the median distance from 1/4 to 4, evenly spaced in their logarithm.

    They have three digits, and a single one is 1.
    """
    if count <= 1:
        return [1.0] * count
    return [float(f"{multiple:.3g}") for multiple in np.geomspace(1 / WIDEST, WIDEST, count)]
