"""From a table in a file to a `Dataset`, with notes on everything that was changed.

`describe_table` describes every column before a target is chosen; `read_table` makes the data set.
Its ``encoder`` reads new rows in the same way: medians, categories and marks of missing values are
those of the training table, and new rows never change them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Cells, Labels, Names
from mklcore.data.column_groups import families, grouped
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
    date_parts,
    distinct_names,
    looks_like_id,
    missing_cells,
    notes_on_use,
    order_of,
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
    class_name,
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
    profiles = list(table.profiles.values())
    candidates = rank_targets(profiles, table.header, how.task)
    columns = [[shown(cell) for cell in cells[:PREVIEW_ROWS]] for cells in table.columns.values()]
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
    if found.task not in ("binary", "multiclass"):
        return found
    codes = codes_of(table.columns[found.target_name])
    rows = draw_rows(codes, table.n_rows, count, seed)
    return read_parsed(table.take(rows), replace(how, target=found.target_name))


def read_parsed(table: Table, settings: ReadOptions, given: TargetValues | None = None) -> Dataset:
    """The data set of a parsed table, with the encoder of its columns; DataError if there is none.

    ``given`` is a target that is no column of the table; its name is ``settings.target``.
    """
    table, aside = _set_aside(table, settings)
    if len(table.names) == 1 and settings.task != "novelty" and given is None:
        raise _one_column(table)
    uses = {_named(table, name): use for name, use in settings.uses.items()}
    settings = replace(settings, uses=uses)
    notes = [*_how_read(table), *table.notes]
    target = _found_target(table, settings, given, notes)
    profiles, target = _complete_rows(table, settings, target, notes)
    profiles = _settle_sentinels(profiles, settings.sentinels, notes)
    notes += notes_on_use(profiles, settings.missing == "indicator") + rows_together(profiles)
    encoder = _fitted_encoder(profiles, settings, len(target.rows))
    used = table.take(target.rows)
    X, strings = encoder.transform(used.columns, table.decimal, [])
    groups = families(encoder.columns)
    if groups:
        text = f"Columns whose names begin alike are groups: {listed(dict(groups))}."
        notes.append(Note(text, code="table.groups"))
    data = Dataset(
        X,
        target.values,
        tuple(feature.name for feature in encoder.features),
        target.name,
        target.task,
        groups=groups,
        notes=tuple(notes),
        columns=encoder.columns,
        sequences=tuple((name, strings[name]) for name in encoder.sequences),
        texts=tuple((name, strings[name]) for name in encoder.texts),
        row_groups=_owners(aside.get("row_groups"), target.rows),
        sample_weight=_row_weights(aside.get("sample_weight"), target.rows, settings, table),
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


def _set_aside(table: Table, settings: ReadOptions) -> tuple[Table, dict[str, Cells]]:
    """The table without the columns of ``ROLES``, and the cells of these columns."""
    aside = dict[str, Cells]()
    rest = table.columns.copy()
    for role, meaning in ROLES.items():
        given = getattr(settings, role)
        if given is None:
            continue
        name = _named(table, given)
        if isinstance(settings.target, str) and column_of(table, settings.target) == name:
            raise DataError(
                f"{given!r} is the target, so it cannot say {meaning}; name another column."
            )
        aside[role] = table.columns[name]
        rest.pop(name, None)
    if not rest:
        raise DataError(
            "No column is left to learn from: name other columns as row_groups and sample_weight."
        )
    return replace(table, columns=rest) if aside else table, aside


def _found_target(
    table: Table, settings: ReadOptions, given: TargetValues | None, notes: list[str]
) -> TargetValues:
    """The target that was given, named or found; DataError, with repairs, if there is none."""
    if given is not None:
        return given._replace(name=str(settings.target))
    ranked = rank_targets(list(table.profiles.values()), table.header, settings.task)
    if settings.target is None:
        while len(ranked) > 1 and _refusal(table, ranked[0].name, settings):
            ranked = ranked[1:]
    try:
        name = _target_name(table, settings, ranked, notes)
        if name is not None:
            target = read_target(table, name, settings)
            notes += target.notes
            return target
    except DataError as error:
        repairs = _predict(ranked, but=settings.target)
        if not repairs and settings.task is not None:
            repairs = [FIND_TASK]
        error.repairs = tuple(dict.fromkeys((*error.repairs, *repairs[:2])))
        raise
    rows = np.arange(table.n_rows)
    return TargetValues(np.ones_like(rows), rows, "novelty", [], "y")


def _refusal(table: Table, name: str, settings: ReadOptions) -> DataError | None:
    """Why a column cannot be read as the target; None where it can."""
    try:
        read_target(table, name, settings)
    except DataError as error:
        return error
    return None


def _target_name(
    table: Table, settings: ReadOptions, ranked: Sequence[TargetCandidate], notes: list[str]
) -> str | None:
    """The column of the target, None without one; the notes say what was guessed.

    DataError where no column can be one.
    """
    names = table.names
    target = settings.target
    task = settings.task
    if isinstance(target, str):
        return _named(table, target)
    if target is not None:
        if isinstance(target, bool) or not -len(names) <= target < len(names):
            raise DataError(
                f"There is no column number {target}; expected 0 to {len(names) - 1}, or a name."
            )
        return names[target]
    if task == "novelty" and not any(name.lower() in SURE_NAMES for name in names):
        text = "No target was named: every column is a feature and every row counts as normal."
        notes.append(Note(text, code="table.no_target"))
        return None
    if not ranked:
        found = joined(f"{name!r} ({_kind(one)})" for name, one in table.profiles.items())
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
    notes += _passed_over(table, ranked, settings)
    code = "table.guessed_target"
    hint = "target= names another."
    notes.append(Note(as_text(ranked), _predict(ranked[1:]), code=code, hint=hint))
    return ranked[0].name


def _predict(candidates: Iterable[TargetCandidate], but: str | int | None = None) -> list[Repair]:
    """Repairs that predict these columns."""
    names = [one.name for one in candidates if one.name != but]
    return [Repair.of(f"Predict {name!r}", target=name) for name in names]


def _passed_over(
    table: Table, ranked: Sequence[TargetCandidate], settings: ReadOptions
) -> list[str]:
    """Notes on columns that are named like a target but cannot be one, and how they could.

    DataError where such a column holds one value: no other takes its place.
    """
    found = list[str]()
    for name, item in table.profiles.items():
        if name == ranked[0].name or name.lower() not in SETTLED:
            continue
        if settings.task is None and item.kind == "constant" and not item.column.missing:
            raise DataError(
                (
                    f"{name!r} is named as the target and has one value only, "
                    f"{item.column.example!r}: there is nothing to predict."
                ),
                repairs=[*_predict(ranked), AS_NOVELTY],
                code="table.constant_target",
                hint="Name another column with target=.",
            )
        why = _refusal(table, name, settings)
        if why is None and item.kind == "text":
            merged = Repair.of(f"Predict {name!r}, rare classes merged", rare_classes="merge")
            why = DataError(f"{name!r} has too many classes with few rows.", repairs=[merged])
        if why is not None:
            text = f"Not chosen as the target: {why.statement}"
            repairs = [Repair(one.label, (*one.settings, ("target", name))) for one in why.repairs]
            found.append(Note(text, repairs, bool(repairs), why.code, why.hint))
    return found


def _complete_rows(
    table: Table, settings: ReadOptions, target: TargetValues, notes: list[str]
) -> tuple[list[Profile], TargetValues]:
    """The kinds of the columns but the target, and the target in the rows that are used.

    With missing="drop", rows are dropped until no column in use has a gap: each time a column may
    turn into another kind.
    """
    names = [name for name in table.columns if name != target.name]
    n_rows = len(target.rows)
    while True:
        profiles = list[Profile]()
        for name in endable(names):
            item = table.profiles[name]
            use = settings.uses.get(name)
            if use is not None or len(item.values) != len(target.rows):
                cells = table.columns[name][target.rows]
                item = profile(name, cells, table.decimal, use, table.values)
            profiles.append(item)
        if not any(item.used for item in profiles):
            profiles = list(map(_counter_as_number, profiles))
        gaps = np.zeros(len(target.rows), dtype=bool)
        for item in profiles:
            gaps |= item.missing & item.used
        if settings.missing != "drop" or not gaps.any():
            break
        if gaps.all():
            raise DataError(
                (
                    "Every row has a missing cell in a column that is used; fill them with "
                    "the median instead."
                ),
                repairs=[WITH_MEDIANS],
            )
        target = target._replace(values=target.values[~gaps], rows=target.rows[~gaps])
    if dropped := n_rows - len(target.rows):
        text = f"Dropped {counted(dropped, 'row')} with a missing cell in a column that is used."
        notes.append(Note(text, [WITH_MEDIANS]))
    return profiles, target


def _counter_as_number(item: Profile) -> Profile:
    """A column that counts the rows as a number: where it is the only column, it is the feature."""
    name = item.name
    counts_rows = item.kind == "identifier" and item.is_numeric and not looks_like_id(name)
    return profile(name, item.values, use="number") if counts_rows else item


def _settle_sentinels(profiles: list[Profile], rule: str, notes: list[str]) -> list[Profile]:
    """The profiles with suspected sentinels read by ``rule``, and a note on them."""
    found = {one.column: one for one in _sentinels(item for item in profiles if item.used)}
    if not found:
        return profiles
    values = joined(
        f"{one.value:g} in {one.column!r} ({counted(one.cells, 'cell')})" for one in found.values()
    )
    notes.append(
        sentinel_note(values, rule, "Read these numbers as missing", "Keep them as numbers")
    )
    settled = list(profiles)
    for place, item in enumerate(profiles):
        if rule == "missing" and item.name in found:
            settled[place] = with_missing(item, found[item.name].value)
    return settled


def _sentinels(profiles: Iterable[Profile]) -> tuple[Sentinel, ...]:
    """The values that probably stand for a missing one, column by column."""
    numeric = filter(lambda item: item.is_numeric, profiles)
    found = [sentinel_of(item.name, item.values) for item in numeric]
    return tuple(filter(None, found))


def _fitted_encoder(profiles: list[Profile], settings: ReadOptions, n_rows: int) -> TableEncoder:
    """The encoder of the columns that are used; DataError without features, or with too many."""
    used = [item for item in profiles if item.used]
    encoder = TableEncoder.fit(used, settings.missing)
    if not encoder.needed:
        raise _nothing_left(profiles)
    if len(encoder.features) * n_rows > MAX_CELLS:
        categories = [item.name for item in used if not item.is_numeric]
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


def _owners(cells: Cells | None, rows: Cells) -> Labels | None:
    """The owner of every row, as text; a row without an owner gets one of its own."""
    if cells is None:
        return None
    owners = np.array(list(map(shown, cells[rows])), dtype=object)
    for row in np.flatnonzero(missing_cells(cells[rows], values=())):
        owners[row] = f"row {row}"
    return owners


def _row_weights(
    cells: Cells | None, rows: Cells, settings: ReadOptions, table: Table
) -> Array | None:
    """The weight of every row; DataError for a cell that is no number."""
    if cells is None:
        return None
    weights: Array = to_numbers(cells, table.decimal)[rows]
    missing = rows[np.isnan(weights)]
    if missing.size:
        raise DataError(
            f"{settings.sample_weight!r} holds weights of rows, and row {missing[0] + 1} has none: "
            f"{shown(cells[missing[0]])!r}. Fill it with a number, 0 to leave the row out."
        )
    return weights


def _how_read(table: Table) -> list[str]:
    if table.delimiter in (None, ","):
        return []
    text = f"The columns are separated by {delimiter_as_text(table.delimiter)}."
    return [Note(text, code="table.delimiter")]


def _one_column(table: Table) -> DataError:
    """A refusal that offers the delimiters in the only name, and the task without a target."""
    name = table.names[0]
    repairs = []
    for sign in DELIMITERS:
        if sign in name and sign != table.delimiter:
            label = f"Separate columns by {delimiter_as_text(sign)}"
            repairs.append(Repair.of(label, delimiter=sign))
    return DataError(
        f"The table has one column only ({name!r}); expected a target and at least one feature.",
        repairs=[*repairs, AS_NOVELTY],
        code="table.one_column",
        hint="If the columns are separated by something unusual, name it with delimiter=.",
    )


def _nothing_left(profiles: Sequence[Profile]) -> DataError:
    """A refusal that offers to use two of the columns, those with the fewest values."""
    repairs = []
    for item in sorted(profiles, key=lambda one: one.column.distinct):
        name = item.name
        use = "number" if item.is_numeric else "category"
        if item.kind not in ("constant", "empty"):
            repairs.append(Repair.of(f"Use {name!r} as a {use}", uses=((name, use),)))
    found = ", ".join(f"{item.name!r} ({item.kind})" for item in profiles[:6])
    return DataError(
        "There is no numeric column and no category with few values to learn from; the "
        f"columns are {found}.",
        repairs=repairs[:2],
        code="table.no_features",
        hint="Add columns of numbers, name their use in uses=, or check delimiter= and decimal=.",
    )


def column_of(table: Table, wanted: str) -> str | None:
    """The name of a column, as it is or in other capitals if only one fits; None without it."""
    if wanted in table.columns:
        return wanted
    same = [name for name in table.columns if name.casefold() == wanted.casefold()]
    return same[0] if len(same) == 1 else None


def _named(table: Table, wanted: str) -> str:
    """The name that `column_of` finds; DataError, with similar names, without."""
    name = clean_name(wanted)
    found = column_of(table, name)
    if found is not None:
        return found
    folded = {known.casefold(): known for known in table.columns}
    close = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.5)
    near = f"the columns are {listed(table.columns, most=10)}"
    if close:
        near = f"close to it: {listed(map(folded.__getitem__, close))}"
    raise DataError(f"There is no column {name!r}; {near}.")


def _marks_in(table: Table) -> Names:
    """The texts, other than the empty one, that stand for a missing value in some column."""
    found: set[str] = set()
    for name, item in table.profiles.items():
        found |= MISSING.intersection(table.columns[name][item.missing].tolist())
    return tuple(sorted(found - {""}))


def _kind(item: Profile) -> str:
    is_sparse = item.is_sparse and item.kind != "empty"
    return "mostly empty" if is_sparse else item.kind


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


def features_of(item: Profile, missing: str) -> list[Feature]:
    """The features that a column becomes; ``missing`` is as in `ReadOptions`.

    They are a number and an indicator of its gaps, parts of dates, shares of letters, or 0 and 1
    for every level of a category.
    """
    name = item.name
    if not item.is_numeric:
        return _FEATURES_OF[item.kind](name, item.values)
    number = Feature(
        name,
        name,
        median=float(np.nanmedian(item.values)),
        lenient=missing == "drop" or item.stray > 0,
        sentinel=item.sentinel,
    )
    if missing == "indicator" and item.column.missing:
        return [number, replace(number, name=f"{name} {MISSING_LEVEL}", role="gap")]
    return [number]


def _category_features(name: str, labels: Labels) -> list[Feature]:
    """A feature for every frequent level, one for all others, and one for missing cells."""
    levels, counts = np.unique(labels[labels != ""], return_counts=True)
    is_cut = len(levels) > MAX_LEVELS
    frequent = sorted(map(str, levels[np.argsort(-counts, kind="stable")[:MAX_LEVELS]]))
    if is_cut and OTHER_LEVEL in frequent:
        frequent.remove(OTHER_LEVEL)
    roles = [("level", level) for level in frequent]
    if is_cut:
        roles.append(("other", OTHER_LEVEL))
    if (labels == "").any():
        roles.append(("missing", MISSING_LEVEL))
    if len(roles) == 2:  # the other column would be its mirror image
        roles = roles[:1] if roles[1][0] == "missing" else roles[1:]
    words = MISSING.intersection(levels.tolist())
    return [
        Feature(f"{name}={level}", name, role, level=level, known=tuple(frequent), words=words)
        for role, level in roles
    ]


def _date_features(name: str, labels: Labels) -> list[Feature]:
    """The parts of a column of dates that vary on the training table."""
    order = order_of(labels)
    parts = date_parts(labels, order)
    is_date = ~np.isnan(parts[:, 0])
    lenient = not is_date[labels != ""].all()
    found = []
    for part, column in zip(PARTS, parts[is_date].T, strict=True):
        if np.ptp(column) > 0.0:
            title = f"{part} of {name}"
            median = float(np.median(column))
            found.append(Feature(title, name, "date", median, part, (order,), lenient))
    return found


def _sequence_features(name: str, labels: Labels) -> list[Feature]:
    """The length of the sequences, and the shares of their letters."""
    found = []
    for letter in composition(as_strings(labels)):
        title = f"share of {letter} in {name}" if letter else f"length of {name}"
        found.append(Feature(title, name, "share", level=letter))
    return found


_FEATURES_OF: dict[str, Callable[[str, Labels], list[Feature]]] = {
    "category": _category_features,
    "date": _date_features,
    "sequence": _sequence_features,
    "words": lambda name, labels: [],
}


def as_strings(labels: Labels) -> Names:
    """Sequences in capitals; a missing one ("") becomes unknown letters of the median length."""
    found = [str(label).strip().upper() for label in labels.tolist()]
    usual = "N" * int(np.median(list(map(len, filter(None, found))) or [1]))
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
    def fit(cls, profiles: Sequence[Profile], missing: str = "median") -> TableEncoder:
        """The encoder of these columns, with different names for all features."""
        features = list[Feature]()
        named: dict[str, list[str]] = {"sequence": [], "words": []}
        for item in profiles:
            features += features_of(item, missing)
            named.get(item.kind, []).append(item.name)
        names = distinct_names(clean_name(feature.name) for feature in features)
        return cls(
            tuple(map(_renamed, features, names)),
            sequences=tuple(named["sequence"]),
            texts=tuple(named["words"]),
        )

    @classmethod
    def plain(cls, data: Dataset) -> TableEncoder:
        """The encoder of a table whose columns were numbers from the start, as in the samples."""
        features = []
        for name, median in zip(data.feature_names, np.median(data.X, axis=0), strict=True):
            features.append(Feature(name, name, median=float(median)))
        return cls(tuple(features), data.target_name, data.task, classes=data.class_names)

    def select(self, names: Sequence[str]) -> TableEncoder:
        """The encoder of these features alone."""
        by_name = {one.name: one for one in self.features}
        return replace(self, features=tuple(map(by_name.__getitem__, names)))

    @property
    def columns(self) -> Groups:
        """The columns of the file, each with the positions of its features."""
        return grouped(feature.column for feature in self.features)

    @property
    def needed(self) -> Names:
        """The columns that a file of new rows needs."""
        return tuple(dict.fromkeys((*dict(self.columns), *self.sequences, *self.texts)))

    def transform(
        self, cells_of: Mapping[str, Cells], decimal: str, notes: list[str]
    ) -> tuple[Array, dict[str, Names]]:
        """The features (rows, d) of columns by their names, and strings by name."""
        X = np.empty((len(cells_of[self.needed[0]]), len(self.features)))
        strings = {}
        places_of = dict(self.columns)
        for name in endable(self.needed):
            cells = cells_of[name]
            if name in self.texts:
                strings[name] = tuple(map(str.strip, _labels(cells)))
            elif name in self.sequences:
                strings[name] = as_strings(_labels(cells))
            if places := list(places_of.get(name, ())):
                features = [self.features[j] for j in places]
                encode = _ENCODED_BY[features[0].role]
                X[:, places] = encode(features, cells, decimal, notes)
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
        found = {name: column_of(table, name) for name in self.needed}
        if missing := [name for name, place in found.items() if place is None]:
            raise DataError(
                f"The table lacks {counted(len(missing), 'column')} the model needs: "
                f"{listed(missing, most=10)}. It has {listed(table.names, most=10)}. Add the "
                "columns, or check the header line."
            )
        notes: list[str] = []
        cells = {name: table.columns[place] for name, place in found.items() if place}
        X, strings = self.transform(cells, table.decimal, notes)
        rest = {name: cells for name, cells in table.columns.items() if name not in found.values()}
        target = rest.pop(column_of(table, self.target_name) or "", None)
        if rest:
            notes.append(f"Not needed and left out: {listed(rest)}.")
        if target is not None:
            target = self._target(target, table.decimal)
        return NewRows(X, target, tuple(notes), self._letters(strings) if strings else None)

    def _letters(self, strings: dict[str, Names]) -> Cells:
        """The letters of sequences and texts; DataError for a sequence that is too long."""
        for name in self.sequences:
            sizes = list(map(len, strings[name]))
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
        found, missing, _ = used_as(self.target_name, cells, decimal, None, values)
        if missing.all():
            return None
        is_numeric = found.dtype.kind == "f"
        if self.task == "regression":
            return found if is_numeric else None
        labels = np.full(len(cells), "", dtype=object)
        for row in np.flatnonzero(~missing):
            labels[row] = class_name(found[row])
        return labels


def _renamed(feature: Feature, name: str) -> Feature:
    return replace(feature, name=name)


def encoder_of(data: Dataset) -> TableEncoder:
    """The encoder of the reading, or one that takes every column as it is."""
    return data.encoder or TableEncoder.plain(data)


def _numbers(features: Sequence[Feature], cells: Cells, decimal: str, notes: list[str]) -> Array:
    """Numbers with medians for missing cells, and indicators of missing cells.

    DataError for cells that are no numbers, if the training table had none.
    """
    first = features[0]
    numbers = to_numbers(cells, decimal)
    gone = np.isnan(numbers)
    stray = np.flatnonzero(gone & ~missing_cells(cells, values=()))
    if stray.size and not first.lenient:
        raise DataError(
            f"The column {first.column!r} holds {clean_name(str(cells[stray[0]]))!r} in "
            f"row {stray[0] + 1}, {counted(stray.size, 'such cell')} in all; the model "
            "learnt it as numbers. Correct or empty the cells."
        )
    gone |= numbers == first.sentinel
    if gone.any():
        many = counted(int(gone.sum()), "missing cell")
        notes.append(
            f"{many} of {first.column!r} filled with the median of the training table, "
            f"{first.median:.4g}."
        )
    filled = np.where(gone, first.median, numbers)
    return np.column_stack([gone if one.role == "gap" else filled for one in features])


def _dates(features: Sequence[Feature], cells: Cells, decimal: str, notes: list[str]) -> Array:
    """The parts of dates, with medians for missing cells.

    DataError for a cell that is no date, if the training table had none.
    """
    first = features[0]
    labels = _labels(cells)
    order = first.known[0]
    parts = date_parts(labels, order)
    strange = np.flatnonzero(np.isnan(parts[:, 0]) & (labels != ""))
    if strange.size and not first.lenient:
        raise DataError(
            f"The column {first.column!r} holds "
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
    where = {"other": other, "missing": gone}
    if other.any() and not any(one.role == "other" for one in features):
        notes.append(
            f"{counted(int(other.sum()), 'cell')} of {first.column!r} hold what the "
            f"training table does not: {listed(sorted(set(labels[other])))}. The "
            f"model knows {joined(map(repr, first.known))}; these cells count as none of "
            "the categories it has."
        )
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
