"""What weighs the kernels: a constraint on the weights theta, seen from three sides.

Each penalty answers, for block norms n_m = ||w_m|| and quadratic forms Q_m = a'K_m a,
- ``regulariser(n)``: the primal price  min_theta 1/2 sum_m n_m^2 / theta_m  over the allowed weights,
- ``dual_price(Q)``: what the dual pays,  max_theta 1/2 theta'Q  over the allowed weights,
- ``update(weights, Q)``: the analytic next weights, the minimiser behind ``regulariser`` at n_m = theta_m sqrt(Q_m).

Source: Kloft et al. (2011), equation (17), Proposition 2 (19), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from mklcore.errors import ParameterError

Array = np.ndarray


class Penalty(Protocol):
    """The interface of a penalty; ``weights``, ``n`` and ``Q`` are (M,) and non-negative."""

    name: ClassVar[str]

    def start(self, M: int) -> Array:
        """Equal positive weights on the boundary of the constraint."""

    def scale(self, weights: Array) -> Array:
        """The same direction, moved to the boundary of the constraint."""

    def regulariser(self, n: Array) -> float: ...

    def dual_price(self, Q: Array) -> float: ...

    def update(self, weights: Array, Q: Array) -> Array: ...


def vector_norm(v: Array, order: float) -> float:
    """(sum |v_m|^order)^(1/order), scaled by the largest entry so that orders in the hundreds neither overflow nor vanish."""
    largest = float(np.max(np.abs(v), initial=0.0))
    if largest == 0.0 or np.isinf(order):
        return largest
    return largest * float(np.sum((np.abs(v) / largest) ** order) ** (1.0 / order))


def conjugate_exponent(p: float) -> float:
    """p* with 1/p + 1/p* = 1."""
    if p == 1:
        return np.inf
    return 1.0 if np.isinf(p) else p / (p - 1.0)


@dataclass(frozen=True)
class LpNorm:
    """||theta||_p <= 1: sparse at p = 1, the plain sum of kernels at p = infinity.

    Equivalent to the block norm 1/2 ||w||_{2,q}^2 with q = 2p / (p + 1).
    """

    p: float = 1.0
    name: ClassVar[str] = "lp"

    def __post_init__(self) -> None:
        if not (isinstance(self.p, (int, float, np.number)) and not np.isnan(self.p) and self.p >= 1):
            raise ParameterError(
                f"p is the order of the norm on the kernel weights and must be 1 or more "
                f"(1 is sparse, infinity is the plain sum); got {self.p!r}."
            )

    @property
    def block_order(self) -> float:
        """q = 2p / (p + 1)."""
        return 2.0 if np.isinf(self.p) else 2.0 * self.p / (self.p + 1.0)

    def start(self, M: int) -> Array:
        return np.full(M, 1.0 if np.isinf(self.p) else M ** (-1.0 / self.p))

    def scale(self, weights: Array) -> Array:
        if np.isinf(self.p):
            return np.ones_like(weights)
        norm = vector_norm(weights, self.p)
        return weights / norm if norm > 0 else self.start(weights.size)

    def regulariser(self, n: Array) -> float:
        return 0.5 * vector_norm(n, self.block_order) ** 2

    def dual_price(self, Q: Array) -> float:
        return 0.5 * vector_norm(Q, conjugate_exponent(self.p))

    def update(self, weights: Array, Q: Array) -> Array:
        """Proposition 2 (19): theta_m proportional to n_m^{2/(p+1)}, on the unit sphere of the p-norm."""
        if np.isinf(self.p):
            return np.ones_like(weights)
        squares = weights**2 * np.maximum(Q, 0.0)
        largest = float(squares.max(initial=0.0))
        if largest <= 0.0:  # w = 0: any weights are optimal, keep these
            return weights
        return self.scale((squares / largest) ** (1.0 / (self.p + 1.0)))

