"""The interleaved solver, kernel rows and cutting planes: equal to the wrapper, inside their
budget, refusing in words.
"""

import numpy as np
import pytest
from numpy.random import default_rng

from mklcore import RBF, KernelDictionary, LpMKLClassifier, LpNorm
from mklcore.kernels.grams import Rows
from mklcore.kernels.operators import Dense, RowCache
from mklcore.lp.interleaved import Interleaved
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.driver import Status, run
from mklcore.problem.losses import make_loss
from mklcore.problem.problem import Problem
from tests.helpers.every import every
from tests.helpers.proofs import assert_proved

KERNELS = KernelDictionary.rbf_grid([0.5, 1, 2]) + KernelDictionary.per_feature(
    RBF(1.0, relative=True), 6
)


@pytest.fixture(scope="module")
def problem():
    rng = default_rng(0)
    X = rng.standard_normal((300, 6))
    target = X[:, 0] + np.sin(2 * X[:, 1]) + 0.4 * rng.standard_normal(300)
    return X, np.sign(target), target, KERNELS.grams(X), Rows.build(KERNELS, X)


@every("loss", ["hinge", "epsilon_insensitive"])
@every("p", [1.1, 2.0, 4.0])
@every("fit_intercept", [False, True])
def test_with_an_intercept_pairs_move_and_without_single_points(loss, p, fit_intercept, problem):
    _, labels, target, stack, rows = problem
    asked = labels if loss == "hinge" else target, 1.0, make_loss(loss), LpNorm(p), fit_intercept
    exact = fit_weighted(stack.values, *asked, tol=1e-6)
    fit = fit_weighted(rows, *asked, solver="interleaved", max_iter=5000)
    assert fit.status.ok
    assert fit_intercept or fit.intercept == 0.0
    assert fit.objective == pytest.approx(exact.objective, rel=1e-3)
    assert fit.dual_objective <= exact.objective


@every("seed", [1, 2, 10])
def test_an_unfinished_run_ends_with_the_best_point_it_saw(seed):
    rng = default_rng(seed)
    X = rng.standard_normal((40, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(-1)
    K = np.stack([np.exp(-squared / width) for width in (4.0, 4.001, 4.01)])
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(40)
    loss = make_loss("epsilon_insensitive")
    penalty = LpNorm(1.2)
    for most in (40, 60):
        fit = fit_weighted(K, y, 3e3, loss, penalty, True, solver="interleaved", max_iter=most)
        assert fit.n_iter <= most
        assert fit.objective <= min(record.objective for record in fit.history) * (1.0 + 1e-9)
        assert_proved(fit, K, y, loss, 3e3, penalty, rel=1e-9)
        assert fit.history[-1].objective == fit.objective


def test_rows_in_single_precision_are_left_where_a_large_C_would_show_their_rounding():
    rng = default_rng(2)
    X = rng.standard_normal((150, 3))
    y = np.sign(X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(150))
    rows = Rows.build(KernelDictionary.rbf_grid([0.5, 1, 2]), X)
    loss = make_loss("hinge")
    fit = fit_weighted(rows, y, 1e6, loss, LpNorm(1.5), True)
    assert fit.status.ok
    assert fit.objective <= min(record.objective for record in fit.history)
    plain = Interleaved(Problem(y, 1.0, loss, True, rows, LpNorm(1.5)), tol=1e-3)
    run(plain, tol=1e-3, max_iter=500)
    assert not plain._exact  # at C = 1 single precision is enough, and half as many bytes


def test_estimators_never_build_a_stack(problem, monkeypatch):
    X, labels, _, _, _ = problem
    monkeypatch.setattr(KernelDictionary, "grams", lambda *a, **k: pytest.fail("a stack was built"))
    model = LpMKLClassifier(kernels=KERNELS, p=2.0, solver="interleaved").fit(X, labels)
    assert model.score(X, labels) > 0.8
    assert "interleaved" in model.fit_.solver


def test_a_true_answer_in_the_middle_of_a_step_ends_it_with_a_proof(problem, monkeypatch):
    _, labels, _, stack, rows = problem
    loss = make_loss("hinge")
    penalty = LpNorm(2.0)
    answers = iter([False, False])
    monkeypatch.setattr("mklcore.lp.interleaved.EVERY", 4 * rows.diagonals().size)
    fit = fit_weighted(
        rows, labels, 1.0, loss, penalty, True, callback=lambda record: next(answers, True)
    )
    assert fit.status is Status.CANCELLED
    assert_proved(fit, stack.values, labels, loss, 1.0, penalty, rel=1e-8)


def test_a_cache_gives_the_rows_asked_for_whatever_it_has_given_up():
    values = default_rng(3).standard_normal((2, 30, 30))
    rng = default_rng(4)
    cache = RowCache(Dense(values), budget_mb=1e-6, least=4)
    for _ in range(40):
        rows = rng.permutation(30)[: rng.integers(1, 5)]
        assert cache.slab[cache.fetch(rows)] == pytest.approx(
            values[:, rows].transpose(1, 0, 2), rel=1e-6
        )
        here = np.flatnonzero(cache.slot >= 0)
        assert cache.slab[cache.slot[here]] == pytest.approx(
            values[:, here].transpose(1, 0, 2), rel=1e-6
        )
    assert len(cache.slab) == 4
