"""What a path hands on from point to point."""

from dataclasses import replace

import numpy as np
import pytest

from mklcore.kernels.operators import DenseKernels
from mklcore.losses import make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import certificate, fit_weighted
from mklcore.solvers.interleaved import Interleaved
from mklcore.solvers.problem import Carried, Problem, WarmStart
from mklcore.solvers.schedule import scheduled
from mklcore.solvers.working_set import nearest
from tests.settings import setting


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    far = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0.0, 1.0, -1.0)
    return np.exp(-far[None] * np.geomspace(0.02, 2.0, 20)[:, None, None]), y


@pytest.mark.parametrize("p", [1.1, 4 / 3, 2.0])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_a_path_makes_a_sum_for_each_machine_at_most_and_every_point_has_its_certificate(problem, p, loss, monkeypatch):
    K, y = problem
    made, plain = [], DenseKernels.combine
    monkeypatch.setattr(DenseKernels, "combine", lambda self, *given: made.append(1) or plain(self, *given))
    warm, solves = None, 0
    for C in np.geomspace(0.05, 20.0, 12):
        fit = fit_weighted(K, y, C, make_loss(loss), LpNorm(p), True, solver="newton", warm=warm)
        primal, dual = certificate(
            K, y, fit.weights, fit.dual_coef, fit.intercept, loss, C, LpNorm(p), dual_point=fit.dual_point
        )
        assert primal == pytest.approx(fit.objective, rel=1e-9)
        assert primal - dual <= 1e-3 * primal
        assert fit.status.ok
        warm, solves = WarmStart(fit.weights, fit.dual_coef, C, fit.carry), solves + fit.solves
    assert len(made) <= solves


def test_pairs_start_from_the_weights_of_the_neighbour(problem):
    K, y = problem
    warm = WarmStart(np.linspace(0.05, 0.2, 20), np.zeros(60), 2.0)
    task = Problem(K, y, 4.0, make_loss("hinge"), LpNorm(4 / 3), True)
    first = Interleaved(task, tol=1e-3, warm=warm).init()
    np.testing.assert_allclose(first.weights, LpNorm(4 / 3).scale(warm.weights), rtol=1e-12)


def test_more_kernels_are_on_disk_where_the_optimum_is_too_dear_to_follow(problem, monkeypatch):
    K, y = problem
    fit = fit_weighted(K, y, 0.8, make_loss("hinge"), LpNorm(1.0), True)
    sizes = []
    state = replace(fit.carry, carried=Carried(nearest(fit.weights, fit.weights)))
    warm = WarmStart(fit.weights, fit.dual_coef, 0.8, state)
    task = Problem(fit.carry.problem.K, y, 1.0, make_loss("hinge"), LpNorm(1.0), True)
    for most in (150, 0):
        setting(monkeypatch, "mklcore.solvers.homotopy.most_free", most)
        method = scheduled("newton", task, tol=1e-3, warm=warm)
        method.init()
        sizes.append(method.carry.live.size)
        assert method.carry.homotopy_is_dear == (most == 0)
    assert sizes[1] >= sizes[0] + 2
