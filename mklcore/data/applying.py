"""New rows read as the training table was: the same columns, medians and categories, never new ones.

`learn_reading` goes over the training file once more and remembers what every feature was made from; `Reading.apply`
makes the same features of another file. `plain_reading` does so for a table that was numbers from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mklcore.data.columns import (
    WORDS,
    Feature,
    Profile,
    as_strings,
    as_texts,
    clean_name,
    features_of,
    levels_of,
    missing_cells,
    numbers_or_labels,
    to_numbers,
)
from mklcore.data.dataset import Dataset, counted, joined, listed
from mklcore.data.packed import MAX_BYTES, MAX_COLUMNS, MAX_ROWS, Format
from mklcore.data.parsing import Source, Table, parse
from mklcore.data.reading import columns_of_table
from mklcore.data.sequences import letters as letters_of
from mklcore.data.sequences import share_of
from mklcore.data.settings import Settings
from mklcore.errors import DataError, never_asked


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows to predict: ``X`` (m, d), ``target`` (m,) as text or numbers where the file has it (else None), and notes.

    ``table`` is X with the letters of sequences beside it, as ``Dataset.table`` has them.
    """

    X: np.ndarray
    target: np.ndarray | None
    notes: tuple[str, ...]
    letters: np.ndarray | None = None

    @property
    def table(self) -> np.ndarray:
        """The rows that a model of the training table takes, (m, d) or (m, d + W S)."""
        return self.X if self.letters is None else np.hstack([self.X, self.letters])


@dataclass(frozen=True)
class Reading:
    """How the columns of a file become the features of a table, learnt from the training file."""

    features: tuple[Feature, ...]
    target_name: str
    task: str
    sequences: tuple[str, ...] = ()
    width: int = 0
    classes: tuple[str, ...] = ()
    missing_marks: tuple[str, ...] | None = None

    def apply(
        self,
        source: Source,
        *,
        delimiter: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
        max_bytes: int = MAX_BYTES,
        max_rows: int = MAX_ROWS,
        max_columns: int = MAX_COLUMNS,
        tick: Callable[[], None] = never_asked,
    ) -> NewRows:
        """The rows of another file with the features of the training table; columns it does not need are left out.

        Missing numbers become the training median. DataError names columns that are missing, and the first cell of a
        column of numbers that holds something else. tick : called now and then; what it raises ends the reading.
        """
        form = Format(
            delimiter, encoding, decimal, None, max_bytes, max_rows, max_columns,
            missing_marks=self.missing_marks, tick=tick,
        )  # fmt: skip
        return self.of_table(parse(source, form))

    def of_table(self, table: Table) -> NewRows:
        """The same for a table that is already parsed."""
        wanted = dict.fromkeys((*(feature.column for feature in self.features), *self.sequences))
        places = {name: _place(table.names, name) for name in wanted}
        if gone := [name for name, place in places.items() if place is None]:
            raise DataError(
                f"The file lacks {counted(len(gone), 'column')} the model needs: {listed(gone, most=10)}. "
                f"It has {listed(table.names, most=10)}. Add the columns, or check the header line."
            )
        notes: list[str] = []
        cells = {name: table.columns[place] for name, place in places.items() if place is not None}
        X = np.empty((table.n_rows, len(self.features)))
        strings: dict[str, tuple[str, ...]] = {}
        for name in wanted:
            members = [j for j, feature in enumerate(self.features) if feature.column == name]
            if name in self.sequences:
                strings[name] = self._strings(cells[name], name)
                for j in members:
                    X[:, j] = share_of(self.features[j].level, strings[name])
                continue
            _fill(X, members, [self.features[j] for j in members], cells[name], table.decimal, notes)
        used = {places[name] for name in wanted}
        place = _place(table.names, self.target_name)
        idle = [name for k, name in enumerate(table.names) if k not in used and k != place]
        if idle:
            notes.append(f"Not needed and left out: {listed(idle)}.")
        target = None if place is None or place in used else self._target(table.columns[place], table.decimal)
        letters = letters_of([strings[name] for name in self.sequences], self.width) if self.sequences else None
        return NewRows(X, target, tuple(notes), letters)

    def _strings(self, cells: np.ndarray, name: str) -> tuple[str, ...]:
        """The strings of a column of sequences. DataError where one is longer than any the model has room for."""
        found = as_strings(np.where(missing_cells(cells, values=()), "", as_texts(cells)))
        for row, text in enumerate(found):
            if len(text) > self.width:
                raise DataError(
                    f"The sequence {name!r} has {len(text):,} letters in row {row + 1}; the longest of the training "
                    f"table has "
                    f"{self.width:,}. Cut it, or use the library, where a Dataset with longer strings is welcome."
                )
        return found

    def _target(self, cells: np.ndarray, decimal: str) -> np.ndarray | None:
        """The target as the training table has it: numbers (NaN where missing), or class names ("" where missing)."""
        numbers, missing, _ = numbers_or_labels(cells, decimal, self.classes if self.task != "regression" else ())
        if missing.all():
            return None
        if self.task == "regression":
            return numbers
        if numbers is not None:
            texts = [f"{value:g}" if value != np.round(value) else str(int(value)) for value in np.nan_to_num(numbers)]
        else:
            texts = [clean_name(str(cell)) or "(blank)" for cell in cells]
        return np.array(["" if gone else text for text, gone in zip(texts, missing, strict=True)], dtype=object)


def plain_reading(data: Dataset) -> Reading:
    """The reading of a table whose columns were numbers from the start, as those of the samples are."""
    medians = np.median(data.X, axis=0)
    names = zip(data.feature_names, medians.tolist(), strict=True)
    features = tuple(Feature(name, name, median=median) for name, median in names)
    return Reading(features, data.target_name, data.task, classes=data.class_names)


def learn_reading(
    source: Source,
    data: Dataset,
    *,
    uses: Mapping[str, str] | None = None,
    missing: str = "median",
    missing_marks: Sequence[str] | None = None,
    sentinels: str = "keep",
    rare_classes: str = "keep",
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    skip_lines: int | None = None,
    on_bad_lines: str = "error",
    quotes: bool = True,
    tick: Callable[[], None] = never_asked,
) -> Reading:
    """How ``data`` was made from the table in ``source``; the arguments are those given to `read_table`.

    DataError where a feature of ``data`` does not come out of the file as it is: the table was changed after reading.
    """
    marks = None if missing_marks is None else tuple(missing_marks)
    form = Format(
        delimiter, encoding, decimal, header, sheet=sheet, skip_lines=skip_lines, on_bad_lines=on_bad_lines,
        quotes=quotes, missing_marks=marks, tick=tick,
    )  # fmt: skip
    table = parse(source, form)
    place = _place(table.names, data.target_name)
    wanted = set(data.feature_names)
    settings = Settings.of(
        [name for name in table.names if name in wanted],
        uses,
        target=place,
        task="classification" if data.task in ("binary", "multiclass") else data.task,
        missing=missing,
        sentinels=sentinels,
        rare_classes=rare_classes,
    )
    read = columns_of_table(table, settings, tick)
    found: dict[str, Feature] = {}
    for before, item in zip(read.before, read.profiles, strict=True):
        for feature in features_of(item):
            name, lenient = (
                clean_name(feature.name),
                feature.lenient or (missing == "drop" and item.numbers is not None),
            )
            found.setdefault(name, replace(feature, name=name, lenient=lenient, sentinel=_gone(before, item)))
    features = tuple(found[name] for name in data.feature_names if name in found)
    letters = tuple(name for name, _ in data.sequences)
    reading = Reading(features, data.target_name, data.task, letters, data.width, data.class_names, marks)
    strange = [name for name in data.feature_names if name not in found]
    if not strange:
        X = reading.of_table(table).X[read.rows]
        same_rows = X.shape == data.X.shape
        strange = [] if same_rows and np.array_equal(X, data.X) else _differing(X, data) if same_rows else ["the rows"]
    if strange:
        raise DataError(
            f"New files cannot be read as this table was: {listed(strange)} changed after reading. "
            "Undo these changes on the table, or make them in both files."
        )
    return reading


def _gone(before: Profile, after: Profile) -> float | None:
    """The number of a column that was read as missing, if any was."""
    if before.numbers is None or after.numbers is None or before is after:
        return None
    values = before.numbers[np.isnan(after.numbers) & ~np.isnan(before.numbers)]
    return float(values[0]) if values.size else None


def _differing(X: np.ndarray, data: Dataset) -> list[str]:
    return [data.feature_names[j] for j in np.flatnonzero((X != data.X).any(axis=0))]


def _place(names: Sequence[str], wanted: str) -> int | None:
    """Where a column is, by its name or, if only one fits, by its name in other capitals."""
    if wanted in names:
        return list(names).index(wanted)
    same = [k for k, name in enumerate(names) if name.casefold() == wanted.casefold()]
    return same[0] if len(same) == 1 else None


def _fill(
    X: np.ndarray, members: list[int], features: list[Feature], cells: np.ndarray, decimal: str, notes: list[str]
) -> None:
    """The features that one column gives."""
    first = features[0]
    if first.role in ("number", "gap"):
        numbers, blank = to_numbers(cells, decimal), missing_cells(cells, values=())
        stray = np.flatnonzero(np.isnan(numbers) & ~blank)
        if first.sentinel is not None:
            numbers = np.where(numbers == first.sentinel, np.nan, numbers)
        missing = np.isnan(numbers) | blank
        if stray.size and not first.lenient:
            raise DataError(
                f"The column {first.column!r} holds {clean_name(str(cells[stray[0]]))!r} in row {stray[0] + 1}, "
                f"{counted(stray.size, 'such cell')} in all; the model learnt it as numbers. Mend or empty the cells."
            )
        if missing.any():
            many = counted(int(missing.sum()), "missing cell")
            notes.append(
                f"{many} of {first.column!r} filled with the median of the training table, {first.median:.4g}."
            )
        for j, feature in zip(members, features, strict=True):
            X[:, j] = missing if feature.role == "gap" else np.where(missing, first.median, numbers)
        return
    has_other = any(feature.role == "other" for feature in features)
    texts = as_texts(cells)
    words = WORDS if has_other else WORDS & set(first.known)  # "none" is a category where training has it as one
    gone = missing_cells(cells, None if has_other else first.known) & ~np.isin(texts, list(words))
    labels = np.where(gone, "", texts)
    known = np.isin(labels, first.known)
    X[:, members] = np.column_stack(levels_of(features, labels))
    new = sorted({str(label) for label in labels[~known & ~gone]})
    if new and not has_other:
        cells_new = counted(int((~known & ~gone).sum()), "cell")
        notes.append(
            f"{cells_new} of {first.column!r} hold what the training table does not: {listed(new)}. "
            f"The model knows {joined(map(repr, first.known))}; these cells count as none of the categories it has."
        )
