"""Graphs of kernels: nodes, hulls, prices, and sums up and down; the grid of products, and graphs
of one's own.

    a kernel may enter the model only after all of its parents

The grid is V = {0..q}^p with edges v -> v + e_i. A node is written by what it touches: the sorted
pairs (variable, level) with level > 0; () is the root. V is never listed, for it may hold 10^30
nodes and more. Node k of a graph of one's own is ((k, 1),): a grid of one level for each kernel
holds the same kernels, in another order.

    A(v) ancestors,   D(v) descendants, both with v itself

Source: Bach (2008), sections 2.1 and 3; specification, sections 1 and 2.
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
_FIRST_ROOTS = 20  # of a graph with many roots, with which a search begins


def levels(node: Node, p: int) -> tuple[int, ...]:
    """The node as p levels, most of them zero."""
    full = [0] * p
    for variable, level in node:
        full[variable] = level
    return tuple(full)


def touched(full: Sequence[int]) -> Node:
    """The node of p levels, as the pairs (variable, level) it touches."""
    return tuple((i, int(level)) for i, level in enumerate(full) if level)


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
    above = dict(node)
    above[variable] = above.get(variable, 0) + 1
    return tuple(sorted(above.items()))


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """The price d_v of a node in the norm: base^|v|_1, ``root`` at the root of a grid; ``listed``
    (M,) where given.
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
        return np.array(
            [self.base ** sum(level for _, level in node) if node else self.root for node in nodes]
        )

    def shares(self, q: int) -> Array:
        """1 / c(t, j)^2 with c(t, j) = sum_{l=t..j} base^l, as (q+1, q+1); zero for j < t."""
        sums = np.cumsum(np.triu(np.tile(self.base ** np.arange(q + 1.0), (q + 1, 1))), axis=1)
        shares: Array = np.divide(1.0, sums**2, out=np.zeros_like(sums), where=sums > 0)
        return shares


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
        """d_v; a ``base`` of None is 4, or sqrt(p) - 1 rounded up where that is more: below the
        certificate rarely closes.
        """
        usual = max(4, np.ceil(np.sqrt(self.p)) - 1)
        return NodeWeights(float(usual if base is None else base), float(root))

    def parents(self, node: Node) -> Sequence[Node]:
        """The nodes it enters after."""
        return parents(node)

    def rank(self, node: Node) -> Any:
        """What nodes are sorted by: depth, then levels."""
        return sum(level for _, level in node), levels(node, self.p)

    def key(self, node: Node) -> Any:
        """The node as a model publishes it: p levels."""
        return levels(node, self.p)

    def node_of(self, key: Any) -> Node:
        """The node that ``key`` names."""
        return touched(key)

    def opened(self, node: Node, hull: Hull) -> list[Node]:
        """What v makes a source: v + e_i where all v - e_l + e_i are inside, that is, where every v
        - e_l has its bit i.
        """
        above = parents(node)
        own = [1 << variable for variable, _ in node]
        taken = hull.taken
        free = (1 << self.p) - 1
        taken[node] = 0
        for parent in above:
            free &= taken[parent]
        for k, (_, level) in enumerate(node):
            open_to = own[k] if level < self.q else 0
            for other, parent in enumerate(above):
                if other != k:
                    open_to &= taken[parent]
            free = (free & ~own[k]) | open_to
        for parent, bit in zip(above, own, strict=True):
            taken[parent] |= bit
        found = []
        while free:
            found.append(child(node, (free & -free).bit_length() - 1))
            free &= free - 1
        return found


class Listed:
    """The order of a ``Graph``, whose node k is ((k, 1),)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.size = len(graph)
        self.depths = graph.depths
        self.nodes: list[Node] = [((k, 1),) for k in range(self.size)]
        self.roots = tuple(
            node for node, above in zip(self.nodes, graph.parents, strict=True) if not above
        )
        self.start = self.roots[:_FIRST_ROOTS]
        self._shares: tuple[Array, Any] | None = None  # of the last prices
        self._children: list[list[Node]] = [[] for _ in self.nodes]
        for node, above in zip(self.nodes, graph.parents, strict=True):
            for parent in above:
                self._children[parent].append(node)

    def weights(self, base: float | None, root: float) -> NodeWeights:
        """d_v: the weights of the graph, or ``base`` to the power of the depth; ``root`` is of
        grids.
        """
        return NodeWeights(listed=self.graph.prices(base))

    def parents(self, node: Node) -> Sequence[Node]:
        """The nodes it enters after."""
        return [self.nodes[k] for k in self.graph.parents[node[0][0]]]

    def rank(self, node: Node) -> Any:
        """What nodes are sorted by: depth, then number."""
        return self.depths[node[0][0]], node

    def key(self, node: Node) -> Any:
        """The node as a model publishes it: its name, or its number in a graph without names."""
        return node[0][0] if self.graph.names is None else self.graph.names[node[0][0]]

    def node_of(self, key: Any) -> Node:
        """The node that ``key`` names."""
        return self.nodes[
            int(key) if self.graph.names is None else self.graph.names.index(str(key))
        ]

    def opened(self, node: Node, hull: Hull) -> list[Node]:
        """The children of v all of whose parents are in the hull."""
        return [
            one
            for one in self._children[node[0][0]]
            if one not in hull and all(v in hull for v in self.parents(one))
        ]

    def shares(self, prices: Array) -> Any:
        """1 / (sum_{v in A(w) and D(t)} d_v)^2 as a sparse matrix (t, w); zero where w is no
        descendant of t.
        """
        if self._shares is not None and self._shares[0] is prices:
            return self._shares[1]
        above: list[set[int]] = [set() for _ in self.nodes]
        for k in self.graph.order:
            above[k] = {k}.union(*(above[parent] for parent in self.graph.parents[k]))
        rows, columns = np.array(
            [(v, w) for w, own in enumerate(above) for v in own], dtype=np.int64
        ).T
        reach = scipy.sparse.csr_matrix(
            (np.ones(rows.size), (rows, columns)), shape=(self.size, self.size)
        )
        between = (reach @ scipy.sparse.diags(prices) @ reach).tocsr()
        between.data = 1.0 / between.data**2
        self._shares = prices, between
        return between


class Hull:
    """A set of nodes closed under taking parents, with the sources of its complement kept up to
    date.

    ``members`` stand in order of entry, parents before children; ``sources`` are the nodes outside
    all of whose parents are inside, which are the only ones that can enter next.
    """

    def __init__(self, order: Grid | Listed, nodes: Iterable[Node] | None = None) -> None:
        self.order = order
        self.members: dict[Node, None] = {}
        self.sources: set[Node] = set(order.roots)
        self.taken: dict[Node, int] = {}  # on a grid, bit i of v: v + e_i is a member
        self.add(order.start if nodes is None else nodes)

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
            node = stack[-1]
            below = [] if node in self else [v for v in self.order.parents(node) if v not in self]
            stack += below
            if below or stack.pop() in self:
                continue
            self.members[node] = None
            self.sources.discard(node)
            self.sources.update(self.order.opened(node, self))

    def extreme_points(self) -> list[Node]:
        """Members none of whose children is a member."""
        inner = {parent for node in self.members for parent in self.order.parents(node)}
        return [node for node in self.members if node not in inner]


class Ancestry:
    """Who is above whom within a hull: sums along it up and down."""

    def __init__(self, order: Grid | Listed, nodes: Sequence[Node]) -> None:
        place, rows = {node: k for k, node in enumerate(nodes)}, dict[Node, set[int]]()

        def row(node: Node) -> set[int]:
            if node not in rows:
                rows[node] = {place[node]}.union(*map(row, order.parents(node)))
            return rows[node]

        found = [sorted(row(node)) for node in nodes]
        self._counts = np.array([len(own) for own in found])
        self._above = np.array([k for own in found for k in own], dtype=np.int64)

    def zeta(self, eta: Array) -> Array:
        """zeta_w = 1 / sum_{v in A(w)} 1 / eta_v."""
        zeta: Array = 1.0 / np.add.reduceat(
            1.0 / eta[self._above], np.cumsum(self._counts) - self._counts
        )
        return zeta

    def down(self, values: Array) -> Array:
        """sum_{w in D(v)} values_w for every v."""
        return np.asarray(
            np.bincount(
                self._above.astype(np.intp, copy=False),
                np.repeat(values, self._counts),
                values.size,
            ),
            dtype=float,
        )

    def matrix(self) -> Array:
        """A[v, w] = 1 where v is an ancestor of w."""
        size = self._counts.size
        found = np.zeros((size, size))
        found[self._above, np.repeat(np.arange(size), self._counts)] = 1.0
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A directed acyclic graph with a kernel at every node.

    Parameters
    ----------
    parents : object
        For each of the M nodes the nodes it can enter after, as indices; or a mapping from a node's
        name to the names of its parents.
    kernels : sequence of kernels
        Gram matrices (M, n, n) of the training rows, used as they are; a ``KernelDictionary`` or a
        list of kernels such as ``Linear(features=(0, 3))``, one per node in order, which also works
        on new rows; None where a stack of kernels is handed to ``fit`` in place of the table. A
        mapping by name where ``parents`` is one.
    weights : sequence of float or None
        Price d_v > 0 of every node in the norm sum_v d_v ||f_D(v)||; None for ``depth_weight`` (1
        where that is None) to the power of the node's depth, the longest way from a root.
    names : sequence of str, default None
        One per node; of a mapping its keys.

    Raises
    ------
    ParameterError for a circle, an unknown parent, or parts that do not fit together.

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
        parts = [self.kernels, self.weights]
        if parents is None or isinstance(parents, str) or not len(parents):
            raise ParameterError(
                "A graph needs at least one node: parents lists the parents of each."
            )
        keys: list[Any] = (
            list(parents) if isinstance(parents, Mapping) else list(range(len(parents)))
        )
        if isinstance(parents, Mapping):
            names = tuple(map(str, keys))
            parents = list(parents.values())
        for k, part in enumerate(parts):
            if isinstance(part, Mapping):
                if set(part) != set(keys):
                    raise ParameterError(
                        "Kernels and weights by name need parents by the same names."
                    )
                parts[k] = [part[key] for key in keys]
        count = len(keys)
        place = {key: k for k, key in enumerate(keys)}
        if names is not None and (len(names) != count or len(set(names)) < count):
            raise ParameterError(
                f"names must hold {count} different names, one per node; got {len(names)}."
            )
        found = tuple(_checked_parents(k, above, place) for k, above in enumerate(parents))
        try:
            order = tuple(TopologicalSorter(dict(enumerate(found))).static_order())
        except CycleError as error:
            circle = ", ".join(str(names[k] if names else k) for k in error.args[1][:5])
            raise ParameterError(
                f"The graph has a circle through {circle}; parents must not be descendants "
                "of their children."
            ) from None
        for name, value in (
            ("parents", found),
            ("kernels", _as_kernels(parts[0], count)),
            ("weights", _as_weights(parts[1], count)),
            ("names", None if names is None else tuple(map(str, names))),
            ("order", order),
        ):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.parents)

    def __repr__(self) -> str:
        kind = (
            "no kernels"
            if self.kernels is None
            else "Gram matrices"
            if self.is_precomputed
            else "kernel functions"
        )
        return f"Graph({len(self)} nodes, {sum(map(len, self.parents))} edges, {kind})"

    @property
    def is_precomputed(self) -> bool:
        """Whether the kernels are Gram matrices."""
        return isinstance(self.kernels, np.ndarray)

    @property
    def depths(self) -> tuple[int, ...]:
        """The longest way from a root to every node."""
        found = [0] * len(self)
        for node in self.order:
            found[node] = max((found[parent] + 1 for parent in self.parents[node]), default=0)
        return tuple(found)

    def prices(self, base: float | None = None) -> Array:
        """d_v (M,): the ``weights``, or ``base`` to the power of the depth."""
        depths = np.array(self.depths, dtype=float)
        return np.array(
            (1.0 if base is None else float(base)) ** depths
            if self.weights is None
            else self.weights
        )

    @classmethod
    def tree(
        cls,
        parent: Any,
        kernels: Any = None,
        *,
        weights: Any = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """A tree or forest: ``parent`` holds one parent per node, None for a root; or maps names to
        the parent's name.

        >>> Graph.tree({"body": None, "arm": "body", "hand": "arm"}).depths
        (0, 1, 2)
        """
        keyed = dict(parent if isinstance(parent, Mapping) else enumerate(parent))
        found: Any = {key: () if above is None else (above,) for key, above in keyed.items()}
        found = found if isinstance(parent, Mapping) else list(found.values())
        return cls(found, kernels, weights, None if names is None else tuple(names))


def _checked_parents(k: int, above: Any, place: Mapping[Any, int]) -> tuple[int, ...]:
    """The parents of node ``k`` as numbers; ``place`` has the number of every name."""
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
    found: Any = kernels
    if (
        isinstance(kernels, (list, tuple))
        and kernels
        and all(isinstance(one, KernelSpec) for one in kernels)
    ):
        found = KernelDictionary(tuple(kernels))
    elif kernels is not None and not isinstance(kernels, KernelDictionary):
        try:
            found = np.ascontiguousarray(kernels, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.empty(0)
        if found.ndim != 3 or found.shape[1] != found.shape[2]:
            raise KernelError(
                "The kernels of a graph are Gram matrices (M, n, n), a KernelDictionary, "
                "or a list of kernels, one per node."
            )
    if found is not None and len(found) != count:
        raise KernelError(
            f"The graph has {count} nodes and {len(found)} kernels; there must be one per node."
        )
    return found


def _as_weights(weights: Any, count: int) -> tuple[float, ...] | None:
    if weights is None:
        return None
    try:
        found = tuple(float(one) for one in weights)
    except (TypeError, ValueError):
        found = ()
    if len(found) != count or not all(np.isfinite(one) and one > 0 for one in found):
        raise ParameterError(
            f"weights must hold {count} numbers above 0, one per node; got {weights!r}."
        )
    return found
