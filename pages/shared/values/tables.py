"""The table in use, how it was read, its rows cut in three, and what mends it where it is refused."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path as File
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from mklcore.data.column_groups import regrouped
from mklcore.data.columns import MAX_LEVELS, ReadOptions
from mklcore.data.dataset import Dataset, Split, three_way_split
from mklcore.data.files import Table
from mklcore.data.frames import as_table
from mklcore.data.packed import workbook_sheets
from mklcore.data.reading import TableSummary, describe_table, read_drawn, read_table
from mklcore.data.samples import SAMPLES
from mklcore.data.splitting import RANDOM
from mklcore.data.target import Leak, find_leaks, rows_in_order
from mklcore.errors import DataError, MKLError, Note, Repair
from mklcore.kernels import stacks
from pages.shared.session.parameters import SPLIT, UPLOAD, Params, TableParams
from pages.shared.session.state import memory, upload
from pages.shared.work import work

# The table a new visit begins with
#
# scikit-learn has both, and takes longer to be imported than the page to be drawn.


FIRST_TABLE: File | None = (
    File(__file__).resolve().parents[3] / "sample_data" / "earlier" / "first_table.json.gz"
)
FIRST_FACTS = ("feature_names", "target_name", "task", "class_names", "groups", "notes")


def comes_along(params: Params) -> bool:
    """Tell, without reading it, whether the table of these parameters and its parts come with the
    project.
    """
    return (
        params.of(*SPLIT) == Params().of(*SPLIT)
        and FIRST_TABLE is not None
        and FIRST_TABLE.exists()
    )


def first_table(name: str) -> Dataset | None:
    """Return the sample of this name if it is the one that comes with the project."""
    found = _read_first() if name == Params().data else None
    return found and found[0]


def first_parts(params: Params) -> Split | None:
    """Return the rows of these parameters cut in three if they come with the project."""
    found = _read_first() if comes_along(params) else None
    return found and found[1]


def read_json(file: File | None) -> Any:
    """Return what is in a file that comes with the project, None where there is none."""
    try:
        return json.loads(gzip.decompress(file.read_bytes())) if file else None
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=1)
def _read_first() -> tuple[Dataset, Split] | None:
    content = read_json(FIRST_TABLE)
    if not content:
        return None
    facts = {name: content[name] for name in FIRST_FACTS}
    whole = Dataset(np.array(content["X"]), np.array(content["y"], dtype=object), **facts)
    train, validation, test = (whole.take(np.array(rows)) for rows in content["rows"])
    return whole, Split(train, validation, test)


# What to do about a note or an error, in the words of the page

# By code. A note or an error of another code is shown without a hint.
HINTS = {
    # errors
    "table.encoding": "Choose another encoding.",
    "table.one_column": "Another delimiter can be chosen on the left.",
    "table.no_features": (
        "Add columns of numbers, or check the delimiter and the decimal sign on the left."
    ),
    "table.no_candidate": (
        "Choose one under Target to see what is wrong with it, or mend the file."
    ),
    "table.constant_target": "Choose another column.",
    "table.not_binary": "Choose another target, or another task.",
    "table.classes": "Choose another target, join classes, or read it as a number, under Task.",
    # notes
    "table.guessed_encoding": "If letters look wrong: How the file is read, Encoding.",
    "table.sheet": "Another one: Sheet.",
    "table.delimiter": "Another delimiter: How the file is read.",
    "table.no_target": "Another one: Target.",
    "table.guessed_target": "Another one: Target.",
    "table.binary": "Another one: Task.",
    "table.medians": "Other ways: Missing values.",
    "table.indicators": "Without it: Missing values, median.",
    "table.unusable_cells": "The table of columns can use it as a category.",
    "table.mostly_missing": "The table of columns can leave it out.",
    "table.dates": "The table of columns can leave it out.",
    "table.categories": "The table of columns has other uses.",
    "table.missing_category": "To leave these rows out: Missing values, drop rows.",
    "table.long_text": (
        f"To keep the {MAX_LEVELS} most frequent values as columns of 0 and 1, use it as a "
        "category in the table of columns."
    ),
    "table.identifier": "The table of columns can use it.",
    "table.constant": "The table of columns can use it.",
    "table.groups": "Other groups, or none: Group columns.",
    "table.clipped": "Without it: Clip negative eigenvalues, off; such kernels are then refused.",
}


def hint(message: Note | MKLError) -> str:
    """Return what to do about a note or an error; empty where nothing is to be done."""
    return HINTS.get(message.code, "")


def in_full(message: Note | MKLError) -> str:
    """Return the statement of a note or an error with the hint of the page."""
    return f"{message.statement} {hint(message)}".rstrip()


@contextmanager
def for_people() -> Iterator[None]:
    """Let refusals through in the words of the page."""
    try:
        yield
    except DataError as error:
        raise DataError(in_full(error), repairs=error.repairs) from error


# The table


BYTES_A_SECOND = 3e6  # that are read


@st.cache_resource(max_entries=len(SAMPLES), show_spinner=False)
def _sample(name: str) -> Dataset:
    return first_table(name) or SAMPLES[name].load()


def table(params: Params) -> Dataset:
    """Return the table in use. Raises ``DataError``, or ``MissingFileError``."""
    if on_stack(params):
        return stack_file(params).table
    data = _read(params) if params.is_upload else _sample(params.data)
    if params.grouping:
        name = "grouped", params.of(TableParams), params.grouping
        with _mended_by("Use the groups that are found", grouping=""):
            data = work.now(name, lambda: regrouped(data, params.grouping))
    return data


@contextmanager
def _mended_by(label: str, **settings: str) -> Iterator[None]:
    """Give a refusal the repair that undoes a setting of the page."""
    try:
        yield
    except MKLError as error:
        error.repairs = (*error.repairs, Repair.of(label, **settings))
        raise


def called(params: Params) -> str:
    """Return what a sample is called; a file of a person is not named."""
    return "an uploaded file" if params.is_upload else SAMPLES[params.data].label


def _read(params: Params) -> Dataset:
    """Read an uploaded table as the parameters ask for.

    Raises ``MKLError``, until it is read as well.
    """
    read = reader(params)
    key = "table", params.of(TableParams)
    return _made(key, lambda progress: read()[0], "Reading the table", upload(params.data).content)


def reader(params: Params, most: int | None = None) -> Callable[[], tuple[Dataset, int]]:
    """Return what reads an uploaded table as the parameters ask for, or at most ``most`` of its
    rows, and tells how many it has.
    """
    content = upload(params.data).content
    options = {"target": params.target or None, "task": params.task or None}
    options |= reading_options(params)

    def read() -> tuple[Dataset, int]:
        with for_people():
            cells = _parsed(params, content)
            if most is None:
                return read_table(cells, **options), cells.n_rows
            return read_drawn(cells, most, seed=params.seed, **options), cells.n_rows

    return read


def _made(
    key: tuple[object, ...], read: Callable[[Callable[..., None]], Any], title: str, content: bytes
) -> Any:
    return work.value(
        key,
        read,
        title=title,
        seconds=len(content) / BYTES_A_SECOND,
        compiled=False,
    )


def _parsed(params: Params, content: bytes) -> Table:
    """Return the cells of an uploaded file, which its summary and its data set share."""
    how = as_read(params)
    key = ("cells", work.mine(), params.data, *how.values())
    return work.now(key, lambda: as_table(content, ReadOptions(**how)))


def reading_options(params: Params) -> dict[str, Any]:
    """Return how the table is to be read, in the words of the library; target and task apart."""
    return {
        "uses": uses(params),
        **as_read(params),
        "missing": params.missing,
        "sentinels": "missing" if params.gaps else "keep",
        "rare_classes": params.rare or "keep",
        "log_target": params.log,
        "row_groups": params.owners or None,
        "sample_weight": params.weights or None,
    }


DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "spaces": " ", "": None}
DECIMALS = {"point": ".", "comma": ",", "": None}
HEADERS = {"yes": True, "no": False, "": None}


def as_read(params: Params) -> dict[str, Any]:
    """Return how the file is to be opened, in the words of the library; None where reading finds
    out.
    """
    return {
        "sheet": params.sheet or None,
        "encoding": params.encoding or None,
        "delimiter": DELIMITERS[params.delimiter],
        "decimal": DECIMALS[params.decimal],
        "header": HEADERS[params.header],
        "skip_lines": int(params.skip) if params.skip else None,
        "on_bad_lines": params.lines or "error",
        "quotes": params.quotes,
        "missing_marks": marks(params),
    }


def marks(params: Params) -> tuple[str, ...] | None:
    """Return the texts that stand for a missing value, None where reading finds them; a comma
    alone: none.
    """
    if not params.marks:
        return None
    return tuple(mark.strip() for mark in params.marks.split(",") if mark.strip())


USES = {"n": "number", "c": "category", "x": "left out"}


def uses(params: Params) -> dict[str, str]:
    """Return what columns are to be taken for, by name.

    Raises ``DataError`` for columns that are not there.
    """
    if not params.uses:
        return {}
    names = [column.name for column in summary(params).columns]
    found = {}
    for part in params.uses.split(","):
        place = int(part[:-1])
        if not 1 <= place <= len(names):
            raise DataError(
                f"There is no column number {place}; the columns are numbered from 1 to "
                f"{len(names)}."
            )
        found[names[place - 1]] = USES[part[-1]]
    return found


def summary(params: Params) -> TableSummary:
    """Return what an uploaded file holds, column by column, before a target is chosen.

    Raises ``DataError``.

    A target is guessed for the task that was chosen; where a person chose the target, there is
    nothing to guess.
    """
    file, how = upload(params.data), as_read(params)
    task = None if params.target else params.task or None

    def read(progress: Callable[..., None]) -> TableSummary:
        with for_people():
            return describe_table(_parsed(params, file.content), task=task, **how)

    key = "summary", work.mine(), params.data, task, *how.values()
    return _made(key, read, "Looking at the columns", file.content)


def sheets(params: Params) -> tuple[tuple[str, ...], str]:
    """Return the names of the sheets of an uploaded workbook, and the one that is read where none
    is chosen; none for other files.
    """
    file = upload(params.data)
    return work.now(("sheets", work.mine(), params.data), lambda: workbook_sheets(file.content))


def on_stack(params: Params) -> bool:
    """Tell whether the table in use is a ready kernel stack, which knows no columns."""
    file = memory().uploads.get(params.data)
    return file is not None and file.is_stack


def stack_file(params: Params) -> stacks.StackFile:
    """Return the uploaded stack on all its rows. Raises ``MKLError``, or ``MissingFileError``."""
    file, digest = upload(params.data), params.data.removeprefix(UPLOAD)

    def read(progress: Callable[..., None]) -> stacks.StackFile:
        task = params.task or None
        with for_people():
            return stacks.read_stack(file.content, task=task, clip=params.clip, fingerprint=digest)

    key = "stack", work.mine(), params.data, params.task, params.clip
    return _made(key, read, "Reading the stack and checking its kernels", file.content)


def drawn(params: Params, most: int, judges: int) -> Split:
    """Return the split with at most so many training and validation rows, drawn where there are
    more.
    """
    full = split(params)
    if len(full.train.y) <= most and len(full.validation.y) <= judges:
        return full

    def draw() -> Split:
        train = full.train.drawn(most, params.seed)
        validation = full.validation.drawn(judges, params.seed)
        return full._replace(train=train, validation=validation)

    return work.now(("drawn", params.of(*SPLIT), most, judges), draw)


def file_columns(table: Dataset) -> tuple[str, ...]:
    """Return the columns that rows of a file need, by the names they have in the file of the
    table.
    """
    named = (*table.columns, *table.strings)
    return tuple(dict.fromkeys(name for name, _ in named))


def split(params: Params) -> Split:
    """Return the table cut into training, validation and test rows."""
    key = ("split", params.of(*SPLIT))
    return work.now(
        key,
        lambda: (
            first_parts(params)
            or three_way_split(
                table(params),
                params.validation,
                params.test,
                params.seed,
                params.stratified,
                params.hold_out,
            )
        ),
    )


class TableRow(NamedTuple):
    """A row of the table, and the same with its changes, as `Dataset.table` has rows."""

    number: int
    before: np.ndarray
    now: np.ndarray
    moves: Mapping[int, float]


def row_of(params: Params, table: Dataset) -> TableRow:
    """The row in use; a number beyond the table is its last row."""
    number = min(params.row, table.n_samples)
    before = table.table[number - 1]
    pairs = [part.split("=") for part in params.moved.split(",") if part]
    moves = {
        int(place) - 1: float(value) for place, value in pairs if 0 < int(place) <= before.size
    }
    now = before.copy()
    now[list(moves)] = list(moves.values())
    return TableRow(number, before, now, moves)


# Repairs


CLASSES = ("binary", "multiclass", "classification")


def _back(choices: Mapping[str, Any]) -> Callable[[Any], str]:
    """Return what finds the page's word for an argument of the library."""
    return {value: word for word, value in choices.items()}.__getitem__


# The argument of the library, the page's parameter, and its value there.
FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "target": ("target", lambda name: name or ""),
    "task": ("task", lambda task: "classification" if task in CLASSES else task or ""),
    "missing": ("missing", str),
    "sentinels": ("gaps", lambda rule: rule == "missing"),
    "missing_marks": ("marks", lambda marks: ",".join(marks) or ","),
    "rare_classes": ("rare", lambda rule: "" if rule == "keep" else rule),
    "log_target": ("log", bool),
    "row_groups": ("owners", str),
    "delimiter": ("delimiter", _back(DELIMITERS)),
    "encoding": ("encoding", lambda name: name or ""),
    "decimal": ("decimal", _back(DECIMALS)),
    "header": ("header", _back(HEADERS)),
    "skip_lines": ("skip", lambda lines: "" if lines is None else str(lines)),
    "on_bad_lines": ("lines", lambda rule: "skip" if rule == "skip" else ""),
    "quotes": ("quotes", bool),
    "stratify": ("stratified", bool),
}
LETTERS = {use: letter for letter, use in USES.items()}


def changes(params: Params, repair: Repair) -> dict[str, Any]:
    """Return the parameters that a repair sets, by name; what is no argument of the library is one
    of the page.
    """
    found: dict[str, Any] = {}
    for name, value in repair.settings:
        if name == "uses":
            found["uses"] = _uses_without(params, value)
        elif name in FIELDS:
            field, translated = FIELDS[name]
            found[field] = translated(value)
        else:
            found[name] = value
    return found


def helps(params: Params, repair: Repair) -> bool:
    """Tell whether a repair changes anything here: a link may already say what it sets."""
    return any(
        getattr(params, name, value) != value for name, value in changes(params, repair).items()
    )


def _uses_without(params: Params, pairs: Iterable[tuple[str, str]]) -> str:
    """Return the text of ``uses`` with the named columns used otherwise; "" means as found."""
    names = [column.name for column in summary(replace(params, uses="")).columns]
    letters = {int(part[:-1]): part[-1] for part in params.uses.split(",") if part}
    for name, use in pairs:
        if name not in names:
            continue
        letters.pop(names.index(name) + 1, None)
        if use:
            letters[names.index(name) + 1] = LETTERS[use]
    return ",".join(f"{place}{letter}" for place, letter in sorted(letters.items()))


def offered(
    params: Params,
    repairs: Iterable[Repair],
) -> list[tuple[str, dict[str, Any]]]:
    """Return label and parameters of every repair that changes something."""
    found = []
    for repair in repairs:
        try:
            if helps(params, repair):
                found.append((repair.label, changes(params, repair)))
        except MKLError:
            continue  # a file that cannot be opened has no columns to use otherwise
    return found


USUAL = Params()


AS_FOUND = "Read the file as found"


def as_found(params: Params) -> dict[str, Any]:
    """Return what a person chose about reading the file, at its usual values."""
    names = (*(one.name for one in fields(TableParams) if one.name != "data"), "grouping")
    return {
        name: getattr(USUAL, name)
        for name in names
        if getattr(params, name) != getattr(USUAL, name)
    }


def leaks(params: Params) -> tuple[Leak, ...]:
    """Return the columns that may give the target away or sort the rows, the strongest first; none
    for a stack.
    """
    if on_stack(params):
        return ()
    data = table(params)
    return work.now(("leaks", params.of(*SPLIT)), lambda: find_leaks(data))


def by_time(params: Params) -> str:
    """Return which rows to hold out where a column sorts the rows and they are still drawn at
    random; "" elsewhere.
    """
    return rows_in_order(table(params)) if params.hold_out == RANDOM else ""


def without(params: Params, column: str) -> str:
    """Return the text of ``uses`` under which a column of an uploaded table is left out; "" where
    there is none.
    """
    text = _uses_without(params, [(column, "left out")]) if params.is_upload else ""
    return text if text != params.uses else ""
