"""Kernel functions k(x, z): what each one is, how it is named, and the function that fills its Gram
matrix.

A kernel here is a function of one *base* number per pair of rows, so kernels on the same columns
share the base:

    inner     <x, z>                Linear, Polynomial
    squared   ||x - z||_2^2         RBF, Matern
    absolute  ||x - z||_1           Laplacian

A kernel that is no such function is a `RowKernel`: it fills its matrix from whole rows.

A spec is frozen and hashable. It may be unresolved: `relative=True` measures the width in median
distances of the training rows, and `LazyColumns` choose columns once their number is known.
`resolved` settles both on training rows. Products and sums of kernels say "alike in this AND in
that" and "alike in this or in that" under one weight. Adding a kernel is one class and one line in
`KERNELS`: its fields are numbers, its `code` is what links call it, its `hue` what figures draw it
in.

Source: Kloft et al. (2011), section 6.4 and Table 2 (products of kernels).
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.fills import column_median, fill_distances, fill_exponential
from mklcore.parameters import Parameter, check_whole

MEDIAN_ROWS = 2000  # from which median distances are taken
MOST_PARTS = 8  # of a product or a sum
WIDTH_RANGE = (1e-100, 1e100)
MAX_DEGREE = 100
NU_RANGE = (0.1, 20.0)
BASES = ("inner", "squared", "absolute")  # numbers per pair of rows that kernels are functions of


def _as_real(owner: str, name: str, value: Any, low: float, high: float) -> float:
    if (
        isinstance(value, bool | np.bool_)
        or not isinstance(value, Real)
        or not low <= float(value) <= high
    ):
        raise ParameterError(
            f"{owner}: {name} must be a number between {low:g} and {high:g}, got {value!r}."
        )
    return float(value)


class LazyColumns(ABC):
    """Columns chosen once their number is known; subclasses are frozen dataclasses."""

    @abstractmethod
    def resolve(self, n_features: int) -> tuple[int, ...]:
        """The indices of its columns where there are ``n_features``."""


def as_features(owner: str, features: Any) -> tuple[int, ...] | LazyColumns | None:
    if features is None or isinstance(features, LazyColumns):
        return features
    if isinstance(features, str) or not isinstance(features, Iterable):
        raise ParameterError(
            f"{owner}: features must be a tuple of column indices or None, got {features!r}."
        )
    columns = list(features)
    if not columns:
        raise ParameterError(
            f"{owner}: features is empty; give at least one column index, or None for all columns."
        )
    for column in columns:
        if isinstance(column, bool | np.bool_) or not isinstance(column, Integral) or column < 0:
            raise ParameterError(
                f"{owner}: features must hold column indices from 0 on, got {column!r}."
            )
    if len(set(columns)) != len(columns):
        raise ParameterError(
            f"{owner}: features names a column twice: {tuple(columns)}. Give each column once."
        )
    return tuple(int(column) for column in columns)


def columns_as_text(features: Sequence[int], feature_names: Sequence[str] | None = None) -> str:
    """Columns as a reader says them: "worst radius", "x0, x3, x7", "x0 … x9", "x0, x4, … (12
    columns)".
    """
    known = () if feature_names is None else feature_names
    words = [str(known[j]) if j < len(known) else f"x{j}" for j in features]
    if len(words) <= 3:
        return ", ".join(words)
    if all(b == a + 1 for a, b in pairwise(features)):
        return f"{words[0]} … {words[-1]}"
    return f"{words[0]}, {words[1]}, … ({len(words)} columns)"


@dataclass(frozen=True, kw_only=True, repr=False)
class KernelSpec(ABC):
    """One kernel function on some columns; `features=None` means all, `label` is what names call
    those columns.
    """

    features: tuple[int, ...] | LazyColumns | None = None
    label: str | None = None

    family: ClassVar[str]  # what figures and tables group it under
    base: ClassVar[str]  # the numbers it is a function of: inner, squared or absolute
    # letters by which links and edited tables call it; its key in KERNELS where empty
    code: ClassVar[str] = ""
    hue: ClassVar[str] = ""  # #rrggbb; one that no other family has where empty
    # whether it is its base itself: sums over kernels are then products of columns
    is_base: ClassVar[bool] = False
    # whether its width waits for the training rows, as a multiple of their median distance
    relative = False
    # whether it sees a sequence and not the columns of the table
    reads_strings: ClassVar[bool] = False
    # columns read as letters of a sequence, once known; these are never standardised
    letters: ClassVar[Any] = ()
    # where it is exp(-rate * base): one loop over many kernels can fill it
    rate: ClassVar[Any] = None

    def __post_init__(self) -> None:
        kind = type(self)
        if kind.base not in BASES and not isinstance(self, RowKernel):
            raise KernelError(
                f"{kind.__name__} says base = {kind.base!r}, and there is no such base: "
                f"the bases are {', '.join(BASES)}. A kernel that is a function of none of "
                "these derives from RowKernel."
            )
        object.__setattr__(self, "features", as_features(kind.__name__, self.features))
        if self.label is not None:
            object.__setattr__(self, "label", str(self.label))

    def __repr__(self) -> str:
        given = [
            f
            for f in fields(self)
            if f.repr and (f.default is MISSING or getattr(self, f.name) != f.default)
        ]
        return f"{type(self).__name__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in given)})"

    @classmethod
    def numbers(cls) -> tuple[Field[Any], ...]:
        """The fields that say which function it is, in order: not its columns, nor whether a width
        is relative.
        """
        return tuple(
            one
            for one in fields(cls)
            if one.repr and one.name not in ("features", "label", "relative")
        )

    def beside(self, n_features: int, sequences: Sequence[str], width: int) -> Self:
        """The kernel on a table of ``n_features`` columns with the letters of ``sequences`` beside
        them, (n, d + W S).
        """
        label = "" if self.features is None else str(self.features)
        is_named = self.label is not None or isinstance(self.features, tuple)
        return replace(
            self, features=self.columns(n_features), label=self.label if is_named else label
        )

    def settle(
        self, rows: Array, weights: Array | None = None, medians: dict[Any, float] | None = None
    ) -> Self:
        """The kernel on its columns of the (standardised) training rows (n, d), widths in absolute
        terms.

        ``weights`` (n,) of the rows, of which one of weight w counts as w rows; ``medians`` :
        distances that are known already, by base and columns.
        """
        columns = self.columns(rows.shape[1])
        known = {} if medians is None else medians
        other = copy.copy(self)  # the new fields need no check
        other.__dict__["features"] = columns
        if self.relative:
            if (self.base, columns) not in known:
                known[self.base, columns] = median_distance(
                    self.base, rows[:, list(columns)], weights
                )
            other.__dict__.update(
                width=self.__dict__["width"] * known[self.base, columns], relative=False
            )
        return other

    @property
    def settled(self) -> tuple[int, ...]:
        """The column indices of a kernel that has met its table, as those of a stack have;
        KernelError before.
        """
        if not isinstance(self.features, tuple):
            raise KernelError(
                f"{self!r} has met no table yet, so its columns are not known; use "
                "columns(n_features)."
            )
        return self.features

    def columns(self, n_features: int) -> tuple[int, ...]:
        """The column indices once their number is known; KernelError where there are too few."""
        if self.features is None:
            return tuple(range(n_features))
        features = (
            self.features.resolve(n_features)
            if isinstance(self.features, LazyColumns)
            else self.features
        )
        if max(features) >= n_features:
            raise KernelError(
                f"{self!r} needs column {max(features)}, but the data have {n_features} "
                f"feature(s), numbered from 0. Choose columns below {n_features}."
            )
        return features

    @abstractmethod
    def fill(self, base: Array, upper: bool, out: Array) -> None:
        """Kernel values of base numbers (a, b) into out (a, b); only j >= i when `upper`."""

    def own(self, rows: Array) -> Array:
        """Values of a settled kernel between every row (a, d) and itself, (a,)."""
        out = np.empty((len(rows), 1))
        base = np.zeros(len(rows))
        if self.base == "inner":
            seen = np.take(rows, self.settled, axis=1)
            base = np.einsum("ij,ij->i", seen, seen)
        self.fill(base[:, None], False, out)
        return out[:, 0]

    def values(self, left: Array, right: Array, upper: bool = False) -> Array:
        """Values (a, b) of a settled kernel between whole rows left (a, d) and right (b, d)."""
        base = np.empty((len(left), len(right)))
        out = np.zeros((len(left), len(right)))
        fill_base(self.base, self.settled, left, right, upper, base)
        self.fill(base, upper, out)
        return out

    @property
    @abstractmethod
    def title(self) -> str:
        """The kernel without its columns: "linear", "RBF 0.5 × median"."""

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        """Kernel and columns: "linear worst radius", "RBF 0.5 × median, band 2 of 8"."""
        where = self.label
        if where is None:
            if self.features is None:
                return self.title
            columns = self.features
            where = (
                str(columns)
                if isinstance(columns, LazyColumns)
                else columns_as_text(columns, feature_names)
            )
        if not where:  # all columns of a table with sequences beside it
            return self.title
        return f"{self.title}{', ' if ' ' in self.title else ' '}{where}"


@dataclass(frozen=True, kw_only=True, repr=False)
class RowKernel(KernelSpec):
    """A kernel whose values are computed from whole rows: a subclass says `between`, and `own` for
    a row with itself.

    Rows come as the table has them, standardised where the dictionary says so, with every column: a
    subclass picks those it sees (`settled`). What it writes has to be positive semidefinite and
    must not depend on which other rows are there.
    """

    base: ClassVar[str] = "rows"

    @abstractmethod
    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        """Kernel values of rows left (a, d) and right (b, d) into out (a, b); only j >= i has to be
        right when `upper`.
        """

    def own(self, rows: Array) -> Array:
        """Kernel values of every row with itself, (a,)."""
        return np.array([self.values(row[None], row[None])[0, 0] for row in rows])

    def values(self, left: Array, right: Array, upper: bool = False) -> Array:
        out = np.zeros((len(left), len(right)))
        self.between(left, right, upper, out)
        return out

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        np.copyto(out, base)


Base = str | RowKernel


@dataclass(frozen=True, repr=False)
class Linear(KernelSpec):
    """k(x, z) = x'z.

    Parameters
    ----------
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    """

    family: ClassVar[str] = "linear"
    base: ClassVar[str] = "inner"
    code: ClassVar[str] = "lin"
    hue: ClassVar[str] = "#0072B2"
    is_base: ClassVar[bool] = True
    title: ClassVar[str] = "linear"

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        np.copyto(out, base)


@dataclass(frozen=True, repr=False)
class Polynomial(KernelSpec):
    """k(x, z) = (x'z + coef0)^degree, with a whole degree from 1 to 100 and coef0 >= 0.

    Parameters
    ----------
    degree : int
        Degree, from 1.
    coef0 : float, default 1.0
        Constant added to the inner product.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    """

    degree: int
    coef0: float = 1.0

    family: ClassVar[str] = "polynomial"
    base: ClassVar[str] = "inner"
    code: ClassVar[str] = "pol"
    hue: ClassVar[str] = "#009E73"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("Polynomial: degree", self.degree, 1, MAX_DEGREE)
        object.__setattr__(self, "degree", int(self.degree))
        object.__setattr__(self, "coef0", _as_real("Polynomial", "coef0", self.coef0, 0.0, 1e100))

    @property
    def title(self) -> str:
        return f"polynomial {self.degree}" + (
            "" if self.coef0 == 1.0 else f" (coef0 {self.coef0:g})"
        )

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        np.add(base, self.coef0, out=out)
        shifted = out.copy()
        for _ in range(self.degree - 1):
            out *= shifted


@dataclass(frozen=True, repr=False)
class _Width(KernelSpec):
    """A kernel that falls with distance: `width` in units of the columns, or of their median
    distance.
    """

    width: float
    relative: bool = field(default=False, kw_only=True)

    word: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(
            self, "width", _as_real(type(self).__name__, "width", self.width, *WIDTH_RANGE)
        )
        if not isinstance(self.relative, bool | np.bool_):
            raise ParameterError(
                f"{type(self).__name__}: relative must be True or False, got {self.relative!r}."
            )
        object.__setattr__(self, "relative", bool(self.relative))

    @property
    def title(self) -> str:
        return f"{self.word} {self.width:g}" + (" × median" if self.relative else "")

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        fill_exponential(base, self.rate, upper, out)


@dataclass(frozen=True, repr=False)
class RBF(_Width):
    """k(x, z) = exp(-||x - z||_2^2 / (2 width^2)); `relative=True`: width in median distances of
    the training rows.

    Parameters
    ----------
    width : float
        Width of the kernel in units of the columns, > 0.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    relative : bool, default False
        Whether the width counts median distances between training rows.
    """

    family: ClassVar[str] = "rbf"
    base: ClassVar[str] = "squared"
    code: ClassVar[str] = "rbf"
    hue: ClassVar[str] = "#E69F00"
    word: ClassVar[str] = "RBF"

    @property
    def rate(self) -> float:
        return 0.5 / (self.width * self.width)


@dataclass(frozen=True, repr=False)
class Laplacian(_Width):
    """k(x, z) = exp(-||x - z||_1 / width); `relative=True`: width in median L1 distances of the
    training rows.

    Parameters
    ----------
    width : float
        Width of the kernel in units of the columns, > 0.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    relative : bool, default False
        Whether the width counts median distances between training rows.
    """

    family: ClassVar[str] = "laplacian"
    base: ClassVar[str] = "absolute"
    code: ClassVar[str] = "lap"
    hue: ClassVar[str] = "#CC79A7"
    word: ClassVar[str] = "Laplacian"

    @property
    def rate(self) -> float:
        return 1.0 / self.width


@dataclass(frozen=True, repr=False)
class Matern(_Width):
    """k(x, z) = 2^(1 - nu) / Gamma(nu) r^nu K_nu(r) with r = sqrt(2 nu) ||x - z||_2 / width:
    smoother the larger nu.

    nu = 1/2 is exp(-||x - z||_2 / width), nu = infinity is `RBF(width)`. For nu = p + 1/2 the
    Bessel function is exp(-r) times a polynomial of degree p.

    Parameters
    ----------
    width : float
        Width of the kernel in units of the columns, > 0.
    nu : float, default 1.5
        Smoothness, > 0; 1/2 is exponential, infinity is RBF.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    relative : bool, default False
        Whether the width counts median distances between training rows.

    References
    ----------
    Rasmussen and Williams (2006), equations (4.14), (4.16).
    """

    nu: float = 1.5

    family: ClassVar[str] = "matern"
    base: ClassVar[str] = "squared"
    code: ClassVar[str] = "mat"
    hue: ClassVar[str] = "#F0E442"
    word: ClassVar[str] = "Matern"

    def __post_init__(self) -> None:
        super().__post_init__()
        smooth = (
            isinstance(self.nu, Real)
            and not isinstance(self.nu, bool)
            and float(self.nu) == math.inf
        )
        object.__setattr__(
            self, "nu", math.inf if smooth else _as_real("Matern", "nu", self.nu, *NU_RANGE)
        )

    @property
    def title(self) -> str:
        return f"{super().title} (ν {'∞' if math.isinf(self.nu) else format(self.nu, 'g')})"

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        if math.isinf(self.nu):
            fill_exponential(base, 0.5 / self.width**2, upper, out)
            return
        for i in range(out.shape[0]):
            start = i if upper else 0
            out[i, start:] = self._of_distance(
                math.sqrt(2.0 * self.nu) / self.width * np.sqrt(base[i, start:])
            )

    def _of_distance(self, r: Array) -> Array:
        """The values: for nu = p + 1/2 exp(-r) times the polynomial with the terms p!/(2p)!

        (2p - k)! / ((p - k)! k!) 2^k, else by the modified Bessel function, in logarithms, and 1
        where r is too small for it.
        """
        p = int(self.nu)
        f = math.factorial
        if self.nu == p + 0.5:
            terms = [
                f(p) * f(2 * p - k) * 2**k / (f(2 * p) * f(p - k) * f(k)) for k in range(p + 1)
            ]
            smooth: Array = np.exp(-r) * np.polynomial.polynomial.polyval(r, terms)
            return smooth
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scaled = np.log(scipy.special.kve(self.nu, r)) - r + self.nu * np.log(r)
        value = np.exp(scaled + (1.0 - self.nu) * math.log(2.0) - scipy.special.gammaln(self.nu))
        return np.where(np.isfinite(scaled), np.minimum(value, 1.0), np.where(r < 1.0, 1.0, 0.0))


@dataclass(frozen=True, repr=False)
class Delta(KernelSpec):
    """k(x, z) = 1 where x and z agree in every column, else 0: rows of one category are alike, all
    others are not.

    Equality of the codes as they are: bringing columns to mean 0 and variance 1 keeps it.

    Parameters
    ----------
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    """

    family: ClassVar[str] = "delta"
    base: ClassVar[str] = "absolute"
    title: ClassVar[str] = "delta"

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        np.equal(base, 0.0, out=out, casting="unsafe")


# -- values on rows


def fill_base(
    kind: Base,
    seen: Sequence[int],
    left: Array,
    right: Array,
    upper: bool,
    out: Array,
    columns: Array | None = None,
) -> None:
    """Base numbers of every pair of rows: left (a, d), right (b, d) by the columns ``seen`` into
    out (a, b). Entries below the diagonal are 0 when `upper`. ``columns`` (s, b): those of the
    right rows, where they are laid out so.
    """
    if isinstance(kind, RowKernel):
        kind.between(left, right, upper, out)
        return
    one = np.take(left, seen, axis=1)
    if columns is None:
        columns = (one if left is right else np.take(right, seen, axis=1)).T
    if kind == "inner":
        np.dot(one, columns, out=out)
        return
    out.fill(0.0)
    fill_distances(
        np.array(one.T, order="C"), np.ascontiguousarray(columns), kind == "squared", upper, out
    )


def median_distance(base: str, columns: Array, weights: Array | None = None) -> float:
    """Median over pairs of rows (n, s) of the distance a relative width counts in: of ``base``
    "squared" the root.

    Above 2000 rows a seeded sample of 2000 is used. Where more than half of the pairs coincide, the
    median of the others; 1 where all rows coincide. A row of weight w counts as w rows; where
    weights are no whole numbers 2000 rows are drawn by them.
    """
    rng = np.random.default_rng(0)
    rows = np.arange(len(columns))
    if weights is not None and np.all(weights == np.round(weights)):
        rows = np.repeat(rows, weights.astype(np.int64))
    elif weights is not None:
        rows = rng.choice(rows, MEDIAN_ROWS, p=weights / weights.sum())
    if rows.size > MEDIAN_ROWS:
        rows = rng.choice(rows, MEDIAN_ROWS, replace=False)
    columns = columns[rows]
    if rows.size > 1 and columns.shape[1] == 1 and (found := column_median(np.sort(columns[:, 0]))):
        return found
    gaps = scipy.spatial.distance.pdist(columns, "euclidean" if base == "squared" else "cityblock")
    for some in (gaps, gaps[gaps > 0]):
        if some.size and (found := float(np.median(some))):
            return found
    return 1.0


# -- kernels made of others


@dataclass(frozen=True, init=False, repr=False)
class Composed(RowKernel):
    """Two or more kernels, one value; made as ``Product(a, b)``."""

    parts: tuple[KernelSpec, ...]

    sign: ClassVar[str]
    join: ClassVar[np.ufunc]  # of the values of two parts
    least: ClassVar[int] = 2
    most: ClassVar[int] = MOST_PARTS

    def __init__(
        self,
        *given: KernelSpec,
        parts: Sequence[KernelSpec] = (),
        features: Any = None,
        label: Any = None,
    ):
        object.__setattr__(self, "parts", tuple(given) + tuple(parts))
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "label", label)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        right = self.least <= len(self.parts) <= self.most
        if not right or not all(isinstance(part, KernelSpec) for part in self.parts):
            raise ParameterError(
                f"{name} takes {self.least} to {self.most} kernel specs, as in "
                f"{name}(Linear(), RBF(1.0)); got {self.parts!r}."
            )
        reads = all(part.reads_strings or part.features is not None for part in self.parts)
        object.__setattr__(self, "reads_strings", reads)
        object.__setattr__(self, "relative", any(part.relative for part in self.parts))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"

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

    def settle(
        self, rows: Array, weights: Array | None = None, medians: dict[Any, float] | None = None
    ) -> Self:
        return self._of([part.settle(rows, weights, medians) for part in self.parts])

    def _of(self, parts: Sequence[KernelSpec]) -> Self:
        columns = {column for part in parts for column in part.settled}
        return replace(self, parts=tuple(parts), features=tuple(sorted(columns)))

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        out[...] = self.parts[0].values(left, right, upper)
        for part in self.parts[1:]:
            self.join(out, part.values(left, right, upper), out=out)

    def own(self, rows: Array) -> Array:
        out = self.parts[0].own(rows)
        for part in self.parts[1:]:
            self.join(out, part.own(rows), out=out)
        return out


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
    >>> Product(Linear(features=(0,)), RBF(1.0, features=(1, 2))).name()
    '(linear x0) × (RBF 1, x1, x2)'
    """

    family: ClassVar[str] = "product"
    sign: ClassVar[str] = "×"
    join: ClassVar[np.ufunc] = np.multiply


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
    join: ClassVar[np.ufunc] = np.add


COMPOSED: dict[str, type[Composed]] = {"product": Product, "sum": Sum}


# -- the registry


@dataclass(frozen=True)
class KernelEntry:
    """What a select box needs to offer a kernel; `relative` tells whether its width may count
    median distances.
    """

    key: str
    label: str
    spec: type[KernelSpec]
    formula: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    relative: bool = False

    @property
    def word(self) -> str:
        """What a sentence calls it: "linear", "RBF"."""
        return str(getattr(self.spec, "word", self.key))

    def usual(self) -> KernelSpec:
        """The kernel with its usual numbers; a width counts median distances where it can."""
        kind: Any = self.spec
        relative = {"relative": True} if self.relative else {}
        made: KernelSpec = kind(
            **{number.name: number.default for number in self.parameters}, **relative
        )
        return made


_DEGREE = Parameter(
    "degree",
    "Degree",
    "integer",
    2,
    1,
    10,
    "Larger degree: products of more columns, and larger values at far rows.",
)
_COEF0 = Parameter(
    "coef0",
    "Constant",
    "real",
    1.0,
    0.0,
    10.0,
    "Larger constant: lower-order terms count for more; 0 leaves them out.",
)
_WIDTH = Parameter(
    "width",
    "Width",
    "log",
    1.0,
    0.01,
    100.0,
    "Larger width: a smoother fit. In median distances when relative.",
)
_NU = Parameter(
    "nu",
    "Smoothness ν",
    "log",
    1.5,
    *NU_RANGE,
    "Larger ν: a smoother fit at the same width. 1/2 has kinks, 3/2 one slope.",
)

# which a table of numbers and categories suggests
USUAL: tuple[type[KernelSpec], ...] = Linear, RBF, Delta

KERNELS: dict[str, KernelEntry] = {
    entry.key: entry
    for entry in (
        KernelEntry(
            "linear", "Linear", Linear, r"x^\top z", "A straight-line effect of the columns."
        ),
        KernelEntry(
            "polynomial",
            "Polynomial",
            Polynomial,
            r"(x^\top z + c)^d",
            "Effects of the columns and of their products up to the degree.",
            (_DEGREE, _COEF0),
        ),
        KernelEntry(
            "rbf",
            "RBF (Gaussian)",
            RBF,
            r"\exp\left(-\frac{\lVert x - z\rVert_2^2}{2\sigma^2}\right)",
            (
                "Smooth effects of any shape; rows further apart than a few widths do not see "
                "each other."
            ),
            (_WIDTH,),
            relative=True,
        ),
        KernelEntry(
            "laplacian",
            "Laplacian",
            Laplacian,
            r"\exp\left(-\frac{\lVert x - z\rVert_1}{\sigma}\right)",
            "Effects with kinks; less smooth than RBF and kinder to outlying rows.",
            (_WIDTH,),
            relative=True,
        ),
        KernelEntry(
            "matern",
            "Matern",
            Matern,
            r"\frac{2^{1-\nu}}{\Gamma(\nu)}\,r^\nu K_\nu(r),\quad r=\frac{\sqrt{2\nu}\,\lVert x-z\rVert_2}{\sigma}",
            "Effects as smooth as ν says: between those with kinks and the RBF's.",
            (_WIDTH, _NU),
            relative=True,
        ),
        KernelEntry(
            "delta",
            "Delta",
            Delta,
            r"[x = z]",
            "Rows of the same category are alike; meant for categories.",
        ),
    )
}
