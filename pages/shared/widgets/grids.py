"""Tables to read and to edit: rows, columns, weights, a whole path, and the one writer of CSV.

Functions import pandas themselves: it takes half a second, and a first page is drawn without it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from mklcore.data.column_groups import write_groups
from mklcore.data.columns import Column
from mklcore.data.dataset import Dataset, Groups
from mklcore.data.reading import TableSummary
from mklcore.errors import KernelError, MKLError, ParameterError
from mklcore.kernels.dictionary_text import columns_from_words
from mklcore.kernels.grams import GramStack
from mklcore.paths.path import Path
from pages.shared.private_streamlit import plain
from pages.shared.session import parameters
from pages.shared.session.state import memory
from pages.shared.values import tables
from pages.shared.widgets import controls

if TYPE_CHECKING:
    import pandas as pd

PREVIEW_ROWS = 200


# A spreadsheet computes what begins with one of these, also behind blanks, and after a sign at
# which it cuts a cell in two.
_FORMULA = re.compile(r"(?<=[;\t\r\n])(\s*)(?=[=+\-@])")


def csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV that a spreadsheet only shows: a text that begins like a formula gets
    an apostrophe before it.

    The one place that writes CSV; the table widget's own download, which writes cells as they are,
    is switched off. Numbers and single signs such as a class called + stay as they are.
    """
    import pandas as pd

    safe = frame.apply(
        lambda column: column.map(_shown_only) if column.dtype.kind not in "biuf" else column
    )
    safe.columns = pd.Index([_shown_only(name) for name in frame.columns])
    return safe.to_csv(index=False)


def _shown_only(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    try:
        float(cell)
    except ValueError:
        visible = "".join(sign for sign in cell if unicodedata.category(sign)[0] not in "CZ")
        first = unicodedata.normalize("NFKC", visible[:1])
        starts = len(visible) > 1 and first[:1] in ("=", "+", "-", "@", "\u2212")
        return ("'" if starts or (len(cell) > 1 and cell[0] in "\t\r\n") else "") + _FORMULA.sub(
            r"\1'", cell
        )
    return cell


def take(
    frame: pd.DataFrame | Callable[[], pd.DataFrame],
    file: str,
    key: str,
    label: str = "Table as CSV",
    place: Any = st,
) -> None:
    """Draw the button that carries a table away as the file ``file``.csv; a function is called once
    it is pressed.
    """
    make = lambda: csv(frame() if callable(frame) else frame)  # noqa: E731
    controls.download(label, make, f"{file}.csv", key, place)


def first_rows(table: Dataset) -> pd.DataFrame:
    """Return the first rows as they enter the model, the target first."""
    import pandas as pd

    frame = pd.DataFrame(table.X[:PREVIEW_ROWS], columns=list(table.feature_names))
    name = f"{table.target_name} (target)"
    while name in table.feature_names:  # a table on the screen has every name once
        name += " "
    target = table.y[:PREVIEW_ROWS]
    frame.insert(0, name, target if table.task == "regression" else target.astype(str))
    return frame.assign(**{column: list(cells[:PREVIEW_ROWS]) for column, cells in table.strings})


def columns(table: Dataset) -> pd.DataFrame:
    """Return what is known about each feature of a sample."""
    import pandas as pd

    return pd.DataFrame(
        {
            "column": table.feature_names,
            "smallest": table.X.min(axis=0),
            "mean": table.X.mean(axis=0),
            "largest": table.X.max(axis=0),
        }
    )


def starts(fitted: Any, pairs: Sequence[str] = ()) -> pd.DataFrame | None:
    """Return where every start of a method of several ended, the best of each of the ``pairs``
    first; None without several.
    """
    import pandas as pd

    objectives = getattr(fitted, "start_objectives_", None)
    if objectives is None or np.shape(objectives)[-1] < 2:
        return None
    frames = []
    for k, (values, kernels) in enumerate(
        zip(np.atleast_2d(objectives), np.atleast_2d(fitted.start_kernels_), strict=True)
    ):
        frame = pd.DataFrame(
            {
                "start": ["equal weights", *(f"random {i}" for i in range(1, values.size))],
                "objective L": values,
                "above the best": values - np.nanmin(values),
                "kernels": kernels,
            }
        )
        if pairs:
            frame.insert(0, "pair", pairs[k])
        frames.append(frame.dropna().sort_values("objective L", kind="stable"))
    return pd.concat(frames, ignore_index=True)


def stack(kernels: GramStack) -> pd.DataFrame:
    """Return the kernels of an uploaded stack with the range of their entries."""
    import pandas as pd

    return pd.DataFrame(
        {
            "kernel": kernels.names,
            "smallest": [gram.min() for gram in kernels.values],
            "mean": [gram.mean() for gram in kernels.values],
            "largest": [gram.max() for gram in kernels.values],
        }
    )


def weights(point: Path, index: int) -> pd.DataFrame:
    """Return the kernels of one point with weight and share, the largest first."""
    import pandas as pd

    values = np.asarray(point.weights[index], dtype=float)
    frame = pd.DataFrame(
        {
            "kernel": point.kernel_names,
            "family": point.kernel_families,
            "weight": values,
            "share": values / (float(values.sum()) or 1.0),
        }
    )
    return frame.sort_values("weight", ascending=False, kind="stable")


def along(path: Path) -> pd.DataFrame:
    """Return a path as one row per value: scores, certificate, cost and every weight."""
    import pandas as pd

    facts: dict[str, Any] = {
        path.param: path.values,
        "train": path.train_score,
        "validation": path.val_score,
        "objective": path.objective,
        "relative_gap": path.relative_gap,
        "kernels_used": path.n_nonzero,
        "solves": path.solves,
        "seconds": path.seconds,
        "status": [status.value for status in path.statuses],
    }
    every_weight = pd.DataFrame(
        path.weights, columns=[f"weight {name}" for name in path.kernel_names]
    )
    return pd.concat([pd.DataFrame(facts), every_weight], axis=1)


# Tables that a person edits


FOUND = "as found"
LETTERS = {meaning: letter for letter, meaning in tables.USES.items()}
Row = dict[str, Any]


def after(rows: Sequence[Row], change: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a table after what ``st.data_editor`` reports: cells edited, rows removed,
    rows added.
    """
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
    """Draw a table to edit; ``keep`` takes all its rows after a change and may refuse them with an
    ``MKLError``.

    The widget remembers edits, not rows:  with each accepted change, counted by ``version``, it
    begins anew.
    """
    key = f"{name}_{abs(hash((version, tuple(map(str, rows))))):x}"

    def changed() -> None:
        try:
            keep(after(rows, controls.value(key)))
        except MKLError as error:
            memory().edit_refused = (key, str(error))
        else:
            memory().edit_refused = None

    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=list(columns))
    st.data_editor(
        frame,
        key=key,
        on_change=changed,
        column_config=dict(columns),
        hide_index=True,
        height=height or "auto",
        num_rows="dynamic" if dynamic else "fixed",
        width="stretch",
        disabled=list(fixed),
        placeholder="",
    )
    refused = memory().edit_refused
    if refused is not None and refused[0] == key:
        st.error(plain(refused[1]))


# Columns


def column_rows(
    summary: TableSummary,
    table: Dataset,
    asked: Mapping[str, str],
    missing: str = "median",
    *,
    gaps: bool = False,
) -> list[Row]:
    """Return what is known about each column of an uploaded file, and what a person asked it to be
    used for.

    ``gaps``: numbers that stand for a missing value are read so.
    """
    coded = {one.column: f"{one.value:g} read as missing; " for one in summary.sentinels if gaps}
    return [
        {
            "column": column.name,
            "found": column.kind,
            "use": asked.get(column.name, FOUND),
            "done": coded.get(column.name, "")
            + _done(column, table, asked.get(column.name), missing),
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
    parts = [
        f"{place}{LETTERS[row['use']]}"
        for place, row in enumerate(rows, start=1)
        if row["use"] in LETTERS
    ]
    text = ",".join(parts)
    if len(text) > parameters.LONGEST_TABLE:
        raise ParameterError(
            f"{len(parts)} columns with a use of their own are more than the link can "
            "carry; leave columns out of the file."
        )
    return text


# Groups


def group_rows(groups: Groups) -> list[Row]:
    """Return the groups as rows to edit."""
    texts = [part.split(":")[1] for part in write_groups(groups).split(";")] if groups else []
    return [{"group": name, "columns": text} for (name, _), text in zip(groups, texts, strict=True)]


def groups_text(rows: Sequence[Row], table: Dataset) -> str:
    """Return edited groups as the text a link holds.

    Raises ``MKLError`` for columns that are not there.
    """
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
    if len(text) > parameters.LONGEST_TABLE:
        raise ParameterError(
            "These groups are more than the link can carry; shorten their names or use fewer."
        )
    return text
