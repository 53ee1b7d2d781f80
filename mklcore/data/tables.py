"""Several tables about the same rows: views, joined by a key, each a group of columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mklcore.data.columns import MAX_NAME
from mklcore.data.dataset import Dataset, listed
from mklcore.data.joining import joined_table
from mklcore.data.packed import MAX_BYTES, MAX_COLUMNS, MAX_ROWS, Format
from mklcore.data.parsing import Source, Table, parse
from mklcore.data.reading import read_table
from mklcore.errors import DataError, ParameterError, never_asked


def read_tables(
    sources: Mapping[str, Source] | Sequence[Source],
    key: str | None = None,
    target: str | None = None,
    *,
    names: Sequence[str] | None = None,
    task: str | None = None,
    missing: str = "median",
    keep: Sequence[str] = (),
    uses: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
    tick: Callable[[], None] = never_asked,
) -> Dataset:
    r"""One data set from several tables about the same things: every table is a view, a group of columns.

    Parameters
    ----------
    sources : mapping of str to path
        The tables, as in ``read_table``; or a mapping from the names of the views to them.
    key : str or None, default None
        The column, in every table, that says which row is which, with every value once in a table. None takes the
        column that all tables share and that does so; without one, tables with equally many rows are put side by side
        in the order they have.
    target : str or None, default None
        A column of one of the tables; None takes the likeliest of all, as ``read_table`` does.
    names : sequence of str, default None
        Names of the views; of files their names, else "view 1", "view 2", ...
    task : str or None, default None
        "binary", "multiclass", "regression" or "novelty"; None where it is to be found out.
    missing : str, default "median"
        What happens with cells and rows that are missing. "median" and "indicator" keep a row that some views lack: its
        columns there hold the medians, and a column "<view>: present" says 1 where the view has the row and -1 where it
        does not, so that ``KernelDictionary.views`` masks it: the view's kernels say nothing about that row. "drop"
        keeps the rows that are in every view.
    keep : sequence of str
        Columns to use although they look like identifiers, free text or constants.
    uses : dict or None, default None
        How to read columns, by name: "number", "category" or "left out".
    max_bytes : int, default 20971520
        Most bytes that are accepted.
    max_rows : int, default 100000
        Most rows that are accepted.
    max_columns : int, default 10000
        Most columns that are accepted.
    tick : callable or None
        Called now and then; raising in it ends the reading.

    Returns
    -------
    Dataset
        Its ``groups`` are the views, and ``present`` names the column of every view that lacks rows.

    Raises
    ------
    DataError where no key is found, a key is doubled, or no row is in two tables

    >>> sound = b"id,pitch,loudness\n" + b"\n".join(b"%d,%d,%d" % (i, i % 7, i % 5) for i in range(30))
    >>> looks = b"id,width,kind\n" + b"\n".join(b"%d,%d,%s" % (i, i % 4, b"cat" if i % 2 else b"dog") for i in
    ...                                      range(5, 30))
    >>> data = read_tables({"sound": sound, "looks": looks}, key="id", target="kind")
    >>> [name for name, columns in data.groups], data.n_samples
    (['sound', 'looks'], 25)
    """
    form = Format(max_bytes=max_bytes, max_rows=max_rows, max_columns=max_columns, tick=tick)
    called = _view_names(sources, names)
    tables = [parse(source, form) for source in (sources.values() if isinstance(sources, Mapping) else sources)]
    merged = joined_table(called, tables, key)
    return read_table(
        merged,
        _target_of(merged, target),
        task=task,
        missing=missing,
        keep=keep,
        uses=uses,
        max_bytes=max_bytes,
        tick=tick,
    )


def _view_names(sources: Any, names: Sequence[str] | None) -> list[str]:
    if isinstance(sources, (str, bytes, os.PathLike)) or len(sources) < 2:
        raise ParameterError("read_tables takes two tables or more; use read_table for one.")
    if names is not None:
        found = [str(name) for name in names]
    elif isinstance(sources, Mapping):
        found = [str(name) for name in sources]
    else:
        paths = [
            source if isinstance(source, (str, os.PathLike)) else getattr(source, "name", None) for source in sources
        ]
        found = [
            Path(path).stem if isinstance(path, (str, os.PathLike)) else f"view {k}" for k, path in enumerate(paths, 1)
        ]
    if len(found) != len(sources) or len(set(found)) < len(found) or not all(name.strip() for name in found):
        raise ParameterError(
            f"The {len(sources)} views need different names; got {listed(found)}. Give them with names=."
        )
    return [name.strip()[:MAX_NAME] for name in found]


def _target_of(merged: Table, target: str | None) -> str | None:
    if target is None or target in merged.names:
        return target
    own = {f"{view} {target}" for view, _ in merged.views}
    several = [name for name in merged.names if name in own]
    if several:
        raise DataError(f"The target {target!r} is in several tables; name one of {listed(several)}.")
    return target
