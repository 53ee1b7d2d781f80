"""Grids of widths that go on: wider or narrower kernels while the end of the grid carries the most weight and the score
gains.

The widths of a dictionary are a guess around the median distance, as the values of C or lambda on a path are; and as a
path goes on beyond its last value, a grid does beyond its last width, by its own ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.paths.path import Path
from mklcore.selection.references import FLAT

LEAST = 3  # kernels that differ in their width alone make a grid
MOST = 4  # widths by which a grid goes on


class Widened(NamedTuple):
    """The dictionary that was gone on to, its path, and whether the best width is still the last one tried: -1 the
    widest, 0 the narrowest, None where it is inside or the score is flat.
    """

    dictionary: KernelDictionary
    path: Path
    at_edge: int | None


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


def widened(fit: Callable[[KernelDictionary], Path], dictionary: KernelDictionary, most: int = MOST) -> Widened:
    """The path of ``fit(dictionary)``, with at most ``most`` widths more while the best point's largest weight within
    the grid is at its end and the best validation score gains.
    """
    path, left = fit(dictionary), most
    while left and (end := _edge(dictionary, path)) is not None:
        wider = with_next_width(dictionary, end)
        further, left = fit(wider), left - 1
        if not _best(further) > _best(path) + FLAT:
            return Widened(dictionary, path, None)
        dictionary, path = wider, further
    return Widened(dictionary, path, _edge(dictionary, path))


def _edge(dictionary: KernelDictionary, path: Path) -> int | None:
    return width_at_edge(dictionary.specs, path.weights[path.first_look])


def _best(path: Path) -> float:
    return float(path.val_score[path.first_look])
