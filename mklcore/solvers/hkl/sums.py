"""Quadratic forms of Hadamard products, for many nodes at once, streamed over the triangle of the Gram matrix.

    S_t = sum_{w in D(t)} a'K_w a / (sum_{v in A(w) and D(t)} d_v)^2 = a' [M_1(t_1) o ... o M_p(t_p)] a,
    M_i(t) = sum_{j >= t} K_ij / c_i(t, j)^2,   c_i(t, j) = sum_{l = t..j} d_i(l)

A sum over exponentially many kernels costs p products, and nodes share theirs: ``plan`` says which are made. Nothing is
divided. The matrices M_t are never kept, only the p (q + 1) level matrices, and those only as far as the memory budget goes.

Entries are those of the upper triangle, row by row; off-diagonal ones count twice. Source: specification, section 4.
"""

from __future__ import annotations

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices, Mask


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
def add_outer(out: Array, factor: float, left: Array, right: Array, row: int, begin: int) -> None:
    """out += factor * left_r right_k over the packed entries from ``begin`` on, which is in ``row``."""
    n = left.size
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


@jit_helper()
def fill_weights(out: Array, a: Array, row: int, begin: int) -> None:
    """a_r a_k, twice off the diagonal, over the packed entries from ``begin`` on, which is in ``row``."""
    n = a.size
    out[:] = 0.0
    add_outer(out, 2.0, a, a, row, begin)
    diagonal = row * n - row * (row - 1) // 2
    while row < n and diagonal < begin + out.size:
        if diagonal >= begin:
            out[diagonal - begin] -= a[row] * a[row]
        diagonal += n - row
        row += 1


@jit_helper({"reassoc", "contract"})
def _add_four(out: Array, shares: Array, columns: Array, used: Indices, first: int, row: int, begin: int) -> None:
    """Columns ``first`` .. ``first`` + 3, each times itself and its share, where ``used`` is below zero: written once for all."""
    n, last = columns.shape[1], columns.shape[0] - 1
    second, third, fourth = min(first + 1, last), min(first + 2, last), min(first + 3, last)
    none = shares[0] - shares[0]
    share_a = shares[first] if used[first] < 0 else none
    share_b = shares[second] if second > first and used[second] < 0 else none
    share_c = shares[third] if third > second and used[third] < 0 else none
    share_d = shares[fourth] if fourth > third and used[fourth] < 0 else none
    column = begin - (row * n - row * (row - 1) // 2) + row
    place = 0
    while place < out.size:
        stop = min(out.size, place + n - column)
        target = out[place:stop]
        a, b, c, d = (
            columns[first, column:],
            columns[second, column:],
            columns[third, column:],
            columns[fourth, column:],
        )
        by_a, by_b = share_a * columns[first, row], share_b * columns[second, row]
        by_c, by_d = share_c * columns[third, row], share_d * columns[fourth, row]
        for k in range(target.size):
            target[k] += (by_a * a[k] + by_b * b[k]) + (by_c * c[k] + by_d * d[k])
        place = stop
        row += 1
        column = row


@jit_helper({"reassoc", "contract"})
def fill_level(
    out: Array, variable: int, level: int, shares: Array, columns: Array, unit: Mask, row_in: Indices, blocks: Array,
    row: int, begin: int
) -> None:  # fmt: skip
    """sum_j shares[level, j] K_{variable, j} over the packed entries from ``begin`` on, which is in ``row``; shares are zero
    for j < level, and where ``unit[variable]``, level zero is one."""
    one = unit[variable]
    start = shares[level, 0] if one else shares[level, 0] - shares[level, 0]
    for k in range(out.size):
        out[k] = start
    for first in range(max(level, 1 if one else 0), shares.shape[1], 4):
        _add_four(out, shares[level], columns[variable], row_in[variable], first, row, begin)
    for j in range(shares.shape[1]):
        share, block = shares[level, j], row_in[variable, j]
        if share != 0.0 and block >= 0:
            source = blocks[block, begin : begin + out.size]
            for k in range(out.size):
                out[k] += share * source[k]


@jit_helper()
def _copy(out: Array, source: Array) -> None:
    for k in range(out.size):  # an assignment of arrays compiles its error messages, too: two seconds
        out[k] = source[k]


@jit_helper({"reassoc", "contract"})
def _times(out: Array, other: Array) -> None:
    for k in range(out.size):
        out[k] *= other[k]


@jit_helper({"reassoc", "contract"})
def _product(vectors: Array, out: int, left: int, right: int, size: int) -> None:
    for k in range(size):
        vectors[out, k] = vectors[left, k] * vectors[right, k]


@jit_helper({"reassoc", "contract"})
def _inner(vectors: Array, left: int, right: int, size: int) -> float:
    total = vectors[left, 0] - vectors[left, 0]
    for k in range(size):
        total += vectors[left, k] * vectors[right, k]
    return float(total)


@jit_helper({"reassoc", "contract"})
def _add_eight(
    vectors: Array, one: int, two: int, a: int, b: int, c: int, d: int, size: int, nodes: Indices, out: Array
) -> None:  # fmt: skip
    """Vectors ``one`` and ``two`` times four others, added to the forms of ``nodes`` (8,)."""
    one_a = one_b = one_c = one_d = two_a = two_b = two_c = two_d = vectors[one, 0] - vectors[one, 0]
    for r in range(size):
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
    first: int, stop: int, vectors: Array, cached: bool, table: Array, a: Array, shares: Array, columns: Array,
    unit: Mask, row_in: Indices, blocks: Array, pairs: Indices, where: Indices, products: Indices, single: Indices,
    eights: Indices, out: Array
) -> None:  # fmt: skip
    """Add the packed entries ``first`` .. ``stop`` to the form of every node, as a ``Plan`` says, tile by tile.

    ``vectors`` (1 + pairs + products, tile) is room to work in. With ``cached``, pair s is row ``where[s]`` of ``table``;
    without, it is made from ``columns`` (p, q+1, n) and packed ``blocks``.
    """
    n, known, tile = a.size, 1 + pairs.shape[0], vectors.shape[1]
    for begin in range(first, stop, tile):
        size = min(tile, stop - begin)
        row = row_of(begin, n)
        fill_weights(vectors[0, :size], a, row, begin)
        for s in range(pairs.shape[0]):
            if cached:
                _copy(vectors[1 + s, :size], table[where[s], begin : begin + size])
            else:
                fill_level(
                    vectors[1 + s, :size], pairs[s, 0], pairs[s, 1], shares, columns, unit, row_in, blocks, row, begin
                )
        for k in range(products.shape[0]):
            _product(vectors, known + k, products[k, 0], products[k, 1], size)
        for k in range(single.shape[0]):
            out[single[k, 2]] += _inner(vectors, single[k, 0], single[k, 1], size)
        for k in range(eights.shape[0]):
            e = eights[k]
            _add_eight(vectors, e[0], e[1], e[2], e[3], e[4], e[5], size, e[6:], out)


@jit_entry()
def fill_table(
    table: Array, shares: Array, columns: Array, unit: Mask, row_in: Indices, blocks: Array
) -> None:  # fmt: skip
    """All level matrices, packed: row i (q + 1) + t is level t of variable i."""
    levels, begin = shares.shape[0], int(np.int64(0))  # a literal 0 would be one more type to compile for
    for i in range(row_in.shape[0]):
        for t in range(levels):
            fill_level(table[i * levels + t], i, t, shares, columns, unit, row_in, blocks, begin, begin)


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
