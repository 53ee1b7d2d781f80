"""Kernels as stored Gram matrices in an array of any library that follows the array API standard (2023.12).

Products, forms and weighted sums are made by that library, where its array is; what a solver passes as a NumPy vector
comes back as NumPy, and what is passed as an array of the library stays one. Run on NumPy and ``array_api_strict``;
nothing is known of devices other than the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Single
from mklcore.errors import KernelError
from mklcore.kernels.operators.base import Capability, DenseSum, KernelOperator, is_operator
from mklcore.kernels.operators.dense import NO_FUNCTIONS, DenseKernels


def namespace_of(array: Any) -> Any:
    """The functions of the library that made ``array``; KernelError where it does not say which they are."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    try:
        from array_api_compat import array_namespace

        return array_namespace(array)
    except (ImportError, TypeError):
        raise KernelError(
            f"Kernels in an array of type {type(array).__name__} need a library that follows the array API standard; "
            "install array-api-compat, or convert the stack by np.asarray."
        ) from None


class ArrayKernels:
    """M Gram matrices on n rows in one array ``values`` (M, n, n) of floats, of any library.

    Parameters
    ----------
    values : array of shape (M, n, n)
        Gram matrices in single or double precision.
    """

    def __init__(self, values: Any) -> None:
        self.xp, self.values = namespace_of(values), values
        if values.ndim != 3 or values.shape[1] != values.shape[2]:
            raise KernelError(f"A kernel stack must have shape (M, n, n); this array has {tuple(values.shape)}.")
        if not self.xp.isdtype(values.dtype, "real floating"):
            raise KernelError(f"A kernel stack must hold real floating numbers; this array holds {values.dtype}.")

    @property
    def n_kernels(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_samples(self) -> int:
        return int(self.values.shape[1])

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What these kernels can do beyond the protocol."""
        double = self.values.dtype == self.xp.float64
        return frozenset({Capability.STORED, Capability.BLOCKS, *([Capability.EXACT] if double else [])})

    @property
    def exact(self) -> KernelOperator:
        """The same kernels with sums in double precision."""
        if Capability.EXACT in self.capabilities:
            return self
        return DenseKernels(np.ascontiguousarray(_as_numpy(self.values), dtype=np.float64))

    def with_float32_sums(self) -> ArrayKernels:
        """These kernels: sums of stored ones cost their bytes."""
        return self

    def diagonals(self) -> Array:
        """K_m(x_i, x_i) of every kernel, (M, n)."""
        return _as_numpy(self.xp.linalg.diagonal(self.values))

    def matvec(self, a: Any, kernels: Indices | None = None) -> Any:
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n)."""
        products = self.xp.matmul(self._some(kernels), self._own(a)[:, None])
        return _like(a, self.xp.squeeze(products, axis=2))

    def quad(self, a: Any, kernels: Indices | None = None) -> Any:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,); negative round-off is clipped to 0."""
        own = self._own(a)
        forms = self.xp.matmul(self.xp.matmul(own[None, None, :], self._some(kernels)), own[:, None])[:, 0, 0]
        return _like(a, self.xp.where(forms > 0, forms, self.xp.zeros_like(forms)))

    def combine(self, weights: Any, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,); made in ``out`` (n, n) where one is given."""
        matrix = _like(weights, self.xp.tensordot(self._own(weights), self.values, axes=1))
        if out is None:
            return DenseSum(matrix)
        out[:] = matrix
        return DenseSum(out)

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among some rows, (r, r)."""
        return self.take(rows).combine(weights).matrix

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        found: Array = weights @ self.matvec(a)
        return found

    def rows(self, i: Indices) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        return _as_numpy(self._taken(self.values, i, 1))

    def row_into(self, i: int, out: Array | Single) -> None:
        """Row i of every kernel into ``out`` (M, n), in the precision of ``out``."""
        out[:] = _as_numpy(self.values[:, i, :])

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        return _as_numpy(self.values[m, :, :])

    def select(self, kernels: Indices) -> ArrayKernels:
        """Some of the kernels, copied."""
        return ArrayKernels(self._some(kernels))

    def take(self, rows: Indices) -> ArrayKernels:
        """The kernels among some of the rows, copied."""
        return ArrayKernels(self._taken(self._taken(self.values, rows, 1), rows, 2))

    def cross(self, X_new: Any) -> Array:
        """KernelError: an array does not know its kernel functions."""
        raise KernelError(NO_FUNCTIONS)

    def blocks(self, X_new: Any = None) -> Any:
        """The kernels among the training rows; KernelError for new rows."""
        return _as_numpy(self.values) if X_new is None else self.cross(X_new)

    def _some(self, kernels: Indices | None) -> Any:
        return self.values if kernels is None else self._taken(self.values, kernels, 0)

    def _taken(self, values: Any, chosen: Indices, axis: int) -> Any:
        places = self.xp.asarray(np.asarray(chosen, dtype=np.int64).tolist(), dtype=self.xp.int64)
        return self.xp.take(values, places, axis=axis)

    def _own(self, vector: Any) -> Any:
        """A vector in the library, precision and place of the kernels."""
        return self.xp.asarray(vector, dtype=self.values.dtype, device=self.values.device)


def as_operator(K: Any) -> KernelOperator:
    """``K`` where it is an operator, else the one on the array (M, n, n): of NumPy, or of another library."""
    if is_operator(K):
        found: KernelOperator = K
        return found
    if hasattr(K, "__dlpack__") and not isinstance(K, np.ndarray):
        return ArrayKernels(K)
    return DenseKernels(np.asarray(K))


def _like(given: Any, found: Any) -> Any:
    """What was found for a NumPy vector as NumPy, in double precision; else as it is."""
    return _as_numpy(found) if isinstance(given, np.ndarray) else found


def _as_numpy(array: Any) -> Array:
    return np.asarray(array if isinstance(array, np.ndarray) else np.from_dlpack(array), dtype=np.float64)
