"""Workbooks: the cells that come out, the sheet that is read, and what hostile ones lead to."""

import io
import sys
import zipfile

import numpy as np
import pytest

from mklcore.data.packed import workbook_sheets
from mklcore.data.reading import describe_table, read_table
from mklcore.errors import DataError
from tests.helpers import bombs
from tests.helpers.every import every
from tests.helpers.refusals import data_error
from tests.helpers.workbooks import MAIN, book, sheet, zipped

CELLS = [
    ["a", "b", "y"],
    [1.5, None, 0],
    [2, "v", 1],
    [3.5, "v", 0],
    [None, None, None],
    [4, "v", 1],
]


def corners(place):
    """A sheet with its first cell and one far away: all memory in between for one that is not
    careful.
    """
    row = place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return (
        f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
        f'<row r="{row}"><c r="{place}"><v>1</v></c></row></sheetData></worksheet>'
    )


def test_cells_take_the_way_of_text():
    data = read_table(book(Sheet1=CELLS))
    assert data.feature_names == ("a", "b=v")
    np.testing.assert_array_equal(data.X, [[1.5, 0], [2, 1], [3.5, 1], [4, 1]])
    assert data.class_names == ("0", "1")


def test_truth_values_errors_and_large_numbers():
    rows = [
        ["flag", "size", "y"],
        *([i % 2 == 0, 1e300 if i == 3 else i * 1e6, i % 3] for i in range(60)),
    ]
    rows[5][1] = "#N/A"
    data = read_table(book(S=rows), "y", task="regression")
    assert data.feature_names == ("flag=True", "size")
    assert data.X[0].tolist() == [1.0, 0.0]
    assert any("2 missing cells filled" in note for note in data.notes)


def test_a_sheet_is_chosen_by_name_and_reported():
    raw = book(
        hidden=("Secret",),
        Secret=[["u"], [1]],
        First=CELLS,
        Second=[["c", "y"], *([i, i % 2] for i in range(9))],
    )
    assert workbook_sheets(raw) == (("First", "Second"), "First")
    first = read_table(raw)
    assert first.feature_names == ("a", "b=v")
    assert (
        "The workbook has 2 sheets; 'First' was read. To read another, name it with sheet=."
        in first.notes
    )
    assert read_table(raw, sheet="Second", uses={"c": "number"}).feature_names == ("c",)
    assert describe_table(raw, sheet="Second").sheets == ("First", "Second")
    with data_error("no sheet 'Third'; it has 'First', 'Second'"):
        read_table(raw, sheet="Third")
    assert workbook_sheets(b"a,b\n1,2\n") == ((), "")


def test_a_sheet_of_words_before_the_table_is_passed_over_and_the_others_are_offered():
    words = [["About this file"], ["Weights of parcels, 2024"], [None], ["Ask the office"]]
    raw = book(Readme=words, Data=CELLS, More=CELLS)
    data = read_table(raw)
    assert data.feature_names == read_table(raw, sheet="Data").feature_names
    (note,) = (note for note in data.notes if "The workbook has 3 sheets; 'Data' was read." in note)
    assert [dict(one.settings) for one in note.repairs] == [{"sheet": "Readme"}, {"sheet": "More"}]
    assert workbook_sheets(raw) == (("Readme", "Data", "More"), "Data")


def lying():
    """A workbook whose archive says of a sheet of 400 kilobytes that it has nine bytes."""
    raw = book(S=CELLS, T="<a>" + " " * 400_000)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        size = archive.getinfo("xl/worksheets/s2.xml").file_size.to_bytes(4, "little")
    return raw.replace(size, b"\x09\0\0\0")


@every("words, raw, limits", [
    ("sheet 'S' of the workbook is empty; put the table there", book(S=[[None]]), {}),
    ("sheet 'S' of the workbook is empty; choose another sheet", book(S=[[None]], T=CELLS), {"sheet": "S"}),
    (r"workbook cannot be read \(CalamineError\); save the part", zipped({"xl/workbook.xml": ""}), {}),
    ("zip archive, not a table; unpack it", zipped({"a.csv": "a,b"}), {}),
    ("workbook cannot be read", book(S="<worksheet><sheetData><row>"), {}),
    ("workbook of Excel before 2007; save it as", b"\xd0\xcf\x11\xe0" + bytes(600), {}),
    *(("spans more than 4,000,000 cells", book(S=corners(place)), {})
      for place in ("XFD1048576", "DDD30000", "CD200000")),
    *((r"names a cell '[A-Z0-9]+', which no sheet has", book(S=corners(place)), {})
      for place in ("ZZZZZZZZZZ99999999999999999999", "AAAA1", "A99999999")),
    *((r"OpenDocument or a binary workbook; save it as \.xlsx or CSV", zipped({part: ""}), {})
      for part in ("xl/workbook.bin", "content.xml")),
    ("unpacks to more than 10 times the limit", lying(), {"max_bytes": 30_000}),
    (r"too many texts, the longest of 1,048,\d+ characters; shorten it", bombs.workbook(2**20, 400), {}),
    ("The sheet holds texts of more than 3 times the limit", bombs.workbook(1000, 100), {"max_bytes": 30_000}),
    ("more than 3 rows", book(Sheet1=CELLS), {"max_rows": 3}),
    ("more than 2 columns", book(Sheet1=CELLS), {"max_columns": 2}),
])  # fmt: skip
def test_refusals_say_what_to_do(words, raw, limits):
    with data_error(words):
        read_table(raw, **limits)


@pytest.mark.parametrize(
    ("package", "raw"), [("pyarrow", b"PAR1"), ("python_calamine", book(Sheet1=CELLS))]
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(package, raw, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'mklcore\[tables\]'"):
        read_table(raw)


def test_far_cells_without_a_value_do_not_count():
    xml = sheet(CELLS).replace(
        "</sheetData>", '<row r="1048576"><c r="XFD1048576" s="2" /></row></sheetData>'
    )
    assert read_table(book(S=xml)) == read_table(book(S=CELLS))


def test_cells_without_a_place_follow_one_another():
    rows = "".join(
        f"<row><c><v>{i * 1.5}</v></c><c><v>{i % 5}</v></c><c><v>{i % 2}</v></c></row>"
        for i in range(60)
    )
    data = read_table(
        book(S=f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'), header=False
    )
    assert (data.n_samples, data.n_features) == (60, 2)


def test_entities_are_not_expanded():
    bomb = '<!DOCTYPE a [<!ENTITY x "boom"><!ENTITY y "&x;&x;&x;">]>'
    raw = book(S=bomb + sheet([["a", "y"], ["&y;", 1]]))
    try:
        data = read_table(raw, task="novelty")
    except DataError:
        return
    assert "boom" not in repr(data.feature_names)
