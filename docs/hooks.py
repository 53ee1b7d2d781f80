"""What the site takes from the library itself: formulas, words and options of a method, so that none is typed twice.

A line ``{{ formula lp }}``, ``{{ words lp }}`` or ``{{ options lp }}`` in a page is replaced from ``ESTIMATORS``.
"""

import html
import math
import re
from collections.abc import Callable

from latex2mathml.converter import convert

from mklcore.estimators.algorithm import Control
from mklcore.estimators.registry import ESTIMATORS

ASKED = re.compile(r"^\{\{ (\w+) (\w+) \}\}$", re.MULTILINE)


def formula(key: str) -> str:
    """The problem the method solves, as MathML."""
    return f"<p>{convert(ESTIMATORS[key].formula, display='block')}</p>"


def words(key: str) -> str:
    """What the method does, what to look for and what it cannot tell."""
    method = ESTIMATORS[key]
    return (
        f"{method.one_line}\n\n**What to look for.** {method.look_for}\n\n**What it cannot tell.** {method.cannot_tell}"
    )


def options(key: str) -> str:
    """The controls of the method as a table."""
    rows = [
        f"| `{c.name}` | {_range(c)} | {_value(c.default)} | {html.escape(c.help)} |" for c in ESTIMATORS[key].controls
    ]
    return "\n".join(["| option | values | usual | what moving it does |", "|---|---|---|---|", *rows])


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


ANSWERS: dict[str, Callable[[str], str]] = {"formula": formula, "words": words, "options": options}


def on_page_markdown(markdown: str, **_: object) -> str:
    """Fill in what a page asks the library for."""
    return ASKED.sub(lambda asked: ANSWERS[asked[1]](asked[2]), markdown)
