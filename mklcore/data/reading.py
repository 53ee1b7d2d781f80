"""From a table in a file to a `Dataset`: the target, the task, the features, and notes on
everything that changed.

`describe_table` looks at every column before a target is chosen; `read_table` makes the data set,
whose ``encoder`` reads new rows alike: medians, categories and marks of missing values are those of
the training table, and new rows never change them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
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
    Column,
    Note,
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
from mklcore.data.grouping import families
from mklcore.data.packed import MAX_CELLS, endable
from mklcore.data.sequences import composition, cut, share_of
from mklcore.data.sequences import letters as letters_of
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
from mklcore.errors import DataError, Repair

AS_NOVELTY = Repair.of("Look for unusual rows, without a target", task="novelty", target=None)
# without any of them a table read for novelty has no target
SURE_NAMES = ("target", "label", "class", "y")
PREVIEW_ROWS = 10
ROLES = {"row_groups": "which rows belong together", "sample_weight": "how much rows count"}


@dataclass(frozen=True)
class TableSummary:
    """What a table holds, before a target is chosen.

    target : the column `read_table` takes when none is named, "" where none can be one. candidates
    : the three
        likeliest
    targets, `target` first, each with what speaks for it and a confidence. marks : the texts that
    stand for a missing value in some column.
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
    marks: tuple[str, ...] = ()


def describe_table(source: Any, **options: Any) -> TableSummary:
    """Types, missing values and the first rows of a table; ``options`` : the fields of
    `ReadOptions`.
    """
    how = ReadOptions(**options)
    table = as_table(source, how)
    profiles = table.profiles
    rows = min(PREVIEW_ROWS, table.n_rows)
    candidates = rank_targets(table.names, profiles, table.header, how.task)
    return TableSummary(
        n_rows=table.n_rows,
        columns=tuple(item.column for item in profiles),
        target=candidates[0].name if candidates else "",
        preview=tuple(tuple(shown(column[row]) for column in table.columns) for row in range(rows)),
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
        bytes, or an open file read from where it stands.
    target : str, int or None, default None
        Name or index of the target column; None finds one.
    **options
        How to read it: the fields of `ReadOptions`, among them ``task``, ``uses``, ``missing``,
        ``missing_marks``, ``sentinels``, ``rare_classes``, ``row_groups``,
        ``sample_weight``, ``delimiter``, ``decimal``, ``header`` and ``sheet``.

    Returns
    -------
    Dataset
        The table with its target and notes on what was read how.

    Raises
    ------
    DataError
        Where no data set results, with what to do and the arguments that mend it (``repairs``).

    Examples
    --------
    >>> rows = "\n".join(f"{150 + i % 9},{50 + i % 7},{'fm'[i % 2]}" for i in range(40))
    >>> table = read_table(f"height,weight,sex\n{rows}".encode(), "sex")
    >>> table.task, table.feature_names
    ('binary', ('height', 'weight'))
    """
    how = ReadOptions(target=target, **options)
    return read_parsed(as_table(source, how), how)


def read_parsed(table: Table, settings: ReadOptions, given: TargetValues | None = None) -> Dataset:
    """The data set of a parsed table, with the encoder of its columns.

    DataError where there is none.

    ``given`` : a target that is no column of the table, whose name is ``settings.target``.
    """
    table, aside = _set_aside(table, settings)
    if len(table.names) == 1 and settings.task != "novelty" and given is None:
        raise DataError(_one_column(table), repairs=_for_one_column(table))
    uses = {table.names[_named(table.names, name)]: use for name, use in settings.uses.items()}
    settings = replace(settings, uses=uses)
    every = table.profiles
    notes = list[str]()
    place = None
    if given is None:
        place, found = _found_target(table, settings, every, notes)
        name = "y" if place is None else table.names[place]
    else:
        found = given
        name = str(settings.target)
    profiles, stay = _profiles(table, place, found.rows, settings, every)
    notes += found.notes
    if gone := len(found.values) - len(stay):
        text = f"Dropped {counted(gone, 'row')} with a missing cell in a column that is used."
        notes.append(
            Note(text, [Repair.of("Fill missing cells with the median", missing="median")])
        )
    profiles = _settle_sentinels(profiles, settings.sentinels, notes)
    used = [item for item in profiles if item.column.used]
    indicator = settings.missing == "indicator"
    encoder = TableEncoder.fit(used, indicator, lenient=settings.missing == "drop")
    _check_features(profiles, encoder, len(stay))
    rows = found.rows[stay]
    X, strings = encoder.transform(
        replace(table, columns=tuple(cells[rows] for cells in table.columns)), []
    )
    notes = [
        *_how_read(table),
        *table.notes,
        *notes,
        *notes_on_use(profiles, indicator),
        *rows_together(profiles),
    ]
    if groups := families(encoder.columns):
        notes.append(
            f"Columns whose names begin alike are groups: {listed([name for name, _ in groups])}."
        )
    data = Dataset(
        X,
        found.values[stay],
        tuple(feature.name for feature in encoder.features),
        name,
        found.task,
        groups=groups,
        notes=tuple(notes),
        columns=encoder.columns,
        sequences=tuple((one, strings[one]) for one in encoder.sequences),
        texts=tuple((one, strings[one]) for one in encoder.texts),
        row_groups=_owners(aside.get("row_groups"), rows),
        sample_weight=_row_weights(
            settings.sample_weight, aside.get("sample_weight"), rows, table.decimal
        ),
    )
    marks = settings.missing_marks
    encoder = replace(
        encoder,
        target_name=name,
        task=data.task,
        width=data.width,
        classes=data.class_names,
        missing_marks=marks,
    )
    return replace(data, encoder=encoder)


def _found_target(
    table: Table, settings: ReadOptions, every: list[Profile], notes: list[str]
) -> tuple[int | None, TargetValues]:
    """Where the target is, None without one, and its values.

    DataError, with repairs, where no column can be one.
    """
    ranked = rank_targets(table.names, every, table.header, settings.task)
    guess: TargetValues | None = None
    while settings.target is None and len(ranked) > 1:
        guess = _if_readable(table, ranked[0].place, settings)
        if guess is not None:
            break
        ranked = ranked[1:]
    try:
        place = _target_place(table, settings, every, ranked, notes)
        if place is not None:
            return place, guess or read_target(table, place, settings)
    except DataError as error:
        others = _predict(one for one in ranked if one.name != settings.target)
        if not others and settings.task is not None:
            others = [FIND_TASK]
        error.repairs = tuple(dict.fromkeys((*error.repairs, *others[:2])))
        raise
    ones = np.ones(table.n_rows, dtype=np.int64)
    return None, TargetValues(ones, np.arange(table.n_rows), "novelty", [])


def _if_readable(table: Table, place: int, settings: ReadOptions) -> TargetValues | None:
    """Return the values of a column as the target, None where it is refused."""
    try:
        return read_target(table, place, settings)
    except DataError:
        return None


def _set_aside(table: Table, settings: ReadOptions) -> tuple[Table, dict[str, np.ndarray]]:
    """The table without the columns that say which rows belong together and how much they count,
    and their cells.
    """
    cells = dict[str, np.ndarray]()
    gone = set[int]()
    for role in ("row_groups", "sample_weight"):
        if (name := getattr(settings, role)) is not None:
            place = _named(table.names, name)
            if isinstance(settings.target, str) and place_of(table.names, settings.target) == place:
                raise DataError(
                    f"{name!r} is the target, so it cannot say {ROLES[role]}; name another column."
                )
            cells[role] = table.columns[place]
            gone.add(place)
    kept = [j for j in range(len(table.names)) if j not in gone]
    if not kept:
        raise DataError(
            "No column is left to learn from: name other columns as row_groups and sample_weight."
        )
    names = tuple(table.names[j] for j in kept)
    columns = tuple(table.columns[j] for j in kept)
    return (replace(table, names=names, columns=columns) if gone else table), cells


def _owners(cells: np.ndarray | None, rows: np.ndarray) -> Labels | None:
    """The owner of every row, as text; a row without one stands alone."""
    if cells is None:
        return None
    alone = missing_cells(cells[rows], values=())
    names = [shown(cell) for cell in cells[rows]]
    return np.array(
        [
            f"row {k}" if own else name
            for k, (own, name) in enumerate(zip(alone, names, strict=True))
        ],
        object,
    )


def _row_weights(
    name: str | None, cells: np.ndarray | None, rows: np.ndarray, decimal: str
) -> Array | None:
    """How much every row counts. DataError for a cell that is no number."""
    if cells is None:
        return None
    weights: Array = to_numbers(cells, decimal)[rows]
    if (strange := np.flatnonzero(np.isnan(weights))).size:
        raise DataError(
            f"{name!r} holds weights of rows, and row {rows[strange[0]] + 1} has none: "
            f"{shown(cells[rows[strange[0]]])!r}. Fill it with a number, 0 to leave the row out."
        )
    return weights


def _check_features(profiles: list[Profile], encoder: TableEncoder, n_rows: int) -> None:
    """Refuse a table without a feature, or with more cells than are accepted."""
    if not (encoder.features or encoder.sequences or encoder.texts):
        raise DataError(_nothing_left(profiles), repairs=_to_use(profiles))
    if len(encoder.features) * n_rows > MAX_CELLS:
        without = tuple(
            (item.column.name, "left out")
            for item in profiles
            if item.column.used and item.numbers is None
        )
        raise DataError(
            (
                f"With categories as columns of 0 and 1 the table has {n_rows:,} x "
                f"{len(encoder.features):,} cells, more than {MAX_CELLS:,}; take fewer rows or "
                "columns."
            ),
            repairs=[Repair.of("Leave out the categories", uses=without)],
        )


def _target_place(
    table: Table,
    settings: ReadOptions,
    profiles: Sequence[Profile],
    ranked: Sequence[TargetCandidate],
    notes: list[str],
) -> int | None:
    """Where the target is, None without one; the notes say what was guessed.

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
        notes.append(
            "No target was named: every column is a feature and every row counts as normal."
        )
        return None
    if not ranked:
        found = joined(f"{one.column.name!r} ({_kind(one)})" for one in profiles)
        what = "the target" if task is None else f"the target of the task {task!r}"
        raise DataError(
            (
                f"No column can be {what}: {found}. Expected a column of numbers, or of at "
                f"most {MAX_CLASSES} classes, with at least two different values and a value "
                "in half of the rows. Add one, or name another with target=."
            ),
            repairs=[AS_NOVELTY] if task is None else [],
        )
    notes += _passed_over(table, profiles, ranked, settings)
    notes.append(Note(as_text(ranked), _predict(ranked[1:])))
    return ranked[0].place


def _predict(candidates: Iterable[TargetCandidate]) -> list[Repair]:
    return [Repair.of(f"Predict {one.name!r}", target=one.name) for one in candidates]


def _passed_over(
    table: Table,
    profiles: Sequence[Profile],
    ranked: Sequence[TargetCandidate],
    settings: ReadOptions,
) -> list[str]:
    """Why a column whose name says that it is the target could not be guessed, with what would make
    it one.

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
                    f"{item.column.example!r}: there is nothing to predict. Name another "
                    "column with target=."
                ),
                repairs=[*_predict(ranked), AS_NOVELTY],
            )
        try:
            read_target(table, place, settings)
            if item.column.kind != "text":
                continue
            why = f"{name!r} has too many classes with few rows."
            repairs = [Repair.of(f"Predict {name!r}, rare classes merged", rare_classes="merge")]
        except DataError as error:
            why = str(error)
            repairs = list(error.repairs)
        repairs = [Repair(one.label, (*one.settings, ("target", name))) for one in repairs]
        found.append(Note(f"Not chosen as the target: {why}", repairs, urgent=bool(repairs)))
    return found


def _profiles(
    table: Table,
    place: int | None,
    rows: np.ndarray,
    settings: ReadOptions,
    seen: Sequence[Profile],
) -> tuple[list[Profile], np.ndarray]:
    """What each column but the target in ``place`` is, and which of ``rows`` stay.

    Dropping rows may turn a column into another kind, so it goes on until no row in use has a gap.
    ``seen`` : what is known about columns on all rows.
    """
    stay = np.arange(len(rows))
    columns = list(zip(table.names, table.columns, seen, strict=True))
    if place is not None:
        del columns[place]
    while True:
        profiles = [
            known
            if name not in settings.uses and len(known.values) == len(stay)
            else profile(
                name, cells[rows[stay]], table.decimal, settings.uses.get(name), table.values
            )
            for name, cells, known in endable(columns)
        ]
        if not any(item.column.used for item in profiles):  # alone, what counts rows is the feature
            profiles = [
                profile(one.column.name, one.values, use="number") if one.counter else one
                for one in profiles
            ]
        gaps = [missing_rows(item) for item in profiles if item.column.used]
        if settings.missing != "drop" or not gaps or not (gap := np.logical_or.reduce(gaps)).any():
            return profiles, stay
        if gap.all():
            raise DataError(
                (
                    "Every row has a missing cell in a column that is used; fill them with "
                    "the median instead."
                ),
                repairs=[Repair.of("Fill missing cells with the median", missing="median")],
            )
        stay = stay[~gap]


def _how_read(table: Table) -> list[str]:
    if table.delimiter in (None, ","):
        return []
    return [f"The columns are separated by {delimiter_as_text(table.delimiter)}."]


def _for_one_column(table: Table) -> list[Repair]:
    """Delimiters that stand in the one name, and the task that needs no target."""
    signs = [sign for sign in DELIMITERS if sign in table.names[0] and sign != table.delimiter]
    named = [
        Repair.of(f"Separate columns by {delimiter_as_text(sign)}", delimiter=sign)
        for sign in signs
    ]
    return [*named, AS_NOVELTY]


def _one_column(table: Table) -> str:
    start = (
        f"The table has one column only ({table.names[0]!r}); expected a target and at least "
        "one feature."
    )
    if table.delimiter is None:
        return start
    return f"{start} If the columns are separated by something unusual, name it with delimiter=."


def _near(names: Sequence[str], wanted: str) -> str:
    folded = {name.casefold(): name for name in names}
    close = [
        folded[name]
        for name in difflib.get_close_matches(wanted.casefold(), list(folded), n=3, cutoff=0.5)
    ]
    return f"close to it: {listed(close)}" if close else f"the columns are {listed(names, most=10)}"


def _named(names: Sequence[str], wanted: str) -> int:
    """The place of a column, by its name or, if only one fits, by its name in other capitals."""
    place = place_of(names, name := clean_name(wanted))
    if place is None:
        raise DataError(f"There is no column {name!r}; {_near(names, name)}.")
    return place


def _marks_in(table: Table) -> tuple[str, ...]:
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
    found = (
        sentinel_of(item.column.name, item.numbers) for item in profiles if item.numbers is not None
    )
    return tuple(sentinel for sentinel in found if sentinel is not None)


def _settle_sentinels(profiles: list[Profile], rule: str, notes: list[str]) -> list[Profile]:
    """The profiles with noticed sentinels read as ``rule`` says, and a note about them."""
    found = {one.column: one for one in _sentinels([item for item in profiles if item.column.used])}
    if not found:
        return profiles
    values = joined(
        f"{one.value:g} in {one.column!r} ({counted(one.cells, 'cell')})" for one in found.values()
    )
    notes.append(
        sentinel_note(values, rule, "Read these numbers as missing", "Keep them as numbers")
    )
    return [
        with_missing(item, found[item.column.name].value)
        if rule == "missing" and item.column.name in found
        else item
        for item in profiles
    ]


def _to_use(profiles: list[Profile]) -> list[Repair]:
    """Columns that were left out and could be used as they are, the one with fewest values first."""
    usable = [one for one in profiles if one.column.kind in ("text", "identifier", "dropped")]
    usable.sort(key=lambda one: one.column.distinct)
    pairs = [
        (one.column.name, "category" if one.numbers is None else "number") for one in usable[:2]
    ]
    return [Repair.of(f"Use {name!r} as a {use}", uses=((name, use),)) for name, use in pairs]


def _nothing_left(profiles: list[Profile]) -> str:
    if all(item.column.kind in ("constant", "empty") for item in profiles):
        return (
            "Every feature is constant or empty: "
            f"{listed(item.column.name for item in profiles)}; expected at least one "
            "column whose values differ. Add columns, or rows where these differ."
        )
    found = ", ".join(f"{item.column.name!r} ({item.column.kind})" for item in profiles[:6])
    return (
        "There is no numeric column and no category with few values to learn from; the "
        f"columns are {found}. Add columns of numbers, name their use in uses=, or check "
        "delimiter= and decimal=."
    )


# -- the encoder, fitted on the training table and the same for new rows


@dataclass(frozen=True)
class Feature:
    """What one feature is made from: ``column`` of the file, filled with ``median`` where missing,
    or 1 for a ``level``.

    role : "number", "gap" (1 where a number is missing), "date" (its part ``level``, written in the
    order ``known``), "share" (of a letter in a sequence), "level" (of a category), "other" (any
    level not in ``known``) or "missing".
    lenient : whether things that are no numbers count as missing. sentinel : the number that was
    read as missing.
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
    """What a column becomes: itself and where it has gaps, parts of dates, shares of letters, or 0
    and 1 per level.
    """
    name = item.column.name
    if item.numbers is not None:
        lenient = lenient or item.stray > 0
        median = float(np.nanmedian(item.numbers))
        found = [Feature(name, name, median=median, lenient=lenient, sentinel=item.sentinel)]
        if indicator and item.column.missing:
            found.append(replace(found[0], name=f"{name} {MISSING_LEVEL}", role="gap"))
        return found
    assert item.labels is not None
    if item.column.kind == "words":
        return []
    if item.column.kind == "date":
        return _date_features(name, item.labels)
    if item.column.kind == "sequence":
        letters = composition(as_strings(item.labels))
        return [
            Feature(f"share of {a} in {name}" if a else f"length of {name}", name, "share", level=a)
            for a in letters
        ]
    levels, counts = np.unique(item.labels[item.labels != ""], return_counts=True)
    is_cut = len(levels) > MAX_LEVELS
    often = sorted(map(str, levels[np.argsort(-counts, kind="stable")[:MAX_LEVELS]]))
    known = tuple(level for level in often if not is_cut or level != OTHER_LEVEL)
    made = [("level", level) for level in known] + [("other", OTHER_LEVEL)] * is_cut
    if (item.labels == "").any():
        made.append(("missing", MISSING_LEVEL))
    if len(made) == 2:  # the other column would be its mirror image
        made = made[:1] if made[1][0] == "missing" else made[1:]
    words = MISSING.intersection(levels.tolist())
    return [
        Feature(f"{name}={level}", name, role, level=level, known=known, words=words)
        for role, level in made
    ]


def _date_features(name: str, labels: Labels) -> list[Feature]:
    """The parts of a column of dates that vary on the training table."""
    order = order_of(labels)
    parts = parts_of(labels, order)
    known = ~np.isnan(parts[:, 0])
    is_whole = bool(known[labels != ""].all())
    return [
        Feature(
            f"{part} of {name}",
            name,
            "date",
            float(np.median(column)),
            part,
            (order,),
            not is_whole,
        )
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
    """Rows to predict: ``X`` (m, d), ``target`` (m,) as text or numbers where the file has it (else
    None), and notes.

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
    def fit(
        cls, profiles: Iterable[Profile], indicator: bool = False, lenient: bool = False
    ) -> TableEncoder:
        """What these columns become, with different names of features."""
        used = tuple(profiles)
        every = [feature for item in used for feature in features_of(item, indicator, lenient)]
        names = distinct_names(clean_name(feature.name) for feature in every)
        renamed = (replace(feature, name=name) for feature, name in zip(every, names, strict=True))
        sequences, texts = (
            tuple(one.column.name for one in used if one.column.kind == kind)
            for kind in ("sequence", "words")
        )
        return cls(tuple(renamed), sequences=sequences, texts=texts)

    @classmethod
    def plain(cls, data: Dataset) -> TableEncoder:
        """Of a table whose columns were numbers from the start, as those of the samples are."""
        medians = zip(data.feature_names, np.median(data.X, axis=0).tolist(), strict=True)
        features = tuple(Feature(name, name, median=median) for name, median in medians)
        return cls(features, data.target_name, data.task, classes=data.class_names)

    def select(self, names: Sequence[str]) -> TableEncoder:
        """The encoder of some of the features."""
        made = {one.name: one for one in self.features}
        return replace(self, features=tuple(made[name] for name in names))

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

    def transform(self, table: Table, notes: list[str]) -> tuple[Array, dict[str, tuple[str, ...]]]:
        """The features (rows, d) of a table that has all columns, and its sequences and texts by
        name.
        """
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
                X[:, places] = _MADE_BY[features[0].role](features, cells, table.decimal, notes)
        return X, strings

    def read(self, source: Any, **how: Any) -> NewRows:
        """The rows of another file or data frame with the features of the training table; other
        columns are left out.

        Missing numbers become the training median. DataError names columns that are missing, and
        the first cell of a column of numbers that holds something else. how : what `read_table`
        takes about the file.
        """
        return self.of_table(as_table(source, ReadOptions(missing_marks=self.missing_marks, **how)))

    def of_table(self, table: Table) -> NewRows:
        """The same for a table that is already parsed."""
        places = {
            name: place
            for name in self._needed
            if (place := place_of(table.names, name)) is not None
        }
        if gone := [name for name in self._needed if name not in places]:
            raise DataError(
                f"The table lacks {counted(len(gone), 'column')} the model needs: "
                f"{listed(gone, most=10)}. It has {listed(table.names, most=10)}. Add the "
                "columns, or check the header line."
            )
        notes: list[str] = []
        ours = replace(
            table, names=tuple(places), columns=tuple(table.columns[at] for at in places.values())
        )
        X, strings = self.transform(ours, notes)
        for name in self.sequences:
            sizes = [len(text) for text in strings[name]]
            if max(sizes) > self.width:
                raise DataError(
                    f"The sequence {name!r} has {max(sizes):,} letters in row "
                    f"{sizes.index(max(sizes)) + 1}; the longest of the training table has "
                    f"{self.width:,}. Cut it."
                )
        at = place_of(table.names, self.target_name)
        if idle := [
            name for k, name in enumerate(table.names) if k not in places.values() and k != at
        ]:
            notes.append(f"Not needed and left out: {listed(idle)}.")
        target = (
            None
            if at is None or at in places.values()
            else self._target(table.columns[at], table.decimal)
        )
        sequences, texts = (
            [strings[name] for name in names] for names in (self.sequences, self.texts)
        )
        letters = (
            letters_of(sequences, self.width, [cut(one, self.width) for one in texts])
            if strings
            else None
        )
        return NewRows(X, target, tuple(notes), letters)

    def _target(self, cells: np.ndarray, decimal: str) -> np.ndarray | None:
        """The target as the training table has it: numbers (NaN where missing), or class names (""
        where missing).
        """
        values = self.classes if self.task != "regression" else ()
        numbers, missing, _, cells = used_as(self.target_name, cells, decimal, None, values)
        if missing.all():
            return None
        if self.task == "regression":
            return numbers
        if numbers is not None:
            texts = [
                f"{value:g}" if value != np.round(value) else str(int(value))
                for value in np.nan_to_num(numbers)
            ]
        else:
            texts = [clean_name(str(cell)) or "(blank)" for cell in cells]
        return np.array(
            ["" if gone else text for text, gone in zip(texts, missing, strict=True)], dtype=object
        )


def encoder_of(data: Dataset) -> TableEncoder:
    """What makes the features of new rows: that of the reading, or for columns that were numbers
    from the start, each as it is.
    """
    return data.encoder if isinstance(data.encoder, TableEncoder) else TableEncoder.plain(data)


def place_of(names: Sequence[str], wanted: str) -> int | None:
    """Where a column is, by its name or, if only one fits, by its name in other capitals."""
    if wanted in names:
        return list(names).index(wanted)
    same = [k for k, name in enumerate(names) if name.casefold() == wanted.casefold()]
    return same[0] if len(same) == 1 else None


def _numbers(
    features: Sequence[Feature], cells: np.ndarray, decimal: str, notes: list[str]
) -> Array:
    """Numbers, medians where one is missing, and where it is.

    DataError for other cells where training had none.
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
            "learnt it as numbers. Mend or empty the cells."
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


def _dates(features: Sequence[Feature], cells: np.ndarray, decimal: str, notes: list[str]) -> Array:
    """The parts of dates, medians where one is missing.

    DataError for a cell that is no date where none was in training.
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


def _labels(cells: np.ndarray, words: frozenset[str] = frozenset()) -> Labels:
    """A column of texts, "" where one is missing; ``words`` are values here although they often say
    so.
    """
    texts = as_texts(cells)
    return np.where(missing_cells(texts, words), "", texts)


def _shares(
    features: Sequence[Feature], cells: np.ndarray, decimal: str, notes: list[str]
) -> Array:
    """The shares of letters in a column of sequences."""
    strings = as_strings(_labels(cells))
    return np.column_stack([share_of(one.level, strings) for one in features])


def _levels(
    features: Sequence[Feature], cells: np.ndarray, decimal: str, notes: list[str]
) -> Array:
    """Where the levels are that a category's features stand for; what is none of them is reported."""
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


_MADE_BY = {
    "number": _numbers,
    "gap": _numbers,
    "date": _dates,
    "share": _shares,
    "level": _levels,
    "other": _levels,
    "missing": _levels,
}
