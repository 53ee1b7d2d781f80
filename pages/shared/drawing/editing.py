"""Drawing tables a person edits: what a change means, and how columns and their groups become parameters."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from mklcore.data.columns import Column
from mklcore.data.dataset import Dataset, Groups
from mklcore.data.grouping import write_groups
from mklcore.data.reading import TableSummary
from mklcore.errors import KernelError, MKLError, ParameterError
from mklcore.kernels.notation import columns_from_words
from pages.shared.derive import tables
from pages.shared.params import rules
from pages.shared.session import fields, words
from pages.shared.session.memory import memory

FOUND = "as found"
LETTERS = {meaning: letter for letter, meaning in tables.USES.items()}
Row = dict[str, Any]


def after(rows: Sequence[Row], change: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a table after what ``st.data_editor`` reports: cells edited, rows removed, rows added."""
    edited = {int(place): cells for place, cells in change.get("edited_rows", {}).items()}
    gone = set(change.get("deleted_rows", ()))
    kept = [{**row, **edited.get(place, {})} for place, row in enumerate(rows) if place not in gone]
    return kept + [dict(row) for row in change.get("added_rows", ())]


def editor(
    rows: Sequence[Row],
    name: str,
    version: object,
    keep: Callable[[list[Row]], None],
    columns: Mapping[str, Any],
    *,
    height: int | None = None,
    dynamic: bool = False,
    fixed: Sequence[str] = (),
) -> None:
    """Draw a table to edit; ``keep`` takes all its rows after a change and may refuse them with an ``MKLError``.

    The widget remembers edits, not rows:  with each accepted change, counted by ``version``, it begins anew.
    """
    key = f"{name}_{abs(hash((version, tuple(map(str, rows))))):x}"

    def changed() -> None:
        try:
            keep(after(rows, fields.value(key)))
        except MKLError as error:
            memory().edit_refused = (key, str(error))
        else:
            memory().edit_refused = None

    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=list(columns))
    st.data_editor(
        frame, key=key, on_change=changed, column_config=dict(columns), hide_index=True, height=height or "auto",
        num_rows="dynamic" if dynamic else "fixed", width="stretch", disabled=list(fixed), placeholder="",
    )  # fmt: skip
    refused = memory().edit_refused
    if refused is not None and refused[0] == key:
        st.error(words.plain(refused[1]))


# Columns


def column_rows(
    summary: TableSummary, table: Dataset, asked: Mapping[str, str], missing: str = "median", *, gaps: bool = False
) -> list[Row]:
    """Return what is known about each column of an uploaded file, and what a person asked it to be used for.

    ``gaps``: numbers that stand for a missing value are read so.
    """
    coded = {one.column: f"{one.value:g} read as missing; " for one in summary.sentinels if gaps}
    return [
        {
            "column": column.name,
            "found": column.kind,
            "use": asked.get(column.name, FOUND),
            "done": coded.get(column.name, "") + _done(column, table, asked.get(column.name), missing),
            "missing": column.missing,
            "values": column.distinct,
            "first": column.example,
        }
        for column in summary.columns
    ]


def _done(column: Column, table: Dataset, use: str | None, missing: str) -> str:
    """Return what happens to a column, under what a person chose."""
    if column.name == table.target_name:
        return "target"
    if use is not None:
        return "left out, as you chose" if use == "left out" else f"used as a {use}, as you chose"
    if missing == "drop" and column.used and column.missing:
        return "its rows without a value are dropped"
    if missing == "indicator" and column.kind == "number" and column.missing:
        return f"{column.done}; a column of 0 and 1 says where"
    return column.done


def uses_text(rows: Sequence[Row]) -> str:
    """Return the uses a table of columns asks for as the text a link holds.

    Raises ``ParameterError`` where it is long.
    """
    parts = [f"{place}{LETTERS[row['use']]}" for place, row in enumerate(rows, start=1) if row["use"] in LETTERS]
    text = ",".join(parts)
    if len(text) > rules.LONGEST_TABLE:
        raise ParameterError(
            f"{len(parts)} columns with a use of their own are more than the link can carry; leave columns out of the "
            f"file."
        )
    return text


# Groups


def group_rows(groups: Groups, table: Dataset) -> list[Row]:
    """Return the groups as rows to edit."""
    texts = [part.split(":")[1] for part in write_groups(groups).split(";")] if groups else []
    return [{"group": name, "columns": text} for (name, _), text in zip(groups, texts, strict=True)]


def groups_text(rows: Sequence[Row], table: Dataset) -> str:
    """Return edited groups as the text a link holds. Raises ``MKLError`` for columns that are not there."""
    groups: list[tuple[str, tuple[int, ...]]] = []
    for place, row in enumerate(rows, start=1):
        columns = columns_from_words(str(row.get("columns") or ""), table.feature_names)
        name = str(row.get("group") or "").strip() or f"group {place}"
        if columns is None:
            columns = tuple(range(table.n_features))
        if any(name == other for other, _ in groups):
            raise KernelError(f"Two groups are called {name!r}; rename one.")
        groups.append((name, columns))
    text = write_groups(tuple(groups)) if groups else "none"
    if len(text) > rules.LONGEST_TABLE:
        raise ParameterError("These groups are more than the link can carry; shorten their names or use fewer.")
    return text
