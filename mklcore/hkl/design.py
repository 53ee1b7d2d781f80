"""The space of kernels that a search works in, on n rows.

For a graph with any order v <= w and node weights d_v > 0, and for a dual a with a_w = a'K_w a, a
search checks two conditions on the sources t of the complement of the hull:

    N  a_t / d_t^2 <= delta^2
    S  S_t = sum_{w in D(t)} a_w / ( sum_{v in A(w) and D(t)} d_v )^2  <=  threshold

Source: Bach (2008), sections 2.1 and 3, Propositions 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import KernelError, ParameterError, never_asked
from mklcore.hkl.bases import BASES, Basis, GaussianBasis, PolynomialBasis
from mklcore.hkl.graph import Graph, Grid, Listed, Node, NodeWeights
from mklcore.hkl.sums import COLS, LevelArrays, multiply_packed, node_columns, streamed_forms
from mklcore.kernels.grams import GramStack, check_gram

_MB = 2**20
_RANK_ONE = 1e-12  # a Gram matrix this close to an outer product counts as one
# Shares of the memory that the levels leave: for the matrices that a hull is trained on, and for
# the Gram matrices of single nodes that are saved.
_TRAINED = 0.9
_SAVED = 0.2
_NUMBERS = 2_000_000  # numbers of node columns that are computed together
_ROOT_OF_BUMPS = "level 0 of all"
_BASIS_PARTS = ("q", "fit", "parts", "level_name")


class Design:
    """All kernels of a graph on n rows.

    A search uses this class alone, and one object serves every lambda, loss and target. Pass it to
    ``fit`` in place of X, and several fits share all of its matrices.

    Its nodes are products of levels, k_v = prod_i k_{i, v_i}, of p variables with levels 0 .. q.
    Without a ``graph`` they are the grid {0..q}^p. With one, variable k has the kernel of node k as
    its level 1 and the constant 1 as its level 0, and node k is ((k, 1),). A level of rank one is a
    column, and a node of columns costs O(n); other levels are blocks (one triangle of a Gram
    matrix), and a node with a block costs O(n^2).

    ``order``                    parents, depths, node weights and names
    ``quadratic_forms``          a'K_v a of any nodes
    ``descendant_sums``          S_t of any nodes
    ``columns_of``, ``gram``     single nodes, to train on
    ``fits``                     whether a hull can be trained on within ``memory_mb``
    ``cross``                    the same kernels between new rows and the training rows

    A certificate stays valid with any upper bound in place of S_t.

    Parameters
    ----------
    X : (n, p) rows, Gram matrices (p, q+1, n, n), or the stack (M, n, n) of a graph without kernels
    basis : a basis, its key in ``BASES``, None (polynomial of degree 4), or Gram matrices
        (p, q+1, n, n)
    graph : None for the grid, or a ``Graph``, which has its own kernels
    standardize : bring every column to mean 0 and standard deviation 1 first
    normalise : centre every level above 0 and scale it to mean diagonal 1; scale the kernel
        functions of a graph to variance 1
    names : names of the variables
    memory_mb : memory for Gram matrices; ParameterError with the figure where the levels alone need
        more
    """

    def __init__(
        self,
        X: Any,
        basis: Any = None,
        *,
        graph: Graph | None = None,
        standardize: bool = True,
        normalise: bool = True,
        names: Sequence[str] | None = None,
        memory_mb: float = 2048.0,
    ) -> None:
        self.graph = graph
        self.normalise = normalise
        self.memory_mb = memory_mb
        self.levels: TableLevels | Matrices | Kernels
        if graph is not None:
            self.levels = X if isinstance(X, Kernels) else Kernels.of(graph, X, normalise)
            names = self.levels.labels
        else:
            self.levels = _levels(X, basis, standardize)
        self.n = self.levels.n
        self.p = self.levels.p
        self.q = self.levels.q
        self.order: Grid | Listed
        self.order = Grid(self.p, self.q) if graph is None else Listed(graph)
        self.names = tuple(f"x{i}" for i in range(self.p)) if names is None else tuple(names)
        self._read(normalise and graph is None)
        self._known: tuple[NodeWeights, Array, dict[Node, float]] | None = None
        self._grams: dict[Node, Array] = {}

    def _read(self, normalise: bool) -> None:
        """Read, scale and store all levels; ParameterError where they exceed the memory."""
        first = self.levels.train(0)
        triangle = self.n * (self.n + 1) // 2
        needed = sum(part.ndim == 2 for part in first) * self.p * triangle * 8 / _MB
        if needed > self.memory_mb:
            raise ParameterError(
                f"The levels of this basis need {needed:.0f} MB for {self.n} rows and "
                f"{self.p} variables, more than memory_mb={self.memory_mb:g}. Raise "
                "memory_mb, use fewer rows, or a basis of columns (polynomial)."
            )
        self.columns = np.ones((self.p, self.q + 1, self.n))
        self.block_of = np.full((self.p, self.q + 1), -1, dtype=np.int64)
        self.scaling: list[list[Scaling | None]] = []
        blocks: list[Array] = []
        for i in range(self.p):
            parts = first if i == 0 else self.levels.train(i)
            self.scaling.append(
                [Scaling(part) if normalise and j > 0 else None for j, part in enumerate(parts)]
            )
            for j, part in enumerate(self.scaled(i, parts)):
                if part.ndim == 1:
                    self.columns[i, j] = part
                else:
                    self.block_of[i, j] = len(blocks)
                    padding = np.zeros(COLS * (len(part) > 0))
                    rows = [row[r:] for r, row in enumerate(part)]
                    blocks.append(np.concatenate([*rows, padding]))
        self.blocks = np.array(blocks) if blocks else np.empty((0, 0))
        self.all_columns = not blocks
        is_column = self.block_of[:, 0] < 0
        self.constant = np.all(self.columns[:, 0] == 1.0, axis=1) & is_column
        self.root_is_constant = self.graph is None and bool(self.constant.all())
        if isinstance(self.levels, Kernels):
            self.levels.stack = None  # the blocks hold the same numbers

    def scaled(self, i: int, parts: list[Array]) -> list[Array]:
        """The levels of variable i, centred and scaled as the training rows are."""
        found = []
        for scale, part in zip(self.scaling[i], parts, strict=True):
            found.append(part if scale is None else scale(part))
        return found

    @property
    def n_samples(self) -> int:
        return self.n

    @property
    def values(self) -> HullRows:
        """The training rows, as rows to predict."""
        return HullRows(self, None)

    def cross(self, rows: Any) -> HullRows:
        """The kernels of new rows (m, p), or of blocks (p, q+1, m, n), of a graph (M, m, n)."""
        return HullRows(self, rows)

    def release(self) -> None:
        """Free the memory of everything that can be computed again."""
        self._known = None
        self._grams.clear()

    def fits(self, nodes: Iterable[Node]) -> bool:
        """Whether a hull of these nodes can be trained on within the memory.

        Nodes of rank one always can.
        """
        count = 0 if self.all_columns else sum(not self.is_column(node) for node in nodes)
        gram_bytes = 8 * self.n**2
        return count * gram_bytes <= max(_TRAINED * self._spare, gram_bytes)

    @property
    def _spare(self) -> float:
        """Bytes of the memory that the levels leave."""
        return max(0.0, self.memory_mb * _MB - self.blocks.nbytes)

    # -- single nodes

    def name(self, node: Node) -> str:
        """How a node is written: 1, x1, x1·x3², ...

        The root is called 1 only where level 0 is constant.
        """
        factors = [self.levels.level_name(self.names[i], level) for i, level in node]
        return "·".join(factors) or ("1" if self.root_is_constant else _ROOT_OF_BUMPS)

    def levels_of(self, node: Node) -> dict[int, int]:
        """The variables whose level is not constantly one, with their levels."""
        touched = dict(node)
        if self.constant.all():
            return touched
        untouched = {int(i): 0 for i in np.flatnonzero(~self.constant)}
        return dict(sorted((untouched | touched).items()))

    def is_column(self, node: Node) -> bool:
        """Whether the node has rank one."""
        return self.all_columns or all(
            self.block_of[i, level] < 0 for i, level in self.levels_of(node).items()
        )

    def columns_of(self, nodes: Sequence[Node]) -> Array:
        """For every node the product (n, k) of those of its levels that are columns."""
        starts = np.cumsum([0, *map(len, nodes)]).astype(np.int64)
        pairs = [pair for node in nodes for pair in node]
        variables, levels = np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy()
        out = np.empty((len(nodes), self.n))
        node_columns(self.columns, self.constant, starts, variables, levels, out)
        return out.T

    def gram(self, node: Node) -> Array:
        """The Gram matrix (n, n) of one node.

        Matrices are saved until ``release``, as many as fit the memory.
        """
        if node in self._grams:
            return self._grams[node]
        column = self.columns_of([node])[:, 0]
        gram = np.outer(column, column)
        for i, level in self.levels_of(node).items():
            if self.block_of[i, level] >= 0:
                self.multiply_block(gram, i, level)
        if (len(self._grams) + 1) * gram.nbytes <= _SAVED * self._spare:
            self._grams[node] = gram
        return gram

    def multiply_block(self, gram: Array, i: int, level: int) -> None:
        """Multiply ``gram`` (n, n) by a level that is a block."""
        self._check_blocks()
        multiply_packed(gram, self.blocks[self.block_of[i, level]])

    def _check_blocks(self) -> None:
        if not self.all_columns and not self.blocks.size:
            raise KernelError(
                "A saved model holds no Gram matrices of its training rows; fit it again "
                "to search its graph."
            )

    # -- many nodes

    def quadratic_forms(self, nodes: Sequence[Node], a: Array) -> Array:
        """a'K_v a for every node."""
        is_column = np.array([self.is_column(node) for node in nodes], dtype=bool)
        columns = np.flatnonzero(is_column)
        grams = np.flatnonzero(~is_column)
        forms = np.zeros(len(nodes))
        step = max(1, _NUMBERS // self.n)
        for start in range(0, len(columns), step):
            places = columns[start : start + step]
            features = self.columns_of([nodes[int(k)] for k in places])
            forms[places] = (features.T @ a) ** 2
        rest = [nodes[int(k)] for k in grams]
        if rest:
            shares = np.eye(self.q + 1)
            forms[grams] = self._streamed(rest, a, shares, skip_constant=True, pulse=never_asked)
        return forms

    def descendant_sums(
        self,
        nodes: Sequence[Node],
        a: Array,
        weights: NodeWeights,
        pulse: Callable[[], Any] = never_asked,
    ) -> Array:
        """S_t for every node t: the sum over all its descendants.

        ``pulse`` is called from time to time, and may raise. The sums of the last dual are saved
        and serve its multiples, because a path needs most of them two or three times.
        """
        factor = None
        if self._known is not None and self._known[0] is weights:
            factor = _multiple(a, self._known[1])
        if self._known is None or factor is None:
            self._known = (weights, a.copy(), {})
            factor = 1.0
        _, dual, known = self._known
        missing = [node for node in nodes if node not in known]
        if missing and isinstance(self.order, Listed):
            assert weights.listed is not None
            missing = self.order.nodes
            sums = self.order.shares(weights.listed) @ self.quadratic_forms(missing, dual)
            known.update(zip(missing, sums.tolist(), strict=True))
        elif missing:
            shares = weights.shares(self.q)
            sums = self._streamed(missing, dual, shares, skip_constant=False, pulse=pulse)
            known.update(zip(missing, sums.tolist(), strict=True))
        return factor**2 * np.array([known[node] for node in nodes])

    def _streamed(
        self,
        nodes: Sequence[Node],
        a: Array,
        shares: Array,
        *,
        skip_constant: bool,
        pulse: Callable[[], Any],
    ) -> Array:
        self._check_blocks()
        levels = LevelArrays(self.columns, self.constant, self.block_of, self.blocks)
        return streamed_forms(nodes, a, levels, shares, skip_constant, pulse)


def _multiple(a: Array, dual: Array) -> float | None:
    """The factor with a = factor * dual, up to the rounding of a product; None if there is none."""
    largest = float(np.max(np.abs(dual), initial=0.0))
    size = float(np.max(np.abs(a), initial=0.0))
    factor = size / largest if largest > 0.0 else 1.0
    rounding = 4.0 * np.finfo(float).eps * np.abs(a)
    differs = np.abs(a - factor * dual) > rounding
    return None if differs.any() else factor


class HullRows:
    """New rows (or with None the training rows), whose levels are computed when they are needed."""

    def __init__(self, design: Design, rows: Any) -> None:
        self.design = design
        self._parts: dict[int, list[Array]] = {}
        self.rows: Any = None
        self.size = design.n
        if rows is not None:
            self.rows, self.size = design.levels.new_rows(rows)

    def level(self, i: int, j: int) -> Array:
        """Level j of variable i: a column (m,) or a block (m, n)."""
        design = self.design
        if self.rows is None and design.block_of[i, j] < 0:
            column: Array = design.columns[i, j]
            return column
        if self.rows is None:
            block = np.ones((self.size, self.size))
            design.multiply_block(block, i, j)
            return block
        if i not in self._parts:
            self._parts[i] = design.scaled(i, design.levels.new(self.rows, i))
        return self._parts[i][j]

    def weighted_levels(self, i: int, shares: Array) -> Array:
        """sum_j shares_j K_ij (m, n) between these rows and the training rows."""
        total = np.zeros((self.size, self.design.n))
        for j in map(int, np.flatnonzero(shares)):
            part = self.level(i, j)
            block = np.outer(part, self.design.columns[i, j]) if part.ndim == 1 else part
            total += shares[j] * block
        return total

    def full_gram(self, shares: Array) -> Array:
        """prod_i sum_j shares_j K_ij (m, n) between these rows and the training rows.

        With shares of one this is the sum of all kernels of the grid.
        """
        total = np.ones((self.size, self.design.n))
        for i in range(self.design.p):
            total *= self.weighted_levels(i, shares)
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
        weighted = (self.design.columns_of([node])[:, 0] * a.T).T
        if block is None:
            product: Array = np.multiply.outer(column, weighted.sum(axis=0))
            return product
        return (column * (block @ weighted).T).T


# The sources of levels: a table with a basis, Gram matrices, or the kernels of a graph


class TableLevels:
    """The levels of a table: a basis applied to every (standardised) column of ``X`` (n, p)."""

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
        if isinstance(basis, GaussianBasis):
            basis = basis.scaled_to(self.X.T)
        self.basis = basis
        self.states = [basis.fit(x) for x in self.X]
        self.level_name = self.basis.level_name

    def new_rows(self, rows: Any) -> tuple[Any, int]:
        """The new rows (m, p), and m."""
        return rows, len(rows)

    def train(self, i: int) -> list[Array]:
        return self.basis.parts(self.states[i], self.X[i], self.X[i])

    def new(self, rows: Array, i: int) -> list[Array]:
        values = (rows[:, i] - self.mean[i]) / self.scale[i]
        return self.basis.parts(self.states[i], values, self.X[i])


class Matrices:
    """Levels given as Gram matrices K (p, q+1, n, n); new rows are blocks (p, q+1, m, n)."""

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
        """The blocks (p, q+1, m, n) of new rows, and m; KernelError for another shape."""
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
        """The block, or a column where the training matrix has rank one.

        The column is k(., x_r) / sqrt(k(x_r, x_r)) for the row r with the largest diagonal entry.
        """
        r = int(self.anchors[i, j])
        if r < 0:
            return np.array(block)
        return block[:, r] / float(np.sqrt(self.K[i, j, r, r] or 1.0))

    def level_name(self, name: str, level: int) -> str:
        return f"{name}[{level}]"


class Kernels:
    """The kernels of a graph, each as level 1 of its own variable, beside the constant level 0.

    ``place`` (M,) is the position of the kernel of every node in ``stack`` and in the ``transform``
    of new rows, or -1 for a kernel that was left out because it is constant. The stack is None in a
    saved model, which predicts but cannot be searched.
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
    def of(cls, graph: Graph, X: Any, normalise: bool) -> Kernels:
        """The kernels on training rows.

        ``X`` is a table for kernel functions, a stack (M, n, n) for a graph without kernels.
        """
        if graph.is_precomputed:
            stack = GramStack.from_array(graph.kernels, graph.names)
        elif graph.kernels is not None:
            stack = graph.kernels.grams(X, normalise="multiplicative" if normalise else None)
        else:
            stack = X if isinstance(X, GramStack) else GramStack.from_array(X, graph.names)
            if stack.n_kernels != len(graph):
                raise KernelError(
                    f"The graph has {len(graph)} nodes, the stack {stack.n_kernels} "
                    "kernels; one per node."
                )
        place_of = {name: k for k, name in enumerate(stack.names)}
        names = getattr(graph.kernels, "names", stack.names)
        place = np.array([place_of.get(name, -1) for name in names], dtype=np.int64)
        return cls(tuple(graph.names or names), place, stack.transform, stack.n_samples, stack)

    def train(self, i: int) -> list[Array]:
        constant = np.ones(self.n)
        if self.place[i] < 0:
            return [constant, np.zeros(self.n)]
        if self.stack is None:
            return [constant, np.empty((0, 0))]
        return [constant, self.stack.values[self.place[i]]]

    def new_rows(self, rows: Any) -> tuple[Any, int]:
        """The new rows of the table, or blocks (M, m, n) of precomputed kernels, and m."""
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
        if self.transform is None:
            part = rows[i]
        elif place >= 0:
            part = self.transform.subset([place]).cross(rows)[0]
        else:
            part = rows
        constant = np.ones(len(part))
        return [constant, np.zeros(len(part)) if place < 0 else part]

    def level_name(self, name: str, level: int) -> str:
        return name


def _levels(X: Any, basis: Any, standardize: bool) -> TableLevels | Matrices:
    """The levels of a grid, from Gram matrices or from a table and a basis."""
    if isinstance(basis, (np.ndarray, list, tuple)):
        return Matrices(basis)
    if np.ndim(X) == 4:
        return Matrices(X)
    if basis is None:
        basis = PolynomialBasis()
    elif isinstance(basis, str):
        if basis not in BASES:
            raise ParameterError(
                f"There is no basis called {basis!r}; the bases are {', '.join(BASES)}."
            )
        basis = BASES[basis]()
    missing = [part for part in _BASIS_PARTS if not hasattr(basis, part)]
    if len(missing) == len(_BASIS_PARTS):
        raise ParameterError(
            "basis must be None, one of the bases (PolynomialBasis(4), GaussianBasis(3), "
            f"...) or an array of Gram matrices (p, q+1, n, n); got {basis!r}."
        )
    if missing:
        raise ParameterError(
            f"{type(basis).__name__} is no complete basis: it lacks {', '.join(missing)}. "
            "Add what is missing, as in Basis of mklcore.hkl.bases."
        )
    return TableLevels(basis, np.asarray(X), standardize)


def _numeric(K: Any) -> Array:
    try:
        return np.asarray(K, dtype=np.float64)
    except (TypeError, ValueError):
        raise KernelError(
            "A basis given as an array must hold numbers, in one shape (p, q+1, n, n)."
        ) from None


def _rank_one_anchor(gram: Array) -> int:
    """The row from which to read the column of a Gram matrix of rank one or zero; -1 for others."""
    r = int(np.argmax(np.diag(gram)))
    top = float(gram[r, r])
    if top <= 0.0:
        return r
    remainder = gram - np.outer(gram[:, r], gram[r]) / top
    return r if np.max(np.abs(remainder)) <= _RANK_ONE * top else -1


class Scaling:
    """Centring and scaling of one level, learnt on the training rows.

    The level gets mean 0 in feature space and mean diagonal 1.
    """

    def __init__(self, part: Array) -> None:
        self.row_means: Array = part.mean(axis=-1)  # for a column a single number
        self.mean = float(part.mean())
        if part.ndim == 1:
            size = float(np.sqrt(np.mean((part - self.mean) ** 2)))
            tolerance = 1e-10
        else:
            size = float(np.trace(part) / len(part) - self.mean)
            tolerance = 1e-12
        self.size = size if size > tolerance * max(1.0, abs(self.mean)) else np.inf

    def __call__(self, part: Array) -> Array:
        if part.ndim == 1:
            return (part - self.mean) / self.size
        means: Array = part.mean(axis=1)
        return (part - means[:, None] - self.row_means[None, :] + self.mean) / self.size
