"""Frame, work in progress: one line per job with its way to cancel, and one while the solvers are prepared.

Each run of it is also the sign that someone watches.
"""

import time

import streamlit as st

from pages._parts.jobs import worker
from pages._parts.jobs.job import JobState, Progress
from pages._parts.jobs.preparing import preparation
from pages._parts.session import board, history
from pages._parts.session.words import plain

REFRESH_SECONDS = 0.5
# Where it takes long: thirty people who look twice a second are as much work as what they wait for.
SELDOM_SECONDS = 2.0
COMPILING_SECONDS = 1.0  # between two looks at what takes half a minute, while the browser has a page to draw
LOOKS = 10  # at work that is on its way, as far as the two above allow
CANCEL = {"short": "job_cancel", "long": "long_job_cancel"}


def sentence(job: Progress) -> str:
    """Return how far a job is."""
    if job.stop.is_set():
        return f"{job.job.title}: stopping"
    if job.state is JobState.QUEUED:
        if not preparation().ready(job.job.usual):
            return f"{job.job.title}: waiting for its solvers"
        line = worker.LINES[job.job.slot]
        ahead = line.ahead(job)
        seconds = worker.duration(line.seconds_before(job, worker.MOST[job.job.slot]))
        return f"{job.job.title}: waiting" + (f", {ahead} before you, about {seconds}" if ahead else "")
    left = f", {worker.duration(job.seconds_left)} left" if job.done else ""
    return f"{job.job.title}: {job.done} of {job.total} {job.job.counts}{left}"


def bar() -> None:
    """Draw progress and Cancel of this session's jobs; when one ends, one run of the whole app shows the result.

    Whether its end has been reported is kept with the job: it may end between the page's look at it and this one.
    """
    watched = any(not job.reported for job in board.all_held())

    @st.fragment(run_every=every() if watched else None)
    def progress() -> None:
        jobs = [job for job in board.all_held() if not job.reported]
        for job in jobs:
            job.seen = time.monotonic()
        over = [job for job in jobs if not job.live]
        news = [job for job in jobs if job.news]
        for job in over:
            job.reported = True
        for job in news:
            job.news = False
        if over or news:
            history.rerun()
        for job in jobs:
            _line_of(job)

    progress()


def every() -> float:
    """Return after how many seconds to look again: the sooner this session's next job was expected to end, the
    sooner.
    """
    left = [
        worker.LINES[job.job.slot].seconds_before(job, worker.MOST[job.job.slot])
        + worker.LINES[job.job.slot].expected(job)
        for job in board.all_held()
        if not job.reported
    ]
    return min(max(min(left, default=0.0) / LOOKS, REFRESH_SECONDS), SELDOM_SECONDS)


def _line_of(job: Progress) -> None:
    columns = st.columns([7, 3], vertical_alignment="center", gap="xsmall")
    columns[0].progress(min(job.done / max(job.total, 1), 1.0), sentence(job))
    if job.note:
        columns[0].caption(plain(job.note))
    columns[1].button(
        "Cancel", key=CANCEL[job.job.slot], on_click=job.stop.set, disabled=job.stop.is_set(), type="tertiary"
    )


def warm_line(page: str) -> None:
    """Draw one line of progress while the solvers are compiled, once after an installation.

    Where they are compiled already it says nothing, and a page that shows what comes with the project is drawn once
    more when the server can compute.
    """
    state = preparation()
    state.after_drawing()
    if page == "home":
        return
    cold = not (state.ready() or (state.is_filled and page == "data"))

    @st.fragment(run_every=COMPILING_SECONDS if cold else None)
    def line() -> None:
        if not state.ready() and not state.is_filled:
            st.progress(state.done / state.total, "Compiling the solvers, once after an installation")
        elif cold and state.ready():
            history.rerun()

    line()
