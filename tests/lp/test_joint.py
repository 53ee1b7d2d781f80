"""One set of kernel weights for several targets or classes: optima of an independent solver,
certificates, shares of R2.
"""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics import r2_score

import mklcore as mkl
from mklcore.lp.newton import fit_joint, joint_certificate
from mklcore.problem.losses import make_loss
from tests.helpers.every import every
from tests.helpers.refusals import refused
from tests.oracles.cones import CONES

LOSSES = tuple(CONES)
SIGNED = ("logistic", "hinge", "squared_hinge")


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n = 10
    M = int(rng.integers(2, 6))
    T = int(rng.integers(1, 4))
    factors = [rng.standard_normal((n, 3)) for _ in range(M)]
    Y = np.array(
        [factors[t % M] @ rng.standard_normal(3) for t in range(T)]
    ) + 0.3 * rng.standard_normal((T, n))
    loss = LOSSES[seed % len(LOSSES)]
    if loss in SIGNED:
        Y = np.where(np.median(Y, axis=1, keepdims=True) < Y, 1.0, -1.0)
    p = (1.0, Fraction(4, 3), Fraction(2), np.inf, Fraction(11, 10))[seed % 5]
    return factors, Y, loss, p, 10.0 ** rng.uniform(-1.5, 1.0)


def optimum(factors, Y, loss, p, C):
    """The whole problem in the block norms of all targets together, by Clarabel: 1/2
    ||(||w_m||)_m||_r^2, r = 2p / (p + 1).
    """
    W = [cp.Variable((factor.shape[1], len(Y))) for factor in factors]
    b = cp.Variable((1, len(Y)))
    f = sum(factor @ w for factor, w in zip(factors, W, strict=True)) + np.ones((Y.shape[1], 1)) @ b
    errors = CONES[loss](Y.T, f)
    norms = cp.hstack([cp.norm(w, "fro") for w in W])
    r = 1 if p == 1 else 2 * p / (p + 1)
    squared = (
        sum(map(cp.sum_squares, W))
        if p == np.inf
        else cp.square(cp.pnorm(norms, r, approx=r != Fraction(22, 21)))
    )
    return C * float(cp.Problem(cp.Minimize(errors + squared / (2 * C))).solve(solver="CLARABEL"))


@every("seed", range(35))  # every loss with every p
def test_optimum(seed):
    factors, Y, loss, p, C = random_problem(seed)
    K = np.array([factor @ factor.T for factor in factors])
    fit = fit_joint(K, Y, C, make_loss(loss), float(p), tol=1e-4, max_iter=5000)
    best = optimum(factors, Y, loss, p, C)
    assert fit.status.ok
    assert fit.objective == pytest.approx(best, rel=2e-4)
    assert fit.dual_objective <= best * (1 + 1e-6)
    assert fit.gap <= 1.1e-4 * abs(best)
    again = joint_certificate(
        K,
        Y,
        fit.weights,
        fit.dual_coef,
        fit.intercept,
        make_loss(loss),
        C,
        float(p),
        fit.dual_point,
    )
    assert again == pytest.approx((fit.objective, fit.dual_objective), rel=1e-6)


@pytest.fixture(scope="module")
def targets():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    Y = np.column_stack(
        [X[:, 0] + X[:, 1], X[:, 0] - 2 * X[:, 1], X[:, 1]]
    ) + 0.1 * rng.standard_normal((80, 3))
    return X, Y


KERNELS = mkl.KernelDictionary.per_feature(mkl.Linear(), 6)


def test_several_targets_share_their_kernels_and_one_is_lp_norm_mkl(targets):
    X, Y = targets
    model = mkl.JointMKLRegressor(p=1.0, kernels=KERNELS, C=10.0).fit(X, Y)
    assert model.weights_.shape == (6,)
    assert model.weights_[:2].sum() > 0.95
    assert model.dual_point_.shape == (3, 80)
    assert r2_score(Y, model.predict(X)) > 0.98
    ours, theirs = (
        kind(p=1.5, kernels=KERNELS, tol=1e-5).fit(X, Y[:, 0])
        for kind in (mkl.JointMKLRegressor, mkl.LpMKLRegressor)
    )
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=2e-5)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=2e-2)


@every("loss", ["hinge", "logistic"])
@every("p", [1.0, 2.0])
def test_classes_share_their_kernels(loss, p):
    data = mkl.load_sample("iris")
    kernels = mkl.KernelDictionary.per_feature(mkl.RBF(1.0, relative=True), 4)
    model = mkl.JointMKLClassifier(p=p, C=10.0, loss=loss, kernels=kernels).fit(data.X, data.y)
    apart = mkl.LpMKLClassifier(p=p, C=10.0, loss=loss, kernels=kernels).fit(data.X, data.y)
    assert model.weights_.shape == (4,)
    assert model.score(data.X, data.y) > 0.93
    assert model.relative_gap_ < 1e-3
    # weights of one's own can only be better
    assert model.objective_ >= apart.dual_objective_.sum() - 1e-6


def test_refusals(targets):
    X, Y = targets
    model = mkl.JointMKLRegressor(kernels=KERNELS).fit(X, Y)
    refused(
        (lambda: mkl.JointMKLRegressor().fit(X, Y[:, :0]), "no columns"),
    )
    parts = (
        model.weights_,
        model.dual_coef_.T,
        model.intercept_,
        make_loss("squared"),
        1.0,
        1.0,
        np.ones((3, 80)),
    )
    assert joint_certificate(KERNELS.grams(X), Y.T, *parts)[1] == -np.inf
