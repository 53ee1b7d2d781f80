"""The frozen table: what it accepts, what it refuses, how it is cut and scaled."""

import pickle

import numpy as np

from mklcore.data.dataset import Dataset, three_way_split
from tests.helpers.every import every
from tests.helpers.refusals import data_error, parameter_error

X = np.arange(24.0).reshape(12, 2)
LABELS = np.array(["a", "b", "c"] * 4)


def table(n_rows=90, task="multiclass"):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 3 if task == "multiclass" else rng.standard_normal(n_rows)
    groups = (("left", (0, 1)), ("right", (2, 3)))
    return Dataset(
        rng.standard_normal((n_rows, 4)), y, ("p", "q", "r", "s"), "t", task, groups=groups
    )


def test_arrays_are_own_contiguous_and_read_only():
    mine = np.asfortranarray(X)
    data = Dataset(mine, np.arange(12.0))
    again = pickle.loads(pickle.dumps(data))
    assert again == data
    for array in (data.X, data.y, again.X, again.y):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert not array.flags.writeable
    mine[0, 0] = 99.0
    assert data.X[0, 0] == 0.0
    assert (data.n_samples, data.n_features) == (12, 2)
    assert data.feature_names == ("x0", "x1")


def test_labels_stay_what_they_were():
    texts = Dataset(X, LABELS, task="multiclass")
    assert texts.y.dtype == object
    assert texts.class_names == ("a", "b", "c")
    numbers = Dataset(X, np.array([10.0, 2.0] * 6), task="binary")
    assert numbers.y.dtype == np.int64
    assert numbers.class_names == ("2", "10")
    assert Dataset(X, np.array([True, False] * 6), task="binary").class_names == ("0", "1")
    mixed = Dataset(X, np.array([1, "one"] * 6, dtype=object), task="binary")
    assert mixed.class_names == ("1", "one")


def test_fingerprint_follows_every_content():
    given = {
        "X": X,
        "y": LABELS,
        "feature_names": ("p", "q"),
        "target_name": "t",
        "task": "multiclass",
    }
    base = Dataset(**given)
    same = Dataset(**given | {"X": X.copy(), "y": LABELS.copy()}, notes=("a note",))
    assert base == same
    assert hash(base) == hash(same)
    assert len(base.fingerprint) == 64
    moved = X.copy()
    moved[3, 1] += 1e-12
    changes = (
        {"X": moved},
        {"y": LABELS[::-1]},
        {"feature_names": ("p", "z")},
        {"target_name": "u"},
        {"task": "novelty"},
        {"groups": (("g", (0,)),)},
        {"class_names": ("a", "b", "c", "d")},
        {"y": np.arange(12.0), "task": "regression"},
    )
    assert len({base, *(Dataset(**given | change) for change in changes)}) == 1 + len(changes)
    assert base != "something else"


def test_the_fingerprint_is_the_same_in_every_process():
    data = Dataset([[0.0, 1.0], [2.0, 3.0]], ["u", "v"], task="binary")
    assert data.fingerprint.startswith("f6c460b0203bc457")


@every(
    "change, words",
    [
        ({"X": X[:, 0]}, r"shape \(12,\); expected \(rows, columns\)"),
        ({"X": X[:, :0]}, "at least one of each"),
        ({"X": [["a", "b"]] * 12}, "not a table of numbers"),
        ({"X": X + 1j}, "complex"),
        (
            {"X": np.where(X == 5, np.nan, X)},
            "1 feature value cannot be used, the first in row 3 of 'x1': nan",
        ),
        ({"X": np.where(X == 5, np.inf, X)}, "expected finite numbers"),
        ({"X": X * 1e200}, "Fill, rescale or drop"),
        ({"y": LABELS[:5]}, r"The target has shape \(5,\); expected one value per row, \(12,\)"),
        ({"y": LABELS[:, None]}, "expected one value per row"),
        (
            {"y": np.array(["a", None] * 6, dtype=object)},
            r"missing \(NaN\) in 6 rows: 2, 4, 6, 8, 10 and 1 more",
        ),
        (
            {"y": np.array([np.nan] + [1.0] * 11), "task": "regression"},
            r"missing \(NaN\) in 1 row: 1. Drop them",
        ),
        ({"y": np.array([np.inf] + [1.0] * 11), "task": "regression"}, "infinite"),
        ({"task": "regression"}, "must hold numbers"),
        ({"y": np.arange(12.0), "task": "regression", "class_names": ("a",)}, "has no classes"),
        ({"y": np.arange(12.0) / 7}, "whole numbers or texts"),
        ({"y": ["a"] * 12}, r"one class only \('a'\)"),
        ({"task": "binary"}, "has 3 classes .* a binary task has two"),
        ({"class_names": ("a", "b")}, "'c', not among the class names"),
        ({"task": "clustering"}, "expected one of binary, multiclass, regression, novelty"),
        ({"feature_names": ("p",)}, "1 feature name for 2 columns"),
        ({"feature_names": ("p", "p")}, "Two features have the same name .'p'."),
        ({"groups": (("g", (0, 2)),)}, "indices from 0 to 1"),
        ({"groups": (("g", ()),)}, "Group 'g'"),
        ({"groups": (("g", (0, 0)),)}, "different indices"),
        ({"groups": (("g", (0,)), ("g", (1,)))}, "Two groups have the same name"),
        ({"columns": (("p", (0,)),)}, "every feature belongs to exactly one source column"),
        (
            {"columns": (("p", (0, 1)), ("q", (1,)))},
            "every feature belongs to exactly one source column",
        ),
    ],
)
def test_refusals(change, words):
    with data_error(words):
        Dataset(**{"X": X, "y": LABELS, "task": "multiclass", **change})


def test_parts_keep_the_classes_and_groups_of_the_whole():
    data = table()
    part = data.take(np.array([0, 3, 6]))
    assert set(part.y) == {0}
    for some in (part, *data.split(27, 1)):
        assert (some.class_names, some.groups) == (data.class_names, data.groups)


def test_a_split_by_time_holds_out_the_newest_rows():
    rows = np.arange(100.0)[:, None]
    data = Dataset(rows, rows[:, 0], ("row",), task="regression")
    for hold_out, ends in (
        ("last", [(0, 64), (65, 89), (90, 99)]),
        ("first", [(35, 99), (10, 34), (0, 9)]),
    ):
        parts = three_way_split(data, 0.25, 10, hold_out=hold_out)
        assert [(part.X[0, 0], part.X[-1, 0]) for part in parts] == ends
        assert [part.n_samples for part in parts] == [65, 25, 10]
    late = Dataset(rows, np.repeat(["a", "b"], [95, 5]), ("row",), task="binary")
    train, _ = late.split(0.2, hold_out="last")
    assert set(train.y) == {"a", "b"}  # a class that only new rows have would not be learnt
    assert np.setdiff1d(np.arange(80.0), train.X).size == 1
    with parameter_error("hold_out must be one of 'random', 'last', 'first'; got 'newest'"):
        data.split(0.2, hold_out="newest")


def test_split_refuses():
    with data_error(r"12 rows cannot be cut into 2 \+ 10: .* one row of each of the 3 classes"):
        Dataset(X, LABELS, task="multiclass").split(10)
    with data_error("for training, needs at least one row"):
        three_way_split(table(12, "regression"), 6, 6)
    for size in (0, 12, 0.0, 1.0, -0.5, True, "half"):
        with parameter_error("expected a share in"):
            Dataset(X, LABELS, task="multiclass").split(size)  # type: ignore[arg-type]


def test_select_and_drop_take_the_groups_along():
    data = table()
    some = data.select(["s", 0])
    assert some.feature_names == ("s", "p")
    assert some.groups == (("left", (1,)), ("right", (0,)))
    np.testing.assert_array_equal(some.X, data.X[:, [3, 0]])
    assert data.drop(["p", "q"]).groups == (("right", (0, 1)),)
    with data_error("no feature 'z'; the first ones are 'p', 'q', 'r', 's'"):
        data.select(["z"])
    with data_error("no feature number 4; expected 0 to 3"):
        data.drop([4])
    with data_error("keep at least one"):
        data.drop(range(4))
    with data_error(r"Two features have the same name .'p'."):
        data.select([0, 0])


def test_shows_itself_without_trusting_names():
    data = Dataset(X, LABELS, ("<b>p</b>", "q"), "t", "multiclass", notes=("<i>note</i>",))
    page = data._repr_html_()
    assert "<b>p" not in page
    assert "&lt;b&gt;p" in page
    assert "&lt;i&gt;note" in page
    assert "12 rows, 2 features, multiclass: a, b, c" in page
    assert repr(data).startswith("Dataset(12 x 2, multiclass, target='t'")
    wide = Dataset(np.ones((3, 20)), np.arange(3.0))
    assert "12 more features are not shown" in wide._repr_html_()


def with_columns(*columns):
    return Dataset(np.eye(4)[:, :3], [0, 1, 0, 1], ("a", "b", "c"), task="binary", columns=columns)


def test_every_feature_is_a_column_of_its_own_unless_grouped():
    assert with_columns().columns == (("a", (0,)), ("b", (1,)), ("c", (2,)))
    reported = with_columns(("both", (0, 2)), ("b", (1,)))
    assert reported.source_names == ("both", "b", "both")
    assert reported.fingerprint != with_columns().fingerprint
    assert reported.select(["c", "b"]).columns == (("both", (0,)), ("b", (1,)))
    assert reported.drop(["b"]).columns == (("both", (0, 1)),)
    assert reported.take([0, 1, 2]).columns == reported.columns
