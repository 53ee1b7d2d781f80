"""From bytes to columns of cells: text tables, Parquet files and folders of them, workbooks; and bounds on all of them.

Nothing is executed and nothing is unpickled; the content decides, not the file's name. What a packed file unpacks to is
bounded before it is unpacked. A text that stands in every row is a few bytes of a Parquet file and gigabytes in memory:
the headers of all pages are read first, texts are read as a dictionary and the number of the entry in each row, and
what they come to row by row is counted. A reader of workbooks takes memory for every cell that a sheet spans and for
every text as often as it stands there: the parts of a packed workbook are unpacked here first, whatever they say of
themselves. Of text the encoding, the delimiter, the decimal sign, the header and the names are found out. Every refusal
is a `DataError` with the line it is about.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from mklcore.data.columns import (
    MAX_NAME,
    MISSING,
    Note,
    ReadOptions,
    are_texts,
    clean_name,
    distinct_names,
    missing_cells,
    to_numbers,
)
from mklcore.data.dataset import counted, listed
from mklcore.errors import DataError, Repair, never_asked

MAX_CELLS = 10_000_000
MAX_EXPANSION = 10  # unpacked size of a packed file, in multiples of max_bytes
MAX_TEXT = 3  # all texts of a packed file, row by row, in multiples of max_bytes; in memory each is written out

T = TypeVar("T")
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


MAX_HEADER_BYTES = 10_000  # of an array, as NumPy itself has it
MOST_VALUES = 1_000_000  # of a JSON text: one takes up to 230 bytes once it is read
PIECE_BYTES = 2**24


@dataclass(frozen=True)
class ArrayHeader:
    """What an array says of itself before its numbers, which begin at byte ``start``."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def nbytes(self) -> int:
        """Bytes of its numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def array_header(file: IO[bytes]) -> ArrayHeader:
    """The header of an array in NumPy's format; DataError where it says that it is longer than any of ours.

    NumPy reads a header whole, gigabytes too, before it looks at it.
    """
    version = np.lib.format.read_magic(file)
    there = file.tell()
    length = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
    file.seek(there)
    if length > MAX_HEADER_BYTES:
        raise DataError(
            f"An array of the archive says that its header has {length:,} bytes; expected at most "
            f"{MAX_HEADER_BYTES:,}. Save it again with np.savez."
        )
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    return ArrayHeader(shape, fortran, dtype, file.tell())


def array_content(
    name: str, file: IO[bytes], header: ArrayHeader, tick: Callable[[], None] = never_asked
) -> np.ndarray:
    """The numbers or texts behind a header, unpacked piece by piece; ``tick`` is called before each."""
    found = np.empty(header.shape[::-1] if header.fortran else header.shape, header.dtype)
    room = found.reshape(-1).view(np.uint8).data
    file.seek(header.start)
    at = 0
    while at < len(room):
        tick()
        piece = file.read(min(PIECE_BYTES, len(room) - at))
        if not piece:
            raise EOFError(f"{name} ends after {at} bytes of {len(room)}")
        room[at : at + len(piece)] = piece
        at += len(piece)
    if header.fortran:
        found = found.transpose()
    if not are_texts(found):
        raise DataError(f"{name} holds signs that no text can hold; save it again with np.array(..., dtype=str).")
    return found


def bounded_json(raw: bytes) -> Any:
    """The value of a JSON text; DataError where it has more than ``MOST_VALUES`` parts, counted before it is read."""
    parts = sum(raw.count(sign) for sign in (b",", b"[", b"{"))
    if parts > MOST_VALUES:
        raise DataError(f"Its description has {parts:,} values, more than {MOST_VALUES:,}.")
    return json.loads(raw.decode("utf-8"), parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise DataError(f"Its description holds {name}, which is no number.")


Columns = tuple[list[str], tuple[np.ndarray, ...], list[str]]

_INCREMENTAL = 7  # DELTA_BYTE_ARRAY: a text in a few bytes by what it shares with the one before
_HEADER = 500  # bytes that a page counts beside what it unpacks to, so that there are not too many
_INDEX = re.compile(r"__index_level_\d+__")


def parquet_columns(raw: bytes, form: ReadOptions) -> Columns:
    """Names, columns (float64 or texts) and notes of a Parquet file."""
    try:
        return _columns(raw, form)
    except DataError:
        raise
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, RuntimeError) as error:
        raise DataError(f"The Parquet file cannot be read ({type(error).__name__}); write it again.") from error


def folder_columns(folder: Path, form: ReadOptions) -> Columns:
    """Names, columns and notes of all Parquet files in a folder and below it, one after the other by their names."""
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise DataError(f"The folder {str(folder)[:200]!r} holds no file that ends in .parquet; expected at least one.")
    if sum(file.stat().st_size for file in files) > form.max_bytes:
        raise DataError(
            f"The files of the folder are larger than {form.max_bytes / 2**20:.3g} MB together, the limit; take fewer "
            "of them, or set max_bytes."
        )
    parts: list[dict[str, np.ndarray]] = []
    for file in files:
        try:
            names, columns, notes = parquet_columns(file.read_bytes(), form)
        except DataError as error:
            raise DataError(f"{file.name[:80]!r}: {error}", repairs=error.repairs) from error
        part = dict(zip(names, columns, strict=True))
        first = parts[0] if parts else part
        if part.keys() != first.keys() or any(part[name].dtype != first[name].dtype for name in part):
            raise DataError(
                f"The file {file.name[:80]!r} has other columns than {files[0].name[:80]!r}, or columns of another "
                f"kind; expected {listed(map(clean_name, first))} in every file of the folder."
            )
        parts.append(part)
        if sum(len(one[names[0]]) for one in parts) > form.max_rows:
            raise too_many("rows", form.max_rows, "max_rows")
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    check_cells(len(whole[names[0]]), len(whole))
    return (
        list(whole),
        tuple(whole.values()),
        [f"{len(files)} Parquet files, one after the other by their names.", *notes],
    )


def _columns(raw: bytes, form: ReadOptions) -> Columns:
    import pyarrow as pa
    from pyarrow import parquet

    meta = parquet.read_metadata(pa.BufferReader(raw))
    if meta.num_rows > form.max_rows:
        raise too_many("rows", form.max_rows, "max_rows")
    if meta.num_columns > form.max_columns:
        raise too_many("columns", form.max_columns, "max_columns")
    check_cells(meta.num_rows, meta.num_columns)
    _check_pages(raw, meta, MAX_EXPANSION * form.max_bytes)
    leaves = [meta.schema.column(place) for place in range(meta.num_columns)]
    texts = [one.path for one in leaves if one.physical_type == "BYTE_ARRAY"]
    file = parquet.ParquetFile(pa.BufferReader(raw), read_dictionary=texts)
    kinds = {field.name: field.type for field in file.schema_arrow if not _INDEX.fullmatch(field.name)}
    left = [name for name, kind in kinds.items() if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType)]
    found: dict[str, np.ndarray] = {}
    size = 0
    for place, one in enumerate(leaves):
        if one.path in left or one.path not in kinds or one.max_repetition_level:
            continue
        form.tick()
        if one.physical_type == "FIXED_LEN_BYTE_ARRAY":
            _check_texts(one.path, one.length * meta.num_rows, form)
        column = file.reader.read_all(column_indices=[place], use_threads=False).column(0)
        found[one.path], size = _cells(one.path, column, size, form)
    if not found or not meta.num_rows:
        raise DataError("The Parquet file holds no rows or no columns; expected at least one of each.")
    notes = [f"Left out, lists or records in the cells: {listed(map(clean_name, left))}."] if left else []
    return list(found), tuple(found.values()), notes


def _cells(name: str, column: Any, size: int, form: ReadOptions) -> tuple[np.ndarray, int]:
    """The column as float64, missing cells as NaN, or as texts; and the bytes of all texts so far."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        whole = column.cast(pa.uint8()) if pa.types.is_boolean(kind) else column
        values = whole.cast(pa.float64(), safe=False).combine_chunks().fill_null(float("nan"))
        return values.to_numpy(zero_copy_only=False).astype(np.float64), size
    parts = []
    for chunk in column.chunks:
        if not pa.types.is_dictionary(kind):
            parts.append(np.array([as_text(value) for value in chunk.to_pylist()], dtype=object))
            continue
        codes = chunk.indices.fill_null(len(chunk.dictionary)).to_numpy(zero_copy_only=False)
        sizes = np.append(compute.binary_length(chunk.dictionary).fill_null(0).to_numpy(zero_copy_only=False), 0)
        size += int(np.bincount(codes, minlength=len(sizes)) @ sizes.astype(np.int64))
        _check_texts(name, size, form)
        parts.append(np.array([*map(as_text, chunk.dictionary.to_pylist()), ""], dtype=object)[codes])
    return np.concatenate(parts) if parts else np.empty(0, dtype=object), size


def _check_texts(name: str, size: int, form: ReadOptions) -> None:
    """Refuse texts by what they come to row by row."""
    if size > MAX_TEXT * form.max_bytes:
        raise DataError(
            f"The texts come to {size / 1e6:,.0f} MB with the column {clean_name(name)!r}, row by row, more than "
            f"{MAX_TEXT} times the limit; take fewer rows, or leave long texts out."
        )


# What pages unpack to: the headers between them, in Thrift's compact protocol


def _check_pages(raw: bytes, meta: Any, most: int) -> None:
    """Refuse a file by what the headers of its pages say that they unpack to."""
    total = 0
    for group in range(meta.num_row_groups):
        for place in range(meta.num_columns):
            chunk = meta.row_group(group).column(place)
            at = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
            end = at + chunk.total_compressed_size
            while at < end:
                header, at = _record(raw, at)
                if min(header[2], header[3]) < 0:
                    raise ValueError("a page of a negative size")
                total, at = total + header[2] + _HEADER, at + header[3]
                if total > most:
                    raise DataError(
                        f"The file unpacks to more than {MAX_EXPANSION} times the limit; take fewer rows or columns."
                    )
                if _INCREMENTAL in (header.get(5, {}).get(2), header.get(8, {}).get(4)):
                    name = clean_name(chunk.path_in_schema)
                    raise DataError(f"The column {name!r} is packed as DELTA_BYTE_ARRAY; write it as PLAIN.")


def _number(raw: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while raw[at] & 128 and shift < 64:
        found, shift, at = found | (raw[at] & 127) << shift, shift + 7, at + 1
    return found | raw[at] << shift, at + 1


def _record(raw: bytes, at: int) -> tuple[dict[int, Any], int]:
    """The fields of a record, by number, and where it ends."""
    found: dict[int, Any] = {}
    field = 0
    while kind := raw[at]:
        field, at = field + (kind >> 4), at + 1
        found[field], at = _value(raw, at, kind & 15)
    return found, at + 1


def _value(raw: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (1, 2):  # true, false
        return None, at
    if kind == 3:
        return None, at + 1
    if kind in (4, 5, 6):
        value, at = _number(raw, at)
        return value >> 1 if not value & 1 else -(value >> 1) - 1, at
    if kind == 8:
        length, at = _number(raw, at)
        return None, at + length
    if kind == 12:
        return _record(raw, at)
    raise ValueError("no page begins here")


OLD_EXCEL = b"\xd0\xcf\x11\xe0"
MAX_SPAN = 4_000_000  # cells of a sheet, empty ones among them: a reader takes a hundred bytes for each
MAX_TEXTS = 3e8  # characters of all cells of a sheet, were each text as long as the longest

_SAVE = "save the part with the table as CSV"
_TOKEN = re.compile(rb"""<(?:[\w.-]+:)?(row|c)(?=[\s/>])|\sr\s*=\s*["']([^"']*)["']|\s(t)\s*=\s*["']s["']""")
_EMPTY_CELL = re.compile(rb'<c(?: [a-z]+="\w*")*\s*/>')
_REFERENCE = re.compile(rb"([A-Z]{0,3})([0-9]{0,7})")

Sheets = dict[str, bool]  # by name, and whether one sees it
Read = Callable[[str], Iterable[Iterable[object]]]


def is_workbook(raw: bytes) -> bool:
    """Whether these bytes start like a workbook or another zip archive."""
    return raw[:4] in (b"PK\x03\x04", OLD_EXCEL)


def workbook_rows(raw: bytes, form: ReadOptions) -> tuple[list[list[str]], tuple[str, ...], list[str]]:
    """One sheet as equal rows of cells, the names of the sheets, and notes. Raises DataError for other archives."""
    sheets, read = _opened(raw, form.max_bytes)
    seen = _seen(sheets)
    name = form.sheet or (*seen, "")[0]
    if name not in sheets:
        raise DataError(f"The workbook has no sheet {clean_name(name)!r}; it has {listed(map(clean_name, seen))}.")
    rows = _filled(ticked(_rows(read, name), form.tick, 200), form)
    if not rows:
        other = "choose another sheet, or put the table there" if len(seen) > 1 else "put the table there"
        raise DataError(f"The sheet {clean_name(name)!r} of the workbook is empty; {other}.")
    width = max(map(len, rows))
    check_cells(len(rows), width)
    one = f"The workbook has {counted(len(seen), 'sheet')}; {clean_name(name)!r} was read."
    notes = [f"{one} To read another, name it with sheet=."] if len(seen) > 1 else []
    return [row + [""] * (width - len(row)) for row in rows], seen, notes


def workbook_sheets(raw: bytes) -> tuple[str, ...]:
    """The names of the visible sheets; none for what is no workbook that can be opened."""
    try:
        return _seen(_opened(raw, ReadOptions().max_bytes)[0]) if is_workbook(raw) else ()
    except DataError:
        return ()


def _seen(sheets: Sheets) -> tuple[str, ...]:
    return tuple(name for name, is_seen in sheets.items() if is_seen) or tuple(sheets)


def _filled(rows: Iterable[Iterable[object]], form: ReadOptions) -> list[list[str]]:
    """The rows that are not blank, each up to its last cell, within the limits."""
    found: list[list[str]] = []
    known: dict[str, str] = {}  # a text that stands in many cells is kept once
    characters = 0
    for values in rows:
        cells = [known.setdefault(text, text) for text in map(as_text, values)]
        while cells and not cells[-1]:
            cells.pop()
        characters += sum(map(len, cells))
        if characters > MAX_TEXT * form.max_bytes:
            raise DataError(f"The sheet holds texts of more than {MAX_TEXT} times the limit of a file; {_SAVE}.")
        if len(cells) > form.max_columns:
            raise too_many("columns", form.max_columns, "max_columns")
        found += [cells] if cells else []
        if len(found) > form.max_rows + 1:
            raise too_many("rows", form.max_rows, "max_rows")
    return found


def _rows(read: Read, name: str) -> Iterator[Iterable[object]]:
    with _reported():
        yield from read(name)


@contextmanager
def _reported() -> Iterator[None]:
    """Say that a workbook is damaged where its reader fails, or panics beside all exceptions."""
    try:
        yield
    except (DataError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise DataError(f"The workbook cannot be read ({type(error).__name__}); {_SAVE}.") from None


def _opened(raw: bytes, max_bytes: int) -> tuple[Sheets, Read]:
    """The sheets of a workbook, and what reads one by its name."""
    with _reported():
        if raw[:4] == OLD_EXCEL:
            return _old_excel(raw)
        _check_parts(raw, MAX_EXPANSION * max_bytes)
        import python_calamine

        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(raw))
        tables = [one for one in book.sheets_metadata if one.typ == python_calamine.SheetTypeEnum.WorkSheet]
        sheets = {one.name: one.visible == python_calamine.SheetVisibleEnum.Visible for one in tables}
        return sheets, lambda name: book.get_sheet_by_name(name).iter_rows()


def _check_parts(raw: bytes, left: int) -> None:
    """Refuse archives that are no workbooks, and workbooks by what their parts come to."""
    longest = texts = 0
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
        names = set(archive.namelist())
        if any(name.endswith(".npy") for name in names):
            raise DataError("The file is a NumPy archive (.npz), not a table; load kernel stacks as stacks.")
        if names & {"xl/workbook.bin", "content.xml"}:
            raise DataError("The file is an OpenDocument or a binary workbook; save it as .xlsx or CSV.")
        if "xl/workbook.xml" not in names:
            raise DataError("The file is a zip archive, not a table; unpack it first.")
        for member in archive.infolist():
            member.file_size = 2**40  # what it says is not believed
            part = archive.open(member).read(left + 1)
            left -= len(part)
            if left < 0:
                raise DataError(f"The workbook unpacks to more than {MAX_EXPANSION} times the limit; {_SAVE}.")
            ends = [0, *(one.end() for one in re.finditer(rb"/si>", part))]
            longest = max(longest, *(b - a for a, b in pairwise(ends)), 0)
            texts = max(texts, len(ends) - 1, _count_texts(part))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error) as error:
        raise DataError("The file is a damaged archive; save the table again, as CSV.") from error
    if texts > MAX_SPAN or texts * longest > MAX_TEXTS:
        raise DataError(
            f"The workbook has too many texts, the longest of {longest:,} characters; shorten it, or {_SAVE}."
        )


def _count_texts(xml: bytes) -> int:
    """How many cells of a sheet hold a shared text; DataError where the sheet spans too many cells."""
    row = column = height = width = texts = 0
    is_cell = False
    for kind, place, shared in (one.groups() for one in _TOKEN.finditer(_EMPTY_CELL.sub(b"", xml))):
        if kind:
            is_cell = kind == b"c"
            row, column = (row, column + 1) if is_cell else (row + 1, 0)
        elif shared:
            texts += 1
        elif found := _REFERENCE.fullmatch(place):
            column = reduce(lambda known, letter: 26 * known + letter - 64, found[1], 0) or column
            row = int(found[2] or row)
        else:
            cell = clean_name(place[:40].decode("latin-1"))
            raise DataError(f"The workbook names a cell {cell!r}, which no sheet has; {_SAVE}.")
        if is_cell:
            height, width = max(height, row), max(width, column)
        if height * width > MAX_SPAN:
            raise DataError(f"A sheet spans more than {MAX_SPAN:,} cells; {_SAVE}.")
    return texts


def _old_excel(raw: bytes) -> tuple[Sheets, Read]:
    """A workbook of Excel before 2007: its reader keeps no more than the cells that there are."""
    import xlrd

    book = xlrd.open_workbook(file_contents=raw, ragged_rows=True, logfile=io.StringIO())

    def value(cell: Any) -> object:
        if cell.ctype == xlrd.XL_CELL_DATE:
            return xlrd.xldate_as_datetime(cell.value, book.datemode)
        return xlrd.error_text_from_code.get(cell.value) if cell.ctype == xlrd.XL_CELL_ERROR else cell.value

    sheets = {sheet.name: sheet.visibility == 0 for sheet in book.sheets()}
    return sheets, lambda name: (map(value, row) for row in book.sheet_by_name(name).get_rows())


Source = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[Any]
Rows = list[list[str]]

MAX_QUOTED_LINES = 100
HEAD_ROWS = 1000  # from which the decimal sign is read, and whether there is a header
MOST_TITLES = 10  # lines above a header
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "spaces"}
ROWS_AT_A_TIME = 200  # between two ticks: of a thousand cells each they take a tenth of a second

_LEAST_POSITIONS = 8  # numbers that rise from column to column, before they count as names
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
    """Columns of cells: texts (object arrays of str) or float64, with what was found out about the file.

    values : texts that are values although they often stand for a missing one.
    """

    names: tuple[str, ...]
    columns: tuple[np.ndarray, ...]
    decimal: str = "."
    delimiter: str | None = None
    encoding: str | None = None
    header: bool = True
    sheets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    values: frozenset[str] | None = None

    @property
    def n_rows(self) -> int:
        return len(self.columns[0])


def parse(source: Source, form: ReadOptions) -> Table:
    """The table in a path, bytes or a file object; of a folder the Parquet files in it."""
    table = _parsed(source, form)
    if form.missing_marks is None:
        return table
    marks = frozenset(form.missing_marks)
    columns = tuple(_without_marks(cells, marks - MISSING, table.decimal) for cells in table.columns)
    return replace(table, columns=columns, values=MISSING - marks - {""})


def _without_marks(cells: np.ndarray, marks: frozenset[str], decimal: str) -> np.ndarray:
    """The cells, those that are a mark or the number that a mark writes empty."""
    numbers = to_numbers(np.array(sorted(marks), dtype=object), decimal)
    gone = np.isin(to_numbers(cells, decimal), numbers[np.isfinite(numbers)])
    if cells.dtype.kind == "f":
        return np.where(gone, np.nan, cells)
    return np.where(gone | np.array([cell in marks for cell in cells.tolist()], dtype=bool), "", cells)


def _parsed(source: Source, form: ReadOptions) -> Table:
    notes: list[str] = []
    is_folder = isinstance(source, (str, os.PathLike)) and os.path.isdir(source)
    raw = b"PAR1" if is_folder else _bytes_of(source, form.max_bytes)
    if raw[:4] == b"PAR1":
        names, columns, notes = folder_columns(Path(source), form) if is_folder else parquet_columns(raw, form)  # type: ignore[arg-type]
        return Table(_settled_names(names, notes), columns, notes=tuple(notes))
    if is_workbook(raw):
        rows, sheets, notes = workbook_rows(raw, form)
        rows = _below_title(rows[form.skip_lines or 0 :], form, notes)
        return replace(_table(rows, replace(form, decimal="."), notes), sheets=sheets)
    refuse_other_files(raw)
    text, encoding = _decoded(raw, form.encoding, notes)
    skipped = 0
    if separator := re.match(r"sep=(.)\n", text):
        text, skipped = text[separator.end() :], 1
        form = replace(form, delimiter=form.delimiter or separator[1])
    for _ in range(form.skip_lines or 0):
        text, skipped = text.partition("\n")[2], skipped + 1
    form = replace(form, delimiter=form.delimiter or _sniffed(text))
    lines, rows = _collected(text, skipped, form)
    rows = _squared(rows, lines, text, form, notes)
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
            raise DataError(f"The file {str(source)[:200]!r} cannot be opened: {reason}.") from error
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
    if not raw.strip():
        raise DataError(_EMPTY)
    return raw


def _decoded(raw: bytes, encoding: str | None, notes: list[str]) -> tuple[str, str]:
    """Text without a mark of its byte order, with line ends as \\n, and its encoding."""
    found = encoding or ("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
    try:
        text = raw.decode(found)
    except LookupError as error:
        raise DataError(
            f"There is no encoding {found!r}; try 'utf-8', 'cp1252' or 'utf-16'.", repairs=[_FIND_ENCODING]
        ) from error
    except UnicodeError as error:
        if encoding:
            raise DataError(
                f"The file is not {encoding} ({getattr(error, 'reason', error)}); leave encoding= out to find it.",
                repairs=[_FIND_ENCODING],
            ) from error
        found = "cp1252" if found == "utf-8" else found
        text = raw.decode(found, "replace")
        notes.append(
            f"The file is not UTF-8; it was read as {found} (Western European). "
            "If letters look wrong, name the right encoding with encoding=."
        )
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip("\x1a")
    if not text.strip():
        raise DataError(_EMPTY)
    return text, found


# Rows


def _records(text: str, delimiter: str, quotes: bool = True, skipped: int = 0) -> Iterator[tuple[int, int, list[str]]]:
    """First line, last line and the stripped cells of every record that is not blank."""
    lines: Iterator[str] = io.StringIO(text)
    if delimiter == " ":
        lines = (" ".join(line.split()) + "\n" for line in lines)
    reader = csv.reader(
        lines, delimiter=delimiter, skipinitialspace=delimiter != " ",
        quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
    )  # fmt: skip
    last = skipped
    try:
        for row in reader:
            first, last = last + 1, skipped + reader.line_num
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield first, last, cells
    except csv.Error as error:
        raise DataError(
            f"Line {last + 1} starts a cell that cannot be read ({error}); cells have at most "
            f"{csv.field_size_limit():,} characters. Look for a quotation mark that is not closed.",
            repairs=[_AS_LETTERS] if quotes else [],
        ) from error


def _sniffed(text: str) -> str:
    """The delimiter under which the first lines have equal numbers of cells, and the most cells are numbers."""
    scores = {delimiter: _score(text, delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=lambda delimiter: scores[delimiter])
    return best if scores[best][0] > 0 else ","


def _score(text: str, delimiter: str) -> tuple[float, int]:
    head = text[:65536].rpartition("\n")[0] if len(text) > 65536 else text
    try:
        rows = [row for *_, row in islice(_records(head or text[:65536], delimiter), 100)]
    except DataError:
        return 0.0, 0
    width, count = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    if width < 2:
        return 0.0, 0
    cells = [cell for row in rows[1:] or rows if len(row) == width for cell in row if cell not in MISSING]
    numeric = sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) / max(len(cells), 1)
    doubt = 0.5 if delimiter == " " else 1.0  # spaces also stand inside texts
    return doubt * count / len(rows) * (0.05 + numeric), width


def _collected(text: str, skipped: int, form: ReadOptions) -> tuple[list[int], Rows]:
    """The lines that hold a record, and their cells."""
    if not text.strip():
        raise _nothing_below(form)
    lines: list[int] = []
    rows: Rows = []
    records = _records(text, form.delimiter or ",", form.quotes, skipped)
    first = last = 0
    for first, last, cells in ticked(records, form.tick, ROWS_AT_A_TIME):
        if len(rows) > form.max_rows:
            raise too_many("rows", form.max_rows, "max_rows")
        if len(cells) > form.max_columns + 1:
            raise too_many("columns", form.max_columns, "max_columns")
        if last - first > MAX_QUOTED_LINES:
            break
        lines.append(first)
        rows.append(cells)
    if last - first > MAX_QUOTED_LINES or (form.quotes and last > first and text.count('"') % 2):
        raise DataError(
            f"A quotation mark opened on line {first} is not closed there or soon after; close it, or remove the "
            "quotation marks.",
            repairs=[_AS_LETTERS],
        )
    if not rows:
        raise DataError("The file is empty: it holds delimiters and quotation marks, but nothing between them.")
    return lines, rows


def _nothing_below(form: ReadOptions) -> DataError:
    text = f"Nothing is left below the first {counted(form.skip_lines or 0, 'line')}; leave out fewer lines."
    return DataError(text, repairs=[_FIRST_LINE])


def _squared(rows: Rows, lines: list[int], text: str, form: ReadOptions, notes: list[str]) -> Rows:
    """Rows of one length; empty cells past the first line's length are cut, other differences are refused."""
    rows = _below_title(rows, form, notes)
    lines, width = lines[len(lines) - len(rows) :], len(rows[0])
    body = rows[1:]
    if {len(row) for row in body} == {width + 1} and any(row[-1] for row in body) and (_is_number(body[0]) or
            not any(map(_is_number, body[:10]))):  # fmt: skip
        notes.append("The first line has one cell less than the rows: the first column was read as names of the rows.")
        return [["row id", *rows[0]], *body]
    rows = [row if any(row[width:]) else row[:width] for row in rows]
    sizes = [len(row) for row in rows]
    usual, count = Counter(sizes).most_common(1)[0]
    bad = [(line, size) for line, size in zip(lines, sizes, strict=True) if size != width]
    if not bad:
        return rows
    other = counted(len(rows) - count, "line")
    if form.on_bad_lines == "skip":
        said = f"Left out: {other} with another number of cells than {usual}."
        notes.append(Note(said, [Repair.of("Refuse such lines", on_bad_lines="error")]))
        return [row for row in rows if len(row) == usual]
    first, repairs = sizes.index(usual), []
    if 0 < first <= MOST_TITLES and set(sizes[first:]) == {usual}:
        label = "Read without the first line" if first == 1 else f"Read without the first {first} lines"
        repairs.append(Repair.of(label, skip_lines=(form.skip_lines or 0) + first))
    scores = {sign: _score(text, sign)[0] for sign in DELIMITERS}
    best = max(scores.keys() - {form.delimiter}, key=lambda sign: scores[sign])
    if scores[best] > scores.get(form.delimiter or "", 0.0) / 2:
        repairs.append(Repair.of(f"Separate columns by {delimiter_as_text(best)}", delimiter=best))
    if 2 * count > len(sizes) and usual > 1:
        repairs.append(Repair.of(f"Leave out {other} of another length", on_bad_lines="skip"))
    more = f" ({counted(len(bad), 'line')} differ in all)" if len(bad) > 1 else ""
    raise DataError(
        f"Line {bad[0][0]} has {counted(bad[0][1], 'cell')}, but line {lines[0]} has {width}{more}, read with the "
        f"delimiter {delimiter_as_text(form.delimiter)}. Mend these lines, quote cells that hold it, or name another.",
        repairs=repairs,
    )


def _below_title(rows: Rows, form: ReadOptions, notes: list[str]) -> Rows:
    """The rows without lines above the header that hold one text and nothing else: a title, a source, a date."""
    if not rows:
        raise _nothing_below(form)
    count = next((k for k, row in enumerate(rows) if sum(map(bool, row)) != 1), 0)
    below = rows[count:]
    width = len(below[0])
    is_header = width >= 3 and all(below[0]) and not _is_number(below[0]) and len(below) > 1
    if (
        form.skip_lines is not None or not 0 < count <= MOST_TITLES or not is_header or not rows[0][0]
        or _is_number(rows[0]) or any(len(row) != width and (len(row) < width or any(row[width:])) for row in below)
    ):  # fmt: skip
        return rows
    which = "The first line is a title" if count == 1 else f"The first {count} lines are a title"
    notes.append(Note(f"{which} above the table and was left out.", [_FIRST_LINE]))
    return below


def _is_number(cells: list[str]) -> bool:
    return any(_NUMBER.fullmatch(cell) for cell in cells)


# Columns


def _table(rows: Rows, form: ReadOptions, notes: list[str]) -> Table:
    """Header, names and decimal sign of equal rows of cells."""
    width, head = len(rows[0]), rows[:HEAD_ROWS]
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
    columns = [np.array(cells, dtype=object) for cells in ticked(zip(*rows[header:], strict=True), form.tick)]
    if not header:
        names = tuple(f"x{j + 1}" for j in range(width))
        if form.header is None:
            text = f"The first line holds data, no names: the columns are called x1 to x{width}."
            notes.append(Note(text, [Repair.of("The first line holds names", header=True)]))
        return Table(names, tuple(columns), decimal, header=False, notes=tuple(notes))
    kept = [j for j, name in enumerate(rows[0]) if name or any(columns[j].tolist())]
    if len(kept) < width:
        notes.append(f"{counted(width - len(kept), 'column')} without a name and without a value left out.")
    names = _settled_names([rows[0][j] for j in kept], notes)
    return Table(names, tuple(columns[j] for j in kept), decimal, notes=tuple(notes))


def _decimal_sign(rows: Rows, delimiter: str | None) -> str:
    cells = [cell for row in rows for cell in row]
    commas, points = (sum(bool(_WITH_SIGN[sign].fullmatch(cell)) for cell in cells) for sign in ",.")
    if commas == points == 0 and delimiter == ";":  # 1,234 between semicolons: they are there to free the comma
        commas = sum(bool(_UNCLEAR.fullmatch(cell)) for cell in cells)
    return "," if commas > points else "."


def _has_header(rows: Rows, decimal: str) -> bool:
    """The first line is a header unless it holds numbers wherever the rows below do; numbers that rise from column
    to column, as wavelengths do, are names where the rows below do not rise as well.
    """
    cells = np.array([cell for row in rows for cell in row], dtype=object)
    numbers = to_numbers(cells, decimal).reshape(len(rows), -1)
    if len(rows) == 1:
        return not bool(np.isfinite(numbers).all())
    blank = missing_cells(cells, values=()).reshape(len(rows), -1)
    present = (~blank[1:]).sum(axis=0)
    numeric = (present > 0) & (np.isfinite(numbers[1:]).sum(axis=0) >= 0.8 * present)
    if not numeric.any() or (numeric & ~blank[0] & np.isnan(numbers[0])).any():
        return True
    places = np.flatnonzero(np.isfinite(numbers[0]))
    if places.size < _LEAST_POSITIONS:
        return False
    steps = np.diff(numbers[:, places], axis=1)
    moves = np.all(steps > 0.0, axis=1) | np.all(steps < 0.0, axis=1)
    return bool(moves[0]) and float(np.mean(moves[1:])) < 0.5


def _settled_names(cells: Sequence[str], notes: list[str]) -> tuple[str, ...]:
    """Names of columns, cleaned, cut and all different."""
    count = Counter(" ".join(cell.split()) for cell in cells)
    doubled = [name for name, times in count.items() if name and times > 1]
    names = distinct_names([clean_name(cell) or f"column {j}" for j, cell in enumerate(cells, start=1)], MAX_NAME - 5)
    if doubled:
        example = next((name for name in names if name.endswith("(2)")), names[-1])
        which = listed(map(clean_name, doubled))
        text = f"Several columns have the same name: {which}; later ones got a number, as in {example!r}."
        notes.append(Note(text, [Repair.of("The first line holds data", header=False)]))
    if unnamed := [f"column {j}" for j, cell in enumerate(cells, start=1) if not clean_name(cell)]:
        notes.append(f"{counted(len(unnamed), 'column')} without a name: now called {listed(unnamed)}.")
    if any(len(cell) > MAX_NAME for cell in cells):
        notes.append(f"Names longer than {MAX_NAME} characters were cut.")
    return tuple(names)
