"""Jobs described beforehand: a specification with the pieces it makes, and how far they have come.

The work never calls Streamlit. Each piece reports between stretches of 50-200 ms, because a compiled function cannot be
interrupted, and learns there whether it is still wanted.
"""

import enum
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from mklcore.errors import MKLError
from pages._parts.params.parameters import Params

UNWATCHED_SECONDS = 15.0
UNWATCHED_LONG_SECONDS = 180.0  # a browser lets the clock of a hidden tab tick once a minute
PATIENCE_SECONDS = 0.2


class JobState(enum.Enum):
    """Where a piece of work stands; the value is what the screen says."""

    QUEUED = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"
    ABANDONED = "stopped, because no one was watching"


@dataclass(frozen=True, eq=False)
class Piece:
    """One result of a job: what makes it, where it is laid as soon as it is there, and in how many steps it is made.

    With ``refused``, a refusal is kept there and the pieces after this one are made all the same. A piece with a
    ``name`` is made by one job at a time: a second job waits, and takes what ``there`` finds by then.
    """

    make: Callable[["Report"], Any]
    lay: Callable[[Any], None]
    steps: int = 1
    refused: Callable[[str], None] | None = None
    name: object = None
    there: Callable[[], Any] = lambda: None


@dataclass(frozen=True, eq=False)
class Job:
    """Work to be done in the background: its name, what the screen calls it, what it makes, and while what it is
    wanted.

    There are two slots, each with its threads for the whole server and one job per session: "short" for what a page is
    waiting for, "long" for experiments, which neither stop nor block the short ones. ``patience``: for how many seconds
    the run that asks waits, so that quick work is on the screen at once. ``usual``: whether it
    needs compiled what is compiled first alone. ``seconds``: roughly how long it will take,
    by which it is put into the line. ``asked``: whether a person waits for it.
    """

    key: object
    title: str
    pieces: tuple[Piece, ...]
    belongs: Callable[[Params], bool] = lambda params: True
    slot: str = "short"
    patience: float = PATIENCE_SECONDS
    counts: str = "steps"  # what its steps are called
    usual: bool = False
    seconds: float = 5.0
    asked: bool = True

    @property
    def kind(self) -> str:
        """Return what sort of work this is, among which durations are alike."""
        return self.title.split(":")[0].split(" at ")[0]

    @property
    def total(self) -> int:
        """Return in how many steps the work is done, as foreseen."""
        return sum(piece.steps for piece in self.pieces)


@dataclass(eq=False)
class Progress:
    """How far a job is and how it ended.

    ``watched`` is False where the work holds up the page that would look at it.
    """

    job: Job
    watched: bool = True
    state: JobState = JobState.QUEUED
    done: int = 0
    total: int = 0
    error: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    reported: bool = False
    news: bool = False  # something of the result can be looked at already
    note: str = ""  # what the person who watches should know of it
    started: float = math.nan
    seen: float = field(default_factory=time.monotonic)
    entered: float = field(default_factory=time.monotonic)
    owner: object = None  # whose session it is

    def __post_init__(self) -> None:
        self.total = self.total or self.job.total

    @property
    def live(self) -> bool:
        """Tell whether the work waits or runs."""
        return self.state in (JobState.QUEUED, JobState.RUNNING)

    @property
    def broke_off(self) -> bool:
        """Tell whether the work ended without its result."""
        return not self.live and self.state is not JobState.DONE

    @property
    def patience(self) -> float:
        """Return for how many seconds the work goes on unseen."""
        if not self.watched:
            return math.inf
        return UNWATCHED_LONG_SECONDS if self.job.slot == "long" else UNWATCHED_SECONDS

    @property
    def seconds_left(self) -> float:
        """Estimate the seconds left from the pace so far; nan before the first report."""
        return (time.monotonic() - self.started) / self.done * (self.total - self.done) if self.done else math.nan

    def unwanted(self) -> bool:
        """Tell whether the work should end: it was asked to, or nobody has looked at it for too long."""
        if not self.stop.is_set() and time.monotonic() - self.seen > self.patience:
            self.state = JobState.ABANDONED
        return self.stop.is_set() or self.state is JobState.ABANDONED

    def tick(self, done: int, total: int) -> None:
        """Report ``done`` of ``total``; raises ``CancelledError`` when the work should end here."""
        self.done, self.total = done, total
        if self.unwanted():
            raise CancelledError


@dataclass(frozen=True, eq=False)
class Report:
    """What one piece of a job tells while it is made, and how it learns that it should end."""

    progress: Progress
    before: int = 0
    after: int = 0

    def tick(self, done: int, total: int) -> None:
        """Report ``done`` of ``total`` of this piece; raises ``CancelledError`` when the work should end here."""
        self.progress.tick(self.before + done, self.before + total + self.after)

    def pulse(self) -> None:
        """Report that the work goes on; raises ``CancelledError`` when it should end here."""
        self.progress.tick(self.progress.done, self.progress.total)

    def news(self) -> None:
        """Tell that a part of the result is there to be looked at."""
        self.progress.news = True

    def note(self, text: str) -> None:
        """Tell in a sentence what the person who watches should know."""
        self.progress.note = text

    def unwanted(self) -> bool:
        """Tell whether the work should end."""
        return self.progress.unwanted()

    def heard_by(self, estimator: Any) -> Any:
        """Let the solver of ``estimator`` listen after each of its own steps, for a single point may take seconds.

        A plain function: scikit-learn copies the parameters of an estimator that it clones, and a job cannot be copied.
        """
        return estimator.set_params(callback=lambda record: self.pulse())


class Claims:
    """What is being made at the moment, by name, so that nothing is made twice at the same time."""

    def __init__(self) -> None:
        self._names: set[object] = set()
        self._changed = threading.Condition()

    @contextmanager
    def held(self, name: object, tick: Callable[[], None]) -> Iterator[None]:
        """Be the only one who makes ``name``; None is nobody's. ``tick`` is called while waiting and may end that."""
        with self._changed:
            while name is not None and name in self._names:
                tick()
                self._changed.wait(0.1)
            self._names.add(name)
        try:
            yield
        finally:
            with self._changed:
                self._names.discard(name)
                self._changed.notify_all()


CLAIMS = Claims()


def let_go(progress: Progress) -> None:
    """Forget what the job was given, which may be large: models in a cache remember who listened to them."""
    progress.job = replace(progress.job, pieces=())


def make(progress: Progress) -> None:
    """Make the pieces of a job one after the other and lay each where it belongs."""
    pieces = progress.job.pieces
    before, after = 0, progress.job.total
    for piece in pieces:
        after -= piece.steps
        report = Report(progress, before, after)
        try:
            with CLAIMS.held(piece.name, report.pulse):
                made = piece.there() if piece.name is not None else None
                if made is None:
                    made = piece.make(report)
                    piece.lay(made)
        except MKLError as error:
            if piece.refused is None:
                raise
            piece.refused(str(error))
        before = progress.total - after
