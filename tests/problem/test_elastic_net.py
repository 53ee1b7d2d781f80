"""The elastic net of kernels: price and conjugate, its reductions, its optimum against a generic solver, its
certificate.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

import mklcore as mkl
from mklcore.errors import ParameterError
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import ElasticNet
from tests.helpers.every import every

MIXES = [0.05, 0.3, 0.8, 1.0]


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 6))
    target = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.standard_normal(50)
    kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), 6) + mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0])
    return X, np.where(target > 0, 1.0, -1.0), target, kernels.grams(X).values


@every("mu", MIXES)
@every("Q", [0.01, 0.4, 1.0, 9.0])
def test_the_dual_price_is_the_conjugate(mu, Q):
    """max over n >= 0 of sqrt(Q) n - Omega(n), kernel by kernel."""
    penalty = ElasticNet(mu)
    found = minimize_scalar(
        lambda n: penalty.regulariser(np.array([n])) - np.sqrt(Q) * n,
        bounds=(0, 200),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert penalty.dual_price(np.array([Q])) == pytest.approx(max(-found.fun, 0.0), abs=1e-7)


@every("mu", [0.05, 0.3, 0.8])
def test_the_regulariser_is_the_smallest_weighted_price(mu):
    """min over theta of n^2 / (2 theta) + cost(theta), at the weight that the update gives."""
    penalty, n = ElasticNet(mu), np.array([0.7])
    theta = penalty.update(np.ones(1), n**2)
    best = float(0.5 * n[0] ** 2 / theta[0]) + penalty.cost(theta)
    assert best == pytest.approx(penalty.regulariser(n), rel=1e-12)
    grid = np.linspace(1e-3, 0.999 / mu, 4001)
    values = [0.5 * n[0] ** 2 / t + penalty.cost(np.array([t])) for t in grid]
    assert min(values) >= best - 1e-12


@every("mu", [0.1, 0.5])
def test_the_optimum_is_that_of_a_generic_solver(case, mu):
    """The squared loss without intercept, in w over the factors of the kernels, smoothed by 1e-12 at zero."""
    _, _, y, K = case
    K, C, penalty = K[:4], 0.5, ElasticNet(mu)
    factors = []
    for kernel in K:
        values, vectors = np.linalg.eigh(kernel)
        keep = values > 1e-10 * values.max()
        factors.append(vectors[:, keep] * np.sqrt(values[keep]))
    ends = np.cumsum([0, *(part.shape[1] for part in factors)])
    Z = np.hstack(factors)

    def value(w):
        norms = np.array([np.sqrt(w[a:b] @ w[a:b] + 1e-12) for a, b in pairwise(ends)])
        residual = y - Z @ w
        slope = -C * Z.T @ residual
        for k, (a, b) in enumerate(pairwise(ends)):
            slope[a:b] += ((1 - mu) / norms[k] + mu) * w[a:b]
        return 0.5 * C * residual @ residual + penalty.regulariser(norms), slope

    found = minimize(
        value, np.full(ends[-1], 0.01), jac=True, method="L-BFGS-B", options={"maxiter": 50_000, "ftol": 1e-15}
    )
    fit = fit_weighted(K, y, C, make_loss("squared"), penalty, False, tol=1e-6, max_iter=5000)
    assert fit.objective == pytest.approx(found.fun, rel=1e-4)
    assert fit.dual_objective <= found.fun * (1 + 1e-6)


def test_at_a_small_cost_no_kernel_is_worth_its_price(case):
    _, y, _, K = case
    fit = fit_weighted(K, y, 1e-3, make_loss("squared"), ElasticNet(0.2), True)
    assert fit.status.ok
    assert not fit.weights.any()
    spread = y - y.mean()
    assert fit.objective == pytest.approx(0.5e-3 * spread @ spread, rel=1e-9)


def test_fewer_squares_fewer_kernels(case):
    _, _, y, K = case
    used = [
        np.count_nonzero(fit_weighted(K, y, 0.05, make_loss("squared"), ElasticNet(mu), True).weights) for mu in MIXES
    ]
    assert used[0] < used[-1] == len(K)
    assert all(a <= b for a, b in pairwise(used))


@every("mu", [0.0, -1.0, 1.5, True, "half"])
def test_a_share_that_is_none_is_refused(mu):
    with pytest.raises(ParameterError, match="mu is the share of the squared norms"):
        ElasticNet(mu)
