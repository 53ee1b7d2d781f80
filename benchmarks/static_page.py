"""The page without a server in a real browser, once Python is there: CPU seconds of the whole
browser.

    PYODIDE_DIR=FOLDER python -m benchmarks static_page      FOLDER holds pyodide.js and its packages

An answer is settled when its sentence stands. Seconds of the processor are those of all processes
of the browser: more than a person waits for where several of them work at once.
"""

from __future__ import annotations

import functools
import http.server
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import psutil
from playwright.sync_api import FilePayload, Page, expect

import mklcore as mkl
from benchmarks.lines import Line, reported, written_table
from benchmarks.serving import chromium

PATIENCE = 900_000  # ms
ROWS = 2000
COLUMNS = 20
LIMITS = {"iris": 8.0, f"{ROWS:,} rows, {COLUMNS} columns": 60.0}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that writes no log."""

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(pyodide: str) -> Iterator[str]:
    """The address of the page, with Pyodide beside it."""
    with tempfile.TemporaryDirectory() as folder:
        mkl.figures.static_site(folder, pyodide)
        handler = functools.partial(Quiet, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()
        server.server_close()


def spent() -> float:
    """CPU seconds of the browser up to now."""
    times = [process.cpu_times() for process in psutil.Process().children(recursive=True)]
    return float(sum(one.user + one.system for one in times))


def table() -> bytes:
    """Numbers of which two make the class."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(ROWS) > 1.0
    names = [*(f"x{j}" for j in range(COLUMNS)), "kind"]
    return written_table(names, X, np.where(y, "yes", "no").tolist())


def answer(page: Page, word: str, ask: Callable[[], object]) -> float:
    """CPU seconds until the sentence about a target stands."""
    before = spent()
    ask()
    expect(page.locator("#sentence")).to_contain_text(word, timeout=PATIENCE)
    return spent() - before


def run() -> list[Line]:
    """Two answers, each beside what a person should wait for at most."""
    pyodide = os.environ.get("PYODIDE_DIR")
    if pyodide is None:
        print("static_page is not measured: PYODIDE_DIR names no folder with Pyodide")
        return []
    with served(pyodide) as url, chromium() as browser:
        page = browser.new_page()
        page.goto(url)
        broken: FilePayload = {
            "name": "broken.csv",
            "mimeType": "text/csv",
            "buffer": b"\x00\x01" * 40,
        }
        page.set_input_files("#file", broken)  # which loads Python
        expect(page.locator("#refused")).to_contain_text("file", timeout=PATIENCE)
        iris = answer(page, "species", lambda: page.select_option("#sample", "iris"))
        file: FilePayload = {"name": "rows.csv", "mimeType": "text/csv", "buffer": table()}
        rows = answer(page, "kind", lambda: page.set_input_files("#file", file))
    return [
        Line(f"page without a server: {what}", [found], "CPU s", LIMITS[what], "limit")
        for what, found in zip(LIMITS, (iris, rows), strict=True)
    ]


if __name__ == "__main__":
    print(reported(run()))
