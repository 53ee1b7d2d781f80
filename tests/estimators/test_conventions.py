"""Every public estimator keeps the conventions of scikit-learn, as its own checks find."""

import inspect
import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import mklcore as mkl
from mklcore.answer import folds
from tests.helpers.every import every

# No convention is about the number of kernels: a class that fits each by itself, or many times, has three.
FEW = mkl.KernelDictionary((mkl.RBF(0.5, relative=True), mkl.RBF(2.0, relative=True), mkl.Linear()))
# Classes whose defaults cannot be fitted or would be slow, or which have a second way that is checked, too.
MODELS: dict[type[BaseEstimator], list[BaseEstimator]] = {
    mkl.BestKernelClassifier: [mkl.BestKernelClassifier(kernels=FEW, tol=1e-12)],
    mkl.BestKernelRegressor: [mkl.BestKernelRegressor(kernels=FEW)],
    mkl.Conformal: [mkl.Conformal(model, cv=3) for model in (Ridge(), LogisticRegression(), SVC())],
    mkl.FeatureScalingClassifier: [mkl.FeatureScalingClassifier(max_iter=2)],
    mkl.FeatureScalingRegressor: [mkl.FeatureScalingRegressor(max_iter=2)],
    mkl.GOMPClassifier: [mkl.GOMPClassifier(), mkl.GOMPClassifier(kernels=FEW, loss="hinge")],
    mkl.GreedyMKLClassifier: [mkl.GreedyMKLClassifier(way, n_kernels=3) for way in ("functional", "empirical")],
    mkl.GreedyMKLRegressor: [mkl.GreedyMKLRegressor("functional"), mkl.GreedyMKLRegressor("empirical")],
    mkl.HKLClassifier: [mkl.HKLClassifier(lam=0.1)],
    mkl.JointMKLClassifier: [mkl.JointMKLClassifier(p=1.5)],
    mkl.JointMKLRegressor: [mkl.JointMKLRegressor(p=1.5)],
    # Weighted and repeated rows are two ways to one optimum, which a loose tolerance tells apart.
    mkl.LpMKLClassifier: [mkl.LpMKLClassifier(tol=1e-12)],
    mkl.LpMKLRegressor: [mkl.LpMKLRegressor(tol=1e-12)],
    mkl.UniformMKLClassifier: [mkl.UniformMKLClassifier(tol=1e-12)],
    mkl.LpMKLOneClass: [mkl.LpMKLOneClass(), mkl.LpMKLOneClass(nu=0.3)],
    mkl.SMKLClassifier: [mkl.SMKLClassifier(kernels=FEW)],
    mkl.QuantileBand: [mkl.QuantileBand(mkl.UniformMKLRegressor(), cv=3)],
}
EXPECTED_TO_FAIL = {
    mkl.LpMKLOneClass: {
        "check_sample_weight_equivalence_on_dense_data": "support vectors are at 0: rounding signs them"
    }
}
# Needs the environment variable SCIPY_ARRAY_API at import; these estimators take numpy arrays only.
SKIPPED = {"check_array_api_input"}


def public():
    """Return the estimators of the package, each class at least once."""
    classes = [found for name in dir(mkl) if inspect.isclass(found := getattr(mkl, name))]
    return [one for cls in classes if issubclass(cls, BaseEstimator) for one in MODELS.get(cls) or [cls()]]


@every("model", public())
def test_scikit_learn_conventions(model, monkeypatch):
    monkeypatch.setattr(folds, "GRID", np.array([1.0, 10.0, 100.0]))  # no convention is about what is chosen among
    monkeypatch.setattr(folds, "WIDTHS", (1.0,))
    expected = EXPECTED_TO_FAIL.get(type(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose; a wrong one is a failed check
        results = check_estimator(model, on_fail=None, expected_failed_checks=expected)
    assert len(results) > 40
    wrong = {r["check_name"]: r["exception"] for r in results if r["status"] not in ("passed", "skipped", "xfail")}
    assert wrong == {}
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= SKIPPED
