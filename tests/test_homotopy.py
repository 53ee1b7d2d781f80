"""The optimum at p = 1 followed along a path, against fits of their own and certificates from scratch."""

from __future__ import annotations

import numpy as np
import pytest

import mklcore as mkl
from mklcore.losses import make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import certificate, fit_weighted, homotopy_steps
from mklcore.solvers.problem import WarmStart
from tests.every import every

GRID = np.geomspace(0.01, 30.0, 14)


def problem(seed=0, n=60, copies=False):
    """Radial and linear kernels on labels of two columns; with ``copies``, a kernel and some rows are there twice."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    if copies:
        X[n // 2 : n // 2 + 8] = X[:8]
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.normal(size=n) > 0.8, 1.0, -1.0)
    kernels = mkl.KernelDictionary.rbf_grid([0.3, 1.0, 3.0]) + mkl.KernelDictionary.per_feature(mkl.Linear(), 6)
    K = kernels.grams(X).values
    return (np.ascontiguousarray(np.concatenate([K, K[:1]])) if copies else K), y


def along(K, y, grid, tol=1e-3, intercept=True):
    """One fit per C, each from the one before."""
    fits, warm = [], None
    for C in grid:
        fits.append(fit_weighted(K, y, C, make_loss("hinge"), LpNorm(1.0), intercept, tol=tol, warm=warm))
        warm = WarmStart(fits[-1].weights, fits[-1].dual_coef, C, fits[-1].carry)
    return fits


def proved(K, y, C, fit, intercept=True):
    """The relative gap of published parts from scratch."""
    primal, dual = certificate(
        K, y, fit.weights, fit.dual_coef, fit.intercept, "hinge", C, LpNorm(1.0), fit.dual_point, intercept
    )
    assert primal == pytest.approx(fit.objective, rel=1e-9)
    assert dual == pytest.approx(fit.dual_objective, rel=1e-9)
    return (primal - dual) / primal


@every("intercept", [True, False])
@every("down", [False, True])
def test_a_path_is_followed_to_the_optima_of_its_points(intercept, down):
    (K, y), grid = problem(), GRID[::-1] if down else GRID
    fits = along(K, y, grid, intercept=intercept)
    assert all("followed" in fit.solver or fit.solves == 0 for fit in fits[2:])
    assert sum("followed" in fit.solver for fit in fits) > len(grid) / 2
    for C, fit in zip(grid, fits, strict=True):
        assert fit.status.ok
        assert proved(K, y, C, fit, intercept) < 1e-3
        if "followed" in fit.solver:
            alone = fit_weighted(K, y, C, make_loss("hinge"), LpNorm(1.0), intercept, tol=1e-7)
            assert fit.objective <= alone.objective * (1.0 + 1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_copies_of_kernels_and_rows_do_not_lead_astray(seed):
    K, y = problem(seed, copies=True)
    for C, fit in zip(GRID, along(K, y, GRID), strict=True):
        assert fit.status.ok
        assert proved(K, y, C, fit) < 1e-3


def few_distinct(seed):
    """Twenty-four rows, copies of six, and a rare class that has no row of its own."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4, 6), rng.normal(size=6)])[rng.integers(0, 6, 24)]
    y = np.where(rng.random(24) < 0.15, 1.0, -1.0)
    specs = (mkl.Linear(), mkl.RBF(1.0, relative=True))
    kernels = mkl.KernelDictionary.rbf_grid([0.5, 2.0]) + mkl.KernelDictionary.per_feature(specs, 2)
    return kernels.grams(X).values, y


@pytest.mark.parametrize("seed", [9, 16, 18])
def test_without_a_form_to_measure_by_the_way_is_lost_and_nothing_is_divided_by_zero(seed):
    (K, y), grid = few_distinct(seed), np.geomspace(1e-2, 1e3, 13)
    for C, fit in zip(grid, along(K, y, grid), strict=True):
        assert fit.status.ok
        assert proved(K, y, C, fit) < 1e-3


@pytest.mark.parametrize("seed", [0, 10, 48])
def test_duals_of_the_path_inside_sum_to_their_total_where_hardly_a_slope_pays(seed):
    (K, y), grid = few_distinct(seed), np.geomspace(1e-2, 1e3, 13)
    for C, fit in zip(grid, along(K, y, grid), strict=True):
        assert fit.status.ok
        assert abs(fit.dual_point.sum()) <= 1e-12 * np.abs(fit.dual_point).sum()
        assert proved(K, y, C, fit) < 1e-3


@pytest.mark.parametrize(("ending", "tries"), [(homotopy_steps.LOST, 2 * 6), (homotopy_steps.DEAR, 1)])
def test_where_the_way_is_lost_or_dear_another_method_answers(monkeypatch, ending, tries):
    K, y = problem()
    calls = []
    monkeypatch.setattr(homotopy_steps, "follow", lambda *given: calls.append(given) or (ending, 1, 1.0))
    fits = along(K, y, [0.5, 0.7, 1.0])
    from_another_C = [given for given in calls if given[7][homotopy_steps.LAM0] != given[7][homotopy_steps.LAM1]]
    assert len(from_another_C) == tries  # what was dear once is not tried again
    for C, fit in zip([0.5, 0.7, 1.0], fits, strict=True):
        assert "followed" not in fit.solver
        assert proved(K, y, C, fit) < 1e-3
