"""The first answer for a table nothing is known about."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mklcore.exploration.candidates import grid_points
    from mklcore.exploration.first_answer import BEHIND, PREPARED, Exploration, Preliminary, best_preparation, explore
    from mklcore.exploration.scaling import NormalScores, PreparedSpectra

_NAMES = {
    "candidates": ["grid_points"],
    "first_answer": ["BEHIND", "PREPARED", "Exploration", "Preliminary", "best_preparation", "explore"],
    "scaling": ["NormalScores", "PreparedSpectra"],
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
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


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
