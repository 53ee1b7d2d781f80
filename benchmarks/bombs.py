"""Files of a few kilobytes that would unpack to gigabytes, sent to a server as a visitor sends them.

    python -m benchmarks.bombs [FILE ...]

Each is uploaded to the same running server; what the page says, and the most that the server and the processes it
started held meanwhile, are printed. The exit code is 1 where a file
was taken, where the server and its reader came to a gigabyte, or where the server held more afterwards. To read a
server of another version, name its folder in the environment as ``APP``.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROWS, LONG, AT_A_TIME = 1500, 2**20, 50
MOST_MB, GROWTH_MB, WAIT = 1000.0, 40.0, 120.0
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


# The files


def parquet(values: Callable[[int], Any], rows: int = ROWS) -> bytes:
    """A column of ``values(rows)`` beside a target, written some rows at a time, so that who writes it needs little
    memory.
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


def texts(kind: str, text: str | bytes, rows: int = ROWS) -> bytes:
    """One text in every row, of the Arrow type of this name."""
    import pyarrow as pa

    return parquet(lambda n: pa.array([text] * n, getattr(pa, kind)()), rows)


def fixed(length: int = LONG, rows: int = ROWS) -> bytes:
    """Bytes of one length in every row."""
    import pyarrow as pa

    return parquet(lambda n: pa.array([b"x" * length] * n, pa.binary(length)), rows)


def json_texts(length: int = LONG, rows: int = ROWS) -> bytes:
    """Texts that say they are JSON."""
    import pyarrow as pa

    return parquet(lambda n: pa.ExtensionArray.from_storage(pa.json_(), pa.array(['"' + "x" * length + '"'] * n)), rows)


def nested(deep: int = 90, rows: int = ROWS) -> bytes:
    """Lists in lists in lists."""
    import pyarrow as pa

    def lists(n: int) -> Any:
        found = pa.array([1.0] * n)
        for _ in range(deep):
            found = pa.ListArray.from_arrays(pa.array(range(n + 1), pa.int32()), found)
        return found

    return parquet(lists, rows)


def csv(length: int = 15 * 2**20) -> bytes:
    """A cell of megabytes."""
    return b"a,b,y\n" + b"".join(b"%d,2,%d\n" % (k, k % 2) for k in range(50)) + b"x" * length + b",2,1\n"


def workbook(length: int = LONG, rows: int = ROWS) -> bytes:
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
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/s1.xml"/>'
        f'<Relationship Id="r2" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>a</t></si><si><t>{"x" * length}</t></si><si><t>y</t></si></sst>',  # noqa: E501
        "xl/worksheets/s1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{head}{lines}</sheetData></worksheet>',
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def npz(length: int = 2**30) -> bytes:
    """An array whose header says that it is a gigabyte long, and is."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("y.npy", b"")
        with archive.open("K.npy", "w", force_zip64=True) as member:
            member.write(b"\x93NUMPY\x02\x00" + length.to_bytes(4, "little"))
            for _ in range(length // 2**20):
                member.write(b" " * 2**20)
    return file.getvalue()


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "Parquet, string": ("a.parquet", lambda: texts("string", "x" * LONG)),
    "Parquet, large_string": ("a.parquet", lambda: texts("large_string", "x" * LONG)),
    "Parquet, string_view": ("a.parquet", lambda: texts("string_view", "x" * LONG)),
    "Parquet, large_binary": ("a.parquet", lambda: texts("large_binary", b"x" * LONG)),
    "Parquet, fixed-size binary": ("a.parquet", fixed),
    "Parquet, JSON": ("a.parquet", json_texts),
    "Parquet, blanks around every text": ("a.parquet", lambda: texts("string", f" {'x' * 100_000} ", 20_000)),
    "Parquet, one dictionary page for 20,000 rows": ("a.parquet", lambda: texts("string", "x" * 100_000, 20_000)),
    "Parquet, lists 90 deep": ("a.parquet", nested),
    "CSV, a cell of 15 MB": ("a.csv", csv),
    "Excel, one shared text in every row": ("a.xlsx", workbook),
    "NumPy archive, a header of a gigabyte": ("a.npz", npz),
}


# The server


@dataclass(frozen=True)
class Met:
    """How a server met a file: what the page said, and the megabytes held at most, in the server, in all, and
    afterwards.
    """

    kb: float
    said: str
    server_mb: float
    all_mb: float
    left_mb: float
    is_refused: bool


def resident(process: int) -> float:
    """The megabytes of memory that a process holds; 0 where it has ended."""
    with suppress(OSError, StopIteration):
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024
    return 0.0


class Watch(threading.Thread):
    """The most that a process, and all it started that reads files, hold while it runs."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process, self._over = process, threading.Event()
        self.server = self.all = 0.0

    def run(self) -> None:
        """Look fifty times a second."""
        while not self._over.wait(0.02):
            own = resident(self._process)
            readers = sum(resident(child) for child in self._readers())
            self.server, self.all = max(self.server, own), max(self.all, own + readers)

    def _readers(self) -> list[int]:
        found = []
        for task in Path(f"/proc/{self._process}/task").glob("*/children"):
            with suppress(OSError):
                found += [int(child) for child in task.read_text(encoding="ascii").split()]
        return [child for child in found if b"_reader.py" in _command(child)]

    def end(self) -> None:
        """Look no longer."""
        self._over.set()
        self.join()


def _command(process: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


async def meet(url: str, process: int, name: str, content: bytes) -> Met:
    """Upload a file in a tab of its own, and look at the server meanwhile."""
    from benchmarks.classroom import Session

    watch = Watch(process)
    watch.start()
    async with Session(url) as tab:
        await tab.run()
        came = await tab.upload(name, content)
        await tab.until(lambda: bool(_errors(tab)), time.monotonic() + WAIT)
        said = " ".join(_errors(tab)).replace("\\", "") if came else "the server did not take the file"
    watch.end()
    return Met(
        len(content) / 1e3,
        said,
        watch.server,
        watch.all,
        resident(process),
        bool(said) and "traceback" not in said.lower(),
    )


def _errors(tab: Any) -> list[str]:
    """What the page says is wrong."""
    return [one.body for one, _ in tab.found("alert") if one.format == one.ERROR]


def main() -> int:
    """Send every file, and tell."""
    from benchmarks import serving

    if other := os.environ.get("APP"):
        serving.ROOT = Path(other)
    made = {what: (name, make()) for what, (name, make) in BOMBS.items() if what in (sys.argv[1:] or BOMBS)}
    held = True
    with serving.running_app(MKL_EXPLORER_SOLVERS="0") as app:
        asyncio.run(
            meet(app.url, app.process, "a.csv", csv(200_000))
        )  # what the first upload of a server imports, stays
        before = resident(app.process)
        for what, (name, content) in made.items():
            met = asyncio.run(meet(app.url, app.process, name, content))
            grown = met.left_mb - before
            well = met.is_refused and met.all_mb < MOST_MB and grown < GROWTH_MB
            held &= well
            print(f"{what}: {met}, grown {grown:.0f} MB", flush=True)
        if app.tracebacks():
            print(app.tracebacks())
            held = False
    return int(not held)


if __name__ == "__main__":
    sys.exit(main())
