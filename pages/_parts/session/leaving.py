"""Session and its end: what a tab held is let go once it can no longer come back.

Streamlit forgets a session when a later one closes. After a class the server would go on holding what its last tabs made.
"""

import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import streamlit as st

LOOK_SECONDS = 5.0


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

    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience, self._clock = patience, clock
        self._held: dict[weakref.ref[Held], float | None] = {}
        self._lock = threading.Lock()

    def follow(self, held: Held) -> None:
        """Look after what one session holds, without holding it."""
        with self._lock:
            self._held[weakref.ref(held)] = None

    def look(self) -> int:
        """Let go of what belongs to tabs that are closed for longer than one can come back; return of how many."""
        with self._lock:
            known = [(place, place(), since) for place, since in self._held.items()]
        return sum(self._judge(place, held, since) for place, held, since in known)

    def _judge(self, place: weakref.ref[Held], held: Held | None, since: float | None) -> bool:
        now = self._clock()
        over = held is None
        if held is not None and held.is_left() and since is not None and now - since > self._patience:
            over = True
            with suppress(Exception):  # the border of the thread: the other sessions are still to be looked after
                held.let_go()
        with self._lock:
            if over:
                del self._held[place]
            else:
                self._held[place] = (now if since is None else since) if held is not None and held.is_left() else None
        return over and held is not None

    def watch(self) -> None:
        """Look now and then, for as long as the server runs."""
        while True:
            time.sleep(LOOK_SECONDS)
            self.look()


@st.cache_resource(max_entries=1, show_spinner=False)
def leaving() -> Leaving:
    """Return who looks after the sessions of this server; a closed tab may come back for as long as Streamlit lets it."""
    found = Leaving(float(st.get_option("server.disconnectedSessionTTL")))
    threading.Thread(target=found.watch, name="leaving", daemon=True).start()
    return found
