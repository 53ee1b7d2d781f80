"""Spectra: wide tables whose column names are wavelengths, and what is usually done to them before kernels are made.

A spectrum is a row; ``wavelengths`` reads the positions of the columns out of their names. Every step takes a `Dataset`
and gives one, with a note: standardise, append second differences, cut into bands. Bands become the
groups of the data set; ``kernels.spectral_dictionary`` puts kernels on them.

Source: Subrahmanya and Shin (2010), the near-infrared experiments; constants as in the specification of sparse MKL,
C.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset, Groups, counted, listed
from mklcore.errors import DataError
from mklcore.parameters import check_whole

SECOND = "Δ²"  # second differences are called Δ²850 after the wavelength in their middle
LEAST = 3  # fewer numeric names are no spectrum
_NAME = re.compile(r"(?P<before>[^\W\d_]*[ _.\-]?)(?P<number>\d+(\.\d+)?([eE][+-]?\d+)?)(?P<after> ?[^\W\d]*)")


def wavelengths(data: Dataset | Sequence[str]) -> Array:
    """Positions (d,) of the columns, read from their names: "850", "850.5 nm", "nm850", "w001", and "Δ²850" for
    second differences. DataError where a name holds no number, or where the names are not alike."""
    names = data.feature_names if isinstance(data, Dataset) else tuple(data)
    plain = [str(name).removeprefix(SECOND) for name in names]
    matches = [_NAME.fullmatch(name) for name in plain]
    odd = [name for name, match in zip(names, matches, strict=True) if match is None]
    shapes = {(match["before"], match["after"].strip()) for match in matches if match is not None}
    if odd or len(shapes) != 1:
        raise DataError(
            f"These columns are no wavelengths: {listed(odd or names)}. Expected names such as 850, 850.5 nm or "
            f"nm850, all alike; leave other columns out."
        )
    return np.array([float(match["number"]) for match in matches if match is not None])


def standardise_spectra(*parts: Dataset) -> tuple[Dataset, ...]:
    """Every row brought to mean 0 and standard deviation 1 by itself; a flat spectrum is only centred."""
    return tuple(_each_row(part) for part in parts)


def with_second_differences(data: Dataset) -> Dataset:
    """x_{j+1} - 2 x_j + x_{j-1} appended for every inner wavelength j: curvature, free of offset and slope.

    The new columns are called Δ² and the wavelength of j, and join the band and the source column of j.
    """
    names = data.feature_names
    if len(names) < LEAST:
        raise DataError(f"Second differences need at least {LEAST} wavelengths; the table has {len(names)}.")
    wavelengths(names)
    if any(name.startswith(SECOND) for name in names):
        raise DataError("The second differences are appended already.")
    X = np.hstack([data.X, np.diff(data.X, n=2, axis=1)])
    place = {j + 1: data.n_features + j for j in range(data.n_features - 2)}

    def joined(sets: Groups) -> Groups:
        return tuple((name, (*cols, *(place[j] for j in cols if j in place))) for name, cols in sets)

    note = f"{counted(len(place), 'second difference')} appended."
    return replace(
        data, X=X, feature_names=(*data.feature_names, *(SECOND + name for name in names[1:-1])),
        groups=joined(data.groups), columns=joined(data.columns), notes=(*data.notes, note),
    )  # fmt: skip


def measured_columns(data: Dataset) -> list[int]:
    """The columns that were measured along an axis, in its order, where most of the table was; none elsewhere: x1,
    x2, x3 are numbered, not measured, and so are attribute2, attribute3, attribute4.
    """
    names = [name.removeprefix(SECOND) for name in data.feature_names]
    family = sorted(spectral_columns(names))
    if len(family) < LEAST or 2 * len(family) <= len(data.columns):
        return []
    places = wavelengths([names[j] for j in family])
    whole = bool(np.all(places == np.round(places))) and 0.0 <= places.min() <= len(places)
    numbered = whole and float(np.ptp(places)) < 2 * len(places)  # some may have been left out, the first among them
    return [] if numbered else [family[k] for k in np.argsort(places, kind="stable")]


def with_bands(data: Dataset, n_bands: int) -> Dataset:
    """The same data with `n_bands` nearly equal bands of neighbouring wavelengths as groups, called "850–868".

    Second differences go to the band of the wavelength in their middle.
    """
    places = wavelengths(data)
    distinct = np.unique(places)
    check_whole("n_bands", n_bands, 1, distinct.size)
    groups = []
    for k in range(n_bands):
        band = distinct[k * distinct.size // n_bands : (k + 1) * distinct.size // n_bands]
        inside = np.flatnonzero((places >= band[0]) & (places <= band[-1]))
        groups.append((f"{band[0]:g}–{band[-1]:g}", tuple(int(j) for j in inside)))
    return replace(data, groups=tuple(groups))


def spectral_columns(names: Sequence[str]) -> list[int]:
    """The columns of the largest family of names that differ only in a number."""
    found = [
        (match["before"], match["after"].strip(), j) for j, name in enumerate(names) if (match := _NAME.fullmatch(name))
    ]
    families = [[j for *_, j in members] for _, members in groupby(sorted(found), key=lambda item: item[:2])]
    return max(families, key=len, default=[])


def _each_row(data: Dataset) -> Dataset:
    scale = data.X.std(axis=1, keepdims=True)
    scale[np.ptp(data.X, axis=1) == 0] = 1.0
    X = (data.X - data.X.mean(axis=1, keepdims=True)) / scale
    return replace(data, X=X, notes=(*data.notes, "Every spectrum was brought to mean 0, deviation 1."))
