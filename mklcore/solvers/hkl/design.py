"""Everything that depends on the rows alone: levels of every variable, node columns and Gram matrices, level tables.

A ``Design`` is made once and serves every lambda, loss and target. What is large is kept within ``memory_mb`` and made
again where it does not fit. Levels are columns wherever the kernel has rank one, so such nodes cost O(n).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Mask
from mklcore.errors import ParameterError
from mklcore.solvers.hkl.bases import BASES, PolynomialBasis
from mklcore.solvers.hkl.dag import ROOT, Ancestry, DepthWeights, Hull, Node, by_depth, level_of, levels, touched
from mklcore.solvers.hkl.levels import Matrices, Scaling, Table
from mklcore.solvers.hkl.plan import TILE, Plan
from mklcore.solvers.hkl.rounding import Rounding
from mklcore.solvers.hkl.settings import SETTINGS
from mklcore.solvers.hkl.sums import add_forms, column_forms, fill_table, multiply_packed, node_columns, pack
from mklcore.solvers.hkl.work import Work

_MB = 2**20
ROOT_OF_BUMPS = "level 0 of all"


class Design:
    """The grid of kernels over n rows: p variables, levels 0 .. q, kernels k_v = prod_i k_{i, v_i}.

    Parameters
    ----------
    X : (n, p) rows, or Gram matrices (p, q+1, n, n)
    basis : a basis, its key in ``BASES``, None (polynomial of degree 4), or Gram matrices (p, q+1, n, n)
    standardize : bring every column to mean 0 and standard deviation 1 first
    normalize : centre every level above 0 and scale it to mean diagonal 1
    names : names of the variables
    memory_mb : budget for what is kept; raises ParameterError with the figure where the levels alone exceed it

    Hand a ``Design`` to ``fit`` in place of X, and several lambdas, losses and targets share all of its matrices.
    """

    def __init__(
        self,
        X: Any,
        basis: Any = None,
        *,
        standardize: bool = True,
        normalize: bool = True,
        names: Sequence[str] | None = None,
        memory_mb: float = 2048.0,
    ) -> None:
        given = basis if isinstance(basis, (np.ndarray, list, tuple)) else X if np.ndim(X) == 4 else None
        kind = PolynomialBasis() if basis is None else _named(basis) if isinstance(basis, str) else basis
        missing = [part for part in ("q", "fit", "parts", "level_name") if not hasattr(kind, part)]
        if given is None and 0 < len(missing) < 4:
            raise ParameterError(
                f"{type(kind).__name__} is no complete basis: it lacks {', '.join(missing)}. Write what is missing "
                f"as Basis in "
                "mklcore.solvers.hkl.bases has it."
            )
        if given is None and missing:
            raise ParameterError(
                "basis must be None, one of the bases (PolynomialBasis(4), GaussianBasis(3), ...) or an array of "
                "Gram matrices "
                f"(p, q+1, n, n); got {basis!r}."
            )
        self.levels: Table | Matrices = Table(kind, np.asarray(X), standardize) if given is None else Matrices(given)
        self.n, self.p, self.q = self.levels.n, self.levels.p, self.levels.q
        self.names = tuple(names) if names is not None else tuple(f"x{i + 1}" for i in range(self.p))
        self.memory_mb = memory_mb
        self._read(normalize)
        self.levels.read()
        self._tables: dict[float, Array] = {}
        self._roundings: dict[float, Rounding | None] = {}
        self._grams: OrderedDict[Node, Array] = OrderedDict()
        self._known_sums: SumsOfDual | None = None
        self._none_is_unit = np.zeros(self.p, dtype=bool)
        self._crowded = False

    def _read(self, normalize: bool) -> None:
        first = self.levels.train(0)
        dense = sum(part.ndim == 2 for part in first) * self.p
        size = self.n * (self.n + 1) // 2
        if dense * size * 8 > self.memory_mb * _MB:
            raise ParameterError(
                f"The levels of this basis need {dense * size * 8 / _MB:.0f} MB for {self.n} rows and {self.p} "
                f"variables, more "
                f"than memory_mb={self.memory_mb:g}. Raise memory_mb, use fewer rows, or a basis of columns "
                f"(polynomial)."
            )
        self.columns = np.zeros((self.p, self.q + 1, self.n))
        self.row_in = np.full((self.p, self.q + 1), -1, dtype=np.int64)
        self.scaling: list[list[Scaling | None]] = []
        blocks: list[Array] = []
        for i in range(self.p):
            parts = first if i == 0 else self.levels.train(i)
            self.scaling.append([Scaling(part) if normalize and j > 0 else None for j, part in enumerate(parts)])
            for j, part in enumerate(self._scaled(i, parts)):
                if part.ndim == 1:
                    self.columns[i, j] = part
                else:
                    self.row_in[i, j] = len(blocks)
                    blocks.append(np.empty(size))
                    pack(np.ascontiguousarray(part), blocks[-1])
        self.blocks = np.array(blocks) if blocks else np.empty((0, 0))
        self.unit = np.all(self.columns[:, 0] == 1.0, axis=1) & (self.row_in[:, 0] < 0)
        self.root_is_constant = bool(self.unit.all())

    def _scaled(self, i: int, parts: list[Array]) -> list[Array]:
        return [part if scale is None else scale(part) for scale, part in zip(self.scaling[i], parts, strict=True)]

    def given_levels(self) -> Array:
        """The Gram matrices (p, q+1, n, n) that the design was made from, out of its levels without their scaling."""
        found = np.empty((self.p, self.q + 1, self.n, self.n))
        for i, j in np.ndindex(self.p, self.q + 1):
            scale, row = self.scaling[i][j], self.row_in[i, j]
            size = 1.0 if scale is None or np.isinf(scale.size) else scale.size
            if row < 0:
                column = self.columns[i, j] * size + (0.0 if scale is None else scale.mean)
                found[i, j] = np.outer(column, column)
                continue
            found[i, j] = 1.0
            multiply_packed(found[i, j], self.blocks[row])
            if scale is not None:
                found[i, j] = found[i, j] * size + scale.rows[:, None] + scale.rows - scale.total
        return found

    @property
    def _spare(self) -> float:
        """Bytes of the budget that the levels themselves leave."""
        return max(0.0, self.memory_mb * _MB - self.blocks.nbytes)

    def fits(self, nodes: Iterable[Node]) -> bool:
        """Whether a hull of these nodes can be trained on within the budget; nodes of rank one always can."""
        thick = sum(not self.is_column(node) for node in nodes) if self.blocks.size else 0
        return thick * self.n**2 * 8 <= max(SETTINGS.most_trained * self._spare, 8 * self.n**2)

    def make_room(self, thick: int) -> None:
        """Let go of tables and kept matrices where a hull with ``thick`` matrices of its own needs their memory."""
        self._crowded = thick * self.n**2 * 8 > SETTINGS.trained * self._spare
        if self._crowded:
            self.release()

    # -- the graph --------------------------------------------------------------------------------------------------

    @property
    def n_samples(self) -> int:
        return self.n

    @property
    def all_columns(self) -> bool:
        """Whether every node has rank one."""
        return not self.blocks.size

    def weights(self, base: float | None, root: float) -> DepthWeights:
        """d_v by depth; ``base`` None for the default of this many variables."""
        return DepthWeights(DepthWeights.default_base(self.p) if base is None else float(base), float(root))

    def hull(self, nodes: Iterable[Node] | None = None) -> Hull:
        """The smallest hull with these nodes; None for the root alone."""
        return Hull(self.p, self.q, (ROOT,) if nodes is None else nodes)

    def ancestry(self, nodes: Sequence[Node]) -> Ancestry:
        """Who is above whom among ``nodes``."""
        return Ancestry(nodes)

    def ordered(self, nodes: Iterable[Node]) -> list[Node]:
        """Sorted by depth, then lexicographically by levels."""
        return by_depth(nodes, self.p)

    def key(self, node: Node) -> tuple[int, ...]:
        """The node as p levels."""
        return levels(node, self.p)

    def node_of(self, key: Any) -> Node:
        """The node of p levels."""
        return touched(key)

    @property
    def n_dag_kernels(self) -> int:
        """(q + 1)^p, exactly."""
        return int((self.q + 1) ** self.p)

    def name(self, node: Node) -> str:
        """How a node is written: 1, x1, x1·x3², ... Where level 0 is no constant, the root is not called 1."""
        touched = "·".join(self.levels.level_name(self.names[i], level) for i, level in node)
        return touched or ("1" if self.root_is_constant else ROOT_OF_BUMPS)

    # -- nodes ------------------------------------------------------------------------------------------------------

    def is_column(self, node: Node) -> bool:
        """Whether the node has rank one."""
        above = dict(node)
        return self.all_columns or all(self.row_in[i, above.get(i, 0)] < 0 for i in self._variables(node))

    def _variables(self, node: Node) -> Sequence[int]:
        """The variables whose level does not drop out of the product."""
        return (
            [i for i, _ in node] if self.unit.all() else sorted({i for i, _ in node} | set(np.flatnonzero(~self.unit)))
        )

    def columns_of(self, nodes: Sequence[Node]) -> Array:
        """The columns (n, k) of nodes of rank one."""
        out = np.empty((self.n, len(nodes)))
        node_columns(self.columns, self.unit, *_lists(nodes), out)
        return out

    def own_column(self, node: Node) -> Array:
        """The product (n,) of those levels of the node that are columns."""
        column = np.ones(self.n)
        for i in self._variables(node):
            level = level_of(node, i)
            if self.row_in[i, level] < 0:
                column *= self.columns[i, level]
        return column

    def gram(self, node: Node) -> Array:
        """The Gram matrix (n, n) of one node; the most recent are kept as far as the budget goes."""
        if node in self._grams:
            self._grams.move_to_end(node)
            return self._grams[node]
        column = self.own_column(node)
        found = np.outer(column, column)
        for i in self._variables(node):
            row = self.row_in[i, level_of(node, i)]
            if row >= 0:
                multiply_packed(found, self.blocks[row])
        found.setflags(write=False)
        self._grams[node] = found
        while len(self._grams) > max(1, 0 if self._crowded else int(SETTINGS.kept * self._spare / found.nbytes)):
            self._grams.popitem(last=False)
        return found

    def forms(self, nodes: Sequence[Node], a: Array, work: Work | None = None) -> Array:
        """a'K_v a for every node; what it costs is counted in ``work``, which cannot end it."""
        found = np.zeros(len(nodes))
        column = np.array([self.is_column(node) for node in nodes], dtype=bool)
        thin = [node for node, one in zip(nodes, column, strict=True) if one]
        found[column] = column_forms(self.columns, self.unit, *_lists(thin), a)
        thick = [node for node, one in zip(nodes, column, strict=True) if not one]
        if thick:
            found[~column] = self._streamed(thick, a, np.eye(self.q + 1), None, self.unit, None)
        if work is not None:
            work.spend(self.n * (self.p * len(thin) + 2.0 * self.n * len(thick)))
        return np.maximum(found, 0.0)

    def descendant_sums(
        self, nodes: Sequence[Node], a: Array, weights: DepthWeights, work: Work | None = None
    ) -> Array:
        """S_t for every node t: the sum over all its descendants. Infinity for all once ``work`` is over."""

        def sums(fresh: Sequence[Node], own: Array) -> Array:
            found = self._streamed(fresh, own, weights.shares(self.q), self._table(weights), self._none_is_unit, work)
            return np.column_stack([np.maximum(found, 0.0), np.zeros(len(fresh))])

        return self._sums_of(a, weights)(nodes, a, sums, exact=True)[:, 0]

    def rough_sums(
        self, nodes: Sequence[Node], a: Array, weights: DepthWeights, work: Work | None = None
    ) -> tuple[Array, Array]:
        """S_t for every node t in single precision where that pays, and how far from it S_t may be at most.

        An entry of M_i is a sum of products of columns, and |sum_j c_j x_jr x_jk| as well as the sum of the absolute
        values is at most the root of M_i[r, r] M_i[k, k]. So K roundings move S_t by at most gamma_K (sum_r |a_r|
        g_r)^2, g_r^2 the diagonal of the product. Zero where double precision was used: Gram matrices as levels, or a
        range beyond single precision; and where the sum is infinite, for ``work`` is over.
        """
        bound = None if self.blocks.size or not np.any(a) or not len(nodes) else self._rounding(weights)
        if bound is None:
            return self.descendant_sums(nodes, a, weights, work), np.zeros(len(nodes))

        def sums(fresh: Sequence[Node], dual: Array) -> Array:
            size = float(np.max(np.abs(dual)))
            own: Any = dual / size
            reach = column_forms(bound.ratios, ~self._none_is_unit, *_lists(fresh), np.abs(own) * bound.start)
            shares: Any = weights.shares(self.q).astype(np.float32)
            found = self._streamed(fresh, own.astype(np.float32), shares, None, self._none_is_unit, work)
            slack = np.where(np.isfinite(found), bound.relative * reach + bound.absolute, 0.0)
            return size**2 * np.column_stack([np.maximum(found, 0.0), slack])

        found = self._sums_of(a, weights)(nodes, a, sums, exact=False)
        return found[:, 0], found[:, 1]

    def _sums_of(self, a: Array, weights: DepthWeights) -> SumsOfDual:
        """The sums known of ``a`` or a multiple of it."""
        known = self._known_sums
        if known is None or known.base != weights.base or known.factor(a) is None:
            known = self._known_sums = SumsOfDual(a.copy(), weights.base)
        return known

    def _rounding(self, weights: DepthWeights) -> Rounding | None:
        if weights.base not in self._roundings:
            self._roundings = {weights.base: Rounding.of(self.columns, weights.shares(self.q))}
        return self._roundings[weights.base]

    def full_gram(self, shares: Array | None = None) -> Array:
        """prod_i sum_j K_ij (n, n): the sum of all kernels of the grid."""
        total = np.ones((self.n, self.n))
        one, every = np.empty((1, self.n * (self.n + 1) // 2)), np.ones((self.q + 1, self.q + 1))
        room = np.zeros((self.q + 1, TILE))
        shares = every if shares is None else shares
        for i in range(self.p):
            fill_table(
                one, room, shares[:1], self.columns[i], self.unit[i : i + 1], self.row_in[i : i + 1], self.blocks
            )
            multiply_packed(total, one[0])
        return total

    def variable_gram(self, i: int) -> Array:
        """sum_{j >= 1} K_ij (n, n): all levels of one variable but the first."""
        total = self.columns[i, 1:].T @ self.columns[i, 1:]
        for j in range(1, self.q + 1):
            if self.row_in[i, j] >= 0:
                block = np.ones((self.n, self.n))
                multiply_packed(block, self.blocks[self.row_in[i, j]])
                total += block
        return total

    @property
    def _rows(self) -> Array:
        """All columns of all levels, (p (q+1), n)."""
        return self.columns.reshape(-1, self.n)

    def _table(self, weights: DepthWeights) -> Array | None:
        """Level matrices M_i(t), where they hold blocks and fit the budget; sums of columns are as soon made as
        read."""
        if not self.blocks.size:
            return None
        if weights.base not in self._tables:
            size = self.n * (self.n + 1) // 2
            rows = self.p * (self.q + 1)
            if self._crowded or rows * size * 8 > SETTINGS.tables * self._spare:
                return None
            table, room = np.empty((rows, size)), np.zeros((self.q + 1, TILE))
            fill_table(table, room, weights.shares(self.q), self._rows, self.unit, self.row_in, self.blocks)
            self._tables = {weights.base: table}
        return self._tables[weights.base]

    def _streamed(
        self,
        nodes: Sequence[Node],
        a: Array,
        shares: Array,
        table: Array | None,
        unit: Mask,
        work: Work | None,
    ) -> Array:
        most = SETTINGS.together
        found = [
            self._planned(Plan.of(nodes[k : k + most], self.p, unit), np.ascontiguousarray(a), shares, table, work)
            for k in range(0, len(nodes), most)
        ]
        if work is not None and work.is_over:
            return np.full(len(nodes), np.inf)
        return np.concatenate([np.empty(0), *found])

    def _planned(self, plan: Plan, a: Array, shares: Array, table: Array | None, work: Work | None) -> Array:
        out, size = np.zeros(plan.nodes), self.n * (self.n + 1) // 2
        where = plan.pairs[:, 0] * (self.q + 1) + plan.pairs[:, 1]
        known = np.empty((0, 0), a.dtype) if table is None else table
        vectors, room = np.zeros((plan.vectors, TILE), a.dtype), np.zeros((self.q + 1, TILE), a.dtype)
        columns = self._rows.astype(a.dtype, copy=False)
        for first in range(0, size, chunk := plan.chunk):
            add_forms(
                first, min(first + chunk, size), vectors, room, table is not None, known, a[None], shares, columns,
                self.unit, self.row_in, self.blocks, plan.pairs, where, plan.products, plan.single, plan.eights, out,
            )  # fmt: skip
            if work is not None and work.spend(min(chunk, size - first) * plan.cost_of_entry):
                break
        return out

    @property
    def values(self) -> Rows:
        """The training rows, seen as rows to predict."""
        return Rows(self, None)

    def release(self) -> None:
        """Drop what can be made again."""
        self._tables.clear()
        self._grams.clear()

    def cross(self, rows: Any) -> Rows:
        """New rows (m, p), or blocks (p, q+1, m, n), seen through this design."""
        return Rows(self, rows)


class SumsOfDual:
    """S_t of one dual ``a`` (n,) by node, and how far off it may be: a path asks for most of them two or three times.

    A multiple of the dual has the same sums, times the square of the multiple.
    """

    def __init__(self, a: Array, base: float) -> None:
        self.a, self.base = a, base
        self.known: dict[Node, tuple[float, float]] = {}

    def factor(self, a: Array) -> float | None:
        """What ``a`` is a multiple of the dual by, up to the rounding of a product; None where it is none."""
        own = float(np.max(np.abs(self.a), initial=0.0))
        factor = float(np.max(np.abs(a), initial=0.0)) / own if own > 0.0 else 1.0
        off = np.abs(a - factor * self.a) > 4.0 * np.finfo(float).eps * np.abs(a)
        return None if off.any() else factor

    def __call__(
        self, nodes: Sequence[Node], a: Array, sums: Callable[[Sequence[Node], Array], Array], *, exact: bool
    ) -> Array:
        """(k, 2) of ``nodes`` for ``a``, a multiple of the dual; ``sums`` gives what is missing."""
        fresh = [node for node in nodes if node not in self.known or (exact and self.known[node][1] > 0.0)]
        if fresh:
            found = sums(fresh, self.a)
            if not np.all(np.isfinite(found)):  # a limit has ended them
                return np.tile([np.inf, 0.0], (len(nodes), 1))
            self.known.update(zip(fresh, map(tuple, found.tolist()), strict=True))
        factor = self.factor(a)
        assert factor is not None
        return factor**2 * np.array([self.known[node] for node in nodes]).reshape(-1, 2)


class Rows:
    """New rows (None: the training rows), whose levels are computed variable by variable as they are asked for."""

    def __init__(self, design: Design, rows: Any) -> None:
        self.design = design
        self._parts: dict[int, list[Array]] = {}
        self.rows: Any = None
        self.size = design.n
        if rows is not None:
            self.rows, self.size = design.levels.new_rows(rows)

    def level(self, i: int, j: int) -> Array:
        """Level j of variable i: a column (m,) or a block (m, n)."""
        if self.rows is None:
            return self._trained(i, j)
        if i not in self._parts:
            self._parts[i] = self.design._scaled(i, self.design.levels.new(self.rows, i))
        return self._parts[i][j]

    def _trained(self, i: int, j: int) -> Array:
        row = self.design.row_in[i, j]
        if row < 0:
            column: Array = self.design.columns[i, j]
            return column
        block = np.ones((self.size, self.size))
        multiply_packed(block, self.design.blocks[row])
        return block

    def node(self, node: Node) -> tuple[Array, Array | None]:
        """The product of the node's columns (m,), and of its blocks (m, n) where it has any."""
        column, block = np.ones(self.size), None
        for i in self.design._variables(node):
            part = self.level(i, level_of(node, i))
            if part.ndim == 1:
                column = column * part
            else:
                block = part if block is None else block * part
        return column, block

    def product(self, node: Node, a: Array) -> Array:
        """K_v(new, training) a: (m,) for a (n,), (m, T) for a (n, T)."""
        column, block = self.node(node)
        weighed = (self.design.own_column(node) * a.T).T
        if block is None:
            product: Array = np.multiply.outer(column, weighed.sum(axis=0))
            return product
        return (column * (block @ weighed).T).T


def _named(key: str) -> Any:
    if key not in BASES:
        raise ParameterError(f"There is no basis called {key!r}; the bases are {', '.join(BASES)}.")
    return BASES[key]()


def _lists(nodes: Sequence[Node]) -> tuple[Indices, Indices, Indices]:
    starts = np.cumsum([0, *(len(node) for node in nodes)]).astype(np.int64)
    variables = np.array([i for node in nodes for i, _ in node], dtype=np.int64)
    levels = np.array([level for node in nodes for _, level in node], dtype=np.int64)
    return starts, variables, levels
