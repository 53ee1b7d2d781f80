"""What a newcomer waits for, in a real browser, on a new machine and on one that has started the
app before.

    python -m benchmarks.start

A new machine has an empty home and an empty cache of compiled functions. The server is started, the
first page opened with nothing in the browser's cache, and a table of 300 rows dropped on it.
Seconds of movement count from the request for the page, those of the ranking from the drop, those
of Explore from the click. A cursor is then dragged along the path: frames are counted where its
line moves. CPU seconds until an estimator is imported stand beside scikit-learn's.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import FilePayload, Page, expect

from benchmarks.lines import Line, reported, usual, written_table
from benchmarks.serving import chromium, running_app

ROWS = 300
FIRST = "knee_angle"
PATIENCE = 240.0
REPEATS = 3
SLIDER = ".player input[type=range]"
CURSOR = ".st-key-path_chart .path-cursor line"
MOVEMENT = "first movement"
EXPLORE = "Explore on a sample"
RANKING = "first table's ranking"
FRAMES = "a frame while dragging"
LIMITS = {  # seconds on a new machine, and on a warm one
    MOVEMENT: (3.0, 3.0),
    EXPLORE: (2.0, 2.0),
    RANKING: (15.0, 5.0),
    FRAMES: (1 / 58, 1 / 58),
}
MOVED = f"""() => {{ const all = (root) => [...root.querySelectorAll('*')].flatMap(
    e => e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e]);
  const slider = all(document).find(e => e.matches('{SLIDER}'));
  if (!slider) return false;
  window.first ??= slider.value;
  return slider.value !== window.first; }}"""
SEEN = """(word) => { const all = (root) => [...root.childNodes].map(n => n.nodeType === 3 ? n.data
  : ['SCRIPT', 'STYLE'].includes(n.tagName) ? '' : all(n) + (n.shadowRoot ? all(n.shadowRoot) : '')).join(' ');
  return location.pathname.endsWith('explore') && all(document.body).includes(word); }"""
WATCH = """(line) => { window.seen = [];
  window.watch = new MutationObserver(() => window.seen.push(performance.now()));
  window.watch.observe(line, {attributes: true, attributeFilter: ['x1']}); }"""
IMPORT = "import time; start = time.process_time(); {}; print(time.process_time() - start)"


def table() -> bytes:
    """A table of eight columns, two of which carry the class."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((ROWS, 8))
    y = 1.5 * X[:, 0] + X[:, 1] ** 2 + 0.6 * rng.standard_normal(ROWS) > 0.8
    names = [FIRST, "stride", "age", "height", "mass", "pulse", "sleep", "steps", "gait"]
    return written_table(names, X, np.where(y, "runs", "walks").tolist())


def drag(page: Page, seconds: float = 3.0) -> float:
    """Seconds a painted frame takes, on average, while the thumb goes there and back."""
    slider = page.locator(SLIDER).first
    box = slider.bounding_box()
    assert box is not None
    low = box["x"] + 9
    span = box["width"] - 18
    middle = box["y"] + box["height"] / 2
    share_at = int(slider.input_value()) / int(slider.get_attribute("max") or 1)
    page.mouse.move(low + span * share_at, middle)
    page.mouse.down()
    page.locator(CURSOR).first.evaluate(WATCH)
    began = time.monotonic()
    while (share := (time.monotonic() - began) / seconds) < 1:
        page.mouse.move(low + span * (1 - abs((4 * share) % 2 - 1)), middle)
    seen = page.evaluate("window.watch.disconnect(), window.seen")
    page.mouse.up()
    return float(np.mean(np.diff(seen))) / 1000


def visit(page: Page, url: str) -> dict[str, float]:
    """Seconds until what a newcomer waits for is there."""
    page.set_default_timeout(1000 * PATIENCE)
    began = time.monotonic()
    page.goto(url)
    page.wait_for_function(MOVED, polling=20)
    seconds = {MOVEMENT: time.monotonic() - began}
    dropped = time.monotonic()
    file: FilePayload = {"name": "gait.csv", "mimeType": "text/csv", "buffer": table()}
    page.set_input_files("[data-testid=stFileUploader] input[type=file]", file)
    page.wait_for_function(SEEN, arg=FIRST, polling=50)
    seconds[RANKING] = time.monotonic() - dropped
    page.goto(f"{url}/data")
    page.get_by_text("Rows for training").first.wait_for()
    clicked = time.monotonic()
    page.get_by_role("link", name="Explore").first.click()
    page.wait_for_selector(SLIDER)
    seconds[EXPLORE] = time.monotonic() - clicked
    page.goto(f"{url}/explore?data=breast_cancer&look=path")
    page.locator(CURSOR).first.wait_for(state="attached")
    expect(page.get_by_role("progressbar")).to_have_count(0, timeout=1000 * PATIENCE)
    page.wait_for_timeout(2000)
    return seconds | {FRAMES: drag(page)}


def start(home: Path | None) -> dict[str, float]:
    """Start the app with everything it keeps in an empty folder, or as it is here, and visit it."""
    kept = {} if home is None else {"NUMBA_CACHE_DIR": f"{home}/numba", "HOME": str(home)}
    with chromium() as browser, running_app(environment=kept) as app:
        page = browser.new_page(
            viewport={"width": 1280, "height": 900}, reduced_motion="no-preference"
        )
        return visit(page, app.url)


def imported(statement: str) -> float:
    """CPU seconds of a statement in a process of its own."""
    command = [sys.executable, "-c", IMPORT.format(statement)]
    there = usual() | {"OPENBLAS_NUM_THREADS": "1"}
    return float(
        subprocess.run(command, env=there, capture_output=True, text=True, check=True).stdout
    )


def run() -> list[Line]:
    """What a newcomer waits for beside its limit, and an import beside scikit-learn's."""
    warm = [start(None) for _ in range(REPEATS)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        new = [start(Path(home))]
    lines = [
        Line(f"{name}, {machine}", [one[name] for one in found], "s", LIMITS[name][k], "limit")
        for k, (machine, found) in enumerate((("new machine", new), ("warm", warm)))
        for name in LIMITS
    ]
    peer = "from sklearn.svm import SVC"
    pairs = [
        (imported("from mklcore import LpMKLClassifier"), imported(peer)) for _ in range(REPEATS)
    ]
    ours, theirs = zip(*pairs, strict=True)
    return [
        *lines,
        Line(
            "importing an estimator",
            ours,
            "CPU s",
            float(np.median(theirs)),
            peer,
            "which ours needs as well",
        ),
    ]


if __name__ == "__main__":
    print(reported(run()))
