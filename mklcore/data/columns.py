"""One column at a time: its numbers or texts, its kind, and how it enters the features.

A column may also hide something: dates, numbers that stand for a missing value (-200, -999, zeros
that a measured quantity cannot take), or owners of several rows each, whom a random split would
divide. This is reported, and only changed on request: a `Note` is a sentence with the settings that
undo or change it, and `ReadOptions` holds the settings that a person has chosen.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Cells, Labels, Mask, Names
from mklcore.data.dataset import LARGEST_VALUE, TASKS, counted, joined, listed
from mklcore.data.sequences import look_like_sequences, look_like_texts
from mklcore.errors import DataError, Note, ParameterError, Repair

DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d{1,2}:.*)?")
_DATE_CELLS = 1000  # so many cells decide whether a column holds dates
PARTS = ("hour", "weekday", "month", "year", "day")
# The number of a date that is written first.
YEAR = "year first"
DAY = "day first"
MONTH = "month first"
_ORDERS = {
    YEAR: ("year", "month", "day"),
    DAY: ("day", "month", "year"),
    MONTH: ("month", "day", "year"),
}
_NUMBER = re.compile(r"\d{1,4}")
_CENTURY = 69  # years of two digits from here on belong to the last century


def order_of(labels: Labels) -> str:
    """The order in which the dates of a column are written.

    Where nothing else is certain, it is month first, or day first for dates with dots.
    """
    dates = [_NUMBER.findall(text) for text in labels.tolist() if DATE.fullmatch(text)]
    if any(len(numbers[0]) > 2 for numbers in dates):
        return YEAR
    first = max((int(numbers[0]) for numbers in dates), default=0)
    second = max((int(numbers[1]) for numbers in dates), default=0)
    dotted = any("." in text for text in labels.tolist())
    return DAY if first > 12 or (second <= 12 and dotted) else MONTH


def parts_of(labels: Labels, order: str) -> Array:
    """The ``PARTS`` (n, 5) of dates that are written in this order; NaN for a cell that is none."""
    from pandas import DataFrame, to_datetime  # not at start-up

    rows = list[list[float]]()
    for text in labels.tolist():
        if DATE.fullmatch(text):
            rows.append(
                [
                    *map(float, _NUMBER.findall(text)),
                    0.0,
                    0.0,
                    0.0,
                ][:6]
            )
        else:
            rows.append([np.nan] * 6)
    table = DataFrame(rows, columns=[*_ORDERS[order], "hour", "minute", "second"], dtype=float)
    years = table["year"]
    table["year"] = years + np.select([years > 99, years >= _CENTURY], [0, 1900], 2000)
    moments = to_datetime(table, errors="coerce")
    at = moments.dt
    hours = at.hour + at.minute / 60.0
    days = (moments - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    parts = (hours, at.day_of_week, at.month, at.year, days)
    return np.column_stack([np.asarray(part, dtype=np.float64) for part in parts])


CODES = (-1.0, -9.0, -99.0, -200.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)
FEWEST = 3  # a sentinel occurs at least so often; a single odd measurement is not one
APART = 0.25  # its distance from all other values, as a share of their range
MOST_ZEROS = 0.5  # with a larger share of zeros, zero is an ordinary value
STEPS = 5  # its distance from all other values, in steps between neighbouring values


class Sentinel(NamedTuple):
    """A value of a column that probably means "missing", and the number of cells that hold it."""

    column: str
    value: float
    cells: int


def sentinel_of(name: str, numbers: Array) -> Sentinel | None:
    """The value of a numeric column (n,) that probably stands for a missing one; NaN is ignored.

    It is a known code at the edge of the range, far from all other values and further than these
    are from each other: -1 after 0, 1, 2 only continues the values. Or it is zero where every other
    value is positive, well above zero, and close to its neighbours.
    """
    values, counts = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    if len(values) < 6:
        return None
    for edge, rest in ((0, values[1:]), (-1, values[:-1])):
        value = float(values[edge])
        count = int(counts[edge])
        away = float(np.abs(value - rest[[0, -1]]).min())
        far = max(APART * float(np.ptp(rest)), STEPS * float(np.median(np.diff(rest))))
        if value in CODES and count >= FEWEST and away > far:
            return Sentinel(name, value, count)
    zeros = int(counts[0])
    rest = values[1:]
    is_gap = len(rest) >= 20 and rest[0] > STEPS * np.median(np.diff(rest))
    if values[0] == 0.0 and FEWEST <= zeros <= MOST_ZEROS * counts.sum() and is_gap:
        return Sentinel(name, 0.0, zeros)
    return None


def sentinel_note(
    values: str, rule: str, as_missing: str, as_numbers: str, urgent: bool = False
) -> Note:
    """A note on ``values`` that probably mean "missing", by the ``rule`` that was applied to them.

    ``as_missing`` and ``as_numbers`` are the labels of the repairs.
    """
    if rule == "missing":
        return Note(f"Read as missing: {values}.", [Repair.of(as_numbers, sentinels="keep")])
    return Note(
        f"Probably missing values: {values}.",
        [Repair.of(as_missing, sentinels="missing")],
        urgent,
        hint='sentinels="missing" reads them so.',
    )


def words_in(text: str) -> Names:
    """The words of a text that spaces separate."""
    return tuple(text.split())


MISSING = frozenset(
    words_in(
        "NA N/A n/a na #N/A <NA> NaN nan NAN -nan NULL Null null None none nil ? - -- . "
        "#DIV/0! #VALUE! #REF! #NUM! #NAME? #NULL!"
    )
) | {""}
WORDS = frozenset({"None", "none"})  # missing among numbers, a category among words
MARKS = frozenset({"?", "-", "--", "."})  # missing or not, depending on the rest of the column
MAX_NAME = 60
MAX_LEVELS = 20
DATED = 1000  # rows that are compared to find out whether dates sort the rows
LEAST_DATES = 10  # different dates that are needed to say so
MISSING_LEVEL = "missing"
OTHER_LEVEL = "other"
LEFT_OUT = {  # the kinds of columns that are not used, and why
    "text": "free text with too many different values",
    "identifier": "an identifier that only names the rows",
    "constant": "one value only",
    "empty": "empty in every row",
    "dropped": "as asked",
}
USES = ("number", "category", "left out")

_BLANK = " (unknown letters where a cell is missing)"
_HARD_SPACES = re.compile("[\u00a0\u202f\u2009]")
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_GROUPED = {  # by the decimal sign: thousands are set apart by the other one
    ".": re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII),
    ",": re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?", re.ASCII),
}
_ID_NAME = re.compile(
    r"(^|.*[\s_.\-:])(id|ids|idx|index|key|no|nr|num|number|row|rownames?|uuid|guid)"
    r"|#|unnamed.*|column \d+",
    re.I,
)
_ID_CAMEL = re.compile(r".*[a-z](Id|ID|No|Nr)")


@dataclass(frozen=True)
class Column:
    """What one column of a table is, and how it is used.

    kind : "number", "category", "sequence", "words" (free text), "text" (other text with too many
        values), "identifier", "date", "constant", "empty" or "dropped" (on request)
    missing : number of cells without a value
    distinct : number of different values
    example : the first value
    done : what reading makes of the column
    """

    name: str
    kind: str
    missing: int
    distinct: int
    example: str
    done: str

    @property
    def used(self) -> bool:
        return self.kind not in LEFT_OUT


@dataclass(frozen=True, eq=False)
class Profile:
    """A column with its values.

    numbers : values of a numeric column, NaN where missing
    labels : values of any other column, "" where missing
    stray : number of cells that are no numbers, in a column that is mostly numbers
    counter : whether the column only counts the rows
    sentinel : the number that was read as missing
    """

    column: Column
    numbers: Array | None
    labels: Labels | None
    stray: int = 0
    counter: bool = False
    sentinel: float | None = None

    @property
    def values(self) -> Array | Labels:
        """The numbers, or else the labels, (rows,)."""
        values = self.numbers if self.numbers is not None else self.labels
        assert values is not None
        return values


def clean_name(raw: str) -> str:
    """A name on one line of at most MAX_NAME characters, without control characters."""
    letters = []
    for letter in unicodedata.normalize("NFC", raw[: 20 * MAX_NAME]):
        if letter in "\t\r\n":
            letters.append(" ")
        elif unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn"):
            letters.append(letter)
    name = " ".join("".join(letters).split())
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def shown(cell: object) -> str:
    """A cell as it is written in a sentence."""
    return f"{cell:g}" if isinstance(cell, float) else clean_name(str(cell))


def distinct_names(names: Iterable[str], cut: int = sys.maxsize) -> list[str]:
    """The names made different: repeated ones get a number, as in a, a (2), a (3).

    ``cut`` is the number of letters before the number. The last number of every name is remembered,
    so that ten thousand equal names do not take fifty million comparisons.
    """
    found: dict[str, None] = {}
    used = Counter[str]()
    for name in names:
        stem = name[:cut]
        while name in found:
            used[stem] += 1
            name = f"{stem} ({used[stem] + 1})"
        found[name] = None
    return list(found)


def are_texts(array: Cells) -> bool:
    """Whether an array of texts can be read: all of its characters exist.

    Converting an array with other characters, which only comes from outside, fails.
    """
    if array.dtype.kind != "U" or array.size == 0 or array.dtype.itemsize == 0:
        return True
    codes = np.ascontiguousarray(array).reshape(-1).view(f"{array.dtype.str[0]}u4")
    return bool(codes.max() <= sys.maxunicode)


def missing_cells(cells: Labels, values: Collection[str] | None = None) -> Mask:
    """True where a cell is missing: NaN among numbers, a usual mark such as NA or ? among texts.

    ``values`` are the texts that are values of this column although they often stand for a missing
    one. With None they are found among its cells: a mark (?, -, --, .) is a value if the column has
    only one other value, and so is a sign such as - where all other values are signs as well (+, -,
    *).
    """
    if cells.dtype.kind == "f":
        usable: Mask = np.abs(cells) <= LARGEST_VALUE
        return ~usable
    texts = cells.tolist()
    return _which_are(texts, missing_texts(set(texts), values))


def missing_texts(
    found: set[str],
    values: Collection[str] | None = None,
) -> set[str]:
    """The texts of a column that stand for a missing value; ``values`` is as in `missing_cells`."""
    gone = found & MISSING
    if values is not None:
        return gone - (set(values) - {""})
    if marks := gone & MARKS:
        gone -= _marks_that_are_values(found, marks)
    return gone


def _which_are(texts: list[str], wanted: set[str]) -> Mask:
    if not wanted:
        return np.zeros(len(texts), dtype=bool)
    return np.fromiter(map(wanted.__contains__, texts), dtype=bool, count=len(texts))


def _missing_and_blank(cells: Labels, values: Collection[str] | None) -> tuple[Mask, Mask]:
    """Where cells are missing, and where they would be if no mark were a value of the column."""
    if cells.dtype.kind == "f":
        missing = missing_cells(cells)
        return missing, missing
    texts = cells.tolist()
    found = set(texts)
    gone = missing_texts(found, values)
    empty = missing_texts(found, ())
    missing = _which_are(texts, gone)
    return missing, missing if gone == empty else _which_are(texts, empty)


def _marks_that_are_values(found: set[str], marks: set[str]) -> set[str]:
    present = (found - MISSING) | marks
    if len(present) == 2:
        return marks
    letters = "".join(present - marks)
    are_signs = bool(letters) and not any(map(str.isalnum, letters))
    return marks - {"?"} if are_signs else set()


def levels_of(values: Array | Labels) -> Array | Labels:
    """The different values in order; repeated texts are removed before sorting."""
    if values.dtype.kind != "O":
        return np.unique(values)
    return np.array(sorted(set(values.tolist())), dtype=object)


def to_numbers(cells: Cells, decimal: str = ".") -> Cells:
    """Texts as float64; NaN where a cell is missing, no number, or beyond LARGEST_VALUE.

    Understands 1,234.5 and, with a decimal comma, 1.234,5.
    """
    if cells.dtype.kind == "f":
        return np.where(np.abs(cells) <= LARGEST_VALUE, cells, np.nan)
    texts = cells.tolist()
    letters = "".join(texts)
    # Python reads 1_000 as a number, but no table means one.
    if decimal == "." and letters.isascii() and "_" not in letters:
        try:
            numbers = cells.astype(object).astype(np.float64)
        except ValueError:  # there are gaps or texts among the numbers
            numbers = _each_number(texts, decimal)
    else:
        numbers = _each_number(texts, decimal)
    return np.where(np.abs(numbers) <= LARGEST_VALUE, numbers, np.nan)


def _each_number(texts: Sequence[str], decimal: str) -> Array:
    """Each text as a number, NaN if it is none; a text that stands in many rows is read once."""
    numbers = {text: _number(text, decimal) for text in set(texts)}
    return np.array([numbers[text] for text in texts], dtype=np.float64)


def _number(text: str, decimal: str) -> float:
    """A text as a number, NaN if it is none."""
    other = "." if decimal == "," else ","
    if decimal == "," or not _PLAIN.fullmatch(text):
        text = _HARD_SPACES.sub("", text.strip()).replace("\u2212", "-")
        if other in text and _GROUPED[decimal].fullmatch(text):
            text = text.replace(other, "")
        if decimal == ",":
            text = text.replace(",", ".")
    return float(text) if _PLAIN.fullmatch(text) else np.nan


def used_as(
    name: str,
    cells: Cells,
    decimal: str = ".",
    use: str | None = None,
    values: Collection[str] | None = None,
) -> tuple[Cells | None, Cells, int, Cells]:
    """Numbers (None for labels), where cells are missing, how many are stray, and the cells.

    ``use`` settles it. Otherwise they are numbers when (nearly) all present cells are: there may be
    5 % stray texts beside more than MAX_LEVELS different numbers; the stray cells then count as
    missing. Where most cells are numbers, but not nearly all, stray cells are only counted.
    ``values`` is as in `missing_cells`; beside numbers alone such a text is missing all the same.
    """
    cells = as_texts(cells) if use == "category" else cells
    if use == "category":
        return None, missing_cells(cells, values), 0, cells
    numbers = to_numbers(cells, decimal)
    good = np.isfinite(numbers)
    if good.all():  # no word for a missing cell is a number
        return numbers, ~good, 0, cells
    missing, blank = _missing_and_blank(cells, values)
    good &= ~blank
    if use == "number":
        if not good.any():
            raise DataError(
                (
                    f"No cell of {name!r} is a number, so it cannot be used as one; use it as "
                    "a category."
                ),
                repairs=[Repair.of(f"Use {name!r} as it was found", uses=((name, ""),))],
            )
        return np.where(good, numbers, np.nan), ~good, int((~good & ~blank).sum()), cells
    if good.any() and good[~blank].all():
        missing = blank
    good &= ~missing
    present = int((~missing).sum())
    stray = present - int(good.sum())
    if present and not good.any():  # in a column of words "none" is an ordinary word
        missing = missing & ~np.isin(cells, list(WORDS))
    nearly_all = stray <= 0.05 * present and len(np.unique(numbers[good])) > MAX_LEVELS
    if present and (stray == 0 or nearly_all):
        return np.where(good, numbers, np.nan), ~good, stray, cells
    return None, missing, stray if 2 * stray < present else 0, cells


def profile(
    name: str,
    cells: Cells,
    decimal: str = ".",
    use: str | None = None,
    values: Collection[str] | None = None,
) -> Profile:
    """The kind of a column, unless ``use`` (one of `USES`) settles it; `Column.done` describes it.

    ``values`` is as in `missing_cells`.
    """
    numbers, missing, stray, cells = used_as(name, cells, decimal, use, values)
    present = ~missing
    example = clean_name(str(cells[present][0])) if present.any() else ""
    found = (numbers if numbers is not None else cells)[present]
    distinct = len(levels_of(found))
    counter = numbers is not None and _counts_rows(found)
    if numbers is not None:
        kind = _kind_of_numbers(name, found, distinct, counter and not missing.any())
    else:
        kind = _kind_of_texts(name, found, distinct, bool(missing.any()))
    if use is not None and kind != "empty":
        kind = "dropped" if use == "left out" else use
    median = float(np.median(found)) if numbers is not None else float("nan")
    done = _as_text(kind, int(missing.sum()), stray, median, distinct)
    column = Column(name, kind, int(missing.sum()), distinct, example, done)
    labels = np.where(missing, "", cells) if numbers is None else None
    return Profile(
        column, numbers, labels, stray, kind == "identifier" and counter and not looks_like_id(name)
    )


def with_missing(item: Profile, value: float) -> Profile:
    """A column of numbers with ``value`` read as missing."""
    assert item.numbers is not None
    numbers = np.where(item.numbers == value, np.nan, item.numbers)
    return replace(
        profile(item.column.name, numbers, use="number"), stray=item.stray, sentinel=value
    )


def as_texts(cells: Cells) -> Cells:
    """Cells as texts, so that numbers can be categories: 3.0 is "3"."""
    if cells.dtype.kind != "f":
        return cells
    texts = ["" if np.isnan(cell) else f"{cell:.12g}" for cell in cells.tolist()]
    return np.array(texts, dtype=object)


def missing_rows(item: Profile) -> Mask:
    """True in the rows where a column has no value."""
    if item.numbers is not None:
        return np.isnan(item.numbers)
    assert item.labels is not None
    empty: Mask = item.labels == ""
    return empty


def notes_on_use(profiles: list[Profile], indicator: bool = False) -> list[str]:
    """The notes on how columns are used: one sentence for each kind of change, with the names."""
    used = [item for item in profiles if item.column.used]
    gappy = [item for item in used if 2 * item.column.missing > len(item.values)]
    return [
        *_notes_on_numbers(profiles, indicator),
        *_note_on(
            gappy,
            "More than half of the cells are missing in",
            "; think about leaving them out.",
            code="table.mostly_missing",
        ),
        *_notes_on_texts(used),
        *_notes_on_columns_left_out(profiles),
        *_note_on_order(profiles),
    ]


def _note_on(
    items: Sequence[Profile], start: str, end: str, code: str, repairs: Sequence[Repair] = ()
) -> list[str]:
    """A note that names some columns; no note where there are none."""
    if not items:
        return []
    names = listed(item.column.name for item in items)
    return [Note(f"{start} {names}{end}", repairs, code=code)]


def _notes_on_numbers(profiles: Sequence[Profile], indicator: bool) -> list[str]:
    """The notes on missing cells, and on cells that are no numbers."""
    notes: list[str] = []
    numeric = [item for item in profiles if item.column.used and item.numbers is not None]
    if filled := [item for item in numeric if item.column.missing]:
        fills = [
            f"'{item.column.name}' ({item.column.missing}, with {np.nanmedian(item.values):.4g})"
            for item in filled
        ]
        cells = counted(sum(item.column.missing for item in filled), "missing cell")
        text = f"{cells} filled with the median of the column: {joined(fills)}."
        complete = Repair.of("Leave out rows with a missing cell", missing="drop")
        notes.append(Note(text, [complete], code="table.medians"))
        if indicator:
            start = "A column of 0 and 1 beside each says where:"
            notes += _note_on(filled, start, ".", code="table.indicators")
    strays = [item for item in numeric if item.stray]
    cells = counted(sum(item.stray for item in strays), "cell")
    start = f"{cells} among them held something else than a usable number, in"
    notes += _note_on(strays, start, ".", code="table.unusable_cells")
    if mixed := [item for item in profiles if item.numbers is None and item.stray]:
        each = joined(f"'{item.column.name}' ({counted(item.stray, 'cell')})" for item in mixed)
        text = (
            f"Read as text, because not every cell is a number: {each}. Mend or empty these cells."
        )
        notes.append(
            Note(text, [_use_all("These cells are missing: read numbers", mixed, "number")])
        )
    return notes


def _notes_on_texts(used: Sequence[Profile]) -> list[str]:
    """The notes on sequences, free texts, dates and categories."""
    notes: list[str] = []
    for kind, (start, end, label, code) in _READ_AS.items():
        found = [item for item in used if item.column.kind == kind]
        repairs = [_use_all(label, found, "left out")] if label else []
        notes += _note_on(found, f"{start}:", end, code, repairs)
    split = [item for item in used if item.numbers is None and item.column.kind not in _READ_AS]
    start = "Categories became columns of 0 and 1:"
    notes += _note_on(split, start, ".", code="table.categories")
    vague = [item for item in split if item.column.missing]
    start = "A missing value counts as a category of its own in"
    return notes + _note_on(vague, start, ".", code="table.missing_category")


def _notes_on_columns_left_out(profiles: Sequence[Profile]) -> list[str]:
    """A note for every reason for which columns are not used."""
    notes: list[str] = []
    for kind, reason in LEFT_OUT.items():
        if gone := [item for item in profiles if item.column.kind == kind]:
            text = f"Left out, {reason}: {listed(item.column.name for item in gone)}."
            repairs = [_use_all("Use again as found", gone, "")] if kind == "dropped" else []
            code, hint = _HOW_TO_KEEP[kind]
            notes.append(Note(text, repairs, code=code, hint=hint))
    return notes


def _note_on_order(profiles: Sequence[Profile]) -> list[str]:
    """A note on the first column of dates by which the rows are sorted."""
    for item in profiles:
        if item.column.kind != "date" or item.labels is None:
            continue
        if newest := newest_rows(item.labels):
            text = (
                f"The rows are in the order of '{item.column.name}'. Where later rows are to be "
                f"predicted from earlier ones, hold out the {newest} rows."
            )
            return [Note(text, [Repair.of("Split by time", hold_out=newest)])]
    return []


def _use_all(label: str, items: Iterable[Profile], use: str) -> Repair:
    return Repair.of(label, uses=tuple((item.column.name, use) for item in items))


# A kind, what the note says before and after the names, the label of its repair, and its code.
_READ_AS = {
    "sequence": (
        "Read as sequences of letters, in capitals, for kernels on sequences",
        "; length and shares of letters became columns.",
        "",
        "",
    ),
    "words": ("Read as free text, for a kernel on its words", ".", "Leave the texts out", ""),
    "date": (
        "Dates became hour, weekday, month, year and day, those that vary",
        ".",
        "Leave the dates out",
        "table.dates",
    ),
}


def newest_rows(dates: Labels) -> str:
    """Where the newest rows of a column of dates are: "last", "first", or "" without an order."""
    rows = np.unique(np.linspace(0, len(dates) - 1, DATED).astype(int))
    days = parts_of(dates[rows], order_of(dates))[:, PARTS.index("day")]
    days = days[np.isfinite(days)]
    if len(np.unique(days)) < LEAST_DATES:
        return ""
    steps = np.diff(days)
    if (steps >= 0.0).all():
        return "last"
    return "first" if (steps <= 0.0).all() else ""


_BY_LEVELS = (
    f"To keep the {MAX_LEVELS} most frequent values as columns of 0 and 1, read it as a "
    "category by uses=."
)
# For every kind of a column that is left out, the code of the note and its hint.
_HOW_TO_KEEP = {
    "text": ("table.long_text", _BY_LEVELS),
    "identifier": ("table.identifier", "To keep it, name its use in uses=."),
    "constant": ("table.constant", "To keep it, name its use in uses=."),
    "empty": ("", ""),
    "dropped": ("", "To use it again, take it out of uses=."),
}


def looks_like_id(name: str) -> bool:
    """Whether a name is typical of identifiers: id, customer_id, rownames, Unnamed: 0."""
    return bool(_ID_NAME.fullmatch(name) or _ID_CAMEL.fullmatch(name))


def _counts_rows(values: Cells) -> bool:
    if len(values) <= 2 or values[0] != np.round(values[0]):
        return False
    return bool((np.diff(values) == 1).all())


def _kind_of_numbers(name: str, values: Cells, distinct: int, counter: bool) -> str:
    if distinct == 1:
        return "constant"
    whole = bool((values == np.round(values)).all())
    nearly_unique = distinct >= 0.9 * len(values) and len(values) > 2
    names_rows = whole and nearly_unique and looks_like_id(name)
    return "identifier" if counter or names_rows else "number"


def _kind_of_texts(name: str, values: Cells, distinct: int, gaps: bool) -> str:
    if not distinct:
        return "empty"
    if distinct == 1:
        return "category" if gaps else "constant"
    if hold_dates(values):
        return "date"
    if distinct > max(MAX_LEVELS, 0.3 * len(values)) and look_like_sequences(values.tolist()):
        return "sequence"
    if distinct > MAX_LEVELS and not looks_like_id(name) and look_like_texts(values.tolist()):
        return "words"
    if distinct == len(values) > 3:
        return "identifier"
    return "category" if distinct <= min(MAX_LEVELS, max(3, len(values) // 2)) else "text"


def hold_dates(values: Cells) -> bool:
    """Whether nearly all texts are written as dates, and most of these exist: not 32.01.2020."""
    counts = Counter(values.tolist())
    dates = sum(count for value, count in counts.items() if DATE.fullmatch(value))
    if dates <= 0.95 * len(values):
        return False
    first = values[:_DATE_CELLS]
    exists = np.isfinite(parts_of(first, order_of(first))[:, 0])
    return bool(exists.mean() > 0.5)


def _levels_as_text(distinct: int, gaps: bool) -> str:
    """The columns that a category becomes; the mirror image of a column is left out."""
    if distinct == 1:
        return "a column of 0 and 1: 0 where the value is missing" if gaps else "a column of 1"
    if distinct == 2 and not gaps:
        return "a column of 0 and 1 for the second of 2 values"
    missing = " and one for missing" if gaps else ""
    if distinct > MAX_LEVELS:
        return (
            f"columns of 0 and 1 for the {MAX_LEVELS} most frequent of {distinct:,} values, "
            f"one for others{missing}"
        )
    return f"columns of 0 and 1 for {distinct} values{missing}"


def _as_text(
    kind: str,
    missing: int,
    stray: int,
    median: float,
    distinct: int,
) -> str:
    if kind in LEFT_OUT:
        return f"left out: {LEFT_OUT[kind]}"
    if kind == "date":
        return "a date: hour, weekday, month, year and day as numbers, those that vary"
    if kind == "words":
        return "free text: the words it shares with other rows, rare ones counting more"
    if kind == "sequence":
        return (
            f"a sequence of letters for kernels on sequences{_BLANK if missing else ''}; "
            "the share of each letter as a number"
        )
    if kind == "category":
        return _levels_as_text(distinct, bool(missing))
    if not missing:
        return "used as it is"
    why = f" ({stray} of them no numbers)" if stray else ""
    return f"{counted(missing, 'missing cell')}{why} filled with the median {median:.4g}"


OWNERS = frozenset(
    words_in(
        "animal batch case customer donor household individual participant patient person pid "
        "plot sample specimen subject user"
    )
)
# Owners of several rows each are a share of the rows between these two.
MOST_SHARE = 0.9
LEAST_SHARE = 0.02


def rows_together(profiles: Sequence[Profile]) -> list[str]:
    """A warning for every column that names owners of several rows each.

    Such a column holds text that repeats without blanks, or has a typical name.

    Training and test rows are drawn row by row: the model then knows other rows of the same owner,
    and its scores are too high for new owners.
    """
    notes = list[str]()
    for item in profiles:
        name = item.column.name
        distinct = item.column.distinct
        repeats = distinct > MAX_LEVELS and LEAST_SHARE < distinct / len(item.values) <= MOST_SHARE
        if (
            item.column.kind not in ("text", "number")
            or item.column.missing
            or not repeats
            or not _names_owners(item)
        ):
            continue
        usual = np.median(np.unique(item.values, return_counts=True)[1])
        each = f"{usual:g} rows each" if usual > 1 else "some of them in several rows"
        text = (
            f"{name!r} names {counted(distinct, 'owner')} of rows, {each}: rows that "
            "belong together are in training and test rows alike, so scores may promise "
            "too much. Hold the rows of an owner out together."
        )
        notes.append(
            Note(text, [Repair.of(f"Rows of one {name} belong together", row_groups=name)])
        )
    return notes


def _names_owners(item: Profile) -> bool:
    parts = set(words_of(item.column.name))
    if parts & OWNERS:
        return item.numbers is None or bool((item.numbers == np.round(item.numbers)).all())
    return item.labels is not None and "id" in parts


def words_of(name: str) -> list[str]:
    """The words of a name in small letters: customer_id and customerId have the same two."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return re.split(r"[\s_.\-:]+", spaced.strip(" _.-:").lower())


MAX_BYTES = 20 * 2**20
MAX_ROWS = 100_000
MAX_COLUMNS = 10_000
_ALIASES = {"tab": "\t", "\\t": "\t", "whitespace": " ", "spaces": " ", "\\s+": " "}
RULES = {
    "missing": ("median", "drop", "indicator"),
    "sentinels": ("keep", "missing"),
    "rare_classes": ("keep", "merge", "drop"),
    "on_bad_lines": ("error", "skip"),
    "decimal": (None, ".", ","),
    "task": (None, *TASKS, "classification"),
}


@dataclass(frozen=True)
class ReadOptions:
    """How `read_table` reads a file and uses its columns, rows and target.

    None means that `read_table` finds out.

    Parameters
    ----------
    target : str, int or None, default None
        Name or index of the target column; None takes one with a typical name (target, label,
        class, y, outcome, price, ...), else the likeliest by its values.
    task : str or None, default None
        "binary", "multiclass", "regression", "novelty", or "classification" for as many classes as
        there are values; None finds out. "novelty" without a target makes every column a feature
        and every y 1.
    uses : dict
        How to read columns, the target included, by name: "number", "category" or "left out"; so an
        identifier, a constant or a text with many values is used, too.
    missing : str, default "median"
        What to do with missing cells: "median" fills them, "indicator" also adds a column of 0 and
        1 that says where, "drop" leaves out rows with a missing cell.
    missing_marks : sequence of str or None, default None
        The texts that stand for a missing value beside the empty cell, or numbers such as "-999";
        None takes the usual ones (NA, ?, -, ...), unless they look like values of their column.
    sentinels : str, default "keep"
        Whether numbers that probably stand for a missing value (-200, 9999, impossible zeros) are
        kept or read as "missing", in the target as well.
    rare_classes : str, default "keep"
        What to do with classes of fewer than 10 rows: "keep", "merge" into one class "other", or
        "drop" their rows.
    log_target : bool, default False
        Whether to predict the natural logarithm of the target, whose numbers are above 0: for one
        that varies in proportion, such as a price.
    row_groups : str or None, default None
        Name of the column that says which rows belong together, such as a patient; it is no
        feature. Splits and folds keep these rows together; a row whose cell is empty stands alone.
    sample_weight : str or None, default None
        Name of the column that says how much every row counts; it is no feature.
    delimiter : str or None, default None
        Sign between columns, one character or "whitespace".
    encoding : str or None, default None
        Encoding of the text.
    decimal : str or None, default None
        Decimal sign.
    header : bool or None, default None
        Whether the first line holds names.
    sheet : str or None, default None
        Name of the sheet; None for the first visible one that holds a table.
    skip_lines : int or None, default None
        Lines above the header that are left out; None finds a title.
    on_bad_lines : str, default "error"
        Whether lines with another number of cells are an "error" or left out ("skip").
    quotes : bool, default True
        Whether quotation marks enclose cells; else they are letters.
    max_bytes : int, default 20971520
        Most bytes that are accepted.
    max_rows : int, default 100000
        Most rows that are accepted.
    max_columns : int, default 10000
        Most columns that are accepted.
    """

    target: str | int | None = None
    task: str | None = None
    uses: Mapping[str, str] = field(default_factory=dict)
    missing: str = "median"
    missing_marks: Sequence[str] | None = None
    sentinels: str = "keep"
    rare_classes: str = "keep"
    log_target: bool = False
    row_groups: str | None = None
    sample_weight: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    sheet: str | None = None
    skip_lines: int | None = None
    on_bad_lines: str = "error"
    quotes: bool = True
    max_bytes: int = MAX_BYTES
    max_rows: int = MAX_ROWS
    max_columns: int = MAX_COLUMNS

    def __post_init__(self) -> None:
        settled: dict[str, Any] = {"uses": self.uses or {}}
        if self.missing_marks is not None:
            settled["missing_marks"] = tuple(str(mark).strip() for mark in self.missing_marks)
        if self.delimiter is not None:
            settled["delimiter"] = sign = _ALIASES.get(self.delimiter, self.delimiter)
            if len(sign) != 1 or sign in '"\r\n':
                raise ParameterError(
                    f"delimiter is {sign!r}; expected one character or 'whitespace'."
                )
        self.__dict__.update(settled)
        for name, rules in RULES.items():
            if (value := getattr(self, name)) not in rules:
                known = ", ".join(map(repr, filter(None, rules)))
                raise ParameterError(f"{name} is {value!r}; expected one of {known}.")
        for name, use in self.uses.items():
            if use not in USES:
                raise ParameterError(
                    f"uses names {use!r} for {name!r}; expected one of {', '.join(USES)}."
                )
        if self.skip_lines is not None and self.skip_lines < 0:
            raise ParameterError(
                f"skip_lines is {self.skip_lines!r}; expected a number of lines, 0 or more."
            )

    def use_of(self, name: str) -> str | None:
        """How the target is read; a column that is left out may still be the target."""
        use = self.uses.get(name)
        return None if use == "left out" else use
