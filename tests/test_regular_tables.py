"""Large regular texts are cut by pyarrow and read as every other: the same cells, names, notes and refusals."""

import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mklcore.data import columns, parsing
from mklcore.data.columns import to_numbers
from mklcore.data.packed import Format
from mklcore.data.reading import describe_table, read_table
from mklcore.data.samples import SAMPLES, load_sample
from mklcore.errors import MKLError

NEVER = sys.maxsize


def found(raw: bytes, least: int, **options: object) -> list[object]:
    """What reading finds, with pyarrow for texts and columns of so many signs and cells."""
    before = parsing.LARGE_TEXT, columns.MANY_CELLS
    parsing.LARGE_TEXT = columns.MANY_CELLS = least
    try:
        reported: list[object] = []
        for read in (describe_table, read_table):
            try:
                one = read(raw, **options)
            except MKLError as error:
                reported.append((type(error), str(error)))
            else:
                reported.append(
                    one
                    if read is describe_table
                    else (one.fingerprint, one.task, one.notes, one.columns, one.y.tolist())
                )
        return reported
    finally:
        parsing.LARGE_TEXT, columns.MANY_CELLS = before


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_read_alike(name):
    sample = load_sample(name)
    rows = [
        ",".join([*map("{:.10g}".format, row), str(target)]) for row, target in zip(sample.X, sample.y, strict=True)
    ]
    raw = "\n".join([",".join([*sample.feature_names, "target"]).replace(" ", "_"), *rows]).encode()
    assert found(raw, 0) == found(raw, NEVER)


ROW = "".join(f"{i / 7:.3f},{'ab'[i % 2]},{i % 5}\n" for i in range(40))
NUMBERS = [
    "inf",
    "1e999",
    "+1.5",
    "1e5",
    "0x1",
    "1_0",
    ".5",
    "5.",
    "-0",
    "12345678901234567890123",
    "1e-400",
    "\u22121",
    "Infinity",
    "TRUE",
]
ODD = {
    "regular": "x,y,z\n" + ROW,
    "gaps and marks": "x,y,z\n" + ROW + "NA,a,1\n,b,?\n-,a,--\n",
    "a comma as decimal sign": "x;y;z\n" + ROW.replace(",", ";").replace(".", ","),
    "thousands": 'x;y\n"1,234";a\n' + "".join(f"1,{i:03d}.5;{'ab'[i % 2]}\n" for i in range(30)),
    "tabs": ("x,y,z\n" + ROW).replace(",", "\t"),
    "spaces": ("x,y,z\n" + ROW).replace(",", " "),
    "spaces around cells": ("x,y,z\n" + ROW).replace(",", " ,\t"),
    "hard spaces": ("x,y,z\n" + ROW).replace(",", "\u00a0,"),
    "quotation marks": "x,y,z\n" + ROW.replace("a", '"a, or so"'),
    "an open quotation mark": "x,y,z\n" + ROW + '1,"a,2\n',
    "blank lines": "\n\nx,y,z\n\n" + ROW.replace("\n", "\n\n"),
    "rows without a value": "x,y,z\n" + ROW + ",,\n , ,\n",
    "a column without anything": "x,,y,z\n" + ROW.replace(",", ",,", 1).replace("\n", "\n"),
    "empty cells at the end": "x,y,z\n" + ROW.replace("\n", ",\n"),
    "names of rows": "x,y,z\n" + "".join(f"r{i},{row}\n" for i, row in enumerate(ROW.splitlines())),
    "a short row": "x,y,z\n" + ROW + "1,a\n",
    "no header": ROW,
    "the same name twice": "x,x,z\n" + ROW,
    "one column": "x\n" + "".join(f"{i}\n" for i in range(30)),
    "only a header": "x,y,z\n",
    "other numbers": "x,y\n" + "".join(f"{number},{'ab'[i % 2]}\n" for i, number in enumerate(NUMBERS * 3)),
    "letters of Europe": "gr\u00f6\u00dfe,y,z\n" + ROW.replace("a", "\u00e4"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_odd_tables_are_read_alike(kind, encoding):
    raw = ODD[kind].encode(encoding, "replace")
    assert found(raw, 0) == found(raw, NEVER)
    assert found(raw.replace(b"\n", b"\r\n"), 0) == found(raw.replace(b"\n", b"\r\n"), NEVER)


@pytest.mark.parametrize(
    "options", [{"max_rows": 39}, {"max_columns": 2}, {"header": False}, {"delimiter": ";"}, {"decimal": ","}]
)
def test_choices_and_limits_are_kept_alike(options):
    raw = ODD["regular"].encode()
    assert found(raw, 0, **options) == found(raw, NEVER, **options)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='019.,;-"\n \tax?\u00a0', min_size=1, max_size=80))
@example("a,b\n1,2\n,\n3,4\n")
@example("\n,\n")
def test_any_text_is_read_alike(text):
    assert found(text.encode(), 0) == found(text.encode(), NEVER)


def test_a_large_regular_text_goes_no_other_way(monkeypatch):
    def refused(*_):
        raise AssertionError("read row by row")

    monkeypatch.setattr(parsing, "_collect", refused)
    rows = "".join(f"{i},{i % 7},{'yes' if i % 3 else 'no'}\n" for i in range(20_000))
    table = parsing.parse(f"number,rest,answer\n{rows}".encode(), Format())
    assert table.n_rows == 20_000
    assert [column[-1] for column in table.columns] == ["19999", "0", "yes"]
    assert all(type(cell) is str for cell in table.columns[0][:3])


def test_reading_can_be_ended_between_columns():
    class OverError(Exception):
        pass

    calls = []

    def tick():
        calls.append(1)
        if len(calls) == 4:
            raise OverError

    text = "a,b,c\n" + "1,2,3\n" * 60_000
    with pytest.raises(OverError):
        parsing.parse(text.encode(), Format(tick=tick))


def test_numbers_of_a_long_column_are_the_nearest_doubles():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=3000), 10.0 ** rng.uniform(-300, 90, 3000)])
    cells = np.array([repr(float(value)) for value in values], dtype=object)
    np.testing.assert_array_equal(to_numbers(cells), values)
    cells[7] = "NA"
    assert np.isnan(to_numbers(cells)).nonzero()[0].tolist() == [7]
    cells[9] = "1,234.5"
    assert to_numbers(cells)[9] == 1234.5
