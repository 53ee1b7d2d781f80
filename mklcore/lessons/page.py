"""A lesson as one file: the question, the guess, the picture that can be dragged, and why; it asks no server for
anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mklcore.errors import ParameterError
from mklcore.figures.takeaway import About, Guess, Problem, scene_page
from mklcore.lessons.base import Lesson, Story
from mklcore.lessons.pictures import PICTURES
from mklcore.lessons.words import fill, words

DATA = "Drawn from a fixed seed: the same rows, and the same answer, for everyone."
Scenes = Callable[[bool], Mapping[str, Any]]


def lesson_page(
    lesson: Lesson,
    story: Story,
    *,
    scene: Scenes | None = None,
    link: str = "",
) -> str:
    """One HTML file that tells ``lesson`` with what its computation found, ``story = lesson.compute()``.

    ``scene(dark)`` is the picture as ``Scene.drawn`` tells it, where it has been drawn before; ``link`` opens the
    lesson in the app. Raises ``ParameterError`` for a lesson
    that brings a figure instead of a scene: those need plotly.
    """
    if scene is None:
        make = PICTURES.get(lesson.key)
        if make is None:
            raise ParameterError(
                f"The lesson {lesson.key!r} has no scene, so it cannot be a file of its own. "
                f"Lessons with one: {', '.join(PICTURES)}."
            )
        scene = lambda dark: make(story, dark).drawn()  # noqa: E731
    content, facts = words(lesson), lesson.given | story.facts
    text = {name: fill(part, facts) for name, part in content.parts.items() if name != "formula"}
    guess = Guess(fill(content.question, lesson.given), content.options, story.answer, content.moral)
    problem = Problem(formula=content.parts["formula"])
    about_facts = (("Level", content.level), ("Data", DATA))
    about = About(content.title, about_facts, (problem,), link=link)
    sections = (
        ("", text["reveal"]),
        ("Why", text["why"]),
        ("What to look for", text["look"]),
        ("What it cannot tell", text["limits"]),
    )
    return scene_page(about, scene, guess=guess, words=sections)
