"""The neighbour's answer first: taken only where a certificate from scratch holds, and only by the same problem."""

from __future__ import annotations

import numpy as np
import pytest

import mklcore as mkl
from mklcore.kernels.grams import Rows
from mklcore.losses import make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import certificate, fit_weighted
from mklcore.solvers.problem import WarmStart, WarmState
from tests.every import every

TOL = 1e-3


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0.0, 1.0, -1.0)
    kernels = mkl.KernelDictionary.rbf_grid(np.geomspace(0.1, 1.0, 6)) + mkl.KernelDictionary.per_feature(
        mkl.Linear(), 4
    )
    return X, kernels, kernels.grams(X).values, y


def neighbour(fit, C):
    return WarmStart(fit.weights, fit.dual_coef, C, fit.carry)


def fitted(K, y, C, p=1.0, loss="hinge", warm=None):
    return fit_weighted(K, y, C, make_loss(loss), LpNorm(p), True, tol=TOL, warm=warm)


@every("loss", ["hinge", "epsilon_insensitive"])
@every("p", [1.0, 4 / 3, 2.0])
@every("values", [np.geomspace(100.0, 1e4, 6), np.geomspace(1e-4, 1e-3, 6), np.geomspace(10.0, 1.0, 6)])
def test_every_point_of_a_path_has_its_certificate_and_some_take_no_machine(problem, loss, p, values):
    _, _, K, y = problem
    warm, solves = None, []
    for C in values:
        fit = fitted(K, y, C, p, loss, warm)
        primal, dual = certificate(
            K, y, fit.weights, fit.dual_coef, fit.intercept, loss, C, LpNorm(p), dual_point=fit.dual_point
        )
        assert primal == pytest.approx(fit.objective, rel=1e-9)
        assert dual == pytest.approx(fit.dual_objective, rel=1e-9)
        assert primal - dual <= TOL * primal
        assert fit.status.ok
        warm = neighbour(fit, C)
        solves.append(fit.solves)
    if values[0] == 100.0:  # no dual is at its bound any more
        assert 0 in solves


def test_the_same_problem_again_takes_no_machine_from_a_table_either(problem):
    X, kernels, _, y = problem
    rows = Rows.build(kernels, X)
    first = fitted(rows, y, 1.0, 2.0)
    again = fitted(rows, y, 1.0, 2.0, warm=neighbour(first, 1.0))
    assert again.solves == 0
    assert again.objective == pytest.approx(first.objective, rel=1e-9)


def test_another_problem_is_solved(problem):
    _, _, K, y = problem
    first = fitted(K, y, 1.0)
    warm = neighbour(first, 1.0)
    assert isinstance(first.carry, WarmState)
    assert fitted(K, y, 1.0, warm=warm).solves == 0
    assert fitted(K.copy(), y, 1.0, warm=warm).solves > 0
    assert fitted(K, -y, 1.0, warm=warm).solves > 0
    assert fitted(K, y, 1.0, p=1.5, warm=warm).solves > 0
    assert fitted(K, y, 1.0, warm=WarmStart(first.weights, 0.9 * first.dual_coef, 1.0, first.carry)).solves > 0
    square = fitted(K, y, 1.0, loss="squared")
    assert fitted(K, y, 1.0, loss="squared", warm=neighbour(square, 1.0)).solves > 0  # its dual has no box


def test_a_fit_alone_holds_no_kernels(problem):
    X, kernels, _, y = problem
    model = mkl.LpMKLClassifier(kernels=kernels).fit(X, y)
    assert model._carry is None
    assert model.fit_.carry is None
