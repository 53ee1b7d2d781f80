"""What is said of a column is true of it: sentences over generated columns, whose numbers are counted again."""

import re

import numpy as np
import pandas as pd
import pytest

from mklcore.data.columns import MAX_LEVELS
from mklcore.data.reading import describe_table, read_table
from tests.helpers.every import every

SEEDS = range(5)


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
