"""Tables nobody prepared: which numbers mean missing, what a word is."""

import numpy as np
import pytest
from numpy.random import default_rng

from mklcore import RBF, Dataset, KernelDictionary, LpMKLRegressor, read_table
from mklcore.answer.effects import effects
from mklcore.data.columns import missing_cells, sentinel_of
from mklcore.data.reading import describe_table
from tests.helpers.every import every
from tests.helpers.refusals import parameter_error


def table(header, *columns):
    lines = [header] if header else []
    return "\n".join(
        lines + [",".join(str(cell) for cell in row) for row in zip(*columns, strict=True)]
    ).encode()


N = 60
RNG = default_rng(0)
NUMBERS = RNG.normal(size=N).round(3)
COIN = ["yes" if i % 3 else "no" for i in range(N)]


def test_columns_without_name_and_value_are_left_out():
    content = table("a,b,,", NUMBERS, COIN, [""] * N, [""] * N)
    data = read_table(content)
    assert (data.feature_names, data.target_name) == (("a",), "b")
    assert any("2 columns without a name and without a value" in note for note in data.notes)


def test_none_is_a_word_among_words_and_missing_among_numbers():
    words = [("none", "guarantor", "co-applicant")[i % 3] for i in range(N)]
    gaps = ["none" if i % 10 == 0 else number for i, number in enumerate(NUMBERS)]
    content = table("debtors,size,y", words, gaps, COIN)
    data = read_table(content)
    assert "debtors=none" in data.feature_names
    assert describe_table(table("debtors,y", words, COIN)).marks == ()
    rows = data.encoder.read(b"debtors,size\nnone,1\nguarantor,none\n").X
    place = data.feature_names.index("debtors=none")
    assert rows[:, place].tolist() == [1.0, 0.0]
    assert any("missing cell" in note and "'size' (6" in note for note in data.notes)


@every(
    "cells, missing",
    [
        (["+", "-", ""], [""]),  # an empty cell is no third value
        (["+", "-", "?"], ["?"]),
        (["+", "-", "*", "."], []),
        (["red", "blue", "-"], ["-"]),
        (["red", "blue", "?", "-", "."], ["?", "-", "."]),
        (["1.5", "2.5", "-", "?"], ["-", "?"]),
        (["red", "NA"], ["NA"]),
        (["-", ""], ["-", ""]),
    ],
)
def test_the_other_values_of_a_column_say_whether_a_mark_is_missing(cells, missing):
    found = missing_cells(np.array(cells, dtype=object))
    assert [cell for cell, gone in zip(cells, found, strict=True) if gone] == missing


def test_a_mark_that_is_one_of_two_values_is_a_value_among_new_rows_too():
    signs = ["+-"[i % 9 < 5] for i in range(N)]
    kinds = [("x", "-")[i % 3 == 0] for i in range(N)]
    gaps = ["?" if i % 9 == 0 else number for i, number in enumerate(NUMBERS)]
    raw = table("a,kind,gappy,approved", NUMBERS, kinds, gaps, signs)
    data = read_table(raw)
    assert (data.n_samples, data.target_name, data.class_names) == (N, "approved", ("+", "-"))
    new = data.encoder.read(
        table("a,kind,gappy,approved", [1, 2], ["-", "-"], ["?", "?"], ["-", "-"])
    )
    at = data.feature_names.index
    assert new.X[:, at("kind=x")].tolist() == [0, 0]
    assert new.X[:, at("gappy")].tolist() == [np.median(data.X[:, at("gappy")])] * 2
    assert list(new.target) == ["-", "-"]


def with_value(value, cells, low=0.0, high=10.0, n=400):
    numbers = default_rng(1).uniform(low, high, n)
    numbers[:cells] = value
    return numbers


@every(
    "value, low, high", [(-200, 0.5, 20), (-999, 0, 100), (9999, 0, 300), (-9, 1, 12), (0, 7, 60)]
)
def test_a_number_that_stands_for_missing_is_noticed(value, low, high):
    found = sentinel_of("a", with_value(value, 12, low, high).round(1))
    assert (found.value, found.cells) == (value, 12)


@every(
    "numbers",
    [
        default_rng(2).poisson(3, 400).astype(float),  # counts from zero
        np.r_[np.zeros(360), default_rng(3).uniform(100, 900, 40)],  # mostly zero
        default_rng(4).integers(-1, 5, 400).astype(float),  # -1 goes on
        default_rng(5).normal(size=400),
        with_value(-200, 1, 0, 20),  # once is no habit
        with_value(99, 12, 0, 100),
        np.array([0.0, 1.0] * 50),
    ],
)
def test_numbers_that_stand_for_themselves_are_not(numbers):
    assert sentinel_of("a", numbers) is None


def test_sentinels_are_reported_and_read_as_missing_when_asked():
    content = table("gas,other,y", with_value(-200, 6, 1, 9, N).round(2), NUMBERS, COIN)
    kept = read_table(content)
    read = read_table(content, sentinels="missing")
    assert kept.X[:, 0].min() == -200
    assert any("Probably missing values: -200 in 'gas' (6 cells)" in note for note in kept.notes)
    assert read.X[:, 0].min() >= 1
    assert any("Read as missing: -200 in 'gas'" in note for note in read.notes)
    assert [tuple(one) for one in describe_table(content).sentinels] == [("gas", -200.0, 6)]
    new = b"gas,other\n-200,1\n3,1\n"
    rows = read.encoder.read(new).X
    assert rows[:, 0].tolist() == [pytest.approx(np.median(read.X[:, 0]), abs=0.5), 3.0]
    assert kept.encoder.read(new).X[0, 0] == -200
    with parameter_error("sentinels is 'drop'; expected one of 'keep', 'missing'"):
        read_table(content, sentinels="drop")


def test_the_columns_of_a_model_that_is_a_constant_are_ranked_with_nothing():
    """Nine zeros of ten: training rows may hold nothing else, and then no row has a weight."""
    X = RNG.normal(size=(20, 3))
    kernels = KernelDictionary.per_feature(RBF(1.0), 3)
    model = LpMKLRegressor(kernels=kernels).fit(X, np.zeros(20))
    data = Dataset(X, RNG.normal(size=20), task="regression")
    assert [one.effect for one in effects(model, data)[0]] == [0.0] * 3
