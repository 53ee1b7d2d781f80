"""Files of a few kilobytes that unpack to gigabytes are refused by what they say of themselves, before anybody unpacks
them.
"""

import datetime
import decimal
import io
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from benchmarks import bombs
from mklcore.data import bounded, packed
from mklcore.data.bounded import answered
from mklcore.data.packed import MAX_CELL, Format, parquet_columns
from mklcore.data.reading import read_table
from mklcore.errors import DataError
from mklcore.kernels.stacks import read_stack

LONG, FEW = 5 * MAX_CELL, 60


def a_cell(kind: str) -> bytes:
    return bombs.texts(kind, b"x" * LONG if "binary" in kind else "x" * LONG, FEW)


@pytest.mark.parametrize("kind", ["large_string", "string_view", "large_binary"])
def test_a_text_in_every_row_is_refused_whatever_its_type(kind: str) -> None:
    with pytest.raises(DataError, match=rf"a cell of at least [\d,]+ characters; expected at most {MAX_CELL:,}"):
        read_table(a_cell(kind), "y")


def test_bytes_of_one_length_are_foreseen_from_the_type() -> None:
    with pytest.raises(DataError, match=f"a cell of at least {LONG:,} characters"):
        read_table(bombs.fixed(LONG, FEW), "y")
    with pytest.raises(DataError, match=r"come to 69 MB or more, row by row, more than 3 times the limit"):
        read_table(bombs.fixed(1000, 69_000), "y")


def test_what_texts_come_to_row_by_row_is_counted_before_they_are_written_out() -> None:
    with pytest.raises(DataError, match=r"The texts of the file come to 6\d MB or more, row by row"):
        read_table(bombs.texts("string", f" {'x' * 50_000} ", 1500), "y")


def test_texts_of_several_columns_count_together() -> None:
    column = pa.array(["x" * 1000] * 300)
    file = io.BytesIO()
    parquet.write_table(pa.table({f"c{k}": column for k in range(3)}), file)
    form = Format(max_bytes=250_000)
    with pytest.raises(DataError, match="come to 1 MB or more"):
        parquet_columns(file.getvalue(), form)
    assert parquet_columns(file.getvalue(), Format(max_bytes=300_000))[0] == ["c0", "c1", "c2"]


def test_lists_in_lists_are_read_or_refused() -> None:
    with pytest.raises(DataError, match="Parquet file cannot be read"):
        read_table(bombs.nested(90, 2), "y")


def test_a_shared_text_of_a_workbook_is_refused() -> None:
    with pytest.raises(DataError, match=f"The sheet has a cell of more than {MAX_CELL:,} characters"):
        read_table(bombs.workbook(LONG, FEW), "y")
    with pytest.raises(DataError, match="The sheet holds texts of more than 3 times the limit"):
        read_table(bombs.workbook(1000, 100), "y", max_bytes=30_000)


def test_a_cell_of_megabytes_is_refused() -> None:
    with pytest.raises(DataError, match="cells have at most 131,072 characters"):
        read_table(bombs.csv(2**21), "y")


def test_a_header_longer_than_any_of_ours_is_not_read() -> None:
    with pytest.raises(DataError, match=r"its header has 2,097,152 bytes; expected at most 10,000"):
        read_stack(bombs.npz(2**21))


def test_the_reader_of_a_file_gets_all_of_it_however_late_it_begins() -> None:
    slow = "import sys, time; time.sleep(0.3); print(len(sys.stdin.buffer.read()))"
    code, out, _ = answered([sys.executable, "-I", "-c", slow], bytes(2**20), lambda: None, 60, "late")
    assert (code, out.strip()) == (0, b"1048576")


def test_a_reader_that_ends_or_is_missing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def says(program: str) -> None:
        line = [sys.executable, "-I", "-c", f"import sys; {program}"]
        monkeypatch.setattr(packed, "answered", lambda _, *rest: answered(line, *rest))

    raw = a_cell("string")
    says("sys.exit('No module named pyarrow')")
    with pytest.raises(DataError, match="needs the package pyarrow, which is not installed"):
        read_table(raw)
    says("sys.exit(7)")
    with pytest.raises(DataError, match=r"takes more than 768 MB to unpack \(its reader ended with 7\)"):
        read_table(raw)


def test_cells_of_every_type_come_out_as_a_person_reads_them() -> None:
    day = datetime.date(2020, 1, 2)
    columns = {
        "whole": pa.array([2**53 + 1, None, 3], pa.uint64()),
        "half": pa.array(np.array([0.5, 1.5, 2.5], dtype=np.float16)),
        "truth": pa.array([True, None, False]),
        "a.b": pa.array([" u ", None, "v"], pa.large_string()),
        "codes": pa.array([7, 8, None]).dictionary_encode(),
        "money": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.25")]),
        "day": pa.array([day, None, day]),
        "time": pa.array([datetime.datetime(2020, 1, 2, 3), None, None], pa.timestamp("ns")),
        "raw": pa.array([b"ab", None, b"c"]),
        "same": pa.array([b"ab", None, b"cd"], pa.binary(2)),
        "none": pa.nulls(3),
        "record": pa.array([{"s": "x", "t": [1]}] * 3),
        "名\nb": pa.array(["é", "名", ""]),
        "__index_level_0__": pa.array([3, 1, 2]),
    }
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    names, found, notes = parquet_columns(file.getvalue(), Format())
    assert names == [name for name in columns if name not in ("record", "__index_level_0__")]
    reported = dict(zip(names, (list(column) for column in found), strict=True))
    np.testing.assert_array_equal(reported["whole"], [2.0**53, np.nan, 3.0])
    np.testing.assert_array_equal(reported["truth"], [1.0, np.nan, 0.0])
    np.testing.assert_array_equal(reported["half"], [0.5, 1.5, 2.5])
    assert reported["a.b"] == ["u", "", "v"]
    np.testing.assert_array_equal(reported["codes"], [7.0, 8.0, np.nan])
    assert reported["money"] == ["1.50", "", "2.25"]
    assert reported["day"] == ["2020-01-02", "", "2020-01-02"]
    assert reported["time"] == ["2020-01-02 03:00:00", "", ""]
    assert reported["raw"] == ["b'ab'", "", "b'c'"]
    assert reported["same"] == ["b'ab'", "", "b'cd'"]
    assert reported["none"] == ["", "", ""]
    assert reported["名\nb"] == ["é", "名", ""]
    assert notes == ["Left out, lists or records in the cells: 'record'."]


def test_a_reader_that_the_system_does_not_bound_is_watched_and_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    greedy, unbounded = tmp_path / "greedy.py", tmp_path / "bounds.py"
    greedy.write_text(
        "import sys, time; taken = b'x' * int(sys.argv[1]); time.sleep(float(sys.argv[2])); print(len(taken))"
    )
    unbounded.write_text("import runpy, sys; sys.argv = sys.argv[3:]; runpy.run_path(sys.argv[0], run_name='__main__')")
    monkeypatch.setattr(bounded, "BOUNDS", unbounded)
    monkeypatch.setattr(bounded, "SYSTEM_BOUNDS_MEMORY", False)
    few, many = ([*bounded.command(greedy, size, 60, 60), wait] for size, wait in (("1000", "0.3"), ("80000000", "60")))
    assert answered(few, b"", lambda: None, 60, "late") == (0, b"1000\n", b"")
    assert answered(many, b"", lambda: None, 60, "late")[0] != 0
