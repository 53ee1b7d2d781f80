"""The recipe of a dictionary: which kinds of kernels to put on which columns, before any table is there.

A recipe is a handful of counts and names, frozen and hashable: what a rail of controls or a link can hold. `specs`
turns it into kernels once the number of columns and their groups are known; widths stay multiples of the training
median distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KERNELS, RBF, KernelSpec, Laplacian, Linear, Polynomial
from mklcore.kernels.spectra import BAND_KERNELS

AUTO_FEATURES = 40  # beyond this many columns "auto" does not offer one kernel per column
WIDEST = 4.0  # times the median distance; the narrowest is its inverse

OTHER_WIDTHS = 3  # of each kernel of all columns that has no count of its own
_SEVERAL: dict[str, tuple[KernelSpec, ...]] = {
    "both": (Linear(), RBF(1.0, relative=True)),
    "spectral": BAND_KERNELS,
}


class Kinds(Mapping[str, tuple[KernelSpec, ...]]):
    """What a builder puts on each of its choices of columns: every kernel of the registry as usual, and a few
    together.
    """

    def __getitem__(self, key: str) -> tuple[KernelSpec, ...]:
        return _SEVERAL[key] if key in _SEVERAL else (KERNELS[key].usual(),)

    def __iter__(self) -> Iterator[str]:
        return iter((*KERNELS, *_SEVERAL))

    def __len__(self) -> int:
        return len(KERNELS) + len(_SEVERAL)


KINDS = Kinds()


def other_kernels() -> tuple[str, ...]:
    """The kernels of the registry that a recipe has no count for."""
    return tuple(key for key, entry in KERNELS.items() if entry.spec not in (RBF, Laplacian, Linear, Polynomial))


@dataclass(frozen=True)
class Recipe:
    """What a dictionary is made of: kernels of all columns, then of single columns, groups, bands and random choices.

    widths, laplacians : how many RBF and Laplacian kernels of all columns, see ``width_multiples``
    others : other kernels of all columns, keys of ``KERNELS`` with commas between, each in three widths where it has
        one
    linear, degree : a linear kernel of all columns; a polynomial one, 0 for none
    each : the kind on every single column, "none", or "auto": linear up to ``AUTO_FEATURES`` columns
    groups, group_kernels : whether every group of columns gets kernels, and their kind
    bands, band_kernels : how many contiguous bands of columns, at most one per column, and their kind
    subspaces, subspace_size, subspace_kernel, subspace_seed : how many random choices of how many columns, and their
        kind

    Kinds are the keys of ``KINDS``. ParameterError for any other, and for counts that are not whole or below 0.
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

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ParameterError(f"{field.name} of a recipe is a whole number from 0 on; got {value!r}.")
            if field.name == "others":
                if unknown := set(filter(None, str(value).split(","))) - set(other_kernels()):
                    raise ParameterError(
                        f"others of a recipe are from {', '.join(other_kernels())}; got {unknown.pop()!r}."
                    )
            elif (
                field.type == "str" and value not in KINDS and not (field.name == "each" and value in ("auto", "none"))
            ):
                raise ParameterError(f"{field.name} of a recipe is one of {', '.join(KINDS)}; got {value!r}.")

    @classmethod
    def of(cls, settings: Any) -> Recipe:
        """The recipe among the fields of any object that has them all."""
        return cls(**{field.name: getattr(settings, field.name) for field in fields(cls)})

    def specs(self, n_features: int, groups: Sequence[Any] = ()) -> tuple[KernelSpec, ...]:
        """The kernels on a table of ``n_features`` columns with ``groups``, (name, column indices) pairs; may be
        none.
        """
        on_all: list[KernelSpec] = [RBF(width, relative=True) for width in width_multiples(self.widths)]
        on_all += [Laplacian(width, relative=True) for width in width_multiples(self.laplacians)]
        on_all += self._others()
        on_all += [Linear()] if self.linear else []
        on_all += [Polynomial(self.degree)] if self.degree else []
        return (*on_all, *self._on_parts(n_features, groups))

    def _others(self) -> Iterable[KernelSpec]:
        for key in filter(None, self.others.split(",")):
            usual: Any = KERNELS[key].usual()
            widths = width_multiples(OTHER_WIDTHS) if usual.is_relative else []
            yield from [replace(usual, width=width) for width in widths] or [usual]

    def _on_parts(self, n_features: int, groups: Sequence[Any]) -> Iterable[KernelSpec]:
        build, each = KernelDictionary, self.each
        if each == "auto":
            each = "linear" if n_features <= AUTO_FEATURES else "none"
        if each != "none":
            yield from build.per_feature(KINDS[each][0], n_features)
        if self.groups and groups:
            yield from build.per_group(KINDS[self.group_kernels], groups)
        if self.bands:
            yield from build.bands(min(self.bands, n_features), KINDS[self.band_kernels], n_features)
        if self.subspaces:
            size, kinds = min(self.subspace_size, n_features), KINDS[self.subspace_kernel]
            yield from build.random_subspaces(kinds, size, self.subspaces, self.subspace_seed, n_features)


def width_multiples(count: int) -> list[float]:
    """``count`` multiples of the median distance from 1/4 to 4, equal in ratio, to three digits; 1 for a single one."""
    if count <= 1:
        return [1.0] * count
    return [float(f"{multiple:.3g}") for multiple in np.geomspace(1 / WIDEST, WIDEST, count)]
