"""Kernels of one machine: many of them at fixed shares, and kernels that see values and ranks of
every column.

    blend    k(x, z) = sum_m s_m k_m(x, z),    s_m >= 0 fixed before the machine is fitted
    ranked   k(x, z) = exp(-sum_j D_j(x_j, z_j) / s),    D_j half the difference in value and half that in rank

A column of numbers becomes two: half its standardised value and half its standardised rank among
the training rows. So one far-off value moves a row as far as its rank allows, and a skewed column
counts as much as an even one. Rows that differ in a category are 2 apart. Each of these columns is
a piecewise linear function of the one it is made of, level beyond the training range, so that a new
row is never farther away than the training rows are. An RBF kernel takes squared differences
instead. Both are products over columns, and a blend is a sum of such products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mklcore.arrays import Array, read_only
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.functions import COMPOSED, RBF, Composed, KernelSpec, Laplacian, Linear
from mklcore.kernels.interactions import summed_values


@dataclass(frozen=True, eq=False, repr=False)
class ColumnCurve:
    """What one ``column`` of a table becomes: ``heights`` (s, u) at the values ``knots`` (u,),
    straight between them and level beyond.
    """

    column: int
    knots: Array
    heights: Array

    def __post_init__(self) -> None:
        for name in ("knots", "heights"):
            object.__setattr__(
                self, name, read_only(np.ascontiguousarray(getattr(self, name), dtype=np.float64))
            )
        knots = self.knots
        heights = self.heights
        is_table = (
            knots.ndim == 1
            and heights.ndim == 2
            and heights.shape[1:] == knots.shape
            and knots.size > 1
        )
        if not is_table or not np.all(np.diff(knots) > 0.0) or not np.isfinite(heights).all():
            raise KernelError(
                "A column curve has knots (u,) that rise and finite heights (s, u) at them."
            )

    @property
    def _key(self) -> tuple[int, bytes, bytes]:
        return self.column, self.knots.tobytes(), self.heights.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ColumnCurve) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @classmethod
    def of(cls, column: int, values: Array, weights: Array | None, is_category: bool) -> Self:
        """The curves of the training ``values`` (n,) that are not all the same."""
        low = float(values.min())
        high = float(values.max())
        if is_category:
            return cls(column, np.array([low, high]), np.array([[0.0, 1.0]]))
        nodes, shares = summed_values(values[:, None], weights, summed=True)
        known = nodes[:, 0]
        ranks = np.cumsum(shares) - 0.5 * shares
        # Means of groups end inside the range of the column: its ends have the ranks 0 and 1.
        inside = (known > low) & (known < high)
        ends = [0.0 if known[0] > low else ranks[0], 1.0 if known[-1] < high else ranks[-1]]
        knots = np.array([low, *known[inside], high])
        places = np.array([ends[0], *ranks[inside], ends[1]])
        mean = float(shares @ known)
        spread = float(np.sqrt(shares @ (known - mean) ** 2)) or 1.0
        rank_spread = float(np.sqrt(shares @ (ranks - 0.5) ** 2)) or 1.0
        return cls(
            column, knots, np.array([(knots - mean) / spread, (places - 0.5) / rank_spread]) / 2.0
        )


@dataclass(frozen=True, init=False, repr=False)
class Ranked(Composed):
    """k(x, z) of an RBF or Laplacian kernel on values and ranks of every column, see
    `mklcore.kernels.blends`.

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
        What the columns become, settled on the training rows.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.kernels.dictionary import KernelDictionary
    >>> ranked = Ranked(Laplacian(1.0, relative=True))
    >>> KernelDictionary((ranked,)).grams(load_sample("iris")).values.shape
    (1, 150, 150)
    """

    categories: tuple[int, ...] = ()
    curves: tuple[ColumnCurve, ...] = ()

    family: ClassVar[str] = "ranked"
    hue: ClassVar[str] = "#882255"
    least: ClassVar[int] = 1
    most: ClassVar[int] = 1

    def __init__(
        self,
        *given: KernelSpec,
        parts: Sequence[KernelSpec] = (),
        features: Any = None,
        label: Any = None,
        categories: Sequence[int] = (),
        curves: Sequence[ColumnCurve] = (),
    ):
        object.__setattr__(self, "categories", tuple(int(j) for j in categories))
        object.__setattr__(self, "curves", tuple(curves))
        super().__init__(*given, parts=parts, features=features, label=label)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.parts[0], RBF | Laplacian):
            raise ParameterError(
                f"Ranked takes an RBF or a Laplacian kernel; got {self.parts[0]!r}."
            )
        width = sum(len(one.heights) for one in self.curves)
        if self.curves and not (
            {one.column for one in self.curves} <= set(self.settled)
            and self.parts[0].features in (None, tuple(range(width)))
        ):
            raise KernelError("The curves of a ranked kernel are not those of its columns.")

    def __repr__(self) -> str:
        return (
            f"Ranked({self.parts[0]!r}, features={self.features!r}, categories={self.categories!r})"
        )

    @property
    def title(self) -> str:
        return f"{self.parts[0].title} of values and ranks"

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        return self.title if self.label is None else f"{self.title}, {self.label}"

    def beside(self, n_features: int, sequences: Sequence[str], width: int) -> Self:
        return replace(self, features=self.columns(n_features))

    def columns(self, n_features: int) -> tuple[int, ...]:
        return KernelSpec.columns(self, n_features)

    def settle(
        self, rows: Array, weights: Array | None = None, medians: dict[Any, float] | None = None
    ) -> Self:
        columns = self.columns(rows.shape[1])
        curves = self.curves
        if not curves:
            varying = [j for j in columns if np.ptp(rows[:, j]) > 0.0]
            curves = tuple(
                ColumnCurve.of(j, rows[:, j], weights, j in self.categories) for j in varying
            )
        known = replace(self, features=columns, curves=curves)
        part = replace(self.parts[0], features=None)
        return replace(known, parts=(part.settle(known.seen(rows), weights),))

    def seen(self, rows: Array) -> Array:
        """The values and ranks (n, q) of whole rows (n, d)."""
        parts = [
            np.interp(rows[:, one.column], one.knots, height)
            for one in self.curves
            for height in one.heights
        ]
        return np.column_stack(parts) if parts else np.zeros((len(rows), 1))

    def places(self, groups: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
        """Where in `seen` the columns of every group are, by the keys of ``groups``; those that
        vary in training.
        """
        home = {column: key for key, columns in groups.items() for column in columns}
        found: dict[int, list[int]] = {}
        start = 0
        for one in self.curves:
            stop = start + len(one.heights)
            found.setdefault(home[one.column], []).extend(range(start, stop))
            start = stop
        return {key: tuple(own) for key, own in found.items()}

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        own = self.seen(left)
        out[...] = self.parts[0].values(own, own if left is right else self.seen(right), upper)

    def own(self, rows: Array) -> Array:
        return np.ones(len(rows))


@dataclass(frozen=True, init=False, repr=False)
class Blend(Composed):
    """k(x, z) = sum_m s_m k_m(x, z): many kernels at fixed shares, so that one machine learns from
    all of them.

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

    family: ClassVar[str] = "blend"
    hue: ClassVar[str] = "#332288"
    least: ClassVar[int] = 1
    most: ClassVar[int] = 10_000

    def __init__(
        self,
        *given: KernelSpec,
        parts: Sequence[KernelSpec] = (),
        features: Any = None,
        label: Any = None,
        shares: Sequence[float] = (),
    ):
        object.__setattr__(self, "shares", tuple(float(share) for share in shares))
        super().__init__(*given, parts=parts, features=features, label=label)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.shares) != len(self.parts) or not all(
            0.0 < share < np.inf for share in self.shares
        ):
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

    def parted(self) -> tuple[Self | None, Self | None]:
        """The blend of the kernels that see no ranks, and of those that do; None where there are
        none.
        """
        shares = dict(zip(self.parts, self.shares, strict=True))
        halves = (
            [p for p in self.parts if isinstance(p, Ranked) is is_ranked]
            for is_ranked in (False, True)
        )
        plain, ranked = (
            replace(self, parts=tuple(h), shares=tuple(shares[p] for p in h)) if h else None
            for h in halves
        )
        return plain, ranked

    def narrowed(self, times: float, rows: Array) -> Self:
        """The blend with ranked kernels so many times narrower, at the variance that they have on
        ``rows``.
        """
        parts = list[KernelSpec]()
        shares = list[float]()
        for part, share in zip(self.parts, self.shares, strict=True):
            if isinstance(part, Ranked) and isinstance(part.parts[0], RBF | Laplacian):
                radial = part.parts[0]
                finer = replace(part, parts=(replace(radial, width=radial.width / times),))
                means = [float(one.settle(rows).values(rows, rows).mean()) for one in (part, finer)]
                parts.append(finer)
                shares.append(share * (1.0 - means[0]) / max(1.0 - means[1], 1e-12))
            else:
                parts.append(part)
                shares.append(share)
        return replace(self, parts=tuple(parts), shares=tuple(shares))

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        # Linear kernels of many columns are one product of matrices.
        slopes = np.zeros(left.shape[1])
        out[...] = 0.0
        for part, share in zip(self.parts, self.shares, strict=True):
            if isinstance(part, Linear):
                slopes[list(part.settled)] += share
            else:
                out += share * part.values(left, right, upper)
        used = np.flatnonzero(slopes)
        if used.size:
            out += (left[:, used] * slopes[used]) @ right[:, used].T

    def own(self, rows: Array) -> Array:
        found: Array = np.asarray(self.shares) @ np.array([part.own(rows) for part in self.parts])
        return found


COMPOSED[Ranked.family] = Ranked
COMPOSED[Blend.family] = Blend
