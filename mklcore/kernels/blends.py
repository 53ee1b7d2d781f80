"""Kernels of one machine: sums of many kernels with fixed shares, and kernels of values and ranks.

    blend    k(x, z) = sum_m s_m k_m(x, z),    s_m >= 0 fixed before the machine is fitted
    ranked   k(x, z) = exp(-sum_j D_j(x_j, z_j) / s)

where D_j is half the difference in value plus half the difference in rank. A numeric column becomes
two columns: half its standardised value, and half its standardised rank among the training rows. So
an outlying value moves a row only as far as its rank allows, and a skewed column counts as much as
an even one. Rows that differ in a category have the distance 2. Each of these columns is a
piecewise linear function of the original one, and constant beyond the training range, so that a new
row is never farther away than the training rows are. An RBF kernel takes squared differences
instead. Both are products over columns, and a blend is a sum of such products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mklcore.arrays import Array, Columns
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.functions import (
    COMPOSED,
    RBF,
    Composed,
    KernelSpec,
    Laplacian,
    Linear,
    Medians,
)
from mklcore.kernels.interactions import ArrayRecord, summed_values

# kernel values of one block of rows, and the fewest rows of a block
_BLOCK = 500_000
_LEAST_ROWS = 64


@dataclass(frozen=True, eq=False, repr=False)
class ColumnCurve(ArrayRecord):
    """The columns that one ``column`` of a table becomes, as piecewise linear functions.

    They have the ``heights`` (s, u) at the values ``knots`` (u,), and are constant beyond them.
    """

    column: int
    knots: Array
    heights: Array

    def __post_init__(self) -> None:
        self._freeze_arrays("knots", "heights")
        knots = self.knots
        heights = self.heights
        is_curve = knots.ndim == 1 and knots.size > 1 and bool(np.all(np.diff(knots) > 0.0))
        is_table = heights.ndim == 2 and heights.shape[1:] == knots.shape
        if not is_curve or not is_table or not np.isfinite(heights).all():
            raise KernelError(
                "A column curve has knots (u,) that rise and finite heights (s, u) at them."
            )

    @classmethod
    def of(
        cls,
        column: int,
        values: Array,
        weights: Array | None,
        is_category: bool,
    ) -> Self:
        """The curves of a column with training ``values`` (n,) that are not all equal."""
        low = float(values.min())
        high = float(values.max())
        if is_category:
            return cls(column, np.array([low, high]), np.array([[0.0, 1.0]]))
        nodes, shares = summed_values(values[:, None], weights, summed=True)
        known = nodes[:, 0]
        ranks = np.cumsum(shares) - 0.5 * shares
        # Means of groups lie inside the range of the column; its ends then have the ranks 0 and 1.
        inside = (known > low) & (known < high)
        first = 0.0 if known[0] > low else ranks[0]
        last = 1.0 if known[-1] < high else ranks[-1]
        knots = np.array([low, *known[inside], high])
        knot_ranks = np.array([first, *ranks[inside], last])
        mean = float(shares @ known)
        variance = float(shares @ (known - mean) ** 2)
        rank_variance = float(shares @ (ranks - 0.5) ** 2)
        standard_values = (knots - mean) / (np.sqrt(variance) or 1.0)
        standard_ranks = (knot_ranks - 0.5) / (np.sqrt(rank_variance) or 1.0)
        return cls(column, knots, np.array([standard_values, standard_ranks]) / 2.0)


@dataclass(frozen=True, init=False, repr=False)
class Ranked(Composed):
    """k(x, z) of an RBF or Laplacian kernel on values and ranks of every column.

    See `mklcore.kernels.blends`.

    Parameters
    ----------
    *given : RBF or Laplacian
        One kernel, as a positional argument; its width counts differences of values and ranks.
    parts : sequence of KernelSpec
        The same kernel, as a keyword.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    categories : tuple of int
        Columns of 0 and 1 that tell which value a category has.
    curves : sequence
        Curves that replace the columns, computed from the training rows.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.kernels.dictionary import KernelDictionary
    >>> ranked = Ranked(Laplacian(1.0, relative=True))
    >>> KernelDictionary((ranked,)).grams(load_sample("iris")).values.shape
    (1, 150, 150)
    """

    categories: Columns = ()
    curves: tuple[ColumnCurve, ...] = ()

    family = "ranked"
    hue = "#882255"
    min_parts = 1
    max_parts = 1

    def __init__(
        self,
        *given: KernelSpec,
        parts: Sequence[KernelSpec] = (),
        features: Any = None,
        label: Any = None,
        categories: Sequence[int] = (),
        curves: Sequence[ColumnCurve] = (),
    ):
        self.__dict__.update(categories=tuple(map(int, categories)), curves=tuple(curves))
        super().__init__(*given, parts=parts, features=features, label=label)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.parts[0], RBF | Laplacian):
            raise ParameterError(
                f"Ranked takes an RBF or a Laplacian kernel; got {self.parts[0]!r}."
            )
        if not self.curves:
            return
        width = sum(len(curve.heights) for curve in self.curves)
        is_inside = {curve.column for curve in self.curves} <= set(self.settled)
        if not is_inside or self.parts[0].features not in (None, tuple(range(width))):
            raise KernelError("The curves of a ranked kernel are not those of its columns.")

    def __repr__(self) -> str:
        arguments = f"features={self.features!r}, categories={self.categories!r}"
        return f"Ranked({self.parts[0]!r}, {arguments})"

    @property
    def title(self) -> str:
        return f"{self.parts[0].title} of values and ranks"

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        return self.title if self.label is None else f"{self.title}, {self.label}"

    def beside(self, n_features: int, sequences: Sequence[str], width: int) -> Self:
        return replace(self, features=self.columns(n_features))

    def columns(self, n_features: int) -> Columns:
        return KernelSpec.columns(self, n_features)

    def settle(
        self, rows: Array, weights: Array | None = None, medians: Medians | None = None
    ) -> Self:
        columns = self.columns(rows.shape[1])
        curves = self.curves
        if not curves:
            varying = [j for j in columns if np.ptp(rows[:, j]) > 0.0]
            curves = tuple(
                ColumnCurve.of(j, rows[:, j], weights, j in self.categories) for j in varying
            )
        settled = replace(self, features=columns, curves=curves)
        part = replace(self.parts[0], features=None)
        return replace(settled, parts=(part.settle(settled.seen(rows), weights),))

    def seen(self, rows: Array) -> Array:
        """The values and ranks (n, q) of whole rows (n, d)."""
        if not self.curves:
            return np.zeros((len(rows), 1))
        columns = []
        for curve in self.curves:
            values = rows[:, curve.column]
            columns += [np.interp(values, curve.knots, heights) for heights in curve.heights]
        return np.column_stack(columns)

    def places(
        self,
        groups: Mapping[int, Sequence[int]],
    ) -> dict[int, Columns]:
        """The columns of `seen` that belong to each group of columns that vary in training."""
        group_of: dict[int, int] = {}
        for key, columns in groups.items():
            group_of |= dict.fromkeys(columns, key)
        places: dict[int, Columns] = {}
        start = 0
        for curve in self.curves:
            key = group_of[curve.column]
            stop = start + len(curve.heights)
            places[key] = (*places.get(key, ()), *range(start, stop))
            start = stop
        return places

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        left_seen = self.seen(left)
        right_seen = left_seen if left is right else self.seen(right)
        out[...] = self.parts[0].values(left_seen, right_seen, upper)

    def own(self, rows: Array) -> Array:
        return np.ones(len(rows))


@dataclass(frozen=True, init=False, repr=False)
class Blend(Composed):
    """k(x, z) = sum_m s_m k_m(x, z): many kernels with fixed shares for one machine.

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
    shares : sequence of float
        The share of every kernel, above 0.

    Examples
    --------
    >>> kernel = Blend(Linear(features=(0,)), RBF(1.0), shares=(0.25, 0.75))
    >>> kernel.settle(np.zeros((2, 2))).values(np.eye(2), np.zeros((1, 2))).round(3).tolist()
    [[0.455], [0.455]]
    """

    shares: tuple[float, ...] = ()

    family = "blend"
    hue = "#332288"
    min_parts = 1
    max_parts = 10_000

    def __init__(
        self,
        *given: KernelSpec,
        parts: Sequence[KernelSpec] = (),
        features: Any = None,
        label: Any = None,
        shares: Sequence[float] = (),
    ):
        self.__dict__["shares"] = tuple(map(float, shares))
        super().__init__(*given, parts=parts, features=features, label=label)

    def __post_init__(self) -> None:
        super().__post_init__()
        is_positive = all(0.0 < share < np.inf for share in self.shares)
        if len(self.shares) != len(self.parts) or not is_positive:
            raise ParameterError(
                "Blend takes one share above 0 for each of its kernels; got "
                f"{len(self.shares)} shares of {len(self.parts)} kernels."
            )

    def __repr__(self) -> str:
        return f"Blend({', '.join(map(repr, self.parts))}, shares={self.shares!r})"

    @property
    def title(self) -> str:
        return f"blend of {len(self.parts)} kernels"

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        return self.label or self.title

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        # Every kernel of a block of rows is added while the block is in the cache, and where only
        # the upper triangle is needed a block begins at its own first row.
        step = max(_LEAST_ROWS, _BLOCK // max(len(right), 1))
        for top in range(0, len(left), step):
            rows = slice(top, top + step)
            first = top if upper else 0
            self._add_up(left[rows], right[first:], out[rows, first:])

    def _add_up(self, left: Array, right: Array, out: Array) -> None:
        """Write the sum of all kernels of rows left (a, d) and right (b, d) to ``out`` (a, b)."""
        # Linear kernels of many columns are one product of matrices.
        slopes = np.zeros(left.shape[1])
        out[...] = 0.0
        for part, share in zip(self.parts, self.shares, strict=True):
            if isinstance(part, Linear):
                slopes[list(part.settled)] += share
                continue
            values = part.values(left, right)
            values *= share
            out += values
        used = np.flatnonzero(slopes)
        if used.size:
            out += (left[:, used] * slopes[used]) @ right[:, used].T

    def own(self, rows: Array) -> Array:
        diagonals = np.array([part.own(rows) for part in self.parts])
        blended: Array = np.asarray(self.shares) @ diagonals
        return blended


COMPOSED[Ranked.family] = Ranked
COMPOSED[Blend.family] = Blend
