"""Feature scaling kernels under a group selection term: one Gaussian kernel whose columns have scales of their own.

    min_{s, f, b}  G(r) + C sum_i V(f(x_i) + b, y_i) + 1/2 ||f||^2,    k_s(x, z) = exp(-1/2 sum_j s_j^2 (x_j - z_j)^2)

with r_k = sum_{j in group k} s_j^2. As in Algorithm 1, the concave G is replaced by 1/2 sum_k B_k r_k, which is
above it and touches it at the present scales; u_j = s_j^2 >= 0 then moves by a quasi-Newton method along

    dF/du_j = 1/4 sum_{i,k} a_i a_k K_ik (x_ij - x_kj)^2,    F the optimum of the machine, a its dual,

so that the objective never rises. The problem is not convex in the scales, whatever the term: the answer is a local
minimum.

Source: Subrahmanya and Shin (2010), section 3, first paragraph (which calls this straightforward and expensive),
equations (1) to (3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.losses import Loss
from mklcore.machines import machine_of
from mklcore.penalties.terms import GroupTerm
from mklcore.solvers.driver import Iterate, Method, Status


@dataclass(frozen=True)
class ScalingSettings:
    """What the descent in the scales is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    inner: int = 15  # steps of L-BFGS-B between two machines
    accuracy: float = 1e-6  # relative gap of the machines
    gone: float = 1e-6  # share of the largest squared scale that is none


SETTINGS = ScalingSettings()


@dataclass(frozen=True, eq=False)
class Scales:
    """What a point carries: squared scales u (d,), intercepts (T,)."""

    u: Array
    intercepts: Array


class FeatureScaling(Method[Scales]):
    """The problem as the driver's method: ``Z`` (n, d) rows, ``Y`` (T, n) targets that share the scales, ``groups`` of
    columns.
    """

    name = "SMKL, feature scaling"

    def __init__(
        self,
        Z: Array,
        Y: Array,
        C: float,
        loss: Loss,
        term: GroupTerm,
        groups: Sequence[Indices],
        fit_intercept: bool,
        tol: float,
    ) -> None:
        self.Z, self.Y, self.C, self.loss, self.term = Z, Y, C, loss, term
        self.groups, self.fit_intercept, self.tol = list(groups), fit_intercept, tol
        self.home = np.empty(Z.shape[1], dtype=np.int64)
        for k, members in enumerate(self.groups):
            self.home[members] = k

    def gram(self, u: Array) -> Array:
        """k_s between the rows, (n, n)."""
        return gaussian(self.Z, self.Z, u)

    def init(self) -> Iterate[Scales]:
        d = self.Z.shape[1]
        self.last = self._point(np.full(d, 1.0 / d), None)
        return self.last

    def step(self, best: Iterate[Scales], last: Iterate[Scales], trace: Any) -> Iterate[Scales] | Status:
        u = last.state.u
        prices = 0.5 * np.minimum(self.term.slopes(self._norms(u)), 1e12)[self.home]
        known = [last.dual.T]

        def value(v: Array) -> tuple[float, Array]:
            F, slope, duals, _ = self._machines(v, known[0])
            known[0] = duals
            return F + float(prices @ v), slope + prices

        bounds = [(0.0, None) if one > 0 else (0.0, 0.0) for one in u]
        found = scipy.optimize.minimize(
            value, u, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": SETTINGS.inner}
        )
        v = np.where(found.x > SETTINGS.gone * max(float(found.x.max()), 1e-300), found.x, 0.0)
        following = self._point(v, known[0])
        if following.objective > last.objective or not v.any():
            return Status.SETTLED
        moved = float(np.abs(v - u).sum()) / max(float(u.sum()), 1e-300)
        fall = (last.objective - following.objective) / max(abs(last.objective), 1e-300)
        if moved <= self.tol or fall <= 1e-3 * self.tol:
            return Status.SETTLED
        self.last = following
        return following

    def _norms(self, u: Array) -> Array:
        """r_k of every group."""
        r: Array = np.bincount(self.home, weights=u, minlength=len(self.groups)).astype(float)
        return r

    def _machines(self, u: Array, warm: Array | None) -> tuple[float, Array, Array, Array]:
        """F, its slopes in u (d,), duals (T, n) and intercepts (T,)."""
        K = self.gram(u)
        found = [
            machine_of(self.loss)(
                K,
                y,
                self.C,
                self.loss,
                self.fit_intercept,
                warm=None if warm is None else warm[t],
                accuracy=SETTINGS.accuracy,
            )
            for t, y in enumerate(self.Y)
        ]
        duals = np.array([one.dual for one in found])
        W = K * (duals.T @ duals)
        slopes = 0.5 * (W.sum(axis=1) @ self.Z**2 - np.sum(self.Z * (W @ self.Z), axis=0))
        F = float(sum(one.objective for one in found))
        return F, slopes, duals, np.array([one.intercept for one in found])

    def _point(self, u: Array, warm: Array | None) -> Iterate[Scales]:
        F, _, duals, intercepts = self._machines(u, warm)
        objective = F + self.term.value(self._norms(u))
        return Iterate(np.ones(1), duals.T, 0.0, objective, solves=len(self.Y), state=Scales(u, intercepts))


def gaussian(left: Array, right: Array, u: Array) -> Array:
    """exp(-1/2 sum_j u_j (x_j - z_j)^2) between rows (a, d) and (b, d)."""
    root = np.sqrt(u)
    one, other = left * root, right * root
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1)[None] - 2.0 * one @ other.T
    found: Array = np.exp(-0.5 * np.maximum(squares, 0.0))
    return found
