"""Params of a shared cursor: where a link puts the methods on the steps of their slider."""

from collections.abc import Sequence
from dataclasses import dataclass

from mklcore.figures.moving import Places, SharedSlider
from mklcore.paths.path import Path


@dataclass(frozen=True)
class SliderPlace:
    """The position of the slider, and the place of each method on its path, between two points where it is no whole
    number; ``best``: each method stands at its chosen point.
    """

    position: float
    places: Places
    best: bool = False


def place(found: SharedSlider, paths: Sequence[Path | None], at: str) -> SliderPlace:
    """Where ``at`` puts the methods: "" each at its best, a share of each path, or a value of the shared parameter.

    A value means nothing to methods without a shared parameter, nor a share to the others: both fall back to the best.
    """
    if not at or at.endswith("%") == bool(found.shared):
        indices = tuple(None if path is None else path.first_look for path in paths)
        return SliderPlace(found.nearest_to(indices), indices, best=True)
    position = found.position(float(at.removesuffix("%")))
    return SliderPlace(position, found.at(position))
