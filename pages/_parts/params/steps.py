"""Params of a shared cursor: where a link puts the lanes on the steps of their slider."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mklcore.figures.steps import Indices, Steps, nearest_to
from mklcore.paths.path import Path, nearest_by_ratio
from pages._parts.params import places


@dataclass(frozen=True)
class Place:
    """Where the lanes stand: the step under the thumb, the point of each lane, and the value all are to be solved at.

    ``kind`` is "best" (each lane at its own best validation score), "step" or "exact".
    """

    kind: str
    step: int
    indices: Indices
    value: float | None = None


def place(found: Steps, paths: Sequence[Path | None], at: str) -> Place:
    """Return where ``at`` puts the lanes: "" each at its best, a share of each path, or a value of the shared
    parameter.

    A value means nothing to lanes without a shared parameter, nor a share to the others: both fall back to the best.
    """
    if not at or at.endswith("%") == bool(found.shared):
        return _best(found, paths)
    value = float(at.removesuffix("%"))
    if found.shared == "s":
        value = float(round(value))
    elif found.shared:
        low, high = places.bounds(found.shared, found.values)
        value = min(max(value, low), high)
    step = _nearest_step(found, value)
    if not found.shared or found.shared == "s" or math.isclose(found.values[step], value, rel_tol=1e-9):
        return Place("step", step, found.indices[step])
    return Place("exact", step, found.indices[step], value)


def _nearest_step(found: Steps, value: float) -> int:
    if not found.shared:
        return min(range(len(found.values)), key=lambda k: abs(found.values[k] - value))
    return nearest_by_ratio(found.values, value)


def _best(found: Steps, paths: Sequence[Path | None]) -> Place:
    indices = tuple(None if path is None else places.place(path, None).index for path in paths)
    return Place("best", nearest_to(found, indices), indices)
