"""Params one by one: how each is read from the text of a link, and what is expected where it cannot be."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mklcore.data.dataset import LARGEST_VALUE
from mklcore.data.grouping import NUMBERS
from mklcore.data.samples import SAMPLES
from mklcore.kernels.notation import is_dictionary

UPLOAD = "upload:"
LONGEST_LIST = 400
LONGEST_TABLE = 1500
ENCODINGS = ("", "utf-8", "cp1252", "latin-1", "utf-16", "cp1250", "cp1251", "mac-roman", "shift-jis", "gb18030")
_MOVE = r"\d{1,5}=-?\d{1,17}(\.\d{1,17})?(e[+-]?\d{1,3})?"
MOVES = rf"{_MOVE}(,{_MOVE})*"


@dataclass(frozen=True)
class Rule:
    """How one parameter is read from text, what is expected instead when it cannot be, and between which numbers."""

    read: Callable[[str], Any]
    expected: str
    bounds: tuple[Any, Any] | None = None


def number(low: float, high: float) -> Rule:
    return _between(float, low, high, f"a number from {low:g} to {high:g}")


def whole(low: int, high: int) -> Rule:
    return _between(int, low, high, f"a whole number from {low} to {high}")


def _between(kind: Callable[[str], Any], low: float, high: float, expected: str) -> Rule:
    def read(text: str) -> Any:
        value = kind(text)
        if not low <= value <= high:
            raise ValueError
        return value

    return Rule(read, expected, (low, high))


def choice(*names: str) -> Rule:
    return one_of(lambda: names)


def one_of(names: Callable[[], Iterable[str]]) -> Rule:
    """One of the names that there are when a link is read: what a registry holds may grow."""

    def read(text: str) -> str:
        if text not in tuple(names()):
            raise ValueError
        return text

    return Rule(read, "one of " + ", ".join(name for name in names() if name))


def several_of(names: Callable[[], Iterable[str]]) -> Rule:
    """Several of the names that there are when a link is read, with commas between them."""

    def read(text: str) -> str:
        if not set(text.split(",")) <= set(names()):
            raise ValueError
        return text

    return Rule(read, "names with commas between them, from " + ", ".join(names()))


def flag() -> Rule:
    return Rule({"yes": True, "no": False}.__getitem__, "yes or no")


def source() -> Rule:
    def read(text: str) -> str:
        if text not in SAMPLES and not re.fullmatch(UPLOAD + "[0-9a-f]{64}", text):
            raise ValueError
        return text

    return Rule(read, "the name of a sample or the fingerprint of an uploaded file")


def position() -> Rule:
    def read(text: str) -> float:
        value = float(text)
        if not value > 0:
            raise ValueError
        return value

    return Rule(read, "a number above 0")


def matching(pattern: str, expected: str, longest: int = LONGEST_LIST) -> Rule:
    def read(text: str) -> str:
        if len(text) > longest or not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError
        return text

    return Rule(read, expected)


def short_line(text: str) -> str:
    """Return a line of any letters that is not too long. Raises ValueError."""
    if len(text) > LONGEST_LIST or not text.isprintable():
        raise ValueError
    return text


def one_line(text: str) -> str:
    """Return a text as :func:`short_line` takes it."""
    return "".join(sign for sign in text if sign.isprintable())[:LONGEST_LIST]


def dictionary() -> Rule:
    """Kernels as text, kernels of a stack, or the name of a text that this session keeps."""
    elsewhere = matching(rf"stack@{NUMBERS}|kept:[0-9a-f]{{64}}", "", LONGEST_TABLE)

    def read(text: str) -> str:
        return text if len(text) <= LONGEST_TABLE and is_dictionary(text) else elsewhere.read(text)

    return Rule(read, "kernels, as in rbf0.5m@*")


def moves() -> Rule:
    def read(text: str) -> str:
        if len(text) > 10 * LONGEST_LIST or not re.fullmatch(MOVES, text, re.ASCII):
            raise ValueError
        if any(abs(float(part.split("=")[1])) > LARGEST_VALUE for part in text.split(",")):
            raise ValueError
        return text

    return Rule(read, "numbers of columns with their new values, as in 3=1.5,7=0")
