"""A whole page inside the output of a cell: its styles and scripts stay apart from those of the notebook."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path as File

HEIGHT = 620  # pixels
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)


@dataclass(frozen=True)
class Explorable:
    """A page that can be dragged, as the output of a cell; ``plain`` is HTML for a viewer that shows no frames.

    ``page`` is one whole HTML file, as ``figures.takeaway`` makes it.
    """

    page: str
    plain: str = ""
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        return framed(self.page, self.plain, self.height)

    def __repr__(self) -> str:
        return f"Explorable({title(self.page)!r})"

    def save(self, file: str | File) -> None:
        """Write the page as one HTML file, which opens without a server."""
        File(file).write_text(self.page, encoding="utf-8")


def framed(page: str, plain: str = "", height: int = HEIGHT) -> str:
    """Markup for a cell: the page in a frame that may run its own script and reach nothing else, and ``plain`` folded
    below.
    """
    frame = (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" title="{escape(title(page))}" loading="lazy" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
    )
    return frame + (f"<details><summary>As a table</summary>{plain}</details>" if plain else "")


def title(page: str) -> str:
    """The title of a page, as text of its markup."""
    found = _TITLE.search(page)
    return found[1] if found else ""
