"""Players: figures and tables that follow a slider in the browser, without asking a server.

A player is HTML, CSS and one ES module. Its default export is called with ``{parentElement, data,
setStateValue}``: the element that holds the HTML, everything the slider can show, and a function
that receives the position where the cursor was released. Streamlit mounts a player as a component;
a page of one file calls it with a function that does nothing. Colours and type come from the custom
properties ``--st-text-color``, ``--st-background-color``, ``--st-primary-color``,
``--st-border-color`` and ``--st-font``.

    elements, slider, cursor, axes  shared parts: a slider, and a cursor over figures
    marks                           marks of a picture, selected with a click or with the keyboard
    path, bars, texts               a slider along a path, and bars and texts that follow it
    chart                           panels of lines and bars
    compare, methods                a slider over several paths, and the table that follows it
    hull                            hulls along lambda
    norms, playground               a solver in the browser, and data that a person makes for it
    shell                           the page around players without a server
    bridge, widget.py               a path in a notebook whose cursor Python can read and move
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

# The scripts and the style sheets before those of each player, without their endings.
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
# In the order in which they depend on each other.
SHARED = ("elements", "norms", "slider", "cursor", "axes", "marks")


class Player(NamedTuple):
    """The three texts of a player: ``js`` is one ES module with a default export."""

    html: str
    css: str
    js: str


@cache
def player(name: str) -> Player:
    """The texts of the player ``name``."""
    scripts, styles = PLAYERS[name]
    css = "".join(text_of(f"{part}.css") for part in (*styles, name))
    js = "\n".join(text_of(f"{part}.js") for part in (*scripts, name))
    return Player(text_of(f"{name}.html"), css, js)


def bundle(names: Sequence[str]) -> str:
    """Several players as one script: their shared parts once, then an object ``PLAYERS``.

    It holds for every name the ``html``, the ``css`` and the function ``play``.
    """
    wanted = set[str]().union(*(PLAYERS[name][0] for name in names))
    parts = [text_of(f"{part}.js") for part in SHARED if part in wanted]
    parts.append("const PLAYERS = {};")
    for name in names:
        script = text_of(f"{name}.js").replace("export default function", "return function")
        page = f"html: {json.dumps(player(name).html)}, css: {json.dumps(player(name).css)}"
        parts.append(f"PLAYERS[{json.dumps(name)}] = {{ {page}, play: (() => {{\n{script}}})() }};")
    return "\n".join(parts)


def text_of(file: str, package: str = __name__) -> str:
    """The text of a file in this folder, or in that of another package."""
    return files(package).joinpath(file).read_text(encoding="utf-8")
