"""HKL on any directed acyclic graph: optima over all nodes of an independent solver, sums by brute
force, files, pictures, refusals.
"""

import cvxpy as cp
import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.base import clone

import mklcore as mkl
from mklcore import (
    Graph,
    HKLClassifier,
    HKLRegressor,
    Linear,
    fit_path,
    hkl_certificate,
    save_model,
)
from mklcore.figures.hulls import drawn_along
from mklcore.figures.one_file import hulls_page
from mklcore.hkl.design import Design
from mklcore.verify import report, verify
from tests.helpers.every import EVERY_CASE, every
from tests.helpers.models import reloaded
from tests.helpers.refusals import data_error, kernel_error, parameter_error, refused
from tests.oracles.cones import CONES

COLUMNS = {
    "whole": (0, 1, 2, 3), "left": (0, 1), "right": (2, 3), "middle": (1, 2),
    "x1": (0,), "x2": (1,), "x3": (2,), "x4": (3,),
}  # fmt: skip
PARENTS = {
    "whole": [], "left": ["whole"], "right": ["whole"], "middle": ["whole"],
    "x1": ["left"], "x2": ["left", "middle"], "x3": ["right", "middle"], "x4": ["right"],
}  # fmt: skip
FAMILY = Graph(PARENTS, {name: Linear(features=own, label=name) for name, own in COLUMNS.items()})


def random_problem(seed):
    """A graph of 5 to 8 nodes with Gram matrices of rank 1 to 3 on 10 rows, weights, and a target."""
    rng = default_rng(seed)
    count = int(rng.integers(5, 9))
    mixed = rng.permutation(count)  # nodes are not numbered from the roots down
    parents = [()] * count
    for place in range(count):
        above = [int(mixed[k]) for k in range(place) if rng.random() < 0.35]
        parents[mixed[place]] = tuple(above)
    factors = [rng.standard_normal((10, int(rng.integers(1, 4)))) for _ in range(count)]
    weights = rng.uniform(0.5, 2.0, count)
    y = sum(
        factor @ rng.standard_normal(factor.shape[1]) for factor in factors[::3]
    ) + 0.3 * rng.standard_normal(10)
    return parents, factors, weights, y


def above(parents, node):
    found = {node}
    for parent in parents[node]:
        found |= above(parents, parent)
    return found


def optimum(parents, factors, weights, y, lam, loss):
    """The whole problem over every node as a cone program, by Clarabel."""
    betas = [cp.Variable(factor.shape[1]) for factor in factors]
    b = cp.Variable()
    f = sum(factor @ beta for factor, beta in zip(factors, betas, strict=True)) + b
    below = [
        [w for w in range(len(parents)) if v in above(parents, w)] for v in range(len(parents))
    ]
    omega = sum(
        d * cp.norm(cp.hstack([betas[w] for w in own]))
        for d, own in zip(weights, below, strict=True)
    )
    mean = CONES[loss](y, f) / len(y)
    problem = cp.Problem(cp.Minimize(mean + lam / 2 * cp.square(omega)))
    return float(problem.solve(solver="CLARABEL"))


# Six seeds have every loss both by numbers and by names.
@every("seed", range(24 if EVERY_CASE else 6))
def test_optimum_and_sums_over_all_nodes(seed):
    parents, factors, weights, y = random_problem(seed)
    loss = ("squared", "logistic", "hinge")[seed % 3]
    y = y if loss == "squared" else np.where(y > np.median(y), 1.0, -1.0)
    lam = 10.0 ** default_rng(seed).uniform(-2.5, -0.5)
    listed = parents, [factor @ factor.T for factor in factors], weights
    if seed % 2:  # the same by names
        texts = [list(map(str, above)) for above in parents]
        listed = (
            {str(node): part for node, part in enumerate(parts)} for parts in (texts, *listed[1:])
        )
    edges, kernels, of_nodes = listed
    graph = Graph(edges, kernels, weights=of_nodes)
    kind = HKLRegressor if loss == "squared" else HKLClassifier
    tol = 1e-3 if loss == "hinge" else 1e-5
    model = kind(graph=graph, lam=lam, loss=loss, tol=tol).fit(None, y)
    best = optimum(parents, factors, weights, y, lam, loss)
    assert model.certified_
    assert model.objective_ == pytest.approx(best, rel=2 * tol)
    assert model.dual_objective_ <= best * (1 + 1e-6)
    assert hkl_certificate(model, None, y) == pytest.approx(
        (model.objective_, model.dual_objective_), rel=1e-6
    )
    hull = set(map(int, model.hull_))
    assert all(set(parents[node]) <= hull for node in hull)
    space = Design(None, graph=graph)
    a = y - y.mean()
    forms = [float(np.sum((factor.T @ a) ** 2)) for factor in factors]
    assert space.quadratic_forms(space.order.nodes, a) == pytest.approx(forms)
    reach = [above(parents, w) for w in range(len(parents))]
    sums = [
        sum(
            forms[w] / sum(weights[v] for v in own if t in reach[v]) ** 2
            for w, own in enumerate(reach)
            if t in own
        )
        for t in range(len(parents))
    ]
    assert space.descendant_sums(
        space.order.nodes, a, space.order.weights(None, 1.0)
    ) == pytest.approx(sums)


# Kernel functions, new rows, files


@pytest.fixture(scope="module")
def genes():
    rng = default_rng(0)
    X = rng.standard_normal((60, 4))
    return X, 2 * X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(60)


@pytest.fixture(scope="module")
def fitted(genes):
    return HKLRegressor(graph=FAMILY, lam=1e-3).fit(*genes)


def test_genes_enter_after_all_of_their_pathways_and_their_parts_add_up(fitted, genes):
    X = genes[0][:7] + 0.1
    assert "left" in fitted.hull_
    assert fitted.score(*genes) > 0.98
    assert all(above in fitted.hull_ for name in fitted.hull_ for above in PARENTS[name])
    norms = dict(zip(fitted.hull_, fitted.component_norms_, strict=True))
    assert norms["left"] > 2 * norms.get("right", 0.0)
    parts = fitted.contributions(X)
    assert fitted.predict(X) == pytest.approx(parts.sum(axis=0) + fitted.intercept_)
    assert fitted.component(fitted.hull_[0], X) == pytest.approx(parts[0])


def test_the_same_kernels_given_ready_or_saved_predict_the_same(fitted, genes):
    X, y = genes
    stack = fitted.graph.kernels.grams(X)
    ready = (
        clone(fitted)
        .set_params(graph=Graph(fitted.graph.parents, names=fitted.graph.names))
        .fit(stack, y)
    )
    assert ready.objective_ == pytest.approx(fitted.objective_)
    assert ready.predict(X[:3]) == pytest.approx(fitted.predict(X[:3]))
    held = clone(fitted).set_params(graph=Graph(fitted.graph.parents, stack.values)).fit(X, y)
    assert held.predict(stack.cross(X[:3])) == pytest.approx(fitted.predict(X[:3]))
    assert reloaded(held).predict(stack.values) == pytest.approx(held.predict(stack.values))
    found = reloaded(fitted)
    assert found.predict(X) == pytest.approx(fitted.predict(X))
    assert found.kernel_names_ == fitted.kernel_names_
    assert hkl_certificate(found, X, y) == pytest.approx(
        (fitted.objective_, fitted.dual_objective_)
    )
    with kernel_error("fit it again"):
        found.design_.gram(((0, 1),))


def test_path_and_classes_of_a_graph(fitted, genes):
    X, y = genes
    path = fit_path(clone(fitted), X, y, param="lam", values=[0.1, 0.01, 0.001])
    assert all(point.certified_ for point in path.estimators)
    assert path.estimators[-1].objective_ == pytest.approx(fitted.objective_, rel=2e-3)
    assert set(path.kernel_names) >= set(fitted.kernel_names_)
    classes = np.digitize(y, np.quantile(y, [0.33, 0.67]))
    model = HKLClassifier(graph=FAMILY, lam=1e-3).fit(X, classes)
    assert model.weights_.shape == (3, len(model.hull_))
    assert model.score(X, classes) > 0.8
    assert np.all(model.relative_gap_ <= 1e-3)


def test_constant_kernels_are_nodes_of_weight_zero():
    rng = default_rng(1)
    X = np.column_stack([rng.standard_normal(20), np.ones(20)])
    graph = Graph.tree([None, 0], [Linear(features=(0,)), Linear(features=(1,))])
    model = HKLRegressor(graph=graph, lam=0.01).fit(X, X[:, 0])
    assert model.certified_
    assert model.predict(X) == pytest.approx(X[:, 0], abs=0.1)


def test_a_saved_graph_is_verified_from_its_definition_or_its_matrices(tmp_path, rng):
    X = rng.standard_normal((60, 7))
    tree = Graph.tree([None, 0, 0, 1, 1, 2, 2], [Linear(features=(j,)) for j in range(7)])
    model = HKLRegressor(graph=tree, lam=1e-2).fit(X, X[:, 0] + X[:, 1] + X[:, 4])
    save_model(tmp_path / "model.mkl", model)
    np.savez(tmp_path / "rows.npz", X=X, y=model.training_target_)
    lines = verify(tmp_path / "model.mkl", tmp_path / "rows.npz")
    assert all(line.holds for line in lines), lines
    assert len(lines) >= 3
    K = np.array([np.outer(x, x) for x in X[:30, :4].T])
    diamond = Graph([(), (0,), (0,), (1, 2)], K, weights=[1.0, 2.0, 1.5, 3.0])
    y = X[:30, 0] + X[:30, 1]
    np.savez(tmp_path / "stack.npz", K=K)
    np.savez(tmp_path / "other.npz", K=1.5 * K)
    for own in (
        HKLRegressor(graph=diamond, lam=1e-2).fit(None, y),
        HKLClassifier(graph=diamond).fit(None, y > 0),
    ):
        save_model(tmp_path / "model.mkl", own)
        assert report(tmp_path / "model.mkl", tmp_path / "stack.npz")[1] == 0
        assert report(tmp_path / "model.mkl", tmp_path / "other.npz")[1] == 1
    with data_error("fitted on ready kernels: give them"):
        verify(tmp_path / "model.mkl", tmp_path / "rows.csv")


# Refusals


@every(
    "parents, options, words",
    [
        ([], {}, "at least one node"),
        ([(1,), (0,)], {}, "cycle"),
        ([(0,)], {}, "not itself"),
        ([(), (5,)], {}, "from 0 to 1"),
        ([(), 0], {}, "list of nodes"),
        ([(), (0, 0)], {}, "different nodes"),
        ({"a": (), "b": ("c",)}, {}, "list of nodes"),
        ({"a": (), "b": ("a",)}, {"weights": {"a": 1.0}}, "by the same names"),
        ([(), (0,)], {"weights": [1.0, 0.0]}, "above 0"),
        ([(), (0,)], {"names": ("same", "same")}, "different names"),
    ],
)
def test_graphs_that_are_none(parents, options, words):
    with parameter_error(words):
        Graph(parents, **options)


def test_a_graph_says_how_large_it_is_and_of_what():
    assert repr(FAMILY) == "Graph(8 nodes, 9 edges, kernel functions)"
    assert repr(Graph([(), (0,), (0,)])) == "Graph(3 nodes, 2 edges, no kernels)"


def test_what_cannot_be_fitted(genes):
    X, y = genes
    bare = Graph([()])
    ready = Graph([()], np.eye(60)[None])

    def fits(X, **options):
        return lambda: HKLRegressor(**options).fit(X, y[: len(X)] if X.ndim == 2 else y)

    refused(
        (fits(X, graph="tree"), "graph must be"),
        (fits(X, basis="gaussian", graph=FAMILY), "leave basis out"),
        (fits(X, graph=FAMILY, refit=True), "rank one"),
        (fits(X, graph=bare), "stack"),
        (fits(np.stack([np.eye(60)] * 2), graph=bare), "one per node"),
        (fits(X[:5], graph=ready), "60 rows"),
        (lambda: fits(X, graph=ready, lam=0.1)().predict(X), "Test blocks"),
        (lambda: Graph([(), (0,)], [Linear()]), "one per node"),
        (lambda: Graph([()], "linear"), "Gram matrices"),
    )


# Pictures


def test_hulls_of_a_graph_are_drawn_at_their_depths_and_along_a_path(genes, fitted):
    figure = mkl.figures.hull_graph(fitted)
    inside, outside = (trace for trace in figure.data if trace.name == "nodes")
    assert set(inside.ids) == set(fitted.hull_)
    assert set(outside.ids) <= set(fitted.sources_)
    depths = dict(zip(FAMILY.names, FAMILY.depths, strict=True))
    assert [depths[name] for name in inside.ids] == list(inside.y)
    assert "graph down to depth" in figure.layout.meta["alt"]
    path = fit_path(HKLRegressor(graph=FAMILY), *genes, param="lam", values=[1e-1, 1e-2, 1e-3])
    layout, states = drawn_along(path)
    for node, (_, depth, _), above in zip(layout.nodes, layout.places, layout.parents, strict=True):
        assert depth == depths[node]
        assert {layout.nodes[k] for k in above} == set(PARENTS[node])
    for model, state in zip(path.estimators, states, strict=True):
        assert {layout.nodes[k] for k, *_ in state["inside"]} == set(model.hull_) & set(
            layout.nodes
        )
        assert state["cells"] == []
    assert "left" in hulls_page(path)
