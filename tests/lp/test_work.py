"""How often the costly parts of a fit are done: matrix factors, eigenvectors, kernel values."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.kernels import operators
from mklcore.kernels.features import column_features
from mklcore.lp.schedule import fit_weighted
from mklcore.problem import svm
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm
from mklcore.problem.solution import MachineTask
from mklcore.sparse.gomp import Spectra
from tests.helpers.every import every

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4))
Y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.standard_normal(120)
K = mkl.KernelDictionary.rbf_grid(mkl.log_grid(0.25, 4, 6)).grams(X).values


@pytest.fixture
def factors(monkeypatch):
    """Counts the Cholesky factors of weighted sums."""
    sizes = list[int]()
    factorised = operators.factorised

    def counted(system, shift=0.0):
        sizes.append(len(system))
        return factorised(system, shift)

    monkeypatch.setattr(operators, "factorised", counted)
    return sizes


@every("p", [1.0, 4 / 3])
def test_a_newton_step_solves_with_the_factor_of_its_machine(factors, p):
    factors.clear()
    fit = fit_weighted(K, Y - Y.mean(), 1.0, make_loss("squared"), LpNorm(p), True, tol=1e-6)
    assert fit.status.ok
    assert len(factors) <= fit.solves + 1


def test_a_path_of_the_plain_sum_has_three_factors_and_the_points_of_single_fits(factors):
    model = mkl.UniformMKLRegressor(kernels="precomputed", tol=1e-8)
    grid = np.geomspace(0.01, 100, 9)
    path = mkl.fit_path(model, K, Y, "C", grid)
    assert len(factors) == operators.FACTORS_BEFORE
    alone = [model.copy_with("C", C).fit(K, Y).objective_ for C in grid]
    assert [point.objective_ for point in path.estimators] == pytest.approx(alone, rel=1e-10)


def test_smooth_kernels_are_decomposed_by_their_rank(monkeypatch):
    smooth = mkl.KernelDictionary.per_feature(mkl.RBF(1.0), 4).grams(X).values
    exact = [np.linalg.eigh(gram) for gram in smooth]
    monkeypatch.setattr(
        np.linalg, "eigh", lambda gram: pytest.fail("all eigenvectors were asked for")
    )
    found = Spectra.of(smooth)
    for m, (values, _) in enumerate(exact):
        part = found.rows(m)
        vectors = found.vectors[part]
        own = found.values[part]
        assert (vectors.T * own) @ vectors == pytest.approx(smooth[m], abs=1e-11)
        assert vectors @ vectors.T == pytest.approx(np.eye(len(own)), abs=1e-11)
        assert own[:10] == pytest.approx(values[::-1][:10], rel=1e-9)


def test_features_of_linear_kernels_cost_no_kernel_value(monkeypatch):
    monkeypatch.setattr(
        "mklcore.kernels.features.FeatureMap.plain", lambda *given: pytest.fail("values were made")
    )
    found = column_features(mkl.KernelDictionary.per_feature(mkl.Linear(), 4), X)
    assert found.cross(X).table == pytest.approx(found.table)


def test_creeping_pairs_are_helped_by_no_more_factors_than_they_cost(monkeypatch):
    free = []
    factorised = svm.factorised
    monkeypatch.setattr(
        svm, "factorised", lambda block, shift: free.append(len(block)) or factorised(block, shift)
    )
    total = K.sum(axis=0)
    target = 100.0 * Y
    task = MachineTask(target, 1e6, make_loss("epsilon_insensitive", epsilon=0.1), True)
    found = svm.solve_svm(total, task, accuracy=1e-6)
    assert found.gap <= 1e-5 * found.regulariser
    assert svm.FACTOR * sum(size**3 for size in free) <= 2 * found.steps * len(Y)


def test_a_group_lasso_of_many_columns_is_solved_on_those_that_may_have_weight():
    wide = RNG.standard_normal((400, 900))
    target = wide[:, 3] - 2.0 * wide[:, 5] + 0.3 * RNG.standard_normal(400)
    kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), 900)
    model = mkl.LpMKLRegressor(kernels=kernels, p=1.0, loss="squared", C=0.02, tol=1e-5).fit(
        wide, target
    )
    assert model._map.copies
    assert model.status_.ok
    assert 2 <= np.count_nonzero(model.weights_) < 100
