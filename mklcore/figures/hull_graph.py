"""The hull as a graph by depth: what is inside, how much each node carries, and what could enter next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mklcore.figures import style
from mklcore.figures.graph_objects import go
from mklcore.figures.hulls import Levels, certificate_words, own_norms, variable_names

LARGEST, SMALLEST = 36, 9  # marker diameters; areas are proportional to the norm above the smallest
N_OUTSIDE = 8
N_NODES = 40
N_LABELS = 24
LABEL_GAP = 0.2  # of the width: marks of a row closer than this to a labelled one go without a label
ROW = 84
Places = dict[Levels, tuple[float, int]]


def hull_graph(
    model: Any, names: Sequence[str] | None = None, *, limit: int = N_NODES, dark: bool = False
) -> go.Figure:
    """The hull as a graph by depth: area is ||beta_v||, extreme points are outlined, hollow nodes could enter next.

    At most ``limit`` nodes (a hull again: those with the largest norms and what is above them) and the first eight
    sources. ``names`` are the variable names, needed for the sources (x1, x2, ... without). Every mark's id is its
    node, its p levels joined by commas.
    """
    above, depth = parents_by([model]), depth_by([model])
    shown = _largest_hull(model, limit, above)
    first = sorted(model.sources_, key=model.sources_.__getitem__, reverse=True)
    candidates = [node for node in first if all(parent in shown for parent in above(node))][:N_OUTSIDE]
    places = places_by_depth([*shown, *candidates], above, depth)
    deepest = max(level for _, level in places.values())
    figure = style.new_figure("", dark, height=90 + ROW * (deepest + 1), margin={"l": 64, "r": 24, "t": 24, "b": 24})
    grey = style.theme(dark).grey
    solid = {"color": grey, "width": 1.5, "dash": "solid" if model.certified_ else "dash"}
    _edges(figure, shown, places, solid, above)
    _edges(figure, candidates, places, {"color": grey, "width": 1, "dash": "dot"}, above)
    _draw_inside(figure, model, shown, places, dark)
    labels = () if hasattr(model, "edges_") else variable_names(names, len(model.hull_[0]))
    outside = [(node_name(node, labels, model), style.percent(model.sources_[node])) for node in candidates]
    _draw_outside(figure, candidates, outside, places, dark)
    figure.update_xaxes(visible=False, range=[-0.04, 1.04])
    figure.layout.yaxis = style.axis(
        "depth", dark, tickvals=list(range(deepest + 1)), autorange=False, range=[deepest + 0.6, -0.5]
    )
    figure.layout.meta["alt"] = _graph_alt(model, len(model.hull_) - len(shown), outside, depth)
    return figure


# Drawing


def _draw_inside(figure: go.Figure, model: Any, shown: Sequence[Levels], places: Places, dark: bool) -> None:
    norms = dict(zip(model.hull_, own_norms(model), strict=True))
    called = dict(zip(model.hull_, model.kernel_names_, strict=True))
    top, outlined, ink = max(norms.values()) or 1.0, set(model.extreme_points_), style.theme(dark).ink
    marker = {
        "size": [max(SMALLEST, LARGEST * float(np.sqrt(norms[node] / top))) for node in shown],
        "color": style.readable(style.FAMILY_HUES["hkl"], dark),
        "opacity": 1.0,
        "line": {"color": ink, "width": [2.5 if node in outlined else 0 for node in shown]},
    }
    roomy = _with_room(sorted(shown, key=lambda node: -norms[node])[:N_LABELS], places)
    labels = [_short(called[node]) if node in roomy else "" for node in shown]
    hover = [f"{called[node]}<br>‖β‖ = {style.number(norms[node])}" for node in shown]
    _nodes(figure, shown, places, labels, hover, marker, ink, "top center")


def _draw_outside(
    figure: go.Figure, nodes: Sequence[Levels], outside: Sequence[tuple[str, str]], places: Places, dark: bool
) -> None:
    tone = style.theme(dark)
    marker = {"size": 11, "color": tone.paper, "line": {"color": tone.muted, "width": 1.5}}
    roomy = _with_room(nodes, places)
    labels = [
        f"{_short(word)}<br>{share}" if node in roomy else ""
        for node, (word, share) in zip(nodes, outside, strict=True)
    ]
    hover = [f"{word}<br>{share} of the way to entering" for word, share in outside]
    _nodes(figure, nodes, places, labels, hover, marker, tone.muted, "bottom center")


def _with_room(nodes: Sequence[Levels], places: Places) -> set[Levels]:
    """The nodes whose labels do not touch those of their row, the first ones given preferred."""
    taken: set[Levels] = set()
    for node in nodes:
        x, row = places[node]
        if all(places[other][1] != row or abs(places[other][0] - x) >= LABEL_GAP for other in taken):
            taken.add(node)
    return taken


def _short(name: str) -> str:
    return style.short(name, 14)


def parents_by(models: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
    """The parents of a node: of a grid its levels say them, of another graph the edges that the models tell."""
    if not hasattr(models[0], "edges_"):
        return parents_of
    above: dict[Any, dict[Any, None]] = {}
    for model in models:
        for parent, child in model.edges_:
            above.setdefault(child, {})[parent] = None
    return lambda node: list(above.get(node, ()))


def depth_by(models: Sequence[Any]) -> Callable[[Any], int]:
    """The depth of a node: of a grid the sum of its levels, of another graph the longest way from a root."""
    if not hasattr(models[0], "edges_"):
        return sum
    above, known = parents_by(models), {}

    def depth(node: Any) -> int:
        if node not in known:
            known[node] = 1 + max((depth(parent) for parent in above(node)), default=-1)
        return int(known[node])

    return depth


def places_by_depth(
    nodes: Sequence[Any],
    above: Callable[[Any], Sequence[Any]] | None = None,
    depth: Callable[[Any], int] = sum,
) -> dict[Any, tuple[float, int]]:
    """Rows by depth; within a row, nodes are below the mean of their parents and are spread evenly."""
    above = parents_of if above is None else above
    rows: dict[int, list[Any]] = {}
    for node in nodes:
        rows.setdefault(depth(node), []).append(node)
    found: dict[Any, tuple[float, int]] = {}
    for level in sorted(rows):
        wanted = {
            node: float(np.mean([found[parent][0] for parent in above(node) if parent in found] or [0.5]))
            for node in rows[level]
        }
        order = sorted(rows[level], key=wanted.__getitem__)
        found.update({node: ((k + 0.5) / len(order), level) for k, node in enumerate(order)})
    return found


def _edges(
    figure: go.Figure,
    nodes: Sequence[Any],
    places: dict[Any, tuple[float, int]],
    line: dict[str, Any],
    above: Callable[[Any], Sequence[Any]],
) -> None:
    x: list[float | None] = []
    y: list[float | None] = []
    for node in nodes:
        for parent in above(node):
            if parent in places:
                x += [places[parent][0], places[node][0], None]
                y += [places[parent][1], places[node][1], None]
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", name="edges")


def _nodes(
    figure: go.Figure,
    nodes: Sequence[Levels],
    places: Places,
    labels: Sequence[str],
    hover: Sequence[str],
    marker: dict[str, Any],
    ink: str,
    side: str,
) -> None:
    figure.add_scatter(
        x=[places[node][0] for node in nodes],
        y=[places[node][1] for node in nodes],
        mode="markers+text",
        marker=marker,
        text=list(labels),
        textposition=side,
        ids=[",".join(map(str, node)) if isinstance(node, tuple) else str(node) for node in nodes],
        textfont={"size": style.LABEL_SIZE, "color": ink},
        customdata=list(hover),
        hovertemplate="%{customdata}<extra></extra>",
        name="nodes",
        cliponaxis=False,
    )


# Reading the model


def parents_of(node: Levels) -> list[Levels]:
    return [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level]


def node_name(node: Levels, labels: Sequence[str], model: Any) -> str:
    """The name of a node in or outside the hull, from the grid's own words where there are any."""
    if hasattr(model, "edges_"):
        return str(node) or "1"
    design: Any = getattr(model, "design_", None)
    if design is not None and not any(node):
        name: str = design.name(())
        return name
    word: Callable[[str, int], str] | None = None if design is None else design.levels.level_name
    parts = [word(labels[i], level) if word else f"{labels[i]}^{level}" for i, level in enumerate(node) if level]
    return "·".join(parts) or "1"


def _largest_hull(model: Any, limit: int, above: Callable[[Any], Sequence[Any]]) -> list[Any]:
    """Nodes by falling norm, each with all of its ancestors, until ``limit`` would be passed; of a grid by depth."""
    by_norm = [model.hull_[k] for k in np.argsort(-np.array(own_norms(model)), kind="stable")]
    kept: dict[Any, None] = {}
    for node in by_norm:
        needed, stack = {node}, [node]
        while stack:
            fresh = [parent for parent in above(stack.pop()) if parent not in needed and parent not in kept]
            needed.update(fresh)
            stack += fresh
        needed -= kept.keys()
        if len(kept) + len(needed) <= limit:
            kept.update(dict.fromkeys(needed))
    if hasattr(model, "edges_"):
        return list(kept)
    return sorted(kept, key=lambda node: (sum(node), [-level for level in node]))


def _graph_alt(model: Any, left: int, outside: Sequence[tuple[str, str]], depth: Callable[[Any], int]) -> str:
    count = style.counted(len(model.hull_), "node")
    start = f"The hull as a graph: {count} down to depth {max(depth(node) for node in model.hull_)}"
    if not hasattr(model, "edges_"):
        order = max(sum(level > 0 for level in node) for node in model.hull_)
        start += f", interactions of up to {style.counted(order, 'variable')}"
    parts = [f"{start}."]
    if left:
        parts.append(f"{style.counted(left, 'node')} with small weight left out.")
    if outside:
        named = [f"{word} ({share} of the way)" for word, share in outside[:3]]
        parts.append(f"Next to enter: {style.joined(named)}.")
    return " ".join(parts) + certificate_words(model)
