"""Lessons and sample paths as static pages with an index: a course site without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path as File

from mklcore.data.samples import SAMPLES, load_sample
from mklcore.errors import ParameterError
from mklcore.exploration import explore
from mklcore.figures.takeaway.page import About, page, safe
from mklcore.lessons import LESSONS
from mklcore.lessons.page import lesson_page
from mklcore.lessons.pictures import PICTURES
from mklcore.lessons.words import words

INDEX = "index.html"
TITLE = "Lessons about kernels"
Card = tuple[str, str, str, str]  # title, what it is, one line, file


def names() -> tuple[str, ...]:
    """What a site can hold: every lesson with a scene, and every sample with a target."""
    paths = [name for name, sample in SAMPLES.items() if sample.task != "novelty"]
    return (*(key for key in LESSONS if key in PICTURES), *paths)


def write_site(
    folder: str | File, wanted: Iterable[str] | None = None, tell: Callable[[str], object] = print
) -> tuple[File, ...]:
    """Write the pages of ``wanted``, all of ``names()`` without it, and their index into ``folder``; returns the files.

    Every page is whole in itself, asks no server for anything and leads to its neighbours; everything is computed anew,
    from fixed seeds. ``tell`` is called with one line per file. Raises ``ParameterError`` for a name that is none of
    them.
    """
    asked = tuple(dict.fromkeys(names() if wanted is None else wanted))
    strange = [name for name in asked if name not in names()]
    if strange or not asked:
        raise ParameterError(f"A site is made of {', '.join(names())}; got {', '.join(strange) or 'no name'}.")
    place = File(folder)
    place.mkdir(parents=True, exist_ok=True)
    cards = [_card(name) for name in asked]
    made = []
    for k, (name, card) in enumerate(zip(asked, cards, strict=True)):
        text = _lesson(name, _ways(cards, k)) if name in LESSONS else _path(name, _ways(cards, k))
        made.append(_written(place / card[3], text, tell))
    return (*made, _written(place / INDEX, _index(cards), tell))


def _written(file: File, text: str, tell: Callable[[str], object]) -> File:
    file.write_text(text, encoding="utf-8")
    tell(f"{file.name}: {len(text.encode()) / 1024:.0f} kB")
    return file


def _card(name: str) -> Card:
    if name in LESSONS:
        text = words(LESSONS[name])
        return text.title, text.level, text.line, f"lesson_{name}.html"
    return SAMPLES[name].label, "A path to drag", SAMPLES[name].teaches, f"path_{name}.html"


def _ways(cards: list[Card], here: int) -> tuple[tuple[str, str], ...]:
    """The index, and the pages before and after the one at ``here``."""
    near = [("Before", here - 1), ("Next", here + 1)]
    beside = [(f"{way}: {cards[k][0]}", cards[k][3]) for way, k in near if 0 <= k < len(cards)]
    return (("All pages", INDEX), *beside)


def _lesson(key: str, nearby: tuple[tuple[str, str], ...]) -> str:
    return lesson_page(LESSONS[key], LESSONS[key].compute(), nearby=nearby)


def _path(name: str, nearby: tuple[tuple[str, str], ...]) -> str:
    sample = SAMPLES[name]
    data = load_sample(name)
    described = About(sample.label, (("What it teaches", sample.teaches),), fingerprint=data.fingerprint, nearby=nearby)
    return explore(data).page(described)


def _index(cards: list[Card]) -> str:
    lessons = [card for card in cards if card[3].startswith("lesson_")]
    paths = [card for card in cards if card not in lessons]
    return page(
        About(TITLE), "".join([*_listed("Guess, then see", lessons), *_listed("Paths to drag", paths)]), _nothing
    )


def _nothing(dark: bool) -> tuple[()]:
    return ()


def _listed(title: str, cards: list[Card]) -> Iterator[str]:
    if cards:
        items = "".join(
            f'<li><a href="{safe(file)}">{safe(name)}</a><p class="quiet">{safe(kind)}</p><p>{safe(line)}</p></li>'
            for name, kind, line, file in cards
        )
        yield f'<h2>{safe(title)}</h2><ul class="cards">{items}</ul>'
