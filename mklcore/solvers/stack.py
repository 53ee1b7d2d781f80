"""What solvers ask of M kernels: combine them, multiply them, take quadratic forms.

A stored stack goes through leaves, which never read rows of zeros; ``KernelRows``, whose Gram matrices are not stored, take
sums and forms from the columns themselves, or from triangles in single precision.
"""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array, Indices, read_only
from mklcore.kernels.rows import KernelRows
from mklcore.kernels.single import SingleRows
from mklcore.leaves import leaf

TILE = 32
ROWS = 8


def is_made_afresh(K: Array | KernelRows) -> bool:
    """Whether every sum makes all kernels again: none of them is stored."""
    return isinstance(K, KernelRows) and not K.is_stored


def combine(K: Array | KernelRows, weights: Array, out: Array) -> None:
    """out = sum_m weights[m] K[m] for symmetric K[m] (M, n, n)."""
    if isinstance(K, KernelRows):
        K.weighted(weights, out)
        return
    _combine(read_only(K), weights, out)


def products(K: Array | KernelRows, a: Array, rows: Indices, live: Indices) -> Array:
    """G[k] = K[live[k]] a for symmetric K[m] and a that vanishes outside ``rows``: only those rows are read. Returns (M, n)."""
    if isinstance(K, KernelRows):
        chosen: KernelRows = K if live.size == K.n_kernels else K.subset(live)
        return chosen.products(a)
    return _products(read_only(K), a, rows, live)


def quadratic_forms(K: Array | KernelRows, a: Array, rows: Indices) -> Array:
    """Q[m] = a'K[m] a for symmetric K[m] and a that vanishes outside ``rows``. Returns (M,), negative round-off clipped."""
    if isinstance(K, KernelRows):
        return K.forms(a)
    return _quadratic_forms(read_only(K), a, rows)


def combine_block(K: Array | KernelRows, weights: Array, rows: Indices) -> Array:
    """sum_m weights[m] K[m][rows, rows] for symmetric K[m] that are stored and ascending rows, as a new (r, r) matrix."""
    if isinstance(K, SingleRows):
        return K.part(weights, rows)
    assert not isinstance(K, KernelRows)
    return _combine_block(K, weights, rows)


def products_of_one(K: Array | KernelRows, duals: Array, m: int) -> Array:
    """K[m] a for every row a of ``duals`` (D, n): (D, n)."""
    if isinstance(K, KernelRows):
        one = K.subset(np.array([m]))
        return np.concatenate([one.products(a) for a in duals])
    found: Array = duals @ K[m]
    return found


def gram(K: Array | KernelRows, m: int) -> Array:
    """One Gram matrix, (n, n)."""
    found: Array = K.stack_of(np.array([m]))[0] if isinstance(K, KernelRows) else K[m]
    return found


def diagonals(K: Array | KernelRows) -> Array:
    """The diagonal of every kernel, (M, n)."""
    return K.diagonal if isinstance(K, KernelRows) else np.einsum("mii->mi", K)


@leaf()
def _combine(K: Array, weights: Array, out: Array) -> None:
    """The upper triangle is read, and mirrored.

    A few rows of four kernels at a time: the rows of ``out`` stay in the cache, and each kernel is read in long runs.
    """
    n, live, count = out.shape[0], np.empty(weights.size, np.int64), 0
    for m in range(weights.size):  # np.flatnonzero took half of the compiling
        if weights[m] != 0.0:
            live[count] = m
            count += 1
    for top in range(0, n, ROWS):
        end = min(top + ROWS, n)
        out[top:end, top:] = 0.0
        done = 0
        while done + 4 <= count:
            m0, m1, m2, m3 = live[done], live[done + 1], live[done + 2], live[done + 3]
            w0, w1, w2, w3 = weights[m0], weights[m1], weights[m2], weights[m3]
            for i in range(top, end):
                row = out[i, top:]
                s0, s1, s2, s3 = K[m0, i, top:], K[m1, i, top:], K[m2, i, top:], K[m3, i, top:]
                for k in range(row.size):
                    row[k] += w0 * s0[k] + w1 * s1[k] + w2 * s2[k] + w3 * s3[k]
            done += 4
        for m in live[done:count]:
            w = weights[m]
            for i in range(top, end):
                row, source = out[i, top:], K[m, i, top:]
                for k in range(row.size):
                    row[k] += w * source[k]
    for top in range(0, n, TILE):
        for left in range(top, n, TILE):
            for i in range(top, min(top + TILE, n)):
                for k in range(max(left, i + 1), min(left + TILE, n)):
                    out[k, i] = out[i, k]


@leaf()
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


@leaf({"contract"})
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


@leaf({"reassoc", "contract"})
def _quadratic_forms(K: Array, a: Array, rows: Indices) -> Array:
    """Whole runs of each row right of the diagonal are read: picking single entries takes three times as long."""
    M = K.shape[0]
    Q = np.zeros(M)
    for m in range(M):
        total = 0.0
        for r in rows:
            source, tail, inner = K[m, r, r:], a[r:], 0.0
            for k in range(source.size):
                inner += source[k] * tail[k]
            total += a[r] * (2.0 * inner - source[0] * a[r])
        Q[m] = max(total, 0.0)
    return Q
