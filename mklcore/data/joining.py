"""Several tables about the same rows, joined by a key into one table of cells: every table is a view."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mklcore.data.columns import are_texts, looks_like_id, missing_cells
from mklcore.data.dataset import Dataset, counted, listed
from mklcore.data.packed import Format
from mklcore.data.parsing import Source, Table, parse
from mklcore.errors import DataError, Repair

PRESENT = "present"  # what the column is called that says which rows a view has
_FIND_KEY = Repair.of("Find the key", key=None)
PACKED = b"MKLVIEWS1\n"


def pack_tables(tables: Mapping[str, bytes]) -> bytes:
    """Several tables in one file, by the names of the views: `read_table` joins them again."""
    index = json.dumps([[name, len(content)] for name, content in tables.items()])
    return b"".join([PACKED, index.encode(), b"\n", *tables.values()])


def packed_tables(raw: bytes) -> dict[str, bytes]:
    """The tables in a file of `pack_tables`; none for any other file. DataError where it is damaged."""
    if not raw.startswith(PACKED):
        return {}
    index, _, content = raw[len(PACKED) :].partition(b"\n")
    try:
        sizes = [(str(name), int(size)) for name, size in json.loads(index)]
    except (ValueError, TypeError) as error:
        raise DataError("The file of several tables is damaged; choose the tables again.") from error
    ends = np.cumsum([0, *(size for _, size in sizes)]).tolist()
    if ends[-1] != len(content) or min(size for _, size in sizes) < 0:
        raise DataError("The file of several tables is damaged; choose the tables again.")
    return {name: content[ends[k] : ends[k + 1]] for k, (name, _) in enumerate(sizes)}


def parsed_table(source: Source | Table, form: Format, key: str | None = None) -> Table:
    """The table in a source, that of several packed tables joined by ``key``."""
    if isinstance(source, Table):
        return source
    if isinstance(source, bytes) and (tables := packed_tables(source)):
        return joined_table(list(tables), [parse(one, form) for one in tables.values()], key)
    return parse(source, form)


def joined_table(called: Sequence[str], tables: Sequence[Table], key: str | None) -> Table:
    """One table of cells from several; its ``views`` name the columns of each. DataError where nothing joins them."""
    key, how = _settled_key(list(called), list(tables), key)
    rows, places = _joined_rows(list(called), list(tables), key)
    merged, home = _merged(list(called), list(tables), key, places, len(rows))
    views = tuple((view, tuple(name for name, own in home.items() if own == view)) for view in called)
    return replace(merged, views=views, notes=(how, *merged.notes))


def mark_of(view: str) -> str:
    """The name of the column that says which rows a view has."""
    return f"{view}: {PRESENT}"


def _settled_key(called: list[str], tables: list[Table], key: str | None) -> tuple[str | None, str]:
    """The column that joins the tables, None for their order, and the note about it."""
    if key is not None:
        for name, table in zip(called, tables, strict=True):
            if key not in table.names:
                raise DataError(
                    f"The table {name!r} has no column {key!r}; its columns are {listed(table.names)}.",
                    repairs=[_FIND_KEY],
                )
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
    reported = f"they share {listed(shared)}, but with values that come twice" if shared else "they share no column"
    raise DataError(
        f"The tables have no key: {reported}, and they differ in their numbers of rows. Name one with key=.",
        repairs=[Repair.of(f"Join by {name!r}", key=name) for name in by_name[:2]],
    )


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
            f"The key {key!r} of the table {name!r} has {what} in more than one row; every row needs a key of its own.",
            repairs=[_FIND_KEY],
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
            columns[mark_of(view)] = np.where(there, 1.0, -1.0)
    signs = {table.decimal for table in tables if any(map(are_texts, table.columns))} or {"."}
    if len(signs) > 1:
        raise DataError("Some tables write decimals with a comma and some with a point; save them alike.")
    notes = tuple(f"{view}: {note}" for view, table in zip(called, tables, strict=True) for note in table.notes)
    return Table(tuple(columns), tuple(columns.values()), signs.pop(), notes=notes), home


def with_views(data: Dataset, table: Table) -> Dataset:
    """The data set with its views as groups; a view that has every row that is left needs no column that says so."""
    marks = {mark_of(view): view for view, _ in table.views if mark_of(view) in data.feature_names}
    full = [name for name in marks if bool((data.X[:, data.feature_names.index(name)] > 0).all())]
    data = data.drop(full) if full else data
    home = {name: view for view, names in table.views for name in names} | marks
    groups = []
    for view, _ in table.views:
        members = [j for name, own in data.columns if home.get(name) == view for j in own]
        if members:
            groups.append((view, tuple(members)))
    present = tuple((marks[name], data.feature_names.index(name)) for name in marks if name not in full)
    reported = [
        f"{counted(int((data.X[:, j] < 0).sum()), 'row')} of {data.n_samples:,} missing in the view {view!r}: its "
        f"kernels are 0 for them, and the column {data.feature_names[j]!r} says which they are."
        for view, j in present
    ]
    views = f"Every table is a group of columns: {listed([name for name, _ in groups])}."
    return replace(data, groups=tuple(groups), present=present, notes=(*data.notes, views, *reported))
