"""Turns: whole pages are drawn one after the other."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

# Python runs one thread at a time. Of thirty pages drawn at once each takes thirty times as long,
# and so does the small answer beside them; drawn one after the other they take no longer in all,
# and the small answer has only one beside it.


# A turn lasts at most this long. Then the next page starts as well, because we do not know what
# this one is waiting for.
LONGEST_SECONDS = 2.0


class Turns:
    """One at a time, who came first first; one that takes longer than ``longest`` seconds has the
    next one beside it.
    """

    def __init__(self, longest: float = LONGEST_SECONDS) -> None:
        self._longest = longest
        self._lock = threading.Lock()
        self._line: deque[threading.Event] = deque()
        self._now: threading.Event | None = None
        self._since = 0.0
        self._mine = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a turn and keep it until the end, or until it is given back."""
        self._mine.turn = mine = threading.Event()
        with self._lock:
            self._line.append(mine)
            self._go_on()
        while not mine.wait(max(self._since + self._longest - time.monotonic(), 0.01)):
            with self._lock:
                self._go_on()
        try:
            yield
        finally:
            self.give_back()

    def give_back(self) -> None:
        """Let the next one begin: what this thread does now takes long, or is waiting."""
        with self._lock:
            if self._now is getattr(self._mine, "turn", None):
                self._now = None
                self._go_on()

    def _go_on(self) -> None:
        """Give the turn to the first in the line if it is free, or has been taken for too long."""
        over = self._now is None or time.monotonic() > self._since + self._longest
        if over and self._line:
            self._now = self._line.popleft()
            self._since = time.monotonic()
            self._now.set()


PAGE_TURNS = Turns()
