"""Machines against scikit-learn and closed forms, by objective; gaps must be true."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR, OneClassSVM

from mklcore.problem.losses import LOSSES, Hinge, make_loss
from mklcore.problem.machines import solve_machine
from mklcore.problem.solution import MachineTask
from mklcore.problem.svm import solve_svm, without_slope
from tests.helpers.every import every


def problem(seed, n=80, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    score = X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * rng.standard_normal(n)
    K = np.exp(-((X[:, None, :] - X[None, :, :]) ** 2).sum(-1) / (2 * d))
    K.flags.writeable = False
    return X, K, np.where(score > 0, 1.0, -1.0), score


def solved(loss, K, y, C, fit_intercept=True, accuracy=1e-10, **more):
    task = MachineTask(y, C, make_loss(loss), fit_intercept)
    return solve_machine(K, task, accuracy=accuracy, **more)


def dual_of(svm, n):
    a = np.zeros(n)
    a[svm.support_] = svm.dual_coef_[0]
    return a


@every("C", [0.01, 1.0, 100.0])
@every("epsilon, n", [(None, 80), (None, 260), (0.0, 80), (0.3, 80), (0.3, 260)])
def test_hinge_and_tube_equal_libsvm_in_dual_objective(epsilon, n, C):
    _, K, labels, target = problem(0, n)
    settings = {"C": C, "kernel": "precomputed", "tol": 1e-10}
    if epsilon is None:
        loss = "hinge"
        y = labels
        svm = SVC(**settings)
    else:
        loss = make_loss("epsilon_insensitive", epsilon=epsilon)
        y = target
        svm = SVR(epsilon=epsilon, **settings)
    found = solved(loss, K, y, C)
    a = dual_of(svm.fit(K, y), n)
    ours, theirs = (
        y @ v - (epsilon or 0.0) * np.abs(v).sum() - 0.5 * v @ K @ v for v in (found.dual, a)
    )
    assert ours == pytest.approx(theirs, rel=1e-7)
    assert found.gap <= 1e-9 * found.objective


@every("nu", [0.05, 0.23, 0.5, 0.9])
def test_nu_form_equals_one_class_svm(nu):
    K = problem(7)[1]
    n = 80
    found = solved(make_loss("nu_one_class", nu=nu), K, np.ones(n), 1 / (nu * n))
    svm = OneClassSVM(nu=nu, kernel="precomputed", tol=1e-10).fit(K)
    a = dual_of(svm, n)
    total = svm.dual_coef_.sum()
    assert found.dual @ K @ found.dual == pytest.approx(a @ K @ a / total**2, rel=1e-7)
    assert -found.intercept == pytest.approx(svm.offset_[0] / total, rel=1e-6)


def test_smooth_machines_equal_their_equations_and_the_linear_model():
    X, K, labels, target = problem(2)
    for C in (0.1, 10.0):
        found = solved("squared", K, target, C)
        assert found.dual == pytest.approx(
            C * (target - K @ found.dual - found.intercept), abs=1e-9 * C
        )
        assert abs(found.dual.sum()) < 1e-10
    found = solved("logistic", X @ X.T, labels, 2.0)
    linear = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(X, labels)
    assert found.dual @ X == pytest.approx(linear.coef_[0], abs=1e-5)
    assert found.intercept == pytest.approx(linear.intercept_[0], abs=1e-5)


@every("fit_intercept", [True, False])
@every("name", LOSSES)
def test_gap_is_true_and_warm_equals_cold(name, fit_intercept):
    if name in ("one_class", "nu_one_class"):  # each form has or has not its offset
        fit_intercept = name == "nu_one_class"
    _, K, labels, target = problem(4)
    y = (
        target
        if "regression" in make_loss(name).tasks
        else np.ones(80)
        if "one_class" in name
        else labels
    )
    asked = name, K, y, 1.0 / (0.5 * 80) if name == "nu_one_class" else 1.0, fit_intercept
    sharp, rough = (solved(*asked, accuracy=accuracy) for accuracy in (1e-9, 1e-2))
    assert rough.objective - sharp.objective <= rough.gap + 1e-9
    assert sharp.gap <= 1e-9 * max(1.0, abs(sharp.objective))
    for warm in (rough.dual * 0.9, np.full(80, 50.0)):  # the second is brought into the box
        assert solved(*asked, accuracy=1e-9, warm=warm).objective == pytest.approx(
            sharp.objective, rel=1e-7
        )


# A constant


def test_where_no_slope_pays_a_linear_program_finds_the_dual_of_the_constant(rng):
    x = rng.normal(size=300)
    y = np.where(np.arange(300) < 12, 1.0, -1.0)
    K = np.outer(x, x)
    C = 10.0
    low, high = Hinge().box(y, C)
    a = without_slope(K, y, low, high, -0.9)
    assert np.all((low <= a) & (a <= high))
    assert a.sum() == pytest.approx(0.0, abs=1e-10)
    np.testing.assert_allclose(K @ a, 0.0, atol=1e-9)
    found = solve_svm(K, MachineTask(y, C, Hinge(), True))
    # every row of the small class costs 2
    assert found.objective == pytest.approx(24 * C, rel=1e-12)
    assert found.intercept == pytest.approx(-1.0)
    assert found.gap <= 1e-12 * found.objective
    assert found.steps < 1000


def test_a_diagonal_that_rounding_has_made_negative_divides_by_nothing(rng):
    x = np.concatenate([np.zeros(3), rng.normal(size=37)])
    K = np.outer(x, x)
    K[:3, :3] = -2.6e-35
    y = np.where(np.arange(40) == 0, 1.0, -1.0)
    task = MachineTask(y, 0.45, make_loss("hinge"), True)
    cold = solve_svm(K, task)
    start = np.where(y > 0, 0.3, -0.3 / 39)
    warm = solve_svm(K, task, warm=start, accuracy=1e-4)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-3)
