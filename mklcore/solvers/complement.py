"""The Schur complement of an interior point step: (U A^{-1} U' + D) z = r for U (M, n), A (n, n) and D = diag(d), d >
0.

Two ways where the factor L of A = L L' is available, and the number of kernels says which is shorter:

    M <= n    W = L^{-1} U',  W'W + D  factorised                         O(n^2 M + n M^2 + M^3)
    M > n     z = D^{-1} (r - U B^{-1} U'D^{-1} r),  B = A + U'D^{-1}U     O(n^2 M + n^3), by Woodbury's identity

The second takes differences of large numbers where d is small: every answer is refined by what it leaves over, and
where that is not enough the first takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.kernels.operators import CachedOperator


@dataclass(frozen=True)
class ComplementSettings:
    """What the refinement of an answer by Woodbury's identity is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    left: float = 1e-10  # share of the right side that an answer may leave over
    refined: int = 3  # times at most


SETTINGS = ComplementSettings()


class Complement(Protocol):
    """What a step asks for; ``ones`` (n,) is A^{-1} 1."""

    ones: Array

    def solve(self, right: Array) -> Array:
        """z for right (M,)."""
        ...

    def back(self, z: Array) -> Array:
        """A^{-1} U'z (n,) for z (M,)."""
        ...


class Through:
    """The complement where A is known by what solves A z = r alone, for right sides (n,) or (n, k)."""

    def __init__(self, A: Callable[[Array], Array], U: Array, d: Array) -> None:
        both = A(np.column_stack([U.T, np.ones(U.shape[1])]))
        self._through, self.ones = np.ascontiguousarray(both[:, :-1]), np.ascontiguousarray(both[:, -1])
        H = U @ self._through
        H.flat[:: d.size + 1] += d
        self._factor = scipy.linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, right: Array) -> Array:
        found: Array = scipy.linalg.cho_solve(self._factor, right, check_finite=False)
        return found

    def back(self, z: Array) -> Array:
        found: Array = self._through @ z
        return found


class Factorised:
    """A (n, n) by its Cholesky factor: called with a right side (n,) it gives z of A z = r. LinAlgError where it is
    singular.

    ``A`` is left as it is.
    """

    def __init__(self, A: Array) -> None:
        self.matrix = A.T  # the same, as Fortran has it
        self.root = scipy.linalg.cho_factor(self.matrix, lower=True, check_finite=False)[0]

    def __call__(self, right: Array) -> Array:
        found: Array = scipy.linalg.cho_solve((self.root, True), right, check_finite=False)
        return found


class Halved:
    """The complement where A is factorised; LinAlgError where it is singular to rounding."""

    def __init__(self, A: Factorised, U: Array, d: Array) -> None:
        self._A, self._U, self._d, self.ones = A, U, d, A(np.ones(U.shape[1]))
        self._short: Any = self._inner() if U.shape[0] > U.shape[1] else None
        if self._short is None:
            _ = self._direct

    def solve(self, right: Array) -> Array:
        if self._short is not None:
            z = self._shortly(right)
            for _ in range(SETTINGS.refined):
                left = right - self._U @ self.back(z) - self._d * z
                if float(np.linalg.norm(left)) <= SETTINGS.left * float(np.linalg.norm(right)):
                    return z
                z = z + self._shortly(left)
            self._short = None  # rounding has taken it: to the letter from here
        found: Array = scipy.linalg.cho_solve(self._direct[1], right, check_finite=False)
        return found

    def back(self, z: Array) -> Array:
        if self._short is None:
            found: Array = scipy.linalg.blas.dtrsv(self._A.root, self._direct[0] @ z, lower=1, trans=1)
            return found
        return self._A(self._U.T @ z)

    def _inner(self) -> Any:
        B = scipy.linalg.blas.dsyrk(1.0, (self._U / np.sqrt(self._d)[:, None]).T, beta=1.0, c=self._A.matrix, lower=1)
        try:
            return scipy.linalg.cho_factor(B, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None

    def _shortly(self, right: Array) -> Array:
        z = right / self._d
        found: Array = z - (self._U @ scipy.linalg.cho_solve(self._short, self._U.T @ z, check_finite=False)) / self._d
        return found

    @cached_property
    def _direct(self) -> tuple[Array, Any]:
        """W (n, M) and the factor of W'W + D."""
        W = scipy.linalg.blas.dtrsm(1.0, self._A.root, self._U.T, lower=1)
        H = scipy.linalg.blas.dsyrk(1.0, W, trans=1, lower=1)
        H.flat[:: self._d.size + 1] += self._d
        return W, scipy.linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)


def factorised(K: CachedOperator, weights: Array, points: Indices, firm: Array) -> Callable[[Array], Array]:
    """What solves (K_theta + diag(firm)) z = right among some points; LinAlgError where it is singular."""
    if points.size < K.n_samples:
        A = K.combine_block(weights, points)
    else:
        total = K.combine(weights)
        if total.matrix is None:
            return total.factor(firm)
        A = total.matrix.copy()
    A.flat[:: firm.size + 1] += firm
    return Factorised(A)


def complement(A: Callable[[Array], Array], U: Array, d: Array) -> Complement:
    """What solves (U A^{-1} U' + diag(d)) z = right for what ``factorised`` gave; LinAlgError where it is singular."""
    return Halved(A, U, d) if isinstance(A, Factorised) else Through(A, U, d)
