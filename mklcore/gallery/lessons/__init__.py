"""Ten lessons: a question, a computation with one surprise, its answer, and a picture that can be
dragged.

``LESSONS[key].found`` is what was computed from a fixed seed and comes with the library,
``.compute(seed)`` computes it again; ``lesson_page`` tells a lesson in one HTML file. Texts are in
``text/``, one file each, with ⟨name⟩ where a figure of the result stands, and with the layout of
the picture. ``python -m mklcore.gallery.lessons [KEY ...]`` writes ``recorded/`` anew.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
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
from mklcore.gallery.lessons.found import LessonResult, drawn, fill

__all__ = ["LESSONS", "Lesson", "LessonResult", "lesson_page"]


@dataclass(frozen=True)
class Lesson:
    """One lesson: its key, its computation, and ``given``: figures of the set-up that the question
    may speak of.

    A lesson added from elsewhere brings its ``text``, in the form of those in ``text/``.
    """

    key: str
    compute: Callable[..., LessonResult]
    given: Mapping[str, str] = field(default_factory=dict)
    text: str = ""

    @cached_property
    def words(self) -> dict[str, Any]:
        """Title, question, options, sections, layout of the picture and where the lesson leads on
        to.
        """
        own = self.text or files(__name__).joinpath(f"text/{self.key}.toml").read_text(
            encoding="utf-8"
        )
        return tomllib.loads(own)

    @cached_property
    def found(self) -> LessonResult:
        """What the computation found: as it is recorded, or computed where it is not."""
        file = files(__name__).joinpath(f"recorded/{self.key}.json")
        return (
            LessonResult.from_json(file.read_text(encoding="utf-8"))
            if file.is_file()
            else self.compute()
        )

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text, of the set-up and of the result."""
        return {**self.given, **self.found.facts}

    def said(self, section: str) -> str:
        """A section of the text with its figures."""
        return fill(self.words[section], self.given if section == "question" else self.facts)

    def drawn(self, *, dark: bool, **more: Any) -> dict[str, Any]:
        """What the players show, by their places; nothing where the text lays out no picture."""
        return (
            drawn(self.words, self.found, self.facts, dark=dark, **more)
            if "panels" in self.words
            else {}
        )


def lesson_page(lesson: Lesson) -> str:
    """One HTML file that asks the question of a lesson, shows its picture once a person has
    guessed, and says why.
    """
    texts = lesson.words
    options = "".join(
        (
            f'<button type="button" data-option="{safe(key)}" '
            f'aria-pressed="false"><span>{inline(text)}</span></button>'
        )
        for key, text in texts["options"].items()
    )
    headings = {
        "reveal": "",
        "why": "Why",
        "look": "What to look for",
        "limits": "What it cannot tell",
    }
    prose = "".join(
        f"{f'<h2>{head}</h2>' if head else ''}{markdown(lesson.said(name))}"
        for name, head in headings.items()
    )
    facts = (
        ("Level", texts["level"]),
        ("Data", "Drawn from a fixed seed: the same rows, and the same answer, for all."),
    )
    about = About(
        texts["title"],
        facts,
        (SolvedProblem(formula=texts["formula"]),),
        f"lessons?lesson={lesson.key}",
    )
    views = "".join(place(name) for name in lesson.drawn(dark=False))
    body = (
        f'<div class="telling">{markdown(lesson.said("question"))}</div><div id="guess" '
        f'role="group" aria-label="Your guess">{options}</div><p id="verdict" '
        f'role="status"></p><div id="solution" hidden>{views}<div '
        f'class="telling">{prose}</div>{explanation(about)}</div>'
    )
    answer = lesson.found.answer
    moral = texts.get("moral", "")
    return page(
        about,
        body,
        lambda dark: lesson.drawn(dark=dark),
        moral=moral,
        answer=answer,
    )


def _of(name: str) -> Callable[..., LessonResult]:
    """The function ``name`` of `numbers`, which is imported when it is called: what was found is
    recorded.
    """

    def compute(*seed: int) -> LessonResult:
        found: LessonResult = getattr(import_module("mklcore.gallery.lessons.numbers"), name)(*seed)
        return found

    return compute


_TOY = {"features": "50", "rows": "50"}
_GIVEN = {
    "sparse": _TOY,
    "dense": _TOY,
    "edge": {"rows": "100", "bands": "10", "low": "0.001", "high": "0.1", "tried": "7"},
    "copies": {"most": "10"},
    "prices": {
        "features": "50",
        "informative": "4",
        "asked": "10",
        "rows": "80",
        "low": "0.001",
        "high": "10",
    },
    "greedy": {"rows": "100", "noise": "7", "allowed": "two"},
    "letters": {
        "bands": "6",
        "length": "60",
        "band": "10",
        "word": "TATAAT",
        "most": "16",
        "word_length": "4",
        "rows": "120",
    },
    "hull": {"columns": "12", "levels": "4", "degree": "3", "kernels": "1.68 × 10⁷", "rows": "250"},
    "bands": {"bands": "10", "wavelengths": "150"},
    "landmarks": {"rows": "480", "kernels": "4", "near": "1"},
}
LESSONS = {key: Lesson(key, _of(key), given) for key, given in _GIVEN.items()}
