"""One file that moves: a path, several, hulls or a lesson as one HTML file that keeps moving
without a server.

Players, their numbers and words in one text. Nothing that came from a table is ever markup or
script: numbers and names are JSON in a block that no browser runs, texts are escaped. The policy at
the head of the file lets the browser run the one script and use the one style sheet whose hashes it
holds, and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mklcore._lazy import import_extra
from mklcore.errors import ParameterError
from mklcore.figures import captions, hulls
from mklcore.figures.player_data import MethodView, methods_json, path_json, shared_slider
from mklcore.figures.players import bundle, text_of

PROMISE = (
    "The rows of the table are not in this file, only what is drawn here, and it asks no "
    "server for anything."
)
# The player at each place of a page; sliders come last, when what they lead is there.
PLACES = {
    "chart": "chart",
    "scores": "chart",
    "bars": "bars",
    "all": "bars",
    "columns": "bars",
    "say": "texts",
    "facts": "texts",
    "methods": "methods",
    "hull": "hull",
    "play": "path",
    "lead": "compare",
}
LEADERS = ("play", "lead", "hull")  # they hold the page's slider
_COLOUR = re.compile(r"#[0-9A-Fa-f]{6}|rgba\([0-9,. ]+\)")
_PIECE = re.compile(r"\$(?P<formula>[^$]+)\$|\*\*(?P<bold>.+?)\*\*", re.DOTALL)
_DARK = """ --st-text-color: #EDEDE8; --st-background-color: #171715; --st-secondary-background-color: #282825;
  --st-primary-color: #3288C0; --st-border-color: #55554F; --st-link-color: #7CC5EE;
  --st-blue-background-color: #14303F;
  --st-blue-text-color: #8ECDF0; --st-orange-background-color: #3D2D0E; --st-orange-text-color: #F2C46D;
  --st-gray-background-color: #33332F; --st-gray-text-color: #C8C8C0; color-scheme: dark; """


@dataclass(frozen=True)
class SolvedProblem:
    """A problem that is solved: its ``title`` where there are several, its ``formula`` in LaTeX,
    and how to read its answer.
    """

    title: str = ""
    formula: str = ""
    look_for: str = ""
    cannot_tell: str = ""


@dataclass(frozen=True)
class About:
    """What a file tells of itself: ``title``; ``facts`` (name, text) about what was computed; the
    ``problems`` that were solved; the ``settings`` that open the same screen as the end of the
    app's address, and the data's ``fingerprint``. The address itself is not written: a file that is
    passed on names no server.
    """

    title: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    problems: tuple[SolvedProblem, ...] = ()
    settings: str = ""
    fingerprint: str = ""


# What there is to take along


def path_page(path: Any, about: About | None = None, **shown: Any) -> str:
    """One HTML file in which a person drags along ``path``, offline: everything drawn is inside,
    and no row of the table.

    ``index``, ``columns``, ``references`` and ``says`` are those of ``path_json``.
    """
    there = path_json(path, dark=False, **shown)
    kind = "answer" if "say" in there else "path" if "scores" in there else "path bare"
    every = (
        f"<details><summary>All {len(path.kernel_names)} kernels at the "
        f"cursor</summary>{place('all')}</details>"
    )
    views = [
        name
        for name in ("play", "say", "columns", "bars", "chart", "scores", "facts")
        if name in there
    ]
    described = _titled(about, f"Kernel weights along {captions.symbol(path.param)}")
    body = (
        f'<div class="views {kind}">{"".join(place(name, name) for name in views)}</div>{every}'
        f'<div class="more"><div>{explanation(described)}</div></div>'
    )
    return page(described, body, lambda dark: path_json(path, dark=dark, **shown))


def methods_page(
    paths: Mapping[str, Any],
    about: About | None = None,
    *,
    step: int | None = None,
) -> str:
    """One HTML file with several paths over the same kernels side by side, by their titles, led by
    one slider, offline.

    The slider begins where the first method scores best, or at ``step``. Raises ``ParameterError``
    for no paths, and for paths without points or over different kernels.
    """
    if not paths:
        raise ParameterError(
            "There is no method to draw. Hand over at least one path, by its title."
        )
    best = tuple(captions.checked(path, None) for path in paths.values())
    found = shared_slider(list(paths.values()), [path.param for path in paths.values()])
    if step is not None and not 0 <= step < len(found.values):
        raise ParameterError(
            f"The slider has steps 0 to {len(found.values) - 1}; got the step {step}."
        )
    start = found.nearest_to(best) if step is None else step
    methods = [MethodView(title, path) for title, path in paths.items()]
    described = _titled(about, "Kernel weights side by side")
    views = "".join(place(name, name) for name in ("lead", "chart", "methods"))
    body = (
        f'<div class="side">{views}</div><div '
        f'class="more"><div>{explanation(described)}</div></div>'
    )
    return page(described, body, lambda dark: methods_json(methods, found, dark=dark, step=start))


def hulls_page(
    path: Any,
    about: About | None = None,
    *,
    names: Sequence[str] | None = None,
    index: int | None = None,
    numbers: Sequence[int] | None = None,
    drawn: hulls.Drawn | None = None,
) -> str:
    """One HTML file in which a person walks through the hulls of ``path``, offline.

    ``names`` are those of the columns (p,), ``index`` where the cursor begins. ``drawn`` are layout
    and states where they were made before; then no fitted model is asked. ``numbers`` (p,) are the
    columns' numbers in their table, from 1 on. Raises ``ParameterError`` for a path without points
    or whose models have no hulls.
    """
    start = captions.checked(path, index)
    models = [model for model in path.estimators if model is not None]
    if drawn is None and not (models and all(hasattr(model, "hull_") for model in models)):
        raise ParameterError(
            "These models have no hulls. Fit a path of HKLClassifier or HKLRegressor over lam."
        )
    layout, states = hulls.drawn_along(path, names) if drawn is None else drawn
    described = _titled(about, "Hulls along λ")
    if models:
        every = hulls.kernel_count(models[0].n_dag_kernels_)
        visited = max(int(model.n_visited_on_path_) for model in models)
        counts = ("Kernels in all", f"{every}, of which the search looked at {visited:,}")
        described = replace(described, facts=(*described.facts, counts))
    body = f'{place("hull", "hull")}<div class="more"><div>{explanation(described)}</div></div>'
    which = list(numbers or range(1, len(layout.variables) + 1))
    more = {"index": start, "tells": True}
    return page(
        described,
        body,
        lambda dark: {"hull": hulls.hull_json(layout, states, which, dark=dark) | more},
    )


def _titled(about: About | None, title: str) -> About:
    described = about or About()
    return described if described.title else replace(described, title=title)


# The file


class Palette:
    """Colours that have a light and a dark side, as custom properties of the page."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str], str] = {}

    def themed(self, light: Any, dark: Any) -> Any:
        """``light`` with every colour that ``dark`` has another of in its place replaced by one
        that knows both.
        """
        if isinstance(light, dict):
            return {key: self.themed(value, dark[key]) for key, value in light.items()}
        if isinstance(light, list | tuple):
            return [self.themed(one, other) for one, other in zip(light, dark, strict=True)]
        if light == dark or light != light:
            return light
        if not (
            isinstance(light, str) and _COLOUR.fullmatch(light) and _COLOUR.fullmatch(str(dark))
        ):
            raise ParameterError(
                f"A page may differ between light and dark in its colours only, not in {light!r}."
            )
        return f"var({self._pairs.setdefault((light, dark), f'--c{len(self._pairs)}')})"

    def css(self) -> str:
        """The style sheet of both themes; the dark one where the person's system or the page's
        switch asks for it.
        """
        light, dark = (
            "".join(f"{name}: {pair[k]}; " for pair, name in self._pairs.items()) for k in (0, 1)
        )
        return (
            f":root {{ {light}}}\n@media (prefers-color-scheme: dark) "
            f"{{ :root:not([data-theme=light]) {{{_DARK}{dark}}} }}\n"
            f":root[data-theme=dark] {{{_DARK}{dark}}}\n"
        )


def page(
    about: About,
    body: str,
    shown: Callable[[bool], Mapping[str, Any]],
    *,
    moral: str = "",
    answer: str = "",
) -> str:
    """The whole file.

    ``body`` is markup of ours with an element for every place; ``shown(dark)`` is what stands
    there.

    A lesson has a ``moral``, the part of its title that is stated once a person has guessed, and
    the key of the ``answer``.
    """
    palette = Palette()
    light = shown(False)
    dark = shown(True)
    there = [name for name in PLACES if name in light]
    mounts = [
        {"player": PLACES[name], "place": name, "data": palette.themed(light[name], dark[name])}
        for name in there
    ]
    sheet = text_of("shell.css") + palette.css()
    players = list(dict.fromkeys(PLACES[name] for name in there))
    script = f"(() => {{\n{bundle(players)}\n{text_of('shell.js')}}})();"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(sheet)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    hidden = f'<span id="moral" hidden>: {safe(moral)}</span>' if moral else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" '
        'content="no-referrer">\n<meta name="generator" content="MKL Explorer"><link rel="icon" href="data:,">\n'
        f"<title>{safe(about.title)}</title>\n<style>{sheet}</style></head>\n<body><main>\n"
        f'<header><h1>{safe(about.title)}{hidden}</h1><button type="button" class="plain" id="theme">Dark</button>'
        "</header><noscript><p>The picture moves with a script inside this file; your browser does not run it.</p>"
        f"</noscript>\n{body}\n{_foot(about)}\n</main>\n"
        f'<script type="application/json" id="data">{as_json({"mounts": mounts, "answer": answer})}</script>\n'
        f"<script>{script}</script></body></html>\n"
    )


def as_json(value: Any) -> str:
    """JSON that can stand inside an element of HTML whatever its texts say: no sign in it opens or
    closes markup.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def safe(text: object) -> str:
    """A text as HTML shows it, never as markup."""
    return html.escape(str(text), quote=True)


def place(name: str, area: str = "") -> str:
    """The element of one place."""
    return f'<div id="{name}" class="{area}"{" data-leads" * (name in LEADERS)}></div>'


def explanation(about: About) -> str:
    """The problems that are solved, and how to read their pictures; nothing where neither is known."""
    return "".join(_explained(problem) for problem in about.problems)


def _explained(problem: SolvedProblem) -> str:
    head = f"<h2>{safe(problem.title)}</h2>" if problem.title else ""
    formula = (
        f'<div class="formula">{_mathml(problem.formula, "block")}</div>' if problem.formula else ""
    )
    notes = (("What to look for.", problem.look_for), ("What it cannot tell.", problem.cannot_tell))
    paragraphs = "".join(f"<p><b>{name}</b> {safe(text)}</p>" for name, text in notes if text)
    return "".join([head, formula, f'<div class="two">{paragraphs}</div>' if paragraphs else ""])


def _foot(about: About) -> str:
    facts = [(name, safe(text)) for name, text in about.facts]
    if about.fingerprint:
        facts.append(("Fingerprint of the data", f"<code>{safe(about.fingerprint)}</code>"))
    if about.settings:
        facts.append(
            (
                "The same screen",
                f"<code>{safe(about.settings)}</code>, after the address of the app",
            )
        )
    rows = "".join(f"<dt>{safe(name)}</dt><dd>{text}</dd>" for name, text in facts)
    return (
        f'<footer><dl>{rows}</dl><p class="quiet">{PROMISE} Arrow keys move the '
        "cursor.</p></footer>"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# Texts of ours in Markdown: paragraphs, bold words and formulas between dollars; everything else
# stays text


def markdown(text: str) -> str:
    """The text as paragraphs of HTML."""
    return "".join(
        f"<p>{inline(part.strip())}</p>" for part in re.split(r"\n\s*\n", text) if part.strip()
    )


def _mathml(formula: str, display: str = "inline") -> str:
    converter = import_extra("latex2mathml.converter", "app", "Formulas in a page")
    markup: str = converter.convert(formula, display=display)
    return markup


def inline(text: str) -> str:
    """The text within one line."""
    parts = []
    at = 0
    for found in _PIECE.finditer(text):
        parts.append(html.escape(text[at : found.start()]))
        at = found.end()
        bold = found["bold"]
        parts.append(_mathml(found["formula"]) if bold is None else f"<b>{inline(bold)}</b>")
    return "".join([*parts, html.escape(text[at:])])
