"""Files of a few kilobytes that unpack to gigabytes are refused by what they say of themselves,
before anybody unpacks them.
"""

import datetime
import decimal
import io
import resource
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from mklcore import DataError, read_table
from mklcore.data.columns import ReadOptions
from mklcore.data.packed import parquet_columns
from mklcore.kernels.stacks import read_stack
from tests.data.test_excel import CELLS
from tests.helpers import bombs
from tests.helpers.every import every
from tests.helpers.refusals import data_error, refused
from tests.helpers.workbooks import book

LONG = 2**20


def peak():
    """The most megabytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        2**20 if sys.platform == "darwin" else 2**10
    )


@every("kind", ["string", "large_string", "string_view", "binary", "large_binary"])
def test_a_text_in_every_row_is_refused_whatever_its_type(kind):
    raw = bombs.texts(kind, b"x" * LONG if "binary" in kind else "x" * LONG, 300)
    before = peak()
    with data_error(r"come to \d+ MB with the column 'a', row by row, more than 3 times the limit"):
        read_table(raw, "y")
    assert peak() < before + 200


def test_texts_of_several_columns_count_together():
    column = pa.array(["x" * 1000] * 300)
    file = io.BytesIO()
    parquet.write_table(pa.table({f"c{k}": column for k in range(3)}), file)
    form = ReadOptions(max_bytes=250_000)
    with data_error("come to 1 MB"):
        parquet_columns(file.getvalue(), form)
    assert parquet_columns(file.getvalue(), ReadOptions(max_bytes=300_000))[0] == ["c0", "c1", "c2"]


def packed(values, **options):
    file = io.BytesIO()
    table = pa.table({"a": values, "y": [i % 2 for i in range(len(values))]})
    parquet.write_table(table, file, use_dictionary=False, compression="zstd", **options)
    return file.getvalue()


def test_what_pages_unpack_to_is_read_in_the_headers_of_the_pages():
    raw = packed(["x" * LONG] * 30)
    with data_error("unpacks to more than 10 times the limit"):
        read_table(raw, "y", max_bytes=2**21)
    incremental = packed(
        ["x" * 1000 + str(i) for i in range(60)],
        column_encoding={"a": "DELTA_BYTE_ARRAY", "y": "PLAIN"},
    )
    with data_error("'a' is packed as DELTA_BYTE_ARRAY; write it as PLAIN"):
        read_table(incremental, "y")
    plain = packed(list(range(60)), data_page_version="2.0")
    assert read_table(plain, "y", uses={"a": "number"}).X[:, 0].tolist() == list(range(60))


@every("whole", [packed([f"{i % 7}" for i in range(60)]), book(S=CELLS)])
def test_damaged_files_are_read_or_refused(whole):
    chance = np.random.default_rng(0)
    for cut in (*[None] * 100, *chance.integers(200, len(whole), 10)):
        raw = bytearray(whole)
        for place in chance.integers(4, len(raw) - 8, 3):
            raw[place] = chance.integers(256)
        with suppress(DataError):
            read_table(bytes(raw[:cut]), "y")


def test_texts_that_say_that_they_are_json_are_left_out():
    assert parquet_columns(bombs.json_texts(1000, 60), ReadOptions())[0] == ["y"]


def test_long_cells_headers_and_lists_in_lists_are_refused():
    refused(
        (lambda: read_table(bombs.csv(2**21), "y"), "cells have at most 131,072 characters"),
        (
            lambda: read_stack(bombs.npz(2**21)),
            "its header has 2,097,152 bytes; expected at most 10,000",
        ),
        (lambda: read_table(bombs.nested(90, 2), "y"), "Parquet file cannot be read"),
        (
            lambda: read_table(bombs.fixed(1000, 69_000), "y"),
            "come to 69 MB with the column 'a', row by row, more",
        ),
    )


DAY, NOON = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3)
CELLS_OF = {  # what a column holds, and what a person reads there
    "whole": (pa.array([2**53 + 1, None, 3], pa.uint64()), [2.0**53, np.nan, 3.0]),
    "half": (pa.array(np.array([0.5, 1.5, 2.5], dtype=np.float16)), [0.5, 1.5, 2.5]),
    "truth": (pa.array([True, None, False]), [1.0, np.nan, 0.0]),
    "a.b": (pa.array([" u ", None, "v"], pa.large_string()), ["u", "", "v"]),
    "codes": (pa.array([7, 8, None]).dictionary_encode(), [7.0, 8.0, np.nan]),
    "money": (
        pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.25")]),
        ["1.50", "", "2.25"],
    ),
    "day": (pa.array([DAY, None, DAY]), ["2020-01-02", "", "2020-01-02"]),
    "time": (pa.array([NOON, None, None], pa.timestamp("ns")), ["2020-01-02 03:00:00", "", ""]),
    "raw": (pa.array([b"ab", None, b"c"]), ["ab", "", "c"]),
    "same": (pa.array([b"ab", None, b"cd"], pa.binary(2)), ["ab", "", "cd"]),
    "none": (pa.nulls(3), ["", "", ""]),
    "record": (pa.array([{"s": "x", "t": [1]}] * 3), None),
    "名\nb": (pa.array(["é", "名", ""]), ["é", "名", ""]),
    "__index_level_0__": (pa.array([3, 1, 2]), None),
}


LONG_CELLS = (
    "2020-01-01 10:" + "x" * 5000 + "\n1234y5678z\n1\n2",
    "A" * 60_000 + "1",
    "0" * 60_000 + "?",
)


@every("cell", LONG_CELLS)
def test_long_cells_are_told_from_numbers_dates_and_sequences_in_one_pass(cell):
    """This hangs where a pattern goes back over what it has read."""
    texts = [cell, *(f"{cell[:40]}{k}" for k in range(17))]
    data = read_table(pd.DataFrame({"text": texts, "x": range(18), "y": np.arange(18.0) % 7}), "y")
    assert "text" not in dict(data.strings)
    assert not any("Dates" in note or "sequences" in note for note in data.notes)


def test_cells_of_every_type_come_out_as_a_person_reads_them():
    file = io.BytesIO()
    parquet.write_table(pa.table({name: column for name, (column, _) in CELLS_OF.items()}), file)
    names, found, notes = parquet_columns(file.getvalue(), ReadOptions())
    assert names == [name for name, (_, cells) in CELLS_OF.items() if cells]
    for name, column in zip(names, found, strict=True):
        np.testing.assert_array_equal(list(column), CELLS_OF[name][1], err_msg=name)
    assert notes == ["Left out, lists or records in the cells: 'record'."]
