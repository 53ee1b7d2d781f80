"""What holds for every lp-norm problem, tried on problems that hypothesis draws: certificates,
derivatives, reductions.
"""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mklcore import LpNorm, certificate
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from tests.helpers.proofs import assert_proved

LOSSES = (
    "hinge", "squared", "epsilon_insensitive", "logistic", "one_class", "squared_hinge", "huber", "pinball",
)  # fmt: skip
often = settings(max_examples=40, deadline=None, derandomize=True)
seldom = settings(max_examples=15, deadline=None, derandomize=True)

seeds = st.integers(0, 2**31 - 1)
losses = st.sampled_from(LOSSES)
orders = st.one_of(st.just(1.0), st.floats(1.01, 12.0), st.just(np.inf))
costs = st.floats(-2.0, 2.0).map(lambda e: 10.0**e)


class Drawn(NamedTuple):
    K: np.ndarray
    y: np.ndarray
    intercept: bool


def draw(seed, loss, n=24, M=4):
    """Kernels of unit mean diagonal (Gaussian of several widths, and one of low rank) and a target
    for the loss.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(-1)
    K = np.stack(
        [np.exp(-squared / width) for width in np.geomspace(0.5, 8.0, M - 1)] + [X @ X.T / 3]
    )
    real = X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.standard_normal(n)
    labels = np.where(real > np.median(real), 1.0, -1.0)
    y = {"hinge": labels, "logistic": labels, "squared_hinge": labels, "one_class": np.ones(n)}.get(
        loss, real
    )
    return Drawn(K, y, loss != "one_class")


def feasible(rng, loss, y, C, balanced):
    """A dual inside its box, summing to zero where there is an intercept."""
    low, high = make_loss(loss).box(y, C)
    low = np.maximum(low, -3.0 * C)
    high = np.minimum(high, 3.0 * C)
    a = low + rng.random(y.size) * (high - low)
    if not balanced:
        return a
    up = a[a > 0].sum()
    down = -a[a < 0].sum()
    return np.where(a > 0, a * min(1.0, down / up), a * min(1.0, up / down))


def point_of(seed, loss, p, C):
    """A problem, and any weights, dual and intercept for it."""
    drawn = draw(seed, loss)
    rng = np.random.default_rng(seed + 1)
    penalty = LpNorm(p)
    a = feasible(rng, loss, drawn.y, C, drawn.intercept)
    weights = penalty.scale(rng.random(len(drawn.K)) ** 3)
    b = float(rng.standard_normal()) if drawn.intercept else 0.0
    return drawn, penalty, certificate(drawn.K, drawn.y, weights, a, b, loss, C, penalty)


@often
@given(seed=seeds, loss=losses, p=orders, C=costs)
def test_no_point_has_a_negative_gap(seed, loss, p, C):
    primal, dual = point_of(seed, loss, p, C)[2]
    assert np.isfinite(dual)
    assert primal - dual >= -1e-9 * abs(primal)


@often
@given(seed=seeds, loss=losses, p=orders, C=costs)
def test_a_fit_lies_between_its_own_bounds_and_those_of_any_other_point(seed, loss, p, C):
    drawn, penalty, (primal, dual) = point_of(seed, loss, p, C)
    fit = fit_weighted(drawn.K, drawn.y, C, make_loss(loss), penalty, drawn.intercept, tol=1e-3)
    assert fit.status.ok
    slack = 1e-9 * abs(fit.objective)
    assert dual <= fit.objective + slack
    assert primal >= fit.dual_objective - slack
    asked = loss, C, penalty, drawn.intercept
    assert_proved(fit, drawn.K, drawn.y, *asked, abs=1e-6 * abs(fit.objective))
    assert np.linalg.norm(fit.weights, p) == pytest.approx(1.0)
    assert np.all(fit.weights >= 0)


@seldom
@given(seed=seeds, loss=losses, p=st.one_of(st.just(1.0), st.floats(1.05, 8.0)), C=costs)
def test_two_copies_act_as_one_kernel(seed, loss, p, C):
    drawn = draw(seed, loss)
    single = drawn.K.copy()
    single[1] *= 2 ** (1 - 1 / p)
    twice, once = (
        fit_weighted(K, drawn.y, C, make_loss(loss), LpNorm(p), drawn.intercept, tol=1e-6)
        for K in (np.concatenate([drawn.K, drawn.K[1:2]]), single)
    )
    assert twice.objective == pytest.approx(once.objective, rel=3e-6)
