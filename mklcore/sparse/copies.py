"""Exact copies of a kernel: which to leave out, and how to say so."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.features import FeatureBlocks
from mklcore.kernels.grams import SAME_SCALE, exact_copies
from mklcore.kernels.operators import Capability, KernelOperator

_LOOKED_AT = 40  # rows on which kernels are compared first
_MAYBE_SAME = 1e-8


def copies_among(rows: KernelOperator) -> tuple[tuple[int, ...], ...]:
    """The same for kernels that are not stored: copies have equal forms at every vector, and others
    at no random one.

    A vector that is zero on most rows is cheap to ask for, and leaves few kernels to ask more
    about.
    """
    random = np.random.default_rng(0)
    n = rows.n_samples
    hint = np.zeros(n)
    hint[random.permutation(n)[:_LOOKED_AT]] = random.standard_normal(min(n, _LOOKED_AT))
    found = rows.quad(hint)
    order = np.argsort(found, kind="stable")
    near = np.diff(found[order]) <= _MAYBE_SAME * found[order][1:]
    asked = np.sort(order[np.append(near, False) | np.append(False, near)])
    first, second = (
        (rows.quad(random.standard_normal(n), asked) for _ in range(2))
        if asked.size
        else (found, found)
    )
    groups: list[list[int]] = []
    for m in np.argsort(first[: asked.size], kind="stable").tolist():
        last = groups[-1][0] if groups else -1
        same = last >= 0 and all(
            abs(f[m] - f[last]) <= SAME_SCALE * max(f[m], f[last]) for f in (first, second)
        )
        if same:
            groups[-1].append(m)
        else:
            groups.append([m])
    return tuple(
        sorted(tuple(asked[sorted(members)].tolist()) for members in groups if len(members) > 1)
    )


def equal_blocks(blocks: FeatureBlocks) -> tuple[tuple[int, ...], ...]:
    """Groups of kernels whose features are the same: landmarks are shared, so copies of a kernel
    have equal blocks.
    """
    found: dict[bytes, list[int]] = {}
    for m, block in enumerate(blocks):
        found.setdefault(
            hashlib.sha256(np.ascontiguousarray(block.values).tobytes()).digest(), []
        ).append(m)
    return tuple(tuple(members) for members in found.values() if len(members) > 1)


def _groups(stack: Any) -> tuple[tuple[int, ...], ...]:
    if Capability.FEATURES in stack.capabilities:
        return equal_blocks(stack.values)
    return (
        exact_copies(stack.values)
        if Capability.DENSE in stack.capabilities
        else copies_among(stack)
    )


def without_copies(
    stack: Any,
    keep: bool,
    prices: Any = 1.0,
) -> tuple[Array, tuple[str, ...]]:
    """Which kernels of ``stack`` compete, (M,) of bool, and a note on every group of copies: of
    each the cheapest by ``prices`` (one number, or one per kernel; ties: the first) stands for all.
    Everybody competes with ``keep``.
    """
    allowed = np.ones(stack.n_kernels, dtype=bool)
    notes = []
    cost = np.broadcast_to(np.asarray(prices, dtype=float), allowed.shape)
    for group in () if keep else _groups(stack):
        first = min(group, key=lambda m: (cost[m], m))
        others = [m for m in group if m != first]
        allowed[others] = False
        names = ", ".join(stack.names[m] for m in others)
        notes.append(
            f"{names}: the same as {stack.names[first]}, left out. keep_duplicates=True "
            "lets every copy compete."
        )
    return allowed, tuple(notes)
