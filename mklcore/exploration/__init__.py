"""The first answer for a table nothing is known about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mklcore._lazy import lazily as _lazily

if TYPE_CHECKING:
    from mklcore.exploration.candidates import grid_points
    from mklcore.exploration.first_answer import BEHIND, Exploration, Preliminary, explore
    from mklcore.exploration.scaling import NormalScores

__getattr__ = _lazily(
    __name__,
    {
        "candidates": ["grid_points"],
        "first_answer": ["BEHIND", "Exploration", "Preliminary", "explore"],
        "scaling": ["NormalScores"],
    },
)
__all__ = [
    "BEHIND",
    "Exploration",
    "NormalScores",
    "Preliminary",
    "explore",
    "grid_points",
]
