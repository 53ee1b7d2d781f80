"""Plotly's graph objects, imported when the first figure is drawn: the library works without Plotly, only its figures
do not.

from mklcore.figures.graph_objects import go
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go
else:

    class _GraphObjects:
        def __getattr__(self, name: str) -> Any:
            try:
                found = import_module("plotly.graph_objects")
            except ModuleNotFoundError as error:
                raise ImportError(
                    "Figures are drawn with the package plotly, which is not installed: pip install 'mklcore[app]'.",
                    name="plotly",
                ) from error
            return getattr(found, name)

    go = _GraphObjects()

__all__ = ["go"]
