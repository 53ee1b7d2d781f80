"""Gaussian kernels with a learned scale per column: slopes, falling objectives, bands that are
kept, files.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.svm import SVR

from mklcore import FeatureScalingClassifier, FeatureScalingRegressor, load_sample
from mklcore.problem.driver import run
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import make_terms
from mklcore.problem.solution import MachineTask
from mklcore.sparse.smkl import FeatureScaling, gaussian
from tests.helpers.every import every
from tests.helpers.models import reloaded
from tests.helpers.refusals import parameter_error


def banded(seed=0, n=80, width=3, bands=10):
    """Ten bands of correlated columns, two of which decide a curved target."""
    rng = default_rng(seed)
    level = rng.standard_normal((n, bands))
    X = np.repeat(level, width, axis=1) + 0.3 * rng.standard_normal((n, bands * width))
    y = np.sin(1.5 * level[:, 2]) + level[:, 6] ** 2 / 2 + 0.05 * rng.standard_normal(n)
    groups = {f"band {k}": list(range(k * width, (k + 1) * width)) for k in range(bands)}
    return X, y, groups


def method(loss="squared", seed=0):
    X, y, groups = banded(seed, n=40)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = y - y.mean() if loss == "squared" else np.where(y > np.median(y), 1.0, -1.0)
    members = [np.array(columns) for columns in groups.values()]
    task = MachineTask(y, 5.0, make_loss(loss), True)
    return FeatureScaling(Z, [task], make_terms("log+gl"), members, 1e-3)


@every("loss", ["squared", "logistic"])
def test_slopes_are_those_of_the_machine(loss):
    problem = method(loss)
    u = default_rng(1).uniform(0.01, 0.1, 30)
    slopes = problem._machines(u, None)[1]
    for j in (0, 7, 29):
        step = 1e-5 * np.eye(30)[j]
        rise = problem._machines(u + step, None)[0] - problem._machines(u - step, None)[0]
        assert slopes[j] == pytest.approx(rise / 2e-5, rel=2e-3, abs=1e-5)


@every("loss", ["squared", "hinge"])
def test_the_objective_never_rises(loss):
    problem = method(loss)
    objectives = [record.objective for record in run(problem, tol=1e-3, max_iter=30).history]
    assert np.all(np.diff(objectives) <= 1e-9 * np.abs(objectives[0]))
    assert objectives[-1] < objectives[0]


def test_two_bands_of_ten_are_kept():
    X, y, groups = banded(n=120)
    held_out, checked, _ = banded(seed=1, n=100)
    models = [FeatureScalingRegressor(C=C, groups=groups).fit(X, y) for C in (1.0, 3.0, 30.0)]
    model = max(models, key=lambda one: one.score(held_out, checked))
    assert model.selected_groups_ == ("band 2", "band 6")
    fresh, wanted, _ = banded(seed=2, n=200)
    plain = max(
        (SVR(C=C).fit(X, y) for C in (1.0, 3.0, 30.0)), key=lambda one: one.score(held_out, checked)
    )
    assert model.score(fresh, wanted) > plain.score(fresh, wanted) + 0.05
    assert model.dual_gap_ is None
    assert np.flatnonzero(model.scales_).min() >= 6


def test_prediction_is_the_scaled_kernel():
    X, y, groups = banded(n=60)
    model = FeatureScalingRegressor(C=10.0, groups=groups).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = gaussian(Z, Z, model.scales_**2) @ model.dual_coef_ + model.intercept_
    assert model.predict(X) == pytest.approx(expected)
    assert reloaded(model).predict(X) == pytest.approx(expected)


def test_classes_share_the_scales():
    data = load_sample("iris")
    model = FeatureScalingClassifier(C=10.0, loss="logistic").fit(data.X, data.y)
    assert model.dual_coef_.shape == (150, 3)
    assert model.score(data.X, data.y) > 0.9
    assert set(model.selected_groups_) & {"x2", "x3"}


@every("words, asked", [
    *(("every column", {"groups": groups}) for groups in ({"a": [0]}, {"a": [0, 1], "b": [1, 2]}, [0, 1, 2])),
    ("max_iter", {"max_iter": 0}),
    ("loss must be", {"loss": "hinge"}),
])  # fmt: skip
def test_refusals(words, asked):
    X = default_rng(0).standard_normal((20, 3))
    with parameter_error(words):
        FeatureScalingRegressor(**asked).fit(X, X[:, 0])
