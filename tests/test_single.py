"""Kernels in single precision: sums as those of the stack, certificates in double precision, bytes as foreseen."""

import tempfile
from types import SimpleNamespace

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import KernelError
from mklcore.estimators import base
from mklcore.kernels.operators import packed
from mklcore.kernels.operators.packed import PackedKernels, place_for
from mklcore.losses import make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import certificate, fit_weighted
from tests.every import every

N = 60
KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 1, 8]) + mkl.KernelDictionary(
    (mkl.Linear(), mkl.Polynomial(2), mkl.Laplacian(2.0), mkl.Matern(1.0, 1.5), mkl.Delta(features=(3,)))
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4))
    X[:, 3] = np.round(X[:, 3])
    return X, X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(N)


@every("name, p", [("hinge", 1.0), ("logistic", 1.0), ("hinge", 4 / 3), ("squared", 2.0),
                                         ("epsilon_insensitive", 6.0), ("one_class", 2.0)])  # fmt: skip
def test_what_is_published_is_proved_in_double_precision(table, name, p):
    X, loss = table[0], make_loss(name)
    y = np.ones(N) if loss.name == "one_class" else np.where(table[1] > 0, 1.0, -1.0)
    rows = PackedKernels.build(KERNELS, X)
    fit = fit_weighted(rows, y, 1.0, loss, LpNorm(p), loss.takes_intercept)
    assert fit.status.ok
    assert "single precision, proved in double" in fit.solver
    K = rows.exact.grams(np.arange(len(rows.names)))
    parts = fit.weights, fit.dual_coef, fit.intercept
    reported = certificate(K, y, *parts, loss, 1.0, LpNorm(p), fit.dual_point, loss.takes_intercept)
    assert reported == pytest.approx((fit.objective, fit.dual_objective), rel=1e-12)
    assert fit.objective - fit.dual_objective <= 1e-3 * fit.objective


def test_where_single_precision_is_too_coarse_the_columns_take_over(table):
    X, y = table[0], np.where(table[1] > 0, 1.0, -1.0)
    rows = PackedKernels.build(KERNELS, X)
    fine = fit_weighted(rows, y, 1.0, make_loss("hinge"), LpNorm(2.0), True, tol=1e-7)
    assert fine.status.ok
    assert "single precision" not in fine.solver
    hard = fit_weighted(rows, y, 1e7, make_loss("squared"), LpNorm(2.0), True)
    exact = fit_weighted(rows.exact, y, 1e7, make_loss("squared"), LpNorm(2.0), True)
    assert hard.objective == pytest.approx(exact.objective, rel=2e-3)


def test_estimators_store_in_single_precision_what_is_too_large_in_double(table, monkeypatch):
    X, y = table[0], table[1] > 0
    kept = mkl.LpMKLClassifier(p=4 / 3, kernels=KERNELS)
    plain = mkl.fit_path(kept, X, y, "C", [0.1, 1.0, 10.0], X[:20], y[:20])
    monkeypatch.setattr(base, "STACK_LIMIT_MB", 0.1)
    path = mkl.fit_path(kept, X, y, "C", [0.1, 1.0, 10.0], X[:20], y[:20])
    assert all("single precision" in model.fit_.solver for model in path.estimators)
    np.testing.assert_allclose(path.objective, plain.objective, rtol=2e-3)
    np.testing.assert_allclose(path.val_score, plain.val_score, atol=0.06)
    assert np.all(path.dual_gap <= 1e-3 * path.objective)
    # On disk, where memory is short and nothing else would do: squared loss beyond what is summed.
    monkeypatch.setattr("mklcore.estimators.lp.MOST_SUMMED", 10)
    monkeypatch.setattr(packed, "MEMORY_MB", 0.01)
    asked, z = mkl.LpMKLRegressor(p=2.0, kernels=KERNELS), table[1]
    assert place_for(len(KERNELS), N, may_use_disk=False) is None
    found = asked.fit(X, z)
    assert "single precision" in found.fit_.solver
    monkeypatch.setattr(base, "STACK_LIMIT_MB", 2048.0)
    assert found.objective_ == pytest.approx(mkl.LpMKLRegressor(p=2.0, kernels=KERNELS).fit(X, z).objective_, rel=1e-4)


@pytest.mark.parametrize(
    ("asked", "n", "stored", "size"),
    [
        (mkl.LpMKLClassifier(p=4 / 3), 1000, "double", 8 * 9 * 1000**2),
        (mkl.LpMKLClassifier(p=4 / 3), 6000, "single", 2 * 8 * 6000 * 6001),
        (mkl.LpMKLRegressor(p=2.0), 20_000, "single, on disk", 2 * 8 * 20_000 * 20_001),
        (mkl.LpMKLClassifier(p=4 / 3), 20_000, "not stored", 0),
        (mkl.LpMKLClassifier(p=4 / 3, approximation=mkl.Nystroem(50)), 20_000, "features", 4 * 8 * 20_000 * 50),
        (mkl.GreedyMKLClassifier(), 6000, "double", 8 * 9 * 6000**2),
    ],
)
def test_bytes_are_foreseen_as_the_estimator_stores_them(asked, n, stored, size, monkeypatch):
    monkeypatch.setattr(packed, "ON_DISK_MB", 1e5)
    monkeypatch.setattr(packed.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**12))
    found = asked.set_params(kernels=KERNELS).foresee(n, 4)
    assert (found.stored, found.bytes, found.n_kernels) == (stored, size, len(KERNELS))


def test_what_is_foreseen_is_what_lies_there_and_ready_stacks_are_not_foreseen(table, monkeypatch):
    monkeypatch.setattr(base, "STACK_LIMIT_MB", 0.1)
    asked = mkl.LpMKLClassifier(p=4 / 3, kernels=KERNELS)
    assert asked.foresee(*table[0].shape).bytes == asked.training_stack(table[0], table[1] > 0)[0].values.nbytes
    with pytest.raises(mkl.ParameterError, match="Ready stacks are as large as they are"):
        mkl.LpMKLClassifier(kernels="precomputed").foresee(10, 1)


def test_triangles_on_disk_are_those_in_memory_and_a_full_disk_is_refused(table, monkeypatch):
    here, there = PackedKernels.build(KERNELS, table[0]), PackedKernels.build(KERNELS, table[0], place="disk")
    assert np.array_equal(here.values, there.values)
    monkeypatch.setattr(packed, "MEMORY_MB", 0.0)
    assert place_for(len(KERNELS), N, may_use_disk=True) == "disk"
    monkeypatch.setattr(packed, "ON_DISK_MB", 0.0)
    assert place_for(len(KERNELS), N, may_use_disk=True) is None

    def full(**_):
        raise OSError("No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(KernelError, match=r"8 kernels on 60 rows need 0 MB on disk, and the folder .* has no room"):
        PackedKernels.build(KERNELS, table[0], place="disk")
