"""Squared loss from sums over the rows: after one pass no row is touched again.

    min_{v, b}  1/2 sum_i C_i (y_i - phi_i'v - b)^2 + 1/2 sum_k v_k^2 / s_k,     s = theta_m spread over the features of kernel m

needs S = Phi'C Phi, c = Phi'C y and y'C y alone, all with the C-weighted means taken out where there is an intercept. With
r = y - Phi v - b the dual is a = C r, and what a certificate asks of it follows from the same sums:

    Phi'a = c - S v,     a'y = y'Cy - c'v,     a'C^(-1) a = y'Cy - 2 c'v + v'S v
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from mklcore.arrays import Array, Indices
from mklcore.losses import Cost
from mklcore.lowrank.features import FeatureStack


@dataclass(frozen=True, eq=False)
class Sums:
    """S (D, D), c (D,) or (D, T), y'y () or (T,) at C = 1, about the means (D,) of the features and () or (T,) of the target."""

    S: Array
    c: Array
    energy: Array
    means: Array
    target_mean: Array

    @classmethod
    def of(cls, stack: FeatureStack, y: Array, centred: bool, rows: Array | None = None) -> Sums:
        """The sums of ``stack`` and ``y`` (n,) or (n, T); ``rows`` (n,) weighs the rows."""
        if rows is None:
            S, first, weight = stack.gram_of_features, stack.sums, float(stack.n_samples)
            c = stack.coefficients(y)
        else:
            S, first, c, weight = _weighed(stack, y, rows)
        w = np.ones(stack.n_samples) if rows is None else rows
        means, target = np.zeros_like(first), np.zeros(np.shape(y)[1:])
        if centred:
            means, target = first / weight, (w @ y) / weight
            S, c = S - np.outer(first, means), c - np.multiply.outer(first, target)
        return cls(S, c, (w @ (y - target) ** 2), means, np.asarray(target))

    def intercept(self, v: Array) -> Array:
        """b = mean of y minus mean of Phi v."""
        found: Array = self.target_mean - self.means @ v
        return found


def _weighed(stack: FeatureStack, y: Array, rows: Array) -> tuple[Array, Array, Array, float]:
    D = stack.table.shape[1]
    S, first, c = np.zeros((D, D)), np.zeros(D), np.zeros((D, *np.shape(y)[1:]))
    for part, piece in stack.pieces():
        scaled = piece * rows[part, None]
        S += scaled.T @ piece
        first += scaled.sum(axis=0)
        c += scaled.T @ y[part]
    return S, first, c, float(rows.sum())


@dataclass(frozen=True, eq=False)
class Ridge:
    """The solution for one s: v (D,), u = Phi'a (D,), the factor of I + C s^(1/2) S s^(1/2), and what it costs."""

    v: Array
    u: Array
    factor: tuple[Array, bool]
    live: Indices
    root: Array
    errors: float
    linear: float
    intercept: float


def solve_ridge_sums(sums: Sums, s: Array, C: float) -> Ridge:
    """The machine at s (D,) non-negative and cost C. O(k^3) for the k features that have weight."""
    live = np.flatnonzero(s > 0.0)
    root = np.sqrt(s[live])
    block = sums.S[np.ix_(live, live)]
    system = C * block * root[:, None] * root[None, :]
    system.flat[:: live.size + 1] += 1.0
    factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    v = np.zeros_like(s)
    v[live] = root * scipy.linalg.cho_solve(factor, C * root * sums.c[live], check_finite=False)
    through = sums.S[:, live] @ v[live]
    u = C * (sums.c - through)
    fit, size = float(sums.c @ v), float(v @ through)
    energy = max(float(sums.energy) - 2.0 * fit + size, 0.0)
    # Lin(a) = a'y - a'a / (2 C) with a = C r
    return Ridge(
        v, u, factor, live, root, 0.5 * C * energy, C * (float(sums.energy) - fit) - 0.5 * C * energy,
        float(sums.intercept(v)),
    )  # fmt: skip


def curvature(sums: Sums, found: Ridge, C: float, columns: Array) -> Array:
    """H = U'B^(-1) U (k, k) for U = Phi W and ``columns`` W (D, k), B = K_theta + I / C with the intercept eliminated."""
    SW = sums.S @ columns
    inside = found.root[:, None] * SW[found.live]
    H: Array = C * (columns.T @ SW) - C * C * (
        inside.T @ scipy.linalg.cho_solve(found.factor, inside, check_finite=False)
    )
    return H


def cost_of(C: Cost) -> tuple[float, Array | None]:
    """A cost per row as one number and weights of mean one."""
    if np.ndim(C) == 0:
        return float(C), None
    rows: Array = np.asarray(C)
    mean = float(rows.mean())
    return mean, rows / mean
