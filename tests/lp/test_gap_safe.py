"""Screening at p = 1: no kernel of the optimum is ever ruled out, and off and on give the same
answer.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.random import default_rng

from mklcore import LOSSES, KernelDictionary, Linear, LpMKLClassifier, LpNorm, fit_path
from mklcore.kernels.grams import Rows
from mklcore.kernels.operators import Dense
from mklcore.lp.live import MOST_MB, LiveKernels, norms_of, radius_of, without_weight
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.problem import Problem, WarmStart
from tests.helpers.every import every
from tests.helpers.proofs import assert_proved

CURVED = [name for name, kind in LOSSES.items() if kind.least_curvature > 0]
N = 40


def problem(seed, M=14):
    """Kernels of which two matter, and labels."""
    rng = default_rng(seed)
    X = rng.standard_normal((N, M))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(N) > 0, 1.0, -1.0)
    K = np.array(
        [
            np.exp(-((x[:, None] - x[None]) ** 2)) if m % 2 else np.outer(x, x)
            for m, x in enumerate(X.T)
        ]
    )
    return K, y, rng


def along(K, y, loss, values, screen, intercept=True, tol=1e-5):
    fits = []
    warm = None
    for C in values:
        fit = fit_weighted(K, y, C, loss, LpNorm(1.0), intercept, tol=tol, warm=warm, screen=screen)
        fits.append(fit)
        warm = WarmStart(fit.weights, fit.dual_coef, fit.carry)
    return fits


@every("intercept", [True, False])
@every("loss", CURVED)
@every("seed", range(3))
def test_no_kernel_of_the_optimum_is_ruled_out_from_any_dual(loss, intercept, seed):
    K, y, rng = problem(seed)
    loss = make_loss(loss)
    penalty = LpNorm(1.0)
    norms = norms_of(Dense(K), intercept)
    out = 0
    for C in (0.01, 0.1, 1.0, 10.0):
        task = Problem(y, C, loss, intercept, K, penalty)
        best = fit_weighted(K, y, C, loss, penalty, intercept, tol=1e-9)
        used = best.weights > 1e-4 * best.weights.max()
        for size in (0.0, 1e-3, 1e-2, 0.1, 0.5, 1.0):
            noise = size * np.abs(best.dual_coef).max() * rng.standard_normal(N)
            a = task.feasible(best.dual_coef + noise)
            Q = task.K.quad(a)
            radius = radius_of(
                best.objective - loss.dual(a, y, C) + penalty.conjugate(Q), best.objective, loss, C
            )
            assert np.linalg.norm(best.dual_point - a) <= radius * (
                1 + 1e-6
            ) + 1e-4 * np.linalg.norm(a)
            gone = without_weight(np.sqrt(Q), norms, radius)
            assert not np.any(gone & used)
            out += int(gone.sum())
    assert out > 0


@every("intercept", [True, False])
@every("loss", CURVED)
def test_off_and_on_give_the_same_path_and_its_certificates(loss, intercept):
    (K, y, _), loss, values = problem(5, M=20), make_loss(loss), np.geomspace(1e-3, 10.0, 12)
    off, on = (along(K, y, loss, values, screen, intercept) for screen in (False, True))
    for C, one, other in zip(values, off, on, strict=True):
        assert other.status.ok
        assert other.objective == pytest.approx(one.objective, rel=2e-5)
        np.testing.assert_allclose(other.weights, one.weights, atol=0.05)
        assert_proved(other, K, y, loss, C, LpNorm(1.0), intercept, rel=1e-8)
        assert one.screened is None
    counts = [(fit.screened, np.count_nonzero(fit.weights)) for fit in on[1:]]
    assert max(count.ruled_out for count, _ in counts) > 5
    assert max(count.unread for count, _ in counts) > 5
    assert all(0 <= count.unread <= 20 - used for count, used in counts)


def test_a_piecewise_linear_loss_has_no_sphere():
    loss = make_loss("hinge")
    assert radius_of(0.1, 1.0, loss, 1.0) == np.inf
    assert not without_weight(np.arange(3.0), np.ones(3), np.inf).any()
    K, y, _ = problem(1)
    assert all(fit.screened is None for fit in along(K, y, loss, (0.1, 1.0), True))


@every("loss", ["squared", "hinge"])
def test_kernels_that_are_not_stored_are_read_as_a_path_needs_them(loss):
    rng = default_rng(0)
    X = rng.standard_normal((60, 300))
    y = np.where(X[:, 0] - X[:, 1] > 0, 1.0, -1.0)
    rows = Rows.build(KernelDictionary.per_feature(Linear(), 300), X)
    loss = make_loss(loss)
    values = (0.02, 0.03, 0.06)
    off, on = (along(rows, y, loss, values, screen, tol=1e-4) for screen in (False, True))
    for one, other in zip(off, on, strict=True):
        assert other.status.ok
        assert other.objective == pytest.approx(one.objective, rel=2e-4)
    assert max(fit.screened.unread for fit in on[1:] if fit.screened is not None) > 0


def test_a_path_says_how_many_kernels_were_screened():
    K, y, _ = problem(5, M=20)
    model = LpMKLClassifier(p=1.0, loss="logistic", kernels="precomputed")
    path = fit_path(model, K, y, "C", [0.01, 0.012, 0.1])
    assert path.fits[0].screened is None
    assert path.fits[1].screened.ruled_out > 5


def test_the_grams_of_live_kernels_take_bounded_memory_whatever_the_rows():
    live = object.__new__(LiveKernels)
    for n in (200, 2_000, 10_000):
        live.problem = SimpleNamespace(y=np.zeros(n))
        assert live._room >= 1
        assert live._room * n**2 * 8e-6 <= MOST_MB


@every("tol", [1e-2, 3e-2])
@every("seed", [2, 3])
def test_live_kernels_that_make_room_for_others_do_not_go_round_in_circles(tol, seed, monkeypatch):
    for name, value in {"ROOM_MB": 1e-3, "FEWEST": 20, "FIRST": 20}.items():
        monkeypatch.setattr(f"mklcore.lp.live.{name}", value)
    rng = default_rng(seed)
    X = rng.standard_normal((N, 400))
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    X[:, :20] += 0.35 * y[:, None]
    kernels = KernelDictionary.per_feature(Linear(), 400)
    model = LpMKLClassifier(kernels=kernels, p=1.0, tol=tol, max_iter=30).fit(X, y)
    assert model.status_.ok
