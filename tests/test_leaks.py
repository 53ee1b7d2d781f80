"""Columns that give the target away are reported, those that are merely good are not."""

from datetime import date, timedelta

import numpy as np
import pytest

import mklcore as mkl
from mklcore.data.columns import newest_rows, repairs_of
from mklcore.data.reading import read_table
from mklcore.data.target import find_leaks, rows_in_order
from mklcore.errors import Repair


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((200, 4))


def number(X, y, names=()):
    return mkl.Dataset(X, y, names, "y", "regression")


def kinds(data):
    return {leak.column: leak.kind for leak in find_leaks(data)}


@pytest.mark.parametrize("copy", [np.log, np.sqrt, lambda y: -1.0 / y, lambda y: np.round(50 * y)])
def test_a_function_of_the_target_is_reported(rows, copy):
    y = np.exp(rows[:, 0] + 0.3 * rows[:, 1])
    X = np.column_stack([rows, copy(y)])
    assert kinds(number(X, y, ("a", "b", "c", "d", "copy"))) == {"copy": "explains"}


def test_parts_that_add_up_are_reported(rows):
    assert kinds(number(rows, rows[:, 1] + 2 * rows[:, 3])) == {"x2": "parts", "x4": "parts"}
    assert kinds(number(rows, rows[:, 1] + 2 * rows[:, 3] + 0.05 * rows[:, 0] ** 2)) == {}


def test_a_status_written_afterwards_is_reported(rows):
    y = np.where(rows[:, 0] + rows[:, 1] > 0.5, "paid", "open")
    status = np.where(y == "paid", rows[:, 2] ** 2 + 0.1, 0.0)  # an amount that is 0 where nothing was paid
    data = mkl.Dataset(np.column_stack([rows, status]), y, ("a", "b", "c", "d", "amount"), "y", "binary")
    assert kinds(data) == {"amount": "explains"}
    assert "amount alone predicts y" in find_leaks(data)[0].text


def test_a_category_that_is_the_target_is_reported(rows):
    codes = (rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0.5)
    names = ("a", "state=x", "state=y", "state=z")
    X = np.column_stack([rows[:, 3], np.eye(3)[codes]])
    data = mkl.Dataset(X, np.array(["u", "v", "w"])[codes], names, "y", "multiclass",
                       columns=(("a", (0,)), ("state", (1, 2, 3))))  # fmt: skip
    assert kinds(data) == {"state": "explains"}


@pytest.mark.parametrize("name", ["iris", "breast_cancer", "wine", "diabetes", "digits"])
def test_honest_tables_are_left_alone(name):
    assert find_leaks(mkl.load_sample(name)) == ()


def test_columns_that_sort_the_rows_are_reported(rows):
    X = np.column_stack([rows, np.arange(200.0), np.sort(rows[:, 0])[::-1], np.repeat([0.0, 1.0], 100)])
    data = number(X, rows[:, 0] * rows[:, 1], ("a", "b", "c", "d", "row", "date", "half"))
    assert kinds(data) == {"row": "order", "date": "order"}
    assert "only falls along the rows" in find_leaks(data)[1].text
    assert rows_in_order(data) == "last"
    assert rows_in_order(data.take(np.arange(200)[::-1])) == "first"
    assert rows_in_order(number(rows, rows[:, 0])) == ""


def test_few_rows_and_tables_without_a_target_say_nothing_of_it(rows):
    assert find_leaks(number(rows[:20], rows[:20, 0])) == ()
    X = np.column_stack([rows, np.arange(200.0)])
    nothing = mkl.Dataset(X, np.ones(200, dtype=np.int64), (), "y", "novelty")
    assert kinds(nothing) == {"x5": "order"}


def test_one_click_leaves_a_column_out():
    from tests.pages import open_app, quiet, upload, words

    pairs = np.random.default_rng(0).uniform(-1, 1, (80, 2))
    lines = [f"{a:.3f},{b:.3f},{np.log(3 + a + b * b):.5f},{3 + a + b * b:.5f}" for a, b in pairs]
    app = upload(open_app(), "\n".join(["a,b,copy,price", *lines]).encode())
    assert "copy alone predicts price" in words(app)
    app.button(key="data_leak_0").click()
    assert "copy alone predicts price" not in words(quiet(app.run()))


def test_one_click_tests_on_the_newest_rows():
    from tests.pages import open_app, quiet, upload

    pairs = np.random.default_rng(0).uniform(-1, 1, (80, 2))
    lines = [f"{3 + 1.5 * row},{a:.3f},{b:.3f},{a + b * b:.5f}" for row, (a, b) in enumerate(pairs)]
    app = upload(open_app(), "\n".join(["hours,a,b,price", *lines]).encode())
    app.button(key="data_by_time_0").click()
    assert quiet(app.run()).selectbox(key="field_hold_out").value == "last"


@pytest.mark.parametrize(("form", "newest"), [("%Y-%m-%d", "last"), ("%d.%m.%Y", "last"), ("%m/%d/%Y %H:00", "first")])
def test_rows_in_the_order_of_dates_are_noted_with_a_split_by_time(form, newest):
    days = [date(2020, 1, 1) + timedelta(days=row) for row in range(80)][:: -1 if newest == "first" else 1]
    lines = [f"{day.strftime(form)},{row % 7},{row % 5},{row % 7 + row % 3}" for row, day in enumerate(days)]
    found = read_table("\n".join(["day,a,b,price", *lines]).encode())
    (note,) = [note for note in found.notes if "in the order of 'day'" in note]
    assert repairs_of(note) == (Repair.of("Split by time", hold_out=newest),)
    assert newest_rows(np.random.default_rng(0).permutation([f"{day}" for day in days])) == ""
