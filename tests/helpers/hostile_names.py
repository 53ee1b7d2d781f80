"""Names that would be markup, and a browser that looks whether the app's pages keep them text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.serving import settled

WAIT = 120.0
TURN = 5.0  # seconds for another page's title to come: the page asked for may be the one in front
TURNED = "([title, until]) => document.querySelector('h1')?.innerText !== title || Date.now() > until"
FILE = "<img src=x onerror=alert(7)>.csv"
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    '"><svg onload=alert(3)>',
    "</script><script>alert(4)</script>",
    "![x](http://evil.example/x.png)",
    "[l](javascript:alert(5))",
    "{{7*7}}<iframe src=http://evil.example>",
    "'-alert(6)-'",
)
# What other readers than a browser would obey or stumble over: Python, spreadsheets, LaTeX, Markdown, terminals.
FURTHER = (
    '"; import os; os.system("x") #',
    "{{7*7}}",
    "${x}",
    "{x!r} {0}",
    r"$\href{javascript:alert(1)}{x}$",
    "=cmd|' /C calc'!A1",
    "+1+cmd|x",
    "two\nlines",
    "\u202eevil\u202c",
    "\\",
    r"\u0041\n\\",
    "[l](http://evil.example)",
    "x" * 5000,
    "n\0l",
    "\U0001f600\U0001f469\u200d\U0001f4bb",
    "it's",
    '"',
    "\u201cq\u201d",
    "`code`",
    "%{x} %s",
    "--><!--",
    ":red[x] :material/home:",
)
PAGES = ("Data", "Kernels", "Explore", "Predict", "Compare", "Hulls", "Theory", "Experiments", "Lessons")
TRACES = "#injected, img[src=x], iframe, [onerror], svg[onload], a[href^=javascript], [src*=evil]"


class Seen:
    """What pages of a browser did: dialogs they opened, and whom they asked."""

    def __init__(self) -> None:
        self.dialogs, self.asked = list[str](), list[str]()

    def listen(self, page: Any) -> Any:
        """Return the page, listened to."""
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.asked.append(request.url))
        return page

    @property
    def others(self) -> list[str]:
        """The addresses that were asked besides the app and the file itself."""
        return [url for url in self.asked if not url.startswith(("file:", "data:", "http://127.0.0.1", "blob:"))]


def table(names: Sequence[str] = HOSTILE, target: str = "<b id=injected>target</b>") -> bytes:
    """Sixty rows whose columns, classes and target are called such names."""
    chance, file = np.random.default_rng(0), io.StringIO()
    rows = csv.writer(file)
    rows.writerow([*names, target])
    for k, row in enumerate(chance.standard_normal((60, len(names)))):
        rows.writerow([*(f"{v:.3f}" for v in row), names[k % 2]])
    return file.getvalue().encode()


def upload(seen: Seen, page: Any, url: str, content: bytes) -> None:
    """Bring a table to an app."""
    seen.listen(page)
    page.set_default_timeout(1000 * WAIT)
    page.goto(f"{url}/?widths=1&each=linear&degree=0")
    settled(page, WAIT)
    file = {"name": FILE, "mimeType": "text/csv", "buffer": content}
    page.set_input_files("[data-testid=stFileUploader] input[type=file]", file)
    page.get_by_text("2 classes").or_(page.get_by_text("two classes")).first.wait_for()


def visited(page: Any, url: str) -> tuple[int, str, bool]:
    """How many names were tried on every page of an app, what a browser saw of them, and whether they stayed text."""
    seen, injected, shown = Seen(), 0, 0
    names = [name for name in HOSTILE + FURTHER if "\0" not in name]
    upload(seen, page, url, table(names))
    for link in PAGES:
        title = page.locator("h1").first.inner_text()
        page.get_by_role("link", name=link).first.click()
        page.wait_for_function(TURNED, arg=[title, page.evaluate("Date.now()") + 1000 * TURN])
        settled(page, WAIT)
        for tab in range(page.get_by_role("tab").count()):
            if page.get_by_role("tab").nth(tab).is_visible():
                page.get_by_role("tab").nth(tab).click()
                settled(page, WAIT)
        injected += int(page.locator(TRACES).count())
        shown += int(page.get_by_test_id("stException").count() == 0)
    count, saw, held = _reported(seen, injected, f"{shown} of {len(PAGES)} pages", len(names))
    return count, saw, held and shown == len(PAGES)


def _reported(seen: Seen, injected: int, where: str, names: int = len(HOSTILE)) -> tuple[int, str, bool]:
    saw = f"{len(seen.dialogs)} dialogs, {injected} injected nodes, {len(seen.others)} requests elsewhere from {where}"
    return names + 2, saw, not (seen.dialogs or injected or seen.others)
