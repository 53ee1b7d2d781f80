"""Bands of a spectrum: a concave price of the kernels keeps the bands that decide, where p = 1 keeps most of them.

Spectra with ten bands of wavelengths, one linear kernel per band; few bands decide the target. SMKL, sparse lp-norm MKL
and the uniform sum of kernels, each with its cost chosen on validation rows.

Source: Subrahmanya and Shin (2010), the near-infrared experiments; specification of sparse MKL, C.1 and C.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.synthetic import N_BANDS, make_spectra
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.style import number
from mklcore.kernels.dictionary import kernel_edges, spectral_dictionary
from mklcore.kernels.functions import Linear
from mklcore.kernels.grams import GramStack
from mklcore.lessons.base import Lesson, Tick, silent
from mklcore.paths.path import Path, fit_path, path_grid

N_ROWS, N_WAVELENGTHS, N_DECISIVE, POINTS = 200, 150, 3, 17
USED = 1e-6


@dataclass(frozen=True, eq=False)
class Bands:
    """Paths over C of SMKL and of sparse lp-norm MKL on the same kernels; ``mean`` and ``spread`` (d,) of the training
    spectra over ``wavelengths``; ``edges`` (10, 2) of the bands; ``truth`` the numbers of the bands that decide.
    """

    smkl: Path
    sparse: Path
    wavelengths: Array
    mean: Array
    spread: Array
    edges: Array
    truth: tuple[int, ...]

    @property
    def answer(self) -> str:
        """How the bands SMKL keeps at its best validation score compare with those that decide."""
        kept = set(used(self.smkl, best(self.smkl)))
        if kept == set(self.truth):
            return "exact"
        return "fewer" if kept < set(self.truth) else "all" if len(kept) == N_BANDS else "more"

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text."""
        own, other = best(self.smkl), best(self.sparse)
        return {
            "smkl_bands": str(len(used(self.smkl, own))),
            "smkl_r2": f"{self.smkl.val_score[own]:.3f}",
            "smkl_C": number(self.smkl.values[own]),
            "sparse_bands": str(len(used(self.sparse, other))),
            "sparse_r2": f"{self.sparse.val_score[other]:.3f}",
            "truth": ", ".join(str(band) for band in self.truth),
            "decisive": str(len(self.truth)),
        }


def used(path: Path, index: int) -> list[int]:
    """Return the kernels with a weight above a millionth of the largest."""
    weights = path.weights[index]
    return np.flatnonzero(weights > USED * max(float(weights.max()), 1e-300)).tolist()


def best(path: Path) -> int:
    """Return the index of the best validation score."""
    return int(np.nanargmax(path.val_score))


def bands(tick: Tick = silent, seed: int = 0) -> Bands:
    """Solve both methods along C on one draw of the spectra."""
    from mklcore.estimators.lp import LpMKLRegressor
    from mklcore.estimators.smkl import SMKLRegressor

    tick(0, 2 * POINTS)
    data, truth = make_spectra(N_ROWS, N_WAVELENGTHS, N_DECISIVE, seed)
    train, check = data.split(0.5, seed)
    stack = spectral_dictionary(data.groups, specs=Linear()).grams(train.X, normalise="trace")
    blocks, models = stack.cross(check.X), (SMKLRegressor(terms="log+gl"), LpMKLRegressor(p=1.0))
    smkl, sparse = (
        _path(model, stack, train.y, blocks, check.y, _after(tick, POINTS * k)) for k, model in enumerate(models)
    )
    edges = kernel_edges(stack.specs or (), truth.wavelengths)
    middle, spread = train.X.mean(axis=0), train.X.std(axis=0)
    return Bands(smkl, sparse, truth.wavelengths, middle, spread, edges, truth.informative_bands)


def _after(tick: Tick, before: int) -> Tick:
    return lambda done, _: tick(before + done, 2 * POINTS)


def _path(model: Any, stack: GramStack, y: Array, blocks: Array, y_check: Array, tick: Tick) -> Path:
    with suppress_convergence_warnings():
        values = path_grid(model, stack, y, "C", POINTS)
        return fit_path(model, stack, y, "C", values, blocks, y_check, tick)


BANDS = Lesson(
    "bands",
    2 * POINTS,
    bands,
    {"bands": str(N_BANDS), "wavelengths": str(N_WAVELENGTHS)},
    ("all", "more", "exact", "fewer"),
)
