"""p = infinity above the stack limit: one running sum and one machine, whatever the number of
kernels.
"""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

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
from mklcore.problem.problem import Problem
from tests.helpers.every import EVERY_CASE, every
from tests.helpers.proofs import assert_proved

KERNELS = KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + KernelDictionary.per_feature(Linear(), 40)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 40))
    return X, X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(90)


@every("model", [
    LpMKLClassifier(p=np.inf, kernels=KERNELS, loss="logistic", solver="wrapper", tol=1e-6),
    UniformMKLClassifier(kernels=KERNELS, tol=1e-6),
    LpMKLRegressor(p=np.inf, kernels=KERNELS, loss="epsilon_insensitive", tol=1e-6),
    UniformMKLRegressor(kernels=KERNELS, tol=1e-6),
])  # fmt: skip
def test_above_the_limit_one_machine_is_the_optimum_of_the_stack(table, model, monkeypatch):
    X, y = table
    y, decide = (
        (y > 0, type(model).decision_function) if is_classifier(model) else (y, type(model).predict)
    )
    stored = clone(model).fit(X, y)
    with monkeypatch.context() as changed:
        changed.setattr("mklcore.kernels.dictionary.STACK_LIMIT_MB", 0.1)
        changed.setattr(
            Rows, "rows", lambda self, rows: pytest.fail("rows of all kernels were asked for")
        )
        summed = clone(model).fit(X, y)
        assert summed.status_.ok
        assert summed.n_solves_ <= 4
        assert summed.objective_ == pytest.approx(stored.objective_, rel=1e-5)
        assert summed.weights_ == pytest.approx(np.ones(43))
        assert decide(summed, X) == pytest.approx(decide(stored, X), abs=1e-2)


def test_where_hardly_a_slope_pays_the_certificate_reaches_its_tolerance_and_a_constant_is_one(rng):
    hinge = make_loss("hinge")
    rare = 15 if EVERY_CASE else 10
    n = 20 * rare
    # the constant errs by 2 on every row of the rare class, at C = 100
    of_constant = 200.0 * rare
    # no column sees the rare class
    x = rng.normal(size=(n, 2))
    y = np.where(np.arange(n) < rare, 1.0, -1.0)
    K = KernelDictionary.per_feature(RBF(1.0, relative=True), 2).grams(x).values
    pairs = run(
        Reweighting(Problem(y, 100.0, hinge, True, K, LpNorm(np.inf)), tol=1e-3),
        tol=1e-3,
        max_iter=50,
    )
    fit = fit_weighted(K, y, 100.0, hinge, LpNorm(np.inf), True)
    assert fit.status.ok
    # pairs may stand still, as their rounding has it
    assert fit.gap < max(0.01 * pairs.gap, 1e-9 * fit.objective)
    assert pairs.dual_objective <= fit.objective <= of_constant
    assert_proved(fit, K, y, hinge, 100.0, LpNorm(np.inf), rel=1e-9)
    alone = fit_weighted(np.outer(x[:, 0], x[:, 0])[None], y, 100.0, hinge, LpNorm(np.inf), True)
    assert alone.status.ok
    assert alone.objective == pytest.approx(of_constant, rel=1e-12)
    assert alone.intercept == pytest.approx(-1.0)
