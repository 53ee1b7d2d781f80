"""Rows of kernel values within a budget of memory, the least recently used leaving first."""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import Protocol

import numpy as np

from mklcore.arrays import Indices, Single


class RowSource(Protocol):
    """Kernels (M on n rows) that write one row of all of them into an array (M, n)."""

    @property
    def n_kernels(self) -> int: ...

    @property
    def n_samples(self) -> int: ...

    def row_into(self, i: int, out: Single) -> None: ...


class RowCache:
    """Least recently used rows within a budget, all kernels of one training row together, in single precision.

    ``slab`` (most, M, n) float32 holds them; ``fetch`` tells in which slots, ``slot`` (n,) where each row is or -1.
    Sums of many rows that must be exact use ``source.rows`` instead.
    """

    def __init__(self, source: RowSource, budget_mb: float, least: int) -> None:
        self.source = source
        self.hits = self.misses = 0
        M, n = source.n_kernels, source.n_samples
        self.most: int = min(n, max(least, int(budget_mb * 1e6 / (4 * M * n))))
        self.slab = np.empty((self.most, M, n), dtype=np.float32)
        self.slot = np.full(n, -1)
        self._slot: OrderedDict[int, int] = OrderedDict()

    @property
    def is_full(self) -> bool:
        """Whether the next row that is missing takes the place of the oldest."""
        full: bool = len(self._slot) == self.most
        return full

    def oldest(self, most: int) -> Indices:
        """At most so many of the rows that are here, the one that leaves first in front."""
        return np.array(list(islice(self._slot, most)), dtype=np.int64)

    def fetch(self, rows: Indices) -> Indices:
        """Slots of the rows asked for (at most ``most``), in their order; missing ones are computed."""
        missing = [i for i in rows.tolist() if i not in self._slot]
        self.misses += len(missing)
        self.hits += rows.size - len(missing)
        for i in rows.tolist():
            if i in self._slot:
                self._slot.move_to_end(i)
        for i in missing:
            slot = len(self._slot)
            if slot == self.most:
                oldest, slot = self._slot.popitem(last=False)
                self.slot[oldest] = -1
            self._slot[i] = self.slot[i] = slot
            self.source.row_into(i, self.slab[slot])
        return np.array([self._slot[i] for i in rows.tolist()])
