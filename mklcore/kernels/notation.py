"""A dictionary as short text, one entry per kernel, for links and for tables that people edit.

    rbf0.5m@*;lin@1..30;~pol2@1-3,7

is an RBF of half the median distance on all columns, one linear kernel on each of the columns 1 to 30, and a quadratic
kernel on four columns that is switched off. Columns count from 1. `lap` is Laplacian, `pol2+0.5` has the constant 0.5
instead of 1, a width without `m` is absolute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from mklcore.data.dataset import Groups, listed
from mklcore.data.grouping import NUMBERS, read_numbers, write_numbers
from mklcore.errors import DataError, KernelError
from mklcore.kernels.functions import RBF, KernelSpec, Laplacian, Linear, Polynomial

MOST_ROWS = 2000
CODES = {"linear": "lin", "polynomial": "pol", "rbf": "rbf", "laplacian": "lap"}
_REAL = r"\d{1,20}(?:\.\d{0,20})?(?:e[+-]?\d{1,3})?"
_ROW = rf"~?(?:lin|pol\d{{1,3}}(?:\+{_REAL})?|(?:rbf|lap){_REAL}m?)@(?:\*|\d{{1,5}}\.\.\d{{1,5}}|{NUMBERS})"
DICTIONARY = rf"{_ROW}(?:;{_ROW})*"
_PARTS = re.compile(rf"(~?)(lin|pol|rbf|lap)({_REAL})?(?:\+({_REAL}))?(m?)@(.*)")


@dataclass(frozen=True)
class Entry:
    """One kernel of a table that can be edited: the spec, and whether it is switched on."""

    spec: KernelSpec
    on: bool = True


def write_entries(entries: Iterable[Entry]) -> str:
    """The entries as text; columns have to be settled (no bands that wait for their table)."""
    rows = [(("" if entry.on else "~") + _head(entry.spec), entry.spec.features) for entry in entries]
    parts: list[str] = []
    for (head, each), run in groupby(_numbered(rows), key=lambda row: (row[0], row[2])):
        members = [columns for _, columns, _ in run]
        if each is not None and len(members) > 2:
            first = members[0][0] + 1  # type: ignore[index]
            parts.append(f"{head}@{first}..{first + len(members) - 1}")
        else:
            parts += [f"{head}@{'*' if columns is None else write_numbers(columns)}" for columns in members]
    return ";".join(parts)


def read_entries(text: str, n_features: int, groups: Groups = ()) -> tuple[Entry, ...]:
    """The entries in a text. Raises KernelError in words for other text and for columns that the table does not have."""
    if not re.fullmatch(DICTIONARY, text, re.ASCII):
        raise KernelError(f"{text[:40]!r} describes no dictionary; expected kernels such as rbf0.5m@*;lin@1-3.")
    entries: list[Entry] = []
    for row in text.split(";"):
        found = _PARTS.fullmatch(row)
        assert found is not None
        off, code, number, constant, relative, where = found.groups()
        for columns in _columns(where, n_features):
            spec = _spec(code, number, constant, bool(relative))
            entries.append(Entry(on_columns(spec, columns, groups), not off))
            if len(entries) > MOST_ROWS:
                raise KernelError(f"The dictionary has more than {MOST_ROWS:,} kernels, the limit; take fewer.")
    return tuple(entries)


def on_columns(spec: KernelSpec, columns: tuple[int, ...] | None, groups: Groups = ()) -> KernelSpec:
    """The spec on these columns (None: all), called by the name of the group where they are one."""
    label = next((name for name, members in groups if columns == tuple(members) and len(members) > 1), None)
    return replace(spec, features=columns, label=label)


def columns_as_words(spec: KernelSpec, names: Sequence[str]) -> str:
    """What a table shows: "all", the name of a column or a group, or numbers such as 1-3,7."""
    if spec.features is None:
        return "all"
    if spec.label is not None:
        return spec.label
    columns = spec.columns(len(names))
    return names[columns[0]] if len(columns) == 1 else write_numbers(columns)


def columns_from_words(text: str, names: Sequence[str], groups: Groups = ()) -> tuple[int, ...] | None:
    """The columns a person means: "all", a group, a column, several of them with ; between, or numbers such as 1-3,7.

    Raises KernelError in words.
    """
    wanted = text.strip()
    if wanted.casefold() in ("", "all", "*"):
        return None
    found: dict[int, None] = {}
    for word in [wanted] if _known(wanted, names, groups) else [part.strip() for part in wanted.split(";")]:
        columns = _known(word, names, groups)
        if columns is None:
            try:
                columns = read_numbers(word, len(names))
            except DataError:
                raise KernelError(
                    f"{word[:40]!r} is no column or group of this table, nor numbers from 1 to {len(names)} such as 1-3,7. "
                    f"The first columns are {listed(names, most=3)}."
                ) from None
        found |= dict.fromkeys(columns)
    return tuple(found)


def _known(word: str, names: Sequence[str], groups: Groups) -> tuple[int, ...] | None:
    for name, members in groups:
        if word == name:
            return tuple(members)
    return (names.index(word),) if word in names else None


def _head(spec: KernelSpec) -> str:
    code = CODES[spec.family]
    if isinstance(spec, Polynomial):
        return f"{code}{spec.degree}" + ("" if spec.coef0 == 1.0 else f"+{_short(spec.coef0)}")
    if isinstance(spec, RBF | Laplacian):
        return f"{code}{_short(spec.width)}" + ("m" if spec.relative else "")
    return code


def _short(value: float) -> str:
    """A number as short as it can be read back exactly."""
    return repr(value).removesuffix(".0")


def _numbered(rows: Sequence[tuple[str, object]]) -> list[tuple[str, tuple[int, ...] | None, int | None]]:
    """Rows with a number that stays the same along a run of single columns, one after the other."""
    out: list[tuple[str, tuple[int, ...] | None, int | None]] = []
    for place, (head, columns) in enumerate(rows):
        if columns is not None and not isinstance(columns, tuple):
            raise KernelError(f"{head} waits for its table to settle its columns; name the columns first.")
        out.append((head, columns, columns[0] - place if columns is not None and len(columns) == 1 else None))
    return out


def _columns(where: str, n_features: int) -> list[tuple[int, ...] | None]:
    if where == "*":
        return [None]
    low, each, high = where.partition("..")
    try:
        columns = read_numbers(f"{low}-{high}" if each else where, n_features)
    except DataError as error:
        raise KernelError(f"The dictionary asks for columns that are not there. {error}") from None
    return [(column,) for column in columns] if each else [columns]


def _spec(code: str, number: str | None, constant: str | None, relative: bool) -> KernelSpec:
    match code:
        case "lin":
            return Linear()
        case "pol":
            return Polynomial(int(number or 0), 1.0 if constant is None else float(constant))
        case "rbf":
            return RBF(float(number or 0), relative=relative)
        case _:
            return Laplacian(float(number or 0), relative=relative)
