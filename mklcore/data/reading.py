"""From a table in a file to a `Dataset`, with notes on everything that was changed.

`describe_table` describes every column before a target is chosen; `read_table` makes the data set.
Its ``encoder`` reads new rows in the same way: medians, categories and marks of missing values are
those of the training table, and new rows never change them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Cells, Labels, Names
from mklcore.data.column_groups import families
from mklcore.data.columns import (
    MAX_LEVELS,
    MISSING,
    MISSING_LEVEL,
    OTHER_LEVEL,
    PARTS,
    Column,
    Profile,
    ReadOptions,
    Sentinel,
    as_texts,
    clean_name,
    distinct_names,
    missing_cells,
    missing_rows,
    missing_texts,
    notes_on_use,
    order_of,
    parts_of,
    profile,
    rows_together,
    sentinel_note,
    sentinel_of,
    shown,
    to_numbers,
    used_as,
    with_missing,
)
from mklcore.data.dataset import Dataset, Groups, counted, joined, listed
from mklcore.data.files import DELIMITERS, Table, delimiter_as_text
from mklcore.data.frames import as_table
from mklcore.data.packed import MAX_CELLS, endable
from mklcore.data.sequences import composition, cut, share_of
from mklcore.data.sequences import letters as letters_of
from mklcore.data.splitting import codes_of, draw_rows
from mklcore.data.target import (
    FIND_TASK,
    MAX_CLASSES,
    SETTLED,
    TargetCandidate,
    TargetValues,
    as_text,
    rank_targets,
    read_target,
)
from mklcore.errors import DataError, Note, Repair

AS_NOVELTY = Repair.of("Look for unusual rows, without a target", task="novelty", target=None)
WITH_MEDIANS = Repair.of("Fill missing cells with the median", missing="median")
# A table that is read for novelty has a target only if a column has one of these names.
SURE_NAMES = ("target", "label", "class", "y")
PREVIEW_ROWS = 10
ROLES = {"row_groups": "which rows belong together", "sample_weight": "how much rows count"}


@dataclass(frozen=True)
class TableSummary:
    """What a table holds, before a target is chosen.

    target : the column that `read_table` takes where none is named, "" where none can be one
    candidates : the three likeliest targets, ``target`` first, with reasons and a confidence
    marks : the texts that stand for a missing value in some column
    """

    n_rows: int
    columns: tuple[Column, ...]
    target: str
    preview: tuple[Names, ...]
    delimiter: str | None
    encoding: str | None
    decimal: str
    header: bool
    notes: Names
    sheets: Names = ()
    sentinels: tuple[Sentinel, ...] = ()
    candidates: tuple[TargetCandidate, ...] = ()
    marks: Names = ()


def describe_table(source: Any, **options: Any) -> TableSummary:
    """Types, missing values and the first rows of a table.

    ``options`` are the fields of `ReadOptions`.
    """
    how = ReadOptions(**options)
    table = as_table(source, how)
    profiles = table.profiles
    candidates = rank_targets(table.names, profiles, table.header, how.task)
    columns = [[shown(cell) for cell in cells[:PREVIEW_ROWS]] for cells in table.columns]
    return TableSummary(
        n_rows=table.n_rows,
        columns=tuple(item.column for item in profiles),
        target=candidates[0].name if candidates else "",
        preview=tuple(zip(*columns, strict=True)),
        delimiter=table.delimiter,
        encoding=table.encoding,
        decimal=table.decimal,
        header=table.header,
        notes=(*_how_read(table), *table.notes),
        sheets=table.sheets,
        sentinels=_sentinels(profiles),
        candidates=candidates,
        marks=_marks_in(table),
    )


def read_table(source: Any, target: str | int | None = None, **options: Any) -> Dataset:
    r"""The data set in a data frame, or in a CSV, TSV, Parquet or Excel table.

    Missing numbers become the median of their column, categories become columns of 0 and 1, dates
    their hour, weekday, month, year and day, identifiers, free text and constants are left out,
    rows without a target are dropped; `notes` lists all of it, each note with the arguments that
    undo it (`Repair`). Columns that share a prefix (fou_1, fou_2, kar_1, kar_2) become groups.

    Parameters
    ----------
    source : DataFrame, path, bytes or file
        The table: a data frame of pandas or of a library with the interchange protocol, a path,
        bytes, or an open file, which is read from its present position.
    target : str, int or None, default None
        Name or index of the target column; None finds one.
    **options
        How to read it: the fields of `ReadOptions`, among them ``task``, ``uses``, ``missing``,
        ``missing_marks``, ``sentinels``, ``rare_classes``, ``log_target``, ``row_groups``,
        ``sample_weight``, ``delimiter``, ``decimal``, ``header`` and ``sheet``.

    Returns
    -------
    Dataset
        The table with its target, and notes on how it was read.

    Raises
    ------
    DataError
        If the table gives no data set; the error carries the arguments that help (``repairs``).

    Examples
    --------
    >>> rows = "\n".join(f"{150 + i % 9},{50 + i % 7},{'fm'[i % 2]}" for i in range(40))
    >>> table = read_table(f"height,weight,sex\n{rows}".encode(), "sex")
    >>> table.task, table.feature_names
    ('binary', ('height', 'weight'))
    """
    how = ReadOptions(target=target, **options)
    return read_parsed(as_table(source, how), how)


def read_drawn(
    source: Any, count: int, target: str | int | None = None, seed: int = 0, **options: Any
) -> Dataset:
    """The data set of at most ``count`` rows of a table, drawn at random, every class in its share.

    Parameters
    ----------
    source : DataFrame, path, bytes or file
        The table, as in `read_table`.
    count : int
        Most rows to draw; there are more where there are more classes.
    target : str, int or None, default None
        Name or index of the target column; None finds one among rows drawn without regard to it.
    seed : int, default 0
        Seed of the random draws: the same number draws the same rows.
    **options
        How to read it: the fields of `ReadOptions`.

    Returns
    -------
    Dataset
        The rows; what is found about columns, such as their types and medians, is found in these
        rows alone.
    """
    how = ReadOptions(target=target, **options)
    table = as_table(source, how)
    found = read_parsed(table.take(draw_rows(None, table.n_rows, count, seed)), how)
    place = place_of(table.names, found.target_name)
    if place is None or found.task not in ("binary", "multiclass"):
        return found
    rows = draw_rows(codes_of(table.columns[place]), table.n_rows, count, seed)
    return read_parsed(table.take(rows), replace(how, target=found.target_name))


def read_parsed(table: Table, settings: ReadOptions, given: TargetValues | None = None) -> Dataset:
    """The data set of a parsed table, with the encoder of its columns; DataError if there is none.

    ``given`` is a target that is no column of the table; its name is ``settings.target``.
    """
    table, role_cells = _set_aside(table, settings)
    if len(table.names) == 1 and settings.task != "novelty" and given is None:
        raise _one_column(table)
    settings = _with_full_names(table, settings)
    every = table.profiles
    target = _found_target(table, settings, every, given)
    features = _found_features(table, settings, every, target)
    encoder = _fitted_encoder(features, settings)
    data = _encoded(table, target, features, encoder, _notes(table, settings, target, features))
    data = replace(
        data,
        row_groups=_owners(role_cells.get("row_groups"), features.rows),
        sample_weight=_row_weights(
            settings.sample_weight, role_cells.get("sample_weight"), features.rows, table.decimal
        ),
    )
    encoder = replace(
        encoder,
        target_name=target.name,
        task=data.task,
        width=data.width,
        classes=data.class_names,
        missing_marks=settings.missing_marks,
    )
    data = replace(data, encoder=encoder)
    return with_log_target(data) if settings.log_target else data


def with_log_target(data: Dataset) -> Dataset:
    """The same table with the natural logarithm of its target, which answers turn back into the
    target where they predict new rows.

    DataError unless the target holds numbers above 0.
    """
    name = data.target_name
    itself = [Repair.of(f"Predict {name!r} itself", log_target=False)]
    if data.task != "regression" or data.y.min() <= 0.0:
        raise DataError(
            f"The target {name!r} has no logarithm in every row; expected numbers above 0.",
            repairs=itself,
        )
    text = f"The logarithm of {name!r} is predicted: a step is a change in per cent."
    return replace(
        data,
        y=np.log(data.y),
        target_name=f"log {name}",
        notes=(*data.notes, Note(text, itself)),
        encoder=replace(encoder_of(data), log_target=True),
    )


# The steps of reading, in their order


@dataclass(frozen=True, eq=False)
class _Target:
    """The target of a table: its name, its column (None for no column), and its values."""

    name: str
    place: int | None
    values: TargetValues
    notes: list[str]


@dataclass(frozen=True, eq=False)
class _Features:
    """The columns that may become features, and the rows of the table that are used.

    kept : the positions of these rows among the values of the target
    """

    profiles: list[Profile]
    rows: Cells
    kept: Cells
    notes: list[str]


def _found_target(
    table: Table, settings: ReadOptions, every: list[Profile], given: TargetValues | None
) -> _Target:
    """The target that was given, named or found; DataError, with repairs, if there is none."""
    if given is not None:
        return _Target(str(settings.target), None, given, [])
    ranked = rank_targets(table.names, every, table.header, settings.task)
    guess: TargetValues | None = None
    while settings.target is None and len(ranked) > 1:
        with suppress(DataError):
            guess = read_target(table, ranked[0].place, settings)
            break
        ranked = ranked[1:]
    notes = list[str]()
    try:
        place = _target_place(table, settings, every, ranked, notes)
        if place is not None:
            values = guess or read_target(table, place, settings)
            return _Target(table.names[place], place, values, notes)
    except DataError as error:
        repairs = _predict(one for one in ranked if one.name != settings.target)
        if not repairs and settings.task is not None:
            repairs = [FIND_TASK]
        error.repairs = tuple(dict.fromkeys((*error.repairs, *repairs[:2])))
        raise
    ones = np.ones(table.n_rows, dtype=np.int64)
    values = TargetValues(ones, np.arange(table.n_rows), "novelty", [])
    return _Target("y", None, values, notes)


def _set_aside(
    table: Table,
    settings: ReadOptions,
) -> tuple[Table, dict[str, Cells]]:
    """The table without the columns of ``ROLES``, and the cells of these columns."""
    cells = dict[str, Cells]()
    places = set[int]()
    for role, meaning in ROLES.items():
        name = getattr(settings, role)
        if name is None:
            continue
        place = _named(table.names, name)
        if isinstance(settings.target, str) and place_of(table.names, settings.target) == place:
            raise DataError(
                f"{name!r} is the target, so it cannot say {meaning}; name another column."
            )
        cells[role] = table.columns[place]
        places.add(place)
    if not places:
        return table, cells
    rest = [j for j in range(len(table.names)) if j not in places]
    if not rest:
        raise DataError(
            "No column is left to learn from: name other columns as row_groups and sample_weight."
        )
    names = tuple(table.names[j] for j in rest)
    columns = tuple(table.columns[j] for j in rest)
    return replace(table, names=names, columns=columns), cells


def _with_full_names(table: Table, settings: ReadOptions) -> ReadOptions:
    """The settings with the names of ``uses`` as the table writes them."""
    uses = {table.names[_named(table.names, name)]: use for name, use in settings.uses.items()}
    return replace(settings, uses=uses)


def _owners(cells: Cells | None, rows: Cells) -> Labels | None:
    """The owner of every row, as text; a row without an owner gets one of its own."""
    if cells is None:
        return None
    without = missing_cells(cells[rows], values=())
    owners = np.empty(len(rows), dtype=object)
    for k, cell in enumerate(cells[rows]):
        owners[k] = f"row {k}" if without[k] else shown(cell)
    return owners


def _row_weights(name: str | None, cells: Cells | None, rows: Cells, decimal: str) -> Array | None:
    """The weight of every row; DataError for a cell that is no number."""
    if cells is None:
        return None
    weights: Array = to_numbers(cells, decimal)[rows]
    missing = rows[np.isnan(weights)]
    if missing.size:
        raise DataError(
            f"{name!r} holds weights of rows, and row {missing[0] + 1} has none: "
            f"{shown(cells[missing[0]])!r}. Fill it with a number, 0 to leave the row out."
        )
    return weights


def _fitted_encoder(features: _Features, settings: ReadOptions) -> TableEncoder:
    """The encoder of the columns that are used; DataError without features, or with too many."""
    profiles = features.profiles
    used = [item for item in profiles if item.column.used]
    indicator = settings.missing == "indicator"
    encoder = TableEncoder.fit(used, indicator, lenient=settings.missing == "drop")
    if not (encoder.features or encoder.sequences or encoder.texts):
        raise _nothing_left(profiles)
    n_rows = len(features.rows)
    if len(encoder.features) * n_rows > MAX_CELLS:
        categories = [item.column.name for item in used if item.numbers is None]
        without = tuple((name, "left out") for name in categories)
        raise DataError(
            (
                f"With categories as columns of 0 and 1 the table has {n_rows:,} x "
                f"{len(encoder.features):,} cells, more than {MAX_CELLS:,}; take fewer rows or "
                "columns."
            ),
            repairs=[Repair.of("Leave out the categories", uses=without)],
        )
    return encoder


def _notes(table: Table, settings: ReadOptions, target: _Target, features: _Features) -> list[str]:
    """The notes on the file, the target and the columns."""
    return [
        *_how_read(table),
        *table.notes,
        *target.notes,
        *target.values.notes,
        *features.notes,
        *notes_on_use(features.profiles, settings.missing == "indicator"),
        *rows_together(features.profiles),
    ]


def _encoded(
    table: Table, target: _Target, features: _Features, encoder: TableEncoder, notes: list[str]
) -> Dataset:
    """The data set of the rows that are used."""
    columns = tuple(cells[features.rows] for cells in table.columns)
    X, strings = encoder.transform(replace(table, columns=columns), [])
    groups = families(encoder.columns)
    if groups:
        families_found = listed(name for name, _ in groups)
        text = f"Columns whose names begin alike are groups: {families_found}."
        notes.append(Note(text, code="table.groups"))
    return Dataset(
        X,
        target.values.values[features.kept],
        tuple(feature.name for feature in encoder.features),
        target.name,
        target.values.task,
        groups=groups,
        notes=tuple(notes),
        columns=encoder.columns,
        sequences=tuple((name, strings[name]) for name in encoder.sequences),
        texts=tuple((name, strings[name]) for name in encoder.texts),
    )


def _target_place(
    table: Table,
    settings: ReadOptions,
    profiles: Sequence[Profile],
    ranked: Sequence[TargetCandidate],
    notes: list[str],
) -> int | None:
    """The column of the target, None without one; the notes say what was guessed.

    DataError where no column can be one.
    """
    names = table.names
    target = settings.target
    task = settings.task
    if isinstance(target, str):
        return _named(names, target)
    if target is not None:
        if isinstance(target, bool) or not -len(names) <= target < len(names):
            raise DataError(
                f"There is no column number {target}; expected 0 to {len(names) - 1}, or a name."
            )
        return int(target) % len(names)
    if task == "novelty" and not any(name.lower() in SURE_NAMES for name in names):
        text = "No target was named: every column is a feature and every row counts as normal."
        notes.append(Note(text, code="table.no_target"))
        return None
    if not ranked:
        found = joined(f"{one.column.name!r} ({_kind(one)})" for one in profiles)
        what = "the target" if task is None else f"the target of the task {task!r}"
        raise DataError(
            (
                f"No column can be {what}: {found}. Expected a column of numbers, or of at "
                f"most {MAX_CLASSES} classes, with at least two different values and a value "
                "in half of the rows."
            ),
            repairs=[AS_NOVELTY] if task is None else [],
            code="table.no_candidate",
            hint="Add one, or name another with target=.",
        )
    notes += _passed_over(table, profiles, ranked, settings)
    notes.append(
        Note(
            as_text(ranked),
            _predict(ranked[1:]),
            code="table.guessed_target",
            hint="target= names another.",
        )
    )
    return ranked[0].place


def _predict(candidates: Iterable[TargetCandidate]) -> list[Repair]:
    return [Repair.of(f"Predict {one.name!r}", target=one.name) for one in candidates]


def _passed_over(
    table: Table,
    profiles: Sequence[Profile],
    ranked: Sequence[TargetCandidate],
    settings: ReadOptions,
) -> list[str]:
    """Notes on columns that are named like a target but cannot be one, and how they could.

    DataError where such a column holds one value: no other takes its place.
    """
    found: list[str] = []
    for place, (name, item) in enumerate(zip(table.names, profiles, strict=True)):
        if place == ranked[0].place or name.lower() not in SETTLED:
            continue
        if settings.task is None and item.column.kind == "constant" and not item.column.missing:
            raise DataError(
                (
                    f"{name!r} is named as the target and has one value only, "
                    f"{item.column.example!r}: there is nothing to predict."
                ),
                repairs=[*_predict(ranked), AS_NOVELTY],
                code="table.constant_target",
                hint="Name another column with target=.",
            )
        merged = Repair.of(f"Predict {name!r}, rare classes merged", rare_classes="merge")
        why = DataError(f"{name!r} has too many classes with few rows.", repairs=[merged])
        try:
            read_target(table, place, settings)
            if item.column.kind != "text":
                continue
        except DataError as error:
            why = error
        repairs = [Repair(one.label, (*one.settings, ("target", name))) for one in why.repairs]
        found.append(
            Note(
                f"Not chosen as the target: {why.statement}",
                repairs,
                urgent=bool(repairs),
                code=why.code,
                hint=why.hint,
            )
        )
    return found


def _found_features(
    table: Table, settings: ReadOptions, every: Sequence[Profile], target: _Target
) -> _Features:
    """The kinds of the columns but the target, and the rows that are used, by the settings."""
    notes = list[str]()
    profiles, kept = _complete_rows(table, settings, every, target)
    if dropped := len(target.values.values) - len(kept):
        text = f"Dropped {counted(dropped, 'row')} with a missing cell in a column that is used."
        notes.append(Note(text, [WITH_MEDIANS]))
    profiles = _settle_sentinels(profiles, settings.sentinels, notes)
    return _Features(profiles, target.values.rows[kept], kept, notes)


def _complete_rows(
    table: Table, settings: ReadOptions, every: Sequence[Profile], target: _Target
) -> tuple[list[Profile], Cells]:
    """The kinds of the columns but the target, and which of the target's rows are kept.

    With missing="drop", rows are dropped until no column in use has a gap: each time a column may
    turn into another kind. ``every`` holds the kinds of all columns on all rows.
    """
    rows = target.values.rows
    kept = np.arange(len(rows))
    columns = list(zip(table.names, table.columns, every, strict=True))
    if target.place is not None:
        del columns[target.place]
    while True:
        profiles = list[Profile]()
        for name, cells, known in endable(columns):
            use = settings.uses.get(name)
            if use is not None or len(known.values) != len(kept):
                known = profile(name, cells[rows[kept]], table.decimal, use, table.values)
            profiles.append(known)
        if not any(item.column.used for item in profiles):
            profiles = list(map(_counter_as_number, profiles))
        gaps = [missing_rows(item) for item in profiles if item.column.used]
        if settings.missing != "drop" or not gaps:
            return profiles, kept
        has_gap = np.logical_or.reduce(gaps)
        if not has_gap.any():
            return profiles, kept
        if has_gap.all():
            raise DataError(
                (
                    "Every row has a missing cell in a column that is used; fill them with "
                    "the median instead."
                ),
                repairs=[WITH_MEDIANS],
            )
        kept = kept[~has_gap]


def _counter_as_number(item: Profile) -> Profile:
    """A column that counts the rows as a number: where it is the only column, it is the feature."""
    return profile(item.column.name, item.values, use="number") if item.counter else item


def _how_read(table: Table) -> list[str]:
    if table.delimiter in (None, ","):
        return []
    text = f"The columns are separated by {delimiter_as_text(table.delimiter)}."
    return [Note(text, code="table.delimiter")]


def _one_column(table: Table) -> DataError:
    """A refusal that offers the delimiters in the only name, and the task without a target."""
    text = (
        f"The table has one column only ({table.names[0]!r}); expected a target and at least "
        "one feature."
    )
    repairs = [
        Repair.of(f"Separate columns by {delimiter_as_text(sign)}", delimiter=sign)
        for sign in DELIMITERS
        if sign in table.names[0] and sign != table.delimiter
    ]
    repairs.append(AS_NOVELTY)
    if table.delimiter is None:
        return DataError(text, repairs=repairs)
    hint = "If the columns are separated by something unusual, name it with delimiter=."
    return DataError(text, repairs=repairs, code="table.one_column", hint=hint)


def _named(names: Sequence[str], wanted: str) -> int:
    """The position of a column, by its name or by its name in other capitals if only one fits."""
    name = clean_name(wanted)
    place = place_of(names, name)
    if place is not None:
        return place
    folded = {known.casefold(): known for known in names}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.5)
    near = f"the columns are {listed(names, most=10)}"
    if close:
        near = f"close to it: {listed(folded[match] for match in close)}"
    raise DataError(f"There is no column {name!r}; {near}.")


def _marks_in(table: Table) -> Names:
    """The texts, other than the empty one, that stand for a missing value in some column."""
    found: set[str] = set()
    for cells, item in zip(table.columns, table.profiles, strict=True):
        if cells.dtype.kind != "f" and (item.numbers is None or item.column.missing):
            found |= missing_texts(set(cells.tolist()), table.values)
    return tuple(sorted(found - {""}))


def _kind(item: Profile) -> str:
    is_sparse = item.column.kind != "empty" and 2 * item.column.missing > len(item.values)
    return "mostly empty" if is_sparse else item.column.kind


def _sentinels(profiles: Sequence[Profile]) -> tuple[Sentinel, ...]:
    """The values that probably stand for a missing one, column by column."""
    numeric = [item for item in profiles if item.numbers is not None]
    found = [sentinel_of(item.column.name, item.values) for item in numeric]
    return tuple(filter(None, found))


def _settle_sentinels(
    profiles: list[Profile],
    rule: str,
    notes: list[str],
) -> list[Profile]:
    """The profiles with suspected sentinels read by ``rule``, and a note on them."""
    used = [item for item in profiles if item.column.used]
    found = {sentinel.column: sentinel for sentinel in _sentinels(used)}
    if not found:
        return profiles
    values = joined(
        f"{one.value:g} in {one.column!r} ({counted(one.cells, 'cell')})" for one in found.values()
    )
    notes.append(
        sentinel_note(values, rule, "Read these numbers as missing", "Keep them as numbers")
    )
    if rule != "missing":
        return profiles
    settled = []
    for item in profiles:
        sentinel = found.get(item.column.name)
        settled.append(item if sentinel is None else with_missing(item, sentinel.value))
    return settled


def _to_use(profiles: list[Profile]) -> list[Repair]:
    """Repairs that use two of the columns that were left out, those with the fewest values."""
    usable = [one for one in profiles if one.column.kind in ("text", "identifier", "dropped")]
    usable.sort(key=lambda one: one.column.distinct)
    repairs = []
    for item in usable[:2]:
        name = item.column.name
        use = "category" if item.numbers is None else "number"
        repairs.append(Repair.of(f"Use {name!r} as a {use}", uses=((name, use),)))
    return repairs


def _nothing_left(profiles: list[Profile]) -> DataError:
    repairs = _to_use(profiles)
    if all(item.column.kind in ("constant", "empty") for item in profiles):
        text = (
            "Every feature is constant or empty: "
            f"{listed(item.column.name for item in profiles)}; expected at least one "
            "column whose values differ. Add columns, or rows where these differ."
        )
        return DataError(text, repairs=repairs)
    found = ", ".join(f"{item.column.name!r} ({item.column.kind})" for item in profiles[:6])
    text = (
        "There is no numeric column and no category with few values to learn from; the "
        f"columns are {found}."
    )
    hint = "Add columns of numbers, name their use in uses=, or check delimiter= and decimal=."
    return DataError(text, repairs=repairs, code="table.no_features", hint=hint)


# The encoder, which is fitted on the training table and reads new rows in the same way


@dataclass(frozen=True)
class Feature:
    """How one feature is made from a ``column`` of the file.

    role : what the feature is

        - "number": the number, with ``median`` in place of missing cells
        - "gap": 1 where a number is missing
        - "date": the part ``level`` of a date that is written in the order ``known``
        - "share": the share of the letter ``level`` in a sequence
        - "level": 1 for the ``level`` of a category
        - "other": 1 for any level that is not in ``known``
        - "missing": 1 where a category is missing
    lenient : whether cells that are no numbers count as missing
    sentinel : the number that was read as missing
    words : the categories that elsewhere stand for a missing value
    """

    name: str
    column: str
    role: str = "number"
    median: float = 0.0
    level: str = ""
    known: Names = ()
    lenient: bool = False
    sentinel: float | None = None
    words: frozenset[str] = frozenset()


def features_of(item: Profile, indicator: bool = False, lenient: bool = False) -> list[Feature]:
    """The features that a column becomes.

    They are a number and an indicator of its gaps, parts of dates, shares of letters, or 0 and 1
    for every level of a category.
    """
    name = item.column.name
    if item.numbers is not None:
        lenient = lenient or item.stray > 0
        median = float(np.nanmedian(item.numbers))
        number = Feature(name, name, median=median, lenient=lenient, sentinel=item.sentinel)
        if indicator and item.column.missing:
            return [number, replace(number, name=f"{name} {MISSING_LEVEL}", role="gap")]
        return [number]
    assert item.labels is not None
    if item.column.kind == "words":
        return []
    if item.column.kind == "date":
        return _date_features(name, item.labels)
    if item.column.kind == "sequence":
        found = []
        for letter in composition(as_strings(item.labels)):
            title = f"share of {letter} in {name}" if letter else f"length of {name}"
            found.append(Feature(title, name, "share", level=letter))
        return found
    return _category_features(name, item.labels)


def _category_features(name: str, labels: Labels) -> list[Feature]:
    """A feature for every frequent level, one for all others, and one for missing cells."""
    levels, counts = np.unique(labels[labels != ""], return_counts=True)
    is_cut = len(levels) > MAX_LEVELS
    frequent = sorted(map(str, levels[np.argsort(-counts, kind="stable")[:MAX_LEVELS]]))
    known = tuple(level for level in frequent if not is_cut or level != OTHER_LEVEL)
    roles = [("level", level) for level in known]
    if is_cut:
        roles.append(("other", OTHER_LEVEL))
    if (labels == "").any():
        roles.append(("missing", MISSING_LEVEL))
    if len(roles) == 2:  # the other column would be its mirror image
        roles = roles[:1] if roles[1][0] == "missing" else roles[1:]
    words = MISSING.intersection(levels.tolist())
    return [
        Feature(f"{name}={level}", name, role, level=level, known=known, words=words)
        for role, level in roles
    ]


def _date_features(name: str, labels: Labels) -> list[Feature]:
    """The parts of a column of dates that vary on the training table."""
    order = order_of(labels)
    parts = parts_of(labels, order)
    is_date = ~np.isnan(parts[:, 0])
    lenient = not is_date[labels != ""].all()
    found = []
    for part, column in zip(PARTS, parts[is_date].T, strict=True):
        if np.ptp(column) > 0.0:
            title = f"{part} of {name}"
            median = float(np.median(column))
            found.append(Feature(title, name, "date", median, part, (order,), lenient))
    return found


def as_strings(labels: Labels) -> Names:
    """Sequences in capitals; a missing one ("") becomes unknown letters of the median length."""
    found = [str(label).strip().upper() for label in labels.tolist()]
    usual = "N" * int(np.median([len(text) for text in found if text] or [1]))
    return tuple(text or usual for text in found)


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows to predict: the features ``X`` (m, d), and notes.

    ``target`` (m,) holds texts or numbers where the file has the target, else it is None. ``table``
    is X with the letters of sequences, as in ``Dataset.table``.
    """

    X: Cells
    target: Cells | None
    notes: Names
    letters: Cells | None = None

    @property
    def table(self) -> Cells:
        """The rows as a model of the training table takes them, (m, d) or (m, d + W S)."""
        return self.X if self.letters is None else np.hstack([self.X, self.letters])


@dataclass(frozen=True)
class TableEncoder:
    """How the columns of a file become the features of a table, fitted on the training table."""

    features: tuple[Feature, ...]
    target_name: str = "y"
    task: str = "regression"
    sequences: Names = ()
    texts: Names = ()
    width: int = 0
    classes: Names = ()
    missing_marks: Sequence[str] | None = None
    log_target: bool = False

    @classmethod
    def fit(
        cls, profiles: Iterable[Profile], indicator: bool = False, lenient: bool = False
    ) -> TableEncoder:
        """The encoder of these columns, with different names for all features."""
        features = list[Feature]()
        strings: dict[str, list[str]] = {"sequence": [], "words": []}
        for item in profiles:
            features += features_of(item, indicator, lenient)
            if item.column.kind in strings:
                strings[item.column.kind].append(item.column.name)
        names = distinct_names(clean_name(feature.name) for feature in features)
        renamed = [replace(one, name=name) for one, name in zip(features, names, strict=True)]
        sequences = tuple(strings["sequence"])
        return cls(tuple(renamed), sequences=sequences, texts=tuple(strings["words"]))

    @classmethod
    def plain(cls, data: Dataset) -> TableEncoder:
        """The encoder of a table whose columns were numbers from the start, as in the samples."""
        medians = zip(data.feature_names, np.median(data.X, axis=0).tolist(), strict=True)
        features = tuple(Feature(name, name, median=median) for name, median in medians)
        return cls(features, data.target_name, data.task, classes=data.class_names)

    def select(self, names: Sequence[str]) -> TableEncoder:
        """The encoder of these features alone."""
        by_name = {one.name: one for one in self.features}
        return replace(self, features=tuple(by_name[name] for name in names))

    @property
    def columns(self) -> Groups:
        """The columns of the file, each with the positions of its features."""
        found: dict[str, list[int]] = {}
        for place, feature in enumerate(self.features):
            found.setdefault(feature.column, []).append(place)
        return tuple((name, tuple(places)) for name, places in found.items())

    @property
    def _needed(self) -> dict[str, None]:
        return dict.fromkeys((*dict(self.columns), *self.sequences, *self.texts))

    def transform(
        self,
        table: Table,
        notes: list[str],
    ) -> tuple[Array, dict[str, Names]]:
        """The features (rows, d) of a table with all columns, and its strings by name."""
        X = np.empty((table.n_rows, len(self.features)))
        strings = {}
        cells_of = dict(zip(table.names, table.columns, strict=True))
        places_of = dict(self.columns)
        for name in endable(self._needed):
            cells = cells_of[name]
            if name in self.texts:
                strings[name] = tuple(label.strip() for label in _labels(cells).tolist())
            elif name in self.sequences:
                strings[name] = as_strings(_labels(cells))
            if places := list(places_of.get(name, ())):
                features = [self.features[j] for j in places]
                X[:, places] = _ENCODED_BY[features[0].role](
                    features,
                    cells,
                    table.decimal,
                    notes,
                )
        return X, strings

    def read(self, source: Any, **how: Any) -> NewRows:
        """The rows of another file or data frame, with the features of the training table.

        Other columns are left out, and missing numbers become the training median. DataError names
        columns that are missing, and the first cell of a column of numbers that holds something
        else. ``how`` takes the options of `read_table` about the file.
        """
        return self.of_table(as_table(source, ReadOptions(missing_marks=self.missing_marks, **how)))

    def of_table(self, table: Table) -> NewRows:
        """The same for a table that is already parsed."""
        found = {name: place_of(table.names, name) for name in self._needed}
        places = {name: place for name, place in found.items() if place is not None}
        if missing := [name for name in self._needed if name not in places]:
            raise DataError(
                f"The table lacks {counted(len(missing), 'column')} the model needs: "
                f"{listed(missing, most=10)}. It has {listed(table.names, most=10)}. Add the "
                "columns, or check the header line."
            )
        notes: list[str] = []
        columns = tuple(table.columns[place] for place in places.values())
        X, strings = self.transform(
            replace(
                table,
                names=tuple(places),
                columns=columns,
            ),
            notes,
        )
        letters = self._letters(strings) if strings else None
        target_place = place_of(table.names, self.target_name)
        read = {*places.values(), target_place}
        if unread := [name for k, name in enumerate(table.names) if k not in read]:
            notes.append(f"Not needed and left out: {listed(unread)}.")
        target = None
        if target_place is not None and target_place not in places.values():
            target = self._target(table.columns[target_place], table.decimal)
        return NewRows(X, target, tuple(notes), letters)

    def _letters(self, strings: dict[str, Names]) -> Cells:
        """The letters of sequences and texts; DataError for a sequence that is too long."""
        for name in self.sequences:
            sizes = [len(text) for text in strings[name]]
            longest = max(sizes)
            if longest > self.width:
                raise DataError(
                    f"The sequence {name!r} has {longest:,} letters in row "
                    f"{sizes.index(longest) + 1}; the longest of the training table has "
                    f"{self.width:,}. Cut it."
                )
        sequences = [strings[name] for name in self.sequences]
        texts = [cut(strings[name], self.width) for name in self.texts]
        return letters_of(sequences, self.width, texts)

    def _target(self, cells: Cells, decimal: str) -> Cells | None:
        """The target as in the training table, or None where all cells are missing.

        It holds numbers (NaN where missing), or names of classes ("" where missing).
        """
        values = self.classes if self.task != "regression" else ()
        numbers, missing, _, cells = used_as(self.target_name, cells, decimal, None, values)
        if missing.all():
            return None
        if self.task == "regression":
            return numbers
        labels = np.empty(len(cells), dtype=object)
        for row, cell in enumerate(cells if numbers is None else numbers):
            if missing[row]:
                labels[row] = ""
            elif numbers is None:
                labels[row] = clean_name(str(cell)) or "(blank)"
            else:
                labels[row] = f"{cell:g}" if cell != np.round(cell) else str(int(cell))
        return labels


def encoder_of(data: Dataset) -> TableEncoder:
    """The encoder of the reading, or one that takes every column as it is."""
    return data.encoder if isinstance(data.encoder, TableEncoder) else TableEncoder.plain(data)


def place_of(names: Sequence[str], wanted: str) -> int | None:
    """The position of a column, by its name or by its name in other capitals if only one fits."""
    if wanted in names:
        return list(names).index(wanted)
    same = [k for k, name in enumerate(names) if name.casefold() == wanted.casefold()]
    return same[0] if len(same) == 1 else None


def _numbers(features: Sequence[Feature], cells: Cells, decimal: str, notes: list[str]) -> Array:
    """Numbers with medians for missing cells, and indicators of missing cells.

    DataError for cells that are no numbers, if the training table had none.
    """
    first = features[0]
    numbers = to_numbers(cells, decimal)
    gone = np.isnan(numbers)
    blank = missing_cells(cells, values=()) if gone.any() else gone
    stray = np.flatnonzero(gone & ~blank)
    if stray.size and not first.lenient:
        raise DataError(
            f"The column {first.column!r} holds {clean_name(str(cells[stray[0]]))!r} in "
            f"row {stray[0] + 1}, {counted(stray.size, 'such cell')} in all; the model "
            "learnt it as numbers. Correct or empty the cells."
        )
    gone = blank | np.isnan(numbers) | (numbers == first.sentinel)
    if gone.any():
        many = counted(int(gone.sum()), "missing cell")
        notes.append(
            f"{many} of {first.column!r} filled with the median of the training table, "
            f"{first.median:.4g}."
        )
    filled = np.where(gone, first.median, numbers)
    return np.column_stack([gone if one.role == "gap" else filled for one in features])


def _dates(
    features: Sequence[Feature],
    cells: Cells,
    decimal: str,
    notes: list[str],
) -> Array:
    """The parts of dates, with medians for missing cells.

    DataError for a cell that is no date, if the training table had none.
    """
    labels = _labels(cells)
    order = features[0].known[0]
    parts = parts_of(labels, order)
    strange = np.flatnonzero(np.isnan(parts[:, 0]) & (labels != ""))
    if strange.size and not features[0].lenient:
        raise DataError(
            f"The column {features[0].column!r} holds "
            f"{clean_name(str(labels[strange[0]]))!r} in row {strange[0] + 1}, which is no "
            f"date written as in training ({order}): write it so, or empty the cell."
        )
    wanted = parts[:, [PARTS.index(one.level) for one in features]]
    return np.where(np.isnan(wanted), [one.median for one in features], wanted)


def _labels(cells: Cells, words: frozenset[str] = frozenset()) -> Labels:
    """A column of texts, "" where a cell is missing; ``words`` are values of this column."""
    texts = as_texts(cells)
    return np.where(missing_cells(texts, words), "", texts)


def _shares(features: Sequence[Feature], cells: Cells, decimal: str, notes: list[str]) -> Array:
    """The shares of letters in a column of sequences."""
    strings = as_strings(_labels(cells))
    return np.column_stack([share_of(one.level, strings) for one in features])


def _levels(features: Sequence[Feature], cells: Cells, decimal: str, notes: list[str]) -> Array:
    """1 where a cell has the level of a feature, else 0; unknown levels are noted."""
    first = features[0]
    labels = _labels(cells, first.words)
    gone = labels == ""
    other = ~np.isin(labels, first.known) & ~gone
    if other.any() and all(one.role != "other" for one in features):
        notes.append(
            f"{counted(int(other.sum()), 'cell')} of {first.column!r} hold what the "
            f"training table does not: {listed(sorted(set(labels[other].tolist())))}. The "
            f"model knows {joined(map(repr, first.known))}; these cells count as none of "
            "the categories it has."
        )
    where = {"other": other, "missing": gone}
    return np.column_stack([where.get(one.role, labels == one.level) for one in features])


_ENCODED_BY = {
    "number": _numbers,
    "gap": _numbers,
    "date": _dates,
    "share": _shares,
    "level": _levels,
    "other": _levels,
    "missing": _levels,
}
