"""How sure is an answer? Prediction intervals and sets, and which columns are distinguishable from noise."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mklcore.uncertainty.columns import ColumnSelection, select_columns
    from mklcore.uncertainty.conformal import Conformal
    from mklcore.uncertainty.held_out import HeldOutScores
    from mklcore.uncertainty.quantile_band import QuantileBand

_NAMES = {
    "columns": ["ColumnSelection", "select_columns"],
    "conformal": ["Conformal"],
    "held_out": ["HeldOutScores"],
    "quantile_band": ["QuantileBand"],
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = ["ColumnSelection", "Conformal", "HeldOutScores", "QuantileBand", "select_columns"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(_import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
