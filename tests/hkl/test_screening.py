"""Columns are screened by what HKL's own grid sees of them."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest

from mklcore import GaussianBasis, PolynomialBasis
from mklcore.errors import DataError, ParameterError
from mklcore.paths import column_scores
from tests.helpers.every import every

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 30))


def test_scores_are_squared_correlations_with_the_levels_of_a_column():
    y = RNG.standard_normal(200)
    scores = column_scores(X, y, basis=PolynomialBasis(1))
    np.testing.assert_allclose(scores, [np.corrcoef(X[:, i], y)[0, 1] ** 2 for i in range(30)], rtol=1e-9)


def test_a_pair_without_effects_of_its_columns_is_seen_by_the_second_order_alone():
    y = X[:, 4] * X[:, 9] + 0.1 * RNG.standard_normal(200)
    first, second = column_scores(X, y), column_scores(X, y, order=2)
    assert set(np.argsort(second)[-2:]) == {4, 9}
    assert first[[4, 9]].max() < 0.2
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    by_hand = (y - y.mean()) @ (z[:, 4] * z[:, 9]) / np.linalg.norm(y - y.mean()) / np.linalg.norm(z[:, 4] * z[:, 9])
    assert second[4] == pytest.approx(by_hand**2, rel=1e-9)


@every("classes", [np.array(["a", "b", "c"]), np.arange(3)])
def test_the_columns_that_tell_classes_apart_are_selected(classes):
    y = classes[(X[:, 2] > 0) * 1 + (X[:, 5] > 0.5)]
    assert SelectKBest(column_scores, k=2).fit(X, y).get_support(indices=True).tolist() == [2, 5]


def test_blocks_of_columns_and_bases_of_matrices_change_nothing(monkeypatch):
    y = X[:, 3] ** 2 + X[:, 8]
    for basis in (None, GaussianBasis(3)):
        whole = column_scores(X[:60, :12], y[:60], basis=basis, order=2)
        monkeypatch.setattr("mklcore.paths.screening._BLOCK", 5)
        np.testing.assert_allclose(column_scores(X[:60, :12], y[:60], basis=basis, order=2), whole, rtol=1e-12)
        monkeypatch.undo()


@every("y, order, error, words", [
    (X[:, 0], 3, ParameterError, "order must be 1 or 2"),
    (np.arange(3.0), 1, DataError, "X has 200 rows and y has 3"),
    (np.ones(200), 1, DataError, "same in every row"),
])  # fmt: skip
def test_what_cannot_be_screened_is_refused(y, order, error, words):
    with pytest.raises(error, match=words):
        column_scores(X, y, order=order)
