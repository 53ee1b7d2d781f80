"""The end of sessions whose tabs are closed."""

import asyncio
import ctypes
import gc
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import streamlit as st

from pages.shared import private_streamlit

# Sessions that are over


LOOK_SECONDS = 5.0
# before Streamlit itself would no longer find the session, and could not close it
EARLY_SECONDS = 10.0


class Left:
    """The sessions whose tabs are closed, and since when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def over(self, names: Iterable[str], patience: float) -> list[str]:
        """Return which of the sessions without a tab have been so for more than ``patience``
        seconds.
        """
        now = self._clock()
        self._since = {name: self._since.get(name, now) for name in names}
        return [name for name, since in self._since.items() if now - since > patience]


def give_back() -> None:
    """Give the memory of closed sessions back to the system: they hold themselves in circles, and
    the allocator keeps what is small.
    """
    gc.collect()
    with suppress(AttributeError, OSError):  # not every system's C library can
        ctypes.CDLL(None).malloc_trim(0)


async def look_after() -> None:
    """Look now and then, for as long as the server runs, in its own thread: only there Streamlit
    closes a session.
    """
    left = Left()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        over = left.over(
            private_streamlit.left(),
            float(st.get_option("server.disconnectedSessionTTL")) - EARLY_SECONDS,
        )
        for name in over:
            private_streamlit.close(name)
        if over:
            await asyncio.to_thread(give_back)
