"""Spectra: wide tables whose column names are wavelengths, and what is usually done to them before kernels are made.

A spectrum is a row; ``wavelengths`` reads the positions of the columns out of their names. Every step takes a `Dataset`
and gives one, with a note: average neighbours, standardise, append second differences, cut into bands. Bands become the
groups of the data set; ``kernels.spectra.spectral_dictionary`` puts kernels on them.

Source: Subrahmanya and Shin (2010), the near-infrared experiments; constants as in the specification of sparse MKL,
C.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset, Groups, counted, listed, standardise
from mklcore.data.parsing import Source
from mklcore.data.reading import read_table
from mklcore.errors import DataError, ParameterError
from mklcore.parameters import check_whole

SECOND = "Δ²"  # second differences are called Δ²850 after the wavelength in their middle
PREPARATIONS = ("rows", "differences", "both")
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
            f"nm850, all "
            "alike; read the table with read_spectra, which leaves other columns out."
        )
    return np.array([float(match["number"]) for match in matches if match is not None])


def read_spectra(source: Source, target: str | int | None = None, *, header: bool = True, **reading: Any) -> Dataset:
    """The spectra of a wide table: columns whose names are wavelengths, in rising order, and a target.

    source, target and the other arguments are those of `read_table`; names that are bare numbers are taken as a header.
    Of several families of names (850 ... 1050; x1, x2) the largest is the spectrum. Columns that are no wavelengths are
    left out, which `notes` tell. Raises DataError where fewer than three columns are called by numbers.
    """
    table = read_table(source, target, header=header, **reading)
    chosen = spectral_columns(table.feature_names)
    if len(chosen) < LEAST:
        raise DataError(
            f"No spectrum is in this table: {counted(len(chosen), 'column')} called by a wavelength, at least {LEAST} "
            f"are "
            f"needed. The columns are {listed(table.feature_names)}. For other tables use read_table."
        )
    names = [table.feature_names[j] for j in chosen]
    positions = wavelengths(names)
    order = np.argsort(positions, kind="stable")
    if np.any(np.diff(positions[order]) == 0):
        twice = positions[order][:-1][np.diff(positions[order]) == 0]
        raise DataError(f"Two columns have the same wavelength ({twice[0]:g}); drop or rename one.")
    notes = [f"{counted(len(chosen), 'wavelength')} from {positions.min():g} to {positions.max():g}."]
    if not np.array_equal(order, np.arange(order.size)):
        notes.append("The columns were put in the order of their wavelengths.")
    others = [name for j, name in enumerate(table.feature_names) if j not in set(chosen)]
    if others:
        notes.append(f"Left out, because their names are no wavelengths: {listed(others)}.")
    spectra = replace(table, groups=()).select(chosen[int(j)] for j in order)
    return replace(spectra, notes=(*table.notes, *notes))


def average_neighbours(data: Dataset, width: int) -> Dataset:
    """Every `width` neighbouring columns replaced by their mean, at the mean of their wavelengths.

    A shorter rest at the end becomes one more column. Groups are dropped: cut bands afterwards.
    """
    check_whole("width", width, 1, data.n_features)
    places = wavelengths(data)
    if any(name.startswith(SECOND) for name in data.feature_names):
        raise DataError("Average the neighbours before second differences are appended.")
    blocks = [np.arange(k, min(k + width, data.n_features)) for k in range(0, data.n_features, width)]
    X = np.column_stack([data.X[:, block].mean(axis=1) for block in blocks])
    names = tuple(f"{places[block].mean():.10g}" for block in blocks)
    note = f"Every {width} neighbouring wavelengths were averaged: {counted(len(blocks), 'column')} left."
    return replace(data, X=X, feature_names=names, groups=(), columns=(), notes=(*data.notes, note))


def standardise_spectra(train: Dataset, *others: Dataset, by: str = "spectrum") -> tuple[Dataset, ...]:
    """Mean 0 and standard deviation 1: of every row by itself (by="spectrum"), or of every column on the training rows
    (by="column", the same as `standardise`). A flat spectrum is only centred."""
    if by == "column":
        return standardise(train, *others)
    if by != "spectrum":
        raise ParameterError(f"by is {by!r}; expected 'spectrum' (each row) or 'column' (each wavelength).")
    return tuple(_each_row(part) for part in (train, *others))


def with_second_differences(data: Dataset, columns: Sequence[int] | None = None) -> Dataset:
    """x_{j+1} - 2 x_j + x_{j-1} appended for every inner wavelength j: curvature, free of offset and slope.

    ``columns`` are the wavelengths in their order, all columns by default. The new columns are called Δ² and the
    wavelength of j, and join the band and the source column of j.
    """
    along = list(range(data.n_features) if columns is None else columns)
    if len(along) < LEAST:
        raise DataError(f"Second differences need at least {LEAST} wavelengths; the table has {len(along)}.")
    names = [data.feature_names[j] for j in along]
    wavelengths(names)
    if any(name.startswith(SECOND) for name in names):
        raise DataError("The second differences are appended already.")
    X = np.hstack([data.X, np.diff(data.X[:, along], n=2, axis=1)])
    place = {j: data.n_features + k for k, j in enumerate(along[1:-1])}

    def joined(sets: Groups) -> Groups:
        return tuple((name, (*cols, *(place[j] for j in cols if j in place))) for name, cols in sets)

    note = f"{counted(len(place), 'second difference')} appended."
    return replace(
        data, X=X, feature_names=(*data.feature_names, *(SECOND + name for name in names[1:-1])),
        groups=joined(data.groups), columns=joined(data.columns), notes=(*data.notes, note),
    )  # fmt: skip


def prepared(data: Dataset, how: str) -> Dataset:
    """The spectra with one of ``PREPARATIONS``: "rows", every spectrum brought to mean 0 and deviation 1 by itself;
    "differences", second differences appended; "both", in this order. "" leaves them alone. Columns beside the
    wavelengths stay as they are. ParameterError for any other.
    """
    if how and how not in PREPARATIONS:
        raise ParameterError(f"how is {how!r}; expected one of {', '.join(PREPARATIONS)}, or '' for none.")
    along = measured_columns(data) or list(range(data.n_features))
    if how in ("rows", "both"):
        data = _each_row(data, along)
    return with_second_differences(data, along) if how in ("differences", "both") else data


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


def can_be_prepared(data: Dataset) -> bool:
    """Whether ``prepared`` has something to do: columns measured along an axis, without second differences yet."""
    return bool(measured_columns(data)) and not any(name.startswith(SECOND) for name in data.feature_names)


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


def band_edges(data: Dataset) -> tuple[tuple[float, float], ...]:
    """Lowest and highest wavelength of every group, in the order of the groups."""
    places = wavelengths(data)
    return tuple((float(places[list(cols)].min()), float(places[list(cols)].max())) for _, cols in data.groups)


def spectral_columns(names: Sequence[str]) -> list[int]:
    """The columns of the largest family of names that differ only in a number."""
    found = [
        (match["before"], match["after"].strip(), j) for j, name in enumerate(names) if (match := _NAME.fullmatch(name))
    ]
    families = [[j for *_, j in members] for _, members in groupby(sorted(found), key=lambda item: item[:2])]
    return max(families, key=len, default=[])


def _each_row(data: Dataset, columns: Sequence[int] | None = None) -> Dataset:
    along = list(range(data.n_features) if columns is None else columns)
    part = data.X[:, along]
    scale = part.std(axis=1, keepdims=True)
    scale[np.ptp(part, axis=1) == 0] = 1.0
    X = data.X.copy()
    X[:, along] = (part - part.mean(axis=1, keepdims=True)) / scale
    return replace(data, X=X, notes=(*data.notes, "Every spectrum was brought to mean 0, deviation 1."))
