"""The values of the target: which rows have one, numbers or classes, and what happens to rare classes.

Every refusal carries its repairs: a mark that is a class, classes merged or left out, another task.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Indices, Labels, Mask
from mklcore.data.columns import MAX_NAME, MISSING, OTHER_LEVEL, clean_name, missing_cells, used_as
from mklcore.data.dataset import counted, listed
from mklcore.data.notes import Note
from mklcore.data.parsing import Table
from mklcore.data.sentinels import as_missing, sentinel_of
from mklcore.data.settings import Settings
from mklcore.data.splitting import rare_note, repeated
from mklcore.data.target import CLASS_NAMES, MAX_CLASSES
from mklcore.errors import DataError, Repair

MAX_NUMBER_CLASSES = 20
RARE_ROWS = 10  # a class with fewer is rare where rare classes are merged or left out
AS_NUMBER = Repair.of("Predict it as a number", task="regression")
AS_CLASSES = Repair.of("Predict it as classes", task="classification")
FIND_TASK = Repair.of("Find the task", task=None)
MERGE_RARE = Repair.of('Merge rare classes into "other"', rare_classes="merge")
DROP_RARE = Repair.of("Leave out rare classes", rare_classes="drop")


class TargetValues(NamedTuple):
    """Target values, the numbers of the rows that have one, the task, and notes."""

    values: Labels
    rows: Indices
    task: str
    notes: list[str]


def read_target(table: Table, place: int, settings: Settings) -> TargetValues:
    """The target in column ``place`` of a table. DataError, with repairs, where it cannot be one."""
    name, cells = table.names[place], table.columns[place]
    use = settings.use_of(name)
    numbers, missing, stray, cells = used_as(name, cells, table.decimal, use, table.values)
    notes: list[str] = []
    if numbers is not None:
        numbers, missing, reported = _without_sentinel(name, numbers, missing, settings.sentinels)
        notes += reported
    rows = np.flatnonzero(~missing)
    marks = _marks_as_classes(table, place, numbers is not None)
    if len(rows) < 0.5 * len(cells) or not len(rows):
        raise DataError(
            f"The target {name!r} is missing in {len(cells) - len(rows):,} of {counted(len(cells), 'row')}; "
            "choose another target, or remove these rows from the file.",
            repairs=marks,
        )
    if gone := len(cells) - len(rows):
        notes.append(Note(f"Dropped {counted(gone, 'row')} without a usable target.", marks, urgent=bool(marks)))
    values = numbers[rows] if numbers is not None else cells[rows]
    try:
        return _settled(name, values, rows, settings, notes)
    except DataError as error:
        if numbers is None and stray:
            error.repairs = (_strays_missing(name, stray), *error.repairs)
        error.repairs = (*error.repairs, *marks)
        raise


def _without_sentinel(name: str, numbers: Labels, missing: Mask, rule: str) -> tuple[Labels, Mask, list[str]]:
    """The target without the number that probably stands for a missing value, where ``rule`` asks for that."""
    found = sentinel_of(name, numbers)
    if found is None:
        return numbers, missing, []
    what = f"{found.value:g} in the target {name!r} ({counted(found.cells, 'cell')})"
    if rule == "keep":
        text = f'Probably missing values: {what}. sentinels="missing" reads them so.'
        read = Repair.of(f"Read {found.value:g} as missing", sentinels="missing")
        return numbers, missing, [Note(text, [read], urgent=True)]
    numbers = as_missing(numbers, found)
    text = f"Read as missing: {what}."
    return numbers, np.isnan(numbers), [Note(text, [Repair.of(f"Keep {found.value:g} as a number", sentinels="keep")])]


def _marks_as_classes(table: Table, place: int, numeric: bool) -> list[Repair]:
    """For every mark of a missing value among the target's cells: read it as a class."""
    cells = table.columns[place]
    if cells.dtype.kind == "f":
        return []
    found = Counter(cell for cell in cells[missing_cells(cells, table.values)].tolist() if cell)
    usual = MISSING - (table.values or frozenset()) - {""}
    uses = ((table.names[place], "category"),) if numeric else ()
    return [
        Repair(
            f"{mark!r} is a class ({counted(cells_with, 'row')})",
            (("missing_marks", tuple(sorted(usual - {mark}))), *((("uses", uses),) if uses else ())),
        )
        for mark, cells_with in found.most_common(2)
        if cells_with > 1
    ]


def _strays_missing(name: str, stray: int) -> Repair:
    what = "The cell that is no number is" if stray == 1 else f"The {stray:,} cells that are no numbers are"
    return Repair.of(f"{what} missing", uses=((name, "number"),))


def _settled(name: str, values: Labels, rows: Indices, settings: Settings, notes: list[str]) -> TargetValues:
    """Task and labels of the values that are there."""
    task, distinct = settings.task, len(np.unique(values))
    if distinct == 1 and task != "novelty":
        raise DataError(
            f"The target {name!r} holds one class only ({_shown(values[0])!r} in every row); "
            "expected at least two different values. Choose another target."
        )
    if settings.rare_classes != "keep" and task != "regression" and _are_classes(values, task):
        values, kept, reported = _without_rare(values, settings.rare_classes)
        rows, values, distinct = rows[kept], values[kept], len(np.unique(values[kept]))
        notes += reported
        if distinct < 2:
            raise DataError(
                f"Fewer than two classes of {name!r} have {RARE_ROWS} rows or more; keep rare classes.",
                repairs=[Repair.of("Keep rare classes", rare_classes="keep")],
            )
    if task is None:
        task, how = _find_task(name, values, distinct)
        notes.append(how)
    if task == "classification":
        task = "binary" if distinct == 2 else "multiclass"
        if distinct > MAX_CLASSES:
            raise DataError(
                f"The target {name!r} has {distinct:,} different values, more than {MAX_CLASSES} classes; "
                "read it as a number, or choose another target.",
                repairs=[*([AS_NUMBER] if values.dtype.kind == "f" else []), *_fewer_classes(values)],
            )
    if task == "binary" and distinct != 2:
        raise DataError(
            f"The target {name!r} has {distinct:,} different values; a binary task needs two. "
            "Choose another target, or leave task= out to find it.",
            repairs=[FIND_TASK],
        )
    if task == "regression":
        if values.dtype.kind != "f":
            raise DataError(
                f"The target {name!r} is text (as {_shown(values[0])!r}); regression needs numbers.",
                repairs=[AS_CLASSES],
            )
        return TargetValues(values, rows, task, notes)
    if task == "novelty":
        return TargetValues(_labels(name, values), rows, task, notes)
    return _classes(name, values, rows, notes)


def _classes(name: str, values: Labels, rows: Indices, notes: list[str]) -> TargetValues:
    """The labels of a classification; a class with a single row is left out."""
    distinct = len(np.unique(values))
    numeric = [AS_NUMBER] if values.dtype.kind == "f" else []
    if len(rows) < 2 * distinct:
        raise DataError(
            f"The target {name!r} has {distinct} classes in {counted(len(rows), 'row')}: fewer rows than classes need, "
            "two each. Choose another target, join classes, or use task='regression' for numbers.",
            repairs=[*numeric, *_fewer_classes(values)],
        )
    kept = repeated(values)
    if (classes := len(np.unique(values[kept]))) < 2:
        alone = [_shown(label) for label in np.unique(values[~kept])]
        raise DataError(
            f"The target {name!r} has {'one class only' if classes else 'no class'} with more than one row: "
            f"{listed(alone)} {'stands' if len(alone) == 1 else 'stand'} in one row each, from which nothing is "
            "learnt. Choose another target, add rows, or use task='regression' for numbers.",
            repairs=[*numeric, *_fewer_classes(values)],
        )
    rows, alone_values, values = rows[kept], values[~kept], values[kept]
    labels = _labels(name, values)
    if len(alone_values):
        alone = [_shown(label) for label in np.unique(alone_values)]
        what = "the only row of class" if len(alone) == 1 else "the only rows of classes"
        text = f"Left out: {what} {listed(alone)}; a class needs two rows to be learnt."
        notes = [*notes, Note(text, [MERGE_RARE] if len(alone) > 1 else [])]
    if rare := rare_note(labels, 3):
        notes = [*notes, Note(rare, [MERGE_RARE, DROP_RARE])]
    return TargetValues(labels, rows, "binary" if classes == 2 else "multiclass", notes)


def _are_classes(values: Labels, task: str | None) -> bool:
    if task is not None or values.dtype.kind != "f":
        return True
    return _find_task("", values, len(np.unique(values)))[0] != "regression"


def _frequent(values: Labels) -> tuple[Labels, bool]:
    """The classes that are not rare, at most MAX_CLASSES - 1 of them, and whether there are others."""
    levels, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[: MAX_CLASSES - 1]
    often = levels[order][counts[order] >= RARE_ROWS]
    return often, len(often) < len(levels)


def _without_rare(values: Labels, rule: str) -> tuple[Labels, Mask, list[str]]:
    """The values with rare classes merged, which rows stay, and the note."""
    often, any_rare = _frequent(values)
    frequent = np.isin(values, often)
    if not any_rare:
        return values, frequent, []
    rare = np.unique(values[~frequent])
    named = listed(_shown(value) for value in rare)
    again = [Repair.of("Keep rare classes", rare_classes="keep")]
    if rule == "drop":
        classes = "the rare class" if len(rare) == 1 else f"{len(rare)} rare classes"
        text = f"Left out: {counted(int((~frequent).sum()), 'row')} of {classes}: {named}."
        return values, frequent, [Note(text, again)]
    texts = np.array([_shown(value) for value in values], dtype=object)
    merged = np.where(frequent, texts, OTHER_LEVEL)
    text = f"Merged into the class '{OTHER_LEVEL}': {named}."
    return merged, np.ones(len(values), dtype=bool), [Note(text, again)]


def _fewer_classes(values: Labels) -> list[Repair]:
    """How rare classes may go, where that leaves two classes or more."""
    often, any_rare = _frequent(values)
    if not any_rare:
        return []
    rest = int((~np.isin(values, often)).sum())
    merge = [MERGE_RARE] if len(often) and rest > 1 else []
    return [*merge, *([DROP_RARE] if len(often) > 1 else [])]


def _find_task(name: str, values: Labels, distinct: int) -> tuple[str, str]:
    if distinct == 2:
        low, high = np.unique(values)
        return "binary", f"{name!r} has two values ({_shown(low)} and {_shown(high)}): a binary task."
    if values.dtype.kind != "f":
        if distinct > MAX_CLASSES:
            raise DataError(
                f"The target {name!r} is text with {distinct} different values; expected numbers, or at most "
                f"{MAX_CLASSES} classes. Choose another column with target=.",
                repairs=_fewer_classes(values),
            )
        return "multiclass", f"{name!r} has {distinct} classes: a multiclass task."
    whole = bool((values == np.round(values)).all())
    called = name.lower() in CLASS_NAMES and distinct <= MAX_CLASSES
    if whole and (distinct <= MAX_NUMBER_CLASSES or called) and len(values) >= (2 if called else 5) * distinct:
        how = f"{name!r} has {distinct} different whole numbers, read as classes: a multiclass task."
        return "multiclass", Note(f"{how} task='regression' reads them as numbers.", [AS_NUMBER])
    classes = [AS_CLASSES] if distinct <= MAX_CLASSES and 2 * distinct <= len(values) else []
    return "regression", Note(f"{name!r} has {distinct:,} different numbers: a regression task.", classes)


def _labels(name: str, values: Labels) -> Labels:
    if values.dtype.kind == "f":
        whole = bool((values == np.round(values)).all())
        return values if whole else np.array([f"{value:g}" for value in values], dtype=object)
    if max(len(value) for value in values) > MAX_NAME:
        raise DataError(
            f"The target {name!r} holds texts longer than {MAX_NAME} characters; expected short names of classes. "
            "Choose another target, or shorten them."
        )
    names = {value: clean_name(value) or "(blank)" for value in dict.fromkeys(values)}
    return np.array([names[value] for value in values], dtype=object)


def _shown(cell: object) -> str:
    return f"{cell:g}" if isinstance(cell, float) else clean_name(str(cell))
