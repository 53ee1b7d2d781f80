"""Make the README's picture: the Explore page on the usual sample, light, once its path is solved.

python -m benchmarks.screenshot [--dark] [OUTPUT]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect

from benchmarks.serving import ROOT, chromium, running_app, settled

SIZE: ViewportSize = {"width": 1440, "height": 900}
PATIENCE = 120_000


def ask_for_path(page: Page) -> None:
    """Press the page's own button where the path is not computed unasked, and wait until its chart is drawn."""
    chart = page.locator(".st-key-score_chart .js-plotly-plot g.xy").first
    button = page.get_by_role("button", name="Compute the path")
    expect(chart.or_(button).first).to_be_visible(timeout=PATIENCE)
    if button.is_visible():
        button.click()
    expect(chart).to_be_attached(timeout=PATIENCE)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("output", nargs="?", type=Path, default=ROOT / "benchmarks" / "explore.png")
    words.add_argument("--dark", action="store_true", help="take the picture in dark colours")
    asked = words.parse_args()
    with running_app() as app, chromium() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="dark" if asked.dark else "light")
        page.goto(f"{app.url}/explore?look=path")
        settled(page, PATIENCE / 1000)
        ask_for_path(page)
        expect(page.get_by_role("progressbar")).to_have_count(0, timeout=PATIENCE)
        settled(page, PATIENCE / 1000)
        page.wait_for_timeout(1000)  # fonts and the cursor's first frame
        page.screenshot(path=asked.output)
    print(f"Wrote {asked.output}.")


if __name__ == "__main__":
    main()
