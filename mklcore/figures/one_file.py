"""A path, several paths, hulls or a lesson as one HTML file, interactive without a server.

The file holds the players and everything they show. Nothing from a table becomes markup or script:
numbers and names are JSON in a block that browsers do not run, and texts are escaped. The policy at
the head of the file allows the one script and the one style sheet whose hashes it holds, and it
allows the browser to load nothing.
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
# The player at each place of a page. Sliders come last, after the players that follow them.
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
LEADERS = ("play", "lead", "hull")  # places with the slider of the page
_COLOUR = re.compile(r"#[0-9A-Fa-f]{6}|rgba\([0-9,. ]+\)")
_PIECE = re.compile(r"\$(?P<formula>[^$]+)\$|\*\*(?P<bold>.+?)\*\*", re.DOTALL)
_DARK = """ --st-text-color: #EDEDE8; --st-background-color: #171715;
  --st-secondary-background-color: #282825; --st-primary-color: #3288C0;
  --st-border-color: #55554F; --st-link-color: #7CC5EE; --st-blue-background-color: #14303F;
  --st-blue-text-color: #8ECDF0; --st-orange-background-color: #3D2D0E;
  --st-orange-text-color: #F2C46D; --st-gray-background-color: #33332F;
  --st-gray-text-color: #C8C8C0; color-scheme: dark; """


@dataclass(frozen=True)
class SolvedProblem:
    """A solved problem: its title where there are several, its formula in LaTeX, how to read it."""

    title: str = ""
    formula: str = ""
    look_for: str = ""
    cannot_tell: str = ""


@dataclass(frozen=True)
class About:
    """What a file says about itself.

    ``title``; ``facts`` (name, text) about the computation; the ``problems`` that were solved; the
    ``settings`` that open the same screen, as the end of the app's address; and the data's
    ``fingerprint``. The address itself is left out, because a file that is shared should not name
    a server.
    """

    title: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    problems: tuple[SolvedProblem, ...] = ()
    settings: str = ""
    fingerprint: str = ""


# The pages


def path_page(path: Any, about: About | None = None, **options: Any) -> str:
    """One HTML file in which a person moves along ``path`` offline; it holds no row of the table.

    The ``options`` ``index``, ``columns``, ``references`` and ``says`` are those of ``path_json``.
    """
    players = path_json(path, dark=False, **options)
    kind = "path" if "scores" in players else "path bare"
    if "say" in players:
        kind = "answer"
    views = ""
    for name in ("play", "say", "columns", "bars", "chart", "scores", "facts"):
        if name in players:
            views += place(name, name)
    count = len(path.kernel_names)
    summary = f"All {count} kernels at the cursor" if count > 1 else "The kernel at the cursor"
    about = _titled(about, f"Kernel weights along {captions.symbol(path.param)}")
    body = (
        f'<div class="views {kind}">{views}</div>'
        f"<details><summary>{summary}</summary>{place('all')}</details>{_more(about)}"
    )
    return page(about, body, lambda dark: path_json(path, dark=dark, **options))


def methods_page(
    paths: Mapping[str, Any],
    about: About | None = None,
    *,
    step: int | None = None,
) -> str:
    """One HTML file with several paths over the same kernels, by title, under one slider.

    The slider begins where the first method scores best, or at ``step``. Raises ``ParameterError``
    for no paths, for paths without points, and for paths over different kernels.
    """
    if not paths:
        raise ParameterError("There is no method to draw. Pass at least one path, by its title.")
    best = tuple(captions.checked(path, None) for path in paths.values())
    params = [path.param for path in paths.values()]
    slider = shared_slider(list(paths.values()), params)
    if step is not None and not 0 <= step < len(slider.values):
        raise ParameterError(
            f"The slider has steps 0 to {len(slider.values) - 1}; got the step {step}."
        )
    start = slider.nearest_to(best) if step is None else step
    methods = [MethodView(title, path) for title, path in paths.items()]
    about = _titled(about, "Kernel weights side by side")
    views = "".join(place(name, name) for name in ("lead", "chart", "methods"))
    body = f'<div class="side">{views}</div>{_more(about)}'
    return page(about, body, lambda dark: methods_json(methods, slider, dark=dark, step=start))


def hulls_page(
    path: Any,
    about: About | None = None,
    *,
    names: Sequence[str] | None = None,
    index: int | None = None,
    numbers: Sequence[int] | None = None,
    drawn: hulls.Drawn | None = None,
) -> str:
    """One HTML file in which a person moves along the hulls of ``path``, offline.

    ``names`` are those of the columns (p,), ``index`` is where the cursor begins. ``drawn`` holds
    layout and states where they are known already; the fitted models are not needed then.
    ``numbers`` (p,) are the columns' numbers in their table, from 1 on. Raises ``ParameterError``
    for a path without points or whose models have no hulls.
    """
    start = captions.checked(path, index)
    models = [model for model in path.estimators if model is not None]
    if drawn is None and not (models and all(hasattr(model, "hull_") for model in models)):
        raise ParameterError(
            "These models have no hulls. Fit a path of HKLClassifier or HKLRegressor over lam."
        )
    layout, states = hulls.drawn_along(path, names) if drawn is None else drawn
    about = _titled(about, "Hulls along λ")
    if models:
        every = hulls.kernel_count(models[0].n_dag_kernels_)
        visited = max(int(model.n_visited_on_path_) for model in models)
        count = ("Kernels in all", f"{every}, of which the search looked at {visited:,}")
        about = replace(about, facts=(*about.facts, count))
    columns = list(numbers or range(1, len(layout.variables) + 1))

    def players(dark: bool) -> dict[str, Any]:
        hull = hulls.hull_json(layout, states, columns, dark=dark)
        return {"hull": hull | {"index": start, "tells": True}}

    return page(about, place("hull", "hull") + _more(about), players)


def _titled(about: About | None, title: str) -> About:
    about = about or About()
    return about if about.title else replace(about, title=title)


def _more(about: About) -> str:
    return f'<div class="more"><div>{explanation(about)}</div></div>'


# The file


class Palette:
    """Pairs of a light and a dark colour, which become custom properties of the page."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str], str] = {}

    def themed(self, light: Any, dark: Any) -> Any:
        """``light`` with a custom property for every colour that is different in ``dark``."""
        if isinstance(light, dict):
            return {key: self.themed(value, dark[key]) for key, value in light.items()}
        if isinstance(light, list | tuple):
            return [self.themed(*pair) for pair in zip(light, dark, strict=True)]
        if light == dark or light != light:  # nan differs from itself
            return light
        if not all(isinstance(one, str) and _COLOUR.fullmatch(one) for one in (light, dark)):
            raise ParameterError(
                f"A page may differ between light and dark in its colours only, not in {light!r}."
            )
        return f"var({self._pairs.setdefault((light, dark), f'--c{len(self._pairs)}')})"

    def css(self) -> str:
        """The style sheet of both themes; the person's system or a switch selects the dark one."""
        light = ""
        dark = ""
        for (light_colour, dark_colour), name in self._pairs.items():
            light += f"{name}: {light_colour}; "
            dark += f"{name}: {dark_colour}; "
        return (
            f":root {{ {light}}}\n@media (prefers-color-scheme: dark) "
            f"{{ :root:not([data-theme=light]) {{{_DARK}{dark}}} }}\n"
            f":root[data-theme=dark] {{{_DARK}{dark}}}\n"
        )


def page(
    about: About,
    body: str,
    players: Callable[[bool], Mapping[str, Any]],
    *,
    moral: str = "",
    answer: str = "",
) -> str:
    """The text of the whole file.

    ``body`` is markup with an element for every place; ``players(dark)`` holds the JSON of each
    place. A lesson has a ``moral``, the part of its title that is shown after a person's guess, and
    the key of the right ``answer``.
    """
    palette = Palette()
    light = players(False)
    dark = players(True)
    mounts = []
    for name, player in PLACES.items():
        if name in light:
            data = palette.themed(light[name], dark[name])
            mounts.append({"player": player, "place": name, "data": data})
    sheet = text_of("shell.css") + palette.css()
    scripts = bundle(list(dict.fromkeys(mount["player"] for mount in mounts)))
    script = f"(() => {{\n{scripts}\n{text_of('shell.js')}}})();"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(sheet)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    hidden = f'<span id="moral" hidden>: {safe(moral)}</span>' if moral else ""
    data = as_json({"mounts": mounts, "answer": answer})
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="MKL Explorer"><link rel="icon" href="data:,">
<title>{safe(about.title)}</title>
<style>{sheet}</style></head>
<body><main>
<header><h1>{safe(about.title)}{hidden}</h1>
<button type="button" class="plain" id="theme">Dark</button></header>
<noscript><p>The picture moves with a script inside this file, which your browser does not run.</p>
</noscript>
{body}
{_foot(about)}
</main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script></body></html>
"""


def as_json(value: Any) -> str:
    """JSON that can stand inside an element of HTML: no character in it opens or closes markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def safe(text: object) -> str:
    """A text that HTML shows as it is, never as markup."""
    return html.escape(str(text), quote=True)


def place(name: str, area: str = "") -> str:
    """The element of one place on a page."""
    return f'<div id="{name}" class="{area}"{" data-leads" * (name in LEADERS)}></div>'


def explanation(about: About) -> str:
    """The problems that were solved, and how to read their pictures; "" where neither is known."""
    return "".join(_explained(problem) for problem in about.problems)


def _explained(problem: SolvedProblem) -> str:
    head = f"<h2>{safe(problem.title)}</h2>" if problem.title else ""
    formula = ""
    if problem.formula:
        formula = f'<div class="formula">{_mathml(problem.formula, "block")}</div>'
    notes = ""
    if problem.look_for:
        notes += f"<p><b>What to look for.</b> {safe(problem.look_for)}</p>"
    if problem.cannot_tell:
        notes += f"<p><b>What it cannot tell.</b> {safe(problem.cannot_tell)}</p>"
    return head + formula + (f'<div class="two">{notes}</div>' if notes else "")


def _foot(about: About) -> str:
    facts = [(name, safe(text)) for name, text in about.facts]
    if about.fingerprint:
        facts.append(("Fingerprint of the data", f"<code>{safe(about.fingerprint)}</code>"))
    if about.settings:
        link = f"<code>{safe(about.settings)}</code>, after the address of the app"
        facts.append(("The same screen", link))
    rows = "".join(f"<dt>{safe(name)}</dt><dd>{text}</dd>" for name, text in facts)
    return (
        f'<footer><dl>{rows}</dl><p class="quiet">{PROMISE} Arrow keys move the '
        "cursor.</p></footer>"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# Texts of lessons: of Markdown they may hold paragraphs, bold words and formulas between dollars


def markdown(text: str) -> str:
    """The text as paragraphs of HTML."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "".join(f"<p>{inline(part.strip())}</p>" for part in filter(None, paragraphs))


def _mathml(formula: str, display: str = "inline") -> str:
    converter = import_extra("latex2mathml.converter", "app", "Formulas in a page")
    markup: str = converter.convert(formula, display=display)
    return markup


def inline(text: str) -> str:
    """A line of text as HTML; it may hold bold words and formulas."""
    markup = ""
    end = 0
    for piece in _PIECE.finditer(text):
        markup += html.escape(text[end : piece.start()])
        end = piece.end()
        bold = piece["bold"]
        markup += _mathml(piece["formula"]) if bold is None else f"<b>{inline(bold)}</b>"
    return markup + html.escape(text[end:])
