"""Names that would be markup, wherever the app hands them out: on its pages, in its report and in its notebook.

python -m benchmarks.attacks hostile_names_in_report hostile_names_in_notebook
"""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serving import chromium, running_app, settled
from mklcore.errors import DataError

WAIT = 120.0
FILE = "<img src=x onerror=alert(7)>.csv"
HOSTILE = (
    "<img src=x onerror=alert(1)>", "<script>alert(2)</script>", "\"><svg onload=alert(3)>", "</script><script>alert(4)</script>",
    "![x](http://evil.example/x.png)", "[l](javascript:alert(5))", "{{7*7}}<iframe src=http://evil.example>", "'-alert(6)-'",
)  # fmt: skip
TRACES = "#injected, img[src=x], iframe, [onerror], svg[onload], a[href^=javascript], [src*=evil]"


class Heard:
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
        """Whoever was asked besides the app and the file itself."""
        return [url for url in self.asked if not url.startswith(("file:", "data:", "http://127.0.0.1", "blob:"))]


def table() -> bytes:
    """Sixty rows whose columns, classes and target are called such names."""
    chance = np.random.default_rng(0)
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in HOSTILE]
    rows = [
        ",".join([*(f"{v:.3f}" for v in row), quoted[k % 2]])
        for k, row in enumerate(chance.standard_normal((60, len(HOSTILE))))
    ]
    return "\n".join([",".join([*quoted, '"<b id=injected>target</b>"']), *rows]).encode()


@contextmanager
def uploaded(heard: Heard) -> Iterator[tuple[Any, Any]]:
    """A browser, and its page of the app with that table."""
    with running_app() as app, chromium() as browser:
        page = heard.listen(browser.new_page())
        page.set_default_timeout(1000 * WAIT)
        page.goto(f"{app.url}/?widths=1&each=linear&degree=0")
        settled(page, WAIT)
        file = {"name": FILE, "mimeType": "text/csv", "buffer": table()}
        page.set_input_files("[data-testid=stFileUploader] input[type=file]", file)
        page.get_by_text("2 classes").or_(page.get_by_text("two classes")).first.wait_for()
        yield browser, page


def taken(page: Any, button: Any, to: Path) -> Path:
    """The file behind a button."""
    with page.expect_download() as given:
        button.click()
    given.value.save_as(to)
    return to


def report() -> tuple[int, str, bool]:
    """How many names were tried, what a browser saw of them in pages and report, and whether they stayed text."""
    heard = Heard()
    with tempfile.TemporaryDirectory() as folder, uploaded(heard) as (browser, page):
        page.get_by_role("link", name="Predict").first.click()
        page.get_by_role("tab", name="Take away").click()
        file = taken(page, page.locator(".st-key-away_report button"), Path(folder) / "report.html")
        injected = page.locator("#injected, img[src=x], iframe[src*=evil]").count()
        injected += traces(browser, heard, file)
    return _told(heard, injected, "the report")


def notebook() -> tuple[int, str, bool]:
    """The same of the notebook: it is run, and laid open as a viewer would that lets all markup through."""
    from nbclient import NotebookClient

    heard = Heard()
    with tempfile.TemporaryDirectory() as folder, uploaded(heard) as (browser, page):
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
        injected = traces(browser, heard, file)
    return _told(heard, injected, "the notebook")


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


def traces(browser: Any, heard: Heard, file: Path) -> int:
    """How many nodes of a file, opened in a window of its own, are what a name would have made; it has to show one as text."""
    page = heard.listen(browser.new_page())
    page.goto(file.as_uri())
    page.wait_for_load_state("networkidle")
    if HOSTILE[0] not in page.locator("body").inner_text():
        raise DataError(f"{file.name} names no column, so nothing was tried.")
    return int(page.locator(TRACES).count())


def _told(heard: Heard, injected: int, where: str) -> tuple[int, str, bool]:
    saw = (
        f"{len(heard.dialogs)} dialogs, {injected} injected nodes, {len(heard.others)} requests elsewhere from {where}"
    )
    return len(HOSTILE) + 2, saw, not (heard.dialogs or injected or heard.others)
