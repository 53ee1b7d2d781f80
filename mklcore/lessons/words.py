"""What a lesson says: a text of its own in ``text/``, with places for the figures that its computation finds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mklcore.lessons.base import Lesson


@dataclass(frozen=True)
class Words:
    """What a lesson says; figures are written ⟨name⟩ and filled in from the computed result.

    ``moral`` is the part of the title that would give the answer away: it is stated from the second step on. ``parts``
    holds the sections "reveal", "formula", "why", "look", "limits" and "link"; texts are Markdown with $formulas$.
    """

    title: str
    moral: str
    level: str
    line: str
    question: str
    options: dict[str, str]
    parts: dict[str, str]


def fill(text: str, facts: Mapping[str, str]) -> str:
    """``text`` with every ⟨name⟩ replaced by its figure."""
    return re.sub(r"⟨(\w+)⟩", lambda match: facts[match[1]], text)


def words(lesson: Lesson) -> Words:
    """The words of one lesson, from the text it brings or from its own file: title, level, one line, then sections."""
    return _read(lesson.words or _own(lesson.key))


@cache
def _own(key: str) -> str:
    return files(__package__).joinpath(f"text/{key}.md").read_text(encoding="utf-8")


@cache
def _read(text: str) -> Words:
    head, *rest = re.split(r"^## ", text, flags=re.MULTILINE)
    named, level, *line = head.strip().removeprefix("# ").splitlines()
    title, _, moral = named.partition(": ")
    parts = {name.strip(): body.strip() for name, _, body in (part.partition("\n") for part in rest)}
    question, *options = re.split(r"^- (?=[a-z]+: )", parts.pop("question"), flags=re.MULTILINE)
    pairs = (option.strip().split(": ", 1) for option in options)
    return Words(title, moral, level.removeprefix("level: "), " ".join(line), question.strip(), dict(pairs), parts)
