"""What the site takes from the library itself: formulas, words and options of a method, so that
none is typed twice.

A line ``{{ formula lp }}``, ``{{ words lp }}`` or ``{{ options lp }}`` in a page is replaced from
``ESTIMATORS``, a line ``{{ example sparse_or_not }}`` from the script of the gallery with that
name. Published numbers are in a page of their own, which ``docs.replication`` writes.
"""

import ast
import html
import json
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from latex2mathml.converter import convert

from mklcore.gallery.lessons import LESSONS
from mklcore.io.catalog import ESTIMATORS, Control

GALLERY = Path(__file__).parent / "gallery"
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
MATHEMATICS = re.compile(r"\$\$(?P<block>.+?)\$\$|\$(?P<line>[^$]+?)\$", re.DOTALL)
ASKED = re.compile(r"^\{\{ (\w+) (\w+) \}\}$", re.MULTILINE)


def formula(key: str) -> str:
    """The problem the method solves, as MathML."""
    return f"<p>{convert(ESTIMATORS[key].formula, display='block')}</p>"


def words(key: str) -> str:
    """What the method does, what to look for and what it cannot tell."""
    method = ESTIMATORS[key]
    return (
        f"{method.one_line}\n\n**What to look for.** {method.look_for}\n\n**What it cannot "
        f"tell.** {method.cannot_tell}"
    )


def options(key: str) -> str:
    """The controls of the method as a table."""
    rows = [
        f"| `{c.name}` | {_range(c)} | {_value(c.default)} | {html.escape(c.help)} |"
        for c in ESTIMATORS[key].controls
    ]
    return "\n".join(
        ["| option | values | usual | what moving it does |", "|---|---|---|---|", *rows]
    )


def _range(control: Control) -> str:
    if control.kind == "choice":
        return ", ".join(f"`{name}`" for name in control.choices)
    if control.kind == "flag":
        return "yes or no"
    return "1 to ∞" if control.kind == "p" else f"{control.low:g} to {control.high:g}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "∞" if math.isinf(value) else f"{value:g}"
    return str(value)


def table_row(cells: Iterable[str]) -> str:
    """A row of a table in Markdown, whatever its cells hold."""
    return f"| {' | '.join(html.escape(cell).replace('|', '&#124;') for cell in cells)} |"


def example(key: str) -> str:
    """Title, text, picture and code of an example of the gallery."""
    source = (GALLERY / f"{key}.py").read_text(encoding="utf-8")
    title, text = (ast.get_docstring(ast.parse(source)) or "").split("\n", 1)
    alt = json.loads((GALLERY / "pictures" / "alts.json").read_text(encoding="utf-8"))[key]
    code = source.split('"""\n', 1)[1].strip()
    picture = f"![{html.escape(alt)}](pictures/{key}.svg)"
    return f"### {title}\n\n{text.strip()}\n\n{picture}\n\n```python\n{code}\n```"


def lessons(_key: str) -> str:
    """A row of every lesson: title, level, question, and the section that says what its picture
    shows.
    """
    rows = []
    for lesson in LESSONS.values():
        shown = re.sub(r"[$*]", "", lesson.said("reveal").replace(r"\infty", "∞"))
        cells = (f"**{lesson.words['title']}**", lesson.words["level"], lesson.words["line"], shown)
        rows.append(table_row(tuple(" ".join(cell.split()) for cell in cells)))
    return "\n".join(rows)


ANSWERS: dict[str, Callable[[str], str]] = {
    "formula": formula,
    "words": words,
    "options": options,
    "example": example,
    "lessons": lessons,
}


def on_page_markdown(markdown: str, **_: object) -> str:
    """Fill in what a page asks the library for, and write its mathematics as MathML."""
    filled = ASKED.sub(lambda asked: ANSWERS[asked[1]](asked[2]), markdown)
    parts = CODE.split(filled)
    parts[::2] = [MATHEMATICS.sub(_mathematics, words) for words in parts[::2]]
    return "".join(parts)


def _mathematics(found: re.Match[str]) -> str:
    """A formula of a page, in a line of its own or among words."""
    if found["block"] is not None:
        return f"<p>{convert(found['block'].strip(), display='block')}</p>"
    return f"<span>{convert(found['line'])}</span>"  # else a line that begins with it is a block
