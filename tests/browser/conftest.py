"""A fresh server on a free port, and a headless Chromium that notes what goes wrong."""

import os
import shutil
from pathlib import Path

import pytest

from tests.browser.server import Server
from tests.browser.steps import Visitor, new_context
from tests.browser.walker import begin

# The same engine without a window's trimmings, where it is installed: a page costs it a quarter
# less.
CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium-headless-shell")
    or shutil.which("chromium")
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    # A page is drawn by as few threads and processes as will do: the tests share two cores with
    # their servers.
    "--disable-site-isolation-trials",
    "--in-process-gpu",
    "--num-raster-threads=1",
    "--js-flags=--max-lazy",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.fspath).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="Chromium is not installed"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Tell with a failure what every open window shows, and what its console and its server said."""
    report = yield
    if report.failed:
        for visitor in Visitor.everyone:
            report.sections.append((f"the window at {visitor.url}", visitor.account()))
        shared = getattr(item, "funcargs", {}).get("server")
        if shared is not None:
            report.sections.append(
                ("the server's log", shared.log.read_text(errors="replace")[-4000:])
            )
    return report


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    """One server per process for tests that need no fresh one, on the layer of threads that
    forgives least.
    """
    more = {"NUMBA_THREADING_LAYER": "workqueue"}
    running = Server(tmp_path_factory.mktemp("server") / "server.log", **more)
    yield running
    running.stop()


@pytest.fixture(scope="package")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def guests(chromium):
    """What the windows of the tests share, so that a page's scripts are fetched and compiled once."""
    context = new_context(chromium)
    yield context
    context.close()


@pytest.fixture(scope="package")
def walker(server, chromium):
    """One window with an uploaded table, which it shares with nobody, and with kernels, both chosen
    as a person does it.
    """
    visitor = Visitor(chromium, server.url)
    begin(visitor)
    yield visitor
    visitor.close()


@pytest.fixture
def visit(chromium, guests):
    """Open windows that close with the test and leave nothing to the next; those ``apart`` share
    nothing with the others.
    """
    open_windows = []

    def enter(url, apart=False):
        open_windows.append(Visitor(chromium, url, None if apart else guests))
        return open_windows[-1]

    yield enter
    for visitor in open_windows:
        visitor.close()
