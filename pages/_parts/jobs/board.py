"""Work in the background: progress, cancel, and an end for work nobody watches.

There are two slots, each with one worker for the whole server and one job per session: "short" for what a page is waiting
for, "long" for experiments, which neither stop nor block the short ones and go on while the session is on any page.

The work never calls Streamlit. It reports through :meth:`Job.tick` between pieces of 50-200 ms, because a compiled leaf
cannot be interrupted. The frame draws :func:`bar` on every page, so each run of it is also the sign that someone watches.
"""

import enum
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field

import streamlit as st

from mklcore.errors import MKLError, told_elsewhere
from pages._parts.jobs import worker as jobs_worker
from pages._parts.params.parameters import Params
from pages._parts.session import history

UNWATCHED_SECONDS = 15.0
UNWATCHED_LONG_SECONDS = 180.0  # a browser lets the clock of a hidden tab tick once a minute
REFRESH_SECONDS = 0.5
PATIENCE_SECONDS = 0.2


class JobState(enum.Enum):
    """Where a piece of work stands; the value is what the screen says."""

    QUEUED = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"
    ABANDONED = "stopped, because no one was watching"


@dataclass(eq=False)
class Job:
    """One piece of work: what it is called, how far it is, and how it ended."""

    key: object
    title: str
    total: int
    state: JobState = JobState.QUEUED
    done: int = 0
    error: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    told: bool = False
    belongs: Callable[[Params], bool] = lambda params: True
    slot: str = "short"
    started: float = math.nan
    seen: float = field(default_factory=time.monotonic)

    @property
    def live(self) -> bool:
        """Tell whether the work waits or runs."""
        return self.state in (JobState.QUEUED, JobState.RUNNING)

    @property
    def patience(self) -> float:
        """Return for how many seconds the work goes on unseen: for ever where it holds up the page that would see it."""
        if jobs_worker.instead is not None:
            return math.inf
        return UNWATCHED_LONG_SECONDS if self.slot == "long" else UNWATCHED_SECONDS

    @property
    def seconds_left(self) -> float:
        """Estimate the seconds left from the pace so far; nan before the first report."""
        return (time.monotonic() - self.started) / self.done * (self.total - self.done) if self.done else math.nan

    def tick(self, done: int, total: int) -> None:
        """Report ``done`` of ``total``; raises ``CancelledError`` when the work should end here."""
        self.done, self.total = done, total
        if self.stop.is_set():
            raise CancelledError
        if time.monotonic() - self.seen > self.patience:
            self.state = JobState.ABANDONED
            raise CancelledError


class Line:
    """The jobs that wait or run on one of the server's workers, in order."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []
        self._lock = threading.Lock()

    def enter(self, job: Job) -> None:
        """Put ``job`` at the end."""
        with self._lock:
            self._jobs.append(job)

    def leave(self, job: Job) -> None:
        """Take ``job`` out."""
        with self._lock:
            self._jobs.remove(job)

    def ahead(self, job: Job) -> int:
        """Count the jobs before ``job`` that still want the worker."""
        with self._lock:
            before = self._jobs[: self._jobs.index(job)] if job in self._jobs else []
        return sum(not other.stop.is_set() for other in before)


LINE = Line()
LINES = {"short": LINE, "long": Line()}
SLOTS = {"short": "job", "long": "long_job"}  # where a session keeps its job of the slot


Work = Callable[[Job], None]


def _work(job: Job, work: Work) -> None:
    try:
        if job.stop.is_set():
            raise CancelledError
        job.state, job.started = JobState.RUNNING, time.monotonic()
        job.tick(0, job.total)
        with told_elsewhere():
            work(job)
        job.state = JobState.DONE
    except CancelledError:
        if job.state is not JobState.ABANDONED:
            job.state = JobState.CANCELLED
    except MKLError as error:
        job.error, job.state = str(error), JobState.FAILED
    except Exception as error:  # the worker's border: whatever went wrong is told on the screen, not lost in a thread
        job.error, job.state = f"{type(error).__name__}: {error}", JobState.FAILED
    finally:
        LINES[job.slot].leave(job)
        job.ended.set()


def start(
    key: object,
    title: str,
    total: int,
    work: Work,
    belongs: Callable[[Params], bool] = lambda params: True,
    slot: str = "short",
) -> Job:
    """Hand ``work`` to the slot's worker; this session's earlier job there is asked to stop. ``work`` is called with the job.

    ``belongs`` tells whether the work is still wanted under the parameters of the moment. Waits a moment, so that quick
    work is on the screen in the same run.
    """
    stop(slot)
    job = Job(key, title, total, belongs=belongs, slot=slot)
    st.session_state[SLOTS[slot]] = job
    LINES[slot].enter(job)
    jobs_worker.worker(slot).submit(lambda: _work(job, work))
    job.told = job.ended.wait(PATIENCE_SECONDS) and job.state is JobState.DONE
    return job


def held(slot: str = "short") -> Job | None:
    """Return this session's job of a slot, whatever it is about."""
    return st.session_state.get(SLOTS[slot])


def mine(key: object) -> Job | None:
    """Return this session's job for ``key``, in whichever slot it is."""
    return next((job for job in map(held, SLOTS) if job is not None and job.key == key), None)


def stop(slot: str = "short") -> None:
    """Ask this session's job of a slot to stop, if there is one."""
    job = held(slot)
    if job is not None:
        job.stop.set()


def _sentence(job: Job) -> str:
    if job.stop.is_set():
        return f"{job.title}: stopping"
    if job.state is JobState.QUEUED:
        ahead = LINES[job.slot].ahead(job)
        return f"{job.title}: waiting" + (f", {ahead} before you" if ahead else "")
    left = f", {_duration(job.seconds_left)} left" if job.done else ""
    return f"{job.title}: {job.done} of {job.total}{left}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def bar() -> None:
    """Draw progress and Cancel of this session's jobs; when one ends, one run of the whole app shows the result.

    Whether its end has been told is kept with the job: it may end between the page's look at it and this one.
    """
    watched = any(job is not None and not job.told for job in map(held, SLOTS))

    @st.fragment(run_every=REFRESH_SECONDS if watched else None)
    def progress() -> None:
        jobs = [job for job in map(held, SLOTS) if job is not None and not job.told]
        for job in jobs:
            job.seen = time.monotonic()
        over = [job for job in jobs if not job.live]
        for job in over:
            job.told = True
        if over:
            history.rerun()
        for job in jobs:
            _line_of(job)

    progress()


def _line_of(job: Job) -> None:
    columns = st.columns([7, 3], vertical_alignment="center", gap="xsmall")
    columns[0].progress(min(job.done / max(job.total, 1), 1.0), _sentence(job))
    columns[1].button(
        "Cancel", key=f"{SLOTS[job.slot]}_cancel", on_click=job.stop.set, disabled=job.stop.is_set(), type="tertiary"
    )


def warm_line() -> None:
    """Draw one line of progress while the server compiles its leaves for the first time."""
    warmth = jobs_worker.warmth()
    cold = not warmth.over

    @st.fragment(run_every=REFRESH_SECONDS if cold else None)
    def line() -> None:
        if not warmth.over:
            st.progress(warmth.fraction, f"Preparing the solvers, once per start: {warmth.what}")
        elif cold:
            history.rerun()

    line()
