"""The working set of kernels at p = 1: the same optimum as with all kernels, whatever set it starts from."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.losses import make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import fit_weighted
from mklcore.solvers.driver import Status, run
from mklcore.solvers.newton import Newton
from mklcore.solvers.problem import Carried, Problem, WarmStart
from mklcore.solvers.working_set import WorkingSet
from tests.every import every

LOSSES = ("hinge", "squared", "logistic", "epsilon_insensitive")


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray]:
    data = mkl.load_sample("breast_cancer")
    train, _ = data.split(test_size=0.7, seed=1)
    kernels = mkl.KernelDictionary.rbf_grid([0.25, 0.5, 1, 2, 4]) + mkl.KernelDictionary.per_feature(
        mkl.Linear(), data.n_features
    )
    return kernels.grams(train.X).values, np.where(train.y == np.unique(train.y)[-1], 1.0, -1.0)


def solve(method: type, problem: tuple[np.ndarray, np.ndarray], loss: str, C: float, **more: object):
    K, y = problem
    return run(method(Problem(K, y, C, make_loss(loss), LpNorm(1.0), True), tol=1e-5, **more), tol=1e-5, max_iter=500)


@every("C", [0.02, 1.0, 50.0])
@every("loss", LOSSES)
def test_the_optimum_is_that_of_all_kernels(problem, loss, C):
    every, few = solve(Newton, problem, loss, C), solve(WorkingSet, problem, loss, C)
    assert few.status.ok
    assert every.status.ok
    assert few.objective == pytest.approx(every.objective, rel=2e-5)
    assert few.dual_objective <= every.objective + 1e-12
    assert few.objective >= every.dual_objective - 1e-12


@every("loss", LOSSES)
def test_a_set_without_the_kernels_that_matter_grows_until_it_has_them(problem, loss):
    K, _ = problem
    cold = solve(WorkingSet, problem, loss, 1.0)
    useless = np.flatnonzero(cold.weights == 0)[:3]
    weights = np.zeros(len(K))
    weights[useless] = 1 / 3
    warm = WarmStart(weights, np.zeros(K.shape[1]), 1.0, Carried(useless))
    grown = solve(WorkingSet, problem, loss, 1.0, warm=warm)
    assert grown.status.ok
    assert grown.objective == pytest.approx(cold.objective, rel=2e-5)
    assert set(np.flatnonzero(cold.weights > 0.01)) <= set(np.flatnonzero(grown.weights > 0))


def test_a_path_carries_its_set_and_ends_where_cold_fits_end(problem):
    K, y = problem
    loss, warm = make_loss("hinge"), None
    for C in mkl.log_grid(0.01, 10, 8):
        fit = fit_weighted(K, y, C, loss, LpNorm(1.0), True, tol=1e-4, warm=warm)
        warm = WarmStart(fit.weights, fit.dual_coef, C, fit.carry)
        cold = fit_weighted(K, y, C, loss, LpNorm(1.0), True, tol=1e-4, solver="newton")
        assert fit.status.ok
        assert fit.objective <= cold.objective * (1 + 1e-4)
        assert fit.dual_objective <= cold.objective * (1 + 1e-12)
        assert fit.carry.carried.live.size < len(K)


@pytest.fixture(scope="module")
def few_columns() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    X = random.standard_normal((150, 10))
    kernels = mkl.KernelDictionary.per_feature(mkl.RBF(1.0), 10) + mkl.KernelDictionary.per_feature(mkl.Linear(), 10)
    return kernels.grams(X).values, np.where(X[:, 0] + 0.5 * random.standard_normal(150) > 0, 1.0, -1.0)


def test_a_path_of_the_squared_hinge_is_certified_to_six_digits(few_columns):
    K, y = few_columns
    warm = None
    for C in np.logspace(1, -1, 7):
        fit = fit_weighted(K, y, C, make_loss("squared_hinge"), LpNorm(1.0), True, tol=1e-6, warm=warm)
        assert fit.status.ok
        reported = mkl.certificate(
            K, y, fit.weights, fit.dual_coef, fit.intercept, "squared_hinge", C, LpNorm(1.0), fit.dual_point
        )
        assert reported == pytest.approx((fit.objective, fit.dual_objective), rel=1e-9)
        warm = WarmStart(fit.weights, fit.dual_coef, C, fit.carry)


def test_a_warm_fit_that_stalls_is_certified_over_all_kernels_all_the_same(few_columns):
    K, y = few_columns
    loss, warm = make_loss("squared_hinge"), None
    for C in (2.15, 1.0, 0.464):
        fit = fit_weighted(K, y, C, loss, LpNorm(1.0), True, tol=1e-15, warm=warm)
        assert fit.status is Status.STALLED or fit.status.ok
        assert 0.0 <= fit.gap < 1e-8 * fit.objective  # 3e-9 without vector instructions
        assert fit.dual_point is not None
        warm = WarmStart(fit.weights, fit.dual_coef, C, fit.carry)


def test_a_fit_cancelled_at_its_warm_start_still_has_a_certificate(problem):
    K, y = problem
    loss = make_loss("hinge")
    fit = fit_weighted(K, y, 1.0, loss, LpNorm(1.0), True)
    warm = WarmStart(fit.weights, fit.dual_coef, 1.0, fit.carry.carried._replace(homotopy_is_dear=True))
    stopped = fit_weighted(K, y, 3.0, loss, LpNorm(1.0), True, warm=warm, callback=lambda record: True)
    assert stopped.status is Status.CANCELLED
    best = fit_weighted(K, y, 3.0, loss, LpNorm(1.0), True, tol=1e-6)
    assert np.isfinite(stopped.dual_objective)
    assert stopped.dual_objective <= best.objective <= stopped.objective * (1 + 1e-9)
