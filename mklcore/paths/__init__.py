"""Warm-started paths over a parameter: fitting, files, scores on held-out rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mklcore._lazy import lazily as _lazily

if TYPE_CHECKING:
    from mklcore.paths.files import read_paths, write_paths
    from mklcore.paths.path import Path, fit_path, log_grid, path_grid, scores_of

__getattr__ = _lazily(
    __name__,
    {
        "path": ["Path", "fit_path", "log_grid", "path_grid", "scores_of"],
        "files": ["read_paths", "write_paths"],
    },
)
__all__ = [
    "Path",
    "fit_path",
    "log_grid",
    "path_grid",
    "read_paths",
    "scores_of",
    "write_paths",
]
