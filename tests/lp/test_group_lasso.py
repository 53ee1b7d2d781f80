"""The squared loss at p = 1 on copied columns, solved on the columns themselves."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

import mklcore as mkl
from mklcore.kernels.features import column_features
from mklcore.lp.group_lasso import norms_of, solve_columns, violation
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm
from tests.helpers.every import every

RNG = np.random.default_rng(0)
N = 90
Z = RNG.standard_normal((N, 60)) @ (np.eye(60) + 0.1 * RNG.standard_normal((60, 60)))
Y = Z[:, 3] - 2.0 * Z[:, 17] + 0.5 * Z[:, 18] * Z[:, 19] + 0.3 * RNG.standard_normal(N)
SINGLES = [[j] for j in range(60)]
TRIPLES = [[j, j + 20, j + 40] for j in range(20)]


def columns_of(groups, X=Z):
    specs = mkl.KernelDictionary.per_group(mkl.Linear(), groups).specs
    return column_features(mkl.KernelDictionary(specs), X, normalise=None)


@every("C", [0.01, 1.0, 100.0])
def test_the_predictions_are_those_of_a_lasso_of_the_same_strength(C):
    columns = columns_of(SINGLES)
    fit = fit_weighted(columns, Y, C, make_loss("squared"), LpNorm(1.0), True, tol=1e-9)
    # the slope of 1/2 (sum of norms)^2 / C
    strength = float(np.sum(fit.weights * np.sqrt(columns.quad(fit.dual_coef)))) / C
    table = columns.table.astype(np.float64)
    lasso = Lasso(alpha=strength / N, tol=1e-10, max_iter=100_000).fit(table, Y)
    fitted = columns.decision(fit.weights, fit.dual_coef) + fit.intercept
    assert fitted == pytest.approx(lasso.predict(table), abs=1e-6 * np.abs(Y).max())


@every("groups", [SINGLES[:20], TRIPLES[:12]])
@every("intercept, uneven", [(True, False), (False, True)])
def test_the_optimum_is_that_of_the_stored_kernels(groups, intercept, uneven):
    columns = columns_of(groups)
    costs = RNG.uniform(0.1, 2.0, N) if uneven else 0.5
    problem = (Y, costs, make_loss("squared"), LpNorm(1.0), intercept)
    fit = fit_weighted(columns, *problem, tol=1e-9)
    grams = np.array([columns.gram(m) for m in range(len(groups))])
    stored = fit_weighted(grams, *problem, tol=1e-9)
    assert fit.status.ok
    assert fit.objective == pytest.approx(stored.objective, rel=1e-7)
    assert fit.weights == pytest.approx(stored.weights, abs=1e-5)
    assert fit.n_iter <= 2, "the weights of the columns are the optimum already"


def test_newton_brings_the_digits_where_columns_are_nearly_copies():
    base = RNG.standard_normal((N, 12))
    X = np.hstack([base, base + 1e-3 * RNG.standard_normal((N, 12)), base])
    S = X.T @ X
    c = X.T @ (X[:, 0] - X[:, 13] + X[:, 5] + 0.01 * RNG.standard_normal(N))
    for groups in (np.arange(37), np.arange(0, 37, 3)):
        w = solve_columns(S, c, groups, 100.0, np.zeros(36), 1e-8)
        assert violation(S, c, groups, 100.0, w) <= 1e-8
        assert norms_of(w, groups).max() > 0.0


def test_a_constant_target_leaves_no_group_with_a_say():
    columns = columns_of(SINGLES)
    fit = fit_weighted(columns, np.full(N, 3.0), 1.0, make_loss("squared"), LpNorm(1.0), True)
    assert fit.intercept == pytest.approx(3.0)
    assert columns.decision(fit.weights, fit.dual_coef) == pytest.approx(0.0, abs=1e-6)
