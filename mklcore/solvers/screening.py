"""Screening at p = 1: which kernels cannot have weight at the optimum, and which need not be read to certify a dual.

    D(a) = Lin(a) - max_m 1/2 a'K_m a,      kernel m has weight only if  a*'K_m a* = max_j a*'K_j a*   at the optimum a*

Let l_m be at least the largest eigenvalue of K_m. For any two duals and any number s, the triangle inequality gives

    | sqrt(a'K_m a) - |s| sqrt(b'K_m b) |  <=  sqrt(l_m) ||a - s b||                                                (1)

Gap-safe sphere. Where -Lin has second derivatives of at least c > 0 on the box, D is c-strongly concave on the feasible
set, for the price is convex. With a feasible a, its gap G to any primal value is at least c/2 ||a* - a||^2, so that a*
is in the sphere of radius r = sqrt(2 G / c) around a, and kernel m has no weight if

    sqrt(a'K_m a) + sqrt(l_m) r  <  max_j  sqrt(a'K_j a) - sqrt(l_j) r                                              (2)

c is 1 / C for the squared loss and the squared hinge, 4 / C for the logistic loss. A piecewise-linear loss has c = 0
and no such sphere; (1) holds for it, too: a kernel whose upper bound is below the largest form at a changes neither the
price of a nor who enters, and is not read. Where duals sum to zero, l_m may be that of the centred kernel.

Source: Ndiaye, Fercoq, Gramfort, Salmon (2017), Gap safe screening rules for sparsity enforcing penalties; their
sphere, with the dual of the squared sum of norms in place of that of the sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices, Mask
from mklcore.kernels.operators import Capability, KernelOperator
from mklcore.losses import Cost, Loss

_ROUNDING = 1e-12  # share of the objective that a gap may lack, and of roots in a comparison


class Screened(NamedTuple):
    """Kernels that cannot have weight at the optimum by (2), and kernels that were never read, of all of them."""

    ruled_out: int
    unread: int


def radius_of(gap: float, objective: float, loss: Loss, C: Cost) -> float:
    """r of the sphere around a dual with this gap that holds the optimal one; infinite where there is none."""
    c = loss.least_curvature / float(np.max(C))
    return float(np.sqrt(2.0 * (max(gap, 0.0) + _ROUNDING * abs(objective)) / c)) if c > 0.0 else np.inf


def without_weight(roots: Array, norms: Array, radius: float, exact: Mask | None = None) -> Mask:
    """(2): the kernels (M,) that have no weight at the optimum, from sqrt(a'K_m a) and sqrt(l_m); roots that are not
    ``exact`` are upper bounds."""
    known = roots if exact is None else np.where(exact, roots, -np.inf)
    if not np.isfinite(radius):
        return np.zeros(roots.size, dtype=bool)
    least = float(np.max(known - norms * radius))
    found: Mask = (roots + norms * radius) * (1.0 + _ROUNDING) < least
    return found


def norms_of(K: KernelOperator, balanced: bool) -> Array:
    """sqrt(l_m) (M,): of the trace or, where kernels are stored, of the smaller of trace and Frobenius norm; of the
    centred kernels where duals sum to zero (``balanced``)."""
    trace = K.diagonals().sum(axis=1)
    if Capability.DENSE not in K.capabilities:
        traces: Array = np.sqrt(np.maximum(trace, 0.0))
        return traces
    kernels: Any = K
    squares, n = np.array([np.vdot(kernel, kernel) for kernel in kernels.values]), K.n_samples
    rounding = n * np.finfo(float).eps
    if balanced:
        sums = K.matvec(np.ones(n))
        total = sums.sum(axis=1)
        trace = trace - total / n + rounding * trace
        squares = squares - 2.0 / n * np.sum(sums * sums, axis=1) + (total / n) ** 2 + rounding * squares
    largest = np.minimum(trace, np.sqrt(np.maximum(squares, 0.0)))
    found: Array = np.sqrt(np.maximum(largest, 0.0)) * (1.0 + rounding)
    return found


class Screening:
    """Roots sqrt(a'K_m a) of M kernels at one dual after another, read where they matter, and what follows from a gap.

    Parameters
    ----------
    K : the kernels
    norms : (M,), sqrt(l_m) of (1)
    """

    def __init__(self, K: KernelOperator, norms: Array) -> None:
        self.K, self.norms = K, norms
        self._duals: dict[int, Array] = {}
        self._roots, self._at = np.zeros(norms.size), np.full(norms.size, -1)
        self.renew()

    def renew(self) -> Screening:
        """Begin another problem on the same kernels: nothing is ruled out, and every reading is a new one."""
        self.possible, self.was_read = np.ones(self.norms.size, dtype=bool), np.zeros(self.norms.size, dtype=bool)
        self.read = 0
        return self

    @property
    def counts(self) -> Screened:
        """How many kernels are ruled out, and how many were not read."""
        return Screened(int(np.sum(~self.possible)), int(np.sum(~self.was_read)))

    def needed(self, a: Array, live: Indices) -> Indices:
        """The kernels that the price of ``a`` needs, ``live`` among them."""
        self.forms(a, live)
        return np.flatnonzero(self._at == max(self._duals))

    def forms(self, a: Array, live: Indices) -> Array:
        """a'K_m a (M,): exact for the kernels ``live`` and for all that may exceed the largest of these, an upper bound
        that does not exceed it for the others."""
        roots = self._bounds(a)
        self._duals[max(self._duals, default=-1) + 1] = a.copy()
        roots[live] = self._exact(a, live)
        asked = np.setdiff1d(np.flatnonzero(roots > roots[live].max(initial=0.0)), live)
        roots[asked] = self._exact(a, asked)
        self._duals = {place: dual for place, dual in self._duals.items() if np.any(self._at == place)}
        return np.asarray(roots**2)

    def rule_out(self, forms: Array, share: float, radius: float) -> None:
        """Rule kernels out by (2) with the sphere around ``share`` times the dual that has these ``forms``."""
        exact = self._at == max(self._duals)
        self.possible &= ~without_weight(abs(share) * np.sqrt(forms), self.norms, radius, exact)

    def _bounds(self, a: Array) -> Array:
        """(1) from the last reading of every kernel, infinite where there is none."""
        out = np.full(self.norms.size, np.inf)
        for place, b in self._duals.items():
            own, size = self._at == place, float(b @ b)
            share = float(a @ b) / size if size > 0.0 else 0.0
            out[own] = abs(share) * self._roots[own] + self.norms[own] * float(np.linalg.norm(a - share * b))
        return out * (1.0 + _ROUNDING)

    def _exact(self, a: Array, kernels: Indices) -> Array:
        self.read += kernels.size
        self.was_read[kernels] = True
        everything = kernels.size == self.norms.size
        forms = self.K.quad(a) if everything else self.K.quad(a, kernels) if kernels.size else np.zeros(0)
        self._roots[kernels], self._at[kernels] = np.sqrt(forms), max(self._duals)
        return self._roots[kernels]
