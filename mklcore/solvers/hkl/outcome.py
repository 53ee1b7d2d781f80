"""What a search, or several over one design, found: one hull for all, and along it zeta, eta and norms of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array
from mklcore.solvers.hkl.dag import Node
from mklcore.solvers.hkl.search import HullSearch
from mklcore.solvers.hkl.space import KernelSpace


@dataclass(frozen=True, eq=False)
class Outcome:
    """The union of the hulls, sorted by depth. Arrays are (problems, m), zero where a problem lacks the node.

    ``norms`` = ||beta_D(v)||, ``own`` = ||beta_v||; ``sources`` maps a node outside to the largest share of the
    threshold at which it would enter one of the hulls; ``extreme`` are members without a child inside.
    """

    nodes: list[Node]
    zeta: Array
    eta: Array
    norms: Array
    own: Array
    extreme: list[Node]
    sources: dict[Node, float]
    looked_at: int
    ever: int

    @classmethod
    def of(cls, design: KernelSpace, searches: Sequence[HullSearch]) -> Outcome:
        """Read finished searches."""
        parts = [search.found.state for search in searches]
        nodes = design.ordered({node for part in parts for node in part.nodes})
        place = {node: k for k, node in enumerate(nodes)}
        tables = np.zeros((4, len(parts), len(nodes)))
        for k, (search, part) in enumerate(zip(searches, parts, strict=True)):
            where = [place[node] for node in part.nodes]
            inner, d, zeta = part.inner, search.weights.of(part.nodes), search.found.weights
            eta = inner.norms / (d * inner.omega) if inner.omega > 0 else np.zeros(d.size)
            tables[:, k, where] = zeta, eta, inner.norms, zeta * np.sqrt(inner.answer.forms)
        hull = design.hull(nodes)
        shares: dict[Node, float] = {}
        for part in parts:
            for node, share in part.sources.items():
                if node not in hull:
                    shares[node] = max(share, shares.get(node, 0.0))
        sources = {node: shares[node] for node in design.ordered(shares)}
        extreme = design.ordered(hull.extreme_points())
        looked_at, ever = max(part.looked_at for part in parts), max(part.ever for part in parts)
        return cls(nodes, tables[0], tables[1], tables[2], tables[3], extreme, sources, looked_at, ever)
