"""Files of a few kilobytes that would unpack to gigabytes."""

from __future__ import annotations

import io
import zipfile

ROWS = 1500
LONG = 2**20
AT_A_TIME = 50
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def parquet(values, rows=ROWS):
    """A column of ``values(rows)`` beside a target, written some rows at a time, so that who writes
    it needs little memory.
    """
    import pyarrow as pa
    from pyarrow import parquet as written

    file = io.BytesIO()
    writer = None
    for start in range(0, rows, AT_A_TIME):
        n = min(AT_A_TIME, rows - start)
        table = pa.table({"a": values(n), "y": pa.array([k % 2 for k in range(n)])})
        writer = writer or written.ParquetWriter(
            file, table.schema, compression="zstd", dictionary_pagesize_limit=2**26
        )
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return file.getvalue()


def texts(kind, text, rows=ROWS):
    """One text in every row, of the Arrow type of this name."""
    import pyarrow as pa

    return parquet(lambda n: pa.array([text] * n, getattr(pa, kind)()), rows)


def fixed(length=LONG, rows=ROWS):
    """Bytes of one length in every row."""
    import pyarrow as pa

    return parquet(lambda n: pa.array([b"x" * length] * n, pa.binary(length)), rows)


def json_texts(length=LONG, rows=ROWS):
    """Texts that say they are JSON."""
    import pyarrow as pa

    return parquet(
        lambda n: pa.ExtensionArray.from_storage(
            pa.json_(), pa.array(['"' + "x" * length + '"'] * n)
        ),
        rows,
    )


def nested(deep=90, rows=ROWS):
    """Lists in lists in lists."""
    import pyarrow as pa

    def lists(n):
        found = pa.array([1.0] * n)
        for _ in range(deep):
            found = pa.ListArray.from_arrays(pa.array(range(n + 1), pa.int32()), found)
        return found

    return parquet(lists, rows)


def csv(length=15 * 2**20):
    """A cell of megabytes."""
    return (
        b"a,b,y\n"
        + b"".join(b"%d,2,%d\n" % (k, k % 2) for k in range(50))
        + b"x" * length
        + b",2,1\n"
    )


def workbook(length=LONG, rows=ROWS):
    """One shared text in every row of a sheet."""
    row = '<row r="{0}"><c r="A{0}" t="s"><v>{1}</v></c><c r="B{0}"><v>{2}</v></c></row>'
    lines = "".join(row.format(k + 2, 1, k % 2) for k in range(rows))
    head = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>2</v></c></row>'
    members = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
            f'Type="{OFFICE}/worksheet" Target="worksheets/s1.xml"/><Relationship Id="r2" '
            f'Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
        ),
        "xl/sharedStrings.xml": (
            "<sst "
            f'xmlns="{MAIN}"><si><t>a</t></si><si><t>{"x" * length}</t></si><si><t>y</t></si></sst>'
        ),
        "xl/worksheets/s1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{head}{lines}</sheetData></worksheet>',
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def npz(length=2**30):
    """An array whose header says that it is a gigabyte long, and is."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("y.npy", b"")
        with archive.open("K.npy", "w", force_zip64=True) as member:
            member.write(b"\x93NUMPY\x02\x00" + length.to_bytes(4, "little"))
            for _ in range(length // 2**20):
                member.write(b" " * 2**20)
    return file.getvalue()
