"""p = infinity above the stack limit: one running sum and one machine, whatever the number of kernels."""

import numpy as np
import pytest

from mklcore.estimators.baselines import UniformMKLClassifier, UniformMKLRegressor
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, Linear
from mklcore.kernels.grams import Rows
from mklcore.lp.reweighting import Reweighting
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.driver import run
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm
from mklcore.problem.problem import Problem, certificate

KERNELS = KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + KernelDictionary.per_feature(Linear(), 40)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 40))
    return X, X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(90)


@pytest.mark.parametrize(
    "model",
    [
        LpMKLClassifier(p=np.inf, kernels=KERNELS),
        LpMKLClassifier(p=np.inf, kernels=KERNELS, loss="logistic", solver="wrapper"),
        UniformMKLClassifier(kernels=KERNELS, loss="squared"),
        LpMKLRegressor(p=np.inf, kernels=KERNELS, loss="epsilon_insensitive"),
        UniformMKLRegressor(kernels=KERNELS),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.loss}",
)
def test_above_the_limit_one_machine_is_the_optimum_of_the_stack(table, model, monkeypatch):
    X, y = table
    y = np.where(y > 0, 1, -1) if "Classifier" in type(model).__name__ else y
    stored = model.copy_with("tol", 1e-6).fit(X, y)
    monkeypatch.setattr("mklcore.kernels.dictionary.STACK_LIMIT_MB", 0.1)
    monkeypatch.setattr(Rows, "rows", lambda self, rows: pytest.fail("rows of all kernels were asked for"))
    summed = model.copy_with("tol", 1e-6).fit(X, y)
    assert summed.status_.ok
    assert summed.n_solves_ <= 4
    assert summed.objective_ == pytest.approx(stored.objective_, rel=1e-5)
    assert summed.weights_ == pytest.approx(np.ones(43))
    reported = "decision_function" if hasattr(model, "decision_function") else "predict"
    assert getattr(summed, reported)(X) == pytest.approx(getattr(stored, reported)(X), abs=1e-2)


def test_where_hardly_a_slope_pays_the_certificate_reaches_its_tolerance():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), np.where(np.arange(300) < 15, 1.0, -1.0)  # no column sees the rare class
    K = KernelDictionary.per_feature(RBF(1.0, relative=True), 2).grams(x).values
    problem = Problem(K, y, 100.0, make_loss("hinge"), LpNorm(np.inf), True)
    pairs = run(Reweighting(problem, tol=1e-3), tol=1e-3, max_iter=50)
    fit = fit_weighted(K, y, 100.0, make_loss("hinge"), LpNorm(np.inf), True)
    assert fit.status.ok
    assert fit.gap < max(0.01 * pairs.gap, 1e-9 * fit.objective)  # pairs may stand still, as their rounding has it
    assert pairs.dual_objective <= fit.objective <= 3000.0  # the constant errs on every row of the rare class
    np.testing.assert_array_equal(fit.weights, np.ones(2))
    reported = certificate(
        K, y, fit.weights, fit.dual_coef, fit.intercept, "hinge", 100.0, LpNorm(np.inf), fit.dual_point
    )
    assert reported == pytest.approx((fit.objective, fit.dual_objective), rel=1e-9)


def test_a_model_that_is_a_constant_is_reported_as_one():
    x, y = np.random.default_rng(0).normal(size=300), np.where(np.arange(300) < 12, 1.0, -1.0)
    fit = fit_weighted(np.outer(x, x)[None], y, 100.0, make_loss("hinge"), LpNorm(np.inf), True)
    assert fit.status.ok
    assert fit.objective == pytest.approx(2400.0, rel=1e-12)
    assert fit.intercept == pytest.approx(-1.0)
