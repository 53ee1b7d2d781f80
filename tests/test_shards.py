"""Kernels in shards: every sum and every model equals what one process gives."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.kernels.operators.lazy import LazyKernels
from mklcore.parallel.shards import Shard, fit_shards, sharded

N, D = 60, 40
KERNELS = mkl.KernelDictionary.per_feature(
    (mkl.Linear(), mkl.RBF(1.0, relative=True), mkl.Laplacian(2.0)), D
) + mkl.KernelDictionary((mkl.Polynomial(2, features=(0, 3, 5)), mkl.RBF(1.0, relative=True)))


def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    X[:, 7] = 1.0  # constant: its kernels are left out, wherever they are
    return X, np.where(X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(N) > 0, 1.0, -1.0)


@pytest.mark.parametrize("normalise", ["multiplicative", None])
def test_sums_over_shards_are_those_of_one_process(normalise):
    X, _ = table()
    whole, rng = LazyKernels.build(KERNELS, X, normalise), np.random.default_rng(1)
    theta, a, some = rng.random(whole.n_kernels), rng.standard_normal(N), np.array([100, 3, 41])
    with sharded(KERNELS, X, normalise, count=3, backend="serial") as rows:
        assert rows.names == whole.names
        assert rows.notes == whole.notes
        np.testing.assert_allclose(rows.quad(a), whole.quad(a), rtol=1e-12)
        np.testing.assert_allclose(rows.quad(a, some), whole.quad(a)[some], rtol=1e-12)
        np.testing.assert_allclose(rows.combine(theta).matrix, whole.combine(theta).matrix, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(rows.decision(theta, a), whole.decision(theta, a), rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(rows.cross(X[:5] + 0.1), whole.cross(X[:5] + 0.1), rtol=1e-12, atol=1e-14)
        assert rows.received == 8 * (2 * whole.n_kernels + some.size + 3 * N * N + 3 * N - whole.n_kernels)


@pytest.mark.parametrize(("p", "loss"), [(4 / 3, "squared"), (1.0, "logistic")])
def test_a_model_of_shards_is_the_model_of_one_process(p, loss):
    X, y = table()
    asked = mkl.LpMKLClassifier(p=p, loss=loss, kernels=KERNELS, tol=1e-6)
    model = fit_shards(asked, X, y, count=3, backend="serial")
    one = fit_shards(asked, X, y, count=1, backend="serial")
    assert model.objective_ == pytest.approx(one.objective_, rel=1e-10)
    np.testing.assert_allclose(model.decision_function(X), one.decision_function(X), atol=1e-7)
    stored = mkl.LpMKLClassifier(p=p, loss=loss, kernels=KERNELS, tol=1e-6).fit(X, y)
    assert model.objective_ == pytest.approx(stored.objective_, rel=2e-6)
    assert model.kernel_names_ == stored.kernel_names_
    assert (model.solver, asked.solver) == ("auto", "auto")


def test_a_shard_takes_the_columns_it_sees_and_no_others():
    shards = Shard.cut(KERNELS, D, 4)
    assert [len(shard.kernels) for shard in shards] == [31, 31, 30, 30]
    assert [shard.columns.size for shard in shards] == [11, 11, 11, 40]


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (lambda: fit_shards(mkl.LpMKLClassifier(), *table()), "put into shards from a dictionary"),
        (lambda: fit_shards(mkl.LpMKLClassifier(p=np.inf, kernels=KERNELS), *table()), "a finite p"),
        (lambda: fit_shards(mkl.LpMKLClassifier(kernels=KERNELS, normalise="spherical"), *table(), backend="serial"),
         "scaled as a whole; normalise must be one of 'multiplicative', 'trace', 'diag', None, got 'spherical'"),
        (lambda: fit_shards(mkl.LpMKLClassifier(kernels=KERNELS), *table(), backend="processes"), "stay where they "
                                                                                                  "are built"),
    ],
)  # fmt: skip
def test_what_shards_cannot_do_is_refused(asked, match):
    with pytest.raises(mkl.ParameterError, match=match):
        asked()
