"""A scene as one file: a lesson's question, the guess, and the picture that a slider leads through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mklcore.figures.takeaway.page import About, Mount, explanation, page, place, safe
from mklcore.figures.takeaway.words import inline, markdown


@dataclass(frozen=True)
class Guess:
    """What a person is asked before the picture is shown: ``options`` by key, the key of the ``answer``, and the
    ``moral`` that ends the title once it is stated.
    """

    question: str
    options: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    moral: str = ""


def scene_page(
    about: About,
    scene: Callable[[bool], Mapping[str, Any]],
    *,
    guess: Guess | None = None,
    words: Sequence[tuple[str, str]] = (),
) -> str:
    """One HTML file with a scene, offline; ``scene(dark)`` is it as ``Scene.drawn`` tells it.

    With a ``guess`` the picture and the ``words`` under it, (heading, Markdown), show once a person has chosen an
    option.
    """
    prose = "".join(f"{f'<h2>{safe(head)}</h2>' if head else ''}{markdown(text)}" for head, text in words if text)
    body = f'{place("scene", "scene", leads=True)}<div class="telling">{prose}</div>{explanation(about)}'
    if guess is not None:
        options = "".join(
            f'<button type="button" data-option="{safe(key)}" aria-pressed="false"><span>{inline(text)}</span></button>'
            for key, text in guess.options.items()
        )
        body = (
            f'<div class="telling">{markdown(guess.question)}</div><div id="guess" role="group" aria-label="Your '
            f'guess">'
            f'{options}</div><p id="verdict" role="status"></p><div id="solution" hidden>{body}</div>'
        )
    moral, answer = ("", "") if guess is None else (guess.moral, guess.answer)
    return page(about, body, lambda dark: [_mount(scene(dark))], moral=moral, answer=answer)


def _mount(drawn: Mapping[str, Any]) -> Mount:
    shown = {name: drawn[name] for name in ("steps", "said", "panels")}
    return Mount("lesson", "scene", {**shown, "lesson": "", "index": drawn["start"], "turn": 1})
