"""How sure is an answer? Prediction intervals and sets, and which columns are distinguishable from noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mklcore._lazy import lazily as _lazily

if TYPE_CHECKING:
    from mklcore.uncertainty.columns import ColumnSelection, select_columns
    from mklcore.uncertainty.conformal import Conformal, HeldOutScores
    from mklcore.uncertainty.quantile_band import QuantileBand

__getattr__ = _lazily(
    __name__,
    {
        "columns": ["ColumnSelection", "select_columns"],
        "conformal": ["Conformal", "HeldOutScores"],
        "quantile_band": ["QuantileBand"],
    },
)
__all__ = ["ColumnSelection", "Conformal", "HeldOutScores", "QuantileBand", "select_columns"]
