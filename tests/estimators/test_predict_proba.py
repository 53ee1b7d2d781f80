"""Probabilities of classifiers: scikit-learn's calibration on the same folds, conventions, files, refusals."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.estimator_checks import check_estimator

import mklcore as mkl
from mklcore.data.splitting import codes_of, fold_rows
from mklcore.errors import DataError
from tests.helpers.every import every

KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 2.0])
CLASSIFIERS = [
    mkl.LpMKLClassifier, mkl.UniformMKLClassifier, mkl.GOMPClassifier, mkl.GreedyMKLClassifier, mkl.SMKLClassifier,
    mkl.BestKernelClassifier, mkl.AlignedMKLClassifier,
]  # fmt: skip


def clouds(n, classes, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.standard_normal((n, 3)) + 1.2 * np.eye(3)[y], np.array(["a", "b", "c"])[y]


def test_scikit_learn_conventions():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose
        results = check_estimator(
            mkl.UniformMKLClassifier(loss="squared", probability=True), on_fail=None,
            expected_failed_checks={
                "check_sample_weight_equivalence_on_dense_data": "folds are of rows, not of weights",
                "check_classifiers_train": "the likeliest class need not have the largest score, as with SVC",
            },
        )  # fmt: skip
    assert {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"} == {}


@every("classes", [2, 3])
def test_the_same_as_scikit_learn_on_the_same_folds(classes):
    X, y = clouds(90, classes, 0)
    ours = mkl.LpMKLClassifier(kernels=KERNELS, probability=True, tol=1e-6).fit(X[:60], y[:60])
    plain = mkl.LpMKLClassifier(kernels=KERNELS, tol=1e-6)
    folds = fold_rows(codes_of(y[:60]), 60, 5, 0)
    theirs = CalibratedClassifierCV(plain, method="sigmoid", cv=folds, ensemble=False).fit(X[:60], y[:60])
    assert ours.predict_proba(X[60:]) == pytest.approx(theirs.predict_proba(X[60:]), abs=2e-3)
    assert ours.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert np.exp(ours.predict_log_proba(X)) == pytest.approx(ours.predict_proba(X))
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
    hull = mkl.HKLClassifier(mkl.PolynomialBasis(2), lam=0.01, probability=True).fit(X, y)
    assert hull.predict_proba(X)[:, 1].mean() == pytest.approx(0.5, abs=0.05)
    stack = mkl.KernelDictionary(KERNELS.specs, standardize=False).grams(X, normalise=None).values
    ready = mkl.LpMKLClassifier(kernels="precomputed", probability=True).fit(stack, y)
    assert ready.predict_proba(stack).shape == (80, 2)
    weights = np.where(np.arange(80) < 60, 1.0, 0.0)
    weighted = mkl.LpMKLClassifier(kernels=KERNELS, probability=True).fit(X, y, weights)
    assert weighted.predict_proba(X).shape == (80, 2)


def test_a_saved_model_says_the_same(tmp_path):
    X, y = clouds(60, 3, 3)
    model = mkl.LpMKLClassifier(kernels=KERNELS, probability=True).fit(X, y)
    mkl.save_model(tmp_path / "model.mkl", model)
    again = mkl.load_model(tmp_path / "model.mkl")
    assert again.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)
    model.calibration_ = model.calibration_[:2]
    mkl.save_model(tmp_path / "damaged.mkl", model)
    with pytest.raises(DataError, match="slope and offset of 3 outputs"):
        mkl.load_model(tmp_path / "damaged.mkl")


def test_refusals_say_what_to_do():
    X, y = clouds(20, 2, 0)
    with pytest.raises(DataError, match="two classes need at least two rows"):
        mkl.LpMKLClassifier(kernels=KERNELS, probability=True).fit(X[:9], ["a"] * 8 + ["b"])
    model = mkl.LpMKLClassifier(kernels=KERNELS, probability=True)
    point = mkl.fit_path(model, X, y, "C", [1.0, 2.0]).estimators[0]
    with pytest.raises(DataError, match="point of a path"):
        point.predict_proba(X)
    grams = np.stack([np.stack([np.ones((20, 20)), np.outer(x, x)]) for x in X.T])
    with pytest.raises(DataError, match="cannot be cut"):
        mkl.HKLClassifier(grams, probability=True).fit(grams, y)
