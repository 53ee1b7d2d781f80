"""What a table is made of for a dictionary: its own columns, or groups, bands or clusters where these are too many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mklcore.data.dataset import Dataset
from mklcore.data.spectra import measured_columns, wavelengths, with_bands

MOST_COLUMNS = 40  # source columns beyond which kernels see groups, bands or clusters of them
MOST_UNITS = 20
ALIKE = 0.3  # 1 - |correlation| up to which columns carry the same
ROWS = 2000  # from which correlations are taken


class Unit(NamedTuple):
    """One thing that kernels may see: "column", "category", "group", "band", "cluster" or "sequence", and its columns.

    Columns of a sequence are what was made of it and its letters, as ``Dataset.table`` has them.
    """

    name: str
    columns: tuple[int, ...]
    kind: str


def units(data: Dataset, most_columns: int = MOST_COLUMNS) -> tuple[Unit, ...]:
    """The units of a table, see ``_numeric``, and its sequences, each with what was counted in it."""
    if not data.sequences:
        return _numeric(data, most_columns)
    names = [name for name, _ in data.sequences]
    own = dict(data.columns)
    counted = {j for name in names for j in own.get(name, ())}
    rest = [j for j in range(data.n_features) if j not in counted]
    found: tuple[Unit, ...] = ()
    if rest:
        found = _within(data, rest, lambda part: _numeric(part, most_columns))
    return found + tuple(Unit(name, (*own.get(name, ()), *data.letter_columns(name)), "sequence") for name in names)


def _numeric(data: Dataset, most_columns: int) -> tuple[Unit, ...]:
    """The units of a table: its source columns up to ``most_columns`` of them, else groups, bands or clusters.

    Groups where the table has them; equal bands of the columns whose names are wavelengths or times, where most are,
    and the units of what stands beside them; else at most ``MOST_UNITS`` clusters of columns that are correlated,
    called by their first column.
    """
    if len(data.columns) <= most_columns:
        return tuple(Unit(name, members, _kind(data, members)) for name, members in data.columns)
    if data.groups:
        return tuple(Unit(name, members, "group") for name, members in data.groups)
    if measured := measured_columns(data):
        bands = _within(data, sorted(measured), _bands)
        rest = [j for j in range(data.n_features) if j not in set(measured)]
        return bands + (_within(data, rest, lambda part: _numeric(part, most_columns)) if rest else ())
    return _clusters(data)


def _within(data: Dataset, columns: Sequence[int], found: Callable[[Dataset], tuple[Unit, ...]]) -> tuple[Unit, ...]:
    """The units that are found in a part of the columns, by their places in the whole table."""
    part = replace(data.select(columns), sequences=())
    return tuple(unit._replace(columns=tuple(columns[j] for j in unit.columns)) for unit in found(part))


def _bands(data: Dataset) -> tuple[Unit, ...]:
    count = min(MOST_UNITS, int(np.unique(wavelengths(data)).size))
    return tuple(Unit(name, members, "band") for name, members in with_bands(data, count).groups)


def _kind(data: Dataset, members: tuple[int, ...]) -> str:
    """A column of 0 and 1 is a category; so are several that came from one column of the table."""
    values = data.X[:, list(members)]
    return "category" if bool(np.isin(values, (0.0, 1.0)).all()) else "column"


def _clusters(data: Dataset) -> tuple[Unit, ...]:
    """Source columns by average linkage on 1 - |correlation|, so that what carries the same is one unit."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    step = max(1, data.n_samples // ROWS)
    first = np.column_stack([data.X[::step, members[0]] for _, members in data.columns])
    spread = first.std(axis=0)
    first = (first - first.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    apart = 1.0 - np.abs(first.T @ first) / len(first)
    apart = np.clip(0.5 * (apart + apart.T), 0.0, None)
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), "average")
    home = fcluster(tree, ALIKE, "distance")
    if home.max() > MOST_UNITS:
        home = fcluster(tree, MOST_UNITS, "maxclust")
    found = []
    for label in dict.fromkeys(home.tolist()):
        places = np.flatnonzero(home == label)
        names = [data.columns[k][0] for k in places]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        found.append(Unit(f"{names[0]}{more}", tuple(j for k in places for j in data.columns[k][1]), "cluster"))
    return tuple(found)
