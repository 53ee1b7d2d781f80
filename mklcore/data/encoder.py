"""From the columns of a table to features, fitted on the training table and the same for new rows.

Medians, categories and marks of missing values are those of the training table; new rows never change them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Labels
from mklcore.data.columns import (
    MAX_LEVELS,
    MISSING,
    MISSING_LEVEL,
    OTHER_LEVEL,
    PARTS,
    Profile,
    ReadOptions,
    as_texts,
    clean_name,
    distinct_names,
    missing_cells,
    order_of,
    parts_of,
    to_numbers,
    used_as,
)
from mklcore.data.dataset import Dataset, Groups, counted, joined, listed
from mklcore.data.files import Source, Table, parse, ticked
from mklcore.data.sequences import composition, cut, share_of
from mklcore.data.sequences import letters as letters_of
from mklcore.errors import DataError, never_asked


@dataclass(frozen=True)
class Feature:
    """What one feature is made from: ``column`` of the file, filled with ``median`` where missing, or 1 for a
    ``level``.

    role : "number", "gap" (1 where a number is missing), "date" (its part ``level``, written in the order ``known``),
    "share" (of a letter in a sequence), "level" (of a category), "other" (any level not in ``known``) or "missing".
    lenient : whether things that are no numbers count as missing. sentinel : the number that was read as missing.
    words : the categories that elsewhere stand for a missing value.
    """

    name: str
    column: str
    role: str = "number"
    median: float = 0.0
    level: str = ""
    known: tuple[str, ...] = ()
    lenient: bool = False
    sentinel: float | None = None
    words: frozenset[str] = frozenset()


def features_of(item: Profile, indicator: bool = False, lenient: bool = False) -> list[Feature]:
    """What a column becomes: itself and where it has gaps, shares of letters, or a column of 0 and 1 per level."""
    name = item.column.name
    if item.numbers is not None:
        gappy, lenient = indicator and item.column.missing > 0, lenient or item.stray > 0
        first = Feature(
            name, name, "number", float(np.nanmedian(item.numbers)), lenient=lenient, sentinel=item.sentinel
        )
        return [first, *([replace(first, name=f"{name} {MISSING_LEVEL}", role="gap")] if gappy else [])]
    assert item.labels is not None
    if item.column.kind == "words":
        return []
    if item.column.kind == "date":
        return _date_features(item)
    if item.column.kind == "sequence":
        letters = composition(as_strings(item.labels))
        return [
            Feature(f"share of {a} in {name}" if a else f"length of {name}", name, "share", level=a) for a in letters
        ]
    levels, counts = np.unique(item.labels[item.labels != ""], return_counts=True)
    rare = len(levels) > MAX_LEVELS
    often = np.sort(levels[np.argsort(-counts, kind="stable")[:MAX_LEVELS]]) if rare else levels
    known = tuple(str(level) for level in often if not rare or level != OTHER_LEVEL)
    made = [("level", level) for level in known] + [("other", OTHER_LEVEL)] * rare
    if (item.labels == "").any():
        made.append(("missing", MISSING_LEVEL))
    if len(made) == 2:  # the other column would be its mirror image
        made = made[:1] if made[1][0] == "missing" else made[1:]
    words = MISSING.intersection(levels.tolist())
    return [Feature(f"{name}={level}", name, role, level=level, known=known, words=words) for role, level in made]


def _date_features(item: Profile) -> list[Feature]:
    """The parts of a column of dates that vary on the training table."""
    assert item.labels is not None
    name, order = item.column.name, order_of(item.labels)
    parts = parts_of(item.labels, order)
    known = ~np.isnan(parts[:, 0])
    is_whole = bool(known[item.labels != ""].all())
    return [
        Feature(f"{part} of {name}", name, "date", float(np.median(column)), part, (order,), not is_whole)
        for part, column in zip(PARTS, parts[known].T, strict=True)
        if np.ptp(column) > 0.0
    ]


def as_strings(labels: Labels) -> tuple[str, ...]:
    """Sequences in capitals; where one is missing (""), unknown letters of the usual length."""
    found = [str(label).strip().upper() for label in labels.tolist()]
    usual = "N" * int(np.median([len(text) for text in found if text] or [1]))
    return tuple(text or usual for text in found)


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
class TableEncoder:
    """How the columns of a file become the features of a table, fitted on the training table."""

    features: tuple[Feature, ...]
    target_name: str = "y"
    task: str = "regression"
    sequences: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    width: int = 0
    classes: tuple[str, ...] = ()
    missing_marks: Sequence[str] | None = None

    @classmethod
    def fit(cls, profiles: Iterable[Profile], indicator: bool = False, lenient: bool = False) -> TableEncoder:
        """What these columns become, with different names of features."""
        used = tuple(profiles)
        every = [feature for item in used for feature in features_of(item, indicator, lenient)]
        names = distinct_names(clean_name(feature.name) for feature in every)
        renamed = (replace(feature, name=name) for feature, name in zip(every, names, strict=True))
        sequences, texts = (
            tuple(one.column.name for one in used if one.column.kind == kind) for kind in ("sequence", "words")
        )
        return cls(tuple(renamed), sequences=sequences, texts=texts)

    @classmethod
    def plain(cls, data: Dataset) -> TableEncoder:
        """Of a table whose columns were numbers from the start, as those of the samples are."""
        medians = zip(data.feature_names, np.median(data.X, axis=0).tolist(), strict=True)
        features = tuple(Feature(name, name, median=median) for name, median in medians)
        return cls(features, data.target_name, data.task, classes=data.class_names)

    @property
    def columns(self) -> Groups:
        """The columns of the file, each with the places of its features."""
        found: dict[str, list[int]] = {}
        for place, feature in enumerate(self.features):
            found.setdefault(feature.column, []).append(place)
        return tuple((name, tuple(places)) for name, places in found.items())

    @property
    def _needed(self) -> dict[str, None]:
        return dict.fromkeys((*dict(self.columns), *self.sequences, *self.texts))

    def transform(
        self, table: Table, notes: list[str], tick: Callable[[], None] = never_asked
    ) -> tuple[Array, dict[str, tuple[str, ...]]]:
        """The features (rows, d) of a table that has all columns, and its sequences and texts by name."""
        X = np.empty((table.n_rows, len(self.features)))
        strings = {}
        cells_of, members_of = dict(zip(table.names, table.columns, strict=True)), dict(self.columns)
        for name in ticked(self._needed, tick):
            members, cells = list(members_of.get(name, ())), cells_of[name]
            features = [self.features[j] for j in members]
            if name in self.texts:
                strings[name] = tuple(str(label).strip() for label in _labels(frozenset(), cells).tolist())
                continue
            if name in self.sequences:
                strings[name] = as_strings(_labels(frozenset(), cells))
                for j in members:
                    X[:, j] = share_of(self.features[j].level, strings[name])
                continue
            if features[0].role == "date":
                X[:, members] = _dates(features, _labels(frozenset(), cells))
                continue
            if features[0].role in ("number", "gap"):
                numbers = _numbers(features[0], cells, table.decimal, notes)
                gone = np.isnan(numbers)
                made = [gone if one.role == "gap" else np.where(gone, one.median, numbers) for one in features]
            else:
                made = _levels(features, _labels(features[0].words, cells), notes)
            X[:, members] = np.column_stack(made)
        return X, strings

    def read(self, source: Source, **how: Any) -> NewRows:
        """The rows of another file with the features of the training table; columns it does not need are left out.

        Missing numbers become the training median. DataError names columns that are missing, and the first cell of a
        column of numbers that holds something else. how : what `read_table` takes about the file.
        """
        return self.of_table(parse(source, ReadOptions(missing_marks=self.missing_marks, **how)))

    def of_table(self, table: Table) -> NewRows:
        """The same for a table that is already parsed."""
        places = {name: place_of(table.names, name) for name in self._needed}
        if gone := [name for name, place in places.items() if place is None]:
            raise DataError(
                f"The file lacks {counted(len(gone), 'column')} the model needs: {listed(gone, most=10)}. "
                f"It has {listed(table.names, most=10)}. Add the columns, or check the header line."
            )
        used = {place: name for name, place in places.items() if place is not None}
        at = place_of(table.names, self.target_name)
        notes: list[str] = []
        ours = replace(table, names=tuple(used.values()), columns=tuple(table.columns[place] for place in used))
        X, strings = self.transform(ours, notes)
        for name in self.sequences:
            texts = strings[name]
            row = int(np.argmax([len(text) for text in texts]))
            if len(texts[row]) > self.width:
                raise DataError(
                    f"The sequence {name!r} has {len(texts[row]):,} letters in row {row + 1}; the longest of the "
                    f"training table has {self.width:,}. Cut it."
                )
        if idle := [name for place, name in enumerate(table.names) if place not in used and place != at]:
            notes.append(f"Not needed and left out: {listed(idle)}.")
        target = None if at is None or at in used else self._target(table.columns[at], table.decimal)
        kinds = [[strings[name] for name in kind] for kind in (self.sequences, self.texts)]
        letters = letters_of(kinds[0], self.width, [cut(texts, self.width) for texts in kinds[1]]) if strings else None
        return NewRows(X, target, tuple(notes), letters)

    def _target(self, cells: np.ndarray, decimal: str) -> np.ndarray | None:
        """The target as the training table has it: numbers (NaN where missing), or class names ("" where missing)."""
        values = self.classes if self.task != "regression" else ()
        numbers, missing, _, cells = used_as(self.target_name, cells, decimal, None, values)
        if missing.all():
            return None
        if self.task == "regression":
            return numbers
        if numbers is not None:
            texts = [f"{value:g}" if value != np.round(value) else str(int(value)) for value in np.nan_to_num(numbers)]
        else:
            texts = [clean_name(str(cell)) or "(blank)" for cell in cells]
        return np.array(["" if gone else text for text, gone in zip(texts, missing, strict=True)], dtype=object)


def place_of(names: Sequence[str], wanted: str) -> int | None:
    """Where a column is, by its name or, if only one fits, by its name in other capitals."""
    if wanted in names:
        return list(names).index(wanted)
    same = [k for k, name in enumerate(names) if name.casefold() == wanted.casefold()]
    return same[0] if len(same) == 1 else None


def _numbers(feature: Feature, cells: np.ndarray, decimal: str, notes: list[str]) -> Array:
    """A column of numbers, NaN where one is missing. DataError for other cells where the training table had none."""
    numbers, blank = to_numbers(cells, decimal), missing_cells(cells, values=())
    stray = np.flatnonzero(np.isnan(numbers) & ~blank)
    if stray.size and not feature.lenient:
        raise DataError(
            f"The column {feature.column!r} holds {clean_name(str(cells[stray[0]]))!r} in row {stray[0] + 1}, "
            f"{counted(stray.size, 'such cell')} in all; the model learnt it as numbers. Mend or empty the cells."
        )
    found = np.where(blank | (numbers == feature.sentinel), np.nan, numbers)
    if gone := int(np.isnan(found).sum()):
        many = counted(gone, "missing cell")
        notes.append(
            f"{many} of {feature.column!r} filled with the median of the training table, {feature.median:.4g}."
        )
    return found


def _dates(features: Sequence[Feature], labels: Labels) -> Array:
    """The parts of dates, medians where one is missing. DataError for a cell that is no date where none was in
    training.
    """
    parts = parts_of(labels, features[0].known[0])
    strange = np.flatnonzero(np.isnan(parts[:, 0]) & (labels != ""))
    if strange.size and not features[0].lenient:
        raise DataError(
            f"The column {features[0].column!r} holds {clean_name(str(labels[strange[0]]))!r} in row {strange[0] + 1}, "
            f"which is no date written as in training ({features[0].known[0]}): write it so, or empty the cell."
        )
    columns = [(parts[:, PARTS.index(one.level)], one.median) for one in features]
    return np.column_stack([np.where(np.isnan(part), median, part) for part, median in columns])


def _labels(words: frozenset[str], cells: np.ndarray) -> Labels:
    """A column of texts, "" where one is missing."""
    texts = as_texts(cells)
    return np.where(missing_cells(texts, words), "", texts)


def _levels(features: Sequence[Feature], labels: Labels, notes: list[str]) -> list[np.ndarray]:
    """Where the levels are that a category's features stand for; what is none of them is reported."""
    gone, known = labels == "", np.isin(labels, features[0].known)
    where = {"other": ~known & ~gone, "missing": gone}
    if where["other"].any() and all(one.role != "other" for one in features):
        new = sorted(set(labels[where["other"]].tolist()))
        notes.append(
            f"{counted(int(where['other'].sum()), 'cell')} of {features[0].column!r} hold what the training table does "
            f"not: {listed(new)}. The model knows {joined(map(repr, features[0].known))}; these cells count as none of "
            "the categories it has."
        )
    return [where.get(feature.role, labels == feature.level) for feature in features]
