"""Make the moving picture of the README: a cursor dragged along the path of an answer, in its
one-file page.

python -m benchmarks.screenshot [OUTPUT.gif]
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize

import mklcore as mkl
from benchmarks.lines import command_line
from benchmarks.serving import ROOT, chromium

SIZE: ViewportSize = {"width": 1280, "height": 860}
WIDTH = 960  # pixels of the moving picture
COLOURS = 96  # of its palette
# between two points, and on the first and the last frame
FRAME_MS = 240
REST_MS = 1200
SLIDER = "[data-leads] input[type=range]"


def frames(page: Page) -> list[Image.Image]:
    """One picture per point of the path, from its first point to its last."""
    slider = page.locator(SLIDER).first
    slider.focus()
    slider.press("Home")
    taken = [_frame(page)]
    for _ in range(int(slider.get_attribute("max") or 0)):
        slider.press("ArrowRight")
        taken.append(_frame(page))
    return taken


def _frame(page: Page) -> Image.Image:
    page.wait_for_timeout(60)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return picture.resize(
        (WIDTH, round(WIDTH * picture.height / picture.width)), Image.Resampling.LANCZOS
    )


def save(pictures: list[Image.Image], output: Path) -> None:
    """Write a GIF with one palette for all frames, so that what does not move is stored once."""
    palette = pictures[len(pictures) // 2].quantize(COLOURS)
    shown = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    waits = [REST_MS, *[FRAME_MS] * (len(shown) - 2), REST_MS]
    shown[0].save(
        output, save_all=True, append_images=shown[1:], duration=waits, loop=0, optimize=True
    )


def main() -> None:
    words = command_line(__doc__)
    words.add_argument(
        "output", nargs="?", type=Path, default=ROOT / "docs" / "pictures" / "explore.gif"
    )
    asked = words.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "answer.html"
        file.write_text(mkl.explore(mkl.load_sample("breast_cancer")).page(), encoding="utf-8")
        page = browser.new_page(viewport=SIZE)
        page.goto(file.as_uri())
        save(frames(page), asked.output)
    print(f"Wrote {asked.output}, {asked.output.stat().st_size / 1e6:.2f} MB.")


if __name__ == "__main__":
    main()
