"""One answer for a table: which columns matter, how much, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mklcore._lazy import lazily as _lazily

if TYPE_CHECKING:
    from mklcore.answer.columns import ColumnSelection, select_columns
    from mklcore.answer.conformal import Conformal, QuantileBand

__getattr__ = _lazily(
    __name__,
    {
        "columns": ["ColumnSelection", "select_columns"],
        "conformal": ["Conformal", "QuantileBand"],
    },
)
__all__ = ["ColumnSelection", "Conformal", "QuantileBand", "select_columns"]
