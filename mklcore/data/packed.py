"""Packed files: Parquet, workbooks, arrays and JSON, with a bound on the size that each unpacks to.

Nothing is executed and nothing is unpickled. The size of a packed file is bounded before it is
unpacked. A text that is repeated in every row takes a few bytes of a Parquet file and gigabytes in
memory: therefore the headers of all pages are read first, texts are read as a dictionary and the
number of the entry in each row, and their size row by row is counted. A reader of workbooks takes
memory for every cell that a sheet spans and for every occurrence of a text: therefore the parts of
a packed workbook are unpacked here first, whatever sizes they claim.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import islice, pairwise
from types import ModuleType
from typing import IO, Any, TypeVar

import numpy as np

from mklcore._lazy import import_extra
from mklcore.arrays import Cells, Names
from mklcore.data.columns import (
    ReadOptions,
    clean_name,
)
from mklcore.data.dataset import counted, listed
from mklcore.errors import DataError, Note, Repair, check_cancelled

MAX_CELLS = 10_000_000
MAX_EXPANSION = 10  # unpacked size of a packed file, in multiples of max_bytes
MAX_TEXT = 3  # all texts of a packed file, row by row, in multiples of max_bytes

T = TypeVar("T")


def endable(parts: Iterable[T], every: int = 1) -> Iterator[T]:
    """The same parts one by one; the work can be cancelled before every ``every``-th part."""
    for place, part in enumerate(parts):
        if place % every == 0:
            check_cancelled()
        yield part


def too_many(what: str, most: int, option: str) -> DataError:
    return DataError(
        f"The table has more than {most:,} {what}, the limit; take a part of it.",
        hint=f"Or set {option} to a larger number.",
    )


def check_cells(n_rows: int, n_columns: int) -> None:
    """Refuse a table with too many cells."""
    if n_rows * n_columns > MAX_CELLS:
        raise DataError(
            f"The table has {n_rows:,} x {n_columns:,} cells, more than {MAX_CELLS:,}; "
            "take fewer rows or columns."
        )


def as_text(value: object) -> str:
    """A cell as a person reads it: 3 and not 3.0; "" without a value."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    return "" if value is None else str(value).strip()


MAX_HEADER_BYTES = 10_000  # of an array, as in NumPy
MOST_VALUES = 1_000_000  # of a JSON text: each takes up to 230 bytes of memory


@dataclass(frozen=True)
class ArrayHeader:
    """The header of an array, whose numbers begin at byte ``start``."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int

    @property
    def nbytes(self) -> int:
        """Bytes of its numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def array_header(file: IO[bytes]) -> ArrayHeader:
    """The header of an array in NumPy's format; DataError where it is too long.

    NumPy would read a header of gigabytes before checking it.
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
    read = np.lib.format.read_array_header_2_0
    if version == (1, 0):
        read = np.lib.format.read_array_header_1_0
    shape, _, dtype = read(file)
    return ArrayHeader(shape, dtype, file.tell())


def array_content(name: str, file: IO[bytes]) -> Cells:
    """The numbers or texts of an array whose header has been checked."""
    check_cancelled()
    file.seek(0)
    found: Cells = np.lib.format.read_array(file, allow_pickle=False)
    if found.dtype.kind == "U":
        # Converting a text with signs that do not exist, which only come from outside, fails.
        signs = np.frombuffer(found.tobytes(), dtype=f"{found.dtype.str[0]}u4")
        if signs.max(initial=0) > sys.maxunicode:
            raise DataError(
                f"{name} holds signs that no text can hold; save it again with np.array(..., "
                "dtype=str)."
            )
    return found


def bounded_json(raw: bytes) -> Any:
    """The value of a JSON text; DataError for more than ``MOST_VALUES`` parts."""
    parts = sum(raw.count(sign) for sign in (b",", b"[", b"{"))
    if parts > MOST_VALUES:
        raise DataError(f"Its description has {parts:,} values, more than {MOST_VALUES:,}.")
    return json.loads(raw.decode("utf-8"), parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise DataError(f"Its description holds {name}, which is no number.")


_INCREMENTAL = 7  # DELTA_BYTE_ARRAY: a text is stored as its difference to the text before
_HEADER = 500  # bytes that are added for every page, so that there are not too many pages
_INDEX = re.compile(r"__index_level_\d+__")


def parquet_columns(
    raw: bytes, form: ReadOptions
) -> tuple[list[str], tuple[Cells, ...], list[str]]:
    """Names, columns (float64 or texts) and notes of a Parquet file."""
    try:
        return _columns(raw, form)
    except (DataError, ImportError):
        raise
    except Exception as error:
        raise DataError(
            f"The Parquet file cannot be read ({type(error).__name__}); write it again."
        ) from error


def _columns(raw: bytes, form: ReadOptions) -> tuple[list[str], tuple[Cells, ...], list[str]]:
    pa = _arrow("pyarrow")
    parquet = _arrow("pyarrow.parquet")
    meta = parquet.read_metadata(pa.BufferReader(raw))
    if meta.num_rows > form.max_rows:
        raise too_many("rows", form.max_rows, "max_rows")
    if meta.num_columns > form.max_columns:
        raise too_many("columns", form.max_columns, "max_columns")
    check_cells(meta.num_rows, meta.num_columns)
    _check_pages(raw, meta, MAX_EXPANSION * form.max_bytes)
    leaves = list(map(meta.schema.column, range(meta.num_columns)))
    texts = [one.path for one in leaves if one.physical_type == "BYTE_ARRAY"]
    file = parquet.ParquetFile(pa.BufferReader(raw), read_dictionary=texts)
    left = []
    used = set()
    for field in file.schema_arrow:
        if pa.types.is_nested(field.type) or isinstance(field.type, pa.BaseExtensionType):
            left.append(clean_name(field.name))
        elif not _INDEX.fullmatch(field.name):
            used.add(field.name)
    found: dict[str, Cells] = {}
    size = 0
    for place, one in endable(enumerate(leaves)):
        if one.path not in used or one.max_repetition_level:
            continue
        if one.physical_type == "FIXED_LEN_BYTE_ARRAY":
            _check_texts(one.path, one.length * meta.num_rows, form)
        column = file.reader.read_all(column_indices=[place], use_threads=False).column(0)
        found[one.path], size = _cells(one.path, column, size, form)
    if not found or not meta.num_rows:
        raise DataError(
            "The Parquet file holds no rows or no columns; expected at least one of each."
        )
    notes = [f"Left out, lists or records in the cells: {listed(left)}."] if left else []
    return list(found), tuple(found.values()), notes


def _arrow(module: str) -> ModuleType:
    return import_extra(module, "tables", "Parquet files")


def _cells(name: str, column: Any, size: int, form: ReadOptions) -> tuple[Cells, int]:
    """The column as float64 (NaN where missing) or as texts, and the bytes of all texts so far."""
    pa = _arrow("pyarrow")
    compute = _arrow("pyarrow.compute")
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column.cast(pa.float64(), safe=False).to_numpy(), size
    if not pa.types.is_dictionary(kind):
        return np.array(list(map(as_text, column.to_pylist())), dtype=object), size
    parts = [np.empty(0, dtype=object)]
    for chunk in column.chunks:
        lengths = compute.binary_length(chunk.dictionary)
        size += compute.sum(lengths.take(chunk.indices)).as_py() or 0
        _check_texts(name, size, form)
        # The entry after the last one stands for a cell without a value.
        texts = np.array([*map(as_text, chunk.dictionary.to_pylist()), ""], dtype=object)
        codes = chunk.indices.fill_null(len(texts) - 1)
        parts.append(texts[codes.to_numpy(zero_copy_only=False)])
    return np.concatenate(parts), size


def _check_texts(name: str, size: int, form: ReadOptions) -> None:
    """Refuse texts that are too long in total, counted row by row."""
    if size > MAX_TEXT * form.max_bytes:
        raise DataError(
            f"The texts come to {size / 1e6:,.0f} MB with the column {clean_name(name)!r}, "
            f"row by row, more than {MAX_TEXT} times the limit; take fewer rows, or leave "
            "long texts out."
        )


# The sizes of pages, from the headers between them, in Thrift's compact protocol


def _check_pages(raw: bytes, meta: Any, most: int) -> None:
    """Refuse a file whose pages, by their headers, unpack to too many bytes."""
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
                total = total + header[2] + _HEADER
                at = at + header[3]
                if total > most:
                    raise DataError(
                        f"The file unpacks to more than {MAX_EXPANSION} times the limit; "
                        "take fewer rows or columns."
                    )
                if _INCREMENTAL in (header.get(5, {}).get(2), header.get(8, {}).get(4)):
                    name = clean_name(chunk.path_in_schema)
                    raise DataError(
                        f"The column {name!r} is packed as DELTA_BYTE_ARRAY; write it as PLAIN."
                    )


def _number(raw: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while raw[at] & 128 and shift < 64:
        found |= (raw[at] & 127) << shift
        shift += 7
        at += 1
    return found | raw[at] << shift, at + 1


def _record(raw: bytes, at: int) -> tuple[dict[int, Any], int]:
    """The numbers and records in the fields of a record, by number, and where it ends."""
    found: dict[int, Any] = {}
    field = 0
    while head := raw[at]:
        field += head >> 4
        at += 1
        kind = head & 15
        if kind in (4, 5, 6):  # whole numbers, their sign in the last bit
            value, at = _number(raw, at)
            found[field] = (value >> 1) ^ -(value & 1)
        elif kind == 8:  # texts
            length, at = _number(raw, at)
            at += length
        elif kind == 12:
            found[field], at = _record(raw, at)
        elif kind in (1, 2, 3):  # true, false, a byte
            at += kind == 3
        else:
            raise ValueError("no page begins here")
    return found, at + 1


OLD_EXCEL = b"\xd0\xcf\x11\xe0"
MAX_SPAN = 4_000_000  # cells of a sheet, empty ones included: a reader takes 100 bytes for each
# A sheet holds a table if among its first rows half, and at least so many, have several cells.
FIRST_ROWS = 30
LEAST_ROWS = 3
MAX_TEXTS = 3e8  # characters of all cells of a sheet, if each text were as long as the longest

_SAVE = "save the part with the table as CSV"
_TOKEN = re.compile(
    rb"""<(?:[\w.-]+:)?(row|c)(?=[\s/>])|\sr\s*=\s*["']([^"']*)["']|\s(t)\s*=\s*["']s["']"""
)
_EMPTY_CELL = re.compile(rb'<c(?: [a-z]+="\w*")*\s*/>')
_REFERENCE = re.compile(rb"([A-Z]{0,3})([0-9]{0,7})")


def is_workbook(raw: bytes) -> bool:
    """Whether these bytes start like a workbook or another zip archive."""
    return raw[:4] in (b"PK\x03\x04", OLD_EXCEL)


def workbook_rows(raw: bytes, form: ReadOptions) -> tuple[list[list[str]], Names, list[str]]:
    """One sheet as rows of equal length, the names of the visible sheets, and notes.

    Raises DataError for other archives.
    """
    book, sheets = _opened(raw, form.max_bytes)
    visible = _visible(sheets)
    name = form.sheet or _sheet_with_a_table(book, visible)
    if name not in sheets:
        raise DataError(
            f"The workbook has no sheet {clean_name(name)!r}; it has "
            f"{listed(map(clean_name, visible))}."
        )
    rows = _filled(endable(_rows(book, name), 200), form)
    if not rows:
        another = "choose another sheet, or " if len(visible) > 1 else ""
        raise DataError(
            f"The sheet {clean_name(name)!r} of the workbook is empty; {another}put the table there."
        )
    width = max(map(len, rows))
    check_cells(len(rows), width)
    notes: list[str] = []
    others = [other for other in visible if other != name][:3]
    if others:
        text = f"The workbook has {counted(len(visible), 'sheet')}; {clean_name(name)!r} was read."
        hint = "To read another, name it with sheet=."
        repairs = [
            Repair.of(f"Read the sheet {clean_name(other)!r}", sheet=other) for other in others
        ]
        notes.append(Note(text, repairs, code="table.sheet", hint=hint))
    return [row + [""] * (width - len(row)) for row in rows], visible, notes


def _sheet_with_a_table(book: Any, visible: Sequence[str]) -> str:
    """The first visible sheet with rows of several cells each, else the first visible sheet."""
    for name in visible if len(visible) > 1 else ():
        first_rows = islice(_rows(book, name), FIRST_ROWS)
        counts = [sum(map(bool, map(as_text, cells))) for cells in first_rows]
        several = sum(count > 1 for count in counts)
        if several >= max(LEAST_ROWS, 0.5 * sum(map(bool, counts))):
            return name
    return next(iter(visible), "")


def workbook_sheets(raw: bytes) -> tuple[Names, str]:
    """The names of the visible sheets, and the one that is read where none is named; none if no
    workbook can be opened.
    """
    try:
        book, sheets = _opened(raw, ReadOptions().max_bytes)
        visible = _visible(sheets)
        return visible, _sheet_with_a_table(book, visible)
    except DataError:
        return (), ""


def _visible(sheets: dict[str, bool]) -> Names:
    return tuple(filter(sheets.__getitem__, sheets)) or tuple(sheets)


def _filled(
    rows: Iterable[Iterable[object]],
    form: ReadOptions,
) -> list[list[str]]:
    """The rows that are not blank, each up to its last cell, within the limits."""
    found: list[list[str]] = []
    known: dict[str, str] = {}  # a text that occurs in many cells is stored once
    characters = 0
    for values in rows:
        cells = [known.setdefault(text, text) for text in map(as_text, values)]
        while cells and not cells[-1]:
            cells.pop()
        characters += sum(map(len, cells))
        if characters > MAX_TEXT * form.max_bytes:
            raise DataError(
                f"The sheet holds texts of more than {MAX_TEXT} times the limit of a file; {_SAVE}."
            )
        if len(cells) > form.max_columns:
            raise too_many("columns", form.max_columns, "max_columns")
        found += [cells] if cells else []
        if len(found) > form.max_rows + 1:
            raise too_many("rows", form.max_rows, "max_rows")
    return found


def _rows(book: Any, name: str) -> Iterator[Iterable[object]]:
    with _reported():
        yield from book.get_sheet_by_name(name).iter_rows()


@contextmanager
def _reported() -> Iterator[None]:
    """Report a damaged workbook where its reader fails, even if the compiled reader panics."""
    try:
        yield
    except (DataError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise DataError(f"The workbook cannot be read ({type(error).__name__}); {_SAVE}.") from None


def _opened(raw: bytes, max_bytes: int) -> tuple[Any, dict[str, bool]]:
    """A workbook, and the names of its sheets with whether they are visible."""
    python_calamine = import_extra("python_calamine", "tables", "Excel workbooks")
    with _reported():
        if raw[:4] == OLD_EXCEL:
            raise DataError("The file is a workbook of Excel before 2007; save it as .xlsx or CSV.")
        _check_parts(raw, MAX_EXPANSION * max_bytes)
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(raw))
        sheets = {}
        for one in book.sheets_metadata:
            if one.typ == python_calamine.SheetTypeEnum.WorkSheet:
                sheets[one.name] = one.visible == python_calamine.SheetVisibleEnum.Visible
        return book, sheets


def _check_parts(raw: bytes, left: int) -> None:
    """Refuse archives that are no workbooks, and workbooks whose parts are too large."""
    longest = texts = 0
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
        names = set(archive.namelist())
        if any(name.endswith(".npy") for name in names):
            raise DataError(
                "The file is a NumPy archive (.npz), not a table; load kernel stacks as stacks."
            )
        if names & {"xl/workbook.bin", "content.xml"}:
            raise DataError(
                "The file is an OpenDocument or a binary workbook; save it as .xlsx or CSV."
            )
        if "xl/workbook.xml" not in names:
            raise DataError("The file is a zip archive, not a table; unpack it first.")
        for member in archive.infolist():
            member.file_size = 2**40  # the size that the archive claims may be false
            part = archive.open(member).read(left + 1)
            left -= len(part)
            if left < 0:
                raise DataError(
                    f"The workbook unpacks to more than {MAX_EXPANSION} times the limit; {_SAVE}."
                )
            ends = [0, *(one.end() for one in re.finditer(rb"/si>", part))]
            longest = max(longest, *(b - a for a, b in pairwise(ends)), 0)
            texts = max(texts, len(ends) - 1, _count_texts(part))
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        struct.error,
    ) as error:
        raise DataError("The file is a damaged archive; save the table again, as CSV.") from error
    if texts > MAX_SPAN or texts * longest > MAX_TEXTS:
        raise DataError(
            f"The workbook has too many texts, the longest of {longest:,} characters; "
            f"shorten it, or {_SAVE}."
        )


def _count_texts(xml: bytes) -> int:
    """The number of cells of a sheet with a shared text; DataError where the sheet is too large."""
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
            height = max(height, row)
            width = max(width, column)
        if height * width > MAX_SPAN:
            raise DataError(f"A sheet spans more than {MAX_SPAN:,} cells; {_SAVE}.")
    return texts
