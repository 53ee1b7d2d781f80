"""Terms of fitted models: shares against brute force, names, importance, and
what has no columns.
"""

import numpy as np
import pytest

from mklcore import (
    RBF,
    Dataset,
    Delta,
    HKLRegressor,
    Interaction,
    KernelDictionary,
    Linear,
    LpMKLClassifier,
    LpMKLRegressor,
    SMKLClassifier,
    UniformMKLRegressor,
    decompose,
)
from mklcore.estimators.inspection.terms import HIGHER_ORDER
from tests.helpers.refusals import parameter_error


def uniform(f, n=400, d=4, seed=0, noise=0.0):
    """Columns uniform on [-1, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return Dataset(X, f(X) + noise * rng.standard_normal(n), tuple("abcdefghij"[:d]))


def shares(found):
    return {term.columns: term.share for term in found.terms}


def regressor(kernels, C=100.0):
    return LpMKLRegressor(kernels=kernels, p=1, C=C, loss="squared")


def taken_apart(model, data, **request):
    """The terms of the model after its fit, which sum to what it says."""
    found = decompose(model.fit(data.X, data.y), data, **request)
    assert sum(term.share for term in found.terms) == pytest.approx(1.0)
    if data.task == "regression":
        said = model.predict(data.X)
        summed = found.parts.values(data.table).sum(axis=0)[:, 0]
        assert summed - summed.mean() == pytest.approx(said - said.mean(), abs=1e-5)
    return found


def test_on_a_full_grid_terms_are_uncorrelated_and_are_those_of_the_table():
    grid = np.array([[i, j, k] for i in range(4) for j in range(3) for k in range(2)], dtype=float)
    f = np.random.default_rng(0).standard_normal((4, 3, 2))
    data = Dataset(grid, f.ravel(), ("a", "b", "c"))
    sets = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    delta = {name: Delta(features=(j,)) for j, name in enumerate("abc")}
    kernels = KernelDictionary(tuple(Interaction(*(delta[name] for name in one)) for one in sets))
    found = taken_apart(UniformMKLRegressor(kernels=kernels, C=1e7, loss="squared"), data)
    assert np.corrcoef(found.parts.values(grid)[..., 0]) == pytest.approx(np.eye(7), abs=1e-8)
    terms = {(): np.full(f.shape, f.mean())}
    reported = shares(found)
    for one in sets:
        own = f.mean(
            axis=tuple(k for k, name in enumerate("abc") if name not in one), keepdims=True
        ) + np.zeros(f.shape)
        terms[one] = own - sum(term for less, term in terms.items() if set(less) < set(one))
        assert reported[one] == pytest.approx(terms[one].var() / f.var(), abs=1e-4)


def test_a_linear_kernel_of_all_columns_is_taken_apart_and_a_curved_one_is_of_higher_order():
    data = uniform(lambda X: X[:, 0] - 2 * X[:, 1])
    data = Dataset(data.X * [1, 1, 5, 0.1] + 3, data.y, data.feature_names)
    reported = shares(taken_apart(regressor(KernelDictionary((Linear(),))), data))
    assert reported[("b",)] == pytest.approx(0.8, abs=0.03)
    assert set(reported) <= {("a",), ("b",), ("c",), ("d",)}
    curved = KernelDictionary((RBF(1.0, relative=True), RBF(1.0, features=(0, 1))))
    assert {("a", "b"), HIGHER_ORDER} & set(shares(taken_apart(regressor(curved), data)))


def test_what_a_kernel_of_all_columns_says_of_single_ones_goes_to_them():
    kernels = KernelDictionary((RBF(1.0, relative=True),))
    alone = uniform(lambda X: X[:, 0] - X[:, 1] ** 2, n=300, noise=0.05)
    reported = shares(taken_apart(regressor(kernels), alone))
    truth = {("a",): 1 / 3, ("b",): 4 / 45}
    for columns, variance in truth.items():
        assert reported[columns] == pytest.approx(variance / sum(truth.values()), abs=0.05)
    assert reported.get(HIGHER_ORDER, 0.0) < 0.02
    both = uniform(lambda X: X[:, 0] * X[:, 1], n=300, noise=0.05)
    assert taken_apart(regressor(kernels), both, pairs=True).terms[0].columns == ("a", "b")
    found = taken_apart(regressor(kernels), both)
    assert found.terms[0].columns == HIGHER_ORDER
    assert found.terms[0].share > 0.9


@pytest.mark.parametrize("kind", [LpMKLClassifier, SMKLClassifier])
def test_several_classes_are_averaged(kind, rng):
    X = rng.standard_normal((200, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.5]).astype(np.int64)
    data = Dataset(X, y, ("a", "b", "c"), task="multiclass")
    found = taken_apart(kind(kernels=KernelDictionary.interactions(data, order=1)), data)
    assert {term.columns for term in found.terms[:2]} == {("a",), ("b",)}
    assert found.parts.values(X).shape[2] == 3


def test_a_category_is_one_column_and_columns_that_act_together_are_named_by_their_sources(rng):
    color = rng.integers(0, 3, 300)
    size = rng.standard_normal(300)
    X = np.column_stack([size, color == 0, color == 1, color == 2]).astype(float)
    data = Dataset(
        X, size * (color == 1) + 0.1 * rng.standard_normal(300), ("size", "color=r", "color=g", "color=b"),
        columns=(("size", (0,)), ("color", (1, 2, 3))),
    )  # fmt: skip
    found = taken_apart(regressor(KernelDictionary.interactions(data)), data)
    assert set(shares(found)) <= {("size",), ("color",), ("size", "color")}
    assert found.terms[0].columns == ("size", "color")


def test_clusters_keep_their_names(rng):
    X = np.repeat(rng.standard_normal((100, 15)), 3, axis=1) + 0.01 * rng.standard_normal((100, 45))
    data = Dataset(X, X[:, 0] + 0.1 * rng.standard_normal(100))
    found = taken_apart(regressor(KernelDictionary.interactions(data, order=1), 1.0), data)
    assert found.terms[0].columns == ("x0 and 2 more",)


def test_a_hull_has_terms_of_any_order():
    data = uniform(lambda X: X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3], n=200)
    assert {("a", "b", "c"), ("d",)} <= set(shares(taken_apart(HKLRegressor(lam=1e-5), data)))


def test_a_model_of_a_ready_stack_has_no_terms_and_a_constant_model_none():
    data = uniform(lambda X: X[:, 0], n=30)
    stack = KernelDictionary.rbf_grid([1.0]).grams(data.X)
    with parameter_error("ready kernel stack"):
        decompose(LpMKLRegressor(kernels="precomputed").fit(stack.values, data.y), data)
    flat = Dataset(data.X, np.ones(30))
    assert decompose(LpMKLRegressor().fit(flat.X, flat.y), flat).terms == ()
