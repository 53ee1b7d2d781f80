"""The name of a session, or the place of one of its files, opens nothing without the browser that
began it.
"""

import asyncio
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from streamlit.runtime import websocket_session_manager
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.script_data import ScriptData
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string

from pages.shared import private_streamlit
from pages.shared.server import starting
from pages.shared.server.guard import Guard
from tests.helpers.asgi import everything, through_guard
from tests.helpers.every import every


def cookie(of):
    """What a browser with this token sends, masked anew each time."""
    sent = "" if not of else f"other=1; _streamlit_xsrf={generate_xsrf_token_string(of, 1)}; odd[=2"
    return [(b"host", b"localhost"), (b"cookie", sent.encode())]


ANNA = b"a" * 16
BEN = b"b" * 16
NOBODY = b""


@pytest.fixture
def sessions(monkeypatch):
    """The sessions of a server that answers requests through the guard: ``connect(browser, name)``
    is a tab that opens.
    """
    monkeypatch.setattr(websocket_session_manager, "AppSession", AppSession)
    starting.gather()
    manager = websocket_session_manager.WebsocketSessionManager(
        MemorySessionStorage(), MemoryUploadedFileManager("/up"), ScriptCache(), None
    )
    server = MagicMock(_session_mgr=manager)
    monkeypatch.setattr(private_streamlit, "_server", lambda: server)

    async def connect(of, name=None):
        found = []

        async def endpoint(scope, receive, send):
            found.append(
                manager.connect_session(SimpleNamespace(), ScriptData("app.py", False), {}, name)
            )

        await Guard(endpoint)(
            {"type": "websocket", "path": "/_stcore/stream", "headers": cookie(of)}, None, None
        )
        return found[0]

    manager.connect = lambda *tab: asyncio.create_task(connect(*tab))
    yield manager
    for session in manager.list_sessions():
        manager.close_session(session.session.id)


def asked(path, of, way):
    """The status of what the server answers a browser."""
    return through_guard(everything, path, *cookie(of), method=way)[0]["status"]


def test_a_session_is_taken_up_again_by_its_own_browser_alone(sessions):
    async def lesson():
        name = await sessions.connect(ANNA)
        for others in (BEN, NOBODY):  # while its tab is open
            assert await sessions.connect(others, name) != name
        assert sessions.is_active_session(name), "its tab has not lost its line"
        sessions.disconnect_session(name)
        for others in (BEN, NOBODY):
            assert await sessions.connect(others, name) != name
        assert await sessions.connect(ANNA, name) == name

    asyncio.run(lesson())


def test_a_browser_without_cookies_takes_up_its_session_by_name(sessions):
    async def lesson():
        name = await sessions.connect(NOBODY)
        sessions.disconnect_session(name)
        assert await sessions.connect(NOBODY, name) == name

    asyncio.run(lesson())


@every("base", ["", "/below"])
def test_the_places_of_a_tabs_files_are_its_browsers(sessions, base):
    async def lesson():
        return await sessions.connect(ANNA)

    place = f"{base}/_stcore/upload_file/{asyncio.run(lesson())}/1"
    for way in ("PUT", "DELETE"):
        assert asked(place, BEN, way) == asked(place, NOBODY, way) == 404
    assert asked(place, ANNA, "DELETE") == 200
    assert asked(f"{base}/_stcore/upload_file/unknown/1", BEN, "DELETE") == 200, (
        "Streamlit says what is wrong with it"
    )
