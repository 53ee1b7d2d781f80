"""Pictures of hulls, as JSON for the player ``hull`` and as static figures.

They read the fields of a fitted hierarchical model alone: ``design_`` (parents, depth and names of
nodes), ``hull_``, ``kernel_names_``, ``component_norms_`` (m,), ``extreme_points_``, ``sources_``
(node -> share of the threshold), ``relevance_``, ``certified_``, ``relative_gap_`` and
``n_dag_kernels_``. A node outside the hull is hollow and shows how far it is from entering; a model
without a certificate is drawn dashed. Places do not change along a path: the graph is laid out once
for every node that is drawn at any point.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.style import Figure, Json, Texts

Levels = tuple[int, ...]
Place = tuple[float, int, int]
N_NODES = 40
N_OUTSIDE = 8  # sources that are drawn at one point of a path
N_OUTSIDE_IN_ALL = 24  # sources that are drawn at any point
N_RELEVANT = 10
ONE_LINE = 12  # nodes of one depth that fit into one line
ACTIVE = 1e-5  # a node contributes itself if ||beta_v|| is above this share of the largest
# Diameters of marks. Areas are proportional to norms, except that no mark is smaller than SMALLEST.
LARGEST = 36
SMALLEST = 9
N_LABELS = 24
LABEL_GAP = 0.2  # a mark nearer than this to a labelled one, as a share of the width, has no label
ROW = 84  # pixels of one depth


# Numbers and names of one hull


def kernel_count(count: int) -> str:
    """A whole number of any size: in full up to a million, then as 2.33 × 10²²."""
    if count <= 1_000_000:
        return f"{count:,}"
    digits = str(count)
    head = int(digits[:5]) / 10_000
    return f"{head:.3g} × {style.power_of_ten(len(digits) - 1)}"


def way(share: float) -> str:
    """A share of the threshold of entering; "all" beyond it, where a search was cut short."""
    return style.percent(min(share, 1.0)) if share <= 1.01 else "all"


def gap_of(model: Any) -> float:
    """The relative gap of a hull, the largest over the classes; nan where none is known."""
    return math.nan if model.relative_gap_ is None else float(np.max(model.relative_gap_))


def certificate_sentence(model: Any) -> str:
    if model.certified_:
        return f"Certified over all {kernel_count(model.n_dag_kernels_)} kernels."
    if model.relative_gap_ is None:
        return (
            "Provisional: only the necessary condition was checked, the certified hull can "
            "differ in kind."
        )
    return f"Not certified: the gap is {style.percent(gap_of(model))} of the objective."


def variable_names(names: Texts | None, p: int) -> list[str]:
    if names is None:
        return [f"x{i}" for i in range(p)]
    if len(names) != p:
        raise ParameterError(
            f"One name per variable is needed: {p} variables; got {len(names)} names."
        )
    return list(names)


def node_name(node: Any, variables: Texts, model: Any) -> str:
    """The name of a node, by the names of the ``variables`` unless the graph names its nodes."""
    if not variables:
        return str(node) or "1"
    levels = model.design_.levels
    factors = [levels.level_name(variables[i], level) for i, level in enumerate(node) if level]
    return "·".join(factors) or str(model.design_.name(()))


def node_id(node: Levels, numbers: Sequence[int]) -> str:
    """A node in a link, as 3^2*5^1 with the ``numbers`` (p,) of the columns, or "root"."""
    if not isinstance(node, tuple):  # the graph names its nodes
        return str(node) or "root"
    return "*".join(f"{numbers[i]}^{level}" for i, level in enumerate(node) if level) or "root"


def _norms(model: Any) -> list[float]:
    """The norm of every node of the hull, the largest over the classes."""
    norms: list[float] = np.atleast_2d(model.component_norms_).max(axis=0).tolist()
    return norms


def _relevance(model: Any) -> Array:
    """The relevance of every variable as a share of the largest."""
    relevance = np.asarray(model.relevance_, dtype=float)
    return relevance / style.positive_or_one(relevance)


def most_relevant(models: Sequence[Any]) -> list[int]:
    """The variables by their largest relevance at any point of a path."""
    peaks = np.array([_relevance(model) for model in models]).max(axis=0)
    order: list[int] = np.argsort(-peaks, kind="stable").tolist()
    return order


def _parents(model: Any, node: Any) -> list[Any]:
    order = model.design_.order
    return [order.key(parent) for parent in order.parents(order.node_of(node))]


def _depth(model: Any, node: Any) -> int:
    order = model.design_.order
    depth: int = order.rank(order.node_of(node))[0]
    return depth


# The layout along a path


@dataclass(frozen=True, eq=False)
class HullLayout:
    """What is the same along a path: nodes and their places, two variables, variables with a bar.

    ``nodes`` may be in some hulls and outside others. ``pair`` is None where there is only one
    variable.
    """

    nodes: tuple[Levels, ...]
    names: tuple[str, ...]
    places: tuple[Place, ...]
    parents: tuple[tuple[int, ...], ...]
    variables: tuple[str, ...]
    pair: tuple[int, int] | None
    top_level: int
    bars: tuple[int, ...]


Drawn = tuple[HullLayout, Sequence[Json]]


def hull_layout(
    models: Sequence[Any],
    names: Texts | None = None,
    pair: tuple[int, int] | None = None,
) -> HullLayout:
    """The layout for the hulls of ``models`` along a path.

    It shows at most ``N_NODES`` nodes with the largest norms anywhere, and the sources nearest to
    entering. ``names`` are those of the variables; ``pair`` holds the two variables of the grid,
    the most relevant ones along the path by default. Hulls of a graph that names its nodes have
    neither.
    """
    model = models[0]
    has_variables = model.design_.graph is None
    variables = variable_names(names, len(model.hull_[0])) if has_variables else []
    ranked = most_relevant(models) if has_variables else []
    if pair is None and len(variables) > 1:
        pair = (min(ranked[:2]), max(ranked[:2]))

    def reading_order(node: Any) -> tuple[int, Any]:
        return _depth(model, node), [-level for level in node] if has_variables else str(node)

    inside = _largest_nodes(models)
    nodes = sorted({*inside, *_nearest_sources(models, inside)}, key=reading_order)
    places = _places(nodes, model)
    number = {node: k for k, node in enumerate(nodes)}
    parents = []
    for node in nodes:
        above = [number[parent] for parent in _parents(model, node) if parent in number]
        parents.append(tuple(above))
    return HullLayout(
        nodes=tuple(nodes),
        names=tuple(node_name(node, variables, model) for node in nodes),
        places=tuple(places[node] for node in nodes),
        parents=tuple(parents),
        variables=tuple(variables),
        pair=pair,
        top_level=int(model.design_.q) if has_variables else 0,
        bars=tuple(ranked[:N_RELEVANT]),
    )


def _largest_nodes(models: Sequence[Any]) -> set[Levels]:
    """The nodes with the largest share of the norm at any point, and all their ancestors.

    Nodes are added in this order as long as at most ``N_NODES`` are drawn.
    """
    peaks: dict[Levels, float] = {}
    for model in models:
        norms = _norms(model)
        largest = max(norms) or 1.0
        for node, norm in zip(model.hull_, norms, strict=True):
            peaks[node] = max(norm / largest, peaks.get(node, 0.0))
    depths = {node: _depth(models[0], node) for node in peaks}
    needed: dict[Levels, set[Levels]] = {}
    for node in sorted(peaks, key=depths.__getitem__):
        above = [needed[parent] for parent in _parents(models[0], node)]
        needed[node] = {node}.union(*above)
    drawn: set[Levels] = set()
    for node in sorted(peaks, key=lambda node: (-peaks[node], depths[node], node)):
        if len(drawn | needed[node]) <= N_NODES:
            drawn |= needed[node]
    return drawn


def _nearest_sources(models: Sequence[Any], inside: set[Levels]) -> set[Levels]:
    """The sources nearest to entering at any point, at most ``N_OUTSIDE_IN_ALL``."""
    nearest: dict[Levels, float] = {}
    for model in models:
        for node, share in _sources(model, inside.intersection(model.hull_), model.sources_):
            nearest[node] = max(float(share), nearest.get(node, 0.0))
    outside = [node for node in nearest if node not in inside]
    return set(sorted(outside, key=lambda node: -nearest[node])[:N_OUTSIDE_IN_ALL])


def _sources(
    model: Any, members: set[Levels], candidates: Container[Levels]
) -> list[tuple[Levels, float]]:
    """The sources among ``candidates`` whose parents are all ``members``, the nearest first."""
    sources = []
    for node, share in sorted(model.sources_.items(), key=lambda item: -item[1]):
        if node in candidates and members.issuperset(_parents(model, node)):
            sources.append((node, share))
    return sources[:N_OUTSIDE]


def _places(nodes: Sequence[Any], model: Any) -> dict[Any, Place]:
    """(x, depth, line) of each node: below the mean of its parents, evenly spread over its row.

    Where a row holds more than ``ONE_LINE`` nodes, neighbours alternate between several lines.
    """
    rows: dict[int, list[Any]] = {}
    for node in nodes:
        rows.setdefault(_depth(model, node), []).append(node)
    places: dict[Any, Place] = {}
    for depth in sorted(rows):
        wanted = {}
        for node in rows[depth]:
            above = [places[parent][0] for parent in _parents(model, node) if parent in places]
            wanted[node] = float(np.mean(above or [0.5]))
        row = sorted(rows[depth], key=wanted.__getitem__)
        n_lines = -(-len(row) // ONE_LINE)
        for k, node in enumerate(row):
            places[node] = round((k + 0.5) / len(row), 5), depth, k % n_lines
    return places


# The state at one point


def hull_state(model: Any, layout: HullLayout) -> Json:
    """One hull in the places of ``layout``, as lists and texts that can be written as JSON.

    ``inside`` [node, share of the largest norm, extreme, hover text], ``outside`` [node, share of
    the threshold, label, hover text], ``cells`` [level, level, kind, share, extreme, hover text] of
    the grid with kind "active", "hull" or "next", ``bars`` relevance as shares of the largest,
    ``certified``, ``left_out`` the number of nodes without a place, and ``said`` the picture in
    sentences.
    """
    norms = dict(zip(model.hull_, _norms(model), strict=True))
    largest = max(norms.values()) or 1.0
    number = {node: k for k, node in enumerate(layout.nodes)}
    inside = []
    for node in model.hull_:
        if node in number:
            hover = _hover(node_name(node, layout.variables, model), norms[node], largest)
            share = round(norms[node] / largest, 5)
            inside.append([number[node], share, node in model.extreme_points_, hover])
    outside = []
    drawn = {node for node in model.hull_ if node in number}
    for node, share in _sources(model, drawn, layout.nodes):
        hover = _source_hover(layout.names[number[node]], share)
        outside.append([number[node], _share(share), way(share), hover])
    relevance = _relevance(model)
    return {
        "inside": inside,
        "outside": outside,
        "cells": _cells(model, layout, norms, largest),
        "bars": [round(float(relevance[i]), 5) for i in layout.bars],
        "certified": bool(model.certified_),
        "left_out": len(model.hull_) - len(inside),
        "said": _said(model, layout, outside),
    }


def _share(share: float) -> float:
    return round(float(min(share, 1.0)), 5)


def _hover(name: str, norm: float, largest: float) -> str:
    return f"{name}: ‖β‖ = {style.number(norm)}, {100 * norm / largest:.0f} % of the largest"


def _source_hover(name: str, share: float) -> str:
    return f"{name}: outside, {way(share)} of the way to entering"


def _cells(
    model: Any, layout: HullLayout, norms: dict[Levels, float], largest: float
) -> list[list[Any]]:
    """The cells of the grid of two variables: nodes that contain no other variable."""
    if layout.pair is None:
        return []
    cells = []
    for node in (*model.hull_, *model.sources_):
        first, second = (node[i] for i in layout.pair)
        if first + second < sum(node):
            continue
        name = node_name(node, layout.variables, model)
        if node not in norms:
            share = model.sources_[node]
            hover = _source_hover(name, share)
            cells.append([first, second, "next", _share(share), False, hover])
            continue
        extreme = node in model.extreme_points_
        kind = "hull"
        hover = f"{name}: in the hull for what is below it, adds nothing itself"
        if norms[node] > ACTIVE * largest:
            kind = "active"
            hover = _hover(name, norms[node], largest)
        hover += "; extreme point" * extreme
        cells.append(
            [first, second, kind, round(norms[node] / largest, 5), extreme, hover],
        )
    return cells


def _said(model: Any, layout: HullLayout, outside: Sequence[Sequence[Any]]) -> str:
    order = np.argsort(-np.array(_norms(model)), kind="stable")[:3]
    largest = [node_name(model.hull_[k], layout.variables, model) for k in order]
    count = style.counted(len(model.hull_), "node")
    sentences = [f"{count} in the hull, the largest: {style.joined(largest)}."]
    if outside:
        ways = [f"{layout.names[k]} ({share} of the way)" for k, _, share, _ in outside[:3]]
        sentences.append(f"Next to enter: {style.joined(ways)}.")
    return " ".join([*sentences, certificate_sentence(model)])


def player_state(
    model: Any, layout: HullLayout, score_name: str = "", validation: float = math.nan
) -> Json:
    """``hull_state`` with the line below the cursor: its label, a badge, and a status.

    The status tells how certain the model is, how large, and how well it scores.
    """
    state = hull_state(model, layout)
    gap = gap_of(model)
    status = [style.counted(len(model.hull_), "node")]
    badge = "provisional" if np.isnan(gap) else "not certified"
    if model.certified_:
        badge = "certified"
    if not np.isnan(gap):
        percent = style.percent(gap)
        status.insert(0, f"within {percent}" if model.certified_ else f"gap {percent}")
    if not np.isnan(validation):
        status.append(f"validation {score_name} {captions.score(score_name, validation)}")
    if state["left_out"]:
        status.append(f"{state['left_out']} small ones not drawn")
    label = captions.label("lam", float(model.lam))
    return state | {"label": label, "badge": badge, "status": ", ".join(status)}


# Whole paths


def drawn_along(
    path: Any,
    names: Texts | None = None,
    pair: tuple[int, int] | None = None,
) -> Drawn:
    """Layout and states of the hulls of a path."""
    layout = hull_layout(path.estimators, names, pair)
    states = []
    for model, score in zip(path.estimators, path.val_score, strict=True):
        states.append(player_state(model, layout, path.score_name, float(score)))
    return layout, states


def hull_json(
    layout: HullLayout,
    states: Sequence[Json],
    numbers: Sequence[int],
    *,
    dark: bool,
) -> Json:
    """What the player ``hull`` shows: ``states`` are those of ``player_state`` at every point.

    ``numbers`` (p,) are the columns' numbers in their table, from 1 on.
    """
    nodes = []
    for k, node in enumerate(layout.nodes):
        place = dict(zip(("x", "depth", "lane"), layout.places[k], strict=True))
        parents = list(layout.parents[k])
        name = layout.names[k]
        nodes.append(place | {"id": node_id(node, numbers), "name": name, "parents": parents})
    grid = None
    if layout.pair is not None:
        first, second = layout.pair
        grid = {
            "first": layout.variables[first],
            "second": layout.variables[second],
            "numbers": [numbers[first], numbers[second]],
            "top": layout.top_level,
        }
    return {
        "nodes": nodes,
        "grid": grid,
        "bars": style.chosen(layout.variables, layout.bars),
        "states": list(states),
        "index": 0,
        "exact": None,
        "ticks": None,
        "turn": 1,
        "selected": "",
        "tells": False,
        "hue": style.family_shade("hkl", 0, dark),
    }


# One hull as a static figure


def hull_graph(
    model: Any,
    names: Texts | None = None,
    *,
    dark: bool = False,
) -> Figure:
    """The hull as a graph by depth: areas are ||beta_v||, extreme points have an outline.

    Hollow nodes are the sources nearest to entering, at most eight. At most 40 nodes are drawn:
    those with the largest norms and all their ancestors, which are a hull again. ``names`` are
    those of the variables (x0, x1, ... by default). The id of every mark is its node, p levels
    joined by commas.
    """
    layout = hull_layout([model], names)
    state = hull_state(model, layout)
    deepest = max(depth for _, depth, _ in layout.places)
    alt = f"The hull as a graph down to depth {max(_depth(model, node) for node in model.hull_)}."
    if state["left_out"]:
        alt += f" {style.counted(state['left_out'], 'node')} with small weight left out."
    figure = style.new_figure(
        f"{alt} {state['said']}",
        dark,
        90 + ROW * (deepest + 1),
        margin={"l": 64, "r": 24, "t": 24, "b": 24},
    )
    tone = style.theme(dark)
    outline_widths = []
    sizes = []
    for _, share, extreme, _ in state["inside"]:
        outline_widths.append(2.5 if extreme else 0.0)
        sizes.append(max(SMALLEST, LARGEST * math.sqrt(share)))
    filled = {
        "size": sizes,
        "color": style.family_shade("hkl", 0, dark),
        "opacity": 1.0,
        "line": {"color": tone.ink, "width": outline_widths},
    }
    hollow = {"size": 11, "color": tone.paper, "line": {"color": tone.muted, "width": 1.5}}
    dash = "solid" if model.certified_ else "dash"
    _edges(figure, layout, state["inside"], {"color": tone.grey, "width": 1.5, "dash": dash})
    _edges(figure, layout, state["outside"], {"color": tone.grey, "width": 1, "dash": "dot"})
    _nodes(figure, layout, state["inside"], {}, filled, tone.ink, "top center")
    ways = {k: f"<br>{share}" for k, _, share, _ in state["outside"]}
    _nodes(figure, layout, state["outside"], ways, hollow, tone.muted, "bottom center")
    figure.update_xaxes(visible=False, range=[-0.04, 1.04])
    depths = {"tickvals": list(range(deepest + 1)), "range": [deepest + 0.6, -0.5]}
    figure.update_yaxes(title="depth", **depths)
    return figure


def _edges(
    figure: Figure,
    layout: HullLayout,
    nodes: Sequence[Sequence[Any]],
    line: Json,
) -> None:
    """Lines from the ``nodes`` of a state to their parents."""
    ends: list[Any] = []
    for k, *_ in nodes:
        for parent in layout.parents[k]:
            ends += [layout.places[parent], layout.places[k], (None, None)]
    x = [end[0] for end in ends]
    y = [end[1] for end in ends]
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", name="edges")


def _nodes(
    figure: Figure,
    layout: HullLayout,
    nodes: Sequence[Sequence[Any]],
    second_lines: dict[int, str],
    marker: Json,
    ink: str,
    side: str,
) -> None:
    """Marks of ``nodes`` of a state; the largest have a label where it touches no other label."""
    labelled: list[int] = []
    for k, *_ in sorted(nodes, key=lambda entry: -entry[1])[:N_LABELS]:
        x, depth, _ = layout.places[k]
        row = [layout.places[other][0] for other in labelled if layout.places[other][1] == depth]
        if all(abs(other - x) >= LABEL_GAP for other in row):
            labelled.append(k)
    labels = style.shorts(style.chosen(layout.names, labelled), 14)
    texts = {}
    for k, label in zip(labelled, labels, strict=True):
        texts[k] = label + second_lines.get(k, "")
    shown = [k for k, *_ in nodes]
    ids = []
    for k in shown:
        node = layout.nodes[k]
        ids.append(",".join(map(str, node)) if isinstance(node, tuple) else str(node))
    figure.add_scatter(
        x=[layout.places[k][0] for k in shown],
        y=[layout.places[k][1] for k in shown],
        name="nodes",
        mode="markers+text",
        marker=marker,
        textposition=side,
        textfont={"color": ink},
        cliponaxis=False,
        text=[texts.get(k, "") for k in shown],
        ids=ids,
        customdata=[hover for *_, hover in nodes],
        hovertemplate="%{customdata}<extra></extra>",
    )
