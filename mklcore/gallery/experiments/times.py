"""Run times by rows and kernels: Figure 7 of the lp-norm paper, and the growth of sparse MKL.

Twonorm in 20 dimensions stands in for the images of the first paper, which are not part of this
project. The squared widths of RBF kernels grow by 1.2. Seconds are those of the processor; Gram
matrices are built before, or kernel rows are computed on the fly. Machines differ, slopes less.

Source: Kloft et al. (2011), section 6.5, Figure 7; Subrahmanya and Shin (2010), section 4.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.synthetic import make_twonorm
from mklcore.estimators.baselines import UniformMKLClassifier
from mklcore.estimators.lp import LpMKLClassifier
from mklcore.estimators.smkl import SMKLClassifier
from mklcore.gallery.experiments.base import TableLine
from mklcore.kernels.dictionary import KernelDictionary

ROWS = (100, 200, 400, 800)
KERNELS = (25, 50, 100, 200)
QUICK_ROWS = (100, 200, 400)
QUICK_KERNELS = (20, 40, 80)
MANY_KERNELS = (400, 800, 1600)
# Gram matrices of so many rows are not stored: 10,000 rows and 50 kernels need 40 GB.
MANY_ROWS = (2500, 5000, 10000)
FIXED_ROWS = 100
FIXED_KERNELS = 50
# Methods on Gram matrices that are made before the clock starts.
STORED: dict[str, Any] = {
    "p = ∞": UniformMKLClassifier(),
    "analytic, p = 2": LpMKLClassifier(p=2.0, solver="wrapper", max_iter=2000),
    "analytic, p = 1": LpMKLClassifier(p=1.0, solver="wrapper", max_iter=2000),
    "newton, p = 2": LpMKLClassifier(p=2.0, solver="newton"),
    "newton, p = 1": LpMKLClassifier(p=1.0, solver="newton"),
    "silp, p = 1": LpMKLClassifier(p=1.0, solver="silp", max_iter=100),
}
# Methods whose time includes that of computing kernels; the interleaved one stores no Gram matrix.
AFRESH: dict[str, Any] = {
    "p = ∞, kernels included": UniformMKLClassifier(),
    "interleaved, p = 2, on the fly": LpMKLClassifier(p=2.0, solver="interleaved"),
}
SPARSE: dict[str, Any] = {"SMKL": SMKLClassifier(), "MKL": LpMKLClassifier(p=1.0)}


def seconds(line: TableLine, n: int, M: int) -> list[float]:
    """Processor seconds of sparse MKL and MKL with M kernels on n rows."""
    data = make_twonorm(n, line.draw())[0]
    powers = 50.0 * np.arange(M) / max(M - 1, 1)
    widths = np.sqrt(0.5 * 1.2**powers) * 0.5
    K = KernelDictionary.rbf_widths(widths.tolist()).grams(data.X).values
    return _clocked(SPARSE, K, data.y)


def _clocked(
    models: Mapping[str, Any], X: Any, y: Any, kernels: Any = "precomputed"
) -> list[float]:
    """Processor seconds of the fit of every model."""
    seconds = []
    for model in models.values():
        model.set_params(kernels=kernels)
        started = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - started)
    return seconds


def kernels_of(M: int) -> KernelDictionary:
    """RBF kernels with 2 sigma^2 = 1.2^0 to 1.2^(M - 1).

    More than 50 of them share the range of 50, beyond which they are constant.
    """
    powers = np.arange(M) if M <= FIXED_KERNELS else np.linspace(0.0, FIXED_KERNELS - 1.0, M)
    return KernelDictionary.rbf_widths(np.sqrt(1.2**powers / 2.0).tolist())


@cache
def _compiled() -> None:
    """Fit every method once, so that no measurement includes loading or compiling code."""
    _every_method(200, 0, kernels_of(5))


def _every_method(n: int, draw: int, kernels: KernelDictionary) -> list[float]:
    data = make_twonorm(n, draw)[0]
    stored = [np.nan] * len(STORED)
    if n not in MANY_ROWS:
        K = kernels.grams(data.X).values
        stored = _clocked(STORED, K, data.y)
    return stored + _clocked(AFRESH, data.X, data.y, kernels)


def by_size(line: TableLine) -> Array:
    """Base-10 logarithms of the seconds of every method that can run at this size."""
    what, _, value = line.row.partition(" = ")
    n = int(value) if what == "n" else FIXED_ROWS
    M = FIXED_KERNELS if what == "n" else int(value)
    _compiled()
    measured = _every_method(n, line.draw(n, M), kernels_of(M))
    return np.log10(np.maximum(measured, 1e-6))


def growth(line: TableLine) -> list[float]:
    """The exponent with which the seconds of SMKL and MKL grow, fitted on a log-log scale."""
    if line.row == "rows n":
        sizes = QUICK_ROWS if line.quick else ROWS
        measured = [seconds(line, size, 40) for size in sizes]
    else:
        sizes = QUICK_KERNELS if line.quick else KERNELS
        if line.row == "kernels K, many":
            sizes = MANY_KERNELS
        measured = [seconds(line, 150, size) for size in sizes]
    logarithms = np.log(np.maximum(measured, 1e-6))
    slopes, _ = np.polyfit(np.log(sizes), logarithms, 1)
    return list(slopes)
