"""Frame, how the server starts: while the browser still loads its own scripts, it imports what every page needs."""

import asyncio
import gc
import logging
import os
import threading
import time
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

import streamlit as st

from mklcore.errors import ParameterError
from mklcore.io import launcher, plugins
from pages.shared import compiling
from pages.shared.frame import sending
from pages.shared.session import inside, turns
from pages.shared.session.leaving import look_after

# All of it in one thread, because two threads that enter a package and one of its modules at once would find it half
# made. What stands on Data before its table is read, what draws the table, the pages whose answers come with the
# project, and what reads and divides any other table and computes.
FRAME = (
    "pages.shared.frame.visit", "pages.of_data.columns", "pages.of_data.groups", "pages.of_data.rail",
    "pages.shared.drawing.listings", "pages.of_home.view",
)  # fmt: skip
TABLES = ("pandas",)
PAGES = (
    "plotly.graph_objects",
    "pages.of_explore.pictures",
    "pages.of_explore.questions",
    "pages.of_explore.rail",
    "mklcore.answer.comparison",
    "pages.of_compare.rail",
    "pages.of_hulls.beside",
    "pages.of_hulls.view",
    "pages.shared.players.hull_player",
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
    "mklcore.gallery.theory",
)
USUAL = (
    "explore",
    "compare",
    "hulls",
    "lessons",
)  # pages that can be drawn before the rest while nothing has been moved
BREATH_SECONDS = 0.4
HELD_SECONDS = 2.0  # nobody knows what a first page that has not come through by then is waiting for
_importing: threading.Thread | None = None
_framed, _tables, _pages = threading.Event(), threading.Event(), threading.Event()
_first_page = threading.Event()
_free = threading.Event()


@asynccontextmanager
async def serving(_: st.App) -> AsyncIterator[None]:
    """Import in a thread from the server's first moment on, and open the browser unless the server is headless."""
    global _importing
    inside.report_missing()
    load_plugins()
    inside.answer_hosts(os.environ.get(launcher.HOSTS, ""))
    sending.gather()
    _free.set()
    compiling.IMPORTED.clear()
    _importing = threading.Thread(target=_import, name="imports", daemon=True)
    _importing.start()
    # Before its first element Streamlit looks whether this is a notebook, through the files of all modules: 0.1 to 0.3
    # s.
    inside.set_flag(inside.NOTEBOOK, True)
    inside.set_flag(inside.PAGES, False)  # the very first link to a page reaches app.py, too, not the page's file
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
    """Import the modules that add to the registries; one that cannot be imported is named in the server's log."""
    try:
        plugins.load()
    except ParameterError as error:
        logging.getLogger(__name__).error("%s", error)


def _import() -> None:
    """Import without collecting garbage: what imports make stays for good, and walking it again and again took a sixth
    of them.

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
        turns.PAGES.give_back()
        if comes_along and page in USUAL:
            _pages.wait()
        else:
            _importing.join()


def is_first() -> bool:
    """Tell whether the server has drawn no page yet, or cannot read a table yet."""
    return not _first_page.is_set() or (_importing is not None and not _tables.is_set())


def first_page_drawn(comes_along: bool) -> None:
    """On the server's first page let the browser draw what it has, while what reads its table is imported.

    Tables and plotly then keep it busy for seconds. A table that ``comes_along`` with the project needs least.
    """
    if not _first_page.is_set():
        drawn()
        turns.PAGES.give_back()
        time.sleep(BREATH_SECONDS)
    if _importing is not None and comes_along:
        _tables.wait()
    elif _importing is not None:
        _importing.join()


def drawn() -> None:
    """Note that the server has drawn its first page, whichever it was: none after it takes a breath."""
    _first_page.set()
    _free.set()


def address() -> str:
    """Return where a browser on this machine finds the server."""
    host = st.get_option("browser.serverAddress") or st.get_option("server.address")
    host = "localhost" if host in (None, "", "0.0.0.0", "::") else host
    path = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"http://{host}:{st.get_option('server.port')}/{path + '/' if path else ''}"
