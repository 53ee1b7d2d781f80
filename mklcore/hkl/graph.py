"""Graphs of kernels: nodes, hulls, node weights, and sums over ancestors and descendants.

A kernel may enter the model only after all of its parents. The graph is a grid of products, or a
``Graph`` that lists its nodes.

The grid is V = {0..q}^p with edges v -> v + e_i. A node is written as the sorted pairs (variable,
level) with level > 0; () is the root. V is never listed, because it may hold 10^30 nodes and more.
Node k of a listed graph is ((k, 1),), so that a grid with one level for each of its kernels
contains the same kernels, in another order.

    A(v) ancestors of v,   D(v) descendants of v, both with v itself

Source: Bach (2008), sections 2.1 and 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import Any, Self

import numpy as np
import scipy.sparse

from mklcore.arrays import Array
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KernelSpec
from mklcore.parameters import check_positive

Node = tuple[tuple[int, int], ...]
ROOT: Node = ()
_FIRST_ROOTS = 20  # a search in a graph with many roots begins with this many


def levels(node: Node, p: int) -> tuple[int, ...]:
    """The p levels of a node, most of them zero."""
    full = [0] * p
    for variable, level in node:
        full[variable] = level
    return tuple(full)


def touched(full: Sequence[int]) -> Node:
    """The node with these p levels, as the pairs (variable, level) that it touches."""
    return tuple((variable, int(level)) for variable, level in enumerate(full) if level)


@lru_cache(maxsize=1 << 16)
def parents(node: Node) -> tuple[Node, ...]:
    """v - e_i for every variable i that v touches."""
    found = []
    for k, (variable, level) in enumerate(node):
        lowered = () if level == 1 else ((variable, level - 1),)
        found.append(node[:k] + lowered + node[k + 1 :])
    return tuple(found)


def child(node: Node, variable: int) -> Node:
    """v + e_i for the variable i."""
    raised = dict(node)
    raised[variable] = raised.get(variable, 0) + 1
    return tuple(sorted(raised.items()))


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """The weights d_v of the nodes in the norm.

    On a grid they are base^|v|_1, and ``root`` at the root; a graph gives all of them in ``listed``
    (M,).
    """

    base: float = 1.0
    root: float = 1.0
    listed: Array | None = None

    def __post_init__(self) -> None:
        check_positive(depth_weight=self.base)
        check_positive(root_weight=self.root)

    def of(self, nodes: Sequence[Node]) -> Array:
        """d_v for every node."""
        if self.listed is not None:
            return self.listed[[k for ((k, _),) in nodes]]
        weights = np.empty(len(nodes))
        for k, node in enumerate(nodes):
            depth = sum(level for _, level in node)
            weights[k] = self.base**depth if node else self.root
        return weights

    def shares(self, q: int) -> Array:
        """1 / c(t, j)^2 with c(t, j) = sum_{l=t..j} base^l, as (q+1, q+1); zero for j < t."""
        powers = np.tile(self.base ** np.arange(q + 1.0), (q + 1, 1))
        sums = np.cumsum(np.triu(powers), axis=1)
        return np.divide(
            1.0,
            sums**2,
            out=np.zeros_like(sums),
            where=sums > 0,
        )


@dataclass(frozen=True)
class Grid:
    """The order of the grid {0..q}^p."""

    p: int
    q: int
    roots = start = (ROOT,)

    @property
    def size(self) -> int:
        """(q + 1)^p, exactly."""
        return int((self.q + 1) ** self.p)

    def weights(self, base: float | None, root: float) -> NodeWeights:
        """The weights d_v for a depth weight ``base``.

        None means 4, or sqrt(p) - 1 rounded up where that is more: with smaller weights the search
        rarely ends with a certificate.
        """
        if base is None:
            base = max(4, np.ceil(np.sqrt(self.p)) - 1)
        return NodeWeights(float(base), float(root))

    def parents(self, node: Node) -> Sequence[Node]:
        """The nodes that must be in the model before ``node``."""
        return parents(node)

    def rank(self, node: Node) -> Any:
        """The key to sort nodes by: depth, then levels."""
        return sum(level for _, level in node), levels(node, self.p)

    def key(self, node: Node) -> Any:
        """The node as a model publishes it: its p levels."""
        return levels(node, self.p)

    def node_of(self, key: Any) -> Node:
        """The node that ``key`` names."""
        return touched(key)

    def opened(self, node: Node, hull: Hull) -> list[Node]:
        """The new sources after v has entered: v + e_i where every v - e_l + e_i is a member.

        Bit i of ``hull.children[v]`` is set where v + e_i is a member; both are updated here.
        """
        above = parents(node)
        bits = [1 << variable for variable, _ in node]
        children = hull.children
        children[node] = 0
        open_bits = (1 << self.p) - 1
        for parent in above:
            open_bits &= children[parent]
        # A variable that v touches already cannot be read off the parent that lowers it.
        for k, (_, level) in enumerate(node):
            bit = bits[k] if level < self.q else 0
            for parent in above[:k] + above[k + 1 :]:
                bit &= children[parent]
            open_bits = (open_bits & ~bits[k]) | bit
        for parent, bit in zip(above, bits, strict=True):
            children[parent] |= bit
        found = []
        while open_bits:
            lowest = open_bits & -open_bits
            found.append(child(node, lowest.bit_length() - 1))
            open_bits ^= lowest
        return found


class Listed:
    """The order of a ``Graph``, whose node k is ((k, 1),)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.size = len(graph)
        self.depths = graph.depths
        self.nodes: list[Node] = [((k, 1),) for k in range(self.size)]
        self._children: list[list[Node]] = [[] for _ in self.nodes]
        roots = list[Node]()
        for node, above in zip(self.nodes, graph.parents, strict=True):
            for parent in above:
                self._children[parent].append(node)
            if not above:
                roots.append(node)
        self.roots = tuple(roots)
        self.start = self.roots[:_FIRST_ROOTS]
        self._shares: tuple[Array, Any] | None = None  # the last node weights and their shares

    def weights(self, base: float | None, root: float) -> NodeWeights:
        """The weights d_v of the graph; ``root`` matters for grids only."""
        return NodeWeights(listed=self.graph.node_weights(base))

    def parents(self, node: Node) -> Sequence[Node]:
        """The nodes that must be in the model before ``node``."""
        return [self.nodes[k] for k in self.graph.parents[node[0][0]]]

    def rank(self, node: Node) -> Any:
        """The key to sort nodes by: depth, then number."""
        return self.depths[node[0][0]], node

    def key(self, node: Node) -> Any:
        """The node as a model publishes it: its name, or its number in a graph without names."""
        number = node[0][0]
        return number if self.graph.names is None else self.graph.names[number]

    def node_of(self, key: Any) -> Node:
        """The node that ``key`` names."""
        names = self.graph.names
        return self.nodes[int(key) if names is None else names.index(str(key))]

    def opened(self, node: Node, hull: Hull) -> list[Node]:
        """The children of v whose parents are all in the hull."""
        outside = [child for child in self._children[node[0][0]] if child not in hull]
        return [child for child in outside if hull.members.keys() >= set(self.parents(child))]

    def shares(self, weights: Array) -> Any:
        """1 / (sum_{v in A(w) and D(t)} d_v)^2 as a sparse matrix (t, w).

        An entry is zero where w is no descendant of t.
        """
        if self._shares is not None and self._shares[0] is weights:
            return self._shares[1]
        ancestors: list[set[int]] = [set() for _ in self.nodes]
        for k in self.graph.order:
            above = [ancestors[parent] for parent in self.graph.parents[k]]
            ancestors[k] = {k}.union(*above)
        rows = np.concatenate([list(above) for above in ancestors])
        columns = np.repeat(np.arange(self.size), [len(above) for above in ancestors])
        shape = self.size, self.size
        reach = scipy.sparse.csr_matrix((np.ones(rows.size), (rows, columns)), shape=shape)
        between = (reach @ scipy.sparse.diags(weights) @ reach).tocsr()
        between.data = 1.0 / between.data**2
        self._shares = weights, between
        return between


class Hull:
    """A set of nodes that contains the parents of each of its nodes.

    ``members`` are listed in order of entry, parents before children. ``sources`` are the nodes
    outside whose parents are all members: the only nodes that can enter next.
    """

    def __init__(self, order: Grid | Listed, nodes: Iterable[Node] | None = None) -> None:
        self.order = order
        self.members: dict[Node, None] = {}
        self.sources: set[Node] = set(order.roots)
        self.children: dict[Node, int] = {}  # on a grid, bit i of v: v + e_i is a member
        self.add(order.start if nodes is None else nodes)

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, node: Node) -> bool:
        return node in self.members

    @property
    def nodes(self) -> list[Node]:
        return list(self.members)

    def add(self, nodes: Iterable[Node]) -> None:
        """Add ``nodes`` with all their ancestors."""
        stack = list(nodes)[::-1]
        while stack:
            node = stack[-1]
            if node in self:
                stack.pop()
                continue
            missing = [parent for parent in self.order.parents(node) if parent not in self]
            if missing:
                stack += missing
                continue
            stack.pop()
            self.members[node] = None
            self.sources.discard(node)
            self.sources.update(self.order.opened(node, self))

    def extreme_points(self) -> list[Node]:
        """The members without a child in the hull."""
        with_child = {parent for node in self.members for parent in self.order.parents(node)}
        return [node for node in self.members if node not in with_child]


class Ancestry:
    """Which nodes of a hull are ancestors of which, and sums over ancestors and descendants."""

    def __init__(self, order: Grid | Listed, nodes: Sequence[Node]) -> None:
        place = {node: k for k, node in enumerate(nodes)}
        ancestors = dict[Node, set[int]]()

        def above(node: Node) -> set[int]:
            if node not in ancestors:
                ancestors[node] = {place[node]}.union(*map(above, order.parents(node)))
            return ancestors[node]

        rows = [sorted(above(node)) for node in nodes]
        self._counts = np.array([len(row) for row in rows])
        # np.bincount wants the platform's own integers
        self._above = np.concatenate(rows).astype(np.intp)

    def zeta(self, eta: Array) -> Array:
        """zeta_w = 1 / sum_{v in A(w)} 1 / eta_v."""
        starts = np.cumsum(self._counts) - self._counts
        return 1.0 / np.add.reduceat(1.0 / eta[self._above], starts)

    def down(self, values: Array) -> Array:
        """sum_{w in D(v)} values_w for every v."""
        repeated = np.repeat(values, self._counts)
        return np.asarray(np.bincount(self._above, repeated, values.size), dtype=float)

    def matrix(self) -> Array:
        """A[v, w] = 1 where v is an ancestor of w, else 0."""
        size = self._counts.size
        matrix = np.zeros((size, size))
        matrix[self._above, np.repeat(np.arange(size), self._counts)] = 1.0
        return matrix


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A directed acyclic graph with a kernel at every node.

    Parameters
    ----------
    parents : sequence of sequences of int, or mapping
        For each of the M nodes the nodes that it can only enter after, as indices; or a mapping
        from the name of a node to the names of its parents.
    kernels : sequence of kernels
        Gram matrices (M, n, n) of the training rows, used as they are; or a ``KernelDictionary`` or
        a list of kernels such as ``Linear(features=(0, 3))``, one per node in order, which also
        work on new rows; or None where ``fit`` receives a stack of kernels in place of the table. A
        mapping by name where ``parents`` is one.
    weights : sequence of float or None
        Weight d_v > 0 of every node in the norm sum_v d_v ||f_D(v)||; None for ``depth_weight`` (1
        if that is None) to the power of the depth of the node, which is the longest path from a
        root.
    names : sequence of str, default None
        Names of the nodes; where ``parents`` is a mapping, its keys.

    Raises
    ------
    ParameterError
        For a cycle, an unknown parent, or arguments that do not fit together.

    Examples
    --------
    >>> from mklcore.kernels.functions import Linear
    >>> graph = Graph([(), (0,), (0,), (1, 2)], [Linear(features=(j,)) for j in range(4)])
    >>> graph.depths
    (0, 1, 1, 2)
    """

    parents: Any
    kernels: Any = None
    weights: Any = None
    names: tuple[str, ...] | None = None
    order: tuple[int, ...] = field(init=False, default=())  # the nodes, every one after its parents

    def __post_init__(self) -> None:
        parents = self.parents
        names = self.names
        if parents is None or isinstance(parents, str) or not len(parents):
            raise ParameterError(
                "A graph needs at least one node: parents lists the parents of each."
            )
        keys: list[Any] = list(range(len(parents)))
        if isinstance(parents, Mapping):
            keys = list(parents)
            names = tuple(map(str, keys))
            parents = list(parents.values())
        count = len(keys)
        if names is not None and (len(names) != count or len(set(names)) < count):
            raise ParameterError(
                f"names must hold {count} different names, one per node; got {len(names)}."
            )
        place = {key: k for k, key in enumerate(keys)}
        found = tuple(_checked_parents(k, above, place) for k, above in enumerate(parents))
        values = {
            "parents": found,
            "kernels": _as_kernels(_in_order(self.kernels, keys), count),
            "weights": _as_weights(_in_order(self.weights, keys), count),
            "names": None if names is None else tuple(map(str, names)),
            "order": _parents_first(found, names),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.parents)

    def __repr__(self) -> str:
        edges = sum(map(len, self.parents))
        kind = "Gram matrices" if self.is_precomputed else "kernel functions"
        if self.kernels is None:
            kind = "no kernels"
        return f"Graph({len(self)} nodes, {edges} edges, {kind})"

    @property
    def is_precomputed(self) -> bool:
        """Whether the kernels are Gram matrices."""
        return isinstance(self.kernels, np.ndarray)

    @property
    def depths(self) -> tuple[int, ...]:
        """The length of the longest path from a root to every node."""
        depths = [0] * len(self)
        for node in self.order:
            for parent in self.parents[node]:
                depths[node] = max(depths[node], depths[parent] + 1)
        return tuple(depths)

    def node_weights(self, base: float | None = None) -> Array:
        """The weights d_v (M,): ``weights``, or ``base`` to the power of the depth."""
        if self.weights is not None:
            return np.array(self.weights)
        base = 1.0 if base is None else float(base)
        return np.array(base ** np.array(self.depths, dtype=float))

    @classmethod
    def tree(
        cls,
        parent: Any,
        kernels: Any = None,
        *,
        weights: Any = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """A tree or forest from one parent per node, None for a root.

        ``parent`` is a sequence, or a mapping from names to the name of the parent.

        >>> Graph.tree({"body": None, "arm": "body", "hand": "arm"}).depths
        (0, 1, 2)
        """
        named = isinstance(parent, Mapping)
        parents: dict[Any, Any] = {}
        for key, above in parent.items() if named else enumerate(parent):
            parents[key] = () if above is None else (above,)
        edges: Any = parents if named else list(parents.values())
        return cls(edges, kernels, weights, None if names is None else tuple(names))


def _in_order(values: Any, keys: Sequence[Any]) -> Any:
    """The values of a mapping in the order of the nodes; anything else as it is."""
    if not isinstance(values, Mapping):
        return values
    if set(values) != set(keys):
        raise ParameterError("Kernels and weights by name need parents by the same names.")
    return [values[key] for key in keys]


def _parents_first(
    parents: Sequence[tuple[int, ...]], names: Sequence[str] | None
) -> tuple[int, ...]:
    """All nodes, each after its parents; ParameterError for a cycle."""
    try:
        return tuple(TopologicalSorter(dict(enumerate(parents))).static_order())
    except CycleError as error:
        cycle = ", ".join(str(names[k] if names else k) for k in error.args[1][:5])
        raise ParameterError(
            f"The graph has a cycle through {cycle}; parents must not be descendants "
            "of their children."
        ) from None


def _checked_parents(
    k: int,
    above: Any,
    place: Mapping[Any, int],
) -> tuple[int, ...]:
    """The parents of node ``k`` as numbers; ``place`` maps the name of a node to its number."""
    try:
        found = tuple(place[one] for one in above)
    except (KeyError, TypeError):
        raise ParameterError(
            f"The parents of node {k} must be a list of nodes of the graph, from 0 to "
            f"{len(place) - 1} or by name; got {above!r}."
        ) from None
    if k in found or len(set(found)) < len(found):
        raise ParameterError(
            f"The parents of node {k} must be different nodes and not itself; got {above!r}."
        )
    return found


def _as_kernels(kernels: Any, count: int) -> Any:
    """The kernels of ``count`` nodes as a dictionary or an array, or None."""
    if kernels is None:
        return None
    found: Any = kernels
    is_list = isinstance(kernels, (list, tuple)) and len(kernels) > 0
    if is_list and all(isinstance(kernel, KernelSpec) for kernel in kernels):
        found = KernelDictionary(tuple(kernels))
    elif not isinstance(kernels, KernelDictionary):
        try:
            found = np.ascontiguousarray(kernels, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.empty(0)
        if found.ndim != 3 or found.shape[1] != found.shape[2]:
            raise KernelError(
                "The kernels of a graph are Gram matrices (M, n, n), a KernelDictionary, "
                "or a list of kernels, one per node."
            )
    if len(found) != count:
        raise KernelError(
            f"The graph has {count} nodes and {len(found)} kernels; there must be one per node."
        )
    return found


def _as_weights(weights: Any, count: int) -> tuple[float, ...] | None:
    if weights is None:
        return None
    try:
        found = tuple(float(weight) for weight in weights)
    except (TypeError, ValueError):
        found = ()
    positive = all(np.isfinite(weight) and weight > 0 for weight in found)
    if len(found) != count or not positive:
        raise ParameterError(
            f"weights must hold {count} numbers above 0, one per node; got {weights!r}."
        )
    return found
