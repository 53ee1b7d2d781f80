"""Runs saved from a damaged file: whatever row of it still reads and proves itself is brought over into a fresh one."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

COLUMNS = {
    "files": "id, owner, source, name, content, size, used",
    "runs": "id, owner, secret, name, page, recipe, facts, results, size, created",
}


def bring_over(damaged: Path, fresh: sqlite3.Connection) -> tuple[int, int]:
    """Copy what can be read of ``damaged`` into ``fresh``, whose tables are there; return how many runs and files."""
    with closing(sqlite3.connect(f"file:{damaged}?mode=ro", uri=True)) as old:
        files = {row[0] for row in _rows(old, "files") if _is_whole(row) and _laid(fresh, "files", row)}
        runs = {row[0] for row in _rows(old, "runs") if _is_read(row) and _laid(fresh, "runs", row)}
        fresh.execute("UPDATE runs SET used = (SELECT age FROM clock)")
        for run, file in {pair for order in ("ASC", "DESC") for pair in _pairs(old, order)}:
            if run in runs and file in files:
                fresh.execute("INSERT OR IGNORE INTO holds VALUES (?, ?)", (run, file))
    return len(runs), len(files)


def _rows(old: sqlite3.Connection, table: str) -> Iterator[tuple]:
    """Walk the table from both ends, for a page that does not read ends the walk, and read each row by itself."""
    places: dict[int, None] = {}
    for order in ("ASC", "DESC"):
        with suppress(sqlite3.Error):
            for (place,) in old.execute(f"SELECT rowid FROM {table} NOT INDEXED ORDER BY rowid {order}"):
                places[place] = None
    for place in places:
        with suppress(sqlite3.Error):
            row = old.execute(f"SELECT {COLUMNS[table]} FROM {table} NOT INDEXED WHERE rowid = ?", (place,)).fetchone()
            if row is not None:
                yield row


def _pairs(old: sqlite3.Connection, order: str) -> Iterator[tuple[str, int]]:
    with suppress(sqlite3.Error):
        yield from old.execute(f"SELECT run, file FROM holds ORDER BY run {order}, file {order}")


def _is_whole(row: tuple) -> bool:
    source, content, size = row[2], row[4], row[5]
    if not _are((str, *row[1:4]), (float, row[6])) or not isinstance(content, bytes) or size != len(content):
        return False
    return str(source).endswith(hashlib.sha256(content).hexdigest())


def _are(*row: tuple) -> bool:
    """Tell whether values, each list after its kind, are of it: a changed byte turns a number into a text or
    nothing.
    """
    return all(isinstance(value, kind) and value == value for kind, *values in row for value in values)


def _is_read(row: tuple) -> bool:
    if not _are((str, *row[:7]), (bytes | None, row[7]), (int, row[8]), (float, row[9])):
        return False
    with suppress(ValueError, TypeError):
        return all(isinstance(json.loads(text), dict) for text in row[5:7])
    return False


def _laid(fresh: sqlite3.Connection, table: str, row: tuple) -> bool:
    marks = ", ".join("?" * len(row))
    with suppress(sqlite3.Error):
        fresh.execute(f"INSERT INTO {table} ({COLUMNS[table]}) VALUES ({marks})", row)
        return True
    return False
