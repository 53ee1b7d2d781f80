"""Several tables about the same rows: views, joined by a key, each a group of columns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mklcore.data.columns import MAX_NAME, are_texts, looks_like_id, missing_cells
from mklcore.data.dataset import Dataset, counted, listed
from mklcore.data.packed import MAX_BYTES, MAX_COLUMNS, MAX_ROWS, Format
from mklcore.data.parsing import Source, Table, parse
from mklcore.data.reading import read_table
from mklcore.errors import DataError, ParameterError, never_asked

PRESENT = "present"  # what the column is called that says which rows a view has


def read_tables(
    sources: Mapping[str, Source] | Sequence[Source],
    key: str | None = None,
    target: str | None = None,
    *,
    names: Sequence[str] | None = None,
    task: str | None = None,
    missing: str = "median",
    keep: Sequence[str] = (),
    uses: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
    tick: Callable[[], None] = never_asked,
) -> Dataset:
    r"""One data set from several tables about the same things: every table is a view, a group of columns.

    Parameters
    ----------
    sources : mapping of str to path
        The tables, as in ``read_table``; or a mapping from the names of the views to them.
    key : str or None, default None
        The column, in every table, that says which row is which, with every value once in a table. None takes the
        column that all tables share and that does so; without one, tables with equally many rows are put side by side
        in the order they have.
    target : str or None, default None
        A column of one of the tables; None takes the likeliest of all, as ``read_table`` does.
    names : sequence of str, default None
        Names of the views; of files their names, else "view 1", "view 2", ...
    task : str or None, default None
        "binary", "multiclass", "regression" or "novelty"; None where it is to be found out.
    missing : str, default "median"
        What happens with cells and rows that are missing. "median" and "indicator" keep a row that some views lack: its
        columns there hold the medians, and a column "<view>: present" says 1 where the view has the row and -1 where it
        does not, so that ``KernelDictionary.views`` masks it: the view's kernels say nothing about that row. "drop"
        keeps the rows that are in every view.
    keep : sequence of str
        Columns to use although they look like identifiers, free text or constants.
    uses : dict or None, default None
        How to read columns, by name: "number", "category" or "left out".
    max_bytes : int, default 20971520
        Most bytes that are accepted.
    max_rows : int, default 100000
        Most rows that are accepted.
    max_columns : int, default 10000
        Most columns that are accepted.
    tick : callable or None
        Called now and then; raising in it ends the reading.

    Returns
    -------
    Dataset
        Its ``groups`` are the views, and ``present`` names the column of every view that lacks rows.

    Raises
    ------
    DataError where no key is found, a key is doubled, or no row is in two tables

    >>> sound = b"id,pitch,loudness\n" + b"\n".join(b"%d,%d,%d" % (i, i % 7, i % 5) for i in range(30))
    >>> looks = b"id,width,kind\n" + b"\n".join(b"%d,%d,%s" % (i, i % 4, b"cat" if i % 2 else b"dog") for i in
    ...                                      range(5, 30))
    >>> data = read_tables({"sound": sound, "looks": looks}, key="id", target="kind")
    >>> [name for name, columns in data.groups], data.n_samples
    (['sound', 'looks'], 25)
    """
    form = Format(max_bytes=max_bytes, max_rows=max_rows, max_columns=max_columns, tick=tick)
    called = _view_names(sources, names)
    tables = [parse(source, form) for source in (sources.values() if isinstance(sources, Mapping) else sources)]
    key, how = _settled_key(called, tables, key)
    rows, places = _joined_rows(called, tables, key)
    merged, home = _merged(called, tables, key, places, len(rows))
    gaps = [name for name, place in zip(called, places, strict=True) if (place < 0).any()]
    marks = {f"{name}: {PRESENT}": name for name in gaps if missing != "drop"}
    data = read_table(
        merged,
        _target_of(merged, home, called, target),
        task=task,
        missing=missing,
        keep=(*keep, *marks),
        uses={**(uses or {}), **dict.fromkeys(marks, "number")},
        max_bytes=max_bytes,
        tick=tick,
    )
    return _with_views(data, called, home, marks, how)


def _view_names(sources: Any, names: Sequence[str] | None) -> list[str]:
    if isinstance(sources, (str, bytes, os.PathLike)) or len(sources) < 2:
        raise ParameterError("read_tables takes two tables or more; use read_table for one.")
    if names is not None:
        found = [str(name) for name in names]
    elif isinstance(sources, Mapping):
        found = [str(name) for name in sources]
    else:
        paths = [
            source if isinstance(source, (str, os.PathLike)) else getattr(source, "name", None) for source in sources
        ]
        found = [
            Path(path).stem if isinstance(path, (str, os.PathLike)) else f"view {k}" for k, path in enumerate(paths, 1)
        ]
    if len(found) != len(sources) or len(set(found)) < len(found) or not all(name.strip() for name in found):
        raise ParameterError(
            f"The {len(sources)} views need different names; got {listed(found)}. Give them with names=."
        )
    return [name.strip()[:MAX_NAME] for name in found]


def _settled_key(called: list[str], tables: list[Table], key: str | None) -> tuple[str | None, str]:
    """The column that joins the tables, None for their order, and the note about it."""
    if key is not None:
        for name, table in zip(called, tables, strict=True):
            if key not in table.names:
                raise DataError(f"The table {name!r} has no column {key!r}; its columns are {listed(table.names)}.")
            _refuse_doubles(name, _keys(table, key), key)
        return key, f"The tables are joined by {key!r}."
    shared = [name for name in tables[0].names if all(name in table.names for table in tables[1:])]
    by_name = sorted(shared, key=lambda name: not looks_like_id(name))
    for name in by_name:
        found = [_keys(table, name) for table in tables]
        if all("" not in values and len(set(values)) == len(values) for values in found):
            return name, f"The tables are joined by {name!r}, the column they share whose values are all different."
    sizes = {table.n_rows for table in tables}
    if len(sizes) == 1:
        return None, "The tables share no key; their rows are taken to be the same in the same order."
    why = f"they share {listed(shared)}, but with values that come twice" if shared else "they share no column"
    raise DataError(f"The tables have no key: {why}, and they differ in their numbers of rows. Name one with key=.")


def _keys(table: Table, key: str) -> list[str]:
    cells = table.columns[table.names.index(key)]
    missing = missing_cells(cells)
    texts = (str(cell).strip() if are_texts(cells) else f"{float(cell):.17g}" for cell in cells)
    return ["" if gap else _plain(text) for text, gap in zip(texts, missing, strict=True)]


def _plain(text: str) -> str:
    """1, 1.0 and 01.0 are one key where a number stands in a table of numbers and in one of texts."""
    return text[:-2] if text.endswith(".0") else text


def _refuse_doubles(name: str, keys: list[str], key: str) -> None:
    doubled = [value for value, count in Counter(keys).items() if count > 1]
    if doubled:
        what = "no value" if doubled[0] == "" else f"the value {doubled[0]!r}"
        raise DataError(
            f"The key {key!r} of the table {name!r} has {what} in more than one row; every row needs a key of its own."
        )


def _joined_rows(called: list[str], tables: list[Table], key: str | None) -> tuple[list[str], list[np.ndarray]]:
    """All keys in the order they are met, and where every one is in each table, -1 where it is not."""
    if key is None:
        count = tables[0].n_rows
        return [str(row) for row in range(count)], [np.arange(count) for _ in tables]
    found = [_keys(table, key) for table in tables]
    rows = list(dict.fromkeys(value for keys in found for value in keys if value))
    together = set(found[0]).intersection(*(set(keys) for keys in found[1:]))
    if not together - {""}:
        raise DataError(
            f"No row is in all of the tables {listed(called)}: no value of {key!r} is. Check that they mean the same."
        )
    where = [{value: row for row, value in enumerate(keys)} for keys in found]
    return rows, [np.array([place.get(value, -1) for value in rows]) for place in where]


def _merged(
    called: list[str], tables: list[Table], key: str | None, places: list[np.ndarray], count: int
) -> tuple[Table, dict[str, str]]:
    """One table of cells with every column of every view, and the view of each by name."""
    doubled = Counter(name for table in tables for name in table.names if name != key)
    columns: dict[str, np.ndarray] = {}
    home: dict[str, str] = {}
    for view, table, place in zip(called, tables, places, strict=True):
        there = place >= 0
        for name, cells in zip(table.names, table.columns, strict=True):
            if name == key:
                continue
            own = name if doubled[name] == 1 else f"{view} {name}"
            texts = are_texts(cells)
            column = np.full(count, "" if texts else np.nan, dtype=object if texts else float)
            column[there] = cells[place[there]]
            columns[own], home[own] = column, view
        if not there.all():
            columns[f"{view}: {PRESENT}"] = np.where(there, 1.0, -1.0)
    signs = {table.decimal for table in tables if any(map(are_texts, table.columns))} or {"."}
    if len(signs) > 1:
        raise DataError("Some tables write decimals with a comma and some with a point; save them alike.")
    notes = tuple(f"{view}: {note}" for view, table in zip(called, tables, strict=True) for note in table.notes)
    return Table(tuple(columns), tuple(columns.values()), signs.pop(), notes=notes), home


def _target_of(merged: Table, home: dict[str, str], called: list[str], target: str | None) -> str | None:
    if target is None or target in merged.names:
        return target
    several = [f"{view} {target}" for view in called if f"{view} {target}" in home]
    if several:
        raise DataError(f"The target {target!r} is in several tables; name one of {listed(several)}.")
    return target


def _with_views(data: Dataset, called: list[str], home: dict[str, str], marks: dict[str, str], how: str) -> Dataset:
    """The data set with its views as groups; a view that has every row that is left needs no column that says so."""
    full = [name for name in marks if bool((data.X[:, data.feature_names.index(name)] > 0).all())]
    data = data.drop(full) if full else data
    places = home | marks
    groups = []
    for view in called:
        members = [j for name, own in data.columns if places.get(name) == view for j in own]
        if members:
            groups.append((view, tuple(members)))
    present = tuple((marks[name], data.feature_names.index(name)) for name in marks if name not in full)
    reported = [
        f"{counted(int((data.X[:, j] < 0).sum()), 'row')} of {data.n_samples:,} missing in the view {view!r}: its "
        f"kernels say "
        f"nothing about them, and the column {data.feature_names[j]!r} says which they are."
        for view, j in present
    ]
    kept = tuple(note for note in data.notes if not note.startswith("Columns whose names begin alike"))
    views = f"Every table is a group of columns: {listed([name for name, _ in groups])}."
    return replace(data, groups=tuple(groups), present=present, notes=(how, views, *reported, *kept))
