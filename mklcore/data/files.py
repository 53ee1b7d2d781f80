"""From bytes to columns of cells: encoding, delimiter, decimal sign, header and names.

The content decides, not the name of the file; packed files are read by `packed.py`. Every refusal is a
`DataError` with the line it is about.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, filterfalse, islice
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np

from mklcore._lazy import cached_property
from mklcore.arrays import Cells, Names
from mklcore.data.columns import (
    MAX_NAME,
    MISSING,
    Profile,
    ReadOptions,
    clean_name,
    distinct_names,
    missing_cells,
    profile,
    to_numbers,
)
from mklcore.data.dataset import counted, listed
from mklcore.data.packed import (
    check_cells,
    endable,
    is_workbook,
    parquet_columns,
    too_many,
    workbook_rows,
)
from mklcore.errors import DataError, Note, Repair

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[Any]
_UNPACK = "not a table; unpack it or save it as CSV, Parquet or .xlsx first"
# What a file that is no table begins with, and what is said of it.
_SIGNATURES = {
    rb"\x1f\x8b": f"a gzip archive, {_UNPACK}",
    rb"BZh": f"a bzip2 archive, {_UNPACK}",
    rb"\xfd7zXZ": f"an xz archive, {_UNPACK}",
    rb"\x28\xb5\x2f\xfd": f"a zstd archive, {_UNPACK}",
    rb"7z\xbc\xaf": f"a 7z archive, {_UNPACK}",
    rb"%PDF": f"a PDF document, {_UNPACK}",
    rb"\x93NUMPY": f"a NumPy array, {_UNPACK}",
    rb"\x89HDF": f"an HDF5 file, {_UNPACK}",
    rb"\x89PNG|\xff\xd8\xff|GIF8": f"a picture, {_UNPACK}",
    rb"SQLite format 3": f"a database, {_UNPACK}",
    rb"\x80[\x02-\x05]": "a Python pickle, which can run code and is never opened; save it as CSV",
    rb"\s*<(!doctype|html|\?xml|!DOCTYPE|HTML|\?XML)": (
        "a web page or XML, not a table; download the table itself, as CSV"
    ),
    rb'\s*[{\[]\s*["{\[]': "JSON, not a table of rows and columns; save it as CSV",
}


def refuse_other_files(raw: bytes) -> None:
    """Raise a DataError for everything that is no text.

    These are archives, pictures, pickles, web pages and binary content.
    """
    for signature, what in _SIGNATURES.items():
        if re.match(signature, raw):
            raise DataError(f"The file is {what}.")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return
    head = np.frombuffer(raw[:65536], dtype=np.uint8)
    control = (head < 32) & ~np.isin(head, (9, 10, 11, 12, 13, 26))
    if b"\x00" in raw or control.mean() > 0.01:
        raise DataError(
            "The file is binary (it holds NUL bytes or control characters), whatever its "
            "name says; expected text. Save the table as CSV in UTF-8."
        )


Rows = Sequence[Sequence[str]]

MAX_QUOTED_LINES = 100
HEAD_ROWS = 1000  # the decimal sign and the header are found in so many rows
MOST_TITLES = 10  # lines above a header
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "spaces"}
# Reading can be cancelled after so many rows: with a thousand cells each they take 0.1 seconds.
ROWS_AT_A_TIME = 200

_LEAST_POSITIONS = 8  # so many numbers that rise from column to column may be names
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?")
_WITH_SIGN = {
    sign: re.compile(
        rf"[+-]?(\d*\{sign}(\d{{1,2}}|\d{{4,}})|(0?|\d{{4,}})\{sign}\d+|\d{{1,3}}(\{other}\d{{3}})+\{sign}\d*)"
        r"([eE][+-]?\d+)?"
    )
    for sign, other in (",.", ".,")
}
_UNCLEAR = re.compile(r"[+-]?\d{1,3},\d{3}")
_AS_LETTERS = Repair.of("Read quotation marks as letters", quotes=False)
_FIRST_LINE = Repair.of("Read from the first line", skip_lines=0)
_FIND_ENCODING = Repair.of("Find the encoding", encoding=None)
_EMPTY = "The file is empty; expected a table with a header line and at least one row."


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of cells (object arrays of str, or float64) by name, and facts about the file.

    values : texts that are values although they often stand for a missing one.
    """

    columns: dict[str, Cells]
    decimal: str = "."
    delimiter: str | None = None
    encoding: str | None = None
    header: bool = True
    sheets: Names = ()
    notes: Names = ()
    values: frozenset[str] | None = None

    @property
    def names(self) -> Names:
        return tuple(self.columns)

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values())))

    def take(self, rows: np.ndarray) -> Table:
        """The table with these rows alone, by their numbers."""
        return replace(self, columns={name: cells[rows] for name, cells in self.columns.items()})

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """The kind of every column, computed once for the summary of a table and its data set."""
        found = {}
        for name, cells in endable(self.columns.items()):
            found[name] = profile(name, cells, self.decimal, values=self.values)
        return found


def with_marks(table: Table, form: ReadOptions) -> Table:
    """The table with the texts of ``missing_marks`` read as missing, where they are given."""
    if form.missing_marks is None:
        return table
    marks = sorted(set(form.missing_marks) - MISSING)
    numbers = to_numbers(np.array(marks, dtype=object), table.decimal)
    columns = {}
    for name, cells in table.columns.items():
        # A mark such as -999 also stands for -999.0.
        gone = np.isin(to_numbers(cells, table.decimal), numbers[np.isfinite(numbers)])
        is_numeric = cells.dtype.kind == "f"
        if not is_numeric:
            gone |= np.fromiter(map(set(marks).__contains__, cells), dtype=bool)
        columns[name] = np.where(gone, np.nan if is_numeric else "", cells)
    values = MISSING.difference(form.missing_marks, {""})
    return replace(table, columns=columns, values=values)


def parse(source: Source, form: ReadOptions) -> Table:
    """The table in a path, bytes or a file object."""
    notes: list[str] = []
    raw = _bytes_of(source, form.max_bytes)
    if raw[:4] == b"PAR1":
        names, columns, notes = parquet_columns(raw, form)
        named = dict(zip(settled_names(names, notes), columns, strict=True))
        return Table(named, notes=tuple(notes))
    if is_workbook(raw):
        cells, sheets, notes = workbook_rows(raw, form)
        rows = _below_title(cells[form.skip_lines or 0 :], form, notes)
        return replace(_table(rows, replace(form, decimal="."), notes), sheets=sheets)
    refuse_other_files(raw)
    text, encoding = _decoded(raw, form.encoding, notes)
    skipped = form.skip_lines or 0
    if separator := re.match(r"sep=(.)\n", text):
        form = replace(form, delimiter=form.delimiter or separator[1])
        skipped += 1
    text = "".join(text.split("\n", skipped)[skipped:])
    form = replace(form, delimiter=form.delimiter or _sniffed(text))
    lines, records = _collected(text, skipped, form)
    rows = _squared(records, lines, form, notes)
    return replace(_table(rows, form, notes), delimiter=form.delimiter, encoding=encoding)


def delimiter_as_text(delimiter: str | None) -> str:
    return DELIMITERS.get(delimiter or "", repr(delimiter))


def _bytes_of(source: Source, max_bytes: int) -> bytes:
    if isinstance(source, (bytes, bytearray, memoryview)):
        raw = bytes(source)
    elif isinstance(source, (str, os.PathLike)):
        try:
            with Path(source).open("rb") as handle:
                raw = handle.read(max_bytes + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(
                f"The file {str(source)[:200]!r} cannot be opened: {reason}."
            ) from error
    elif hasattr(source, "read"):
        raw = source.read(max_bytes + 1)
        if isinstance(raw, str):
            raw = raw.encode("utf-8", "surrogatepass")
    else:
        raise DataError(
            f"The source is a {type(source).__name__}; expected a data frame, a path, "
            "bytes or an open file."
        )
    if len(raw) > max_bytes:
        raise DataError(
            f"The file is larger than {max_bytes / 2**20:.3g} MB, the limit; take fewer rows or "
            "columns.",
            hint="Or set max_bytes to a larger number.",
        )
    if not raw.strip():
        raise DataError(_EMPTY)
    return raw


def _decoded(
    raw: bytes,
    encoding: str | None,
    notes: list[str],
) -> tuple[str, str]:
    """The text without a byte order mark and with line ends \\n, and its encoding."""
    found = encoding or ("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
    try:
        text = raw.decode(found)
    except LookupError as error:
        raise DataError(
            f"There is no encoding {found!r}; try 'utf-8', 'cp1252' or 'utf-16'.",
            repairs=[_FIND_ENCODING],
        ) from error
    except UnicodeError as error:
        if encoding:
            raise DataError(
                f"The file is not {encoding} ({getattr(error, 'reason', error)}).",
                repairs=[_FIND_ENCODING],
                code="table.encoding",
                hint="Leave encoding= out to find it.",
            ) from error
        found = "cp1252" if found == "utf-8" else found
        text = raw.decode(found, "replace")
        notes.append(
            Note(
                f"The file is not UTF-8; it was read as {found} (Western European).",
                code="table.guessed_encoding",
                hint="If letters look wrong, name the right encoding with encoding=.",
            )
        )
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip("\x1a")
    if not text.strip():
        raise DataError(_EMPTY)
    return text, found


# Rows


def _records(
    text: str, delimiter: str, quotes: bool = True, skipped: int = 0
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """First line, last line and the stripped cells of every record that is not blank.

    The cells are a tuple because the collector stops walking through tuples of texts: among
    100,000 lists it took half of the time of reading.
    """
    lines: Iterator[str] = io.StringIO(text)
    if delimiter == " ":
        lines = (" ".join(line.split()) + "\n" for line in lines)
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        skipinitialspace=delimiter != " ",
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
    )
    last = skipped
    try:
        for row in reader:
            first = last + 1
            last = skipped + reader.line_num
            cells = tuple(map(str.strip, row))
            if any(cells):
                yield first, last, cells
    except csv.Error as error:
        raise DataError(
            f"Line {last + 1} starts a cell that cannot be read ({error}); cells have at most "
            f"{csv.field_size_limit():,} characters. Look for a quotation mark that is not closed.",
            repairs=[_AS_LETTERS] if quotes else [],
        ) from error


def _sniffed(text: str) -> str:
    """The delimiter that cuts the first lines into equally many cells, most of them numbers."""
    scores = {delimiter: _score(text, delimiter) for delimiter in DELIMITERS}
    return max(scores, key=scores.__getitem__)


def _score(text: str, delimiter: str) -> float:
    head = text[:65536].rpartition("\n")[0] if len(text) > 65536 else text
    try:
        rows = [row for *_, row in islice(_records(head or text[:65536], delimiter), 100)]
    except DataError:
        return 0.0
    sizes = Counter(map(len, rows))
    width, count = max(sizes.items(), key=itemgetter(1), default=(0, 0))
    if width < 2:
        return 0.0
    cells = list[str]()
    for row in rows[1:] or rows:
        if len(row) == width:
            cells += row
    cells = list(filterfalse(MISSING.__contains__, cells))
    numeric = _count_matches(_NUMBER, cells) / max(len(cells), 1)
    doubt = 0.5 if delimiter == " " else 1.0  # spaces also occur within texts
    return doubt * count / len(rows) * (0.05 + numeric)


def _collected(text: str, skipped: int, form: ReadOptions) -> tuple[list[int], Rows]:
    """The numbers of the lines that hold a record, and their cells."""
    if not text.strip():
        raise _nothing_below(form)
    lines: list[int] = []
    rows = list[tuple[str, ...]]()
    is_open = False
    records = _records(text, form.delimiter or ",", form.quotes, skipped)
    for first, last, cells in endable(records, ROWS_AT_A_TIME):
        if len(rows) > form.max_rows:
            raise too_many("rows", form.max_rows, "max_rows")
        if len(cells) > form.max_columns + 1:
            raise too_many("columns", form.max_columns, "max_columns")
        lines.append(first)
        rows.append(cells)
        is_open = last > first
        if last - first > MAX_QUOTED_LINES:
            break
    else:
        is_open = is_open and form.quotes and text.count('"') % 2 == 1
    if is_open:
        raise DataError(
            (
                f"A quotation mark opened on line {lines[-1]} is not closed there or soon after; "
                "close it, or remove the quotation marks."
            ),
            repairs=[_AS_LETTERS],
        )
    if not rows:
        raise DataError(
            "The file is empty: it holds delimiters and quotation marks, but nothing between them."
        )
    return lines, rows


def _nothing_below(form: ReadOptions) -> DataError:
    text = (
        f"Nothing is left below the first {counted(form.skip_lines or 0, 'line')}; leave out "
        "fewer lines."
    )
    return DataError(text, repairs=[_FIRST_LINE])


def _squared(rows: Rows, lines: list[int], form: ReadOptions, notes: list[str]) -> Rows:
    """Rows of one length: empty cells past the first line's length are cut; others are refused."""
    rows = _below_title(rows, form, notes)
    width = len(rows[0])
    body = rows[1:]
    if (
        set(map(len, body)) == {width + 1}
        and any(row[-1] for row in body)
        and (_is_number(body[0]) or not any(map(_is_number, body[:10])))
    ):
        notes.append(
            "The first line has one cell less than the rows: the first column was read as "
            "names of the rows."
        )
        return [["row id", *rows[0]], *body]
    rows = [row if any(row[width:]) else row[:width] for row in rows]
    sizes = list(map(len, rows))
    usual, count = Counter(sizes).most_common(1)[0]
    other = counted(len(rows) - count, "line")
    if set(sizes) == {width}:
        return rows
    if form.on_bad_lines != "skip":
        raise _uneven(sizes, lines[-len(rows) :], usual, other, form)
    sentence = f"Left out: {other} with another number of cells than {usual}."
    notes.append(Note(sentence, [Repair.of("Refuse such lines", on_bad_lines="error")]))
    return [row for row in rows if len(row) == usual]


def _uneven(
    sizes: list[int], lines: list[int], usual: int, other: str, form: ReadOptions
) -> DataError:
    """A refusal of rows of different lengths, with other ways to read the file."""
    bad = np.flatnonzero(np.not_equal(sizes, sizes[0]))
    first = sizes.index(usual)
    repairs = []
    if 0 < first <= MOST_TITLES and set(sizes[first:]) == {usual}:
        what = "line" if first == 1 else f"{first} lines"
        skipped = (form.skip_lines or 0) + first
        repairs.append(Repair.of(f"Read without the first {what}", skip_lines=skipped))
    if 2 * sizes.count(usual) > len(sizes) and usual > 1:
        repairs.append(Repair.of(f"Leave out {other} of another length", on_bad_lines="skip"))
    more = f" ({counted(len(bad), 'line')} differ in all)" if len(bad) > 1 else ""
    return DataError(
        (
            f"Line {lines[bad[0]]} has {counted(sizes[bad[0]], 'cell')}, but line {lines[0]} has "
            f"{sizes[0]}{more}, read with the delimiter {delimiter_as_text(form.delimiter)}. Mend "
            "these lines, quote cells that hold it, or name another."
        ),
        repairs=repairs,
    )


def _below_title(rows: Rows, form: ReadOptions, notes: list[str]) -> Rows:
    """The rows without a title, a source or a date: lines above the header with a single text."""
    if not rows:
        raise _nothing_below(form)
    count = next((k for k, row in enumerate(rows) if sum(map(bool, row)) != 1), 0)
    header = rows[count]
    is_header = len(header) >= 3 and all(header) and not _is_number(header)
    is_title = 0 < count <= MOST_TITLES and rows[0][0] and not _is_number(rows[0])
    if form.skip_lines is not None or not (is_header and is_title and len(rows) > count + 1):
        return rows
    which = "The first line is a title" if count == 1 else f"The first {count} lines are a title"
    notes.append(Note(f"{which} above the table and was left out.", [_FIRST_LINE]))
    return rows[count:]


def _is_number(cells: Sequence[str]) -> bool:
    return any(_NUMBER.fullmatch(cell) for cell in cells)


# Columns


def _table(rows: Rows, form: ReadOptions, notes: list[str]) -> Table:
    """Header, names and decimal sign of equal rows of cells."""
    width = len(rows[0])
    head = rows[:HEAD_ROWS]
    if width > form.max_columns:
        raise too_many("columns", form.max_columns, "max_columns")
    decimal = form.decimal or _decimal_sign(head, form.delimiter)
    if decimal == ",":
        text = "Numbers are written with a decimal comma (1,5) and were read so."
        notes.append(Note(text, [Repair.of("Read a decimal point", decimal=".")]))
    header = _has_header(head[:200], decimal) if form.header is None else form.header
    if not (n_rows := len(rows) - header):
        raise DataError(
            "The file holds a header line only; expected at least one row below it.",
            repairs=[_FIRST_LINE] if form.skip_lines else [],
        )
    if n_rows > form.max_rows:
        raise too_many("rows", form.max_rows, "max_rows")
    check_cells(n_rows, width)
    columns = [np.array(cells, dtype=object) for cells in endable(zip(*rows[header:], strict=True))]
    if not header:
        names = tuple(f"x{j}" for j in range(width))
        if form.header is None:
            text = (
                f"The first line holds data, no names: the columns are called x0 to x{width - 1}."
            )
            notes.append(Note(text, [Repair.of("The first line holds names", header=True)]))
    else:
        used = [j for j in range(width) if rows[0][j] or any(columns[j])]
        if len(used) < width:
            unused = counted(width - len(used), "column")
            notes.append(f"{unused} without a name and without a value left out.")
        names = settled_names([rows[0][j] for j in used], notes)
        columns = [columns[j] for j in used]
    named = dict(zip(names, columns, strict=True))
    return Table(named, decimal, header=header, notes=tuple(notes))


def _decimal_sign(rows: Rows, delimiter: str | None) -> str:
    cells = list(chain.from_iterable(rows))
    commas = _count_matches(_WITH_SIGN[","], cells)
    points = _count_matches(_WITH_SIGN["."], cells)
    # Where semicolons separate, 1,234 is a decimal number: they leave the comma free for it.
    if commas == points == 0 and delimiter == ";":
        commas = _count_matches(_UNCLEAR, cells)
    return "," if commas > points else "."


def _count_matches(pattern: re.Pattern[str], cells: Iterable[str]) -> int:
    return sum(map(bool, map(pattern.fullmatch, cells)))


def _has_header(rows: Rows, decimal: str) -> bool:
    """Whether the first line is a header.

    It is none if it holds numbers wherever the rows below do. But numbers that rise from column to
    column, as wavelengths do, are names if the rows below do not rise as well.
    """
    cells = np.array(list(chain.from_iterable(rows)), dtype=object)
    numbers = to_numbers(cells, decimal).reshape(len(rows), -1)
    is_number = np.isfinite(numbers)
    if len(rows) == 1:
        return not is_number.all()
    present = ~missing_cells(cells, values=()).reshape(len(rows), -1)
    finite = is_number[1:].sum(axis=0)
    numeric = (finite > 0) & (finite >= 0.8 * present[1:].sum(axis=0))
    text_above = numeric & present[0] & ~is_number[0]
    if not numeric.any() or text_above.any():
        return True
    if is_number[0].sum() < _LEAST_POSITIONS:
        return False
    steps = np.diff(numbers[:, is_number[0]], axis=1)
    moves = np.all(steps > 0.0, axis=1) | np.all(steps < 0.0, axis=1)
    return bool(moves[0]) and float(np.mean(moves[1:])) < 0.5


def settled_names(cells: Sequence[str], notes: list[str]) -> Names:
    """The names of columns: cleaned, cut and all different."""
    cleaned = list(map(clean_name, cells))
    unnamed = []
    for place, name in enumerate(cleaned):
        if not name:
            cleaned[place] = f"column {place + 1}"
            unnamed.append(cleaned[place])
    names = distinct_names(cleaned, MAX_NAME - 5)
    # A repeated name got a number.
    numbered = {name: plain for name, plain in zip(names, cleaned, strict=True) if name != plain}
    if numbered:
        text = (
            f"Several columns have the same name: {listed(dict.fromkeys(numbered.values()))}; "
            f"later ones got a number, as in {next(iter(numbered))!r}."
        )
        notes.append(Note(text, [Repair.of("The first line holds data", header=False)]))
    if unnamed:
        notes.append(
            f"{counted(len(unnamed), 'column')} without a name: now called {listed(unnamed)}."
        )
    return tuple(names)
