"""Kernel functions k(x, z): their parameters, their names, and how they fill a Gram matrix.

A kernel is a function of one *base* number per pair of rows, and kernels on the same columns share
these numbers:

    inner     <x, z>                Linear, Polynomial
    squared   ||x - z||_2^2         RBF, Matern
    absolute  ||x - z||_1           Laplacian

A kernel of another form is a `RowKernel`, which fills its matrix from whole rows.

A spec is frozen and hashable. It may be unresolved: with `relative=True` its width counts median
distances of the training rows, and `LazyColumns` choose columns once their number is known.
`settle` resolves both on the training rows. Products and sums of kernels say "similar in this AND
in that" and "similar in this or in that" under one weight. To add a kernel, write a class and add a
line to `KERNELS`: its fields are numbers, its `code` stands for it in links, and figures draw it in
its `hue`.

Source: Kloft et al. (2011), section 6.4 and Table 2 (products of kernels).
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from itertools import chain, pairwise
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from mklcore._numba.decorators import COMPILES, jit_entry, jit_helper
from mklcore.arrays import Array, Columns
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels import by_numpy
from mklcore.parameters import Parameter, check_whole

MEDIAN_ROWS = 2000  # for median distances
MOST_PARTS = 8  # of a product or a sum
WIDTH_RANGE = (1e-100, 1e100)
MAX_DEGREE = 100
NU_RANGE = (0.1, 20.0)
BASES = ("inner", "squared", "absolute")
LOG2_E = math.log2(math.e)
# ln 2 in two parts: k * LN2_HIGH is exact for every exponent k of a double, and LN2_LOW is the
# remainder.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds a double to the nearest integer and leaves that integer in its lowest
# bits.
ROUNDER = 6755399441055744.0


def _as_real(
    owner: str,
    name: str,
    value: Any,
    low: float,
    high: float,
) -> float:
    is_real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not is_real or not low <= float(value) <= high:
        raise ParameterError(
            f"{owner}: {name} must be a number between {low:g} and {high:g}, got {value!r}."
        )
    return float(value)


# Median distances between training rows that are known already, by base and columns.
Medians = dict[tuple[str, Columns], float]


class LazyColumns(ABC):
    """Columns that are chosen once their number is known; subclasses are frozen dataclasses."""

    @abstractmethod
    def resolve(self, n_features: int) -> Columns:
        """The column indices in a table of ``n_features`` columns."""


def as_features(owner: str, features: Any) -> Columns | LazyColumns | None:
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
        check_whole(f"{owner}: a column of features", column, 0)
    if len(set(columns)) != len(columns):
        raise ParameterError(
            f"{owner}: features names a column twice: {tuple(columns)}. Give each column once."
        )
    return tuple(int(column) for column in columns)


def columns_as_text(features: Sequence[int], feature_names: Sequence[str] | None = None) -> str:
    """Columns in a name: "worst radius", "x0, x3, x7", "x0 … x9", "x0, x4, … (12 columns)"."""
    known = () if feature_names is None else feature_names
    words = [str(known[j]) if j < len(known) else f"x{j}" for j in features]
    if len(words) <= 3:
        return ", ".join(words)
    if all(b == a + 1 for a, b in pairwise(features)):
        return f"{words[0]} … {words[-1]}"
    return f"{words[0]}, {words[1]}, … ({len(words)} columns)"


@dataclass(frozen=True, kw_only=True, repr=False)
class KernelSpec(ABC):
    """One kernel function on some columns.

    `features=None` means all columns, and `label` replaces the names of the columns.
    """

    features: Columns | LazyColumns | None = None
    label: str | None = None

    family: ClassVar[str]  # its group in figures and tables
    base: ClassVar[str]  # the numbers that it is a function of, one of BASES
    # The letters for it in links and edited tables; "" for its key in KERNELS.
    code: ClassVar[str] = ""
    hue: ClassVar[str] = ""  # #rrggbb; "" for a hue that no other family has
    # Whether the kernel equals its base: sums over such kernels are products of columns.
    is_base: ClassVar[bool] = False
    # Whether the width is a multiple of the median distance of the training rows.
    relative = False
    # Whether the kernel sees a sequence and not the columns of the table.
    reads_strings: ClassVar[bool] = False
    # Columns that hold letters of a sequence, once known; they are never standardised.
    letters: ClassVar[Any] = ()
    # The rate of a kernel exp(-rate * base): one loop can fill many of them.
    rate: ClassVar[Any] = None

    def __post_init__(self) -> None:
        kind = type(self)
        if kind.base not in BASES and not isinstance(self, RowKernel):
            raise KernelError(
                f"{kind.__name__} has base = {kind.base!r}, and there is no such base: "
                f"the bases are {', '.join(BASES)}. A kernel that is a function of none of "
                "these derives from RowKernel."
            )
        label = None if self.label is None else str(self.label)
        self.__dict__.update(features=as_features(kind.__name__, self.features), label=label)

    def __repr__(self) -> str:
        arguments = []
        for one in fields(self):
            value = getattr(self, one.name)
            if one.repr and (one.default is MISSING or value != one.default):
                arguments.append(f"{one.name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    @classmethod
    def numbers(cls) -> tuple[Field[Any], ...]:
        """The fields that determine the function, in order; not its columns, nor ``relative``."""
        others = ("features", "label", "relative")
        return tuple(one for one in fields(cls) if one.repr and one.name not in others)

    def beside(self, n_features: int, sequences: Sequence[str], width: int) -> Self:
        """The kernel on a table with the letters of ``sequences`` beside ``n_features`` columns."""
        label = "" if self.features is None else str(self.features)
        is_named = self.label is not None or isinstance(self.features, tuple)
        return replace(
            self, features=self.columns(n_features), label=self.label if is_named else label
        )

    def settle(
        self, rows: Array, weights: Array | None = None, medians: Medians | None = None
    ) -> Self:
        """The kernel with resolved columns and absolute widths, for standardised rows (n, d).

        A row counts as many times as its entry of ``weights`` (n,). ``medians`` receives what is
        computed, so that kernels can share it.
        """
        columns = self.columns(rows.shape[1])
        if columns == self.features and not self.relative:
            return self
        medians = {} if medians is None else medians
        settled = copy.copy(self)  # the new fields need no check
        settled.__dict__["features"] = columns
        if self.relative:
            key = (self.base, columns)
            if key not in medians:
                medians[key] = median_distance(self.base, rows[:, list(columns)], weights)
            width = self.__dict__["width"] * medians[key]
            settled.__dict__.update(width=width, relative=False)
        return settled

    @property
    def settled(self) -> Columns:
        """The column indices of a resolved kernel; ``KernelError`` for any other."""
        if not isinstance(self.features, tuple):
            raise KernelError(
                f"{self!r} has met no table yet, so its columns are not known; use "
                "columns(n_features)."
            )
        return self.features

    def columns(self, n_features: int) -> Columns:
        """The column indices in a table of ``n_features``; ``KernelError`` if there are too few."""
        if self.features is None:
            return tuple(range(n_features))
        features = self.features
        if isinstance(features, LazyColumns):
            features = features.resolve(n_features)
        if max(features) >= n_features:
            raise KernelError(
                f"{self!r} needs column {max(features)}, but the data have {n_features} "
                f"feature(s), numbered from 0. Choose columns below {n_features}."
            )
        return features

    @abstractmethod
    def fill(self, base: Array, upper: bool, out: Array) -> None:
        """Write kernel values of base numbers (a, b) to out (a, b); only j >= i when `upper`."""

    def own(self, rows: Array) -> Array:
        """Values of a resolved kernel between every row (a, d) and itself, (a,)."""
        out = np.empty((len(rows), 1))
        base = np.zeros(len(rows))
        if self.base == "inner":
            seen = np.take(rows, self.settled, axis=1)
            base = np.einsum("ij,ij->i", seen, seen)
        self.fill(base[:, None], False, out)
        return out[:, 0]

    def values(self, left: Array, right: Array, upper: bool = False) -> Array:
        """Values (a, b) of a resolved kernel between whole rows left (a, d) and right (b, d)."""
        base = np.zeros((len(left), len(right)))
        out = np.zeros_like(base)
        fill_base(self, left, right, upper, base)
        self.fill(base, upper, out)
        return out

    @property
    @abstractmethod
    def title(self) -> str:
        """The kernel without its columns: "linear", "RBF 0.5 × median"."""

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        """Kernel and columns: "linear worst radius", "RBF 0.5 × median, band 2 of 8"."""
        columns = self.label
        if columns is None:
            if isinstance(self.features, tuple):
                columns = columns_as_text(self.features, feature_names)
            else:
                columns = "" if self.features is None else str(self.features)
        if not columns:
            return self.title
        return f"{self.title}{', ' if ' ' in self.title else ' '}{columns}"


@dataclass(frozen=True, kw_only=True, repr=False)
class RowKernel(KernelSpec):
    """A kernel whose values are computed from whole rows: a subclass defines `between`, and `own`.

    Rows have every column of the table, standardised if the dictionary says so; a subclass selects
    those it sees (`settled`). Its values must be positive semidefinite and must not depend on other
    rows.
    """

    base = "rows"

    @abstractmethod
    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        """Write kernel values of rows left (a, d) and right (b, d) to out (a, b).

        Only entries j >= i have to be right when `upper`.
        """

    def own(self, rows: Array) -> Array:
        """Kernel values of every row with itself, (a,)."""
        return np.array([self.values(row[None], row[None])[0, 0] for row in rows])

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        np.copyto(out, base)


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

    family = "linear"
    base = "inner"
    code = "lin"
    hue = "#0072B2"
    is_base = True
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

    family = "polynomial"
    base = "inner"
    code = "pol"
    hue = "#009E73"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("Polynomial: degree", self.degree, 1, MAX_DEGREE)
        coef0 = _as_real("Polynomial", "coef0", self.coef0, 0.0, 1e100)
        self.__dict__.update(degree=int(self.degree), coef0=coef0)

    @property
    def title(self) -> str:
        constant = "" if self.coef0 == 1.0 else f" (coef0 {self.coef0:g})"
        return f"polynomial {self.degree}{constant}"

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        np.add(base, self.coef0, out=out)
        shifted = out.copy()
        for _ in range(self.degree - 1):
            out *= shifted


@dataclass(frozen=True, repr=False)
class _Width(KernelSpec):
    """A kernel that decreases with distance, with a width in units of the columns.

    Where it is relative, the width counts median distances of the training rows.
    """

    width: float
    relative: bool = field(default=False, kw_only=True)

    word: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        kind = type(self).__name__
        width = _as_real(kind, "width", self.width, *WIDTH_RANGE)
        if not isinstance(self.relative, bool | np.bool_):
            raise ParameterError(f"{kind}: relative must be True or False, got {self.relative!r}.")
        self.__dict__.update(width=width, relative=bool(self.relative))

    @property
    def title(self) -> str:
        return f"{self.word} {self.width:g}" + (" × median" if self.relative else "")

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        fill_exponential(base, self.rate, upper, out)


@dataclass(frozen=True, repr=False)
class RBF(_Width):
    """k(x, z) = exp(-||x - z||_2^2 / (2 width^2)).

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

    family = "rbf"
    base = "squared"
    code = "rbf"
    hue = "#E69F00"
    word = "RBF"

    @property
    def rate(self) -> float:
        return 0.5 / (self.width * self.width)


@dataclass(frozen=True, repr=False)
class Laplacian(_Width):
    """k(x, z) = exp(-||x - z||_1 / width).

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

    family = "laplacian"
    base = "absolute"
    code = "lap"
    hue = "#CC79A7"
    word = "Laplacian"

    @property
    def rate(self) -> float:
        return 1.0 / self.width


@dataclass(frozen=True, repr=False)
class Matern(_Width):
    """k(x, z) = 2^(1 - nu) / Gamma(nu) r^nu K_nu(r), r = sqrt(2 nu) ||x - z||_2 / width.

    The larger nu, the smoother the kernel: nu = 1/2 is exp(-||x - z||_2 / width), and nu = infinity
    is `RBF(width)`. For nu = p + 1/2 the Bessel function is exp(-r) times a polynomial of degree p.

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

    family = "matern"
    base = "squared"
    code = "mat"
    hue = "#F0E442"
    word = "Matern"

    def __post_init__(self) -> None:
        super().__post_init__()
        nu = self.nu
        if not isinstance(nu, Real) or nu != math.inf:
            nu = _as_real("Matern", "nu", nu, *NU_RANGE)
        object.__setattr__(self, "nu", float(nu))

    @property
    def title(self) -> str:
        return f"{super().title} (ν {'∞' if math.isinf(self.nu) else format(self.nu, 'g')})"

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        if math.isinf(self.nu):
            fill_exponential(base, 0.5 / self.width**2, upper, out)
            return
        out[...] = self._of_distance(np.sqrt(2.0 * self.nu * base) / self.width)

    def _of_distance(self, r: Array) -> Array:
        """The values at scaled distances r.

        For nu = p + 1/2 they are exp(-r) times the polynomial with coefficients p!/(2p)! (2p - k)!
        / ((p - k)! k!) 2^k. For other nu they come from the modified Bessel function in logarithms,
        and are 1 where r is too small for it.
        """
        p = int(self.nu)
        if self.nu == p + 0.5:
            coefficients = []
            for k in range(p + 1):
                ways = math.comb(p, k) * math.factorial(2 * p - k)
                coefficients.append(ways * 2**k / math.factorial(2 * p))
            values: Array = np.exp(-r) * np.polynomial.polynomial.polyval(r, coefficients)
            return values
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            bessel = np.log(scipy.special.kve(self.nu, r)) - r
            scaled = bessel + self.nu * np.log(r)
        constant = (1.0 - self.nu) * math.log(2.0) - math.lgamma(self.nu)
        value = np.minimum(np.exp(scaled + constant), 1.0)
        return np.where(np.isfinite(scaled), value, r < 1.0)


@dataclass(frozen=True, repr=False)
class Delta(KernelSpec):
    """k(x, z) = 1 where x and z are equal in every column, else 0.

    Rows of one category are equal to each other and unlike all others. Standardising columns does
    not change this.

    Parameters
    ----------
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    """

    family = "delta"
    base = "absolute"
    title: ClassVar[str] = "delta"

    def fill(self, base: Array, upper: bool, out: Array) -> None:
        np.equal(base, 0.0, out=out, casting="unsafe")


# -- values on rows


def fill_base(
    spec: KernelSpec,
    left: Array,
    right: Array,
    upper: bool,
    out: Array,
    by_column: Array | None = None,
) -> None:
    """Write base numbers of all pairs of rows left (a, d) and right (b, d) to out (a, b).

    Only the columns of the resolved kernel are used. Entries below the diagonal are 0 when `upper`.
    ``by_column`` holds the right rows column by column (d, b) where they are known so.
    """
    if isinstance(spec, RowKernel):
        spec.between(left, right, upper, out)
        return
    columns = spec.settled
    seen = np.take(left, columns, axis=1)
    if by_column is None:
        right_columns = (seen if left is right else np.take(right, columns, axis=1)).T
    elif columns == tuple(range(len(by_column))):
        right_columns = by_column
    else:
        right_columns = np.take(by_column, columns, axis=0)
    if spec.base == "inner":
        np.dot(seen, right_columns, out=out)
        return
    out.fill(0.0)
    left_columns = np.array(seen.T, order="C")
    right_columns = np.ascontiguousarray(right_columns)
    fill_distances(left_columns, right_columns, spec.base == "squared", upper, out)


def median_distance(base: str, columns: Array, weights: Array | None = None) -> float:
    """The median distance between pairs of rows (n, s), in which relative widths are counted.

    The distance is Euclidean for the ``base`` "squared", else city-block. Above 2000 rows it is
    computed on a random sample of 2000, always the same. Where more than half of the pairs coincide
    it is the median of the others, and 1 where all rows coincide. A row of weight w counts as w
    rows; where weights are not whole numbers, 2000 rows are drawn with them.
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
    if COMPILES and rows.size > 1 and columns.shape[1] == 1:
        median = column_median(np.sort(columns[:, 0]))
        if median > 0:
            return median
    metric = "euclidean" if base == "squared" else "cityblock"
    distances = scipy.spatial.distance.pdist(columns, metric)
    for chosen in (distances, distances[distances > 0]):
        if chosen.size and np.median(chosen) > 0:
            return float(np.median(chosen))
    return 1.0


# -- compiled loops over pairs of rows


@jit_entry({"contract"}, numpy=by_numpy.fill_distances)
def fill_distances(
    left: Array,
    right: Array,
    squared: Any,
    upper: bool,
    out: Array,
) -> None:
    """Squared Euclidean or city-block distances of columns left (s, a) and right (s, b) in out.

    Features are added one after the other into out (a, b); with ``upper`` only for j >= i.
    """
    for i in range(out.shape[0]):
        start = i if upper else 0
        target = out[i, start:]
        target[:] = 0.0
        for k in range(left.shape[0]):
            value = left[k, i]
            source = right[k, start:]
            if squared:
                for j in range(target.size):
                    gap = source[j] - value
                    target[j] += gap * gap
            else:
                for j in range(target.size):
                    target[j] += abs(source[j] - value)


@jit_helper({"contract"})
def exponentials(source: Array, rate: float, target: Array) -> None:
    """target = exp(-rate * source) for one row of source >= 0.

    The relative error is below 3e-16, and values below e^-708 become 0.

    exp(x) = 2^k exp(r) with |r| <= ln(2) / 2, and exp(r) is its Taylor polynomial of degree 13. It
    is written out with conditional values instead of calls, because the compiler turns a loop of
    this shape into vector instructions, and one with math.exp not.
    """
    for j in range(target.size):
        x = -rate * source[j]
        t = x if x > by_numpy.SMALLEST_EXPONENT else by_numpy.SMALLEST_EXPONENT
        shifted = t * LOG2_E + ROUNDER
        k = shifted - ROUNDER
        r = (t - k * LN2_HIGH) - k * LN2_LOW
        s = 1 / 479001600 + r * (1 / 6227020800)
        s = 1 / 39916800 + r * s
        s = 1 / 3628800 + r * s
        s = 1 / 362880 + r * s
        s = 1 / 40320 + r * s
        s = 1 / 5040 + r * s
        s = 1 / 720 + r * s
        s = 1 / 120 + r * s
        s = 1 / 24 + r * s
        s = 1 / 6 + r * s
        s = 0.5 + r * s
        s = 1.0 + r * s
        s = 1.0 + r * s
        power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)
        target[j] = s * power if x > by_numpy.SMALLEST_EXPONENT else 0.0


@jit_entry(numpy=by_numpy.fill_exponential)
def fill_exponential(base: Array, rate: float, upper: bool, out: Array) -> None:
    """out = exp(-rate * base) for base >= 0; only for j >= i when ``upper``."""
    for i in range(out.shape[0]):
        start = i if upper else 0
        exponentials(base[i, start:], rate, out[i, start:])


@jit_helper()
def pairs_within(column: Array, gap: float) -> int:
    """The number of pairs j > i of a sorted column that differ by ``gap`` or less, in O(n)."""
    count = 0
    j = 0
    for i in range(column.size):
        while j < column.size and column[j] - column[i] <= gap:
            j += 1
        count += j - i - 1
    return count


@jit_entry()
def column_median(column: Array) -> float:
    """The median of x_j - x_i over the pairs j > i of a sorted column (n,), n >= 2.

    It is 0 where more than half of the pairs coincide. The number of pairs within t is bisected
    over the bits of a double t, which gives the exact median without the matrix of all differences.
    """
    n = column.size
    total = 0.0
    pairs = n * (n - 1) // 2
    for rank in ((pairs - 1) // 2, pairs // 2):
        low = np.int64(-1)
        high = np.float64(column[-1] - column[0]).view(np.int64)
        while high - low > 1:
            middle = low + (high - low) // 2
            if pairs_within(column, np.int64(middle).view(np.float64)) > rank:
                high = middle
            else:
                low = middle
        total += 0.5 * np.int64(high).view(np.float64)
    return total


# -- kernels made of others


@dataclass(frozen=True, init=False, repr=False)
class Composed(RowKernel):
    """A kernel made of one or more kernels, as in ``Product(a, b)``."""

    parts: tuple[KernelSpec, ...]

    sign: ClassVar[str]
    join: ClassVar[np.ufunc]  # of the values of two parts
    min_parts: ClassVar[int] = 2
    max_parts: ClassVar[int] = MOST_PARTS

    def __init__(
        self,
        *given: KernelSpec,
        parts: Sequence[KernelSpec] = (),
        features: Any = None,
        label: Any = None,
    ):
        self.__dict__.update(parts=(*given, *parts), features=features, label=label)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        is_size = self.min_parts <= len(self.parts) <= self.max_parts
        if not is_size or not all(isinstance(part, KernelSpec) for part in self.parts):
            raise ParameterError(
                f"{name} takes {self.min_parts} to {self.max_parts} kernel specs, as in "
                f"{name}(Linear(), RBF(1.0)); got {self.parts!r}."
            )
        self.__dict__.update(
            reads_strings=all(p.reads_strings or p.features is not None for p in self.parts),
            relative=any(part.relative for part in self.parts),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"

    @property
    def letters(self) -> Columns:
        return _joined_columns(part.letters for part in self.parts)

    @property
    def title(self) -> str:
        return f" {self.sign} ".join(part.title for part in self.parts)

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        return f" {self.sign} ".join(f"({part.name(feature_names)})" for part in self.parts)

    def columns(self, n_features: int) -> Columns:
        return _joined_columns(part.columns(n_features) for part in self.parts)

    def beside(self, n_features: int, sequences: Sequence[str], width: int) -> Self:
        return self._of([part.beside(n_features, sequences, width) for part in self.parts])

    def settle(
        self, rows: Array, weights: Array | None = None, medians: Medians | None = None
    ) -> Self:
        return self._of([part.settle(rows, weights, medians) for part in self.parts])

    def _of(self, parts: Sequence[KernelSpec]) -> Self:
        columns = _joined_columns(part.settled for part in parts)
        return replace(self, parts=tuple(parts), features=columns)

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        out[...] = self.parts[0].values(left, right, upper)
        for part in self.parts[1:]:
            self.join(out, part.values(left, right, upper), out=out)

    def own(self, rows: Array) -> Array:
        out = self.parts[0].own(rows)
        for part in self.parts[1:]:
            self.join(out, part.own(rows), out=out)
        return out


def _joined_columns(choices: Iterable[Columns]) -> Columns:
    """The columns that are in any of the choices, in rising order."""
    return tuple(sorted(set(chain.from_iterable(choices))))


@dataclass(frozen=True, init=False, repr=False)
class Product(Composed):
    """k(x, z) = k_1(x, z) k_2(x, z) ...: similar only where all parts are.

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

    family = "product"
    sign = "×"
    join = np.multiply


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

    family = "sum"
    sign = "+"
    join = np.add


COMPOSED: dict[str, type[Composed]] = {"product": Product, "sum": Sum}


# -- the registry


@dataclass(frozen=True)
class KernelEntry:
    """A kernel as a select box offers it; `relative` tells whether its width may be relative."""

    key: str
    label: str
    spec: type[KernelSpec]
    formula: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    relative: bool = False

    @property
    def word(self) -> str:
        """The kernel in a sentence: "linear", "RBF"."""
        return str(getattr(self.spec, "word", self.key))

    def usual(self) -> KernelSpec:
        """The kernel with its default numbers, and a relative width where it may have one."""
        kind: Any = self.spec
        values: dict[str, Any] = {number.name: number.default for number in self.parameters}
        if self.relative:
            values["relative"] = True
        spec: KernelSpec = kind(**values)
        return spec


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

# The kernels for tables of numbers and categories.
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
            (
                r"\frac{2^{1-\nu}}{\Gamma(\nu)}\,r^\nu K_\nu(r),\quad "
                r"r=\frac{\sqrt{2\nu}\,\lVert x-z\rVert_2}{\sigma}"
            ),
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
