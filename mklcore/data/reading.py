"""From a table in a file to a `Dataset`: the target, the task, the features, and notes on everything that changed.

`describe_table` looks at every column before a target is chosen; `read_table` makes the data set. Both parse alike.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mklcore.data.belonging import rows_together
from mklcore.data.columns import (
    MAX_NAME,
    USES,
    Column,
    Profile,
    clean_name,
    distinct_names,
    encode,
    missing_rows,
    notes_on_use,
    numbers_or_labels,
    profile,
    strings_of,
)
from mklcore.data.dataset import TASKS, Dataset, Groups, counted, joined, listed
from mklcore.data.grouping import families
from mklcore.data.packed import MAX_BYTES, MAX_CELLS, MAX_COLUMNS, MAX_ROWS, Format, ticked
from mklcore.data.parsing import Source, Table, delimiter_in_words, parse
from mklcore.data.sentinels import Sentinel, as_missing, sentinel_of
from mklcore.data.splitting import rare_note, repeated
from mklcore.data.target import MAX_CLASSES, TargetCandidate, in_words, rank_targets
from mklcore.errors import DataError, ParameterError, never_asked

SURE_NAMES = ("target", "label", "class", "y")  # without any of them a table read for novelty has no target
MAX_NUMBER_CLASSES = 20
PREVIEW_ROWS = 10
MISSING_RULES = ("median", "drop", "indicator")
SENTINEL_RULES = ("keep", "missing")


@dataclass(frozen=True)
class TableSummary:
    """What a table holds, before a target is chosen.

    target : the column `read_table` takes when none is named, "" where none can be one. candidates : the three
        likeliest
    targets, `target` first, each with what speaks for it and a confidence.
    """

    n_rows: int
    columns: tuple[Column, ...]
    target: str
    preview: tuple[tuple[str, ...], ...]
    delimiter: str | None
    encoding: str | None
    decimal: str
    header: bool
    notes: tuple[str, ...]
    sheets: tuple[str, ...] = ()
    sentinels: tuple[Sentinel, ...] = ()
    candidates: tuple[TargetCandidate, ...] = ()


def describe_table(
    source: Source,
    *,
    task: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    max_bytes: int = MAX_BYTES,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
    tick: Callable[[], None] = never_asked,
) -> TableSummary:
    """Types, missing values and the first rows of a table; the arguments are those of `read_table`."""
    table = parse(source, Format(delimiter, encoding, decimal, header, max_bytes, max_rows, max_columns, sheet, tick))
    profiles = _looked_at(table, tick)
    columns = tuple(item.column for item in profiles)
    rows = min(PREVIEW_ROWS, table.n_rows)
    preview = tuple(tuple(_shown(column[row]) for column in table.columns) for row in range(rows))
    candidates = rank_targets(table.names, profiles, table.header, task)
    target = candidates[0].name if candidates else ""
    found = _sentinels(profiles)
    notes = (*_how_read(table), *table.notes)
    return TableSummary(
        table.n_rows,
        columns,
        target,
        preview,
        table.delimiter,
        table.encoding,
        table.decimal,
        table.header,
        notes,
        table.sheets,
        found,
        candidates,
    )


def read_table(
    source: Source | Table,
    target: str | int | None = None,
    *,
    task: str | None = None,
    keep: Sequence[str] = (),
    uses: Mapping[str, str] | None = None,
    missing: str = "median",
    sentinels: str = "keep",
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    max_bytes: int = MAX_BYTES,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
    tick: Callable[[], None] = never_asked,
) -> Dataset:
    r"""The data set in a CSV, TSV, Parquet, Excel or OpenDocument table.

    source : a path, bytes, or an open file, read from where it stands, or a folder of Parquet files with the same
        columns.
    target : the name or the index of a column; None takes one with a telling name (target, label, class, y, outcome,
    price, ...), else by what stands in it. task : one of "binary", "multiclass", "regression", "novelty", or
    "classification" for as many classes as there are values; None finds out. "novelty" without a target makes every
    column a feature and every y 1.
    keep : columns to use although they look like an identifier, free text or a constant. uses : what to take columns
        for,
    by name: "number", "category" or "left out". missing : "median" fills missing numbers, "indicator" also adds a
    column of 0 and 1 that says where, "drop" leaves out rows with a missing cell. sentinels : "keep" tells of numbers
    that probably stand for a missing value (-200, 9999, impossible zeros), "missing" reads them so. sheet : which sheet
    of a workbook, the first visible one if None. tick : called every tenth of a second or so; what it raises ends the
    reading. The other arguments override what is found in the file.

    Missing numbers become the median of their column, categories become columns of 0 and 1, identifiers, free text,
    dates and constants are left out, rows without a target are dropped; `notes` tells all of it. Columns that share a
    prefix (fou_1, fou_2, kar_1, kar_2) become groups. Raises DataError, with what to do, where no data set results.

    Parameters
    ----------
    source : path, bytes or file
        The table: a path, bytes, an open file, or a folder of Parquet files.
    target : str, int or None, default None
        Name or index of the target column; None takes one with a telling name.
    task : str or None, default None
        "binary", "multiclass", "regression" or "novelty"; None where it is to be found out.
    keep : sequence of str
        Columns to use although they look like identifiers, free text or constants.
    uses : dict or None, default None
        How to read columns, by name: "number", "category" or "left out".
    missing : str, default "median"
        What to do with missing cells: "median", "indicator" or "drop".
    sentinels : str, default "keep"
        Whether numbers such as -999 are kept or read as "missing".
    delimiter : str or None, default None
        Sign between columns; None finds out.
    encoding : str or None, default None
        Encoding of the text; None finds out.
    decimal : str or None, default None
        Decimal sign; None finds out.
    header : bool or None, default None
        Whether the first line holds names; None finds out.
    sheet : str or None, default None
        Name of the sheet; None for the first with a table.
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
        The table with its target and notes on what was read how.

    Examples
    --------
    >>> rows = "\n".join(f"{150 + i % 9},{50 + i % 7},{'fm'[i % 2]}" for i in range(40))
    >>> table = read_table(f"height,weight,sex\n{rows}".encode(), "sex")
    >>> table.task, table.feature_names
    ('binary', ('height', 'weight'))
    """
    if task is not None and task not in (*TASKS, "classification"):
        raise ParameterError(f"task is {task!r}; expected one of {', '.join(TASKS)} or classification.")
    if missing not in MISSING_RULES:
        raise ParameterError(f"missing is {missing!r}; expected one of {', '.join(MISSING_RULES)}.")
    if sentinels not in SENTINEL_RULES:
        raise ParameterError(f"sentinels is {sentinels!r}; expected one of {', '.join(SENTINEL_RULES)}.")
    form = Format(delimiter, encoding, decimal, header, max_bytes, max_rows, max_columns, sheet, tick)
    table = source if isinstance(source, Table) else parse(source, form)
    if len(table.names) == 1 and task != "novelty":
        raise DataError(_one_column(table))
    names = list(table.names)
    columns = list(table.columns)
    kept = _kept_names(names, keep)
    seen: dict[str, Profile] = {}
    notes = [*_how_read(table), *table.notes]
    if task == "novelty" and target is None and not any(name.lower() in SURE_NAMES for name in names):
        y, target_name = np.ones(table.n_rows, dtype=np.int64), "y"
        notes.append("No target was named: every column is a feature and every row counts as normal.")
    else:
        if target is None:
            seen = {item.column.name: item for item in _looked_at(table, tick)}
            place, how = _guess(table, list(seen.values()), task)
            notes.append(how)
        else:
            place = _place(table.names, target)
        target_name = names.pop(place)
        cells = columns.pop(place)
        y, rows, task, more = _read_target(target_name, cells, table.decimal, task)
        notes += more
        columns = [column[rows] for column in columns]
    settled = _settled_uses(table.names, uses or {})
    profiles, rows = _profiles(names, columns, table.decimal, settled, kept, missing == "drop", tick, seen)
    if gone := len(y) - len(rows):
        y = y[rows]
        notes.append(f"Dropped {counted(gone, 'row')} with a missing cell in a column that is used.")
    profiles, more = _settle_sentinels(profiles, sentinels)
    notes += more
    X, feature_names, columns_of = _features(profiles, kept, missing == "indicator", tick)
    notes += notes_on_use(profiles, kept, missing == "indicator")
    notes += rows_together(profiles)
    assert task is not None
    groups = families(columns_of)
    if groups:
        notes.append(f"Columns whose names begin alike are groups: {listed([name for name, _ in groups])}.")
    strings = tuple(
        (item.column.name, strings_of(item)) for item in profiles if item.column.kind == "sequence" and item.column.used
    )
    return Dataset(
        X, y, feature_names, target_name, task, groups=groups, notes=tuple(notes), columns=columns_of, sequences=strings
    )


def _settled_uses(names: Sequence[str], uses: Mapping[str, str]) -> dict[str, str]:
    for name, use in uses.items():
        if use not in USES:
            raise ParameterError(f"uses names {use!r} for {name!r}; expected one of {', '.join(USES)}.")
    return {names[_named(names, name)]: use for name, use in uses.items()}


def _profiles(
    names: list[str],
    columns: list[np.ndarray],
    decimal: str,
    uses: Mapping[str, str],
    kept: set[str],
    drop: bool,
    tick: Callable[[], None] = never_asked,
    seen: Mapping[str, Profile] | None = None,
) -> tuple[list[Profile], np.ndarray]:
    """What each column is, on the rows that stay; ``kept`` takes in what has to be kept.

    Dropping rows may turn a column into another kind, so it goes on until no row in use has a gap. ``seen`` : what is
    known about columns on all rows.
    """
    rows = np.arange(len(columns[0]))
    while True:
        known = {name: one for name, one in (seen or {}).items() if name not in uses and len(one.values) == len(rows)}
        profiles = [
            known.get(name) or profile(name, cells[rows], decimal, uses.get(name))
            for name, cells in ticked(zip(names, columns, strict=True), tick)
        ]
        kept |= _spared_counters(profiles)
        gaps = [missing_rows(item) for item in profiles if _is_used(item, kept)]
        if not drop or not gaps or not (gap := np.logical_or.reduce(gaps)).any():
            return profiles, rows
        if gap.all():
            raise DataError("Every row has a missing cell in a column that is used; fill them with the median instead.")
        rows = rows[~gap]


def _is_used(item: Profile, kept: set[str]) -> bool:
    return item.column.used or (item.column.name in kept and item.column.kind not in ("empty", "dropped"))


def _shown(cell: object) -> str:
    return f"{cell:g}" if isinstance(cell, float) else clean_name(str(cell))


def _how_read(table: Table) -> list[str]:
    if table.delimiter in (None, ","):
        return []
    return [f"The columns are separated by {delimiter_in_words(table.delimiter)}."]


def _one_column(table: Table) -> str:
    start = f"The table has one column only ({table.names[0]!r}); expected a target and at least one feature."
    if table.delimiter is None:
        return start
    return f"{start} If the columns are separated by something unusual, name it with delimiter=."


def _near(names: Sequence[str], wanted: str) -> str:
    folded = {name.casefold(): name for name in names}
    close = [folded[name] for name in difflib.get_close_matches(wanted.casefold(), list(folded), n=3, cutoff=0.5)]
    return f"close to it: {listed(close)}" if close else f"the columns are {listed(names, most=10)}"


def _named(names: Sequence[str], wanted: str) -> int:
    """The place of a column, by its name or, if only one fits, by its name in other capitals."""
    name = clean_name(wanted)
    if name in names:
        return names.index(name)
    same = [place for place, other in enumerate(names) if other.casefold() == name.casefold()]
    if len(same) != 1:
        raise DataError(f"There is no column {name!r}; {_near(names, name)}.")
    return same[0]


def _kept_names(names: Sequence[str], keep: Sequence[str]) -> set[str]:
    if isinstance(keep, str):
        keep = (keep,)
    return {names[_named(names, name)] for name in keep}


def _place(names: Sequence[str], target: str | int) -> int:
    """The place of the column that was named as the target."""
    if isinstance(target, str):
        return _named(names, target)
    if isinstance(target, bool) or not -len(names) <= target < len(names):
        raise DataError(f"There is no column number {target}; expected 0 to {len(names) - 1}, or a name.")
    return int(target) % len(names)


def _looked_at(table: Table, tick: Callable[[], None]) -> list[Profile]:
    """What every column of a table is."""
    named = ticked(zip(table.names, table.columns, strict=True), tick)
    return [profile(name, cells, table.decimal) for name, cells in named]


def _guess(table: Table, profiles: Sequence[Profile], task: str | None) -> tuple[int, str]:
    """The place of the likeliest target, and the note about it. DataError where no column can be one."""
    candidates = rank_targets(table.names, profiles, table.header, task)
    if candidates:
        return candidates[0].place, in_words(candidates)
    found = joined(f"{one.column.name!r} ({_kind(one)})" for one in profiles)
    what = "the target" if task is None else f"the target of the task {task!r}"
    raise DataError(
        f"No column can be {what}: {found}. Expected a column of numbers, or of at most {MAX_CLASSES} classes, with "
        f"at least "
        "two different values and a value in half of the rows. Add one, or name another with target=."
    )


def _kind(item: Profile) -> str:
    return (
        "mostly empty"
        if item.column.kind not in ("empty",) and 2 * item.column.missing > len(item.values)
        else item.column.kind
    )


def _sentinels(profiles: Sequence[Profile]) -> tuple[Sentinel, ...]:
    """The values that probably stand for a missing one, column by column."""
    found = (sentinel_of(item.column.name, item.numbers) for item in profiles if item.numbers is not None)
    return tuple(sentinel for sentinel in found if sentinel is not None)


def _settle_sentinels(profiles: list[Profile], rule: str) -> tuple[list[Profile], list[str]]:
    """The profiles with noticed sentinels read as ``rule`` says, and the note about them."""
    found = {}
    for item in profiles:
        if item.column.used and item.numbers is not None and (sentinel := sentinel_of(item.column.name, item.numbers)):
            found[sentinel.column] = sentinel
    if not found:
        return profiles, []
    values = joined(f"{one.value:g} in {one.column!r} ({counted(one.cells, 'cell')})" for one in found.values())
    if rule == "keep":
        return profiles, [f'Probably missing values: {values}. sentinels="missing" reads them so.']
    read = [
        replace(item, numbers=as_missing(item.numbers, found[item.column.name]))
        if item.numbers is not None and item.column.name in found
        else item
        for item in profiles
    ]
    return read, [f"Read as missing: {values}."]


def _read_target(
    name: str, cells: np.ndarray, decimal: str, task: str | None
) -> tuple[np.ndarray, np.ndarray, str, list[str]]:
    """Target values, the rows that have one, the task, and notes."""
    numbers, missing, _ = numbers_or_labels(cells, decimal)
    rows = np.flatnonzero(~missing)
    if len(rows) < 0.5 * len(cells) or not len(rows):
        raise DataError(
            f"The target {name!r} is missing in {len(cells) - len(rows):,} of {counted(len(cells), 'row')}; "
            "choose another target, or remove these rows from the file."
        )
    notes = []
    if gone := len(cells) - len(rows):
        notes.append(f"Dropped {counted(gone, 'row')} without a usable target.")
    values = numbers[rows] if numbers is not None else cells[rows]
    distinct = len(np.unique(values))
    if distinct == 1 and task != "novelty":
        raise DataError(
            f"The target {name!r} holds one class only ({_shown(values[0])!r} in every row); "
            "expected at least two different values. Choose another target."
        )
    if task is None:
        task, how = _find_task(name, values, distinct)
        notes.append(how)
    if task == "classification":
        task = "binary" if distinct == 2 else "multiclass"
        if distinct > MAX_CLASSES:
            raise DataError(
                f"The target {name!r} has {distinct:,} different values, more than {MAX_CLASSES} classes; "
                "read it as a number, or choose another target."
            )
    if task == "binary" and distinct != 2:
        raise DataError(
            f"The target {name!r} has {distinct:,} different values; a binary task needs two. "
            "Choose another target, or leave task= out to find it."
        )
    if task == "regression":
        if numbers is None:
            raise DataError(f"The target {name!r} is text (as {_shown(values[0])!r}); regression needs numbers.")
        return values, rows, task, notes
    if task != "novelty" and len(rows) < 2 * distinct:
        raise DataError(
            f"The target {name!r} has {distinct} classes in {counted(len(rows), 'row')}: fewer rows than classes need, "
            "two each. Choose another target, join classes, or use task='regression' for numbers."
        )
    if task == "novelty":
        return _labels(name, values), rows, task, notes
    more_than_one, left_out = _without_single_rows(name, values)
    rows, values, distinct = rows[more_than_one], values[more_than_one], distinct - int((~more_than_one).sum())
    labels = _labels(name, values)
    notes += [note for note in (left_out, rare_note(labels, 3)) if note]
    return labels, rows, "binary" if distinct == 2 else "multiclass", notes


def _without_single_rows(name: str, values: np.ndarray) -> tuple[np.ndarray, str]:
    """Which rows share their class with another row, and which are left out because they do not."""
    kept = repeated(values)
    alone = [_shown(label) for label in np.unique(values[~kept])]
    if not alone:
        return kept, ""
    if (classes := len(np.unique(values[kept]))) < 2:
        raise DataError(
            f"The target {name!r} has {'one class only' if classes else 'no class'} with more than one row: "
            f"{listed(alone)} {'stands' if len(alone) == 1 else 'stand'} in one row each, from which nothing is "
            f"learnt. "
            "Choose another target, add rows, or use task='regression' for numbers."
        )
    what = "the only row of class" if len(alone) == 1 else "the only rows of classes"
    return kept, f"Left out: {what} {listed(alone)}; a class needs two rows to be learnt."


def _find_task(name: str, values: np.ndarray, distinct: int) -> tuple[str, str]:
    if distinct == 2:
        low, high = np.unique(values)
        return "binary", f"{name!r} has two values ({_shown(low)} and {_shown(high)}): a binary task."
    if values.dtype.kind != "f":
        if distinct > MAX_CLASSES:
            raise DataError(
                f"The target {name!r} is text with {distinct} different values; expected numbers, or at most "
                f"{MAX_CLASSES} classes. Choose another column with target=."
            )
        return "multiclass", f"{name!r} has {distinct} classes: a multiclass task."
    whole = bool((values == np.round(values)).all())
    if whole and distinct <= MAX_NUMBER_CLASSES and len(values) >= 5 * distinct:
        how = f"{name!r} has {distinct} different whole numbers, read as classes: a multiclass task."
        return "multiclass", f"{how} task='regression' reads them as numbers."
    return "regression", f"{name!r} has {distinct:,} different numbers: a regression task."


def _labels(name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        whole = bool((values == np.round(values)).all())
        return values if whole else np.array([f"{value:g}" for value in values], dtype=object)
    if max(len(value) for value in values) > MAX_NAME:
        raise DataError(
            f"The target {name!r} holds texts longer than {MAX_NAME} characters; expected short names of classes. "
            "Choose another target, or shorten them."
        )
    return np.array([clean_name(value) or "(blank)" for value in values], dtype=object)


def _spared_counters(profiles: list[Profile]) -> set[str]:
    """A column 1, 2, 3, ... counts rows beside other features, but alone it is the feature."""
    if any(item.column.used for item in profiles):
        return set()
    return {item.column.name for item in profiles if item.counter}


def _features(
    profiles: list[Profile], kept: set[str], indicator: bool = False, tick: Callable[[], None] = never_asked
) -> tuple[np.ndarray, tuple[str, ...], Groups]:
    names: list[str] = []
    values: list[np.ndarray] = []
    members: dict[str, tuple[int, ...]] = {}
    for item in ticked(profiles, tick):
        if not _is_used(item, kept):
            continue
        new_names, new_values = encode(item, indicator)
        if not new_names:
            continue
        members[item.column.name] = tuple(range(len(names), len(names) + len(new_names)))
        names += new_names
        values += new_values
    if not names and any(item.column.kind == "sequence" for item in profiles):
        return np.empty((len(profiles[0].labels if profiles[0].labels is not None else ()), 0)), (), ()
    if not names:
        raise DataError(_nothing_left(profiles))
    if len(names) * len(values[0]) > MAX_CELLS:
        raise DataError(
            f"With categories as columns of 0 and 1 the table has {len(values[0]):,} x {len(names):,} cells, more than "
            f"{MAX_CELLS:,}; take fewer rows or columns."
        )
    return np.column_stack(values), tuple(distinct_names(map(clean_name, names))), tuple(members.items())


def _nothing_left(profiles: list[Profile]) -> str:
    if all(item.column.kind in ("constant", "empty") for item in profiles):
        return (
            f"Every feature is constant: {listed(item.column.name for item in profiles)}; "
            "expected at least one column whose values differ."
        )
    found = ", ".join(f"{item.column.name!r} ({item.column.kind})" for item in profiles[:6])
    return (
        f"There is no numeric column and no category with few values to learn from; the columns are {found}. "
        "Add columns of numbers, name columns in keep=, or check delimiter= and decimal=."
    )
