"""One slider for several paths: what a step of it means in each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import telling
from mklcore.figures.paths import path_positions

MOST_STEPS = 60
SHARES = 41

Indices = tuple[int | None, ...]


@dataclass(frozen=True)
class Steps:
    """The steps of the shared slider.

    ``shared`` is the parameter all lanes run over, "" if they run over different ones; ``values`` are its values, or
    shares of each path in percent; ``indices`` tell for every step which solved point each lane stands at, None without
    a path.
    """

    shared: str
    values: tuple[float, ...]
    labels: tuple[str, ...]
    indices: tuple[Indices, ...]

    def text(self, step: int) -> str:
        """A step as a link has it."""
        return repr(self.values[step]) if self.shared else f"{self.values[step]:g}%"


def steps(paths: Sequence[Any], overs: Sequence[str]) -> Steps:
    """The steps for lanes whose paths run over the parameters ``overs``; a lane without a path yet, None, stays
    behind.
    """
    known = [path for path in paths if path is not None]
    if len(set(overs)) == 1:
        values = _common([np.asarray(path.values, dtype=float) for path in known])
        chosen = tuple(tuple(None if p is None else int(p.nearest(v)) for p in paths) for v in values)
        return Steps(overs[0], values, tuple(telling.label(overs[0], value) for value in values), chosen)
    shares = tuple(float(share) for share in np.linspace(0.0, 100.0, SHARES))
    chosen = tuple(tuple(None if p is None else _at_share(p, share) for p in paths) for share in shares)
    return Steps("", shares, tuple(f"{share:g} % of each path" for share in shares), chosen)


def nearest_to(found: Steps, indices: Indices) -> int:
    """The step at which the first lane that has a path stands nearest to its place among ``indices``."""
    lead = next((lane for lane, index in enumerate(indices) if index is not None), None)
    if lead is None:
        return 0
    away = [abs((step[lead] or 0) - (indices[lead] or 0)) for step in found.indices]
    return away.index(min(away))


def _at_share(path: Any, share: float) -> int:
    ranked = np.argsort(path_positions(path), kind="stable")
    return int(ranked[round(share / 100 * (len(ranked) - 1))])


def _common(grids: Sequence[Array]) -> tuple[float, ...]:
    """The values themselves where all lanes have the same ones, else a log grid as fine as theirs over all of them."""
    if not grids:
        return (1.0,)
    union = np.unique(np.concatenate(grids))
    if len(union) <= max(len(grid) for grid in grids) or not np.isfinite(union).all() or bool((union % 1 == 0).all()):
        return tuple(float(value) for value in union)
    finest = min(float(np.log(grid[-1] / grid[0])) / (len(grid) - 1) for grid in map(np.sort, grids) if len(grid) > 1)
    count = min(MOST_STEPS, 1 + math.ceil(math.log(union[-1] / union[0]) / max(finest, 1e-3)))
    return tuple(float(f"{value:.3g}") for value in np.geomspace(union[0], union[-1], count))
