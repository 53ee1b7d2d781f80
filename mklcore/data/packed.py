"""What kind of file it is, how large it may be, and the packed kind that is read here: Parquet.

Nothing is executed and nothing is unpickled; the content decides, not the file's name. What a packed file unpacks to is
bounded before or while it is unpacked, by a process of its own (`parquet_reader`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from mklcore.data.bounded import answered, command
from mklcore.data.columns import clean_name
from mklcore.data.dataset import listed
from mklcore.errors import DataError, ParameterError, never_asked

MAX_BYTES = 20 * 2**20
MAX_ROWS = 100_000
MAX_COLUMNS = 10_000
MAX_CELLS = 10_000_000
MAX_EXPANSION = 10  # unpacked size of a packed file, in multiples of max_bytes
MAX_TEXT = 3  # all texts of a packed file, row by row, in multiples of max_bytes; in memory each is written out
MAX_CELL = 131_072  # characters, as in CSV
PARQUET = Path(__file__).with_name("parquet_reader.py")
MEMORY_MB = 768  # of address space, half of it code, for a process that opens a file of at most MAX_BYTES
SECONDS = 60  # of the processor

T = TypeVar("T")
_ALIASES = {"tab": "\t", "\\t": "\t", "whitespace": " ", "spaces": " ", "\\s+": " "}
_SIGNATURES = {
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"%PDF": "a PDF document",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"SQLite format 3": "a database",
}
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_WEB_PAGE = re.compile(rb"\s*<(!doctype|html|\?xml)", re.I)
_JSON = re.compile(rb'\s*[{\[]\s*["{\[]')


@dataclass(frozen=True)
class Format:
    """How to read a table, and the largest one to accept; None means: find out.

    skip_lines : lines before the header. on_bad_lines : "error", or "skip" to leave out lines of another length.
    quotes : whether quotation marks enclose cells. missing_marks : the texts that stand for a missing value. ``tick``
    is called between stretches of work, a tenth of a second or so each; what it raises ends the reading.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    max_bytes: int = MAX_BYTES
    max_rows: int = MAX_ROWS
    max_columns: int = MAX_COLUMNS
    sheet: str | None = None
    skip_lines: int | None = None
    on_bad_lines: str = "error"
    quotes: bool = True
    missing_marks: tuple[str, ...] | None = None
    tick: Callable[[], None] = field(default=never_asked, compare=False)

    def __post_init__(self) -> None:
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", _ALIASES.get(self.delimiter, self.delimiter))
            if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
                raise ParameterError(f"delimiter is {self.delimiter!r}; expected one character or 'whitespace'.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"decimal is {self.decimal!r}; expected '.' or ','.")
        if self.on_bad_lines not in ("error", "skip"):
            raise ParameterError(f"on_bad_lines is {self.on_bad_lines!r}; expected 'error' or 'skip'.")
        if self.skip_lines is not None and self.skip_lines < 0:
            raise ParameterError(f"skip_lines is {self.skip_lines!r}; expected a number of lines, 0 or more.")
        if self.missing_marks is not None:
            object.__setattr__(self, "missing_marks", tuple(str(mark).strip() for mark in self.missing_marks))

    def times(self, usual: int) -> int:
        """What a process may take to open a file that may be this large, where it is ``usual`` for the largest usual
        one.
        """
        return math.ceil(usual * max(1.0, self.max_bytes / MAX_BYTES))


def refuse_other_files(raw: bytes) -> None:
    """A DataError for everything that is no text: archives, pictures, pickles, web pages, binary content."""
    for signature, what in _SIGNATURES.items():
        if raw.startswith(signature):
            raise DataError(f"The file is {what}, not a table; unpack it or save it as CSV, Parquet or .xlsx first.")
    if _PICKLE.match(raw):
        raise DataError("The file is a Python pickle, which can run code and is never opened; save it as CSV.")
    if _WEB_PAGE.match(raw):
        raise DataError("The file is a web page or XML, not a table; download the table itself, as CSV.")
    if _JSON.match(raw):
        raise DataError("The file is JSON, not a table of rows and columns; save it as CSV.")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return
    head = np.frombuffer(raw[:65536], dtype=np.uint8)
    control = (head < 32) & ~np.isin(head, (9, 10, 11, 12, 13, 26))
    if b"\x00" in raw or control.mean() > 0.01:
        raise DataError(
            "The file is binary (it holds NUL bytes or control characters), whatever its name says; "
            "expected text. Save the table as CSV in UTF-8."
        )


def ticked(parts: Iterable[T], tick: Callable[[], None], every: int = 1) -> Iterator[T]:
    """The same parts one after the other, with a tick before every so many of them."""
    for place, part in enumerate(parts):
        if place % every == 0:
            tick()
        yield part


def too_many(what: str, most: int, option: str) -> DataError:
    return DataError(f"The table has more than {most:,} {what}, the limit; take a part of it, or set {option}.")


def check_cells(n_rows: int, n_columns: int) -> None:
    if n_rows * n_columns > MAX_CELLS:
        raise _cells_above(n_rows, n_columns)


def _cells_above(n_rows: int, n_columns: int) -> DataError:
    return DataError(
        f"The table has {n_rows:,} x {n_columns:,} cells, more than {MAX_CELLS:,}; take fewer rows or columns."
    )


def parquet_columns(raw: bytes, form: Format) -> tuple[list[str], tuple[np.ndarray, ...], list[str]]:
    """Names, columns (float64 or texts) and notes of a Parquet file."""
    return _parquet([raw], form)[0]


_Columns = tuple[list[str], tuple[np.ndarray, ...], list[str]]


def _parquet(files: list[bytes], form: Format) -> list[_Columns]:
    """The same for several files, all opened by one process of their own."""
    limits = {
        "rows": form.max_rows,
        "columns": form.max_columns,
        "cells": MAX_CELLS,
        "unpacked": MAX_EXPANSION * form.max_bytes,
        "characters": MAX_TEXT * form.max_bytes,
        "cell": MAX_CELL,
    }
    asked = json.dumps({"sizes": [len(raw) for raw in files], "limits": limits})
    seconds, line = form.times(SECONDS), command(PARQUET, asked, form.times(MEMORY_MB), form.times(SECONDS))
    late = f"The Parquet file takes more than {seconds} s to read; take fewer rows or columns."
    code, out, errors = answered(line, b"".join(files), form.tick, seconds, late)
    found, at = [], 0
    names, columns = list[str](), list[np.ndarray]()
    while at < len(out):
        end = out.index(b"\n", at)
        notes, at = json.loads(out[at:end]), end + 1
        if why := notes.get("refused"):
            raise _refusal(why, form)
        if "rows" in notes:
            found.append(_whole(names, columns, notes["nested"]))
            names, columns = [], []
            continue
        form.tick()
        words, size = notes["words"], notes["bytes"]
        values = np.frombuffer(out, dtype="<i4" if words else "<f8", count=size // (4 if words else 8), offset=at)
        names.append(notes["name"])
        columns.append(np.array(words, dtype=object)[values] if words else values.astype(np.float64))
        at += size
    if len(found) < len(files):
        raise DataError(
            "Reading Parquet files needs the package pyarrow, which is not installed; save the table as CSV."
            if b"No module named" in errors
            else "The Parquet file cannot be read: it is damaged, or it takes more than "
            f"{form.times(MEMORY_MB)} MB to unpack (its reader ended with {code}). Write it again, with fewer rows or "
            f"columns."
        )
    return found


def _whole(names: list[str], columns: list[np.ndarray], nested: list[str]) -> _Columns:
    if not names or not columns[0].size:
        raise DataError("The Parquet file holds no rows or no columns; expected at least one of each.")
    notes = []
    if nested:
        notes.append(f"Left out, lists or records in the cells: {listed(clean_name(name) for name in nested)}.")
    return names, tuple(columns), notes


def _refusal(why: list[Any], form: Format) -> DataError:
    """Why the reader refused a Parquet file: a word for it, and what it counted."""
    word, *counts = why
    if word in ("rows", "columns"):
        return too_many(word, getattr(form, f"max_{word}"), f"max_{word}")
    if word == "cells":
        return _cells_above(counts[1], counts[2])
    if word == "unpacked":
        return DataError(
            f"The file unpacks to {counts[0] / 1e6:,.0f} MB, more than {MAX_EXPANSION} times the limit; take fewer "
            f"rows or columns."
        )
    if word == "cell":
        return DataError(
            f"The file has a cell of at least {counts[0]:,} characters; expected at most {MAX_CELL:,}. Shorten the "
            f"texts."
        )
    if word == "characters":
        return DataError(
            f"The texts of the file come to {counts[0] / 1e6:,.0f} MB or more, row by row, more than {MAX_TEXT} times "
            f"the limit; "
            "take fewer rows, or leave long texts out."
        )
    if word == "memory":
        return DataError(
            f"The Parquet file takes more than {form.times(MEMORY_MB)} MB to unpack; take fewer rows or columns."
        )
    return DataError(f"The Parquet file cannot be read ({counts[0]}); write it again.")


def folder_columns(folder: Path, form: Format) -> tuple[list[str], tuple[np.ndarray, ...], list[str]]:
    """Names, columns and notes of all Parquet files in a folder and below it, one after the other by their names."""
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise DataError(f"The folder {str(folder)[:200]!r} holds no file that ends in .parquet; expected at least one.")
    if sum(file.stat().st_size for file in files) > form.max_bytes:
        raise DataError(
            f"The files of the folder are larger than {form.max_bytes / 2**20:.3g} MB together, the limit; take fewer "
            f"of them, "
            "or set max_bytes."
        )
    (names, first, notes), *others = _parquet([file.read_bytes() for file in files], form)
    parts = [dict(zip(names, first, strict=True))]
    for file, (there, columns, _) in zip(files[1:], others, strict=True):
        part = dict(zip(there, columns, strict=True))
        alike = part.keys() == parts[0].keys() and all(part[n].dtype == parts[0][n].dtype for n in part)
        if len(there) != len(names) or not alike:
            raise DataError(
                f"The file {file.name[:80]!r} has other columns than {files[0].name[:80]!r}, or columns of another "
                f"kind; expected "
                f"{listed(clean_name(name) for name in names)} in every file of the folder."
            )
        parts.append(part)
        if sum(len(one[names[0]]) for one in parts) > form.max_rows:
            raise too_many("rows", form.max_rows, "max_rows")
    columns = tuple(np.concatenate([part[name] for part in parts]) for name in names)
    check_cells(len(columns[0]), len(names))
    return names, columns, [f"{len(files)} Parquet files, one after the other by their names.", *notes]
