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

import numpy as np

from mklcore.arrays import Array, Columns
from mklcore.data.dataset import Dataset, Groups, counted, listed
from mklcore.errors import DataError
from mklcore.parameters import check_whole

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
    names: list[str] = []
    for name, _ in groups:
        plain = re.sub(r"[:;&#?=\s]+", " ", name).strip(" ,")[:36].strip() or "group"
        names.append(plain if plain not in names else f"{plain} {len(names) + 1}")
    numbers = [write_numbers(columns) for _, columns in groups]
    return ";".join(map(":".join, zip(names, numbers, strict=True)))


def read_groups(text: str, n_columns: int) -> Groups:
    """The groups in text such as "petal:3-4;rest:1,2". Raises DataError."""
    if not re.fullmatch(GROUPS, text):
        raise DataError(
            f"{text[:40]!r} describes no groups of columns; expected a name and numbers, "
            "as in petal:3-4."
        )
    found = [part.split(":") for part in text.split(";")]
    names = [name for name, _ in found]
    if len(set(names)) < len(names):
        raise DataError(f"Two groups have the same name ({listed(names)}); rename one.")
    return tuple((name, read_numbers(numbers, n_columns)) for name, numbers in found)


def by_prefix(names: Sequence[str]) -> Groups:
    """Columns whose names agree up to the first _ . or : ; at least two make a group."""
    prefixes = []
    for name in names:
        match = re.match(r"([^_.:]+)[_.:]", name)
        prefixes.append(match[1] if match else "")
    return _of_keys(prefixes)


LEAST_SHARING = 3  # so many columns have to share a prefix before they count as a family


def families(columns: Groups) -> Groups:
    """Source columns that share a prefix, as groups of features.

    There are none unless several prefixes cover three columns each. All other columns make a last
    group, so that the groups together hold every feature.
    """
    members = [places for _, places in columns]
    groups = []
    for prefix, places in by_prefix([name for name, _ in columns]):
        if prefix != REST and len(places) >= LEAST_SHARING:
            groups.append((prefix, tuple(chain.from_iterable(members[k] for k in places))))
    if len(groups) < 2:
        return ()
    return _with_rest(groups, chain.from_iterable(members))


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


def _of_keys(keys: Sequence[str]) -> Groups:
    """Columns with the same key, where at least two share it; all others make a last group."""
    members: dict[str, list[int]] = {}
    for column, key in enumerate(keys):
        members.setdefault(key, []).append(column)
    groups = [(key, tuple(columns)) for key, columns in members.items() if key and len(columns) > 1]
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
    odd = list[str]()
    shapes = set[tuple[str, str]]()
    positions = list[float]()
    for name in names:
        match = _NAME.fullmatch(str(name).removeprefix(SECOND))
        if match is None:
            odd.append(name)
        else:
            shapes.add((match["before"], match["after"].strip()))
            positions.append(float(match["number"]))
    if odd or len(shapes) != 1:
        raise DataError(
            f"These columns are no wavelengths: {listed(odd or names)}. Expected names "
            "such as 850, 850.5 nm or nm850, all alike; leave other columns out."
        )
    return np.array(positions)


def standardise_spectra(*parts: Dataset) -> tuple[Dataset, ...]:
    """Every row scaled to mean 0 and standard deviation 1; a flat spectrum is only centred."""
    return tuple(_each_row(part) for part in parts)


def with_second_differences(data: Dataset) -> Dataset:
    """The table with x_{j+1} - 2 x_j + x_{j-1} appended for every inner wavelength j.

    This is curvature, which does not depend on offset and slope.

    The new columns are called Δ² and the wavelength of j, and join the band and the source column
    of j.
    """
    names = data.feature_names
    if len(names) < LEAST:
        raise DataError(
            f"Second differences need at least {LEAST} wavelengths; the table has {len(names)}."
        )
    wavelengths(names)
    if any(name.startswith(SECOND) for name in names):
        raise DataError("The second differences are appended already.")
    X = np.hstack([data.X, np.diff(data.X, n=2, axis=1)])
    place = {j + 1: data.n_features + j for j in range(data.n_features - 2)}

    def joined(sets: Groups) -> Groups:
        found = []
        for name, columns in sets:
            differences = [place[j] for j in columns if j in place]
            found.append((name, (*columns, *differences)))
        return tuple(found)

    note = f"{counted(len(place), 'second difference')} appended."
    of_differences = [SECOND + name for name in names[1:-1]]
    return replace(
        data,
        X=X,
        feature_names=(*data.feature_names, *of_differences),
        groups=joined(data.groups),
        columns=joined(data.columns),
        notes=(*data.notes, note),
    )


def measured_columns(data: Dataset) -> list[int]:
    """The columns that were measured along an axis, in its order, if they are most of the table.

    Columns that are numbered are not measured: x1, x2, x3, or attribute2, attribute3, attribute4.
    """
    names = [name.removeprefix(SECOND) for name in data.feature_names]
    family = sorted(spectral_columns(names))
    if len(family) < LEAST or 2 * len(family) <= len(data.columns):
        return []
    places = wavelengths([names[j] for j in family])
    whole = bool(np.all(places == np.round(places))) and 0.0 <= places.min() <= len(places)
    # Numbered columns may have been left out, even the first.
    numbered = whole and float(np.ptp(places)) < 2 * len(places)
    return [] if numbered else [family[k] for k in np.argsort(places, kind="stable")]


def with_bands(data: Dataset, n_bands: int) -> Dataset:
    """The same data with `n_bands` nearly equal bands of wavelengths as groups, such as "850–868".

    Second differences go to the band of the wavelength in their middle.
    """
    places = wavelengths(data)
    distinct = np.unique(places)
    check_whole("n_bands", n_bands, 1, distinct.size)
    groups = []
    for k in range(n_bands):
        band = distinct[k * distinct.size // n_bands : (k + 1) * distinct.size // n_bands]
        members = np.flatnonzero((places >= band[0]) & (places <= band[-1]))
        groups.append((f"{band[0]:g}–{band[-1]:g}", tuple(int(j) for j in members)))
    return replace(data, groups=tuple(groups))


def spectral_columns(names: Sequence[str]) -> list[int]:
    """The columns of the largest family of names that differ only in a number."""
    families: dict[tuple[str, str], list[int]] = {}
    for j, name in enumerate(names):
        match = _NAME.fullmatch(name)
        if match is not None:
            families.setdefault((match["before"], match["after"].strip()), []).append(j)
    in_order = [families[shape] for shape in sorted(families)]
    return max(in_order, key=len, default=[])


def _each_row(data: Dataset) -> Dataset:
    scale = data.X.std(axis=1, keepdims=True)
    scale[np.ptp(data.X, axis=1) == 0] = 1.0
    X = (data.X - data.X.mean(axis=1, keepdims=True)) / scale
    note = "Every spectrum was brought to mean 0, deviation 1."
    return replace(data, X=X, notes=(*data.notes, note))
