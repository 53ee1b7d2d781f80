"""Quadratic forms of products of levels, for many nodes at once, streamed over the triangle of the
Gram matrix.

    S_t = sum_{w in D(t)} a'K_w a / (sum_{v in A(w) and D(t)} d_v)^2 = a' [M_1(t_1) o ... o M_p(t_p)] a,
    M_i(t) = sum_{j >= t} K_ij / c_i(t, j)^2,   c_i(t, j) = sum_{l = t..j} d_i(l)

A sum over exponentially many kernels costs p products, and nodes share theirs. The variables are
halved again and again. Of a node v an interval I sees v|I, the levels of its variables; w are the
weights a_r a_k of the entries, and o multiplies entry by entry:

    V(I, u) = V(left half, u|left) o V(right half, u|right)       of a single variable i: the matrix of level u_i
    O(I)    = w o V(everything outside I, level zero)
    form of v = <O(I) o V(left half, v|left), V(right half, v|right)>   I: the smallest interval with all that v touches

A product is made once, however many nodes ask for it. Of the 4960 triples of 32 variables each is
an inner product, and 860 products serve them all; sorted nodes that share what they begin with
would need 5456. Nothing is divided. Entries are those of the upper triangle, row by row;
off-diagonal ones count twice. Source: specification, section 4.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices, Mask
from mklcore.hkl.graph import ROOT, Node

# of a tile: the vectors many ask for stay in a cache, and a loop is long enough to pay
ROWS = 4
COLS = 128
PAD = 16  # numbers that a loop takes at once
_CHUNK = 60_000_000  # multiplications in one call of the compiled function: about 50 ms


class Plan:
    """What is multiplied with what.

    Vectors are numbered: 0 the weights, 1 + i (q + 1) + l level l of variable i, then the products.

    ``levels`` (k, 2): the variable and level of those in use. ``products`` (k, 2): the two vectors
    of each, earlier ones. A row of ``single`` (k, 3) are two vectors and the node whose form is
    their inner product; a row of ``fours`` (k, 9) a vector, four others, and the nodes of their
    four inner products: what is read once serves several. Where ``unit[i]``, level zero of variable
    i is one, and None stands for it.
    """

    def __init__(self, nodes: Sequence[Node], p: int, q: int, unit: Mask) -> None:
        self._p = p
        self._q = q
        self._unit = unit.tolist()
        self._used: dict[tuple[int, int], int] = {}
        self._products: list[tuple[int, int]] = []
        self._inside: dict[tuple[int, int, Node], int | None] = {}
        self._outside: dict[tuple[int, int], int] = {(0, p): 0}
        self._weighed: dict[tuple[int, int, Node], int] = {}
        forms = [self._form(node) for node in nodes]
        asked = Counter(vector for pair in forms for vector in pair)
        partners = defaultdict[int, list[tuple[int, int]]](list)
        single = list[list[int]]()
        fours = list[list[int]]()
        for k, pair in enumerate(forms):
            rare, common = sorted(pair, key=asked.__getitem__)
            partners[common].append((rare, k))
        for common, others in partners.items():
            whole = len(others) - len(others) % 4
            for at in range(0, whole, 4):
                vectors, places = zip(*others[at : at + 4], strict=True)
                fours.append([common, *vectors, *places])
            single += [[common, rare, k] for rare, k in others[whole:]]
        self.vectors = 1 + p * (q + 1) + len(self._products)
        self.levels: Indices = np.array(list(self._used), dtype=np.int64).reshape(-1, 2)
        self.products: Indices = np.array(self._products, dtype=np.int64).reshape(-1, 2)
        self.single: Indices = np.array(single, dtype=np.int64).reshape(-1, 3)
        self.fours: Indices = np.array(fours, dtype=np.int64).reshape(-1, 9)
        cost = 6 * len(self.levels) + 2 * len(self.products) + len(single) + 3 * len(fours)
        # of the triangle, for one call of the compiled function
        self.entries = max(1, _CHUNK // cost)

    def _form(self, node: Node) -> tuple[int, int]:
        """The two vectors whose inner product is the form of ``node``."""
        low, high = self._smallest(node)
        outside = self._outside[low, high]
        if high - low == 1:
            return outside, self._level(low, node[0][1] if node else 0)
        middle = (low + high) // 2
        cut = next(k for k, (i, _) in enumerate(node) if i >= middle)
        key = (low, high, node[:cut])
        if key not in self._weighed:
            self._weighed[key] = self._product(outside, self._of(low, middle, node[:cut]))
        right = self._of(middle, high, node[cut:])
        assert right is not None  # it holds a level above zero
        return self._weighed[key], right

    def _smallest(self, node: Node) -> tuple[int, int]:
        """The smallest interval with all that ``node`` touches; for the root the first variable.

        What is outside is made.
        """
        low = 0
        high = self._p
        first, last = (node[0][0], node[-1][0]) if node != ROOT else (0, 0)
        while high - low > 1:
            middle = (low + high) // 2
            if first < middle <= last:
                break
            inner, other = (
                ((low, middle), (middle, high))
                if last < middle
                else ((middle, high), (low, middle))
            )
            if inner not in self._outside:
                self._outside[inner] = self._product(
                    self._outside[low, high], self._of(*other, ROOT)
                )
            low, high = inner
        return low, high

    def _of(self, low: int, high: int, seen: Node) -> int | None:
        """V of the interval low .. high - 1, of which ``seen`` is touched."""
        if high - low == 1:
            return (
                None
                if not seen and self._unit[low]
                else self._level(low, seen[0][1] if seen else 0)
            )
        key = (low, high, seen)
        if key not in self._inside:
            middle = (low + high) // 2
            cut = next((k for k, (i, _) in enumerate(seen) if i >= middle), len(seen))
            left = self._of(low, middle, seen[:cut])
            right = self._of(middle, high, seen[cut:])
            self._inside[key] = right if left is None else self._product(left, right)
        return self._inside[key]

    def _level(self, i: int, level: int) -> int:
        return self._used.setdefault((i, level), 1 + i * (self._q + 1) + level)

    def _product(self, left: int, right: int | None) -> int:
        if right is None:
            return left
        self._products.append((left, right))
        return self._p * (self._q + 1) + len(self._products)


@jit_helper({"reassoc", "contract"})
def _fill_level(
    vectors: Array,
    variable: int,
    level: int,
    shares: Array,
    columns: Array,
    one: bool,
    row_in: Indices,
    blocks: Array,
    n: int,
    top: int,
    left: int,
    size: int,
) -> None:
    """The vector of a level: sum_j shares[level, j] K_j, zero for j < level; K_0 is 1 if ``one``."""
    levels = row_in.shape[1]
    at = 1 + variable * levels + level
    own = variable * levels
    first = max(level, 1 if one else 0)
    last = levels - 1
    # an index without a sign vectorises
    start = shares[level, 0] if one else 0.0
    source = np.uint64(left)
    for a in range(first, levels, 4):  # four columns at a time
        b = min(a + 1, last)
        c = min(a + 2, last)
        d = min(a + 3, last)
        share_a = shares[level, a] if row_in[variable, a] < 0 else 0.0
        share_b = shares[level, b] if b > a and row_in[variable, b] < 0 else 0.0
        share_c = shares[level, c] if c > b and row_in[variable, c] < 0 else 0.0
        share_d = shares[level, d] if d > c and row_in[variable, d] < 0 else 0.0
        for i in range(ROWS):
            by_a = share_a * columns[own + a, top + i]
            by_b = share_b * columns[own + b, top + i]
            by_c = share_c * columns[own + c, top + i]
            by_d = share_d * columns[own + d, top + i]
            to = np.uint64(i * size)
            if a == first:
                for k in range(np.uint64(0), np.uint64(size)):
                    vectors[at, to + k] = start + (
                        (by_a * columns[own + a, source + k] + by_b * columns[own + b, source + k])
                        + (
                            by_c * columns[own + c, source + k]
                            + by_d * columns[own + d, source + k]
                        )
                    )
            else:
                for k in range(np.uint64(0), np.uint64(size)):
                    vectors[at, to + k] += (
                        by_a * columns[own + a, source + k] + by_b * columns[own + b, source + k]
                    ) + (by_c * columns[own + c, source + k] + by_d * columns[own + d, source + k])
    for j in range(first, levels):
        block = row_in[variable, j]
        share = shares[level, j]
        if block >= 0 and share != 0.0:
            for i in range(ROWS):
                row = top + i
                to = np.uint64(i * size)
                source = np.uint64(row * n - row * (row - 1) // 2 + left - row)
                for k in range(np.uint64(0), np.uint64(size)):
                    vectors[at, to + k] += share * blocks[block, source + k]


@jit_helper({"reassoc", "contract"})
def _product(vectors: Array, out: int, left: int, right: int, size: int) -> None:
    for k in range(size):
        vectors[out, k] = vectors[left, k] * vectors[right, k]


@jit_helper({"reassoc", "contract"})
def _inner(vectors: Array, left: int, right: int, size: int) -> float:
    total = 0.0
    for k in range(size):
        total += vectors[left, k] * vectors[right, k]
    return total


@jit_helper({"reassoc", "contract"})
def _add_four(vectors: Array, e: Indices, size: int, out: Array) -> None:
    """A vector times four others, added to the forms of four nodes."""
    one = e[0]
    a = e[1]
    b = e[2]
    c = e[3]
    d = e[4]
    by_a = by_b = by_c = by_d = 0.0
    for k in range(size):
        x = vectors[one, k]
        by_a += x * vectors[a, k]
        by_b += x * vectors[b, k]
        by_c += x * vectors[c, k]
        by_d += x * vectors[d, k]
    out[e[5]] += by_a
    out[e[6]] += by_b
    out[e[7]] += by_c
    out[e[8]] += by_d


# they are multiplied for every pair of rows
@jit_entry(loops="Hierarchical kernel learning", most=20_000)
def add_forms(
    first: int,
    stop: int,
    n: int,
    vectors: Array,
    a: Array,
    shares: Array,
    columns: Array,
    unit: Mask,
    row_in: Indices,
    blocks: Array,
    levels: Indices,
    products: Indices,
    single: Indices,
    fours: Indices,
    out: Array,
) -> None:
    """Add the entries of the rows ``first`` ..

    ``stop`` of the triangle to the form of every node, as a ``Plan`` says.

    ``vectors`` (any, ROWS COLS) is room to work in. ``a`` (n + COLS,), ``columns`` (p (q+1), n +
    COLS) and the packed ``blocks`` go on with finite numbers, zeros in ``a``: no loop has a
    remainder.
    """
    known = 1 + columns.shape[0]
    for top in range(first, stop, ROWS):
        for left in range(top, n, COLS):
            size = PAD * ((min(COLS, n - left) + PAD - 1) // PAD)
            for i in range(ROWS):
                for k in range(size):
                    twice = 2.0 if left + k > top + i else 1.0 if left + k == top + i else 0.0
                    vectors[0, i * size + k] = twice * a[top + i] * a[left + k]
            for s in range(levels.shape[0]):
                i = levels[s, 0]
                _fill_level(
                    vectors,
                    i,
                    levels[s, 1],
                    shares,
                    columns,
                    unit[i],
                    row_in,
                    blocks,
                    n,
                    top,
                    left,
                    size,
                )
            size *= ROWS
            for k in range(products.shape[0]):
                _product(vectors, known + k, products[k, 0], products[k, 1], size)
            for k in range(single.shape[0]):
                out[single[k, 2]] += _inner(vectors, single[k, 0], single[k, 1], size)
            for k in range(fours.shape[0]):
                _add_four(vectors, fours[k], size, out)


def _multiply_packed(gram: Array, packed: Array) -> None:
    upper = np.triu_indices(len(gram))
    factor = np.empty_like(gram)
    factor[upper] = packed
    factor.T[upper] = packed
    gram *= factor


@jit_entry(numpy=_multiply_packed)
def multiply_packed(gram: Array, packed: Array) -> None:
    """gram *= the symmetric matrix whose upper triangle is ``packed``."""
    n = gram.shape[0]
    place = 0
    for i in range(n):
        for j in range(i, n):
            gram[i, j] *= packed[place]
            if j > i:
                gram[j, i] *= packed[place]
            place += 1


@jit_entry(loops="Hierarchical kernel learning")
def node_columns(
    columns: Array, unit: Mask, starts: Indices, variables: Indices, levels: Indices, out: Array
) -> None:
    """out[k] = prod_i columns[i, v_i] for node k."""
    for k in range(starts.size - 1):
        at = starts[k]
        for r in range(out.shape[1]):
            out[k, r] = 1.0
        for i in range(columns.shape[0]):
            level = 0
            if at < starts[k + 1] and variables[at] == i:
                level = levels[at]
                at += 1
            elif unit[i]:
                continue
            for r in range(out.shape[1]):
                out[k, r] *= columns[i, level, r]
