"""The server's start: it finds the app, imports what a visit needs before anybody visits, and knows
its own address.
"""

import asyncio
import sys
import threading
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit import delta_generator
from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.server.app_discovery import discover_asgi_app

from pages.shared.server import starting
from pages.shared.values import tables
from pages.shared.work import compiling
from tests.helpers.pages import open_app, words
from tests.helpers.project import ROOT, run_python


def test_streamlit_run_finds_the_app_that_is_imported_once():
    found = discover_asgi_app(ROOT / "app.py")
    assert found.import_string == "app:app"


def at_the_start(monkeypatch):
    """As a server that has imported and drawn nothing yet."""
    for event in ("_framed", "_tables", "_pages", "_first_page", "_free"):
        monkeypatch.setattr(starting, event, threading.Event())
    monkeypatch.setattr(starting, "_importing", None)
    monkeypatch.setattr(compiling, "IMPORTED", threading.Event())
    compiling.IMPORTED.set()  # a thread that a page begins may wait for it
    # what the other tests leave stays to be collected
    monkeypatch.setattr(starting.gc, "freeze", lambda: None)


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """Modules that take until their gates open: one for the frame, one for tables, one for pages,
    one for the rest.
    """
    gates = SimpleNamespace(
        **{name: threading.Event() for name in ("frame", "tables", "pages", "rest")}
    )
    for name in vars(gates):
        (tmp_path / f"slow_{name}.py").write_text(
            f"import gates\ngates.{name}.wait(60)\nready = True\n"
        )
        monkeypatch.setattr(starting, name.upper(), (f"slow_{name}",))
    monkeypatch.setitem(sys.modules, "gates", gates)
    monkeypatch.syspath_prepend(tmp_path)
    at_the_start(monkeypatch)
    compiling.IMPORTED.clear()
    yield gates
    for gate in vars(gates).values():
        gate.set()
    if starting._importing is not None:
        starting._importing.join()
    compiling.IMPORTED.set()
    for name in vars(gates):
        sys.modules.pop(f"slow_{name}", None)


@pytest.fixture
def importing(slow, monkeypatch):
    """The same before the first visit: modules are being imported, one after another."""
    monkeypatch.setattr(starting, "BREATH_SECONDS", 0.0)
    monkeypatch.setattr(starting, "_importing", threading.Thread(target=starting._import))
    starting._importing.start()
    return slow


def test_a_visit_waits_until_the_server_has_imported_what_it_needs(slow, monkeypatch):
    monkeypatch.setattr(PagesManager, "uses_pages_directory", True)
    monkeypatch.setattr(delta_generator, "_use_warning_has_been_displayed", False)
    monkeypatch.setattr(st, "get_option", {"server.headless": True}.get)
    opened = []
    monkeypatch.setattr(starting.webbrowser, "open", opened.append)

    async def serve():
        async with starting.serving(None):
            assert not hasattr(sys.modules.get("slow_frame"), "ready"), (
                "the server waits for no import"
            )
            slow.frame.set()
            starting.wait()
            assert sys.modules["slow_frame"].ready

    asyncio.run(serve())
    assert PagesManager.uses_pages_directory is False
    assert delta_generator._use_warning_has_been_displayed, (
        "the first element looks through the files of all modules"
    )
    assert not opened


def test_what_the_first_page_can_do_without_is_imported_after_it(importing, monkeypatch):
    slow = importing
    monkeypatch.setattr(starting, "HELD_SECONDS", 60.0)
    slow.frame.set()
    starting.wait()
    assert starting.is_first()
    assert "slow_tables" not in sys.modules
    slow.tables.set()
    starting.first_page_drawn(comes_along=True)
    assert sys.modules["slow_tables"].ready, "a table can be drawn now"
    assert not starting.is_first()
    assert not hasattr(sys.modules.get("slow_pages"), "ready"), "Data waits for no other page"
    slow.pages.set()
    starting.wait_for("explore", comes_along=True)
    assert sys.modules["slow_pages"].ready
    assert not hasattr(sys.modules.get("slow_rest"), "ready"), (
        "what comes with the project is drawn before anything can compute"
    )
    assert not compiling.IMPORTED.is_set()
    slow.rest.set()
    starting.wait_for("explore", comes_along=False)
    assert sys.modules["slow_rest"].ready
    assert compiling.IMPORTED.is_set()


@pytest.mark.parametrize(
    "wait",
    [
        lambda: starting.first_page_drawn(comes_along=False),
        lambda: starting.wait_for("predict", True),
    ],
)
def test_what_does_not_come_with_the_project_waits_for_everything(importing, wait):
    waiting = threading.Thread(target=wait)
    for gate in (importing.frame, importing.tables, importing.pages):
        gate.set()
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    importing.rest.set()
    waiting.join(60)
    assert sys.modules["slow_rest"].ready


def test_a_first_page_that_never_ends_holds_nobody_up(importing, monkeypatch):
    monkeypatch.setattr(starting, "HELD_SECONDS", 0.01)
    for gate in vars(importing).values():
        gate.set()
    starting.wait()
    starting.wait_for("theory", comes_along=False)
    assert sys.modules["slow_rest"].ready


def test_the_frame_needs_neither_tables_nor_scikit_learn_nor_linear_algebra():
    heavy = {
        "sklearn",
        "pandas",
        "pyarrow",
        "scipy.linalg",
        "scipy.special",
        "scipy.stats",
        "scipy.optimize",
    }
    check = (
        "import sys; from importlib import import_module; from pages.shared.server import starting\n"
        "for name in starting.FRAME: import_module(name)\n"
        f"print(*sorted({heavy | {'mklcore.estimators.lp'}} & set(sys.modules)))"
    )
    assert run_python("-c", check).strip() == ""


def test_what_comes_with_the_project_is_drawn_without_scikit_learn():
    check = (
        "import os, sys, threading; from importlib import import_module; from "
        "pages.shared.server import starting\nclass Refusing:\n    def find_spec(self, name, "
        "path=None, target=None):\n        assert name != 'sklearn' or 'ScriptRunner' not "
        "in threading.current_thread().name\nsys.meta_path.insert(0, Refusing())\nfrom "
        "tests.helpers.pages import open_app\nopen_app()\nfor name in starting.PAGES: "
        "import_module(name)\nfor page in starting.USUAL: "
        "open_app(f'pages/{page}/page.py')\nos._exit(0)"
    )  # not waiting for the threads that go on in a server
    run_python("-c", check)


def test_what_is_imported_at_the_start_exists():
    for name in (*starting.FRAME, *starting.TABLES, *starting.PAGES, *starting.REST):
        assert find_spec(name) is not None, f"{name} is nowhere"


def test_only_the_first_page_of_a_server_takes_a_breath(monkeypatch):
    slept = []
    at_the_start(monkeypatch)
    monkeypatch.setattr(starting.time, "sleep", slept.append)
    for _ in range(2):
        starting.first_page_drawn(comes_along=True)
    assert slept == [starting.BREATH_SECONDS]
    at_the_start(monkeypatch)
    open_app("pages/lessons/page.py")  # another first page
    starting.first_page_drawn(comes_along=True)
    assert len(slept) == 1


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({"server.address": "127.0.0.1", "server.port": 8501}, "http://127.0.0.1:8501/"),
        (
            {"server.address": "0.0.0.0", "server.port": 80, "server.baseUrlPath": "/mkl/"},
            "http://localhost:80/mkl/",
        ),
        ({"browser.serverAddress": "mkl.example", "server.port": 8501}, "http://mkl.example:8501/"),
    ],
)
def test_the_browser_is_sent_to_where_the_server_listens(monkeypatch, options, url):
    monkeypatch.setattr(st, "get_option", options.get)
    assert starting.address() == url


def test_no_table_is_read_before_the_first_page_takes_its_breath(monkeypatch):
    read, seen = list[str](), list[int]()
    before = tables.table
    monkeypatch.setattr(tables, "table", lambda params: read.append(params.data) or before(params))
    monkeypatch.setattr(starting, "first_page_drawn", lambda comes_along: seen.append(len(read)))
    open_app(data="wine")
    assert seen == [0]
    assert "wine" in read


def test_a_table_that_is_not_there_is_not_being_read(monkeypatch):
    at_the_start(monkeypatch)
    monkeypatch.setattr(starting, "BREATH_SECONDS", 0.0)
    said = words(open_app(data="upload:" + "0" * 64))
    assert "Reading the table." not in said
