"""What is worth an exact path: scalings of the columns and kernels of all of them, compared by the leave-one-out error
of ridge regression.

    e_i = (H^-1 c)_i / (H^-1)_ii,   H = K_c + r I,   c the centred target,   K_c the centred kernel

One eigenvalue decomposition per kernel gives the error for every r and every class at once, so that dozens of kernels
cost what one path does. The error is squared, also of classes: a proper score, which is steadier than the share of
right classes.

Source: Allen (1974) for the shortcut; Rifkin and Lippert (2007), Notes on regularized least squares, for kernels and
classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.exploration.scaling import NormalScores
from mklcore.kernels.checks import one_blas_thread
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, Laplacian

ROWS = 400  # on which candidates are compared
RIDGES = tuple(10.0**k for k in range(-3, 3))  # of the mean of the diagonal
WIDTHS = (0.25, 0.5, 1.0, 2.0)  # of kernels of all columns, in median distances
BESIDE = (0.5, 1.0, 2.0)  # widths that are offered, in the best one
FURTHER = 3  # widths beyond these, while the last one is the best
SCALINGS = ("", "normal scores")

Wide = RBF | Laplacian


class Screened(NamedTuple):
    """Which scaling to take ("" as the columns are) and which kernels of all columns are worth trying, widest last."""

    scaling: str
    whole: tuple[Wide, ...]


def screened(data: Dataset, own: KernelDictionary, seed: int = 0) -> Screened:
    """The scaling and the kernels of all columns with the smallest leave-one-out error on at most ``ROWS`` rows.

    ``own`` the kernels of single columns, whose plain sum is compared under each scaling, too. Normal scores are taken
    where they gain more than one standard error of the difference. The best width is offered with its two neighbours.
    """
    few = data.drawn(ROWS, seed)
    target = target_columns(few)
    found: dict[str, tuple[Array, dict[Wide, Array]]] = {}
    for scaling in SCALINGS if not data.sequences else SCALINGS[:1]:
        rows = few.X if not scaling else NormalScores().fit(few.X).transform(few.X)
        table = replace(few, X=rows)
        kinds: dict[Wide, Array] = {}
        if data.n_features > 1 and len(data.columns) > 1:
            for kind in (RBF, Laplacian):
                kinds |= _along_widths(table, kind, target)
        with one_blas_thread():
            plain = ridge_errors(own.grams(table).values.mean(axis=0), target)[0]
        best = min([plain, *kinds.values()], key=np.mean)
        found[scaling] = best, kinds
    scaling = ""
    if len(found) > 1:
        gain = found[""][0] - found[SCALINGS[1]][0]
        if gain.mean() > gain.std(ddof=1) / np.sqrt(gain.size):
            scaling = SCALINGS[1]
    return Screened(scaling, _neighbours(found[scaling][1]))


def _along_widths(table: Dataset, kind: type[RBF | Laplacian], target: Array) -> dict[Wide, Array]:
    """Leave-one-out errors (n,) by kernel, for widths that go on while the last one is the best."""
    found: dict[Wide, Array] = {}
    waiting = list(WIDTHS)
    left = FURTHER
    while waiting:
        specs = [kind(width, relative=True) for width in waiting]
        stack = KernelDictionary(tuple(specs)).grams(table)
        with one_blas_thread():
            for spec, K in zip(specs, stack.values, strict=False):
                found[spec] = ridge_errors(K, target)[0]
        waiting = []
        order = sorted(found, key=lambda spec: float(spec.width))
        means = [float(found[spec].mean()) for spec in order]
        if left and int(np.argmin(means)) in (0, len(order) - 1):
            edge = order[int(np.argmin(means))].width
            waiting = [edge / 2.0 if int(np.argmin(means)) == 0 else edge * 2.0]
            left -= 1
    return found


def _neighbours(kinds: dict[Wide, Array]) -> tuple[Wide, ...]:
    """The kernel with the smallest error and those of half and twice its width."""
    if not kinds:
        return ()
    best = min(kinds, key=lambda spec: float(kinds[spec].mean()))
    return tuple(type(best)(best.width * k, relative=True) for k in BESIDE)


def target_columns(data: Dataset) -> Array:
    """The target as columns (n, T) with mean 0 and total variance 1: the number, or one column per class."""
    y = np.asarray(data.y)
    columns = (
        y[:, None].astype(float) if data.task == "regression" else (y[:, None] == np.unique(y)[None]).astype(float)
    )
    columns = columns - columns.mean(axis=0)
    spread = float(np.sqrt(np.sum(columns**2) / len(y)))
    scaled: Array = columns / (spread or 1.0)
    return scaled


def ridge_errors(K: Array, target: Array, ridges: Sequence[float] = RIDGES) -> tuple[Array, Array]:
    """The squared leave-one-out errors (n,) of ridge regression with the kernel K, at the ridge where their mean is
    least, and its dual coefficients (n, T).
    """
    n = len(K)
    means = K.mean(axis=0)
    centred = K - means - means[:, None] + means.mean()
    values, vectors = eigh(centred, overwrite_a=True, check_finite=False, driver="evd")
    values = np.maximum(values, 0.0)
    turned, squares = vectors.T @ target, vectors**2
    scale = float(values.sum()) / n or 1.0
    best, dual = np.full(n, np.inf), np.zeros_like(target)
    for ridge in ridges:
        # the constant direction is left to the intercept: its eigenvalue is 0, and the leverage of the mean is 1/n
        inverse = ridge * scale / (values + ridge * scale)
        residual = vectors @ (inverse[:, None] * turned)
        free = np.maximum(squares @ inverse - 1.0 / n, 1e-12)
        errors = np.sum((residual / free[:, None]) ** 2, axis=1)
        if errors.mean() < best.mean():
            best, dual = errors, residual / (ridge * scale)
    return best, dual
