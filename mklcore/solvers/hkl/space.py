"""What a search asks of its kernels: a graph, and forms, Gram matrices and sums over descendants on n rows.

``Design`` answers for grids of products, ``ListedSpace`` for graphs whose nodes are listed. For a graph
with any order v <= w and prices d_v > 0, of a dual a with a_w = a'K_w a:

    N  a_t / d_t^2 <= delta^2                                                for every source t of the hull's complement
    S  S_t = sum_{w in D(t)} a_w / ( sum_{v in A(w) and D(t)} d_v )^2  <=  threshold     for every source t

Any upper bound on S_t in its place leaves the certificate valid.

Source: Bach (2008), sections 2.1 and 3, Propositions 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from mklcore.arrays import Array
from mklcore.solvers.hkl.dag import Ancestry, Hull, Node
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
