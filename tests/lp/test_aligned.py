"""Weights in one step: centred alignment and the margin of EasyMKL, against brute force and a
general solver.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from mklcore import AlignedMKLClassifier, AlignedMKLRegressor, UniformMKLClassifier
from mklcore.estimators.baselines import aligned_weights, margin_weights, nearest_points
from tests.helpers.every import every


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.where(np.arange(40) < 16, 1.0, -1.0)
    X[:, 0] += y
    X[:, 1] += 0.5 * y
    return np.stack([np.outer(x, x) for x in X.T]), y


def alignment(weights, K, y):
    H = np.eye(y.size) - 1.0 / y.size
    total = H @ np.tensordot(weights, K, 1) @ H
    return float(y @ total @ y) / np.linalg.norm(total)


def test_no_combination_is_better_aligned(problem):
    K, y = problem
    found = aligned_weights(K, y)
    assert found.sum() == pytest.approx(1.0)
    grid = [
        np.array([a, b, 1.0 - a - b])
        for a in np.linspace(0, 1, 41)
        for b in np.linspace(0, 1 - a, 41)
    ]
    best = max(alignment(w, K, y) for w in grid)
    assert best - 1e-12 <= alignment(found, K, y) <= best * (1 + 1e-3)


def test_orthogonal_kernels_are_weighted_by_their_own_alignment():
    Q = np.linalg.qr(
        np.column_stack([np.ones(12), np.random.default_rng(1).standard_normal((12, 3))])
    )[0][:, 1:]
    y = Q @ np.array([2.0, 1.0, 0.0])
    found = aligned_weights(np.stack([np.outer(q, q) for q in Q.T]), y)
    assert found == pytest.approx([0.8, 0.2, 0.0], abs=1e-12)  # (q'y)^2 in shares


def test_nearest_points_of_the_hulls_are_those_of_a_general_solver(problem):
    K, y = problem
    total = K.sum(axis=0)
    lam = 0.3
    Q = (1 - lam) * (y[:, None] * total * y) + lam * np.eye(y.size)
    g = nearest_points(total, y, lam)
    assert (g >= 0).all()
    assert [g[y > 0].sum(), g[y < 0].sum()] == pytest.approx([1.0, 1.0])
    sides = [{"type": "eq", "fun": lambda v, s=s: v[s].sum() - 1.0} for s in (y > 0, y < 0)]
    other = minimize(
        lambda v: v @ Q @ v, np.where(y > 0, 1 / 16, 1 / 24), jac=lambda v: 2 * Q @ v, bounds=[(0, None)] * 40,
        constraints=sides, method="SLSQP", options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    assert g @ Q @ g == pytest.approx(other.fun, rel=1e-6)


def test_rows_all_alike_give_the_distances_of_the_class_means(problem):
    K, y = problem
    shares = np.where(y > 0, 1 / 16, -1 / 24)
    distances = np.array([shares @ gram @ shares for gram in K])
    assert margin_weights(K, y, 1.0 - 1e-9) == pytest.approx(distances / distances.sum(), rel=1e-4)


@every("rule", ["aligned", "margin"])
def test_the_machine_is_that_of_the_weighted_sum(problem, rule):
    K, y = problem
    model = AlignedMKLClassifier(rule, kernels="precomputed", tol=1e-6).fit(K, y)
    total = np.tensordot(model.weights_, K, 1)[None]
    single = UniformMKLClassifier(kernels="precomputed", tol=1e-6).fit(total, y)
    assert model.decision_function(K) == pytest.approx(single.decision_function(total), abs=1e-4)
    assert int(np.argmax(model.weights_)) == 0
    assert model.score(K, y) > 0.8


def test_several_classes_and_numbers_without_a_certificate(problem):
    K, y = problem
    thirds = np.digitize(K[0][0], np.quantile(K[0][0], [1 / 3, 2 / 3]))
    numbers = y + 0.1 * np.arange(40)
    several = AlignedMKLClassifier(kernels="precomputed").fit(K, thirds)
    assert several.weights_.shape == (3, 3)
    assert several.weights_.sum(axis=1) == pytest.approx(1.0)
    assert several.score(K, thirds) > 0.7
    model = AlignedMKLRegressor(10.0, kernels="precomputed", tol=1e-6).fit(K, numbers)
    assert model.weights_ == pytest.approx(aligned_weights(K, numbers))
    for fitted in (model, several):
        assert fitted.dual_gap_ is fitted.dual_objective_ is fitted.dual_point_ is None
