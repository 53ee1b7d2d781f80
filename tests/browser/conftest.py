"""A fresh server on a free port, and a headless Chromium that notes what goes wrong."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.browser.steps import Visitor

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS = 90


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.fspath).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="Chromium is not installed"))


def health(url: str, timeout: float = 5.0) -> bool:
    try:
        with urllib.request.urlopen(url + "/_stcore/health", timeout=timeout) as answer:
            return answer.status == 200
    except OSError:
        return False


class Server:
    """One `streamlit run app.py` of its own."""

    def __init__(self, log: Path, port: int = 0, **environment: str) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            port = probe.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}", log
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
        command += ["--server.port", str(port), "--server.fileWatcherType", "none"]
        surroundings = os.environ | {"MKL_EXPLORER_HOME": str(log.parent / "home")} | environment
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=surroundings
            )
        until = time.monotonic() + START_SECONDS
        while not health(self.url):
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError(f"The server did not start:\n{log.read_text()}")
            time.sleep(0.1)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start servers that end with the test; each call is a fresh process."""
    running: list[Server] = []

    def begin(port: int = 0, **environment: str) -> Server:
        running.append(Server(tmp_path / f"server{len(running)}.log", port, **environment))
        return running[-1]

    yield begin
    for server in running:
        server.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests that do not need a fresh one."""
    running = Server(tmp_path_factory.mktemp("server") / "server.log")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Open windows that close with the test."""
    open_windows: list[Visitor] = []

    def enter(url: str, **context) -> Visitor:
        open_windows.append(Visitor(chromium, url, **context))
        return open_windows[-1]

    yield enter
    for visitor in open_windows:
        visitor.context.close()
