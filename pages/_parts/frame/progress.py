"""Frame, work in progress: one line per job with its way to cancel, and one while the solvers are prepared.

Each run of it is also the sign that someone watches.
"""

import time

import streamlit as st

from pages._parts.jobs import worker
from pages._parts.jobs.job import JobState, Progress
from pages._parts.session import board, history

REFRESH_SECONDS = 0.5
CANCEL = {"short": "job_cancel", "long": "long_job_cancel"}


def sentence(job: Progress) -> str:
    """Return how far a job is, in words."""
    if job.stop.is_set():
        return f"{job.job.title}: stopping"
    if job.state is JobState.QUEUED:
        ahead = worker.LINES[job.job.slot].ahead(job)
        return f"{job.job.title}: waiting" + (f", {ahead} before you" if ahead else "")
    left = f", {_duration(job.seconds_left)} left" if job.done else ""
    return f"{job.job.title}: {job.done} of {job.total}{left}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def bar() -> None:
    """Draw progress and Cancel of this session's jobs; when one ends, one run of the whole app shows the result.

    Whether its end has been told is kept with the job: it may end between the page's look at it and this one.
    """
    watched = any(not job.told for job in board.all_held())

    @st.fragment(run_every=REFRESH_SECONDS if watched else None)
    def progress() -> None:
        jobs = [job for job in board.all_held() if not job.told]
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


def _line_of(job: Progress) -> None:
    columns = st.columns([7, 3], vertical_alignment="center", gap="xsmall")
    columns[0].progress(min(job.done / max(job.total, 1), 1.0), sentence(job))
    columns[1].button(
        "Cancel", key=CANCEL[job.job.slot], on_click=job.stop.set, disabled=job.stop.is_set(), type="tertiary"
    )


def warm_line() -> None:
    """Draw one line of progress while the server compiles its leaves for the first time."""
    warmth = worker.warmth()
    cold = not warmth.over

    @st.fragment(run_every=REFRESH_SECONDS if cold else None)
    def line() -> None:
        if not warmth.over:
            st.progress(warmth.fraction, f"Preparing the solvers, once per start: {warmth.what}")
        elif cold:
            history.rerun()

    line()
