"""Texts of ours in Markdown as HTML: paragraphs, bold words and formulas between dollars; everything else stays
text.
"""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

_PIECE = re.compile(r"\$(?P<formula>[^$]+)\$|\*\*(?P<bold>.+?)\*\*", re.DOTALL)


def markdown(text: str) -> str:
    """The text as paragraphs of HTML."""
    return "".join(f"<p>{inline(part.strip())}</p>" for part in re.split(r"\n\s*\n", text) if part.strip())


def inline(text: str) -> str:
    """The text within one line."""
    parts, at = [], 0
    for found in _PIECE.finditer(text):
        parts.append(html.escape(text[at : found.start()]))
        at = found.end()
        bold = found["bold"]
        parts.append(convert(found["formula"]) if bold is None else f"<b>{inline(bold)}</b>")
    return "".join([*parts, html.escape(text[at:])])
