"""Hulls: what pictures of them show, as JSON for the player ``hull`` and as static figures of one
hull.

They read a fitted hierarchical model by its fields alone: ``design_`` (parents, depth and names of
nodes), ``hull_``, ``kernel_names_``, ``component_norms_`` (m,), ``extreme_points_``, ``sources_``
(node -> share of the threshold), ``relevance_``, ``certified_``, ``relative_gap_``,
``n_dag_kernels_``. What stands outside is hollow and says how far it is from entering; an answer
without a certificate is dashed and says so. Places never move along a path: the graph is laid out
once for every node drawn at any point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.style import graph_objects as go

Levels = tuple[int, ...]
N_NODES = 40
N_OUTSIDE = 8
N_OUTSIDE_IN_ALL = 24
N_RELEVANT = 10
ONE_LINE = 12  # nodes of one depth beyond which they take turns in several lines
ACTIVE = 1e-5  # ||beta_v|| above this share of the largest: the node itself contributes
# marker diameters; areas are proportional to the norm above the smallest
LARGEST = 36
SMALLEST = 9
N_LABELS = 24
# of the width: marks of a row closer than this to a labelled one go without a label
LABEL_GAP = 0.2
ROW = 84  # px of a depth


# What pictures of hulls share


def kernel_count(count: int) -> str:
    """A whole number of any size: in full up to a million, then as a power of ten (2.33 × 10²²)."""
    if count <= 1_000_000:
        return f"{count:,}"
    digits = str(count)
    power = len(digits) - 1
    head = f"{int(digits[:5]) / 10 ** (len(digits[:5]) - 1):.3g}"
    return f"{head} × {style.power_of_ten(power)}"


def own_norms(model: Any) -> list[float]:
    norms: list[float] = np.atleast_2d(model.component_norms_).max(axis=0).tolist()
    return norms


def checked_pair(variables: Sequence[int], p: int) -> tuple[int, int]:
    pair = tuple(variables)
    if len(pair) != 2 or pair[0] == pair[1] or not all(0 <= i < p for i in pair):
        raise ParameterError(
            f"Two different variables from 0 to {p - 1} are needed; got {variables!r}."
        )
    return pair[0], pair[1]


def variable_names(names: Sequence[str] | None, p: int) -> list[str]:
    if names is None:
        return [f"x{i}" for i in range(p)]
    if len(names) != p:
        raise ParameterError(
            f"One name per variable is needed: {p} variables; got {len(names)} names."
        )
    return list(names)


def slice_of_two(values: dict[Levels, Any], first: int, second: int) -> dict[tuple[int, int], Any]:
    """What touches no variable but these two, by its two levels."""
    return {
        (node[first], node[second]): value
        for node, value in values.items()
        if sum(node) == node[first] + node[second]
    }


def certificate_words(model: Any) -> str:
    if model.certified_:
        return f" Certified over all {kernel_count(model.n_dag_kernels_)} kernels."
    if model.relative_gap_ is None:
        return (
            " Provisional: only the necessary condition was checked, the certified hull can "
            "differ in kind."
        )
    return (
        f" Not certified: the gap is {style.percent(float(np.max(model.relative_gap_)))} of "
        "the objective."
    )


def _above(model: Any, node: Any) -> list[Any]:
    """The parents of a node."""
    order = model.design_.order
    return [order.key(parent) for parent in order.parents(order.node_of(node))]


def _depth(model: Any, node: Any) -> int:
    order = model.design_.order
    depth: int = order.rank(order.node_of(node))[0]
    return depth


def _places(nodes: Sequence[Any], model: Any) -> dict[Any, tuple[float, int, int]]:
    """(x, depth, line) of each node: below the mean of its parents, spread evenly over its row;
    where a row holds more than ``ONE_LINE`` nodes, neighbours take turns in several lines.
    """
    rows: dict[int, list[Any]] = {}
    for node in nodes:
        rows.setdefault(_depth(model, node), []).append(node)
    found: dict[Any, tuple[float, int, int]] = {}
    for level in sorted(rows):
        wanted = {
            node: float(
                np.mean(
                    [found[parent][0] for parent in _above(model, node) if parent in found] or [0.5]
                )
            )
            for node in rows[level]
        }
        order = sorted(rows[level], key=wanted.__getitem__)
        lines = -(-len(order) // ONE_LINE)
        for k, node in enumerate(order):
            found[node] = round((k + 0.5) / len(order), 5), level, k % lines
    return found


def node_name(node: Any, labels: Sequence[str], model: Any) -> str:
    """The name of a node in or outside the hull, by the ``labels`` of a grid's variables."""
    if not labels:  # a graph with nodes of its own
        return str(node) or "1"
    design = model.design_
    touched = [design.levels.level_name(labels[i], level) for i, level in enumerate(node) if level]
    return "·".join(touched) or str(design.name(()))


# Along a path


@dataclass(frozen=True, eq=False)
class HullLayout:
    """What stays along a path: the nodes drawn in the graph with their places, two variables, the
    variables with a bar.

    ``nodes`` may be in some hulls and outside others. ``pair`` is None where there is only one
    variable.
    """

    nodes: tuple[Levels, ...]
    names: tuple[str, ...]
    places: tuple[tuple[float, int, int], ...]
    parents: tuple[tuple[int, ...], ...]
    variables: tuple[str, ...]
    pair: tuple[int, int] | None
    top_level: int
    bars: tuple[int, ...]


Drawn = tuple[HullLayout, Sequence[dict[str, Any]]]


def hull_layout(
    models: Sequence[Any],
    names: Sequence[str] | None = None,
    pair: tuple[int, int] | None = None,
) -> HullLayout:
    """Places for the hulls of ``models`` along a path: nodes with the largest norms anywhere, and
    who is next to enter.

    ``names`` are the variable names, ``pair`` the two of the grid (the two most relevant along the
    path without it); hulls of a graph with nodes of its own have neither. At most ``N_NODES``
    inside are drawn.
    """
    model, inside = models[0], _shown(models)
    listed = model.design_.graph is not None
    labels = [] if listed else variable_names(names, len(model.hull_[0]))
    ranked = [] if listed else most_relevant(models)
    two = None if len(labels) < 2 else (min(ranked[:2]), max(ranked[:2]))
    if pair is not None and not listed:
        two = checked_pair(pair, len(labels))

    def order(node: Any) -> tuple[int, Any]:
        return _depth(model, node), str(node) if listed else [-level for level in node]

    nodes = sorted({*inside, *_candidates(models, inside)}, key=order)
    places = _places(nodes, model)
    at = {node: k for k, node in enumerate(nodes)}
    return HullLayout(
        nodes=tuple(nodes),
        names=tuple(node_name(node, labels, model) for node in nodes),
        places=tuple(places[node] for node in nodes),
        parents=tuple(
            tuple(at[parent] for parent in _above(model, node) if parent in at) for node in nodes
        ),
        variables=tuple(labels),
        pair=two,
        top_level=0 if listed else int(model.design_.q),
        bars=tuple(ranked[:N_RELEVANT]),
    )


def most_relevant(models: Sequence[Any]) -> list[int]:
    """The variables by their largest share of relevance anywhere along the path."""
    shares = np.array([_shares(model) for model in models]).max(axis=0)
    order: list[int] = np.argsort(-shares, kind="stable").tolist()
    return order


def hull_state(model: Any, layout: HullLayout) -> dict[str, Any]:
    """One hull in the places of ``layout``, as lists and words that can be written as JSON.

    ``inside`` [node, share of the largest norm, extreme, hover], ``outside`` [node, share of the
    threshold, label, hover], ``cells`` [level, level, kind, share, hover] of the grid with kind
    "active", "hull" or "next", ``extreme`` cells, ``bars`` shares of the largest relevance,
    ``certified``, ``said`` for those who do not see the picture.
    """
    norms = dict(zip(model.hull_, own_norms(model), strict=True))
    called = {node: node_name(node, layout.variables, model) for node in model.hull_}
    top = max(norms.values()) or 1.0
    extreme = set(model.extreme_points_)
    place = {node: k for k, node in enumerate(layout.nodes)}
    shares = _shares(model)
    inside = [
        [
            place[node],
            round(norms[node] / top, 5),
            node in extreme,
            _hover(called[node], norms[node], top),
        ]
        for node in model.hull_
        if node in place
    ]
    outside = [
        [
            place[node],
            round(float(min(share, 1.0)), 5),
            way(share),
            _way(layout.names[place[node]], share),
        ]
        for node, share in _next(model, {node for node in model.hull_ if node in place}, place)
    ]
    return {
        "inside": inside,
        "outside": outside,
        **_grid(model, layout, norms, called, top, extreme),
        "bars": [round(float(shares[i]), 5) for i in layout.bars],
        "certified": bool(model.certified_),
        "left_out": len(model.hull_) - len(inside),
        "said": _said(model, layout, called, outside),
    }


def player_state(
    model: Any, layout: HullLayout, score_name: str = "", validation: float = math.nan
) -> dict[str, Any]:
    """One hull in the places of ``layout``, with what the cursor's line says of it: its place, a
    badge, and how sure, how large, how good it is.
    """
    state = hull_state(model, layout)
    reached = gap_of(model)
    parts = [style.counted(len(model.hull_), "node")]
    if not np.isnan(reached):
        parts.insert(
            0,
            f"within {style.percent(reached)}"
            if model.certified_
            else f"gap {style.percent(reached)}",
        )
    if not np.isnan(validation):
        parts.append(f"validation {score_name} {captions.score(score_name, validation)}")
    if state["left_out"]:
        parts.append(f"{state['left_out']} small ones not drawn")
    badge = (
        "certified" if model.certified_ else "provisional" if np.isnan(reached) else "not certified"
    )
    label = captions.label("lam", float(model.lam))
    return state | {"label": label, "badge": badge, "status": ", ".join(parts)}


def drawn_along(
    path: Any, names: Sequence[str] | None = None, pair: tuple[int, int] | None = None
) -> Drawn:
    """Layout and states of the hulls of a path."""
    layout = hull_layout(path.estimators, names, pair)
    points = zip(path.estimators, path.val_score, strict=True)
    return layout, [
        player_state(model, layout, path.score_name, float(score)) for model, score in points
    ]


def gap_of(model: Any) -> float:
    """The gap of a hull relative to its objective, the largest over the classes; nan where none is
    known.
    """
    return float("nan") if model.relative_gap_ is None else float(np.max(model.relative_gap_))


def node_id(node: Levels, numbers: Sequence[int]) -> str:
    """A node as a link holds it: 3^2*5^1, with the ``numbers`` (p,) of the columns from 1 on;
    "root" for the root.
    """
    if not isinstance(node, tuple):  # of a graph with names of its own
        return str(node) or "root"
    return "*".join(f"{numbers[i]}^{level}" for i, level in enumerate(node) if level) or "root"


def hull_json(
    layout: HullLayout, states: Sequence[dict[str, Any]], numbers: Sequence[int], *, dark: bool
) -> dict[str, Any]:
    """What the player ``hull`` shows in every place: ``states`` are those of ``player_state`` at
    every point.

    ``numbers`` (p,) are the columns' numbers in their table, from 1 on.
    """
    nodes = zip(layout.nodes, layout.names, layout.places, layout.parents, strict=True)
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
        "nodes": [
            {
                "id": node_id(node, numbers),
                "name": name,
                "x": x,
                "depth": depth,
                "lane": lane,
                "parents": list(above),
            }
            for node, name, (x, depth, lane), above in nodes
        ],
        "grid": grid,
        "bars": [layout.variables[i] for i in layout.bars],
        "states": list(states),
        "index": 0,
        "exact": None,
        "ticks": None,
        "turn": 1,
        "selected": "",
        "waiting": False,
        "tells": False,
        "hue": style.readable(style.family_hues()["hkl"], dark),
    }


# Which nodes


def _shown(models: Sequence[Any]) -> set[Levels]:
    """Nodes by their largest share of the norm along the path, each with its ancestors, until
    ``N_NODES`` would be passed.
    """
    peaks: dict[Levels, float] = {}
    for model in models:
        norms = own_norms(model)
        top = max(norms) or 1.0
        for node, norm in zip(model.hull_, norms, strict=True):
            peaks[node] = max(norm / top, peaks.get(node, 0.0))
    kept: set[Levels] = set()
    for node in sorted(peaks, key=lambda node: (-peaks[node], _depth(models[0], node), node)):
        needed = {node}
        stack = [node]
        while stack:
            fresh = set(_above(models[0], stack.pop())) - kept - needed
            needed |= fresh
            stack += fresh
        if len(kept | needed) <= N_NODES:
            kept |= needed
    return kept


def _candidates(models: Sequence[Any], inside: set[Levels]) -> set[Levels]:
    """The sources nearest to entering anywhere, at most ``N_OUTSIDE_IN_ALL`` that are in no hull."""
    nearest: dict[Levels, float] = {}
    for model in models:
        members = {node for node in model.hull_ if node in inside}
        for node, share in _next(model, members, None):
            nearest[node] = max(float(share), nearest.get(node, 0.0))
    outside = [node for node in nearest if node not in inside]
    return set(sorted(outside, key=lambda node: -nearest[node])[:N_OUTSIDE_IN_ALL])


def _next(
    model: Any, members: set[Levels], drawn: dict[Levels, int] | None
) -> list[tuple[Levels, float]]:
    """The sources nearest to entering whose parents are all among ``members``, and which have a
    place if places are given.
    """
    fit = [
        (node, share)
        for node, share in sorted(model.sources_.items(), key=lambda item: -item[1])
        if (drawn is None or node in drawn) and members.issuperset(_above(model, node))
    ]
    return fit[:N_OUTSIDE]


# Words and numbers


def _shares(model: Any) -> Array:
    relevance = np.asarray(model.relevance_, dtype=float)
    return relevance / (float(relevance.max(initial=0.0)) or 1.0)


def _hover(name: str, norm: float, top: float) -> str:
    return f"{name}: ‖β‖ = {style.number(norm)}, {100 * norm / top:.0f} % of the largest"


def way(share: float) -> str:
    """A share of the threshold of entering; beyond it, where a search was cut short, how far does
    not matter.
    """
    return style.percent(min(share, 1.0)) if share <= 1.01 else "all"


def _way(name: str, share: float) -> str:
    return f"{name}: outside, {way(share)} of the way to entering"


def _grid(
    model: Any,
    layout: HullLayout,
    norms: dict[Levels, float],
    called: dict[Levels, str],
    top: float,
    extreme: set[Levels],
) -> dict[str, Any]:
    if layout.pair is None:
        return {"cells": []}
    first, second = layout.pair
    outlined, words = (slice_of_two(of, first, second) for of in (dict.fromkeys(extreme), called))
    cells = []
    for cell, norm in slice_of_two(norms, first, second).items():
        kind, more = (
            ("active", _hover(words[cell], norm, top))
            if norm > ACTIVE * top
            else ("hull", words[cell])
        )
        more = (
            more
            if kind == "active"
            else f"{more}: in the hull for what is below it, adds nothing itself"
        )
        more += "; extreme point" if cell in outlined else ""
        cells.append([*cell, kind, round(norm / top, 5), cell in outlined, more])
    for cell, share in slice_of_two(model.sources_, first, second).items():
        levels = [0] * len(layout.variables)
        levels[first], levels[second] = cell
        name = node_name(tuple(levels), layout.variables, model)
        cells.append([*cell, "next", round(float(min(share, 1.0)), 5), False, _way(name, share)])
    return {"cells": cells}


def _said(
    model: Any, layout: HullLayout, called: dict[Levels, str], outside: Sequence[Sequence[Any]]
) -> str:
    parts = [
        (
            f"{style.counted(len(model.hull_), 'node')} in the hull, the largest: "
            f"{_largest(model, called)}."
        )
    ]
    if outside:
        ways = [f"{layout.names[k]} ({share} of the way)" for k, _, share, _ in outside[:3]]
        parts.append(f"Next to enter: {style.joined(ways)}.")
    return " ".join(parts) + certificate_words(model)


def _largest(model: Any, called: dict[Levels, str]) -> str:
    order = np.argsort(-np.array(own_norms(model)), kind="stable")[:3]
    return style.joined([called[model.hull_[k]] for k in order])


# One hull as a static figure


def hull_graph(model: Any, names: Sequence[str] | None = None, *, dark: bool = False) -> go.Figure:
    """The hull as a graph by depth: area is ||beta_v||, extreme points are outlined, hollow nodes
    could enter next.

    At most 40 nodes (a hull again: those with the largest norms and what is above them) and the
    first eight sources. ``names`` are the variable names, needed for the sources (x1, x2, ...
    without). Every mark's id is its node, its p levels joined by commas.
    """
    layout = hull_layout([model], names)
    state = hull_state(model, layout)
    tone = style.theme(dark)
    deepest = max(depth for _, depth, _ in layout.places)
    left = (
        f" {style.counted(state['left_out'], 'node')} with small weight left out."
        if state["left_out"]
        else ""
    )
    start = f"The hull as a graph down to depth {max(_depth(model, node) for node in model.hull_)}"
    margin = {"l": 64, "r": 24, "t": 24, "b": 24}
    figure = style.new_figure(
        f"{start}.{left} {state['said']}", dark, 90 + ROW * (deepest + 1), margin=margin
    )
    sizes = [max(SMALLEST, LARGEST * float(np.sqrt(share))) for _, share, *_ in state["inside"]]
    outlines = {"color": tone.ink, "width": [2.5 * extreme for _, _, extreme, _ in state["inside"]]}
    filled = {
        "size": sizes,
        "color": style.readable(style.family_hues()["hkl"], dark),
        "opacity": 1.0,
    }
    hollow = {"size": 11, "color": tone.paper, "line": {"color": tone.muted, "width": 1.5}}
    ways = {k: f"<br>{share}" for k, _, share, _ in state["outside"]}
    solid = "solid" if model.certified_ else "dash"
    _edges(figure, layout, state["inside"], {"color": tone.grey, "width": 1.5, "dash": solid})
    _edges(figure, layout, state["outside"], {"color": tone.grey, "width": 1, "dash": "dot"})
    _nodes(figure, layout, state["inside"], {}, filled | {"line": outlines}, tone.ink, "top center")
    _nodes(figure, layout, state["outside"], ways, hollow, tone.muted, "bottom center")
    figure.update_xaxes(visible=False, range=[-0.04, 1.04])
    depths = {"tickvals": list(range(deepest + 1)), "range": [deepest + 0.6, -0.5]}
    figure.layout.yaxis = style.axis("depth", dark, **depths)
    return figure


def _edges(
    figure: go.Figure, layout: HullLayout, drawn: Sequence[Sequence[Any]], line: dict[str, Any]
) -> None:
    ends = [(above, k, None) for k, *_ in drawn for above in layout.parents[k]]
    x, y = (
        [None if k is None else layout.places[k][axis] for pair in ends for k in pair]
        for axis in (0, 1)
    )
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", name="edges")


def _nodes(
    figure: go.Figure,
    layout: HullLayout,
    drawn: Sequence[Sequence[Any]],
    below: dict[int, str],
    marker: dict[str, Any],
    ink: str,
    side: str,
) -> None:
    """Marks of some nodes of a state, labelled where no label touches those of its row, the largest
    first.
    """
    labelled: list[int] = []
    for k, *_ in sorted(drawn, key=lambda entry: -entry[1])[:N_LABELS]:
        x, row, _ = layout.places[k]
        near = (layout.places[other] for other in labelled)
        if all(other_row != row or abs(other - x) >= LABEL_GAP for other, other_row, _ in near):
            labelled.append(k)
    nodes = [layout.nodes[k] for k, *_ in drawn]
    names = dict(zip(labelled, style.shorts([layout.names[k] for k in labelled], 14), strict=True))
    figure.add_scatter(
        x=[layout.places[k][0] for k, *_ in drawn],
        y=[layout.places[k][1] for k, *_ in drawn],
        name="nodes",
        mode="markers+text",
        marker=marker,
        textposition=side,
        textfont={"color": ink},
        cliponaxis=False,
        text=[names[k] + below.get(k, "") if k in labelled else "" for k, *_ in drawn],
        ids=[",".join(map(str, node)) if isinstance(node, tuple) else str(node) for node in nodes],
        customdata=[hover for *_, hover in drawn],
        hovertemplate="%{customdata}<extra></extra>",
    )
