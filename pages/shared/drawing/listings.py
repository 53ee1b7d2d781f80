"""Drawing tables to read: the first rows and the columns of the data, the weights of a point, a whole path."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.kernels.grams import GramStack
from mklcore.paths.path import Path

if TYPE_CHECKING:
    import pandas as pd

PREVIEW_ROWS = 200


# A spreadsheet computes what begins with one of these, also behind blanks, and after a sign at which it cuts a cell in
# two.
_FORMULA = re.compile(r"(?<=[;\t\r\n])(\s*)(?=[=+\-@])")


def csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV that a spreadsheet only shows: a text that begins like a formula gets an apostrophe before
    it.

    The one place that writes CSV; the table widget's own download, which writes cells as they are, is switched off.
    Numbers and single signs such as a class called + stay as they are.
    """
    import pandas as pd

    safe = frame.apply(lambda column: column.map(_shown_only) if column.dtype.kind not in "biuf" else column)
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
        return ("'" if starts or (len(cell) > 1 and cell[0] in "\t\r\n") else "") + _FORMULA.sub(r"\1'", cell)
    return cell


def take(
    frame: pd.DataFrame | Callable[[], pd.DataFrame], file: str, key: str, label: str = "Table as CSV", place: Any = st
) -> None:
    """Draw the button that carries a table away as the file ``file``.csv; a function is called once it is pressed."""
    place.download_button(
        label, lambda: csv(frame() if callable(frame) else frame), f"{file}.csv", "text/csv", key=key,
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip


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
            "type": "number",
            "missing": 0,
            "smallest": table.X.min(axis=0),
            "mean": table.X.mean(axis=0),
            "largest": table.X.max(axis=0),
        }
    )


def starts(fitted: Any, pairs: Sequence[str] = ()) -> pd.DataFrame | None:
    """Return where every start of a method of several ended, the best of each of the ``pairs`` first; None without
    several.
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
    every_weight = pd.DataFrame(path.weights, columns=[f"weight {name}" for name in path.kernel_names])
    return pd.concat([pd.DataFrame(facts), every_weight], axis=1)
