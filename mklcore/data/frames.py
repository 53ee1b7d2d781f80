"""Data frames as tables of cells: numbers, texts for everything else, and empty cells for gaps."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from mklcore._lazy import import_extra
from mklcore.arrays import Cells
from mklcore.data.columns import ReadOptions, distinct_names
from mklcore.data.files import Table, parse, settled_names, with_marks
from mklcore.errors import DataError


def is_frame(source: Any) -> bool:
    """Whether this is a data frame of pandas, or of another library such as polars.

    Other libraries give their columns by Arrow's protocol or by the older one for data frames.
    """
    by_arrow = hasattr(source, "__arrow_c_stream__") and hasattr(source, "columns")
    return by_arrow or hasattr(source, "__dataframe__")


def is_raw(source: Any) -> bool:
    """Whether this is a table as people have it: a data frame, a path, or the bytes of a file."""
    return is_frame(source) or isinstance(source, str | bytes | os.PathLike)


def frame_cells(frame: Any) -> Table:
    """The cells of a data frame; its index is left out."""
    import pandas as pd  # not at start-up

    if not isinstance(frame, pd.DataFrame):
        frame = _of_other_library(frame)
    if not frame.shape[0] or not frame.shape[1]:
        raise DataError(
            f"The data frame has {frame.shape[0]} rows and {frame.shape[1]} columns; "
            "expected at least one of each."
        )
    notes: list[str] = []
    names = settled_names([str(name) for name in frame.columns], notes)
    columns = {}
    for name, (_, column) in zip(names, frame.items(), strict=True):
        columns[name] = _cells(name, column)
    return Table(columns, notes=tuple(notes))


def _of_other_library(frame: Any) -> Any:
    """A data frame of another library as one of pandas.

    Arrow's protocol is used where it exists, because pandas drops the older one, which works
    without pyarrow.
    """
    import pandas as pd  # not at start-up

    by_arrow = hasattr(frame, "__arrow_c_stream__") and find_spec("pyarrow") is not None
    if not by_arrow and hasattr(frame, "__dataframe__"):
        return pd.api.interchange.from_dataframe(frame)
    arrow = import_extra("pyarrow", "tables", "Data frames of other libraries")
    return arrow.table(frame).to_pandas()


def _cells(name: str, column: Any) -> Cells:
    """The cells of one column. DataError for what is neither numbers nor text."""
    import pandas as pd  # not at start-up
    from pandas.api import types  # not at start-up

    if types.is_complex_dtype(column.dtype):
        raise DataError(
            f"The column {name!r} holds complex numbers; give their real and imaginary parts."
        )
    if types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype):
        numbers: Cells = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers
    if types.is_timedelta64_dtype(column.dtype):
        return np.asarray(column.dt.total_seconds() / 86400.0, dtype=np.float64)  # days
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    elif isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_localize(None)  # the time on the clock there
    texts: Cells = column.astype("string").fillna("").to_numpy(dtype=object)
    return texts


def as_table(source: Any, form: ReadOptions) -> Table:
    """The table in a data frame, or in whatever `parse` reads.

    DataError, by name, for everything else.
    """
    if isinstance(source, Table):
        return source
    return with_marks(frame_cells(source) if is_frame(source) else parse(source, form), form)


def with_column(table: Table, wanted: str, cells: Any) -> tuple[Table, str]:
    """The table with one column more, and the name of it, which is no name of the table."""
    if len(cells) != table.n_rows:
        raise DataError(
            f"{wanted} has {len(cells)} values and the table has {table.n_rows} rows; give "
            "one per row."
        )
    name = distinct_names([*table.names, wanted])[-1]
    return replace(table, columns=table.columns | {name: np.asarray(cells)}), name
