"""Workbooks to rows of cells: .xlsx by calamine, .xls by xlrd.

A reader takes memory for every cell that a sheet spans and for every text as often as it stands there. So the parts of
a packed workbook are unpacked here first, whatever they say of themselves, and what they come to is counted. Formulas
are not computed and nothing in the file is run.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from itertools import pairwise
from typing import Any

from mklcore.data.columns import clean_name
from mklcore.data.dataset import counted, listed
from mklcore.data.packed import MAX_EXPANSION, MAX_TEXT, Format, as_text, check_cells, ticked, too_many
from mklcore.errors import DataError

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


def workbook_rows(raw: bytes, form: Format) -> tuple[list[list[str]], tuple[str, ...], list[str]]:
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
        return _seen(_opened(raw, Format().max_bytes)[0]) if is_workbook(raw) else ()
    except DataError:
        return ()


def _seen(sheets: Sheets) -> tuple[str, ...]:
    return tuple(name for name, is_seen in sheets.items() if is_seen) or tuple(sheets)


def _filled(rows: Iterable[Iterable[object]], form: Format) -> list[list[str]]:
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
