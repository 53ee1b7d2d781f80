"""One row of a table: its columns as controls, and what is moved as features of the model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.data.files import Table
from mklcore.data.reading import Feature, TableEncoder
from mklcore.data.sequences import unpacked
from mklcore.errors import DataError
from mklcore.figures import style
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.values.tables import TableRow, file_columns
from pages.shared.widgets import controls

STEPS = 200
LARGEST_WHOLE = 2.0**53  # a browser counts no further
NONE_OF_THEM = "none of these"
DAY = np.timedelta64(1, "D")


def move(here: TableRow, values: Mapping[int, float]) -> None:
    """Set features of the row, as a step that can be undone; what is as in the row is no change."""
    moves = {
        j: float(v) for j, v in sorted({**here.moves, **values}.items()) if v != here.before[j]
    }
    state.change(moved=",".join(f"{j + 1}={value!r}" for j, value in moves.items()))


@dataclass(frozen=True, eq=False)
class RowColumn:
    """A column of the file: its features, their places in a row, and those of its letters."""

    name: str
    features: tuple[Feature, ...]
    places: tuple[int, ...]
    letters: tuple[int, ...] = ()
    is_text: bool = False

    @property
    def kind(self) -> str:
        """What controls it: "text", "date", "number" or "category"."""
        if self.letters:
            return "text"
        role = self.features[0].role
        return role if role in ("date", "number") else "category"

    def shown(self, row: np.ndarray) -> Any:
        """What the row has in this column."""
        if self.is_text:
            return unpacked(row[None, list(self.letters)])[0]
        if self.kind == "text":
            return "".join(chr(int(sign)) for sign in row[list(self.letters)] if sign)
        found = dict(
            zip((one.level for one in self.features), row[list(self.places)].tolist(), strict=True)
        )
        if self.kind == "number":
            return row[self.places[0]]
        if self.kind == "date":
            seconds = (
                np.timedelta64(round(found["day"] * 86400), "s") if "day" in found else 0 * DAY
            )
            return (np.datetime64("1970-01-01T00:00:00") + seconds).item()
        named = [level for level, value in found.items() if value > 0.5]
        rest = [level for level in self.features[0].known if level not in found]
        return (named or rest or [NONE_OF_THEM])[0]

    def text(self, row: np.ndarray) -> str:
        """The same in a few words."""
        found = self.shown(row)
        if self.kind == "number":
            return style.as_given(found)
        return style.short(
            f"{found:%Y-%m-%d %H:%M}".removesuffix(" 00:00") if self.kind == "date" else found
        )

    @property
    def levels(self) -> list[str]:
        """The categories that can be chosen."""
        own = [one.level for one in self.features if one.role != "level"]
        return [
            *self.features[0].known,
            *(level for level in own if level not in self.features[0].known),
        ]

    def encoded(self, value: Any, encoder: TableEncoder) -> dict[int, float]:
        """The features of another value. DataError for one that the column cannot have."""
        if self.kind == "category":
            return {
                j: float(one.level == value)
                for j, one in zip(self.places, self.features, strict=True)
            }
        if self.kind == "number":
            gaps = {
                j: 0.0
                for j, one in zip(self.places, self.features, strict=True)
                if one.role == "gap"
            }
            return {**gaps, self.places[0]: float(value)}
        cell = str(value)
        if self.kind == "date":
            order = self.features[0].known[0].split()[0]
            cell = value.strftime(
                {"year": "%Y-%m-%d", "day": "%d-%m-%Y", "month": "%m-%d-%Y"}[order] + " %H:%M:%S"
            )
        sequences, texts = (
            (self.name,) if self.letters and self.is_text == kind else () for kind in (False, True)
        )
        alone = replace(encoder, features=self.features, sequences=sequences, texts=texts)
        new = alone.of_table(
            Table(
                {self.features[0].column if self.features else self.name: np.array([cell], object)}
            )
        )
        found = dict(zip(self.places, new.X[0].tolist(), strict=True))
        if new.letters is not None:
            signs = np.zeros(len(self.letters))
            signs[: new.letters.shape[1]] = new.letters[0]
            found |= dict(zip(self.letters, signs.tolist(), strict=True))
        return found


def columns_of(table: Dataset, encoder: TableEncoder) -> dict[str, RowColumn]:
    """The columns of the file by their names."""
    places = dict(table.columns)
    return {
        name: RowColumn(
            name,
            tuple(encoder.features[j] for j in places.get(name, ())),
            places.get(name, ()),
            table.letter_columns(name),
            name in dict(table.texts),
        )
        for name in file_columns(table)
    }


def control(table: Dataset, encoder: TableEncoder, column: RowColumn, here: TableRow) -> None:
    """Draw one column as a slider, a choice, a calendar or a box for text."""
    key = f"what_{table.fingerprint[:12]}_{column.name}"
    label = plain(column.name)
    now = column.shown(here.now)

    def keep(value: Any) -> None:
        try:
            move(here, column.encoded(value, encoder))
        except DataError as error:
            st.session_state["what_refused"] = str(error)

    if column.kind == "category":
        options = [*column.levels, *([] if now in column.levels else [now])]
        controls.view(st.selectbox, label, key, now, keep, options=options)
    elif column.kind == "date":
        hours = any(one.level == "hour" for one in column.features)
        controls.view(
            st.datetime_input if hours else st.date_input,
            label,
            key,
            now if hours else now.date(),
            keep,
        )
    elif column.kind == "text":
        controls.view(st.text_area if column.is_text else st.text_input, label, key, now, keep)
    else:
        _slider(table.X[:, column.places[0]], label, key, now, keep)


def _slider(
    values: np.ndarray,
    label: str,
    key: str,
    now: float,
    keep: Any,
) -> None:
    low = float(values.min())
    high = float(values.max())
    if low == high:
        st.slider(
            label,
            0.0,
            1.0,
            0.0,
            key=f"{key}_fixed",
            disabled=True,
            help=f"Always {style.as_given(low)}.",
        )
        return
    now = min(max(float(now), low), high)
    whole = max(abs(low), abs(high)) < LARGEST_WHOLE and bool((values == np.round(values)).all())
    options: dict[str, Any] = {"min_value": int(low), "max_value": int(high), "step": 1}
    if whole and high - low <= 10 * STEPS and now == round(now):
        now = int(now)
    else:
        step = float(f"{(high - low) / STEPS:.0e}") or 1.0
        places = max(0, -math.floor(math.log10(step)))
        form = f"%.{places}f"
        options = {"min_value": low, "max_value": high, "step": step, "format": form}
    controls.view(st.slider, label, key, now, keep, **options)


# The answer


def ends(
    learnt: Dataset,
    model: Any,
    rows: np.ndarray,
    output: int,
) -> tuple[str, str]:
    """What stands at both ends of the waterfall where the model gives probabilities: how many of
    the rows it learned from are of the class, and the probability of the class.
    """
    if not hasattr(model, "calibration_"):
        return "", ""
    k = 1 if learnt.task == "binary" else output
    share = float(np.mean(learnt.y.astype(str) == learnt.class_names[k]))
    return f"({share:.0%} of the rows)", f"({model.predict_proba(rows)[0, k]:.0%})"
