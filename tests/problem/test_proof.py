"""Every answer proves itself: what a fit publishes gives its objective, and its dual point gives
its bound.
"""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm
from mklcore.problem.problem import certificate
from tests.helpers.every import every
from tests.lp.test_properties import draw

SEED = 5


def proved(drawn, fit, loss, C, penalty):
    """The certificate of a fit, its dual point asked for the bound, against what the fit says."""
    assert fit.dual_point is not None
    primal, dual = certificate(
        drawn.K,
        drawn.y,
        fit.weights,
        fit.dual_coef,
        fit.intercept,
        loss,
        C,
        penalty,
        fit.dual_point,
        drawn.intercept,
    )
    assert primal == pytest.approx(fit.objective, rel=1e-6)
    assert dual == pytest.approx(fit.dual_objective, rel=1e-6, abs=1e-6 * abs(fit.objective))


def test_a_path_and_its_warm_starts_keep_their_proofs():
    drawn = draw(SEED, "hinge", n=60, M=12)
    model = mkl.LpMKLClassifier(p=1.0, kernels="precomputed", tol=1e-4)
    path = mkl.fit_path(model, drawn.K, drawn.y, param="C", values=mkl.log_grid(0.01, 100, 7))
    for C, point in zip(path.values, path.estimators, strict=True):
        assert point.dual_point_ is point.fit_.dual_point
        proved(drawn, point.fit_, "hinge", C, LpNorm(1.0))


def test_several_classes_have_a_proof_each():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(45, 3))
    y = np.arange(45) % 3
    X[:, 0] += y
    model = mkl.LpMKLClassifier(kernels=mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0])).fit(X, y)
    K = mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0]).grams(X).values
    assert model.dual_point_.shape == (3, 45)
    for k, point in enumerate(model.dual_point_):
        found = certificate(
            K, np.where(y == k, 1.0, -1.0), model.weights_[k], model.dual_coef_[k], model.intercept_[k], "hinge", 1.0,
            LpNorm(1.0), point,
        )  # fmt: skip
        assert found == pytest.approx((model.objective_[k], model.dual_objective_[k]), rel=1e-6)


@every("nu", [None, 0.3])
def test_novelty_has_a_proof_in_both_forms(nu):
    X = np.random.default_rng(SEED).normal(size=(40, 3))
    kernels = mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0])
    model = mkl.LpMKLOneClass(p=2.0, C=0.5, nu=nu, kernels=kernels).fit(X)
    C, intercept = (0.5, 0.0) if nu is None else (1 / (nu * 40), -model.offset_)
    loss = "one_class" if nu is None else make_loss("nu_one_class", nu=nu)
    found = certificate(
        kernels.grams(X).values, np.ones(40), model.weights_, model.dual_coef_, intercept, loss, C, LpNorm(2.0),
        model.dual_point_,
    )  # fmt: skip
    assert found == pytest.approx((model.objective_, model.dual_objective_), rel=1e-6)


def test_balance_is_asked_for_by_the_intercept_that_was_free_and_not_by_its_value():
    drawn = draw(SEED, "hinge")
    a = np.where(drawn.y > 0, 1.0, 0.0)
    asked = (drawn.K, drawn.y, np.ones(4), a, 0.0, "hinge", 1.0, LpNorm(np.inf))
    assert certificate(*asked)[1] == -np.inf
    assert np.isfinite(certificate(*asked, fit_intercept=False)[1])


@every("several", [False, True])
def test_greedy_algorithm_1_has_a_proof(several):
    drawn = draw(SEED, "hinge", n=30)
    y = np.arange(30) % 3 if several else drawn.y
    model = mkl.GreedyMKLClassifier(lam=0.02, kernels="precomputed", fit_intercept=True).fit(
        drawn.K, y
    )
    published = zip(*map(np.atleast_1d, (model.dual_objective_, model.objective_)), strict=True)
    for k, (theta, (dual, objective)) in enumerate(
        zip(np.atleast_2d(model.dual_point_), published, strict=True)
    ):
        labels = np.where(y == (k if several else model.classes_[1]), 1.0, -1.0)
        assert theta @ (labels - labels.mean()) - 15 * theta @ theta == pytest.approx(
            dual, rel=1e-9
        )
        assert max(np.sqrt(theta @ kernel @ theta) for kernel in drawn.K) <= 0.02 * (1 + 1e-9)
        assert dual <= objective + 1e-12


def test_there_is_no_dual_point_without_a_certificate():
    drawn = draw(SEED, "hinge", n=30)
    for model in (
        mkl.GOMPClassifier(kernels="precomputed", loss="hinge"),
        mkl.SMKLClassifier(kernels="precomputed"),
        mkl.GreedyMKLClassifier(criterion="empirical", kernels="precomputed"),
    ):
        assert model.fit(drawn.K, drawn.y).dual_point_ is None
