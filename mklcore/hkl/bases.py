"""One-dimensional kernels by level: what a node multiplies.

A basis gives every variable q + 1 kernels k_0 .. k_q; the kernel of node v is prod_i k_{i, v_i}. A
level is a column (a kernel of rank one, k(x, z) = f(x) f(z)) or a whole block. ``parts`` computes
both for training and for new values.

Source: Bach (2008), section 2.1 and 5; specification, section 5 (the Gaussian series with the
constant the paper omits).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.parameters import check_positive, check_whole

_MOST_LEVELS = 60
# b sd(||x||^2), the spread of the logarithm of all bumps together, where b is chosen from the rows
_LEVELLED = 0.1
_TERMS = 60  # of the remainder of the Gaussian series, where it is summed: below
_SHORT = 0.2  # this ratio of neighbouring terms; above it the remainder is subtracted
_SMALLEST_SHARE = 1e-12  # an eigenvalue below this share of the largest is rounding


class Basis(Protocol):
    """The interface of a basis: ``q`` the highest level, ``key`` and ``label`` for people."""

    key: ClassVar[str]
    label: ClassVar[str]

    @property
    def q(self) -> int: ...

    def fit(self, x: Array) -> Any:
        """What has to be remembered of the training values (n,) of one variable; None for most."""

    def parts(self, state: Any, new: Array, x: Array) -> list[Array]:
        """The q + 1 levels at ``new`` (m,): a column (m,), or a block (m, n) against the training
        values ``x`` (n,).
        """

    def level_name(self, name: str, level: int) -> str:
        """How the level of a variable called ``name`` is written."""


_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def hermite_functions(x: Array, count: int) -> list[Array]:
    """H_k(x) / sqrt(2^k k!) for k = 0 .. count - 1 (physicists' polynomials), by a recurrence that
    does not overflow.
    """
    found = [np.ones_like(x), math.sqrt(2.0) * x]
    for k in range(1, count - 1):
        found.append(
            x * math.sqrt(2.0 / (k + 1)) * found[k] - math.sqrt(k / (k + 1)) * found[k - 1]
        )
    return found[:count]


class _Levels:
    """Nothing is remembered of the training values, and the level is written as an index."""

    def fit(self, x: Array) -> Any:
        return None

    def level_name(self, name: str, level: int) -> str:
        return f"{name}₍{str(level).translate(_SUBSCRIPTS)}₎"


@dataclass(frozen=True)
class PolynomialBasis(_Levels):
    """Monomials: k_j(x, z) = binom(q, j) (x z)^j, j = 0 .. degree. They add up to (1 + x z)^degree.

    Parameters
    ----------
    degree : int, default 4
        Degree, from 1.
    """

    degree: int = 4
    key: ClassVar[str] = "polynomial"
    label: ClassVar[str] = "polynomial"

    def __post_init__(self) -> None:
        check_whole("degree", self.degree, 1, _MOST_LEVELS)

    @property
    def q(self) -> int:
        return self.degree

    def parts(self, state: Any, new: Array, x: Array) -> list[Array]:
        return [math.sqrt(math.comb(self.degree, j)) * new**j for j in range(self.degree + 1)]

    def level_name(self, name: str, level: int) -> str:
        return name if level == 1 else f"{name}{str(level).translate(_SUPERSCRIPTS)}"


def _decay(b: float, sigma2: float) -> tuple[float, float, float]:
    """a, c and b / A, the ratio of neighbouring eigenvalues of the series."""
    a = 1.0 / (4.0 * sigma2)
    c = math.sqrt(a * a + 2.0 * a * b)
    return a, c, b / (a + b + c)


def gaussian_series(x: Array, count: int, b: float, sigma2: float) -> list[Array]:
    """phi_0 .. phi_{count-1} with sum_k phi_k(x) phi_k(z) -> exp(-b (x - z)^2).

    a = 1 / (4 sigma2), c = sqrt(a^2 + 2 a b), A = a + b + c,
    phi_k(x) = (1 - (b/A)^2)^(1/4) sqrt((b/A)^k / (2^k k!)) exp(-(b/A)(a + c) x^2) H_k(sqrt(2c) x)
    """
    a, c, ratio = _decay(b, sigma2)
    bump = (1.0 - ratio**2) ** 0.25 * np.exp(-ratio * (a + c) * x**2)
    return [
        ratio ** (k / 2) * bump * h
        for k, h in enumerate(hermite_functions(math.sqrt(2.0 * c) * x, count))
    ]


@dataclass(frozen=True)
class GaussianBasis(_Levels):
    """exp(-b (x - z)^2) cut into the first q terms of its Hermite series and the remainder: q + 1
    kernels.

    ``sigma2`` is the variance of the inputs the series is adapted to (1 after standardising). Level
    0 is a bump, about exp(-b x^2), not a constant, and every node is multiplied by it in every
    variable it does not touch: over p variables exp(-b ||x||^2), whose logarithm varies over the
    rows by b sd(||x||^2), sd = sqrt(2 p) for independent normal columns. Where that is much above 1
    a few rows near the middle are all that any kernel sees. ``b`` None chooses b = 0.1 /
    sd(||x||^2) from the training rows: the bumps are level, and the higher levels still bend.

    Parameters
    ----------
    q : int, default 3
        Number of terms of the series, from 1.
    b : float or None, default None
        Decay of the kernel, > 0; None for a tenth over the spread of the squared lengths of the
        rows.
    sigma2 : float, default 1.0
        Variance of the inputs that the series is adapted to.
    """

    q: int = 3
    b: float | None = None
    sigma2: float = 1.0
    key: ClassVar[str] = "gaussian"
    label: ClassVar[str] = "Gaussian"

    def __post_init__(self) -> None:
        check_whole("q", self.q, 1, _MOST_LEVELS)
        if self.b is not None:
            check_positive(b=self.b)
        check_positive(sigma2=self.sigma2)

    def scaled_to(self, X: Array) -> GaussianBasis:
        """This basis with ``b`` chosen from rows ``X`` (n, p) as they enter the series, where it is
        None.
        """
        if self.b is not None:
            return self
        spread = float(np.sum(X**2, axis=1).std())
        return replace(self, b=_LEVELLED / spread if spread > 0 else _LEVELLED)

    def parts(self, state: Any, new: Array, x: Array) -> list[Array]:
        if self.b is None:
            raise ParameterError(
                "b is None, to be chosen from all columns: call scaled_to(X) first, or "
                "give a number."
            )
        summed = _decay(self.b, self.sigma2)[2] < _SHORT
        count = self.q + _TERMS if summed else self.q
        ours, theirs = (gaussian_series(v, count, self.b, self.sigma2) for v in (new, x))
        if summed:  # positive terms only: at a small b subtracting would leave nothing but rounding
            remainder = np.column_stack(ours[self.q :]) @ np.column_stack(theirs[self.q :]).T
            return [*ours[: self.q], remainder]
        remainder = np.exp(-self.b * (new[:, None] - x[None, :]) ** 2)
        for left, right in zip(ours, theirs, strict=True):
            remainder -= left[:, None] * right[None, :]
        return [*ours, remainder]


@dataclass(frozen=True)
class ANOVABasis(_Levels):
    """Subsets of variables: k_0 = 1, k_1(x, z) = exp(-b (x - z)^2).

    A node is a subset; their sum is prod (1 + k_1).

    Parameters
    ----------
    b : float, default 0.0625
        Decay of the kernel of one column, > 0.
    """

    b: float = 0.0625
    key: ClassVar[str] = "anova"
    label: ClassVar[str] = "ANOVA"

    def __post_init__(self) -> None:
        check_positive(b=self.b)

    @property
    def q(self) -> int:
        return 1

    def parts(self, state: Any, new: Array, x: Array) -> list[Array]:
        return [np.ones_like(new), np.exp(-self.b * (new[:, None] - x[None, :]) ** 2)]

    def level_name(self, name: str, level: int) -> str:
        return name


@dataclass(frozen=True)
class KernelPCABasis(_Levels):
    """exp(-(x - z)^2 / (2 width^2)) cut along its principal components on the training rows: q of
    them and the rest.

    Parameters
    ----------
    q : int, default 3
        Number of principal components, from 1.
    width : float, default 1.0
        Width of the kernel, > 0.
    """

    q: int = 3
    width: float = 1.0
    key: ClassVar[str] = "kernel_pca"
    label: ClassVar[str] = "kernel PCA"

    def __post_init__(self) -> None:
        check_whole("q", self.q, 1, _MOST_LEVELS)
        check_positive(width=self.width)

    def _kernel(self, new: Array, x: Array) -> Array:
        return np.exp(-((new[:, None] - x[None, :]) ** 2) / (2.0 * self.width**2))

    def fit(self, x: Array) -> Array:
        """The coefficients (n, q) that turn kernel values into components; columns of zeros where
        there is none.
        """
        values, vectors = np.linalg.eigh(self._kernel(x, x))
        values = values[::-1][: self.q]
        vectors = vectors[:, ::-1][:, : self.q]
        signs = np.where(
            vectors[np.argmax(np.abs(vectors), axis=0), np.arange(values.size)] < 0, -1.0, 1.0
        )
        kept = values > _SMALLEST_SHARE * values[0]
        scale = np.divide(
            1.0, np.sqrt(values, where=kept, out=np.ones_like(values)), where=kept, out=0.0 * values
        )
        found = np.zeros((x.size, self.q))
        found[:, : values.size] = vectors * signs * scale
        return found

    def parts(self, state: Any, new: Array, x: Array) -> list[Array]:
        rest = self._kernel(new, x)
        ours = rest @ state
        theirs = self._kernel(x, x) @ state
        rest -= ours @ theirs.T
        return [*(np.ascontiguousarray(column) for column in ours.T), rest]


BASES: dict[str, type] = {
    basis.key: basis for basis in (PolynomialBasis, GaussianBasis, ANOVABasis, KernelPCABasis)
}
