"""How the server starts, and how what a run draws reaches the browser that began its session."""

import asyncio
import gc
import logging
import os
import threading
import time
import webbrowser
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any

import streamlit as st

from mklcore.errors import ParameterError
from mklcore.io import launcher, plugins
from pages.shared import private_streamlit
from pages.shared.server import guard
from pages.shared.server.sessions import look_after
from pages.shared.work import compiling, turns

# Elements, many at a time
#
# Streamlit wakes that thread for every element. Each time the run gives up the interpreter and
# waits to have it back: 140 times for one page, behind all other threads that compute, and a third
# of the page's processor time goes into it.


# an element waits at most so long for others; the start and the end of a run wait for none
GATHERED_SECONDS = 0.02


Session: Any = private_streamlit.find(private_streamlit.SESSION) or object


class OwnedSession(Session):
    """A session that only its own browser comes back to."""

    def __init__(self, *args: Any, **named: Any) -> None:
        self.began = guard.ASKING.get()
        super().__init__(*args, **named)

    def matches_user_info(self, user_info: Any) -> bool:
        """Tell whether a browser that names this session gets it; others get one of their own, and
        this one stays as it is.
        """
        return guard.is_owner(self.began) and super().matches_user_info(user_info)


class GatheringSession(OwnedSession):
    """An owned session whose runs are handled in their order, many elements at a time."""

    def __init__(self, *args: Any, **named: Any) -> None:
        self._pending: deque[Callable[[], None]] = deque()
        self._is_due = False  # the server's thread knows that it is to look
        self._message_enqueued_callback: Any = None
        super().__init__(*args, **named)

    def _on_scriptrunner_event(
        self,
        sender: Any,
        event: Any,
        *more: Any,
        **named: Any,
    ) -> None:
        """Hear a run, in the run's own thread."""
        self._pending.append(
            partial(self._handle_scriptrunner_event_on_event_loop, sender, event, *more, **named)
        )
        if event != private_streamlit.find(private_streamlit.EVENT).ENQUEUE_FORWARD_MSG:
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
        """Run the page or a part of it again; what was drawn before counts, although from now on
        another run may be handled.
        """
        if _running_loop() is self._event_loop:  # a watcher of files asks from a thread of its own
            self._take()
        super().request_rerun(client_state)

    def _create_scriptrunner(self, *args: Any, **named: Any) -> None:
        """Begin another run: what the last one drew until it ended counts, and from now on nobody
        listens to it.
        """
        if _running_loop() is self._event_loop:
            self._take()
        super()._create_scriptrunner(*args, **named)

    def _take(self) -> None:
        """Take what the runs have reported so far, in the server's thread; it is woken once for all
        of it.
        """
        if not self._pending:
            return
        wake = self._message_enqueued_callback
        self._message_enqueued_callback = _wake_later
        try:
            while self._pending:
                self._hear(self._pending.popleft())
        finally:
            self._message_enqueued_callback = wake
        if wake:
            wake()

    def _hear(self, handle: Callable[[], None]) -> None:
        """Handle one event; one that cannot be handled is reported to the loop, and holds up none
        after it.
        """
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
        import_module(private_streamlit.SESSIONS.partition(":")[0]).AppSession = kind  # type: ignore[attr-defined]  # called to begin a session


def session_kind() -> type | None:
    """Return the best kind of session that this Streamlit lets be; None where it has to be its own."""
    if any(
        private_streamlit.find(name) is None
        for name in (private_streamlit.SESSION, private_streamlit.SESSIONS, private_streamlit.OWNER)
    ):
        return None
    able = all(
        private_streamlit.find(name) is not None
        for name in (private_streamlit.EVENT, *private_streamlit.GATHERING)
    )
    return GatheringSession if able else OwnedSession


# Imports while the browser loads its own scripts


# All of it in one thread, because two threads that enter a package and one of its modules at once
# would find it half made. What stands on Data before its table is read, what draws the table, the
# pages whose answers come with the project, and what reads and divides any other table and
# computes.
FRAME = (
    "pages.shared.frame",
    "pages.data.columns",
    "pages.data.sidebar",
    "pages.shared.widgets.grids",
    "pages.home.view",
)
TABLES = ("pandas",)
PAGES = (
    "plotly.graph_objects",
    "pages.explore.errors",
    "pages.explore.pictures",
    "pages.explore.questions",
    "mklcore.answer.exploration",
    "pages.compare.sidebar",
    "pages.hulls.view",
    "pages.hulls.player",
)
REST = (
    "scipy.linalg",
    "scipy.special",
    "scipy.sparse.linalg",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.base",
    "sklearn.model_selection",
    "sklearn.datasets",
    "sklearn.linear_model",
    "mklcore._numba.warmup",
    "mklcore.gallery.experiments",
    "mklcore.gallery.theory.hkl",
    "mklcore.gallery.theory.measured",
)
USUAL = (
    "explore",
    "compare",
    "hulls",
    "lessons",
)  # pages that can be drawn before the rest while nothing has been moved
BREATH_SECONDS = 0.4
# nobody knows what a first page that has not come through by then is waiting for
HELD_SECONDS = 2.0
_importing: threading.Thread | None = None
_framed, _tables, _pages = threading.Event(), threading.Event(), threading.Event()
_first_page = threading.Event()
_free = threading.Event()


@asynccontextmanager
async def serving(_: st.App) -> AsyncIterator[None]:
    """Import in a thread from the server's first moment on, and open the browser unless the server
    is headless.
    """
    global _importing
    private_streamlit.report_missing()
    load_plugins()
    private_streamlit.answer_hosts(os.environ.get(launcher.HOSTS, ""))
    gather()
    _free.set()
    compiling.IMPORTED.clear()
    _importing = threading.Thread(target=_import, name="imports", daemon=True)
    _importing.start()
    # Before its first element Streamlit looks whether this is a notebook, through the files of all
    # modules: 0.1 to 0.3 s.
    private_streamlit.set_flag(private_streamlit.NOTEBOOK, True)
    # There is a folder ``pages``, but what it holds are packages: the menu alone names the pages.
    private_streamlit.set_flag(private_streamlit.PAGES, False)
    opens = address() + launcher.first_page()
    if opens != address():
        print(f"  Your table: {opens}", flush=True)
    if not st.get_option("server.headless"):
        threading.Thread(target=webbrowser.open, args=(opens,), daemon=True).start()
    looking = asyncio.create_task(look_after())
    try:
        yield
    finally:
        looking.cancel()


def load_plugins() -> None:
    """Import the modules that add to the registries; one that cannot be imported is named in the
    server's log.
    """
    try:
        plugins.load()
    except ParameterError as error:
        logging.getLogger(__name__).error("%s", error)


def _import() -> None:
    """Import without collecting garbage: what imports make stays for good, and walking it again and
    again took a sixth of them.

    While the first page is drawn, nothing is imported that it can do without.
    """
    gc.disable()
    try:
        for name in FRAME:
            import_module(name)
        _framed.set()
        for names, over in ((TABLES, _tables), (PAGES, _pages), (REST, compiling.IMPORTED)):
            for name in names:
                _free.wait(HELD_SECONDS)
                import_module(name)
            over.set()
    finally:
        for event in (_framed, _tables, _pages, compiling.IMPORTED):
            event.set()  # a waiting thread then imports for itself and gets the error
        gc.freeze()
        gc.enable()


def wait() -> None:
    """Wait until a page can be begun, and have the imports wait while it is the first."""
    if _importing is not None:
        if not _first_page.is_set():
            _free.clear()
        _framed.wait()


def wait_for(page: str, comes_along: bool) -> None:
    """Wait until a page can be drawn; while its frame is, imports go on.

    Everything has to be there, unless what the page shows ``comes_along`` with the project.
    """
    if _importing is not None and _importing.is_alive() and page not in ("home", "data"):
        drawn()
        turns.PAGE_TURNS.give_back()
        if comes_along and page in USUAL:
            _pages.wait()
        else:
            _importing.join()


def is_first() -> bool:
    """Tell whether the server has drawn no page yet, or cannot read a table yet."""
    return not _first_page.is_set() or (_importing is not None and not _tables.is_set())


def first_page_drawn(comes_along: bool) -> None:
    """On the server's first page let the browser draw what it has, while what reads its table is
    imported.

    Tables and plotly then keep it busy for seconds. A table that ``comes_along`` with the project
    needs least.
    """
    if not _first_page.is_set():
        drawn()
        turns.PAGE_TURNS.give_back()
        time.sleep(BREATH_SECONDS)
    if _importing is not None and comes_along:
        _tables.wait()
    elif _importing is not None:
        _importing.join()


def drawn() -> None:
    """Note that the server has drawn its first page, whichever it was: none after it takes a
    breath.
    """
    _first_page.set()
    _free.set()


def address() -> str:
    """Return where a browser on this machine finds the server."""
    host = st.get_option("browser.serverAddress") or st.get_option("server.address")
    host = "localhost" if host in (None, "", "0.0.0.0", "::") else host
    path = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"http://{host}:{st.get_option('server.port')}/{path + '/' if path else ''}"
