"""Jobs done: the server's threads, and who is next.

Which job is next is decided anew each time a thread is free: the shortest expected work first, and every second of
waiting counts like a second less of work, so that nobody waits forever. Of one session one job runs at a time, and
what nobody asked for runs only while no person waits.
"""

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Protocol

import streamlit as st

from mklcore.errors import MKLError, suppress_convergence_warnings
from pages._parts.jobs import job as jobs_job
from pages._parts.jobs import machine
from pages._parts.jobs.job import JobState, Progress
from pages._parts.jobs.preparing import Preparation, preparation

CORES = machine.cores()
MOST = {"short": max(1, CORES), "long": 1}  # threads of a slot: more than cores would only make everybody slower
MOST_WAITING = 60
LEARNING = 0.3  # how much the last duration of a kind of work counts in what is expected of the next


class Executor(Protocol):
    """Does work that is handed over."""

    def submit(self, work: Callable[[], None]) -> None:
        """Take ``work``, which deals with its own errors."""


class Inline:
    """Does work at once, in the thread that hands it over: nobody has to wait for it, and nobody can."""

    def submit(self, work: Callable[[], None]) -> None:
        """Do ``work``."""
        work()


instead: Executor | None = None  # who does all work in place of the server's threads; tests put one here


class Line:
    """The jobs that wait or run in one slot, and which of them is next."""

    def __init__(self) -> None:
        self._jobs: list[Progress] = []
        self._offered: set[Progress] = set()
        self._begun: set[Progress] = set()
        self._off: dict[str, float] = {}  # how many times longer than given a kind of work took lately
        self._numbers = itertools.count()
        self._order: dict[Progress, int] = {}
        self.changed = threading.Condition()

    def enter(self, job: Progress) -> None:
        """Put ``job`` into the line; the caller does the work."""
        with self.changed:
            self._jobs.append(job)
            self._order[job] = next(self._numbers)

    def offer(self, job: Progress) -> None:
        """Put ``job`` into the line for the threads of its slot."""
        with self.changed:
            self.enter(job)
            self._offered.add(job)
            self.changed.notify()

    def leave(self, job: Progress) -> None:
        """Take ``job`` out, and learn from how long it took."""
        with self.changed:
            self._jobs.remove(job)
            del self._order[job]
            self._begun.discard(job)
            self._offered.discard(job)
            if job.state is JobState.DONE and job.job.seconds > 0:
                off = (time.monotonic() - job.started) / job.job.seconds
                before = self._off.get(job.job.kind, off)
                self._off[job.job.kind] = (1 - LEARNING) * before + LEARNING * off
            self.changed.notify_all()

    def everyone(self) -> list[Progress]:
        """Return the jobs that wait or run."""
        with self.changed:
            return list(self._jobs)

    def expected(self, job: Progress) -> float:
        """Return for how many seconds ``job`` will still run."""
        whole = job.job.seconds * self._off.get(job.job.kind, 1.0)
        if not math.isfinite(job.started):
            return whole
        left = job.seconds_left
        return left if math.isfinite(left) else max(0.0, whole - (time.monotonic() - job.started))

    def take(self, most: int = 1, ready: Callable[[Progress], bool] = lambda job: True) -> Progress | None:
        """Return the job that is next and may begin now, None where there is none; ``most`` of them may run at a time.

        One whose solvers are ``ready`` goes before one that would only wait for them.
        """
        with self.changed:
            waiting = [job for job in self._jobs if job in self._offered and job not in self._begun]
            if len(self._begun) >= most or not waiting:
                return None
            busy = {job.owner for job in self._begun if job.owner is not None}
            people_wait = any(job.job.asked and not job.stop.is_set() for job in waiting)
            unasked = sum(not job.job.asked for job in self._begun)
            may = [
                job for job in waiting
                if job.stop.is_set()
                or (job.owner not in busy and (job.job.asked or (not people_wait and unasked < max(1, most - 1))))
            ]  # fmt: skip
            if not may:
                return None
            now = time.monotonic()
            found = min(may, key=lambda job: (not job.stop.is_set(), not ready(job), *self._rank(job, now)))
            self._begun.add(found)
            return found

    def _rank(self, job: Progress, now: float) -> tuple[bool, float, int]:
        waited = now - job.entered
        return not job.job.asked, self.expected(job) - waited, self._order.get(job, 0)

    def ahead(self, job: Progress) -> int:
        """Count the jobs that run, or that would begin before ``job``."""
        return len(self._before(job))

    def seconds_before(self, job: Progress, most: int) -> float:
        """Estimate how long ``job`` will wait until it begins."""
        return sum(map(self.expected, self._before(job))) / most

    def _before(self, job: Progress) -> list[Progress]:
        with self.changed:
            if job not in self._jobs:
                return []
            now = time.monotonic()
            mine = self._rank(job, now)
            return [
                other for other in self._jobs
                if other is not job and not other.stop.is_set()
                and (other in self._begun or self._rank(other, now) < mine)
            ]  # fmt: skip

    def refusal(self, job: Progress, most: int) -> str:
        """Return why the line takes nothing more; empty where it does."""
        waiting = [other for other in self.everyone() if other is not job and not other.stop.is_set()]
        if len(waiting) < MOST_WAITING:
            return ""
        seconds = sum(map(self.expected, waiting)) / most
        return (
            f"the server is busy. {len(waiting)} pieces of work wait or run, about {duration(seconds)} of them. Ask "
            f"again then; "
            "what comes with the project is drawn without waiting"
        )


def duration(seconds: float) -> str:
    """Return a duration as a person says it."""
    return f"{max(seconds, 1):.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


LINES = {"short": Line(), "long": Line()}


class Workers:
    """The threads of one slot; they end with the server instead of holding it back."""

    def __init__(self, slot: str) -> None:
        self.line, self.slot, self.prepared = LINES[slot], slot, preparation()
        self._first: deque[Callable[[], None]] = deque()
        for number in range(MOST[slot]):
            threading.Thread(target=self._go_on, name=f"{slot} worker {number + 1}", daemon=True).start()

    def submit(self, work: Callable[[], None]) -> None:
        """Do ``work`` before anything that stands in the line, in the place of a job."""
        job = Progress(jobs_job.Job(object(), "Work", ()))
        job.stop.set()  # which is what puts it first
        with self.line.changed:
            self._first.append(work)
            self.line.offer(job)

    def _go_on(self) -> None:
        while True:
            with self.line.changed:
                job = self.line.take(MOST[self.slot], self._ready)
                if job is None:
                    self.line.changed.wait(1.0)
                    continue
                work = self._first.popleft() if not job.job.total and self._first else None
            if work is None:
                do(job, self.prepared)
            else:
                work()
                self.line.leave(job)
                job.ended.set()

    def _ready(self, job: Progress) -> bool:
        return self.prepared.ready(job.job.usual)


def hand_over(progress: Progress) -> None:
    """Put a job into its slot's line; where that is full it fails at once."""
    slot = progress.job.slot
    progress.watched = instead is None
    why = LINES[slot].refusal(progress, MOST[slot])
    if why:
        progress.error, progress.state = why, JobState.FAILED
        jobs_job.let_go(progress)
        progress.ended.set()
        return
    executor = worker(slot)
    if instead is None:
        LINES[slot].offer(progress)
    else:
        LINES[slot].enter(progress)
        executor.submit(lambda: do(progress))


def do(progress: Progress, prepared: Preparation | None = None) -> None:
    """Do a job that stands in its line: what becomes of it is recorded in ``progress``, whatever goes wrong.

    Until its solvers are ``prepared`` it waits: compiling them here as well would take as long and stop the server.
    """
    try:
        if progress.stop.is_set():
            raise CancelledError
        if prepared is not None:
            prepared.wait(progress.job.usual, progress.unwanted)
        progress.state, progress.started = JobState.RUNNING, time.monotonic()
        progress.tick(0, progress.total)
        with suppress_convergence_warnings():  # the screen shows the gap of whatever stops short
            jobs_job.make(progress)
        progress.state = JobState.DONE
    except CancelledError:
        if progress.state is not JobState.ABANDONED:
            progress.state = JobState.CANCELLED
    except MKLError as error:
        progress.error, progress.state = str(error), JobState.FAILED
    except (
        Exception
    ) as error:  # the worker's border: whatever went wrong is reported on the screen, not lost in a thread
        progress.error, progress.state = f"{type(error).__name__}: {error}", JobState.FAILED
    finally:
        LINES[progress.job.slot].leave(progress)
        jobs_job.let_go(progress)
        progress.ended.set()


def worker(slot: str = "short") -> Executor:
    """Return who does the background jobs of a slot."""
    return instead or _threads(slot)


@st.cache_resource(max_entries=2, show_spinner=False)
def _threads(slot: str) -> Workers:
    return Workers(slot)
