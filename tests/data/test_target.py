"""The target nobody named: how often the guess is right, what is never guessed, and what is said
where it is unsure.
"""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng

from mklcore import Dataset, load_sample, read_table
from mklcore.data.columns import newest_rows
from mklcore.data.reading import describe_table
from mklcore.data.target import SURE, find_leaks, rank_targets, rows_in_order
from mklcore.errors import Repair
from tests.helpers import schemas
from tests.helpers.every import every
from tests.helpers.pages import open_app, quiet, upload, words
from tests.helpers.refusals import data_error

N = 60
RNG = default_rng(0)
SIZE, OTHER = RNG.gamma(4.0, 2.0, N).round(3), RNG.normal(size=N).round(3)
COIN = np.array([i % 3 == 0 for i in range(N)], dtype=float)


def table(**columns):
    rows = zip(*columns.values(), strict=True)
    return "\n".join(",".join(map(str, row)) for row in [tuple(columns), *rows]).encode()


def guessed(**columns):
    """The likeliest targets, and that reading takes the first of them."""
    names = tuple(one.name for one in describe_table(table(**columns)).candidates)
    assert read_table(table(**columns)).target_name == names[0]
    return names


def test_most_guesses_on_tables_of_known_schemas_are_right():
    ranked = [(one, rank_targets(one.profiles())) for one in schemas.read()]
    right = [one.target == found[0].name for one, found in ranked]
    among = [one.target in {candidate.name for candidate in found} for one, found in ranked]
    when_sure = [
        hit for (_, found), hit in zip(ranked, right, strict=True) if found[0].confidence >= SURE
    ]
    assert len(ranked) >= 140
    assert np.mean(right) >= 0.75
    assert np.mean(among) >= 0.88
    assert np.mean(when_sure) >= 0.9
    assert np.mean(right) < np.mean(when_sure)  # being sure means something


def test_what_cannot_be_read_as_the_target_is_never_guessed():
    empty = [""] * N
    constant = ["b"] * N
    gone = ["7" if i < 5 else "" for i in range(N)]
    texts = [f"entry {i}" for i in range(N)]
    days = [f"2020-01-{1 + i % 28:02d}" for i in range(N)]
    never = {"target": gone, "y": texts, "outcome": days, "label": empty, "id": range(N)}
    for name, cells in never.items():
        assert name not in guessed(a=SIZE, b=OTHER, **{name: cells})
    with data_error("'class' is named as the target and has one value only, 'b'"):
        read_table(table(a=SIZE, b=OTHER, **{"class": constant}))
    assert (
        guessed(rownames=range(5, 5 + 2 * N, 2), a=COIN, b=SIZE, counter=range(1, N + 1))[0] == "a"
    )


def test_a_guess_that_is_mostly_missing_refuses_no_table():
    data = read_table(
        table(a=SIZE, grade=COIN, result=[int(v) if i < 3 else "?" for i, v in enumerate(COIN)])
    )
    assert data.target_name == "grade"


def test_a_column_with_a_single_row_of_a_class_is_passed_over_and_refuses_no_table():
    single = {f"chem_fp_{k}": [int(i == k) for i in range(N)] for k in range(5)}
    assert guessed(size=SIZE, **single)[0] == "size"
    assert guessed(size=SIZE, bought=COIN, **single)[0] == "bought"
    # zero, or an amount that no other row has
    amounts = [0] * (N - 8) + [k + 0.5 for k in range(8)]
    assert guessed(size=SIZE, sales=amounts)[0] == "sales"
    data = read_table(table(size=SIZE, y=single["chem_fp_3"]))
    assert data.target_name == "size"
    assert any(
        "Not chosen as the target: The target 'y' has 2 classes" in note for note in data.notes
    )


@every(
    "days",
    [[f"2020-01-{1 + i % 28:02d}" for i in range(N)], [f"{1 + i % 3}.5.2021" for i in range(N)]],
)
def test_dates_are_no_target_and_the_refusal_says_what_is(days):
    raw = table(a=SIZE, b=OTHER, when=days)
    with data_error(r"The target 'when' holds dates .*: replace it by a number of days") as refused:
        read_table(raw, "when")
    assert "Predict it as classes" in [one.label for one in refused.value.repairs]
    assert read_table(raw, "when", task="classification").task == "multiclass"


@every("task", ["regression", "binary", "classification"])
def test_the_guess_fits_the_task_that_was_asked_for(task):
    words = [("low", "middle", "high")[i % 3] for i in range(N)]
    raw = table(size=SIZE, bought=COIN, **{"class": words})
    data = read_table(raw, task=task)
    assert (
        data.target_name
        == {"regression": "size", "binary": "bought", "classification": "class"}[task]
    )
    assert describe_table(raw, task=task).target == data.target_name
    with data_error(r"No column can be the target of the task 'binary': 'a' .number., 'b' .number"):
        read_table(table(a=SIZE, b=OTHER), task="binary")


def test_a_logarithm_and_a_square_by_their_names_are_no_targets():
    assert guessed(size=SIZE, b=OTHER, lsize=np.log(SIZE))[0] != "lsize"
    assert guessed(a=OTHER, b=SIZE, asq=OTHER**2)[0] != "asq"


def test_a_note_says_why_and_what_else_is_likely():
    sure = read_table(table(a=SIZE, b=OTHER, species=["ox" if one else "yak" for one in COIN]))
    reported = next(note for note in sure.notes if "No target was named" in note)
    assert reported == (
        "No target was named: the column 'species' was chosen, by its name and as the last column. "
        "target= names another."
    )
    unsure = read_table(
        table(
            rownames=range(N), visits=SIZE, b=OTHER, active=["yes" if one else "no" for one in COIN]
        )
    )
    reported = next(note for note in unsure.notes if "No target was named" in note)
    assert (
        "'visits' was chosen, as the first column and by its name. The guess is unsure; "
        "it may also be 'active' ("
    ) in reported
    assert "yes and no) or 'b' (as no column is more likely). target=" in reported


def test_two_words_of_which_one_denies_the_other_tell_a_target():
    words = ["not remote" if one else "remote" for one in COIN]
    others = {
        "town": ["north" if i % 2 else "south" for i in range(N)],
        "fee": SIZE,
        "work": words,
        "age": OTHER,
    }
    first = describe_table(table(**others)).candidates[0]
    assert (first.name, first.reason) == ("work", "by its values not remote and remote")


# -- Columns that give the target away are reported, those that are merely good are not


@pytest.fixture
def rows():
    return default_rng(0).standard_normal((200, 4))


def number(X, y, names=()):
    return Dataset(X, y, names, "y", "regression")


def kinds(data):
    return {leak.column: leak.kind for leak in find_leaks(data)}


def test_what_gives_the_target_away_is_reported(rows):
    names = ("a", "b", "c", "d", "copy")
    money = np.exp(rows[:, 0] + 0.3 * rows[:, 1])
    total = rows[:, 1] + 2 * rows[:, 3]
    for copy in (np.log(money), np.sqrt(money), -1.0 / money, np.round(50 * money)):
        assert kinds(number(np.column_stack([rows, copy]), money, names)) == {"copy": "explains"}
    assert kinds(number(rows, total)) == {"x1": "parts", "x3": "parts"}
    assert kinds(number(rows, total + 0.05 * rows[:, 0] ** 2)) == {}

    y = np.where(rows[:, 0] + rows[:, 1] > 0.5, "paid", "open")
    amount = np.where(y == "paid", rows[:, 2] ** 2 + 0.1, 0.0)  # 0 where nothing was paid
    (leak,) = find_leaks(Dataset(np.column_stack([rows, amount]), y, names, "y", "binary"))
    assert (leak.column, leak.kind) == ("copy", "explains")
    assert "copy alone predicts y" in leak.text

    codes = (rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0.5)
    X = np.column_stack([rows[:, 3], np.eye(3)[codes]])
    y = np.array(["u", "v", "w"])[codes]
    columns = (("a", (0,)), ("state", (1, 2, 3)))
    assert kinds(Dataset(X, y, names[:4], "y", "multiclass", columns=columns)) == {
        "state": "explains"
    }


@every("name", ["iris", "breast_cancer", "wine", "diabetes", "digits"])
def test_honest_tables_are_left_alone(name):
    assert find_leaks(load_sample(name)) == ()


def test_columns_that_sort_the_rows_are_reported(rows):
    X = np.column_stack(
        [rows, np.arange(200.0), np.sort(rows[:, 0])[::-1], np.repeat([0.0, 1.0], 100)]
    )
    data = number(X, rows[:, 0] * rows[:, 1], ("a", "b", "c", "d", "row", "date", "half"))
    assert kinds(data) == {"row": "order", "date": "order"}
    assert "only falls along the rows" in find_leaks(data)[1].text
    assert rows_in_order(data) == "last"
    assert rows_in_order(data.take(np.arange(200)[::-1])) == "first"
    assert rows_in_order(number(rows, rows[:, 0])) == ""


def test_few_rows_and_tables_without_a_target_say_nothing_of_it(rows):
    assert find_leaks(number(rows[:20], rows[:20, 0])) == ()
    X = np.column_stack([rows, np.arange(200.0)])
    nothing = Dataset(X, np.ones(200, dtype=np.int64), (), "y", "novelty")
    assert kinds(nothing) == {"x4": "order"}


def test_one_click_leaves_a_column_out_and_another_tests_on_the_newest_rows():
    pairs = default_rng(0).uniform(-1, 1, (80, 2))
    prices = 3 + pairs[:, 0] + pairs[:, 1] ** 2
    lines = [
        f"{3 + 1.5 * k},{pairs[k, 0]:.3f},{np.log(price):.5f},{price:.5f}"
        for k, price in enumerate(prices)
    ]
    app = upload(open_app(), "\n".join(["hours,a,copy,price", *lines]).encode())
    app.button(key="data_by_time_1").click()
    assert quiet(app.run()).selectbox(key="field_hold_out").value == "last"
    assert "copy alone predicts price" in words(app)
    app.button(key="data_leak_0").click()
    assert "copy alone predicts price" not in words(quiet(app.run()))


@every("form, newest", [("%Y-%m-%d", "last"), ("%d.%m.%Y", "last"), ("%m/%d/%Y %H:00", "first")])
def test_rows_in_the_order_of_dates_are_noted_with_a_split_by_time(form, newest):
    days = [date(2020, 1, 1) + timedelta(days=row) for row in range(80)][
        :: -1 if newest == "first" else 1
    ]
    lines = [
        f"{day.strftime(form)},{row % 7},{row % 5},{row % 7 + row % 3}"
        for row, day in enumerate(days)
    ]
    found = read_table("\n".join(["day,a,b,price", *lines]).encode())
    (note,) = [note for note in found.notes if "in the order of 'day'" in note]
    assert note.repairs == (Repair.of("Split by time", hold_out=newest),)
    shuffled = default_rng(0).permutation(80)
    assert newest_rows(shuffled, 10) == ""


@every("order", ["sorted", "shuffled"])
def test_a_date_that_explains_the_target_is_reported_and_the_newest_rows_are_offered(order):
    rng = default_rng(0)
    n = 200
    days = np.sort(rng.integers(0, 1500, n))
    days = days if order == "sorted" else rng.permutation(days)
    frame = pd.DataFrame(
        {
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D"),
            "size": rng.normal(size=n),
        }
    )
    data = read_table(frame.assign(price=days / 100 + 3 * rng.normal(size=n)), "price")
    leak = next(one for one in find_leaks(data) if one.column == "sold")
    assert leak.kind == "order"
    assert "sold explains much of price" in leak.text
    assert ("Sort the file by sold" in leak.text) == (order == "shuffled")
    assert rows_in_order(data) == ("last" if order == "sorted" else "")
    train, test = data.split(0.2, hold_out="last")
    assert order == "shuffled" or train.X[:, 0].max() <= test.X[:, 0].max()
