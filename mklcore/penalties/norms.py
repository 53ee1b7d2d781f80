"""What weighs the kernels: a constraint on the weights theta, seen from three sides.

Each penalty answers, for block norms n_m = ||w_m|| and quadratic forms Q_m = a'K_m a,
- ``regulariser(n)``: the primal price  min_theta 1/2 sum_m n_m^2 / theta_m  over the allowed weights,
- ``dual_price(Q)``: what the dual pays,  max_theta 1/2 theta'Q  over the allowed weights,
- ``update(weights, Q)``: the analytic next weights, the minimiser behind ``regulariser`` at n_m = theta_m sqrt(Q_m).

Source: Kloft et al. (2011), equation (17), Proposition 2 (19), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.penalties.base import Penalty


def vector_norm(v: Array, order: float) -> float:
    """(sum |v_m|^order)^(1/order), scaled by the largest entry so that orders in the hundreds neither overflow nor vanish."""
    largest = float(np.max(np.abs(v), initial=0.0))
    if largest == 0.0 or np.isinf(order):
        return largest
    return largest * float(np.sum((np.abs(v) / largest) ** order) ** (1.0 / order))


def _check_order(p: float) -> None:
    if not (isinstance(p, (int, float, np.number)) and not np.isnan(p) and p >= 1):
        raise ParameterError(
            f"p is the order of the norm on the kernel weights and must be 1 or more "
            f"(1 is sparse, infinity is the plain sum); got {p!r}."
        )


def conjugate_exponent(p: float) -> float:
    """p* with 1/p + 1/p* = 1."""
    if p == 1:
        return np.inf
    return 1.0 if np.isinf(p) else p / (p - 1.0)


@dataclass(frozen=True)
class LpNorm(Penalty):
    """||theta||_p <= 1: sparse at p = 1, the plain sum of kernels at p = infinity.

    Equivalent to the block norm 1/2 ||w||_{2,q}^2 with q = 2p / (p + 1).

    >>> LpNorm(2.0).dual_price(np.array([3.0, 4.0]))
    2.5
    """

    p: float = 1.0
    name: ClassVar[str] = "lp"

    def __post_init__(self) -> None:
        _check_order(self.p)

    @property
    def sparse(self) -> bool:
        return self.p == 1

    @property
    def order(self) -> float:
        return self.p

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


@dataclass(frozen=True)
class WeightedLpNorm(Penalty):
    """(sum_m d_m theta_m^p)^(1/p) <= 1 with prices d > 0: a dear kernel (large d_m) must earn its weight.

    The same as the lp norm of d^(1/p) theta on the kernels d^(-1/p) K. Source: specification of the lp-norm solver, section 9.
    """

    p: float
    d: tuple[float, ...]
    name: ClassVar[str] = "weighted lp"

    def __post_init__(self) -> None:
        _check_order(self.p)
        object.__setattr__(self, "d", tuple(float(price) for price in np.ravel(self.d)))
        if not all(np.isfinite(price) and price > 0 for price in self.d) or not self.d:
            raise ParameterError(f"d are the prices of the kernels and must be finite and above 0; got {self.d!r}.")

    def _factor(self, M: int) -> Array:
        if len(self.d) != M:
            raise ParameterError(
                f"The norm has {len(self.d)} prices d, but there are {M} kernels; give one per kernel."
            )
        return np.ones(M) if np.isinf(self.p) else np.array(self.d) ** (1.0 / self.p)

    def start(self, M: int) -> Array:
        return LpNorm(self.p).start(M) / self._factor(M)

    def scale(self, weights: Array) -> Array:
        factor = self._factor(weights.size)
        return LpNorm(self.p).scale(weights * factor) / factor

    def regulariser(self, n: Array) -> float:
        return LpNorm(self.p).regulariser(n * np.sqrt(self._factor(n.size)))

    def dual_price(self, Q: Array) -> float:
        return LpNorm(self.p).dual_price(Q / self._factor(Q.size))

    def update(self, weights: Array, Q: Array) -> Array:
        factor = self._factor(Q.size)
        return LpNorm(self.p).update(weights * factor, Q / factor) / factor


@dataclass(frozen=True)
class BlockNorm(Penalty):
    """1/2 ||w||_{2,q}^2 with q >= 2: more even than the plain sum (q = 2), up to equal block norms (q = infinity).

    Weights are eta_m = 1 / th_m >= 1-ish with ||th||_r <= 1, r = q / (q - 2). The paper's update (33) is wrong and
    diverges; the dual is a joint maximisation in (a, th), and th_m proportional to Q_m^(1/(r+1)) raises it monotonically.
    Source: Kloft et al. (2011), section 4.3, corrected in the specification of the lp-norm solver, section 7.
    """

    q: float
    name: ClassVar[str] = "block norm"
    ascends: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (isinstance(self.q, (int, float, np.number)) and not np.isnan(self.q) and self.q >= 2):
            raise ParameterError(
                f"q is the order of the block norm and must be 2 or more here; got {self.q!r}. "
                "For q below 2 use LpNorm(p = q / (2 - q)), the same problem."
            )

    @property
    def _r(self) -> float:
        if self.q == 2:
            return np.inf
        return 1.0 if np.isinf(self.q) else self.q / (self.q - 2.0)

    def start(self, M: int) -> Array:
        return np.full(M, M ** (1.0 / self._r))

    def scale(self, weights: Array) -> Array:
        positive = np.maximum(weights, 1e-15 * max(float(weights.max()), 1e-300))
        return np.ones_like(weights) if self.q == 2 else positive * vector_norm(1.0 / positive, self._r)

    def regulariser(self, n: Array) -> float:
        return 0.5 * vector_norm(n, self.q) ** 2

    def dual_price(self, Q: Array) -> float:
        return 0.5 * vector_norm(np.sqrt(Q), conjugate_exponent(self.q)) ** 2

    def update(self, weights: Array, Q: Array) -> Array:
        largest = float(Q.max(initial=0.0))
        if largest <= 0.0 or self.q == 2:
            return weights
        floored = np.maximum(Q / largest, 1e-14)  # a vanishing block is hardly charged: its weight would be infinite
        return self.scale(floored ** (-1.0 / (self._r + 1.0)))


@dataclass(frozen=True, eq=False)
class EllipticNorm(Penalty):
    """sqrt(theta' E^-1 theta) <= 1 with E positive definite: kernels that E ties together rise and fall together.

    ``E`` (M, M), for example an alignment matrix plus 0.05 I. Source: Kloft et al. (2011), section 3.5; specification of
    the lp-norm solver, section 8.
    """

    E: Array
    name: ClassVar[str] = "elliptic"

    def __post_init__(self) -> None:
        E = np.array(self.E, dtype=np.float64)
        if E.ndim != 2 or E.shape[0] != E.shape[1] or not np.all(np.isfinite(E)):
            raise ParameterError(f"E must be a finite square matrix (M, M); got shape {E.shape}.")
        if not np.allclose(E, E.T, rtol=1e-8, atol=1e-12):
            raise ParameterError("E must be symmetric; use (E + E') / 2.")
        smallest = float(np.linalg.eigvalsh(E)[0])
        if smallest <= 1e-12 * float(np.abs(E).max()):
            raise ParameterError(
                f"E must be positive definite; its smallest eigenvalue is {smallest:.3g}. "
                "Add a multiple of the identity, for example 0.05."
            )
        E.flags.writeable = False
        object.__setattr__(self, "E", E)
        object.__setattr__(self, "_inverse", np.linalg.inv(E))

    def _checked(self, v: Array) -> Array:
        if v.size != self.E.shape[0]:
            raise ParameterError(f"E is for {self.E.shape[0]} kernels, but there are {v.size}.")
        return v

    def start(self, M: int) -> Array:
        return self.scale(self._checked(np.ones(M)))

    def scale(self, weights: Array) -> Array:
        norm = float(np.sqrt(weights @ self._inverse @ weights))  # type: ignore[attr-defined]
        return weights / norm if norm > 0 else self.start(weights.size)

    def regulariser(self, n: Array) -> float:
        live = n > 0
        if not live.any():
            return 0.0
        theta = self._nearest(n, np.ones_like(n))
        return 0.5 * float(np.sum(n[live] ** 2 / theta[live]))

    def dual_price(self, Q: Array) -> float:
        """min over gamma >= 0 of sqrt(v'E v), v = Q / 2 + gamma; any gamma found is a valid upper price."""
        v = 0.5 * self._checked(Q)
        floor = v.copy()
        if np.any(self.E < 0):
            for _ in range(500):
                before = v.copy()
                for m in range(v.size):
                    v[m] = max(floor[m], v[m] - (self.E[m] @ v) / self.E[m, m])
                if np.max(np.abs(v - before)) <= 1e-13 * max(float(v.max()), 1e-300):
                    break
        return float(np.sqrt(v @ self.E @ v))

    def update(self, weights: Array, Q: Array) -> Array:
        n = weights * np.sqrt(np.maximum(Q, 0.0))
        return weights if not np.any(n > 0) else self._nearest(n, weights)

    def _nearest(self, n: Array, start: Array) -> Array:
        """argmin over theta > 0 of sum n_m^2 / (2 theta_m) + 1/2 theta'E^-1 theta, on the boundary: Newton, 0.99 to the wall."""
        squares = np.maximum(n, 1e-9 * float(n.max())) ** 2
        squares = squares / float(squares.max())
        inverse = self._inverse  # type: ignore[attr-defined]
        theta = np.maximum(start, 1e-6 * float(start.max()))
        theta = theta * (float(np.sum(squares / theta)) / float(theta @ inverse @ theta)) ** (1.0 / 3.0)
        for _ in range(200):
            gradient = inverse @ theta - 0.5 * squares / theta**2
            step = np.linalg.solve(inverse + np.diag(squares / theta**3), -gradient)
            falling = step < 0
            room = float(np.min(-theta[falling] / step[falling])) if falling.any() else np.inf
            theta = theta + min(1.0, 0.99 * room) * step
            if np.max(np.abs(step) / theta) < 1e-12:
                break
        return self.scale(theta)
