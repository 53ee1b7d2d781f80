"""Frame, how the server starts: while the browser still loads its own scripts, it imports what every page needs."""

import gc
import threading
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

VISIT = "pages._parts.frame.visit"
_importing: threading.Thread | None = None


@asynccontextmanager
async def serving(_: st.App) -> AsyncIterator[None]:
    """Import in a thread from the server's first moment on, and open the browser unless the server is headless."""
    global _importing
    _importing = threading.Thread(target=_import, name="imports", daemon=True)
    _importing.start()
    PagesManager.uses_pages_directory = False  # the very first link to a page reaches app.py, too, not the page's file
    if not st.get_option("server.headless"):
        threading.Thread(target=webbrowser.open, args=(address(),), daemon=True).start()
    yield


def _import() -> None:
    """Import without collecting garbage: what imports make stays for good, and walking it again and again took a sixth of them."""
    gc.disable()
    try:
        import_module(VISIT)
    finally:
        gc.freeze()
        gc.enable()


def wait() -> None:
    """Wait until that thread is through: two threads in one import can lock each other out."""
    if _importing is not None:
        _importing.join()


def address() -> str:
    """Return where a browser on this machine finds the server."""
    host = st.get_option("browser.serverAddress") or st.get_option("server.address")
    host = "localhost" if host in (None, "", "0.0.0.0", "::") else host
    path = (st.get_option("server.baseUrlPath") or "").strip("/")
    return f"http://{host}:{st.get_option('server.port')}/{path}"
