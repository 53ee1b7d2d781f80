"""Leaves over a stack of Gram matrices: combine it, multiply it, take quadratic forms. Rows of zeros are never read."""

from __future__ import annotations

import numpy as np
from numba import njit

TILE = 32


@njit(cache=True, nogil=True)
def combine(K, weights, out):
    """out = sum_m weights[m] K[m] for symmetric K[m] (M, n, n): the upper triangle is read, and mirrored.

    Row by row, so that a row of ``out`` stays in the fastest cache; reading the stack is all that this costs.
    """
    M, n, _ = K.shape
    for i in range(n):
        row = out[i]
        for k in range(i, n):
            row[k] = 0.0
        for m in range(M):
            w = weights[m]
            if w != 0.0:
                source = K[m, i]
                for k in range(i, n):
                    row[k] += w * source[k]
    for top in range(0, n, TILE):
        for left in range(top, n, TILE):
            for i in range(top, min(top + TILE, n)):
                for k in range(max(left, i + 1), min(left + TILE, n)):
                    out[k, i] = out[i, k]


@njit(cache=True, nogil=True)
def combine_block(K, weights, rows):
    """sum_m weights[m] K[m][rows, rows] for symmetric K[m], as a new (r, r) matrix."""
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


@njit(cache=True, nogil=True)
def products(K, a, rows):
    """G[m] = K[m] a for symmetric K[m] and a that vanishes outside ``rows``: only those rows are read. Returns (M, n)."""
    M, n = K.shape[0], K.shape[1]
    G = np.zeros((M, n))
    for m in range(M):
        target = G[m]
        for r in rows:
            source, factor = K[m, r], a[r]
            for k in range(n):
                target[k] += factor * source[k]
    return G


@njit(cache=True, nogil=True)
def quadratic_forms(K, a, rows):
    """Q[m] = a'K[m] a for a that vanishes outside ``rows`` (sorted). Returns (M,), negative round-off clipped to zero."""
    M = K.shape[0]
    Q = np.zeros(M)
    for m in range(M):
        total = 0.0
        for r in rows:
            source, inner = K[m, r], 0.0
            for s in rows:
                inner += source[s] * a[s]
            total += a[r] * inner
        Q[m] = max(total, 0.0)
    return Q
