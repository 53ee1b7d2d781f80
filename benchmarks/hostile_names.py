"""Names that would be markup, wherever the app hands them out: on its pages, in its report and in its notebook.

python -m benchmarks.attacks hostile_names_in_report hostile_names_in_notebook hostile_names_on_pages
"""

from __future__ import annotations

import ast
import csv
import io
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serving import chromium, running_app, settled
from mklcore.errors import DataError

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


@contextmanager
def uploaded(seen: Seen) -> Iterator[tuple[Any, Any]]:
    """A browser, and its page of the app with that table."""
    with running_app() as app, chromium() as browser:
        page = browser.new_page()
        upload(seen, page, app.url, table())
        yield browser, page


def upload(seen: Seen, page: Any, url: str, content: bytes) -> None:
    """Bring a table to an app."""
    seen.listen(page)
    page.set_default_timeout(1000 * WAIT)
    page.goto(f"{url}/?widths=1&each=linear&degree=0")
    settled(page, WAIT)
    file = {"name": FILE, "mimeType": "text/csv", "buffer": content}
    page.set_input_files("[data-testid=stFileUploader] input[type=file]", file)
    page.get_by_text("2 classes").or_(page.get_by_text("two classes")).first.wait_for()


def pages() -> tuple[int, str, bool]:
    """The same of every page of the app: each is opened, and its tabs."""
    with running_app() as app, chromium() as browser:
        return visited(browser.new_page(), app.url)


def visited(page: Any, url: str) -> tuple[int, str, bool]:
    """The same of every page of an app that runs, in a page of a browser."""
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


def taken(page: Any, button: Any, to: Path) -> Path:
    """The file behind a button."""
    with page.expect_download() as given:
        button.click()
    given.value.save_as(to)
    return to


def report() -> tuple[int, str, bool]:
    """How many names were tried, what a browser saw of them in pages and report, and whether they stayed text."""
    seen = Seen()
    with tempfile.TemporaryDirectory() as folder, uploaded(seen) as (browser, page):
        page.get_by_role("link", name="Predict").first.click()
        page.get_by_role("tab", name="Take away").click()
        file = taken(page, page.locator(".st-key-away_report button"), Path(folder) / "report.html")
        injected = page.locator("#injected, img[src=x], iframe[src*=evil]").count()
        injected += traces(browser, seen, file)
    return _reported(seen, injected, "the report")


def notebook() -> tuple[int, str, bool]:
    """The same of the notebook: it is run, and laid open as a viewer would that lets all markup through."""
    from nbclient import NotebookClient

    seen = Seen()
    with tempfile.TemporaryDirectory() as folder, uploaded(seen) as (browser, page):
        page.get_by_role("link", name="Explore").first.click()
        page.locator(".player input").wait_for()
        settled(page, WAIT)
        page.locator(".st-key-screen button").first.click()
        button = page.get_by_role("button", name="Notebook", exact=True)
        cells = _cells(taken(page, button, Path(folder) / "screen.ipynb"))
        named = re.search(r"^FILE = (.*?)(?:  #.*)?$", "\n".join(cell.source for cell in cells.cells), re.MULTILINE)
        (Path(folder) / ast.literal_eval(named[1] if named else repr(FILE))).write_bytes(table())
        NotebookClient(cells, timeout=WAIT, resources={"metadata": {"path": folder}}).execute()
        file = Path(folder) / "notebook.html"
        file.write_text(laid_open(cells), encoding="utf-8")
        injected = traces(browser, seen, file)
    return _reported(seen, injected, "the notebook")


def _cells(file: Path) -> Any:
    """The notebook, with what a person would look at besides."""
    import nbformat

    cells = nbformat.reads(file.read_text(encoding="utf-8"), as_version=4)
    cells.cells += [nbformat.v4.new_code_cell(name) for name in ("data", "kernels", "stack", "path", "fitted")]
    return cells


def laid_open(cells: Any) -> str:
    """A page with everything of a notebook on it: its texts as Markdown that may hold HTML, its outputs as they are."""
    from markdown import markdown

    parts = ["<!doctype html><meta charset=utf-8>"]
    for cell in cells.cells:
        parts.append(markdown(cell.source) if cell.cell_type == "markdown" else f"<pre>{escape(cell.source)}</pre>")
        for output in cell.get("outputs", ()):
            shown = output.get("data", {})
            plain = escape("".join(shown.get("text/plain", output.get("text", ""))))
            parts.append("".join(shown.get("text/html", f"<pre>{plain}</pre>")))
    return "\n".join(parts)


def traces(browser: Any, seen: Seen, file: Path) -> int:
    """How many nodes of a file, opened in a window of its own, are what a name would have made; it has to show one as
    text.
    """
    page = seen.listen(browser.new_page())
    page.goto(file.as_uri())
    page.wait_for_load_state("networkidle")
    if HOSTILE[0] not in page.locator("body").inner_text():
        raise DataError(f"{file.name} names no column, so nothing was tried.")
    return int(page.locator(TRACES).count())


def _reported(seen: Seen, injected: int, where: str, names: int = len(HOSTILE)) -> tuple[int, str, bool]:
    saw = f"{len(seen.dialogs)} dialogs, {injected} injected nodes, {len(seen.others)} requests elsewhere from {where}"
    return names + 2, saw, not (seen.dialogs or injected or seen.others)
