"""Bands between two quantiles: they cover, are wide where the target varies, and are their formula."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import mklcore as mkl
from mklcore.errors import DataError, ParameterError
from tests.helpers.every import every


def uneven(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 1))
    return X, X[:, 0] + (0.1 + np.abs(X[:, 0])) * rng.standard_normal(n)


@every("cv", ["split", 4])
def test_bands_cover_and_are_wide_where_the_target_varies(cv):
    covered, ratio = [], []
    model = mkl.LpMKLRegressor(kernels=mkl.KernelDictionary.rbf_grid([0.5]), p=2.0)
    for seed in range(4 if cv == "split" else 2):
        X, y = uneven(600, seed)
        band = mkl.QuantileBand(model, cv=cv).fit(X[:300], y[:300])
        ends = band.predict_interval(X[300:])
        covered.append(np.mean((ends[:, 0] <= y[300:]) & (y[300:] <= ends[:, 1])))
        narrow, wide = np.diff(band.predict_interval([[0.0], [0.8]]))[:, 0]
        ratio.append(wide / narrow)
        assert np.all(ends[:, 0] <= ends[:, 1])
    assert 0.86 < np.mean(covered) < 0.95
    assert np.mean(ratio) > 2.0


def test_a_split_band_is_its_formula():
    X, y = uneven(120, 5)
    model = mkl.LpMKLRegressor(kernels=mkl.KernelDictionary.rbf_grid([1.0]))
    band = mkl.QuantileBand(model, level=0.8, cv=0.5).fit(X, y)
    ends = band.estimator_.ends(X)
    size = np.sort(band.scores_)[int(np.ceil(0.8 * 61)) - 1]
    expected = ends + np.array([-size, size])
    whole = expected[:, 0] <= expected[:, 1]
    assert band.predict_interval(X)[whole] == pytest.approx(expected[whole])


def test_refusals_of_a_band():
    X, y = uneven(30, 0)
    with pytest.raises(ParameterError, match="such as LpMKLRegressor"):
        mkl.QuantileBand(Ridge()).fit(X, y)
    with pytest.raises(DataError, match="held-out rows"):
        mkl.QuantileBand(level=0.99).fit(X, y).predict_interval(X)
