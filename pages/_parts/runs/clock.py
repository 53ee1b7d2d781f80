"""Runs and time: the age of the store, which grows with use and does not follow a clock that jumps.

What is kept leaves after days of the store's age, never of the calendar: a clock that is set ten days ahead, or wrong for an
hour, deletes nothing.
"""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field

DAY = 86400.0
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
        seen, age = base.execute("SELECT wall, age FROM clock").fetchone()
        mine = self._last is not None and self._last[0] == seen
        passed = steady - self._last[1] if mine and self._last else min(max(wall - seen, 0.0), STRIDE)
        base.execute("UPDATE clock SET wall = ?, age = ?", (wall, age + passed))
        self._last = wall, steady
        return float(age + passed)


def age(base: sqlite3.Connection) -> float:
    """Return the age as it was told last."""
    return float(base.execute("SELECT age FROM clock").fetchone()[0])
