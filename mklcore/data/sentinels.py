"""Numbers that stand for a missing value: -200, -999, 9999, and zeros that a measured quantity cannot take.

Reported, never changed without a request: `read_table(..., sentinels="missing")` reads them as missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices

CODES = (-1.0, -9.0, -99.0, -200.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)
FEWEST = 3  # cells with the value, so that one odd measurement is none
APART = 0.25  # of the range of all other values, at least that far from them
MOST_ZEROS = 0.5  # where more are zero, zero is the usual value
ZERO_STEPS = 5  # steps between neighbouring values that are between zero and the smallest other value


class Sentinel(NamedTuple):
    """A value of a column that probably says "missing": how often it stands there."""

    column: str
    value: float
    cells: int


def sentinel_of(name: str, numbers: Array) -> Sentinel | None:
    """The value of a numeric column (n,) that probably stands for a missing one; NaN cells are passed over.

    A known code at the edge of the range and far from all other values, or zero where every other value is positive,
    well above zero, and is close to its neighbours.
    """
    present = numbers[np.isfinite(numbers)]
    values, counts = np.unique(present, return_counts=True)
    if len(values) < 6:
        return None
    for edge, other in ((0, values[1:]), (-1, values[:-1])):
        value, count = float(values[edge]), int(counts[edge])
        away = min(abs(value - float(other[0])), abs(value - float(other[-1])))
        if value in CODES and count >= FEWEST and away > APART * float(np.ptp(other)) and _stands_out(value, other):
            return Sentinel(name, value, count)
    return _zeros(name, values, counts)


def _stands_out(value: float, others: Array) -> bool:
    """Whether the code is further from the others than they are from each other: -1 after 0, 1, 2 only goes on."""
    step = float(np.median(np.diff(others)))
    away = min(abs(value - float(others[0])), abs(value - float(others[-1])))
    return away > ZERO_STEPS * step


def _zeros(name: str, values: Array, counts: Indices) -> Sentinel | None:
    if values[0] != 0.0 or counts[0] < FEWEST or counts[0] > MOST_ZEROS * counts.sum():
        return None
    others = values[1:]
    continuous = len(others) >= 20 and float(others[0]) > ZERO_STEPS * float(np.median(np.diff(others)))
    return Sentinel(name, 0.0, int(counts[0])) if continuous else None
