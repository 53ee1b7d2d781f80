"""The first minute of a newcomer, with a stopwatch, in a real browser: on a new machine, and on one that knows the app.

    python -m benchmarks.first_minute [--runs 3] [--patience 240]

A new machine has an empty home and an empty cache of compiled routines; a warm one has compiled them. The server is
started, the first screen opened with nothing in the browser's cache, and a table of 300 rows dropped on it as soon as
it moved. Seconds of movement count from the request for the page, with the server just listening; those of the table
from the drop.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from benchmarks.__main__ import ROOT, included
from benchmarks.records import keep
from benchmarks.serving import chromium, running_app

ROWS, FIRST = 300, "knee_angle"
PAGE = ROOT / "benchmarks" / "first_minute.md"
SLIDER = ".scene input[type=range]"
MOVED = f"() => {{ const all = (root) => [...root.querySelectorAll('*')].flatMap(e => e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e]); const slider = all(document).find(e => e.matches('{SLIDER}')); if (!slider) return false; window.first ??= slider.value; return slider.value !== window.first; }}"  # noqa: E501
SEEN = """(words) => { const all = (root) => [...root.childNodes].map(n => n.nodeType === 3 ? n.data
  : ['SCRIPT', 'STYLE'].includes(n.tagName) ? '' : all(n) + (n.shadowRoot ? all(n.shadowRoot) : '')).join(' ');
  return location.pathname.endsWith('explore') && new RegExp(words, 'i').test(all(document.body)); }"""
# What is timed, and how it shows: a name of a column, the score of boosted trees beside its name.
SIGNS = {"first table's ranking": FIRST, "score of boosted trees": r"(gradient boosting|boosted trees)[\s,:]*\d"}
MOVEMENT, LISTENS = "first movement", "server listens"
TARGETS = {MOVEMENT: 10.0, "first table's ranking": 10.0, "score of boosted trees": 10.0}


def table() -> bytes:
    """A table of eight columns, two of which carry the class."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((ROWS, 8))
    y = (1.5 * X[:, 0] + X[:, 1] ** 2 + 0.6 * rng.standard_normal(ROWS) > 0.8).astype(int)
    names = [FIRST, "stride", "age", "height", "mass", "pulse", "sleep", "steps"]
    rows = [
        ",".join([*(f"{v:.4f}" for v in row), "runs" if label else "walks"]) for row, label in zip(X, y, strict=True)
    ]
    return "\n".join([",".join([*names, "gait"]), *rows]).encode()


def visit(page: Page, url: str, patience: float) -> dict[str, float | None]:
    """Seconds until the first screen moves, and from the drop of a table until its answers are there; None for what did
    not come in time.
    """
    page.set_default_timeout(1000 * patience)
    began = time.monotonic()
    page.goto(url)
    page.wait_for_function(MOVED, polling=20)
    seconds: dict[str, float | None] = {MOVEMENT: time.monotonic() - began}
    page.locator("[data-testid=stFileUploader] input[type=file]").wait_for(state="attached")
    dropped = time.monotonic()
    page.set_input_files(
        "[data-testid=stFileUploader] input[type=file]",
        {"name": "gait.csv", "mimeType": "text/csv", "buffer": table()},
    )
    for name, sign in SIGNS.items():
        left = dropped + patience - time.monotonic()
        try:
            page.wait_for_function(SEEN, arg=sign, timeout=max(1000 * left, 1.0), polling=50)
        except PlaywrightTimeout:
            seconds[name] = None
        else:
            seconds[name] = time.monotonic() - dropped
    return seconds


def start(home: Path | None, patience: float) -> dict[str, float | None]:
    """Start the app with everything it keeps in an empty folder, or as it is here, and visit it."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="no-preference")
        began = time.monotonic()
        kept = {} if home is None else {"NUMBA_CACHE_DIR": f"{home}/numba", "HOME": str(home)}
        with running_app(**kept) as app:
            listens = time.monotonic() - began
            return {LISTENS: listens} | visit(page, app.url, patience)


def run(runs: int, patience: float) -> dict[str, Any]:
    """The seconds of every start, on new machines and on this one, whose routines are compiled."""
    found: dict[str, Any] = {"patience": patience, "new": [], "warm": []}
    for _ in range(runs):
        found["warm"].append(start(None, patience))
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            found["new"].append(start(Path(home), patience))
        print(found, flush=True)
    return found


def written(record: dict[str, Any]) -> dict[Path, str]:
    """The page that tells what was measured."""
    found, where = record["found"], record["surroundings"]
    lines = ["| seconds until | new machine | warm | target |", "| --- | --- | --- | --- |"]
    for name in (LISTENS, *TARGETS):
        cells = [_cell([one[name] for one in found[machine]], found["patience"]) for machine in ("new", "warm")]
        lines.append(f"| {name} | {' | '.join(cells)} | {TARGETS.get(name, '')} |")
    lines += ["", f"{where['day']}, {where['machine']}, load {where['load']}; runs on each: {len(found['new'])}."]
    return {PAGE: included(PAGE.read_text(encoding="utf-8"), "\n".join(lines))}


def _cell(seconds: list[float | None], patience: float) -> str:
    there = [one for one in seconds if one is not None]
    if len(there) < len(seconds):
        return f"not within {patience:g}"
    spread = "" if len(there) == 1 else f" ({min(there):.1f} to {max(there):.1f})"
    return f"{np.median(there):.1f}{spread}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--patience", type=float, default=240.0, help="seconds to wait for an answer")
    asked = parser.parse_args()
    keep("first_minute", run(asked.runs, asked.patience))


if __name__ == "__main__":
    main()
