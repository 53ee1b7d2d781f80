"""What ``explore`` shows: the players of the app on a path or a hull, as one output of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from mklcore.errors import ParameterError
from mklcore.figures.notebook.framing import Explorable
from mklcore.figures.takeaway import About, hulls_page, path_page
from mklcore.paths.path import Path

if TYPE_CHECKING:
    from mklcore.figures.notebook.widget import PathWidget


@overload
def explore_path(
    path: Path, *, index: int | None = ..., names: Sequence[str] | None = ..., about: About | None = ...,
    widget: Literal[False] = ...,
) -> Explorable: ...  # fmt: skip
@overload
def explore_path(
    path: Path, *, index: int | None = ..., names: Sequence[str] | None = ..., about: About | None = ...,
    widget: Literal[True],
) -> PathWidget: ...  # fmt: skip
def explore_path(
    path: Path,
    *,
    index: int | None = None,
    names: Sequence[str] | None = None,
    about: About | None = None,
    widget: bool = False,
) -> Explorable | PathWidget:
    """A path to drag along in a notebook: weights, scores and certificate follow one cursor; hulls, where it is one of
    hulls.

    ``index`` is where the cursor begins, ``names`` (d,) are those of a hull's columns, ``about`` what is stated beside
    it. With ``widget=True`` the answer has an ``index`` that follows the cursor and leads it, and the ``model`` there.
    """
    if any(hasattr(model, "hull_") for model in path.estimators):
        page = hulls_page(path, about, names=names, index=index)
    else:
        page = path_page(path, about, index=index)
    if not widget:
        return Explorable(page, path._repr_html_())
    try:
        from mklcore.figures.notebook.widget import PathWidget
    except ImportError:
        raise ParameterError(
            "A cursor that Python follows needs the package anywidget: pip install 'mklcore[notebook]'. "
            "Without it, path.explore() shows the same picture."
        ) from None
    return PathWidget(path, page, index)


def explore_hull(model: Any, *, names: Sequence[str] | None = None, about: About | None = None) -> Explorable:
    """One fitted hull to walk through in a notebook; ``names`` (d,) are those of its columns."""
    path = SimpleNamespace(
        values=np.array([model.lam]), estimators=(model,), val_score=np.array([np.nan]), score_name="score", param="lam"
    )
    return Explorable(hulls_page(path, about, names=names, index=0), model._repr_html_())
