"""One slider over several paths, which the player ``compare`` shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import captions
from mklcore.figures.axes import norm_positions

MOST_STEPS = 60  # of a slider over the values of one parameter
N_SHARES = 41  # steps of a slider over shares of different paths
# A place this near to a solved point, in units of one step, is the solved point itself.
SNAP = 1e-6
Places = tuple[float | None, ...]
Points = tuple[int | None, ...]


@dataclass(frozen=True)
class SharedSlider:
    """A slider over several paths, whose position may also lie between two of its steps.

    ``shared`` is the parameter of all methods, or "" where their parameters differ. ``values`` are
    values of this parameter, or shares of each path in percent. ``places`` holds for every step
    where each method stands on its path: the index of a solved point, a fraction between two of
    them, or None without a path.
    """

    shared: str
    values: tuple[float, ...]
    labels: tuple[str, ...]
    places: tuple[Places, ...]

    @property
    def positions(self) -> list[float]:
        """The values on the axis, where p = ∞ is twice the largest finite norm."""
        positions: list[float] = norm_positions(self.values).tolist()
        return positions

    @property
    def indices(self) -> tuple[Points, ...]:
        """For every step, the solved point that is nearest to the place of each method."""
        return tuple(map(_rounded, self.places))

    def value(self, position: float) -> float:
        """The value at a position of the slider."""
        inner = min(max(position, 0.0), len(self.values) - 1.0)
        step = round(inner)
        if abs(inner - step) < SNAP:
            return self.values[step]
        low, high = self.positions[int(inner) : int(inner) + 2]
        share = inner - int(inner)
        return low * (high / low) ** share if self.shared else low + share * (high - low)

    def position(self, value: float) -> float:
        """The position of the slider at a value; at an end for values beyond that end."""
        target = self.positions[-1] if math.isinf(value) else value
        return float(_positions(self.positions, [target], bool(self.shared))[0])

    def at(self, position: float) -> Places:
        """Where each method stands at a position of the slider."""
        steps = range(len(self.places))
        places: list[float | None] = []
        for along in zip(*self.places, strict=True):
            missing = along[0] is None
            places.append(None if missing else float(np.interp(position, steps, along)))
        return tuple(places)

    def text(self, position: float) -> str:
        """A position as it stands in a link."""
        value = self.value(position)
        if not self.shared:
            return f"{value:.2f}".rstrip("0").rstrip(".") + "%"
        return repr(value if value in self.values else float(f"{value:.4g}"))

    def nearest_to(self, points: Points) -> int:
        """The step at which the first method with a path is nearest to its place in ``points``."""
        for method, point in enumerate(points):
            if point is not None:
                distances = [abs((places[method] or 0) - point) for places in self.places]
                return distances.index(min(distances))
        return 0


def shared_slider(paths: Sequence[Any], params: Sequence[str]) -> SharedSlider:
    """The slider over ``paths`` along the parameters ``params``; a path may be None.

    Where the parameters differ, it moves over shares of every path, from its smallest to its
    largest value.
    """
    shared = params[0] if len(set(params)) == 1 else ""
    values = np.linspace(0.0, 100.0, N_SHARES)
    labels = [f"{share:g} % of each path" for share in values]
    if shared:
        values = _common_values([path for path in paths if path is not None], shared != "s")
        labels = [captions.label(shared, value) for value in values]
    columns: list[list[float | None]] = []
    for path in paths:
        if path is None:
            columns.append([None] * len(values))
            continue
        along = norm_positions(path.values)
        if shared:
            places = _positions(along, norm_positions(values), shared != "s")
        else:
            ends = [0, len(along) - 1] if along[-1] >= along[0] else [len(along) - 1, 0]
            places = np.interp(values, [0.0, 100.0], ends)
            places = places.round() if path.param == "s" else places
        columns.append(places.tolist())
    steps = tuple(zip(*columns, strict=True))
    return SharedSlider(shared, tuple(values.tolist()), tuple(labels), steps)


def _rounded(places: Places) -> Points:
    return tuple(None if place is None else round(place) for place in places)


def _common_values(paths: Sequence[Any], by_ratios: bool) -> Array:
    """The values of all paths; where these are too many, evenly spaced values with 3 digits."""
    known = [np.asarray(path.values, dtype=float) for path in paths] or [np.ones(1)]
    values: Array = np.unique(np.concatenate(known))
    most = max(MOST_STEPS, *map(len, known))
    if len(values) <= most or not by_ratios or not np.isfinite(values).all():
        return values
    grid = np.geomspace(values[0], values[-1], MOST_STEPS)
    return np.array([float(f"{value:.3g}") for value in grid])


def _positions(points: Any, values: Any, by_ratios: bool) -> Array:
    """Where ``values`` lie among the monotone ``points``, as indices that may be fractions."""
    points = np.asarray(points, dtype=float)
    values = np.asarray(values, dtype=float)
    if by_ratios and min(points.min(), values.min()) > 0:
        points = np.log(points)
        values = np.log(values)
    order = np.argsort(points, kind="stable")
    positions = np.interp(values, points[order], order.astype(float))
    nearest = np.round(positions)
    snapped: Array = np.where(np.abs(positions - nearest) < SNAP, nearest, positions)
    return snapped
