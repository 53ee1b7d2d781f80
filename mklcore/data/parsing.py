"""From bytes to columns of cells: encoding, delimiter, rows of one length, decimal sign, header and names.

Every refusal is a `DataError` with the line it is about.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from mklcore.data.columns import MAX_NAME, MISSING, clean_name, distinct_names, missing_cells, to_numbers
from mklcore.data.dataset import counted, listed
from mklcore.data.notes import Note
from mklcore.data.packed import (
    Format,
    check_cells,
    refuse_other_files,
    ticked,
    too_many,
)
from mklcore.data.parquet import folder_columns, parquet_columns
from mklcore.data.workbooks import is_workbook, workbook_rows
from mklcore.errors import DataError, Repair

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[Any]

MAX_QUOTED_LINES = 100
HEAD_ROWS = 1000  # from which the decimal sign is read, and whether there is a header
LARGE_TEXT = 200_000  # characters from which pyarrow cuts a regular text into cells, ten times as fast
_UNUSUAL = '"\0\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000' + "".join(
    map(chr, range(0x2000, 0x200B))
)
_LEAST_POSITIONS = 8  # numbers that rise from column to column, before they count as names
MOST_TITLES = 10  # lines above a header
ROWS_AT_A_TIME = 200  # between two ticks: of a thousand cells each they take a tenth of a second

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "spaces"}
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d*,(\d{1,2}|\d{4,})|(0?|\d{4,}),\d+|\d{1,3}(\.\d{3})+,\d*)([eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?(\d*\.(\d{1,2}|\d{4,})|(0?|\d{4,})\.\d+|\d{1,3}(,\d{3})+\.\d*)([eE][+-]?\d+)?")
_AS_LETTERS = Repair.of("Read quotation marks as letters", quotes=False)
ELLIPSIS = "\u2026"
_FIND_ENCODING = Repair.of("Find the encoding", encoding=None)
_UNCLEAR = re.compile(r"[+-]?\d{1,3},\d{3}")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of cells: texts (object arrays of str) or float64, with what was found out about the file."""

    names: tuple[str, ...]
    columns: tuple[np.ndarray, ...]
    decimal: str = "."
    delimiter: str | None = None
    encoding: str | None = None
    header: bool = True
    sheets: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    values: frozenset[str] | None = None  # texts that are values although they often stand for a missing one

    @property
    def n_rows(self) -> int:
        return len(self.columns[0])


def parse(source: Source, form: Format) -> Table:
    """The table in a path, bytes or a file object; of a folder the Parquet files in it."""
    table = _parsed(source, form)
    if form.missing_marks is None:
        return table
    marks = frozenset(form.missing_marks)
    columns = tuple(_without_marks(cells, marks - MISSING, table.decimal) for cells in table.columns)
    return replace(table, columns=columns, values=MISSING - marks - {""})


def _without_marks(cells: np.ndarray, marks: frozenset[str], decimal: str) -> np.ndarray:
    """The cells, those that are a mark or the number that a mark writes empty."""
    if not marks:
        return cells
    numbers = to_numbers(np.array(sorted(marks), dtype=object), decimal)
    numbers = numbers[np.isfinite(numbers)]
    if cells.dtype.kind == "f":
        return np.where(np.isin(cells, numbers), np.nan, cells)
    gone = np.array([cell in marks for cell in cells.tolist()], dtype=bool)
    if numbers.size:
        gone |= np.isin(to_numbers(cells, decimal), numbers)
    return np.where(gone, "", cells)


def _parsed(source: Source, form: Format) -> Table:
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        found, cells, remarks = folder_columns(Path(source), form)
        return Table(_settle_names(found, remarks), cells, notes=tuple(remarks))
    raw = _bytes_of(source, form.max_bytes)
    if not raw.strip():
        raise DataError("The file is empty; expected a table with a header line and at least one row.")
    if raw[:4] == b"PAR1":
        raw_names, columns, found_notes = parquet_columns(raw, form)
        names = _settle_names(raw_names, found_notes)
        return Table(names, columns, notes=tuple(found_notes))
    if is_workbook(raw):
        rows, sheets, found_notes = workbook_rows(raw, form)
        rows = rows[form.skip_lines or 0 :]
        if not rows:
            raise _nothing_below(form)
        return replace(_from_rows(rows, form, decimal=".", notes=found_notes), sheets=sheets)
    refuse_other_files(raw)
    text, encoding, notes = _decode(raw, form.encoding)
    return _from_text(text, encoding, notes, form)


def delimiter_as_text(delimiter: str) -> str:
    return DELIMITERS.get(delimiter, repr(delimiter))


def _bytes_of(source: Source, max_bytes: int) -> bytes:
    if isinstance(source, (bytes, bytearray, memoryview)):
        raw = bytes(source)
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        try:
            with path.open("rb") as handle:
                raw = handle.read(max_bytes + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(f"The file {str(path)[:200]!r} cannot be opened: {reason}.") from error
    elif hasattr(source, "read"):
        content = source.read(max_bytes + 1)
        raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else bytes(content)
    else:
        raise DataError(f"The source is a {type(source).__name__}; expected a path, bytes or an open file.")
    if len(raw) > max_bytes:
        raise DataError(
            f"The file is larger than {max_bytes / 2**20:.3g} MB, the limit; "
            "take fewer rows or columns, or set max_bytes."
        )
    return raw


def _decode(raw: bytes, encoding: str | None) -> tuple[str, str, list[str]]:
    """Text without BOM, with line ends as \\n; the encoding; notes."""
    notes: list[str] = []
    if encoding is None:
        encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            encoding = "cp1252" if encoding == "utf-8" else encoding
            text = raw.decode(encoding, "replace")
            notes.append(
                f"The file is not UTF-8; it was read as {encoding} (Western European). "
                "If letters look wrong, name the right encoding with encoding=."
            )
    else:
        try:
            text = raw.decode(encoding)
        except LookupError as error:
            raise DataError(
                f"There is no encoding {encoding!r}; try 'utf-8', 'cp1252' or 'utf-16'.", repairs=[_FIND_ENCODING]
            ) from error
        except UnicodeError as error:
            raise DataError(
                f"The file is not {encoding} ({getattr(error, 'reason', error)}); leave encoding= out to find it.",
                repairs=[_FIND_ENCODING],
            ) from error
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip("\x1a")
    if not text.strip():
        raise DataError("The file is empty; expected a table with a header line and at least one row.")
    return text, encoding, notes


def _from_text(text: str, encoding: str, notes: list[str], form: Format) -> Table:
    delimiter, first_line = form.delimiter, 1
    if separator := re.match(r"sep=(.)\n", text):
        text, first_line = text[separator.end() :], 2
        delimiter = delimiter or separator[1]
    for _ in range(form.skip_lines or 0):
        text, first_line = text.partition("\n")[2], first_line + 1
    if not text.strip():
        raise _nothing_below(form)
    delimiter = delimiter or _sniff(text)
    if form.header is None and _is_blank_header(text, delimiter):
        form = replace(form, header=False)
        notes = [*notes, f"The first line holds no names: the columns are called x1, x2, {ELLIPSIS}."]
    columns = _regular_columns(text, delimiter, form) if len(text) >= LARGE_TEXT else None
    if columns is not None:
        head = [list(row) for row in zip(*(column[:HEAD_ROWS] for column in columns), strict=True)]
        if form.skip_lines is not None or not _title_lines(head):
            return _settled(head, len(columns[0]), lambda: columns, form, None, delimiter, encoding, notes)
    rows, lines = _collect(text, delimiter, first_line, form)
    rows, more = _square(rows, lines, delimiter, text, form)
    return _from_rows(rows, form, None, delimiter, encoding, [*notes, *more])


def _nothing_below(form: Format) -> DataError:
    return DataError(
        f"Nothing is left below the first {counted(form.skip_lines or 0, 'line')}; leave out fewer lines.",
        repairs=[Repair.of("Read from the first line", skip_lines=0)],
    )


def _is_blank_header(text: str, delimiter: str) -> bool:
    """Whether the first line is delimiters alone, where names would stand."""
    first = text.partition("\n")[0]
    return delimiter in ",;\t|" and delimiter in first and not first.strip(f'{delimiter} \t"')


def _regular_columns(text: str, delimiter: str, form: Format) -> list[np.ndarray] | None:
    """The cells of a text, column by column, as `_collect` would find them; None where anything about it is unusual.

    Unusual are quotation marks, other white space than spaces and tabs, rows of another length or without a value, very
    long cells, and more rows or columns than are accepted: what is to be said about them the usual way finds out.
    """
    width = text[: text.index("\n") if "\n" in text else None].count(delimiter) + 1
    if delimiter == " " or text[0] == "\n" or width > form.max_columns or any(sign in text for sign in _UNUSUAL):
        return None
    import pyarrow as pa
    from pyarrow import compute
    from pyarrow import csv as arrow_csv

    names = [f"f{place}" for place in range(width)]
    form.tick()
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text.encode()),
            read_options=arrow_csv.ReadOptions(column_names=names, use_threads=False),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, quote_char=False),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None
    if not 1 < table.num_rows <= form.max_rows + 1:
        return None
    found = [compute.utf8_trim(column, " \t") for column in ticked(table.columns, form.tick)]
    empty = compute.equal(found[0], "")
    for column in found[1:]:
        empty = compute.and_(empty, compute.equal(column, ""))
    longest = max(compute.max(compute.binary_length(column)).as_py() for column in found)
    if compute.any(empty).as_py() or longest > csv.field_size_limit():
        return None
    return [column.to_numpy() for column in ticked(found, form.tick)]


def _records(text: str, delimiter: str, quotes: bool = True) -> Iterator[tuple[int, int, list[str]]]:
    """First line, last line and the stripped cells of every record that is not blank."""
    lines: Iterator[str] = io.StringIO(text)
    if delimiter == " ":
        lines = (line.replace("\t", " ").strip() + "\n" for line in lines)
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        skipinitialspace=True,
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
    )
    last = 0
    try:
        for row in reader:
            first, last = last + 1, reader.line_num
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield first, last, cells
    except csv.Error as error:
        limit = f"{csv.field_size_limit():,}"
        raise DataError(
            f"Line {last + 1} starts a cell that cannot be read ({error}); cells have at most {limit} characters. "
            "Look for a quotation mark that is not closed.",
            repairs=[_AS_LETTERS] if quotes else [],
        ) from error


def _sniff(text: str) -> str:
    """The delimiter under which the first lines have equal numbers of cells, and the most cells are numbers."""
    head = text[:65536]
    if len(head) < len(text):
        head = head[: head.rfind("\n") + 1] or head
    scores = {delimiter: _score(head, delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=lambda delimiter: scores[delimiter])
    return best if scores[best][0] > 0 else ","


def _score(head: str, delimiter: str) -> tuple[float, int]:
    rows = []
    try:
        for _, _, row in _records(head, delimiter):
            rows.append(row)
            if len(rows) == 100:
                break
    except DataError:
        return 0.0, 0
    if not rows:
        return 0.0, 0
    width, count = Counter(len(row) for row in rows).most_common(1)[0]
    if width < 2:
        return 0.0, 0
    cells = [cell for row in rows[1:] or rows if len(row) == width for cell in row if cell not in MISSING]
    numeric = sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) / max(len(cells), 1)
    doubt = 0.5 if delimiter == " " else 1.0  # spaces also stand inside texts
    return doubt * count / len(rows) * (0.05 + numeric), width


def _collect(text: str, delimiter: str, first_line: int, form: Format) -> tuple[list[list[str]], list[int]]:
    rows: list[list[str]] = []
    lines: list[int] = []
    first = last = 0
    for first, last, cells in ticked(_records(text, delimiter, form.quotes), form.tick, ROWS_AT_A_TIME):
        if last - first > MAX_QUOTED_LINES:
            raise _open_quote(first + first_line - 1)
        if len(rows) > form.max_rows:
            raise too_many("rows", form.max_rows, "max_rows")
        if len(cells) > form.max_columns + 1:
            raise too_many("columns", form.max_columns, "max_columns")
        rows.append(cells)
        lines.append(first + first_line - 1)
    if not rows:
        raise DataError("The file is empty: it holds delimiters and quotation marks, but nothing between them.")
    if form.quotes and last > first and text.count('"') % 2:
        raise _open_quote(lines[-1])
    return rows, lines


def _open_quote(line: int) -> DataError:
    return DataError(
        f"A quotation mark opened on line {line} is not closed there or soon after; close it, or remove the "
        "quotation marks.",
        repairs=[_AS_LETTERS],
    )


def _square(
    rows: list[list[str]], lines: list[int], delimiter: str, text: str, form: Format
) -> tuple[list[list[str]], list[str]]:
    """Rows of one length; empty cells past the first line's length are cut, other differences are refused."""
    title = _title_lines(rows) if form.skip_lines is None else 0
    notes: list[str] = [_title_note(title)] if title else []
    rows, lines = rows[title:], lines[title:]
    width = len(rows[0])
    body = {len(row) for row in rows[1:]}
    titled = not _is_number(rows[1]) and any(map(_is_number, rows[2:12])) if len(rows) > 2 else False
    if body == {width + 1} and any(row[-1] for row in rows[1:]) and not titled:
        notes.append("The first line has one cell less than the rows: the first column was read as names of the rows.")
        return [["row id", *rows[0]], *rows[1:]], notes
    rows = [row if any(row[width:]) else row[:width] for row in rows]
    bad = [(line, len(row)) for line, row in zip(lines, rows, strict=True) if len(row) != width]
    if not bad:
        return rows, notes
    if form.on_bad_lines == "skip":
        usual = Counter(map(len, rows)).most_common(1)[0][0]
        kept = [row for row in rows if len(row) == usual]
        reported = f"Left out: {counted(len(rows) - len(kept), 'line')} with another number of cells than {usual}."
        return kept, [*notes, Note(reported, [Repair.of("Refuse such lines", on_bad_lines="error")])]
    line, found = bad[0]
    more = f" ({counted(len(bad), 'line')} differ in all)" if len(bad) > 1 else ""
    raise DataError(
        f"Line {line} has {counted(found, 'cell')}, but line {lines[0]} has {width}{more}, read with the delimiter "
        f"{delimiter_as_text(delimiter)}. Mend these lines, quote cells that contain it, or name another delimiter.",
        repairs=_for_uneven(rows, delimiter, text, form),
    )


def _for_uneven(rows: list[list[str]], delimiter: str, text: str, form: Format) -> list[Repair]:
    """What may help where lines differ in length: fewer lines at the start, another delimiter, or only equal lines."""
    sizes = [len(row) for row in rows]
    usual, count = Counter(sizes).most_common(1)[0]
    first = sizes.index(usual)
    found = []
    if 0 < first <= MOST_TITLES and all(size == usual for size in sizes[first:]):
        skipped = (form.skip_lines or 0) + first
        label = "Read without the first line" if skipped == 1 else f"Read without the first {skipped} lines"
        found.append(Repair.of(label, skip_lines=skipped))
    scores = {other: _score(text[:65536], other)[0] for other in DELIMITERS if other != delimiter}
    best = max(scores, key=lambda other: scores[other])
    if scores[best] > _score(text[:65536], delimiter)[0] / 2 and scores[best] > 0:
        found.append(Repair.of(f"Separate columns by {delimiter_as_text(best)}", delimiter=best))
    if 2 * count > len(sizes) and usual > 1:
        label = f"Leave out {counted(len(sizes) - count, 'line')} of another length"
        found.append(Repair.of(label, on_bad_lines="skip"))
    return found


def _title_lines(rows: list[list[str]]) -> int:
    """How many lines above the header hold one text and nothing else: a title, a source, a date."""
    if len(rows) < 4 or not rows[0][0] or any(rows[0][1:]):
        return 0
    count = next((k for k, row in enumerate(rows) if sum(map(bool, row)) != 1), 0)
    below = rows[count:]
    width = len(below[0])
    filled = width >= 3 and all(below[0]) and not _is_number(below[0]) and len(below) > 1
    equal = all(len(row) == width or not any(row[width:]) for row in below)
    return count if 0 < count <= MOST_TITLES and filled and equal and not _is_number(rows[0]) else 0


def _is_number(cells: list[str]) -> bool:
    return any(_NUMBER.fullmatch(cell) for cell in cells)


def _title_note(lines: int) -> Note:
    which = "The first line is a title" if lines == 1 else f"The first {lines} lines are a title"
    return Note(f"{which} above the table and was left out.", [Repair.of("Read from the first line", skip_lines=0)])


def _from_rows(
    rows: list[list[str]],
    form: Format,
    decimal: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """Header, names and decimal sign of equal rows of cells."""
    if form.skip_lines is None and (title := _title_lines(rows)):
        rows, notes = rows[title:], [*notes, _title_note(title)]

    def columns() -> list[np.ndarray]:
        return list(ticked((np.array(column, dtype=object) for column in zip(*rows, strict=True)), form.tick))

    return _settled(rows[:HEAD_ROWS], len(rows), columns, form, decimal, delimiter, encoding, notes)


def _settled(
    head: list[list[str]],
    n_lines: int,
    make: Callable[[], list[np.ndarray]],
    form: Format,
    decimal: str | None,
    delimiter: str | None,
    encoding: str | None,
    notes: Sequence[str],
) -> Table:
    """Header, names and decimal sign, found in the first rows ``head``; ``make`` gives the columns of all of them."""
    reported = list(notes)
    if len(head[0]) > form.max_columns:
        raise too_many("columns", form.max_columns, "max_columns")
    decimal = form.decimal or decimal or _decimal_sign(head, delimiter)
    if decimal == ",":
        text = "Numbers are written with a decimal comma (1,5) and were read so."
        reported.append(Note(text, [Repair.of("Read a decimal point", decimal=".")]))
    header = _has_header(head[:200], decimal) if form.header is None else form.header
    n_rows = n_lines - header
    if not n_rows:
        raise DataError(
            "The file holds a header line only; expected at least one row below it.",
            repairs=[Repair.of("Read from the first line", skip_lines=0)] if form.skip_lines else [],
        )
    if n_rows > form.max_rows:
        raise too_many("rows", form.max_rows, "max_rows")
    check_cells(n_rows, len(head[0]))
    columns, cells = [column[int(header) :] for column in make()], head[0]
    if header and (blank := _blank_columns(cells, columns)):
        reported.append(f"{counted(len(blank), 'column')} without a name and without a value left out.")
        columns = [column for j, column in enumerate(columns) if j not in blank]
        cells = [cell for j, cell in enumerate(cells) if j not in blank]
    if header:
        names = _settle_names(cells, reported)
    else:
        names = tuple(f"x{j + 1}" for j in range(len(cells)))
        if form.header is None:
            text = f"The first line holds data, no names: the columns are called x1 to x{len(names)}."
            reported.append(Note(text, [Repair.of("The first line holds names", header=True)]))
    return Table(names, tuple(columns), decimal, delimiter, encoding, header, notes=tuple(reported))


def _blank_columns(header: list[str], columns: list[np.ndarray]) -> set[int]:
    """Columns that hold nothing at all, not even a name; none where that would leave nothing."""
    blank = {j for j, name in enumerate(header) if not name}
    blank = {j for j in blank if not any(columns[j].tolist())}
    return blank if len(blank) < len(header) else set()


def _decimal_sign(rows: list[list[str]], delimiter: str | None) -> str:
    cells = [cell for row in rows for cell in row]
    commas = sum(bool(_DECIMAL_COMMA.fullmatch(cell)) for cell in cells)
    points = sum(bool(_DECIMAL_POINT.fullmatch(cell)) for cell in cells)
    if commas == points == 0 and delimiter == ";":  # 1,234 between semicolons: they are there to free the comma
        commas = sum(bool(_UNCLEAR.fullmatch(cell)) for cell in cells)
    return "," if commas > points else "."


def _has_header(rows: list[list[str]], decimal: str) -> bool:
    """The first line is a header unless it holds numbers wherever the rows below do; numbers that rise from column
    to column, as wavelengths do, are names where the rows below do not rise as well.
    """
    if len(rows) == 1:
        return not all(np.isfinite(to_numbers(np.array(rows[0], dtype=object), decimal)))
    numeric = False
    for first, *rest in zip(*rows, strict=True):
        cells = np.array(rest, dtype=object)
        present = ~missing_cells(cells, values=())
        if not present.any() or np.isnan(to_numbers(cells[present], decimal)).mean() > 0.2:
            continue
        numeric = True
        if first not in MISSING and np.isnan(to_numbers(np.array([first], dtype=object), decimal))[0]:
            return True
    return not numeric or _names_positions(rows, decimal)


def _names_positions(rows: list[list[str]], decimal: str) -> bool:
    """Whether the numbers of the first line rise or fall from column to column, and those of fewer than half of the
    rows below.
    """
    found = [to_numbers(np.array(row, dtype=object), decimal) for row in rows]
    places = np.flatnonzero(np.isfinite(found[0]))
    if places.size < _LEAST_POSITIONS:
        return False
    steps = np.diff(np.array(found)[:, places], axis=1)
    moves = np.all(steps > 0.0, axis=1) | np.all(steps < 0.0, axis=1)
    return bool(moves[0]) and float(np.mean(moves[1:])) < 0.5


def _settle_names(cells: Sequence[str], notes: list[str]) -> tuple[str, ...]:
    count = Counter(" ".join(cell.split()) for cell in cells)
    doubled = [name for name, times in count.items() if name and times > 1]
    stems = [clean_name(cell) or f"column {place}" for place, cell in enumerate(cells, start=1)]
    names = distinct_names(stems, MAX_NAME - 5)
    if doubled:
        example = next((name for name in names if name.endswith("(2)")), names[-1])
        which = listed(map(clean_name, doubled))
        text = f"Several columns have the same name: {which}; later ones got a number, as in {example!r}."
        notes.append(Note(text, [Repair.of("The first line holds data", header=False)]))
    unnamed = [f"column {place}" for place, cell in enumerate(cells, start=1) if not clean_name(cell)]
    if unnamed:
        notes.append(f"{counted(len(unnamed), 'column')} without a name: now called {listed(unnamed)}.")
    if any(len(cell) > MAX_NAME for cell in cells):
        notes.append(f"Names longer than {MAX_NAME} characters were cut.")
    return tuple(names)
