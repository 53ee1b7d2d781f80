"""Frame, from a page to the browser that began its session: what a run draws is handed to the server's thread some at a
time.

Streamlit wakes that thread for every element. Each time the run gives up the interpreter and waits to have it back: 140
times for one page, behind all other threads that compute, and a third of the page's processor time goes into it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

from pages.shared.frame import guard
from pages.shared.session import inside

GATHERED_SECONDS = 0.02  # an element waits at most so long for others; the start and the end of a run wait for none


Session: Any = inside.find(inside.SESSION) or object


class OwnedSession(Session):
    """A session that only its own browser comes back to."""

    def __init__(self, *args: Any, **named: Any) -> None:
        self.began = guard.ASKING.get()
        super().__init__(*args, **named)

    def matches_user_info(self, user_info: Any) -> bool:
        """Tell whether a browser that names this session gets it; others get one of their own, and this one stays as it
        is.
        """
        return guard.is_owner(self.began) and super().matches_user_info(user_info)


class GatheringSession(OwnedSession):
    """An owned session whose runs are handled in their order, many elements at a time."""

    def __init__(self, *args: Any, **named: Any) -> None:
        self._pending: deque[Callable[[], None]] = deque()
        self._is_due = False  # the server's thread knows that it is to look
        self._message_enqueued_callback: Any = None
        super().__init__(*args, **named)

    def _on_scriptrunner_event(self, sender: Any, event: Any, *more: Any, **named: Any) -> None:
        """Hear a run, in the run's own thread."""
        self._pending.append(partial(self._handle_scriptrunner_event_on_event_loop, sender, event, *more, **named))
        if event != inside.find(inside.EVENT).ENQUEUE_FORWARD_MSG:
            self._call_soon_on_event_loop(self._take)
        elif not self._is_due:
            self._is_due = True
            self._call_soon_on_event_loop(self._look_later)

    def _look_later(self) -> None:
        self._event_loop.call_later(GATHERED_SECONDS, self._look)

    def _look(self) -> None:
        self._is_due = False  # before the look: what is drawn from now on asks for another one
        self._take()

    def request_rerun(self, client_state: Any) -> None:
        """Run the page or a part of it again; what was drawn before counts, although from now on another run may be
        handled.
        """
        if _running_loop() is self._event_loop:  # a watcher of files asks from a thread of its own
            self._take()
        super().request_rerun(client_state)

    def _take(self) -> None:
        """Take what the runs have reported so far, in the server's thread; it is woken once for all of it."""
        if not self._pending:
            return
        wake, self._message_enqueued_callback = self._message_enqueued_callback, _wake_later
        try:
            while self._pending:
                self._hear(self._pending.popleft())
        finally:
            self._message_enqueued_callback = wake
        if wake:
            wake()

    def _hear(self, handle: Callable[[], None]) -> None:
        """Handle one event; one that cannot be handled is reported to the loop, and holds up none after it."""
        try:
            handle()
        except Exception as error:
            self._event_loop.call_exception_handler(
                {"message": "An event of a run was not handled", "exception": error}
            )


def _wake_later() -> None:
    """Wake nobody: the server is woken after the last of many elements."""


def _running_loop() -> asyncio.AbstractEventLoop | None:
    with suppress(RuntimeError):
        return asyncio.get_running_loop()
    return None


def gather() -> None:
    """Have the sessions of this server be such sessions; before the first one comes."""
    kind = session_kind()
    if kind is not None:
        import_module(inside.SESSIONS.partition(":")[0]).AppSession = kind  # type: ignore[attr-defined]  # called to begin a session


def session_kind() -> type | None:
    """Return the best kind of session that this Streamlit lets be; None where it has to be its own."""
    if any(inside.find(name) is None for name in (inside.SESSION, inside.SESSIONS, inside.OWNER)):
        return None
    able = all(inside.find(name) is not None for name in (inside.EVENT, *inside.GATHERING))
    return GatheringSession if able else OwnedSession
