"""Hulls along a path as plain numbers: what a page needs to redraw grid, graph and relevance while a cursor is dragged.

Places never move along a path: the graph is laid out once for every node that is drawn at any of its points. Nothing is
solved and nothing is drawn here; lengths are shares of the width or of the largest mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import captions, style
from mklcore.figures.hulls import (
    Levels,
    certificate_words,
    checked_pair,
    depth_by,
    node_name,
    own_norms,
    parents_by,
    places_by_depth,
    slice_of_two,
    top_level,
    variable_names,
)

N_NODES, N_OUTSIDE, N_OUTSIDE_IN_ALL = 40, 8, 24
N_RELEVANT = 10
ONE_LINE = 12  # nodes of one depth beyond which they take turns in several lines
ACTIVE = 1e-5  # ||beta_v|| above this share of the largest: the node itself contributes


@dataclass(frozen=True, eq=False)
class HullLayout:
    """What stays along a path: the nodes drawn in the graph with their places, two variables, the variables with a bar.

    ``nodes`` may be in some hulls and outside others. ``pair`` is None where there is only one variable.
    """

    nodes: tuple[Levels, ...]
    names: tuple[str, ...]
    places: tuple[tuple[float, int, int], ...]
    parents: tuple[tuple[int, ...], ...]
    variables: tuple[str, ...]
    pair: tuple[int, int] | None
    top_level: int
    bars: tuple[int, ...]


def hull_layout(
    models: Sequence[Any],
    names: Sequence[str] | None = None,
    pair: tuple[int, int] | None = None,
    *,
    limit: int = N_NODES,
) -> HullLayout:
    """Places for the hulls of ``models`` along a path: nodes with the largest norms anywhere, and who is next to enter.

    ``names`` are the variable names, ``pair`` the two of the grid (the two most relevant along the path without it);
    hulls of a graph with nodes of its own have neither. ``limit`` is how many nodes inside are drawn at most.
    """
    above, depth, inside = parents_by(models), depth_by(models), _shown(models, limit)
    listed = hasattr(models[0], "edges_")
    labels = [] if listed else variable_names(names, len(models[0].hull_[0]))
    ranked = [] if listed else most_relevant(models)
    two = None if len(labels) < 2 else (min(ranked[:2]), max(ranked[:2]))
    if pair is not None and not listed:
        two = checked_pair(pair, len(labels))

    def order(node: Any) -> tuple[int, Any]:
        return depth(node), str(node) if listed else [-level for level in node]

    nodes = sorted({*inside, *_candidates(models, inside)}, key=order)
    place = {node: k for k, node in enumerate(nodes)}
    return HullLayout(
        tuple(nodes),
        tuple(node_name(node, labels, models[0]) for node in nodes),
        _in_lines(nodes, places_by_depth(nodes, above, depth)),
        tuple(tuple(place[parent] for parent in above(node) if parent in place) for node in nodes),
        tuple(labels),
        two,
        0 if listed else top_level(models[0]),
        tuple(ranked[:N_RELEVANT]),
    )


def most_relevant(models: Sequence[Any]) -> list[int]:
    """The variables by their largest share of relevance anywhere along the path."""
    shares = np.array([_shares(model) for model in models]).max(axis=0)
    order: list[int] = np.argsort(-shares, kind="stable").tolist()
    return order


def hull_state(model: Any, layout: HullLayout) -> dict[str, Any]:
    """One hull in the places of ``layout``, as lists and words that can be written as JSON.

    ``inside`` [node, share of the largest norm, extreme, hover], ``outside`` [node, share of the threshold, label,
    hover], ``cells`` [level, level, kind, share, hover] of the grid with kind "active", "hull" or "next", ``extreme``
    cells, ``bars`` shares of the largest relevance, ``certified``, ``said`` for those who do not see the picture.
    """
    norms = dict(zip(model.hull_, own_norms(model), strict=True))
    called = {node: node_name(node, layout.variables, model) for node in model.hull_}
    top, extreme = max(norms.values()) or 1.0, set(model.extreme_points_)
    place = {node: k for k, node in enumerate(layout.nodes)}
    shares = _shares(model)
    inside = [
        [place[node], round(norms[node] / top, 5), node in extreme, _hover(called[node], norms[node], top)]
        for node in model.hull_
        if node in place
    ]
    outside = [
        [place[node], round(float(min(share, 1.0)), 5), way(share), _way(layout.names[place[node]], share)]
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


def hull_words(model: Any, score_name: str = "", validation: float = float("nan")) -> dict[str, str]:
    """What the cursor's line says of one hull: its place, a badge, and how sure, how large, how good it is."""
    reached, parts = gap_of(model), [style.counted(len(model.hull_), "node")]
    if not np.isnan(reached):
        parts.insert(0, f"within {style.percent(reached)}" if model.certified_ else f"gap {style.percent(reached)}")
    if not np.isnan(validation):
        parts.append(f"validation {score_name} {captions.score(score_name, validation)}")
    return {"label": captions.label("lam", float(model.lam)), "badge": badge_of(model), "status": ", ".join(parts)}


def player_state(model: Any, layout: HullLayout, words: dict[str, str]) -> dict[str, Any]:
    """One hull in the places of ``layout`` with what is said of it, also of nodes that have no place there."""
    state = hull_state(model, layout)
    hidden = f", {state['left_out']} small ones not drawn" if state["left_out"] else ""
    return state | words | {"status": words["status"] + hidden}


def gap_of(model: Any) -> float:
    """The gap of a hull relative to its objective, the largest over the classes; nan where none is known."""
    return float("nan") if model.relative_gap_ is None else float(np.max(model.relative_gap_))


def badge_of(model: Any) -> str:
    """How sure a hull is, in a word or two."""
    return "certified" if model.certified_ else "provisional" if np.isnan(gap_of(model)) else "not certified"


def node_id(node: Levels, numbers: Sequence[int]) -> str:
    """A node as a link holds it: 3^2*5^1, with the ``numbers`` (p,) of the columns from 1 on; "root" for the root."""
    if not isinstance(node, tuple):  # of a graph with names of its own
        return str(node) or "root"
    return "*".join(f"{numbers[i]}^{level}" for i, level in enumerate(node) if level) or "root"


def hull_player(
    layout: HullLayout, states: Sequence[dict[str, Any]], numbers: Sequence[int], *, dark: bool
) -> dict[str, Any]:
    """What the player ``hull`` shows in every place: ``states`` are hull_state and hull_words of every point."""
    return {
        "nodes": [
            {"id": node_id(node, numbers), "name": name, "x": place[0], "depth": place[1], "lane": place[2],
             "parents": list(above)}
            for node, name, place, above in zip(layout.nodes, layout.names, layout.places, layout.parents, strict=True)
        ],
        "grid": _frame(layout, numbers),
        "bars": [layout.variables[i] for i in layout.bars],
        "states": list(states),
        "hue": style.readable(style.FAMILY_HUES["hkl"], dark),
    }  # fmt: skip


def _frame(layout: HullLayout, numbers: Sequence[int]) -> dict[str, Any] | None:
    if layout.pair is None:
        return None
    first, second = layout.pair
    names = [layout.variables[i] for i in layout.pair]
    return {
        "first": names[0], "second": names[1], "numbers": [numbers[first], numbers[second]], "top": layout.top_level,
    }  # fmt: skip


# Which nodes


def _shown(models: Sequence[Any], limit: int) -> set[Levels]:
    """Nodes by their largest share of the norm along the path, each with its ancestors, until ``limit`` would be
    passed.
    """
    peaks: dict[Levels, float] = {}
    for model in models:
        norms = own_norms(model)
        top = max(norms) or 1.0
        for node, norm in zip(model.hull_, norms, strict=True):
            peaks[node] = max(norm / top, peaks.get(node, 0.0))
    above, depth = parents_by(models), depth_by(models)
    kept: set[Levels] = set()
    for node in sorted(peaks, key=lambda node: (-peaks[node], depth(node), node)):
        needed, stack = {node}, [node]
        while stack:
            fresh = {parent for parent in above(stack.pop()) if parent not in kept and parent not in needed}
            needed |= fresh
            stack += fresh
        if len(kept | needed) <= limit:
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


def _next(model: Any, members: set[Levels], drawn: dict[Levels, int] | None) -> list[tuple[Levels, float]]:
    """The sources nearest to entering whose parents are all among ``members``, and which have a place if places are
    given.
    """
    ranked, above = sorted(model.sources_.items(), key=lambda item: -item[1]), parents_by([model])
    fit = [
        (node, share)
        for node, share in ranked
        if (drawn is None or node in drawn) and all(parent in members for parent in above(node))
    ]
    return fit[:N_OUTSIDE]


def _in_lines(nodes: Sequence[Levels], found: dict[Levels, tuple[float, int]]) -> tuple[tuple[float, int, int], ...]:
    """(x, depth, line): where a depth holds more than ``ONE_LINE`` nodes, neighbours take turns in several lines."""
    rows: dict[int, list[Levels]] = {}
    for node in nodes:
        rows.setdefault(found[node][1], []).append(node)
    lines_of: dict[Levels, int] = {}
    for row in rows.values():
        lines = -(-len(row) // ONE_LINE)
        for k, node in enumerate(sorted(row, key=lambda node: found[node][0])):
            lines_of[node] = k % lines
    return tuple((round(found[node][0], 5), found[node][1], lines_of[node]) for node in nodes)


# Words and numbers


def _shares(model: Any) -> Array:
    relevance = np.asarray(model.relevance_, dtype=float)
    return relevance / (float(relevance.max(initial=0.0)) or 1.0)


def _hover(name: str, norm: float, top: float) -> str:
    return f"{name}: ‖β‖ = {style.number(norm)}, {100 * norm / top:.0f} % of the largest"


def way(share: float) -> str:
    """A share of the threshold of entering; beyond it, where a search was cut short, how far does not matter."""
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
    outlined = slice_of_two(dict.fromkeys(extreme, 1.0), first, second)
    words = {
        (node[first], node[second]): name for node, name in called.items() if sum(node) == node[first] + node[second]
    }
    cells = []
    for cell, norm in slice_of_two(norms, first, second).items():
        kind, more = ("active", _hover(words[cell], norm, top)) if norm > ACTIVE * top else ("hull", words[cell])
        more = more if kind == "active" else f"{more}: in the hull for what is below it, adds nothing itself"
        more += "; extreme point" if cell in outlined else ""
        cells.append([*cell, kind, round(norm / top, 5), cell in outlined, more])
    for cell, share in slice_of_two(model.sources_, first, second).items():
        levels = [0] * len(layout.variables)
        levels[first], levels[second] = cell
        name = node_name(tuple(levels), layout.variables, model)
        cells.append([*cell, "next", round(float(min(share, 1.0)), 5), False, _way(name, share)])
    return {"cells": cells}


def _said(model: Any, layout: HullLayout, called: dict[Levels, str], outside: Sequence[Sequence[Any]]) -> str:
    parts = [f"{style.counted(len(model.hull_), 'node')} in the hull, the largest: {_largest(model, called)}."]
    if outside:
        ways = [f"{layout.names[k]} ({share} of the way)" for k, _, share, _ in outside[:3]]
        parts.append(f"Next to enter: {style.joined(ways)}.")
    return " ".join(parts) + certificate_words(model)


def _largest(model: Any, called: dict[Levels, str]) -> str:
    order = np.argsort(-np.array(own_norms(model)), kind="stable")[:3]
    return style.joined([called[model.hull_[k]] for k in order])
