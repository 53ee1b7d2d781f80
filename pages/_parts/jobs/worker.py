"""Jobs done: the threads of the server and the lines before them."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from queue import SimpleQueue
from typing import Protocol

import streamlit as st

from mklcore.errors import MKLError, told_elsewhere
from pages._parts.jobs import job as jobs_job
from pages._parts.jobs.job import JobState, Progress
from pages._parts.jobs.preparing import Preparation, preparation


class Executor(Protocol):
    """Whoever does work that is handed over."""

    def submit(self, work: Callable[[], None]) -> None:
        """Take ``work``, which deals with its own errors."""


class Worker:
    """One thread that does one piece of work after another, and ends with the server instead of holding it back."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._go_on, name="worker", daemon=True).start()

    def submit(self, work: Callable[[], None]) -> None:
        """Put ``work`` at the end of the line; it has to deal with its own errors."""
        self._waiting.put(work)

    def _go_on(self) -> None:
        while True:
            self._waiting.get()()


class Inline:
    """Does work at once, in the thread that hands it over: nobody has to wait for it, and nobody can."""

    def submit(self, work: Callable[[], None]) -> None:
        """Do ``work``."""
        work()


instead: Executor | None = None  # who does all work in place of the server's threads; tests put one here


class Line:
    """The jobs that wait or run on one of the server's workers, in order."""

    def __init__(self) -> None:
        self._jobs: list[Progress] = []
        self._lock = threading.Lock()

    def enter(self, job: Progress) -> None:
        """Put ``job`` at the end."""
        with self._lock:
            self._jobs.append(job)

    def leave(self, job: Progress) -> None:
        """Take ``job`` out."""
        with self._lock:
            self._jobs.remove(job)

    def ahead(self, job: Progress) -> int:
        """Count the jobs before ``job`` that still want the worker."""
        with self._lock:
            before = self._jobs[: self._jobs.index(job)] if job in self._jobs else []
        return sum(not other.stop.is_set() for other in before)

    def everyone(self) -> list[Progress]:
        """Return the jobs that wait or run."""
        with self._lock:
            return list(self._jobs)


LINES = {"short": Line(), "long": Line()}


def hand_over(progress: Progress) -> None:
    """Put a job at the end of its slot's line."""
    progress.watched = instead is None
    LINES[progress.job.slot].enter(progress)
    prepared = preparation() if progress.watched else None
    worker(progress.job.slot).submit(lambda: do(progress, prepared))


def do(progress: Progress, prepared: Preparation | None = None) -> None:
    """Do a job that stands in its line: what becomes of it is told in ``progress``, whatever goes wrong.

    Until its solvers are ``prepared`` it waits: compiling them here as well would take as long and stop the server.
    """
    try:
        if progress.stop.is_set():
            raise CancelledError
        if prepared is not None:
            prepared.wait(progress.job.needs or prepared.stages, progress.unwanted)
        progress.state, progress.started = JobState.RUNNING, time.monotonic()
        progress.tick(0, progress.total)
        with told_elsewhere():  # the screen shows the gap of whatever stops short
            jobs_job.make(progress)
        progress.state = JobState.DONE
    except CancelledError:
        if progress.state is not JobState.ABANDONED:
            progress.state = JobState.CANCELLED
    except MKLError as error:
        progress.error, progress.state = str(error), JobState.FAILED
    except Exception as error:  # the worker's border: whatever went wrong is told on the screen, not lost in a thread
        progress.error, progress.state = f"{type(error).__name__}: {error}", JobState.FAILED
    finally:
        LINES[progress.job.slot].leave(progress)
        jobs_job.let_go(progress)
        progress.ended.set()


def worker(slot: str = "short") -> Executor:
    """Return who does the background jobs of a slot: one worker each for the whole server."""
    return instead or _thread(slot)


@st.cache_resource(max_entries=2, show_spinner=False)
def _thread(slot: str) -> Worker:
    return Worker()
