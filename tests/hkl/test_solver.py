"""Hierarchical kernel learning: optima of an independent solver, factorised sums against brute
force, bounds that hold.
"""

import warnings
from itertools import combinations, product

import numpy as np
import pytest
from numpy.random import default_rng

from mklcore import (
    ANOVABasis,
    GaussianBasis,
    HKLClassifier,
    HKLRegressor,
    KernelPCABasis,
    NotConvergedWarning,
    PolynomialBasis,
    hkl_certificate,
)
from mklcore.hkl.bases import gaussian_series
from mklcore.hkl.design import Design
from mklcore.hkl.graph import Ancestry, Hull, NodeWeights, levels, parents, touched
from mklcore.hkl.inner import HullTask
from mklcore.hkl.search import Certifier, HullSearch, dual_norm, largest_lambda
from mklcore.problem.driver import Status, run
from mklcore.problem.losses import make_loss
from tests.helpers.every import every, share
from tests.helpers.models import decided
from tests.helpers.refusals import kernel_error, refused
from tests.oracles.hkl import brute_descendant_sums, grid, hull_optima

OPTIMA = hull_optima()
BASES = [PolynomialBasis(2), GaussianBasis(2), ANOVABasis(0.5), KernelPCABasis(2)]
by_name = every("basis", BASES)


@pytest.fixture(scope="module")
def rows():
    return default_rng(0).standard_normal((31, 3))


def balanced(n, seed=1):
    a = default_rng(seed).standard_normal(n)
    return a - a.mean()


# Against the oracle


@every(
    "search, optimum",
    [("certified", one) for one in OPTIMA] + [("printed", one) for one in OPTIMA[::3]],
)
def test_every_record(search, optimum):
    model = optimum.estimator(search=search).fit(optimum.X, optimum.y)
    assert model.objective_ == pytest.approx(optimum.objective, rel=1e-6)
    assert set(model.hull_) == optimum.hull
    assert model.dual_objective_ <= optimum.objective * (1 + 1e-7)
    if not optimum.is_smooth:
        return
    assert model.status_.ok
    found = decided(model, optimum.X_test)
    assert found == pytest.approx(optimum.predicted, abs=1e-3 * np.abs(optimum.predicted).max())
    place = [optimum.nodes.index(node) for node in model.hull_]
    assert model.eta_ == pytest.approx(optimum.eta[place], rel=1e-3, abs=1e-3 * optimum.eta.max())
    assert model.zeta_ == pytest.approx(
        optimum.zeta[place], rel=1e-3, abs=1e-3 * optimum.zeta.max()
    )


@every(
    "optimum, early",
    share(product(OPTIMA, ({"max_iter": 1}, {"max_nodes": 3}, {"tol": 0.2})), 4),
)
def test_the_gap_is_never_below_the_true_suboptimality_when_stopped_early(optimum, early):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        model = optimum.estimator(**early).fit(optimum.X, optimum.y)
    # Its own primal is an upper bound of the optimum, which the oracle knows to 1e-7.
    assert model.objective_ >= optimum.objective * (1 - 1e-7)
    assert model.dual_gap_ >= model.objective_ - optimum.objective * (1 + 1e-7)
    assert model.dual_gap_ == pytest.approx(model.objective_ - model.dual_objective_)


# The space of kernels


@every("basis, normalize", product(BASES, (True, False)))
def test_forms_sums_and_grams_are_those_of_listed_nodes(basis, normalize, rows):
    design = Design(rows, basis, normalise=normalize)
    a = balanced(len(rows))
    nodes = grid(design)
    weights = NodeWeights(2.5, 0.3)
    grams = [design.gram(node) for node in nodes]
    assert design.quadratic_forms(nodes, a) == pytest.approx(
        [max(a @ gram @ a, 0) for gram in grams], rel=1e-9, abs=1e-10
    )
    assert design.values.full_gram(np.ones(design.q + 1)) == pytest.approx(
        sum(grams), rel=1e-12, abs=1e-10
    )
    expected = brute_descendant_sums(design, nodes[1:], a, 2.5)
    assert design.descendant_sums(nodes[1:], a, weights) == pytest.approx(expected, rel=1e-12)
    # kept sums
    assert design.descendant_sums(nodes[:3:-1], -2 * a, weights) == pytest.approx(
        4 * expected[:2:-1]
    )
    for i, j in product(range(3), range(1, design.q + 1) if normalize else ()):
        part = design.values.level(i, j)
        gram = np.outer(part, part) if part.ndim == 1 else part
        assert np.trace(gram) / len(rows) == pytest.approx(1.0)
        assert np.abs(gram.sum(axis=0)).max() < 1e-10
    for node in (nodes[-1], touched((1, 1, 0))):
        assert design.values.product(node, a) == pytest.approx(design.gram(node) @ a)
        assert design.cross(rows[:4]).product(node, a) == pytest.approx(design.gram(node)[:4] @ a)


def test_many_tiles_and_any_order_of_nodes_give_the_same_sums():
    X = default_rng(3).standard_normal((275, 6))
    weights = NodeWeights(3.0)
    design = Design(X, PolynomialBasis(2))
    a = balanced(275)
    nodes = [
        touched(v)
        for v in ((0, 1, 0, 0, 2, 0), (1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1), (1, 1, 1, 0, 0, 1))
    ]
    expected = []
    for node in nodes:
        gram = np.ones((275, 275))
        for i, level in enumerate(levels(node, 6)):
            gram *= sum(
                weights.shares(2)[level, j] * np.outer(*[design.columns[i, j]] * 2)
                for j in range(3)
            )
        expected.append(a @ gram @ a)
    assert design.descendant_sums(nodes[1:] + nodes[:1] * 2, a, weights) == pytest.approx(
        expected[1:] + expected[:1] * 2, rel=1e-12
    )


# Bases


@every("b", [1e-6, 1e-3, 0.05, 0.1])
def test_the_remainder_of_the_series_is_summed_where_subtracting_leaves_rounding(b):
    x = np.linspace(-5, 5, 41)
    parts = GaussianBasis(3, b).parts(None, x, x)
    total = sum(np.outer(p, p) if p.ndim == 1 else p for p in parts)
    assert total == pytest.approx(np.exp(-b * (x[:, None] - x[None, :]) ** 2), abs=1e-12)
    tail = np.array(gaussian_series(x, 30, b, 1.0)[3:])
    assert parts[-1] == pytest.approx(tail.T @ tail, rel=1e-9)
    assert np.linalg.eigvalsh(parts[-1])[0] >= -1e-13 * np.trace(parts[-1])


def test_the_gaussian_basis_is_scaled_to_the_rows_until_its_bumps_are_level(rng):
    for X in (rng.standard_normal((200, 2)), rng.standard_normal((200, 40)) * 7.0):
        design = Design(X, GaussianBasis(2))
        assert np.log(design.columns_of([()])[:, 0]).std() == pytest.approx(0.1, rel=0.25)
        spread = np.sum(((X - X.mean(axis=0)) / X.std(axis=0)) ** 2, axis=1).std()
        assert design.levels.basis.b == pytest.approx(0.1 / spread)
    assert Design(X, GaussianBasis(2, 0.5)).levels.basis.b == 0.5


def test_levels_add_up_to_their_kernel(rows):
    raw = Design(rows, PolynomialBasis(4), standardize=False, normalise=False)
    wanted = np.prod([(1 + np.outer(x, x)) ** 4 for x in rows.T], axis=0)
    assert raw.values.full_gram(np.ones(raw.q + 1)) == pytest.approx(
        wanted, abs=1e-12 * wanted.max()
    )
    x = rows[:, 0]
    for basis in (GaussianBasis(3, 0.5), KernelPCABasis(3, 1.0)):
        total = sum(np.outer(p, p) if p.ndim == 1 else p for p in basis.parts(basis.fit(x), x, x))
        assert total == pytest.approx(np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2), abs=1e-12)


# The graph


def test_sources_are_exactly_the_outsiders_with_all_parents_inside(rows, rng):
    order = Design(rows, PolynomialBasis(2)).order
    hull = Hull(order)
    everything = [touched(full) for full in np.ndindex(3, 3, 3)]
    assert order.size == len(everything)
    for k in rng.permutation(27)[:8]:
        hull.add([everything[k]])
        inside = set(hull.members)
        assert all(set(parents(node)) <= inside for node in inside)
        assert hull.sources == {
            node for node in everything if node not in inside and set(parents(node)) <= inside
        }
        assert set(hull.extreme_points()) == {
            v for v in inside if not any(v in parents(w) for w in inside)
        }
    assert [order.node_of(order.key(node)) for node in everything] == everything


# The certificate


def test_the_dual_norm_bounds_close_on_the_dual_norm_of_the_whole_grid(rows, rng):
    design = Design(rows, PolynomialBasis(2))
    weights = NodeWeights(2.0, 0.5)
    a = balanced(31)
    everything = grid(design)
    ancestry = Ancestry(design.order, everything)
    d = weights.of(everything)
    forms = design.quadratic_forms(everything, a)
    loose = dual_norm(ancestry, d, forms, np.zeros(27), np.inf)
    middle = 0.5 * (loose.lower + loose.upper)
    tight = dual_norm(ancestry, d, forms, loose.x, middle)
    assert tight.upper <= middle or tight.lower > middle
    for _ in range(200):  # any eta in H bounds it from below
        assert ancestry.zeta(rng.dirichlet(np.ones(27)) / d**2) @ forms <= loose.upper * (1 + 1e-12)
    exact = dual_norm(ancestry, d, forms, np.zeros(27), -np.inf)
    certifier = Certifier(design, weights, max_nodes=100)
    for threshold in (exact.upper * 0.5, exact.upper * 1.2, exact.upper * 3):
        verdict = certifier.certify({(): 1.0}, a, threshold, grow=True, most=10)
        if verdict.bound is not None:
            assert verdict.bound >= exact.lower * (1 - 1e-9)
            assert verdict.proof.bound(design, weights, a) == pytest.approx(verdict.bound)
    printed = certifier.certify({(): 1.0}, a, exact.upper, grow=False, most=3)
    assert printed.bound is None or printed.bound >= exact.lower
    assert len(printed.wanted) <= 3


def test_interactions_without_main_effects_need_the_sufficient_phase():
    """y = x1 x2: no single column has a covariance with y, so N_J alone sees nothing to add behind
    them.
    """
    X = np.array(list(np.ndindex(7, 7, 2)), dtype=float) - [3.0, 3.0, 0.5]
    y = X[:, 0] * X[:, 1] / 4
    settings = {"basis": PolynomialBasis(2), "lam": 1e-3}
    quick, model = (
        HKLRegressor(search=search, **settings).fit(X, y) for search in ("necessary", "certified")
    )
    assert model.certified_
    assert (1, 1, 0) in set(model.hull_) - set(quick.hull_)
    assert quick.status_ is Status.PROVISIONAL
    assert not quick.certified_
    assert quick.dual_gap_ is None
    assert model.score(X, y) > 0.8 > 0.1 > quick.score(X, y)


CERTIFICATES = [
    (basis, loss, search, (i + j + k) % 2 > 0)
    for i, basis in enumerate(BASES)
    for j, loss in enumerate(("squared", "logistic", "hinge"))
    for k, search in enumerate(("certified", "printed"))
]


@every("basis, loss, search, fit_intercept", share(CERTIFICATES, 5))
def test_the_certificate_holds_from_scratch(basis, loss, search, fit_intercept, rows):
    y = np.where(rows[:, 0] * rows[:, 1] > 0, "yes", "no")
    model = HKLClassifier(
        basis, lam=0.01, loss=loss, search=search, tol=1e-2, fit_intercept=fit_intercept
    ).fit(rows, y)
    assert hkl_certificate(model, rows, y) == pytest.approx(
        (model.objective_, model.dual_objective_), rel=1e-6
    )


def test_the_certificate_of_several_classes_of_given_matrices_and_of_none(rows):
    grams = np.stack([[np.ones((31, 31)), np.exp(-((x[:, None] - x) ** 2))] for x in rows.T])
    for model, X, y in (
        (HKLClassifier(PolynomialBasis(2), lam=0.01), rows, np.digitize(rows[:, 0], [-0.5, 0.5])),
        (HKLRegressor(grams, lam=0.01), grams, rows[:, 0]),
    ):
        primal, dual = hkl_certificate(model.fit(X, y), X, y)
        assert primal == pytest.approx(model.objective_, rel=1e-6)
        assert dual == pytest.approx(model.dual_objective_, rel=1e-6)
    quick = HKLRegressor(lam=0.01, search="necessary").fit(rows, rows[:, 0])
    assert quick.proof_ is None
    assert hkl_certificate(quick, rows, rows[:, 0]) == (
        pytest.approx(quick.objective_, rel=1e-6),
        -np.inf,
    )


def test_a_forged_certificate_does_not_hold(rows):
    y = rows[:, 0] * rows[:, 1]
    model = HKLRegressor(PolynomialBasis(2), lam=0.01).fit(rows, y)
    table, shares = model.proof_[0]
    model.proof_ = ((table, np.roll(shares, 1)),)
    assert hkl_certificate(model, rows, y)[1] < model.dual_objective_ - 1e-3 * abs(model.objective_)
    model.dual_point_ = model.dual_point_ + 1e-3
    assert hkl_certificate(model, rows, y)[1] == -np.inf


# Reductions, limits and extremes


def test_two_distinct_rows_at_a_tiny_lambda_are_solved():
    rows = np.array([[1.0, 2.0], [0.0, 3.0]])[
        [0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0]
    ]
    y = np.where(rows[:, 0] > 0, 1, -1)
    y[[15, 21]] *= -1
    model = HKLClassifier(lam=4e-6).fit(rows, y)
    assert model.status_.ok
    # nothing is shrunk: log odds
    share = np.array([np.mean(y[rows[:, 0] == value] > 0) for value in (0.0, 1.0)])
    assert model.decision_function([[0.0, 3.0], [1.0, 2.0]]) == pytest.approx(
        np.log(share / (1 - share)), rel=1e-2
    )


def test_mirrored_columns_and_rows_no_fit_can_save_do_not_stop_the_hinge_until_double_precision_ends():
    """Duplicated rows of both classes: the optimum is the smaller class of every distinct row,
    twice, over n.
    """
    rows = np.repeat([[0.0, 3.0], [2.0, 1.0], [3.0, 0.0]], [9, 7, 8], axis=0)
    y = np.where(np.arange(24) % 3 == 0, 1, -1)
    with kernel_error(r"double precision.*C = 1/"):
        HKLClassifier(lam=1e-17, loss="hinge").fit(rows, y)
    y[:9] *= -1
    for lam in (1e-6, 1e-10):
        model = HKLClassifier(lam=lam, loss="hinge").fit(rows, y)
        assert model.status_.ok
        assert model.objective_ == pytest.approx(2 * (3 + 2 + 3) / 24, rel=1e-3)


def test_the_fit_moves_below_the_largest_lambda(rows):
    y = rows[:, 0] + 0.3 * rows[:, 1] ** 2
    design = Design(rows, PolynomialBasis(2))
    weights = NodeWeights(4.0, 0.1)
    high = largest_lambda(design, y, weights)
    first, later = (
        HKLRegressor(PolynomialBasis(2), lam=lam).fit(rows, y).objective_
        for lam in (high, 1e-3 * high)
    )
    assert first == pytest.approx(0.5 * y.var(), rel=0.02)
    assert later < 0.45 * y.var()
    assert largest_lambda(design, np.ones(31), weights) == 1.0
    mirrored = Design(np.repeat([[2.0, -2.0], [3.0, -3.0]], [10, 8], axis=0), PolynomialBasis(2))
    assert largest_lambda(mirrored, np.resize([1.0, -1.0], 18), weights) == 1.0


def test_limits_stop_the_search_and_say_so(rows, monkeypatch):
    y = sum(rows[:, i] * rows[:, j] for i, j in combinations(range(3), 2))
    with pytest.warns(
        NotConvergedWarning,
        match=r"not certified: stopped at max_nodes; raise max_nodes.*Relative gap",
    ):
        model = HKLRegressor(lam=1e-4, max_nodes=4).fit(rows, y)
    assert model.status_ is Status.MAX_NODES
    assert not model.certified_
    assert np.isfinite(model.relative_gap_)
    task = HullTask.at(1e-4, y, make_loss("squared"), True)
    weights = NodeWeights(4, 0.1)
    design = Design(rows, ANOVABasis(0.5))
    design.memory_mb = 0.05
    assert (
        run(HullSearch(design, task, weights), tol=1e-3, max_iter=50).status is Status.OUT_OF_MEMORY
    )
    clock = iter(np.arange(0.0, 100.0, 1.0))
    monkeypatch.setattr("time.thread_time", lambda: next(clock))
    for seconds in (0.0, 1.5):  # at once, and in the middle of a certification
        search = HullSearch(Design(rows, PolynomialBasis(4)), task, weights, max_seconds=seconds)
        assert run(search, tol=1e-9, max_iter=50).status is Status.OUT_OF_TIME
        assert search.proof_of(search.found.dual_point) is not None


# Refusals


def _fits(X, basis, **more):
    return lambda: Design(X, basis, **more)


def test_bad_bases_weights_and_levels_are_refused(rows):
    grams, wide = (
        np.stack([[np.ones((31, 31)), np.outer(x, x)] for x in rows.T]),
        np.zeros((300, 10)),
    )
    refused(
        (lambda: PolynomialBasis(0), "degree must be a whole number from 1"),
        (lambda: GaussianBasis(2, b=0.0), "b must be a finite number above 0"),
        (lambda: GaussianBasis(2, sigma2=-1), "sigma2 must be a finite number above 0"),
        (
            lambda: GaussianBasis(2).parts(None, rows[0], rows[0]),
            "b is None, so it must be chosen from all",
        ),
        (lambda: KernelPCABasis(True), "q must be a whole number"),
        (lambda: ANOVABasis(float("nan")), "b must be a finite number above 0"),
        (lambda: NodeWeights(0.0, 1.0), "depth_weight must be a finite number above 0"),
        (lambda: NodeWeights(2.0, -1.0), "root_weight must be a finite number above 0"),
        (
            _fits(wide, ANOVABasis(), memory_mb=2),
            "need 3 MB for 300 rows and 10 variables, more than",
        ),
        (_fits(rows, "fourier"), "There is no basis called 'fourier'; the bases are polynomial"),
        (_fits(rows, 3), "basis must be None, one of the bases"),
        (_fits(None, grams[:, :1]), "at least two levels"),
        (_fits(None, grams[0]), r"shape \(p, q\+1, n, n\)"),
        (_fits(None, np.where(grams == grams[1, 1, 0, 3], np.nan, grams)), "is not finite"),
        (
            _fits(None, grams - 2.0 * np.eye(31)),
            "Level 0 of variable 1 is not positive semidefinite",
        ),
        (_fits(None, np.full((1, 2, 3, 3), "a")), "must hold numbers"),
        (
            lambda: Design(grams).cross(grams[:, :, :4, :5]),
            r"Test blocks must be \(p, q\+1, n_new, n\)",
        ),
    )
