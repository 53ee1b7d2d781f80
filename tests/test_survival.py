"""Survival: the partial likelihood and its derivatives, optima of an independent solver, concordance, generated
truth."""

import io
import itertools
import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import mklcore as mkl
from mklcore.data.survival import make_survival
from mklcore.errors import DataError, ParameterError
from mklcore.losses.survival import PartialLikelihood, Times, as_times, concordance
from mklcore.solvers.survival import fit_cox

ORDERS = (1.0, 4 / 3, 2.0, np.inf)


def random_times(rng, n):
    time = np.round(rng.exponential(1.0, n), 1)  # with ties
    event = rng.random(n) < 0.7
    event[int(np.argmin(time))] = True
    return Times(time, event)


def by_hand(times, f):
    """The partial likelihood as it is written."""
    total = 0.0
    for i in np.flatnonzero(times.event):
        at_risk = times.time >= times.time[i]
        total += np.log(np.exp(f[at_risk]).sum()) - f[i]
    return total


@pytest.mark.parametrize("seed", range(5))
def test_likelihood_and_its_derivatives(seed):
    rng = np.random.default_rng(seed)
    times, f = random_times(rng, 9), rng.standard_normal(9)
    L = PartialLikelihood(times)
    assert L.value(f) == pytest.approx(by_hand(times, f))
    steps = 1e-5 * np.eye(9)
    assert L.gradient(f) == pytest.approx(
        [(by_hand(times, f + step) - by_hand(times, f - step)) / 2e-5 for step in steps], abs=1e-6
    )
    assert L.hessian(f) == pytest.approx(
        np.array([(L.gradient(f + step) - L.gradient(f - step)) / 2e-5 for step in steps]), abs=1e-6
    )
    assert L.gradient(f + 100.0) == pytest.approx(L.gradient(f))
    far = 300.0 * f
    assert np.all(np.isfinite(L.gradient(far)))
    assert L.gradient(far).sum() == pytest.approx(0.0, abs=1e-9)


def optimum(factors, times, p, C):
    betas = [cp.Variable(L.shape[1]) for L in factors]
    f = sum(L @ beta for L, beta in zip(factors, betas, strict=True))
    errors = sum(cp.log_sum_exp(f[times.time >= times.time[i]]) - f[int(i)] for i in np.flatnonzero(times.event))
    norms = cp.hstack([cp.norm(beta) for beta in betas])
    r = 2 if p == np.inf else 2 * p / (p + 1)
    problem = cp.Problem(cp.Minimize(errors + cp.square(cp.pnorm(norms, r, approx=False)) / (2 * C)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy tells of last digits that we do not ask for
        return C * float(problem.solve(solver="CLARABEL"))


@pytest.mark.parametrize("seed", range(50))
def test_optimum(seed):
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((9, 2)) for _ in range(int(rng.integers(2, 5)))]
    times, p, C = random_times(rng, 9), ORDERS[seed % 4], 10.0 ** rng.uniform(-1.5, 0.5)
    K = np.array([L @ L.T for L in factors])
    fit, _ = fit_cox(K, PartialLikelihood(times), C, p, tol=1e-4)
    best = optimum(factors, times, p, C)
    assert fit.status.ok
    assert fit.objective == pytest.approx(best, rel=2e-4)
    assert fit.dual_objective <= best * (1 + 1e-6) + 1e-9
    assert fit.gap <= 1.1e-4 * abs(best)


@pytest.fixture(scope="module")
def pathways():
    return make_survival(150, seed=0)


@pytest.fixture(scope="module")
def fitted(pathways):
    kernels = mkl.KernelDictionary.per_group(mkl.Linear(), pathways.groups)
    return mkl.CoxMKL(kernels=kernels, C=0.05).fit(pathways.X, pathways.y)


def test_pathways_that_decide_are_found(fitted, pathways):
    fresh = make_survival(400, seed=1)
    largest = np.argsort(-fitted.weights_)[:2]
    assert {pathways.groups[m][0] for m in largest} == set(pathways.informative)
    assert fitted.weights_[largest].sum() > 0.8
    assert fitted.score(fresh.X, fresh.y) > 0.68
    assert concordance(fresh.y, fresh.risk) > fitted.score(fresh.X, fresh.y)
    assert np.corrcoef(fitted.predict(fresh.X), fresh.risk)[0, 1] > 0.8


def test_certificate_is_computed_again(fitted, pathways):
    assert fitted.certificate(pathways.X, pathways.y) == pytest.approx((fitted.objective_, fitted.dual_objective_))
    assert fitted.relative_gap_ < 1e-3


def test_survival_is_a_probability_that_falls(fitted, pathways):
    times = np.quantile(pathways.y[:, 0], [0.0, 0.2, 0.5, 0.9])
    found = fitted.survival(pathways.X, [-1.0, *times])
    assert found[:, 0] == pytest.approx(1.0)
    assert np.all(np.diff(found, axis=1) <= 1e-12)
    riskiest, safest = np.argmax(fitted.predict(pathways.X)), np.argmin(fitted.predict(pathways.X))
    assert found[riskiest, 2] < found[safest, 2]
    half = float(np.mean(pathways.y[:, 0] > times[2]))
    assert found[:, 3].mean() == pytest.approx(half, abs=0.2)


def test_hazard_of_nothing_learned_is_nelson_and_aalen(pathways):
    times = Times(pathways.y[:, 0], pathways.y[:, 1] == 1)
    hazard, order = PartialLikelihood(times).baseline(np.zeros(150))
    n, total, wanted = 150, 0.0, []
    for place, row in enumerate(np.argsort(times.time)):
        total += times.event[row] / (n - place)
        wanted.append(total)
    assert hazard == pytest.approx(wanted)
    assert np.all(np.diff(times.time[order]) >= 0)


def test_saved_loaded_and_along_a_path(fitted, pathways):
    file = io.BytesIO()
    mkl.save_model(file, fitted)
    file.seek(0)
    again = mkl.load_model(file)
    assert again.predict(pathways.X) == pytest.approx(fitted.predict(pathways.X))
    assert again.survival(pathways.X[:3], [1.0]) == pytest.approx(fitted.survival(pathways.X[:3], [1.0]))
    path = mkl.fit_path(mkl.CoxMKL(kernels=fitted.kernels), pathways.X, pathways.y, param="C", values=[0.01, 0.05])
    assert path.estimators[1].objective_ == pytest.approx(fitted.objective_, rel=2e-3)


# Concordance and targets


def test_concordance_counts_pairs():
    rng = np.random.default_rng(0)
    times, risk = random_times(rng, 12), np.round(rng.standard_normal(12), 1)
    good = total = 0.0
    for i, j in itertools.permutations(range(12), 2):
        earlier = times.time[i] < times.time[j] or (times.time[i] == times.time[j] and not times.event[j])
        if times.event[i] and earlier:
            total += 1
            good += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
    y = np.column_stack(times)
    assert concordance(y, risk) == pytest.approx(good / total)
    assert concordance(y, -risk) == pytest.approx(1 - good / total)
    assert concordance(y, np.zeros(12)) == 0.5


def test_targets_of_every_form_are_the_same():
    time, event = np.array([3.0, 1.0, 2.0]), np.array([True, False, True])
    forms = [
        np.column_stack([time, event]),
        np.array(list(zip(event, time, strict=True)), dtype=[("status", bool), ("days", float)]),
        np.array(list(zip(time, event, strict=True)), dtype=[("days", float), ("died", bool)]),
        pd.DataFrame({"time": time, "event": event.astype(int)}),
        pd.DataFrame({"event": event.astype(int), "time": time}),
    ]
    for form in forms:
        found = as_times(form)
        assert found.time.tolist() == [3, 1, 2]
        assert found.event.tolist() == [True, False, True]
    assert as_times(time).event.all()


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.ones((3, 3)), "columns time and event"),
        ([[1.0, 2.0]], "1 where it was seen"),
        ([[1.0, 0.0]], "No event"),
        ([[np.nan, 1.0]], "NaN"),
        (["soon"], "Unknown label type"),
        (pd.DataFrame({"a": [1.0], "b": [1.0], "c": [1.0]}), "two fields"),
    ],
)
def test_targets_that_are_none(y, words):
    with pytest.raises(DataError, match=words):
        as_times(y)


def test_refusals(fitted, pathways):
    with pytest.raises(DataError, match="No two rows"):
        concordance([[1.0, 1.0], [1.0, 1.0]], np.array([0.0, 1.0]))
    with pytest.raises(DataError, match="same rows"):
        concordance([1.0, 2.0], np.zeros(3))
    with pytest.raises(DataError, match="finite numbers"):
        fitted.survival(pathways.X, ["soon"])
    with pytest.raises(ParameterError, match="sample_weight"):
        fitted.score(pathways.X, pathways.y, np.ones(150))
    with pytest.raises(ParameterError, match="max_iter"):
        mkl.CoxMKL(max_iter=0).fit(pathways.X, pathways.y)
    with pytest.raises(ParameterError, match="make_survival"):
        make_survival(10, n_pathways=2, n_informative=3)
