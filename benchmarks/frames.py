"""How smoothly a saved page drags: frames per second, and what one frame costs the browser's main thread.

python -m benchmarks.frames [--seconds 5]

A path of 100 points over 50 and over 400 kernels, as a file opened from disk, beside the same players over plotly's
figures as the app mounts them. Every frame moves the cursor by one point, with lines, bars, texts and scores following
it; counted are the frames in which the line has moved. Sixty is all that a screen shows.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path as File

import numpy as np
from playwright.sync_api import Browser, Page
from plotly.offline import get_plotlyjs

from benchmarks.serving import chromium
from mklcore.figures import captions, moving, score_path, weight_path
from mklcore.figures.players import bundle
from mklcore.figures.takeaway import path_page
from mklcore.figures.takeaway.page import as_json
from mklcore.paths.path import Path
from mklcore.solvers.driver import Status

POINTS = 100
SIZES = (50, 400)
# Each frame asks for the next point; the cursor's own frame draws it. Where the line stands is read once a frame.
DRAG = """async (seconds) => {
  const all = (root) => [root, ...[...root.querySelectorAll('*')]
    .flatMap((one) => one.shadowRoot ? all(one.shadowRoot) : [])];
  const find = (name) => all(document).map((root) => root.querySelector(name)).find(Boolean);
  const [range, line] = [find('input[type=range]'), find('.path-cursor line')];
  let [moved, frames, before, way] = [0, 0, '', 1];
  const start = performance.now();
  while (performance.now() - start < 1000 * seconds) {
    await new Promise(requestAnimationFrame);
    frames += 1;
    const at = line.getAttribute('x1');
    moved += at !== before;
    before = at;
    if (+range.value + way > +range.max || +range.value + way < 0) way = -way;
    range.value = +range.value + way;
    range.dispatchEvent(new Event('input'));
  }
  return { fps: 1000 * moved / (performance.now() - start), frames };
}"""
OVER_PLOTLY = """
const turns = { chart: 'path_chart', charts: ['path_chart', 'score_chart'], turn: 1 };
for (const [name, data] of Object.entries(JSON.parse(document.getElementById('data').textContent))) {
  const host = document.getElementById(name);
  const shadow = host.attachShadow({ mode: 'open' });
  shadow.innerHTML = '<style>' + PLAYERS[name].css + '</style>' + PLAYERS[name].html;
  PLAYERS[name].play({ parentElement: shadow, data: { ...turns, ...data }, setStateValue: () => {} });
}
"""


def a_path(n_kernels: int, n_points: int = POINTS) -> Path:
    """A path as wide as asked for, with weights that move at every point."""
    rng = np.random.default_rng(0)
    walks = np.abs(np.cumsum(rng.standard_normal((n_points, n_kernels)), axis=0))
    weights = walks / walks.sum(axis=1, keepdims=True)
    ones, names = np.ones(n_points), tuple(f"RBF {m + 1} × median, column {m + 1}" for m in range(n_kernels))
    scores = 0.8 + 0.1 * np.sin(np.linspace(0, 3, n_points))
    return Path(
        "C",
        np.geomspace(0.01, 100, n_points),
        weights,
        ones,
        ones,
        1e-4 * ones,
        np.full(n_points, n_kernels),
        scores + 0.05,
        scores,
        ones,
        ones,
        (Status.CONVERGED,) * n_points,
        (None,) * n_points,
        (None,) * n_points,
        names,
        ("rbf",) * n_kernels,
        "accuracy",
    )


def over_plotly(path: Path) -> str:
    """The page before: the same players over figures of plotly's."""
    rows, table = moving.kernel_rows(path, dark=False), moving.kernel_bars(path)
    facts = [
        [[captions.certificate(path, k)], captions.cost(path, k), captions.measured(path, k)]
        for k in range(len(path.values))
    ]
    data = {
        "bars": {**moving.bars(path, rows, table, "Kernel weights θ at ", index=0), "set": "bars"},
        "texts": {"set": "texts", "texts": facts, "widths": [2, 1, 1], "index": 0, "waiting": False},
        "path": moving.slider(path, index=0),
    }
    figures = {"path_chart": weight_path(path), "score_chart": score_path(path, narrow=True)}
    drawn = "".join(
        figure.update_layout(width=640 if key == "path_chart" else 320).to_html(
            full_html=False, include_plotlyjs=False, div_id=key
        )
        for key, figure in figures.items()
    )
    hosts = "".join(f'<div id="{name}"></div>' for name in data)
    return (
        f'<!DOCTYPE html><meta charset="utf-8"><script>{get_plotlyjs()}</script>{drawn}{hosts}'
        f'<script type="application/json" id="data">{as_json(data)}</script>'
        f"<script>(() => {{\n{bundle(list(data))}\n{OVER_PLOTLY}}})();</script>"
    )


def measure(page: Page, seconds: int) -> tuple[float, float, float]:
    """Frames a second in the median second and in the best one, and CPU ms of the main thread per frame."""
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})  # CPU time: what else runs here does not count

    def busy() -> float:
        metrics = client.send("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    page.evaluate(DRAG, 0.5)
    before = busy()
    found = [page.evaluate(DRAG, 1) for _ in range(seconds)]
    rates, frames = [one["fps"] for one in found], sum(one["frames"] for one in found)
    return float(np.median(rates)), max(rates), 1000 * (busy() - before) / frames


def lines(browser: Browser, seconds: int) -> list[str]:
    """One line per page and number of kernels."""
    reported = []
    with tempfile.TemporaryDirectory() as folder:
        for n_kernels in SIZES:
            path = a_path(n_kernels)
            pages = {"over plotly": over_plotly(path), "one file": path_page(path)}
            for name, text in {**pages, "one file, all kernels open": pages["one file"]}.items():
                file = File(folder) / "page.html"
                file.write_text(text, encoding="utf-8")
                page = browser.new_page(viewport={"width": 1280, "height": 720})
                page.goto(file.as_uri())
                page.locator(".path-cursor line").first.wait_for(state="attached")
                if name.endswith("open"):
                    page.locator("summary").first.click()
                fps, best, cost = measure(page, seconds)
                reported.append(
                    f"{n_kernels:4d} kernels x {POINTS}, {name:27s} {fps:5.1f} frames/s, {best:5.1f} in the best "
                    f"second, "
                    f"{cost:5.2f} CPU ms of the main thread per frame, {len(text.encode()) / 1e6:.2f} MB"
                )
                page.close()
    return reported


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5)
    asked = parser.parse_args()
    with chromium() as browser:
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print("\n".join(lines(browser, asked.seconds)))


if __name__ == "__main__":
    main()
