"""Start the README's server and open every page of its menu in headless Chromium; any exception
fails.

The first page opened is the last of the menu, by its own address: the hardest first request a
server can get.
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks.serving import ROOT, App, chromium, running_app, settled


def addresses() -> list[str]:
    """One address per page, the last first."""
    return sorted((path.parent.name for path in (ROOT / "pages").glob("*/page.py")), reverse=True)


def opened(browser: Browser, app: App, name: str) -> list[str]:
    """A sentence about what went wrong when the page was opened."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"in the browser: {error}"))
    page.goto(f"{app.url}/{name}")
    settled(page)
    faults += [
        f"on the page: {text}" for text in page.get_by_test_id("stException").all_inner_texts()
    ]
    links = page.get_by_test_id("stTopNavLink").count()
    wanted = len(addresses())
    if links != wanted:
        faults.append(f"the menu has {links} links for {wanted} pages")
    print(f"{name}: {page.get_by_role('heading').first.inner_text()}")
    page.close()
    return [f"{name}, {fault}" for fault in faults]


def main() -> int:
    with running_app() as app, chromium() as browser:
        print(f"The server answers its health endpoint; pages to open: {', '.join(addresses())}.")
        faults = [fault for name in addresses() for fault in opened(browser, app, name)]
        printed = app.tracebacks()
    if printed:
        faults.append(f"the server printed a traceback:\n{printed}")
    print("\n".join(faults) or "Every page opened without an exception.")
    return 1 if faults else 0


if __name__ == "__main__":
    assert Path.cwd() == ROOT, f"Run this from {ROOT}."
    sys.exit(main())
