"""Sums of kernels that are at hand, and what they give of another: a sum over kernels is linear in the weights, so that along
a path, where weights move along a curve, a few earlier sums make the next one up to little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.kernels.operators.base import KernelOperator

NEARBY, SAME = 0.1, 1e-13  # shares of the weights that a sum at hand may miss, to be of use, or to be the same
_MOST = 3  # sums kept: each is one more (n, n)


@dataclass(frozen=True, eq=False)
class Summed:
    """Sums of the M ``kernels`` at some ``weights`` (k, M), the newest first, with their ``matrices``, k of (n, n)."""

    kernels: KernelOperator
    weights: Array
    matrices: tuple[Array, ...] = ()

    def with_one(self, weights: Array, matrix: Array) -> Summed:
        """These and a copy of one more, ``matrix`` at ``weights``; the oldest leaves where there are too many."""
        kept = _MOST - 1
        return Summed(self.kernels, np.vstack([weights, self.weights[:kept]]), (matrix.copy(), *self.matrices[:kept]))

    def nearest(self, weights: Array) -> tuple[Array, float]:
        """The shares (k,) of the sums that come nearest to that of ``weights`` (M,), and what is left as a share of it."""
        shares = np.asarray(np.linalg.lstsq(self.weights.T, weights, rcond=1e-6)[0], dtype=np.float64)
        left = float(np.abs(weights - shares @ self.weights).sum() / np.abs(weights).sum())
        return shares, left

    def mixed(self, shares: Array, out: Array) -> None:
        """out = sum_k shares[k] matrices[k]."""
        np.multiply(self.matrices[0], shares[0], out=out)
        for share, matrix in zip(shares[1:], self.matrices[1:], strict=True):
            scipy.linalg.blas.daxpy(matrix.reshape(-1), out.reshape(-1), a=share)  # in place, in one pass
