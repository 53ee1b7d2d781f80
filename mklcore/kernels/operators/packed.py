"""Kernels stored in single precision, one triangle of each: a quarter of the room of a stack, for every sum over
kernels.

    stored      K_ij for j >= i, row after row, as float32: 2 M n (n + 1) bytes in memory or in a file on disk
    summed      in float64, entry by entry: only the entries themselves are rounded, to 6e-8 of their size
    proved      from the columns in float64 (``exact``): no number of a certificate comes from what is stored

A scale that is one number per kernel is kept beside its triangle, so that exponentials are written once, as they are
computed, and their sum is found on the way; where rows have factors or means of their own the triangle is gone over
again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Indices, Single, read_only
from mklcore.errors import KernelError, check_cancelled
from mklcore.kernels.bases import fill_across, seen_of
from mklcore.kernels.checks import one_blas_thread
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.fills import SINGLE_LOG2_E, single_power
from mklcore.kernels.functions import RowKernel
from mklcore.kernels.maps import KernelMap, share_bases
from mklcore.kernels.operators.base import Capability, DenseSum
from mklcore.kernels.operators.lazy import LazyKernels, diagonals_of, row_sums_of, spreads_of, unscaled
from mklcore.kernels.sums import mirror

MEMORY_MB = 4096.0  # of the triangles, their sum and what fills them
ON_DISK_MB = 2048.0  # the same in memory where the triangles are on disk
_BLOCK = 256  # rows whose base numbers are made at a time
_ROWS = 8  # of a sum that stay in the processor's cache while kernels go by
_FLAT = 1e-3  # share of the trace: the variance of a flatter kernel is found in double precision


@jit_entry({"contract", "reassoc"})
def store_exponentials(base: Single, rate: Any, first: int, out: Single) -> float:
    """exp(-rate * base[i, j]) for j >= i into rows ``first``, first + 1, ... of a triangle; returns the sum off the
    diagonal.

    base (r, n - first) float32, of rows against themselves and all that follow. By ``fills.single_power``.
    """
    n, total = first + base.shape[1], 0.0
    for i in range(base.shape[0]):
        at = _row_at(first + i, n)
        source, target = base[i, i:], out[at : at + n - first - i]
        for j in range(target.size):
            target[j] = single_power(-rate * SINGLE_LOG2_E * source[j])
        own = 0.0
        for j in range(1, target.size):
            own += np.float64(target[j])
        total += own
    return total


@jit_entry()
def store(block: Array, first: int, out: Single) -> float:
    """block[i, j] for j >= i into rows ``first``, first + 1, ... of a triangle ``out``; returns the sum off the
    diagonal.
    """
    n, total = first + block.shape[1], 0.0
    for i in range(block.shape[0]):
        at = _row_at(first + i, n)
        source, target = block[i, i:], out[at : at + n - first - i]
        for j in range(target.size):
            target[j] = np.float32(source[j])
            total += source[j] if j else 0.0
    return total


@jit_entry()
def finish_triangle(out: Single, means: Array, grand: float, factors: Array) -> None:
    """K_ij <- (K_ij - r_i - r_j + g) f_i f_j in a triangle."""
    n, at = means.size, 0
    for i in range(n):
        row, shift = out[at : at + n - i], grand - means[i]
        for j in range(row.size):
            row[j] = np.float32((row[j] + shift - means[i + j]) * (factors[i] * factors[i + j]))
        at += n - i


@jit_helper()
def _row_at(i: int, n: int) -> int:
    """Where row i of a triangle begins, with its diagonal entry."""
    return i * n - i * (i - 1) // 2


@jit_entry()
def combine_triangles(values: Single, live: Indices, weights: Array, out: Array) -> None:
    """out = sum_k weights[k] K[live[k]], (n, n): a few rows of four kernels at a time, in long runs; then mirrored."""
    n, used, count = out.shape[0], np.empty(live.size, np.int64), 0
    for k in range(live.size):
        if weights[k] != 0.0:
            used[count], count = k, count + 1
    for top in range(0, n, _ROWS):
        for i in range(top, min(top + _ROWS, n)):
            out[i, i:] = 0.0
        for done in range(0, count, 4):
            last = count - 1
            k0, k1, k2, k3 = used[done], used[min(done + 1, last)], used[min(done + 2, last)], used[min(done + 3, last)]
            w0 = weights[k0]
            w1 = weights[k1] if done + 1 < count else 0.0
            w2 = weights[k2] if done + 2 < count else 0.0
            w3 = weights[k3] if done + 3 < count else 0.0
            for i in range(top, min(top + _ROWS, n)):
                at, row = _row_at(i, n), out[i, i:]
                s0, s1 = values[live[k0], at : at + n - i], values[live[k1], at : at + n - i]
                s2, s3 = values[live[k2], at : at + n - i], values[live[k3], at : at + n - i]
                for j in range(row.size):
                    row[j] += w0 * s0[j] + w1 * s1[j] + w2 * s2[j] + w3 * s3[j]
    mirror(out)


@jit_entry({"reassoc", "contract"})
def multiply_triangles(values: Single, live: Indices, a: Array, out: Array) -> None:
    """out[k] = K[live[k]] a, (L, n): every triangle is read once, for its rows and for its columns."""
    n = a.size
    for k in range(live.size):
        target, at = out[k], 0
        target[:] = 0.0
        for i in range(n):
            row, left, tail, own, below = values[live[k], at : at + n - i], a[i], a[i:], 0.0, target[i:]
            if left != 0.0:
                for j in range(row.size):
                    value = np.float64(row[j])
                    own += value * tail[j]
                    below[j] += left * value
            else:
                for j in range(row.size):
                    own += np.float64(row[j]) * tail[j]
            target[i] += own - np.float64(row[0]) * left
            at += n - i


@jit_entry()
def combine_part(values: Single, live: Indices, weights: Array, rows: Indices, n: int) -> Array:
    """sum_k weights[k] K[live[k]][rows, rows] for ascending rows, as a new (r, r) matrix."""
    r = rows.size
    out = np.zeros((r, r))
    for k in range(live.size):
        w, source = weights[k], values[live[k]]
        if w != 0.0:
            for i in range(r):
                at = _row_at(rows[i], n) - rows[i]
                for j in range(i, r):
                    out[i, j] += w * source[at + rows[j]]
    mirror(out)
    return out


def triangle_bytes(n_kernels: int, n_samples: int) -> int:
    """Bytes of M triangles of n rows as they are stored."""
    return 2 * n_kernels * n_samples * (n_samples + 1)


def working_bytes(n_samples: int) -> int:
    """Bytes beside the triangles while a machine is solved: the sum of the kernels, and a block while they are
    filled.
    """
    return 8 * n_samples**2 + 12 * _BLOCK * n_samples


def place_for(n_kernels: int, n_samples: int, may_use_disk: bool) -> str | None:
    """Where the triangles of M kernels on n rows have room: "memory", where allowed "disk", or nowhere."""
    stored, beside = triangle_bytes(n_kernels, n_samples), working_bytes(n_samples)
    if stored + beside <= 1e6 * MEMORY_MB:
        return "memory"
    roomy = may_use_disk and beside <= 1e6 * ON_DISK_MB and shutil.disk_usage(tempfile.gettempdir()).free > 2 * stored
    return "disk" if roomy else None


class PackedKernels(LazyKernels):
    """``LazyKernels`` whose sums come from triangles in single precision; ``exact`` are the same kernels from their
    columns.

    ``values`` (M_all, n (n + 1) / 2) float32, of which ``live`` (M,) are the kernels here; ``shares`` (M,) what an
    entry is multiplied by.
    """

    def __init__(
        self, transform: KernelMap, names: Sequence[str], diagonal: Array, notes: Sequence[str], values: Single,
        live: Indices, shares: Array,
    ) -> None:  # fmt: skip
        super().__init__(transform, names, diagonal, notes)
        self.values, self.live, self.shares = values, live, shares

    @property
    def exact(self) -> LazyKernels:
        """The same kernels in double precision, from their columns."""
        return LazyKernels(self.transform, self.names, self.diagonals(), self.notes)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What these kernels can do beyond the protocol."""
        return frozenset({Capability.STORED, Capability.BLOCKS, Capability.FACTORS})

    def with_float32_sums(self) -> PackedKernels:
        """These kernels."""
        return self

    def select(self, kernels: Indices) -> PackedKernels:
        """Some of the kernels, over the same triangles."""
        names = [self.names[m] for m in kernels]
        return PackedKernels(
            self.transform.subset(kernels), names, self.diagonals()[kernels], (), self.values, self.live[kernels],
            self.shares[kernels],
        )  # fmt: skip

    def combine(self, weights: Array, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,); made in ``out`` (n, n) where one is given."""
        matrix = np.empty((self.n_samples, self.n_samples)) if out is None else out
        combine_triangles(self.values, self.live, weights * self.shares, matrix)
        return DenseSum(matrix)

    def matvec(self, a: Array, kernels: Indices | None = None) -> Array:
        """K_m a for a (n,), of every kernel (M, n) or of some (k, n)."""
        chosen = np.arange(self.n_kernels) if kernels is None else kernels
        out = np.empty((chosen.size, self.n_samples))
        multiply_triangles(self.values, self.live[chosen], read_only(a), out)
        out *= self.shares[chosen, None]
        return out

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,); negative round-off is clipped to 0."""
        return np.maximum(self.matvec(a, kernels) @ a, 0.0)

    def combine_block(self, weights: Array, rows: Indices) -> Array:
        """sum_m weights_m K_m among ascending rows, as a new (r, r) matrix."""
        return combine_part(self.values, self.live, weights * self.shares, rows, self.n_samples)

    @classmethod
    def build(
        cls, dictionary: KernelDictionary, X: Any, normalise: str | None = "multiplicative", center: bool = False,
        place: str = "memory",
    ) -> Self:  # fmt: skip
        """Resolve the dictionary on training rows X (n, d) and store its kernels in ``place``, "memory" or "disk" (a
        file that ends with them). KernelError where the disk is full.
        """
        plain, finishing = unscaled(dictionary, X, normalise, center)
        n, M = plain.rows.shape[0], len(plain.specs)
        values = _room(M, n, place)
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            diagonal, off = diagonals_of(plain), fill(values, plain)
            sums = row_sums_of(plain) if center else np.broadcast_to(0.0, (M, n))
            spread = diagonal.mean(axis=1) - (diagonal.sum(axis=1) + 2.0 * off) / n**2
            flat = np.flatnonzero(~(spread > _FLAT * diagonal.mean(axis=1)))
            if flat.size and not center:
                spread[flat] = spreads_of(plain.subset(flat), diagonal[flat], True)
        for m in range(M):
            settled = finishing.settle(m, diagonal[m], sums[m], None if center else float(spread[m]))
            if settled and finishing.by_row:
                finish_triangle(
                    values[m], finishing.row_means[m], float(finishing.grand_means[m]), finishing.factors[m]
                )
        if center:
            diagonal += finishing.grand_means[:, None] - 2 * finishing.row_means
        diagonal *= finishing.factors**2
        kept, named = finishing.kept, dictionary.names
        shares = np.ones(M) if finishing.by_row else finishing.factors[:, 0] ** 2
        return cls(
            finishing.on(plain), [named[m] for m in kept], diagonal[kept], finishing.notes, values, kept, shares[kept]
        )


def fill(values: Single, plain: KernelMap) -> Array:
    """The triangles of all kernels of a map without scales, a block of rows at a time; returns sums off the diagonal,
    (M,).
    """
    n, off = plain.rows.shape[0], np.zeros(len(plain.specs))
    for (kind, columns), members in share_bases(plain.specs).items():
        table = seen_of(kind, plain.rows, columns)
        by_column = np.zeros((0, 0)) if isinstance(kind, RowKernel) else np.array(table.T, order="C")
        for top in range(0, n, _BLOCK):
            left = table[top : top + _BLOCK]
            base = np.empty((left.shape[0], n - top))
            if isinstance(kind, RowKernel):
                kind.between(left, table[top:], False, base)
            else:
                fill_across(kind, left, np.ascontiguousarray(by_column[:, top:]), False, base)
            lean, block = base.astype(np.float32), np.empty_like(base)
            for m in members:
                check_cancelled()
                rate = plain.specs[m].rate
                if rate is not None:
                    off[m] += store_exponentials(lean, np.float32(rate), top, values[m])
                    continue
                plain.specs[m].fill(base, False, block)
                off[m] += store(block, top, values[m])
    return off


def _room(M: int, n: int, place: str) -> Single:
    """An array for M triangles, or a map of a file that has no name and ends with it."""
    shape = (M, n * (n + 1) // 2)
    if place == "memory":
        return np.empty(shape, dtype=np.float32)
    try:
        with tempfile.TemporaryFile(prefix="mklcore-") as file:
            # Beforehand: a disk that fills up later would end the process.
            os.posix_fallocate(file.fileno(), 0, 4 * shape[0] * shape[1])
            found: Single = np.asarray(np.memmap(file, dtype=np.float32, mode="w+", shape=shape))
            return found
    except OSError as error:
        raise KernelError(
            f"{M:,} kernels on {n:,} rows need {4e-6 * shape[0] * shape[1]:,.0f} MB on disk, and the folder "
            f"{tempfile.gettempdir()!r} has no room for them ({error}). Take fewer rows or kernels, or set TMPDIR to "
            f"a larger disk."
        ) from None
