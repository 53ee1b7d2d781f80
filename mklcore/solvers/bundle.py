"""What several machine solutions together say about the kernel weights: a small saddle point over their mixtures.

At p = 1 with a piecewise-linear loss the optimal dual often mixes several solutions of the machine at the optimal
weights (J has a kink there), and no single one certifies it. For stored duals a_1 .. a_r the restricted problem

    min over theta   max over mu   sum_k mu_k Lin(a_k) - 1/2 sum_m theta_m a'K_m a,   a = sum_k mu_k a_k

over two simplices has only M + r variables. Its mu gives a feasible dual (a lower bound for the whole problem, since
Lin is concave) and its theta the weights to try next: cutting planes that keep the curvature along the mixtures.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array, Indices


@dataclass(frozen=True)
class SaddlePointSettings:
    """What the small saddle point problem is tuned by.

    A value changes how long a fit takes, not what its certificate proves.
    """

    most: int = 30  # duals kept; the least used one leaves
    steps: int = 60
    centred: float = 0.1  # of the mean product is what a step goes to
    gap: float = 1e-13  # mean product at which a saddle point is found
    to_the_wall: float = 0.95  # share of the longest step that keeps everything positive
    nothing: float = 1e-12  # share of a simplex that is rounding


SETTINGS = SaddlePointSettings()


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
        if len(self.linear) >= SETTINGS.most:
            self._keep(np.delete(np.arange(SETTINGS.most), np.argmin(self.mixture)))
        self.duals = np.vstack([self.duals, a])
        self.products = np.concatenate([self.products, G[None]])
        self.linear, self.mixture = np.append(self.linear, linear), np.append(self.mixture, 1.0)
        column = np.einsum("mn,rn->mr", G, self.duals, optimize=True)
        r = len(self.linear)
        forms = np.empty((G.shape[0], r, r))
        forms[:, :-1, :-1] = self.forms
        forms[:, -1, :], forms[:, :, -1] = column, column
        self.forms = forms

    def among(self, kernels: Indices) -> Bundle:
        """The same duals for some of the kernels (positions among those it holds)."""
        other = copy(self)
        other.products, other.forms = self.products[:, kernels], self.forms[kernels]
        return other

    def widened(self, products: Array, old: Indices, new: Indices) -> Bundle:
        """The duals that the mixture uses, for more kernels: those it holds come to stand at ``old``, the others at
        ``new`` with their ``products`` (r, k, n) of these duals."""
        kept, M = self.used, old.size + new.size
        wider = Bundle(M, self.duals.shape[1])
        wider.duals, wider.linear, wider.mixture = self.duals[kept], self.linear[kept], np.ones(kept.size)
        wider.products = np.empty((kept.size, M, self.duals.shape[1]))
        wider.products[:, old], wider.products[:, new] = self.products[kept], products
        wider.forms = np.empty((M, kept.size, kept.size))
        wider.forms[old] = self.forms[:, kept][:, :, kept]
        wider.forms[new] = np.einsum("rkn,sn->krs", products, wider.duals, optimize=True)
        return wider

    @property
    def used(self) -> Indices:
        """The duals that have a share in the mixture."""
        return np.flatnonzero(self.mixture > 0)

    def solve(self) -> tuple[Array, Array, Array, Array]:
        """theta (M,), the mixed dual (n,), its products (M, n) and its forms Q (M,)."""
        theta, mu = saddle_point(self.linear, self.forms)
        self.mixture = mu
        Q = np.einsum("k,mkl,l->m", mu, self.forms, mu, optimize=True)
        return theta, mu @ self.duals, np.tensordot(mu, self.products, 1), np.maximum(Q, 0.0)

    def _keep(self, chosen: Array) -> None:
        self.duals, self.products, self.linear = self.duals[chosen], self.products[chosen], self.linear[chosen]
        self.forms, self.mixture = self.forms[:, chosen][:, :, chosen], self.mixture[chosen]


def saddle_point(linear: Array, forms: Array) -> tuple[Array, Array]:
    """min_x max_mu  linear'mu - 1/2 sum_m x_m mu'forms[m] mu  over two simplices, by interior points.

    ``linear`` (r,), ``forms`` (M, r, r) positive semi-definite. Returns x (M,) and mu (r,). Of a step, that of x is
    eliminated: D (centred d_mu - d_nu - right_x) with D = x / z, where ``centred`` (M, r) are the products forms[m] mu
    less their means, which D, known to a dozen digits, would drown.
    """
    M, r = forms.shape[0], linear.size
    scale = max(float(np.abs(linear).max()), float(np.abs(forms).max()), 1e-300)
    linear, products = linear / scale, np.ascontiguousarray(forms).reshape(M * r, r) / scale
    values, multipliers = np.concatenate([np.full(M, 1.0 / M), np.full(r, 1.0 / r)]), np.ones(M + r)
    beta = nu = 0.0
    for _ in range(SETTINGS.steps):
        mean = float(values @ multipliers) / (M + r)
        if mean < SETTINGS.gap:
            break
        (x, mu), (z, s), target = np.split(values, [M]), np.split(multipliers, [M]), SETTINGS.centred * mean
        centred = (products @ mu).reshape(M, r)
        form, missing, D = centred @ mu, 1.0 - float(mu.sum()), x / z
        centred -= form[:, None]
        right_x, pull = nu - (0.5 + missing) * form - target / x, D[:, None] * centred
        A, b, total = np.zeros((r + 2, r + 2)), np.empty(r + 2), pull.sum(axis=0)
        A[:r, :r] = (x @ products.reshape(M, r * r)).reshape(r, r) + pull.T @ centred + np.diag(s / mu)
        A[:r, r] = A[r, :r] = 1.0
        A[r + 1, :r], A[:r, r + 1], A[r + 1, r + 1] = total, -total, -float(D.sum())
        b[:r] = linear - beta - float(x @ form) + target / mu - x @ centred + pull.T @ right_x
        b[r:] = missing, 1.0 + float(D @ right_x) - float(x.sum())
        try:
            d_mu, (d_beta, d_nu) = np.split(np.linalg.solve(A, b), [r])
        except np.linalg.LinAlgError:  # singular to round-off: the last point is as good as it gets
            break
        d_x = D * (centred @ d_mu - d_nu - right_x)
        way = np.concatenate([d_x, d_mu])
        back = target / values - multipliers - multipliers / values * way
        length = min(1.0, SETTINGS.to_the_wall * min(room(values, way), room(multipliers, back)))
        values, multipliers = values + length * way, multipliers + length * back
        beta, nu = beta + length * (float(d_beta) - float(form @ d_x)), nu + length * float(d_nu)
    x, mu = (np.where(part < SETTINGS.nothing, 0.0, part) for part in np.split(values, [M]))
    return x / x.sum(), mu / mu.sum()


def room(values: Array, way: Array) -> float:
    """The longest step along ``way`` that keeps non-negative ``values`` so; infinite where nothing falls."""
    falling = way < 0.0
    return float(np.min(-values[falling] / way[falling], initial=np.inf))
