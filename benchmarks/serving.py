"""The app as a visitor meets it: a server of its own on a free port, and headless Chromium in front
of it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks.lines import usual

ROOT = Path(__file__).resolve().parents[1]
# Beside the sandbox switch, which root needs, these keep Chromium from looking for hosts of its
# own.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HEALTHY_WITHIN = 120.0  # seconds until a server has to answer
IDLE = "[data-testid='stApp'][data-test-script-state='notRunning']"


@dataclass(frozen=True)
class App:
    """A running server: its address, the file that holds what it prints, and the number of its
    process.
    """

    url: str
    log: Path
    process: int = 0

    def tracebacks(self) -> str:
        """All it printed if there was a traceback in it, else nothing."""
        printed = self.log.read_text(encoding="utf-8", errors="replace")
        return printed if "Traceback (most recent call last)" in printed else ""


def children(process: int) -> list[tuple[int, str]]:
    """The processes that another one started, with their commands."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(
                place.joinpath("stat").read_text(encoding="ascii").rpartition(")")[2].split()[1]
            )
            if parent == process:
                found.append(
                    (
                        int(place.name),
                        place.joinpath("cmdline").read_bytes().decode().replace("\0", " "),
                    )
                )
        except (OSError, ValueError):  # it has ended meanwhile
            continue
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return bool(answer.status == 200 and answer.read() == b"ok")
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def running_app(environment: Mapping[str, str] | None = None) -> Iterator[App]:
    """Start ``streamlit run app.py`` as the README has it, wait until the server is healthy, and
    stop it on leaving.

    ``environment`` is added to the environment of this process.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    streamlit = Path(sys.executable).with_name("streamlit")
    command = [
        str(streamlit),
        "run",
        "app.py",
        "--server.headless=true",
        f"--server.port={port}",
    ]
    with tempfile.TemporaryDirectory() as folder:
        app = App(url, Path(folder) / "server.log")
        with app.log.open("wb") as log:
            # an empty folder, so that the server finds nothing of an earlier run
            home = {"MKL_EXPLORER_HOME": str(Path(folder) / "home")}
            server = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=usual() | home | dict(environment or {}),
            )
        try:
            deadline = time.monotonic() + HEALTHY_WITHIN
            while not healthy(url):
                if server.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(
                        f"The server did not become healthy.\n{app.log.read_text(encoding='utf-8')}"
                    )
                time.sleep(0.2)
            yield replace(app, process=server.pid)
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, headless. ``CHROMIUM`` in the environment names another one."""
    names = ("chromium", "chromium-headless-shell", "chromium-browser")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise RuntimeError(
            "Chromium is not installed. Install the Debian package chromium, or set "
            "CHROMIUM to its path."
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


def settled(page: Page, patience: float = 120.0) -> None:
    """Wait until the page has drawn a heading and its script rests."""
    expect(page.get_by_role("heading").first).to_be_visible(timeout=1000 * patience)
    expect(page.locator(IDLE)).to_be_attached(timeout=1000 * patience)
