"""Docstrings as the site shows them: numpydoc sections as lists, short ones as text and code."""

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^([A-Za-z_][\w, ]*) : ", re.MULTILINE)
# to the next empty line, as doctest reads it
EXAMPLE = re.compile(r"^>>> .*(?:\n.*\S.*)*", re.MULTILINE)


def as_markdown(text: str) -> str:
    """The docstring with ``name : meaning`` lines as list entries, and its examples as blocks of
    code.

    Markdown would read ``>>>`` as quotations, and ``x[0][0]`` as a reference that no page has.
    """
    shown = []
    end = 0
    for example in EXAMPLE.finditer(text):
        shown += [_prose(text[end : example.start()]), f"\n```pycon\n{example[0]}\n```\n"]
        end = example.end()
    return "".join([*shown, _prose(text[end:])])


def _prose(text: str) -> str:
    text = SECTION.sub(lambda found: f"\n**{found[1]}**\n\n", text)
    return ENTRY.sub(
        lambda found: "- " + ", ".join(f"`{name.strip()}`" for name in found[1].split(",")) + ": ",
        text,
    )


class Entries(griffe.Extension):
    """Rewrite every docstring once, when its object has been read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Write what is no section of numpydoc as Markdown."""
        # numpydoc's sections are read by its own parser
        if obj.docstring and not SECTION.search(obj.docstring.value):
            obj.docstring.value = as_markdown(obj.docstring.value)
