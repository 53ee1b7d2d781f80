"""Tables as people have them: what is read, what is reported, and what is refused with a way out."""

import io
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from mklcore.data.columns import MAX_NAME, clean_name, distinct_names, to_numbers
from mklcore.data.reading import describe_table, read_drawn, read_table
from mklcore.errors import cancellation_scope
from tests.helpers.every import every
from tests.helpers.refusals import data_error, parameter_error
from tests.helpers.workbooks import zipped

FLOWERS = b"length,width,kind\n1.5,2.5,rose\n2.5,3.5,tulip\n3.5,1.5,rose\n4.5,0.5,tulip\n"


def table(rows, header="a,b,y"):
    return "\n".join([header, *rows]).encode()


def numbers(n=12, y=lambda i: i % 2):
    return [f"{i * 1.5},{(i * 7) % 5},{y(i)}" for i in range(n)]


def note(data, words):
    """The one note that holds these words."""
    found = [line for line in data.notes if words in line]
    assert len(found) == 1, (words, data.notes)
    return found[0]


def texts(*cells):
    return np.array(cells, dtype=object)


@every("delimiter", [",", ";", "\t", "|", " ", "  \t"])
def test_delimiters_are_found(delimiter):
    data = read_table(FLOWERS.replace(b",", delimiter.encode()))
    assert data.feature_names == ("length", "width")
    assert data.class_names == ("rose", "tulip")
    assert_array_equal(data.X[:, 1], [2.5, 3.5, 1.5, 0.5])
    assert any("separated by" in line for line in data.notes) is (delimiter != ",")


@every("ends", [b"\n", b"\r\n", b"\r"])
def test_line_ends_and_blank_lines(ends):
    data = read_table(ends + FLOWERS.replace(b"\n", ends) + ends + b",," + ends)
    assert data.X.shape == (4, 2)


def test_sources(tmp_path):
    path = tmp_path / "flowers.csv"
    path.write_bytes(FLOWERS)
    wanted = read_table(FLOWERS)
    text = io.StringIO(FLOWERS.decode())
    for source in (
        path,
        str(path),
        bytearray(FLOWERS),
        memoryview(FLOWERS),
        io.BytesIO(FLOWERS),
        text,
    ):
        assert read_table(source) == wanted


@every("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
def test_encodings(encoding):
    raw = "Höhe (°C),Größe\n1.5,ja\n2.5,nein\n0.5,ja\n4.5,nein\n".encode(encoding)
    if encoding == "utf-16-le":
        raw = b"\xff\xfe" + raw
    data = read_table(raw)
    assert data.feature_names == ("Höhe (°C)",)
    assert data.target_name == "Größe"
    reported = any("not UTF-8; it was read as cp1252" in line for line in data.notes)
    assert reported is (encoding in ("cp1252", "latin-1"))


def test_encoding_can_be_named():
    raw = "имя,y\n1,да\n2,нет\n3,да\n5,нет\n".encode("cp1251")
    assert read_table(raw, encoding="cp1251").class_names == ("да", "нет")
    with data_error("no encoding 'klingon'"):
        read_table(raw, encoding="klingon")
    with data_error("not utf-8"):
        read_table(raw, encoding="utf-8")


def test_decimal_comma():
    raw = b"a;b;c\n1,5;1.234,5;x\n2,25;7;y\n-0,5;12.000;x\n1e2;2,0;y\n"
    data = read_table(raw)
    assert_array_equal(data.X, [[1.5, 1234.5], [2.25, 7], [-0.5, 12000], [100, 2]])
    note(data, "decimal comma")
    point = read_table(b"a;c\n1.5;x\n2.5;y\n1,234.5;x\n0.1;y\n")
    assert_array_equal(point.X[:, 0], [1.5, 2.5, 1234.5, 0.1])
    quoted = read_table(b'a,c\n"1,5",x\n"2,5",y\n"3,75",x\n"0,1",y\n')
    assert_array_equal(quoted.X[:, 0], [1.5, 2.5, 3.75, 0.1])
    assert read_table(b"a;c\n1,234;x\n2,345;y\n3,456;x\n4,567;y\n").X[0, 0] == 1.234
    assert read_table(b"a;c\n1,234;x\n2,345;y\n3,456;x\n4,567;y\n", decimal=".").X[0, 0] == 1234.0


def test_quoted_cells_may_hold_anything():
    raw = b'"a, b","say ""y""",c\n"1.5","two\nlines",p\n2.5,"x,y",q\n3.5,"two\nlines",p\n4.5,"x,y",q\n'
    data = read_table(raw)
    assert data.feature_names == ("a, b", 'say "y"=x,y')


def test_a_file_that_names_its_separator():
    assert read_table(b"sep=|\na|y\n1.5|p\n2.5|q\n3.5|p\n0.5|q\n").feature_names == ("a",)
    assert read_table("sep=é\naéy\n1.5ép\n2.5éq\n3.5ép\n0.5éq\n".encode()).feature_names == ("a",)
    with parameter_error("delimiter is '\"'; expected one character"):
        read_table(b'sep="\na;y\n1;2\n')
    with data_error("Line 3 has 3 cells, but line 2 has 2"):
        read_table(b"sep=;\na;y\n1;2;3\n2;3\n")


def test_without_a_header():
    data = read_table(
        b'18.0  8\t"big car"\n15.5  6\t"small car"\n12.5  8\t"big car"\n11.0  4\t"small car"\n'
    )
    assert data.feature_names == ("x0", "x1")
    assert data.target_name == "x2"
    note(data, "The first line holds data, no names: the columns are called x0 to x2")
    named = b"850,852,fat\n0.5,0.7,9.5\n0.6,0.8,8.5\n0.4,0.9,7.5\n"
    assert read_table(named).feature_names == ("850", "852")
    plain = b"850,852\n0.5,0.7\n0.6,0.8\n0.4,0.9\n"
    assert read_table(plain).n_samples == 4
    assert read_table(plain, header=True).feature_names == ("850",)
    assert read_table(b"a,b\nc,d\na,b\nc,d\n", header=False, target=0).n_samples == 4


def test_wavelengths_above_a_target_of_words_are_names():
    values = np.random.default_rng(0).uniform(0.1, 0.9, (20, 9)).round(3)
    body = [",".join([*map(str, row), "good" if k % 2 else "bad"]) for k, row in enumerate(values)]
    places = [str(900 + 10 * k) for k in range(9)]
    found = read_table(table(body, ",".join([*places, "quality"])))
    assert (found.feature_names, found.target_name, found.n_samples) == (
        tuple(places),
        "quality",
        20,
    )
    falling = read_table(table(body, ",".join([*places[::-1], "quality"])))
    assert falling.feature_names == tuple(places[::-1])
    counted = [
        ",".join(map(str, [*(k + 2 * np.arange(9)), "good" if k % 2 else "bad"])) for k in range(20)
    ]
    assert read_table("\n".join(counted).encode()).n_samples == 20  # every row rises: data
    assert read_table("\n".join(body).encode()).n_samples == 20


def test_row_names_without_a_header_cell():
    data = read_table(b'"x" "y"\n"1" 0.5 1.5\n"2" 0.7 2.5\n"3" .9 3.5\n')
    assert data.feature_names == ("x",)
    note(data, "one cell less than the rows")
    note(data, "Left out, an identifier")


def test_empty_cells_past_the_header_are_cut():
    assert read_table(b"a,y\n1.5,p,\n2.5,q,\n3.5,p,\n4.5,q,\n").feature_names == ("a",)


def test_parquet_is_known_by_its_content(tmp_path):
    frame = pd.DataFrame(
        {
            "size": [1.5, None, 3.5, 4.5],
            "flag": [True, False, True, True],
            "kind": pd.Categorical(["u", "v", None, "u"]),
            "when": pd.date_range("2020-01-01", periods=4),
            "parts": [[1, 2], [3], [4], [5, 6]],
            "y": [0, 1, 0, 1],
        },
        index=[3, 1, 2, 0],
    )
    path = tmp_path / "table.csv"
    frame.to_parquet(path)
    data = read_table(path)
    dates = ("weekday of when", "day of when")
    assert set(data.feature_names) == {"size", "flag", "kind=u", "kind=v", "kind=missing", *dates}
    assert_array_equal(data.X[:, 0], [1.5, 3.5, 3.5, 4.5])
    assert data.y.tolist() == [0, 1, 0, 1]
    assert "'when'" in note(data, "Dates became hour, weekday")
    with data_error("more than 3 rows"):
        read_table(path, max_rows=3)
    with data_error("more than 5 columns"):
        read_table(path, max_columns=5)
    note(data, "lists or records in the cells: 'parts'")
    damaged = path.read_bytes()
    with data_error("Parquet file cannot be read"):
        read_table(damaged[:200] + damaged[300:])


def test_missing_cells_become_the_median():
    cells = ["1", "", "NA", "?", "nan", "4", "2", "N/A", "-", "null", "10", "#N/A"]
    data = read_table(table([f"{cell},{i}.5,{i % 2}" for i, cell in enumerate(cells)]))
    assert_array_equal(data.X[:, 0], [1, 3, 3, 3, 3, 4, 2, 3, 3, 3, 10, 3])
    note(data, "8 missing cells filled with the median of the column: 'a' (8, with 3).")
    note(data, "More than half of the cells are missing in 'a'")


def test_infinite_cells_count_as_missing():
    data = read_table(
        table(["inf,1,p", "1,2,q", "3,4,p", "9e307,7,q"] + [f"{i}.5,{i},p" for i in range(50)])
    )
    assert data.X[0, 0] == data.X[3, 0] == np.median([1, 3] + [i + 0.5 for i in range(50)])
    note(data, "2 cells among them held something else than a usable number, in 'a'")


def test_few_stray_texts_are_reported():
    data = read_table(table([f"{i}.5,1,{i % 2}" for i in range(39)] + ["broken,2,1"]))
    assert data.X[39, 0] == 19.5
    note(data, "1 cell among them held something else than a usable number, in 'a'")
    data = read_table(table(["1.5,1,0", "2.5,2,1", "unknown,3,0", "3.5,5,1"]))
    assert data.feature_names == ("b",)
    note(data, "Read as text, because not every cell is a number: 'a' (1 cell)")


def test_categories_become_columns():
    colours = ["red", "green", "blue"]
    rows = [f"{colours[i % 3]},{'m' if i % 4 else 'f'},{i * 1.5},{i % 2}" for i in range(12)]
    data = read_table(table(rows, "colour,sex,size,y"))
    assert data.feature_names == ("colour=blue", "colour=green", "colour=red", "sex=m", "size")
    assert_array_equal(data.X[:3, :4], [[0, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])
    assert data.groups == ()
    assert data.columns == (("colour", (0, 1, 2)), ("sex", (3,)), ("size", (4,)))
    assert data.source_names == ("colour", "colour", "colour", "sex", "size")
    note(data, "Categories became columns of 0 and 1: 'colour', 'sex'")


def test_a_missing_category_is_one_of_its_own():
    data = read_table(table([f"{'u?v'[i % 3]},{i % 5},{i % 2}" for i in range(12)]))
    assert data.feature_names == ("a=u", "a=v", "a=missing", "b")
    assert data.X[:, :3].sum() == 12
    note(data, "A missing value counts as a category of its own in 'a'")
    only = read_table(table([f"{'u?'[i % 2]},{i % 5},{i % 3 > 0}" for i in range(12)]))
    assert only.feature_names == ("a=u", "b")


@every("name", ["id", "ID", "customer_id", "rowId", "index", "Unnamed: 0", "#", "serial no", ""])
def test_identifiers_are_left_out(name):
    rows = [f"{100 + 7 * i},{i % 5},{i % 2}" for i in range(12)]
    data = read_table(table(rows, f"{name},b,y"))
    assert data.feature_names == ("b",)
    note(data, "Left out, an identifier that only names the rows")
    kept = read_table(table(rows, f"{name},b,y"), uses={name or "column 1": "number"})
    assert kept.feature_names == (name or "column 1", "b")
    assert not any("Left out" in line for line in kept.notes)


def test_whole_numbers_are_not_identifiers_by_chance():
    data = read_table(
        table([f"{(37 * i) % 101},{i % 5},{i % 2}" for i in range(20)], "weight,paid,y")
    )
    assert data.feature_names == ("weight", "paid")


def test_a_counter_is_left_out_beside_others_but_not_alone():
    beside = read_table(table([f"{i},{i % 5},{i % 2}" for i in range(12)]))
    assert beside.feature_names == ("b",)
    alone = read_table(b"x,y\n1,2\n2,4.5\n3,6\n4,8\n")
    assert alone.X[:, 0].tolist() == [1, 2, 3, 4]


def test_texts_constants_and_empty_columns_are_left_out():
    rows = [f"name {i},note {i // 2},7,,{i * 0.5},{i % 2}" for i in range(60)]
    header = "person,remark,seven,void,size,y"
    data = read_table(table(rows, header))
    assert data.feature_names == ("size",)
    for kind, name in [
        ("an identifier", "person"),
        ("free text", "remark"),
        ("one value only", "seven"),
        ("empty in every row", "void"),
    ]:
        assert f"'{name}'" in note(data, f"Left out, {kind}")
    kept = read_table(table(rows, header), uses={"remark": "category", "seven": "number"})
    assert [name.split("=")[0] for name in kept.feature_names].count("remark") == 21
    assert kept.feature_names[20] == "remark=other"
    assert "seven" in kept.feature_names
    assert "void" not in kept.feature_names
    assert_array_equal(kept.X[:, :21].sum(axis=1), 1.0)


def test_uses_name_columns_that_exist():
    with data_error("no column 'aa'; close to it: 'a'"):
        read_table(table(numbers()), uses={"aa": "number"})


def test_prefixes_become_groups():
    header = "fou_1,fou_2,fou_3,kar_1,kar_2,kar_3,alone,y"
    rows = [",".join(str((i * (j + 2)) % 11) for j in range(7)) + f",{i % 2}" for i in range(12)]
    data = read_table(table(rows, header))
    assert data.groups == (("fou", (0, 1, 2)), ("kar", (3, 4, 5)), ("other columns", (6,)))
    note(data, "Columns whose names begin alike are groups: 'fou', 'kar', 'other columns'.")
    for other in (header.replace("kar_", "kar"), header.replace("fou_3", "more")):
        assert read_table(table(rows, other)).groups == ()


def test_numbers_as_people_write_them():
    cells = texts(
        "1,234.5", "-1,000", "\u22125.5", "1\u00a0234", " 7 ", "1e3", ".5", "x", "", "1,23"
    )
    wanted = [1234.5, -1000, -5.5, 1234, 7, 1000, 0.5, np.nan, np.nan, np.nan]
    assert_array_equal(to_numbers(cells), wanted)
    # cells that occur again are read once
    assert_array_equal(to_numbers(np.tile(cells, 3)), wanted * 3)
    german = to_numbers(texts("1.234,5", "12.345.678", "0,5", "1.5", "-,5"), ",")
    assert_array_equal(german, [1234.5, 12345678, 0.5, 1.5, -0.5])


def test_rows_of_one_owner_are_noticed():
    head = "subject,visit,marker,city,relapse"
    cells = [
        f"S{i // 2:03d},{i % 2},{(i * 37) % 101 / 7:.2f},town {i % 60},{'yn'[i % 3 == 0]}"
        for i in range(120)
    ]
    note(read_table(table(cells, head)), "'subject' names 60 owners of rows, 2 rows each")
    once = read_table(table([cells[i] for i in range(0, 120, 2)], head))
    assert not any("owners of rows" in line for line in once.notes)


@every(
    "header, row, wanted, why",
    [
        # a quantity first, names of the rows last; dates first, a constant last; a code last
        (
            "mpg,weight,origin,name",
            "{r:.1f},{s},{c},car {i}",
            "mpg",
            "was chosen, by its name and as the first column",
        ),
        (
            "width,weight,origin,name",
            "{r:.1f},{s},{c},car {i}",
            "width",
            "'width' was chosen, as the first column",
        ),
        ("day,rented count,hour,works", "2017-12-01,{s},{c},yes", "rented count", "by its name"),
        (
            "day,rented count,hour,working day",
            "2017-12-01,{s},{c},{w}",
            "rented count",
            "by its name",
        ),
        ("cell count,weight,sick", "{r:.1f},{s},{c}", "cell count", "by its name"),
        (
            "weight,cell count,sick",
            "{r:.1f},{s},{c}",
            "sick",
            "'sick' was chosen, as the last column",
        ),
        ("amount,is_fraud,size", "{r:.1f},{w},{s}", "is_fraud", "by its name"),
        ("age,purchased,city", "{r:.1f},{w},{c}", "purchased", "by its name"),
        ("age,house type,area", "{r:.1f},{w},{c}", "area", "the last column"),
        ("age,DefaultPayment next,hours", "{r:.1f},{w},{c}", "DefaultPayment next", "by its name"),
        ("Survived,age,fare", "{c},{r:.1f},{s}", "Survived", "by its name"),
        ("age,Class Label,fare", "{r:.1f},{c},{s}", "Class Label", "by its name"),
        ("age,income,hours", "{r:.1f},{s},{c}", "hours", "the last column"),
        ("age,is_new,hours", "{r:.1f},{w},{c}", "hours", "the last column"),
        ("x,y,weight,area (ha)", "{c},{c},{r:.1f},{s}", "area (ha)", "the last column"),
        ("weight,price_eur,words", "{r:.1f},{s},text {i} of many", "price_eur", "by its name"),
        ("weight,Preis (EUR),place", "{r:.1f},{s},{w}", "Preis (EUR)", "by its name"),
        ("y (target),weight,y,size", "{r:.1f},{s},{w},{c}", "y", "by its name"),
        ("Date,CO,AH,,", "2017-12-01,{r:.1f},{s},,", "AH", "'AH' was chosen, as the last column"),
    ],
)
def test_names_places_and_contents_are_weighed(header, row, wanted, why):
    cells = (
        {"i": i, "r": i * 0.7, "s": (i * 37) % 101, "c": 1 + i % 3, "w": "yn"[i % 2]}
        for i in range(60)
    )
    data = read_table(table([row.format(**one) for one in cells], header))
    assert data.target_name == wanted
    note(data, why)


@every("row, place", [("{c},{r:.1f},{s}", 0), ("{r:.1f},{s},{c}", 2), ("{w},{s},{c}", 0)])
def test_without_a_header_the_odd_one_is_found(row, place):
    cells = (
        {"r": i * 0.7, "s": (i * 37) % 101 + 0.5, "c": 1 + i // 20, "w": "yn"[i % 2]}
        for i in range(60)
    )
    raw = "\n".join(row.format(**one) for one in cells).encode()
    assert read_table(raw, header=False).target_name == f"x{place}"


def test_by_name_or_index():
    raw = table([f"{i % 2},{i * 1.5},{i % 5}" for i in range(12)])
    for target in ("a", "A", " a ", 0, -3):
        data = read_table(raw, target)
        assert data.target_name == "a"
        assert data.feature_names == ("b", "y")
        assert not any("No target" in line for line in data.notes)


@every(
    "y, task, classes, words",
    [
        (lambda i: i % 2, "binary", ("0", "1"), "has two values (0 and 1): a binary task"),
        (lambda i: "ja" if i % 2 else "nein", "binary", ("ja", "nein"), "two values (ja and nein)"),
        (lambda i: 0.5 + i % 2, "binary", ("0.5", "1.5"), "two values (0.5 and 1.5)"),
        (lambda i: "pqr"[i % 3], "multiclass", ("p", "q", "r"), "has 3 classes: a multiclass task"),
        (
            lambda i: 8 + i % 3,
            "multiclass",
            ("8", "9", "10"),
            "3 different whole numbers, read as classes",
        ),
        (lambda i: i, "regression", (), "has 60 different numbers: a regression task"),
        (lambda i: (i % 3) + 0.25, "regression", (), "has 3 different numbers: a regression task"),
    ],
)
def test_the_task_is_found_and_reported(y, task, classes, words):
    data = read_table(table(numbers(60, y)))
    assert (data.task, data.class_names) == (task, classes)
    note(data, words)


def test_the_task_can_be_named():
    rows = numbers(60, lambda i: i % 3)
    data = read_table(table(rows), task="regression")
    assert data.y.dtype == np.float64
    assert data.task == "regression"
    assert read_table(table(numbers(60, lambda i: i % 12)), task="multiclass").y.dtype == np.int64


def test_a_hundred_classes_named_by_whole_numbers_are_classes():
    rows = [f"{(i * 37) % 101 / 7:.2f},{(i * 11) % 53},{1 + i % 100}" for i in range(400)]
    data = read_table(table(rows, "a,b,Class"))
    assert (data.target_name, data.task, len(data.class_names)) == ("Class", "multiclass", 100)
    assert read_table(table(rows, "a,b,Count"), "Count").task == "regression"


def test_novelty_may_have_one_class_or_no_target():
    assert read_table(table(numbers(12, lambda i: 1)), task="novelty").class_names == ("1",)
    data = read_table(b"a,b\n1.5,2\n2.5,1\n0.5,7\n", task="novelty")
    assert data.feature_names == ("a", "b")
    assert data.y.tolist() == [1, 1, 1]
    note(data, "every column is a feature and every row counts as normal")


def test_rows_without_a_target_are_dropped():
    data = read_table(table(numbers(12, lambda i: "?" if i in (2, 5) else i % 2)))
    assert data.n_samples == 10
    assert 3.0 not in data.X[:, 0]
    note(data, "Dropped 2 rows without a usable target")


def test_a_class_of_one_row_is_left_out():
    data = read_table(table(numbers(30, lambda i: "once" if i == 3 else "ab"[i % 2])))
    assert (data.n_samples, data.class_names, data.task) == (29, ("a", "b"), "binary")
    assert 4.5 not in data.X[:, 0]
    note(data, "Left out: the only row of class 'once'; a class needs two rows to be learnt.")
    rows = data.encoder.read(b"a,b\n1,2\n").X
    assert rows.tolist() == [[1.0, 2.0]]
    data = read_table(table(numbers(30, lambda i: {3: 7, 4: 8}.get(i, i % 3))))
    assert (data.n_samples, data.class_names, data.task) == (28, ("0", "1", "2"), "multiclass")
    note(data, "Left out: the only rows of classes '7', '8'")


BINARY = bytes(range(1, 32)) * 20
REFUSALS = {
    "empty": (b"", {}, "file is empty"),
    "blank": (b" \n\n\t\n", {}, "file is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf\n", {}, "file is empty"),
    "only delimiters": (b",,\n,,\n", {}, "file is empty: it holds delimiters"),
    "only quotation marks": (b'""\n', {}, "file is empty: it holds delimiters"),
    "header only": (b"a,b,y\n", {}, "holds a header line only; expected at least one row"),
    "NUL bytes": (b"a,b\n1,\x002\n", {}, "file is binary .* whatever its name says"),
    "control characters": (BINARY, {}, "file is binary"),
    "gzip": (b"\x1f\x8b\x08\x00abc", {}, "is a gzip archive, not a table; unpack it"),
    "picture": (b"\x89PNG\r\n\x1a\nabc", {}, "is a picture"),
    "damaged old Excel": (
        b"\xd0\xcf\x11\xe0abc",
        {},
        "workbook of Excel before 2007; save it as .xlsx or CSV",
    ),
    "pickle": (b"\x80\x04\x95abc", {}, "pickle, which can run code and is never opened"),
    "web page": (b"\n<!DOCTYPE html><html>", {}, "web page"),
    "JSON": (b'[{"a": 1}]', {}, "JSON, not a table"),
    "zip": (zipped({"a.csv": b"a,b"}), {}, "zip archive, not a table; unpack it"),
    "npz": (zipped({"K.npy": b""}), {}, "NumPy archive .* load kernel stacks as stacks"),
    "damaged zip": (b"PK\x03\x04abc", {}, "damaged archive"),
    "ragged, long": (
        table(["1,2,0", "1,2,3,0", "2,1,1"]),
        {},
        "Line 3 has 4 cells, but line 1 has 3, .* comma",
    ),
    "ragged, short": (
        table(["1,2,0", "", "1,2", "3"]),
        {},
        r"Line 4 has 2 cells, .*\(2 lines differ in all\)",
    ),
    "open quote": (
        table(['1,2,"0', "3,4,1", "5,6,0"]),
        {},
        "quotation mark opened on line 2 is not closed",
    ),
    "open quote, long": (table(['1,2,"0', *numbers(300)]), {}, "quotation mark opened on line 2"),
    "huge cell": (table(["1,2," + "x" * 200_000]), {}, "Line 2 .* at most 131,072 characters"),
    "one column": (b"y\n1\n2\n3\n", {}, r"one column only \('y'\).*delimiter="),
    "nothing numeric": (
        table([f"name {i},text {i},{i % 2}" for i in range(12)]),
        {},
        r"no numeric column .* 'a' \(identifier\), 'b' \(identifier\)",
    ),
    "all constant": (
        table([f"7,8,{i % 2}" for i in range(12)]),
        {},
        r"no numeric column .* 'a' \(constant\), 'b' \(constant\)",
    ),
    "one class": (
        table(numbers(12, lambda i: "g")),
        {"target": "y"},
        r"'y' holds one class only \('g' in every row\)",
    ),
    "one number": (
        table(numbers(12, lambda i: 5)),
        {"task": "regression", "target": "y"},
        "holds one class only",
    ),
    "no such target": (
        table(numbers(), "size,weight,y"),
        {"target": "wight"},
        "no column 'wight'; close to it: 'weight'",
    ),
    "no near target": (
        table(numbers()),
        {"target": "zzzz"},
        "no column 'zzzz'; the columns are 'a', 'b', 'y'",
    ),
    "no such index": (table(numbers()), {"target": 3}, "no column number 3; expected 0 to 2"),
    "target empty": (
        table(numbers(12, lambda i: "NA" if i > 3 else i % 2)),
        {"target": "y"},
        "missing in 8 of 12 rows",
    ),
    "target all empty": (
        table(numbers(12, lambda i: "")),
        {"target": "y"},
        "missing in 12 of 12 rows",
    ),
    "one class and a row": (
        table(numbers(12, lambda i: "b" if i == 5 else "a")),
        {"target": "y"},
        "'y' has 2 classes in 12 rows, 1 of them in more than one row; two rows of each",
    ),
    "class per row": (
        table(["1.5,2,p", "2.5,1,q", "0.5,3,r"]),
        {"target": "y"},
        "3 classes in 3 rows, 0 of them in more than one row",
    ),
    "free text target": (
        table(numbers(300, lambda i: f"t{i % 130}")),
        {"target": "y"},
        "text with 130 different values",
    ),
    "long labels": (
        table(numbers(12, lambda i: "pq"[i % 2] * 61)),
        {"target": "y"},
        "texts longer than 60 characters",
    ),
    "text regression": (
        table(numbers(12, lambda i: "pq"[i % 2])),
        {"target": "y", "task": "regression"},
        "regression needs numbers",
    ),
    "not binary": (
        table(numbers(12, lambda i: i % 3)),
        {"target": "y", "task": "binary"},
        "3 different values; a binary task needs two",
    ),
    "rows": (table(numbers(12)), {"max_rows": 11}, "more than 11 rows, the limit; .* max_rows"),
    "columns": (table(numbers(12)), {"max_columns": 2}, "more than 2 columns, the limit"),
    "bytes": (
        table(numbers(12)),
        {"max_bytes": 50},
        "larger than 4.77e-05 MB, the limit; .* max_bytes",
    ),
    "no file": ("no/such/file.csv", {}, "cannot be opened: No such file"),
    "no source": (12, {}, "source is a int; expected a data frame, a path, bytes or an open file"),
}


@every("case", REFUSALS)
def test_refusals_say_what_to_do(case):
    source, options, words = REFUSALS[case]
    with data_error(words) as caught:
        read_table(source, **options)
    assert len(str(caught.value)) < 500


def test_equal_names_get_numbers():
    data = read_table(table(numbers(), "a,a,y"))
    assert data.feature_names == ("a", "a (2)")
    note(data, "same name: 'a'; later ones got a number, as in 'a (2)'")


def test_the_row_limit_is_exact():
    assert read_table(table(numbers(12)), max_rows=12).n_samples == 12
    assert read_table(table(numbers(12)), max_columns=3).n_features == 2


@every(
    "options, words",
    [
        ({"delimiter": ",,"}, "expected one character or 'whitespace'"),
        ({"decimal": "x"}, r"expected one of '\.', ','"),
        ({"task": "ranking"}, "expected one of 'binary'"),
    ],
)
def test_options_are_checked(options, words):
    with parameter_error(words):
        read_table(FLOWERS, **options)


def test_a_delimiter_can_be_named():
    data = read_table(FLOWERS.replace(b",", b"~"), delimiter="~")
    assert data.feature_names == ("length", "width")
    assert read_table(FLOWERS.replace(b",", b" "), delimiter="whitespace").n_features == 2
    assert read_table(FLOWERS.replace(b",", b"\t"), delimiter="tab").n_features == 2


def test_too_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr("mklcore.data.packed.MAX_CELLS", 30)
    with data_error("12 x 3 cells, more than 30"):
        read_table(table(numbers()))
    monkeypatch.undo()
    monkeypatch.setattr("mklcore.data.reading.MAX_CELLS", 30)
    with data_error("columns of 0 and 1 the table has 12 x 7 cells, more than 30"):
        read_table(
            table([f"{i % 5},{'uvw'[i % 3]}{i // 9},{i % 2}" for i in range(12)]),
            uses={"b": "category"},
        )


def test_formulas_stay_text():
    rows = [f"{'=1+1' if i % 2 else '=SHELL(1)'},{i * 0.5},{i % 3 > 0}" for i in range(12)]
    data = read_table(table(rows))
    assert data.feature_names == ("a==SHELL(1)", "b")


def test_strange_names_are_tamed():
    long = "x" * 500
    header = f"{long}1,{long}2,\u202eevil\u0007 name,e\u0301,ok,y"
    rows = [",".join(str((i * (j + 2)) % 11) for j in range(5)) + f",{i % 2}" for i in range(12)]
    data = read_table(table(rows, header))
    assert all(0 < len(name) <= MAX_NAME for name in data.feature_names)
    assert len(set(data.feature_names)) == 5
    assert data.feature_names[2:4] == ("evil name", "\u00e9")
    assert clean_name(" a\n b\t c ") == "a b c"
    levels = read_table(table([f"{'uv'[i % 2] * 300}{i % 3},{i},{i % 2}" for i in range(12)]))
    assert all(len(name) <= MAX_NAME + 5 for name in levels.feature_names)


RAW = b"id;size;kind;y\n1;1,5;u;0\n2;?;v;1\n3;3,5;u;0\n4;4,5;v;1\n"


def test_tells_every_column_before_a_target_is_chosen():
    summary = describe_table(RAW)
    assert (summary.n_rows, summary.target, summary.delimiter, summary.decimal) == (
        4,
        "y",
        ";",
        ",",
    )
    assert summary.header
    assert summary.encoding == "utf-8"
    kinds = {column.name: (column.kind, column.missing, column.used) for column in summary.columns}
    assert kinds == {
        "id": ("identifier", 0, False),
        "size": ("number", 1, True),
        "kind": ("category", 0, True),
        "y": ("number", 0, True),
    }
    assert summary.columns[1].done == "1 missing cell filled with the median 3.5"
    assert summary.columns[2].example == "u"
    assert summary.preview[1] == ("2", "?", "v", "1")


def test_works_where_no_column_can_be_the_target():
    raw = table([f"{i},7,text {i}" for i in range(60)])
    summary = describe_table(raw)
    assert (summary.target, summary.candidates) == ("", ())
    with data_error(
        r"No column can be the target: 'a' .identifier., 'b' .constant., 'y' .identifier"
    ):
        read_table(raw)


def test_takes_the_same_options_and_refusals():
    assert describe_table(b"1,2\n3,4\n", header=True).columns[0].name == "1"
    with data_error("more than 2 rows"):
        describe_table(RAW, max_rows=2)


class Enough(BaseException):
    """Raised by who no longer wants to know."""


@every("read", [read_table, describe_table])
def test_a_reading_can_be_ended_between_rows_and_between_columns(read):
    raw = "\n".join(["a,b,c,y", *(f"{k},{k % 7},{k % 5}.5,{k % 2}" for k in range(500))]).encode()
    ticks = []
    with cancellation_scope(lambda: ticks.append(1)):
        read(raw)
    assert len(ticks) > 3 + 4  # rows, columns as they are laid out and as they are looked at
    for after in (0, 3, len(ticks) - 1):
        beats = [None] * after + [Enough]
        with pytest.raises(Enough), cancellation_scope(Mock(side_effect=beats)):
            read(raw)


def test_ten_thousand_names_that_look_alike_are_distinguished_in_one_pass():
    names = distinct_names(["a"] * 20_000 + ["a (2)", "b"])
    assert names[:3] == ["a", "a (2)", "a (3)"]
    assert names[-2:] == ["a (2) (2)", "b"]
    assert len(set(names)) == 20_002
    long = distinct_names(["x" * 60, "x" * 60, "x" * 59 + "y", "x" * 59 + "y"], 55)
    assert long[1::2] == ["x" * 55 + " (2)", "x" * 55 + " (3)"]


def test_rows_are_drawn_from_a_table_with_every_class_in_its_share(rng):
    x = rng.standard_normal(4000)
    kind = np.where(np.arange(4000) < 40, "rare", np.where(x > 0.5, "high", "low"))
    order = rng.permutation(4000)
    rows = [f"{x[k]:.4f},{k % 7},{kind[k]}" for k in order]
    content = table(rows, "a,b,kind")
    data = read_drawn(content, 200, seed=3)
    assert (data.n_samples, data.target_name) == (200, "kind")
    shares = dict(zip(*np.unique(data.y, return_counts=True), strict=True))
    assert shares["high"] == pytest.approx(200 * np.mean(kind == "high"), abs=1.0)
    assert shares["rare"] == 2
    assert data == read_drawn(content, 200, seed=3)
    assert data != read_drawn(content, 200, seed=4)
    every = {(f"{a:.4f}", int(b), label) for (a, b), label in zip(data.X, data.y, strict=True)}
    assert every <= {(f"{x[k]:.4f}", int(k % 7), kind[k]) for k in order}
    assert read_drawn(content, 9999) == read_table(content)
    ends = read_drawn(content, 50, "a")
    assert (ends.task, ends.n_samples) == ("regression", 50)
