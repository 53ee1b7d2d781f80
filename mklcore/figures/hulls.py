"""What pictures of hulls share.

They read a fitted hierarchical model by its fields alone: ``hull_``, ``kernel_names_``, ``component_norms_`` (m,),
``extreme_points_``, ``sources_`` (node -> share of the threshold), ``certified_``, ``relative_gap_``,
``n_dag_kernels_``. What stands outside is hollow and says how far it is from entering; an answer without a certificate
is dashed and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.figures import style

Levels = tuple[int, ...]
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def kernel_count(count: int) -> str:
    """A whole number of any size: in full up to a million, then as a power of ten (2.33 × 10²²)."""
    if count <= 1_000_000:
        return f"{count:,}"
    digits = str(count)
    power, head = len(digits) - 1, f"{int(digits[:5]) / 10 ** (len(digits[:5]) - 1):.3g}"
    return f"{head} × 10{str(power).translate(_SUPERSCRIPTS)}"


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


def parents_of(node: Levels) -> list[Levels]:
    return [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level]


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
    nodes: Sequence[Any], above: Callable[[Any], Sequence[Any]], depth: Callable[[Any], int]
) -> dict[Any, tuple[float, int]]:
    """Rows by depth; within a row, nodes are below the mean of their parents and are spread evenly."""
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
