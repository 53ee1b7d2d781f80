"""Derive the table in use from the parameters, how it was read, and its rows cut in three."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from mklcore.data.dataset import Dataset, Split, three_way_split
from mklcore.data.files import workbook_sheets
from mklcore.data.grouping import regrouped
from mklcore.data.reading import TableSummary, describe_table, read_table
from mklcore.data.samples import SAMPLES
from mklcore.errors import DataError, MKLError, Repair
from mklcore.kernels import stacks
from pages.shared import work
from pages.shared.derive import first_table, notes
from pages.shared.params.parameters import DataParams, FileParams, Params
from pages.shared.params.rules import UPLOAD
from pages.shared.session.memory import memory
from pages.shared.session.uploads import upload

BYTES_A_SECOND = 3e6  # that are read


@st.cache_resource(max_entries=len(SAMPLES), show_spinner=False)
def _sample(name: str) -> Dataset:
    return first_table.table(name) or SAMPLES[name].load()


def table(params: DataParams) -> Dataset:
    """Return the table in use. Raises ``DataError``, or ``MissingFileError``."""
    if on_stack(params):
        return stack_file(params).table
    data = _read(params) if params.is_upload else _sample(params.data)
    if params.grouping:
        name = "grouped", params.part(FileParams), params.grouping
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


def called(params: DataParams) -> str:
    """Return what a sample is called; a file of a person is not named."""
    return "an uploaded file" if params.is_upload else SAMPLES[params.data].label


def _read(params: DataParams) -> Dataset:
    """Read an uploaded table as the parameters ask for. Raises ``MKLError``, until it is read as well."""
    content, options = upload(params.data).content, reading_options(params)

    def read(progress: Callable[..., None]) -> Dataset:
        with notes.for_people():
            return read_table(content, params.target or None, task=params.task or None, tick=progress, **options)

    return _made(("table", params.part(FileParams)), read, "Reading the table", content)


def _made(key: tuple[object, ...], read: Callable[[Callable[..., None]], Any], title: str, content: bytes) -> Any:
    return work.value(key, read, title=title, seconds=len(content) / BYTES_A_SECOND, compiled=False)


def reading_options(params: DataParams) -> dict[str, Any]:
    """Return how the table is to be read, in the words of the library; target and task apart."""
    return {
        "uses": uses(params),
        **as_read(params),
        "missing": params.missing,
        "sentinels": "missing" if params.gaps else "keep",
        "rare_classes": params.rare or "keep",
    }


DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "spaces": " ", "": None}
DECIMALS = {"point": ".", "comma": ",", "": None}
HEADERS = {"yes": True, "no": False, "": None}


def as_read(params: DataParams) -> dict[str, Any]:
    """Return how the file is to be opened, in the words of the library; None where reading finds out."""
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


def marks(params: FileParams) -> tuple[str, ...] | None:
    """Return the texts that stand for a missing value, None where reading finds them; a comma alone: none."""
    if not params.marks:
        return None
    return tuple(mark.strip() for mark in params.marks.split(",") if mark.strip())


USES = {"n": "number", "c": "category", "x": "left out"}


def uses(params: DataParams) -> dict[str, str]:
    """Return what columns are to be taken for, by name. Raises ``DataError`` for columns that are not there."""
    if not params.uses:
        return {}
    names = [column.name for column in summary(params).columns]
    found = {}
    for part in params.uses.split(","):
        place = int(part[:-1])
        if not 1 <= place <= len(names):
            raise DataError(f"There is no column number {place}; the columns are numbered from 1 to {len(names)}.")
        found[names[place - 1]] = USES[part[-1]]
    return found


def summary(params: DataParams) -> TableSummary:
    """Return what an uploaded file holds, column by column, before a target is chosen. Raises ``DataError``.

    A target is guessed for the task that was chosen; where a person chose the target, there is nothing to guess.
    """
    file, how = upload(params.data), as_read(params)
    task = None if params.target else params.task or None

    def read(progress: Callable[..., None]) -> TableSummary:
        with notes.for_people():
            return describe_table(file.content, task=task, tick=progress, **how)

    key = "summary", work.mine(), params.data, task, *how.values()
    return _made(key, read, "Looking at the columns", file.content)


def sheets(params: DataParams) -> tuple[str, ...]:
    """Return the names of the sheets of an uploaded workbook; none for other files."""
    file = upload(params.data)
    return work.now(("sheets", work.mine(), params.data), lambda: workbook_sheets(file.content))


def on_stack(params: DataParams) -> bool:
    """Tell whether the table in use is a ready kernel stack, which knows no columns."""
    file = memory().uploads.get(params.data)
    return file is not None and file.is_stack


def stack_file(params: DataParams) -> stacks.StackFile:
    """Return the uploaded stack on all its rows. Raises ``MKLError``, or ``MissingFileError``."""
    file, digest = upload(params.data), params.data.removeprefix(UPLOAD)

    def read(progress: Callable[..., None]) -> stacks.StackFile:
        task = params.task or None
        return stacks.read_stack(file.content, task=task, clip=params.clip, fingerprint=digest, tick=progress)

    key = "stack", work.mine(), params.data, params.task, params.clip
    return _made(key, read, "Reading the stack and checking its kernels", file.content)


def drawn(params: DataParams, most: int, judges: int) -> Split:
    """Return the split with at most so many training and validation rows, drawn where there are more."""
    full = split(params)
    if len(full.train.y) <= most and len(full.validation.y) <= judges:
        return full

    def draw() -> Split:
        train, validation = full.train.drawn(most, params.seed), full.validation.drawn(judges, params.seed)
        return full._replace(train=train, validation=validation)

    return work.now(("drawn", params.part(DataParams), most, judges), draw)


def split(params: DataParams) -> Split:
    """Return the table cut into training, validation and test rows."""
    key = ("split", params.part(DataParams))
    return work.now(
        key,
        lambda: (
            first_table.parts(params)
            or three_way_split(
                table(params), params.validation, params.test, params.seed, params.stratified, params.hold_out
            )
        ),
    )


@dataclass(frozen=True, eq=False)
class TableRow:
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
    moves = {int(place) - 1: float(value) for place, value in pairs if 0 < int(place) <= before.size}
    now = before.copy()
    now[list(moves)] = list(moves.values())
    return TableRow(number, before, now, moves)
