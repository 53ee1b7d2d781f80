"""How columns are standardised, and by which factors kernels are scaled.

With r the row means of a training Gram matrix, g its grand mean and f its factors, a block K
(n_new, n) of kernel values becomes

    K_ij <- (K_ij - mean_j K_ij - r_j + g) f'_i f_j

where f = s^(-1/2) for a scale s, and f_i = K_ii^(-1/2) of the (centred) self-kernels for spherical
normalisation. Centring comes first, so that the result has the property of its normalisation:

| normalise | scale s of the training Gram matrix | property |
|---|---|---|
| multiplicative | tr(K)/n - 1'K1/n^2 | variance 1 in feature space (Kloft et al. 2011, eq. 27) |
| spherical | K_ii per row | K_ii = 1 (eq. 28); rows with K_ii = 0 become 0 |
| trace | tr(K) | tr(K) = 1 |
| diag | max_i K_ii | k(x, x) <= 1 on the training rows |
"""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import DataError

NORMALISATIONS: tuple[str | None, ...] = ("multiplicative", "spherical", "trace", "diag", None)
CONSTANT_TOLERANCE = 1e-12


def column_statistics(rows: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Mean and biased standard deviation of every column; a constant column gets scale 1.

    A row counts as many times as its entry of ``weights`` (n,).
    """
    if weights is not None:
        rows = rows[weights > 0]
        weights = weights[weights > 0]
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.average(rows, axis=0, weights=weights)
        scales = np.sqrt(
            np.average(
                (rows - means) ** 2,
                axis=0,
                weights=weights,
            )
        )
    overflowing = np.flatnonzero(~np.isfinite(scales))
    if overflowing.size:
        raise DataError(
            f"Column {overflowing[0]} holds values too large to standardise (above 1e150). "
            "Rescale it first."
        )
    largest = np.abs(rows).max(axis=0)
    constant = np.ptp(rows, axis=0) <= 10 * np.finfo(np.float64).eps * largest
    constant |= scales == 0.0  # the squares of the differences are below the smallest double
    return np.where(constant, rows[0], means), np.where(constant, 1.0, scales)


def standardise_rows(rows: Array, means: Array, scales: Array) -> Array:
    """(rows - means) / scales; raises ``DataError`` where the result is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = (rows - means) / scales
    overflowing = np.flatnonzero(~np.isfinite(result).all(axis=0))
    if overflowing.size:
        raise DataError(
            f"Column {overflowing[0]} is too far from its training mean for a double. Check its "
            "units."
        )
    return result


def standardised(rows: Array) -> Array:
    """The rows less the means of their columns, over the standard deviations."""
    return standardise_rows(rows, *column_statistics(rows))


def spherical_factors(diagonal: Array, means: Array | float, grand: Array | float) -> Array:
    """K_ii^(-1/2) of the (centred) self-kernels, and 0 where K_ii is 0 or only rounding."""
    centred = diagonal - 2 * means + grand
    is_centred = np.any(grand) or np.any(means)
    rounding = CONSTANT_TOLERANCE * np.abs(diagonal) if is_centred else 0.0
    positive = centred > rounding
    return np.where(
        positive,
        1.0 / np.sqrt(np.where(positive, centred, 1.0)),
        0.0,
    )
