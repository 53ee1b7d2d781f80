"""Greedy coordinate descent against certified optima, computed paths, optimality conditions and reductions."""

from fractions import Fraction

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import MKLError, ParameterError
from mklcore.gallery.theory import greedy_rate_bound
from mklcore.problem.driver import Status, run
from mklcore.sparse import greedy
from mklcore.sparse.gomp import Spectra
from mklcore.sparse.greedy import (
    BlockDescent,
    EmpiricalGreedy,
    FunctionalGreedy,
    critical_lam,
    exact_dot,
    exact_forms,
    unit_step_divisors,
)
from tests.helpers.every import every
from tests.oracles.greedy import KERNELS, TARGETS, descents, penalised

OPTIMA, DESCENTS = penalised(), descents()
each_optimum = every("case", OPTIMA)
each_descent = every("case", DESCENTS)


def algorithm_1(case, tol=1e-10, **options):
    settings = {"n_kernels": len(case.K), **options}
    return run(FunctionalGreedy(case.K, Spectra.of(case.K), case.y, case.lam, **settings), tol=tol, max_iter=99)


def algorithm_2(K, y, n_steps=30, linesearch=False):
    method = EmpiricalGreedy(K, y, n_steps=n_steps, linesearch=linesearch, divisors=unit_step_divisors(K))
    return run(method, tol=0.0, max_iter=10_000)


# Algorithm 1


@each_optimum
def test_every_optimum_is_reached_by_the_steps_of_the_oracle_and_certified(case):
    fit = algorithm_1(case)
    assert fit.selected == tuple(case.picks)
    assert fit.objective == pytest.approx(case.objective, rel=1e-8)
    assert fit.dual_objective <= case.objective + 1e-12
    assert fit.status.ok
    assert fit.gap <= 1e-10 * case.objective
    if not case.name.startswith("P3_"):  # among copies the norms are not unique
        assert fit.weights == pytest.approx(case.norms, abs=2e-5 * case.norms.max())
    for k, point in enumerate(fit.points[1:]):
        assert point.state.norms == pytest.approx(case.path_gradients[k], rel=1e-5, abs=1e-7)
        assert point.objective == pytest.approx(case.path_objective[k], rel=1e-8)
        assert point.weights == pytest.approx(case.path_norms[k], abs=1e-4 * case.path_norms[k].max())
    for d, point in enumerate(fit.points[2:], start=2):  # the rate of Theorem 1
        assert point.objective - case.dual <= greedy_rate_bound(case.norms.sum(), d)


def test_how_algorithm_1_ends():
    case = OPTIMA[0]
    assert algorithm_1(case, n_kernels=1).status is Status.COMPLETE
    assert algorithm_1(case).status.ok
    none = run(
        FunctionalGreedy(case.K, Spectra.of(case.K), case.y, 1.001 * critical_lam(case.K, case.y), n_kernels=9),
        tol=0,
        max_iter=9,
    )
    assert none.selected == ()
    assert none.gap == 0.0
    assert (
        run(FunctionalGreedy(case.K, Spectra.of(case.K), 0 * case.y, 0.1, n_kernels=9), tol=0, max_iter=9).objective
        == 0
    )
    two = [0, 1]
    both = FunctionalGreedy(case.K[two], Spectra.of(case.K[two]), case.y, 1e-4, n_kernels=9)
    assert run(both, tol=0.0, max_iter=9).status in (Status.EXHAUSTED, Status.CONVERGED, Status.ROUNDED)


def test_descent_that_does_not_settle_is_reported(monkeypatch):
    monkeypatch.setattr(greedy, "SETTINGS", greedy.GreedySettings(sweeps=1, max_sweeps=2))
    monkeypatch.setattr(BlockDescent, "_jump", lambda self, chosen: False)
    with pytest.raises(MKLError, match=r"has not settled after .* sweeps .* Remove near-duplicates, or raise lam"):
        algorithm_1(OPTIMA[0])


def doubled(seed, n, d, copies=2):
    """Each column's kernel as often as ``copies`` says, and a target that they nearly fit."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    K = mkl.KernelDictionary.per_feature(mkl.RBF(1.0), d).grams(X, normalise="diag").values
    return np.concatenate([K] * copies), y


@every("lam, seed, n, d", [(1e-7, 2, 32, 3), (1e-6, 1, 50, 3)])
def test_descent_that_is_out_of_sweeps_where_it_has_settled_is_answered(lam, seed, n, d):
    """It ended in "has not settled (change inf)", between two rounds that both had settled."""
    K, y = doubled(seed, n, d)
    fit = run(FunctionalGreedy(K, Spectra.of(K), y, lam, n_kernels=len(K)), tol=1e-3, max_iter=50)
    assert fit.status.ok
    assert fit.gap <= 1e-3 * lam * fit.weights.sum() * (1 + 1e-6)
    assert fit.objective == pytest.approx(long_value(K, y, lam, fit), rel=1e-6)


def test_rounds_of_descent_end_where_rounding_stirs_as_much_as_they_bring(monkeypatch):
    """Far targets keep ||grad_j|| a few 1e-8 from lam, and all 40 rounds ran."""
    jumps, plain = [], BlockDescent._jump
    monkeypatch.setattr(BlockDescent, "_jump", lambda self, chosen: jumps.append(chosen.size) or plain(self, chosen))
    data = mkl.load_sample("diabetes").drawn(150)
    kernels = mkl.KernelDictionary.recommended(data, whole=False)
    found = mkl.GreedyMKLRegressor(kernels=kernels, n_kernels=6).fit(data.X, data.y)
    assert found.selected_.size == 6
    assert 4 <= len(jumps) <= 18


def rbf_problem(seed, widths, d=1, n=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + 0.7 * rng.standard_normal(n)
    return mkl.KernelDictionary.rbf_widths(widths).grams(X, normalise="diag").values, y


def long_value(K, y, lam, fit):
    """The objective of the published coefficients, in extended precision."""
    parts = [(K[j].astype(np.longdouble) @ a, a) for j, a in zip(fit.selected, fit.dual_coef, strict=True)]
    norms = sum(np.sqrt(max(a @ f, np.longdouble(0))) for f, a in parts)
    r = y - sum(f for f, _ in parts)
    return float(r @ r / (2 * y.size) + lam * norms)


@every("lam", [1e-4, 1e-7, 1e-8, 1e-10, 1e-300])
@every("widths", [(1.0, 2.0, 4.0), (0.3, 1.0, 3.0), (5.0, 10.0, 20.0)])
@every("seed", range(2))
def test_a_tiny_lam_is_answered_honestly_or_refused(lam, widths, seed):
    """Wide Gaussian kernels: norms in the millions.

    What is published holds when it is computed again, or nothing is.
    """
    K, y = rbf_problem(seed, widths)
    method = FunctionalGreedy(K, Spectra.of(K), y, lam, n_kernels=3)
    fit, refused = None, ""
    try:
        fit = run(method, tol=1e-3, max_iter=9)
    except ParameterError as error:
        refused = str(error)
    if fit is None:
        assert lam < 1e-6
        assert "too small for these kernels" in refused
        return
    again = long_value(K, y, lam, fit)
    theta = fit.dual_point
    reach = np.sqrt(max(0.0, exact_forms(K, theta).max()))
    assert fit.objective == pytest.approx(again, rel=1e-6)
    assert fit.dual_objective <= again * (1 + 1e-9)
    assert fit.dual_objective == pytest.approx(theta @ y - 0.5 * y.size * (theta @ theta), rel=1e-9)
    assert reach <= lam * (1 + 1e-6)
    if fit.status.ok:
        assert fit.gap <= 1e-3 * lam * fit.weights.sum() * (1 + 1e-6)


@every("seed", range(4))
def test_under_a_vanishing_lam_the_answer_is_the_interpolant_of_least_norm(seed):
    """There L is nearly lam times the least sum of norms, at every lam the same multiple; block descent alone stands
    still.
    """
    K, y = rbf_problem(seed, (0.5, 1.0, 2.0), d=3)
    fits = [run(FunctionalGreedy(K, Spectra.of(K), y, lam, n_kernels=3), tol=1e-3, max_iter=9) for lam in (1e-8, 1e-10)]
    assert all(fit.status.ok for fit in fits)
    assert fits[0].objective == pytest.approx(100 * fits[1].objective, rel=1e-3)


def test_what_double_precision_cannot_carry_is_refused():
    K, y = rbf_problem(0, (1.0, 2.0, 4.0))
    with pytest.raises(ParameterError, match=r"lam=1e-10 is too small .* double precision .* ten times as large"):
        run(FunctionalGreedy(K, Spectra.of(K), y, 1e-10, n_kernels=3), tol=1e-3, max_iter=9)


def test_products_in_twice_the_precision():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 200)) * 10.0 ** rng.integers(-8, 9, (2, 200))
    true = float(sum(Fraction(x) * Fraction(z) for x, z in zip(a.tolist(), b.tolist(), strict=True)))
    assert exact_dot(a, b) == pytest.approx(true, rel=1e-15)
    u = rng.standard_normal(50)
    K = np.eye(50) - np.outer(u, u) / (u @ u)  # K u is nothing but rounding
    true = sum(Fraction(x) * Fraction(k) * Fraction(z) for x, row in zip(u.tolist(), K.tolist(), strict=True)
               for k, z in zip(row, u.tolist(), strict=True))  # fmt: skip
    assert exact_forms(K[None], u)[0] == pytest.approx(float(true), rel=1e-10)


# Algorithm 2


@each_descent
def test_every_step_of_algorithm_2(case):
    fit = algorithm_2(case.K, case.y, len(case.picks), case.linesearch)
    compared = 12 if case.linesearch else 30  # with line search late picks depend on round-off
    for k, point in enumerate(fit.points[1 : compared + 1]):
        assert point.state.pick == case.picks[k]
        assert point.state.norms == pytest.approx(case.gradients[k], rel=1e-10, abs=1e-12)
        assert point.state.eta == pytest.approx(case.eta[k], rel=1e-10)
        assert point.objective == pytest.approx(case.loss[k], rel=1e-10, abs=1e-12)
    assert fit.status is Status.COMPLETE
    assert fit.dual_objective is None


def test_large_kernels_are_rescaled_where_the_unit_step_would_diverge():
    K, y = KERNELS["P1"], TARGETS["P1"]
    largest = np.linalg.eigvalsh(K)[:, -1] / len(y)
    big = K * (3.0 / largest)[:, None, None]
    assert unit_step_divisors(K) == pytest.approx(np.ones(8))
    assert unit_step_divisors(big) == pytest.approx(np.full(8, 3.0))
    free = EmpiricalGreedy(big, y, n_steps=10, linesearch=False, divisors=np.ones(8))
    assert run(free, tol=0, max_iter=99).objective > 100.0  # what happens without
    assert algorithm_2(big, y, 10).objective < 0.3


def test_a_fit_without_residual_has_nothing_to_gain():
    assert algorithm_2(KERNELS["P1"], np.zeros(40)).status is Status.NO_GAIN


# Estimators


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 4))
    score = X[:, 0] - X[:, 1] ** 2 + 0.7 + 0.3 * rng.standard_normal(70)
    return X, np.digitize(score, [-0.5, 0.7]), score


@every("case", DESCENTS[::4])
def test_the_regressor_is_algorithm_2(case):
    step = "linesearch" if case.linesearch else "unit"
    model = mkl.GreedyMKLRegressor("empirical", n_kernels=12, step=step, kernels="precomputed", fit_intercept=False)
    model.fit(case.K, case.y)
    assert list(model.steps_) == list(case.picks[:12])
    assert model.objective_ == pytest.approx(case.loss[11], rel=1e-10, abs=1e-12)
    assert model.dual_gap_ is None
    assert 0.5 * np.mean((case.y - model.predict(case.K)) ** 2) == pytest.approx(model.objective_, abs=1e-12)


def test_the_intercept_is_the_mean(table):
    X, _, target = table
    model = mkl.GreedyMKLRegressor(lam=1e6).fit(X, target + 5.0)
    assert model.predict(X[:3]) == pytest.approx(np.full(3, np.mean(target + 5.0)))
    assert mkl.GreedyMKLRegressor(lam=1e6, fit_intercept=False).fit(X, target).predict(X[:3]) == pytest.approx(
        np.zeros(3)
    )


def test_several_classes_are_one_against_the_rest(table):
    X, codes, _ = table
    model = mkl.GreedyMKLClassifier(lam=0.02).fit(X, codes)
    assert model.decision_function(X).shape == (70, 3)
    assert model.dual_coef_.shape == (3, len(model.kernel_names_), 70)
    assert model.relative_gap_.shape == (3,)
    assert np.all(model.dual_gap_ <= 1e-3 * 0.02 * model.weights_.sum(axis=1) + 1e-12)
    alone = mkl.GreedyMKLClassifier(lam=0.02).fit(X, codes == 1)
    assert model.weights_[1] == pytest.approx(alone.weights_)
    assert model.decision_function(X)[:, 1] == pytest.approx(alone.decision_function(X))
    assert model.score(X, codes) > 0.8


def test_rescaled_kernels_are_reported(table):
    X, _, target = table
    kernels = mkl.KernelDictionary.per_feature(mkl.Linear(), 4)
    wide = kernels.grams(X, normalise=None)
    model = mkl.GreedyMKLRegressor("empirical").fit(mkl.GramStack.from_array(7.0 * wide.values), target)
    assert all("lmax(K/n) is 7, above 1" in note for note in model.notes_)
    assert len(model.notes_) == 4
    assert mkl.GreedyMKLRegressor("empirical", kernels=kernels).fit(X, target).notes_ == ()


@every("criterion", ["functional", "empirical"])
@every("several", [False, True])
def test_a_path_over_s_is_one_run_cut_short(criterion, several, table):
    X, codes, _ = table
    y = codes if several else codes == 1
    model = mkl.GreedyMKLClassifier(criterion, lam=0.01, tol=1e-6)
    path = mkl.fit_path(model, X[:50], y[:50], "s", [3, 1, 2, 6], X[50:], y[50:])
    for k, size in enumerate([3, 1, 2, 6]):
        cold = mkl.GreedyMKLClassifier(criterion, lam=0.01, tol=1e-6, n_kernels=size).fit(X[:50], y[:50])
        assert path.estimators[k].weights_ == pytest.approx(cold.weights_)
        assert path.objective[k] == pytest.approx(np.sum(cold.objective_))
        assert path.val_score[k] == cold.score(X[50:], y[50:])
        assert path.statuses[k] is cold.status_
        assert path.estimators[k].n_iter_ == cold.n_iter_
    assert np.isnan(path.relative_gap).all() == (criterion == "empirical")
