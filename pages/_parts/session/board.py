"""Session and its jobs: asked for, looked up, asked to stop. The frame draws how far they are."""

from pages._parts.jobs import worker
from pages._parts.jobs.job import Job, JobState, Progress
from pages._parts.params.parameters import Params
from pages._parts.session import turns
from pages._parts.session.memory import memory
from pages._parts.session.words import plain


def ask(job: Job) -> Progress:
    """Hand a job to its slot's worker; this session's earlier job there is asked to stop.

    Waits a moment, so that quick work is on the screen in the same run, unless others are before it. A job that ends
    before the run does is known to be reported, so that no further run is needed to show it; but where it takes the
    place of one that ended while this run was being drawn, a further run has to show that one's.
    """
    before = held(job.slot)
    owed = before is not None and before.state is JobState.DONE and not before.reported
    stop(job.slot)
    progress = memory().jobs[job.slot] = Progress(job, owner=memory().me)
    worker.hand_over(progress)
    progress.reported = progress.ended.wait(_patience(progress)) and progress.state is JobState.DONE and not owed
    return progress


def _patience(progress: Progress) -> float:
    """Return for how many seconds to wait for a job that has just been handed over, and let others draw meanwhile."""
    slot = progress.job.slot
    if worker.LINES[slot].ahead(progress) >= worker.MOST[slot]:
        return 0.0
    turns.PAGES.give_back()
    return progress.job.patience


def held(slot: str = "short") -> Progress | None:
    """Return this session's job of a slot, whatever it is about."""
    return memory().jobs.get(slot)


def all_held() -> list[Progress]:
    """Return this session's jobs, of every slot."""
    jobs = memory().jobs
    return [jobs[slot] for slot in worker.LINES if slot in jobs]


def mine(key: object) -> Progress | None:
    """Return this session's job for ``key``, in whichever slot it is.

    What a page was waiting for and stopped because no one was watching is forgotten: it is watched again by who asks
    for it.
    """
    found = next((progress for progress in all_held() if progress.job.key == key), None)
    if found is not None and found.state is JobState.ABANDONED and found.job.slot == "short":
        forget()
        return None
    return found


def stop(slot: str = "short") -> None:
    """Ask this session's job of a slot to stop, if there is one."""
    progress = held(slot)
    if progress is not None:
        progress.stop.set()


def forget() -> None:
    """Forget how what a page was waiting for ended, so that the page asks for it again."""
    memory().jobs.pop("short", None)


def follow(params: Params) -> None:
    """Stop what a page was waiting for once the parameters no longer ask for it."""
    progress = held()
    if progress is not None and progress.live and not progress.job.belongs(params):
        progress.stop.set()


def ending(progress: Progress, was: str = "was") -> str:
    """Return how a job ended, as the end of a sentence."""
    return f"failed: {plain(progress.error)}" if progress.error else f"{was} {progress.state.value}."
