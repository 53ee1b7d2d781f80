"""The same table on the same screen, visit after visit, quiet and under load: are all digits the same?

    python -m benchmarks.ten_visits [--visits 10] [--load 10] [--patience 300]

Every visit meets a server of its own with an empty home, so that no answer of an earlier visit is shown again. It
drops the table of ``benchmarks.first_minute`` on the start and waits until the screen of Explore has said the same for
ten seconds. Its numbers, without the seconds that computing took, are compared with those of the first visit. Load is
so many processes that never rest.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from benchmarks.__main__ import ROOT, included
from benchmarks.first_minute import SIGNS, table
from benchmarks.records import keep
from benchmarks.serving import IDLE, chromium, running_app

PAGE = ROOT / "benchmarks" / "ten_visits.md"
SAME = 10.0  # seconds for which a settled screen says the same
TEXT = """() => { const all = (root) => [...root.childNodes].map(n => n.nodeType === 3 ? n.data
  : ['SCRIPT', 'STYLE'].includes(n.tagName) ? '' : all(n) + (n.shadowRoot ? all(n.shadowRoot) : '')).join(' ');
  return all(document.querySelector('[data-testid=stMain]')); }"""
SEEN = "(words) => new RegExp(words, 'i').test((" + TEXT + ")())"
TIMES = re.compile(r"\d+(\.\d+)?\s*(CPU )?(ms|s|seconds?|minutes?)\b")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep so many processes at work."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def settled(page: Page, patience: float) -> str:
    """Return the text of the screen once it no longer changes."""
    for sign in SIGNS.values():
        page.wait_for_function(SEEN, arg=sign, timeout=1000 * patience)
    until = time.monotonic() + patience
    text, since = "", time.monotonic()
    while time.monotonic() < until:
        page.wait_for_selector(IDLE, timeout=1000 * patience)
        now = page.evaluate(TEXT)
        if now != text or "Preliminary" in now:
            text, since = now, time.monotonic()
        elif time.monotonic() - since > SAME:
            return text
        page.wait_for_timeout(500)
    raise TimeoutError(f"The screen was not settled within {patience:g} s.")


def visit(patience: float) -> list[str]:
    """Return the numbers of the settled screen of one visit."""
    with chromium() as browser, running_app() as app:
        page = browser.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
        page.set_default_timeout(1000 * patience)
        page.goto(app.url)
        page.locator("[data-testid=stFileUploader] input[type=file]").wait_for(state="attached")
        page.set_input_files(
            "[data-testid=stFileUploader] input[type=file]",
            {"name": "gait.csv", "mimeType": "text/csv", "buffer": table()},
        )
        page.wait_for_url("**/explore*")
        return NUMBER.findall(TIMES.sub("", settled(page, patience)))


def run(visits: int, load: int, patience: float) -> dict[str, Any]:
    """Count the visits whose numbers are those of the first one, quiet and under load."""
    found: dict[str, Any] = {"visits": visits, "same": {}, "different": []}
    first: list[str] | None = None
    for processes in (0, load):
        same = 0
        with busy(processes):
            for _ in range(visits):
                seen = visit(patience)
                first = first or seen
                same += seen == first
                if seen != first:
                    pairs = [pair for pair in zip(first, seen, strict=False) if pair[0] != pair[1]]
                    found["different"].append(
                        {"load": processes, "counts": [len(first), len(seen)], "pairs": pairs[:9]}
                    )
                print(processes, len(seen), seen == first, flush=True)
        found["same"][str(processes)] = same
    return found | {"numbers": len(first or [])}


def written(record: dict[str, Any]) -> dict[Path, str]:
    """The page that says what was compared."""
    found, where = record["found"], record["surroundings"]
    lines = ["| busy processes | visits | same digits |", "| --- | --- | --- |"]
    lines += [f"| {load} | {found['visits']} | {same} |" for load, same in found["same"].items()]
    lines += ["", f"{found['numbers']} numbers on the screen. {where['day']}, {where['machine']}."]
    return {PAGE: included(PAGE.read_text(encoding="utf-8"), "\n".join(lines))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visits", type=int, default=10)
    parser.add_argument("--load", type=int, default=10, help="processes that never rest")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds to wait for an answer")
    asked = parser.parse_args()
    keep("ten_visits", run(asked.visits, asked.load, asked.patience))


if __name__ == "__main__":
    main()
