"""Targets far from zero, and in any unit: the intercept takes the shift up, and everything else
stays what it was.
"""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import mklcore as mkl
from mklcore.answer.references import plain_references
from mklcore.hkl.baselines import hull_references
from mklcore.hkl.design import Design
from mklcore.hkl.search import hkl_certificate
from mklcore.problem.losses import Huber
from tests.helpers.every import every

N = 30
RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((N, 3)), RNG.standard_normal((8, 3))
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.standard_normal(N)
KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 2.0]) + mkl.KernelDictionary.per_feature(
    mkl.Linear(), 3
)
TOL = {"kernels": KERNELS, "tol": 1e-5}
LP = mkl.LpMKLRegressor


def tube(s):
    return {"C": 10 * s, "loss": "epsilon_insensitive", "epsilon": 0.1 * s, **TOL}


# Each stated in the unit ``s`` of the target: costs and tubes follow it, so that the answers differ
# by the unit alone.
REGRESSORS = {
    "lp 1": lambda s: LP(p=1, C=10, **TOL),
    "lp 4/3": lambda s: LP(p=4 / 3, C=10, **TOL),
    "lp 2, wrapper": lambda s: LP(p=2, C=10, solver="wrapper", **TOL),
    "lp 1, tube": lambda s: LP(p=1, **tube(s)),
    "lp 2, tube": lambda s: LP(p=2, **tube(s)),
    "lp 2, tube, interleaved": lambda s: LP(p=2, solver="interleaved", **tube(s)),
    "lp 2, Huber": lambda s: LP(p=2, C=10, loss=Huber(0.2 * s), **TOL),
    "approximated": lambda s: LP(p=4 / 3, C=10, approximation=mkl.Nystroem(20), **TOL),
    "uniform": lambda s: mkl.UniformMKLRegressor(C=10, **TOL),
    "uniform, tube": lambda s: mkl.UniformMKLRegressor(**tube(s)),
    "best kernel": lambda s: mkl.BestKernelRegressor(C=10, **TOL),
    "best kernel by folds": lambda s: mkl.BestKernelRegressor(C=10, select="folds", **TOL),
    "aligned": lambda s: mkl.AlignedMKLRegressor(C=10, **TOL),
    "GOMP": lambda s: mkl.GOMPRegressor(kernels=KERNELS),
    "greedy": lambda s: mkl.GreedyMKLRegressor(lam=0.01 * s, **TOL),
    "greedy, empirical": lambda s: mkl.GreedyMKLRegressor(
        criterion="empirical", n_kernels=30, kernels=KERNELS
    ),
    "SMKL, group lasso": lambda s: mkl.SMKLRegressor(terms="gl", C=10 / s, **TOL),
    "SMKL, squared": lambda s: mkl.SMKLRegressor(terms="mkl", C=10, **TOL),
    "HKL": lambda s: mkl.HKLRegressor(lam=1e-2, tol=1e-5),
    "HKL, refitted": lambda s: mkl.HKLRegressor(lam=1e-2, tol=1e-5, refit=True),
    "HKL, Gaussian": lambda s: mkl.HKLRegressor("gaussian", lam=1e-2, tol=1e-4),
}
CERTIFIED = [
    name
    for name in REGRESSORS
    if not name.startswith(("approx", "best", "aligned", "G", "g", "SMKL", "HKL"))
]


def fitted(name, offset=0.0, unit=1.0):
    """The regressor fitted without any warning, stopped short ones included."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return REGRESSORS[name](unit).fit(X, offset + unit * Y)


@pytest.fixture(scope="module")
def plain():
    return {name: fitted(name) for name in REGRESSORS}


@every("offset", [-1e9, 1e11])
@every("name", REGRESSORS)
def test_a_shift_of_the_target_shifts_predictions_and_nothing_else(name, offset, plain):
    # digits that the target itself has lost
    far = fitted(name, offset)
    near = plain[name]
    lost = 1e-16 * abs(offset)
    assert far.predict(NEW) - offset == pytest.approx(near.predict(NEW), abs=1e-3 + 20 * lost)
    # the intercept lost them, too
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-4 + 100 * lost)
    if far.dual_gap_ is not None:
        assert far.dual_gap_ >= 0.0
        # the choice is greedy
        assert far.dual_gap_ <= 1e-3 * far.objective_ or isinstance(far, mkl.GOMPRegressor)


@every("unit", [1e-9, 1e4])
@every("name", REGRESSORS)
def test_another_unit_of_the_target_is_another_unit_of_predictions(name, unit, plain):
    other = fitted(name, 0.0, unit)
    assert other.predict(NEW) / unit == pytest.approx(plain[name].predict(NEW), abs=2e-3)


@every("name", [*CERTIFIED, "HKL"])
def test_the_certificate_is_that_of_the_target_as_it_was_given(name):
    """In the person's own numbers: kernels, the target far from zero, and what the model publishes."""
    y = 1e9 + Y
    model = fitted(name, 1e9)
    if name == "HKL":
        found = hkl_certificate(model, X, y)
    else:
        parts = (
            model.weights_,
            model.dual_coef_,
            model.intercept_,
            model.loss_in_use,
            model.C,
            model.penalty_in_use,
        )
        found = mkl.certificate(KERNELS.grams(X).values, y, *parts, model.dual_point_)
        assert model.fit_.intercept == model.intercept_ == pytest.approx(1e9, abs=10)
    assert found == pytest.approx((model.objective_, model.dual_objective_), rel=1e-6)
    assert np.array_equal(model.training_target_, y)


def test_rows_of_no_weight_move_nothing_and_without_an_intercept_the_target_is_taken_as_it_is():
    """The targets of some rows are far away, and the middle of all targets would be there."""
    weight = np.where(np.arange(N) < 12, 1.0, 0.0)
    asked = LP(p=2, C=10, **TOL)
    some, other = (
        clone(asked).fit(X, y, sample_weight=weight) for y in (np.where(weight > 0, Y, 1e15), Y)
    )
    assert some.predict(NEW) == pytest.approx(other.predict(NEW), abs=1e-9)
    without = asked.copy_with("fit_intercept", False).fit(X, 100 + Y)
    assert without.intercept_ == 0.0
    assert asked.fit(X, 100 + Y).objective_ < 1e-2 * without.objective_


@every("name", ["lp 4/3", "lp 2, tube", "HKL", "SMKL, squared"])
def test_a_path_far_from_zero_is_the_path_near_zero(name):
    param, values = ("lam", [1e-1, 1e-2]) if name == "HKL" else ("C", [1.0, 10.0])
    paths = [
        mkl.fit_path(REGRESSORS[name](1.0), X, at + Y, param, values, NEW, at + np.sin(NEW[:, 0]))
        for at in (0, 1e9)
    ]
    assert paths[1].val_score == pytest.approx(paths[0].val_score, abs=1e-3)
    assert paths[1].train_score == pytest.approx(paths[0].train_score, abs=1e-3)
    assert paths[1].objective == pytest.approx(paths[0].objective, rel=1e-4)


@every("offset", [1e9, 1e11])
def test_what_a_model_is_compared_with_is_the_same_far_from_zero(offset):
    data = [mkl.Dataset(X, at + Y, task="regression").split(0.3, seed=0) for at in (0.0, offset)]
    names = ("mean", "forest", "boosting")
    near, far = (plain_references(train, judge, names=names) for train, judge in data)
    assert list(far) == list(near) == ["mean", "forest", "boosting"]
    for name, one in far.items():
        assert one.score == pytest.approx(near[name].score, abs=1e-3)
        assert repr(one.unfitted) == repr(near[name].unfitted)
    design = Design(X[:, :2], mkl.PolynomialBasis(2))
    near, far = (
        hull_references(design, at + Y, NEW[:, :2], at + np.sin(NEW[:, 0])) for at in (0.0, 1e9)
    )
    assert [one.score for one in far] == pytest.approx([one.score for one in near], abs=1e-3)
