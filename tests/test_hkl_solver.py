"""Hierarchical kernel learning: optima of an independent solver, factorised sums against brute force, bounds that
hold.
"""

import itertools
import warnings
from itertools import combinations

import numpy as np
import pytest

from mklcore.errors import KernelError, NotConvergedWarning, ParameterError
from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
from mklcore.losses import make_loss
from mklcore.solvers.driver import Status, run
from mklcore.solvers.hkl.bases import (
    ANOVABasis,
    GaussianBasis,
    KernelPCABasis,
    PolynomialBasis,
    gaussian_series,
)
from mklcore.solvers.hkl.certificate import Certifier, dual_norm, hkl_certificate
from mklcore.solvers.hkl.dag import (
    Ancestry,
    DepthWeights,
    Hull,
    levels,
    parents,
    touched,
)
from mklcore.solvers.hkl.design import Design
from mklcore.solvers.hkl.machine import Task
from mklcore.solvers.hkl.search import HullSearch, Limits, lambda_range
from tests.every import every
from tests.reference_hkl import brute_descendant_sums, hull_optima

OPTIMA = hull_optima()
SMOOTH = [optimum for optimum in OPTIMA if optimum.is_smooth]
BASES = [
    PolynomialBasis(2),
    GaussianBasis(2),
    ANOVABasis(0.5),
    KernelPCABasis(2),
]
by_name = every("basis", BASES)


def named(optima):
    return every("optimum", optima)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((31, 3))


def balanced(n, seed=1):
    a = np.random.default_rng(seed).standard_normal(n)
    return a - a.mean()


# Against the oracle


@named(OPTIMA)
def test_every_record(optimum):
    model = optimum.estimator().fit(optimum.X, optimum.y)
    assert model.objective_ == pytest.approx(optimum.objective, rel=1e-6)
    assert set(model.hull_) == optimum.hull
    assert model.dual_objective_ <= optimum.objective * (1 + 1e-7)
    if not optimum.is_smooth:
        return
    assert model.status_.ok
    found = model.predict(optimum.X_test) if optimum.loss == "squared" else model.decision_function(optimum.X_test)
    assert found == pytest.approx(optimum.predicted, abs=1e-3 * np.abs(optimum.predicted).max())
    place = [optimum.nodes.index(node) for node in model.hull_]
    assert model.eta_ == pytest.approx(optimum.eta[place], rel=1e-3, abs=1e-3 * optimum.eta.max())
    assert model.zeta_ == pytest.approx(optimum.zeta[place], rel=1e-3, abs=1e-3 * optimum.zeta.max())


@named(SMOOTH[::3])
def test_the_printed_search_finds_the_same(optimum):
    model = optimum.estimator(search="printed").fit(optimum.X, optimum.y)
    assert model.objective_ == pytest.approx(optimum.objective, rel=1e-6)
    assert set(model.hull_) == optimum.hull


@named(OPTIMA)
@every("early", [{"max_iter": 1}, {"max_nodes": 3}, {"tol": 0.2}])
def test_the_gap_is_never_below_the_true_suboptimality_when_stopped_early(optimum, early):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        model = optimum.estimator(**early).fit(optimum.X, optimum.y)
    # Its own primal is an upper bound of the optimum, which the oracle knows to 1e-7.
    assert model.objective_ >= optimum.objective * (1 - 1e-7)
    assert model.dual_gap_ >= model.objective_ - optimum.objective * (1 + 1e-7)
    assert model.dual_gap_ == pytest.approx(model.objective_ - model.dual_objective_)


# The sums


@by_name
@every("normalize", [True, False])
@every("memory_mb", [64, 0.05])
def test_factorised_descendant_sums_are_the_brute_force_sums(basis, normalize, memory_mb, rows):
    design = Design(rows, basis, normalize=normalize)
    design.memory_mb = memory_mb
    nodes = [touched(full) for full in np.ndindex(*(design.q + 1,) * 3)][1:]
    a = balanced(len(rows))
    found = design.descendant_sums(nodes, a, DepthWeights(2.5, 0.3))
    assert found == pytest.approx(brute_descendant_sums(design, nodes, a, 2.5), rel=1e-12)
    assert bool(design._tables) == (memory_mb == 64 and design.blocks.size > 0)


def test_many_tiles_and_any_order_of_nodes_give_the_same_sums():
    X = np.random.default_rng(3).standard_normal((75, 6))  # 2850 packed entries: twelve tiles
    design, a = Design(X, PolynomialBasis(2)), balanced(75)
    nodes = [touched(v) for v in ((0, 1, 0, 0, 2, 0), (1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1), (1, 1, 1, 0, 0, 1))]
    weights = DepthWeights(3.0, 1.0)
    together = design.descendant_sums(nodes, a, weights)
    alone = [design.descendant_sums([node], a, weights)[0] for node in nodes]
    assert together == pytest.approx(alone, rel=1e-13)
    assert design.descendant_sums(nodes[:1] * 2, a, weights).tolist() == alone[:1] * 2
    shares = weights.shares(2)
    product = np.ones((75, 75))
    for i, level in enumerate(levels(nodes[0], 6)):
        product *= sum(shares[level, j] * np.outer(design.columns[i, j], design.columns[i, j]) for j in range(3))
    assert together[0] == pytest.approx(a @ product @ a, rel=1e-12)


@by_name
def test_forms_grams_and_the_full_kernel_agree(basis, rows):
    design, a = Design(rows, basis), balanced(len(rows))
    nodes = [touched(full) for full in np.ndindex(*(design.q + 1,) * 3)]
    grams = [design.gram(node) for node in nodes]
    assert design.forms(nodes, a) == pytest.approx([max(a @ gram @ a, 0) for gram in grams], rel=1e-9, abs=1e-10)
    assert design.full_gram() == pytest.approx(sum(grams), rel=1e-12, abs=1e-10)
    thin = [node for node in nodes if design.is_column(node)]
    assert design.columns_of(thin).T @ a == pytest.approx([design.own_column(v) @ a for v in thin])


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


def test_the_gaussian_basis_is_scaled_to_the_rows_until_its_bumps_are_level():
    rng = np.random.default_rng(0)
    narrow, wide = rng.standard_normal((200, 2)), rng.standard_normal((200, 40)) * 7.0
    chosen = [Design(X, GaussianBasis(2)).levels.basis.b for X in (narrow, wide)]
    for X, b in zip((narrow, wide), chosen, strict=True):
        root = Design(X, GaussianBasis(2)).own_column(())
        assert np.log(root).std() == pytest.approx(0.1, rel=0.25)
        assert b == pytest.approx(0.1 / np.sum(((X - X.mean(axis=0)) / X.std(axis=0)) ** 2, axis=1).std())
    assert chosen[1] < 0.5 * chosen[0]
    assert Design(wide, GaussianBasis(2, 0.5)).levels.basis.b == 0.5
    with pytest.raises(ParameterError, match="b is None, to be chosen from all columns"):
        GaussianBasis(2).parts(None, narrow[:, 0], narrow[:, 0])


def test_a_root_alone_is_reported(rows):
    y = np.cos(5 * rows[:, 0])
    bumps = HKLRegressor(GaussianBasis(2, 5.0), lam=1e4).fit(rows, y)
    assert bumps.hull_ == ((0, 0, 0),)
    assert bumps.certified_
    assert "The optimum at this lam is the root alone" in bumps.notes_[0]
    assert "a Gaussian of smaller b" in bumps.notes_[0]
    assert HKLRegressor(PolynomialBasis(2), lam=1e-3).fit(rows, rows[:, 0]).notes_ == ()


def test_polynomial_levels_add_up_to_the_power(rows):
    design = Design(rows, PolynomialBasis(4), standardize=False, normalize=False)
    assert design.full_gram() == pytest.approx(np.prod([(1 + np.outer(x, x)) ** 4 for x in rows.T], axis=0))


@pytest.mark.parametrize("basis", [GaussianBasis(3, 0.5), KernelPCABasis(3, 1.0)])
def test_levels_and_remainder_add_up_to_the_kernel(basis, rows):
    x = rows[:, 0]
    total = sum(np.outer(p, p) if p.ndim == 1 else p for p in basis.parts(basis.fit(x), x, x))
    assert total == pytest.approx(np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2), abs=1e-12)


@by_name
def test_levels_above_zero_are_centred_with_mean_diagonal_one(basis, rows):
    design = Design(rows, basis)
    for i, j in np.ndindex(3, design.q + 1):
        part = design.values.level(i, j)
        gram = np.outer(part, part) if part.ndim == 1 else part
        if j > 0:
            assert np.trace(gram) / len(rows) == pytest.approx(1.0)
            assert np.abs(gram.sum(axis=0)).max() < 1e-10
    assert design.values.product(((0, 1),), balanced(31)) == pytest.approx(design.gram(((0, 1),)) @ balanced(31))
    assert design.cross(rows[:4]).product(((1, 1),), np.ones(31)) == pytest.approx(design.gram(((1, 1),))[:4].sum(1))


@every(
    "make, words",
    [
        (lambda: PolynomialBasis(0), "degree must be a whole number from 1"),
        (lambda: GaussianBasis(2, b=0.0), "b must be a finite number above 0"),
        (lambda: GaussianBasis(2, sigma2=-1), "sigma2 must be a finite number above 0"),
        (lambda: KernelPCABasis(True), "q must be a whole number"),
        (lambda: ANOVABasis(float("nan")), "b must be a finite number above 0"),
        (lambda: DepthWeights(0.0, 1.0), "depth_weight must be a finite number above 0"),
        (lambda: DepthWeights(2.0, -1.0), "root_weight must be a finite number above 0"),
    ],
)
def test_bad_bases_and_weights_are_refused(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


# The graph


def test_sources_are_exactly_the_outsiders_with_all_parents_inside():
    rng, q = np.random.default_rng(0), 2
    hull = Hull(3, q)
    everything = [touched(full) for full in np.ndindex(3, 3, 3)]
    for k in rng.permutation(27)[:8]:
        hull.add([everything[k]])
        inside = set(hull.members)
        assert all(set(parents(node)) <= inside for node in inside)
        expected = {node for node in everything if node not in inside and set(parents(node)) <= inside}
        assert hull.sources == expected
        assert set(hull.extreme_points()) == {v for v in inside if not any(v in parents(w) for w in inside)}


# The certificate


def test_the_dual_norm_bounds_close_on_the_dual_norm():
    rng = np.random.default_rng(0)
    nodes = Hull(2, 2, [touched((2, 2))]).nodes
    forms, weights = rng.uniform(0, 1, len(nodes)), DepthWeights(1.5, 1.0)
    loose = dual_norm(nodes, forms, weights, np.zeros(len(nodes)), np.inf)
    assert loose.lower <= loose.upper
    middle = 0.5 * (loose.lower + loose.upper)
    tight = dual_norm(nodes, forms, weights, loose.x, middle)
    assert tight.upper <= middle or tight.lower > middle
    d, ancestry = weights.of(nodes), Ancestry(nodes)
    for _ in range(200):  # any eta in H bounds it from below
        x = rng.dirichlet(np.ones(len(nodes)))
        assert ancestry.zeta(x / d**2) @ forms <= loose.upper * (1 + 1e-12)


def test_the_bound_over_a_certificate_set_holds_for_the_whole_grid(rows):
    design, weights, a = Design(rows, PolynomialBasis(2)), DepthWeights(2.0, 0.5), balanced(31)
    everything = [touched(full) for full in np.ndindex(3, 3, 3)]
    exact = dual_norm(everything, design.forms(everything, a), weights, np.zeros(27), -np.inf)
    for threshold in (exact.upper * 0.5, exact.upper * 1.2, exact.upper * 3):
        verdict = Certifier(design, weights, max_nodes=100).certify({(): 1.0}, a, threshold, grow=True, most=10)
        if verdict.bound is not None:
            assert verdict.bound >= exact.lower * (1 - 1e-9)
        assert verdict.holds <= (exact.lower <= threshold)
    printed = Certifier(design, weights, max_nodes=100).certify({(): 1.0}, a, exact.upper, grow=False, most=3)
    assert printed.bound >= exact.lower
    assert len(printed.wanted) <= 3


def test_interactions_without_main_effects_need_the_sufficient_phase():
    """y = x1 x2: no single column has a covariance with y, so N_J alone sees nothing to add behind them."""
    grid = np.array(list(np.ndindex(7, 7, 2)), dtype=float) - [3.0, 3.0, 0.5]
    y = grid[:, 0] * grid[:, 1] / 4
    settings = {"basis": PolynomialBasis(2), "lam": 1e-3}
    quick = HKLRegressor(search="necessary", **settings).fit(grid, y)
    model = HKLRegressor(**settings).fit(grid, y)
    assert model.certified_
    assert (1, 1, 0) in model.hull_
    assert (1, 1, 0) not in quick.hull_
    assert quick.status_ is Status.PROVISIONAL
    assert not quick.certified_
    assert quick.dual_gap_ is None
    assert model.score(grid, y) > 0.8 > 0.1 > quick.score(grid, y)


# Reductions and invariance


def test_permuting_the_variables_permutes_the_hull(rows):
    y = rows[:, 0] + rows[:, 0] * rows[:, 2]
    order = [2, 0, 1]
    first = HKLRegressor(lam=1e-3, basis=PolynomialBasis(2)).fit(rows, y)
    second = HKLRegressor(lam=1e-3, basis=PolynomialBasis(2)).fit(rows[:, order], y)
    assert {tuple(node[i] for i in order) for node in first.hull_} == set(second.hull_)
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-6)


def test_one_variable_with_one_level_is_a_ridge_in_closed_form():
    """f = beta x: Omega = d_0 |beta| + d_1 |beta|, so (1) is a ridge with penalty lam (d_0 + d_1)^2."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(40), rng.standard_normal(40)
    y = y - y.mean() + x - x.mean()
    model = HKLRegressor(PolynomialBasis(1), lam=0.05, depth_weight=2.0, root_weight=0.5, tol=1e-9)
    model.fit(x[:, None], y)
    z = (x - x.mean()) / x.std()
    beta = z @ y / (z @ z + 40 * 0.05 * 2.5**2)
    objective = 0.5 * np.mean((y - z * beta) ** 2) + 0.5 * 0.05 * (2.5 * beta) ** 2
    assert model.objective_ == pytest.approx(objective, rel=1e-8)
    assert model.predict(x[:, None]) == pytest.approx(z * beta, abs=1e-5)
    assert model.beta_[-1] == pytest.approx(beta, rel=1e-5)


def test_two_distinct_rows_at_a_tiny_lambda_are_solved():
    rows = np.array([[1.0, 2.0], [0.0, 3.0]])[[0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0]]
    y = np.where(rows[:, 0] > 0, 1, -1)
    y[[15, 21]] *= -1
    model = HKLClassifier(lam=4e-6).fit(rows, y)
    assert model.status_.ok
    share = np.array([np.mean(y[rows[:, 0] == value] > 0) for value in (0.0, 1.0)])  # nothing is shrunk: log odds
    assert model.decision_function([[0.0, 3.0], [1.0, 2.0]]) == pytest.approx(np.log(share / (1 - share)), rel=1e-2)


@pytest.mark.parametrize("share", [1.0, 1e-4])
def test_mirrored_columns_and_rows_no_fit_can_save_do_not_stop_the_hinge(share):
    """Duplicated rows of both classes: the optimum is the smaller class of every distinct row, twice, over n."""
    rows = np.repeat([[0.0, 3.0], [2.0, 1.0], [3.0, 0.0]], [9, 7, 8], axis=0)
    y = np.where(np.arange(24) % 3 == 0, 1, -1)
    y[:9] *= -1
    model = HKLClassifier(lam=1e-6 * share, loss="hinge").fit(rows, y)
    assert model.status_.ok
    assert model.objective_ == pytest.approx(2 * (3 + 2 + 3) / 24, rel=1e-3)


def test_what_double_precision_cannot_carry_is_refused_and_no_fault_of_the_library():
    rows = np.repeat([[0.0, 3.0], [2.0, 1.0], [3.0, 0.0]], [9, 7, 8], axis=0)
    y = np.where(np.arange(24) % 3 == 0, 1, -1)
    with pytest.raises(KernelError, match="C = 1/"):
        HKLClassifier(lam=1e-17, loss="hinge").fit(rows, y)


def test_a_target_related_to_no_kernel_has_an_ordinary_range_of_lambda():
    rows = np.repeat([[2.0, -2.0], [3.0, -3.0]], [10, 8], axis=0)
    y = np.where(np.arange(18) % 2 == 0, 1.0, -1.0)
    assert lambda_range(Design(rows, PolynomialBasis(2)), y, DepthWeights(4.0, 0.1)) == (1e-8, 1.0)


def test_lambda_range_is_where_the_fit_moves(rows):
    y = rows[:, 0] + 0.3 * rows[:, 1] ** 2
    design, weights = Design(rows, PolynomialBasis(2)), DepthWeights(4.0, 0.1)
    low, high = lambda_range(design, y, weights)
    null = 0.5 * y.var()
    assert HKLRegressor(PolynomialBasis(2), lam=high).fit(rows, y).objective_ == pytest.approx(null, rel=0.02)
    assert HKLRegressor(PolynomialBasis(2), lam=1e-3 * high).fit(rows, y).objective_ < 0.9 * null
    assert low == pytest.approx(1e-8 * high)
    assert lambda_range(design, np.ones(31), weights) == (1e-8, 1.0)


def test_limits_stop_the_search_and_say_so(rows):
    y = sum(rows[:, i] * rows[:, j] for i, j in combinations(range(3), 2))
    with pytest.warns(NotConvergedWarning, match=r"not certified: stopped at max_nodes; raise max_nodes.*Relative gap"):
        model = HKLRegressor(lam=1e-4, max_nodes=4).fit(rows, y)
    assert model.status_ is Status.MAX_NODES
    assert not model.certified_
    assert np.isfinite(model.relative_gap_)
    design = Design(rows, PolynomialBasis(4))
    task = Task(y, make_loss("squared"), 1e-4, True)
    search = HullSearch(design, task, DepthWeights(4, 0.1), search="certified", tol=1e-3, limits=Limits(100, 0.0))
    fit = run(search, tol=1e-3, max_iter=50)
    assert fit.status is Status.OUT_OF_TIME
    assert fit.dual_objective is not None


def test_a_bound_in_seconds_counts_work_and_not_the_clock(rows, monkeypatch):
    """The same hull, the same gap and the same status, whatever else the machine is doing."""
    y = sum(rows[:, i] * rows[:, j] for i, j in combinations(range(3), 2))
    settings = {"basis": ANOVABasis(0.5), "lam": 1e-4, "tol": 1e-6, "max_seconds": 0.004}
    with pytest.warns(NotConvergedWarning, match="stopped at max_seconds"):
        calm = HKLRegressor(**settings).fit(rows, y)
    clock = itertools.count(0.0, 1e3)
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    with pytest.warns(NotConvergedWarning, match="stopped at max_seconds"):
        busy = HKLRegressor(**settings).fit(rows, y)
    assert calm.status_ is busy.status_ is Status.OUT_OF_TIME
    assert calm.hull_ == busy.hull_
    assert calm.objective_ == busy.objective_
    assert calm.dual_objective_ == busy.dual_objective_
    settings["max_seconds"] = 10.0
    assert HKLRegressor(**settings).fit(rows, y).certified_  # a thousand seconds of clock between any two looks at it


@every("fit_intercept", [True, False])
@every("search", ["certified", "printed"])
@every("basis", BASES)
@every("loss", ["squared", "logistic", "hinge"])
def test_the_certificate_holds_from_scratch(basis, loss, search, fit_intercept, rows):
    y = np.where(rows[:, 0] * rows[:, 1] > 0, "yes", "no")
    model = HKLClassifier(basis, lam=0.01, loss=loss, search=search, tol=1e-2, fit_intercept=fit_intercept).fit(rows, y)
    primal, dual = hkl_certificate(model, rows, y)
    assert primal == pytest.approx(model.objective_, rel=1e-6)
    assert dual == pytest.approx(model.dual_objective_, rel=1e-6)


def test_the_certificate_of_several_classes_of_given_matrices_and_of_none(rows):
    y = np.digitize(rows[:, 0], [-0.5, 0.5])
    model = HKLClassifier(PolynomialBasis(2), lam=0.01).fit(rows, y)
    primal, dual = hkl_certificate(model, rows, y)
    assert primal == pytest.approx(model.objective_, rel=1e-6)
    assert dual == pytest.approx(model.dual_objective_, rel=1e-6)
    grams = np.stack([[np.ones((31, 31)), np.exp(-((x[:, None] - x) ** 2))] for x in rows.T])
    given = HKLRegressor(grams, lam=0.01).fit(grams, rows[:, 0])
    assert hkl_certificate(given, grams, rows[:, 0]) == pytest.approx(
        (given.objective_, given.dual_objective_), rel=1e-6
    )
    quick = HKLRegressor(lam=0.01, search="necessary").fit(rows, rows[:, 0])
    assert quick.proof_ is None
    assert hkl_certificate(quick, rows, rows[:, 0]) == (pytest.approx(quick.objective_, rel=1e-6), -np.inf)


def test_a_forged_certificate_does_not_hold(rows):
    y = rows[:, 0] * rows[:, 1]
    model = HKLRegressor(PolynomialBasis(2), lam=0.01).fit(rows, y)
    table, shares = model.proof_[0]
    model.proof_ = ((table, np.roll(shares, 1)),)
    assert hkl_certificate(model, rows, y)[1] < model.dual_objective_ - 1e-3 * abs(model.objective_)
    model.dual_point_ = model.dual_point_ + 1e-3
    assert hkl_certificate(model, rows, y)[1] == -np.inf


def test_levels_that_do_not_fit_the_budget_are_refused_with_the_figure():
    X = np.random.default_rng(0).standard_normal((300, 10))
    with pytest.raises(ParameterError, match=r"need 3 MB for 300 rows and 10 variables, more than memory_mb=2"):
        Design(X, ANOVABasis(), memory_mb=2)


def test_broken_blocks_of_matrices_are_refused(rows):
    grams = np.stack([[np.ones((31, 31)), np.outer(x, x)] for x in rows.T])
    for broken, words in (
        (grams[:, :1], "at least two levels"),
        (grams[0], r"shape \(p, q\+1, n, n\)"),
        (np.where(grams == grams[1, 1, 0, 3], np.nan, grams), "is not finite"),
        (grams - 2.0 * np.eye(31), "Level 0 of variable 1 is not positive semidefinite"),
        (np.full((1, 2, 3, 3), "a"), "must hold numbers"),
    ):
        with pytest.raises(KernelError, match=words):
            Design(None, np.asarray(broken))
    with pytest.raises(KernelError, match=r"Test blocks must be \(p, q\+1, n_new, n\)"):
        Design(grams).cross(grams[:, :, :4, :5])
    with pytest.raises(ParameterError, match="There is no basis called 'fourier'; the bases are polynomial"):
        Design(rows, "fourier")
    with pytest.raises(ParameterError, match="basis must be None, one of the bases"):
        Design(rows, 3)
