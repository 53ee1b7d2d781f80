"""Odd texts are read or refused with a message, and long columns of numbers as short ones."""

import re
from contextlib import suppress

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mklcore.data.columns import to_numbers
from mklcore.data.reading import describe_table, read_table
from mklcore.errors import MKLError
from tests.helpers.every import every

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
    "a column without anything": "x,,y,z\n" + re.sub("(?m)^([^,]*),", r"\1,,", ROW),
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


REFUSED = ("an open quotation mark", "a short row", "only a header")


@every("kind", ODD)
@every("encoding", ["utf-8", "cp1252", "utf-16"])
def test_odd_tables_are_read_alike_whatever_their_line_ends(kind, encoding):
    raw = ODD[kind].encode(encoding, "replace")
    ends = ODD[kind].replace("\n", "\r\n").encode(encoding, "replace")
    assert describe_table_or_refusal(raw) == describe_table_or_refusal(ends)
    assert isinstance(describe_table_or_refusal(raw), str) == (kind in REFUSED)


def describe_table_or_refusal(raw):
    try:
        return describe_table(raw)
    except MKLError as error:
        return str(error)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='019.,;-"\n \tax?\u00a0', min_size=1, max_size=80))
@example("a,b\n1,2\n,\n3,4\n")
@example("\n,\n")
@example('sep="\na')
@example("sep=é\naéb")
def test_any_text_is_read_or_refused(text):
    for read in (describe_table, read_table):
        with suppress(MKLError):
            read(text.encode())


def test_what_is_said_of_a_column_is_what_was_done_with_it():
    rows = [
        f"{chr(97 + i * 7 % 22)},{i % 2 > 0},{'' if i % 10 == 0 else i * i},{['u', 'v', ''][i % 3]},7,{i / 3},{i % 5}.5"
        for i in range(300)
    ]
    raw = "\n".join(["letter,flag,gappy,pair,seven,plain,y", *rows]).encode()
    data = read_table(raw, "y")
    members = dict(data.columns)
    found = {
        c.name: (c.missing, c.distinct, len(members.get(c.name, ())), c.done)
        for c in describe_table(raw).columns
    }
    assert found["letter"] == (0, 22, 0, "left out: free text with too many different values")
    assert found["flag"] == (0, 2, 1, "a column of 0 and 1 for the second of 2 values")
    assert found["gappy"] == (30, 270, 1, "30 missing cells filled with the median 2.25e+04")
    assert found["pair"] == (100, 2, 3, "columns of 0 and 1 for 2 values and one for missing")
    assert found["seven"] == (0, 1, 0, "left out: one value only")
    assert found["plain"] == (0, 300, 1, "used as it is")


def test_numbers_of_a_long_column_are_the_nearest_doubles(rng):
    values = np.concatenate([rng.normal(size=3000), 10.0 ** rng.uniform(-300, 90, 3000)])
    cells = np.array([repr(float(value)) for value in values], dtype=object)
    np.testing.assert_array_equal(to_numbers(cells), values)
    cells[7] = "NA"
    assert np.isnan(to_numbers(cells)).nonzero()[0].tolist() == [7]
    cells[9] = "1,234.5"
    assert to_numbers(cells)[9] == 1234.5
