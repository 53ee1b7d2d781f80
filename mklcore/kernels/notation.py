"""Dictionaries as people write them: a recipe of counts and names, or short text, one entry per
kernel.

A `Recipe` says which kinds of kernels to put on which columns, before any table is there: what a
rail of controls or a link can hold. `specs` turns it into kernels once the number of columns and
their groups are known.

Text is for links and for tables that people edit.

    rbf0.5m@*;lin@1..30;~pol2@1-3,7

is an RBF of half the median distance on all columns, one linear kernel on each of the columns 1 to
30, and a quadratic kernel on four columns that is switched off. Columns count from 1. A kernel is
its code (`lin`, `pol`, `rbf`, `lap`, `mat`, or its key in `KERNELS`) and its numbers in the order
of its fields, with + between them; those at the end that have their usual value are left out. So
`pol2+0.5` has the constant 0.5 instead of 1. A width without `m` is absolute. `lin@1&rbf1m@2` is
the product of two kernels, `lin@1|rbf1m@2` their sum under one weight, `^lin@1^rbf1m@2` their
interaction: the product of both without their means, and `^lin@1` one kernel without its mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from itertools import groupby
from typing import Any

import numpy as np

from mklcore.data.column_groups import NUMBERS, read_numbers, write_numbers
from mklcore.data.dataset import Groups, counted, listed
from mklcore.errors import DataError, KernelError
from mklcore.kernels.dictionary import BAND_KERNELS, KernelDictionary
from mklcore.kernels.functions import (
    KERNELS,
    RBF,
    Composed,
    KernelSpec,
    Laplacian,
    LazyColumns,
    Linear,
    Polynomial,
    Product,
    Sum,
)
from mklcore.kernels.interactions import Interaction
from mklcore.kernels.sequences import SEQUENCE_KERNELS
from mklcore.parameters import check_choice, check_whole

AUTO_FEATURES = 40  # beyond this many columns "auto" does not offer one kernel per column
WIDEST = 4.0  # times the median distance; the narrowest is its inverse

OTHER_WIDTHS = 3  # of each kernel of all columns that has no count of its own
MOST_ROWS = 2000
_REAL = r"\d{1,20}(?:\.\d{0,20})?(?:e[+-]?\d{1,3})?"
_CODE = r"[a-z_]{1,24}"
_GIVEN = rf"(?:{_REAL}(?:\+(?:{_REAL}|inf)){{0,8}})?"
_ONE = rf"{_CODE}{_GIVEN}m?@(?:\*|\d{{1,5}}\.\.\d{{1,5}}|{NUMBERS})"
_ROW = rf"~?(?:{_ONE}(?:(?:&{_ONE}){{1,7}}|(?:\|{_ONE}){{1,7}})?|(?:\^{_ONE}){{1,8}})"
DICTIONARY = rf"{_ROW}(?:;{_ROW})*"
SIGNS: dict[type[Composed], str] = {Product: "&", Sum: "|", Interaction: "^"}
_PARTS = re.compile(rf"({_CODE})({_GIVEN})(m?)@(.*)")
_SEVERAL: dict[str, tuple[KernelSpec, ...]] = {
    "both": (Linear(), RBF(1.0, relative=True)),
    "spectral": BAND_KERNELS,
}


def kinds() -> dict[str, tuple[KernelSpec, ...]]:
    """What a builder puts on each of its choices of columns: every kernel of the registry as usual,
    and a few together.
    """
    return {key: (entry.usual(),) for key, entry in KERNELS.items()} | _SEVERAL


def other_kernels() -> tuple[str, ...]:
    """The kernels of the registry that a recipe has no count for."""
    return tuple(
        key
        for key, entry in KERNELS.items()
        if entry.spec not in (RBF, Laplacian, Linear, Polynomial)
    )


@dataclass(frozen=True)
class Recipe:
    """What a dictionary is made of: kernels of all columns, then of single columns, groups, bands
    and random choices.

    widths, laplacians : how many RBF and Laplacian kernels of all columns, see ``width_multiples``
    others : other kernels of all columns, keys of ``KERNELS`` with commas between, each in three
    widths where it has
        one
    linear, degree : a linear kernel of all columns; a polynomial one, 0 for none
    each : the kind on every single column, "none", or "auto": linear up to ``AUTO_FEATURES``
    columns
    groups, group_kernels : whether every group of columns gets kernels, and their kind
    bands, band_kernels : how many contiguous bands of columns, at most one per column, and their
    kind
    subspaces, subspace_size, subspace_kernel, subspace_seed : how many random choices of how many
    columns, and their
        kind

    Kinds are the keys of ``kinds()``. ParameterError for any other, and for counts that are not
    whole or below 0.
    """

    widths: int = 5
    laplacians: int = 0
    others: str = ""
    linear: bool = True
    degree: int = 2
    each: str = "auto"
    groups: bool = False
    group_kernels: str = "rbf"
    bands: int = 0
    band_kernels: str = "linear"
    subspaces: int = 0
    subspace_size: int = 3
    subspace_kernel: str = "rbf"
    subspace_seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            name = f"{field.name} of a recipe"
            value = getattr(self, field.name)
            if field.type == "int":
                check_whole(name, value, 0)
            elif field.name == "others":
                for key in filter(None, value.split(",")):
                    check_choice(name, key, other_kernels())
            elif field.type == "str":
                check_choice(
                    name, value, (*kinds(), *(("auto", "none") if field.name == "each" else ()))
                )

    @classmethod
    def of(cls, settings: Any) -> Recipe:
        """The recipe among the fields of any object that has them all."""
        return cls(**{field.name: getattr(settings, field.name) for field in fields(cls)})

    def specs(self, n_features: int, groups: Sequence[Any] = ()) -> tuple[KernelSpec, ...]:
        """The kernels on a table of ``n_features`` columns with ``groups``, (name, column indices)
        pairs; may be none.
        """
        on_all: list[KernelSpec] = [
            RBF(width, relative=True) for width in width_multiples(self.widths)
        ]
        on_all += [Laplacian(width, relative=True) for width in width_multiples(self.laplacians)]
        on_all += self._others()
        on_all += [Linear()] if self.linear else []
        on_all += [Polynomial(self.degree)] if self.degree else []
        return (*on_all, *self._on_parts(n_features, groups))

    def _others(self) -> Iterable[KernelSpec]:
        for key in filter(None, self.others.split(",")):
            usual: Any = KERNELS[key].usual()
            widths = width_multiples(OTHER_WIDTHS) if usual.relative else []
            yield from [replace(usual, width=width) for width in widths] or [usual]

    def _on_parts(self, n_features: int, groups: Sequence[Any]) -> Iterable[KernelSpec]:
        build = KernelDictionary
        each = self.each
        known = kinds()
        if each == "auto":
            each = "linear" if n_features <= AUTO_FEATURES else "none"
        if each != "none":
            yield from build.per_feature(known[each][0], n_features)
        if self.groups and groups:
            yield from build.per_group(known[self.group_kernels], groups)
        waiting: list[KernelSpec] = []
        if self.bands:
            waiting += build.bands(min(self.bands, n_features), known[self.band_kernels])
        if self.subspaces:
            size = min(self.subspace_size, n_features)
            chosen = known[self.subspace_kernel]
            waiting += build.random_subspaces(chosen, size, self.subspaces, self.subspace_seed)
        for spec in waiting:
            yield replace(spec, features=spec.columns(n_features), label=str(spec.features))


def width_multiples(count: int) -> list[float]:
    """``count`` multiples of the median distance from 1/4 to 4, equal in ratio, to three digits; 1
    for a single one.
    """
    if count <= 1:
        return [1.0] * count
    return [float(f"{multiple:.3g}") for multiple in np.geomspace(1 / WIDEST, WIDEST, count)]


# -- text


@dataclass(frozen=True)
class Entry:
    """One kernel of a table that can be edited: the spec, and whether it is switched on."""

    spec: KernelSpec
    on: bool = True


def write_entries(entries: Iterable[Entry]) -> str:
    """The entries as text; columns have to be settled (no bands that wait for their table)."""
    texts = [("" if entry.on else "~") + _text(entry.spec) for entry in entries]
    parts: list[str] = []
    for _, run in groupby(enumerate(texts), key=_run_of):
        members = [text for _, text in run]
        parts += [f"{members[0]}..{members[-1].partition('@')[2]}"] if len(members) > 2 else members
    return ";".join(parts)


def _run_of(numbered: tuple[int, str]) -> tuple[str, int]:
    """What stays the same along a run of one kernel on single columns, one after the other."""
    place, text = numbered
    head, _, column = text.partition("@")
    return (head, int(column) - place) if column.isdigit() and "^" not in head else (text, place)


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
        raise KernelError(
            f"{spec!r} waits for its table to settle its columns; name the columns first."
        )
    return f"{_head(spec)}@{'*' if spec.features is None else write_numbers(spec.features)}"


def read_entries(text: str, n_features: int, groups: Groups = ()) -> tuple[Entry, ...]:
    """The entries in a text.

    Raises KernelError for other text and for columns that the table does not have.
    """
    if not re.fullmatch(DICTIONARY, text, re.ASCII):
        raise KernelError(
            f"{text[:40]!r} describes no dictionary; expected kernels such as rbf0.5m@*;lin@1-3."
        )
    entries: list[Entry] = []
    for row in text.split(";"):
        sign = next((sign for sign in SIGNS.values() if sign in row), "")
        texts = row.lstrip("~^").split(sign) if sign else [row.lstrip("~")]
        read = [_specs(one, n_features, groups) for one in texts]
        if several := next(
            (one for one, specs in zip(texts, read, strict=True) if sign and len(specs) > 1), ""
        ):
            raise KernelError(
                f"{several[:40]!r} means several kernels; a product or a sum takes one at "
                "each place."
            )
        kind = next((kind for kind, known in SIGNS.items() if known == sign), None)
        found = read[0] if kind is None else [kind(*(one for (one,) in read))]
        entries += [Entry(spec, not row.startswith("~")) for spec in found]
        if len(entries) > MOST_ROWS:
            raise KernelError(
                f"The dictionary has more than {MOST_ROWS:,} kernels, the limit; take fewer."
            )
    return tuple(entries)


def _specs(text: str, n_features: int, groups: Groups) -> list[KernelSpec]:
    """The kernels that one code means, one for every choice of columns."""
    found = _PARTS.fullmatch(text)
    assert found is not None
    code, numbers, relative, where = found.groups()
    spec = _spec(code, numbers, bool(relative))
    return [on_columns(spec, columns, groups) for columns in _columns(where, n_features)]


def on_columns(
    spec: KernelSpec, columns: tuple[int, ...] | None, groups: Groups = ()
) -> KernelSpec:
    """The spec on these columns (None: all), called by the name of the group where they are one."""
    label = next(
        (name for name, members in groups if columns == tuple(members) and len(members) > 1), None
    )
    return replace(spec, features=columns, label=label)


def columns_as_words(spec: KernelSpec, names: Sequence[str]) -> str:
    """What a table shows: "all", the name of a column or a group, or numbers such as 1-3,7."""
    if spec.features is None:
        return "all"
    if spec.label is not None:
        return spec.label
    columns = spec.columns(len(names))
    return names[columns[0]] if len(columns) == 1 else write_numbers(columns)


def columns_from_words(
    text: str, names: Sequence[str], groups: Groups = ()
) -> tuple[int, ...] | None:
    """The columns a person means: "all", a group, a column, several of them with ; between, or
    numbers such as 1-3,7.

    Raises KernelError.
    """
    wanted = text.strip()
    if wanted.casefold() in ("", "all", "*"):
        return None
    found: dict[int, None] = {}
    for word in (
        [wanted] if _known(wanted, names, groups) else [part.strip() for part in wanted.split(";")]
    ):
        columns = _known(word, names, groups)
        if columns is None:
            try:
                columns = read_numbers(word, len(names))
            except DataError:
                raise KernelError(
                    f"{word[:40]!r} is no column or group of this table, nor numbers from "
                    f"1 to {len(names)} such as 1-3,7. The first columns are "
                    f"{listed(names, most=3)}."
                ) from None
        found |= dict.fromkeys(columns)
    return tuple(found)


def _known(word: str, names: Sequence[str], groups: Groups) -> tuple[int, ...] | None:
    for name, members in groups:
        if word == name:
            return tuple(members)
    return (names.index(word),) if word in names else None


def is_dictionary(text: str) -> bool:
    """Whether a text has the form of a dictionary and speaks of kernels there are."""
    if not re.fullmatch(DICTIONARY, text, re.ASCII):
        return False
    rows = [_PARTS.fullmatch(one) for one in re.split(r"[;&|^~]", text) if one]
    return all(row is not None and row[1] in _codes() for row in rows)


def _codes() -> dict[str, type[KernelSpec]]:
    """The kernels there are, by the letters of their code."""
    known = {**KERNELS, **SEQUENCE_KERNELS}
    return {entry.spec.code or key: entry.spec for key, entry in known.items()}


def _head(spec: KernelSpec) -> str:
    code = next((code for code, kind in _codes().items() if kind is type(spec)), None)
    if code is None or not re.fullmatch(_CODE, code):
        raise KernelError(
            f"{type(spec).__name__} cannot be written as text: it needs a line in KERNELS "
            "whose key, or a code that, is made of letters."
        )
    values = [(getattr(spec, field.name), field.default) for field in spec.numbers()]
    while len(values) > spec.relative and values[-1][0] == values[-1][1]:  # the m follows a number
        values.pop()
    if not all(isinstance(value, int | float) for value, _ in values):
        raise KernelError(f"{spec!r} cannot be written as text: its fields have to be numbers.")
    relative = "m" if spec.relative else ""
    return f"{code}{'+'.join(_short(value) for value, _ in values)}{relative}"


def _short(value: float) -> str:
    """A number as short as it can be read back exactly."""
    return repr(value).removesuffix(".0")


def _columns(where: str, n_features: int) -> list[tuple[int, ...] | None]:
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
    given = re.findall(rf"(?:^|\+)({_REAL}|inf)", text)
    names = [field.name for field in kind.numbers()]
    whole = {field.name for field in kind.numbers() if field.type in (int, "int")}
    needed = sum(field.default is MISSING for field in kind.numbers())
    if not needed <= len(given) <= len(names):
        many = (
            f"{needed} to {len(names)} numbers"
            if needed < len(names)
            else counted(needed, "number")
        )
        raise KernelError(
            f"{code} takes {many} ({', '.join(names) or 'it has none'}), got {len(given)}."
        )
    values = {
        name: _number(value, name in whole) for name, value in zip(names, given, strict=False)
    }
    if relative and "relative" not in (field.name for field in fields(kind)):
        raise KernelError(
            f"{code} has no width that could count median distances; leave the m out."
        )
    made: KernelSpec = kind(**values, **({"relative": True} if relative else {}))
    return made


def _number(text: str, whole: bool) -> float:
    value = float(text)
    return int(value) if whole and value == int(value) else value
