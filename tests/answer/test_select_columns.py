"""Columns distinguished from noise: Benjamini and Hochberg's bound, by hand and on tables, and
refusals.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from mklcore import DataError, Dataset, ParameterError, select_columns
from mklcore.answer import columns
from mklcore.answer.columns import selection_of
from tests.helpers.every import every


@every(
    "p_values, fdr, count",
    [
        ([0.01, 0.02, 0.9, 0.8], 0.05, 2),  # .02 <= .05 * 2 / 4
        ([0.012, 0.026, 0.9, 0.8], 0.05, 1),
        ([0.03, 0.03, 0.03, 0.04], 0.05, 4),  # the largest that holds takes all below it along
        ([0.06, 0.5], 0.1, 0),
        ([], 0.1, 0),
    ],
)
def test_the_bound_by_hand(p_values, fdr, count):
    known = {f"x{k}": value for k, value in enumerate(p_values)}
    divided = SimpleNamespace(notes=())
    found = selection_of(SimpleNamespace(column_p_values=known, divided=divided), fdr)
    assert found.names == tuple(f"x{k}" for k in range(count))
    assert found.threshold == (max(p_values[:count]) if count else 0.0)
    assert (f"Of the {count} columns named" if count else "No column can be named") in found.notes[
        0
    ]


def made(n=160, p=9, task="regression"):
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p))
    y = X[:, 0] + X[:, 1] ** 2 + np.abs(X[:, 2]) + X[:, 3] + X[:, 4] + np.sin(2 * X[:, 5])
    y = y + 0.3 * random.standard_normal(n)
    return Dataset(
        X, y if task == "regression" else np.where(y > np.median(y), "high", "low"), (), "y", task
    )


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_curved_and_straight_columns_are_named(task, monkeypatch):
    monkeypatch.setattr(columns, "MOST_ROWS", 150)
    found = select_columns(made(task=task))
    assert {"x0", "x1", "x3", "x4"} <= set(found.names)
    assert len(found.names) <= 8
    assert found.notes[-1] == "Learned from 150 of 160 rows, drawn at random."


def test_noise_names_no_column():
    random = np.random.default_rng(1)
    found = select_columns(Dataset(random.normal(size=(100, 8)), random.normal(size=100)), fdr=0.05)
    assert (found.names, len(found.p_values)) == ((), 8)


@every(
    "kind, change, words",
    [
        (
            ParameterError,
            {"fdr": 0},
            "fdr is the share of false columns among those named, between 0 and 1; got 0",
        ),
        (ParameterError, {"fdr": True}, "got True"),
        (
            DataError,
            {"data": made(15)},
            "15 rows are too few to tell columns from noise; 20 are needed",
        ),
        (
            DataError,
            {"data": Dataset(np.eye(30), np.ones(30), task="novelty")},
            "has no target",
        ),
    ],
)
def test_refusals(kind, change, words):
    with pytest.raises(kind, match=words):
        select_columns(**({"data": made(40)} | change))
