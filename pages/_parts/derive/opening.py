"""Derive from a file what is in it: once, in its turn, with a way to cancel; what was refused is not read again.

A large table is read in seconds and takes some hundred megabytes meanwhile, so as many are read at once as there are
cores.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mklcore.errors import MKLError, Repair
from pages._parts.jobs.worker import CORES
from pages._parts.params.parameters import Params
from pages._parts.session import history
from pages._parts.session.memory import memory
from pages._parts.session.result_cache import ResultCache

PATIENCE_SECONDS = 0.5  # from here on it is shown that a file is being read
LARGE_BYTES = 1_000_000
PLACES = threading.BoundedSemaphore(CORES)
_count = itertools.count()
T = TypeVar("T")


@dataclass(frozen=True)
class Refused:
    """What is in the cache for a file that cannot be read: why."""

    kind: type[MKLError]
    sentence: str
    repairs: tuple[Repair, ...] = ()


def opened(
    result_cache: ResultCache, key: object, content: bytes, what: str, read: Callable[[Callable[[], None]], T]
) -> T:
    """Return what ``read`` finds in a file, from the cache if it was read before. Raises ``MKLError``.

    ``read`` is given what it has to call now and then: it ends the reading when the person presses Cancel, chooses
    something else or leaves. ``what`` is said while it takes long, as in "Reading the table".
    """
    found = result_cache.get(key)
    if isinstance(found, Refused):
        raise found.kind(found.sentence, repairs=found.repairs)
    if found is not None:
        return found
    try:
        with _followed(what) as tick, _turn(len(content), tick):
            made = read(tick)
    except MKLError as error:
        result_cache.put(key, Refused(type(error), str(error), error.repairs))
        raise
    result_cache.put(key, made)
    return made


@contextmanager
def _followed(what: str) -> Iterator[Callable[[], None]]:
    """Give what is called between stretches of work: any word to the screen is where Streamlit ends a run that is
    over.
    """
    place, begun = st.empty(), time.monotonic()
    caption: DeltaGenerator | None = None
    due = PATIENCE_SECONDS

    def tick() -> None:
        nonlocal caption, due
        seconds = time.monotonic() - begun
        if seconds < due:
            return
        if caption is None:
            line = place.container(horizontal=True, vertical_alignment="center", gap="small")
            caption = line.empty()
            line.button("Cancel", key=f"stop_reading_{next(_count)}", on_click=give_up, type="tertiary")
        caption.caption(f"{what}: {seconds:.0f} s. Any other choice ends it.")
        due = seconds + PATIENCE_SECONDS

    try:
        yield tick
    finally:
        place.empty()


@contextmanager
def _turn(size: int, tick: Callable[[], None]) -> Iterator[None]:
    """Wait for a place among those who read large files."""
    if size < LARGE_BYTES:
        yield
        return
    while not PLACES.acquire(timeout=0.1):
        tick()
    try:
        yield
    finally:
        PLACES.release()


def give_up() -> None:
    """Go back to what was on the screen before the file was asked for."""
    if memory().steps.past:
        history.undo()
    else:
        history.set_params(Params())
