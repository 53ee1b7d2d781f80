"""Grids of widths whose end carries the most weight, and the next width there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.dictionary import KernelDictionary

LEAST = 3  # kernels that differ in their width alone make a grid
MOST = 4  # widths by which a grid goes on


def width_grid(specs: Sequence[Any]) -> list[int]:
    """The places of the largest set of kernels that differ in their width alone, narrowest first; none below three."""
    sets: dict[Any, list[int]] = {}
    for place, spec in enumerate(specs):
        if hasattr(spec, "width"):
            sets.setdefault(replace(spec, width=1.0), []).append(place)
    found = max(sets.values(), key=len, default=[])
    found = sorted(found, key=lambda place: float(specs[place].width))
    return found if len({specs[place].width for place in found}) >= LEAST else []


def width_at_edge(specs: Sequence[Any], weights: Array) -> int | None:
    """-1 where the widest kernel of the grid among ``specs`` carries more weight (M,) than any other of it, 0 where the
    narrowest does; None where neither does, where nothing of the grid is used, and where there is no grid."""
    grid = width_grid(specs)
    if not grid:
        return None
    carried = np.asarray(weights, dtype=float)[grid]
    for end, rest in ((-1, carried[:-1]), (0, carried[1:])):
        if carried[end] > rest.max():
            return end
    return None


def with_next_width(dictionary: KernelDictionary, end: int) -> KernelDictionary:
    """The dictionary with one more kernel at this end of its grid of widths, by the ratio of the last two there."""
    grid = width_grid(dictionary.specs)
    specs: Sequence[Any] = dictionary.specs
    last, before = (specs[place] for place in ((grid[-1], grid[-2]) if end == -1 else (grid[0], grid[1])))
    more = replace(last, width=last.width * last.width / before.width)
    return replace(dictionary, specs=(*dictionary.specs, more))
