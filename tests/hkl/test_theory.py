"""The conditions for finding the right hull, and the models hierarchical kernel learning is
compared with.
"""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from mklcore.errors import NotConvergedWarning, suppress_convergence_warnings
from mklcore.estimators.hkl import HKLRegressor
from mklcore.gallery.theory.hkl import hkl_consistency, norm_slope
from mklcore.hkl import baselines
from mklcore.hkl.baselines import FullKernel, hkl_flat_mkl, hkl_greedy, hkl_l2, hkl_lasso_alpha
from mklcore.hkl.bases import ANOVABasis, GaussianBasis, PolynomialBasis
from mklcore.hkl.design import Design
from mklcore.hkl.graph import Ancestry, Grid, Hull, NodeWeights, touched
from mklcore.hkl.inner import HullTask
from mklcore.problem.losses import make_loss
from mklcore.problem.penalties import LpNorm
from mklcore.problem.problem import certificate
from tests.helpers.every import every
from tests.helpers.refusals import parameter_error, refused
from tests.oracles.hkl import brute_descendant_sums


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    return X, X[:, 0] - X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(60)


HULL = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
BETA = np.array([0.0, 1.0, -0.5, 0.7])


def omega(nodes, beta, weights):
    d = weights.of(nodes)
    below = [
        [k for k, w in enumerate(HULL) if all(a <= b for a, b in zip(v, w, strict=True))]
        for v in HULL
    ]
    return sum(d[i] * np.sqrt(np.sum(beta[rows] ** 2)) for i, rows in enumerate(below))


def test_the_slope_of_the_norm_sums_over_all_ancestors():
    nodes = [touched(v) for v in HULL]
    weights = NodeWeights(2.0, 0.3)
    step = 1e-6
    beta = BETA + 0.1
    ancestry = Ancestry(Grid(3, 2), nodes)
    d = weights.of(nodes)
    numeric = [
        (omega(nodes, beta + step * e, weights) - omega(nodes, beta - step * e, weights))
        / (2 * step)
        for e in np.eye(4)
    ]
    assert norm_slope(ancestry, beta, d) == pytest.approx(numeric, rel=1e-6)


def test_both_conditions_match_covariances_by_brute_force(table):
    design = Design(table[0], PolynomialBasis(2))
    weights = NodeWeights(2.0, 0.3)
    found = hkl_consistency(design, HULL, BETA, depth_weight=2.0, root_weight=0.3)
    nodes = [touched(v) for v in HULL]
    grid = [touched(v) for v in np.ndindex(3, 3, 3)]
    features = design.columns_of(grid) - design.columns_of(grid).mean(axis=0)
    inside = [grid.index(node) for node in nodes[1:]]  # the constant root has no covariance
    sigma = features.T @ features / 60
    slope = norm_slope(Ancestry(design.order, nodes), BETA, weights.of(nodes))
    s = np.linalg.solve(sigma[np.ix_(inside, inside)], slope[1:])
    sources = sorted(Hull(design.order, nodes).sources)
    d = weights.of(sources)
    single = (sigma[np.ix_([grid.index(t) for t in sources], inside)] @ s) ** 2 / d**2
    assert found.necessary == pytest.approx(single.max(), rel=1e-9)
    g = features[:, inside] @ s / 60
    assert found.sufficient == pytest.approx(
        brute_descendant_sums(design, sources, g, 2.0).max(), rel=1e-9
    )
    assert found.sufficient >= found.necessary
    assert found.necessary_at is not None
    assert touched(found.necessary_at) == sources[int(np.argmax(single))]


def test_independent_columns_are_recovered_and_a_near_copy_is_not(rng):
    X = rng.standard_normal((1500, 4))
    good = hkl_consistency(Design(X, PolynomialBasis(2)), [(0, 0, 0, 0), (1, 0, 0, 0)], [0.0, 1.0])
    assert good.sufficient < 1
    assert "The sufficient condition holds on these rows" in good.verdict
    X[:, 1] = X[:, 0] + 0.7 * X[:, 1]
    X[:, 2] = X[:, 0] + X[:, 1] + 0.1 * X[:, 2]
    hull = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0)]
    bad = hkl_consistency(Design(X, PolynomialBasis(1)), hull, [0.0, 1.0, 1.0], depth_weight=1.0)
    assert bad.necessary > 1
    assert bad.necessary_at == (0, 0, 1, 0)
    assert "x2 looks too much like the hull" in bad.verdict
    assert "A diagnostic, not a proof" in bad.verdict  # about a population, made from one sample


def test_an_estimate_can_be_asked(table):
    model = HKLRegressor(PolynomialBasis(2), lam=1e-2).fit(*table)
    found = hkl_consistency(model.design_, model.hull_, model.beta_)
    assert 0 <= found.necessary <= found.sufficient
    assert any(word in found.verdict for word in ("recovered", "Undecided"))
    whole = hkl_consistency(Design(table[0][:, :1], PolynomialBasis(1)), [(0,), (1,)], [0.0, 1.0])
    assert whole.necessary_at is None
    assert "whole grid" in whole.verdict


def test_what_the_conditions_cannot_judge_is_refused(table):
    X = table[0]
    basis = PolynomialBasis(2)
    for design, hull, beta, words in (
        (Design(X, ANOVABasis()), HULL, BETA, "features of finite dimension"),
        (Design(X, basis), HULL, BETA[:2], "One coefficient per node"),
        (Design(X, basis), HULL[:1] + HULL[3:], [0.0, 1.0], "are no hull"),
        (Design(X, basis), HULL, [0.0, 1.0, 0.0, 0.0], "needs a coefficient other than zero"),
        (Design(X, basis), HULL, [0.0, 1.0, np.nan, 1.0], "needs a coefficient other than zero"),
        (Design(X[:, [0, 0, 2]], basis), HULL, BETA, "collinear on these rows"),
    ):
        with parameter_error(words):
            hkl_consistency(design, hull, beta)


# Baselines


@every("basis", [PolynomialBasis(2), GaussianBasis(2)])
def test_l2_is_kernel_ridge_with_the_full_kernel(basis, table):
    (X, new), y = np.split(table[0], [40]), table[1][:40]
    design = Design(X, basis)
    K = design.values.full_gram(np.ones(design.q + 1))
    nodes = list(np.ndindex(*(design.q + 1,) * 3))

    def summed(dual, depth_weight=1.0):
        return sum(
            depth_weight ** (-2 * sum(v)) * design.cross(new).product(touched(v), dual)
            for v in nodes
        )

    model = hkl_l2(X, y, 0.01, basis, fit_intercept=False)
    assert model.dual == pytest.approx(
        KernelRidge(alpha=0.4, kernel="precomputed").fit(K, y).dual_coef_
    )
    f = K @ model.dual
    assert model.objective == pytest.approx(0.5 * np.mean((y - f) ** 2) + 0.005 * model.dual @ f)
    assert model.predict(new) == pytest.approx(summed(model.dual))
    scaled = hkl_l2(FullKernel(design, scaled=True), y, 0.01)
    same = hkl_l2(design, y, 0.01 * (np.trace(K) / 40 - K.mean()))
    assert scaled.intercept != 0
    assert scaled.predict(new) == pytest.approx(same.predict(new))
    deep = hkl_l2(FullKernel(design, 3.0), y, 0.01)
    assert deep.predict(new) == pytest.approx(summed(deep.dual, 3.0) + deep.intercept)


def test_lasso_alpha_is_sparse_in_rows_and_optimal(table):
    X, y = table
    model = hkl_lasso_alpha(X, y, 0.05, PolynomialBasis(2))
    K = Design(X, PolynomialBasis(2)).values.full_gram(np.ones(3))
    residual = y - K @ model.dual - model.intercept
    slope = K @ residual / 60
    used = model.dual != 0
    assert 0 < used.sum() < 60
    assert np.abs(slope).max() <= 0.05 * 1.01
    assert slope[used] == pytest.approx(0.05 * np.sign(model.dual[used]), rel=0.02)
    assert model.objective == pytest.approx(
        0.5 * np.mean(residual**2) + 0.05 * np.abs(model.dual).sum()
    )
    assert model.predict(X) == pytest.approx(K @ model.dual + model.intercept)


@pytest.mark.parametrize(("steps", "reported"), [(2, True), (2, False), (100_000, True)])
def test_lasso_alpha_that_stops_short_tells_its_gap(table, monkeypatch, recwarn, steps, reported):
    warnings.simplefilter("always")  # scikit-learn warns, too
    monkeypatch.setattr(baselines, "_LASSO_STEPS", steps)
    with nullcontext() if reported else suppress_convergence_warnings():
        for fit_intercept in (True, False):
            model = hkl_lasso_alpha(*table, 0.02, PolynomialBasis(2), fit_intercept=fit_intercept)
            assert model.converged == (steps > 2)
    ours = [str(w.message) for w in recwarn if w.category is NotConvergedWarning]
    assert len(ours) == (2 if reported and steps == 2 else 0)
    assert all("after 2 steps with a duality gap of" in words for words in ours)


@every("basis", [PolynomialBasis(2), ANOVABasis(0.3)])
def test_greedy_grows_a_hull_by_the_best_normalised_source(basis, table):
    X, y = table
    model = hkl_greedy(X, y, 1e-3, 6, basis)
    design = Design(X, basis)
    nodes = [touched(v) for v in model.order]
    assert len(nodes) == len(model.objectives) == 6
    assert np.all(np.diff(model.objectives) < 1e-12)
    gains = {}
    for node in Hull(design.order, nodes[:3]).sources:
        gram = design.gram(node)
        gains[node] = model.duals[2] @ gram @ model.duals[2] / (np.trace(gram) - gram.sum() / 60)
    assert nodes[0] == ()
    assert nodes[3] == max(gains, key=gains.__getitem__)
    f = sum(map(design.gram, nodes)) @ model.duals[5] + model.intercepts[5]
    assert model.predict(X) == pytest.approx(f)
    assert (y - f) / (60 * 1e-3) == pytest.approx(model.duals[5], abs=1e-6)


def test_flat_mkl_is_sparse_mkl_over_the_variables(table):
    X, y = table
    model = hkl_flat_mkl(X, y, 0.01, PolynomialBasis(2), tol=1e-6)
    design = Design(X, PolynomialBasis(2))
    K = np.stack([design.values.weighted_levels(i, np.array([0.0, 1.0, 1.0])) for i in range(3)])
    task = HullTask.at(0.01, y, make_loss("squared"), True)
    primal, dual = certificate(
        K, y, model.weights, model.dual, model.intercept, "squared", task.C, LpNorm(1.0)
    )
    assert 0.01 * primal == pytest.approx(model.objective, rel=1e-6)
    assert model.relative_gap <= 1e-5
    assert 0.01 * dual <= model.objective
    assert model.predict(X) == pytest.approx(
        np.tensordot(model.weights, K, 1) @ model.dual + model.intercept
    )


def test_bad_baselines_are_refused(table):
    X, y = table
    refused(
        (lambda: hkl_l2(X, y, 0.0), "lam must be a finite number above 0"),
        (lambda: FullKernel(Design(X), 0.0), "depth_weight must be a finite number above 0"),
        (
            lambda: hkl_l2(X, y[:-1], 0.1),
            r"One target per row is needed: 60 rows; got a target of shape \(59,\)",
        ),
        (
            lambda: hkl_l2(Design(X), y, 0.1, memory_mb=10),
            "A Design already has its basis and options; got memory_mb",
        ),
        (lambda: hkl_greedy(X, y, 0.1, 0), "n_kernels must be a whole number of 1 or more"),
        (lambda: hkl_greedy(X, y, 0.1, 3).predict(X, 7), "size must be from 1 to the 3 kernels"),
        (
            lambda: hkl_flat_mkl(X, y, 0.1, memory_mb=0.01),
            "3 kernels of 60 rows need 0 MB, more than memory_mb=0.01",
        ),
    )
