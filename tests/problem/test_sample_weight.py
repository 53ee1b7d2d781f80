"""Rows that weigh more: a weight of two is the row twice, a weight of zero is no row, and the
certificate knows.
"""

import numpy as np
import pytest
from numpy.random import default_rng

from mklcore import (
    Dataset,
    KernelDictionary,
    Laplacian,
    LpMKLClassifier,
    LpMKLOneClass,
    LpMKLRegressor,
    LpNorm,
    certificate,
)
from mklcore.problem.losses import make_loss
from tests.helpers.every import every
from tests.helpers.refusals import data_error
from tests.lp.test_properties import draw

SIGNED = ("hinge", "logistic", "squared_hinge")


def repeated(drawn, w):
    """The kernels and the target of rows that are given as often as ``w`` says."""
    places = np.repeat(np.arange(w.size), w)
    return np.ascontiguousarray(drawn.K[:, places][:, :, places]), drawn.y[places]


def proves(drawn, model, loss, p, w):
    """Whether the certificate of a weighted fit is what the model says."""
    parts = (
        model.weights_,
        model.dual_coef_,
        model.intercept_,
        make_loss(loss),
        model.C,
        LpNorm(p),
    )
    found = certificate(drawn.K, drawn.y, *parts, model.dual_point_, sample_weight=w)
    return found == pytest.approx((model.objective_, model.dual_objective_), rel=1e-6)


@every("p", [1.0, 2.0, np.inf])
@every("loss", [*SIGNED, "squared", "epsilon_insensitive", "huber", "pinball"])
def test_whole_weights_are_rows_given_as_often(loss, p):
    drawn = draw(3, loss, n=24)
    w = default_rng(0).integers(0, 4, 24)
    kind = LpMKLClassifier if loss in SIGNED else LpMKLRegressor
    weighted, often = (
        kind(loss=loss, kernels="precomputed", tol=1e-6, p=p, C=0.7) for _ in range(2)
    )
    weighted.fit(drawn.K, drawn.y, sample_weight=w)
    often.fit(*repeated(drawn, w))
    room = weighted.dual_gap_ + often.dual_gap_ + 1e-9 * abs(often.objective_)
    assert weighted.objective_ == pytest.approx(often.objective_, abs=room)
    assert not np.any(weighted.dual_coef_[w == 0])
    assert not np.any(weighted.dual_point_[w == 0])
    assert proves(drawn, weighted, loss, p, w)


@every("solver", ["wrapper", "newton", "interleaved"])
def test_every_solver_takes_weights_of_any_size(solver):
    drawn = draw(5, "hinge", n=40)
    w = default_rng(1).uniform(0.1, 3.0, 40)
    model = LpMKLClassifier(p=1.5, solver=solver, kernels="precomputed", tol=1e-5)
    assert proves(drawn, model.fit(drawn.K, drawn.y, sample_weight=w), "hinge", 1.5, w)
    assert model.relative_gap_ <= 1e-4
    assert np.all(np.abs(model.dual_coef_) <= w * (1 + 1e-9))


@every("nu", [None, 0.4])
def test_novelty_takes_weights(nu):
    drawn = draw(6, "one_class", n=24)
    w = default_rng(2).integers(0, 3, 24)
    one = LpMKLOneClass(p=2.0, C=0.3, nu=nu, kernels="precomputed", tol=1e-6)
    weighted = one.fit(drawn.K, sample_weight=w).objective_
    assert weighted == pytest.approx(one.fit(repeated(drawn, w)[0]).objective_, rel=1e-5)


@every(
    "weights",
    [np.ones(5), -np.ones(24), np.zeros(24), np.full(24, np.nan), np.full(24, np.inf), None],
)
def test_weights_that_make_no_sense_are_refused(weights):
    drawn = draw(8, "hinge")
    words = "sample_weight must be 24 finite numbers of 0 or more"
    if weights is None:
        weights = drawn.y > 0
        words = "A class has no row of weight above 0"
    with data_error(words):
        LpMKLClassifier(kernels="precomputed").fit(drawn.K, drawn.y, sample_weight=weights)


WEIGHED = {
    "default": KernelDictionary.default(4),
    "laplacian": KernelDictionary.per_feature(Laplacian(0.5, relative=True), 4),
    "interaction": KernelDictionary.interactions(
        Dataset(default_rng(0).standard_normal((9, 4)), np.arange(9.0)),
        candidates=[("x0", "x2")],
    ),
}


@every("center", [False, True])
@every("normalise", ["multiplicative", "spherical", "trace", "diag", None])
@every("kernels", WEIGHED)
def test_kernels_of_weighted_rows_are_those_of_repeated_rows(kernels, normalise, center):
    rng = default_rng(4)
    X = rng.standard_normal((18, 4))
    new = rng.standard_normal((5, 4))
    w = rng.integers(0, 4, 18)
    # a row of weight 0 that would set every scale
    X[0] = 50.0
    w[0] = 0
    places = np.repeat(np.arange(18), w)
    kept = np.flatnonzero(w)
    first = np.searchsorted(places, kept)
    weighted = WEIGHED[kernels].grams(X, normalise, center, sample_weight=w.astype(float))
    repeated = WEIGHED[kernels].grams(X[places], normalise, center)
    assert weighted.cross(new)[:, :, kept] == pytest.approx(
        repeated.cross(new)[:, :, first], rel=1e-9, abs=1e-11
    )
    assert weighted.block(kept, kept) == pytest.approx(
        repeated.block(first, first), rel=1e-9, abs=1e-11
    )
