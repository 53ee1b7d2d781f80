"""Paths and hulls as interactive outputs of notebook cells.

``path.explore()`` shows a player that needs neither a server nor a kernel, so it also moves in a
saved notebook. ``path.explore(widget=True)`` reports its cursor to Python as ``index`` (pip install
'mklcore[notebook]'). ``hull.explore()`` shows one fitted hull.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path as File
from types import SimpleNamespace
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.figures.one_file import hulls_page, path_page
from mklcore.figures.style import Texts

HEIGHT = 620  # pixels
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)


@dataclass(frozen=True)
class Explorable:
    """A page of players as the output of a cell; ``plain`` is HTML for viewers without frames.

    ``page`` is one whole HTML file, as ``figures.one_file`` makes it.
    """

    page: str
    plain: str = ""

    def _repr_html_(self) -> str:
        return framed(self.page, self.plain)

    def __repr__(self) -> str:
        return f"Explorable({title(self.page)!r})"

    def save(self, file: str | File) -> None:
        """Write the page to one HTML file, which opens without a server."""
        File(file).write_text(self.page, encoding="utf-8")


def framed(page: str, plain: str = "") -> str:
    """Markup for a cell: the page in a frame, and ``plain`` folded below.

    The frame may run the script of the page and cannot reach anything outside of it.
    """
    size = f"width: 100%; height: {HEIGHT}px; border: 0"
    frame = (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" '
        f'title="{escape(title(page))}" loading="lazy" style="{size}"></iframe>'
    )
    return f"{frame}<details><summary>As a table</summary>{plain}</details>" if plain else frame


def title(page: str) -> str:
    """The title of a page, as it stands in its markup."""
    match = _TITLE.search(page)
    return match[1] if match else ""


def explore_path(
    path: Any,
    *,
    index: int | None = None,
    names: Texts | None = None,
    widget: bool = False,
) -> Any:
    """A path in a notebook: weights, scores and certificate, or hulls, follow one cursor.

    ``index`` is where the cursor begins, ``names`` (d,) are those of a hull's columns. Returns an
    ``Explorable``, or with ``widget=True`` a ``PathWidget``: its ``index`` follows the cursor and
    moves it, and its ``model`` is the fitted model at the cursor.
    """
    if any(hasattr(model, "hull_") for model in path.estimators):
        page = hulls_page(path, names=names, index=index)
    else:
        page = path_page(path, index=index)
    if not widget:
        return Explorable(page, path._repr_html_())
    try:
        from mklcore.figures.players.widget import PathWidget  # needs an optional package
    except ImportError:
        raise ParameterError(
            "A cursor that Python follows needs the package anywidget: pip install "
            "'mklcore[notebook]'. Without it, path.explore() shows the same picture."
        ) from None
    return PathWidget(path, page, index)


def explore_hull(model: Any, *, names: Texts | None = None) -> Explorable:
    """One fitted hull in a notebook; ``names`` (d,) are those of its columns."""
    path = SimpleNamespace(
        values=np.array([model.lam]),
        estimators=(model,),
        val_score=np.array([np.nan]),
        score_name="score",
        param="lam",
    )
    return Explorable(hulls_page(path, names=names, index=0), model._repr_html_())
