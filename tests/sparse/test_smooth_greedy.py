"""The greedy methods with every loss that has a slope: scores, refits and minimisers against
independent solvers.
"""

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy

import mklcore as mkl
from mklcore.problem.driver import run
from mklcore.problem.losses import make_loss
from mklcore.sparse.gomp import LossGOMP
from mklcore.sparse.greedy import EmpiricalGreedy, has_rate
from tests.helpers.every import every
from tests.helpers.refusals import parameter_error
from tests.oracles.cones import CONES

SIGNED = ("logistic", "squared_hinge")
LOSSES = ("logistic", "squared_hinge", "huber")


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n = 10
    M = int(rng.integers(3, 6))
    factors = [rng.standard_normal((n, 3)) / np.sqrt(3) for _ in range(M)]
    f = factors[0] @ rng.standard_normal(3) + 0.5 * factors[1] @ rng.standard_normal(3)
    name = LOSSES[seed % 3]
    y = np.where(f > np.median(f), 1.0, -1.0) if name in SIGNED else f
    return factors, y, name, 10.0 ** rng.uniform(-2, -0.7)


def solved(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy tells of last digits that we do not ask for
        return float(problem.solve(solver="CLARABEL"))


@every("seed", range(12))
def test_scores_and_refits_of_pursuit(seed):
    factors, y, name, lam = random_problem(seed)
    K = np.array([L @ L.T for L in factors])
    method = LossGOMP(
        K, y[:, None], lam, n_kernels=2, score_tol=0.0, loss=make_loss(name), fit_intercept=True
    )
    first, second, third = run(method, tol=0.0, max_iter=10).points

    def least(chosen, b):
        """The least loss over the factors of some kernels."""
        betas = [cp.Variable(L.shape[1]) for L in chosen]
        f = sum(L @ beta for L, beta in zip(chosen, betas, strict=True)) + b
        return solved(
            cp.Problem(
                cp.Minimize(CONES[name](y, f) / len(y) + lam * sum(map(cp.sum_squares, betas)))
            )
        )

    gains = [first.objective - least([L], float(first.state.intercepts[0])) for L in factors]
    assert second.state.scores == pytest.approx(gains, abs=2e-5)
    assert second.selected == (int(np.argmax(second.state.scores)),)
    assert third.objective == pytest.approx(
        least([factors[j] for j in third.selected], cp.Variable()), abs=1e-5
    )


@every("seed, name", enumerate(LOSSES))
def test_algorithm_2_falls_towards_the_least_loss(seed, name):
    factors, y, _, _ = random_problem(seed)
    K = np.array([L @ L.T for L in factors])
    loss = make_loss(name)
    method = EmpiricalGreedy(
        K, y, loss=loss, n_steps=60, divisors=np.ones(len(K)), fit_intercept=True
    )
    values = [point.objective for point in run(method, tol=0.0, max_iter=61).points]
    assert np.all(np.diff(values) <= 1e-12)
    whole = np.hstack([*factors, np.ones((len(y), 1))])
    least = scipy.optimize.minimize(
        lambda beta: np.mean(loss.value(whole @ beta, y)) + 1e-3 * beta @ beta,
        np.zeros(whole.shape[1]),
    )
    assert values[-1] < 0.5 * values[0] + 0.5 * least.fun


# Estimators


@every("loss", SIGNED)
def test_classes(loss):
    data = mkl.load_sample("iris")
    kernels = mkl.KernelDictionary.per_feature(mkl.RBF(1.0, relative=True), 4)
    pursuit = mkl.GOMPClassifier(
        lam=1e-3, n_kernels=2, loss=loss, fit_intercept=True, kernels=kernels
    )
    greedy = mkl.GreedyMKLClassifier("empirical", loss=loss, fit_intercept=True, kernels=kernels)
    for model in (pursuit, greedy):
        model.fit(data.X, data.y)
        assert model.score(data.X, data.y) > 0.9
        assert model.decision_function(data.X).shape == (150, 3)
    assert set(pursuit.selected_.tolist()) & {2, 3}


def test_rates_are_claimed_where_the_second_derivative_stays(rng):
    assert [name for name in ("squared", "logistic", "squared_hinge", "huber") if has_rate(make_loss(name))] == [
        "squared", "logistic",
    ]  # fmt: skip
    X = rng.standard_normal((40, 2))
    reported = mkl.GreedyMKLRegressor("empirical", loss="huber").fit(X, X[:, 0])
    assert "No rate" in reported.notes_[-1]
    assert not any("No rate" in note for note in mkl.GreedyMKLRegressor().fit(X, X[:, 0]).notes_)


def test_refusals():
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = X[:, 0]
    signs = np.sign(X[:, 0])
    refused = [
        (mkl.GOMPRegressor(loss="hinge"), y, "loss must be one of squared, huber here"),
        (mkl.GOMPClassifier(loss="huber"), signs, "loss must be one of"),
        (mkl.GreedyMKLClassifier(loss="hinge"), signs, "loss must be one of"),
        (mkl.GOMPRegressor(loss="huber", approximation=mkl.Nystroem(10)), y, "only with loss"),
        (mkl.GreedyMKLRegressor(loss="huber"), y, 'squared loss alone; got loss="huber"'),
        (mkl.GreedyMKLClassifier(loss="logistic"), signs, 'criterion="empirical"'),
        (mkl.GreedyMKLRegressor("empirical", step="linesearch", loss="huber"), y, "closed form"),
    ]
    for model, target, words in refused:
        with parameter_error(words):
            model.fit(X, target)
    without_slope = make_loss("epsilon_insensitive")
    with parameter_error("has none"):
        LossGOMP(
            np.eye(3)[None], np.ones((3, 1)), 0.1, n_kernels=1, score_tol=0.0, loss=without_slope
        )
