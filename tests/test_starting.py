"""The server's start: it finds the app, imports what a visit needs before anybody visits, and knows its own address."""

import asyncio
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit import delta_generator
from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.server.app_discovery import discover_asgi_app

from pages._parts.frame import starting
from tests.pages import open_app

ROOT = Path(__file__).resolve().parents[1]


def test_streamlit_run_finds_the_app_that_is_imported_once():
    found = discover_asgi_app(ROOT / "app.py")
    assert found.import_string == "app:app"


def test_a_visit_waits_until_the_server_has_imported_what_it_needs(tmp_path, monkeypatch):
    gate = threading.Event()
    (tmp_path / "slow_visit.py").write_text("import gate\ngate.gate.wait(60)\nready = True\n")
    monkeypatch.setitem(sys.modules, "gate", SimpleNamespace(gate=gate))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(starting, "EVERYTHING", ("slow_visit",))
    monkeypatch.setattr(starting, "_importing", None)
    monkeypatch.setattr(starting.gc, "freeze", lambda: None)  # what the other tests leave stays to be collected
    monkeypatch.setattr(PagesManager, "uses_pages_directory", True)
    monkeypatch.setattr(delta_generator, "_use_warning_has_been_displayed", False)
    monkeypatch.setattr(st, "get_option", {"server.headless": True}.get)
    opened: list[str] = []
    monkeypatch.setattr(starting.webbrowser, "open", opened.append)

    async def serve() -> None:
        async with starting.serving(None):
            assert not hasattr(sys.modules.get("slow_visit"), "ready"), "the server waits for no import"
            gate.set()
            starting.wait()
            assert sys.modules["slow_visit"].ready

    asyncio.run(serve())
    assert PagesManager.uses_pages_directory is False
    assert delta_generator._use_warning_has_been_displayed, "the first element looks through the files of all modules"
    assert not opened


def test_only_the_first_page_of_a_server_takes_a_breath(monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr(starting, "_breathed", threading.Event())
    monkeypatch.setattr(starting.time, "sleep", slept.append)
    for _ in range(2):
        starting.breathe()
    assert slept == [starting.BREATH_SECONDS]


def test_after_another_first_page_data_takes_none(monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr(starting, "_breathed", threading.Event())
    monkeypatch.setattr(starting.time, "sleep", slept.append)
    open_app("pages/keeper.py")
    starting.breathe()
    assert not slept


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({"server.address": "127.0.0.1", "server.port": 8501}, "http://127.0.0.1:8501/"),
        ({"server.address": "0.0.0.0", "server.port": 80, "server.baseUrlPath": "/mkl/"}, "http://localhost:80/mkl"),
        ({"browser.serverAddress": "mkl.example", "server.port": 8501}, "http://mkl.example:8501/"),
    ],
)
def test_the_browser_is_sent_to_where_the_server_listens(monkeypatch, options, url):
    monkeypatch.setattr(st, "get_option", options.get)
    assert starting.address() == url
