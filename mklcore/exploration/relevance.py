"""Kernels of all columns, each column scaled by how much the target moves along it.

    s_j^2 proportional to  mean_i sum_t (d f_t / d x_ij)^2,     k(x, z) = k_0(s * x, s * z)

f is ridge regression with the kernel itself, so the two are found in turn, from equal scales on: the diagonal of the
average gradient outer product, as in recursive feature machines. Columns that say nothing no longer decide which rows
are near each other. Scales are rounded to powers of the root of two: columns of one scale are one part of a product of
kernels.

Source: Radhakrishnan, Beaglehole, Pandit, Belkin, Mechanism for feature learning in neural networks and
backpropagation-free machine learning models, Science 2024, equations 2 and 3.
"""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.exploration.screening import BESIDE, ROWS, Wide, ridge_errors, target_columns
from mklcore.kernels.bases import fill_base
from mklcore.kernels.composed import MOST_PARTS, Product
from mklcore.kernels.grams import median_distance
from mklcore.kernels.maps import column_statistics, standardise_rows

STEPS = 4  # times that scales are found


def scaled_by_relevance(data: Dataset, start: Wide, seed: int = 0) -> tuple[Product, ...]:
    """Kernels like ``start``, a kernel of all columns, with scales of the columns found on at most ``ROWS`` rows.

    Empty for sequences, where one scale is left, and where scales lower the leave-one-out error by no more than the
    standard error of the difference.
    """
    if data.sequences:
        return ()
    few = data.drawn(ROWS, seed)
    target, rows = target_columns(few), standardise_rows(few.X, *column_statistics(few.X))
    scales, tried = np.ones(rows.shape[1]), list[tuple[Array, Array, float]]()
    factors: tuple[float, ...] = BESIDE
    while True:
        fits = {factor: _fitted(rows * scales, start, factor, target) for factor in factors}
        factor = min(fits, key=lambda one: float(fits[one][1].mean()))
        width, errors, dual, K = fits[factor]
        tried.append((errors, scales, width))
        if len(tried) > STEPS:
            break
        factors = BESIDE if len(tried) == STEPS else (factor,)  # the first and the last scales choose the width
        moves = scales * _gradients(rows * scales, K, dual, width, type(start))
        if not moves.max() > 0.0:
            break
        scales = moves / moves.max()
    errors, scales, width = min(tried, key=lambda one: float(one[0].mean()))
    gain = tried[0][0] - errors
    return _products(type(start), scales, width) if gain.mean() > gain.std(ddof=1) / np.sqrt(gain.size) else ()


def _fitted(rows: Array, start: Wide, factor: float, target: Array) -> tuple[float, Array, Array, Array]:
    """Width, leave-one-out errors, dual (n, T) and kernel of ridge regression on scaled rows."""
    base = np.empty((len(rows), len(rows)))
    fill_base(start.base, rows, rows, False, base)
    width = factor * start.width * median_distance(start, rows, base)
    K = np.empty_like(base)
    type(start)(width).fill(base, False, K)
    errors, dual = ridge_errors(K, target)
    return width, errors, dual, K


def _gradients(rows: Array, K: Array, dual: Array, width: float, kind: type[Wide]) -> Array:
    """The root mean square of the gradient of f = K dual along every column (d,)."""
    found = np.empty(rows.shape[1])
    for j, column in enumerate(rows.T):
        apart = column[None] - column[:, None]
        slope = np.sign(apart) / width if kind.base == "absolute" else apart / width**2
        found[j] = np.sqrt(np.mean(np.sum(((slope * K) @ dual) ** 2, axis=1)))
    return found


def _products(kind: type[Wide], scales: Array, width: float) -> tuple[Product, ...]:
    """Products with a part for the columns of each scale, rounded; columns whose scale is too small are left out."""
    levels = np.round(-2.0 * np.log2(np.maximum(scales, 1e-30))).astype(int)
    groups = [tuple(np.flatnonzero(levels == level).tolist()) for level in range(MOST_PARTS)]
    parts = [(2.0 ** (level / 2.0), group) for level, group in enumerate(groups) if group]
    if len(parts) < Product.least:
        return ()
    return tuple(
        Product(parts=tuple(kind(float(f"{factor * width * times:.3g}"), features=group) for times, group in parts))
        for factor in BESIDE
    )
