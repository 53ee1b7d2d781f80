"""Hierarchical kernel learning as estimators: conventions, tables and matrices, paths, shared
designs, refusals in words.
"""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from mklcore import (
    ANOVABasis,
    DataError,
    GaussianBasis,
    HKLClassifier,
    HKLRegressor,
    KernelDictionary,
    KernelError,
    NotConvergedWarning,
    ParameterError,
    PolynomialBasis,
    fit_path,
    make_sparse_polynomial,
)
from mklcore.hkl.design import Design
from mklcore.problem.driver import Status
from tests.helpers.every import every
from tests.helpers.models import decided
from tests.helpers.refusals import kernel_error, parameter_error

BOTH = every("cls", [HKLClassifier, HKLRegressor])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    score = X[:, 0] - X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(80)
    return X, score, np.where(score > 0, "yes", "no")


def target(cls, table):
    return table[2] if cls is HKLClassifier else table[1]


@BOTH
@every("basis, levels", [(None, 5), (ANOVABasis(0.2), 2), (GaussianBasis(2), 3), ("anova", 2)])
def test_published_attributes_fit_together(cls, basis, levels, table):
    X = table[0]
    y = target(cls, table)
    model = cls(basis, lam=1e-2, depth_weight=3.0, tol=1e-2).fit(X, y)
    assert model.certified_
    assert model.status_.ok
    assert list(model.hull_) == sorted(model.hull_, key=lambda node: (sum(node), node))
    assert set(model.extreme_points_) <= set(model.hull_)
    assert all(0 <= share <= 1.001 for share in model.sources_.values())
    assert model.relative_gap_ == pytest.approx(1.0 - model.dual_objective_ / model.objective_)
    assert model.relative_gap_ <= 1e-2
    d = np.array([3.0 ** sum(node) if sum(node) else 0.1 for node in model.hull_])
    assert d**2 @ model.eta_ == pytest.approx(1.0, rel=1e-6)
    for node, zeta in zip(model.hull_, model.zeta_, strict=True):
        above = [
            eta
            for other, eta in zip(model.hull_, model.eta_, strict=True)
            if np.all(np.less_equal(other, node))
        ]
        assert zeta == pytest.approx(1 / np.sum(1 / np.array(above)), rel=1e-2)
    touches = np.array(model.hull_) > 0
    assert model.relevance_ == pytest.approx(model.component_norms_**2 @ touches)
    assert model.interaction_order_ == touches.sum(axis=1).max()
    assert model.n_dag_kernels_ == levels**4
    assert len(model.hull_) <= model.n_visited_ == model.n_visited_on_path_ <= model.n_dag_kernels_
    assert all(word in model._repr_html_() for word in (cls.__name__, "kernels used"))


@BOTH
def test_decisions_are_weights_times_kernels_times_dual(cls, table):
    X = table[0]
    y = target(cls, table)
    model = cls(GaussianBasis(2), lam=1e-2).fit(X[:60], y[:60])
    design = Design(X[:60], GaussianBasis(2))
    blocks = np.array(
        [[design.cross(X[60:]).product(node, e) for e in np.eye(60)] for node in model._nodes]
    )
    expected = (
        np.einsum("m,mni->ni", model.weights_, blocks.transpose(0, 2, 1)) @ model.dual_coef_
        + model.intercept_
    )
    assert decided(model, X[60:]) == pytest.approx(expected)
    added = sum(model.component(node, X[60:]) for node in model.hull_)
    assert added + model.intercept_ == pytest.approx(expected)


def test_several_classes_share_one_hull(table):
    X, y = load_iris(return_X_y=True)
    model = HKLClassifier(PolynomialBasis(2), lam=1e-3).fit(X, y)
    size = len(model.hull_)
    assert model.weights_.shape == model.eta_.shape == (3, size)
    assert model.dual_coef_.shape == (3, 150)
    assert model.relative_gap_.shape == (3,)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.9
    alone = clone(model).fit(X, y == 1)
    place = [model.hull_.index(node) for node in alone.hull_]
    assert model.weights_[1][place] == pytest.approx(alone.weights_, rel=1e-4, abs=1e-9)


@BOTH
def test_matrices_give_what_the_table_gives(cls, table):
    X = table[0]
    y = target(cls, table)
    rows = X[:60]
    new = X[60:]
    basis = GaussianBasis(2).scaled_to(rows)
    settings = {"lam": 1e-2, "tol": 1e-6}

    def matrices(left):
        parts = zip(*(basis.parts(None, left[:, i], rows[:, i]) for i in range(4)), strict=True)
        own = list(zip(*(basis.parts(None, rows[:, i], rows[:, i]) for i in range(4)), strict=True))
        return np.array([
            [np.outer(part, base) if part.ndim == 1 else part for part, base in zip(level, bases, strict=True)]
            for level, bases in zip(parts, own, strict=True)
        ]).swapaxes(0, 1)  # fmt: skip

    K = matrices(rows)
    on_table = cls(basis, standardize=False, **settings).fit(rows, y[:60])
    for model in (cls(K.tolist(), **settings).fit(rows, y[:60]), cls(**settings).fit(K, y[:60])):
        assert model.hull_ == on_table.hull_
        assert decided(model, matrices(new)) == pytest.approx(decided(on_table, new), abs=1e-4)
    assert [Design(K).is_column(((0, level),)) for level in (1, 2)] == [True, False]
    with kernel_error(r"Test blocks must be \(p, q\+1, n_new, n\)"):
        model.predict(K[:, :, :, :5])


def test_what_can_be_made_again_is_not_kept_in_the_fitted_model(table):
    X, y, _ = table
    assert len(pickle.dumps(HKLRegressor(lam=1e-3).fit(X, y))) < 1_000_000
    design = Design(X, ANOVABasis())
    HKLRegressor(lam=1e-3).fit(design, y)
    kept = len(pickle.dumps(design))
    design.release()
    # a design of the caller's keeps its matrices for the next fit
    assert len(pickle.dumps(design)) < kept


def test_refit_is_least_squares_on_the_hull(table):
    X, y, labels = table
    model = HKLRegressor(PolynomialBasis(2), lam=1e-2, refit=True).fit(X, y)
    features = model.design_.columns_of(model._nodes)
    hat = features @ np.linalg.lstsq(features, y, rcond=None)[0]
    assert model.predict(X) == pytest.approx(hat, abs=1e-8)
    assert model.contributions(X).sum(axis=0) + model.refit_intercept_ == pytest.approx(hat)
    plain = HKLRegressor(PolynomialBasis(2), lam=1e-2).fit(X, y)
    assert plain.hull_ == model.hull_
    assert model.score(X, y) > plain.score(X, y)
    assert (
        HKLClassifier(PolynomialBasis(2), lam=1e-3, refit=True).fit(X, labels).score(X, labels)
        > 0.9
    )
    with parameter_error("refit=True needs a finite number of features"):
        HKLRegressor(ANOVABasis(), refit=True).fit(X, y)


# Paths


def test_a_path_over_lambda_is_certified_point_by_point_and_padded_over_all_hulls(table):
    X, y, _ = table
    model = HKLRegressor(PolynomialBasis(2), tol=1e-3)
    values = [1.0, 1e-1, 1e-2, 1e-3]
    path = fit_path(model, X[:60], y[:60], "lam", values, X[60:], y[60:])
    assert path.weights.shape == (4, len(set().union(*(point.hull_ for point in path.estimators))))
    assert np.all(path.relative_gap <= 1e-3)
    assert np.isfinite(path.val_score).all()
    shared = fit_path(HKLRegressor(), Design(X[:60], PolynomialBasis(2)), y[:60], "lam", values)
    assert shared.objective == pytest.approx(path.objective, rel=1e-12)
    for row, point in zip(path.weights, path.estimators, strict=True):
        named = dict(zip(path.kernel_names, row, strict=True))
        assert [named.pop(name) for name in point.kernel_names_] == point.weights_.tolist()
        assert not any(named.values())
        cold = HKLRegressor(PolynomialBasis(2), lam=point.lam).fit(X[:60], y[:60])
        assert point.objective_ == pytest.approx(cold.objective_, rel=1e-3)
        assert point.predict(X[60:]) == pytest.approx(cold.predict(X[60:]), abs=0.05)


def test_points_of_a_path_that_are_not_certified_say_so(table):
    X, y, _ = table
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        path = fit_path(HKLRegressor(max_nodes=12, depth_weight=1.5), X, y, "lam", [1.0, 1e-5])
    assert path.statuses[-1] is Status.MAX_NODES
    assert path.relative_gap[-1] > 1e-3
    assert any(
        issubclass(w.category, NotConvergedWarning) and "not certified" in str(w.message)
        for w in heard
    )
    quick = fit_path(HKLRegressor(search="necessary"), X, y, "lam", [1e-2, 1e-3])
    assert all(status is Status.PROVISIONAL and not status.ok for status in quick.statuses)
    assert np.isnan(quick.relative_gap).all()


# Refusals


def test_wrong_targets_rows_and_nodes_are_refused(table):
    X, y, _ = table
    model, stack = (
        HKLRegressor(PolynomialBasis(2), lam=1e-2).fit(X, y),
        KernelDictionary.rbf_grid([1.0]).grams(X),
    )
    for error, words, call in (
        (
            DataError,
            "must be the same rows",
            lambda: HKLRegressor().fit(Design(X, PolynomialBasis(2)), y[:-1]),
        ),
        (DataError, "one class only", lambda: HKLClassifier().fit(X, np.zeros(80))),
        (ValueError, "requires y to be passed", lambda: HKLRegressor().fit(X)),
        (KernelError, "works on a table of columns", lambda: HKLRegressor().fit(stack, y)),
        (
            ParameterError,
            r"\(2, 2, 2, 2\) is not in the hull",
            lambda: model.component((2, 2, 2, 2), X),
        ),
    ):
        with pytest.raises(error, match=words):
            call()


def test_constant_columns_stay_out_of_the_hull(table):
    X = np.column_stack([table[0], np.full(80, 7.0)])
    model = HKLRegressor(PolynomialBasis(2), lam=1e-3).fit(X, table[1])
    assert model.certified_
    assert all(node[4] == 0 for node in model.hull_)
    assert model.relevance_[4] == 0


def test_names_of_the_columns_make_the_names_of_the_nodes_and_a_root_alone_is_reported(table):
    X = table[0]
    design = Design(X, PolynomialBasis(2), names=["length", "width", "height", "age"])
    assert design.name(((0, 1), (3, 2))) == "length·age²"
    assert Design(X, GaussianBasis(2)).name(((1, 2),)) == "x1₍₂₎"
    assert Design(X, ANOVABasis()).name(((1, 1), (2, 1))) == "x1·x2"
    bumps = HKLRegressor(GaussianBasis(2, 5.0), lam=1e4).fit(X, np.cos(5 * X[:, 0]))
    assert bumps.hull_ == ((0, 0, 0, 0),)
    assert bumps.certified_
    assert "The optimum at this lam is the root alone" in bumps.notes_[0]
    assert "a Gaussian of smaller b" in bumps.notes_[0]
    assert HKLRegressor(PolynomialBasis(2), lam=1e-3).fit(X, X[:, 0]).notes_ == ()


def test_many_kernels_few_nodes():
    data, truth = make_sparse_polynomial(300, 30, seed=3)
    model = HKLRegressor(lam=1e-3).fit(data.X, data.y)
    assert model.certified_
    assert model.n_dag_kernels_ == 5**30
    assert model.n_visited_ < 5000
    strongest = set(np.argsort(-model.relevance_)[:3].tolist())
    assert strongest <= {i for monomial in truth.monomials for i in monomial}
