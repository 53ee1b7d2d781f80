"""Derive the parameters that a repair changes, as the library's arguments or to leave out a column that leaks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from mklcore.data.splitting import RANDOM
from mklcore.data.target import Leak, find_leaks, rows_in_order
from mklcore.errors import MKLError, Repair
from pages.shared import work
from pages.shared.derive import tables
from pages.shared.params.parameters import DataParams, FileParams, Params

CLASSES = ("binary", "multiclass", "classification")


def _back(words: Mapping[str, Any]) -> Callable[[Any], str]:
    """Return what finds the page's word for an argument of the library."""
    return {value: word for word, value in words.items()}.__getitem__


# The argument of the library, the page's parameter, and its value there.
FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "target": ("target", lambda name: name or ""),
    "task": ("task", lambda task: "classification" if task in CLASSES else task or ""),
    "missing": ("missing", str),
    "sentinels": ("gaps", lambda rule: rule == "missing"),
    "missing_marks": ("marks", lambda marks: ",".join(marks) or ","),
    "rare_classes": ("rare", lambda rule: "" if rule == "keep" else rule),
    "delimiter": ("delimiter", _back(tables.DELIMITERS)),
    "encoding": ("encoding", lambda name: name or ""),
    "decimal": ("decimal", _back(tables.DECIMALS)),
    "header": ("header", _back(tables.HEADERS)),
    "skip_lines": ("skip", lambda lines: "" if lines is None else str(lines)),
    "on_bad_lines": ("lines", lambda rule: "skip" if rule == "skip" else ""),
    "quotes": ("quotes", bool),
    "stratify": ("stratified", bool),
}
LETTERS = {use: letter for letter, use in tables.USES.items()}


def changes(params: DataParams, repair: Repair) -> dict[str, Any]:
    """Return the parameters that a repair sets, by name; what is no argument of the library is one of the page."""
    found: dict[str, Any] = {}
    for name, value in repair.settings:
        if name == "uses":
            found["uses"] = _uses(params, value)
        elif name in FIELDS:
            field, translated = FIELDS[name]
            found[field] = translated(value)
        else:
            found[name] = value
    return found


def helps(params: DataParams, repair: Repair) -> bool:
    """Tell whether a repair changes anything here: a link may already say what it sets."""
    return any(getattr(params, name, value) != value for name, value in changes(params, repair).items())


def _uses(params: DataParams, pairs: Iterable[tuple[str, str]]) -> str:
    """Return the text of ``uses`` with the named columns used otherwise; "" means as found."""
    names = [column.name for column in tables.summary(replace(params, uses="")).columns]
    letters = {int(part[:-1]): part[-1] for part in params.uses.split(",") if part}
    for name, use in pairs:
        if name not in names:
            continue
        letters.pop(names.index(name) + 1, None)
        if use:
            letters[names.index(name) + 1] = LETTERS[use]
    return ",".join(f"{place}{letter}" for place, letter in sorted(letters.items()))


def offered(params: DataParams, repairs: Iterable[Repair]) -> list[tuple[str, dict[str, Any]]]:
    """Return label and parameters of every repair that changes something."""
    found = []
    for repair in repairs:
        try:
            if helps(params, repair):
                found.append((repair.label, changes(params, repair)))
        except MKLError:
            continue  # a file that cannot be opened has no columns to use otherwise
    return found


USUAL = FileParams()


def as_found(params: DataParams) -> list[tuple[str, dict[str, Any]]]:
    """Return the repair that reads the file without a person's choices, where there are any."""
    chosen = (*(field for field, _ in FIELDS.values() if field != "stratified"), "sheet", "uses")
    different = {name: getattr(USUAL, name) for name in chosen if getattr(params, name) != getattr(USUAL, name)}
    return [("Read the file as found", different)] if different else []


def leaks(params: Params) -> tuple[Leak, ...]:
    """Return the columns that may give the target away or sort the rows, the strongest first; none for a stack."""
    if tables.on_stack(params):
        return ()
    data = tables.table(params)
    return work.now(("leaks", params.part(DataParams)), lambda: find_leaks(data))


def by_time(params: Params) -> str:
    """Return which rows to hold out where a column sorts the rows and they are still drawn at random; "" elsewhere."""
    return rows_in_order(tables.table(params)) if params.hold_out == RANDOM else ""


def without(params: Params, column: str) -> str:
    """Return the text of ``uses`` under which a column of an uploaded table is left out; "" where there is none."""
    text = _uses(params, [(column, "left out")]) if params.is_upload else ""
    return text if text != params.uses else ""
