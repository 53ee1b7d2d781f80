"""What solvers may ask of M kernels on n rows, and of their weighted sum: two protocols, and capabilities by name.

A solver never asks which class it works on. What differs between stored, packed, lazily computed, factored and sharded
kernels is a ``Capability``; a method that needs one says so in ``requires``, and the refusal names what is missing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy

from mklcore.arrays import Array, Indices, Single


class Capability(enum.Enum):
    """What kernels can do beyond the protocol; the value says it."""

    DENSE = "Gram matrices stored in double precision, as one array ``values`` (M, n, n)"
    STORED = "kernel values that are stored, so that reading them again costs no more than their bytes"
    BLOCKS = "the sum of the kernels among some rows, without making all of it"
    CHEAP_ROWS = "any kernel made again as quickly as it would be read"
    EXACT = "sums in double precision throughout"
    FEATURES = "features Phi_m with K_m = Phi_m Phi_m', by which forms, sums and their systems cost no kernel value"
    FACTORS = "factors L (r, n) with K_m = L'L, without the Gram matrix"


@runtime_checkable
class WeightedSum(Protocol):
    """K_theta = sum_m theta_m K_m on n rows; ``matrix`` (n, n) where it is made, None where only features are."""

    @property
    def matrix(self) -> Array | None: ...

    def matvec(self, a: Array) -> Array:
        """K_theta a for a (n,) or (n, T), of the same shape."""
        ...

    def block(self, rows: Indices) -> Array:
        """K_theta among some rows, (r, r)."""
        ...

    def solve(self, rhs: Array, shift: float | Array) -> Array:
        """(K_theta + diag(shift))^-1 rhs for rhs (n,) or (n, T) and shift > 0; ``LinAlgError`` where that is
        singular."""
        ...

    def factor(self, shift: float | Array) -> Callable[[Array], Array]:
        """What solves (K_theta + diag(shift)) z = r for r (n,) or (n, T), factorised once."""
        ...

    def solve_block(self, rows: Indices, shift: Array, rhs: Array) -> Array:
        """(K_theta[rows, rows] + diag(shift))^-1 rhs for rhs (r,) or (r, T); ``LinAlgError`` where that is singular."""
        ...


@runtime_checkable
class KernelOperator(Protocol):
    """M kernels on n training rows."""

    @property
    def n_kernels(self) -> int:
        """M."""
        ...

    @property
    def n_samples(self) -> int:
        """n."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What these kernels can do beyond the protocol."""
        ...

    @property
    def exact(self) -> KernelOperator:
        """The same kernels with sums in double precision: what certificates are computed with."""
        ...

    def with_float32_sums(self) -> KernelOperator:
        """The same kernels with sums in single precision where these cost a fraction; else the kernels themselves."""
        ...

    def diagonals(self) -> Array:
        """K_m(x_i, x_i) of every kernel, (M, n)."""
        ...

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n). Rows where a is zero are not read."""
        ...

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,); negative round-off is clipped to 0."""
        ...

    def combine(self, weights: Array, out: Array | None = None) -> WeightedSum:
        """sum_m weights_m K_m for weights (M,); made in ``out`` (n, n) where one is given."""
        ...

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among ascending rows, (r, r)."""
        ...

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        ...

    def rows(self, i: Indices) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        ...

    def row_into(self, i: int, out: Array | Single) -> None:
        """Row i of every kernel into ``out`` (M, n), in the precision of ``out``."""
        ...

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        ...

    def select(self, kernels: Indices) -> KernelOperator:
        """Some of the kernels."""
        ...

    def take(self, rows: Indices) -> KernelOperator:
        """The kernels among some of the training rows; scales and centring stay those of all rows."""
        ...

    def cross(self, X_new: Any) -> Any:
        """The kernels between new rows X_new (n_new, d) and the training rows, as blocks (M, n_new, n)."""
        ...

    def blocks(self, X_new: Any = None) -> Any:
        """What models score rows by: ``cross(X_new)``, or the kernels among the training rows; where these would be too
        large, what makes them a few rows at a time."""
        ...


class DenseSum:
    """A weighted sum as one matrix (n, n) in double precision."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix

    def matvec(self, a: Array) -> Array:
        product: Array = self.matrix @ a
        return product

    def block(self, rows: Indices) -> Array:
        part: Array = self.matrix[np.ix_(rows, rows)]
        return part

    def solve(self, rhs: Array, shift: float | Array) -> Array:
        return self.factor(shift)(rhs)

    def factor(self, shift: float | Array) -> Callable[[Array], Array]:
        system = self.matrix.copy()
        system.flat[:: system.shape[0] + 1] += shift
        factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        return lambda rhs: scipy.linalg.cho_solve(factor, rhs, check_finite=False)

    def solve_block(self, rows: Indices, shift: Array, rhs: Array) -> Array:
        return DenseSum(self.block(rows)).solve(rhs, shift)


def is_operator(X: Any) -> bool:
    """Whether ``X`` is kernels on rows, not a table of columns."""
    return hasattr(type(X), "capabilities")  # asking a protocol for all its members takes longer than many a product


def is_scored(blocks: Any) -> bool:
    """Whether blocks of kernel values are not stored, so that all one can ask for are scores of them."""
    return hasattr(type(blocks), "scores")


def frobenius_norms(kernels: KernelOperator) -> Array:
    """||K_m|| of every kernel, (M,); where there are features Phi_m, that of Phi_m'Phi_m."""
    if Capability.FEATURES in kernels.capabilities:
        factors = (kernels.factor(m) for m in range(kernels.n_kernels))  # type: ignore[attr-defined]
        return np.array([float(np.linalg.norm(L @ L.T)) for L in factors])
    return np.array([float(np.linalg.norm(kernels.gram(m))) for m in range(kernels.n_kernels)])


def is_stored(kernels: KernelOperator) -> bool:
    """Whether kernel values are stored; else every sum computes all of them again."""
    return Capability.STORED in kernels.capabilities


def same_kernels(one: KernelOperator, other: KernelOperator) -> bool:
    """Whether two operators are the same kernels: one object, or dense ones on one piece of memory."""
    if one is other:
        return True
    if Capability.DENSE not in one.capabilities & other.capabilities:
        return False
    mine, theirs = (np.asarray(vars(kernels)["values"]) for kernels in (one, other))
    return mine.shape == theirs.shape and mine.ctypes.data == theirs.ctypes.data
