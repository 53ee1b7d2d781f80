"""Quadratic forms of Hadamard products, for many nodes at once, streamed over the triangle of the Gram matrix.

    S_t = sum_{w in D(t)} a'K_w a / (sum_{v in A(w) and D(t)} d_v)^2 = a' [M_1(t_1) o ... o M_p(t_p)] a,
    M_i(t) = sum_{j >= t} K_ij / c_i(t, j)^2,   c_i(t, j) = sum_{l = t..j} d_i(l)

A sum over exponentially many kernels costs p products. Nodes are sorted, so that nodes which begin alike share their
prefix product; what lies behind the last touched variable is one suffix product per variable. Nothing is divided. A
node costs about two operations per entry, as much as reading its matrix from memory would: the matrices M_t are never
kept, only the p (q + 1) level matrices, and those only as far as the memory budget goes.

Entries are those of the upper triangle, row by row; off-diagonal ones count twice. Source: specification, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array, Indices, Mask
from mklcore.kernels.sums import inner_product
from mklcore.leaves import leaf, part
from mklcore.solvers.hkl.dag import Node

TILE = 512  # entries worked on at once: prefixes, suffixes and levels of a tile stay in the second-level cache
_CHUNK = 60_000_000  # multiplications in one call of the leaf: about 50 ms


@dataclass(frozen=True, eq=False)
class Plan:
    """Sorted nodes as index lists for the leaf. ``order`` leads back; ``pairs`` are the distinct (variable, level)."""

    order: Indices
    starts: Indices
    variables: Indices
    slots: Indices
    last: Indices
    ends: Indices
    pairs: Indices
    deepest: int

    @classmethod
    def of(cls, nodes: Sequence[Node], p: int) -> Plan:
        """The plan for ``nodes``; slots 0 .. p-1 are level zero of every variable, the others follow."""
        order = sorted(range(len(nodes)), key=nodes.__getitem__)
        slot_of: dict[tuple[int, int], int] = {(i, 0): i for i in range(p)}
        end_of: dict[int, int] = {}
        starts, variables, slots, last = [0], [], [], []
        for k in order:
            for pair in nodes[k]:
                variables.append(pair[0])
                slots.append(slot_of.setdefault(pair, len(slot_of)))
            starts.append(len(variables))
            last.append(end_of.setdefault(slots[-1], len(end_of)) if nodes[k] else -1)
        return cls(
            np.array(order, dtype=np.int64),
            np.array(starts, dtype=np.int64),
            np.array(variables, dtype=np.int64),
            np.array(slots, dtype=np.int64),
            np.array(last, dtype=np.int64),
            np.array(list(end_of), dtype=np.int64),
            np.array(list(slot_of), dtype=np.int64).reshape(-1, 2),
            max((len(node) for node in nodes), default=0),
        )


@part()
def row_of(position: int, n: int) -> int:
    """The row of the entry at ``position`` of a packed triangle; row r starts at r n - r (r - 1) / 2."""
    low, high = 0, n - 1
    while low < high:
        middle = (low + high + 1) // 2
        if middle * n - middle * (middle - 1) // 2 <= position:
            low = middle
        else:
            high = middle - 1
    return low


@part({"reassoc", "contract"})
def add_outer(out: Array, factor: float, left: Array, right: Array, n: int, begin: int) -> None:
    """out += factor * left_r right_k over the packed entries from ``begin`` on."""
    row = row_of(begin, n)
    column = begin - (row * n - row * (row - 1) // 2) + row
    place = 0
    while place < out.size:
        stop = min(out.size, place + n - column)
        scale = factor * left[row]
        target, source = out[place:stop], right[column:]  # slices: indices known to be non-negative vectorise
        for k in range(target.size):
            target[k] += scale * source[k]
        place = stop
        row += 1
        column = row


@part()
def fill_weights(out: Array, a: Array, n: int, begin: int) -> None:
    """a_r a_k, twice off the diagonal, over the packed entries from ``begin`` on."""
    out[:] = 0.0
    add_outer(out, 2.0, a, a, n, begin)
    row = row_of(begin, n)
    diagonal = row * n - row * (row - 1) // 2
    while row < n and diagonal < begin + out.size:
        if diagonal >= begin:
            out[diagonal - begin] -= a[row] * a[row]
        diagonal += n - row
        row += 1


@part({"reassoc", "contract"})
def fill_level(
    out: Array, variable: int, level: int, shares: Array, columns: Array, row_in: Indices, blocks: Array,
    n: int, begin: int
) -> None:  # fmt: skip
    """sum_j shares[level, j] K_{variable, j} over the packed entries from ``begin`` on."""
    out[:] = 0.0
    for j in range(shares.shape[1]):
        share = shares[level, j]
        if share != 0.0:
            row = row_in[variable, j]
            if row < 0:
                add_outer(out, share, columns[variable, j], columns[variable, j], n, begin)
            else:
                source = blocks[row, begin : begin + out.size]
                for k in range(out.size):
                    out[k] += share * source[k]


@part()
def _copy(out: Array, source: Array) -> None:
    for k in range(out.size):  # an assignment of arrays compiles its error messages, too: two seconds
        out[k] = source[k]


@part({"reassoc", "contract"})
def _times(out: Array, other: Array) -> None:
    for k in range(out.size):
        out[k] *= other[k]


@part({"reassoc", "contract"})
def _product(out: Array, left: Array, right: Array) -> None:
    for k in range(out.size):
        out[k] = left[k] * right[k]


@part()
def walk_tile(
    levels: Array, begin: int, p: int, unit: Mask, weights: Array, starts: Indices, variables: Indices,
    slots: Indices, last: Indices, ends: Indices, pairs: Indices, prefix: Array, suffix: Array, tails: Array,
    out: Array
) -> None:  # fmt: skip
    """Add one tile to the form of every node. ``levels[s, begin:]`` is slot s; ``unit[i]`` says level zero is one."""
    size = weights.size
    _copy(suffix[p, :size], weights)
    for i in range(p - 1, -1, -1):
        if unit[i]:
            _copy(suffix[i, :size], suffix[i + 1, :size])
        else:
            _product(suffix[i, :size], suffix[i + 1, :size], levels[i, begin : begin + size])
    for e in range(ends.size):
        s = ends[e]
        _product(tails[e, :size], suffix[pairs[s, 0] + 1, :size], levels[s, begin : begin + size])
    reached = np.zeros(prefix.shape[0], dtype=np.int64)
    prefix[0, :size] = 1.0
    valid = 0  # prefix[0..valid] belong to the node before
    for k in range(starts.size - 1):
        low, count = starts[k], starts[k + 1] - starts[k]
        if count == 0:
            out[k] += suffix[0, :size].sum()
            continue
        alike = 0
        if k > 0:
            before, length = starts[k - 1], starts[k] - starts[k - 1]
            while alike < min(count, length) and slots[low + alike] == slots[before + alike]:
                alike += 1
        valid = min(valid, alike)
        for d in range(count):
            if d > valid:
                _product(prefix[d, :size], prefix[d - 1, :size], levels[slots[low + d - 1], begin : begin + size])
                reached[d] = variables[low + d - 1] + 1
            for i in range(reached[d], variables[low + d]):
                if not unit[i]:
                    _times(prefix[d, :size], levels[i, begin : begin + size])
            reached[d] = max(reached[d], variables[low + d])
        valid = count - 1
        out[k] += inner_product(prefix[count - 1, :size], tails[last[k], :size])


@leaf()
def walk(
    first: int, stop: int, cached: bool, table: Array, a: Array, shares: Array, columns: Array, row_in: Indices,
    blocks: Array, unit: Mask, starts: Indices, variables: Indices, slots: Indices, last: Indices,
    ends: Indices, pairs: Indices, where: Indices, deepest: int, out: Array
) -> None:  # fmt: skip
    """Add the packed entries ``first`` .. ``stop`` to the form of every node.

    With ``cached``, slot s is row ``where[s]`` of ``table``; without, levels are made tile by tile from ``columns``
    (p, q+1, n) and packed ``blocks``.
    """
    p, n = row_in.shape[0], a.size
    weights = np.empty(TILE)
    prefix, suffix = np.empty((deepest + 1, TILE)), np.empty((p + 1, TILE))
    tails, levels = np.empty((ends.size, TILE)), np.empty((pairs.shape[0], TILE))
    for begin in range(first, stop, TILE):
        size = min(TILE, stop - begin)
        fill_weights(weights[:size], a, n, begin)
        for s in range(pairs.shape[0]):
            if cached:
                _copy(levels[s, :size], table[where[s], begin : begin + size])
            elif s >= p or not unit[s]:
                fill_level(levels[s, :size], pairs[s, 0], pairs[s, 1], shares, columns, row_in, blocks, n, begin)
        walk_tile(levels, 0, p, unit, weights[:size], starts, variables, slots, last, ends, pairs, prefix, suffix,
                  tails, out)  # fmt: skip


@leaf()
def fill_table(table: Array, shares: Array, columns: Array, row_in: Indices, blocks: Array, n: int) -> None:
    """All level matrices, packed: row i (q + 1) + t is level t of variable i."""
    levels, begin = shares.shape[0], int(np.int64(0))  # a literal 0 would be one more type to compile for
    for i in range(row_in.shape[0]):
        for t in range(levels):
            fill_level(table[i * levels + t], i, t, shares, columns, row_in, blocks, n, begin)


@leaf()
def pack(gram: Array, out: Array) -> None:
    """The upper triangle of gram (n, n), row by row."""
    n, place = gram.shape[0], 0
    for i in range(n):
        for j in range(i, n):
            out[place] = gram[i, j]
            place += 1


@leaf()
def multiply_packed(gram: Array, packed: Array) -> None:
    """gram *= the symmetric matrix whose upper triangle is ``packed``."""
    n, place = gram.shape[0], 0
    for i in range(n):
        for j in range(i, n):
            gram[i, j] *= packed[place]
            if j > i:
                gram[j, i] *= packed[place]
            place += 1


@leaf()
def node_columns(columns: Array, unit: Mask, starts: Indices, variables: Indices, levels: Indices, out: Array) -> None:
    """out[:, k] = prod_i columns[i, v_i] for node k, all of whose levels are columns."""
    p, n = columns.shape[0], columns.shape[2]
    column = np.empty(n)
    for k in range(starts.size - 1):
        column[:] = 1.0
        at = starts[k]
        for i in range(p):
            level = 0
            if at < starts[k + 1] and variables[at] == i:
                level = levels[at]
                at += 1
            elif unit[i]:
                continue
            _times(column, columns[i, level])
        for r in range(n):
            out[r, k] = column[r]


@leaf()
def column_forms(columns: Array, unit: Mask, starts: Indices, variables: Indices, levels: Indices, a: Array) -> Array:
    """(a' column)^2 for every node, without keeping the columns: O(n) each."""
    p, n = columns.shape[0], columns.shape[2]
    column, out = np.empty(n), np.empty(starts.size - 1)
    for k in range(starts.size - 1):
        _copy(column, a)
        at = starts[k]
        for i in range(p):
            level = 0
            if at < starts[k + 1] and variables[at] == i:
                level = levels[at]
                at += 1
            elif unit[i]:
                continue
            _times(column, columns[i, level])
        total = column.sum()
        out[k] = total * total
    return out


def cost_of_entry(plan: Plan, p: int) -> int:
    """Multiplications that ``walk`` makes per packed entry, about."""
    return 6 * len(plan.pairs) + 3 * plan.order.size + 2 * p


def chunk_of(plan: Plan, p: int) -> int:
    """Packed entries for one call of ``walk``: a whole number of tiles, about 50 ms."""
    return max(1, _CHUNK // (cost_of_entry(plan, p) * TILE)) * TILE
