"""``python -m mklcore.verify`` on hulls of graphs: every kind is checked, and changes are found."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import DataError
from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
from mklcore.solvers.hkl.graph import Graph
from mklcore.verify import report, verify


def _saved(model, place):
    mkl.save_model(place / "model.mkl", model)
    return place / "model.mkl"


def test_a_hull_of_kernel_functions_is_certified_from_its_definition(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 7))
    graph = Graph.tree([None, 0, 0, 1, 1, 2, 2], [mkl.Linear(features=(j,)) for j in range(7)])
    model = HKLRegressor(graph=graph, lam=1e-2, tol=1e-3).fit(X, X[:, 0] + X[:, 1] + X[:, 4])
    np.savez(tmp_path / "rows.npz", X=X, y=model.training_target_)
    lines = verify(_saved(model, tmp_path), tmp_path / "rows.npz")
    assert all(line.holds for line in lines), lines
    assert len(lines) >= 3


def _diamond(n=30):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    K = np.array([np.outer(x, x) for x in X.T])
    return Graph([(), (0,), (0,), (1, 2)], K, weights=[1.0, 2.0, 1.5, 3.0]), K, X[:, 0] + X[:, 1]


def test_own_matrices_and_prices_are_checked_as_given(tmp_path):
    graph, K, y = _diamond()
    model = HKLRegressor(graph=graph, lam=1e-2, tol=1e-4).fit(None, y)
    np.savez(tmp_path / "stack.npz", K=K)
    assert all(line.holds for line in verify(_saved(model, tmp_path), tmp_path / "stack.npz"))
    with pytest.raises(DataError, match="fitted on ready kernels: give them"):
        verify(tmp_path / "model.mkl", tmp_path / "rows.csv")


def test_classes_are_checked_one_by_one(tmp_path):
    graph, K, y = _diamond()
    model = HKLClassifier(graph=graph, lam=1e-2, tol=1e-4).fit(None, y > 0)
    np.savez(tmp_path / "stack.npz", K=K)
    assert report(_saved(model, tmp_path), tmp_path / "stack.npz")[1] == 0


def test_a_changed_graph_is_not_believed(tmp_path):
    graph, K, y = _diamond()
    model = HKLRegressor(graph=graph, lam=1e-2, tol=1e-4).fit(None, y)
    np.savez(tmp_path / "stack.npz", K=1.5 * K)  # kernels of another size
    assert report(_saved(model, tmp_path), tmp_path / "stack.npz")[1] == 1
