"""The interior point method of ``solvers.interior`` on features: p = 1 with a loss whose Lin is linear on each side of zero.

The one system of size n, A = Phi diag(s) Phi' + diag(h) with s = theta spread over the features, is solved through the
features (Woodbury's identity), so that a step costs O(n D^2) and no matrix of n x n is made:

    A^(-1) r = r / h - B inner^(-1) B'(r / h) / h,     B = Phi diag(s)^(1/2),     inner = I + B' diag(1/h) B
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.lowrank.features import FeatureStack
from mklcore.lowrank.weighing import TOLD, OnFeatures
from mklcore.solvers.driver import Point, Progress
from mklcore.solvers.interior import Interior, Sides
from mklcore.solvers.problem import Problem, WarmStart

_LEAST = 1e-200  # a firmness below it would not be one
_HELD = 6e8  # bytes of features in double precision up to which they are kept for the length of a step


class FeatureInterior(OnFeatures, Interior):
    """``Interior`` on a ``FeatureStack``."""

    start = Interior.start
    accuracy = Interior.accuracy

    def __init__(self, problem: Problem, *, tol: float, warm: WarmStart | None = None) -> None:
        self._take(problem, tol, warm)
        self.name = f"lp interior point {TOLD}"
        self.sides = Sides.of(problem)
        self._short, self._board = 0, Progress(tol)
        self._weights = np.empty(0)

    def finish(self, best: Point) -> Point:
        """The fewest kernels that keep the certificate, with the dual as it is: a machine at their weights would be dear."""
        limit = max(best.objective, best.objective - self._board.gap + self._board.target)
        weights = self._fewest(best, limit)
        G = self._times(best.dual)
        objective, b, _ = self._primal(weights, G, np.maximum(G @ best.dual, 0.0))
        return replace(best, weights=weights, intercept=b, objective=objective, solves=0)

    def _times(self, a: Array) -> Array:
        return self.stack.matvec(a)

    def factorised(self, firm: Array) -> Callable[[Array], Array]:
        return through_features(self.stack, self.stack.spread(self._weights), np.maximum(firm, _LEAST))


def through_features(stack: FeatureStack, s: Array, h: Array) -> Callable[[Array], Array]:
    """What solves (Phi diag(s) Phi' + diag(h)) z = right for right (n,) or (n, k); s (D,) >= 0, h (n,) > 0.

    LinAlgError where the inner system is singular to rounding. O(n D^2) once, O(n D) a column after that.
    """
    live = np.flatnonzero(s)
    roots, inner = np.sqrt(s[live]), np.zeros((live.size, live.size), order="F")
    some: Any = slice(None) if live.size == s.size else live

    def scaled() -> Iterator[tuple[slice, Array]]:
        return ((part, piece[:, some] * roots) for part, piece in stack.pieces())

    held = list(scaled()) if 8 * stack.n_samples * live.size <= _HELD else None
    for part, B in held or scaled():
        inner = scipy.linalg.blas.dsyrk(1.0, (B / np.sqrt(h[part])[:, None]).T, beta=1.0, c=inner, overwrite_c=True)
    inner.flat[:: live.size + 1] += 1.0
    factor = scipy.linalg.cho_factor(inner, lower=False, overwrite_a=True, check_finite=False)

    def solve(right: Array) -> Array:
        table = right.reshape(h.size, -1) / h[:, None]
        reach = np.zeros((live.size, table.shape[1]))
        for part, B in held or scaled():
            reach += B.T @ table[part]
        inward = scipy.linalg.cho_solve(factor, reach, check_finite=False)
        for part, B in held or scaled():
            table[part] -= (B @ inward) / h[part, None]
        return table.reshape(right.shape)

    return solve
