"""Rows that weigh more: a weight of two is the row twice, a weight of zero is no row, and the certificate knows."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import DataError
from mklcore.problem.losses import best_intercept, make_loss, total_loss
from tests.helpers.every import every
from tests.lp.test_properties import draw

LOSSES = {
    "hinge": True,
    "logistic": True,
    "squared": False,
    "squared_hinge": True,
    "epsilon_insensitive": False,
    "huber": False,
    "pinball": False,
}


def model_for(loss, **parameters):
    cls = mkl.LpMKLClassifier if LOSSES[loss] else mkl.LpMKLRegressor
    return cls(loss=loss, kernels="precomputed", tol=1e-6, **parameters)


@every("p", [1.0, 2.0, np.inf])
@every("loss", LOSSES)
def test_whole_weights_are_rows_given_as_often(loss, p):
    drawn, rng = draw(3, loss, n=24), np.random.default_rng(0)
    w = rng.integers(0, 4, 24)
    places = np.repeat(np.arange(24), w)
    weighted = model_for(loss, p=p, C=0.7).fit(drawn.K, drawn.y, sample_weight=w)
    repeated = model_for(loss, p=p, C=0.7).fit(np.ascontiguousarray(drawn.K[:, places][:, :, places]), drawn.y[places])
    size = abs(repeated.objective_)
    assert weighted.objective_ == pytest.approx(
        repeated.objective_, abs=weighted.dual_gap_ + repeated.dual_gap_ + 1e-9 * size
    )
    assert np.all(weighted.dual_coef_[w == 0] == 0)
    assert np.all(weighted.dual_point_[w == 0] == 0)
    found = mkl.certificate(
        drawn.K,
        drawn.y,
        weighted.weights_,
        weighted.dual_coef_,
        weighted.intercept_,
        loss if loss != "epsilon_insensitive" else make_loss(loss),
        0.7,
        mkl.LpNorm(p),
        weighted.dual_point_,
        True,
        w,
    )
    assert found == pytest.approx((weighted.objective_, weighted.dual_objective_), rel=1e-6)


@every("solver", ["wrapper", "newton", "interleaved"])
def test_every_solver_takes_weights_of_any_size(solver):
    drawn = draw(5, "hinge", n=40)
    w = np.random.default_rng(1).uniform(0.1, 3.0, 40)
    model = mkl.LpMKLClassifier(p=1.5, solver=solver, kernels="precomputed", tol=1e-5).fit(
        drawn.K, drawn.y, sample_weight=w
    )
    found = mkl.certificate(
        drawn.K, drawn.y, model.weights_, model.dual_coef_, model.intercept_, "hinge", 1.0, mkl.LpNorm(1.5),
        model.dual_point_, sample_weight=w,
    )  # fmt: skip
    assert found == pytest.approx((model.objective_, model.dual_objective_), rel=1e-6)
    assert model.relative_gap_ <= 1e-4
    assert np.all(np.abs(model.dual_coef_) <= w * (1 + 1e-9))


@every("nu", [None, 0.4])
def test_novelty_takes_weights(nu):
    drawn = draw(6, "one_class", n=24)
    w = np.random.default_rng(2).integers(0, 3, 24)
    places = np.repeat(np.arange(24), w)
    one = mkl.LpMKLOneClass(p=2.0, C=0.3, nu=nu, kernels="precomputed", tol=1e-6)
    weighted = one.fit(drawn.K, sample_weight=w).objective_
    repeated = one.fit(np.ascontiguousarray(drawn.K[:, places][:, :, places]))
    assert weighted == pytest.approx(repeated.objective_, rel=1e-5)


@every("seed", range(4))
@every("loss", [*LOSSES, "nu_one_class"])
def test_the_weighted_intercept_minimises(loss, seed):
    found, rng = make_loss(loss), np.random.default_rng(seed)
    y = np.ones(15) if loss == "nu_one_class" else draw(seed, loss, n=15).y
    f, w = 2 * rng.standard_normal(15), rng.uniform(0.0, 1.0, 15)
    w = w / w.sum() * 2.0 if loss == "nu_one_class" else w
    b = best_intercept(found, f, y, w)
    around = b + np.concatenate([np.linspace(-4, 4, 401), 1e-4 * np.linspace(-1, 1, 11)])
    assert total_loss(found, f, b, y, w) <= min(total_loss(found, f, c, y, w) for c in around) + 1e-9


@every("weights", [np.ones(5), -np.ones(24), np.zeros(24), np.full(24, np.nan), np.full(24, np.inf)])
def test_weights_that_make_no_sense_are_refused(weights):
    drawn = draw(8, "hinge")
    with pytest.raises(DataError, match="sample_weight must be 24 finite numbers of 0 or more"):
        mkl.LpMKLClassifier(kernels="precomputed").fit(drawn.K, drawn.y, sample_weight=weights)


def test_a_class_without_weight_is_refused():
    drawn = draw(8, "hinge")
    with pytest.raises(DataError, match="A class has no row of weight above 0"):
        mkl.LpMKLClassifier(kernels="precomputed").fit(drawn.K, drawn.y, sample_weight=drawn.y > 0)


WEIGHED = {
    "default": mkl.KernelDictionary.default(4),
    "laplacian": mkl.KernelDictionary.per_feature(mkl.Laplacian(0.5, relative=True), 4),
    "interaction": mkl.KernelDictionary.interactions(
        mkl.Dataset(np.random.default_rng(0).standard_normal((9, 4)), np.arange(9.0)), candidates=[("x1", "x3")]
    ),
}


@every("center", [False, True])
@every("normalise", ["multiplicative", "spherical", "trace", "diag", None])
@every("kernels", WEIGHED)
def test_kernels_of_weighted_rows_are_those_of_repeated_rows(kernels, normalise, center):
    rng = np.random.default_rng(4)
    X, new, w = rng.standard_normal((18, 4)), rng.standard_normal((5, 4)), rng.integers(0, 4, 18)
    X[0], w[0] = 50.0, 0  # a row of weight 0 that would set every scale
    places, kept = np.repeat(np.arange(18), w), np.flatnonzero(w)
    first = np.searchsorted(places, kept)
    weighted = WEIGHED[kernels].grams(X, normalise, center, sample_weight=w.astype(float))
    repeated = WEIGHED[kernels].grams(X[places], normalise, center)
    assert weighted.cross(new)[:, :, kept] == pytest.approx(repeated.cross(new)[:, :, first], rel=1e-9, abs=1e-11)
    assert weighted.block(kept, kept) == pytest.approx(repeated.block(first, first), rel=1e-9, abs=1e-11)
