"""The first start of a machine and the second: seconds from the click on a page to its drawn picture, in a real
browser.

    python -m benchmarks.first_start [--runs 3]

Every run begins with an empty cache of compiled routines and starts the app twice. The browser is open already, with
nothing in its cache. Data is timed from the start of the server; the others from the click, which comes at once, in the
order in which a newcomer opens them. ``health`` is the longest that the server took to answer once Data was drawn. A
start of its own tells when somebody who does not click has the table read, with its rows and its target, and its chart
drawn.

What no page of ours can be quicker than is measured the same way: the same server with a page of one title, and with
one bar chart below it, for which the browser loads plotly.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from benchmarks.lines import Line, reported
from benchmarks.serving import chromium, running_app

PATIENCE = 120_000
SIGNS = {
    "Explore": ".player input[type=range]",
    "Compare": ".st-key-compare_chart .main-svg",
    "Hulls": ".hull input[type=range]",
}
LESSON_SIGN = ".scene input[type=range]"
READ = {"Data with its table": "text=Rows for training", "Data with its chart": ".st-key-target_chart .main-svg"}
LISTENS, HEADING = "the server listens", "the heading stands"
TITLE = "import streamlit as st\nst.title('A page')\n"
CHART = "st.plotly_chart({'data': [{'type': 'bar', 'y': [1, 2]}], 'layout': {}})\n"
FLOORS = {"an empty page": (TITLE, "h1"), "a page with a chart": (TITLE + CHART, ".main-svg")}
TARGETS = {"Data": 3.0, "Explore": 1.5, "Compare": 1.5, "Hulls": 1.5, "Lesson": 1.5, "health": 0.2}
TARGETS |= dict.fromkeys(READ, TARGETS["Data"])


def visit(page: Page, url: str, start: float, health: list[float]) -> dict[str, float]:
    """Seconds until each page is drawn, and until the server listened and the first heading stood."""
    seconds = {LISTENS: time.monotonic() - start}
    page.goto(f"{url}/data")
    page.wait_for_selector("text=Which table does the model", timeout=PATIENCE)
    seconds[HEADING] = time.monotonic() - start
    page.wait_for_selector("[data-testid=stFileUploader]", timeout=PATIENCE)
    seconds["Data"] = time.monotonic() - start
    health.clear()
    for name, sign in SIGNS.items():
        clicked = time.monotonic()
        page.get_by_role("link", name=name).first.click()
        page.wait_for_selector(sign, timeout=PATIENCE)
        seconds[name] = time.monotonic() - clicked
    page.get_by_role("link", name="Lessons").first.click()
    page.locator(".st-key-open_sparse button").click(timeout=PATIENCE)
    clicked = time.monotonic()
    page.locator(".st-key-lesson_next button").click(timeout=PATIENCE)
    page.wait_for_selector(LESSON_SIGN, timeout=PATIENCE)
    seconds["Lesson"] = time.monotonic() - clicked
    return seconds


@contextmanager
def watched(url: str) -> Iterator[list[float]]:
    """Ask for the server's health all the time; the list holds how long each answer took."""
    over, found = threading.Event(), list[float]()

    def ask() -> None:
        while not over.wait(0.05):
            asked = time.monotonic()
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=30).read()
            except OSError:
                continue
            found.append(time.monotonic() - asked)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    yield found
    over.set()
    thread.join()


def start(cache: str) -> dict[str, float]:
    """Start the app with its cache in a folder, open its pages, and return the seconds."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1700, "height": 900})
        began = time.monotonic()
        with running_app(NUMBA_CACHE_DIR=cache) as app, watched(app.url) as health:
            seconds = visit(page, app.url, began, health)
            return seconds | {"health": max(health, default=0.0)}


def look(cache: str) -> dict[str, float]:
    """Start the app with its cache in a folder, stay on Data, and return the seconds until its table and chart are
    there.
    """
    with chromium() as browser:
        page, seconds = browser.new_page(viewport={"width": 1700, "height": 900}), dict[str, float]()
        began = time.monotonic()
        with running_app(NUMBA_CACHE_DIR=cache) as app:
            page.goto(f"{app.url}/data")
            for name, sign in READ.items():
                page.wait_for_selector(sign, timeout=PATIENCE)
                seconds[name] = time.monotonic() - began
    return seconds


def floor(code: str, sign: str) -> float:
    """Seconds from the start of the same server until a page of this code is drawn."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        script = Path(folder) / "page.py"
        script.write_text(code)
        page = browser.new_page(viewport={"width": 1700, "height": 900})
        began = time.monotonic()
        with running_app(script=script) as app:
            page.goto(app.url)
            page.wait_for_selector(sign, timeout=PATIENCE)
            return time.monotonic() - began


def run(runs: int = 3) -> list[Line]:
    """Seconds per page on the first and the second start, and those of the server and the browser alone, beside what
    was aimed at.
    """
    found: dict[str, list[dict[str, float]]] = {"first": [], "second": []}
    floors: dict[str, list[float]] = {name: [] for name in FLOORS}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as another:
            for times in found.values():
                times.append(start(cache) | look(another))
        for name, seconds in floors.items():
            seconds.append(floor(*FLOORS[name]))
    alone = [
        Line(f"{name} of the same server", seconds, "s", TARGETS["Data"], "target of Data", "not ours")
        for name, seconds in floors.items()
    ]
    return alone + [
        Line(f"{name}, {which} start", [one[name] for one in times], "s", limit, "target", _way(times, name))
        for which, times in found.items()
        for name, limit in TARGETS.items()
        if times and np.isfinite(limit)
    ]


def _way(times: list[dict[str, float]], name: str) -> str:
    """A sentence about what comes before Data."""
    stages = (LISTENS, HEADING) if name == "Data" else ()
    return ", ".join(f"{stage} after {np.median([one[stage] for one in times]):.1f} s" for stage in stages)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    words.add_argument("--runs", type=int, default=3)
    print(reported(run(words.parse_args().runs)))


if __name__ == "__main__":
    main()
