"""A model taken apart: the parts sum to the whole, curves and surfaces are the model's own, shares
add up.
"""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.estimators.inspection import curves
from mklcore.estimators.inspection.parts import problem_names, weights_by_class
from mklcore.io.catalog import ESTIMATORS, EVERY_TASK
from tests.helpers.every import every
from tests.helpers.models import decided
from tests.helpers.refusals import parameter_error
from tests.kernels.test_dictionary import made

KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 1.0]) + mkl.KernelDictionary.per_feature(
    mkl.RBF(1.0), 3
)
METHODS = [key for key, method in ESTIMATORS.items() if method.on == "kernels"]


def table(task):
    rng = np.random.default_rng(4)
    X = 3.0 + 2.0 * rng.standard_normal((60, 3))
    score = np.sin(X[:, 0]) + 0.3 * X[:, 1]
    y = {"binary": score > 1.0, "multiclass": np.digitize(score, [0.5, 1.3]), "regression": score}[
        task
    ]
    return X, y


def outputs(model, X):
    if len(getattr(model, "pairs_", ())) > 1:
        return model.contributions(X).sum(axis=0) + model.intercept_
    return decided(model, X)


@pytest.fixture(
    scope="module", params=[(key, task) for key in METHODS for task in EVERY_TASK], ids="-".join
)
def fitted(request):
    key, task = request.param
    X, y = table(task)
    settings = {"C": 5.0, "lam": 0.01}
    return ESTIMATORS[key].estimator(task, kernels=KERNELS, **settings).fit(X, y), X


def test_contributions_sum_to_what_the_model_says(fitted):
    model, X = fitted
    parts = model.contributions(X[:7])
    whole = outputs(model, X[:7])
    assert parts.shape == (len(KERNELS), *whole.shape)
    assert parts.sum(axis=0) + model.intercept_ == pytest.approx(whole, abs=1e-9)
    assert model.contributions(X[:7], [3, 0]) == pytest.approx(parts[[3, 0]], abs=1e-12)
    assert model.contributions(X[:7], []).shape == (0, *whole.shape)


def test_a_surface_is_the_model_with_the_other_columns_at_their_mean(fitted):
    model, X = fitted
    surface = curves.decision_surface(model, (2, 0), points=5)
    row = X.mean(axis=0)
    row[2] = surface.x[1]
    row[0] = surface.y[3]
    expected = decided(model, row[None])
    value = float(np.argmax(expected)) if surface.kind == "class" else float(expected[0])
    assert surface.values[3, 1] == pytest.approx(value, abs=1e-9)
    assert surface.kind == {0: "number", 2: "score", 3: "class"}[len(surface.classes)]


def test_a_surface_has_fewer_points_where_they_cost_more(monkeypatch):
    X, y = table("regression")
    sparse, dense = (mkl.LpMKLRegressor(kernels=KERNELS, p=p, C=0.1).fit(X, y) for p in (1.0, 4.0))
    monkeypatch.setattr(curves, "_SURFACE_VALUES", 1e6)
    assert len(curves.decision_surface(dense, (0, 1)).x) == int(np.sqrt(1e6 / (60 * len(KERNELS))))
    assert len(curves.decision_surface(sparse, (0, 1)).x) >= len(
        curves.decision_surface(dense, (0, 1)).x
    )


@every("columns", [(0, 0), (0, 3), (-1, 1)])
def test_a_surface_over_columns_that_cannot_be_is_refused(columns):
    model = mkl.LpMKLRegressor(kernels=KERNELS).fit(*table("regression"))
    with parameter_error("two different columns"):
        curves.decision_surface(model, columns)


def test_a_stack_has_parts_but_no_columns():
    X, y = table("binary")
    stack = KERNELS.grams(X)
    model = mkl.LpMKLClassifier(kernels="precomputed").fit(stack.values, y)
    blocks = stack.values[:, :4]
    assert model.contributions(blocks).sum(axis=0) + model.intercept_ == pytest.approx(
        model.decision_function(blocks)
    )
    with parameter_error("knows no columns"):
        curves.decision_surface(model, (0, 1))


def test_names_and_weights_of_several_problems():
    X, y = table("multiclass")
    rest = mkl.LpMKLClassifier(kernels=KERNELS).fit(X, y)
    names, weights = weights_by_class(rest)
    assert names == ("0", "1", "2")
    assert np.array_equal(weights, rest.weights_)
    pairs = mkl.SMKLClassifier(kernels=KERNELS, C=50.0).fit(X, y)
    assert problem_names(pairs) == ("1 against 0", "2 against 0", "2 against 1")
    assert weights_by_class(mkl.GOMPClassifier(kernels=KERNELS).fit(X, y)) is None
    assert problem_names(mkl.LpMKLClassifier(kernels=KERNELS).fit(X, y > 0)) == ()


@every("numbers", [True, False])
def test_the_effect_of_a_column_is_the_model_along_it(numbers):
    data = made(90, 1, "regression")
    model = mkl.LpMKLRegressor(kernels=mkl.KernelDictionary.recommended(data), C=10.0).fit(
        data.X, data.y
    )
    name = "bent" if numbers else "kind"
    columns = dict(data.columns)[name]
    found = curves.column_effect(model, data, name)
    (axis,) = found.axes
    typical = np.tile(data.X.mean(axis=0), (1 + len(axis.at), 1))
    typical[1:, list(columns)] = axis.at[:, None] if numbers else np.eye(3)
    said = model.predict(typical)
    np.testing.assert_allclose(found.values, said[1:] - said[0], atol=1e-9)
    if numbers:
        assert found.values[0] > found.values[len(axis.at) // 2] < found.values[-1]  # it is bent
    else:
        assert axis.names == ("a", "b", "c")
        assert np.argmax(found.values) == 0
        assert np.argmin(found.values) == 1
    figure = mkl.figures.column_figure(found)
    assert "most" in figure.layout.meta["alt"]


def test_whole_numbers_have_a_bar_each_beside_their_curve():
    axis = curves.Axis("hour", np.linspace(0, 23, 5), (), np.tile(np.arange(24.0), 3))
    bars = mkl.figures.column_figure(curves.TermEffect((axis,), np.arange(5.0))).data[-1]
    assert bars.x.tolist() == list(range(24))
    assert set(bars.y) == {3}


def test_a_column_that_no_kernel_in_use_looks_at_adds_nothing():
    data = made(90, 1, "regression")
    kernels = mkl.KernelDictionary([mkl.Linear(features=(j,)) for _, (j, *_) in data.columns])
    model = mkl.BestKernelRegressor(kernels=kernels).fit(data.X, data.y)
    moving = [np.any(curves.column_effect(model, data, name).values) for name, _ in data.columns]
    assert sum(moving) == 1


def test_several_columns_that_are_no_category_have_no_single_curve():
    data = made(60, 1, "regression")
    pair = mkl.Dataset(data.X[:, :2], data.y, columns=[("both", (0, 1))])
    assert curves.column_effect(mkl.GOMPRegressor().fit(pair), pair, "both") is None
