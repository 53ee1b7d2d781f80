"""Docstrings as the site shows them: sections in bold, and one list entry per parameter."""

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^([A-Za-z_][\w, ]*) : ", re.MULTILINE)


def as_markdown(text: str) -> str:
    """The docstring with ``name : meaning`` lines as list entries."""
    text = SECTION.sub(lambda found: f"\n**{found[1]}**\n\n", text)
    return ENTRY.sub(lambda found: "- " + ", ".join(f"`{name.strip()}`" for name in found[1].split(",")) + ": ", text)


class Entries(griffe.Extension):
    """Rewrite every docstring once, when its object has been read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
