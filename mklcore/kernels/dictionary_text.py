"""Dictionaries as text, with one entry per kernel, for links and for tables that people edit.

    rbf0.5m@*;lin@1..30;~pol2@1-3,7

is an RBF of half the median distance on all columns, one linear kernel on each of the columns 1 to
30, and a quadratic kernel on four columns that is switched off. Columns count from 1.

A kernel is written as its code (`lin`, `pol`, `rbf`, `lap`, `mat`, or its key in `KERNELS`) and its
numbers in the order of its fields, separated by +. Default values at the end are left out, so that
`pol2+0.5` has the constant 0.5 instead of 1. A width without `m` is absolute. `lin@1&rbf1m@2` is
the product of two kernels, `lin@1|rbf1m@2` their sum under one weight, and `^lin@1^rbf1m@2` their
interaction, which is the product of both without their means; `^lin@1` is one kernel without its
mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from itertools import groupby
from typing import Any

from mklcore.arrays import Columns
from mklcore.data.column_groups import NUMBERS, read_numbers, write_numbers
from mklcore.data.dataset import Groups, joined, listed
from mklcore.errors import DataError, KernelError
from mklcore.kernels.functions import (
    KERNELS,
    Composed,
    KernelSpec,
    LazyColumns,
    Product,
    Sum,
)
from mklcore.kernels.interactions import Interaction
from mklcore.kernels.sequences import SEQUENCE_KERNELS

MOST_ROWS = 2000
_REAL = r"\d{1,20}(?:\.\d{0,20})?(?:e[+-]?\d{1,3})?"
_CODE = r"[a-z_]{1,24}"
_NUMBERS = rf"(?:{_REAL}(?:\+(?:{_REAL}|inf)){{0,8}})?"
_KERNEL = rf"{_CODE}{_NUMBERS}m?@(?:\*|\d{{1,5}}\.\.\d{{1,5}}|{NUMBERS})"
_ROW = rf"~?(?:{_KERNEL}(?:(?:&{_KERNEL}){{1,7}}|(?:\|{_KERNEL}){{1,7}})?|(?:\^{_KERNEL}){{1,8}})"
DICTIONARY = rf"{_ROW}(?:;{_ROW})*"
SIGNS: dict[type[Composed], str] = {Product: "&", Sum: "|", Interaction: "^"}
_PARTS = re.compile(rf"({_CODE})({_NUMBERS})(m?)@(.*)")


@dataclass(frozen=True)
class Entry:
    """One kernel of a table that can be edited, and whether it is switched on."""

    spec: KernelSpec
    on: bool = True


def write_entries(entries: Iterable[Entry]) -> str:
    """The entries as text; their columns must be resolved."""
    texts = [("" if entry.on else "~") + _text(entry.spec) for entry in entries]
    rows: list[str] = []
    for _, run in groupby(enumerate(texts), key=_run_of):
        members = [text for _, text in run]
        if len(members) > 2:
            last_column = members[-1].partition("@")[2]
            members = [f"{members[0]}..{last_column}"]
        rows += members
    return ";".join(rows)


def _run_of(numbered: tuple[int, str]) -> tuple[str, int]:
    """A key that is the same for one kernel on consecutive single columns."""
    place, text = numbered
    head, _, column = text.partition("@")
    if column.isdigit() and "^" not in head:
        return head, int(column) - place
    return text, place


def _text(spec: KernelSpec) -> str:
    if isinstance(spec, Composed):
        if any(isinstance(part, Composed) for part in spec.parts):
            raise KernelError(
                f"{spec!r} cannot be written as text: its parts are plain kernels on "
                "settled columns."
            )
        first = "^" if isinstance(spec, Interaction) else ""
        return first + SIGNS[type(spec)].join(map(_text, spec.parts))
    if isinstance(spec.features, LazyColumns):
        raise KernelError(f"{spec!r} has columns that depend on its table; name the columns first.")
    return f"{_head(spec)}@{'*' if spec.features is None else write_numbers(spec.features)}"


def read_entries(
    text: str,
    n_features: int,
    groups: Groups = (),
) -> tuple[Entry, ...]:
    """The entries in a text.

    Raises ``KernelError`` for text of another form, and for columns that the table does not have.
    """
    if not re.fullmatch(DICTIONARY, text, re.ASCII):
        raise KernelError(
            f"{text[:40]!r} is not a dictionary; expected kernels such as rbf0.5m@*;lin@1-3."
        )
    entries: list[Entry] = []
    for row in text.split(";"):
        is_on = not row.startswith("~")
        entries += [Entry(spec, is_on) for spec in _row_specs(row, n_features, groups)]
        if len(entries) > MOST_ROWS:
            raise KernelError(
                f"The dictionary has more than {MOST_ROWS:,} kernels, the limit; take fewer."
            )
    return tuple(entries)


def _row_specs(row: str, n_features: int, groups: Groups) -> list[KernelSpec]:
    """The kernels of one row: one kernel on choices of columns, or a composition of kernels."""
    for kind, sign in SIGNS.items():
        if sign in row:
            parts = []
            for text in row.lstrip("~^").split(sign):
                specs = _specs(text, n_features, groups)
                if len(specs) > 1:
                    raise KernelError(
                        f"{text[:40]!r} means several kernels; a product or a sum takes one at "
                        "each place."
                    )
                parts += specs
            return [kind(*parts)]
    return _specs(row.lstrip("~"), n_features, groups)


def _specs(text: str, n_features: int, groups: Groups) -> list[KernelSpec]:
    """The kernels that one code describes, one for each choice of columns."""
    match = _PARTS.fullmatch(text)
    assert match is not None
    code, numbers, relative, where = match.groups()
    spec = _spec(code, numbers, bool(relative))
    return [on_columns(spec, columns, groups) for columns in _columns(where, n_features)]


def on_columns(spec: KernelSpec, columns: Columns | None, groups: Groups = ()) -> KernelSpec:
    """The spec on these columns (None: all), labelled by their group if they form one."""
    labels = [name for name, members in groups if columns == tuple(members) and len(members) > 1]
    return replace(spec, features=columns, label=labels[0] if labels else None)


def columns_as_words(spec: KernelSpec, names: Sequence[str]) -> str:
    """Columns in a table: "all", the name of a column or a group, or numbers such as 1-3,7."""
    if spec.features is None:
        return "all"
    if spec.label is not None:
        return spec.label
    columns = spec.columns(len(names))
    return names[columns[0]] if len(columns) == 1 else write_numbers(columns)


def columns_from_words(text: str, names: Sequence[str], groups: Groups = ()) -> Columns | None:
    """The columns that a person wrote; None for all of them.

    "all", a group, a column, several of them separated by ;, or numbers such as 1-3,7. Raises
    ``KernelError`` for anything else.
    """
    text = text.strip()
    if text.casefold() in ("", "all", "*"):
        return None
    words = [text]
    if _named(text, names, groups) is None:
        words = [part.strip() for part in text.split(";")]
    chosen: dict[int, None] = {}
    for word in words:
        columns = _named(word, names, groups)
        if columns is None:
            try:
                columns = read_numbers(word, len(names))
            except DataError:
                raise KernelError(
                    f"{word[:40]!r} is no column or group of this table, nor numbers from "
                    f"1 to {len(names)} such as 1-3,7. The first columns are "
                    f"{listed(names, most=3)}."
                ) from None
        chosen |= dict.fromkeys(columns)
    return tuple(chosen)


def _named(
    word: str,
    names: Sequence[str],
    groups: Groups,
) -> Columns | None:
    for name, members in groups:
        if word == name:
            return tuple(members)
    return (names.index(word),) if word in names else None


def is_dictionary(text: str) -> bool:
    """Whether a text has the form of a dictionary and names registered kernels only."""
    if not re.fullmatch(DICTIONARY, text, re.ASCII):
        return False
    kernels = [_PARTS.fullmatch(part) for part in re.split(r"[;&|^~]", text) if part]
    codes = _codes()
    return all(kernel is not None and kernel[1] in codes for kernel in kernels)


def _codes() -> dict[str, type[KernelSpec]]:
    """The registered kernels by their codes."""
    entries = KERNELS | SEQUENCE_KERNELS
    return {entry.spec.code or key: entry.spec for key, entry in entries.items()}


def _head(spec: KernelSpec) -> str:
    codes = {kind: code for code, kind in _codes().items()}
    code = codes.get(type(spec), "")
    if not re.fullmatch(_CODE, code):
        raise KernelError(
            f"{type(spec).__name__} cannot be written as text: it needs a line in KERNELS "
            "whose key or code consists of letters."
        )
    fields_of = list(spec.numbers())
    n_least = 1 if spec.relative else 0  # the m follows a number
    while len(fields_of) > n_least and getattr(spec, fields_of[-1].name) == fields_of[-1].default:
        fields_of.pop()
    values = [getattr(spec, field.name) for field in fields_of]
    if not all(isinstance(value, int | float) for value in values):
        raise KernelError(f"{spec!r} cannot be written as text: its fields have to be numbers.")
    return code + "+".join(map(_short, values)) + ("m" if spec.relative else "")


def _short(value: float) -> str:
    """The shortest text from which the number is read back exactly."""
    return repr(value).removesuffix(".0")


def _columns(where: str, n_features: int) -> list[Columns | None]:
    if where == "*":
        return [None]
    low, each, high = where.partition("..")
    try:
        columns = read_numbers(f"{low}-{high}" if each else where, n_features)
    except DataError as error:
        raise KernelError(f"The dictionary asks for columns that are not there. {error}") from None
    return [(column,) for column in columns] if each else [columns]


def _spec(code: str, text: str, relative: bool) -> KernelSpec:
    kinds: dict[str, Any] = dict(_codes())
    if code not in kinds:
        raise KernelError(
            f"There is no kernel called {code!r}; the kernels are {', '.join(kinds)}."
        )
    kind = kinds[code]
    numbers = re.findall(rf"(?:^|\+)({_REAL}|inf)", text)
    names = [field.name for field in kind.numbers()]
    needed = sum(field.default is MISSING for field in kind.numbers())
    if not needed <= len(numbers) <= len(names):
        wanted = f"numbers for {joined(names)}" if names else "no number"
        raise KernelError(f"{code} takes {wanted}; got {len(numbers)}.")
    values: dict[str, Any] = {}
    for name, number in zip(names, map(float, numbers), strict=False):
        values[name] = int(number) if number.is_integer() else number
    if relative:
        if "relative" not in (field.name for field in fields(kind)):
            raise KernelError(
                f"{code} has no width that could count median distances; leave the m out."
            )
        values["relative"] = True
    spec: KernelSpec = kind(**values)
    return spec
