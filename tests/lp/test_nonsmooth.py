"""Piecewise-linear losses, mostly at p = 1: every problem ends certified, by its own published dual
point.
"""

from dataclasses import replace
from itertools import product

import numpy as np

from mklcore import RBF, KernelDictionary, LpNorm
from mklcore.lp.interior import Interior
from mklcore.lp.newton import Newton
from mklcore.lp.reweighting import Reweighting
from mklcore.lp.schedule import by_newton, fit_weighted
from mklcore.problem.driver import run
from mklcore.problem.losses import make_loss
from mklcore.problem.problem import Problem, WarmStart
from tests.helpers.every import every, share

LOSSES = ("hinge", "epsilon_insensitive", "one_class", "nu_one_class")
DRAWN_LOSSES = ("hinge", "epsilon_insensitive", "squared", "logistic")


def draw(rng):
    """A problem of 20 to 200 rows and up to 30 kernels, some of them nearly copies, as a loss with
    its own target.
    """
    n = int(rng.integers(20, 201))
    M = int(rng.integers(2, 31))
    X = rng.standard_normal((n, M))
    loss = make_loss(str(rng.choice(DRAWN_LOSSES)))
    signal = X[:, : max(1, M // 5)].sum(axis=1) * rng.choice([0.0, 0.3, 2.0]) + rng.standard_normal(
        n
    )
    y = (
        signal
        if loss.name == "epsilon_insensitive"
        else np.where(signal > np.median(signal), 1.0, -1.0)
    )
    kernels = [_kernel(X, m, rng) for m in range(M)]
    for m in range(1, M):
        if rng.random() < 0.25:
            kernels[m] = _shaken(kernels[int(rng.integers(m))], 10.0 ** -rng.uniform(1, 12), rng)
    K = np.ascontiguousarray([kernel * (n / np.trace(kernel)) for kernel in kernels])
    return Problem(y, 10.0 ** rng.uniform(-3, 3), loss, bool(rng.random() < 0.8), K, LpNorm(1.0))


def _kernel(X, m, rng):
    kind = rng.integers(3)
    few = X[:, rng.integers(0, X.shape[1], 2)]
    if kind == 0:
        return np.outer(X[:, m], X[:, m])
    if kind == 1:
        return np.exp(
            -((few[:, None] - few[None]) ** 2).sum(axis=2) / (2.0 * 10.0 ** rng.uniform(-1, 1))
        )
    low = rng.standard_normal((X.shape[0], 3))
    return low @ low.T


def _shaken(kernel, size, rng):
    """A near-duplicate: the kernel and a little of another one of the same trace."""
    v = rng.standard_normal(kernel.shape[0])
    return kernel + size * np.outer(v, v) * (np.trace(kernel) / float(v @ v))


def checked(problem, fit, tol):
    """The gap is small as a share of R (or of what rounding leaves of it), by weights and dual
    point alone.
    """
    K = problem.K.values
    loss = problem.loss
    C = problem.C
    a = fit.dual_coef
    point = fit.dual_point
    norms = fit.weights * np.sqrt(np.maximum(np.einsum("i,mij,j->m", a, K, a), 0.0))
    f = np.tensordot(fit.weights, K, 1) @ a + fit.intercept
    primal = C * float(loss.value(f, problem.y).sum()) + 0.5 * float(norms.sum()) ** 2
    conjugate = 0.5 * float(np.einsum("i,mij,j->m", point, K, point).max())
    assert fit.status.ok
    assert primal - (loss.dual(point, problem.y, C) - conjugate) <= tol * (1 + 1e-6) * max(
        conjugate, 1e-10 * abs(primal)
    )


def tied(n, M, loss):
    """One linear kernel per feature and a weak signal in many of them: dozens of kernels tie at the
    optimum.
    """
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, M))
    X[:, : M // 5] += 0.35 * y[:, None]
    X = X - X.mean(axis=0) + (0.5 if "one_class" in loss else 0.0)
    K = np.ascontiguousarray(np.einsum("im,jm->mij", X, X))
    return Problem(
        y,
        1.0 if loss != "nu_one_class" else 2.0 / n,
        make_loss(loss),
        loss != "one_class",
        K,
        LpNorm(1.0),
    )


@every("loss", ["hinge", "epsilon_insensitive"])
def test_newton_that_stands_still_gives_way_to_the_path_inside(loss):
    problem = tied(200, 40, loss)
    alone = run(Newton(problem, tol=1e-6), tol=1e-6, max_iter=15)
    assert not alone.status.ok
    fit = run(by_newton(problem, tol=1e-6), tol=1e-6, max_iter=28)
    checked(problem, fit, 1e-6)


@every("loss", LOSSES)
@every("tol", [1e-3, 1e-7])
def test_the_path_inside_alone_is_certified_from_a_cold_start(loss, tol):
    problem = tied(60, 12, loss)
    fit = run(Interior(problem, tol=tol), tol=tol, max_iter=60)
    assert fit.status.ok
    if loss != "nu_one_class":  # its primal carries the intercept itself
        checked(problem, fit, tol)


def test_a_box_without_an_inside_is_left_to_newton():
    K = np.eye(5)[None] * np.arange(1.0, 4.0)[:, None, None]
    y = np.ones(5)
    problem = Problem(y, 1.0, make_loss("hinge"), True, K, LpNorm(1.0))
    assert not Interior.suits(problem)
    fit = run(by_newton(problem, tol=1e-3), tol=1e-3, max_iter=100)
    assert not np.any(fit.dual_coef)
    assert fit.objective == 0.0


@every("k", range(25))
def test_random_problems_end_certified(k):
    problem = draw(np.random.default_rng([7, k]))
    asked = problem.y, problem.C, problem.loss, problem.penalty, problem.fit_intercept
    checked(problem, fit_weighted(problem.K, *asked, tol=1e-3), 1e-3)


PATHS = product(
    [np.geomspace(1e-3, 10.0, 9), np.geomspace(10.0, 1e-3, 9)],
    ["hinge", "epsilon_insensitive", "squared_hinge"],
)


@every("values, loss", share(PATHS, 2))
def test_a_path_hands_live_kernels_on_and_every_point_is_certified(values, loss):
    task = tied(120, 24, loss)
    warm = None
    live = []
    for C in values:
        problem = replace(task, C=C)
        fit = fit_weighted(task.K, task.y, C, task.loss, task.penalty, True, tol=1e-5, warm=warm)
        checked(problem, fit, 1e-5)
        warm = WarmStart(fit.weights, fit.dual_coef, fit.carry)
        live.append(24 if fit.carry.live is None else fit.carry.live.size)
    assert min(live) < 24


@every("C", [1e-4, 1.0])
def test_pairs_that_stand_still_at_p_1_give_way_too(C):
    problem = replace(tied(200, 40, "hinge"), C=C)
    fit = fit_weighted(
        problem.K,
        problem.y,
        C,
        problem.loss,
        problem.penalty,
        True,
        tol=1e-3,
        solver="interleaved",
        max_iter=100,
    )
    checked(problem, fit, 1e-3)


@every("p", [1.01, 1.1])
@every("C", [1e-4, 1e-2])
def test_pairs_next_to_p_1_do_not_take_a_dual_at_rest_for_the_end(p, C):
    task = tied(120, 20, "hinge")
    fit = fit_weighted(
        task.K, task.y, C, task.loss, LpNorm(p), True, tol=1e-3, solver="interleaved"
    )
    assert fit.status.ok


def test_where_hardly_a_slope_pays_the_certificate_of_the_plain_sum_reaches_its_tolerance(rng):
    # no column sees the rare class, and the constant errs by 2 on each of its rows, at C = 100
    x = rng.normal(size=(200, 2))
    y = np.where(np.arange(200) < 10, 1.0, -1.0)
    K = KernelDictionary.per_feature(RBF(1.0, relative=True), 2).grams(x).values
    problem = Problem(y, 100.0, make_loss("hinge"), True, K, LpNorm(np.inf))
    pairs = run(Reweighting(problem, tol=1e-3), tol=1e-3, max_iter=50)
    fit = fit_weighted(K, y, 100.0, problem.loss, LpNorm(np.inf), True)
    assert fit.status.ok
    # pairs may stand still, as their rounding has it
    assert fit.gap < max(0.01 * pairs.gap, 1e-9 * fit.objective)
    assert fit.objective <= 2000.0
