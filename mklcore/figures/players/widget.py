"""A widget for notebooks: the page of a path, with a cursor that Python can read and move."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import traitlets
from anywidget import AnyWidget

from mklcore.errors import ParameterError


class PathWidget(AnyWidget):
    """The picture of a path, whose cursor stands at the point ``index``.

    Set ``index`` to move the cursor, and observe it to follow the cursor.

    >>> from mklcore import LpMKLClassifier, fit_path, load_sample
    >>> data = load_sample("iris")
    >>> path = fit_path(LpMKLClassifier(), data.X, data.y, "C", [0.1, 1, 10])
    >>> widget = path.explore(widget=True)
    >>> widget.index = 2
    >>> widget.model is path.estimators[2]
    True
    """

    _esm = files(__package__).joinpath("bridge.js").read_text(encoding="utf-8")
    page = traitlets.Unicode().tag(sync=True)
    index = traitlets.Int().tag(sync=True)

    def __init__(self, path: Any, page: str, index: int | None = None) -> None:
        self.path = path
        super().__init__(page=page, index=path.first_look if index is None else index)

    @property
    def model(self) -> Any:
        """The fitted model at the cursor."""
        return self.path.estimators[self.index]

    @traitlets.validate("index")
    def _checked(self, proposal: Any) -> int:
        index = int(proposal["value"])
        if not 0 <= index < len(self.path):
            raise ParameterError(
                f"The path has points 0 to {len(self.path) - 1}; got the index {index}."
            )
        return index
