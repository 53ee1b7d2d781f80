"""Session and the other sessions: whole pages are drawn in turns, so that a released cursor is answered between them.

Python runs one thread at a time. Of thirty pages drawn at once each takes thirty times as long, and so does the small
answer beside them; drawn one after the other they take no longer in all, and the small answer has only one beside it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

PLACES = 1
PATIENCE_SECONDS = 2.0  # then the page is drawn all the same: nobody knows what the one in front is waiting for


class Turns:
    """So many at a time, each by its thread; whoever has waited for ``patience`` seconds goes on without a turn."""

    def __init__(self, places: int = PLACES, patience: float = PATIENCE_SECONDS) -> None:
        self._places, self._patience = threading.BoundedSemaphore(places), patience
        self._mine = threading.local()

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Wait for a turn and keep it until the end, or until it is given back; tells whether there was one."""
        self._mine.held = self._places.acquire(timeout=self._patience)
        try:
            yield self._mine.held
        finally:
            self.give_back()

    def give_back(self) -> None:
        """Let the next one begin: what this thread does now takes long, or is waiting."""
        if getattr(self._mine, "held", False):
            self._mine.held = False
            self._places.release()


PAGES = Turns()


@contextmanager
def slow(told: str) -> Iterator[None]:
    """Do in the midst of a page what takes long, under a sentence that says what it is; others are drawn meanwhile."""
    PAGES.give_back()
    with st.spinner(told):
        yield
