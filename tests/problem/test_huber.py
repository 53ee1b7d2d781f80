"""The Huber loss: its conjugate, its machine against a generic solver in the primal, its limits, and where it is
refused.
"""

import numpy as np
import pytest
from sklearn.base import clone

import mklcore as mkl
from mklcore.errors import ParameterError
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import Huber, make_loss
from mklcore.problem.penalties import LpNorm
from tests.helpers.every import every


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.standard_t(1.5, 40)
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(-1)
    return X, y, np.stack([np.exp(-squares / 2), X[:, :1] @ X[:, :1].T, np.exp(-squares / 0.2)])


def test_the_best_intercept_is_the_midpoint_where_an_interval_is_best():
    # Two points far apart: between them every b is as good, since both residuals are clipped.
    assert Huber(1.0).best_intercept(np.zeros(2), np.array([-5.0, 7.0])) == pytest.approx(1.0)


@every("penalty", [LpNorm(1.0), LpNorm(2.0), LpNorm(np.inf)])
def test_a_large_delta_is_the_squared_loss(case, penalty):
    _, y, K = case
    squared = fit_weighted(K, y, 2.0, make_loss("squared"), penalty, True, tol=1e-6)
    huber = fit_weighted(K, y, 2.0, Huber(1e3), penalty, True, tol=1e-6)
    assert huber.objective == pytest.approx(squared.objective, rel=1e-5)
    assert huber.weights == pytest.approx(squared.weights, abs=5e-3)


def test_a_small_delta_is_the_absolute_error(case):
    """delta |r| - delta^2 / 2 at cost C / delta tends to C |r|: the tube of width zero."""
    _, y, K = case
    insensitive = fit_weighted(K, y, 1.0, make_loss("epsilon_insensitive", epsilon=0.0), LpNorm(2.0), True, tol=1e-6)
    huber = fit_weighted(K, y, 1.0 / 1e-4, Huber(1e-4), LpNorm(2.0), True, tol=1e-6)
    assert huber.objective == pytest.approx(insensitive.objective, rel=1e-3)


def test_by_name_and_as_an_object(case):
    X, y, _ = case
    by_name = mkl.LpMKLRegressor(loss="huber").fit(X, y)
    model = mkl.LpMKLRegressor(loss=mkl.Huber(1.0)).fit(X, y)
    assert model.objective_ == by_name.objective_
    assert clone(model).loss == mkl.Huber(1.0)
    assert mkl.LpMKLRegressor(loss=mkl.Huber(0.1)).fit(X, y).objective_ < model.objective_


def test_refusals(case):
    X, y, _ = case
    with pytest.raises(ParameterError, match="where the loss turns straight"):
        Huber(0.0)
    with pytest.raises(ParameterError, match="loss must be one of hinge, logistic, squared, squared_hinge here"):
        mkl.LpMKLClassifier(loss=Huber()).fit(X, y > 0)
    with pytest.raises(ParameterError, match="loss must be one of squared here"):
        mkl.HKLRegressor(loss="huber").fit(X, y)
