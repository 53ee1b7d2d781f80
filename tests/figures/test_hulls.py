"""Pictures of hulls: these tests read traces, layout and alternative text, never pixels."""

import copy
import json
from functools import cache

import pytest
from numpy.random import default_rng

from mklcore import HKLRegressor, PolynomialBasis
from mklcore.figures import hulls, style
from mklcore.figures.hulls import hull_graph, hull_layout, hull_state
from tests.helpers.refusals import refused

NAMES = ["length", "width", "height", "age"]


@cache
def hull_model():
    rng = default_rng(0)
    X = rng.standard_normal((90, 4))
    y = X[:, 0] + X[:, 0] * X[:, 1] + 0.5 * X[:, 2] ** 2 + 0.1 * rng.standard_normal(90)
    return HKLRegressor(PolynomialBasis(3), lam=1e-3).fit(X, y)


@pytest.fixture
def model():
    return hull_model()


def test_the_graph_lies_by_depth_with_area_by_weight_and_hollow_sources(model, monkeypatch):
    figure = hull_graph(model, NAMES)
    edges, _, inside, outside = figure.data
    assert {tuple(map(int, name.split(","))) for name in inside.ids} == set(model.hull_)
    assert sorted(inside.y) == sorted(sum(node) for node in model.hull_)
    assert max(inside.marker.size) == pytest.approx(36)
    areas = dict(zip(inside.ids, inside.marker.size, strict=True))
    norms = dict(
        zip((",".join(map(str, node)) for node in model.hull_), model.component_norms_, strict=True)
    )
    assert max(areas, key=areas.__getitem__) == max(norms, key=norms.__getitem__)
    assert all("‖β‖ = " in text for text in inside.customdata)
    assert sum(width > 0 for width in inside.marker.line.width) == len(model.extreme_points_)
    assert edges.line.dash == "solid"
    assert outside.marker.color == style.theme(False).paper
    assert 0 < len(outside.x) <= 8
    shares = [
        model.sources_[v]
        for v in sorted(model.sources_, key=model.sources_.__getitem__, reverse=True)
    ]
    assert style.percent(shares[0]) in outside.text[0]
    assert "Next to enter" in figure.layout.meta["alt"]
    monkeypatch.setattr(hulls, "N_NODES", 4)
    cut = hull_graph(model, NAMES)
    assert len(cut.data[2].x) <= 4
    assert "left out" in cut.layout.meta["alt"]


def test_an_answer_without_certificate_is_dashed_and_says_so(model):
    provisional = copy.copy(model)
    provisional.certified_ = False
    provisional.relative_gap_ = None
    figure = hull_graph(provisional, NAMES)
    assert figure.data[0].line.dash == "dash"
    assert "Provisional" in figure.layout.meta["alt"]
    provisional.relative_gap_ = 0.4
    assert (
        "Not certified: the gap is 40 % of the objective"
        in hull_graph(provisional).layout.meta["alt"]
    )


def test_wrong_arguments_are_refused_and_one_variable_has_no_grid(model):
    X = default_rng(5).standard_normal((40, 1))
    one = HKLRegressor(PolynomialBasis(2), lam=1e-2).fit(X, X[:, 0] ** 2)
    refused(
        (lambda: hull_graph(model, NAMES[:2]), "One name per variable"),
    )
    layout = hull_layout([one])
    assert layout.pair is None
    assert hull_state(one, layout)["cells"] == []


# States along a path


@pytest.fixture(scope="module")
def along():
    rng = default_rng(4)
    X = rng.standard_normal((120, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] ** 2 * X[:, 4] + 0.3 * rng.standard_normal(120)
    return [HKLRegressor(PolynomialBasis(3), lam=lam).fit(X, y) for lam in (1.0, 1e-2, 1e-6)]


def test_places_are_a_hull_with_room_and_hold_for_the_whole_path(along):
    layout = hull_layout(along, [f"v{i}" for i in range(6)])
    place = dict(zip(layout.nodes, layout.places, strict=True))
    assert len(set(layout.places)) == len(layout.nodes) <= 64
    for node, (x, depth, _) in place.items():
        assert depth == sum(node)
        assert 0 < x < 1
    inside = set(along[-1].hull_) & set(layout.nodes)
    assert len(inside) <= 40 < len(along[-1].hull_)
    for k, node in enumerate(layout.nodes):
        assert all(sum(layout.nodes[parent]) == sum(node) - 1 for parent in layout.parents[k])
        if node in inside:
            assert len(layout.parents[k]) == sum(level > 0 for level in node)
    assert layout.pair == tuple(sorted(layout.bars[:2]))
    assert layout.names[layout.nodes.index((0, 1, 1, 0, 0, 0))] == "v1·v2"


def test_a_state_says_what_it_leaves_out_and_that_it_can_be_written(along):
    layout = hull_layout(along, pair=(1, 2))
    for model in along:
        state = json.loads(json.dumps(hull_state(model, layout)))
        assert len(state["inside"]) + state["left_out"] == len(model.hull_)
        assert state["certified"]
        assert max(state["bars"]) == 1
        kinds = {tuple(cell[:2]): cell[2] for cell in state["cells"]}
        assert kinds[(0, 0)] == "hull"  # the constant adds nothing itself
        assert all(0 <= share <= 1 for _, share, *_ in state["outside"])
        assert "Certified over all 4,096 kernels" in state["said"]
    assert any(cell[:3] == [1, 1, "active"] for cell in state["cells"])
