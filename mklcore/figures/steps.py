"""One slider for several paths: what a position of it means in each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import captions
from mklcore.figures.paths import path_positions

MOST_STEPS = 60
SHARES = 41
SOLVED = 1e-6  # of a step between two solved points, within which a place is the solved point itself

Places = tuple[float | None, ...]
Indices = tuple[int | None, ...]


@dataclass(frozen=True)
class Steps:
    """The steps of the shared slider, which may also stand between two of them.

    ``shared`` is the parameter all methods run over, "" if they run over different ones; ``values`` are its values, or
    shares of each path in percent; ``places`` tell for every step where each method stands on its own path: the index
    of a solved point, a fraction between two of them, None without a path.
    """

    shared: str
    values: tuple[float, ...]
    labels: tuple[str, ...]
    places: tuple[Places, ...]

    @property
    def positions(self) -> tuple[float, ...]:
        """The values on the axis: p = ∞ is one doubling beyond the largest finite norm."""
        finite = [value for value in self.values if math.isfinite(value)]
        return tuple(value if math.isfinite(value) else 2 * max(finite, default=0.5) for value in self.values)

    @property
    def indices(self) -> tuple[Indices, ...]:
        """The solved point nearest to the place of each method, at every step."""
        return tuple(nearest_points(places) for places in self.places)

    def value(self, position: float) -> float:
        """The value at a position of the slider, which may be between two steps."""
        low, share = _parts(position, len(self.values))
        if not share:
            return self.values[low]
        return _between(self.positions[low], self.positions[low + 1], share, bool(self.shared))

    def position(self, value: float) -> float:
        """The position of the slider at a value; beyond the ends it is the end."""
        return _place(self.positions, self.positions[-1] if math.isinf(value) else value, bool(self.shared))

    def at(self, position: float) -> Places:
        """Where each method stands at a position of the slider."""
        low, share = _parts(position, len(self.values))
        if not share:
            return self.places[low]
        ends = zip(self.places[low], self.places[low + 1], strict=True)
        return tuple(None if a is None or b is None else a + share * (b - a) for a, b in ends)

    def text(self, position: float) -> str:
        """A position as a link has it."""
        value = self.value(position)
        if not self.shared:
            return f"{value:.2f}".rstrip("0").rstrip(".") + "%"
        return repr(value if value in self.values else float(f"{value:.4g}"))


def steps(paths: Sequence[Any], overs: Sequence[str]) -> Steps:
    """The steps for methods whose paths run over the parameters ``overs``; a method without a path yet, None, stays
    behind.
    """
    known = [path for path in paths if path is not None]
    if len(set(overs)) == 1:
        values = _common([np.asarray(path.values, dtype=float) for path in known])
        labels = tuple(captions.label(overs[0], value) for value in values)
        found = Steps(overs[0], values, labels, ())
        axes = [None if path is None else tuple(path_positions(path).tolist()) for path in paths]
        places = tuple(
            tuple(None if axis is None else _place(axis, at, overs[0] != "s") for axis in axes)
            for at in found.positions
        )
        return Steps(overs[0], values, labels, places)
    shares = tuple(float(share) for share in np.linspace(0.0, 100.0, SHARES))
    places = tuple(tuple(None if path is None else _at_share(path, share) for path in paths) for share in shares)
    return Steps("", shares, tuple(f"{share:g} % of each path" for share in shares), places)


def nearest_points(places: Places) -> Indices:
    """The solved point nearest to each place."""
    return tuple(None if at is None else round(at) for at in places)


def nearest_to(found: Steps, indices: Indices) -> int:
    """The step at which the first method that has a path stands nearest to its place among ``indices``."""
    lead = next((k for k, index in enumerate(indices) if index is not None), None)
    if lead is None:
        return 0
    away = [abs((step[lead] or 0) - (indices[lead] or 0)) for step in found.places]
    return away.index(min(away))


def _parts(position: float, count: int) -> tuple[int, float]:
    """The step below a position, and the share of the way to the next one."""
    inner = min(max(position, 0.0), count - 1.0)
    near = round(inner)
    if abs(inner - near) < SOLVED:
        return near, 0.0
    return int(inner), inner - int(inner)


def _between(low: float, high: float, share: float, by_factors: bool) -> float:
    if by_factors and low > 0 and high > 0:
        return low * math.exp(share * math.log(high / low))
    return low + share * (high - low)


def _place(axis: Sequence[float], value: float, by_factors: bool) -> float:
    """Where ``value`` is among the monotone ``axis``, as an index that may be a fraction; beyond the ends the end."""
    points = np.asarray(axis, dtype=float)
    if by_factors and points.min() > 0 and value > 0:
        points, value = np.log(points), math.log(value)
    ranks = np.arange(points.size, dtype=float)
    rising = points.size < 2 or points[-1] > points[0]
    found = float(np.interp(value, points if rising else points[::-1], ranks if rising else ranks[::-1]))
    return float(round(found)) if abs(found - round(found)) < SOLVED else found


def _at_share(path: Any, share: float) -> float:
    ranked = path_positions(path)
    at: float = share / 100 * (len(ranked) - 1)
    at = at if ranked[-1] >= ranked[0] else len(ranked) - 1 - at
    return float(round(at)) if path.param == "s" else at


def _common(grids: Sequence[Array]) -> tuple[float, ...]:
    """The values themselves where all methods have the same ones, else a log grid as fine as theirs over all of
    them.
    """
    if not grids:
        return (1.0,)
    union = np.unique(np.concatenate(grids))
    if len(union) <= max(len(grid) for grid in grids) or not np.isfinite(union).all() or bool((union % 1 == 0).all()):
        return tuple(float(value) for value in union)
    finest = min(float(np.log(grid[-1] / grid[0])) / (len(grid) - 1) for grid in map(np.sort, grids) if len(grid) > 1)
    count = min(MOST_STEPS, 1 + math.ceil(math.log(union[-1] / union[0]) / max(finest, 1e-3)))
    return tuple(float(f"{value:.3g}") for value in np.geomspace(union[0], union[-1], count))
