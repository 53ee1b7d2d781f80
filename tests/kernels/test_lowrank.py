"""Approximated kernels: features against Gram matrices, fits on them against the certificates of
Phi Phi'.
"""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mklcore import (
    BlockNorm,
    ElasticNet,
    GOMPClassifier,
    GOMPRegressor,
    GramStack,
    Huber,
    JointMKLClassifier,
    KernelDictionary,
    Laplacian,
    Linear,
    LpMKLClassifier,
    LpMKLRegressor,
    LpNorm,
    Nystroem,
    Polynomial,
    certificate,
    choose_C,
    fit_path,
    load_model,
    load_sample,
    save_model,
)
from mklcore.kernels.dictionary import COLUMNS_FROM
from mklcore.kernels.features import column_features
from mklcore.lp.interior import Interior
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.driver import run
from mklcore.problem.losses import make_loss
from mklcore.problem.problem import Problem, WarmStart
from tests.helpers.every import every, share
from tests.helpers.models import decided, reloaded
from tests.helpers.proofs import assert_proved
from tests.helpers.refusals import data_error, refused

DATA = load_sample("breast_cancer").drawn(160, 0)
Y = np.where(DATA.y == DATA.y[0], 1.0, -1.0)
NEW = load_sample("breast_cancer").X[:7]
KERNELS = KernelDictionary.rbf_grid([0.5, 2.0]) + KernelDictionary(
    (Linear(), Polynomial(2), Laplacian(1.0, relative=True), Linear(features=(3,)))
)
NORMALISATIONS = [
    ("multiplicative", False),
    ("multiplicative", True),
    ("spherical", True),
    ("trace", False),
    (None, True),
]


@pytest.fixture(scope="module")
def stack():
    return Nystroem(30).features(KERNELS, DATA.X)


def grams_of(stack):
    """The approximated kernels as Gram matrices."""
    return GramStack.from_array(
        np.stack([stack.gram(m) for m in range(stack.n_kernels)]), stack.names
    )


@pytest.fixture(scope="module")
def grams(stack):
    return grams_of(stack).values


@every("kernels, features", [
    (KERNELS, Nystroem(DATA.n_samples).features),
    (KernelDictionary.per_group(Linear(), [[0, 2], [1], [3, 4, 5]]), column_features),
])  # fmt: skip
@every("normalise, center", NORMALISATIONS)
def test_landmarks_as_many_as_rows_and_columns_give_the_kernels_exactly(
    kernels, features, normalise, center
):
    exact = kernels.grams(DATA.X, normalise, center)
    found = features(kernels, DATA.X, normalise, center)
    assert found.names == exact.names
    assert found.approximation_error == pytest.approx(0.0, abs=1e-7)
    assert features is not column_features or found.table.shape == (DATA.n_samples, 6)
    new = found.cross(NEW)
    blocks = exact.cross(NEW)
    for m, gram in enumerate(exact.values):
        own = found.values[m].values.astype(float)
        assert np.abs(own @ own.T - gram).max() < 1e-6 * np.abs(gram).max()
        assert np.abs(new[m].values @ own.T - blocks[m]).max() < 1e-6 * np.abs(blocks[m]).max()


def test_the_share_of_the_trace_that_is_lost_is_that_of_the_traces_and_falls_with_the_landmarks(
    stack,
):
    exact = KERNELS.grams(DATA.X, "trace").values
    traced = Nystroem(30).features(KERNELS, DATA.X, "trace")
    lost = 1.0 - np.array(
        [np.trace(a) / np.trace(b) for a, b in zip(grams_of(traced).values, exact, strict=True)]
    )
    assert traced.approximation_error == pytest.approx(lost, abs=1e-6)
    fewer = Nystroem(10).features(KERNELS, DATA.X).approximation_error
    assert np.all(fewer >= stack.approximation_error - 1e-7)
    assert stack.approximation_error[5] == pytest.approx(0.0, abs=1e-6)  # one column, one feature
    assert np.diff(stack.ends)[5] == 1
    assert stack.table.dtype == np.float32


LOSSES = [
    *((loss, 3.0) for loss in ("hinge", "squared_hinge", "squared", "logistic")),
    ("epsilon_insensitive", 0.3),
    (Huber(0.5), 1.0),
]
PENALTIES = [
    LpNorm(1.0),
    LpNorm(4 / 3),
    LpNorm(np.inf),
    BlockNorm(4.0),
    ElasticNet(0.5),
]


def suited(loss):
    """The target that suits a loss."""
    return Y if make_loss(loss).signed or make_loss(loss).quadratic else Y + 0.1 * DATA.X[:, 0]


def assert_solved(fit, grams, *problem):
    """The fit is certified, and the Gram matrices give what it published."""
    assert fit.status.ok
    assert_proved(fit, grams, *problem, rel=1e-5)


@every("of_loss, of_penalty", share(product(LOSSES, enumerate(PENALTIES)), 2))
def test_fits_on_features_are_proved_by_the_approximated_grams(stack, grams, of_loss, of_penalty):
    loss, C = of_loss
    place, penalty = of_penalty
    fit_intercept = place != 3
    loss, y = make_loss(loss), suited(loss)
    found = fit_weighted(stack, y, C, loss, penalty, fit_intercept, tol=1e-4)
    assert_solved(found, grams, y, loss, C, penalty, fit_intercept)


def inside(stack, y, C, loss, p, fit_intercept, warm=None):
    """The fit along the path inside."""
    problem = Problem(y, C, make_loss(loss), fit_intercept, stack, LpNorm(p))
    return run(Interior(problem, tol=1e-4, warm=warm), tol=1e-4, max_iter=100)


INSIDE = [("hinge", True), ("hinge", False), ("epsilon_insensitive", True)]


@every("p, of_loss", share(product([4 / 3, 2.0], INSIDE), 2))
def test_the_path_inside_ends_at_the_optimum_for_every_C_cold_or_warm(stack, grams, p, of_loss):
    loss, fit_intercept = of_loss
    y = suited(loss)
    warm = None
    of_rows = 10.0 * (1.0 + np.arange(Y.size) % 3)
    for C in (1e-2, 1.0, of_rows, 100.0, 1000.0):
        found = inside(stack, y, C, loss, p, fit_intercept)
        again = found if warm is None else inside(stack, y, C, loss, p, fit_intercept, warm)
        for fit in (found, again):
            assert_solved(fit, grams, y, loss, C, LpNorm(p), fit_intercept)
        warm = None if C is of_rows else WarmStart(found.weights, found.dual_coef)


def test_where_the_path_inside_breaks_off_the_analytic_update_goes_on(stack, monkeypatch):
    def singular(*_, **__):
        raise np.linalg.LinAlgError("singular to rounding")

    asked = stack, Y, 10, make_loss("hinge"), LpNorm(4 / 3), True
    sound = fit_weighted(*asked, tol=1e-4)
    assert "interior point" in sound.solver
    monkeypatch.setattr("scipy.linalg.cho_factor", singular)
    found = fit_weighted(*asked, tol=1e-4)
    assert found.status.ok
    assert found.objective == pytest.approx(sound.objective, rel=1e-4)
    assert found.solver.startswith("lp interior point, then")
    assert "analytic update" in found.solver


@every("p, tol", [(4 / 3, 1e-4), (4 / 3, 1e-6), (2.0, 1e-4)])
def test_where_rounding_is_coarse_the_dual_still_sums_to_its_total_and_proves_what_is_reported(
    p, tol
):
    data = load_sample("breast_cancer")
    X = data.X[:300]
    y = np.where(data.y[:300] == data.y[0], 1.0, -1.0)
    kernels = KernelDictionary.rbf_grid([0.5, 2.0]) + KernelDictionary.per_feature(
        Linear(), X.shape[1]
    )
    features = Nystroem(15).features(kernels, X, "multiplicative", False)
    fit = fit_weighted(features, y, 1e3, make_loss("hinge"), LpNorm(p), True, tol=tol, max_iter=300)
    assert abs(fit.dual_point.sum()) <= 1e-10 * np.abs(fit.dual_point).sum()
    assert_solved(fit, grams_of(features).values, y, "hinge", 1e3, LpNorm(p))


@every("model, y", [
    (LpMKLClassifier(p=4 / 3, kernels=KERNELS, tol=1e-6), DATA.y),
    (LpMKLRegressor(p=1.0, kernels=KERNELS, tol=1e-7), Y),
    (JointMKLClassifier(2.0, loss="hinge", kernels=KERNELS, tol=1e-6), np.digitize(Y, [-0.5, 0.5])),
    (JointMKLClassifier(1.0, loss="squared", kernels=KERNELS, tol=1e-6), np.digitize(Y, [-0.5, 0.5])),
    (GOMPClassifier(kernels=KERNELS, lam=1e-3, n_kernels=3), DATA.y),
    (GOMPRegressor(kernels=KERNELS, lam=1e-3, n_kernels=3), np.column_stack([Y, DATA.X[:, 1]])),
])  # fmt: skip
def test_an_estimator_with_as_many_landmarks_as_rows_is_the_exact_one(model, y):
    exact = clone(model).fit(DATA.X, y)
    found = clone(model).set_params(approximation=Nystroem(DATA.n_samples)).fit(DATA.X, y)
    assert found.objective_ == pytest.approx(exact.objective_, rel=2e-6)
    assert list(found.selected_) == list(exact.selected_)
    assert decided(found, NEW) == pytest.approx(decided(exact, NEW), abs=2e-3)
    whole = found.contributions(NEW).sum(axis=0) + found.intercept_
    assert whole == pytest.approx(decided(found, NEW), abs=1e-5)


def test_several_classes_weights_of_rows_and_paths():
    wine = load_sample("wine")
    asked = LpMKLClassifier(p=2.0, kernels=KERNELS, approximation=Nystroem(20))
    weight = np.where(np.arange(wine.n_samples) % 5 == 0, 0.0, 1.0 + np.arange(wine.n_samples) % 2)
    model = clone(asked).fit(wine.X, wine.y, sample_weight=weight)
    assert model.feature_coef_.shape == (3, model._map.roots.shape[1])
    assert model.score(wine.X, wine.y) > 0.95
    assert np.all(model.dual_coef_[:, weight == 0] == 0.0)
    K = grams_of(model.training_stack(wine.X, wine.y)[0]).values
    for k, parts in enumerate(zip(model.weights_, model.dual_coef_, model.intercept_, strict=True)):
        y = np.where(wine.y == model.classes_[k], 1.0, -1.0)
        primal, _ = certificate(K, y, *parts, "hinge", 1.0, LpNorm(2.0), sample_weight=weight)
        assert primal == pytest.approx(model.objective_[k], rel=1e-5)
    path = fit_path(asked, DATA.X, DATA.y, "C", [0.1, 0.3, 1.0], NEW, DATA.y[:7])
    assert path.objective[-1] == pytest.approx(
        float(asked.fit(DATA.X, DATA.y).objective_), rel=2e-3
    )
    assert path.train_score[-1] == pytest.approx(path.estimators[-1].score(DATA.X, DATA.y))


def test_one_run_of_gomp_on_features_answers_for_all_sizes_and_leaves_copies_out():
    twice = KERNELS + KernelDictionary((Linear(),))
    asked = GOMPClassifier(kernels=twice, lam=1e-3, approximation=Nystroem(25))
    path = fit_path(asked, DATA.X, DATA.y, "s", [1, 2, 3])
    dense = grams_of(asked.training_stack(DATA.X, DATA.y)[0])
    exact = GOMPClassifier(kernels="precomputed", lam=1e-3, n_kernels=3).fit(dense, DATA.y)
    assert list(path.estimators[-1].selected_) == list(exact.selected_)
    assert path.objective[-1] == pytest.approx(exact.objective_, rel=1e-5)
    assert any("left out" in note for note in path.estimators[-1].notes_)


def test_landmarks_follow_the_seed_and_cover_the_rows():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    rows[:3] += 50.0
    chosen = Nystroem(8, random_state=1).landmarks(rows)
    assert np.array_equal(chosen, Nystroem(8, random_state=1).landmarks(rows))
    assert not np.array_equal(chosen, Nystroem(8, random_state=2).landmarks(rows))
    assert chosen.min() < 3  # three far rows of sixty


def test_a_changed_file_is_refused(tmp_path):
    model = LpMKLClassifier(p=2.0, kernels=KERNELS, approximation=Nystroem(20)).fit(DATA.X, DATA.y)
    model.feature_coef_ = model.feature_coef_[:-1]
    save_model(tmp_path / "bad.mkl", model)
    with data_error("do not fit its weights"):
        load_model(tmp_path / "bad.mkl")


def test_what_cannot_be_approximated_is_refused():
    near = {"approximation": Nystroem(10)}
    X = DATA.X
    y = DATA.y
    asked = LpMKLRegressor(p=2.0, kernels=KERNELS, **near)
    refused(
        (lambda: Nystroem(0), "whole number of 1 or more"),
        (
            lambda: LpMKLClassifier(approximation="nystroem").fit(X, y),
            "must be None or Nystroem",
        ),
        (
            lambda: LpMKLClassifier(kernels="precomputed", **near).fit(X, y),
            "ready stacks have none",
        ),
        (
            lambda: LpMKLClassifier(solver="interleaved", **near).fit(X, y),
            "works on kernel values",
        ),
        (lambda: GOMPClassifier(loss="hinge", **near).fit(X, y), 'only with loss="squared"'),
        (
            lambda: choose_C(asked, X, Y, [0.1], rule="loo"),
            r'needs the Gram matrices.*use rule="kfold"',
        ),
    )
    assert choose_C(asked, DATA.X, Y, [0.1, 1.0]).rule == "kfold"


@every("loss", ["squared", "huber", "epsilon_insensitive"])
@every("p", [1.0, 2.0])
def test_linear_kernels_on_many_rows_are_solved_on_their_columns(loss, p):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((COLUMNS_FROM, 8))
    new = rng.standard_normal((5, 8))
    y = X[:, 0] - X[:, 3] + 0.3 * rng.standard_normal(len(X))
    asked = LpMKLRegressor(p=p, loss=loss, tol=1e-7)
    kernels = KernelDictionary.per_group(Linear(), [[0, 1, 2], [3, 4], [5, 6, 7]])
    grams = kernels.grams(X)
    model = clone(asked).set_params(kernels=kernels).fit(X, y)
    assert model.foresee(*X.shape).stored == "features"
    exact = clone(asked).fit(grams, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    assert_allclose(model.weights_, exact.weights_, atol=1e-3)
    assert_allclose(model.predict(new), exact.predict(new), atol=1e-3)
    assert_array_equal(reloaded(model).predict(new), model.predict(new))
    assert not hasattr(clone(model).fit(X[:-1], y[:-1]), "approximation_error_")
