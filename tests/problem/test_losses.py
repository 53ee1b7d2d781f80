"""Losses against their definitions: conjugates by maximisation, intercepts by a fine search, multiples by a grid."""

import numpy as np
import pytest

from mklcore.errors import ParameterError
from mklcore.problem.losses import LOSSES, EpsilonInsensitive, NuOneClass, make_loss, total_loss
from tests.helpers.every import every

C = 0.7


def _labels(loss, rng, n=9):
    return np.where(rng.random(n) > 0.4, 1.0, -1.0) if "regression" not in loss.tasks else rng.standard_normal(n)


def _feasible(loss, y, rng):
    low, high = loss.box(y, C)
    low, high = np.maximum(low, -2.0), np.minimum(high, 2.0)
    return low + (high - low) * rng.uniform(0.05, 0.95, y.size)


@every("name", LOSSES)
def test_dual_is_minus_the_conjugate(name):
    loss, rng = make_loss(name), np.random.default_rng(1)
    y = _labels(loss, rng)
    a = _feasible(loss, y, rng)
    kinks = np.concatenate([y + shift for shift in (-1, -0.1, 0, 0.1, 1)])
    t = np.sort(np.concatenate([np.linspace(-60, 60, 240_001), kinks]))
    conjugate = [np.max(-ai / C * t - loss.value(t, np.full_like(t, yi))) for ai, yi in zip(a, y, strict=True)]
    assert loss.dual(a, y, C) == pytest.approx(-C * np.sum(conjugate), rel=1e-6)


@every("name", [name for name in LOSSES if name != "squared"])
def test_dual_outside_the_box_is_minus_infinity(name):
    loss, rng = make_loss(name), np.random.default_rng(2)
    y = _labels(loss, rng)
    low, high = loss.box(y, C)
    a = np.where(np.isfinite(high), high, low)
    a[0] += 0.1 if np.isfinite(high[0]) else -0.1
    assert loss.dual(a, y, C) == -np.inf


@every("seed", range(5))
@every("name", [name for name in LOSSES if name != "one_class"])
def test_best_intercept_minimises(name, seed):
    loss, rng = make_loss(name), np.random.default_rng(seed)
    y = _labels(loss, rng, n=20 + seed)
    f = 2 * rng.standard_normal(y.size)
    b = loss.best_intercept(f, y)
    around = b + np.concatenate([np.linspace(-4, 4, 801), 1e-4 * np.linspace(-1, 1, 11)])
    cost = 1.0 / (0.5 * y.size)  # the C at which the nu form is stated; the others do not depend on it
    best = min(total_loss(loss, f, c, y, cost) for c in around)
    assert total_loss(loss, f, b, y, cost) <= best + 1e-9


def test_hinge_intercept_is_the_midpoint_of_its_interval():
    # f = 0, one label of each sign: every b in [-1, 1] has the same loss.
    assert make_loss("hinge").best_intercept(np.zeros(2), np.array([1.0, -1.0])) == 0.0


@every("f, y, middle", [
    ([5.0, -5.0], [1.0, -1.0], 0.0),  # one label of each sign: the interval starts at the first end
    ([5.0, -3.0, -9.0], [1.0, -1.0, -1.0], -1.0),
    ([5.0, 5.0, 7.0, -3.0, -3.0], [1.0, 1.0, 1.0, -1.0, -1.0], -1.0),  # both ends twice
    ([5.0, 7.0], [1.0, 1.0], -4.0),  # an interval without end: its end
])  # fmt: skip
def test_squared_hinge_intercept_is_the_midpoint_and_labels_that_change_places_turn_it_round(f, y, middle):
    loss, f, y = make_loss("squared_hinge"), np.array(f), np.array(y)
    assert loss.best_intercept(f, y) == middle
    assert loss.best_intercept(-f, -y) == -middle


@every("name", LOSSES)
def test_the_best_multiple_is_the_best_of_a_grid(name):
    loss, rng = make_loss(name), np.random.default_rng(3)
    y = _labels(loss, rng)
    a = _feasible(loss, y, rng) * 0.5
    price = 0.3
    s = loss.best_multiple(a, y, C, price)
    reached = loss.dual(s * a, y, C) - s * s * price
    least = -6 if name in ("squared", "huber", "pinball") else 0
    grid = [loss.dual(t * a, y, C) - t * t * price for t in np.linspace(least, 6, 12001)]
    assert reached >= loss.dual(a, y, C) - price - 1e-12
    if s != 1.0:  # where the loss has no closed form, or no multiple is free
        assert reached == pytest.approx(max(grid), abs=1e-3)


@every("name", ["squared", "logistic", "huber", "squared_hinge"])
def test_curvature_by_differences(name):
    loss, rng = make_loss(name), np.random.default_rng(4)
    y = _labels(loss, rng)
    a, h = _feasible(loss, y, rng), 1e-4
    for i in range(3):
        e = np.eye(y.size)[i] * h
        second = -(loss.dual(a + e, y, C) - 2 * loss.dual(a, y, C) + loss.dual(a - e, y, C)) / h**2
        assert loss.curvature(a, y, C)[i] == pytest.approx(second, rel=1e-4)


def test_refusals():
    with pytest.raises(ParameterError, match="no loss called 'cauchy'"):
        make_loss("cauchy")
    with pytest.raises(ParameterError, match="half-width of the tube"):
        EpsilonInsensitive(-0.1)
    with pytest.raises(ParameterError, match="share of points left outside"):
        NuOneClass(1.5)
