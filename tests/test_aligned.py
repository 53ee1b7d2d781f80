"""Weights in one step: centred alignment and the margin of EasyMKL, against brute force and a general solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

import mklcore as mkl
from mklcore.errors import ParameterError
from mklcore.estimators.aligned import AlignedMKLClassifier, aligned_weights, margin_weights, nearest_points


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.where(np.arange(40) < 16, 1.0, -1.0)
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
    grid = [np.array([a, b, 1.0 - a - b]) for a in np.linspace(0, 1, 41) for b in np.linspace(0, 1 - a, 41)]
    assert alignment(found, K, y) >= max(alignment(w, K, y) for w in grid) - 1e-12
    assert alignment(found, K, y) == pytest.approx(max(alignment(w, K, y) for w in grid), rel=1e-3)


def test_orthogonal_kernels_are_weighted_by_their_own_alignment():
    Q = np.linalg.qr(np.column_stack([np.ones(12), np.random.default_rng(1).standard_normal((12, 3))]))[0][:, 1:]
    y = Q @ np.array([2.0, 1.0, 0.0])
    found = aligned_weights(np.stack([np.outer(q, q) for q in Q.T]), y)
    assert found == pytest.approx([0.8, 0.2, 0.0], abs=1e-12)  # (q'y)^2 in shares


def test_nearest_points_of_the_hulls_are_those_of_a_general_solver(problem):
    K, y = problem
    total, lam = K.sum(axis=0), 0.3
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


@pytest.mark.parametrize("rule", ["aligned", "margin"])
def test_the_machine_is_that_of_the_weighted_sum(problem, rule):
    K, y = problem
    model = AlignedMKLClassifier(rule, kernels="precomputed", tol=1e-6).fit(K, y)
    single = mkl.UniformMKLClassifier(kernels="precomputed", tol=1e-6).fit(np.tensordot(model.weights_, K, 1)[None], y)
    assert model.decision_function(K) == pytest.approx(
        single.decision_function(np.tensordot(model.weights_, K, 1)[None]), abs=1e-4
    )
    assert int(np.argmax(model.weights_)) == 0
    assert model.score(K, y) > 0.8


def test_on_a_table_of_two_classes_alone():
    data = mkl.load_sample("breast_cancer")
    X, y = data.X[:150], data.y[:150]
    model = AlignedMKLClassifier("margin", kernels=mkl.KernelDictionary.rbf_grid([0.5, 1, 2])).fit(X, y)
    assert model.score(data.X[150:300], data.y[150:300]) > 0.85
    with pytest.raises(ParameterError, match="These weights are for two classes; got 3"):
        AlignedMKLClassifier().fit(X, np.arange(150) % 3)
    with pytest.raises(ParameterError, match="rule must be one of aligned, margin"):
        AlignedMKLClassifier("luck").fit(X, y)
    with pytest.raises(ParameterError, match="from 0 to below 1"):
        AlignedMKLClassifier("margin", lam=1.0).fit(X, y)
