"""Paths: models along a parameter, their files, and how a point is chosen and judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mklcore._lazy import lazily as _lazily

if TYPE_CHECKING:
    from mklcore.paths.choose_c import choose_C, leave_one_out
    from mklcore.paths.curves import CrossValidated, choose, cross_validate_path, validation_curve
    from mklcore.paths.files import read_paths, write_paths
    from mklcore.paths.path import Path, fit_path, log_grid, path_grid, scores_of
    from mklcore.paths.probabilities import calibrate, reliability
    from mklcore.paths.references import hull_references, plain_references
    from mklcore.paths.screening import column_scores

__getattr__ = _lazily(
    __name__,
    {
        "path": ["Path", "fit_path", "log_grid", "path_grid", "scores_of"],
        "files": ["read_paths", "write_paths"],
        "curves": ["CrossValidated", "choose", "cross_validate_path", "validation_curve"],
        "references": ["hull_references", "plain_references"],
        "probabilities": ["calibrate", "reliability"],
        "choose_c": ["choose_C", "leave_one_out"],
        "screening": ["column_scores"],
    },
)
__all__ = [
    "CrossValidated",
    "Path",
    "calibrate",
    "choose",
    "choose_C",
    "column_scores",
    "cross_validate_path",
    "fit_path",
    "hull_references",
    "leave_one_out",
    "log_grid",
    "path_grid",
    "plain_references",
    "read_paths",
    "reliability",
    "scores_of",
    "validation_curve",
    "write_paths",
]
