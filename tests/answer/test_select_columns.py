"""Columns distinguished from noise: knockoffs keep the law of the columns, thresholds and bounds by hand, refusals."""

import joblib
import numpy as np
import pytest
from scipy.optimize import linprog

import mklcore as mkl
from mklcore.answer.columns import (
    PAIRS,
    SHARE,
    false_bound,
    gaussian_knockoffs,
    knockoff_copies,
    knockoff_threshold,
    widest,
)
from mklcore.errors import DataError, ParameterError


def test_knockoffs_have_the_covariance_that_their_definition_asks_for():
    R = 0.6 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    Z = np.random.default_rng(0).multivariate_normal(np.zeros(5), R, 60_000)
    copies = gaussian_knockoffs(Z, np.random.default_rng(1))
    joint = np.corrcoef(Z, copies, rowvar=False)
    s = widest(R)
    assert joint[5:, 5:] == pytest.approx(R, abs=0.02)
    assert joint[:5, 5:] == pytest.approx(R - np.diag(s), abs=0.02)


def test_the_widest_knockoffs_beat_those_of_equal_correlation_and_are_feasible():
    R = 0.7 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    s, least = widest(R), np.linalg.eigvalsh(R)[0]
    assert np.linalg.eigvalsh(2.0 * R - np.diag(s))[0] > -1e-9
    assert s.max() <= 1.0
    assert s.sum() > 8 * min(1.0, 2.0 * least) + 0.1
    assert widest(np.eye(4)) == pytest.approx(1.0, abs=1e-6)


def test_knockoffs_of_a_category_are_values_of_it():
    random = np.random.default_rng(0)
    kind, x = random.integers(0, 3, 200), random.integers(0, 4, 200).astype(float)
    X = np.column_stack([np.eye(3)[kind], x, np.full(200, 7.0)])
    names = ("kind=a", "kind=b", "kind=c", "count", "same")
    data = mkl.Dataset(X, x + random.standard_normal(200), names, "y", "regression",
                       columns=(("kind", (0, 1, 2)), ("count", (3,)), ("same", (4,))))  # fmt: skip
    found = knockoff_copies(data, 0)
    assert found.names == ("kind", "count")
    assert np.array_equal(found.copies[:, :3].sum(axis=1), np.ones(200))
    assert found.copies[:, :3].mean(axis=0) == pytest.approx(found.own[:, :3].mean(axis=0), abs=0.12)
    assert set(found.copies[:, 3]) <= set(found.own[:, 3])


@pytest.mark.parametrize(
    ("statistics", "fdr", "threshold"),
    [
        ([5, 4, 3, 2, 1, -1], 0.4, 1.0),  # (1 + 1) / 5
        ([5, 4, 3, 2, 1, -1], 0.25, 2.0),  # (1 + 0) / 4
        ([5, 4, 3, -3, 2], 0.4, np.inf),
        ([3, 3, 3, 0, 0], 1 / 3, 3.0),
        ([3, 2], 0.1, np.inf),
    ],
)
def test_the_threshold_by_hand(statistics, fdr, threshold):
    assert knockoff_threshold(np.array(statistics, dtype=float), fdr) == threshold


def table(n=300, p=14, seed=0, task="regression"):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p))
    y = X[:, 0] + X[:, 1] ** 2 + np.abs(X[:, 2]) + X[:, 3] + X[:, 4] + np.sin(2 * X[:, 5])
    y = y + 0.3 * random.standard_normal(n)
    y = y if task == "regression" else np.where(y > np.median(y), "high", "low")
    return mkl.Dataset(X, y, (), "y", task)


def test_curved_and_straight_columns_are_named():
    seen = []
    found = mkl.select_columns(table(), fdr=0.25, callback=lambda done, total: seen.append((done, total)))
    assert {"x1", "x2", "x4", "x5"} <= set(found.names)
    assert len(set(found.names) - {f"x{j}" for j in range(1, 7)}) <= 2
    assert all(found.statistics[name] >= found.threshold for name in found.names)
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1]
    assert "25%" in found.notes[0]


def test_too_few_columns_for_the_rate_is_said():
    data = table(n=100).select(range(5))
    found = mkl.select_columns(data, fdr=0.1)
    assert (found.names, found.threshold) == ((), np.inf)
    assert "at least 10 columns" in found.notes[0]


def test_stability_names_columns_and_its_bound():
    found = mkl.select_columns(table(n=200, p=8, task="binary"), method="stability", max_false=1.0)
    assert set(found.names) <= {f"x{j}" for j in range(1, 7)}
    assert {"x1", "x4"} & set(found.names)
    assert found.threshold == SHARE
    assert all(0.0 <= share <= 1.0 for share in found.statistics.values())
    assert false_bound(3, 8) == pytest.approx(4 * (1 - 0.9 + 1 / (2 * PAIRS)) / (1 + 1 / PAIRS) * 9 / 8)


def test_few_columns_are_chosen_where_the_bound_is_proved():
    """Theorem 2 of Shah and Samworth asks for q / p <= 1 / sqrt(3), whatever number of false columns is allowed."""
    found = mkl.select_columns(table(n=60, p=6), method="stability", max_false=50.0)
    assert "among the 3 best" in found.notes[0]


@pytest.mark.parametrize("theta", [0.1, 0.3, 0.57])
def test_the_bound_is_the_largest_tail_of_a_unimodal_share(theta):
    """A column of noise is in both halves of a pair with a share X of mean theta^2 at most, and a selection share of
    tau needs X >= 2 tau - 1: the largest such tail over unimodal laws of X on {0, 1/B, ..., 1}, by linear programs.
    """
    values = np.arange(PAIRS + 1) / PAIRS
    tail = (values >= 2 * SHARE - 1 - 1e-12).astype(float)
    largest = 0.0
    for mode in range(PAIRS + 1):
        steps = np.diff(np.eye(PAIRS + 1), axis=0)  # p_{k+1} - p_k: rises to the mode, falls beyond
        steps[:mode] *= -1.0
        law = linprog(
            -tail, A_ub=np.vstack([values, steps]), b_ub=np.append(theta**2, np.zeros(PAIRS)),
            A_eq=np.ones((1, PAIRS + 1)), b_eq=[1.0],
        )  # fmt: skip
        largest = max(largest, -law.fun if law.success else 0.0)
    assert largest == pytest.approx(false_bound(theta, 1), rel=1e-6)  # theta^2 = (q / p)^2 per column


def test_a_callback_that_raises_cancels():
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mkl.select_columns(table(), callback=stop)


@pytest.mark.parametrize("method", ["knockoffs", "stability"])
def test_fits_beside_each_other_give_the_same(method):
    data = table(n=120, p=6, task="binary")
    with joblib.parallel_config(backend="threading"):
        beside = mkl.select_columns(data, method, fdr=0.25, n_jobs=2)
    assert beside == mkl.select_columns(data, method, fdr=0.25)


def test_refusals_say_what_to_do():
    data = table(n=40)
    for wrong in ({"method": "lasso"}, {"fdr": 1.5}, {"method": "stability", "max_false": 0}, {"fdr": "low"}):
        with pytest.raises(ParameterError):
            mkl.select_columns(data, **wrong)
    with pytest.raises(ParameterError, match="fdr is the share of false columns among those named, below 1"):
        mkl.select_columns(data, fdr=1.5)
    with pytest.raises(DataError, match="20 are needed"):
        mkl.select_columns(data.take(range(10)))
    with pytest.raises(DataError, match="no target"):
        mkl.select_columns(mkl.load_sample("ring"))
    nothing = mkl.select_columns(data, "stability", max_false=1e-6)
    assert nothing.names == ()
    assert "larger max_false" in nothing.notes[0]
