"""Players: figures and tables that move with a slider in the browser, without a word from a server.

A player is HTML, CSS and one ES module, whose default export is called with ``{parentElement, data,
setStateValue}``: the element that holds the HTML, everything the slider can show, and whom to tell
where it came to rest. Streamlit mounts it as a component; a page of its own calls it with a
function that does nothing. Colours and type come from the custom properties ``--st-text-color``,
``--st-background-color``, ``--st-primary-color``, ``--st-border-color``, ``--st-font``.

    elements, slider, cursor, axes       what players share: one slider, and one cursor over figures
    marks                                marks of a picture that are chosen by a click or by keys alone
    path, bars, texts                    a slider along a path; bars and texts that follow it from elsewhere on the page
    chart                                panels of lines and bars
    compare, methods                     one slider over several paths, and the table that follows it
    hull                                 hulls along lambda
    norms, playground                    a solver in the browser, and a truth that one makes for it
    shell                                the page around players that stand alone
    bridge, widget.py                    a path in a notebook whose cursor Python follows
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from mklcore.errors import ParameterError

# Player -> the scripts and style sheets in front of its own, without their endings.
PLAYERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "path": (("elements", "slider", "cursor"), ("slider",)),
    "bars": (("elements", "cursor"), ("rows",)),
    "texts": (("elements", "cursor"), ()),
    "compare": (("elements", "slider", "cursor"), ("slider",)),
    "methods": (("elements", "cursor"), ("rows",)),
    "hull": (("elements", "slider", "marks"), ("slider", "rows")),
    "chart": (("elements", "cursor", "axes"), ()),
    "playground": (("elements", "norms"), ("slider",)),
}
# in the order in which they depend on each other
SHARED = ("elements", "norms", "slider", "cursor", "axes", "marks")


class Player(NamedTuple):
    """The three texts of a player: ``js`` is one ES module with a default export."""

    html: str
    css: str
    js: str


@cache
def player(name: str) -> Player:
    """The texts of the player called ``name``, one of ``PLAYERS``; ParameterError for any other."""
    if name not in PLAYERS:
        raise ParameterError(f"There is no player {name!r}. Players: {', '.join(PLAYERS)}.")
    scripts, styles = PLAYERS[name]
    css = "".join(text_of(f"{part}.css") for part in (*styles, name))
    return Player(
        text_of(f"{name}.html"), css, "\n".join(text_of(f"{part}.js") for part in (*scripts, name))
    )


def bundle(names: Sequence[str]) -> str:
    """Several players as one script for a page of its own: what they share once, then an object
    ``PLAYERS`` by their names, each with its ``html``, its ``css`` and the function ``play``.
    """
    wanted = {part for name in names for part in PLAYERS[name][0]}
    parts = [text_of(f"{part}.js") for part in SHARED if part in wanted]
    parts.append("const PLAYERS = {};")
    for name in names:
        script = text_of(f"{name}.js").replace("export default function", "return function")
        page = f"html: {json.dumps(player(name).html)}, css: {json.dumps(player(name).css)}"
        parts.append(f"PLAYERS[{json.dumps(name)}] = {{ {page}, play: (() => {{\n{script}}})() }};")
    return "\n".join(parts)


def text_of(file: str) -> str:
    """The text of one of the files beside this one."""
    return files(__name__).joinpath(file).read_text(encoding="utf-8")
