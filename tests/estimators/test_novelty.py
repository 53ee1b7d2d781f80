"""Novelty detection along a path: certificates, the share of rows accepted, what the score cannot
do, and refusals.
"""

from functools import partial

import numpy as np
import pytest

import mklcore as mkl
from mklcore import (
    GramStack,
    KernelDictionary,
    Linear,
    LpMKLOneClass,
    choose,
    choose_C,
    cross_validate_path,
    fit_path,
)
from mklcore.data.synthetic import RING_GAP
from mklcore.estimators.inspection.curves import NOVELTY, decision_surface
from mklcore.paths import path_grid
from mklcore.paths.scoring import ACCEPTED
from tests.helpers.every import every
from tests.helpers.refusals import parameter_error, refused

KERNELS = KernelDictionary.rbf_grid([0.25, 0.5, 1.0, 2.0])


@pytest.fixture(scope="module")
def ring():
    data, truth = mkl.data.make_ring(n=120, n_outside=8, seed=1)
    return data, truth, KERNELS.grams(data.X[:80])


def path(stack, param="C", n=8, **parameters):
    model = LpMKLOneClass(kernels="precomputed", **parameters)
    return fit_path(model, stack, None, param, path_grid(model, stack, None, param, n))


def test_the_ring_is_what_its_truth_says(ring):
    data, truth, _ = ring
    away = np.abs(np.hypot(*data.X.T) - truth.radius)
    assert truth.outside.sum() == 8
    assert away[truth.outside].min() >= RING_GAP
    assert away[~truth.outside].max() < 5 * truth.noise_std
    assert data == mkl.data.make_ring(120, 8, seed=1)[0]


@every("param", ["C", "p"])
def test_a_path_is_certified_and_scored_by_the_share_accepted(ring, param):
    data, _, stack = ring
    model = LpMKLOneClass(p=1.5, C=0.05, kernels="precomputed")
    new = stack.cross(data.X[80:])
    found = fit_path(model, stack, None, param, path_grid(model, stack, None, param, 8), new)
    assert found.score_name == ACCEPTED
    assert all(status.ok for status in found.statuses)
    assert found.relative_gap.max() <= 1e-3
    for fitted, *scores in zip(found.estimators, found.train_score, found.val_score, strict=True):
        for reported, rows in zip(scores, (stack.values, new), strict=True):
            values = fitted.decision_function(rows)
            # whether such a row is inside depends on the last digit
            on_the_border = np.abs(values) < 1e-9
            assert reported == pytest.approx(
                np.mean(values >= 0), abs=np.mean(on_the_border) + 1e-12
            )
            assert fitted.score(rows) == np.mean(values >= 0)


@every("p", [1.0, 2.0, np.inf])
def test_the_path_over_C_goes_from_no_row_to_nearly_all_as_single_fits_do(ring, p):
    found = path(ring[2], p=p, tol=1e-6)
    assert found.train_score[0] < 0.5
    assert found.train_score[-1] > 0.9
    assert found.first_look == 4
    assert not found.can_choose
    alone = LpMKLOneClass(p=p, C=found.values[3], kernels="precomputed", tol=1e-6).fit(ring[2])
    assert found.objective[3] == pytest.approx(alone.objective_, rel=1e-5)


def test_the_share_accepted_cannot_choose_and_the_nu_form_has_no_C(ring):
    data, _, stack = ring
    model = LpMKLOneClass(p=2.0, kernels=KERNELS)
    folds = cross_validate_path(model, data.X, data.y, "C", [0.01, 0.1], n_splits=3)
    assert folds.score_name == ACCEPTED
    assert np.all((folds.scores >= 0) & (folds.scores <= 1))
    found = path(stack, "p", nu=0.2)
    assert all(status.ok for status in found.statuses)
    assert np.all(np.abs(found.train_score - 0.8) < 0.2)
    refused(
        (lambda: choose(path(stack)), "cannot choose a point"),
        (lambda: choose(folds), "cannot choose a point"),
        (lambda: choose_C(model, data.X, data.y, [0.1, 1.0]), "no error can be estimated"),
        (lambda: path(stack, nu=0.2), "With nu given C has no effect"),
        (
            lambda: mkl.data.make_ring(5, 5, seed=0),
            "n_outside must be a whole number from 0 to 4; got 5",
        ),
    )


@every("solver", ["auto", "wrapper"])
def test_rows_around_the_origin_have_no_boundary_and_uncentred_ones_do(ring, solver):
    X = ring[0].X[:80]
    grid = KernelDictionary.rbf_grid([0.25, 1.0, 1e4])
    linear = KernelDictionary.per_feature(Linear(), 2)
    weighted = LpMKLOneClass(nu=0.2, center=True, kernels=grid, solver=solver)
    no_boundary = "mean of the training rows is the origin in every kernel.*Use center=False"
    refused(
        *(
            (
                partial(LpMKLOneClass(nu=nu, center=True, kernels=grid, solver=solver).fit, X),
                no_boundary,
            )
            for nu in (0.1, 1.0)
        ),
        (lambda: weighted.fit(X, sample_weight=np.arange(80.0)), no_boundary),
        (
            lambda: LpMKLOneClass(nu=0.2, kernels=linear, solver=solver).fit(X - X.mean(axis=0)),
            no_boundary,
        ),
    )
    assert LpMKLOneClass(nu=0.2, kernels=grid, solver=solver).fit(X).objective_ < 0
    both = GramStack.from_array(
        np.array([grid.grams(X, center=c).values[0] for c in (True, False)])
    )
    assert LpMKLOneClass(nu=0.2, kernels="precomputed", solver=solver).fit(both).status_.ok


def test_the_surface_is_zero_on_the_boundary(ring):
    data = ring[0]
    fitted = LpMKLOneClass(p=np.inf, C=0.05, kernels=KERNELS).fit(data.X)
    found = decision_surface(fitted, (0, 1), points=16)
    assert found.kind == "score"
    assert found.classes == NOVELTY
    corner = np.array([[found.x[0], found.y[0]]])
    assert found.values[0, 0] == pytest.approx(fitted.decision_function(corner)[0])


@every("norm", ["lp", "weighted lp", "block norm", "elliptic"])
def test_the_registry_makes_the_estimator_for_a_table_without_target(ring, norm):
    method = mkl.io.catalog.ESTIMATORS["lp"]
    stack = ring[2]
    model = method.estimator(
        "novelty", kernels="precomputed", stack=stack, norm=norm, p=1.5, C=0.05, loss="hinge"
    )
    assert type(model) is LpMKLOneClass
    assert model.fit(stack).status_.ok
    reported = method.words_for({"norm": norm}, "novelty")
    assert "y_i" not in reported.formula
    assert "{w,b" not in reported.formula
    assert "Without a target no score" in reported.cannot_tell
    shown = [control.name for control in method.shown("novelty", "C", {"norm": norm})]
    assert not {"loss", "epsilon", "fit_intercept", "C"} & set(shown)
    assert ("p" in shown) == (norm in ("lp", "weighted lp"))


@every("method", mkl.io.catalog.ESTIMATORS.values())
def test_other_methods_say_that_they_need_a_target(method):
    assert [method.fits(task) for task in ("binary", "regression", "novelty")] == [
        True,
        True,
        method.key == "lp",
    ]
    if method.key != "lp":
        with parameter_error(r"needs a target, and this table has none"):
            method.estimator("novelty")
