"""Probabilities of classifiers: scikit-learn's calibration on the same folds, conventions, files,
refusals.
"""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV

import mklcore as mkl
from mklcore.data.splitting import codes_of, fold_rows
from mklcore.estimators.calibration import calibrate, reliability, sigmoids
from tests.helpers.every import every
from tests.helpers.models import reloaded
from tests.helpers.refusals import data_error, refused

KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 2.0])
CLASSIFIERS = [
    mkl.LpMKLClassifier, mkl.UniformMKLClassifier, mkl.GOMPClassifier, mkl.GreedyMKLClassifier, mkl.SMKLClassifier,
    mkl.BestKernelClassifier, mkl.AlignedMKLClassifier,
]  # fmt: skip


def clouds(n, classes, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.standard_normal((n, 3)) + 1.2 * np.eye(3)[y], np.array(["a", "b", "c"])[y]


@every("classes", [2, 3])
def test_the_same_as_scikit_learn_on_the_same_folds(classes):
    X, y = clouds(90, classes, 0)
    ours = mkl.LpMKLClassifier(kernels=KERNELS, probability=True, tol=1e-6).fit(X[:60], y[:60])
    plain = mkl.LpMKLClassifier(kernels=KERNELS, tol=1e-6)
    folds = fold_rows(codes_of(y[:60]), 60, 5, 0)
    theirs = CalibratedClassifierCV(plain, method="sigmoid", cv=folds, ensemble=False).fit(
        X[:60], y[:60]
    )
    assert ours.predict_proba(X[60:]) == pytest.approx(theirs.predict_proba(X[60:]), abs=2e-3)
    assert ours.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(ours.decision_function(X), plain.fit(X[:60], y[:60]).decision_function(X))


@every("kind", CLASSIFIERS)
@every("classes", [2, 3])
def test_every_classifier_says_more_than_the_shares_of_the_classes(kind, classes):
    X, y = clouds(120, classes, 1)
    options = {"C": 100.0} if kind is mkl.SMKLClassifier else {}
    model = kind(kernels=KERNELS, probability=True, **options).fit(X[:80], y[:80])
    said = model.predict_proba(X[80:])[np.arange(40), codes_of(y[80:])]
    assert said.mean() > 1.05 / classes
    assert not hasattr(kind(kernels=KERNELS), "predict_proba")


def test_a_hull_a_stack_and_weights():
    X, y = clouds(80, 2, 2)
    stack = mkl.KernelDictionary(KERNELS.specs, standardize=False).grams(X, normalise=None).values
    hull = mkl.HKLClassifier(mkl.PolynomialBasis(2), lam=0.01, probability=True).fit(X, y)
    assert hull.predict_proba(X)[:, 1].mean() == pytest.approx(0.5, abs=0.05)
    for kernels, rows, weights in (
        ("precomputed", stack, None),
        (KERNELS, X, np.where(np.arange(80) < 60, 1.0, 0.0)),
    ):
        model = mkl.LpMKLClassifier(kernels=kernels, probability=True).fit(
            rows, y, sample_weight=weights
        )
        assert model.predict_proba(rows).shape == (80, 2)


def test_a_saved_model_says_the_same():
    X, y = clouds(60, 3, 3)
    model = mkl.LpMKLClassifier(kernels=KERNELS, probability=True).fit(X, y)
    assert reloaded(model).predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)
    model.calibration_ = model.calibration_[:2]
    with data_error("slope and offset of 3 outputs"):
        reloaded(model)


def test_refusals_say_what_to_do():
    X, y = clouds(20, 2, 0)
    model = mkl.LpMKLClassifier(kernels=KERNELS, probability=True)
    point = mkl.fit_path(model, X, y, "C", [1.0, 2.0]).estimators[0]
    grams = np.stack([np.stack([np.ones((20, 20)), np.outer(x, x)]) for x in X.T])
    refused(
        (lambda: model.fit(X[:9], ["a"] * 8 + ["b"]), "two classes need at least two rows"),
        (lambda: point.predict_proba(X), "point of a path"),
        (lambda: mkl.HKLClassifier(grams, probability=True).fit(grams, y), "cannot be cut"),
    )


# The sigmoid itself


CLASSES = np.array(["no", "yes"])


def logistic(n, seed=0):
    """Decisions, labels drawn with probability 1 / (1 + exp(1 - 2 f)), and those probabilities."""
    rng = np.random.default_rng(seed)
    decision = rng.standard_normal(n)
    truth = 1 / (1 + np.exp(1 - 2 * decision))
    return decision, CLASSES[(rng.random(n) < truth).astype(int)], truth


def test_known_probabilities_are_found_again():
    decision, y, truth = logistic(4000)
    found = sigmoids(decision, calibrate(decision, y, CLASSES))
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert np.mean(np.abs(found[:, 1] - truth)) < 0.03
    assert np.all(np.diff(found[np.argsort(decision), 1]) >= -1e-12)
    said, share, counts = reliability(found[:, 1], y == "yes")
    assert counts.sum() == 4000
    assert np.average(np.abs(said - share), weights=counts) < 0.03


def test_separable_rows_are_not_said_for_sure_and_what_no_sigmoid_fits_is_refused():
    decision = np.array([-2.0, -1.5, -1.0, 1.0, 1.5, 2.0])
    y = CLASSES[(decision > 0).astype(int)]
    found = sigmoids(decision, calibrate(decision, y, CLASSES))
    assert np.all((found > 0.01) & (found < 0.99))
    with data_error("Class yes has fewer than 2"):
        calibrate(decision, np.repeat("no", 6), CLASSES)
    with data_error(r"got \(6, 3\)"):
        calibrate(np.zeros((6, 3)), y, CLASSES)
