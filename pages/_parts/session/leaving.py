"""Session and its end: what a tab held is let go once it can hardly come back.

Streamlit forgets a session when a later one closes. After a class the server would go on holding what its last tabs
made.
"""

import asyncio
import ctypes
import gc
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import streamlit as st

LOOK_SECONDS = 5.0
EARLY_SECONDS = 10.0  # before Streamlit itself would no longer find the session, and could not close it


class Held(Protocol):
    """What a session holds."""

    def is_left(self) -> bool:
        """Tell whether its tab is closed."""
        ...

    def let_go(self) -> None:
        """Forget everything."""
        ...


class Leaving:
    """The sessions of the server, and since when the tabs of some are closed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: dict[weakref.ref[Held], float | None] = {}
        self._lock = threading.Lock()
        self._then = list[Callable[[], None]]()

    def then(self, act: Callable[[], None]) -> None:
        """Have this done whenever something was let go."""
        self._then.append(act)

    def follow(self, held: Held) -> None:
        """Look after what one session holds, without holding it."""
        with self._lock:
            self._held[weakref.ref(held)] = None

    def held(self) -> list[Held]:
        """Return what the sessions hold that are looked after."""
        with self._lock:
            return [held for place in self._held if (held := place()) is not None]

    def look(self, patience: float) -> int:
        """Let go of what belongs to tabs that are closed for more than ``patience`` seconds; return of how many."""
        with self._lock:
            known = [(place, place(), since) for place, since in self._held.items()]
        return sum(self._judge(place, held, since, patience) for place, held, since in known)

    def _judge(self, place: weakref.ref[Held], held: Held | None, since: float | None, patience: float) -> bool:
        now, left = self._clock(), held is not None and held.is_left()
        over = left and since is not None and now - since > patience
        if held is not None and over:
            with suppress(Exception):  # the border of the server: the other sessions are still to be looked after
                held.let_go()
        with self._lock:
            if held is None or over:
                del self._held[place]
            else:
                self._held[place] = (now if since is None else since) if left else None
        return over

    def give_back(self) -> None:
        """Give the memory of what was let go back to the system: sessions hold themselves in circles, and the allocator
        keeps what is small.
        """
        gc.collect()
        for act in self._then:
            with suppress(Exception):  # the border of the server, as above
                act()
        with suppress(AttributeError, OSError):  # not every system's C library can
            ctypes.CDLL(None).malloc_trim(0)


LEAVING = Leaving()


async def look_after() -> None:
    """Look now and then, for as long as the server runs, in its own thread: only there Streamlit closes a session."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if LEAVING.look(float(st.get_option("server.disconnectedSessionTTL")) - EARLY_SECONDS):
            await asyncio.to_thread(LEAVING.give_back)
