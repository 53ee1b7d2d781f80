"""Files of a few kilobytes that would unpack to gigabytes."""

from __future__ import annotations

import io
import zipfile

from tests.helpers.workbooks import MAIN, book

ROWS = 1500
LONG = 2**20
AT_A_TIME = 50


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
    texts = f"<si><t>a</t></si><si><t>{'x' * length}</t></si><si><t>y</t></si>"
    return book(
        texts=f'<sst xmlns="{MAIN}">{texts}</sst>',
        S=f'<worksheet xmlns="{MAIN}"><sheetData>{head}{lines}</sheetData></worksheet>',
    )


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
