"""The squared loss at p = 1 on copied columns, solved on the columns themselves."""

import numpy as np
import pytest

from mklcore import KernelDictionary, Linear, LpNorm
from mklcore.kernels.features import column_features
from mklcore.lp.group_lasso import norms_of, solve_columns, violation
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from tests.helpers.every import every

RNG = np.random.default_rng(0)
N = 90
Z = RNG.standard_normal((N, 60)) @ (np.eye(60) + 0.1 * RNG.standard_normal((60, 60)))
Y = Z[:, 3] - 2.0 * Z[:, 17] + 0.5 * Z[:, 18] * Z[:, 19] + 0.3 * RNG.standard_normal(N)
SINGLES = [[j] for j in range(60)]
TRIPLES = [[j, j + 20, j + 40] for j in range(20)]


def columns_of(groups, X=Z):
    specs = KernelDictionary.per_group(Linear(), groups).specs
    return column_features(KernelDictionary(specs), X, normalise=None)


@every("groups", [SINGLES[:20], TRIPLES[:12]])
@every("intercept, uneven", [(True, False), (False, True)])
def test_groups_of_columns_are_solved_to_the_optimum(groups, intercept, uneven):
    costs = RNG.uniform(0.1, 2.0, N) if uneven else 0.5
    problem = Y, costs, make_loss("squared"), LpNorm(1.0), intercept
    fit = fit_weighted(columns_of(groups), *problem, tol=1e-9)
    assert fit.status.ok
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
