"""Ctrl-C in a refit leaves the model that was there: attributes of a fit are set together, at its
end.
"""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import mklcore as mkl
from mklcore.estimators.base import KernelEstimator
from tests.helpers.every import every

CLASSES = [found for name in dir(mkl) if inspect.isclass(found := getattr(mkl, name))]
ESTIMATORS = [
    cls for cls in CLASSES if issubclass(cls, KernelEstimator) and hasattr(cls, "callback")
]
FEW = mkl.KernelDictionary((mkl.RBF(1.0, relative=True), mkl.Linear()))


def rows(n, d, classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    codes = np.arange(n) % 2
    X[:, 0] += 2 * codes
    return X, np.array(classes)[codes]


def refit_is_undone(model, switch):
    labels = model.__class__.__name__.endswith(("Classifier", "Conformal"))
    X, y = rows(30, 3, ["no", "yes"] if labels else [0.0, 1.0])
    switch.on = False
    model.fit(X, y)
    before = dict(vars(model))
    said = model.predict(X)
    switch.on = True
    X, y = rows(24, 2, ["left", "right"] if labels else [5.0, 9.0], seed=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert np.array_equal(model.predict(rows(30, 3, ["no", "yes"])[0]), said)


@pytest.fixture(params=["first", "last"])
def interrupting(request, monkeypatch):
    """A switch, and a callback that interrupts when it is on: after the first step, or when all but
    names are set.

    Methods that are done with their first step do not ask the callback.
    """
    switch = SimpleNamespace(on=False)
    remember = KernelEstimator._remember

    def callback(record):
        if switch.on:
            raise KeyboardInterrupt

    def remembering(self, *arguments):
        callback(None)
        remember(self, *arguments)

    monkeypatch.setattr(KernelEstimator, "_remember", remembering)
    return switch, callback if request.param == "first" else None


@every("cls", ESTIMATORS)
def test_a_refit_that_is_interrupted_leaves_the_model(cls, interrupting):
    switch, callback = interrupting
    kernels = {"kernels": FEW} if "kernels" in cls().get_params() else {}
    refit_is_undone(cls(callback=callback, **kernels), switch)


def test_a_model_around_another_is_left_too(interrupting):
    switch, callback = interrupting
    refit_is_undone(
        mkl.Conformal(mkl.UniformMKLClassifier(kernels=FEW, callback=callback), cv=2), switch
    )


@pytest.mark.parametrize("cls", [mkl.AutoMKLClassifier, mkl.AutoMKLRegressor])
def test_a_model_that_chooses_by_itself_is_left_too(cls, interrupting, monkeypatch):
    switch, _ = interrupting
    small = mkl.UniformMKLClassifier if cls is mkl.AutoMKLClassifier else mkl.UniformMKLRegressor

    def explore(data, **_):
        return SimpleNamespace(model=clone(small(kernels=FEW)).fit(data.X, data.y), predict=None)

    monkeypatch.setattr("mklcore.answer.auto.explore", explore)
    refit_is_undone(cls(), switch)
