"""Machines against scikit-learn and closed forms, by objective; gaps must be true."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR, OneClassSVM

from mklcore.problem.losses import LOSSES, Hinge, make_loss
from mklcore.problem.machines import machine_of
from mklcore.problem.svm import solve_svm, without_slope
from tests.helpers.every import every


def _problem(seed, n=80, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * rng.standard_normal(n)
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(-1)
    return X, np.exp(-squares / (2 * d)), np.where(score > 0, 1.0, -1.0), score


@every("C", [0.01, 1.0, 100.0])
@every("seed, n", [(0, 80), (1, 80), (0, 260)])
def test_hinge_equals_svc_in_dual_objective(seed, n, C):
    _, K, y, _ = _problem(seed, n)
    found = machine_of(make_loss("hinge"))(K, y, C, make_loss("hinge"), True, accuracy=1e-10)
    svc = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K, y)
    a = np.zeros(y.size)
    a[svc.support_] = svc.dual_coef_[0]
    ours, theirs = (y @ v - 0.5 * v @ K @ v for v in (found.dual, a))
    assert ours == pytest.approx(theirs, rel=1e-8)
    assert found.gap <= 1e-9 * found.objective


@every("C", [0.01, 1.0, 100.0])
@every("epsilon, n", [(0.0, 80), (0.3, 80), (0.3, 260)])
def test_epsilon_equals_svr_in_dual_objective(C, epsilon, n):
    _, K, _, target = _problem(0, n)
    found = machine_of(make_loss("epsilon_insensitive"))(
        K, target, C, make_loss("epsilon_insensitive", epsilon=epsilon), True, accuracy=1e-10
    )
    svr = SVR(C=C, kernel="precomputed", tol=1e-10, epsilon=epsilon).fit(K, target)
    a = np.zeros(target.size)
    a[svr.support_] = svr.dual_coef_[0]
    ours, theirs = (target @ v - epsilon * np.abs(v).sum() - 0.5 * v @ K @ v for v in (found.dual, a))
    assert ours == pytest.approx(theirs, rel=1e-7)


@every("C", [0.1, 10.0])
def test_ridge_with_intercept_solves_its_equations(C):
    _, K, _, target = _problem(2)
    found = machine_of(make_loss("squared"))(K, target, C, make_loss("squared"), True)
    residual = target - K @ found.dual - found.intercept
    assert found.dual == pytest.approx(C * residual, abs=1e-9 * C)
    assert abs(found.dual.sum()) < 1e-10
    assert abs(found.gap) <= 1e-10 * found.objective


def test_logistic_equals_the_linear_model():
    X, _, y, _ = _problem(3)
    found = machine_of(make_loss("logistic"))(X @ X.T, y, 2.0, make_loss("logistic"), True, accuracy=1e-10)
    linear = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(X, y)
    assert found.dual @ X == pytest.approx(linear.coef_[0], abs=1e-5)
    assert found.intercept == pytest.approx(linear.intercept_[0], abs=1e-5)


@every("fit_intercept", [True, False])
@every("name", list(LOSSES))
def test_gap_is_true_and_warm_equals_cold(name, fit_intercept):
    if name in ("one_class", "nu_one_class"):  # each form has or has not its offset
        fit_intercept = name == "nu_one_class"
    _, K, labels, target = _problem(4)
    cost = 1.0 / (0.5 * len(labels)) if name == "nu_one_class" else 1.0
    loss = make_loss(name)
    y = target if "regression" in loss.tasks else labels
    y = np.ones_like(y) if "one_class" in name else y
    sharp = machine_of(make_loss(name))(K, y, cost, loss, fit_intercept, accuracy=1e-9)
    rough = machine_of(make_loss(name))(K, y, cost, loss, fit_intercept, accuracy=1e-2)
    warm = machine_of(make_loss(name))(K, y, cost, loss, fit_intercept, warm=rough.dual * 0.9, accuracy=1e-9)
    assert warm.objective == pytest.approx(sharp.objective, rel=1e-8)
    assert rough.objective - sharp.objective <= rough.gap + 1e-9
    assert sharp.gap <= 1e-9 * max(1.0, abs(sharp.objective))


@every("nu", [0.05, 0.23, 0.5, 0.9])
def test_nu_form_equals_one_class_svm(nu):
    _, K, _, _ = _problem(7)
    y = np.ones(len(K))
    found = machine_of(make_loss("nu_one_class"))(
        K, y, 1 / (nu * len(K)), make_loss("nu_one_class", nu=nu), True, accuracy=1e-10
    )
    svm = OneClassSVM(nu=nu, kernel="precomputed", tol=1e-10).fit(K)
    a = np.zeros(len(K))
    a[svm.support_] = svm.dual_coef_[0] / svm.dual_coef_.sum()
    assert found.dual @ K @ found.dual == pytest.approx(a @ K @ a, rel=1e-7)
    assert -found.intercept == pytest.approx(svm.offset_[0] / svm.dual_coef_.sum(), rel=1e-6)


def test_read_only_kernels_are_accepted():
    _, K, y, _ = _problem(5)
    free = machine_of(make_loss("hinge"))(K, y, 1.0, make_loss("hinge"), True, accuracy=1e-6)
    K.flags.writeable = False
    assert (
        machine_of(make_loss("hinge"))(K, y, 1.0, make_loss("hinge"), True, accuracy=1e-6).objective == free.objective
    )


def test_a_warm_start_outside_the_box_is_brought_inside():
    _, K, y, _ = _problem(6)
    wild = np.full(y.size, 50.0)
    found = machine_of(make_loss("hinge"))(K, y, 1.0, make_loss("hinge"), True, warm=wild, accuracy=1e-8)
    cold = machine_of(make_loss("hinge"))(K, y, 1.0, make_loss("hinge"), True, accuracy=1e-8)
    assert found.objective == pytest.approx(cold.objective, rel=1e-7)


# A constant


def test_where_no_slope_pays_a_linear_program_finds_the_dual_of_the_constant():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=300), np.where(np.arange(300) < 12, 1.0, -1.0)
    K, C = np.outer(x, x), 10.0
    low, high = Hinge().box(y, C)
    a = without_slope(K, y, low, high, -0.9)
    assert np.all((low <= a) & (a <= high))
    assert a.sum() == pytest.approx(0.0, abs=1e-10)
    np.testing.assert_allclose(K @ a, 0.0, atol=1e-9)
    found = solve_svm(K, y, C, Hinge(), True)
    assert found.objective == pytest.approx(24 * C, rel=1e-12)  # every row of the small class costs 2
    assert found.intercept == pytest.approx(-1.0)
    assert found.gap <= 1e-12 * found.objective
    assert found.steps < 1000


def test_a_diagonal_that_rounding_has_made_negative_divides_by_nothing():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.zeros(3), rng.normal(size=37)])
    K = np.outer(x, x)
    K[:3, :3] = -2.6e-35
    y = np.where(np.arange(40) == 0, 1.0, -1.0)
    cold = solve_svm(K, y, 0.45, make_loss("hinge"), True)
    start = np.where(y > 0, 0.3, -0.3 / 39)
    warm = solve_svm(K, y, 0.45, make_loss("hinge"), True, warm=start, accuracy=1e-4)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-3)
