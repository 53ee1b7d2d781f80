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

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices
from mklcore.kernels.sums import inner_product

_MOST = 30  # duals kept; the least used one leaves
_STEPS = 60


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

    def widened(self, products: Array, old: Indices, new: Indices) -> Bundle:
        """The duals that the mixture uses, for more kernels: those it holds come to stand at ``old``, the others at ``new``
        with their ``products`` (r, k, n) of these duals."""
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
        theta, mu = saddle_point(self.linear, np.ascontiguousarray(self.forms))
        self.mixture = mu
        Q = np.einsum("k,mkl,l->m", mu, self.forms, mu, optimize=True)
        return theta, mu @ self.duals, np.tensordot(mu, self.products, 1), np.maximum(Q, 0.0)

    def _keep(self, chosen: Array) -> None:
        self.duals, self.products, self.linear = self.duals[chosen], self.products[chosen], self.linear[chosen]
        self.forms, self.mixture = self.forms[:, chosen][:, :, chosen], self.mixture[chosen]


# Loops instead of array expressions: those, and ``np.linalg.solve``, took a third of all compiling.


@jit_helper()
def _reach(v: Array, d: Array, room: float) -> float:
    """The longest step along d, at most ``room``, that keeps v non-negative."""
    for k in range(v.size):
        if d[k] < 0.0:
            room = min(room, -v[k] / d[k])
    return room


@jit_helper()
def _advance(v: Array, d: Array, length: float) -> None:
    for k in range(v.size):
        v[k] += length * d[k]


@jit_helper()
def _to_simplex(v: Array) -> None:
    """Set what is round-off to 0 and the sum to 1, in place."""
    total = 0.0
    for k in range(v.size):
        v[k] = 0.0 if v[k] < 1e-12 else v[k]
        total += v[k]
    for k in range(v.size):
        v[k] /= total


@jit_helper({"reassoc", "contract"})
def eliminate(A: Array, b: Array) -> bool:
    """Solve A x = b by elimination with row pivots: x is left in ``b``, A is used up. False where A is singular."""
    n = b.size
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if not abs(A[pivot, k]) > 0.0:
            return False
        for j in range(k, n):
            A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            share = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= share * A[k, j]
            b[i] -= share * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]
    return True


@jit_helper({"reassoc", "contract"})
def _centred_products(
    forms: Array, x: Array, mu: Array, unit: float, form: Array, centred: Array, mixed: Array
) -> None:
    """form[m] = mu'forms[m] mu, centred[m] = forms[m] mu - form[m] and mixed = sum_m x_m forms[m], of forms times ``unit``.

    Without their mean these products distinguish nearly equal duals, where D = x / z below has a dozen digits.
    """
    M, r = centred.shape
    for k in range(r):
        for j in range(r):
            mixed[k, j] = 0.0
    for m in range(M):
        for k in range(r):
            total = 0.0
            for j in range(r):
                value = forms[m, k, j] * unit
                total += value * mu[j]
                mixed[k, j] += x[m] * value
            centred[m, k] = total
        form[m] = inner_product(centred[m], mu)
        for k in range(r):
            centred[m, k] -= form[m]


@jit_helper({"reassoc", "contract"})
def _fill(
    centred: Array, x: Array, z: Array, mu: Array, s: Array, right_mu: Array, right_x: Array, A: Array, b: Array
) -> None:
    """Add to A, which holds the mixed form, and fill b: the system that is left when the step of x is eliminated.

    Unknowns are the step of mu (r,) and of the two multipliers, the first with the mean product of the step of x in it. That
    step is D (centred d_mu - d_nu - right_x), D = x / z.
    """
    M, r = centred.shape
    for k in range(r + 2):
        A[r, k] = A[r + 1, k] = A[k, r] = A[k, r + 1] = 0.0
    b[r], b[r + 1] = 1.0, 1.0
    for k in range(r):
        A[k, k] += s[k] / mu[k]
        A[k, r] = A[r, k] = 1.0
        b[k] = right_mu[k]
        b[r] -= mu[k]
    for m in range(M):
        D = x[m] / z[m]
        b[r + 1] += D * right_x[m] - x[m]
        A[r + 1, r + 1] -= D
        for k in range(r):
            pull = D * centred[m, k]
            b[k] += pull * right_x[m]
            A[r + 1, k] += pull
            A[k, r + 1] -= pull
            for j in range(r):
                A[k, j] += pull * centred[m, j]


@jit_entry()
def saddle_point(linear: Array, forms: Array) -> tuple[Array, Array]:
    """min_x max_mu  linear'mu - 1/2 sum_m x_m mu'forms[m] mu  over two simplices, by a primal-dual interior point.

    ``linear`` (r,), ``forms`` (M, r, r) contiguous and positive semi-definite. Returns x (M,) and mu (r,).
    """
    M, r = forms.shape[0], linear.size
    x, z, d_x, d_z, right_x, form = np.empty(M), np.empty(M), np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    mu, s, d_mu, d_s, right_mu = np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r)
    centred, A, b = np.empty((M, r)), np.empty((r + 2, r + 2)), np.empty(r + 2)
    x[:], z[:], mu[:], s[:] = 1.0 / M, 1.0, 1.0 / r, 1.0
    beta, nu, scale = 0.0, 0.0, 1e-300
    for k in range(r):
        scale = max(scale, abs(linear[k]))
        for m in range(M):
            for j in range(r):
                scale = max(scale, abs(forms[m, k, j]))
    for _ in range(_STEPS):
        mean = (inner_product(x, z) + inner_product(mu, s)) / (M + r)
        if mean < 1e-13:
            break
        target = 0.1 * mean
        _centred_products(forms, x, mu, 1.0 / scale, form, centred, A)
        shared, missing = inner_product(x, form), 1.0
        for k in range(r):
            right_mu[k] = linear[k] / scale - beta - shared + target / mu[k]
            missing -= mu[k]
        for m in range(M):
            for k in range(r):
                right_mu[k] -= x[m] * centred[m, k]
            right_x[m] = nu - (0.5 + missing) * form[m] - target / x[m]
        _fill(centred, x, z, mu, s, right_mu, right_x, A, b)
        if not eliminate(A, b):  # singular to round-off: the last point is as good as it gets
            break
        for k in range(r):
            d_mu[k] = b[k]
            d_s[k] = target / mu[k] - s[k] - s[k] / mu[k] * d_mu[k]
        for m in range(M):
            d_x[m] = x[m] / z[m] * (inner_product(centred[m], d_mu) - b[r + 1] - right_x[m])
            d_z[m] = target / x[m] - z[m] - z[m] / x[m] * d_x[m]
        room = _reach(mu, d_mu, _reach(x, d_x, _reach(s, d_s, _reach(z, d_z, 1.0 / 0.95))))
        length = min(1.0, 0.95 * room)
        _advance(mu, d_mu, length)
        _advance(x, d_x, length)
        _advance(s, d_s, length)
        _advance(z, d_z, length)
        beta += length * (b[r] - inner_product(form, d_x))
        nu += length * b[r + 1]
    _to_simplex(x)
    _to_simplex(mu)
    return x, mu
