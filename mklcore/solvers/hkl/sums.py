"""Quadratic forms of Hadamard products, for many nodes at once, streamed over the triangle of the Gram matrix.

    S_t = sum_{w in D(t)} a'K_w a / (sum_{v in A(w) and D(t)} d_v)^2 = a' [M_1(t_1) o ... o M_p(t_p)] a,
    M_i(t) = sum_{j >= t} K_ij / c_i(t, j)^2,   c_i(t, j) = sum_{l = t..j} d_i(l)

A sum over exponentially many kernels costs p products, and nodes share theirs: ``plan`` says which are made. Nothing is
divided. The matrices M_t are never kept, only the p (q + 1) level matrices, and those only as far as the memory budget goes.

Entries are those of the upper triangle, row by row; off-diagonal ones count twice. Source: specification, section 4.
"""

from __future__ import annotations

import numpy as np

from mklcore.arrays import Array, Indices, Mask
from mklcore.kernels.sums import inner_product
from mklcore.leaves import leaf, part


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
def add_outer(out: Array, factor: float, left: Array, right: Array, row: int, begin: int) -> None:
    """out += factor * left_r right_k over the packed entries from ``begin`` on, which lies in ``row``."""
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


@part()
def fill_weights(out: Array, a: Array, row: int, begin: int) -> None:
    """a_r a_k, twice off the diagonal, over the packed entries from ``begin`` on, which lies in ``row``."""
    n = a.size
    out[:] = 0.0
    add_outer(out, 2.0, a, a, row, begin)
    diagonal = row * n - row * (row - 1) // 2
    while row < n and diagonal < begin + out.size:
        if diagonal >= begin:
            out[diagonal - begin] -= a[row] * a[row]
        diagonal += n - row
        row += 1


@part({"reassoc", "contract"})
def fill_level(
    out: Array, variable: int, level: int, shares: Array, columns: Array, row_in: Indices, blocks: Array,
    row: int, begin: int
) -> None:  # fmt: skip
    """sum_j shares[level, j] K_{variable, j} over the packed entries from ``begin`` on, which lies in ``row``."""
    out[:] = 0.0
    for j in range(shares.shape[1]):
        share = shares[level, j]
        if share != 0.0:
            block = row_in[variable, j]
            if block < 0:
                add_outer(out, share, columns[variable, j], columns[variable, j], row, begin)
            else:
                source = blocks[block, begin : begin + out.size]
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


@part({"reassoc", "contract"})
def _add_eight(vectors: Array, eight: Indices, size: int, out: Array) -> None:
    """Two vectors times four: ``eight`` as a row of ``Plan.eights``."""
    one, two = vectors[eight[0], :size], vectors[eight[1], :size]
    a, b, c, d = vectors[eight[2]], vectors[eight[3]], vectors[eight[4]], vectors[eight[5]]
    one_a = one_b = one_c = one_d = two_a = two_b = two_c = two_d = 0.0
    for r in range(one.size):
        one_a += one[r] * a[r]
        one_b += one[r] * b[r]
        one_c += one[r] * c[r]
        one_d += one[r] * d[r]
        two_a += two[r] * a[r]
        two_b += two[r] * b[r]
        two_c += two[r] * c[r]
        two_d += two[r] * d[r]
    out[eight[6]] += one_a
    out[eight[7]] += one_b
    out[eight[8]] += one_c
    out[eight[9]] += one_d
    out[eight[10]] += two_a
    out[eight[11]] += two_b
    out[eight[12]] += two_c
    out[eight[13]] += two_d


@leaf()
def add_forms(
    first: int, stop: int, vectors: Array, cached: bool, table: Array, a: Array, shares: Array, columns: Array,
    row_in: Indices, blocks: Array, pairs: Indices, where: Indices, products: Indices, single: Indices,
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
                fill_level(vectors[1 + s, :size], pairs[s, 0], pairs[s, 1], shares, columns, row_in, blocks, row, begin)
        for k in range(products.shape[0]):
            _product(vectors[known + k, :size], vectors[products[k, 0], :size], vectors[products[k, 1], :size])
        for k in range(single.shape[0]):
            out[single[k, 2]] += inner_product(vectors[single[k, 0], :size], vectors[single[k, 1], :size])
        for k in range(eights.shape[0]):
            _add_eight(vectors, eights[k], size, out)


@leaf()
def fill_table(table: Array, shares: Array, columns: Array, row_in: Indices, blocks: Array) -> None:
    """All level matrices, packed: row i (q + 1) + t is level t of variable i."""
    levels, begin = shares.shape[0], int(np.int64(0))  # a literal 0 would be one more type to compile for
    for i in range(row_in.shape[0]):
        for t in range(levels):
            fill_level(table[i * levels + t], i, t, shares, columns, row_in, blocks, begin, begin)


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
        total = 0.0
        for r in range(n):  # column.sum() was four more functions to compile
            total += column[r]
        out[k] = total * total
    return out
