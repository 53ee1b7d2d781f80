"""Greedy coordinate descent against certified optima, computed paths, optimality conditions and
reductions.
"""

import re

import numpy as np
import pytest
from numpy.random import default_rng

from mklcore import (
    RBF,
    GreedyMKLClassifier,
    GreedyMKLRegressor,
    KernelDictionary,
    ParameterError,
    greedy_rate_bound,
)
from mklcore.problem.driver import Status, run
from mklcore.sparse.greedy import (
    EmpiricalGreedy,
    FunctionalGreedy,
    critical_lam,
    unit_step_divisors,
)
from tests.helpers.every import every
from tests.oracles.greedy import KERNELS, TARGETS, descents, penalised

OPTIMA, DESCENTS = penalised(), descents()
each_optimum = every("case", OPTIMA)
each_descent = every("case", DESCENTS)


def solved(K, y, lam, n_kernels=None, tol=1e-3):
    """Algorithm 1 with up to ``n_kernels`` kernels."""
    return run(
        FunctionalGreedy(K, y, lam, n_kernels=n_kernels or len(K)),
        tol=tol,
        max_iter=99,
    )


def algorithm_2(K, y, n_steps=30, linesearch=False):
    method = EmpiricalGreedy(
        K, y, n_steps=n_steps, linesearch=linesearch, divisors=unit_step_divisors(K)
    )
    return run(method, tol=0.0, max_iter=10_000)


# Algorithm 1


@each_optimum
def test_every_optimum_is_reached_by_the_steps_of_the_oracle_and_certified(case):
    fit = solved(case.K, case.y, case.lam, tol=1e-10)
    assert fit.selected == tuple(case.picks)
    assert fit.objective == pytest.approx(case.objective, rel=1e-8)
    assert fit.dual_objective <= case.objective + 1e-12
    assert fit.status.ok
    assert fit.gap <= 1e-10 * case.objective
    beyond = 1.01 * fit.dual_point  # not feasible: no bound
    method = FunctionalGreedy(case.K, case.y, case.lam, n_kernels=len(case.K))
    found = method.certify(fit.points[-1], beyond)
    assert (found.objective, found.dual_objective) == (pytest.approx(fit.objective), -np.inf)
    if not case.name.startswith("P3_"):  # among copies the norms are not unique
        assert fit.weights == pytest.approx(case.norms, abs=2e-5 * case.norms.max())
    for k, point in enumerate(fit.points[1:]):
        assert point.state.norms == pytest.approx(case.path_grads[k], rel=1e-5, abs=1e-7)
        assert point.objective == pytest.approx(case.path_objective[k], rel=1e-8)
        assert point.weights == pytest.approx(
            case.path_norms[k], abs=1e-4 * case.path_norms[k].max()
        )
    for d, point in enumerate(fit.points[2:], start=2):  # the rate of Theorem 1
        assert point.objective - case.dual <= greedy_rate_bound(case.norms.sum(), d)


def test_how_algorithm_1_ends():
    case = OPTIMA[0]
    K = case.K
    y = case.y
    assert solved(K, y, case.lam, n_kernels=1).status is Status.COMPLETE
    none = solved(K, y, 1.001 * critical_lam(K, y))
    assert none.selected == ()
    assert none.gap == 0.0
    assert solved(K, 0 * y, 0.1).objective == 0
    assert solved(K[:2], y, 1e-4, n_kernels=9, tol=0.0).status in (
        Status.EXHAUSTED,
        Status.CONVERGED,
        Status.ROUNDED,
    )


def doubled(seed, n=40, d=3):
    """Each column's kernel twice, and a target that they nearly fit."""
    rng = default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    K = KernelDictionary.per_feature(RBF(1.0), d).grams(X, normalise="diag").values
    return np.concatenate([K, K]), y


def rbf_problem(seed, widths, d=1, n=60):
    rng = default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + 0.7 * rng.standard_normal(n)
    return KernelDictionary.rbf_widths(widths).grams(X, normalise="diag").values, y


def long_value(K, y, lam, fit):
    """The objective of the published coefficients, in extended precision."""
    parts = [
        (K[j].astype(np.longdouble) @ a, a)
        for j, a in zip(fit.selected, fit.dual_coef, strict=True)
    ]
    norms = sum(np.sqrt(max(a @ f, np.longdouble(0))) for f, a in parts)
    r = y - sum(f for f, _ in parts)
    return float(r @ r / (2 * y.size) + lam * norms)


PROBLEMS = [
    *(rbf_problem(seed, widths) for seed in range(2) for widths in ((1, 2, 4), (0.3, 1, 3), (5, 10, 20))),
    # descent is out of sweeps, between two rounds that both have settled
    doubled(2, 32), doubled(1, 50),
]  # fmt: skip


@every("lam", [1e-4, 1e-6, 1e-7, 1e-8, 1e-10, 1e-300])
@every("K, y", PROBLEMS)
def test_a_tiny_lam_is_answered_honestly_or_refused(lam, K, y):
    """Wide Gaussian kernels: norms in the millions.

    What is published holds when it is computed again, or nothing is.
    """
    try:
        fit = solved(K, y, lam)
    except ParameterError as error:
        assert lam < 1e-6
        pattern = r"lam=\S+ is too small for these kernels.* double precision .* ten times as"
        assert re.search(pattern, str(error))  # noqa: PT017
        return
    again = long_value(K, y, lam, fit)
    theta = fit.dual_point
    assert fit.objective == pytest.approx(again, rel=1e-6)
    assert fit.dual_objective <= again * (1 + 1e-9)
    assert fit.dual_objective == pytest.approx(theta @ y - 0.5 * y.size * (theta @ theta), rel=1e-9)
    exact = theta.astype(np.longdouble)
    forms = [exact @ kernel.astype(np.longdouble) @ exact for kernel in K]
    assert np.sqrt(max(0.0, *forms)) <= lam * (1 + 1e-6)
    if fit.status.ok:
        assert fit.gap <= 1e-3 * lam * fit.weights.sum() * (1 + 1e-6)


@every("seed", range(4))
def test_under_a_vanishing_lam_the_answer_is_the_interpolant_of_least_norm(seed):
    """There L is nearly lam times the least sum of norms, at every lam the same multiple; block
    descent alone stands still.
    """
    K, y = rbf_problem(seed, (0.5, 1.0, 2.0), d=3)
    larger, smaller = (solved(K, y, lam) for lam in (1e-8, 1e-10))
    assert larger.status.ok
    assert smaller.status.ok
    assert larger.objective == pytest.approx(100 * smaller.objective, rel=1e-3)


# Algorithm 2


@each_descent
def test_every_step_of_algorithm_2(case):
    fit = algorithm_2(case.K, case.y, len(case.picks), case.linesearch)
    compared = 12 if case.linesearch else 30  # with line search late picks depend on round-off
    for k, point in enumerate(fit.points[1 : compared + 1]):
        assert point.state.pick == case.picks[k]
        assert point.state.norms == pytest.approx(case.grads[k], rel=1e-10, abs=1e-12)
        assert point.state.eta == pytest.approx(case.eta[k], rel=1e-10)
        assert point.objective == pytest.approx(case.loss[k], rel=1e-10, abs=1e-12)
    assert fit.status is Status.COMPLETE
    assert fit.dual_objective is None
    step = "linesearch" if case.linesearch else "unit"
    model = GreedyMKLRegressor(
        "empirical", n_kernels=12, step=step, kernels="precomputed", fit_intercept=False
    )
    model.fit(case.K, case.y)
    assert list(model.steps_) == list(case.picks[:12])
    assert 0.5 * np.mean((case.y - model.predict(case.K)) ** 2) == pytest.approx(
        case.loss[11], abs=1e-12
    )


def test_large_kernels_are_rescaled_where_the_unit_step_would_diverge():
    K = KERNELS["P1"]
    y = TARGETS["P1"]
    big = K * (3.0 * len(y) / np.linalg.eigvalsh(K)[:, -1])[:, None, None]
    assert unit_step_divisors(K) == pytest.approx(np.ones(8))
    assert unit_step_divisors(big) == pytest.approx(np.full(8, 3.0))
    free = EmpiricalGreedy(big, y, n_steps=10, linesearch=False, divisors=np.ones(8))
    assert run(free, tol=0, max_iter=99).objective > 100.0  # what happens without
    assert algorithm_2(big, y, 10).objective < 0.3
    assert algorithm_2(K, np.zeros(40)).status is Status.NO_GAIN
    scaled, plain = (
        GreedyMKLRegressor("empirical", kernels="precomputed").fit(one, y) for one in (big, K)
    )
    assert len(scaled.notes_) == 8
    assert all("lmax(K/n) is 3, above 1" in note for note in scaled.notes_)
    assert plain.notes_ == ()


# Estimators


@pytest.fixture(scope="module")
def table():
    rng = default_rng(0)
    X = rng.standard_normal((70, 4))
    score = X[:, 0] - X[:, 1] ** 2 + 0.7 + 0.3 * rng.standard_normal(70)
    return X, np.digitize(score, [-0.5, 0.7]), score


def test_several_classes_are_one_against_the_rest_and_the_intercept_is_the_mean(table):
    X, codes, target = table
    model = GreedyMKLClassifier(lam=0.02).fit(X, codes)
    assert model.decision_function(X).shape == (70, 3)
    assert model.dual_coef_.shape == (3, len(model.kernel_names_), 70)
    assert np.all(model.dual_gap_ <= 1e-3 * 0.02 * model.weights_.sum(axis=1) + 1e-12)
    alone = GreedyMKLClassifier(lam=0.02).fit(X, codes == 1)
    assert model.weights_[1] == pytest.approx(alone.weights_)
    assert model.decision_function(X)[:, 1] == pytest.approx(alone.decision_function(X))
    assert model.score(X, codes) > 0.8
    for fit_intercept, constant in ((True, np.mean(target + 5.0)), (False, 0.0)):
        none = GreedyMKLRegressor(lam=1e6, fit_intercept=fit_intercept).fit(X, target + 5.0)
        assert none.predict(X) == pytest.approx(np.full(70, constant))
