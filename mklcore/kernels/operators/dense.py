"""Kernels as stored Gram matrices in double precision: one array (M, n, n)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Indices, Single, read_only
from mklcore.errors import KernelError
from mklcore.kernels.operators.base import Capability, DenseSum, KernelOperator, is_operator

TILE = 32
NO_FUNCTIONS = (
    "This stack was made from an array, so it cannot evaluate its kernels on new rows. "
    "Pass test blocks of shape (M, n_new, n) to predict instead."
)


class DenseKernels:
    """M Gram matrices on n rows in one array ``values`` (M, n, n), float64 and C-contiguous.

    Compiled functions read them, and never the rows that a dual of zero does not touch.
    """

    capabilities = frozenset({Capability.DENSE, Capability.STORED, Capability.BLOCKS, Capability.EXACT})

    def __init__(self, values: Array) -> None:
        self.values = read_only(values)

    @property
    def n_kernels(self) -> int:
        return len(self.values)

    @property
    def n_samples(self) -> int:
        return int(self.values.shape[1])

    @property
    def exact(self) -> Self:
        """These kernels: they are in double precision."""
        return self

    def with_float32_sums(self) -> Self:
        """These kernels: sums of stored ones cost their bytes."""
        return self

    def diagonals(self) -> Array:
        """K_m(x_i, x_i) of every kernel, (M, n)."""
        return np.ascontiguousarray(np.einsum("mii->mi", self.values))

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n). Rows where a is zero are not read."""
        return _products(self.values, a, np.flatnonzero(a), np.arange(self.n_kernels) if kernels is None else kernels)

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,); negative round-off is clipped to 0; for a
        (n, T) the sum over its columns.
        """
        chosen = np.arange(self.n_kernels) if kernels is None else kernels
        if a.ndim == 2:
            return np.maximum([np.vdot(self.values[m] @ a, a) for m in chosen], 0.0)
        return _quadratic_forms(self.values, a, np.flatnonzero(a), chosen)

    def combine(self, weights: Array, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,); made in ``out`` (n, n) where one is given."""
        matrix = np.empty(self.values.shape[1:]) if out is None else out
        _combine(self.values, weights, matrix)
        return DenseSum(matrix)

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among ascending rows, as a new (r, r) matrix."""
        return _combine_block(self.values, weights, rows)

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        used = np.flatnonzero(weights)
        found: Array = weights[used] @ self.matvec(a, used)
        return found

    def rows(self, i: Indices) -> Array:
        """Rows i (b,) of every kernel, (M, b, n)."""
        if i.size == 1:  # no copy: a solver that misses a row asks for that one
            return self.values[:, i[0], None, :]
        return self.values[:, i, :]

    def row_into(self, i: int, out: Array | Single) -> None:
        """Row i of every kernel into ``out`` (M, n), in the precision of ``out``."""
        out[:] = self.values[:, i]

    def gram(self, m: int) -> Array:
        """The Gram matrix of one kernel, (n, n)."""
        found: Array = self.values[m]
        return found

    def select(self, kernels: Indices) -> DenseKernels:
        """Some of the kernels, copied."""
        return DenseKernels(np.ascontiguousarray(self.values[kernels]))

    def take(self, rows: Indices) -> DenseKernels:
        """The kernels among some of the rows, copied."""
        return DenseKernels(np.ascontiguousarray(self.values[:, rows][:, :, rows]))

    def cross(self, X_new: Any) -> Array:
        """KernelError: an array does not know its kernel functions."""
        raise KernelError(NO_FUNCTIONS)

    def blocks(self, X_new: Any = None) -> Array:
        """Kernel values of new rows, or among the training rows."""
        return self.values if X_new is None else self.cross(X_new)


@jit_entry({"contract"})
def _combine(K: Array, weights: Array, out: Array) -> None:
    """The upper triangle is read, and mirrored; rows of eight kernels at a time, so that the sum stays in the cache."""
    n, live, count = out.shape[0], np.empty(weights.size, np.int64), 0
    for m in range(weights.size):  # np.flatnonzero took half of the compiling
        if weights[m] != 0.0:
            live[count] = m
            count += 1
    for i in range(n):
        row, done = out[i, i:], 0
        row[:] = 0.0
        while done + 8 <= count:
            m0, m1, m2, m3 = live[done], live[done + 1], live[done + 2], live[done + 3]
            m4, m5, m6, m7 = live[done + 4], live[done + 5], live[done + 6], live[done + 7]
            w0, w1, w2, w3 = weights[m0], weights[m1], weights[m2], weights[m3]
            w4, w5, w6, w7 = weights[m4], weights[m5], weights[m6], weights[m7]
            s0, s1, s2, s3 = K[m0, i, i:], K[m1, i, i:], K[m2, i, i:], K[m3, i, i:]
            s4, s5, s6, s7 = K[m4, i, i:], K[m5, i, i:], K[m6, i, i:], K[m7, i, i:]
            for k in range(row.size):
                first = w0 * s0[k] + w1 * s1[k] + w2 * s2[k] + w3 * s3[k]
                row[k] += first + (w4 * s4[k] + w5 * s5[k] + w6 * s6[k] + w7 * s7[k])
            done += 8
        for m in live[done:count]:
            w, source = weights[m], K[m, i, i:]
            for k in range(row.size):
                row[k] += w * source[k]
    for top in range(0, n, TILE):
        for left in range(top, n, TILE):
            for i in range(top, min(top + TILE, n)):
                for k in range(max(left, i + 1), min(left + TILE, n)):
                    out[k, i] = out[i, k]


@jit_entry()
def _combine_block(K: Array, weights: Array, rows: Indices) -> Array:
    r = rows.size
    out = np.zeros((r, r))
    for m in range(K.shape[0]):
        w = weights[m]
        if w != 0.0:
            for i in range(r):
                source = K[m, rows[i]]
                for k in range(i, r):
                    out[i, k] += w * source[rows[k]]
    for i in range(r):
        for k in range(i):
            out[i, k] = out[k, i]
    return out


@jit_entry({"contract"})
def _products(K: Array, a: Array, rows: Indices, live: Indices) -> Array:
    """Four rows at a time: one alone leaves the memory waiting for its sums."""
    M, n = live.size, K.shape[1]
    G = np.zeros((M, n))
    last = rows.size - 1
    for k in range(M):
        source, target = K[live[k]], G[k]
        for d in range(0, rows.size, 4):
            r0, r1, r2, r3 = rows[d], rows[min(d + 1, last)], rows[min(d + 2, last)], rows[min(d + 3, last)]
            c0 = a[r0]
            c1 = a[r1] if d < last else 0.0
            c2 = a[r2] if d + 1 < last else 0.0
            c3 = a[r3] if d + 2 < last else 0.0
            s0, s1, s2, s3 = source[r0], source[r1], source[r2], source[r3]
            for i in range(n):
                target[i] += c0 * s0[i] + c1 * s1[i] + c2 * s2[i] + c3 * s3[i]
    return G


@jit_entry({"reassoc", "contract"})
def _quadratic_forms(K: Array, a: Array, rows: Indices, live: Indices) -> Array:
    """Whole runs of each row right of the diagonal are read: picking single entries takes three times as long."""
    Q = np.zeros(live.size)
    for m in range(live.size):
        total, gram = 0.0, K[live[m]]
        for r in rows:
            source, tail, inner = gram[r, r:], a[r:], 0.0
            for k in range(source.size):
                inner += source[k] * tail[k]
            total += a[r] * (2.0 * inner - source[0] * a[r])
        Q[m] = max(total, 0.0)
    return Q


def as_operator(K: Any) -> KernelOperator:
    """``K`` where it is an operator, else the one on the array (M, n, n)."""
    if is_operator(K):
        found: KernelOperator = K
        return found
    return DenseKernels(np.asarray(K))
