"""How live the Explore page is: frames per second while dragging, and milliseconds from release to the new numbers.

python -m benchmarks.live [--moves 30] [--points 100]

A table of 1000 rows and 43 columns gives 500 training rows and 50 kernels. Frames are counted where the cursor's line
moves, with bars and texts following it. From a release two times are reported: until the evidence beside the picture
(certificate, kernels used, scores) stands at the new point, and until the server has confirmed it in the number box.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from playwright.sync_api import Page, expect

from benchmarks.serving import chromium, running_app, settled

CHART = ".st-key-path_chart .js-plotly-plot"
CURSOR = f"{CHART} .path-cursor line"
SLIDER = ".player input[type=range]"
PATIENCE = 180_000
WATCH = """(selector) => {
  const line = document.querySelector(selector);
  window.seen = [];
  window.watch = new MutationObserver(() => window.seen.push(performance.now()));
  window.watch.observe(line, {attributes: true, attributeFilter: ['x1']});
}"""
# Everything is timed inside the page: from the pointer's release to the frame in which a number has changed.
TIMER = """() => {
  const deep = (root, name) => { const found = root.querySelector(name); if (found) return found;
    for (const { shadowRoot } of root.querySelectorAll('*')) {
      const hit = shadowRoot && deep(shadowRoot, name);
      if (hit) return hit;
    } };
  const facts = () => deep(document.querySelector('.st-key-texts_facts') || document, '.texts')?.textContent;
  const box = () => document.querySelector('input[aria-label="C, exactly"]').value;
  window.times = [];
  addEventListener('pointerdown', () => { window.before = {facts: facts(), box: box()}; }, true);
  addEventListener('pointerup', () => {
    const start = performance.now(), got = {}, before = window.before;
    const look = () => {
      if (got.facts === undefined && facts() !== before.facts) got.facts = performance.now() - start;
      if (got.box === undefined && box() !== before.box) got.box = performance.now() - start;
      if (got.box === undefined && performance.now() - start < 10000) requestAnimationFrame(look);
      else window.times.push(got);
    };
    look();
  }, true);
}"""


def table(rows: int = 1000, columns: int = 43) -> bytes:
    """A table of two classes, of which four columns tell something."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    y = (X[:, 0] + X[:, 1] ** 2 - X[:, 2] * X[:, 3] + rng.standard_normal(rows) > 0.8).astype(int)
    lines = [",".join([*(f"{v:.4f}" for v in row), str(label)]) for row, label in zip(X, y, strict=True)]
    return "\n".join([",".join([*(f"x{j}" for j in range(columns)), "label"]), *lines]).encode()


def open_explore(page: Page, url: str) -> None:
    """Upload the table and wait for its path."""
    page.goto(url)
    settled(page)
    page.set_input_files(
        "[data-testid=stFileUploader] input[type=file]",
        {"name": "table.csv", "mimeType": "text/csv", "buffer": table()},
    )
    page.wait_for_selector("text=1000 rows", timeout=PATIENCE)
    settled(page)
    page.get_by_role("link", name="Explore").click()
    page.get_by_text("Path", exact=True).first.click(timeout=PATIENCE)
    expect(page.locator(CURSOR).first).to_be_attached(timeout=PATIENCE)
    expect(page.get_by_role("progressbar")).to_have_count(0, timeout=PATIENCE)
    settled(page)
    page.wait_for_timeout(2000)


def track(page: Page) -> tuple[float, float, float]:
    """The slider's first thumb position, its span and its height, in pixels."""
    box = page.locator(SLIDER).bounding_box()
    assert box is not None
    return box["x"] + 9, box["width"] - 18, box["y"] + box["height"] / 2


def thumb(page: Page) -> float:
    """Where the thumb is, as a share of the track."""
    slider = page.locator(SLIDER)
    return int(slider.input_value()) / int(slider.get_attribute("max") or 1)


def drag(page: Page, seconds: float = 3.0) -> list[float]:
    """Milliseconds between painted frames while the thumb goes there and back."""
    low, span, middle = track(page)
    page.mouse.move(low + span * thumb(page), middle)
    page.mouse.down()
    page.evaluate(WATCH, CURSOR)
    began = time.monotonic()
    while (share := (time.monotonic() - began) / seconds) < 1:
        page.mouse.move(low + span * (1 - abs((4 * share) % 2 - 1)), middle)
    seen = page.evaluate("window.watch.disconnect(), window.seen")
    page.mouse.up()
    return np.diff(seen).tolist()


def release(page: Page, moves: int) -> tuple[list[float], list[float]]:
    """Milliseconds from a release to the evidence and to the confirmed number, over ``moves`` releases."""
    rng = np.random.default_rng(1)
    page.evaluate(TIMER)
    for _ in range(moves):
        low, span, middle = track(page)
        goal = float(rng.uniform())
        while abs(goal - thumb(page)) < 0.1:
            goal = float(rng.uniform())
        page.mouse.move(low + span * thumb(page), middle)
        page.mouse.down()
        page.mouse.move(low + span * goal, middle, steps=6)
        done = len(page.evaluate("window.times"))
        page.mouse.up()
        page.wait_for_function("(done) => window.times.length > done", arg=done, timeout=20_000)
        page.wait_for_timeout(400)
    times = page.evaluate("window.times")[-moves:]
    return [t.get("facts", 0.0) for t in times], [t["box"] for t in times]


def reported(name: str, values: list[float]) -> str:
    """One line: median and 95th percentile."""
    return f"{name}: median {np.median(values):.0f} ms, 95 % {np.percentile(values, 95):.0f} ms ({len(values)} moves)"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--moves", type=int, default=30)
    words.add_argument("--points", type=int, default=100, help="points of the path that is dragged")
    asked = words.parse_args()
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    before = f"import pages._parts.derive.paths as paths; paths.POINTS = {asked.points}; paths.SMALL_ENTRIES = 1e12"
    with running_app(before=before) as app, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        open_explore(page, app.url)
        points = int(page.locator(SLIDER).get_attribute("max") or 0) + 1
        gaps = drag(page)
        print(
            f"drag over {points} points: {1000 / np.mean(gaps):.0f} frames/s, median {np.median(gaps):.0f} ms",
            flush=True,
        )
        page.wait_for_timeout(1500)
        evidence, confirmed = release(page, asked.moves)
    print(reported("release to evidence", [max(value, 0.0) for value in evidence]))
    print(reported("release to the confirmed number", confirmed))
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
