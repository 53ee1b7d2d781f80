"""One column at a time: from cells to numbers, what kind of column it is, and how it enters the features."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array, Labels, Mask
from mklcore.data.dataset import LARGEST_VALUE, counted, joined, listed
from mklcore.data.dates import DATE
from mklcore.data.notes import Note
from mklcore.data.sequences import look_like_sequences
from mklcore.errors import DataError, Repair

MISSING = (
    frozenset({"", "NA", "N/A", "n/a", "na", "#N/A", "<NA>", "NaN", "nan", "NAN", "-nan", "NULL", "Null", "null"})
    | {"None", "none", "nil", "?", "-", "--", "."}
    | {"#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"}
)
WORDS = frozenset({"None", "none"})  # missing among numbers, a category among words
MARKS = frozenset({"?", "-", "--", "."})  # missing where the other values of the column say so
MAX_NAME = 60
MAX_LEVELS = 20
DATED, LEAST_DATES = 1000, 10  # rows whose dates are compared, and different dates that make an order
MISSING_LEVEL = "missing"
OTHER_LEVEL = "other"
LEFT_OUT = ("text", "identifier", "constant", "empty", "dropped")
USES = ("number", "category", "left out")

_BLANK = " (unknown letters where a cell is missing)"
_HARD_SPACES = "[\u00a0\u202f\u2009]"
_ID_NAME = re.compile(
    r"(^|.*[\s_.\-:])(id|ids|idx|index|key|no|nr|num|number|row|rownames?|uuid|guid)|#|unnamed.*|column \d+", re.I
)
_ID_CAMEL = re.compile(r".*[a-z](Id|ID|No|Nr)")


@dataclass(frozen=True)
class Column:
    """What one column of a table is, and what reading does with it.

    kind : "number", "category", "sequence", "text", "identifier", "date", "constant", "empty" or "dropped" (as asked).
    missing, distinct : counts of cells and of different values. example : the first value. done : what happens to the
    column.
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
    """A column with its values: `numbers` (NaN where missing) for numeric ones, `labels` ("" where missing) for texts.

    stray : cells that are no numbers, in a numeric column or in one that is mostly numbers.
    counter : whole numbers that only count the rows. sentinel : the number that was read as missing.
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
    """A name on one line, without control or direction signs, at most MAX_NAME characters."""
    letters = (" " if c in "\t\r\n" else c for c in unicodedata.normalize("NFC", raw[: 20 * MAX_NAME]))
    name = " ".join(
        "".join(c for c in letters if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn")).split()
    )
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def distinct_names(names: Iterable[str], cut: int = sys.maxsize) -> list[str]:
    """The names made all different: those that came before get a number, a, a (2), a (3).

    ``cut`` : letters kept before it.

    How far the numbers of a name have come is remembered, so that ten thousand equal names are not tried fifty million
    times.
    """
    taken: dict[str, None] = {}
    used = Counter[str]()
    for name in names:
        stem = name[:cut]
        while name in taken:
            used[stem] += 1
            name = f"{stem} ({used[stem] + 1})"
        taken[name] = None
    return list(taken)


def are_texts(array: np.ndarray) -> bool:
    """Whether every sign of an array of texts that came from outside exists: turning others into texts fails."""
    if array.dtype.kind != "U" or array.size == 0 or array.dtype.itemsize == 0:
        return True
    signs = np.ascontiguousarray(array).reshape(-1).view(f"{array.dtype.str[0]}u4")
    return bool(signs.max() <= sys.maxunicode)


def missing_cells(cells: Labels, values: Collection[str] | None = None) -> Mask:
    """True where a cell is missing: NaN among numbers, an agreed word such as NA or ? among texts.

    ``values`` : the texts that are values of this column although they often stand for a missing one; None finds them
    among its cells: a mark (?, -, --, .) that is one of two values is one, and so is a sign such as - where all other
    values are signs, too (+, -, *).
    """
    if cells.dtype.kind == "f":
        usable: Mask = np.abs(cells) <= LARGEST_VALUE
        return ~usable
    texts = cells.tolist()
    found = set(texts)
    gone = found & MISSING
    if values is not None:
        gone -= set(values) - {""}
    elif marks := gone & MARKS:
        gone -= _marks_that_are_values(found, marks)
    return np.array([text in gone for text in texts], dtype=bool) if gone else np.zeros(len(texts), dtype=bool)


def _marks_that_are_values(found: set[str], marks: set[str]) -> set[str]:
    present = (found - MISSING) | marks
    if len(present) == 2:
        return marks
    others = present - marks
    signs = bool(others) and not any(letter.isalnum() for text in others for letter in text)
    return marks - {"?"} if signs else set()


def to_numbers(cells: np.ndarray, decimal: str = ".") -> np.ndarray:
    """Texts as float64; NaN where a cell is missing, no number, or beyond LARGEST_VALUE.

    Understands 1,234.5 and, with a decimal comma, 1.234,5.
    """
    if cells.dtype.kind == "f":
        return np.where(np.abs(cells) <= LARGEST_VALUE, cells, np.nan)
    import pyarrow as pa
    from pyarrow import compute

    texts = compute.utf8_trim_whitespace(pa.array(cells, pa.string()))
    try:
        found = texts.cast(pa.float64()) if decimal == "." else _each_number(texts, decimal)
    except pa.ArrowInvalid:  # gaps and other things among the numbers
        found = _each_number(texts, decimal)
    numbers: np.ndarray = found.to_numpy(zero_copy_only=False)
    return np.where(np.abs(numbers) <= LARGEST_VALUE, numbers, np.nan)


def _each_number(texts: Any, decimal: str) -> Any:
    """An array of texts as numbers, null where one is none."""
    import pyarrow as pa
    from pyarrow import compute

    if not compute.all(compute.string_is_ascii(texts)).as_py():
        texts = compute.replace_substring(compute.replace_substring_regex(texts, _HARD_SPACES, ""), "\u2212", "-")
    other = "." if decimal == "," else ","
    grouped = compute.match_substring_regex(texts, rf"^[+-]?\d{{1,3}}(\{other}\d{{3}})+(\{decimal}\d*)?$")
    texts = compute.if_else(grouped, compute.replace_substring(texts, other, ""), texts)
    if decimal == ",":
        texts = compute.replace_substring(texts, ",", ".")
    plain = compute.match_substring_regex(texts, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    return compute.if_else(plain, compute.utf8_ltrim(texts, "+"), pa.scalar(None, pa.string())).cast(pa.float64())


def used_as(
    name: str, cells: np.ndarray, decimal: str = ".", use: str | None = None, values: Collection[str] | None = None
) -> tuple[np.ndarray | None, np.ndarray, int, np.ndarray]:
    """Numbers (None for labels), where a cell is missing, how many are stray, and the cells, as ``use`` settles it.

    Unless it does, they are numbers when (nearly) all present cells are: at most 5 % stray texts beside more than
    MAX_LEVELS different numbers; the strays then count as missing. Where most cells are numbers, but not nearly all,
    the strays are only counted. ``values`` : as `missing_cells` takes them; beside numbers alone such a text is missing
    all the same.
    """
    cells = as_texts(cells) if use == "category" else cells
    missing, blank = missing_cells(cells, values), missing_cells(cells, values=())
    if use == "category":
        return None, missing, 0, cells
    numbers = to_numbers(cells, decimal)
    good = np.isfinite(numbers) & ~blank
    if use == "number":
        if not good.any():
            raise DataError(
                f"No cell of {name!r} is a number, so it cannot be used as one; use it as a category.",
                repairs=[Repair.of(f"Use {name!r} as it was found", uses=((name, ""),))],
            )
        return np.where(good, numbers, np.nan), ~good, int((~good & ~blank).sum()), cells
    if good.any() and good[~blank].all():
        missing = blank
    good &= ~missing
    present = int((~missing).sum())
    stray = present - int(good.sum())
    if present and not good.any():  # a column of words: there "none" is an ordinary word
        missing = missing & ~np.isin(cells, list(WORDS))
    if present and (stray == 0 or (stray <= 0.05 * present and len(np.unique(numbers[good])) > MAX_LEVELS)):
        return np.where(good, numbers, np.nan), ~good, stray, cells
    return None, missing, stray if 2 * stray < present else 0, cells


def profile(
    name: str,
    cells: np.ndarray,
    decimal: str = ".",
    use: str | None = None,
    values: Collection[str] | None = None,
) -> Profile:
    """Find out what a column is; `Column.done` says it. ``use`` (one of `USES`) settles it instead.

    ``values`` : as `missing_cells` takes them.
    """
    numbers, missing, stray, cells = used_as(name, cells, decimal, use, values)
    present = ~missing
    example = clean_name(str(cells[present][0])) if present.any() else ""
    found = (numbers if numbers is not None else cells)[present]
    distinct = len(np.unique(found))
    counter = numbers is not None and _counts_rows(found)
    if numbers is not None:
        kind = _kind_of_numbers(name, found, distinct, counter and not missing.any())
    else:
        kind = _kind_of_texts(found, distinct, bool(missing.any()))
    if use is not None and kind != "empty":
        kind = "dropped" if use == "left out" else use
    median = float(np.median(found)) if numbers is not None else float("nan")
    done = _as_text(kind, int(missing.sum()), stray, median, distinct)
    column = Column(name, kind, int(missing.sum()), distinct, example, done)
    labels = np.where(missing, "", cells) if numbers is None else None
    return Profile(column, numbers, labels, stray, kind == "identifier" and counter and not looks_like_id(name))


def with_missing(item: Profile, value: float) -> Profile:
    """A column of numbers whose cells with ``value`` are missing."""
    assert item.numbers is not None
    numbers = np.where(item.numbers == value, np.nan, item.numbers)
    return replace(profile(item.column.name, numbers, use="number"), stray=item.stray, sentinel=value)


def as_texts(cells: np.ndarray) -> np.ndarray:
    """Cells as texts, so that numbers can be read as categories: 3.0 is "3"."""
    if cells.dtype.kind != "f":
        return cells
    return np.array(["" if np.isnan(cell) else f"{cell:.12g}" for cell in cells.tolist()], dtype=object)


def missing_rows(item: Profile) -> Mask:
    """True in the rows where a column has no value."""
    if item.numbers is not None:
        return np.isnan(item.numbers)
    assert item.labels is not None
    empty: Mask = item.labels == ""
    return empty


def notes_on_use(profiles: list[Profile], kept: set[str], indicator: bool = False) -> list[str]:
    """The notes for the reader: one sentence per kind of change, the columns by name."""
    used = [item for item in profiles if item.column.used or item.column.name in kept]
    numeric = [item for item in used if item.numbers is not None]
    notes: list[str] = []
    if filled := [item for item in numeric if item.column.missing]:
        cells = sum(item.column.missing for item in filled)
        many = ((item.column, float(np.nanmedian(item.values))) for item in filled)
        each = joined(f"'{column.name}' ({column.missing}, with {median:.4g})" for column, median in many)
        text = f"{counted(cells, 'missing cell')} filled with the median of the column: {each}."
        notes.append(Note(text, [Repair.of("Leave out rows with a missing cell", missing="drop")]))
        if indicator:
            notes.append(f"A column of 0 and 1 beside each says where: {listed(i.column.name for i in filled)}.")
    if strays := [item for item in numeric if item.stray]:
        cells = sum(item.stray for item in strays)
        where = listed(item.column.name for item in strays)
        notes.append(f"{counted(cells, 'cell')} among them held something else than a usable number, in {where}.")
    if mixed := [item for item in profiles if item.numbers is None and item.stray]:
        each = joined(f"'{item.column.name}' ({counted(item.stray, 'cell')})" for item in mixed)
        text = f"Read as text, because not every cell is a number: {each}. Mend or empty these cells."
        as_numbers = tuple((item.column.name, "number") for item in mixed)
        notes.append(Note(text, [Repair.of("These cells are missing: read numbers", uses=as_numbers)]))
    if gappy := [item.column.name for item in used if 2 * item.column.missing > len(item.values)]:
        notes.append(f"More than half of the cells are missing in {listed(gappy)}; think about leaving them out.")
    if letters := [item.column.name for item in used if item.column.kind == "sequence"]:
        notes.append(
            f"Read as sequences of letters, in capitals, for kernels on sequences: {listed(letters)}; length and "
            f"shares of "
            "letters became columns."
        )
    if dates := [item.column.name for item in used if item.column.kind == "date"]:
        without = Repair.of("Leave the dates out", uses=tuple((name, "left out") for name in dates))
        text = f"Dates became hour, weekday, month, year and day, those that vary: {listed(dates)}."
        notes.append(Note(text, [without]))
    used = [item for item in used if item.column.kind not in ("sequence", "date")]
    if split := [item.column.name for item in used if item.numbers is None]:
        notes.append(f"Categories became columns of 0 and 1: {listed(split)}.")
    if vague := [item.column.name for item in used if item.numbers is None and item.column.missing]:
        notes.append(f"A missing value counts as a category of its own in {listed(vague)}.")
    for kind in LEFT_OUT:
        gone = [item.column.name for item in profiles if item.column.kind == kind and item.column.name not in kept]
        if gone:
            again = Repair.of("Use again as found", uses=tuple((name, "") for name in gone))
            text = f"Left out, {_REASONS[kind]}: {listed(gone)}.{_HOW_TO_KEEP[kind]}"
            notes.append(Note(text, [again] if kind == "dropped" else []))
    for item in profiles:
        if item.column.kind == "date" and (newest := newest_rows(item.labels)):
            notes.append(Note(
                f"The rows are in the order of '{item.column.name}'. Where later rows are to be predicted from earlier "
                f"ones, hold out the {newest} rows.", [Repair.of("Split by time", hold_out=newest)],
            ))  # fmt: skip
            break
    return notes


def newest_rows(dates: Labels | None) -> str:
    """Where the newest rows of a column of dates stand: "last", "first", or "" where the rows are in no order."""
    if dates is None:
        return ""
    few = dates[np.unique(np.linspace(0, len(dates) - 1, DATED).astype(int))]
    numbers = [tuple(map(int, re.findall(r"\d+", cell))) for cell in few if DATE.fullmatch(cell)]
    for order in ((0, 1, 2), (2, 1, 0), (2, 0, 1)):  # the year first, the day first, the month first
        moments = [(*(found[k] for k in order), *found[3:]) for found in numbers]
        in_order = sorted(moments)
        if len(set(moments)) >= LEAST_DATES and moments in (in_order, in_order[::-1]):
            return "last" if moments == in_order else "first"
    return ""


_REASONS = {
    "text": "free text with too many different values",
    "identifier": "an identifier that only names the rows",
    "constant": "one value only",
    "empty": "empty in every row",
    "dropped": "as asked",
}
_BY_LEVELS = f" To keep the {MAX_LEVELS} most frequent values as columns of 0 and 1, name the column in keep=."
_HOW_TO_KEEP = {
    "text": _BY_LEVELS,
    "identifier": " To keep it, name it in keep=.",
    "constant": " To keep it, name it in keep=.",
    "empty": "",
    "dropped": " To use it again, take it out of uses=.",
}


def looks_like_id(name: str) -> bool:
    """Whether a name is one that identifiers and row numbers have: id, customer_id, rownames, Unnamed: 0."""
    return bool(_ID_NAME.fullmatch(name) or _ID_CAMEL.fullmatch(name))


def _counts_rows(values: np.ndarray) -> bool:
    return len(values) > 2 and bool((np.diff(values) == 1).all()) and values[0] == np.round(values[0])


def _kind_of_numbers(name: str, values: np.ndarray, distinct: int, counter: bool) -> str:
    if distinct == 1:
        return "constant"
    whole = bool((values == np.round(values)).all())
    nearly_unique = distinct >= 0.9 * len(values) and len(values) > 2
    return "identifier" if counter or (whole and nearly_unique and looks_like_id(name)) else "number"


def _kind_of_texts(values: np.ndarray, distinct: int, gaps: bool) -> str:
    if distinct <= 1:
        return "empty" if not distinct else "category" if gaps else "constant"
    if sum(bool(DATE.fullmatch(value)) for value in values) > 0.95 * len(values):
        return "date"
    if distinct > max(MAX_LEVELS, 0.3 * len(values)) and look_like_sequences(values.tolist()):
        return "sequence"
    if distinct == len(values) > 3:
        return "identifier"
    return "category" if distinct <= min(MAX_LEVELS, max(3, len(values) // 2)) else "text"


def _levels_as_text(distinct: int, gaps: bool) -> str:
    """What `encode` makes of a category: the mirror image of a column is left out."""
    if distinct == 1:
        return "a column of 0 and 1: 0 where the value is missing" if gaps else "a column of 1"
    if distinct == 2 and not gaps:
        return "a column of 0 and 1 for the second of 2 values"
    missing = " and one for missing" if gaps else ""
    if distinct > MAX_LEVELS:
        return f"columns of 0 and 1 for the {MAX_LEVELS} most frequent of {distinct:,} values, one for others{missing}"
    return f"columns of 0 and 1 for {distinct} values{missing}"


def _as_text(kind: str, missing: int, stray: int, median: float, distinct: int) -> str:
    if kind in LEFT_OUT:
        return f"left out: {_REASONS[kind]}"
    if kind == "date":
        return "a date: hour, weekday, month, year and day as numbers, those that vary"
    if kind == "sequence":
        return (
            f"a sequence of letters for kernels on sequences{_BLANK if missing else ''}; the share of each letter "
            f"as a number"
        )
    if kind == "category":
        return _levels_as_text(distinct, bool(missing))
    if not missing:
        return "used as it is"
    why = f" ({stray} of them no numbers)" if stray else ""
    return f"{counted(missing, 'missing cell')}{why} filled with the median {median:.4g}"
