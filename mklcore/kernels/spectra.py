"""Kernels on the bands of spectra: every band through a straight line, its products, and two widths of similarity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, KernelSpec, Linear, Polynomial

BAND_KERNELS: tuple[KernelSpec, ...] = (Linear(), Polynomial(3), RBF(0.5, relative=True), RBF(2.0, relative=True))


def spectral_dictionary(
    groups: Any = None,
    *,
    n_bands: int = 10,
    specs: KernelSpec | Iterable[KernelSpec] = BAND_KERNELS,
    standardize: bool = True,
) -> KernelDictionary:
    """Bands x {linear, cubic, RBF of half and of twice the median distance in the band}: M = 4 kernels per band.

    ``groups``: the bands as (name, column indices) pairs, such as ``data.groups`` after ``with_bands`` (needed once
    second differences are appended); None cuts ``n_bands`` equal bands of neighbouring columns when the training rows
    are seen. ``standardize``: bring every column to mean 0 and deviation 1 on the training rows first; without it
    second differences of smooth spectra are too small to count. Source: Subrahmanya and Shin (2010), the
    near-infrared experiments.
    """
    if groups:
        return KernelDictionary.per_group(specs, groups, standardize=standardize)
    return KernelDictionary.bands(n_bands, specs, standardize=standardize)


def kernel_edges(specs: Iterable[KernelSpec], wavelengths: Sequence[float] | np.ndarray) -> Array:
    """(M, 2): lowest and highest wavelength of the columns each resolved kernel looks at.

    specs: those of a `GramStack`; wavelengths (d,) of the columns the stack was built on. KernelError where a kernel's
    columns are not settled or are not among the wavelengths.
    """
    places = np.asarray(wavelengths, dtype=float)
    edges = []
    for spec in specs:
        columns = spec.columns(places.size)
        edges.append((places[list(columns)].min(), places[list(columns)].max()))
    return np.array(edges)
