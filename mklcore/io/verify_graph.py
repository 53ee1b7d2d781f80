"""A graph of kernels of hierarchical kernel learning, from its definition, for ``verify``: NumPy alone, no solver.

    zeta_w = 1 / sum_{v above w} 1 / eta_v,   S_t = sum_{w below t} a'K_w a / (sum of d_v over v above w and below t)^2

Every sum over descendants is formed node by node. A node counts as above and below itself.
Source: Bach (2008), Propositions 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mklcore.io.verify_hull import Hull

Array = Any


class GraphHull(Hull):
    """Sums over the nodes of a graph, which are numbers here: ``parents`` of each, ``prices`` (M,), and ``gram``."""

    def __init__(
        self, parents: list[list[int]], prices: Array, gram: Callable[[int], Array], number: Callable[[Any], int]
    ) -> None:
        self.parents, self.prices, self._gram, self._number = parents, prices, gram, number
        self.above = [self._ancestors(k) for k in range(len(parents))]

    def _ancestors(self, node: int) -> set[int]:
        found, left = {node}, [node]
        while left:
            fresh = set(self.parents[left.pop()]) - found
            found |= fresh
            left += fresh
        return found

    def price(self, node: Any) -> float:
        return float(self.prices[node])

    def gram(self, node: Any) -> Array:
        return self._gram(node)

    def nodes_of(self, table: Array, count: int) -> list[Any]:
        """The nodes of a proof, each given by the rows of ``table`` that begin with its place."""
        rows: list[list[list[int]]] = [[] for _ in range(count)]
        for place, *rest in table.tolist():
            rows[place].append(rest)
        return [self._number(one) for one in rows]

    def _below(self, nodes: list[Any]) -> Array:
        return np.array([[float(v in self.above[w]) for w in nodes] for v in nodes])

    def sources(self, nodes: list[Any]) -> list[Any]:
        members = set(nodes)
        outside = (k for k in range(len(self.parents)) if k not in members)
        return [k for k in outside if members.issuperset(self.parents[k])]

    def _descendants(self, t: Any, a: Array) -> float:
        below: list[Any] = [w for w in range(len(self.parents)) if t in self.above[w]]
        forms = self.forms(below, a)
        spent = [sum(self.prices[v] for v in self.above[w] if t in self.above[v]) for w in below]
        return float(forms @ (1.0 / np.array(spent) ** 2))


def listed(design: dict[str, Any], kernels: Array, base: float | None) -> tuple[GraphHull, dict[Any, int]]:
    """The graph of a model, with the stack of its ``kernels``, and the number of a node by its name.

    A node without a kernel was left out because its kernel is constant: it is zero here.
    """
    graph, place = design["graph"], np.asarray(design["place"])
    parents = [list(map(int, above)) for above in graph["parents"]]
    depths: dict[int, int] = {}

    def depth(node: int) -> int:
        if node not in depths:
            depths[node] = max((depth(parent) + 1 for parent in parents[node]), default=0)
        return depths[node]

    usual = [(1.0 if base is None else float(base)) ** depth(k) for k in range(len(parents))]
    prices = np.array(usual if graph["weights"] is None else graph["weights"], dtype=float)
    nothing = np.zeros(kernels.shape[1:])
    hull = GraphHull(
        parents, prices, lambda k: kernels[place[k]] if place[k] >= 0 else nothing, lambda rows: int(rows[0][0])
    )
    names = range(len(parents)) if graph["names"] is None else graph["names"]
    return hull, {name: k for k, name in enumerate(names)}
