"""Quadratic forms of Hadamard products, for many nodes at once, streamed over the triangle of the Gram matrix.

    S_t = sum_{w in D(t)} a'K_w a / (sum_{v in A(w) and D(t)} d_v)^2 = a' [M_1(t_1) o ... o M_p(t_p)] a,
    M_i(t) = sum_{j >= t} K_ij / c_i(t, j)^2,   c_i(t, j) = sum_{l = t..j} d_i(l)

A sum over exponentially many kernels costs p products, and nodes share theirs: ``plan`` says which are made. Nothing is
divided. The matrices M_t are never kept, only the p (q + 1) level matrices, and those only as far as the memory budget
goes.

Entries are those of the upper triangle, row by row; off-diagonal ones count twice. Source: specification, section 4.
"""

from __future__ import annotations

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices, Mask
from mklcore.solvers.hkl.plan import TILE


@jit_helper()
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


@jit_helper({"reassoc", "contract"})
def outer(out: Array, at: int, columns: Array, which: int, row: int, begin: int, size: int) -> None:
    """out[at, :size] = c_r c_k, c one of ``columns`` (any, n), over the packed entries from ``begin`` on, in
    ``row``."""
    n = columns.shape[1]
    column = begin - (row * n - row * (row - 1) // 2) + row
    place = 0
    while place < size:
        length = min(size - place, n - column)
        scale = columns[which, row]
        to, source = np.uint64(place), np.uint64(column)  # an index without a sign vectorises
        for k in range(np.uint64(0), np.uint64(length)):
            out[at, to + k] = scale * columns[which, source + k]
        place += length
        row += 1
        column = row


@jit_helper()
def fill_weights(vectors: Array, a: Array, row: int, begin: int, size: int) -> None:
    """The first vector: a_r a_k, twice off the diagonal, over the packed entries from ``begin`` on, which is in
    ``row``."""
    n = a.shape[1]
    outer(vectors, 0, a, 0, row, begin, size)
    for k in range(size):
        vectors[0, k] += vectors[0, k]
    diagonal = row * n - row * (row - 1) // 2
    while row < n and diagonal < begin + size:
        if diagonal >= begin:
            vectors[0, diagonal - begin] = a[0, row] * a[0, row]
        diagonal += n - row
        row += 1
    for k in range(size, TILE):
        vectors[0, k] = 0.0


@jit_helper({"reassoc", "contract"})
def fill_kernels(
    room: Array, variable: int, least: int, columns: Array, row_in: Indices, blocks: Array, row: int, begin: int,
    size: int
) -> None:  # fmt: skip
    """room[j, :size] = K_j of ``variable`` over the packed entries from ``begin`` on, which is in ``row``; j from
    ``least`` on."""
    levels = row_in.shape[1]
    for j in range(least, levels):
        block = row_in[variable, j]
        if block < 0:
            outer(room, j, columns, variable * levels + j, row, begin, size)
        else:
            for k in range(size):
                room[j, k] = blocks[block, begin + k]


@jit_helper({"reassoc", "contract"})
def fill_level(out: Array, at: int, level: int, one: bool, shares: Array, room: Array) -> None:
    """out[at] = sum_j shares[level, j] K_j, zero for j < level, four at a time; K_j stand in ``room``, K_0 is 1 if
    ``one``."""
    none = shares[0, 0] - shares[0, 0]
    start = shares[level, 0] if one else none
    first, last = max(level, 1 if one else 0), shares.shape[1] - 1
    for a in range(first, last + 1, 4):
        b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
        by_a, by_b = shares[level, a], shares[level, b] if b > a else none
        by_c, by_d = shares[level, c] if c > b else none, shares[level, d] if d > c else none
        if a == first:
            for k in range(out.shape[1]):
                out[at, k] = start + ((by_a * room[a, k] + by_b * room[b, k]) + (by_c * room[c, k] + by_d * room[d, k]))
        else:
            for k in range(out.shape[1]):
                out[at, k] += (by_a * room[a, k] + by_b * room[b, k]) + (by_c * room[c, k] + by_d * room[d, k])


@jit_helper()
def _copy(out: Array, source: Array) -> None:
    for k in range(out.size):  # an assignment of arrays compiles its error messages, too: two seconds
        out[k] = source[k]


@jit_helper({"reassoc", "contract"})
def _times(out: Array, other: Array) -> None:
    for k in range(out.size):
        out[k] *= other[k]


@jit_helper({"reassoc", "contract"})
def _product(vectors: Array, out: int, left: int, right: int) -> None:
    for k in range(TILE):
        vectors[out, k] = vectors[left, k] * vectors[right, k]


@jit_helper({"reassoc", "contract"})
def _inner(vectors: Array, left: int, right: int) -> float:
    total = vectors[left, 0] - vectors[left, 0]
    for k in range(TILE):
        total += vectors[left, k] * vectors[right, k]
    return float(total)


@jit_helper({"reassoc", "contract"})
def _add_eight(
    vectors: Array, one: int, two: int, a: int, b: int, c: int, d: int, nodes: Indices, out: Array
) -> None:  # fmt: skip
    """Vectors ``one`` and ``two`` times four others, added to the forms of ``nodes`` (8,)."""
    one_a = one_b = one_c = one_d = two_a = two_b = two_c = two_d = vectors[one, 0] - vectors[one, 0]
    for r in range(TILE):
        x, y = vectors[one, r], vectors[two, r]
        one_a += x * vectors[a, r]
        one_b += x * vectors[b, r]
        one_c += x * vectors[c, r]
        one_d += x * vectors[d, r]
        two_a += y * vectors[a, r]
        two_b += y * vectors[b, r]
        two_c += y * vectors[c, r]
        two_d += y * vectors[d, r]
    out[nodes[0]] += one_a
    out[nodes[1]] += one_b
    out[nodes[2]] += one_c
    out[nodes[3]] += one_d
    out[nodes[4]] += two_a
    out[nodes[5]] += two_b
    out[nodes[6]] += two_c
    out[nodes[7]] += two_d


@jit_entry()
def add_forms(
    first: int, stop: int, vectors: Array, room: Array, cached: bool, table: Array, a: Array, shares: Array,
    columns: Array, unit: Mask, row_in: Indices, blocks: Array, pairs: Indices, where: Indices, products: Indices,
    single: Indices, eights: Indices, out: Array
) -> None:  # fmt: skip
    """Add the packed entries ``first`` .. ``stop`` to the form of every node, as a ``Plan`` says, tile by tile.

    ``vectors`` (1 + pairs + products, TILE) and ``room`` (q+1, TILE) are zeros to work in, ``a`` is (1, n). With
    ``cached``, pair s is row ``where[s]`` of ``table``; without, it is made from ``columns`` (p (q+1), n) and packed
    ``blocks``.
    """
    n, known = a.shape[1], 1 + pairs.shape[0]
    for begin in range(first, stop, TILE):
        size = min(TILE, stop - begin)
        row = row_of(begin, n)
        fill_weights(vectors, a, row, begin, size)
        variable = -1
        for s in range(pairs.shape[0]):
            if cached:
                _copy(vectors[1 + s, :size], table[where[s], begin : begin + size])
                continue
            level = pairs[s, 1]
            if pairs[s, 0] != variable:  # its lowest level
                variable = pairs[s, 0]
                least = max(level, 1 if unit[variable] else 0)
                fill_kernels(room, variable, least, columns, row_in, blocks, row, begin, size)
            fill_level(vectors, 1 + s, level, unit[variable], shares, room)
        for k in range(products.shape[0]):
            _product(vectors, known + k, products[k, 0], products[k, 1])
        for k in range(single.shape[0]):
            out[single[k, 2]] += _inner(vectors, single[k, 0], single[k, 1])
        for k in range(eights.shape[0]):
            e = eights[k]
            _add_eight(vectors, e[0], e[1], e[2], e[3], e[4], e[5], e[6:], out)


@jit_entry()
def fill_table(
    table: Array, room: Array, shares: Array, columns: Array, unit: Mask, row_in: Indices, blocks: Array
) -> None:  # fmt: skip
    """All level matrices, packed: row i (q + 1) + t is level t of variable i. ``room`` (q+1, TILE) is room to work
    in."""
    levels, n = shares.shape[0], columns.shape[1]
    for begin in range(0, table.shape[1], TILE):
        size = min(TILE, table.shape[1] - begin)
        row, part = row_of(begin, n), table[:, begin : begin + size]
        for i in range(row_in.shape[0]):
            fill_kernels(room, i, 1 if unit[i] else 0, columns, row_in, blocks, row, begin, size)
            for t in range(levels):
                fill_level(part, i * levels + t, t, unit[i], shares, room)


@jit_entry()
def pack(gram: Array, out: Array) -> None:
    """The upper triangle of gram (n, n), row by row."""
    n, place = gram.shape[0], 0
    for i in range(n):
        for j in range(i, n):
            out[place] = gram[i, j]
            place += 1


@jit_entry()
def multiply_packed(gram: Array, packed: Array) -> None:
    """gram *= the symmetric matrix whose upper triangle is ``packed``."""
    n, place = gram.shape[0], 0
    for i in range(n):
        for j in range(i, n):
            gram[i, j] *= packed[place]
            if j > i:
                gram[j, i] *= packed[place]
            place += 1


@jit_entry()
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


@jit_entry()
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
        total = 0.0
        for r in range(n):  # column.sum() was four more functions to compile
            total += column[r]
        out[k] = total * total
    return out
