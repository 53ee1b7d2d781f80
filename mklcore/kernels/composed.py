"""Kernels made of others: products, sums, and kernels of pairs of things from a kernel of the things.

A product says "alike in this AND in that", a sum "alike in this or in that" under one weight. Both are positive
definite, since their parts are. Parts may see columns or sequences, with their own widths. Source: Kloft et al. (2011),
section 6.4 and Table 2 (products of kernels); Ben-Hur and Noble, Kernel methods for predicting protein-protein
interactions, 2005 (pairs).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.bases import base_diagonal, fill_base, seen_of
from mklcore.kernels.functions import KernelSpec, RowKernel
from mklcore.kernels.grams import median_distance

MOST_PARTS = 8


def values_of(spec: KernelSpec, left: Array, right: Array, upper: bool) -> Array:
    """Values (a, b) of a settled kernel between whole rows left (a, d) and right (b, d)."""
    base, kind = np.empty((len(left), len(right))), spec.base_key
    one = np.ascontiguousarray(seen_of(kind, left, spec.settled))
    other = one if left is right else np.ascontiguousarray(seen_of(kind, right, spec.settled))
    fill_base(kind, one, other, upper, base)
    out = np.zeros_like(base)
    spec.fill(base, upper, out)
    return out


def own_values(spec: KernelSpec, rows: Array) -> Array:
    """Values (a,) of a settled kernel between every row and itself."""
    kind = spec.base_key
    base, out = base_diagonal(kind, seen_of(kind, rows, spec.settled))[:, None], np.empty((len(rows), 1))
    spec.fill(base, False, out)
    return out[:, 0]


@dataclass(frozen=True, init=False, repr=False)
class Composed(RowKernel):
    """Two or more kernels, one value; made as ``Product(a, b)``."""

    parts: tuple[KernelSpec, ...]

    sign: ClassVar[str]
    least: ClassVar[int] = 2

    def __init__(self, *given: KernelSpec, parts: Sequence[KernelSpec] = (), features: Any = None, label: Any = None):
        object.__setattr__(self, "parts", tuple(given) + tuple(parts))
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "label", label)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        right = self.least <= len(self.parts) <= MOST_PARTS
        if not right or not all(isinstance(part, KernelSpec) for part in self.parts):
            raise ParameterError(
                f"{name} takes {self.least} to {MOST_PARTS} kernel specs, as in {name}(Linear(), RBF(1.0)); got "
                f"{self.parts!r}."
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"

    @property
    def is_relative(self) -> bool:
        return any(part.is_relative for part in self.parts)

    @property
    def reads_strings(self) -> bool:
        return all(part.reads_strings or part.features is not None for part in self.parts)

    @property
    def letters(self) -> tuple[int, ...]:
        return tuple(sorted({column for part in self.parts for column in part.letters}))

    @property
    def title(self) -> str:
        return f" {self.sign} ".join(part.title for part in self.parts)

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        return f" {self.sign} ".join(f"({part.name(feature_names)})" for part in self.parts)

    def columns(self, n_features: int) -> tuple[int, ...]:
        return tuple(sorted({column for part in self.parts for column in part.columns(n_features)}))

    def beside(self, n_features: int, sequences: Sequence[str], width: int) -> Self:
        return self._of([part.beside(n_features, sequences, width) for part in self.parts])

    def met(self, rows: Array, weights: Array | None = None) -> Self:
        return self._of([settled_part(part, rows, weights) for part in self.parts])

    def _of(self, parts: Sequence[KernelSpec]) -> Self:
        columns = {column for part in parts for column in part.settled}
        return replace(self, parts=tuple(parts), features=tuple(sorted(columns)))

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        out[...] = values_of(self.parts[0], left, right, upper)
        for part in self.parts[1:]:
            self._join(out, values_of(part, left, right, upper))

    def own(self, rows: Array) -> Array:
        out = own_values(self.parts[0], rows)
        for part in self.parts[1:]:
            self._join(out, own_values(part, rows))
        return out

    @abstractmethod
    def _join(self, out: Array, more: Array) -> None:
        """Take the values ``more`` of one more part into ``out``."""


def settled_part(part: KernelSpec, rows: Array, weights: Array | None = None) -> KernelSpec:
    """A part on its columns, its width in absolute terms."""
    met = part.met(rows) if weights is None else part.met(rows, weights)
    if not met.is_relative:
        return met
    seen = np.ascontiguousarray(seen_of(met.base_key, rows, met.settled))
    return met.at(met.settled, median_distance(met, seen, np.empty((0, 0)), weights))


@dataclass(frozen=True, init=False, repr=False)
class Product(Composed):
    """k(x, z) = k_1(x, z) k_2(x, z) ...: alike only where all parts say so.

    Parameters
    ----------
    *given : KernelSpec
        The kernels to combine, as positional arguments.
    parts : sequence of KernelSpec
        The kernels to combine, as a keyword.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.

    Examples
    --------
    >>> from mklcore.kernels.functions import RBF, Linear
    >>> Product(Linear(features=(0,)), RBF(1.0, features=(1, 2))).name()
    '(linear x0) × (RBF 1, x1, x2)'
    """

    family: ClassVar[str] = "product"
    sign: ClassVar[str] = "×"

    def _join(self, out: Array, more: Array) -> None:
        out *= more


@dataclass(frozen=True, init=False, repr=False)
class Sum(Composed):
    """k(x, z) = k_1(x, z) + k_2(x, z) + ...: several kernels that share one weight.

    Parameters
    ----------
    *given : KernelSpec
        The kernels to combine, as positional arguments.
    parts : sequence of KernelSpec
        The kernels to combine, as a keyword.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    """

    family: ClassVar[str] = "sum"
    sign: ClassVar[str] = "+"

    def _join(self, out: Array, more: Array) -> None:
        out += more


COMPOSED: dict[str, type[Composed]] = {"product": Product, "sum": Sum}


def pair_grams(K: Any, pairs: Any, others: Any = None, *, ordered: bool = False) -> Array:
    """Kernels of pairs from kernels of things: an edge of a network is alike another where its ends are.

        k((i, j), (k, l)) = K_ik K_jl + K_il K_jk,   or the first product alone for ``ordered`` pairs

    ``K`` (M, n, n) or (n, n) between things; ``pairs`` (a, 2) their indices, ``others`` (b, 2), the same pairs by
    default. Returns (M, a, b), a stack for precomputed kernels, or blocks of test pairs. KernelError for indices there
    are not. Source: specification of the lp-norm solver, section 6.4 of Kloft et al. (2011); Ben-Hur and Noble (2005).

    >>> pair_grams(np.eye(3), [(0, 1), (1, 2)])[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    values = np.asarray(getattr(K, "values", K), dtype=np.float64)
    values = values[None] if values.ndim == 2 else values
    left = _checked(pairs, values.shape[-1])
    right = left if others is None else _checked(others, values.shape[-1])
    (i, j), (p, q) = left.T, right.T
    out = np.empty((len(values), len(left), len(right)))
    for gram, part in zip(values, out, strict=True):
        part[...] = gram[i[:, None], p] * gram[j[:, None], q]
        if not ordered:
            part += gram[i[:, None], q] * gram[j[:, None], p]
    return out


def _checked(pairs: Any, n: int) -> Indices:
    found = np.asarray(pairs)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu" or not len(found):
        raise KernelError(f"Pairs are whole numbers of shape (a, 2), at least one pair; got shape {found.shape}.")
    if found.min() < 0 or found.max() >= n:
        raise KernelError(f"Pairs name things from 0 to {n - 1}; got {int(found.min())} to {int(found.max())}.")
    return found.astype(np.int64)
