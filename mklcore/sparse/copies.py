"""Exact copies of a kernel: which to leave out, and how to say so."""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.grams import SAME_SCALE, duplicates
from mklcore.kernels.operators import Capability, KernelOperator


def copies_among(rows: KernelOperator) -> tuple[tuple[int, ...], ...]:
    """Groups of copies among kernels that are not stored: copies have equal forms at every vector,
    and others at no random one.
    """
    random = np.random.default_rng(0)
    forms = np.array([rows.quad(random.standard_normal(rows.n_samples)) for _ in range(2)])
    groups: list[list[int]] = []
    for m in np.argsort(forms[0], kind="stable").tolist():
        if groups:
            pair = forms[:, [m, groups[-1][0]]]
            if np.all(np.ptp(pair, axis=1) <= SAME_SCALE * pair.max(axis=1)):
                groups[-1].append(m)
                continue
        groups.append([m])
    return tuple(sorted(tuple(sorted(members)) for members in groups if len(members) > 1))


def without_copies(
    stack: Any,
    keep: bool,
    costs: Any = 1.0,
) -> tuple[Array, tuple[str, ...]]:
    """Which kernels of ``stack`` compete, (M,) of bool, and a note on every group of copies: of
    each the cheapest by ``costs`` (one number, or one per kernel; ties: the first) stands for all.
    Everybody competes with ``keep``.
    """
    allowed = np.ones(stack.n_kernels, dtype=bool)
    notes = []
    cost = np.broadcast_to(np.asarray(costs, dtype=float), allowed.shape)
    groups: tuple[tuple[int, ...], ...] = ()
    if not keep:
        is_dense = Capability.DENSE in stack.capabilities
        groups = duplicates(stack.values, same_scale=True) if is_dense else copies_among(stack)
    for group in groups:
        first = min(group, key=lambda m: (cost[m], m))
        others = [m for m in group if m != first]
        allowed[others] = False
        names = ", ".join(stack.names[m] for m in others)
        notes.append(
            f"{names}: the same as {stack.names[first]}, left out. keep_duplicates=True "
            "lets every copy compete."
        )
    return allowed, tuple(notes)
