"""What several machine solutions together say about the kernel weights: a small saddle point over their mixtures.

At p = 1 with a piecewise-linear loss the optimal dual often mixes several solutions of the machine at the optimal
weights (J has a kink there), and no single one certifies it. For stored duals a_1 .. a_r the restricted problem

    min over theta   max over mu   sum_k mu_k Lin(a_k) - 1/2 sum_m theta_m a'K_m a,   a = sum_k mu_k a_k

over two simplices has only M + r variables. Its mu gives a feasible dual (a lower bound for the whole problem, since Lin
is concave) and its theta the weights to try next: cutting planes that keep the curvature along the mixtures.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numba import njit

from mklcore.arrays import Array, Indices

_MOST = 30  # duals kept; the least used one leaves
_STEPS = 60


@njit(cache=True, nogil=True)
def _room(v: Array, d: Array) -> float:
    """The longest step along d that keeps v non-negative."""
    room = np.inf
    for k in range(v.size):
        if d[k] < 0.0:
            room = min(room, -v[k] / d[k])
    return room


class Bundle:
    """Stored duals with their products K_m a_k (r, M, n) and mixed forms a_k'K_m a_l (M, r, r)."""

    def __init__(self, M: int, n: int) -> None:
        self.duals, self.products = np.zeros((0, n)), np.zeros((0, M, n))
        self.linear, self.forms = np.zeros(0), np.zeros((M, 0, 0))
        self.mixture = np.zeros(0)

    def add(self, a: Array, linear: float, G: Array) -> None:
        """Store the dual ``a`` (n,) with its value ``linear`` = Lin(a) and its products ``G`` (M, n); not twice."""
        if np.any(np.all(self.duals == a, axis=1)):
            return
        if len(self.linear) >= _MOST:
            self._keep(np.delete(np.arange(_MOST), np.argmin(self.mixture)))
        self.duals = np.vstack([self.duals, a])
        self.products = np.concatenate([self.products, G[None]])
        self.linear, self.mixture = np.append(self.linear, linear), np.append(self.mixture, 1.0)
        column = np.einsum("mn,rn->mr", G, self.duals, optimize=True)
        r = len(self.linear)
        forms = np.empty((G.shape[0], r, r))
        forms[:, :-1, :-1] = self.forms
        forms[:, -1, :], forms[:, :, -1] = column, column
        self.forms = forms

    def scaled(self, factor: float) -> Bundle:
        """The same duals times ``factor``: still feasible when the box grows or shrinks with C, and Lin is linear."""
        other = copy(self)
        other.duals, other.products = factor * self.duals, factor * self.products
        other.linear, other.forms = factor * self.linear, factor**2 * self.forms
        return other

    def among(self, kernels: Indices) -> Bundle:
        """The same duals for some of the kernels (positions among those it holds)."""
        other = copy(self)
        other.products, other.forms = self.products[:, kernels], self.forms[kernels]
        return other

    def solve(self) -> tuple[Array, Array, Array, Array]:
        """theta (M,), the mixed dual (n,), its products (M, n) and its forms Q (M,)."""
        theta, mu = saddle_point(self.linear, np.ascontiguousarray(self.forms))
        self.mixture = mu
        Q = np.einsum("k,mkl,l->m", mu, self.forms, mu, optimize=True)
        return theta, mu @ self.duals, np.tensordot(mu, self.products, 1), np.maximum(Q, 0.0)

    def _keep(self, chosen: Array) -> None:
        self.duals, self.products, self.linear = self.duals[chosen], self.products[chosen], self.linear[chosen]
        self.forms, self.mixture = self.forms[:, chosen][:, :, chosen], self.mixture[chosen]


@njit(cache=True, nogil=True)
def saddle_point(linear: Array, forms: Array) -> tuple[Array, Array]:
    """min_x max_mu  linear'mu - 1/2 sum_m x_m mu'forms[m] mu  over two simplices, by a primal-dual interior point.

    ``linear`` (r,), ``forms`` (M, r, r) contiguous and positive semi-definite. Returns x (M,) and mu (r,).
    """
    M, r = forms.shape[0], linear.size
    scale = max(np.abs(linear).max(), np.abs(forms).max(), 1e-300)
    linear, forms = linear / scale, forms / scale
    stacked, flat = forms.reshape(M * r, r), forms.reshape(M, r * r)
    x, mu, s, z = np.full(M, 1.0 / M), np.full(r, 1.0 / r), np.ones(r), np.ones(M)
    beta = nu = 0.0
    for _ in range(_STEPS):
        mean = (x @ z + mu @ s) / (M + r)
        if mean < 1e-13:
            break
        bend, target = (stacked @ mu).reshape(M, r), 0.1 * mean  # bend[m] = forms[m] @ mu
        system, right = np.zeros((r + M + 2, r + M + 2)), np.zeros(r + M + 2)
        system[:r, :r] = (x @ flat).reshape(r, r)
        system[:r, r : r + M], system[r : r + M, :r] = bend.T, bend
        for k in range(r):
            system[k, k] += s[k] / mu[k]
            system[k, r + M] = system[r + M, k] = 1.0
        for m in range(M):
            system[r + m, r + m] = -z[m] / x[m]
            system[r + m, r + M + 1], system[r + M + 1, r + m] = -1.0, 1.0
        right[:r] = linear - x @ bend - beta + target / mu
        right[r : r + M] = -0.5 * (bend @ mu) + nu - target / x
        right[r + M], right[r + M + 1] = 1.0 - mu.sum(), 1.0 - x.sum()
        try:
            step = np.linalg.solve(system, right)
        except Exception:  # singular to round-off: the last point is as good as it gets
            break
        d_mu, d_x = step[:r], step[r : r + M]
        d_s, d_z = target / mu - s - s / mu * d_mu, target / x - z - z / x * d_x
        room = min(min(_room(mu, d_mu), _room(x, d_x)), min(_room(s, d_s), _room(z, d_z)))
        length = min(1.0, 0.95 * room)
        mu, x, s, z = mu + length * d_mu, x + length * d_x, s + length * d_s, z + length * d_z
        beta, nu = beta + length * step[r + M], nu + length * step[r + M + 1]
    x, mu = np.where(x < 1e-12, 0.0, x), np.where(mu < 1e-12, 0.0, mu)
    return x / x.sum(), mu / mu.sum()
