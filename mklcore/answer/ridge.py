"""Squared loss on folds, for a whole grid of C at once: what candidates are compared by, with BLAS alone.

    min_{||theta||_p <= 1}  sum_t  C/2 ||y_t - f_t - b_t||^2 + 1/2 sum_m ||w_mt||^2 / theta_m,   f_t = sum_m Phi_m w_mt

T targets, one per class, share the kernel weights theta, so that one factorisation serves all of them. Kernels of few
columns have features Phi_m of low rank: the sums Phi'Phi are taken once, and every theta and C costs a system as large
as the number of features. The weights go along C, updated a few times at each: enough to compare, not a certificate,
which the estimator that is fitted in the end has. One kernel of all columns costs a factorisation a C.

Source: Kloft, Brefeld, Sonnenburg, Zien (2011), equation (16), with the norms summed over targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mklcore.arrays import Array, Indices, Labels
from mklcore.errors import check_cancelled

FIRST, NEXT = 8, 3  # updates of the weights at the first C, and at each that follows
_LEAST = 1e-10  # of the largest norm: a weight of zero would stay zero


def targets(y: Labels, classes: Labels | None) -> Array:
    """The targets (n, T): the number, -1 and +1 for two classes, or one such column per class."""
    if classes is None:
        return np.asarray(y, dtype=np.float64)[:, None]
    one = classes[1:] if len(classes) == 2 else classes
    return np.where(np.asarray(y)[:, None] == one, 1.0, -1.0)


def low_rank_along(table: Array, ends: Indices, Y: Array, p: float, grid: Array, new: Array) -> Iterator[Array]:
    """Decisions (m, T) on features ``new`` (m, D) at every C of a rising ``grid``.

    ``table`` (n, D) features of the training rows, kernel k from column ``ends[k]`` to ``ends[k + 1]``; ``Y`` (n, T).
    """
    means, centre = table.mean(axis=0), Y.mean(axis=0)
    sizes = np.diff(ends)
    own, count = np.repeat(np.arange(len(sizes)), sizes), len(sizes)
    centred = table - means
    inner, reach = centred.T @ centred, centred.T @ (Y - centre)
    theta = np.full(count, count ** (-1.0 / p))
    for k, C in enumerate(grid):
        check_cancelled()
        for _ in range(FIRST if k == 0 else NEXT):
            spread = np.sqrt(theta)[own]
            system = inner * spread[:, None] * spread
            system.flat[:: len(system) + 1] += 1.0 / C
            v = cho_solve(cho_factor(system, overwrite_a=True, check_finite=False), reach * spread[:, None])
            norms = np.sqrt(theta * np.bincount(own, (v * v).sum(axis=1), count))
            theta = _weights(norms, p)
        yield (new - means) @ (v * spread[:, None]) + centre


def _weights(norms: Array, p: float) -> Array:
    """theta of the norms ||w_m|| (M,), on the sphere of the p-norm."""
    raw = np.maximum(norms, _LEAST * max(float(norms.max()), 1e-300)) ** (2.0 / (p + 1.0))
    theta: Array = raw / float(np.sum(raw**p)) ** (1.0 / p)
    return theta


def kernel_along(K: Array, across: Array, Y: Array, grid: Sequence[float]) -> Iterator[Array]:
    """Decisions (m, T) by one kernel at every C of ``grid``: ``K`` (n, n) of the training rows, ``across`` (m, n)."""
    centre = Y.mean(axis=0)  # far from zero a number has few digits left
    right = np.column_stack([Y - centre, np.ones(len(Y))])
    for C in grid:
        check_cancelled()
        system = K.copy()
        system.flat[:: len(K) + 1] += 1.0 / C
        duals = cho_solve(cho_factor(system, overwrite_a=True, check_finite=False), right, check_finite=False)
        intercept = duals[:, :-1].sum(axis=0) / duals[:, -1].sum()
        yield across @ (duals[:, :-1] - np.outer(duals[:, -1], intercept)) + intercept + centre


def scaled(K: Array, across: Array) -> tuple[Array, Array]:
    """A kernel with k(x, x) = 1 at variance one in its feature space, as ``normalise="multiplicative"`` has it."""
    size = max(1.0 - float(K.mean()), 1e-12)
    return K / size, across / size
