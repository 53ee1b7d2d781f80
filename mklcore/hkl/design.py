"""The space of kernels that a search works in, on n rows: forms, Gram matrices and sums over
descendants of its nodes.

For a graph with any order v <= w and prices d_v > 0, of a dual a with a_w = a'K_w a, a search asks
for

    N  a_t / d_t^2 <= delta^2                                                for every source t of the hull's complement
    S  S_t = sum_{w in D(t)} a_w / ( sum_{v in A(w) and D(t)} d_v )^2  <=  threshold     for every source t

Source: Bach (2008), sections 2.1 and 3, Propositions 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import KernelError, ParameterError, never_asked
from mklcore.hkl.bases import BASES, Basis, PolynomialBasis
from mklcore.hkl.graph import Graph, Grid, Listed, Node, NodeWeights
from mklcore.hkl.sums import COLS, ROWS, Plan, add_forms, multiply_packed, node_columns
from mklcore.kernels.grams import GramStack, check_gram

_MB = 2**20
_RANK_ONE = 1e-12  # a Gram matrix this close to an outer product is one
# share of the memory that the levels leave: for what a hull trains on, and for what is kept
_TRAINED = 0.9
_KEPT = 0.2
_TOGETHER = 20_000  # nodes of one plan: each takes some kilobytes of work space
_AT_ONCE = 2_000_000  # numbers of node columns that are made together
ROOT_OF_BUMPS = "level 0 of all"


class Design:
    """All kernels of a graph on n rows: a search is written for this class alone, and one object
    serves every lambda, loss and target. Hand it to ``fit`` in place of X, and several fits share
    all of its matrices.

    Its nodes are products of levels, k_v = prod_i k_{i, v_i}, of p variables with levels 0 .. q.
    Without a ``graph`` they are the grid {0..q}^p. With one, variable k has the kernel of node k as
    its level 1 and the constant 1 as its level 0, and node k is ((k, 1),). A level of rank one is a
    column, and a node of columns costs O(n); other levels are one triangle of a Gram matrix, and
    such a node costs O(n^2).

    ``order``                  parents, depths, prices and names: what makes hulls, ancestry and weights
    ``forms``                  a'K_v a of any nodes
    ``descendant_sums``        S_t of any nodes
    ``columns_of``, ``gram``   of single nodes, to train on
    ``fits``                   whether a hull can be trained on within ``memory_mb``
    ``cross``                  the same kernels between new rows and the training rows

    Any upper bound on S_t in its place leaves a certificate valid.

    Parameters
    ----------
    X : (n, p) rows, Gram matrices (p, q+1, n, n), or for a graph without kernels their stack (M, n,
    n)
    basis : a basis, its key in ``BASES``, None (polynomial of degree 4), or Gram matrices (p, q+1,
    n, n)
    graph : None for the grid, or a ``Graph``, which brings its own kernels
    standardize : bring every column to mean 0 and standard deviation 1 first
    normalize : centre every level above 0 and scale it to mean diagonal 1; kernel functions of a
    graph to variance 1
    names : names of the variables
    memory_mb : budget for Gram matrices; raises ParameterError with the figure where the levels
    alone exceed it
    """

    def __init__(
        self,
        X: Any,
        basis: Any = None,
        *,
        graph: Graph | None = None,
        standardize: bool = True,
        normalize: bool = True,
        names: Sequence[str] | None = None,
        memory_mb: float = 2048.0,
    ) -> None:
        self.graph = graph
        self.normalize = normalize
        self.memory_mb = memory_mb
        self.levels: TableLevels | Matrices | Kernels
        if graph is not None:
            self.levels = X if isinstance(X, Kernels) else Kernels.of(graph, X, normalize)
            names = self.levels.labels
        else:
            self.levels = _levels(X, basis, standardize)
        self.n, self.p, self.q = self.levels.n, self.levels.p, self.levels.q
        self.order: Grid | Listed = Grid(self.p, self.q) if graph is None else Listed(graph)
        self.names = tuple(f"x{i}" for i in range(self.p)) if names is None else tuple(names)
        self._read(normalize and graph is None)
        self._known: tuple[NodeWeights, Array, dict[Node, float]] | None = None
        self._grams: dict[Node, Array] = {}

    def _read(self, normalize: bool) -> None:
        first = self.levels.train(0)
        size = self.n * (self.n + 1) // 2
        needed = sum(part.ndim == 2 for part in first) * self.p * size * 8 / _MB
        if needed > self.memory_mb:
            raise ParameterError(
                f"The levels of this basis need {needed:.0f} MB for {self.n} rows and "
                f"{self.p} variables, more than memory_mb={self.memory_mb:g}. Raise "
                "memory_mb, use fewer rows, or a basis of columns (polynomial)."
            )
        self.columns = np.ones((self.p, self.q + 1, self.n))  # ones where a level is a block
        # of its block, -1 where it is a column
        self.row_in = np.full((self.p, self.q + 1), -1, dtype=np.int64)
        self.scaling: list[list[Scaling | None]] = []
        blocks: list[Array] = []
        for i in range(self.p):
            parts = first if i == 0 else self.levels.train(i)
            self.scaling.append(
                [Scaling(part) if normalize and j > 0 else None for j, part in enumerate(parts)]
            )
            for j, part in enumerate(self._scaled(i, parts)):
                if part.ndim == 1:
                    self.columns[i, j] = part
                else:
                    self.row_in[i, j] = len(blocks)
                    ends = np.zeros(COLS * (len(part) > 0))
                    blocks.append(np.concatenate([*(row[r:] for r, row in enumerate(part)), ends]))
        self.blocks = np.array(blocks) if blocks else np.empty((0, 0))
        self.all_columns = not blocks
        self.unit = np.all(self.columns[:, 0] == 1.0, axis=1) & (self.row_in[:, 0] < 0)
        if isinstance(self.levels, Kernels):
            self.levels.stack = None  # the blocks hold what is in it
        self.root_is_constant = self.graph is None and bool(self.unit.all())

    def _scaled(self, i: int, parts: list[Array]) -> list[Array]:
        return [
            part if scale is None else scale(part)
            for scale, part in zip(self.scaling[i], parts, strict=True)
        ]

    @property
    def n_samples(self) -> int:
        return self.n

    @property
    def values(self) -> HullRows:
        """The training rows, seen as rows to predict."""
        return HullRows(self, None)

    def cross(self, rows: Any) -> HullRows:
        """New rows (m, p), or blocks (p, q+1, m, n), of a graph (M, m, n), seen through this
        design.
        """
        return HullRows(self, rows)

    def release(self) -> None:
        """Drop what can be made again."""
        self._known = None
        self._grams.clear()

    def fits(self, nodes: Iterable[Node]) -> bool:
        """Whether a hull of these nodes can be trained on within the budget; nodes of rank one
        always can.
        """
        thick = 0 if self.all_columns else sum(not self.is_column(node) for node in nodes)
        return thick * self.n**2 * 8 <= max(_TRAINED * self._spare, 8 * self.n**2)

    @property
    def _spare(self) -> float:
        """Bytes of the budget that the levels leave."""
        return max(0.0, self.memory_mb * _MB - self.blocks.nbytes)

    # -- single nodes
    # -----------------------------------------------------------------------------------------------

    def name(self, node: Node) -> str:
        """How a node is written: 1, x1, x1·x3², ...

        Where level 0 is no constant, the root is not called 1.
        """
        touched = "·".join(self.levels.level_name(self.names[i], level) for i, level in node)
        return touched or ("1" if self.root_is_constant else ROOT_OF_BUMPS)

    def levels_of(self, node: Node) -> dict[int, int]:
        """The variables whose level does not drop out of the product, with their levels."""
        own = dict(node)
        return (
            own
            if self.unit.all()
            else {i: own.get(i, 0) for i in range(self.p) if i in own or not self.unit[i]}
        )

    def is_column(self, node: Node) -> bool:
        """Whether the node has rank one."""
        return self.all_columns or all(
            self.row_in[i, level] < 0 for i, level in self.levels_of(node).items()
        )

    def columns_of(self, nodes: Sequence[Node]) -> Array:
        """(n, k) of every node the product of those levels that are columns."""
        counts = [len(node) for node in nodes]
        pairs = [pair for node in nodes for pair in node]
        starts = np.cumsum([0, *counts]).astype(np.int64)
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        out = np.empty((len(nodes), self.n))
        node_columns(self.columns, self.unit, starts, table[:, 0].copy(), table[:, 1].copy(), out)
        return out.T

    def gram(self, node: Node) -> Array:
        """The Gram matrix (n, n) of one node; the first that fit the budget are kept until
        ``release``.
        """
        if node in self._grams:
            return self._grams[node]
        column = self.columns_of([node])[:, 0]
        found = np.outer(column, column)
        for i, level in self.levels_of(node).items():
            if self.row_in[i, level] >= 0:
                self._multiply(found, i, level)
        if (len(self._grams) + 1) * found.nbytes <= _KEPT * self._spare:
            self._grams[node] = found
        return found

    def _multiply(self, gram: Array, i: int, level: int) -> None:
        if not self.blocks.size:
            raise KernelError(
                "A saved model holds no Gram matrices of its training rows; fit it again "
                "to search its graph."
            )
        multiply_packed(gram, self.blocks[self.row_in[i, level]])

    # -- many nodes
    # -------------------------------------------------------------------------------------------------

    def forms(self, nodes: Sequence[Node], a: Array) -> Array:
        """a'K_v a for every node."""
        column = np.array([self.is_column(node) for node in nodes], dtype=bool)
        thin, thick = (
            [nodes[int(k)] for k in np.flatnonzero(which)] for which in (column, ~column)
        )
        found = np.zeros(len(nodes))
        step = max(1, _AT_ONCE // self.n)
        parts = [self.columns_of(thin[k : k + step]).T @ a for k in range(0, len(thin), step)]
        found[column] = np.concatenate([np.empty(0), *parts]) ** 2
        found[~column] = self._streamed(thick, a, np.eye(self.q + 1), whole=False)
        return found

    def descendant_sums(
        self,
        nodes: Sequence[Node],
        a: Array,
        weights: NodeWeights,
        pulse: Callable[[], Any] = never_asked,
    ) -> Array:
        """S_t for every node t: the sum over all its descendants.

        ``pulse`` is called now and then, and may raise.

        The sums of the last dual are kept, and serve its multiples: a path asks for most of them
        two or three times.
        """
        factor = (
            None
            if self._known is None or self._known[0] is not weights
            else _multiple(a, self._known[1])
        )
        if self._known is None or factor is None:
            self._known = (weights, a.copy(), {})
            factor = 1.0
        _, dual, known = self._known
        fresh = [node for node in nodes if node not in known]
        if fresh and isinstance(self.order, Listed):
            assert weights.listed is not None
            fresh = self.order.nodes
            sums = self.order.shares(weights.listed) @ self.forms(self.order.nodes, dual)
        elif fresh:
            sums = self._streamed(fresh, dual, weights.shares(self.q), whole=True, pulse=pulse)
        if fresh:
            known.update(zip(fresh, sums.tolist(), strict=True))
        return factor**2 * np.array([known[node] for node in nodes])

    def _streamed(
        self,
        nodes: Sequence[Node],
        a: Array,
        shares: Array,
        whole: bool,
        pulse: Callable[[], Any] = never_asked,
    ) -> Array:
        """a' [o_i M_i] a with M_i = sum_j shares_ij K_ij; of variables that are not touched, too,
        if ``whole``.
        """
        if nodes and not self.all_columns and not self.blocks.size:
            self.gram(nodes[0])  # which says that there are none
        found = [np.empty(0)]
        step = _TOGETHER
        dual = np.pad(a, (0, COLS))
        columns = np.pad(self.columns.reshape(-1, self.n), ((0, 0), (0, COLS)))
        for some in (nodes[k : k + step] for k in range(0, len(nodes), step)):
            plan = Plan(some, self.p, self.q, np.zeros_like(self.unit) if whole else self.unit)
            vectors = np.empty((plan.vectors, ROWS * COLS))
            out = np.zeros(len(some))
            row = 0
            while row < self.n:
                pulse()
                stop = row + ROWS * (1 + plan.entries // (ROWS * (self.n - row)))
                add_forms(
                    row,
                    min(stop, self.n),
                    self.n,
                    vectors,
                    dual,
                    shares,
                    columns,
                    self.unit,
                    self.row_in,
                    self.blocks,
                    plan.levels,
                    plan.products,
                    plan.single,
                    plan.fours,
                    out,
                )
                row = stop
            found.append(out)
        return np.maximum(np.concatenate(found), 0.0)


def _multiple(a: Array, dual: Array) -> float | None:
    """What ``a`` is a multiple of the dual by, up to the rounding of a product; None where it is
    none.
    """
    own = float(np.max(np.abs(dual), initial=0.0))
    factor = float(np.max(np.abs(a), initial=0.0)) / own if own > 0.0 else 1.0
    off = np.abs(a - factor * dual) > 4.0 * np.finfo(float).eps * np.abs(a)
    return None if off.any() else factor


class HullRows:
    """New rows (None: the training rows), whose levels are computed variable by variable as they
    are asked for.
    """

    def __init__(self, design: Design, rows: Any) -> None:
        self.design = design
        self._parts: dict[int, list[Array]] = {}
        self.rows: Any
        self.rows, self.size = (None, design.n) if rows is None else design.levels.new_rows(rows)

    def level(self, i: int, j: int) -> Array:
        """Level j of variable i: a column (m,) or a block (m, n)."""
        design = self.design
        if self.rows is None:
            if design.row_in[i, j] < 0:
                column: Array = design.columns[i, j]
                return column
            block = np.ones((self.size, self.size))
            design._multiply(block, i, j)
            return block
        if i not in self._parts:
            self._parts[i] = design._scaled(i, design.levels.new(self.rows, i))
        return self._parts[i][j]

    def weighed(self, i: int, shares: Array) -> Array:
        """sum_j shares_j K_ij (m, n) between these rows and the training rows."""
        total = np.zeros((self.size, self.design.n))
        for j in map(int, np.flatnonzero(shares)):
            part = self.level(i, j)
            total += shares[j] * (
                np.outer(part, self.design.columns[i, j]) if part.ndim == 1 else part
            )
        return total

    def full_gram(self, shares: Array) -> Array:
        """prod_i sum_j shares_j K_ij (m, n) between these rows and the training rows; at shares of
        one the sum of all kernels of the grid.
        """
        total = np.ones((self.size, self.design.n))
        for i in range(self.design.p):
            total *= self.weighed(i, shares)
        return total

    def node(self, node: Node) -> tuple[Array, Array | None]:
        """The product of the node's columns (m,), and of its blocks (m, n) where it has any."""
        column = np.ones(self.size)
        block = None
        for i, level in self.design.levels_of(node).items():
            part = self.level(i, level)
            if part.ndim == 1:
                column = column * part
            else:
                block = part if block is None else block * part
        return column, block

    def product(self, node: Node, a: Array) -> Array:
        """K_v(new, training) a: (m,) for a (n,), (m, T) for a (n, T)."""
        if self.rows is None and not self.design.is_column(node):
            return np.asarray(self.design.gram(node) @ a)
        column, block = self.node(node)
        weighed = (self.design.columns_of([node])[:, 0] * a.T).T
        if block is None:
            product: Array = np.multiply.outer(column, weighed.sum(axis=0))
            return product
        return (column * (block @ weighed).T).T


# Where levels come from: a table and a basis, Gram matrices, or the kernels of a graph


class TableLevels:
    """The levels of a table of rows: a basis applied to every (standardised) column.

    ``X`` (n, p) are training rows.
    """

    def __init__(self, basis: Basis, X: Array, standardize: bool) -> None:
        self.p = int(X.shape[1])
        self.q = int(basis.q)
        self.n = len(X)
        self.mean = X.mean(axis=0) if standardize else np.zeros(self.p)
        spread = X.std(axis=0) if standardize else np.ones(self.p)
        # Columns that are constant up to rounding become zeros instead of noise of unit size.
        constant = spread <= 1e-12 * np.maximum(1.0, np.abs(self.mean))
        self.scale = np.where(constant, np.inf if standardize else 1.0, spread)
        self.X = np.ascontiguousarray(((X - self.mean) / self.scale).T)
        # what all columns decide
        self.basis = basis.scaled_to(self.X.T) if hasattr(basis, "scaled_to") else basis
        self.states = [basis.fit(x) for x in self.X]
        self.level_name = self.basis.level_name

    def new_rows(self, rows: Any) -> tuple[Any, int]:
        """New rows (m, p) and m."""
        return rows, len(rows)

    def train(self, i: int) -> list[Array]:
        return self.basis.parts(self.states[i], self.X[i], self.X[i])

    def new(self, rows: Array, i: int) -> list[Array]:
        return self.basis.parts(
            self.states[i], (rows[:, i] - self.mean[i]) / self.scale[i], self.X[i]
        )


class Matrices:
    """Levels given as Gram matrices K (p, q+1, n, n); new rows come as blocks (p, q+1, m, n)."""

    def __init__(self, K: Any) -> None:
        K = _numeric(K)
        if K.ndim != 4 or K.shape[2] != K.shape[3] or min(K.shape) < 1 or K.shape[1] < 2:
            raise KernelError(
                "A basis given as an array has one Gram matrix per variable and level: "
                f"shape (p, q+1, n, n) with at least two levels; got shape {K.shape}."
            )
        self.p = len(K)
        self.q = int(K.shape[1]) - 1
        self.n = int(K.shape[2])
        for i, j in np.ndindex(K.shape[:2]):
            check_gram(f"Level {j} of variable {i + 1}", np.ascontiguousarray(K[i, j]))
        self.K = K
        self.anchors = np.array([[_rank_one_anchor(gram) for gram in levels] for levels in K])

    def new_rows(self, rows: Any) -> tuple[Array, int]:
        """Blocks (p, q+1, m, n) of new rows and m; KernelError for another shape."""
        rows = _numeric(rows)
        if rows.ndim != 4 or (*rows.shape[:2], rows.shape[3]) != (self.p, self.q + 1, self.n):
            raise KernelError(
                f"Test blocks must be (p, q+1, n_new, n) with p = {self.p}, q+1 = "
                f"{self.q + 1} and n = {self.n} training rows; got shape {rows.shape}."
            )
        return rows, int(rows.shape[2])

    def train(self, i: int) -> list[Array]:
        return self.new(self.K, i)

    def new(self, rows: Array, i: int) -> list[Array]:
        return [self._part(rows[i, j], i, j) for j in range(self.q + 1)]

    def _part(self, block: Array, i: int, j: int) -> Array:
        """A column where the training matrix has rank one: k(., x_r) / sqrt(k(x_r, x_r)) at its
        largest diagonal entry.
        """
        r = int(self.anchors[i, j])
        if r < 0:
            return np.array(block)
        return block[:, r] / float(np.sqrt(self.K[i, j, r, r] or 1.0))

    def level_name(self, name: str, level: int) -> str:
        return f"{name}[{level}]"


class Kernels:
    """The kernels of a graph, each the level 1 of a variable of its own, next to the constant 1.

    ``place`` (M,) says where in ``stack``, and in the ``transform`` to new rows, the kernel of a
    node is, -1 where it was left out because it is constant. The stack is None in a saved model,
    which predicts and is not searched.
    """

    q = 1

    def __init__(
        self,
        labels: tuple[str, ...],
        place: Indices,
        transform: Any,
        n: int,
        stack: GramStack | None = None,
    ) -> None:
        self.labels = labels
        self.place = place
        self.transform = transform
        self.n = n
        self.stack = stack
        self.p = len(labels)

    @classmethod
    def of(cls, graph: Graph, X: Any, normalize: bool) -> Kernels:
        """On training rows: a table for kernel functions, a stack (M, n, n) where the graph holds
        no kernels.
        """
        if graph.is_precomputed:
            stack = GramStack.from_array(graph.kernels, graph.names)
        elif graph.kernels is not None:
            stack = graph.kernels.grams(X, normalise="multiplicative" if normalize else None)
        else:
            stack = X if isinstance(X, GramStack) else GramStack.from_array(X, graph.names)
            if stack.n_kernels != len(graph):
                raise KernelError(
                    f"The graph has {len(graph)} nodes, the stack {stack.n_kernels} "
                    "kernels; one per node."
                )
        place = {name: k for k, name in enumerate(stack.names)}
        names = getattr(graph.kernels, "names", stack.names)
        places = np.array([place.get(name, -1) for name in names], dtype=np.int64)
        return cls(tuple(graph.names or names), places, stack.transform, stack.n_samples, stack)

    def train(self, i: int) -> list[Array]:
        if self.place[i] < 0:
            return [np.ones(self.n), np.zeros(self.n)]
        return [
            np.ones(self.n),
            np.empty((0, 0)) if self.stack is None else self.stack.values[self.place[i]],
        ]

    def new_rows(self, rows: Any) -> tuple[Any, int]:
        """New rows of the table, or blocks (M, m, n) where the kernels were given ready, and m."""
        if self.transform is not None:
            return rows, len(rows)
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 3 or (rows.shape[0], rows.shape[2]) != (self.p, self.n):
            raise KernelError(
                f"Test blocks must be (M, n_new, n) with M = {self.p} nodes and n = "
                f"{self.n} training rows; got shape {rows.shape}."
            )
        return rows, int(rows.shape[1])

    def new(self, rows: Any, i: int) -> list[Array]:
        place = int(self.place[i])
        if place < 0:
            return [
                np.ones(len(rows)),
                np.zeros(len(rows) if self.transform is not None else rows.shape[1]),
            ]
        block = rows[i] if self.transform is None else self.transform.subset([place]).cross(rows)[0]
        return [np.ones(len(block)), block]

    def level_name(self, name: str, level: int) -> str:
        return name


def _levels(X: Any, basis: Any, standardize: bool) -> TableLevels | Matrices:
    """Where the levels of a grid come from."""
    given = (
        basis if isinstance(basis, (np.ndarray, list, tuple)) else X if np.ndim(X) == 4 else None
    )
    if given is not None:
        return Matrices(given)
    if isinstance(basis, str) and basis not in BASES:
        raise ParameterError(
            f"There is no basis called {basis!r}; the bases are {', '.join(BASES)}."
        )
    kind = (
        PolynomialBasis() if basis is None else BASES[basis]() if isinstance(basis, str) else basis
    )
    missing = [part for part in ("q", "fit", "parts", "level_name") if not hasattr(kind, part)]
    if len(missing) == 4:
        raise ParameterError(
            "basis must be None, one of the bases (PolynomialBasis(4), GaussianBasis(3), "
            f"...) or an array of Gram matrices (p, q+1, n, n); got {basis!r}."
        )
    if missing:
        raise ParameterError(
            f"{type(kind).__name__} is no complete basis: it lacks {', '.join(missing)}. "
            "Write what is missing as Basis in mklcore.hkl.bases has it."
        )
    return TableLevels(kind, np.asarray(X), standardize)


def _numeric(K: Any) -> Array:
    try:
        return np.asarray(K, dtype=np.float64)
    except (TypeError, ValueError):
        raise KernelError(
            "A basis given as an array must hold numbers, in one shape (p, q+1, n, n)."
        ) from None


def _rank_one_anchor(gram: Array) -> int:
    """Where to read the column off a Gram matrix of rank one (or zero); -1 for any other."""
    r = int(np.argmax(np.diag(gram)))
    top = float(gram[r, r])
    if top <= 0.0:
        return r
    return (
        r if np.max(np.abs(gram - np.outer(gram[:, r], gram[r]) / top)) <= _RANK_ONE * top else -1
    )


class Scaling:
    """Centring and scaling of one level, learnt on the training rows: mean 0 in feature space, mean
    diagonal 1.
    """

    def __init__(self, part: Array) -> None:
        self.rows: Array = part.mean(axis=-1)  # a number for a column
        self.total = float(part.mean())
        if part.ndim == 1:
            size = float(np.sqrt(np.mean((part - self.total) ** 2)))
            room = 1e-10
        else:
            size = float(np.trace(part) / len(part) - self.total)
            room = 1e-12
        self.size = size if size > room * max(1.0, abs(self.total)) else np.inf

    def __call__(self, part: Array) -> Array:
        if part.ndim == 1:
            return (part - self.total) / self.size
        own: Array = part.mean(axis=1)
        return (part - own[:, None] - self.rows[None, :] + self.total) / self.size
