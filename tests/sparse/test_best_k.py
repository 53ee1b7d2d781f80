"""The best k kernels: bounds and values against every choice, and the certificate of MKL-GOMP."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mklcore import (
    RBF,
    GOMPClassifier,
    GOMPRegressor,
    KernelDictionary,
    Linear,
    best_k_kernels,
    fit_path,
    load_sample,
    save_model,
)
from mklcore.estimators.best_k import best_choices, excesses, is_searched
from mklcore.figures import captions
from mklcore.figures.captions import alternatives, behind_best
from mklcore.io.catalog import ESTIMATORS
from mklcore.sparse.best_k import BestK, proved_bound, without_relaxations
from mklcore.verify import report
from tests.helpers.every import EVERY_CASE, every
from tests.helpers.refusals import parameter_error


def problem(seed, most=7):
    """Kernels of equal trace, some of rank one, some of them copies, and targets."""
    rng = np.random.default_rng(seed)
    M = int(rng.integers(2, most + 1))
    n = int(rng.integers(8, 24))
    T = 1 + (seed % 4 == 0)
    factors = [
        rng.normal(size=(n, 1 if seed % 3 == 0 else int(rng.integers(1, n + 1)))) for _ in range(M)
    ]
    K = np.array([L @ L.T * (n / np.vdot(L, L)) for L in factors])
    if seed % 2:
        K[-1] = K[0]
    return K, rng.normal(size=(n, T)), float(10.0 ** rng.uniform(-3.0, 0.0))


def lowest(K, Y, lam, k):
    """The lowest objective of k kernels, of all choices solved at once."""
    every_choice = np.array(list(combinations(range(len(K)), k)))
    systems = K[every_choice].sum(axis=1) + lam * len(Y) * np.eye(len(Y))
    duals = np.linalg.solve(systems, np.broadcast_to(Y, (len(systems), *Y.shape)))
    return lam * float(np.einsum("it,cit->c", Y, duals).min())


@every("seed", range(300 if EVERY_CASE else 8))
def test_the_bound_is_below_the_best_choice_and_equal_where_it_is_proven(seed):
    K, Y, lam = problem(seed, 12 if EVERY_CASE else 7)
    search = BestK(K, Y, lam)
    units = [BestK(c * K, unit * Y, c * lam) for unit, c in ((1e6, 1.0), (1.0, 1e6), (1e-6, 1e-6))]
    for k in range(1, len(K) + 1):
        best = lowest(K, Y, lam, k)
        for most in (1, 500):
            found = search.search(k, most=most)
            assert found.bound <= best * (1 + 1e-9)
            assert best <= found.value * (1 + 1e-9)
            assert min(proved_bound(K, Y, lam, k, found.proof), found.value) == pytest.approx(
                found.bound, rel=1e-8
            )
        assert found.is_proven
        assert found.value == pytest.approx(best, rel=2e-6)
        shorn = found.proof._replace(decided=found.proof.decided[1:], places=found.proof.places[1:])
        assert proved_bound(K, Y, lam, k, shorn) == -np.inf
        if k == len(K) // 2:
            assert all(other.search(k).is_proven for other in units)


@every("seed", range(6))
def test_a_pursuit_is_certified_against_every_choice_of_as_many_kernels(seed):
    K, Y, lam = problem(seed, 6)
    for k in range(1, len(K) + 1):
        model = GOMPRegressor(
            lam=lam, n_kernels=k, score_tol=0.0, kernels="precomputed", keep_duplicates=True
        )
        model.fit(K, Y)
        best = lowest(K, Y - Y.mean(axis=0), lam, len(model.selected_))
        assert model.dual_objective_ <= best * (1 + 1e-9)
        assert best <= model.objective_ * (1 + 1e-9)
        assert model.dual_gap_ == pytest.approx(model.objective_ - model.dual_objective_)


def test_every_size_along_a_path_has_the_bound_of_its_own_fit_and_other_losses_none():
    data = load_sample("iris")
    y = (data.y == data.y[0]).astype(int)
    for loss in ("squared", "logistic"):
        model = GOMPClassifier(loss=loss, n_kernels=3)
        path = fit_path(model, data.X[::4], y[::4], "s", [1, 2, 3])
        if loss == "logistic":
            assert np.isnan(path.dual_gap).all()
            continue
        alone = [GOMPClassifier(n_kernels=k).fit(data.X[::4], y[::4]) for k in (1, 2, 3)]
        assert_allclose(
            path.dual_gap, [one.dual_gap_ for one in alone], atol=1e-5 * path.objective.max()
        )


def test_a_path_of_the_best_k_kernels_is_proven_verified_and_the_same_in_other_units(tmp_path):
    data = load_sample("diabetes")
    X = data.X[:60]
    y = data.y[:60]
    kernels = KernelDictionary.per_feature(RBF(1.0, relative=True), data.n_features)
    path = best_k_kernels(kernels, X, y, k=3, lam=0.1)
    greedy = fit_path(GOMPRegressor(lam=0.1, kernels=kernels), X, y, "s", [1, 2, 3])
    assert [len(model.selected_) for model in path.estimators] == [1, 2, 3]
    assert np.all(path.finished)
    assert np.all(greedy.objective - greedy.dual_gap <= path.objective * (1 + 1e-9))
    assert np.all(path.objective <= greedy.objective * (1 + 1e-9))
    near = path.alternatives(3)
    assert near[0][1] == path.objective[2]
    assert all(found <= 1.01 * path.objective[2] for _, found in near)
    K = kernels.grams(X).values
    for unit, scale in ((1e6, 1.0), (1.0, 1e6), (1e-6, 1e-6)):
        other = best_k_kernels("precomputed", scale * K, unit * y, k=3, lam=scale * 0.1)
        assert other.statuses == path.statuses
        assert [model.selected_.tolist() for model in other.estimators] == [
            m.selected_.tolist() for m in path.estimators
        ]
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    model = path.estimators[2]
    for gain, code in ((0.0, 0), (1e-4, 1)):
        model.dual_objective_ = model.dual_objective_ + gain * model.objective_
        model.proof_[2][:] *= 1.0 - gain
        save_model(tmp_path / "model.mkl", model)
        assert report(tmp_path / "model.mkl", tmp_path / "rows.npz")[1] == code
    with parameter_error("use best_k_kernels"):
        greedy.alternatives(2)


def test_a_page_takes_the_relaxations_that_its_control_shows():
    method = ESTIMATORS["best_k"]
    (control,) = (one for one in method.controls if one.name == "max_relaxations")
    assert method.estimator("regression").max_relaxations == control.default
    assert method.estimator("binary", max_relaxations=70).max_relaxations == 70


def test_a_badge_says_solved_of_no_choice_that_may_not_be_the_best():
    data = load_sample("diabetes")
    kernels = KernelDictionary.per_feature(Linear(), data.n_features)
    best = best_k_kernels(kernels, data.X[:50], data.y[:50], k=2, lam=0.1)
    greedy = fit_path(GOMPRegressor(lam=0.1, kernels=kernels), data.X[:50], data.y[:50], "s", [2])
    assert captions.certificate(best, 1)[0][1] == "✓ proven best"
    assert captions.certificate(greedy, 0)[0][1].startswith("○ the best is at most ")


def test_a_sentence_says_how_far_a_greedy_choice_is_from_the_best(rng):
    """y = a + b and a shadow of both that is nearer to y than either: the pursuit takes the shadow
    first.
    """
    a, b, noise = rng.normal(size=(3, 60))
    X = np.column_stack([a, b, a + b + 0.8 * noise])
    kernels = KernelDictionary.per_feature(Linear(), 3)
    greedy = fit_path(
        GOMPRegressor(lam=0.1, kernels=kernels, score_tol=0.0), X, a + b, "s", [1, 2, 3]
    )
    best = best_k_kernels(kernels, X, a + b, k=3, lam=0.1)
    names = captions.labels(best.kernel_names, best.kernel_families)
    said = behind_best(greedy, 1, best, named=str.upper)
    excess = greedy.objective[1] / best.objective[1] - 1.0
    assert excess > 0.01
    assert said.startswith(
        f"The objective is {100 * excess:.3g} % above that of the best 2 kernels: it took "
        f"{names[2].upper()} where "
    )
    assert said.endswith(" belongs.")
    assert behind_best(greedy, 2, best) == "The chosen 3 kernels are proven best."
    assert behind_best(best, 1) == "The chosen 2 kernels are proven best."
    other = best_k_kernels(kernels, X, a + b, k=2, lam=0.2)
    alone = behind_best(greedy, 1)
    assert alone.startswith("The objective of the best 2 kernels is at most ")
    assert behind_best(greedy, 1, other) == alone
    assert alternatives(best, 1)[0] == (names[:2], 0.0)
    assert is_searched(greedy)
    searched = best_choices(greedy, X, a + b, 500)
    assert_allclose(searched.objective, best.objective)
    cut = fit_path(GOMPRegressor(lam=0.1, kernels=kernels, n_kernels=2), X, a + b, "lam", [0.1])
    assert not is_searched(cut)
    above = excesses(best, X, a + b, {"greedy": greedy, "cut": cut})
    assert_allclose(above["greedy"], greedy.objective / best.objective - 1.0, atol=1e-12)
    assert np.isnan(above["cut"]).tolist() == [True, False, True]
    renamed = replace(greedy, kernel_names=greedy.kernel_names[::-1])
    assert np.isnan(excesses(best, X, a + b, {"renamed": renamed})["renamed"]).all()


def test_without_relaxations_a_greedy_choice_has_the_bound_of_its_own_dual():
    data = load_sample("iris")
    model = GOMPClassifier(n_kernels=2)
    whole = model.copy_with("n_kernels", 2).fit(data.X, data.y == "setosa")
    with without_relaxations():
        own = model.copy_with("n_kernels", 2).fit(data.X, data.y == "setosa")
    assert own.dual_objective_ <= whole.dual_objective_ + 1e-12
    assert_array_equal(own.selected_, whole.selected_)
    assert_allclose(own.dual_coef_, whole.dual_coef_)
