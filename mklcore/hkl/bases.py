"""One-dimensional kernels by level, whose products are the kernels of a grid.

A basis gives every variable q + 1 kernels k_0 .. k_q; the kernel of node v is prod_i k_{i, v_i}. A
level is a column (a kernel of rank one, k(x, z) = f(x) f(z)) or a whole block. ``parts`` computes
both, for training values and for new ones.

Source: Bach (2008), sections 2.1 and 5. The Gaussian series has the factor (1 - (b/A)^2)^(1/4) that
the paper omits: only with it the sum tends to the Gaussian kernel.
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
_BUMP_SPREAD = 0.1  # b sd(||x||^2) where b is chosen from the rows
# Where neighbouring terms of the Gaussian series have a ratio below _SUMMED_BELOW, the remainder is
# the sum of its first _REMAINDER_TERMS terms; otherwise it is the kernel minus the leading terms.
_SUMMED_BELOW = 0.2
_REMAINDER_TERMS = 60
_SMALLEST_SHARE = 1e-12  # an eigenvalue below this share of the largest is rounding
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Basis(Protocol):
    """The interface of a basis: its highest level ``q``, and a ``key`` and ``label`` to name it."""

    key: ClassVar[str]
    label: ClassVar[str]

    @property
    def q(self) -> int: ...

    def fit(self, x: Array) -> Any:
        """Return what to remember of the training values (n,) of one variable; often None."""

    def parts(self, state: Any, new: Array, x: Array) -> list[Array]:
        """Compute the q + 1 levels at ``new`` (m,).

        A level is a column (m,), or a block (m, n) against the training values ``x`` (n,).
        """

    def level_name(self, name: str, level: int) -> str:
        """Write the level of the variable called ``name``."""


class _IndexedLevels:
    """A basis that remembers nothing of the training values and writes its levels as indices."""

    def fit(self, x: Array) -> Any:
        return None

    def level_name(self, name: str, level: int) -> str:
        return f"{name}₍{str(level).translate(_SUBSCRIPTS)}₎"


@dataclass(frozen=True)
class PolynomialBasis(_IndexedLevels):
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
        levels = range(self.degree + 1)
        return [math.sqrt(math.comb(self.degree, j)) * new**j for j in levels]

    def level_name(self, name: str, level: int) -> str:
        return name if level == 1 else f"{name}{str(level).translate(_SUPERSCRIPTS)}"


def _gaussian(new: Array, x: Array, b: float) -> Array:
    """The block exp(-b (x - z)^2) (m, n) between new and training values."""
    return np.exp(-b * (new[:, None] - x) ** 2)


def _hermite_functions(x: Array, count: int) -> list[Array]:
    """H_k(x) / sqrt(2^k k!) for k < ``count``, with the physicists' polynomials H_k.

    The recurrence does not overflow.
    """
    functions = [np.ones_like(x), math.sqrt(2.0) * x]
    for k in range(1, count - 1):
        rising = x * math.sqrt(2.0 / (k + 1)) * functions[k]
        functions.append(rising - math.sqrt(k / (k + 1)) * functions[k - 1])
    return functions[:count]


def _series_constants(b: float, sigma2: float) -> tuple[float, float, float]:
    """The constants a, c and b / A of the series; the last is the ratio of its eigenvalues."""
    a = 1.0 / (4.0 * sigma2)
    c = math.sqrt(a * a + 2.0 * a * b)
    return a, c, b / (a + b + c)


def gaussian_series(x: Array, count: int, b: float, sigma2: float) -> list[Array]:
    """phi_0 .. phi_{count-1} with sum_k phi_k(x) phi_k(z) -> exp(-b (x - z)^2).

    a = 1 / (4 sigma2), c = sqrt(a^2 + 2 a b), A = a + b + c,
    phi_k(x) = (1 - (b/A)^2)^(1/4) sqrt((b/A)^k / (2^k k!)) exp(-(b/A)(a + c) x^2) H_k(sqrt(2c) x)
    """
    a, c, ratio = _series_constants(b, sigma2)
    bump = (1.0 - ratio**2) ** 0.25 * np.exp(-ratio * (a + c) * x**2)
    functions = _hermite_functions(math.sqrt(2.0 * c) * x, count)
    return [ratio ** (k / 2) * bump * function for k, function in enumerate(functions)]


@dataclass(frozen=True)
class GaussianBasis(_IndexedLevels):
    """The Gaussian kernel exp(-b (x - z)^2), cut into q terms of its series and a remainder.

    The series is adapted to inputs of variance ``sigma2`` (1 after standardising). Level 0 is a
    bump, about exp(-b x^2), not a constant, and it multiplies a node in every variable that the
    node does not touch: over p variables exp(-b ||x||^2). The logarithm of this product varies over
    the rows by b sd(||x||^2), where sd = sqrt(2 p) for independent normal columns. If that is much
    above 1, every kernel sees only the rows near the middle. With ``b`` None, b = 0.1 / sd(||x||^2)
    is chosen from the training rows: the bumps are then level, and the higher levels still bend.

    Parameters
    ----------
    q : int, default 3
        Number of terms of the series, from 1.
    b : float or None, default None
        Decay of the kernel, > 0; None for a tenth divided by the spread of the squared lengths of
        the rows.
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
        """This basis with a ``b`` of None replaced by the one for the standardised rows (n, p)."""
        if self.b is not None:
            return self
        spread = float(np.sum(X**2, axis=1).std())
        return replace(self, b=_BUMP_SPREAD / spread if spread > 0 else _BUMP_SPREAD)

    def parts(self, state: Any, new: Array, x: Array) -> list[Array]:
        if self.b is None:
            raise ParameterError(
                "b is None, so it must be chosen from all columns: call scaled_to(X) first, or "
                "give a number."
            )
        ratio = _series_constants(self.b, self.sigma2)[2]
        summed = ratio < _SUMMED_BELOW
        count = self.q + _REMAINDER_TERMS if summed else self.q
        left = gaussian_series(new, count, self.b, self.sigma2)
        right = gaussian_series(x, count, self.b, self.sigma2)
        if summed:  # all terms are positive; for a small b a difference would be mostly rounding
            terms = np.column_stack(right[self.q :])
            remainder = np.column_stack(left[self.q :]) @ terms.T
            return [*left[: self.q], remainder]
        remainder = _gaussian(new, x, self.b)
        for new_term, term in zip(left, right, strict=True):
            remainder -= new_term[:, None] * term[None, :]
        return [*left, remainder]


@dataclass(frozen=True)
class ANOVABasis(_IndexedLevels):
    """Subsets of variables: k_0 = 1 and k_1(x, z) = exp(-b (x - z)^2).

    A node is a subset; the sum of all nodes is prod (1 + k_1).

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
        return [np.ones_like(new), _gaussian(new, x, self.b)]

    def level_name(self, name: str, level: int) -> str:
        return name


@dataclass(frozen=True)
class KernelPCABasis(_IndexedLevels):
    """The kernel exp(-(x - z)^2 / (2 width^2)), cut into q principal components and the rest.

    The components are those of the training rows.

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
        return _gaussian(new, x, 1.0 / (2.0 * self.width**2))

    def fit(self, x: Array) -> Array:
        """The coefficients (n, q) that turn kernel values into components.

        A component that the training rows do not have is a column of zeros.
        """
        values, vectors = np.linalg.eigh(self._kernel(x, x))
        values = values[::-1][: self.q]
        vectors = vectors[:, ::-1][:, : self.q]
        largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(values.size)]
        signs = np.where(largest < 0, -1.0, 1.0)
        scale = np.zeros_like(values)
        present = values > _SMALLEST_SHARE * values[0]
        scale[present] = 1.0 / np.sqrt(values[present])
        coefficients = np.zeros((x.size, self.q))
        coefficients[:, : values.size] = vectors * signs * scale
        return coefficients

    def parts(self, state: Any, new: Array, x: Array) -> list[Array]:
        remainder = self._kernel(new, x)
        components = remainder @ state
        remainder -= components @ (self._kernel(x, x) @ state).T
        return [*(np.ascontiguousarray(column) for column in components.T), remainder]


BASES: dict[str, type] = {
    basis.key: basis for basis in (PolynomialBasis, GaussianBasis, ANOVABasis, KernelPCABasis)
}
