"""The hull as a grid of two variables, and what its pictures share.

They read a fitted hierarchical model by its fields alone: ``hull_``, ``kernel_names_``, ``component_norms_`` (m,),
``extreme_points_``, ``sources_`` (node -> share of the threshold), ``certified_``, ``relative_gap_``,
``n_dag_kernels_``. What stands outside is hollow and says how far it is from entering; an answer without a certificate
is dashed and says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go

CELL = 46
Levels = tuple[int, ...]
Cell = tuple[int, int]
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def hull_grid(
    model: Any, variables: tuple[int, int], names: Sequence[str] | None = None, *, dark: bool = False
) -> go.Figure:
    """Level against level for two variables: filled squares are in the hull, outlined ones its extreme points, + could
    enter.

    Shows the nodes that touch no variable but these two. ``variables`` are column indices, ``names`` all variable
    names. Raises ParameterError where the two are the same or outside the model.
    """
    p, q = len(model.hull_[0]), top_level(model)
    first, second = checked_pair(variables, p)
    labels = variable_names(names, p)
    inside = slice_of_two(dict(zip(model.hull_, own_norms(model), strict=True)), first, second)
    outside = slice_of_two(model.sources_, first, second)
    extreme = set(slice_of_two(dict.fromkeys(model.extreme_points_, 1.0), first, second))
    figure = style.new_figure("", dark, height=100 + CELL * (q + 1), margin={"l": 56, "r": 16, "t": 16, "b": 48})
    _draw_outside(figure, outside, {(a, b) for a in range(q + 1) for b in range(q + 1)} - inside.keys(), dark)
    _draw_inside(figure, inside, extreme, dark)
    ticks = {"range": [-0.6, q + 0.6], "tickvals": list(range(q + 1)), "showgrid": False}
    figure.layout.xaxis = style.axis(f"level of {labels[first]}", dark, **ticks)
    figure.layout.yaxis = style.axis(f"level of {labels[second]}", dark, **ticks)
    figure.layout.meta["alt"] = (
        f"Levels of {labels[first]} against levels of {labels[second]}, from 0 to {q}. "
        f"{style.counted(len(inside), 'node')} of "
        f"the hull {'touches' if len(inside) == 1 else 'touch'} only these two variables, {len(extreme)} of them "
        f"extreme; "
        f"{len(outside)} could enter next." + certificate_words(model)
    )
    return figure


def kernel_count(count: int) -> str:
    """A whole number of any size: in full up to a million, then as a power of ten (2.33 × 10²²)."""
    if count <= 1_000_000:
        return f"{count:,}"
    digits = str(count)
    power, head = len(digits) - 1, f"{int(digits[:5]) / 10 ** (len(digits[:5]) - 1):.3g}"
    return f"{head} × 10{str(power).translate(_SUPERSCRIPTS)}"


# Reading the model


def own_norms(model: Any) -> list[float]:
    norms: list[float] = np.atleast_2d(model.component_norms_).max(axis=0).tolist()
    return norms


def top_level(model: Any) -> int:
    """q of the grid, from its (q + 1)^p kernels."""
    return round(math.exp(math.log(model.n_dag_kernels_) / len(model.hull_[0]))) - 1


def checked_pair(variables: Sequence[int], p: int) -> tuple[int, int]:
    pair = tuple(variables)
    if len(pair) != 2 or pair[0] == pair[1] or not all(0 <= i < p for i in pair):
        raise ParameterError(f"Two different variables from 0 to {p - 1} are needed; got {variables!r}.")
    return pair[0], pair[1]


def variable_names(names: Sequence[str] | None, p: int) -> list[str]:
    if names is None:
        return [f"x{i + 1}" for i in range(p)]
    if len(names) != p:
        raise ParameterError(f"One name per variable is needed: {p} variables; got {len(names)} names.")
    return list(names)


def slice_of_two(values: dict[Levels, float], first: int, second: int) -> dict[tuple[int, int], float]:
    """What touches no variable but these two, by its two levels."""
    return {
        (node[first], node[second]): value for node, value in values.items() if sum(node) == node[first] + node[second]
    }


def certificate_words(model: Any) -> str:
    if model.certified_:
        return f" Certified over all {kernel_count(model.n_dag_kernels_)} kernels."
    if model.relative_gap_ is None:
        return " Provisional: only the necessary condition was checked, the certified hull can differ in kind."
    return f" Not certified: the gap is {style.percent(float(np.max(model.relative_gap_)))} of the objective."


# Drawing


def _draw_outside(figure: go.Figure, outside: dict[Cell, float], free: set[Cell], dark: bool) -> None:
    tone = style.theme(dark)
    never = sorted(free - outside.keys())
    _cells(figure, never, "outside, not looked at next", {"symbol": "circle", "size": 3, "color": tone.grey})
    cross = {"symbol": "cross-thin", "size": 12, "line": {"width": 2, "color": tone.muted}}
    words = [f"{style.percent(share)} of the way to entering" for share in outside.values()]
    _cells(figure, list(outside), "could enter next", cross, words)


def _draw_inside(figure: go.Figure, inside: dict[Cell, float], extreme: set[Cell], dark: bool) -> None:
    square = {"symbol": "square", "size": CELL - 10, "color": style.readable(style.FAMILY_HUES["hkl"], dark)}
    for what, width in (("in the hull", 0), ("extreme point of the hull", 3)):
        cells = [cell for cell in inside if (cell in extreme) == bool(width)]
        words = [f"‖β‖ = {style.number(inside[cell])}" for cell in cells]
        _cells(figure, cells, what, {**square, "line": {"width": width, "color": style.theme(dark).ink}}, words)


def _cells(
    figure: go.Figure,
    cells: Sequence[tuple[int, int]],
    what: str,
    marker: dict[str, Any],
    extra: Sequence[str] | None = None,
) -> None:
    figure.add_scatter(
        x=[cell[0] for cell in cells],
        y=[cell[1] for cell in cells],
        name=what,
        mode="markers",
        marker=marker,
        text=[what if extra is None else f"{what}<br>{more}" for more in (extra or cells)],
        hovertemplate="(%{x}, %{y}) %{text}<extra></extra>",
    )
