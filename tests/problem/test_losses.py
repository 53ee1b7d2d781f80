"""Losses against their definitions: conjugates by maximisation, intercepts by a fine search,
multiples by a grid.
"""

import numpy as np
import pytest
from sklearn.base import clone

import mklcore as mkl
from mklcore.problem.losses import LOSSES, Huber, Pinball, best_intercept, make_loss, total_loss
from tests.helpers.every import every
from tests.helpers.refusals import parameter_error

C = 0.7


def drawn(name, seed, n=9):
    """A loss, a target for it, and a dual inside its box."""
    loss = make_loss(name)
    rng = np.random.default_rng(seed)
    y = (
        np.where(rng.random(n) > 0.4, 1.0, -1.0)
        if "regression" not in loss.tasks
        else rng.standard_normal(n)
    )
    low, high = loss.box(y, C)
    low = np.maximum(low, -2.0)
    high = np.minimum(high, 2.0)
    return loss, y, low + (high - low) * rng.uniform(0.05, 0.95, n), rng


@every("name", LOSSES)
def test_dual_is_minus_the_conjugate_inside_the_box_and_minus_infinity_outside(name):
    loss, y, a, _ = drawn(name, 1)
    kinks = np.concatenate([y + shift for shift in (-1, -0.1, 0, 0.1, 1)])
    t = np.sort(np.concatenate([np.linspace(-60, 60, 240_001), kinks]))
    conjugate = [
        np.max(-ai / C * t - loss.value(t, np.full_like(t, yi)))
        for ai, yi in zip(a, y, strict=True)
    ]
    assert loss.dual(a, y, C) == pytest.approx(-C * np.sum(conjugate), rel=1e-6)
    low, high = loss.box(y, C)
    if name != "squared":
        a[0] = high[0] + 0.1 if np.isfinite(high[0]) else low[0] - 0.1
        assert loss.dual(a, y, C) == -np.inf


@every("weighted", [False, True])
@every("seed", range(5))
@every("name", [name for name in LOSSES if name != "one_class"])
def test_best_intercept_minimises(name, seed, weighted):
    loss, y, _, rng = drawn(name, seed, n=20 + seed)
    # of all costs, at which the nu form is stated
    f = 2 * rng.standard_normal(y.size)
    total = 2.0
    w = rng.uniform(0.0, 1.0, y.size) if weighted else np.ones(y.size)
    cost = w * total / w.sum() if weighted else total / y.size
    b = best_intercept(loss, f, y, cost)
    around = b + np.concatenate([np.linspace(-4, 4, 801), 1e-4 * np.linspace(-1, 1, 11)])
    assert (
        total_loss(loss, f, b, y, cost)
        <= min(total_loss(loss, f, c, y, cost) for c in around) + 1e-9
    )


@every("loss, f, y, middle", [
    ("hinge", [0.0, 0.0], [1.0, -1.0], 0.0),
    ("huber", [0.0, 0.0], [-5.0, 7.0], 1.0),  # far apart: both residuals are clipped
    # one label of each sign: the interval starts at the first end
    ("squared_hinge", [5.0, -5.0], [1.0, -1.0], 0.0),
    ("squared_hinge", [5.0, -3.0, -9.0], [1.0, -1.0, -1.0], -1.0),
    # both ends twice
    ("squared_hinge", [5.0, 5.0, 7.0, -3.0, -3.0], [1.0, 1.0, 1.0, -1.0, -1.0], -1.0),
    ("squared_hinge", [5.0, 7.0], [1.0, 1.0], -4.0),  # an interval without end: its end
])  # fmt: skip
def test_where_an_interval_is_best_its_midpoint_is_taken_whatever_the_sign_of_the_labels(
    loss, f, y, middle
):
    loss = make_loss(loss)
    f = np.array(f)
    y = np.array(y)
    assert loss.best_intercept(f, y) == middle
    assert loss.best_intercept(-f, -y) == -middle


@every("name", LOSSES)
def test_the_best_multiple_is_the_best_of_a_grid(name):
    loss, y, a, _ = drawn(name, 3)
    a = 0.5 * a
    norm = 0.3
    s = loss.best_multiple(a, y, C, norm)
    reached = loss.dual(s * a, y, C) - s * s * norm
    least = -6 if name in ("squared", "huber", "pinball") else 0
    grid = [loss.dual(t * a, y, C) - t * t * norm for t in np.linspace(least, 6, 12001)]
    assert reached >= loss.dual(a, y, C) - norm - 1e-12
    if s != 1.0:  # where the loss has no closed form, or no multiple is free
        assert reached == pytest.approx(max(grid), abs=1e-3)


@every("name", ["squared", "logistic", "huber", "squared_hinge"])
def test_curvature_by_differences(name):
    (loss, y, a, _), h = drawn(name, 4), 1e-4
    for e in h * np.eye(y.size)[:3]:
        second = -(loss.dual(a + e, y, C) - 2 * loss.dual(a, y, C) + loss.dual(a - e, y, C)) / h**2
        assert loss.curvature(a, y, C)[e > 0] == pytest.approx(second, rel=1e-4)


# Huber and pinball


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.standard_t(1.5, 40)


def test_huber_by_name_has_its_usual_delta(table):
    X, y = table
    named, model, small = (
        mkl.LpMKLRegressor(loss=loss).fit(X, y) for loss in ("huber", Huber(1.0), Huber(0.1))
    )
    assert small.objective_ < model.objective_ == named.objective_
    assert clone(model).loss == Huber(1.0)


@every("make, words", [
    (lambda X, y: make_loss("cauchy"), "no loss called 'cauchy'"),
    (lambda X, y: make_loss("epsilon_insensitive", epsilon=-0.1), "half-width of the tube"),
    (lambda X, y: make_loss("nu_one_class", nu=1.5), "share of points left outside"),
    (lambda X, y: Huber(0.0), "where the loss turns straight"),
    *((lambda X, y, wrong=wrong: Pinball(wrong), "between 0 and 1") for wrong in (0.0, 1.0, np.nan)),
    (lambda X, y: mkl.LpMKLClassifier(loss=Huber()).fit(X, y > 0), "one of hinge, logistic, squared, squared_hinge"),
    (lambda X, y: mkl.HKLRegressor(loss="huber").fit(X, y), "loss must be one of squared here"),
])  # fmt: skip
def test_what_is_no_loss_is_refused(table, make, words):
    with parameter_error(words):
        make(*table)
