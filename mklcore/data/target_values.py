"""The values of the target: which rows have one, numbers or classes, and what happens to rare classes.

Every refusal carries its repairs: a mark that is a class, classes merged or left out, another task.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Indices, Labels
from mklcore.data.columns import MAX_NAME, MISSING, OTHER_LEVEL, clean_name, missing_cells, used_as
from mklcore.data.dataset import counted, listed
from mklcore.data.notes import Note
from mklcore.data.parsing import Table
from mklcore.data.sentinels import sentinel_of
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
    numbers, missing, stray, cells = used_as(name, cells, table.decimal, settings.use_of(name), table.values)
    notes: list[str] = []
    if numbers is not None and (sentinel := sentinel_of(name, numbers)):
        value, many = f"{sentinel.value:g}", counted(sentinel.cells, "cell")
        what, rule = f"{value} in the target {name!r} ({many})", settings.sentinels
        text, label, other = f"Read as missing: {what}.", f"Keep {value} as a number", "keep"
        if rule == "keep":
            text = f'Probably missing values: {what}. sentinels="missing" reads them so.'
            label, other = f"Read {value} as missing", "missing"
        else:
            missing = missing | (numbers == sentinel.value)
        notes.append(Note(text, [Repair.of(label, sentinels=other)], urgent=rule == "keep"))
    rows = np.flatnonzero(~missing)
    marks = _marks_as_classes(table, place, numbers is not None)
    if 2 * len(rows) < len(cells) or not len(rows):
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
            what = "The cell that is no number is" if stray == 1 else f"The {stray:,} cells that are no numbers are"
            error.repairs = (Repair.of(f"{what} missing", uses=((name, "number"),)), *error.repairs)
        error.repairs = (*error.repairs, *marks)
        raise


def _marks_as_classes(table: Table, place: int, numeric: bool) -> list[Repair]:
    """For every mark of a missing value among the target's cells: read it as a class."""
    cells = table.columns[place]
    if cells.dtype.kind == "f":
        return []
    found = Counter(cell for cell in cells[missing_cells(cells, table.values)].tolist() if cell)
    usual = MISSING - (table.values or frozenset()) - {""}
    uses = (("uses", ((table.names[place], "category"),)),) if numeric else ()
    return [
        Repair(f"{mark!r} is a class ({counted(n, 'row')})", (("missing_marks", tuple(sorted(usual - {mark}))), *uses))
        for mark, n in found.most_common(2)
        if n > 1
    ]


def _settled(name: str, values: Labels, rows: Indices, settings: Settings, notes: list[str]) -> TargetValues:
    """Task and labels of the values that are there."""
    task, numeric, distinct = settings.task, values.dtype.kind == "f", len(np.unique(values))
    if distinct == 1 and task != "novelty":
        raise DataError(
            f"The target {name!r} holds one class only ({_shown(values[0])!r} in every row); "
            "expected at least two different values. Choose another target."
        )
    found = task or ("classification" if _are_classes(name, values, distinct) else "regression")
    if found == "regression" and not numeric:
        raise DataError(
            f"The target {name!r} is text (as {_shown(values[0])!r}); regression needs numbers.", repairs=[AS_CLASSES]
        )
    if found != "regression" and settings.rare_classes != "keep":
        values, rows = _without_rare(name, values, rows, settings.rare_classes, notes)
        distinct = len(np.unique(values))
    if task == "binary" and distinct != 2:
        raise DataError(
            f"The target {name!r} has {distinct:,} different values; a binary task needs two. "
            "Choose another target, or leave task= out to find it.",
            repairs=[FIND_TASK],
        )
    if task is None:
        notes.append(_how_found(name, values, distinct, found))
    if found == "regression":
        return TargetValues(values, rows, found, notes)
    if found == "novelty":
        return TargetValues(_labels(name, values), rows, found, notes)
    return _classes(name, values, rows, notes)


def _are_classes(name: str, values: Labels, distinct: int) -> bool:
    """Whether the values of a target are classes: words, two values, or few whole numbers."""
    if distinct == 2 or values.dtype.kind != "f":
        return True
    called = name.lower() in CLASS_NAMES and distinct <= MAX_CLASSES
    few = (distinct <= MAX_NUMBER_CLASSES or called) and len(values) >= (2 if called else 5) * distinct
    return few and bool((values == np.round(values)).all())


def _how_found(name: str, values: Labels, distinct: int, task: str) -> str:
    """The note about a task that was found."""
    if task == "regression":
        classes = [AS_CLASSES] if distinct <= MAX_CLASSES and 2 * distinct <= len(values) else []
        return Note(f"{name!r} has {distinct:,} different numbers: a regression task.", classes)
    if distinct == 2:
        low, high = np.unique(values)
        return f"{name!r} has two values ({_shown(low)} and {_shown(high)}): a binary task."
    if values.dtype.kind != "f":
        return f"{name!r} has {distinct} classes: a multiclass task."
    how = f"{name!r} has {distinct} different whole numbers, read as classes: a multiclass task."
    return Note(f"{how} task='regression' reads them as numbers.", [AS_NUMBER])


def _classes(name: str, values: Labels, rows: Indices, notes: list[str]) -> TargetValues:
    """The labels of a classification; a class with a single row is left out."""
    levels = np.unique(values)
    numeric = values.dtype.kind == "f"
    kept = repeated(values)
    alone = [_shown(label) for label in np.unique(values[~kept])]
    why = ""
    if len(levels) > MAX_CLASSES:
        what = "has" if numeric else "is text with"
        why = f"{what} {len(levels):,} different values, more than {MAX_CLASSES} classes"
    elif len(rows) < 2 * len(levels):
        why = f"has {len(levels)} classes in {counted(len(rows), 'row')}: fewer rows than classes need, two each"
    elif len(levels) - len(alone) < 2:
        few = "one class only" if len(alone) < len(levels) else "no class"
        stand = "stands" if len(alone) == 1 else "stand"
        why = f"has {few} with more than one row: {listed(alone)} {stand} in one row each, from which nothing is learnt"
    if why:
        raise DataError(
            f"The target {name!r} {why}. Choose another target, join classes, or use task='regression' for numbers.",
            repairs=[*([AS_NUMBER] if numeric else []), *_fewer_classes(values)],
        )
    labels = _labels(name, values[kept])
    if alone:
        what = "the only row of class" if len(alone) == 1 else "the only rows of classes"
        text = f"Left out: {what} {listed(alone)}; a class needs two rows to be learnt."
        notes.append(Note(text, [MERGE_RARE] if len(alone) > 1 else []))
    if rare := rare_note(labels, 3):
        notes.append(Note(rare, [MERGE_RARE, DROP_RARE]))
    return TargetValues(labels, rows[kept], "binary" if len(levels) - len(alone) == 2 else "multiclass", notes)


def _frequent(values: Labels) -> Labels:
    """The classes that are not rare, at most MAX_CLASSES - 1 of them."""
    levels, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[: MAX_CLASSES - 1]
    often: Labels = levels[order][counts[order] >= RARE_ROWS]
    return often


def _without_rare(name: str, values: Labels, rows: Indices, rule: str, notes: list[str]) -> tuple[Labels, Indices]:
    """The values with rare classes merged or left out, and their rows."""
    frequent = np.isin(values, _frequent(values))
    rare = np.unique(values[~frequent])
    if not len(rare):
        return values, rows
    named, again = listed(_shown(value) for value in rare), [Repair.of("Keep rare classes", rare_classes="keep")]
    if rule == "drop":
        classes = "the rare class" if len(rare) == 1 else f"{len(rare)} rare classes"
        notes.append(Note(f"Left out: {counted(int((~frequent).sum()), 'row')} of {classes}: {named}.", again))
        values, rows = values[frequent], rows[frequent]
    else:
        notes.append(Note(f"Merged into the class '{OTHER_LEVEL}': {named}.", again))
        values = np.where(frequent, np.array([_shown(value) for value in values], dtype=object), OTHER_LEVEL)
    if len(np.unique(values)) < 2:
        raise DataError(
            f"Fewer than two classes of {name!r} have {RARE_ROWS} rows or more; keep rare classes.", repairs=again
        )
    return values, rows


def _fewer_classes(values: Labels) -> list[Repair]:
    """How rare classes may go, where that leaves two classes or more."""
    often = _frequent(values)
    rest = int((~np.isin(values, often)).sum())
    if not rest:
        return []
    return [*([MERGE_RARE] if len(often) and rest > 1 else []), *([DROP_RARE] if len(often) > 1 else [])]


def _labels(name: str, values: Labels) -> Labels:
    if values.dtype.kind == "f":
        whole = bool((values == np.round(values)).all())
        return values if whole else np.array([f"{value:g}" for value in values], dtype=object)
    if max(map(len, values)) > MAX_NAME:
        raise DataError(
            f"The target {name!r} holds texts longer than {MAX_NAME} characters; expected short names of classes. "
            "Choose another target, or shorten them."
        )
    names = {value: clean_name(value) or "(blank)" for value in dict.fromkeys(values)}
    return np.array([names[value] for value in values], dtype=object)


def _shown(cell: object) -> str:
    return f"{cell:g}" if isinstance(cell, float) else clean_name(str(cell))
