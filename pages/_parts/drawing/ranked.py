"""Drawing which columns count: a sentence on the first ones, and the table of all of them, those that count most
first.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.estimators.importance import LEAST_ROWS, ColumnAnswer, weight_share
from mklcore.figures import style
from mklcore.kernels.dictionary import Unit
from pages._parts.drawing import listings
from pages._parts.session import words

HEIGHT = 300
GREY = "#8a8984"  # on light and dark alike
ROW = 35  # pixels, of the table widget
SURE = 2.0  # standard errors above zero
LEAST = 0.02  # of what the first column costs: less is not worth a word


def sentence(ranked: Sequence[ColumnAnswer], score: str, measured: bool, rows: int) -> str:
    """Return what the ranking on this number of held-out ``rows`` says, in Markdown."""
    if not measured:
        return ":small[By share of weight; the drop in the score without each column is being measured.]"
    sure = [one for one in ranked if one.importance > SURE * one.importance_sd]
    if not sure:
        return f":small[{too_few(rows)}]"
    named = [one for one in sure if one.importance > LEAST * sure[0].importance][:3]
    first, *more = [f"**{words.plain(one.name)}**" for one in named]
    losses = [_loss(one.importance, score) for one in named]
    columns = [
        f"{first} lowers the validation {score} by {losses[0]}",
        *(f"{n} by {v}" for n, v in zip(more, losses[1:], strict=True)),
    ]
    rest = len(ranked) - len(sure)
    others = f"; for {rest} of {len(ranked)} the drop is not distinguishable from zero" if rest else ""
    return f":small[Permuting {style.joined(columns)}{others}.]"


def by_weight(model: Any, seen: Sequence[Unit], alone: float | None = None) -> tuple[ColumnAnswer, ...]:
    """Return the columns by their share of weight, until it is known what the score loses without them.

    ``alone``: the share of a column that no kernel sees alone.
    """
    shares = weight_share(model, seen)
    found = [ColumnAnswer(unit.name, shares.get(unit.name, alone), np.nan, np.nan) for unit in seen]
    return tuple(sorted(found, key=lambda one: -(one.share or 0.0)))


def too_few(rows: int) -> str:
    """Return what it means that on so many held-out rows no drop is distinguishable from zero."""
    if rows < LEAST_ROWS:
        return f"{rows} held-out rows are too few to tell which columns count."
    return (
        f"On {rows:,} held-out rows the drop is not distinguishable from zero for any column alone: too few rows to "
        "tell, or columns that can stand in for each other."
    )


def _loss(value: float, score: str) -> str:
    return f"{100 * value:.1f} points" if score in words.SHARES else f"{value:.3f}"


def table(
    ranked: Sequence[ColumnAnswer],
    score: str,
    measured: bool,
    key: str,
    often: Mapping[str, float] | None = None,
    picked: Callable[[], None] | None = None,
    height: int = HEIGHT,
    chosen: Mapping[str, float] | None = None,
    faint: frozenset[str] = frozenset(),
) -> None:
    """Draw the ranking; ``often`` says in which share of refits a column was kept, ``picked`` is called with a click on
    a row. ``chosen`` are selection probabilities over half samples; columns that are ``faint`` are drawn in grey.
    """
    times, unit = (100, "points") if score in words.SHARES else (1, score)
    frame = pd.DataFrame({"column": [one.name for one in ranked]})
    if measured:
        frame["loss"] = [times * one.importance for one in ranked]
        errors = np.array([times * one.importance_sd for one in ranked])
        frame["±"] = np.where(np.isfinite(errors), errors, np.nan)
    frame["weight"] = [np.nan if one.share is None else 100 * one.share for one in ranked]
    if often:
        frame["kept"] = [100 * often[one.name] if one.name in often else np.nan for one in ranked]
    if chosen:
        frame["chosen"] = [100 * chosen[one.name] if one.name in chosen else np.nan for one in ranked]
    top = max((times * one.importance for one in ranked if np.isfinite(one.importance)), default=1.0)
    form = "%.1f" if score in words.SHARES else "%.3f"
    bar, number = st.column_config.ProgressColumn, st.column_config.NumberColumn
    choice: dict[str, Any] = (
        {} if picked is None else {"selection_mode": ["single-row", "single-cell"], "on_select": picked}
    )
    hint = "" if picked is None else "; the row chosen is looked at below"
    st.dataframe(
        frame if not faint else _in_grey(frame, faint),
        key=key,
        hide_index=True,
        height=min(height, ROW * (len(frame) + 1) + 2),
        **choice,
        alt=f"{len(ranked)} columns, the ones that count first{hint}",
        column_config={
            "column": st.column_config.TextColumn(width=150, help="Click a row to look at it" if picked else None),
            "loss": bar(
                width=95,
                format=form,
                min_value=0.0,
                max_value=max(top, 1e-9),
                help=f"Loss of validation score, in {unit}, when the column is shuffled among the rows",
            ),
            "±": number(width=50, format=form, help="Standard error over the held-out rows"),
            "weight": number(
                width=60, format="%.0f %%", help="Share of the weight on kernels that see only this column"
            ),
            "chosen": number(
                width=65, format="%.0f %%", help="Half samples in which the column is among the best: 90 % names it"
            ),
            "kept": number(width=60, format="%.0f %%", help="Refits on half of the rows that use one of its kernels"),
        },
    )
    listings.take(frame, "columns", "csv_ranking")


def _in_grey(frame: pd.DataFrame, faint: frozenset[str]) -> Any:
    """Return the table with the rows of these columns in grey."""

    def styles(row: pd.Series) -> list[str]:
        return [f"color: {GREY}" if row["column"] in faint else ""] * len(row)

    return frame.style.apply(styles, axis=1)
