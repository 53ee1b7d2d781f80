"""Workbooks (.xlsx, .xlsb, .xls, .ods) to rows of cells, opened by a process of its own; see `workbook_reader`.

What a packed workbook says it unpacks to is bounded before it is opened; what it does unpack to, and how long that
takes, is bounded by the limits of that process. Formulas are not computed and nothing in the file is run.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from mklcore.data.bounded import answered, command
from mklcore.data.columns import clean_name
from mklcore.data.dataset import counted, listed
from mklcore.data.packed import MAX_CELL, MAX_CELLS, MAX_EXPANSION, MAX_TEXT, Format, check_cells, too_many
from mklcore.errors import DataError

READER = Path(__file__).with_name("workbook_reader.py")
MEMORY_MB = 600
SECONDS = 30
OLD_EXCEL = b"\xd0\xcf\x11\xe0"

_SAVE = "save the sheet as CSV"
_REFUSED = {
    "password": "The workbook is protected by a password; save it without one.",
    "cells": f"The sheet spans more than {MAX_CELLS:,} cells; save the part with the table as CSV.",
    "unpacked": f"The workbook unpacks to more than {MAX_EXPANSION} times the limit; {_SAVE}.",
    "characters": f"The sheet holds texts of more than {MAX_TEXT} times the limit of a file; {_SAVE}, without long "
    f"texts.",
    "cell": f"The sheet has a cell of more than {MAX_CELL:,} characters, the most a cell may have; shorten it.",
}


def is_workbook(raw: bytes) -> bool:
    """Whether these bytes start like a workbook or another zip archive."""
    return raw[:4] in (b"PK\x03\x04", OLD_EXCEL)


def workbook_rows(raw: bytes, form: Format) -> tuple[list[list[str]], tuple[str, ...], list[str]]:
    """One sheet as equal rows of cells, the names of the sheets, and notes. Raises DataError for other archives."""
    _check_archive(raw, form)
    limits = {
        "rows": form.max_rows, "cells": MAX_CELLS, "characters": MAX_TEXT * form.max_bytes, "cell": MAX_CELL,
    }  # fmt: skip
    answer = _ask(raw, form, limits)
    sheets, rows = tuple(answer["sheets"]), answer["rows"]
    if not rows:
        raise DataError(f"The sheet {clean_name(answer['sheet'])!r} of the workbook is empty; {_other(sheets)}.")
    width = max(len(row) for row in rows)
    if width > form.max_columns:
        raise too_many("columns", form.max_columns, "max_columns")
    check_cells(len(rows), width)
    notes = []
    if len(sheets) > 1:
        notes.append(
            f"The workbook has {counted(len(sheets), 'sheet')}; {clean_name(answer['sheet'])!r} was read. "
            "To read another, name it with sheet=."
        )
    return [row + [""] * (width - len(row)) for row in rows], sheets, notes


def workbook_sheets(raw: bytes) -> tuple[str, ...]:
    """The names of the visible sheets; none for what is no workbook that can be opened."""
    if not is_workbook(raw):
        return ()
    try:
        _check_archive(raw, Format())
        return tuple(_ask(raw, Format(), {})["sheets"])
    except DataError:
        return ()


def _check_archive(raw: bytes, form: Format) -> None:
    """Refuse archives that are no workbooks, and workbooks that say they unpack to too much."""
    if raw[:4] == OLD_EXCEL:
        return
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise DataError("The file is a damaged archive; save the table again, as CSV.") from error
    names = {member.filename for member in members}
    if any(name.endswith(".npy") for name in names):
        raise DataError("The file is a NumPy archive (.npz), not a table; load kernel stacks as stacks.")
    if not names & {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}:
        raise DataError("The file is a zip archive, not a table; unpack it first.")
    if sum(member.file_size for member in members) > MAX_EXPANSION * form.max_bytes:
        raise DataError(_REFUSED["unpacked"])


def _ask(raw: bytes, form: Format, limits: dict[str, int]) -> dict[str, Any]:
    """The answer of the reader; a DataError where it refused, ran out of its bounds or ended itself."""
    sheet = form.sheet or ""
    line = command(READER, json.dumps({"sheet": sheet, "limits": limits}), form.times(MEMORY_MB), SECONDS)
    late = f"The workbook takes more than {SECONDS} s to read; {_SAVE}."
    code, out, errors = answered(line, raw, form.tick, SECONDS, late)
    if code:
        missing = b"No module named" in errors
        raise DataError(
            f"Reading workbooks needs the package python-calamine, which is not installed; {_SAVE}."
            if missing
            else "The workbook cannot be read: it is damaged, or it spans too many cells or unpacks to too much. Take "
            "the part "
            f"with the table and {_SAVE}."
        )
    answer: dict[str, Any] = json.loads(out)
    if why := answer.get("refused"):
        raise _refusal(why, answer, sheet, limits)
    return answer


def _refusal(why: str, answer: dict[str, Any], sheet: str, limits: dict[str, int]) -> DataError:
    if why == "rows":
        return too_many("rows", limits["rows"], "max_rows")
    if why == "no sheet":
        found = [clean_name(name) for name in answer["sheets"]]
        if not found:
            return DataError(f"The workbook has no sheet with cells; {_SAVE}.")
        return DataError(f"The workbook has no sheet {clean_name(sheet)!r}; it has {listed(found)}.")
    words = _REFUSED.get(why)
    return DataError(words or f"The workbook cannot be read ({answer.get('by', why)}); {_SAVE}.")


def _other(sheets: tuple[str, ...]) -> str:
    return "choose another sheet, or put the table there" if len(sheets) > 1 else "put the table there"
