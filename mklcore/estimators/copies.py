"""Exact copies of a kernel: which to leave out, and how to say so."""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.grams import GramStack
from mklcore.kernels.measures import duplicates

_SAME_SCALE = 1e-9


def exact_copies(K: Array) -> tuple[tuple[int, ...], ...]:
    """Groups of kernels of ``K`` (M, n, n) that are the same, scale included; the first of each group stands for all."""
    found = []
    for group in duplicates(K):
        by_scale: dict[float, list[int]] = {}
        for m in group:
            size = float(K[m].diagonal().max())
            same = next((known for known in by_scale if abs(known - size) <= _SAME_SCALE * max(known, size)), size)
            by_scale.setdefault(same, []).append(m)
        found += [tuple(members) for members in by_scale.values() if len(members) > 1]
    return tuple(found)


def without_copies(stack: GramStack, keep: bool, prices: Any = 1.0) -> tuple[Array, tuple[str, ...]]:
    """Which kernels of ``stack`` compete, (M,) of bool, and a note on every group of copies: of each the cheapest by
    ``prices`` (one number, or one per kernel; ties: the first) stands for all. Everybody competes with ``keep``."""
    allowed, notes = np.ones(stack.n_kernels, dtype=bool), []
    cost = np.broadcast_to(np.asarray(prices, dtype=float), allowed.shape)
    for group in () if keep else exact_copies(stack.values):
        first = min(group, key=lambda m: (cost[m], m))
        others = [m for m in group if m != first]
        allowed[others] = False
        names = ", ".join(stack.names[m] for m in others)
        notes.append(
            f"{names}: the same as {stack.names[first]}, left out. keep_duplicates=True lets every copy compete."
        )
    return allowed, tuple(notes)
