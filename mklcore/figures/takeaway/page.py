"""One file that keeps moving: players, their numbers and words in a page that asks no server for anything.

Nothing that came from a table is ever markup or script: numbers and names are JSON in a block that no browser runs,
texts are escaped. The policy at the head of the file lets the browser run the one script and use the one style sheet
whose hashes it holds, and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from latex2mathml.converter import convert

from mklcore.errors import ParameterError
from mklcore.figures.players import bundle

GENERATOR = "MKL Explorer"
PROMISE = "The rows of the table are not in this file, only what is drawn here, and it asks no server for anything."
_COLOUR = re.compile(r"#[0-9A-Fa-f]{6}|rgba\([0-9,. ]+\)")
_DARK = """ --st-text-color: #EDEDE8; --st-background-color: #171715; --st-secondary-background-color: #282825;
  --st-primary-color: #3288C0; --st-border-color: #55554F; --st-link-color: #7CC5EE;
  --st-blue-background-color: #14303F;
  --st-blue-text-color: #8ECDF0; --st-orange-background-color: #3D2D0E; --st-orange-text-color: #F2C46D;
  --st-gray-background-color: #33332F; --st-gray-text-color: #C8C8C0; color-scheme: dark; """


@dataclass(frozen=True)
class Problem:
    """A problem that is solved: its ``title`` where there are several, its ``formula`` in LaTeX, and how to read its
    answer.
    """

    title: str = ""
    formula: str = ""
    look_for: str = ""
    cannot_tell: str = ""


@dataclass(frozen=True)
class About:
    """What a file tells of itself: ``title``; ``facts`` (name, text) about what was computed; the ``problems`` that
    were solved; the ``link`` that opens the same screen, and the data's ``fingerprint``.
    """

    title: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()
    link: str = ""
    fingerprint: str = ""


@dataclass(frozen=True)
class Mount:
    """A player on the page: its name, the id of its element, what it shows; ``leads`` where it holds the page's
    slider.
    """

    player: str
    place: str
    data: dict[str, Any]
    leads: bool = False


class Palette:
    """Colours that have a light and a dark side, as custom properties of the page."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str], str] = {}

    def themed(self, light: Any, dark: Any) -> Any:
        """``light`` with every colour that ``dark`` has another of in its place replaced by one that knows both."""
        if isinstance(light, dict):
            return {key: self.themed(value, dark[key]) for key, value in light.items()}
        if isinstance(light, list | tuple):
            return [self.themed(one, other) for one, other in zip(light, dark, strict=True)]
        if light == dark or light != light:
            return light
        if not (isinstance(light, str) and _COLOUR.fullmatch(light) and _COLOUR.fullmatch(str(dark))):
            raise ParameterError(f"A page may differ between light and dark in its colours only, not in {light!r}.")
        return f"var({self._pairs.setdefault((light, dark), f'--c{len(self._pairs)}')})"

    def css(self) -> str:
        """The style sheet of both themes; the dark one where the person's system or the page's switch asks for it."""
        light, dark = ("".join(f"{name}: {pair[k]}; " for pair, name in self._pairs.items()) for k in (0, 1))
        return (
            f":root {{ {light}}}\n@media (prefers-color-scheme: dark) "
            f"{{ :root:not([data-theme=light]) {{{_DARK}{dark}}} }}\n"
            f":root[data-theme=dark] {{{_DARK}{dark}}}\n"
        )


def page(
    about: About, body: str, mounts: Callable[[bool], Sequence[Mount]], *, moral: str = "", answer: str = ""
) -> str:
    """The whole file. ``body`` is markup of ours with an element for every mount; ``mounts(dark)`` are the players.

    A lesson has a ``moral``, the part of its title that is stated once a person has guessed, and the key of the
    ``answer``.
    """
    palette, light, dark = Palette(), mounts(False), mounts(True)
    played = [
        {"player": one.player, "place": one.place, "data": palette.themed(one.data, other.data)}
        for one, other in zip(light, dark, strict=True)
    ]
    data = {"mounts": played, "answer": answer}
    style = _text("shell.css") + palette.css()
    names = list(dict.fromkeys(one.player for one in light))
    script = f"(() => {{\n{bundle(names)}\n{_text('shell.js')}}})();"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" '
        'content="no-referrer">\n'
        f'<meta name="generator" content="{GENERATOR}"><link rel="icon" href="data:,">\n'
        f"<title>{safe(about.title)}</title>\n<style>{style}</style></head>\n<body><main>\n{_head(about, moral)}\n{body}\n"  # noqa: E501
        f'{_foot(about, bool(played))}\n</main>\n<script type="application/json" id="data">{as_json(data)}</script>\n'
        f"<script>{script}</script></body></html>\n"
    )


def as_json(value: Any) -> str:
    """JSON that can stand inside an element of HTML whatever its texts say: no sign in it opens or closes markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def safe(text: object) -> str:
    """A text as HTML shows it, never as markup."""
    return html.escape(str(text), quote=True)


def place(name: str, area: str = "", *, leads: bool = False) -> str:
    """The element of one mount."""
    return f'<div id="{name}" class="{area}"{" data-leads" * leads}></div>'


def explanation(about: About) -> str:
    """The problems that are solved, and how to read their pictures; nothing where neither is known."""
    return "".join(_explained(problem) for problem in about.problems)


def _explained(problem: Problem) -> str:
    head = f"<h2>{safe(problem.title)}</h2>" if problem.title else ""
    formula = f'<div class="formula">{convert(problem.formula, display="block")}</div>' if problem.formula else ""
    words = (("What to look for.", problem.look_for), ("What it cannot tell.", problem.cannot_tell))
    paragraphs = "".join(f"<p><b>{name}</b> {safe(text)}</p>" for name, text in words if text)
    return "".join([head, formula, f'<div class="two">{paragraphs}</div>' if paragraphs else ""])


def _head(about: About, moral: str) -> str:
    hidden = f'<span id="moral" hidden>: {safe(moral)}</span>' if moral else ""
    return (
        f'<header><h1>{safe(about.title)}{hidden}</h1><button type="button" class="plain" '
        f'id="theme">Dark</button></header>'
        "<noscript><p>The picture moves with a script inside this file; your browser does not run it.</p></noscript>"
    )


def _foot(about: About, moves: bool) -> str:
    facts = [(name, safe(text)) for name, text in about.facts]
    if about.fingerprint:
        facts.append(("Fingerprint of the data", f"<code>{safe(about.fingerprint)}</code>"))
    if re.match(r"https?://", about.link):
        facts.append(("The same screen", f'<a href="{safe(about.link)}" rel="noreferrer">{safe(about.link)}</a>'))
    rows = "".join(f"<dt>{safe(name)}</dt><dd>{text}</dd>" for name, text in facts)
    keys = " Arrow keys move the cursor." if moves else ""
    return f'<footer><dl>{rows}</dl><p class="quiet">{PROMISE}{keys}</p></footer>'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
