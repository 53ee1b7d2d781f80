"""What a lesson is: a seeded computation with one surprise, the answer to its question, and the facts its text speaks
of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

Tick = Callable[[int, int], Any]


def silent(done: int, total: int) -> None:
    """Report to nobody."""


class Story(Protocol):
    """What a lesson's computation gives back; each kind adds the arrays its pictures are drawn from."""

    @property
    def answer(self) -> str:
        """Key of the option that the result shows to be right."""

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text, by name."""


@dataclass(frozen=True)
class Lesson:
    """One lesson: its key, how many pieces its computation reports, the computation, and what is known before it.

    ``compute(tick, seed)`` calls ``tick(done, pieces)`` between pieces, which may raise to stop it. ``given`` are the
    figures of the set-up that the question may speak of; ``options`` the keys of the answers to choose from.

    A lesson added from elsewhere brings its ``words`` (a text in the form of those the app comes with), its
    ``picture(story, dark)``, a plotly figure, and ``opens``: the page it leads on to, with the parameters set there.
    """

    key: str
    pieces: int
    compute: Callable[..., Any]
    given: dict[str, str]
    options: tuple[str, ...]
    words: str = ""
    picture: Callable[[Any, bool], Any] | None = None
    opens: tuple[str, tuple[tuple[str, Any], ...]] = ("explore", ())
