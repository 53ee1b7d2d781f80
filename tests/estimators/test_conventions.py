"""Every public estimator keeps the conventions of scikit-learn, as its own checks find."""

import inspect
import warnings
from itertools import islice
from types import SimpleNamespace

from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

import mklcore as mkl
from tests.helpers.every import EVERY_CASE, every

# No convention is about the number of kernels, of steps or of values that are compared: there are
# as few as can be.
FEW = mkl.KernelDictionary((mkl.RBF(1.0, relative=True), mkl.Linear()))
# Classes whose defaults cannot be fitted or would be slow, or which have a second way that is
# checked, too.
MODELS = {
    mkl.Conformal: [mkl.Conformal(model, cv=3) for model in (Ridge(), LogisticRegression(), SVC())],
    mkl.FeatureScalingClassifier: [mkl.FeatureScalingClassifier(max_iter=2)],
    mkl.FeatureScalingRegressor: [mkl.FeatureScalingRegressor(max_iter=2)],
    mkl.GOMPClassifier: [mkl.GOMPClassifier(), mkl.GOMPClassifier(loss="hinge")],
    mkl.GreedyMKLClassifier: [
        mkl.GreedyMKLClassifier(way, n_kernels=3) for way in ("functional", "empirical")
    ],
    mkl.GreedyMKLRegressor: [
        mkl.GreedyMKLRegressor("functional"),
        mkl.GreedyMKLRegressor("empirical"),
    ],
    mkl.HKLClassifier: [mkl.HKLClassifier(mkl.PolynomialBasis(2), lam=0.1)],
    mkl.HKLRegressor: [mkl.HKLRegressor(mkl.PolynomialBasis(2))],
    mkl.JointMKLClassifier: [mkl.JointMKLClassifier(p=1.5)],
    mkl.JointMKLRegressor: [mkl.JointMKLRegressor(p=1.5)],
    mkl.LpMKLOneClass: [mkl.LpMKLOneClass(), mkl.LpMKLOneClass(nu=0.3)],
    mkl.UniformMKLClassifier: [
        mkl.UniformMKLClassifier(),
        mkl.UniformMKLClassifier(loss="squared", probability=True),
    ],
}
# Weighted and repeated rows are two ways to one optimum, which a loose tolerance tells apart.
SHARP = mkl.BestKernelClassifier, mkl.LpMKLClassifier, mkl.LpMKLRegressor, mkl.UniformMKLClassifier
PROBABLE = {
    "check_sample_weight_equivalence_on_dense_data": "folds are of rows, not of weights",
    "check_classifiers_train": "the likeliest class need not have the largest score, as with SVC",
}
EXPECTED_TO_FAIL = {
    mkl.AutoMKLClassifier: {"check_classifiers_train": PROBABLE["check_classifiers_train"]},
    mkl.LpMKLOneClass: {
        "check_sample_weight_equivalence_on_dense_data": "support vectors are at 0: rounding signs them"
    },
}
# Needs the environment variable SCIPY_ARRAY_API at import; these estimators take numpy arrays only.
SKIPPED = {"check_array_api_input"}
GENERATOR = estimator_checks.estimator_checks_generator


def public():
    """Return the estimators of the package, each class at least once."""
    for cls in (found for name in dir(mkl) if inspect.isclass(found := getattr(mkl, name))):
        if issubclass(cls, BaseEstimator):
            for model in MODELS.get(cls) or [cls()]:
                few = {"kernels": FEW} if "kernels" in model.get_params() else {}
                yield model.set_params(**few, **({"tol": 1e-12} if cls in SHARP else {}))


def one_model(data, **_):
    """An answer without comparing anything."""
    if data.task == "regression":
        model = mkl.UniformMKLRegressor(kernels=FEW, C=10.0)
    else:
        model = mkl.UniformMKLClassifier(kernels=FEW, C=10.0, probability=True)
    return SimpleNamespace(model=model.fit(data.X, data.y), predict=None)


# Every check on these; on each of the others every third one, beginning at another one.
FULLY = (mkl.LpMKLClassifier, mkl.UniformMKLRegressor)


def chosen():
    """Return one estimator of each method and a regressor, or all where every case is asked for."""
    if EVERY_CASE:
        return list(public())
    models = {}
    for model in public():
        name = type(model).__name__
        twin = name.replace("Regressor", "Classifier")
        if not hasattr(mkl, twin) or twin == name or isinstance(model, FULLY):
            models.setdefault(name, model)
    return list(models.values())


@every("place, model", enumerate(chosen()))
def test_scikit_learn_conventions(place, model, monkeypatch):
    monkeypatch.setattr("mklcore.answer.auto.explore", one_model)
    step = 1 if EVERY_CASE or isinstance(model, FULLY) else 3
    monkeypatch.setattr(
        estimator_checks,
        "estimator_checks_generator",
        lambda *given, **how: islice(GENERATOR(*given, **how), place % step, None, step),
    )
    expected = (
        PROBABLE if getattr(model, "probability", False) else EXPECTED_TO_FAIL.get(type(model))
    )
    with warnings.catch_warnings():
        # the checks provoke warnings on purpose; a wrong one is a failed check
        warnings.simplefilter("ignore")
        results = check_estimator(model, on_fail=None, expected_failed_checks=expected)
    assert len(results) > 40 // step
    wrong = {
        r["check_name"]: r["exception"]
        for r in results
        if r["status"] not in ("passed", "skipped", "xfail")
    }
    assert wrong == {}
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= SKIPPED
