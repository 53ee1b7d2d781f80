"""Ten lessons: a question, a computation with one surprise, its answer, and a picture that can be
dragged.

``LESSONS[key].found`` is what was computed from a fixed seed and comes with the library,
``.compute(seed)`` computes it again; ``lesson_page`` tells a lesson in one HTML file. Texts are in
``text/``, one file each, with ⟨name⟩ where a figure of the result stands, and with the layout of
the picture. ``python -m mklcore.gallery.lessons [KEY ...]`` writes ``recorded/`` anew.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mklcore._lazy import cached_property
from mklcore.figures.one_file import (
    About,
    SolvedProblem,
    explanation,
    inline,
    markdown,
    page,
    place,
    safe,
)
from mklcore.figures.players import text_of
from mklcore.gallery.lessons.found import LessonResult, drawn, fill

__all__ = ["LESSONS", "Lesson", "LessonResult", "lesson_page"]

KEYS = (
    "sparse",
    "dense",
    "edge",
    "copies",
    "prices",
    "greedy",
    "letters",
    "hull",
    "bands",
    "landmarks",
)
# The sections of the text that follow the picture, with their headings.
HEADINGS = {
    "reveal": "",
    "why": "<h2>Why</h2>",
    "look": "<h2>What to look for</h2>",
    "limits": "<h2>What it cannot tell</h2>",
}


@dataclass(frozen=True)
class Lesson:
    """One lesson by its key."""

    key: str

    def compute(self, *seed: int) -> LessonResult:
        """Compute the lesson again, by default with its own seed."""
        # The numbers import the estimators, which a recorded lesson does not need.
        numbers = import_module("mklcore.gallery.lessons.numbers")
        result: LessonResult = getattr(numbers, self.key)(*seed)
        return result

    @cached_property
    def words(self) -> dict[str, Any]:
        """Title, question, options, sections, figures of the set-up (``given``), layout of the
        picture and where the lesson leads on to.
        """
        return tomllib.loads(_text(f"text/{self.key}.toml"))

    @cached_property
    def found(self) -> LessonResult:
        """What the computation found, as it is recorded."""
        return LessonResult.from_json(_text(f"recorded/{self.key}.json"))

    @property
    def given(self) -> dict[str, str]:
        """Figures of the set-up, of which the question may speak."""
        return dict(self.words["given"])

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text, of the set-up and of the result."""
        return self.given | self.found.figures()

    def said(self, section: str) -> str:
        """A section of the text with its figures."""
        return fill(self.words[section], self.given if section == "question" else self.facts)

    def drawn(
        self,
        *,
        dark: bool,
    ) -> dict[str, Any]:
        """What the players show, by their places."""
        return drawn(self.words, self.found, self.facts, dark=dark)


def _text(name: str) -> str:
    return text_of(name, __name__)


def lesson_page(lesson: Lesson) -> str:
    """One HTML file that asks the question of a lesson, shows its picture once a person has
    guessed, and says why.
    """
    texts = lesson.words
    options = ""
    for key, text in texts["options"].items():
        options += (
            f'<button type="button" data-option="{safe(key)}" '
            f'aria-pressed="false"><span>{inline(text)}</span></button>'
        )
    prose = ""
    for section, heading in HEADINGS.items():
        prose += heading + markdown(lesson.said(section))
    facts = (
        ("Level", texts["level"]),
        ("Data", "Drawn from a fixed seed: the same rows, and the same answer, for all."),
    )
    problem = SolvedProblem(formula=texts["formula"])
    about = About(texts["title"], facts, (problem,), f"lessons?lesson={lesson.key}")
    views = "".join(place(name) for name in lesson.drawn(dark=False))
    body = (
        f'<div class="telling">{markdown(lesson.said("question"))}</div><div id="guess" '
        f'role="group" aria-label="Your guess">{options}</div><p id="verdict" '
        f'role="status"></p><div id="solution" hidden>{views}<div '
        f'class="telling">{prose}</div>{explanation(about)}</div>'
    )
    return page(
        about,
        body,
        lambda dark: lesson.drawn(dark=dark),
        moral=texts.get("moral", ""),
        answer=lesson.found.answer,
    )


LESSONS = {key: Lesson(key) for key in KEYS}
