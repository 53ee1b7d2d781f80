"""The program that opens a workbook: bytes in, cells out as JSON, in a process of its own.

A few hundred bytes can name the last cell of a sheet, and the reader then asks for the memory of every cell before it;
where there is none, it ends its process. So `workbooks` runs this file as a script, within the bounds of `bounds`, and
whatever a workbook does to it stays here. It imports nothing of the library: it starts in a tenth of a second.
"""

import io
import json
import sys

import python_calamine


def text(value: object) -> str:
    """A cell as a person reads it: 3 and not 3.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value).strip()


def open_sheet(raw: bytes, wanted: str, limits: dict[str, int]) -> dict[str, object]:
    """What is stated about the workbook: the names of its sheets, and the rows of one of them or why it was refused."""
    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(raw))
    tables = [s for s in book.sheets_metadata if s.typ == python_calamine.SheetTypeEnum.WorkSheet]
    seen = [s.name for s in tables if s.visible == python_calamine.SheetVisibleEnum.Visible]
    answer: dict[str, object] = {"sheets": seen or [s.name for s in tables]}
    if not limits:
        return answer
    if not tables or (wanted and wanted not in [s.name for s in tables]):
        return answer | {"refused": "no sheet"}
    name = wanted or (seen or [tables[0].name])[0]
    return answer | {"sheet": name} | rows_of(book.get_sheet_by_name(name), limits)


def rows_of(sheet: python_calamine.CalamineSheet, limits: dict[str, int]) -> dict[str, object]:
    """The rows that are not blank, each up to its last cell, within the limits."""
    if sheet.height * sheet.width > limits["cells"]:
        return {"refused": "cells"}
    rows: list[list[str]] = []
    characters = 0
    for values in sheet.iter_rows():
        cells = [text(value) for value in values]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            rows.append(cells)
        characters += sum(map(len, cells))
        if max(map(len, cells), default=0) > limits["cell"]:
            return {"refused": "cell"}
        if characters > limits["characters"]:
            return {"refused": "characters"}
        if len(rows) > limits["rows"] + 1:
            return {"refused": "rows"}
    return {"rows": rows}


def main() -> None:
    """Read one workbook from standard input; the request is the program's one argument, as JSON."""
    asked = json.loads(sys.argv[1])
    try:
        answer = open_sheet(sys.stdin.buffer.read(), asked["sheet"], asked["limits"])
    except python_calamine.PasswordError:
        answer = {"refused": "password"}
    except Exception as error:  # a damaged workbook leads its reader into any of them
        answer = {"refused": "damaged", "by": type(error).__name__}
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass"))


if __name__ == "__main__":
    main()
