"""Where a cursor stands: on one path, at a solved value or between two of them, or on several paths at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mklcore.figures.captions import label, symbol
from mklcore.figures.moving import Places, SharedSlider
from mklcore.paths.path import Path

__all__ = ["BOUNDS", "CursorPlace", "bounds", "label", "place", "symbol", "where"]

BOUNDS = {"C": (1e-6, 1e6), "lam": (1e-10, 1e6), "p": (1.0, math.inf)}  # where an exact value may be


@dataclass(frozen=True)
class CursorPlace:
    """Where the cursor stands: the index of the nearest solved value, and the value itself if it is between them."""

    index: int
    value: float
    exact: bool


def bounds(param: str, values: Sequence[float]) -> tuple[float, float]:
    """Return between which values an exact one may be: the usual bounds, or those of a path that kernels of another
    scale lead beyond them.
    """
    low, high = BOUNDS.get(param, (1e-10, 1e10))
    return min([low, *values]), max([high, *values])


def where(path: Path, index: int) -> str:
    """Return what the point of a path is called, as in "C = 1"."""
    return label(path.param, float(path.values[index]))


def place(path: Path, at: float | None) -> CursorPlace:
    """Return where ``at`` is on the path; None stands for the best validation score, or the middle where none can
    choose.

    A value outside its bounds becomes the nearest bound; a number of kernels is whole, from one to all of them.
    """
    values = np.asarray(path.values, dtype=float)
    if at is not None and path.param == "s":
        at = float(min(max(round(at), 1), max(len(path.kernel_names), int(values.max()))))
    if at is None:
        index = path.first_look
        return CursorPlace(index, float(values[index]), exact=False)
    low, high = bounds(path.param, values.tolist())
    at = min(max(at, low), high)
    index = path.nearest(at)
    on_grid = bool(values[index] == at or abs(values[index] - at) <= 1e-9 * at)
    return CursorPlace(index, float(values[index]) if on_grid else at, exact=not on_grid)


# One cursor of several methods


@dataclass(frozen=True)
class SliderPlace:
    """The position of the slider, and the place of each method on its path, between two points where it is no whole
    number; ``best``: each method stands at its chosen point.
    """

    position: float
    places: Places
    best: bool = False


def shared_place(found: SharedSlider, paths: Sequence[Path | None], at: str) -> SliderPlace:
    """Where ``at`` puts the methods: "" each at its best, a share of each path, or a value of the shared parameter.

    A value means nothing to methods without a shared parameter, nor a share to the others: both fall back to the best.
    """
    if not at or at.endswith("%") == bool(found.shared):
        indices = tuple(None if path is None else path.first_look for path in paths)
        return SliderPlace(found.nearest_to(indices), indices, best=True)
    position = found.position(float(at.removesuffix("%")))
    return SliderPlace(position, found.at(position))
