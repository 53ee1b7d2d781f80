"""How far single precision can move the sums over descendants, bounded before they are computed.

Every M_i is positive semidefinite, so |M_i[r, k]|^2 <= M_i[r, r] M_i[k, k], and the same holds for the sum of the
absolute values of what an entry adds up. With g_r^2 = prod_i M_i(t_i)[r, r] and K roundings on the way from the columns
to a sum,

    |computed S_t - S_t|  <=  gamma_K ( sum_r |a_r| g_r )^2  +  what falls below the range,    gamma_K = K u / (1 - K u)

Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), section 3.1, whatever the order of
summation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array
from mklcore.solvers.hkl.plan import TILE

_UNIT = 2.0**-24
_SMALLEST = 2.0**-126
_MOST = 1e30  # of an entry: far enough from the largest number that sums of a tile stay below it, too
_LEAST_SHARE, _MOST_PART = (
    1e-30,
    1e15,
)  # of what entries are made of: a product of two stays in the range, in whatever order
_PER_LEVEL = (
    8  # roundings of an entry of M_i beside one per level: two columns, a share, their products, one product of levels
)
_BESIDE = 16  # of the weights of the entries, the last product, and to spare


@dataclass(frozen=True, eq=False)
class Rounding:
    """``start`` (n,) is g of the root; ``ratios`` (p, q+1, n) what a level above zero multiplies it with; a sum is off
    by at most ``relative`` (sum_r |a_r| g_r)^2 + ``absolute`` where no |a_r| is above 1."""

    start: Array
    ratios: Array
    relative: float
    absolute: float

    @classmethod
    def of(cls, columns: Array, shares: Array) -> Rounding | None:
        """From columns (p, q+1, n) and ``shares`` (q+1, q+1); None where entries may leave the range of single
        precision."""
        p, levels, n = columns.shape
        used, part = shares[shares > 0.0], max(float(np.abs(columns).max()), float(shares.max()))
        if not (part < _MOST_PART and used.min() > _LEAST_SHARE):
            return None
        roots = np.sqrt(np.einsum("tj,ijr->itr", shares, columns**2))
        with np.errstate(over="ignore"):
            largest = float(np.max(np.prod(np.maximum(roots.max(axis=1), 1.0) ** 2, axis=0)))
        steps = p * (levels + _PER_LEVEL) + TILE + _BESIDE
        if not largest < _MOST or steps * _UNIT > 0.01:
            return None
        ratios = np.divide(roots, roots[:, :1], out=np.zeros_like(roots), where=roots[:, :1] > 0)
        below = float(n) ** 2 * steps * _SMALLEST * largest * max(part, 1.0)
        return cls(np.prod(roots[:, 0], axis=0), ratios, steps * _UNIT / (1.0 - steps * _UNIT), below)
