"""Features of many rows: solved and certified as the whole matrices are."""

import numpy as np
from numpy.testing import assert_allclose

import mklcore as mkl
from mklcore.kernels import features
from mklcore.kernels.features import FactoredSum

DATA = mkl.load_sample("diabetes")
KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 2.0]) + mkl.KernelDictionary(
    (mkl.Linear(), mkl.Linear(features=(3,)))
)


def test_a_system_on_features_is_solved_as_the_whole_matrix_is():
    stack = mkl.Nystroem(12).features(KERNELS, DATA.X)
    random = np.random.default_rng(0)
    theta = np.array([0.5, 0.0, 1.0, 2.0])
    h = random.uniform(1e-3, 10.0, DATA.n_samples)
    table = stack.table.astype(float)
    total = FactoredSum(stack, theta)
    rows = np.arange(0, DATA.n_samples, 3)
    K = (table * stack.spread(theta)) @ table.T
    right = random.standard_normal((DATA.n_samples, 3))
    assert_allclose(
        total.solve(right, h), np.linalg.solve(K + np.diag(h), right), rtol=1e-6, atol=1e-8
    )
    plain = np.linalg.solve(K + 2.0 * np.eye(len(K)), right)
    assert_allclose(total.solve(right, 2.0), plain, rtol=1e-6, atol=1e-8)
    for some in (np.arange(len(K)), rows, rows[:5]):  # all, more of them than features, and fewer
        expected = np.linalg.solve(K[np.ix_(some, some)] + np.diag(h[some]), right[some])
        assert_allclose(
            total.solve_block(some, h[some], right[some]), expected, rtol=1e-5, atol=1e-7
        )
    assert_allclose(total.diagonal(), np.diag(K), rtol=1e-6)
    found = total.solve_block(np.arange(len(K)), np.zeros(len(K)), right)
    lifted = features._NEARLY * float(total.diagonal().mean())
    assert_allclose(found, FactoredSum(stack, theta).solve(right, lifted), rtol=1e-9)


def test_kernels_that_tie_are_certified_on_features():
    twice = KERNELS + mkl.KernelDictionary(
        (mkl.Linear(), mkl.Linear(), mkl.RBF(1.0, relative=True))
    )
    y = np.where(DATA.y > np.median(DATA.y), 1.0, -1.0)
    model = mkl.LpMKLClassifier(p=1.0, C=3.0, kernels=twice, approximation=mkl.Nystroem(40)).fit(
        DATA.X, y
    )
    assert model.status_.ok
    assert model.history_[0].note.startswith("lp interior point")
    assert model.relative_gap_ < 1e-3
