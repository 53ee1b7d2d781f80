"""Choosing C: exact leave-one-out against n refits, folds, refusals; xi-alpha of the experiments as
a bound.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_score
from sklearn.svm import SVC

from mklcore import (
    GOMPRegressor,
    KernelDictionary,
    Linear,
    LpMKLClassifier,
    SMKLClassifier,
    SMKLRegressor,
    choose_C,
)
from mklcore.gallery.experiments.smkl import xi_alpha
from mklcore.paths.choosing import leave_one_out, machines_of
from mklcore.problem.losses import make_loss
from mklcore.problem.smooth import solve_ridge
from mklcore.problem.solution import MachineTask
from tests.helpers.every import every
from tests.helpers.refusals import refused

KERNELS = KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + KernelDictionary.per_feature(Linear(), 3)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3))
    y = np.sin(2 * X[:, 0]) + 0.4 * rng.standard_normal(40)
    return X, y, np.where(y > 0, 1.0, -1.0)


@every("fit_intercept", [True, False])
@every("C", [0.1, 30.0])
def test_leave_one_out_is_what_n_refits_give(fit_intercept, C, table):
    X, y, _ = table
    stack = KERNELS.grams(X, normalise="trace")
    weights = np.linspace(0.0, 20.0, stack.n_kernels)
    K = np.tensordot(weights, stack.values, 1)
    expected = np.empty(y.size)
    for i in range(y.size):
        rest = np.delete(np.arange(y.size), i)
        part = np.ascontiguousarray(K[np.ix_(rest, rest)])
        fit = solve_ridge(part, MachineTask(y[rest], C, make_loss("squared"), fit_intercept))
        expected[i] = y[i] - (K[i, rest] @ fit.dual + fit.intercept)
    assert leave_one_out(K, y, C, fit_intercept=fit_intercept) == pytest.approx(expected, rel=1e-9)


@every("offset", [1e7, -1e9, 1e11])
def test_leaving_one_out_far_from_zero_is_leaving_one_out_near_zero(offset, table):
    """What the target itself has lost is no more than a half of eps times the offset, which a
    residual over 1 - h_ii enlarges.
    """
    X, y, _ = table
    K = KERNELS.grams(X, normalise="trace").values.sum(axis=0)
    near, far = (leave_one_out(K, at + y, 1e3) for at in (0.0, offset))
    moved = leave_one_out(K, (offset + y) - offset, 1e3)  # the target with the digits it has left
    assert far == pytest.approx(moved, abs=1e-9)
    assert far == pytest.approx(near, abs=1e-15 * abs(offset))


def test_xi_alpha_by_hand():
    K = np.diag([1.0, 2.0, 1.0])
    y = np.array([1.0, -1.0, 1.0])
    a = np.array([0.2, -0.1, 0.1])
    # f = (0.2, -0.2, 0.1), slack (0.8, 0.8, 0.9), 2 |a| R^2 = (0.8, 0.4, 0.4)
    assert xi_alpha(K, y, a) == pytest.approx(1.0)
    assert xi_alpha(K, y, a, 0.75) == pytest.approx(1 / 3)


@every("name, C", [("rbf", 0.5), ("rbf", 5.0), ("linear", 0.05)])
def test_xi_alpha_is_not_below_the_true_leave_one_out_error(name, C, table):
    if name == "rbf":
        K = KernelDictionary.rbf_grid([0.5]).grams(table[0], normalise="spherical").values[0]
        y = table[2]
    else:  # a linear kernel has negative entries: with R^2 = max K_ii the estimate is 0.50 here
        rng = np.random.default_rng(5)
        X = rng.standard_normal((24, 2))
        K = X @ X.T
        y = np.where(X[:, 0] + 1.5 * rng.standard_normal(24) > 0, 1.0, -1.0)
    svc = SVC(kernel="precomputed", C=C, tol=1e-8)
    wrong = 1.0 - cross_val_score(svc, K, y, cv=LeaveOneOut()).mean()
    dual = np.zeros(y.size)
    svc.fit(K, y)
    dual[svc.support_] = svc.dual_coef_[0]
    assert wrong <= xi_alpha(K, y, dual, float(svc.intercept_[0])) <= 1.0


@every("fit_intercept", [True, False])
def test_choose_by_leave_one_out_for_regression(fit_intercept, table):
    X, y, _ = table
    grid = [0.01, 1.0, 10.0, 1e3, 1e5]
    choice = choose_C(SMKLRegressor(kernels=KERNELS, fit_intercept=fit_intercept), X, y, grid)
    assert choice.rule == "loo"
    K = KERNELS.grams(X, normalise="trace").values
    for place, C in enumerate(grid):
        fit = SMKLRegressor(kernels=KERNELS, C=C, fit_intercept=fit_intercept).fit(X, y)
        left = leave_one_out(np.tensordot(fit.weights_, K, 1), y, C, fit_intercept=fit_intercept)
        assert choice.errors[place] == pytest.approx(np.mean(left**2))
        assert choice.n_kernels[place] == fit.n_kernels_
    assert choice.C == grid[int(np.argmin(choice.errors))] == choice.estimator.C
    assert 0 < grid.index(choice.C) < 4
    assert choice.estimator.score(X, y) > 0.3


def test_ties_go_to_the_fewest_kernels_then_to_the_smallest_C(table):
    X, _, y = table
    choice = choose_C(SMKLClassifier(kernels=KERNELS), X, y, [1e-4, 1e-3, 1e-2], n_splits=4)
    assert choice.rule == "kfold"
    assert np.ptp(choice.errors) == 0.0
    assert not choice.n_kernels.any()
    assert choice.C == 1e-4


def test_several_classes_average_over_the_binary_machines():
    X, y = load_iris(return_X_y=True)
    kernels = KernelDictionary.per_feature(Linear(), 4)
    K = kernels.grams(X, normalise="trace").values
    model = SMKLClassifier(kernels=kernels, loss="squared")
    pairs = model.copy_with("C", 10.0).fit(X, y)
    wrong = []
    for k, (part, target, dual, intercept) in enumerate(machines_of(pairs, K, y)):
        rows = np.flatnonzero(np.isin(y, pairs.pairs_[k]))
        assert part == pytest.approx(np.tensordot(pairs.weights_[k], K[:, rows][:, :, rows], 1))
        assert np.array_equal(target > 0, y[rows] == pairs.pairs_[k][1])
        assert np.array_equal(dual, pairs.dual_coef_[k][rows])
        assert intercept == pairs.intercept_[k]
        wrong.append(target * leave_one_out(part, target, 10.0) >= 1.0)
    assert choose_C(model, X, y, [1.0, 10.0]).errors[1] == pytest.approx(
        np.mean(np.concatenate(wrong))
    )
    rest = choose_C(LpMKLClassifier(kernels=kernels, loss="squared"), X, y, [1.0])
    assert rest.estimator.weights_.shape == (3, 4)
    assert 0.0 < rest.errors[0] < 0.5


def test_folds_choose_C_by_the_rows_they_leave_out(table):
    X, y, _ = table
    grid = [0.1, 10.0]
    done = []
    model = SMKLRegressor(kernels=KERNELS, loss="epsilon_insensitive")
    choice = choose_C(
        model, X, y, grid, n_splits=4, seed=1, callback=lambda *step: done.append(step)
    )
    assert choice.rule == "kfold"
    assert done == [(k, 8) for k in range(9)]
    for place, C in enumerate(grid):
        one = model.copy_with("C", C)
        errors = []
        for rows, held in KFold(4, shuffle=True, random_state=1).split(X):
            errors.append(np.mean((one.fit(X[rows], y[rows]).predict(X[held]) - y[held]) ** 2))
        assert choice.errors[place] == pytest.approx(np.mean(errors))
    assert choice.C == grid[int(np.argmin(choice.errors))] == choice.estimator.C


def test_what_does_not_fit_is_refused(table):
    X, y, labels = table
    K = KERNELS.grams(X).values

    def chosen(values=(1.0,), model=None, y=y, **more):
        return lambda: choose_C(model or SMKLRegressor(), X, y, list(values), **more)

    refused(
        (chosen([]), "non-empty list of numbers"),
        (chosen([1.0, -1.0]), "C must be a finite number above 0"),
        (chosen(rule="aic"), "rule must be one of auto, loo"),
        (chosen(model=SMKLClassifier(), y=labels, rule="loo"), 'does not suit .*use rule="kfold"'),
        (chosen(model=GOMPRegressor()), "has no parameter C"),
        (chosen(rule="kfold", n_splits=1), "n_splits must be a whole number"),
        (chosen(rule="kfold", n_splits=41), "from 2 to the 40 rows"),
        (lambda: leave_one_out(K[0], y, 0.0), "C must be a finite number above 0"),
        (lambda: leave_one_out(K, y, 1.0), r"expected \(n, n\) and \(n,\)"),
        (lambda: leave_one_out(K[0], y[:-1], 1.0), r"expected \(n, n\) and \(n,\)"),
        (lambda: leave_one_out(np.ones((1, 1)), np.ones(1), 1.0), "at least two rows"),
    )
