"""One hull drawn: as a graph by depth, and as a grid of two variables.

What is inside, how much each node carries, and what could enter next, as ``hull_states`` tells them in numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.figures import style
from mklcore.figures.graph_objects import go
from mklcore.figures.hull_states import N_NODES, HullLayout, hull_layout, hull_state
from mklcore.figures.hulls import certificate_words, depth_by

LARGEST, SMALLEST = 36, 9  # marker diameters; areas are proportional to the norm above the smallest
N_LABELS = 24
LABEL_GAP = 0.2  # of the width: marks of a row closer than this to a labelled one go without a label
ROW, CELL = 84, 46


def hull_graph(
    model: Any, names: Sequence[str] | None = None, *, limit: int = N_NODES, dark: bool = False
) -> go.Figure:
    """The hull as a graph by depth: area is ||beta_v||, extreme points are outlined, hollow nodes could enter next.

    At most ``limit`` nodes (a hull again: those with the largest norms and what is above them) and the first eight
    sources. ``names`` are the variable names, needed for the sources (x1, x2, ... without). Every mark's id is its
    node, its p levels joined by commas.
    """
    layout = hull_layout([model], names, limit=limit)
    state = hull_state(model, layout)
    inside, outside = state["inside"], state["outside"]
    deepest = max(depth for _, depth, _ in layout.places)
    alt, height = _graph_alt(model, state), 90 + ROW * (deepest + 1)
    figure = style.new_figure(alt, dark, height, margin={"l": 64, "r": 24, "t": 24, "b": 24})
    tone, hue = style.theme(dark), style.readable(style.FAMILY_HUES["hkl"], dark)
    solid = {"color": tone.grey, "width": 1.5, "dash": "solid" if model.certified_ else "dash"}
    _edges(figure, layout, inside, solid)
    _edges(figure, layout, outside, {"color": tone.grey, "width": 1, "dash": "dot"})
    filled = {
        "size": [max(SMALLEST, LARGEST * float(np.sqrt(share))) for _, share, *_ in inside], "color": hue,
        "opacity": 1.0, "line": {"color": tone.ink, "width": [2.5 if extreme else 0 for _, _, extreme, _ in inside]},
    }  # fmt: skip
    hollow = {"size": 11, "color": tone.paper, "line": {"color": tone.muted, "width": 1.5}}
    ways = {k: f"<br>{way}" for k, _, way, _ in outside}
    _nodes(figure, layout, inside, {}, filled, tone.ink, "top center")
    _nodes(figure, layout, outside, ways, hollow, tone.muted, "bottom center")
    figure.update_xaxes(visible=False, range=[-0.04, 1.04])
    figure.layout.yaxis = style.axis(
        "depth", dark, tickvals=list(range(deepest + 1)), autorange=False, range=[deepest + 0.6, -0.5]
    )
    return figure


def _edges(figure: go.Figure, layout: HullLayout, drawn: Sequence[Sequence[Any]], line: dict[str, Any]) -> None:
    ends = [(above, k, None) for k, *_ in drawn for above in layout.parents[k]]
    x, y = ([None if k is None else layout.places[k][axis] for pair in ends for k in pair] for axis in (0, 1))
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
    """Marks of some nodes of a state, with labels where there is room for them, the largest first."""
    roomy = _with_room([k for k, *_ in sorted(drawn, key=lambda entry: -entry[1])][:N_LABELS], layout)
    nodes = [layout.nodes[k] for k, *_ in drawn]
    figure.add_scatter(
        x=[layout.places[k][0] for k, *_ in drawn],
        y=[layout.places[k][1] for k, *_ in drawn],
        mode="markers+text",
        marker=marker,
        text=[style.short(layout.names[k], 14) + below.get(k, "") if k in roomy else "" for k, *_ in drawn],
        textposition=side,
        ids=[",".join(map(str, node)) if isinstance(node, tuple) else str(node) for node in nodes],
        textfont={"size": style.LABEL_SIZE, "color": ink},
        customdata=[hover for *_, hover in drawn],
        hovertemplate="%{customdata}<extra></extra>",
        name="nodes",
        cliponaxis=False,
    )


def _with_room(nodes: Sequence[int], layout: HullLayout) -> set[int]:
    """The nodes whose labels do not touch those of their row, the first ones given preferred."""
    taken: set[int] = set()
    for node in nodes:
        x, row, _ = layout.places[node]
        near = (layout.places[other] for other in taken)
        if all(other_row != row or abs(other - x) >= LABEL_GAP for other, other_row, _ in near):
            taken.add(node)
    return taken


def _graph_alt(model: Any, state: dict[str, Any]) -> str:
    start = f"The hull as a graph down to depth {max(map(depth_by([model]), model.hull_))}"
    if not hasattr(model, "edges_"):
        order = max(sum(level > 0 for level in node) for node in model.hull_)
        start += f", interactions of up to {style.counted(order, 'variable')}"
    left = state["left_out"]
    small = f" {style.counted(left, 'node')} with small weight left out." if left else ""
    return f"{start}.{small} {state['said']}"


def hull_grid(
    model: Any, variables: tuple[int, int], names: Sequence[str] | None = None, *, dark: bool = False
) -> go.Figure:
    """Level against level for two variables: filled squares are in the hull, outlined ones its extreme points, + could
    enter.

    Shows the nodes that touch no variable but these two. ``variables`` are column indices, ``names`` all variable
    names. Raises ParameterError where the two are the same or outside the model.
    """
    layout = hull_layout([model], names, variables)
    cells, q, tone = hull_state(model, layout)["cells"], layout.top_level, style.theme(dark)
    first, second = (layout.variables[i] for i in variables)
    figure = style.new_figure("", dark, height=100 + CELL * (q + 1), margin={"l": 56, "r": 16, "t": 16, "b": 48})
    known = {(a, b) for a, b, *_ in cells}
    never = [(a, b, "") for a in range(q + 1) for b in range(q + 1) if (a, b) not in known]
    near = [(a, b, more) for a, b, kind, _, _, more in cells if kind == "next"]
    plain, extreme = (
        [(a, b, more) for a, b, kind, _, outlined, more in cells if kind != "next" and outlined == wanted]
        for wanted in (False, True)
    )
    square = {"symbol": "square", "size": CELL - 10, "color": style.readable(style.FAMILY_HUES["hkl"], dark)}
    for what, drawn, marker in (
        ("outside, not looked at next", never, {"symbol": "circle", "size": 3, "color": tone.grey}),
        ("could enter next", near, {"symbol": "cross-thin", "size": 12, "line": {"width": 2, "color": tone.muted}}),
        ("in the hull", plain, {**square, "line": {"width": 0, "color": tone.ink}}),
        ("extreme point of the hull", extreme, {**square, "line": {"width": 3, "color": tone.ink}}),
    ):
        figure.add_scatter(
            x=[a for a, _, _ in drawn], y=[b for _, b, _ in drawn], name=what, mode="markers", marker=marker,
            text=[more or what for *_, more in drawn], hovertemplate="(%{x}, %{y}) %{text}<extra></extra>",
        )  # fmt: skip
    ticks = {"range": [-0.6, q + 0.6], "tickvals": list(range(q + 1)), "showgrid": False}
    figure.layout.xaxis = style.axis(f"level of {first}", dark, **ticks)
    figure.layout.yaxis = style.axis(f"level of {second}", dark, **ticks)
    inside = len(plain) + len(extreme)
    figure.layout.meta["alt"] = (
        f"Levels of {first} against levels of {second}, from 0 to {q}. {style.counted(inside, 'node')} of the hull "
        f"{'touches' if inside == 1 else 'touch'} only these two variables, {len(extreme)} of them extreme; "
        f"{len(near)} could enter next." + certificate_words(model)
    )
    return figure
