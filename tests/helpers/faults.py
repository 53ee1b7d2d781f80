"""The most common faults of real tables as small generated files: what each is, and what mends it."""

import os
from dataclasses import dataclass

import numpy as np

N = 80
_rng = np.random.default_rng(7)
SIZE, AGE = _rng.uniform(1.0, 9.0, N).round(2), _rng.integers(18, 90, N)
SCORE = (2.0 * SIZE + 0.1 * AGE + _rng.normal(0.0, 0.5, N)).round(2)
KIND = np.where(np.median(SCORE) < SCORE, "high", "low")


@dataclass(frozen=True)
class Fault:
    """A file with one fault; ``button`` is the start of what mends it, "" where it is read rightly
    at once.
    """

    content: bytes
    target: str
    button: str = ""
    classes: tuple[str, ...] = ()
    n_rows: int = N


def _lines(last, header="size,age,kind"):
    return [header, *(f"{SIZE[i]},{AGE[i]},{last(i)}" for i in range(N))]


def _file(lines, encoding="utf-8"):
    return "\n".join(lines).encode(encoding)


def _kind(i):
    return str(KIND[i])


def _with(header, row):
    return _file([header, *(row(i) for i in range(N))])


def _comma(value):
    return f"{value}".replace(".", ",")


HIGH_LOW = ("high", "low")
THREE = ("-", "high", "low")
FAULTS = {
    "semicolons and decimal commas, Latin letters": Fault(
        _file(["größe;alter;klasse", *(f"{_comma(SIZE[i])};{AGE[i]};{_kind(i)}" for i in range(N))], "cp1252"),
        "klasse", classes=HIGH_LOW,
    ),
    "byte order mark": Fault(_file(_lines(_kind), "utf-8-sig"), "kind", classes=HIGH_LOW),
    "title above the header": Fault(_file(["Survey 2024", *_lines(_kind)]), "kind", classes=HIGH_LOW),
    "title of two cells": Fault(
        _file(["Survey, spring", *_lines(_kind)]), "kind", "Read without the first line", HIGH_LOW
    ),
    "no header": Fault(_file(_lines(_kind)[1:]), "x2", classes=HIGH_LOW),
    "header of commas": Fault(_file([",,", *_lines(_kind)[1:]]), "x2", classes=HIGH_LOW),
    "a column without a name": Fault(
        _with("size,kind,", lambda i: f"{SIZE[i]},{_kind(i)},{AGE[i]}"), "kind", classes=HIGH_LOW
    ),
    "equal names": Fault(_file(_lines(_kind, "size,size,kind")), "kind", classes=HIGH_LOW),
    "trailing commas": Fault(_file([line + ",," for line in _lines(_kind)]), "kind", classes=HIGH_LOW),
    "a footer": Fault(_file([*_lines(_kind), "Source: the survey, table 3"]), "kind", "Leave out 1 line",
                      HIGH_LOW),
    "an open quotation mark": Fault(
        _with("size,remark,kind", lambda i: f'{SIZE[i]},{AGE[i]}{chr(34) if i == 3 else ""} mm,{_kind(i)}').replace(
            b',', b',"', 0
        ).replace(f",{AGE[3]}\" mm".encode(), f',"{AGE[3]} mm'.encode()),
        "kind", "Read quotation marks as letters", HIGH_LOW,
    ),
    "a code for missing values in the target": Fault(
        _file(_lines(lambda i: -200 if i % 4 == 0 else SCORE[i], "size,age,score")), "score", "Read -200 as missing",
        n_rows=N - N // 4,
    ),
    "question marks": Fault(
        _with("size,age,kind", lambda i: f"{SIZE[i] if i % 9 else '?'},{AGE[i]},{_kind(i)}"), "kind", classes=HIGH_LOW
    ),
    "plus and minus": Fault(_file(_lines(lambda i: "+" if KIND[i] == "high" else "-")), "kind", classes=("+", "-")),
    "a class called -": Fault(
        _file(_lines(lambda i: "-" if i % 5 > 1 else _kind(i), "size,age,class")), "class", "'-' is a class", THREE
    ),
    "rare classes": Fault(
        _file(_lines(lambda i: f"rare {i}" if i % 4 == 0 else _kind(i), "size,age,class")), "class",
        "Predict 'class', rare classes merged", ("high", "low", "other"),
    ),
    "a mostly empty target": Fault(
        _with("size,age,kind,class", lambda i: f"{SIZE[i]},{AGE[i]},{_kind(i)},{'a' if i % 9 == 0 else ''}"), "kind",
        classes=HIGH_LOW,
    ),
    "an identifier at the end": Fault(
        _with("size,kind,customer", lambda i: f"{SIZE[i]},{_kind(i)},C{7919 * (i + 3) % 9973:05d}"), "kind",
        classes=HIGH_LOW,
    ),
    "words among the numbers of the target": Fault(
        _file(_lines(lambda i: "not known" if i % 10 == 0 else SCORE[i], "size,age,target")), "target", "The 8 cells",
        n_rows=N - 8,
    ),
    "thousands separators": Fault(
        _with("balance,age,kind", lambda i: f'"{1000 + 997 * i:,}",{AGE[i]},{_kind(i)}'), "kind", classes=HIGH_LOW
    ),
    "dates of two kinds": Fault(
        _with("day,size,kind", lambda i: f"{f'2024-01-{1 + i % 28:02d}' if i % 2 else f'{1 + i % 28:02d}/01/2024'},"
                                         f"{SIZE[i]},{_kind(i)}"), "kind", classes=HIGH_LOW
    ),
    "identifiers alone": Fault(
        _with("customer,kind", lambda i: f"C{i % 40:03d}x,{_kind(i)}"), "kind", "Use 'customer' as a category", HIGH_LOW
    ),
    "one class": Fault(
        _with("size,age,kind,class", lambda i: f"{SIZE[i]},{AGE[i]},{_kind(i)},a"), "kind", "Predict 'kind'", HIGH_LOW
    ),
}  # fmt: skip


def refusing(number):
    """A call of the system that fails with this error, whatever it is asked."""

    def call(*_, **__):
        raise OSError(number, os.strerror(number))

    return call
