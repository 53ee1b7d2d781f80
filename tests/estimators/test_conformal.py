"""Conformal intervals and sets: the formulas by brute force, the closed form against refits,
coverage, refusals.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from mklcore import (
    Conformal,
    DataError,
    LpMKLClassifier,
    LpMKLOneClass,
    ParameterError,
    load_sample,
)
from tests.helpers.every import every
from tests.helpers.refusals import parameter_error


def line(n, seed):
    rng = default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, X[:, 0] + 0.5 * rng.standard_normal(n)


def test_cv_plus_is_its_formula():
    X, y = line(40, 0)
    new = line(7, 1)[0]
    found = Conformal(Ridge(), level=0.8, cv=KFold(4)).fit(X, y).predict_interval(new)
    low = []
    high = []
    for train, held in KFold(4).split(X):
        model = Ridge().fit(X[train], y[train])
        for i in held:
            size = abs(y[i] - model.predict(X[[i]])[0])
            low.append(model.predict(new) - size)
            high.append(model.predict(new) + size)
    k = int(np.ceil(0.8 * 41))
    # the floor(0.2 * 41) = 8th smallest
    assert found[:, 0] == pytest.approx(np.sort(low, axis=0)[40 - k])
    assert found[:, 1] == pytest.approx(np.sort(high, axis=0)[k - 1])


def test_a_split_is_the_prediction_and_one_quantile():
    X, y = line(80, 0)
    half = ShuffleSplit(1, test_size=0.5, random_state=0)
    model = Conformal(Ridge(), level=0.9, cv=half).fit(X, y)
    assert model.scores_.size == 40
    size = np.sort(model.scores_)[int(np.ceil(0.9 * 41)) - 1]
    middle = model.models_[0].predict(X)
    assert model.predict_interval(X) == pytest.approx(
        np.column_stack([middle - size, middle + size])
    )


def test_sets_are_their_formula():
    X, y = load_iris(return_X_y=True)
    rows = default_rng(0).permutation(150)
    X = X[rows][:, :2]
    y = y[rows]
    model = Conformal(LogisticRegression(), level=0.9, cv=KFold(5)).fit(X[:100], y[:100])
    found = model.predict_set(X[100:])
    scores = np.empty(100)
    against = np.empty((100, 50, 3))
    for train, held in KFold(5).split(X[:100]):
        one = LogisticRegression().fit(X[train], y[train])

        def margin(rows, one=one):
            f = one.decision_function(rows)
            return np.stack(
                [np.delete(f, c, axis=1).max(axis=1) - f[:, c] for c in range(3)], axis=1
            )

        scores[held] = margin(X[held])[np.arange(held.size), y[held]]
        against[held] = margin(X[100:])
    expected = np.sum(scores[:, None, None] < against, axis=0) < 0.9 * 101
    expected[np.arange(50), model.predict(X[100:])] = True
    assert np.array_equal(found, expected)
    assert 1.0 < found.sum(axis=1).mean() < 2.5


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB(), LpMKLClassifier()], ids=repr)
def test_the_set_of_a_row_does_not_depend_on_the_rows_beside_it(model):
    X, y = load_iris(return_X_y=True)
    sets = Conformal(model, level=0.95).fit(X[::2, :2], y[::2])
    together = sets.predict_set(X[1::2, :2])
    alone = [sets.predict_set(row[None, :2])[0] for row in X[1::2]]
    assert np.array_equal(together, alone)
    for seed in range(5):  # many rows are those of training: their scores are ties, on any machine
        noise = 1.0 + 1e-13 * default_rng(seed).standard_normal((75, 2))
        assert np.array_equal(together, sets.predict_set(X[1::2, :2] * noise))


def test_a_dataset_and_a_class_that_a_fold_does_not_know():
    data = load_sample("iris")
    # one row of the third class: never held out
    few = data.take([*range(0, 30), *range(50, 80), 100])
    model = Conformal(LpMKLClassifier(), cv=3).fit(few)
    assert model.scores_.size == 60
    assert model.predict_set(data).shape == (150, 3)
    without = Conformal(SVC(), cv=KFold(3)).fit(few.X, few.y)  # one fold learns two classes
    assert np.all(np.isfinite(without.scores_[:-1]))
    assert without.scores_[-1] == np.inf


@every(
    "model, rows, options, ask, error, match",
    [
        (Ridge(), 30, {"level": 1.0}, None, ParameterError, "level"),
        (Ridge(), 30, {"level": "high"}, None, ParameterError, "level"),
        (Ridge(), 30, {"cv": 1.5}, None, ParameterError, "cv"),
        (Ridge(), 30, {"cv": "halves"}, None, ParameterError, "cv"),
        (Ridge(), 30, {}, {"level": 2}, ParameterError, "between 0 and 1"),
        (
            Ridge(),
            30,
            {},
            {"level": 0.99},
            DataError,
            "needs at least 99 held-out rows, and there are 30",
        ),
        (Ridge(), 8, {}, {}, DataError, "needs at least 9 held-out rows, and there are 8"),
        (SVC(), 30, {}, {}, ParameterError, "predict_set"),
        (LpMKLOneClass(), 30, {}, None, ParameterError, "neither"),
    ],
)
def test_refusals_say_what_to_do(model, rows, options, ask, error, match):
    X, y = line(rows, 0)
    with pytest.raises(error, match=match):
        Conformal(model, **options).fit(X, y > 0 if isinstance(model, SVC) else y).predict_interval(
            X, **ask
        )


def test_sets_are_of_classes():
    X, y = line(30, 0)
    with parameter_error("predict_interval"):
        Conformal(Ridge()).fit(X, y).predict_set(X)
