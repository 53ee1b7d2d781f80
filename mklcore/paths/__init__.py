"""Warm-started paths over a parameter: fitting, bounds between solved points, files, scores on held-out rows."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mklcore.paths.files import read_paths, write_paths
    from mklcore.paths.intervals import Interval, interval_along
    from mklcore.paths.path import Path, fit_path, log_grid, no_better, path_grid, score_of, scores_of

_NAMES = {
    "intervals": ["Interval", "interval_along"],
    "path": ["Path", "fit_path", "log_grid", "no_better", "path_grid", "score_of", "scores_of"],
    "files": ["read_paths", "write_paths"],
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = [
    "Interval",
    "Path",
    "fit_path",
    "interval_along",
    "log_grid",
    "no_better",
    "path_grid",
    "read_paths",
    "score_of",
    "scores_of",
    "write_paths",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
