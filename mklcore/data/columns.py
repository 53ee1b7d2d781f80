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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Cells, Labels, Mask, Names
from mklcore.data.dataset import LARGEST_VALUE, TASKS, counted, joined
from mklcore.data.sequences import look_like_sequences, look_like_texts
from mklcore.errors import DataError, Note, ParameterError, Repair

if TYPE_CHECKING:
    from pandas import DataFrame

# A date, and the hour, minute and second that may follow it. A cell may be long and hostile: "+" after
# a repetition keeps what was read, so that a text is read once.
DATE = re.compile(
    r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})"
    r"(?:[ T](\d{1,2}):[^\d\n]*+(\d{1,4})?+[^\d\n]*+(\d{1,4})?+.*)?\Z"
)
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
_TIMES = ("hour", "minute", "second")
_CENTURY = 69  # years of two digits from here on belong to the last century


def _dates(labels: Labels) -> DataFrame:
    """The numbers of dates as texts, column by column, and the sign between them in column 1."""
    from pandas import Series  # not at start-up

    return Series(labels, dtype=object).str.extract(rf"\A{DATE.pattern}")


def order_of(labels: Labels) -> str:
    """The order in which the dates of a column are written.

    Where nothing else is certain, it is month first, or day first for dates with dots.
    """
    dates = _dates(labels)
    if (dates[0].str.len() > 2).any():
        return YEAR
    first, second = dates[[0, 2]].astype(float).max()
    has_dots = (dates[1] == ".").any()
    return DAY if first > 12 or (has_dots and not second > 12) else MONTH


def date_parts(labels: Labels, order: str) -> Array:
    """The ``PARTS`` (n, 5) of dates that are written in this order; NaN for a cell that is none."""
    from pandas import to_datetime  # not at start-up

    table = _dates(labels).drop(columns=1).astype(float)
    table.columns = [*_ORDERS[order], *_TIMES]
    years = table["year"]
    table["year"] = years + np.select([years > 99, years >= _CENTURY], [0, 1900], 2000)
    moments = to_datetime(table.fillna(dict.fromkeys(_TIMES, 0.0)), errors="coerce")
    at = moments.dt
    hours = at.hour + at.minute / 60.0
    days = (moments - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    return np.column_stack([hours, at.day_of_week, at.month, at.year, days]).astype(np.float64)


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
        away = np.abs(value - rest[[0, -1]]).min()
        far = STEPS * np.median(np.diff(rest))
        is_code = value in CODES and away > max(far, APART * np.ptp(rest))
        few = len(rest) < 20 or count > MOST_ZEROS * counts.sum()
        is_zero = value == 0.0 and rest[0] > far and not few
        if count >= FEWEST and (is_code or is_zero):
            return Sentinel(name, value, count)
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
_DONE = {  # what becomes of columns of these kinds
    "date": "a date: hour, weekday, month, year and day as numbers, those that vary",
    "words": "free text: the words it shares with other rows, rare ones counting more",
    "sequence": (
        "a sequence of letters for kernels on sequences (unknown letters where a cell is "
        "missing); the share of each letter as a number"
    ),
}
USES = ("number", "category", "left out")

_HARD_SPACES = re.compile("[\u00a0\u202f\u2009]")
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
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
    """A column with its ``values`` (rows,): numbers, NaN where missing; or texts, "" where missing.

    missing : True in the rows without a value
    stray : number of cells that are no numbers, in a column that is mostly numbers
    sentinel : the number that was read as missing
    """

    column: Column
    values: Array | Labels
    missing: Mask
    stray: int = 0
    sentinel: float | None = None

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def kind(self) -> str:
        return self.column.kind

    @property
    def used(self) -> bool:
        return self.column.used

    @property
    def is_numeric(self) -> bool:
        return self.values.dtype.kind == "f"

    @property
    def is_sparse(self) -> bool:
        """Whether more than half of the cells are missing."""
        return 2 * self.column.missing > len(self.values)


def clean_name(raw: str) -> str:
    """A name on one line of at most MAX_NAME characters, without control characters."""
    letters = unicodedata.normalize("NFC", raw[: 20 * MAX_NAME])
    shown_letters = filter(lambda letter: letter.isprintable() or letter.isspace(), letters)
    name = " ".join("".join(shown_letters).split())
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def shown(cell: object) -> str:
    """A cell as it is written in a sentence: 3, 3.5, or a text on one line."""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else f"{cell:g}"
    return clean_name(str(cell))


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
    gone = missing_texts(set(texts), values)
    return np.fromiter(map(gone.__contains__, texts), dtype=bool)


def missing_texts(found: set[str], values: Collection[str] | None = None) -> set[str]:
    """The texts of a column that stand for a missing value; ``values`` is as in `missing_cells`."""
    gone = found & MISSING
    if values is not None:
        return gone.difference(values)
    marks = gone & MARKS
    others = found - MISSING
    if len(others | marks) == 2:
        return gone - marks
    signs = "".join(others)
    are_signs = bool(signs) and not any(map(str.isalnum, signs))
    return gone - (marks - {"?"}) if are_signs else gone


def to_numbers(cells: Cells, decimal: str = ".") -> Cells:
    """Texts as float64; NaN where a cell is missing, no number, or beyond LARGEST_VALUE.

    Understands 1,234.5 and, with a decimal comma, 1.234,5.
    """
    numbers = cells if cells.dtype.kind == "f" else _read_numbers(cells.tolist(), decimal)
    return np.where(np.abs(numbers) <= LARGEST_VALUE, numbers, np.nan)


def _read_numbers(texts: Sequence[str], decimal: str) -> Array:
    """Each text as a number, NaN if it is none; a text that stands in many rows is read once."""
    letters = "".join(texts)
    # Python reads 1_000 as a number, but no table means one.
    if decimal == "." and letters.isascii() and "_" not in letters:
        with suppress(ValueError):  # there are texts among the numbers
            return np.array([float(text or "nan") for text in texts])
    numbers = {text: _number(text, decimal) for text in set(texts)}
    return np.array([numbers[text] for text in texts], dtype=np.float64)


def _number(text: str, decimal: str) -> float:
    """A text as a number, NaN if it is none."""
    plain = _HARD_SPACES.sub("", text.strip()).replace("\u2212", "-")
    if _GROUPED[decimal].fullmatch(plain):
        plain = plain.replace("." if decimal == "," else ",", "")
    plain = plain.replace(decimal, ".")
    return float(plain) if _PLAIN.fullmatch(plain) else np.nan


def used_as(
    name: str,
    cells: Cells,
    decimal: str = ".",
    use: str | None = None,
    values: Collection[str] | None = None,
) -> tuple[Cells, Mask, int]:
    """Numbers, NaN where missing, or texts; where cells are missing; and how many are stray.

    ``use`` settles it. Otherwise they are numbers when (nearly) all present cells are: there may be
    5 % stray texts beside more than MAX_LEVELS different numbers; the stray cells then count as
    missing. Where most cells are numbers, but not nearly all, stray cells are only counted.
    ``values`` is as in `missing_cells`; beside numbers alone such a text is missing all the same.
    """
    if use == "category":
        texts = as_texts(cells)
        return texts, missing_cells(texts, values), 0
    numbers = to_numbers(cells, decimal)
    good = np.isfinite(numbers)
    if good.all():  # no word for a missing cell is a number
        return numbers, ~good, 0
    blank = missing_cells(cells, values=())
    n_numbers = int(good.sum())
    if use == "number" and not n_numbers:
        raise DataError(
            f"No cell of {name!r} is a number, so it cannot be used as one; use it as a category.",
            repairs=[Repair.of(f"Use {name!r} as it was found", uses=((name, ""),))],
        )
    if use == "number" or (n_numbers and good[~blank].all()):
        return numbers, ~good, int((~good & ~blank).sum())
    missing = missing_cells(cells, values)
    present = int((~missing).sum())
    stray = present - n_numbers
    if n_numbers and stray <= 0.05 * present and len(set(numbers[good])) > MAX_LEVELS:
        return numbers, ~good, stray
    if present and not n_numbers:  # in a column of words "none" is an ordinary word
        missing = missing & ~np.isin(cells, list(WORDS))
    return cells, missing, stray if 2 * stray < present else 0


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
    found, missing, stray = used_as(name, cells, decimal, use, values)
    is_numeric = found.dtype.kind == "f"
    present = found[~missing]
    example = clean_name(str(cells[~missing][0])) if present.size else ""
    distinct = len(set(present.tolist()))
    gaps = int(missing.sum())
    kind = (_kind_of_numbers if is_numeric else _kind_of_texts)(name, present, distinct, gaps)
    if use is not None and kind != "empty":
        kind = "dropped" if use == "left out" else use
    done = _as_text(kind, present, gaps, stray, distinct)
    column = Column(name, kind, gaps, distinct, example, done)
    return Profile(column, np.where(missing, np.nan if is_numeric else "", found), missing, stray)


def with_missing(item: Profile, value: float) -> Profile:
    """A column of numbers with ``value`` read as missing."""
    numbers = np.where(item.values == value, np.nan, item.values)
    found = profile(item.name, numbers, use="number")
    return replace(found, stray=item.stray, sentinel=value)


def as_texts(cells: Cells) -> Cells:
    """Cells as texts, so that numbers can be categories: 3.0 is "3"."""
    if cells.dtype.kind != "f":
        return cells
    texts = ["" if np.isnan(cell) else f"{cell:.12g}" for cell in cells.tolist()]
    return np.array(texts, dtype=object)


class _Said(NamedTuple):
    """A sentence on columns, its code and hint, and a repair that uses the columns otherwise."""

    text: str
    code: str = ""
    hint: str = ""
    label: str = ""
    use: str = ""


_KEPT_BY_USES = "To keep it, name its use in uses=."
_SAID = {
    "medians": _Said(
        "{missing} filled with the median of the column: {names}.",
        "table.medians",
        label="Leave out rows with a missing cell",
    ),
    "indicators": _Said("A column of 0 and 1 beside each says where: {names}.", "table.indicators"),
    "stray": _Said(
        "{stray} among them held something else than a usable number, in {names}.",
        "table.unusable_cells",
    ),
    "mixed": _Said(
        "Read as text, because not every cell is a number: {names}. Mend or empty these cells.",
        label="These cells are missing: read numbers",
        use="number",
    ),
    "sparse": _Said(
        "More than half of the cells are missing in {names}; think about leaving them out.",
        "table.mostly_missing",
    ),
    "sequence": _Said(
        "Read as sequences of letters, in capitals, for kernels on sequences: {names}; length and "
        "shares of letters became columns."
    ),
    "words": _Said(
        "Read as free text, for a kernel on its words: {names}.",
        label="Leave the texts out",
        use="left out",
    ),
    "date": _Said(
        "Dates became hour, weekday, month, year and day, those that vary: {names}.",
        "table.dates",
        label="Leave the dates out",
        use="left out",
    ),
    "category": _Said("Categories became columns of 0 and 1: {names}.", "table.categories"),
    "vague": _Said(
        "A missing value counts as a category of its own in {names}.", "table.missing_category"
    ),
    "text": _Said(
        "Left out, {why}: {names}.",
        "table.long_text",
        f"To keep the {MAX_LEVELS} most frequent values as columns of 0 and 1, read it as a "
        "category by uses=.",
    ),
    "identifier": _Said("Left out, {why}: {names}.", "table.identifier", _KEPT_BY_USES),
    "constant": _Said("Left out, {why}: {names}.", "table.constant", _KEPT_BY_USES),
    "empty": _Said("Left out, {why}: {names}."),
    "dropped": _Said(
        "Left out, {why}: {names}.",
        hint="To use it again, take it out of uses=.",
        label="Use again as found",
    ),
}


def notes_on_use(profiles: Sequence[Profile], indicator: bool = False) -> list[str]:
    """The notes on how columns are used: one sentence for each topic, with the names."""
    about: dict[str, list[Profile]] = {topic: [] for topic in _SAID}
    for item in profiles:
        for topic in _topics(item, indicator):
            about[topic].append(item)
    notes = list[str]()
    for topic, items in about.items():
        if items:
            notes.append(_note_on(topic, items))
    return [*notes, *_note_on_order(profiles)]


def _topics(item: Profile, indicator: bool) -> Iterator[str]:
    """What is to be said of a column."""
    column = item.column
    if item.stray and not item.is_numeric:
        yield "mixed"
    if not column.used or not item.is_numeric:
        yield column.kind
    if not column.used:
        return
    if item.is_sparse:
        yield "sparse"
    if item.is_numeric and item.stray:
        yield "stray"
    if item.is_numeric and column.missing:
        yield from ("medians", "indicators")[: 1 + indicator]
    if column.kind == "category" and column.missing:
        yield "vague"


def _note_on(topic: str, items: Sequence[Profile]) -> Note:
    said = _SAID[topic]
    names = []
    for item in items:
        detail = ""
        if topic == "medians":
            detail = f" ({item.column.missing}, with {np.nanmedian(item.values):.4g})"
        elif topic == "mixed":
            detail = f" ({counted(item.stray, 'cell')})"
        names.append(f"'{item.name}'{detail}")
    text = said.text.format(
        names=joined(names),
        why=LEFT_OUT.get(topic),
        missing=counted(sum(item.column.missing for item in items), "missing cell"),
        stray=counted(sum(item.stray for item in items), "cell"),
    )
    uses = tuple((item.name, said.use) for item in items)
    repair = Repair.of(said.label, uses=uses)
    if topic == "medians":
        repair = Repair.of(said.label, missing="drop")
    return Note(text, [repair] if said.label else [], code=said.code, hint=said.hint)


def _note_on_order(profiles: Sequence[Profile]) -> list[str]:
    """A note on the first column of dates by which the rows are sorted."""
    for item in profiles:
        if item.kind != "date":
            continue
        rows = np.unique(np.linspace(0, len(item.values) - 1, DATED).astype(int))
        dates = item.values[rows]
        days = date_parts(dates, order_of(dates))[:, PARTS.index("day")]
        if newest := newest_rows(days[np.isfinite(days)], LEAST_DATES):
            text = (
                f"The rows are in the order of '{item.name}'. Where later rows are to be "
                f"predicted from earlier ones, hold out the {newest} rows."
            )
            return [Note(text, [Repair.of("Split by time", hold_out=newest)])]
    return []


def newest_rows(values: Array, least: float) -> str:
    """Where the largest of values (n,) are that never turn along the rows: "last" or "first".

    "" where they turn, or where fewer than ``least`` are different.
    """
    if len(np.unique(values)) < least:
        return ""
    steps = np.diff(values)
    if (steps >= 0.0).all():
        return "last"
    return "first" if (steps <= 0.0).all() else ""


def looks_like_id(name: str) -> bool:
    """Whether a name is typical of identifiers: id, customer_id, rownames, Unnamed: 0."""
    return bool(_ID_NAME.fullmatch(name) or _ID_CAMEL.fullmatch(name))


def _kind_of_numbers(name: str, values: Cells, distinct: int, gaps: int) -> str:
    if distinct == 1:
        return "constant"
    whole = bool((values == np.round(values)).all())
    if not whole or len(values) < 3:
        return "number"
    counts_rows = not gaps and bool((np.diff(values) == 1.0).all())
    names_rows = distinct >= 0.9 * len(values) and looks_like_id(name)
    return "identifier" if counts_rows or names_rows else "number"


def _kind_of_texts(name: str, values: Cells, distinct: int, gaps: int) -> str:
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
    first = values[:_DATE_CELLS]
    dates = sum(map(bool, map(DATE.match, first.tolist())))
    if dates <= 0.95 * len(first):
        return False
    exists = np.isfinite(date_parts(first, order_of(first))[:, 0])
    return bool(exists.mean() > 0.5)


def _as_text(kind: str, present: Cells, gaps: int, stray: int, distinct: int) -> str:
    """What reading makes of a column of this kind."""
    if kind in LEFT_OUT:
        return f"left out: {LEFT_OUT[kind]}"
    if kind in _DONE:
        return _DONE[kind]
    if kind == "category" and distinct == 1:
        return "a column of 0 and 1: 0 where the value is missing"
    if kind == "category" and distinct == 2 and not gaps:  # the other would be its mirror image
        return "a column of 0 and 1 for the second of 2 values"
    if kind == "category":
        return f"columns of 0 and 1 for {distinct} values{' and one for missing' if gaps else ''}"
    if not gaps:
        return "used as it is"
    why = f" ({stray} of them no numbers)" if stray else ""
    return f"{counted(gaps, 'missing cell')}{why} filled with the median {np.median(present):.4g}"


OWNERS = frozenset(
    words_in(
        "animal batch case customer donor household id individual participant patient person pid "
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
        name = item.name
        distinct = item.column.distinct
        share = distinct / len(item.values)
        if distinct <= MAX_LEVELS or not LEAST_SHARE < share <= MOST_SHARE:
            continue
        if item.kind not in ("text", "number") or item.column.missing:
            continue
        if not _names_owners(item):
            continue
        usual = np.median(np.unique(item.values, return_counts=True)[1])
        each = f"{usual:g} rows each" if usual > 1 else "some of them in several rows"
        text = (
            f"{name!r} names {counted(distinct, 'owner')} of rows, {each}: rows that "
            "belong together are in training and test rows alike, so scores may promise "
            "too much. Hold the rows of an owner out together."
        )
        repair = Repair.of(f"Rows of one {name} belong together", row_groups=name)
        notes.append(Note(text, [repair]))
    return notes


def _names_owners(item: Profile) -> bool:
    parts = OWNERS.intersection(words_of(item.name))
    if item.is_numeric:
        return bool(parts - {"id"}) and bool((item.values == np.round(item.values)).all())
    return bool(parts)


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
        settled = dict[str, Any]()
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
