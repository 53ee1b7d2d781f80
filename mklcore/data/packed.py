"""What kind of file it is, and how large it may be.

Nothing is executed and nothing is unpickled; the content decides, not the file's name. What a packed file unpacks to is
bounded before it is unpacked (`parquet`, `workbooks`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from mklcore.errors import DataError, ParameterError, never_asked

MAX_BYTES = 20 * 2**20
MAX_ROWS = 100_000
MAX_COLUMNS = 10_000
MAX_CELLS = 10_000_000
MAX_EXPANSION = 10  # unpacked size of a packed file, in multiples of max_bytes
MAX_TEXT = 3  # all texts of a packed file, row by row, in multiples of max_bytes; in memory each is written out

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
    missing_marks: Sequence[str] | None = None
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
    """Refuse a table with too many cells."""
    if n_rows * n_columns > MAX_CELLS:
        raise DataError(
            f"The table has {n_rows:,} x {n_columns:,} cells, more than {MAX_CELLS:,}; take fewer rows or columns."
        )


def as_text(value: object) -> str:
    """A cell as a person reads it: 3 and not 3.0; empty where there is none."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    return "" if value is None else str(value).strip()
