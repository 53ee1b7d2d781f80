"""Sparse MKL as estimators: scikit-learn's conventions, one against one, explicit groups, starts,
paths, refusals.
"""

import itertools

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_iris

from mklcore import (
    RBF,
    GramStack,
    KernelDictionary,
    Linear,
    NotConvergedWarning,
    SMKLClassifier,
    SMKLRegressor,
)
from mklcore.estimators.smkl import group_sizes
from mklcore.paths.path import path_grid
from mklcore.problem.driver import Status
from mklcore.problem.penalties import LogTerm
from tests.helpers.every import every
from tests.helpers.refusals import kernel_error

KERNELS = KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + KernelDictionary.per_feature(Linear(), 4)


@pytest.fixture(scope="module")
def table():
    rng = default_rng(0)
    X = rng.standard_normal((70, 4))
    score = X[:, 0] - X[:, 1] ** 2 + 0.7 + 0.3 * rng.standard_normal(70)
    return X, np.where(score > 0, "yes", "no"), score


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    model = SMKLClassifier(
        kernels=KernelDictionary.per_feature((Linear(), RBF(1.0, relative=True)), 4), C=10.0
    )
    return X, y, model.fit(X, y)


def test_one_against_one_has_its_own_kernels_for_every_pair(iris):
    X, y, model = iris
    assert model.pairs_ == ((0, 1), (0, 2), (1, 2))
    assert (model.weights_.shape, model.dual_coef_.shape) == ((3, 8), (3, 150))
    assert model.intercept_.shape == model.objective_.shape == (3,)
    assert len(model.history_) == len(model.fit_) == 3
    for pair, dual in zip(model.pairs_, model.dual_coef_, strict=True):
        assert set(y[dual != 0]) == set(pair)
    per_pair = np.count_nonzero(model.weights_, axis=1)
    assert model.mean_kernels_ == pytest.approx(per_pair.mean())
    assert per_pair.max() <= model.n_kernels_ == len(model.selected_)
    assert model.score(X, y) > 0.93
    stack = model.kernels.grams(X, normalise="trace")
    rows = np.flatnonzero(y != 0)
    alone = SMKLClassifier(kernels="precomputed", C=10.0).fit(stack.block(rows, rows), y[rows])
    assert model.weights_[2] == pytest.approx(alone.weights_)
    assert model.dual_coef_[2][rows] == pytest.approx(alone.dual_coef_)
    scores = model.contributions(X).sum(axis=0) + model.intercept_
    assert scores[:, 2] == pytest.approx(alone.decision_function(stack.block(np.arange(150), rows)))


def test_votes_decide_and_margins_only_break_ties(iris, rng):
    X, _, model = iris
    new = X.min(axis=0) + rng.uniform(size=(300, 4)) * np.ptp(X, axis=0)
    scores = model.contributions(new).sum(axis=0) + model.intercept_
    votes = np.zeros((300, 3))
    for k, pair in enumerate(model.pairs_):
        votes[np.arange(300), np.where(scores[:, k] > 0, pair[1], pair[0])] += 1
    decision = model.decision_function(new)
    assert decision == pytest.approx(votes, abs=2e-9)
    assert np.array_equal(model.predict(new), model.classes_[np.argmax(decision, axis=1)])
    ties = np.array([[-2.0, 0.1, -0.5]]) - model.intercept_  # 0 beats 1, 2 beats 0, 1 beats 2
    assert np.round(model._joined(ties)) == pytest.approx(np.ones((1, 3)))
    assert np.argmax(model._joined(ties)) == 0


def test_explicit_groups_are_the_group_lasso():
    """sum_k sqrt(d_k) ||w_k|| + C/2 ||y - X w||^2, by its optimality conditions on the columns
    themselves.
    """
    rng = default_rng(3)
    X = rng.standard_normal((60, 9))
    groups = [0, 1, 2, 3], [4, 5], [6], [7, 8]
    y = X[:, :4] @ [1.0, -1.0, 0.5, 2.0] + 1.5 * X[:, 6] + 0.1 * rng.standard_normal(60)
    kernels = KernelDictionary(
        KernelDictionary.per_group(Linear(), groups).specs, standardize=False
    )
    asked = SMKLRegressor(
        "gl", C=0.3, kernels=kernels, normalise=None, fit_intercept=False, tol=1e-9, max_iter=5000
    )
    model = asked.fit(X, y)
    etas = np.sqrt([4, 2, 1, 2])
    assert group_sizes(kernels.grams(X, normalise=None)) == pytest.approx(etas)
    slopes = model.predict(np.eye(9))
    residual = y - X @ slopes
    norms = np.array([np.linalg.norm(slopes[columns]) for columns in groups])
    assert model.predict(X) == pytest.approx(X @ slopes)
    assert set(model.selected_) == {0, 2}
    for m, columns in enumerate(groups):
        pull = 0.3 * X[:, columns].T @ residual
        if m in model.selected_:
            assert pull == pytest.approx(etas[m] * slopes[columns] / norms[m], rel=1e-5)
        else:
            assert np.linalg.norm(pull) < etas[m]
    assert model.objective_ == pytest.approx(etas @ norms + 0.15 * residual @ residual)


def test_group_weights_count_columns_only_for_explicit_linear_groups(table):
    kernels = KernelDictionary.per_group((Linear(), RBF(1.0)), {"a": (0, 1, 2), "b": (3,)})
    assert group_sizes(kernels.grams(table[0], normalise=None)) == pytest.approx(
        (np.sqrt(3.0), 1.0, 1.0, 1.0)
    )
    assert group_sizes(kernels.grams(table[0], normalise="trace")) == 1.0
    assert group_sizes(GramStack.from_array(kernels.grams(table[0]).values)) == 1.0
    cheap = SMKLRegressor(kernels=kernels, C=5.0).fit(table[0], table[2])
    dear = SMKLRegressor(kernels=kernels, C=5.0, eta=(1e3, 1e3, 1.0, 1.0)).fit(table[0], table[2])
    assert {0, 1} & set(cheap.selected_)
    assert not {0, 1} & set(dear.selected_)


def test_several_starts_keep_the_best_and_tell_the_spread(table):
    X, _, y = table
    one, many, again = (
        SMKLRegressor("log", C=5.0, kernels=KERNELS, n_starts=n, random_state=0).fit(X, y)
        for n in (1, 6, 6)
    )
    found = many.start_objectives_
    assert found.shape == (6,)
    assert found[0] == pytest.approx(one.objective_)
    assert many.objective_ == found.min() <= one.objective_
    assert np.ptp(found) > 0.1
    assert many.start_kernels_[np.argmin(found)] == many.n_kernels_
    assert np.array_equal(again.start_objectives_, found)


@pytest.fixture(scope="module")
def twice(table):
    """Two kernels, each twice."""
    K = KernelDictionary.rbf_grid([1.0, 2.0]).grams(table[0], normalise="trace").values
    return np.concatenate([K, K])


def test_of_exact_copies_the_first_or_cheapest_stands_for_all_and_those_that_compete_are_parted(
    table, twice
):
    """Equal weights of copies are a saddle: there half of the kernels could go and L would fall."""

    def fitted(**more):
        return SMKLRegressor(kernels="precomputed", C=5.0, **more).fit(twice, table[2])

    model = fitted()
    apart = fitted(tol=1e-6, init_jitter=0.1, random_state=0)
    assert not model.weights_[2:].any()
    assert model.objective_ <= apart.objective_ + 1e-3
    assert (
        model.notes_[0]
        == "kernel 2: the same as kernel 0, left out. keep_duplicates=True lets every copy compete."
    )
    even = fitted(tol=1e-4, tol_mode="absolute")
    assert even.weights_[0] == pytest.approx(even.weights_[2])
    assert even.notes_ == ()
    dear = fitted(eta=(2.0, 2.0, 1.0, 1.0))
    assert not dear.weights_[:2].any()
    assert dear.weights_[2:].any()
    shaken = fitted(keep_duplicates=True)
    assert shaken.n_kernels_ < even.n_kernels_
    assert max(model.objective_, shaken.objective_) < even.objective_ - 5.0
    found = [record.objective for record in shaken.history_]
    assert all(b <= a + 1e-8 * abs(a) for a, b in itertools.pairwise(found))
    assert shaken.history_[-1].solves <= shaken.n_solves_


def test_near_copies_are_distinguished_at_the_usual_tolerance(table):
    """Six widths that differ by 1e-4: settled at tol 1e-3 they share, and L is half as large again
    as with one of them.
    """
    X, _, y = table
    K = (
        KernelDictionary.rbf_widths([1.0 + 1e-4 * k for k in range(6)])
        .grams(X, normalise="trace")
        .values
    )
    usual, sharp = (
        SMKLRegressor(kernels="precomputed", C=50.0, tol=tol).fit(K, y) for tol in (1e-3, 1e-9)
    )
    assert usual.n_kernels_ == sharp.n_kernels_ == 1
    assert usual.objective_ == pytest.approx(sharp.objective_, rel=1e-3)


def test_the_grid_of_a_path_starts_where_no_kernel_is_kept(table):
    stack = KERNELS.grams(table[0], normalise="trace")
    grid = path_grid(SMKLClassifier(kernels=KERNELS), stack, table[1], "C", 9)
    kept = [
        SMKLClassifier(kernels=KERNELS, C=C).fit(table[0], table[1]).n_kernels_
        for C in grid[[0, -1]]
    ]
    assert kept[0] == 0
    assert kept[1] > 0


def _runaway(C, seed=1, terms="log"):
    """A classifier of 32 rows with trace-normalised kernels, under the squared loss."""
    rng = default_rng(seed)
    rows = rng.standard_normal((32, 3))
    y = np.where(rows[:, 0] + np.sin(2 * rows[:, 1]) + 0.3 * rng.standard_normal(32) > 0, 1, -1)
    kernels = KernelDictionary.per_feature(RBF(1.0), 3)
    return (
        SMKLClassifier(terms=terms, C=C, loss="squared", normalise="trace", kernels=kernels),
        rows,
        y,
    )


@every("C, seed", [(25.0, 1), (50.0, 1), (100.0, 0)])
def test_a_weight_that_runs_away_ends_at_the_last_point_that_can_be_carried(C, seed):
    """It was refused, though every point until there is an answer whose own parts prove it."""
    model, rows, y = _runaway(C, seed)
    said = rf'(?s)stopped at the last point .*terms="log\+gl".* terms="log" at C={C:g} a kernel weight has run to \d'
    with pytest.warns(NotConvergedWarning, match=said):
        model.fit(rows, y)
    reported = [record.objective for record in model.history_]
    assert model.status_ is Status.RAN_AWAY
    assert model.objective_ < 0.6 * reported[0]
    assert min(reported) >= model.objective_  # nothing is reported of points that cannot be trusted
    K = model.kernels.grams(rows, normalise="trace").values
    a = model.dual_coef_
    f = np.einsum("m,mij,j->i", model.weights_, K, a) + model.intercept_
    penalty = LogTerm().value(model.weights_**2 * np.einsum("i,mij,j->m", a, K, a))
    assert 0.5 * C * float(np.sum((y - f) ** 2)) + penalty == pytest.approx(
        model.objective_, rel=1e-4
    )


def test_where_only_the_start_can_be_carried_or_nothing_that_is_said_and_the_group_lasso_holds_the_weight():
    for C in (1e7, 1e8):  # from 1e10 on it hangs on rounding whether the start can be carried
        model, rows, y = _runaway(C)
        with pytest.warns(
            NotConvergedWarning,
            match="That last point is the start: .* say nothing about the kernels",
        ):
            model.fit(rows, y)
        assert model.status_ is Status.RAN_AWAY
        assert np.ptp(model.weights_) == 0.0
    with kernel_error(r'terms="log" at C=1e\+13 a kernel weight has run to .*terms="log\+gl"'):
        _runaway(1e13)[0].fit(rows, y)
    held = _runaway(25.0, terms="log+gl")[0].fit(rows, y)
    assert held.weights_.max() < 100
    assert held.status_ is Status.SETTLED


def test_every_pair_without_a_kernel_is_named(iris):
    X, y, model = iris
    names = np.array(["a", "b", "c"])[y]
    assert model.notes_ == ()
    kernels = KernelDictionary.per_feature(Linear(), 4)
    ask = {"kernels": kernels, "loss": "squared", "terms": "gl"}
    (alone,) = SMKLClassifier(C=1e-4, **ask).fit(X, y == 0).notes_
    assert alone.startswith("At C = 0.0001 no kernel is worth its penalty: every row gets the same")
    empty = SMKLClassifier(C=1e-4, **ask).fit(X, names)
    without = [
        pair
        for pair, weights in zip(empty.pairs_, empty.weights_, strict=True)
        if not weights.any()
    ]
    assert len(without) == len(empty.notes_) > 0
    (first, second), note = without[0], empty.notes_[0]
    assert f"between {empty.classes_[first]} and {empty.classes_[second]}," in note
