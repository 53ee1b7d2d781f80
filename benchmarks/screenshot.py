"""Make the moving picture of the README: a cursor dragged along the path on the Explore page.

python -m benchmarks.screenshot [--dark] [--still FILE.png] [OUTPUT.gif]
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, expect

from benchmarks.serving import ROOT, chromium, running_app, settled

SIZE: ViewportSize = {"width": 1280, "height": 800}
PATIENCE = 120_000
WIDTH = 960  # pixels of the moving picture
COLOURS = 96  # of its palette
FRAME_MS = 140
REST_MS = 1200  # on the first and on the last frame
SLIDER = ".player input[type=range]"


def ask_for_path(page: Page) -> None:
    """Press the page's own button where the path is not computed on its own, and wait until its chart is drawn."""
    chart = page.locator(".st-key-score_chart .js-plotly-plot g.xy").first
    button = page.get_by_role("button", name="Compute the path")
    expect(chart.or_(button).first).to_be_visible(timeout=PATIENCE)
    if button.is_visible():
        button.click()
    expect(chart).to_be_attached(timeout=PATIENCE)


def frames(page: Page) -> list[Image.Image]:
    """One picture per point of the path, from its first point to its last."""
    slider = page.locator(SLIDER).first
    slider.scroll_into_view_if_needed()
    slider.focus()
    slider.press("Home")
    first, last = (int(slider.get_attribute(name) or 0) for name in ("min", "max"))
    taken = [_frame(page)]
    for _ in range(last - first):
        slider.press("ArrowRight")
        taken.append(_frame(page))
    return taken


def _frame(page: Page) -> Image.Image:
    page.wait_for_timeout(60)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return picture.resize((WIDTH, round(WIDTH * picture.height / picture.width)), Image.Resampling.LANCZOS)


def save(pictures: list[Image.Image], output: Path) -> None:
    """Write a GIF with one palette for all frames, so that what does not move is stored once."""
    palette = pictures[len(pictures) // 2].quantize(COLOURS)
    shown = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    waits = [REST_MS, *[FRAME_MS] * (len(shown) - 2), REST_MS]
    shown[0].save(output, save_all=True, append_images=shown[1:], duration=waits, loop=0, optimize=True)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("output", nargs="?", type=Path, default=ROOT / "docs" / "pictures" / "explore.gif")
    words.add_argument("--still", type=Path, help="write the page at rest to this file as well")
    words.add_argument("--dark", action="store_true", help="take the picture in dark colours")
    asked = words.parse_args()
    with running_app() as app, chromium() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="dark" if asked.dark else "light", reduced_motion="reduce")
        page.goto(f"{app.url}/explore?look=path")
        settled(page, PATIENCE / 1000)
        ask_for_path(page)
        expect(page.get_by_role("progressbar")).to_have_count(0, timeout=PATIENCE)
        settled(page, PATIENCE / 1000)
        page.wait_for_timeout(1000)  # fonts and the cursor's first frame
        if asked.still:
            page.screenshot(path=asked.still)
        save(frames(page), asked.output)
    print(f"Wrote {asked.output}, {asked.output.stat().st_size / 1e6:.2f} MB.")


if __name__ == "__main__":
    main()
