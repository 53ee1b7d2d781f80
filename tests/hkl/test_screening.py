"""Columns are screened by what HKL's own grid sees of them."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline

from mklcore import GaussianBasis, HKLRegressor, PolynomialBasis
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
def test_classes_are_reported_apart_by_their_columns(classes):
    y = classes[(X[:, 2] > 0) * 1 + (X[:, 5] > 0.5)]
    assert set(np.argsort(column_scores(X, y))[-2:]) == {2, 5}


def test_blocks_of_columns_and_bases_of_matrices_change_nothing(monkeypatch):
    y = X[:, 3] ** 2 + X[:, 8]
    for basis in (None, GaussianBasis(3)):
        whole = column_scores(X[:60, :12], y[:60], basis=basis, order=2)
        monkeypatch.setattr("mklcore.paths.screening._BLOCK", 5)
        np.testing.assert_allclose(column_scores(X[:60, :12], y[:60], basis=basis, order=2), whole, rtol=1e-12)
        monkeypatch.undo()


def test_a_hull_behind_the_screen_is_certified_and_predicts_from_whole_rows():
    y = X[:, 3] + X[:, 8] + X[:, 3] * X[:, 8]
    hull = HKLRegressor(PolynomialBasis(2), lam=1e-3)
    model = make_pipeline(SelectKBest(column_scores, k=6), hull).fit(X, y)
    assert model[-1].certified_
    assert {3, 8} <= set(model[0].get_support(indices=True))
    assert model.score(X, y) > 0.9


def test_what_cannot_be_screened_is_refused():
    with pytest.raises(ParameterError, match="order must be 1 or 2"):
        column_scores(X, X[:, 0], order=3)
    with pytest.raises(DataError, match="X has 200 rows and y has 3"):
        column_scores(X, np.arange(3.0))
    with pytest.raises(DataError, match="same in every row"):
        column_scores(X, np.ones(200))
