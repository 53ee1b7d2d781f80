"""Every answer proves itself: what a fit publishes gives its objective, and its dual point gives
its bound.
"""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.problem.penalties import LpNorm
from mklcore.problem.problem import certificate
from tests.helpers.every import every
from tests.helpers.proofs import assert_proved
from tests.lp.test_properties import draw

SEED = 5


def test_a_path_and_its_warm_starts_keep_their_proofs():
    drawn = draw(SEED, "hinge", n=60, M=12)
    model = mkl.LpMKLClassifier(p=1.0, kernels="precomputed", tol=1e-4)
    path = mkl.fit_path(model, drawn.K, drawn.y, param="C", values=mkl.log_grid(0.01, 100, 7))
    for C, point in zip(path.values, path.estimators, strict=True):
        assert point.dual_point_ is point.fit_.dual_point
        fit, asked = point.fit_, ("hinge", C, LpNorm(1.0), drawn.intercept)
        assert_proved(fit, drawn.K, drawn.y, *asked, abs=1e-6 * abs(fit.objective))


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
