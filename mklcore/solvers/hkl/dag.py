"""The graph of kernels: nodes, hulls, sources, weights by depth, and sums up and down the graph.

    V = {0..q}^p,   v -> v + e_i,   A(v) = {w <= v} (ancestors),   D(v) = {w >= v} (descendants), both with v itself

A node is written by what it touches: the sorted pairs (variable, level) with level > 0; () is the root. Nothing is ever
listed over V, which may hold 10^30 nodes and more.

Source: Bach (2008), section 3; specification, sections 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mklcore._numba.decorators import jit_entry
from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError

Node = tuple[tuple[int, int], ...]
ROOT: Node = ()


def levels(node: Node, p: int) -> tuple[int, ...]:
    """The node as p levels, most of them zero."""
    full = [0] * p
    for variable, level in node:
        full[variable] = level
    return tuple(full)


def touched(full: Sequence[int]) -> Node:
    """The node of p levels, as the pairs (variable, level) it touches."""
    return tuple((i, int(level)) for i, level in enumerate(full) if level)


def depth(node: Node) -> int:
    """|v|_1: the number of edges from the root."""
    return sum(level for _, level in node)


def by_depth(nodes: Iterable[Node], p: int) -> list[Node]:
    """Sorted by depth, then lexicographically by levels: the order in which hulls are reported."""
    return sorted(nodes, key=lambda node: (depth(node), levels(node, p)))


@lru_cache(maxsize=1 << 16)
def parents(node: Node) -> tuple[Node, ...]:
    """v - e_i for every variable i that v touches."""
    found = []
    for k, (variable, level) in enumerate(node):
        middle = () if level == 1 else ((variable, level - 1),)
        found.append(node[:k] + middle + node[k + 1 :])
    return tuple(found)


def child(node: Node, variable: int) -> Node:
    """v + e_i."""
    for k, (i, level) in enumerate(node):
        if i == variable:
            return (*node[:k], (i, level + 1), *node[k + 1 :])
        if i > variable:
            return (*node[:k], (variable, 1), *node[k:])
    return (*node, (variable, 1))


def level_of(node: Node, variable: int) -> int:
    return next((level for i, level in node if i == variable), 0)


class Hull:
    """A set of nodes closed under taking parents, with the sources of its complement kept up to date.

    ``members`` maps a node to its place in order of entry (parents come before children); ``sources`` are the nodes
    outside all of whose parents are inside, which are the only ones that can enter next.
    """

    def __init__(self, p: int, q: int, nodes: Iterable[Node] = (ROOT,)) -> None:
        self.p, self.q = p, q
        self.members: dict[Node, int] = {}
        self.sources: set[Node] = set()
        self._every = (1 << p) - 1
        self._taken: dict[Node, int] = {}  # bit i of v: v + e_i is a member
        self.add(nodes)

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, node: Node) -> bool:
        return node in self.members

    @property
    def nodes(self) -> list[Node]:
        return list(self.members)

    def add(self, nodes: Iterable[Node]) -> None:
        """Take in ``nodes`` with all their ancestors."""
        stack = list(nodes)[::-1]
        while stack:
            below = [] if stack[-1] in self.members else [v for v in self.parents(stack[-1]) if v not in self.members]
            if below:
                stack += below
            elif (node := stack.pop()) not in self.members:
                self._enter(node)

    def parents(self, node: Node) -> Sequence[Node]:
        """The nodes it can enter after, all of them."""
        return parents(node)

    def _enter(self, node: Node) -> None:
        """What v makes a source: v + e_i where all v - e_l + e_i are inside, that is, where every v - e_l has its bit
        i."""
        self.members[node] = len(self.members)
        self.sources.discard(node)
        self._taken[node] = 0
        above, own = parents(node), [1 << variable for variable, _ in node]
        free = self._every
        for parent in above:
            free &= self._taken[parent]
        for k, (_, level) in enumerate(node):
            open_to = own[k] if level < self.q else 0
            for other, parent in enumerate(above):
                if other != k:
                    open_to &= self._taken[parent]
            free = (free & ~own[k]) | open_to
        for parent, bit in zip(above, own, strict=True):
            self._taken[parent] |= bit
        while free:
            self.sources.add(child(node, (free & -free).bit_length() - 1))
            free &= free - 1

    def extreme_points(self) -> list[Node]:
        """Members none of whose children is a member."""
        inner = {parent for node in self.members for parent in self.parents(node)}
        return [node for node in self.members if node not in inner]


@dataclass(frozen=True)
class DepthWeights:
    """d_v = base^|v|_1, and ``root`` at the root: the price of a node in the norm."""

    base: float
    root: float

    def __post_init__(self) -> None:
        for name, value in (("depth_weight", self.base), ("root_weight", self.root)):
            if not (np.isfinite(value) and value > 0):
                raise ParameterError(f"{name} must be a finite number above 0; got {value!r}.")

    def of(self, nodes: Sequence[Node]) -> Array:
        """d_v for every node."""
        return np.array([self.base ** depth(node) if node else self.root for node in nodes])

    def shares(self, q: int) -> Array:
        """1 / c(t, j)^2 with c(t, j) = sum_{l=t..j} base^l, as (q+1, q+1); zero for j < t."""
        powers = self.base ** np.arange(q + 1.0)
        sums = np.array([[powers[t : j + 1].sum() for j in range(q + 1)] for t in range(q + 1)])
        shares: Array = np.divide(1.0, sums**2, out=np.zeros_like(sums), where=sums > 0)
        return shares

    @staticmethod
    def default_base(p: int) -> float:
        """4, or sqrt(p) - 1 rounded up where that is more: below it the certificate rarely closes."""
        return float(max(4, np.ceil(np.sqrt(p)) - 1))


class Ancestry:
    """Who is above whom within a hull, as index lists; the compiled functions below walk along them."""

    def __init__(self, nodes: Sequence[Node], above: Callable[[Node], Iterable[Node]] = parents) -> None:
        place, rows = {node: k for k, node in enumerate(nodes)}, dict[Node, set[int]]()

        def row(node: Node) -> set[int]:
            if node not in rows:
                rows[node] = {place[node]}.union(*map(row, above(node)))
            return rows[node]

        found = [sorted(row(node)) for node in nodes]
        self.starts = np.concatenate([[0], np.cumsum([len(own) for own in found])]).astype(np.int64)
        self.above = np.array([k for own in found for k in own], dtype=np.int64)

    def zeta(self, eta: Array) -> Array:
        """zeta_w = 1 / sum_{v in A(w)} 1 / eta_v."""
        return harmonic(self.starts, self.above, eta)

    def down(self, values: Array) -> Array:
        """sum_{w in D(v)} values_w for every v."""
        return gather_down(self.starts, self.above, values)

    def matrix(self) -> Array:
        """A[v, w] = 1 where v is an ancestor of w."""
        size = self.starts.size - 1
        found = np.zeros((size, size))
        found[self.above, np.repeat(np.arange(size), np.diff(self.starts))] = 1.0
        return found


@jit_entry()
def harmonic(starts: Indices, above: Indices, eta: Array) -> Array:
    """1 / sum of 1 / eta over the ancestors of every node."""
    size = starts.size - 1
    zeta = np.empty(size)
    for w in range(size):
        total = 0.0
        for k in range(starts[w], starts[w + 1]):
            total += 1.0 / eta[above[k]]
        zeta[w] = 1.0 / total
    return zeta


@jit_entry()
def gather_down(starts: Indices, above: Indices, values: Array) -> Array:
    """Every node's value, added to all its ancestors."""
    size = starts.size - 1
    sums = np.zeros(size)
    for w in range(size):
        for k in range(starts[w], starts[w + 1]):
            sums[above[k]] += values[w]
    return sums
