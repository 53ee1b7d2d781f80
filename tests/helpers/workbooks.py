"""Workbooks of Excel, written by hand, and other archives of small files."""

import io
import zipfile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def sheet(rows):
    """A sheet of numbers, truth values, errors (#...) and texts; None leaves a cell out."""

    def cell(value, place):
        if isinstance(value, bool):
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        if isinstance(value, int | float):
            return f'<c r="{place}"><v>{value}</v></c>'
        if str(value).startswith("#"):
            return f'<c r="{place}" t="e"><v>{value}</v></c>'
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'

    lines = [
        f'<row r="{i}">'
        + "".join(cell(v, f"{chr(65 + j)}{i}") for j, v in enumerate(row) if v is not None)
        + "</row>"
        for i, row in enumerate(rows, start=1)
    ]
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def book(hidden=(), texts="", **sheets):
    """A small .xlsx; a sheet is rows of cells or its XML, and ``texts`` the XML of shared texts."""
    names = list(sheets)
    state = ' state="hidden"'
    listed = "".join(
        f'<sheet name="{n}" sheetId="{k}" r:id="r{k}"{state if n in hidden else ""}/>'
        for k, n in enumerate(names, start=1)
    )
    links = "".join(
        f'<Relationship Id="r{k}" Type="{OFFICE}/worksheet" Target="worksheets/s{k}.xml"/>'
        for k in range(1, len(names) + 1)
    )
    if texts:
        target = "sharedStrings"
        links += f'<Relationship Id="r0" Type="{OFFICE}/{target}" Target="{target}.xml"/>'
    members = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{links}</Relationships>',
    }
    if texts:
        members["xl/sharedStrings.xml"] = texts
    for k, rows in enumerate(sheets.values(), start=1):
        members[f"xl/worksheets/s{k}.xml"] = rows if isinstance(rows, str) else sheet(rows)
    return zipped(members)


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()
