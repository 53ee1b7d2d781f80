"""Frame, how the server starts: while the browser still loads its own scripts, it imports what every page needs."""

import asyncio
import gc
import threading
import time
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

import streamlit as st
from streamlit import delta_generator
from streamlit.runtime.pages_manager import PagesManager

from pages._parts.frame import sending
from pages._parts.session import turns
from pages._parts.session.leaving import look_after

# The rooms of the library first, then what stands behind the pages: all of it in one thread, because two threads that enter
# a package and one of its modules at once would find it half made.
EVERYTHING = (
    "mklcore.estimators.registry", "mklcore.experiments", "mklcore.figures", "mklcore.lessons", "mklcore.theory",
    "mklcore.warmup", "pages._parts.frame.visit",
)  # fmt: skip
BREATH_SECONDS = 0.4
_importing: threading.Thread | None = None
_breathed = threading.Event()


@asynccontextmanager
async def serving(_: st.App) -> AsyncIterator[None]:
    """Import in a thread from the server's first moment on, and open the browser unless the server is headless."""
    global _importing
    sending.gather()
    _importing = threading.Thread(target=_import, name="imports", daemon=True)
    _importing.start()
    # Before its first element Streamlit looks whether this is a notebook, through the files of all modules: 0.1 to 0.3 s.
    delta_generator._use_warning_has_been_displayed = True
    PagesManager.uses_pages_directory = False  # the very first link to a page reaches app.py, too, not the page's file
    if not st.get_option("server.headless"):
        threading.Thread(target=webbrowser.open, args=(address(),), daemon=True).start()
    looking = asyncio.create_task(look_after())
    try:
        yield
    finally:
        looking.cancel()


def _import() -> None:
    """Import without collecting garbage: what imports make stays for good, and walking it again and again took a sixth of them."""
    gc.disable()
    try:
        for name in EVERYTHING:
            import_module(name)
    finally:
        gc.freeze()
        gc.enable()


def wait() -> None:
    """Wait until that thread is through."""
    if _importing is not None:
        _importing.join()


def breathe() -> None:
    """On the server's first page let the browser draw what it has: tables and plotly then keep it busy for seconds."""
    if not _breathed.is_set():
        drawn()
        turns.PAGES.give_back()
        time.sleep(BREATH_SECONDS)


def drawn() -> None:
    """Note that the server has drawn its first page, whichever it was: none after it takes a breath."""
    _breathed.set()


def address() -> str:
    """Return where a browser on this machine finds the server."""
    host = st.get_option("browser.serverAddress") or st.get_option("server.address")
    host = "localhost" if host in (None, "", "0.0.0.0", "::") else host
    path = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"http://{host}:{st.get_option('server.port')}/{path}"
