"""Exponentials of distances, of many kernels in one pass: the rows of a dictionary without a Gram matrix.

A fit that stores no Gram matrix asks for one row of all kernels at a time. What that costs is then not the arithmetic
but the calls and the memory: here all kernels exp(-rate * distance) of a map are filled tile by tile, so that a
distance which several widths share is computed once and, like the columns of the table, is in the fastest cache when
it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices, Single, read_only
from mklcore.kernels.fills import LOG2_E, exponentials, single_power
from mklcore.kernels.functions import Base, KernelSpec

Groups = dict[tuple[Base, tuple[int, ...]], list[int]]  # kernels by what they share: a base and its columns
TILE = 512  # training rows at a time: their distances and exponentials stay in the fastest cache


@jit_helper({"contract"})
def _distances(table: Array, columns: Indices, new: Array, squared: Any, start: int, out: Array) -> None:
    """out[j] = the distance of ``new`` (d,) to row start + j, over some columns of ``table`` (d, n).

    Two columns at a time, added in the order of ``fills.fill_squared``: a cut block is to the last bit part of the
    whole one.
    """
    size, last = out.size, columns.size - 1
    out[:] = 0.0
    for k in range(0, columns.size - 1, 2):
        x, z = new[columns[k]], new[columns[k + 1]]
        first, second = table[columns[k], start : start + size], table[columns[k + 1], start : start + size]
        if squared:
            for j in range(size):
                gap, other = first[j] - x, second[j] - z
                out[j] = (out[j] + gap * gap) + other * other
        else:
            for j in range(size):
                out[j] = (out[j] + abs(first[j] - x)) + abs(second[j] - z)
    if columns.size % 2:
        x, first = new[columns[last]], table[columns[last], start : start + size]
        if squared:
            for j in range(size):
                gap = first[j] - x
                out[j] += gap * gap
        else:
            for j in range(size):
                out[j] += abs(first[j] - x)


@jit_entry({"contract"})
def exponential_rows(
    table: Array, new: Array, columns: Indices, column_ends: Indices, squared: Any, members: Indices,
    member_ends: Indices, rates: Array, scale: Array, out: Array
) -> None:  # fmt: skip
    """out[m, i] = scale[m] exp(-rate_m distance) of new row i to all n training rows, for the kernels m in ``members``.

    ``table`` (d, n) and ``new`` (r, d); group g of the kernels sees ``columns[column_ends[g] : column_ends[g + 1]]``.
    """
    n = table.shape[1]
    base = np.empty(min(TILE, n))
    for start in range(0, n, TILE):
        end = min(start + TILE, n)
        here = base[: end - start]
        for i in range(new.shape[0]):
            for g in range(squared.size):
                seen = columns[column_ends[g] : column_ends[g + 1]]
                _distances(table, seen, new[i], squared[g], start, here)
                for q in range(member_ends[g], member_ends[g + 1]):
                    m = members[q]
                    target, factor = out[m, i, start:end], scale[m]
                    exponentials(here, rates[q], target)
                    if factor != 1.0:
                        for j in range(target.size):
                            target[j] *= factor


@jit_entry({"contract"})
def single_rows(
    table: Array, new: Array, columns: Indices, column_ends: Indices, squared: Any, members: Indices,
    member_ends: Indices, rates: Array, scale: Array, out: Single
) -> None:  # fmt: skip
    """The same for one new row (d,) into ``out`` (M, n) float32: distances in double precision, exponentials in
    single.
    """
    n = table.shape[1]
    base, single = np.empty(min(TILE, n)), np.empty(min(TILE, n), np.float32)
    for start in range(0, n, TILE):
        end = min(start + TILE, n)
        here, rounded = base[: end - start], single[: end - start]
        for g in range(squared.size):
            _distances(table, columns[column_ends[g] : column_ends[g + 1]], new, squared[g], start, here)
            for j in range(here.size):  # first: a loop that changes the precision on its way stays scalar
                rounded[j] = np.float32(here[j])
            for q in range(member_ends[g], member_ends[g + 1]):
                m = members[q]
                target, factor, rate = out[m, start:end], np.float32(scale[m]), np.float32(-rates[q] * LOG2_E)
                for j in range(target.size):
                    target[j] = factor * single_power(rate * rounded[j])


@dataclass(frozen=True, eq=False)
class Exponentials:
    """Which kernels of a map are exp(-rate * distance), in groups that share a distance, laid out as
    ``exponential_rows`` takes them.
    """

    columns: Indices
    column_ends: Indices
    squared: Any
    members: Indices
    member_ends: Indices
    rates: Array

    @classmethod
    def among(cls, specs: Sequence[KernelSpec], groups: Groups) -> tuple[Exponentials, Groups]:
        """Those of the resolved ``specs``, and the groups of all others."""
        own: list[tuple[bool, tuple[int, ...], list[int]]] = []
        others: Groups = {}
        for (kind, columns), kernels in groups.items():
            quick = [m for m in kernels if kind in ("squared", "absolute") and specs[m].rate is not None]
            left = [m for m in kernels if m not in quick] if len(quick) < len(kernels) else []
            if quick:
                own.append((kind == "squared", columns, quick))
            if left:
                others[kind, columns] = left
        members = [m for _, _, kernels in own for m in kernels]
        found = cls(
            np.array([j for _, columns, _ in own for j in columns], dtype=np.int64),
            np.cumsum([0, *(len(columns) for _, columns, _ in own)]),
            np.array([squared for squared, _, _ in own], dtype=np.bool_),
            np.array(members, dtype=np.int64),
            np.cumsum([0, *(len(kernels) for _, _, kernels in own)]),
            np.array([specs[m].rate for m in members], dtype=np.float64),
        )
        return found, others

    def fill(self, by_column: Array, new: Array, scale: Array, out: Array) -> None:
        """Rows of these kernels into ``out`` (M, r, n), each times its ``scale`` (M,)."""
        if self.members.size:
            exponential_rows(
                by_column, read_only(np.ascontiguousarray(new)), self.columns, self.column_ends, self.squared,
                self.members, self.member_ends, self.rates, scale, out,
            )  # fmt: skip

    def fill_single(self, by_column: Array, new: Array, scale: Array, out: Single) -> None:
        """One row ``new`` (d,) of these kernels into ``out`` (M, n), in single precision: relative error 4e-7."""
        if self.members.size:
            single_rows(
                by_column, read_only(new), self.columns, self.column_ends, self.squared, self.members,
                self.member_ends, self.rates, scale, out,
            )  # fmt: skip
