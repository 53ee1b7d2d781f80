"""Values that take long: asked for by key, made once in the background, kept while there is room.

    found = work.get(("answer", params), lambda progress: explore(table, callback=progress), title="Answer")
    match found:
        case Ready(value): draw(value)
        case Pending(share, text, value): draw what there is by now; `bar` shows the rest
        case Failed(sentence, repairs): st.error(sentence)

The key is the tuple of all that is used. Whoever asks for the same key gets the same value; a value
about a file that was uploaded belongs to its session and leaves with it. What is next is decided
whenever a thread is free: what has nothing on the screen yet, and of that the shortest expected
work first, a second of waiting counting like a second less of work; one piece of work of a session
at a time; what nobody asked for only while nobody waits. Work that has shown a part of its value,
a path without its verdict, leaves its thread to work that has shown nothing.
"""

from __future__ import annotations

import logging
import math
import secrets
import sys
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np
import streamlit as st
from cachetools import LRUCache

from mklcore.errors import MKLError, cancellation_scope, suppress_convergence_warnings
from pages.shared import private_streamlit
from pages.shared.session import state
from pages.shared.work import compiling, turns
from pages.shared.work.machine import cores, memory_bytes

UNWATCHED_SECONDS = 15.0  # after which work ends that nobody looks at
UNWATCHED_LONG_SECONDS = 180.0  # a browser lets the clock of a hidden tab tick once a minute
# for which the run that asks waits, so that quick work is on the screen at once
PATIENCE_SECONDS = 0.2
# between two looks at work: thirty people who look are work as well
OFTEN_SECONDS = 0.5
SELDOM_SECONDS = 2.0
LOOK_SECONDS = 0.1  # between two looks of work that waits in its thread
MOST_WAITING = 60
SHARE = 0.25  # of the memory, for values that are kept
SAMPLED_TEXTS = 1000  # of an array, by which its bytes are told
T = TypeVar("T")
Make = Callable[[Callable[..., None]], Any]
_HERE = threading.local()  # the task at which a thread works


@dataclass(frozen=True)
class Ready:
    """The value."""

    value: Any


@dataclass(frozen=True)
class Pending:
    """The value is being made: the share that is done, what is being done, and the value as far as
    it is.
    """

    share: float
    text: str
    value: Any = None


@dataclass(frozen=True)
class Failed:
    """Why there is no value, the settings that mend it, and whether to try again may help."""

    sentence: str
    repairs: tuple[Any, ...] = ()
    again: bool = False


Found = Ready | Pending | Failed


class PendingError(MKLError):
    """A value is on its way; the page that needs it is drawn again when it is there."""


class FailedError(MKLError):
    """There is no value: as ``failed`` says."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.sentence, repairs=failed.repairs)
        self.failed = failed


@dataclass(eq=False)
class Session:
    """One tab: what it waits for, as (run that asked last, version it has seen), and what was
    cancelled or failed.
    """

    secret: str = field(default_factory=lambda: secrets.token_hex(16))
    run: int = 0
    # runs that are under way, or wait for their turn: then the tab cannot look at its work
    draws: int = 0
    waits: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    ended: dict[Hashable, Failed] = field(default_factory=dict)

    def asks(self, key: Hashable) -> bool:
        """Whether the run that is drawn now, or was drawn last, asked for ``key``."""
        return key in self.waits and self.waits[key][0] == self.run


@dataclass(eq=False)
class Task:
    """One value in the making."""

    key: Hashable
    make: Make
    owner: Session
    title: str
    asked: bool = True
    seconds: float = 1.0
    compiled: bool = True
    long: bool = False
    wanted_by: set[Session] = field(default_factory=set)
    share: float = 0.0
    text: str = ""
    value: Any = None
    version: int = 0
    result: Ready | Failed | None = None
    started: float = math.nan
    entered: float = field(default_factory=time.monotonic)
    seen: float = field(default_factory=time.monotonic)
    ended: threading.Event = field(default_factory=threading.Event)
    # set while its thread may go on
    resumed: threading.Event = field(default_factory=threading.Event)

    @property
    def begun(self) -> bool:
        """Whether a thread is at it, or was."""
        return math.isfinite(self.started)

    @property
    def runs(self) -> bool:
        """Whether a thread is at it now."""
        return self.begun and self.resumed.is_set()

    def unwanted(self) -> bool:
        """Whether it should end: everybody cancelled it, or nobody has looked for too long."""
        patience = UNWATCHED_LONG_SECONDS if self.long else UNWATCHED_SECONDS
        if time.monotonic() - self.seen <= patience:
            return not self.wanted_by
        return not any(session.draws for session in tuple(self.wanted_by))

    def progress(
        self,
        share: float | None = None,
        text: str = "",
        value: Any = None,
    ) -> None:
        """Report how far it is, and a value in the making; raises ``CancelledError`` when it should
        end here.
        """
        if share is not None:
            self.share = min(max(share, 0.0), 1.0)
        self.text = text or self.text
        if value is not None:
            self.value = value
            self.version += 1
        if self.unwanted():
            raise CancelledError

    def seconds_left(self) -> float:
        """For how long it will still run, about."""
        if not self.begun:
            return self.seconds
        passed = time.monotonic() - self.started
        return (
            passed / self.share * (1 - self.share)
            if self.share > 0.05
            else max(0.0, self.seconds - passed)
        )

    def rank(self) -> tuple[bool, bool, float, float]:
        """Its place among those that wait: the least is next."""
        waited = time.monotonic() - self.entered
        return *self.stage(), self.seconds - waited, self.entered

    def stage(self) -> tuple[bool, bool]:
        """Whether it can wait for all that is not so: nobody asked for it, or a part of it is shown."""
        return not self.asked, self.value is not None


class Work:
    """The values of a server, and the threads that make them; at most ``most_bytes`` of values are
    kept.
    """

    def __init__(
        self, threads: int, most_bytes: float, compiled: Callable[[], bool] = lambda: True
    ) -> None:
        self._threads = threads
        self._compiled = compiled
        self._lock = threading.RLock()
        self._kept: LRUCache[Hashable, Ready | Failed] = LRUCache(int(most_bytes), size)
        self._tasks: dict[Hashable, Task] = {}
        self._tabs = Counter[str]()
        self._left = deque[str]()  # secrets of tabs that are gone, which no lock may be taken for
        self.inline = False

    def session(self, secret: str = "") -> Session:
        """A new tab; what is kept under its secret is forgotten with the last tab that has it."""
        session = Session(secret) if secret else Session()
        with self._lock:
            self._forget_left()
            self._tabs[session.secret] += 1
        # The collector calls it in any thread, in the middle of anything: also of what holds the
        # lock, or another one.
        weakref.finalize(session, self._left.append, session.secret)
        return session

    @contextmanager
    def drawing(self, session: Session) -> Iterator[None]:
        """While a run of the tab waits for its turn, or draws, its work is wanted: the tab cannot
        look at it.
        """
        with self._lock:
            session.draws += 1
        try:
            yield
        finally:
            with self._lock:
                session.draws -= 1
                for key in session.waits:
                    if (task := self._tasks.get(key)) is not None:
                        task.seen = max(task.seen, time.monotonic())

    def go_on(self) -> None:
        """Begin what can begin now: the solvers are ready, say."""
        with self._lock:
            self._begin()

    def get(self, session: Session, wanted: Task) -> Found:
        """The value that is ``wanted``, or how far it is."""
        key = wanted.key
        with self._lock:
            if (kept := self._kept.get(key)) is not None:
                session.waits.pop(key, None)
                return kept
            if key in session.ended:
                return session.ended[key]
            task = self._tasks.get(key)
            new = key not in session.waits
            if task is None:
                if len(self._tasks) >= MOST_WAITING:
                    return Failed(self._busy(), again=True)
                task = self._tasks[key] = wanted
            task.wanted_by.add(session)
            task.seen = math.inf if self.inline else time.monotonic()
            task.asked = task.asked or wanted.asked
            session.waits[key] = session.run, task.version
            if self.inline and not task.begun:
                task.started = time.monotonic()
                task.resumed.set()
            else:
                self._begin()
        if self.inline:
            self._run(task)
        elif new and task.begun:
            turns.PAGE_TURNS.give_back()
            task.ended.wait(PATIENCE_SECONDS)
        if task.result is not None:
            session.waits.pop(key, None)
        return task.result or self.pending(task)

    def now(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of ``key``, made in this thread where it is not there; its errors are the
        caller's.
        """
        with self._lock:
            kept = self._kept.get(key)
        if not isinstance(kept, Ready):
            kept = Ready(make())
            self._keep(key, kept)
        return kept.value

    def peek(self, key: Hashable) -> Ready | None:
        """The value of ``key`` if it is there."""
        with self._lock:
            kept = self._kept.get(key)
        return kept if isinstance(kept, Ready) else None

    def cancel(self, session: Session, key: Hashable) -> None:
        """End what this session waits for, unless another one waits, too."""
        if (task := self.task(key)) is not None:
            session.ended[key] = Failed(f"{task.title} was cancelled.", again=True)
            self._release(session, key)

    def let_go(self, session: Session) -> None:
        """End what the last run did not ask for; long work goes on."""
        for key in [key for key in session.waits if not session.asks(key)]:
            task = self.task(key)
            if task is None or not task.long:
                del session.waits[key]
                self._release(session, key)

    def _release(self, session: Session, key: Hashable) -> None:
        with self._lock:
            if (task := self._tasks.get(key)) is not None:
                task.wanted_by.discard(session)
                self._begin()

    def drop(self, session: Session, key: Hashable) -> None:
        """Forget the value of ``key``, why there is none, and that it was cancelled."""
        session.ended.pop(key, None)
        with self._lock:
            self._kept.pop(key, None)

    def task(self, key: Hashable) -> Task | None:
        """The work at ``key`` while it waits or runs."""
        with self._lock:
            return self._tasks.get(key)

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._kept.clear()

    def stop(self) -> None:
        """End all work."""
        with self._lock:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.wanted_by.clear()
            self._begin()
        for task in tasks:
            task.ended.wait(60)

    def pending(self, task: Task) -> Pending:
        """How far a task is."""
        if task.runs:
            left = f", {duration(task.seconds_left())} left" if task.share > 0.05 else ""
            return Pending(task.share, f"{task.text or 'running'}{left}", task.value)
        if task.compiled and not self._compiled():
            return Pending(0.0, "the solvers are compiled first, once after an installation")
        with self._lock:
            # the solvers were not ready when it was asked for, and nothing has ended since
            self._begin()
        before = self._before(task)
        waits = f", {len(before)} before you, about {self._seconds(before)}" if before else ""
        return Pending(task.share, f"waiting{waits}", task.value)

    def seconds_until(self, task: Task) -> float:
        """About how many seconds remain until a task is over."""
        return (
            task.seconds_left()
            + sum(one.seconds_left() for one in self._before(task)) / self._threads
        )

    def _before(self, task: Task) -> list[Task]:
        with self._lock:
            return [
                one
                for one in self._tasks.values()
                if one is not task
                and not task.runs
                and one.long == task.long
                and not one.unwanted()
                and (one.runs or one.rank() < task.rank())
            ]

    def _seconds(self, tasks: list[Task]) -> str:
        return duration(sum(task.seconds_left() for task in tasks) / self._threads)

    def _busy(self) -> str:
        tasks = list(self._tasks.values())
        return (
            f"The server is busy: {len(tasks)} pieces of work wait or run, about "
            f"{self._seconds(tasks)} of them. Ask again then; what comes with the project "
            "is drawn without waiting."
        )

    def _begin(self) -> None:
        """Begin what is next while a thread is free; called under the lock."""
        for task in list(self._tasks.values()):
            if not task.begun and task.unwanted():
                self._end(task)
        self._forget_left()
        while following := self._next(long=False) or self._next(long=True):
            following.resumed.set()
            if following.begun:
                continue
            following.started = time.monotonic()
            name = following.title
            thread = threading.Thread(target=self._run, args=(following,), name=name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                # the system gives no more threads now: the next look tries again
                following.started = math.nan
                following.resumed.clear()
                logging.getLogger(__name__).warning("%s waits: %s", name, error)
                return

    def _next(self, long: bool) -> Task | None:
        tasks = [task for task in self._tasks.values() if task.long == long]
        most = 1 if long else self._threads
        begun = [task for task in tasks if task.runs]
        waiting = [
            task for task in tasks if not task.runs and (not task.compiled or self._compiled())
        ]
        if len(begun) >= most:
            return None
        busy = {task.owner for task in begun if task.asked and task.owner.asks(task.key)}
        quiet = not any(task.asked for task in waiting) and sum(
            not task.asked for task in begun
        ) < max(1, most - 1)
        may = [task for task in waiting if task.owner not in busy and (task.asked or quiet)]
        return min(may, key=Task.rank, default=None)

    def _leave_thread(self, task: Task) -> None:
        """Wait while work of an earlier stage needs the thread of this one."""
        if self.inline or len(self._tasks) <= self._threads:
            return
        with self._lock:
            task.resumed.clear()
            following = self._next(task.long)
            if following is None or not following.stage() < task.stage():
                task.resumed.set()
                return
            self._begin()
        while not task.resumed.wait(LOOK_SECONDS):
            task.progress()

    def _run(self, task: Task) -> None:
        """Make a value and keep it; whatever happens, the thread's place is free afterwards."""
        before = getattr(_HERE, "task", None)
        _HERE.task = task

        def progress(*how_far: Any, **more: Any) -> None:
            task.progress(*how_far, **more)
            self._leave_thread(task)

        try:
            task.progress(0.0)
            with (
                cancellation_scope(task.progress),
                suppress_convergence_warnings(),
            ):  # the screen shows the gap of whatever stops short
                found = Ready(task.make(progress))
            task.result = self._keep(task.key, found)
        except CancelledError:
            pass
        except MKLError as error:
            # readers of files say of whatever stops them that the file is damaged
            if not task.unwanted():
                task.result = self._keep(task.key, Failed(str(error), error.repairs))
        except Exception as error:
            # a fault of ours is logged and said, never a traceback on a page
            logging.getLogger(__name__).exception("%s failed", task.title)
            task.result = fault = Failed(
                (
                    f"{task.title} failed for a reason that is not yours "
                    f"({type(error).__name__}); the server's log has it. Try again, or change "
                    "a setting."
                ),
                again=True,
            )
            for session in tuple(task.wanted_by):
                session.ended[task.key] = fault
        finally:
            _HERE.task = before
            with self._lock:
                self._end(task)
                if not self.inline:
                    self._begin()

    def _end(self, task: Task) -> None:
        self._tasks.pop(task.key, None)
        # models remember who listened to them, and would keep all it used
        task.make = lambda progress: None
        task.ended.set()

    def _keep(self, key: Hashable, found: Ready | Failed) -> Ready | Failed:
        with self._lock:
            try:
                self._kept[key] = found
            except ValueError:  # larger than all there is room for
                found = self._kept[key] = Failed(
                    "The result is larger than what this server keeps. Use fewer rows or kernels."
                )
        return found

    def _forget_left(self) -> None:
        """Forget what was kept for browsers whose last tab is gone; called under the lock."""
        while self._left:
            secret = self._left.popleft()
            self._tabs[secret] -= 1
            if self._tabs[secret] > 0:
                continue
            del self._tabs[secret]
            for key in list(self._kept):
                if isinstance(key, tuple) and key[0] == secret:
                    del self._kept[key]


def duration(seconds: float) -> str:
    """A duration as a person says it."""
    return f"{max(seconds, 1):.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def size(found: object) -> int:
    """About how many bytes a value holds: its arrays, tables and texts, however deep."""
    known = set[int]()
    stack = [found]
    total = 0
    while stack:
        one = stack.pop()
        while isinstance(one, np.ndarray) and isinstance(one.base, np.ndarray):
            one = one.base
        if id(one) in known or isinstance(one, (type, ModuleType, FunctionType)):
            continue
        known.add(id(one))
        if isinstance(one, np.ndarray):
            total += one.nbytes + _texts_in(one)
        elif hasattr(one, "memory_usage"):  # of pandas, which the first page is drawn without
            total += int(np.sum(one.memory_usage()))
        elif isinstance(one, dict):
            stack += [*one, *one.values()]
        elif isinstance(one, (list, tuple, set, frozenset)):
            stack += one
        else:
            total += sys.getsizeof(one, 64)
            stack += getattr(one, "__dict__", {}).values()
    return total


def _texts_in(array: np.ndarray) -> int:
    """Return about how many bytes the texts take that an array of objects points to."""
    if array.dtype.kind != "O" or not array.size:
        return 0
    step = -(-array.size // SAMPLED_TEXTS)
    different = {id(text): text for text in array.flat[::step]}
    return step * sum(map(sys.getsizeof, different.values()))


# The server's work, for the session of the run that is drawn


def _compiled() -> bool:
    solvers = compiling.preparation()
    solvers.ask()
    return solvers.ready()


WORK = Work(max(1, cores()), SHARE * memory_bytes(), _compiled)
compiling.WHEN_READY.append(WORK.go_on)


def _session() -> Session:
    if (task := getattr(_HERE, "task", None)) is not None:
        return task.owner
    if "work" not in st.session_state:
        st.session_state["work"] = WORK.session(private_streamlit.browser())
    return st.session_state["work"]


def _own(key: Hashable) -> Hashable:
    """The key among all sessions': what is about an upload is this session's alone."""
    parts = key if isinstance(key, tuple) else (key,)
    private = any(getattr(part, "is_upload", False) for part in parts)
    return (_session().secret if private or _session().secret in parts else "", key)


def mine() -> str:
    """The secret of this browser's tabs: what has it in its key is theirs alone, and leaves with
    the last of them.

    Parameters of an uploaded table in the key do the same.
    """
    return _session().secret


def get(key: Hashable, make: Make, *, title: str, **how: Any) -> Found:
    """The value of ``key``: there, in the making, or why not.

    Waits a moment, so that quick work is there at once.

    key : the tuple of all that is used
    make : called as make(progress); progress(share, text="", value=None) reports, and raises
        ``CancelledError`` when the value is no longer wanted; a ``value`` is what pages can draw
        already
    title : what the screen calls it
    asked : whether a person waits for it
    seconds : how long it will take, about
    compiled : whether it needs compiled solvers, for which it waits after an installation
    long : it goes on whatever page is looked at, one on the server at a time

    Work that asks for other work makes it in its own thread; then errors are raised.
    """
    session = _session()
    name = _own(key)
    # work that needs other work makes it itself
    if (task := getattr(_HERE, "task", None)) is not None:
        return Ready(WORK.now(name, lambda: make(lambda *_, **__: task.progress())))
    new = name not in session.waits
    found = WORK.get(session, Task(name, make, session, title, **how))
    in_part = getattr(private_streamlit.run_context(), "fragment_ids_this_run", None)
    if new and in_part and isinstance(found, Pending):
        state.rerun()  # a part of the page asked, and only a run of all draws the bar
    return found


def value(key: Hashable, make: Make, *, title: str, **how: Any) -> Any:
    """The value of ``key``, as `get` makes it; raises ``PendingError`` until it is there, or
    ``FailedError``.
    """
    found = get(key, make, title=title, **how)
    if isinstance(found, Ready):
        return found.value
    raise PendingError(f"{title}.") if isinstance(found, Pending) else FailedError(found)


def now(key: Hashable, make: Callable[[], T]) -> T:
    """The value of ``key``, made while the page is drawn where it is not there: for what takes a
    moment.
    """
    return WORK.now(_own(key), make)


def peek(key: Hashable) -> Any:
    """The value of ``key`` if it is there, else None."""
    found = WORK.peek(_own(key))
    return None if found is None else found.value


def drop(key: Hashable) -> None:
    """Forget the value of ``key``, or why there is none, so that it is made again."""
    WORK.drop(_session(), _own(key))


def again() -> None:
    """Make anew what was cancelled in this session, or failed."""
    _session().ended.clear()


def counted(
    progress: Callable[..., None],
    what: str = "steps",
) -> Callable[[int, int], None]:
    """A callback of the library, called as callback(done, total), that reports to ``progress``."""
    return lambda done, total: progress(done / max(total, 1), f"{done} of {total} {what}")


@contextmanager
def inline() -> Iterator[None]:
    """Do work at once, in the thread that asks for it: for tests."""
    before = WORK.inline
    WORK.inline = True
    try:
        yield
    finally:
        WORK.inline = before


@contextmanager
def drawing() -> Iterator[None]:
    """While this lasts, a run of this session waits for its turn or draws, and its work is wanted."""
    with WORK.drawing(_session()):
        yield


def begin() -> None:
    """A run of the whole app begins."""
    _session().run += 1


def bar() -> None:
    """Draw what a person waits for, with Cancel; when work ends or has more to show, run the whole
    app again.
    """
    session = _session()
    WORK.let_go(session)
    tasks = [task for key in session.waits if (task := WORK.task(key)) is not None]
    soon = min((WORK.seconds_until(task) for task in tasks), default=0.0) / 10
    every = min(max(soon, OFTEN_SECONDS), SELDOM_SECONDS) if session.waits else None

    @st.fragment(run_every=every)
    def pending() -> None:
        news = False
        shown = list[Task]()
        for key, (run, version) in list(session.waits.items()):
            task = WORK.task(key)
            if task is None or key in session.ended:
                del session.waits[key]
            elif task.version != version:
                session.waits[key] = run, task.version
            else:
                task.seen = time.monotonic()
                shown += [task] if task.asked else []
                continue
            news = True
        if news:
            state.rerun()
        for task in sorted(shown, key=lambda one: not one.begun)[:1]:  # one line beside the heading
            found = WORK.pending(task)
            more = f" (1 of {len(shown)})" if len(shown) > 1 else ""
            columns = st.columns([7, 3], vertical_alignment="center", gap="xsmall")
            columns[0].progress(
                found.share, private_streamlit.plain(f"{task.title}{more}: {found.text}")
            )
            columns[1].button(
                "Cancel",
                key="cancel_0",
                on_click=WORK.cancel,
                args=(session, task.key),
                type="tertiary",
            )

    pending()
