"""Quadratic forms of products of levels, for many nodes at once.

    S_t = sum_{w in D(t)} a'K_w a / (sum_{v in A(w) and D(t)} d_v)^2
        = a' [M_1(t_1) o ... o M_p(t_p)] a,
    M_i(t) = sum_{j >= t} K_ij / c_i(t, j)^2,   c_i(t, j) = sum_{l = t..j} d_i(l)

A sum over exponentially many kernels therefore costs p products, and nodes share products. First a
plan says which vectors are multiplied with which; then the plan is executed on one tile of the
Gram matrix after another.

To plan, the variables are halved again and again. An interval I of variables sees of a node v only
v|I, the levels of its own variables. With w the weights a_r a_k of the entries, and o the product
entry by entry:

    V(I, u) = V(left half, u|left) o V(right half, u|right)
              (for a single variable i: the matrix of level u_i)
    O(I)    = w o V(everything outside I, level zero)
    a'K_v a = <O(I) o V(left half, v|left), V(right half, v|right)>
              (I: the smallest interval that contains all variables that v touches)

Each product is computed once, however many nodes need it. For example, 860 products serve all 4960
triples of 32 variables, where sorted nodes that share their beginnings would need 5456. There are
no divisions. The entries are those of the upper triangle, row by row; entries off the diagonal
count twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices, Mask
from mklcore.hkl.graph import ROOT, Node

# A tile has this many rows and columns: the vectors that many products read then stay in the cache,
# and the loops are long enough to pay for themselves.
ROWS = 4
COLS = 128
PAD = 16  # a loop handles this many numbers at once
_CHUNK = 60_000_000  # multiplications in one call of the compiled function: about 50 ms
_NODES_PER_PLAN = 20_000  # each node takes a few kilobytes of working memory

# Planning


class Plan(NamedTuple):
    """Which vectors are multiplied with which, for the quadratic forms of a list of nodes.

    Vectors are numbered: 0 holds the weights, 1 + i (q + 1) + l level l of variable i, and the
    products follow.

    ``levels`` (k, 2) holds the variable and level of every level that is used. ``products`` (k, 2)
    holds the two earlier vectors of every product, ``factors`` (k, 2) the two vectors whose inner
    product is the form of each node. ``n_vectors`` counts all vectors.
    """

    levels: Indices
    products: Indices
    factors: Indices
    n_vectors: int

    @property
    def entries(self) -> int:
        """How many entries of the triangle one call of the compiled function should handle."""
        sources = 6 * len(self.levels) + 2 * len(self.products)
        return max(1, _CHUNK // (sources + len(self.factors)))


def plan_forms(nodes: Sequence[Node], p: int, q: int, constant: Mask) -> Plan:
    """Plan the forms of ``nodes``; where ``constant[i]``, level zero of variable i is skipped."""
    planner = _Planner(p, q, constant.tolist())
    factors = [planner.factors(node) for node in nodes]
    parts = list(planner.levels), planner.products, factors
    levels, products, inner = (np.array(pairs, dtype=np.int64).reshape(-1, 2) for pairs in parts)
    return Plan(levels, products, inner, 1 + p * (q + 1) + len(planner.products))


class _Planner:
    """Numbers the vectors that are needed, each once; None stands for a vector of ones."""

    def __init__(self, p: int, q: int, constant: list[bool]) -> None:
        self.p = p
        self.q = q
        self.constant = constant
        self.levels: dict[tuple[int, int], int] = {}
        self.products: list[tuple[int, int]] = []
        self._inside: dict[tuple[int, int, Node], int | None] = {}  # V(I, u)
        self._outside: dict[tuple[int, int], int] = {(0, p): 0}  # O(I)
        self._left: dict[tuple[int, int, Node], int] = {}  # O(I) o V(left half, v|left)

    def factors(self, node: Node) -> tuple[int, int]:
        """The two vectors whose inner product is the quadratic form of ``node``."""
        low, high = self._smallest_interval(node)
        outside = self._outside[low, high]
        if high - low == 1:
            return outside, self._level(low, node)
        middle = (low + high) // 2
        left_node, right_node = _split(node, middle)
        key = (low, high, left_node)
        if key not in self._left:
            self._left[key] = self._product(outside, self._interval(low, middle, left_node))
        right = self._interval(middle, high, right_node)
        assert right is not None  # it contains a level above zero
        return self._left[key], right

    def _smallest_interval(self, node: Node) -> tuple[int, int]:
        """The smallest interval that contains ``node`` (the first variable for the root).

        The vectors O(I) on the way to it are planned.
        """
        low = 0
        high = self.p
        first = node[0][0] if node != ROOT else 0
        last = node[-1][0] if node != ROOT else 0
        while high - low > 1:
            middle = (low + high) // 2
            if first < middle <= last:
                break
            halves = (low, middle), (middle, high)
            half, sibling = halves if last < middle else halves[::-1]
            if half not in self._outside:
                others = self._interval(*sibling, ROOT)
                self._outside[half] = self._product(self._outside[low, high], others)
            low, high = half
        return low, high

    def _interval(self, low: int, high: int, node: Node) -> int | None:
        """V of the interval low .. high - 1, where ``node`` holds the levels above zero."""
        if high - low == 1:
            return None if not node and self.constant[low] else self._level(low, node)
        key = (low, high, node)
        if key not in self._inside:
            middle = (low + high) // 2
            left_node, right_node = _split(node, middle)
            left = self._interval(low, middle, left_node)
            right = self._interval(middle, high, right_node)
            self._inside[key] = right if left is None else self._product(left, right)
        return self._inside[key]

    def _level(self, variable: int, node: Node) -> int:
        level = node[0][1] if node else 0
        return self.levels.setdefault((variable, level), 1 + variable * (self.q + 1) + level)

    def _product(self, left: int, right: int | None) -> int:
        if right is None:
            return left
        self.products.append((left, right))
        return self.p * (self.q + 1) + len(self.products)


def _split(node: Node, middle: int) -> tuple[Node, Node]:
    """The part of a node before the variable ``middle``, and the rest."""
    cut = sum(variable < middle for variable, _ in node)
    return node[:cut], node[cut:]


# Executing


class LevelArrays(NamedTuple):
    """The levels of all variables on n training rows.

    ``columns`` (p, q + 1, n) holds ones where a level is a block. ``constant`` (p,): whether level
    zero is the constant one. ``block_of`` (p, q + 1): the row of ``blocks`` that holds the level,
    or -1 for a column. ``blocks`` holds the upper triangles of Gram matrices row by row, followed
    by COLS zeros.
    """

    columns: Array
    constant: Mask
    block_of: Indices
    blocks: Array


def streamed_forms(
    nodes: Sequence[Node],
    a: Array,
    levels: LevelArrays,
    shares: Array,
    skip_constant: bool,
    pulse: Callable[[], Any],
) -> Array:
    """a' [o_i M_i] a for every node, with M_i = sum_j shares[t_i, j] K_ij.

    With ``skip_constant``, variables that a node does not touch are skipped where their level zero
    is constant. ``pulse`` is called between two calls of the compiled function, and may raise.
    """
    p, width, n = levels.columns.shape
    dual = np.pad(a, (0, COLS))
    columns = np.pad(levels.columns.reshape(-1, n), ((0, 0), (0, COLS)))
    skipped = levels.constant if skip_constant else np.zeros_like(levels.constant)
    found = [np.empty(0)]
    for start in range(0, len(nodes), _NODES_PER_PLAN):
        batch = nodes[start : start + _NODES_PER_PLAN]
        plan = plan_forms(batch, p, width - 1, skipped)
        vectors = np.empty((plan.n_vectors, ROWS * COLS))
        out = np.zeros(len(batch))
        row = 0
        while row < n:
            pulse()
            stop = row + ROWS * (1 + plan.entries // (ROWS * (n - row)))
            add_forms(
                row, min(stop, n), n, vectors, dual, shares, columns, *levels[1:], *plan[:3], out
            )
            row = stop
        found.append(out)
    return np.maximum(np.concatenate(found), 0.0)


# Many pairs of rows are multiplied, so Python alone handles fewer numbers than elsewhere.
@jit_entry(loops="Hierarchical kernel learning", most=20_000)
def add_forms(
    first: int,
    stop: int,
    n: int,
    vectors: Array,
    a: Array,
    shares: Array,
    columns: Array,
    constant: Mask,
    block_of: Indices,
    blocks: Array,
    levels: Indices,
    products: Indices,
    factors: Indices,
    out: Array,
) -> None:
    """Add rows ``first`` to ``stop`` - 1 of the triangle to the forms ``out`` of a ``Plan``.

    ``vectors`` (n_vectors, ROWS COLS) is working memory. ``a`` (n + COLS,), ``columns`` (p (q + 1),
    n + COLS) and the packed ``blocks`` are padded with finite numbers, ``a`` with zeros, so that no
    loop has a remainder.
    """
    n_known = 1 + columns.shape[0]
    for top in range(first, stop, ROWS):
        for left in range(top, n, COLS):
            size = PAD * ((min(COLS, n - left) + PAD - 1) // PAD)
            for i in range(ROWS):
                for k in range(size):
                    distance = left + k - (top + i)
                    times = 2.0 if distance > 0 else 1.0 if distance == 0 else 0.0
                    vectors[0, i * size + k] = times * a[top + i] * a[left + k]
            for s in range(levels.shape[0]):
                variable = levels[s, 0]
                level = levels[s, 1]
                _fill_level(
                    vectors,
                    variable,
                    level,
                    shares,
                    columns,
                    constant[variable],
                    block_of,
                    blocks,
                    n,
                    top,
                    left,
                    size,
                )
            size *= ROWS
            for k in range(products.shape[0]):
                _multiply(vectors, n_known + k, products[k, 0], products[k, 1], size)
            for k in range(factors.shape[0]):
                out[k] += _inner(vectors, factors[k, 0], factors[k, 1], size)


@jit_helper({"reassoc", "contract"})
def _fill_level(
    vectors: Array,
    variable: int,
    level: int,
    shares: Array,
    columns: Array,
    constant: bool,
    block_of: Indices,
    blocks: Array,
    n: int,
    top: int,
    left: int,
    size: int,
) -> None:
    """Fill the vector of a level with sum_j shares[level, j] K_j; K_0 is one if ``constant``."""
    n_levels = block_of.shape[1]
    own = variable * n_levels
    at = 1 + own + level
    first = max(level, 1 if constant else 0)
    last = n_levels - 1
    start = shares[level, 0] if constant else 0.0
    source = np.uint64(left)  # a loop vectorises only where its index has no sign
    # Four columns at a time; the last of them are repeated with share zero.
    for a in range(first, n_levels, 4):
        b = min(a + 1, last)
        c = min(a + 2, last)
        d = min(a + 3, last)
        share_a = shares[level, a] if block_of[variable, a] < 0 else 0.0
        share_b = shares[level, b] if b > a and block_of[variable, b] < 0 else 0.0
        share_c = shares[level, c] if c > b and block_of[variable, c] < 0 else 0.0
        share_d = shares[level, d] if d > c and block_of[variable, d] < 0 else 0.0
        for i in range(ROWS):
            by_a = share_a * columns[own + a, top + i]
            by_b = share_b * columns[own + b, top + i]
            by_c = share_c * columns[own + c, top + i]
            by_d = share_d * columns[own + d, top + i]
            target = np.uint64(i * size)
            for k in range(np.uint64(0), np.uint64(size)):
                before = start if a == first else vectors[at, target + k]
                ab = by_a * columns[own + a, source + k] + by_b * columns[own + b, source + k]
                cd = by_c * columns[own + c, source + k] + by_d * columns[own + d, source + k]
                vectors[at, target + k] = before + (ab + cd)
    for j in range(first, n_levels):
        block = block_of[variable, j]
        share = shares[level, j]
        if block >= 0 and share != 0.0:
            for i in range(ROWS):
                row = top + i
                target = np.uint64(i * size)
                entry = np.uint64(row * n - row * (row - 1) // 2 + left - row)
                for k in range(np.uint64(0), np.uint64(size)):
                    vectors[at, target + k] += share * blocks[block, entry + k]


@jit_helper({"reassoc", "contract"})
def _multiply(
    vectors: Array,
    out: int,
    left: int,
    right: int,
    size: int,
) -> None:
    for k in range(size):
        vectors[out, k] = vectors[left, k] * vectors[right, k]


@jit_helper({"reassoc", "contract"})
def _inner(vectors: Array, left: int, right: int, size: int) -> float:
    total = 0.0
    for k in range(size):
        total += vectors[left, k] * vectors[right, k]
    return total


# Single nodes


def _multiply_packed(gram: Array, packed: Array) -> None:
    upper = np.triu_indices(len(gram))
    factor = np.empty_like(gram)
    factor[upper] = packed
    factor.T[upper] = packed
    gram *= factor


@jit_entry(numpy=_multiply_packed)
def multiply_packed(gram: Array, packed: Array) -> None:
    """Multiply ``gram`` (n, n) by the symmetric matrix with the upper triangle ``packed``."""
    n = gram.shape[0]
    entry = 0
    for i in range(n):
        for j in range(i, n):
            gram[i, j] *= packed[entry]
            if j > i:
                gram[j, i] *= packed[entry]
            entry += 1


@jit_entry(loops="Hierarchical kernel learning")
def node_columns(
    columns: Array, constant: Mask, starts: Indices, variables: Indices, levels: Indices, out: Array
) -> None:
    """Write prod_i columns[i, v_i] of node k into out[k].

    The variables and levels of node k stand at starts[k] .. starts[k + 1] - 1.
    """
    for k in range(starts.size - 1):
        pair = starts[k]
        for r in range(out.shape[1]):
            out[k, r] = 1.0
        for i in range(columns.shape[0]):
            level = 0
            if pair < starts[k + 1] and variables[pair] == i:
                level = levels[pair]
                pair += 1
            elif constant[i]:
                continue
            for r in range(out.shape[1]):
                out[k, r] *= columns[i, level, r]
