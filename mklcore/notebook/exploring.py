"""What ``explore`` shows: the players of the app on a path or a hull, as one output of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from mklcore.errors import ParameterError
from mklcore.figures.takeaway import About, path_page
from mklcore.notebook.framing import Explorable
from mklcore.path import Path

if TYPE_CHECKING:
    from mklcore.notebook.widget import PathWidget


@overload
def explore_path(
    path: Path, *, index: int | None = ..., about: About | None = ...,
    widget: Literal[False] = ...,
) -> Explorable: ...  # fmt: skip
@overload
def explore_path(
    path: Path, *, index: int | None = ..., about: About | None = ...,
    widget: Literal[True],
) -> PathWidget: ...  # fmt: skip
def explore_path(
    path: Path,
    *,
    index: int | None = None,
    about: About | None = None,
    widget: bool = False,
) -> Explorable | PathWidget:
    """A path to drag along in a notebook: weights, scores and certificate follow one cursor.

    ``index`` is where the cursor begins, ``about`` what is told beside it. With
    ``widget=True`` the answer has an ``index`` that follows the cursor and leads it, and the ``model`` there.
    """
    page = path_page(path, about, index=index)
    if not widget:
        return Explorable(page, path._repr_html_())
    try:
        from mklcore.notebook.widget import PathWidget
    except ImportError:
        raise ParameterError(
            "A cursor that Python hears of needs the package anywidget: pip install 'mklcore[notebook]'. "
            "Without it, path.explore() shows the same picture."
        ) from None
    return PathWidget(path, page, index)
