"""What a search asks of its kernels: a graph, and forms, Gram matrices and sums over descendants on n rows.

``Design`` answers for grids of products, ``ListedSpace`` for graphs whose nodes are listed, ``StringSpace`` for a graph
that is grown as it is searched. For a graph with any order v <= w and prices d_v > 0, of a dual a with a_w = a'K_w a:

    N  a_t / d_t^2 <= delta^2                                                for every source t of the hull's complement
    S  S_t = sum_{w in D(t)} a_w / ( sum_{v in A(w) and D(t)} d_v )^2  <=  threshold     for every source t

Any upper bound on S_t in its place leaves the certificate valid.

Source: Bach (2008), sections 2.1 and 3, Propositions 2 and 3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from mklcore.arrays import Array
from mklcore.solvers.hkl.dag import Ancestry, Hull, Node
from mklcore.solvers.hkl.settings import SETTINGS
from mklcore.solvers.hkl.work import Work


class NodeWeights(Protocol):
    """The price d_v of every node in the norm."""

    def of(self, nodes: Sequence[Node]) -> Array:
        """d_v for every node."""
        ...


class NewRows(Protocol):
    """Rows to predict, as the nodes see them."""

    size: int

    def node(self, node: Node) -> tuple[Array, Array | None]:
        """The column (m,) of a node of rank one and None, or ones and its block (m, n)."""
        ...

    def product(self, node: Node, a: Array) -> Array:
        """K_v(new, training) a: (m,) for a (n,), (m, T) for a (n, T)."""
        ...


class KernelSpace(Protocol):
    """The nodes of a graph on n training rows."""

    n: int
    p: int
    root_is_constant: bool

    @property
    def all_columns(self) -> bool:
        """Whether every node has rank one."""
        ...

    @property
    def n_dag_kernels(self) -> int:
        """How many nodes the graph has."""
        ...

    @property
    def n_samples(self) -> int: ...

    @property
    def values(self) -> NewRows:
        """The training rows, seen as rows to predict."""
        ...

    def weights(self, base: float | None, root: float) -> NodeWeights: ...

    def hull(self, nodes: Iterable[Node] | None = None) -> Hull:
        """The smallest hull with these nodes; None for the one a search begins with."""
        ...

    def ancestry(self, nodes: Sequence[Node]) -> Ancestry: ...

    def ordered(self, nodes: Iterable[Node]) -> list[Node]: ...

    def key(self, node: Node) -> Any:
        """What a fitted model calls the node."""
        ...

    def node_of(self, key: Any) -> Node:
        """The node that ``key`` names."""
        ...

    def name(self, node: Node) -> str: ...

    def is_column(self, node: Node) -> bool: ...

    def columns_of(self, nodes: Sequence[Node]) -> Array: ...

    def gram(self, node: Node) -> Array: ...

    def fits(self, nodes: Iterable[Node]) -> bool: ...

    def make_room(self, thick: int) -> None: ...

    def release(self) -> None: ...

    def forms(self, nodes: Sequence[Node], a: Array, work: Work | None = None) -> Array: ...

    def descendant_sums(self, nodes: Sequence[Node], a: Array, weights: Any, work: Work | None = None) -> Array: ...

    def rough_sums(
        self, nodes: Sequence[Node], a: Array, weights: Any, work: Work | None = None
    ) -> tuple[Array, Array]: ...

    def cross(self, rows: Any) -> NewRows: ...


class GraphHull(Hull):
    """A hull of a graph whose parents and children are asked of ``space``."""

    def __init__(self, space: GraphSpace, nodes: Iterable[Node]) -> None:
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


class GraphSpace(ABC):
    """A graph of kernels on n rows; a subclass says what its nodes are, and is asked for no more of them than a search
    needs.

    A node is a tuple of pairs of whole numbers, as files keep it. Subclasses set ``n``, ``memory_mb`` and ``roots``.
    """

    n: int
    p: int = 1  # how wide a first look at the graph is
    memory_mb: float = 2048.0
    roots: tuple[Node, ...]
    root_is_constant = False

    @property
    def n_samples(self) -> int:
        return self.n

    # -- what a subclass says --------------------------------------------------------------------------------------

    @abstractmethod
    def weights(self, base: float | None, root: float) -> NodeWeights:
        """d_v for every node; ``base`` is the factor per step of depth, ``root`` the price of a constant root."""

    @abstractmethod
    def parents(self, node: Node) -> Sequence[Node]:
        """The nodes it can enter after, all of them."""

    @abstractmethod
    def children(self, node: Node) -> Iterable[Node]:
        """The nodes whose parent it is; nodes whose kernel is zero on the training rows may be left out with all below
        them."""

    @abstractmethod
    def key(self, node: Node) -> Any:
        """What a fitted model calls the node."""

    @abstractmethod
    def node_of(self, key: Any) -> Node:
        """The node that ``key`` names."""

    @abstractmethod
    def depth(self, node: Node) -> int:
        """The number of edges on the longest way from a root."""

    @abstractmethod
    def forms(self, nodes: Sequence[Node], a: Array, work: Work | None = None) -> Array:
        """a'K_v a for every node."""

    @abstractmethod
    def descendant_sums(self, nodes: Sequence[Node], a: Array, weights: Any, work: Work | None = None) -> Array:
        """S_t for every node t, or an upper bound on it."""

    @abstractmethod
    def cross(self, rows: Any) -> NewRows:
        """New rows as the nodes see them."""

    @property
    @abstractmethod
    def values(self) -> NewRows:
        """The training rows, seen as rows to predict."""

    @property
    @abstractmethod
    def n_dag_kernels(self) -> int:
        """How many nodes the graph has."""

    # -- nodes of rank one, unless a subclass says otherwise -------------------------------------------------------

    @property
    def all_columns(self) -> bool:
        """Whether every node has rank one."""
        return True

    def is_column(self, node: Node) -> bool:
        """Whether the node has rank one."""
        return True

    def columns_of(self, nodes: Sequence[Node]) -> Array:
        """The columns (n, k) of nodes of rank one."""
        found = np.empty((self.n, len(nodes)))
        for k, node in enumerate(nodes):
            found[:, k] = self.values.node(node)[0]
        return found

    def gram(self, node: Node) -> Array:
        """The Gram matrix (n, n) of one node."""
        column, block = self.values.node(node)
        return np.outer(column, column) if block is None else block

    # -- what follows from it --------------------------------------------------------------------------------------

    def hull(self, nodes: Iterable[Node] | None = None) -> Hull:
        """The smallest hull with these nodes; None for the first roots."""
        return GraphHull(self, self.roots[: SETTINGS.first_roots] if nodes is None else nodes)

    def ancestry(self, nodes: Sequence[Node]) -> Ancestry:
        return Ancestry(nodes, self.parents)

    def ordered(self, nodes: Iterable[Node]) -> list[Node]:
        """Sorted by depth, then as they are numbered: the order in which hulls are reported."""
        return sorted(nodes, key=lambda node: (self.depth(node), node))

    def name(self, node: Node) -> str:
        """How the node is written."""
        return str(self.key(node))

    def rough_sums(
        self, nodes: Sequence[Node], a: Array, weights: Any, work: Work | None = None
    ) -> tuple[Array, Array]:
        """S_t, and how far from it the true one may be: nowhere."""
        return self.descendant_sums(nodes, a, weights, work), np.zeros(len(nodes))

    def fits(self, nodes: Iterable[Node]) -> bool:
        """Whether a hull of these nodes can be trained on within the budget."""
        thick = 0 if self.all_columns else sum(not self.is_column(node) for node in nodes)
        return thick * self.n**2 * 8 <= self.memory_mb * 2**20

    def make_room(self, thick: int) -> None:
        """Let go of what a hull with ``thick`` matrices of its own needs the memory of."""
        self.release()

    @abstractmethod
    def release(self) -> None:
        """Drop what can be made again."""
