"""Params of a shared cursor: where a link puts the methods on the steps of their slider."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mklcore.figures.moving import Indices, Places, Steps, nearest_points, nearest_to
from mklcore.paths.path import Path
from pages._parts.params import places as params_places


@dataclass(frozen=True)
class Place:
    """Where the methods stand: the position of the slider and the place of each method on its own path.

    ``best``: each method stands at its own best validation score. ``values`` are those that methods are to be solved
    at, None where a method stands at a solved point.
    """

    position: float
    places: Places
    values: tuple[float | None, ...]
    best: bool = False

    @property
    def indices(self) -> Indices:
        """Return the solved point nearest to the place of each method."""
        return nearest_points(self.places)


def place(found: Steps, paths: Sequence[Path | None], at: str) -> Place:
    """Return where ``at`` puts the methods: "" each at its best, a share of each path, or a value of the shared
    parameter.

    A value means nothing to methods without a shared parameter, nor a share to the others: both fall back to the best.
    """
    if not at or at.endswith("%") == bool(found.shared):
        return _best(found, paths)
    value = float(at.removesuffix("%"))
    if found.shared == "s":
        value = float(round(value))
    elif found.shared:
        low, high = params_places.bounds(found.shared, found.values)
        value = min(max(value, low), high)
    position = found.position(value)
    stands = found.at(position)
    wanted = [_unsolved(path, at, value, found.shared) for path, at in zip(paths, stands, strict=True)]
    return Place(position, stands, tuple(wanted))


def _unsolved(path: Path | None, at: float | None, value: float, shared: str) -> float | None:
    """Return the value that a method has to be solved at for this place of its path; None where it is solved."""
    if path is None or at is None or path.param == "s":
        return None
    if shared:
        return None if math.isclose(float(path.values[round(at)]), value, rel_tol=1e-9) else value
    low = int(at)
    if at == low:
        return None
    ends = [float(path.values[k]) for k in (low, low + 1)]
    first, last = (end if math.isfinite(end) else 2 * min(ends) for end in ends)
    return float(f"{first * (last / first) ** (at - low):.4g}")


def _best(found: Steps, paths: Sequence[Path | None]) -> Place:
    indices = tuple(None if path is None else params_places.place(path, None).index for path in paths)
    return Place(nearest_to(found, indices), indices, (None,) * len(paths), best=True)
