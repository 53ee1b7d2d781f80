"""What is said of a column is true of it: sentences over generated columns, whose numbers are counted again."""

import re

import numpy as np
import pandas as pd
import pytest

from mklcore.data.columns import MAX_LEVELS, Note
from mklcore.data.dataset import Dataset
from mklcore.data.reading import describe_table, read_table
from mklcore.data.target import find_leaks
from tests.helpers.every import every

SEEDS = range(5)
COUNTED = re.compile(r"'([^']+)' \((\d+), with ([^)]+)\)")


def columns_of(random, n):
    """Columns of every kind that a file may hold, as cells."""
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n), unit="D")
    kinds = {
        "constant": np.full(n, random.integers(-5, 5)),
        "few": random.integers(0, random.integers(2, 6), n),
        "whole": random.integers(-1000, 1000, n),
        "negative": -random.uniform(1, 2, n),
        "huge": random.normal(0, 1, n) * 10.0 ** random.integers(6, 30),
        "tiny": random.normal(0, 1, n) * 10.0 ** -random.integers(6, 30),
        "skewed": np.exp(random.normal(0, 3, n)).round(3),
        "nearly one value": np.where(random.random(n) < 0.9, 0.0, random.random(n)),
        "bool": random.choice(["true", "false"], n),
        "words": random.choice(list("abcdefghijklmnopqrstuvwxyz")[: random.integers(1, 26)], n),
        "customer id": random.permutation(n) + 1000,
        "counter": np.arange(n),
        "day": days.strftime("%Y-%m-%d"),
        "coded": np.where(random.random(n) < 0.2, -999.0, random.normal(20, 3, n).round(2)),
        "nothing": np.full(n, ""),
    }
    found = {name: list(cells) for name, cells in kinds.items()}
    for name in random.choice(list(found), 7, replace=False):
        for row in np.flatnonzero(random.random(n) < random.choice([0.05, 0.7])):
            found[name][row] = random.choice(["", "NA"])
    found["target"] = list(random.normal(0, 1, n).round(4))
    return found


def table_of(seed):
    random = np.random.default_rng(seed)
    columns = columns_of(random, int(random.integers(40, 120)))
    return pd.DataFrame(columns).to_csv(index=False).encode(), columns


def present(cells):
    return [cell for cell in cells if cell not in ("", "NA")]


@every("seed", SEEDS)
def test_what_is_said_of_a_column_of_a_file_is_true_of_its_cells(seed):
    content, cells = table_of(seed)
    read, members = read_table(content, "target"), None
    members = dict(read.columns)
    for column in describe_table(content).columns:
        kept = present(cells[column.name])
        assert (column.missing, column.distinct) == (len(cells[column.name]) - len(kept), len(set(kept)))
        if column.kind == "constant":
            assert column.done == "left out: one value only"
            assert len(set(kept)) == 1
        if column.kind == "empty":
            assert not kept
        if column.done == "used as it is":
            assert not column.missing
        if filled := re.search(r"(\d+) missing cells? filled with the median (\S+)", column.done):
            assert int(filled[1]) == column.missing
            assert float(filled[2]) == pytest.approx(np.median(kept), rel=5e-4)
        if "0 and 1" in column.done and column.used:
            values = read.X[:, list(members[column.name])]
            numbers = [int(number) for number in re.findall(r"\d+", column.done.split("0 and 1", 1)[1])]
            if column.done.startswith("columns"):
                wanted = numbers[0] + ("for others" in column.done) + ("for missing" in column.done)
                assert values.shape[1] == wanted
                assert numbers[-1] == column.distinct
                assert ("for missing" in column.done) == bool(column.missing)
                assert ("for others" in column.done) == (column.distinct > MAX_LEVELS)
            else:
                assert values.shape[1] == 1
                assert values.sum() == (len(kept) if column.missing else kept.count(sorted(set(kept))[1]))


@every("seed", SEEDS)
@every("sentinels", ["keep", "missing"])
def test_notes_on_reading_count_what_is_in_the_cells(seed, sentinels):
    content, cells = table_of(seed)
    data = read_table(content, "target", sentinels=sentinels)
    gone = {name: len(one) - len(present(one)) for name, one in cells.items()}
    coded = {}
    for note in data.notes:
        if note.startswith(("Read as missing", "Probably missing values")):
            for value, name, count in re.findall(r"(-?[\d.]+) in '([^']+)' \((\d+) cells?\)", note):
                assert cells[name].count(float(value)) == int(count)
                coded[name] = (float(value), int(count) if sentinels == "missing" else 0)
    for note in data.notes:
        if "filled with the median" in note:
            each = COUNTED.findall(note)
            total, named = int(note.split()[0].replace(",", "")), sum(int(count) for _, count, _ in each)
            assert total > named if note.endswith(" more.") else total == named
            for name, count, median in each:
                value, more = coded.get(name, (None, 0))
                assert int(count) == gone[name] + more
                rest = [cell for cell in present(cells[name]) if not more or cell != value]
                assert float(median) == pytest.approx(np.median(rest), rel=5e-4)
        for sign, true in (
            ("one value only", lambda one: len(set(present(one))) == 1),
            ("empty in every row", lambda one: not present(one)),
            ("More than half of the cells are missing", lambda one: 2 * len(present(one)) < len(one)),
            ("A missing value counts as a category", lambda one: 0 < len(present(one)) < len(one)),
        ):
            if sign in note:
                assert all(true(cells[name]) for name in re.findall(r"'([^']+)'", note.split(". To")[0]))
    assert all(isinstance(note, Note) or note for note in data.notes)


@every("seed", SEEDS)
def test_a_column_that_is_said_to_sort_the_rows_does_and_one_that_explains_the_target_goes_with_it(seed):
    random = np.random.default_rng(seed)
    y = random.normal(size=60)
    X = np.column_stack([np.sort(random.normal(size=60))[:: random.choice([-1, 1])], np.exp(y), random.normal(size=60)])
    names = ("sorted", "copy", "noise")
    found = {leak.column: leak for leak in find_leaks(Dataset(X, y, names, "y", "regression"))}
    assert set(found) == {"sorted", "copy"}
    steps = np.diff(X[:, 0])
    assert ("only rises" in found["sorted"].text) == bool((steps >= 0).all())
    assert ("only falls" in found["sorted"].text) == bool((steps <= 0).all())
    share = float(re.search(r"\((\S+)% of the variance of its ranks", found["copy"].text)[1])
    assert share == pytest.approx(100 * found["copy"].strength, abs=0.051)
