"""Scores on the same rows with the errors of their gaps, against what is known of means and of R2."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score

from mklcore.errors import DataError
from mklcore.paths.scoring import GROUPS, PairedScore, Predictions, compare_scores, predictions

RNG = np.random.default_rng(0)


def classes(n=400):
    X = RNG.normal(size=(n, 2))
    return X, (X[:, 0] + RNG.normal(size=n) > 0).astype(int)


def test_errors_of_shares_of_rows_are_those_of_means():
    X, y = classes()
    first, second = (predictions(LogisticRegression().fit(X[:, [j]], y), X[:, [j]]) for j in (0, 1))
    right = [np.asarray(one.answers == y, dtype=float) for one in (first, second)]
    ours, other = compare_scores([first, second], y, "accuracy")
    assert (ours.score, ours.gap) == (pytest.approx(right[0].mean()), 0.0)
    assert ours.error == pytest.approx(right[0].std() / np.sqrt(y.size), rel=0.3)
    assert other.gap == pytest.approx((right[0] - right[1]).mean())
    assert other.gap_error == pytest.approx((right[0] - right[1]).std() / np.sqrt(y.size), rel=0.3)
    assert other.place == "ahead"


def test_intervals_of_r2_cover_the_gap_on_new_rows():
    def rows(n):
        X = RNG.normal(size=(n, 2))
        return X, X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=n)

    models = [LinearRegression().fit(*(lambda X, y: (X[:, :k], y))(*rows(500))) for k in (1, 2)]
    X, y = rows(200_000)
    truth = r2_score(y, models[0].predict(X[:, :1])) - r2_score(y, models[1].predict(X))
    covered = []
    for _ in range(100):
        X, y = rows(200)
        found = compare_scores([predictions(models[0], X[:, :1]), predictions(models[1], X)], y, "r2")[1]
        covered.append(abs(found.gap - truth) <= 2 * found.gap_error)
    assert 0.88 <= np.mean(covered) <= 1.0


def test_equal_models_are_level_and_few_rows_have_no_error():
    X, y = classes(60)
    said = predictions(LogisticRegression().fit(X, y), X)
    _, same = compare_scores([said, said], y, "balanced_accuracy")
    assert (same.gap, same.gap_error, same.place) == (0.0, 0.0, "level")
    few = compare_scores([said.take(np.arange(10))], y[:10], "accuracy")[0]
    assert np.isnan(few.error)
    assert few.place == "level"
    assert PairedScore(0.8, 0.01, -0.1, 0.02).place == "behind"
    with pytest.raises(DataError, match="one answer for each"):
        compare_scores([said], y[:GROUPS], "accuracy")


def test_ranks_are_scored_by_decisions():
    X, y = classes()
    said = predictions(LogisticRegression().fit(X, y), X)
    turned = Predictions(said.model, -said.decision, said.answers)
    ours, other = compare_scores([said, turned], y, "roc_auc")
    assert other.score == pytest.approx(1.0 - ours.score)
    assert other.gap_error == pytest.approx(2 * ours.error)
