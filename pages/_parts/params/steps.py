"""Params of a shared cursor: what a step of the slider means in each lane, and where a link puts it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mklcore.figures import path_positions
from mklcore.path import Path, nearest_by_ratio
from pages._parts.params import places

MOST_STEPS = 60
SHARES = 41

Indices = tuple[int | None, ...]


@dataclass(frozen=True)
class Steps:
    """The steps of the shared slider.

    ``shared`` is the parameter all lanes run over, "" if they run over different ones; ``values`` are its values, or shares
    of each path in percent; ``indices`` tell for every step which solved point each lane stands at, None without a path.
    """

    shared: str
    values: tuple[float, ...]
    labels: tuple[str, ...]
    indices: tuple[Indices, ...]

    def text(self, step: int) -> str:
        """Return a step as the link has it."""
        return repr(self.values[step]) if self.shared else f"{self.values[step]:g}%"


@dataclass(frozen=True)
class Place:
    """Where the lanes stand: the step under the thumb, the point of each lane, and the value all are to be solved at.

    ``kind`` is "best" (each lane at its own best validation score), "step" or "exact".
    """

    kind: str
    step: int
    indices: Indices
    value: float | None = None


def steps(paths: Sequence[Path | None], overs: Sequence[str]) -> Steps:
    """Return the steps for lanes whose paths run over the parameters ``overs``; a lane without a path yet stays behind."""
    known = [path for path in paths if path is not None]
    if len(set(overs)) == 1:
        values = _common([np.asarray(path.values, dtype=float) for path in known])
        chosen = tuple(tuple(None if p is None else p.nearest(v) for p in paths) for v in values)
        return Steps(overs[0], values, tuple(places.label(overs[0], value) for value in values), chosen)
    shares = tuple(float(share) for share in np.linspace(0.0, 100.0, SHARES))
    chosen = tuple(tuple(None if p is None else _at_share(p, share) for p in paths) for share in shares)
    return Steps("", shares, tuple(f"{share:g} % of each path" for share in shares), chosen)


def _at_share(path: Path, share: float) -> int:
    ranked = np.argsort(path_positions(path), kind="stable")
    return int(ranked[round(share / 100 * (len(ranked) - 1))])


def _common(grids: Sequence[np.ndarray]) -> tuple[float, ...]:
    """The values themselves where all lanes have the same ones, else a log grid as fine as theirs over all of them."""
    if not grids:
        return (1.0,)
    union = np.unique(np.concatenate(grids))
    if len(union) <= max(len(grid) for grid in grids) or not np.isfinite(union).all() or bool((union % 1 == 0).all()):
        return tuple(float(value) for value in union)
    finest = min(float(np.log(grid[-1] / grid[0])) / (len(grid) - 1) for grid in map(np.sort, grids) if len(grid) > 1)
    count = min(MOST_STEPS, 1 + math.ceil(math.log(union[-1] / union[0]) / max(finest, 1e-3)))
    return tuple(float(f"{value:.3g}") for value in np.geomspace(union[0], union[-1], count))


def place(found: Steps, paths: Sequence[Path | None], at: str) -> Place:
    """Return where ``at`` puts the lanes: "" each at its best, a share of each path, or a value of the shared parameter.

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
    lead = next((lane for lane, index in enumerate(indices) if index is not None), None)
    if lead is None:
        return Place("best", 0, indices)
    away = [abs((step[lead] or 0) - (indices[lead] or 0)) for step in found.indices]
    return Place("best", away.index(min(away)), indices)
