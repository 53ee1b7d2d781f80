"""Runs and time: the age of the store, which grows with use and does not follow a clock that jumps.

What is kept leaves after days of the store's age, never of the calendar: a clock that is set ten days ahead, or wrong
for an hour, deletes nothing.
"""

import math
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field

DAY = 86400.0
LATEST = 1e11  # no store is older, in the year 5138: what says so would have everything leave
STRIDE = DAY  # the most the store ages between two looks of different processes: time nobody used it counts little


@dataclass
class Clock:
    """Tells the age of a store in seconds; ``wall`` may jump, ``steady`` does not but knows this process only."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    _last: tuple[float, float] | None = field(default=None, init=False)

    def tell(self, base: sqlite3.Connection) -> float:
        """Return the age and write it down, inside a transaction that writes."""
        wall, steady = self.wall(), self.steady()
        seen, age = _read(base)
        mine = self._last is not None and self._last[0] == seen
        passed = steady - self._last[1] if mine and self._last else min(max(wall - seen, 0.0), STRIDE)
        base.execute("UPDATE clock SET wall = ?, age = ?", (wall, age + passed))
        self._last = wall, steady
        return float(age + passed)


def age(base: sqlite3.Connection) -> float:
    """Return the age as it was stated last."""
    return _read(base)[1]


def _read(base: sqlite3.Connection) -> tuple[float, float]:
    """Return the hands of the clock; where they do not read, the file is as damaged as one SQLite itself refuses."""
    row = base.execute("SELECT wall, age FROM clock").fetchone()
    wall, stored = row or (None, None)
    if isinstance(wall, float) and isinstance(stored, float) and math.isfinite(wall) and 0 < stored < LATEST:
        return wall, stored
    error = sqlite3.DatabaseError("the clock of the store does not read")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    raise error
