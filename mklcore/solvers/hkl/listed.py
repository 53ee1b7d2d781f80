"""A listed graph on n rows: sums over descendants are explicit, one sparse product with the forms of all nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from mklcore.arrays import Array, Indices
from mklcore.errors import KernelError
from mklcore.kernels.grams import GramStack
from mklcore.kernels.maps import KernelMap
from mklcore.solvers.hkl.dag import Ancestry, Hull, Node
from mklcore.solvers.hkl.graph import Graph
from mklcore.solvers.hkl.settings import SETTINGS
from mklcore.solvers.hkl.work import Work


@dataclass(frozen=True, eq=False)
class NodePrices:
    """d_v of a listed graph, ``values`` (M,)."""

    values: Array

    def of(self, nodes: Sequence[Node]) -> Array:
        """d_v for every node."""
        return self.values[[number(node) for node in nodes]]


def number(node: Node) -> int:
    """The index of a node of a listed graph."""
    return node[0][0]


def numbered(k: int) -> Node:
    """The node with index ``k``."""
    return ((int(k), 1),)


class GraphHull(Hull):
    """A hull of the nodes of a listed graph."""

    def __init__(self, space: ListedSpace, nodes: Iterable[Node]) -> None:
        self.space = space
        self.members: dict[Node, int] = {}
        self.sources: set[Node] = set(space.roots)
        self.add(nodes)

    def parents(self, node: Node) -> Sequence[Node]:
        return self.space.parents(node)

    def _enter(self, node: Node) -> None:
        self.members[node] = len(self.members)
        self.sources.discard(node)
        self.sources.update(
            child
            for child in self.space.children(node)
            if child not in self.members and all(parent in self.members for parent in self.space.parents(child))
        )


class ListedSpace:
    """The nodes of ``graph`` on the rows of ``stack``, or, of a saved model, with the ``transform`` of its kernels
    alone.

    ``place`` (M,) says where in the stack the kernel of a node is, -1 where it was left out because it is constant.
    """

    all_columns = False
    root_is_constant = False

    def __init__(self, graph: Graph, stack: GramStack, memory_mb: float = 2048.0) -> None:
        self.stack: GramStack | None = stack
        place = {name: k for k, name in enumerate(stack.names)}
        names = tuple(graph.kernels.names if hasattr(graph.kernels, "names") else stack.names)
        places = np.array([place.get(name, -1) for name in names], dtype=np.int64)
        self._set(graph, graph.names or names, places, stack.transform, stack.n_samples, memory_mb)

    @classmethod
    def of(cls, graph: Graph, X: Any, *, normalise: bool, memory_mb: float) -> ListedSpace:
        """The graph on training rows: a table for kernel functions, a stack (M, n, n) where the graph holds no
        kernels."""
        if graph.is_precomputed:
            stack = GramStack.from_array(graph.kernels, graph.names)
        elif graph.kernels is not None:
            stack = graph.kernels.grams(X, normalise="multiplicative" if normalise else None)
        else:
            stack = X if isinstance(X, GramStack) else GramStack.from_array(X, graph.names)
            if stack.n_kernels != len(graph):
                raise KernelError(
                    f"The graph has {len(graph)} nodes, the stack {stack.n_kernels} kernels; one per node."
                )
        return cls(graph, stack, memory_mb)

    @classmethod
    def restored(
        cls,
        graph: Graph,
        labels: tuple[str, ...],
        place: Indices,
        transform: KernelMap | None,
        n: int,
        memory_mb: float,
    ) -> ListedSpace:
        """The space of a saved model, which predicts and has no training matrices."""
        space = cls.__new__(cls)
        space.stack = None
        space._set(graph, labels, place, transform, n, memory_mb)
        return space

    def _set(
        self,
        graph: Graph,
        labels: tuple[str, ...],
        place: Indices,
        transform: KernelMap | None,
        n: int,
        memory_mb: float,
    ) -> None:
        self.graph, self.labels, self.place, self.transform = graph, labels, place, transform
        self.n, self.memory_mb = n, memory_mb
        self._children: list[list[Node]] = [[] for _ in graph.parents]
        self._parents = [tuple(map(numbered, above)) for above in graph.parents]
        for k, above in enumerate(graph.parents):
            for parent in above:
                self._children[parent].append(numbered(k))
        self._depths = graph.depths
        self.roots = tuple(numbered(k) for k, above in enumerate(graph.parents) if not above)
        self.p = max(1, len(self.roots))
        self._last: tuple[Array, Array] | None = None
        self._tables: tuple[Array, Any] | None = None

    # -- the graph -------------------------------------------------------------------------------------------------

    @property
    def n_samples(self) -> int:
        return self.n

    @property
    def n_dag_kernels(self) -> int:
        return len(self.graph)

    def weights(self, base: float | None, root: float) -> NodePrices:
        """The graph's own weights, or ``base`` to the power of the depth; ``root`` is for constant roots, and there is
        none."""
        return NodePrices(self.graph.prices(base))

    def parents(self, node: Node) -> Sequence[Node]:
        return self._parents[number(node)]

    def children(self, node: Node) -> Iterable[Node]:
        return self._children[number(node)]

    def depth(self, node: Node) -> int:
        return self._depths[number(node)]

    def key(self, node: Node) -> Any:
        """The name of the node, or its index in a graph without names."""
        return number(node) if self.graph.names is None else self.graph.names[number(node)]

    def node_of(self, key: Any) -> Node:
        return numbered(int(key) if self.graph.names is None else self.graph.names.index(str(key)))

    def name(self, node: Node) -> str:
        return str(self.labels[number(node)])

    def hull(self, nodes: Iterable[Node] | None = None) -> Hull:
        """The smallest hull with these nodes; None for the first roots."""
        return GraphHull(self, self.roots[: SETTINGS.first_roots] if nodes is None else nodes)

    def ancestry(self, nodes: Sequence[Node]) -> Ancestry:
        return Ancestry(nodes, self.parents)

    def ordered(self, nodes: Iterable[Node]) -> list[Node]:
        """Sorted by depth, then as they are numbered: the order in which hulls are reported."""
        return sorted(nodes, key=lambda node: (self.depth(node), node))

    # -- kernels ---------------------------------------------------------------------------------------------------

    def is_column(self, node: Node) -> bool:
        return False

    def columns_of(self, nodes: Sequence[Node]) -> Array:
        return np.empty((self.n, 0))

    def _grams(self) -> GramStack:
        if self.stack is None:
            raise KernelError(
                "A saved model holds no Gram matrices of its training rows; fit it again to search its graph."
            )
        return self.stack

    def gram(self, node: Node) -> Array:
        place = int(self.place[number(node)])
        return np.zeros((self.n, self.n)) if place < 0 else self._grams().values[place]

    def forms(self, nodes: Sequence[Node], a: Array, work: Work | None = None) -> Array:
        """a'K_v a for every node."""
        chosen = np.array([number(node) for node in nodes], dtype=np.int64)
        return self._all_forms(a, work)[chosen]

    def _all_forms(self, a: Array, work: Work | None) -> Array:
        """a'K_v a of all M nodes; the last dual's are kept."""
        if self._last is None or not np.array_equal(self._last[0], a):
            there = self.place >= 0
            found = np.zeros(len(self.graph))
            found[there] = self._grams().quad(np.ascontiguousarray(a))[self.place[there]]
            self._last = a.copy(), np.maximum(found, 0.0)
            if work is not None:
                work.spend(len(self.graph) * float(self.n) ** 2)
        return self._last[1]

    def descendant_sums(self, nodes: Sequence[Node], a: Array, weights: Any, work: Work | None = None) -> Array:
        """S_t for every node t: the sum over all its descendants."""
        sums: Array = self._table(weights.values) @ self._all_forms(a, work)
        return sums[[number(node) for node in nodes]]

    def _table(self, prices: Array) -> Any:
        """1 / (sum_{v in A(w) and D(t)} d_v)^2 as a sparse matrix, row t, column w; zero where w is no descendant of
        t."""
        if self._tables is None or not np.array_equal(self._tables[0], prices):
            count = len(self.graph)
            above: list[set[int]] = [set() for _ in range(count)]
            for k in self.graph.order:
                above[k] = {k}.union(*(above[parent] for parent in self.graph.parents[k]))
            pairs = np.array([(v, w) for w in range(count) for v in above[w]], dtype=np.int64)
            reach = scipy.sparse.csr_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
            between = (reach @ scipy.sparse.diags(prices) @ reach).tocsr()
            between.data = 1.0 / between.data**2
            self._tables = prices, between
        return self._tables[1]

    def rough_sums(
        self, nodes: Sequence[Node], a: Array, weights: Any, work: Work | None = None
    ) -> tuple[Array, Array]:
        """S_t, and how far from it the true one may be: nowhere."""
        return self.descendant_sums(nodes, a, weights, work), np.zeros(len(nodes))

    def fits(self, nodes: Iterable[Node]) -> bool:
        """Whether a hull of these nodes can be trained on within the budget."""
        return len(list(nodes)) * self.n**2 * 8 <= self.memory_mb * 2**20

    def make_room(self, thick: int) -> None:
        self.release()

    def release(self) -> None:
        self._last = self._tables = None

    # -- rows ------------------------------------------------------------------------------------------------------

    @property
    def values(self) -> ListedRows:
        return ListedRows(self, None)

    def cross(self, rows: Any) -> ListedRows:
        """New rows of the table, or blocks (M, m, n) where the kernels were given ready."""
        if self.transform is None:
            rows = np.asarray(rows, dtype=np.float64)
            if rows.ndim != 3 or (rows.shape[0], rows.shape[2]) != (len(self.graph), self.n):
                raise KernelError(
                    f"Test blocks must be (M, n_new, n) with M = {len(self.graph)} nodes and n = {self.n} training "
                    f"rows; got "
                    f"shape {rows.shape}."
                )
        return ListedRows(self, rows)


class ListedRows:
    """New rows (None: the training rows) as the nodes of a listed graph see them; a node's block is made when it is
    asked for."""

    def __init__(self, space: ListedSpace, rows: Any) -> None:
        self.space, self.rows = space, rows
        self.size = space.n if rows is None else int(np.shape(rows)[1 if space.transform is None else 0])

    def node(self, node: Node) -> tuple[Array, Array | None]:
        """Ones, and the block (m, n) of the node."""
        return np.ones(self.size), self._block(node)

    def _block(self, node: Node) -> Array:
        space = self.space
        if self.rows is None:
            return space.gram(node)
        place = int(space.place[number(node)])
        if place < 0:
            return np.zeros((self.size, space.n))
        if space.transform is None:
            block: Array = self.rows[number(node)]
            return block
        crossed: Array = space.transform.subset([place]).cross(self.rows)[0]
        return crossed

    def product(self, node: Node, a: Array) -> Array:
        """K_v(new, training) a: (m,) for a (n,), (m, T) for a (n, T)."""
        return self._block(node) @ a
