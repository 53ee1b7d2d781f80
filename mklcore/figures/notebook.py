"""In a notebook: paths and hulls that can be dragged there, alone or with Python listening.

path.explore()                      the player as the output of a cell: no server, no kernel, also where a notebook
                                    is kept
path.explore(widget=True).index     the same, sent to Python where the cursor comes to rest (pip install
                                    'mklcore[notebook]')
hull.explore()                      one fitted hull; a path of hulls explores itself, as any path
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path as File
from types import SimpleNamespace
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.figures.one_file import hulls_page, path_page

HEIGHT = 620  # pixels
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)


@dataclass(frozen=True)
class Explorable:
    """A page that can be dragged, as the output of a cell; ``plain`` is HTML for a viewer that
    shows no frames.

    ``page`` is one whole HTML file, as ``figures.one_file`` makes it.
    """

    page: str
    plain: str = ""

    def _repr_html_(self) -> str:
        return framed(self.page, self.plain)

    def __repr__(self) -> str:
        return f"Explorable({title(self.page)!r})"

    def save(self, file: str | File) -> None:
        """Write the page as one HTML file, which opens without a server."""
        File(file).write_text(self.page, encoding="utf-8")


def framed(page: str, plain: str = "") -> str:
    """Markup for a cell: the page in a frame that may run its own script and reach nothing else,
    and ``plain`` folded below.
    """
    frame = (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" '
        f'title="{escape(title(page))}" loading="lazy" style="width: 100%; height: '
        f'{HEIGHT}px; border: 0"></iframe>'
    )
    return frame + (f"<details><summary>As a table</summary>{plain}</details>" if plain else "")


def title(page: str) -> str:
    """The title of a page, as text of its markup."""
    found = _TITLE.search(page)
    return found[1] if found else ""


def explore_path(
    path: Any, *, index: int | None = None, names: Sequence[str] | None = None, widget: bool = False
) -> Any:
    """A path to drag along in a notebook: weights, scores and certificate follow one cursor; hulls,
    where it is one of hulls.

    ``index`` is where the cursor begins, ``names`` (d,) are those of a hull's columns. Returns an
    ``Explorable``; with ``widget=True`` a ``PathWidget``, whose ``index`` follows the cursor and
    leads it, and whose ``model`` is the one there.
    """
    if any(hasattr(model, "hull_") for model in path.estimators):
        page = hulls_page(path, names=names, index=index)
    else:
        page = path_page(path, index=index)
    if not widget:
        return Explorable(page, path._repr_html_())
    try:
        from mklcore.figures.players.widget import PathWidget  # an extra
    except ImportError:
        raise ParameterError(
            "A cursor that Python follows needs the package anywidget: pip install "
            "'mklcore[notebook]'. Without it, path.explore() shows the same picture."
        ) from None
    return PathWidget(path, page, index)


def explore_hull(model: Any, *, names: Sequence[str] | None = None) -> Explorable:
    """One fitted hull to walk through in a notebook; ``names`` (d,) are those of its columns."""
    path = SimpleNamespace(
        values=np.array([model.lam]),
        estimators=(model,),
        val_score=np.array([np.nan]),
        score_name="score",
        param="lam",
    )
    return Explorable(hulls_page(path, names=names, index=0), model._repr_html_())
