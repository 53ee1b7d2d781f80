"""Derive once: where values are kept, in bounded caches, and the server's one place for a large stack.

Keys are a fingerprint and frozen parameters, never arrays: Streamlit hashes only a sample of a large array. What comes
from a sample is shared by all sessions. What comes from an uploaded file lives and dies with the session that uploaded
it, under a key that resolves nowhere else. Cached arrays are read-only.
"""

import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from mklcore.errors import KernelError
from pages._parts.params.parameters import DataParams
from pages._parts.session.memory import memory
from pages._parts.session.result_cache import ResultCache

UNUSED_SECONDS = 90.0
T = TypeVar("T")


class WaitError(KernelError):
    """The server's one place for a large stack is taken: what is asked for can be had later."""


class LargePlace:
    """The server's one place for a stack above the usual limit: one is held at a time, and the others are asked to
    wait.

    A session that holds it keeps it while looking at it. A stack that has left is only
    followed by the next one once nothing works on it any more, so that there are never two.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: object = None
        self._owner: object = None
        self._held: Any = None
        self._seen = 0.0
        self._last: Callable[[], object] = lambda: None

    def made(self, key: object, owner: object, make: Callable[[], T]) -> T:
        """Return what ``key`` names, making it if the place is free. Raises ``WaitError`` if it is not."""
        if not self._lock.acquire(blocking=False):
            raise WaitError(
                "The server is building a large stack, and it has room for one only. Try again in a moment."
            )
        try:
            if self._held is None or key != self._key:
                self._leave(owner)
                self._held, self._key = make(), key
                self._last = weakref.ref(_owner_of(self._held.train.values))
            self._owner, self._seen = owner, time.monotonic()
            return self._held
        finally:
            self._lock.release()

    def _leave(self, owner: object) -> None:
        left = UNUSED_SECONDS - (time.monotonic() - self._seen)
        theirs = self._held is not None and owner is not self._owner
        if theirs and left > 0:
            raise WaitError(
                "Another session looks at a large stack, and the server has room for one only. It is free "
                f"{left:.0f} s after that session's last look. Wait, or use fewer kernels or rows."
            )
        self._held = None
        if self._last() is not None:
            gc.collect()
        if self._last() is not None:
            raise WaitError(
                "Work on the large stack before this one has not ended, and the server has room for one only. "
                "Try again in a moment, or cancel that work."
            )


def _owner_of(array: np.ndarray) -> np.ndarray:
    """Return the array that holds the memory of a view."""
    return array if not isinstance(array.base, np.ndarray) else _owner_of(array.base)


@st.cache_resource(max_entries=4, show_spinner=False)
def shared(name: str, size: int) -> ResultCache:
    """Return the cache of this name for what belongs to everybody."""
    return ResultCache(size)


def result_cache(params: DataParams) -> ResultCache:
    """Return the cache for results about these parameters' table: everybody's for a sample, the session's for a
    file.
    """
    return memory().caches.results if params.is_upload else shared("results", 96)
