"""``python -m mklcore.verify`` on hulls of graphs: every kind is checked, and changes are found."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import DataError
from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
from mklcore.experiments.graph_samples import GRAPH_SAMPLES
from mklcore.solvers.hkl.graph import Graph
from mklcore.verify import report, verify


def _saved(model, place):
    mkl.save_model(place / "model.mkl", model)
    return place / "model.mkl"


@pytest.mark.parametrize("kind", GRAPH_SAMPLES)
def test_a_hull_of_every_kind_of_graph_is_certified_from_its_definition(kind, tmp_path):
    rows = GRAPH_SAMPLES[kind].make(0)
    few = slice(0, 60)
    model = HKLRegressor(graph=rows.graph, lam=1e-2, tol=1e-3).fit(rows.train[few], rows.y[few])
    path = tmp_path / "rows.npz"
    np.savez(path, X=np.array(rows.train[few]), y=rows.y[few])
    lines = verify(_saved(model, tmp_path), path)
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
    with pytest.raises(DataError, match="The graph was fitted on Gram matrices"):
        verify(tmp_path / "model.mkl", tmp_path / "rows.csv")


def test_classes_are_checked_one_by_one(tmp_path):
    graph, K, y = _diamond()
    model = HKLClassifier(graph=graph, lam=1e-2, tol=1e-4).fit(None, y > 0)
    np.savez(tmp_path / "stack.npz", K=K)
    assert report(_saved(model, tmp_path), tmp_path / "stack.npz")[1]


def test_a_changed_graph_is_not_believed(tmp_path):
    graph, K, y = _diamond()
    model = HKLRegressor(graph=graph, lam=1e-2, tol=1e-4).fit(None, y)
    np.savez(tmp_path / "stack.npz", K=1.5 * K)  # kernels of another size
    assert not report(_saved(model, tmp_path), tmp_path / "stack.npz")[1]


def test_sequences_of_another_table_are_reported(tmp_path):
    rows = GRAPH_SAMPLES["strings"].make(0)
    model = HKLRegressor(graph=rows.graph, lam=1e-2, tol=1e-2).fit(rows.train[:40], rows.y[:40])
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["text,y", *(f"{text},1" for text in rows.train[:40])]))
    assert report(_saved(model, tmp_path), path)[1]
    path.write_text("\n".join(["text,y", *(f"{text},1" for text in rows.train[1:40])]))
    assert not report(tmp_path / "model.mkl", path)[1]
    with pytest.raises(DataError, match="array of texts"):
        verify(tmp_path / "model.mkl", tmp_path / "rows.xlsx")
