"""Groups of columns: by prefix, by category, in equal bands, by wavelength, or by hand as text.

Text counts columns from 1 and is short enough for a link: "petal:3-4;rest:1,2". A spectrum is a row
of a table whose column names are wavelengths, which `wavelengths` reads. The functions on spectra
take a `Dataset` and return one, with a note: they standardise, append second differences, and cut
into bands, which become the groups of the data set.

Source: Subrahmanya and Shin (2010), the near-infrared experiments. The paper does not say what is
standardised, nor to which band a second difference belongs: each spectrum here, and the band of its
middle column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import numpy as np

from mklcore.arrays import Array, Columns
from mklcore.data.dataset import Dataset, Groups, check_distinct, counted, listed
from mklcore.errors import DataError
from mklcore.parameters import check_whole

K = TypeVar("K")
NUMBERS = r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*"
_GROUP_NAME = r"[^:;,&#?=\s](?:[^:;&#?=\n]{0,38}[^:;&#?=\s])?"
GROUPS = rf"{_GROUP_NAME}:{NUMBERS}(;{_GROUP_NAME}:{NUMBERS})*"
REST = "other columns"


def write_numbers(columns: Iterable[int]) -> str:
    """Column indices from 0 as text that counts from 1: (0, 1, 2, 6) is "1-3,7"."""
    runs: list[list[int]] = []
    for column in columns:
        if runs and column == runs[-1][-1] + 1:
            runs[-1].append(column)
        else:
            runs.append([column])
    texts = []
    for run in runs:
        last = f"-{run[-1] + 1}" if len(run) > 1 else ""
        texts.append(f"{run[0] + 1}{last}")
    return ",".join(texts)


def read_numbers(text: str, n_columns: int, what: str = "column") -> Columns:
    """Indices from 0 of "1-3,7".

    Raises DataError for other text and for columns that are not there.
    """
    squeezed = "".join(text.split())
    if not re.fullmatch(NUMBERS, squeezed, re.ASCII):
        raise DataError(
            f"{text[:40]!r} names no {what}s; expected numbers such as 1-3,7, counted from 1."
        )
    found: dict[int, None] = {}
    for part in squeezed.split(","):
        low, _, high = part.partition("-")
        first = int(low)
        last = int(high or low)
        if not 1 <= first <= last <= n_columns:
            raise DataError(
                f"{part!r} is not among the {what}s: they are numbered from 1 to {n_columns}."
            )
        found |= dict.fromkeys(range(first - 1, last))
    return tuple(found)


def write_groups(groups: Groups) -> str:
    """Groups as text; signs that separate are taken out of their names."""
    texts: dict[str, str] = {}
    for name, columns in groups:
        plain = re.sub(r"[:;&#?=\s]+", " ", name).strip(" ,")[:36].strip() or "group"
        if plain in texts:
            plain = f"{plain} {len(texts) + 1}"
        texts[plain] = write_numbers(columns)
    return ";".join(map(":".join, texts.items()))


def read_groups(text: str, n_columns: int) -> Groups:
    """The groups in text such as "petal:3-4;rest:1,2". Raises DataError."""
    if not re.fullmatch(GROUPS, text):
        raise DataError(
            f"{text[:40]!r} describes no groups of columns; expected a name and numbers, "
            "as in petal:3-4."
        )
    found = []
    for part in text.split(";"):
        name, numbers = part.split(":")
        found.append((name, read_numbers(numbers, n_columns)))
    check_distinct("groups", [name for name, _ in found])
    return tuple(found)


def by_prefix(names: Sequence[str]) -> Groups:
    """Columns whose names agree up to the first _ . or : ; at least two make a group."""
    return _of_keys(list(map(_prefix, names)))


LEAST_SHARING = 3  # so many columns have to share a prefix before they count as a family


def families(columns: Groups) -> Groups:
    """Source columns that share a prefix, as groups of features.

    There are none unless several prefixes cover three columns each. All other columns make a last
    group, so that the groups together hold every feature.
    """
    groups = []
    for prefix, places in grouped(map(_prefix, dict(columns))):
        if prefix and len(places) >= LEAST_SHARING:
            members = chain.from_iterable(columns[k][1] for k in places)
            groups.append((prefix, tuple(members)))
    if len(groups) < 2:
        return ()
    return _with_rest(groups, chain.from_iterable(dict(columns).values()))


def _prefix(name: str) -> str:
    """The name up to the first _ . or : ; "" without one."""
    start, *rest = re.split("[_.:]", name, maxsplit=1)
    return start if rest else ""


def by_category(names: Sequence[str]) -> Groups:
    """The columns of 0 and 1 of one category, such as colour=red and colour=blue."""
    return _of_keys([name.partition("=")[0] if "=" in name else "" for name in names])


def equal_bands(n_columns: int, count: int) -> Groups:
    """`count` bands of neighbouring columns, as equal as can be."""
    if not 1 <= count <= n_columns:
        raise DataError(
            f"{counted(n_columns, 'column')} cannot be cut into {counted(count, 'band')}; "
            f"choose from 1 to {n_columns}."
        )
    groups = []
    for k in range(count):
        first = k * n_columns // count
        groups.append((f"band {k + 1}", tuple(range(first, (k + 1) * n_columns // count))))
    return tuple(groups)


def regrouped(data: Dataset, how: str) -> Dataset:
    """The same table in the groups ``how``: "none", "prefix", "categories", "bands N" or text.

    Text is as in `read_groups`.

    Where nothing shares a prefix or comes from a category there are no groups. Raises DataError.
    """
    if how == "none":
        groups: Groups = ()
    elif how == "prefix":
        groups = by_prefix(data.feature_names)
    elif how == "categories":
        groups = by_category(data.feature_names)
    elif found := re.fullmatch(r"bands (\d{1,4})", how):
        groups = equal_bands(data.n_features, int(found[1]))
    else:
        groups = read_groups(how, data.n_features)
    return replace(data, groups=groups)


def grouped(keys: Iterable[K]) -> tuple[tuple[K, Columns], ...]:
    """The places of every key, in the order of their first ones."""
    places: dict[K, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return tuple((key, tuple(found)) for key, found in places.items())


def _of_keys(keys: Sequence[str]) -> Groups:
    """Columns with the same key, where at least two share it; all others make a last group."""
    groups = [(key, columns) for key, columns in grouped(keys) if key and len(columns) > 1]
    return _with_rest(groups, range(len(keys)))


def _with_rest(
    groups: list[tuple[str, Columns]],
    every: Iterable[int],
) -> Groups:
    """The groups and one of all remaining columns; without groups there are none."""
    grouped = set(chain.from_iterable(columns for _, columns in groups))
    rest = tuple(column for column in every if column not in grouped)
    if not groups or not rest:
        return tuple(groups)
    is_used = any(name == REST for name, _ in groups)
    return (*groups, (f"{REST} (rest)" if is_used else REST, rest))


SECOND = "Δ²"  # second differences are called Δ²850 after the wavelength in their middle
LEAST = 3  # a spectrum has at least so many wavelengths
_NAME = re.compile(
    r"(?P<before>[^\W\d_]*[ _.\-]?)(?P<number>\d+(\.\d+)?([eE][+-]?\d+)?)(?P<after> ?[^\W\d]*)"
)


def wavelengths(data: Dataset | Sequence[str]) -> Array:
    """Positions (d,) of the columns, read from their names.

    Names are "850", "850.5 nm", "nm850", "w001", or "Δ²850" for second differences. DataError where
    a name holds no number, or where the names are not alike.
    """
    names = data.feature_names if isinstance(data, Dataset) else tuple(data)
    found = list(map(_shape_and_number, names))
    odd = [name for name, (shape, _) in zip(names, found, strict=True) if shape is None]
    if odd or len({shape for shape, _ in found}) != 1:
        raise DataError(
            f"These columns are no wavelengths: {listed(odd or names)}. Expected names "
            "such as 850, 850.5 nm or nm850, all alike; leave other columns out."
        )
    return np.array([number for _, number in found])


def _shape_and_number(name: str) -> tuple[tuple[str, str] | None, float]:
    """What stands before and after the number in the name of a wavelength, and the number."""
    match = _NAME.fullmatch(str(name).removeprefix(SECOND))
    if match is None:
        return None, np.nan
    return (match["before"], match["after"].strip()), float(match["number"])


def standardise_spectra(*parts: Dataset) -> tuple[Dataset, ...]:
    """Every row scaled to mean 0 and standard deviation 1; a flat spectrum is only centred."""
    note = "Every spectrum was brought to mean 0, deviation 1."
    found = []
    for data in parts:
        scale = data.X.std(axis=1, keepdims=True)
        scale[np.ptp(data.X, axis=1) == 0] = 1.0
        X = (data.X - data.X.mean(axis=1, keepdims=True)) / scale
        found.append(replace(data, X=X, notes=(*data.notes, note)))
    return tuple(found)


def with_second_differences(data: Dataset) -> Dataset:
    """The table with x_{j+1} - 2 x_j + x_{j-1} appended for every inner wavelength j.

    This is curvature, which does not depend on offset and slope.

    The new columns are called Δ² and the wavelength of j, and join the band and the source column
    of j.
    """
    names = data.feature_names
    d = len(names)
    if d < LEAST:
        raise DataError(f"Second differences need at least {LEAST} wavelengths; the table has {d}.")
    wavelengths(names)
    if any(name.startswith(SECOND) for name in names):
        raise DataError("The second differences are appended already.")
    return replace(
        data,
        X=np.hstack([data.X, np.diff(data.X, n=2, axis=1)]),
        feature_names=(*names, *(SECOND + name for name in names[1:-1])),
        groups=_with_differences(data.groups, d),
        columns=_with_differences(data.columns, d),
        notes=(*data.notes, f"{counted(d - 2, 'second difference')} appended."),
    )


def _with_differences(sets: Groups, d: int) -> Groups:
    """The sets of d columns with the second differences around their inner columns."""
    found = []
    for name, columns in sets:
        differences = [d - 1 + j for j in columns if 0 < j < d - 1]
        found.append((name, (*columns, *differences)))
    return tuple(found)


def measured_columns(data: Dataset) -> list[int]:
    """The columns that were measured along an axis, in its order, if they are most of the table.

    Columns that are numbered are not measured: x1, x2, x3, or attribute2, attribute3, attribute4.
    """
    family = np.sort(spectral_columns(data.feature_names))
    if len(family) < LEAST or 2 * len(family) <= len(data.columns):
        return []
    places = wavelengths([data.feature_names[j] for j in family])
    whole = bool(np.all(places == np.round(places))) and 0.0 <= places.min() <= len(places)
    # Numbered columns may have been left out, even the first.
    numbered = whole and float(np.ptp(places)) < 2 * len(places)
    return [] if numbered else family[np.argsort(places, kind="stable")].tolist()


def with_bands(data: Dataset, n_bands: int) -> Dataset:
    """The same data with `n_bands` nearly equal bands of wavelengths as groups, such as "850–868".

    Second differences go to the band of the wavelength in their middle.
    """
    places = wavelengths(data)
    distinct = np.unique(places)
    check_whole("n_bands", n_bands, 1, distinct.size)
    groups = []
    for _, columns in equal_bands(distinct.size, n_bands):
        band = distinct[list(columns)]
        members = np.flatnonzero(np.isin(places, band))
        groups.append((f"{band[0]:g}–{band[-1]:g}", tuple(members.tolist())))
    return replace(data, groups=tuple(groups))


def spectral_columns(names: Sequence[str]) -> list[int]:
    """The columns of the largest family of names that differ only in a number."""
    families = grouped(_shape_and_number(name)[0] for name in names)
    largest: Columns = ()
    for _, columns in sorted(family for family in families if family[0]):
        largest = columns if len(columns) > len(largest) else largest
    return list(largest)
