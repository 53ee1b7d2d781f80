"""The first answer for a table nothing is known about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mklcore._lazy import lazily as _lazily

if TYPE_CHECKING:
    from mklcore.exploration.candidates import grid_points
    from mklcore.exploration.first_answer import BEHIND, PREPARED, Exploration, Preliminary, best_preparation, explore
    from mklcore.exploration.scaling import NormalScores, PreparedSpectra

__getattr__ = _lazily(
    __name__,
    {
        "candidates": ["grid_points"],
        "first_answer": ["BEHIND", "PREPARED", "Exploration", "Preliminary", "best_preparation", "explore"],
        "scaling": ["NormalScores", "PreparedSpectra"],
    },
)
__all__ = [
    "BEHIND",
    "PREPARED",
    "Exploration",
    "NormalScores",
    "Preliminary",
    "PreparedSpectra",
    "best_preparation",
    "explore",
    "grid_points",
]
