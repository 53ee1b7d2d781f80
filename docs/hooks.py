"""What the site takes from the library itself: formulas, words and options of a method, so that
none is typed twice.

A line ``{{ formula lp }}``, ``{{ words lp }}`` or ``{{ options lp }}`` in a page is replaced from
``ESTIMATORS``, a line ``{{ published all }}`` or ``{{ published hkl }}`` from ``EXPERIMENTS`` and
the runs that come with the project, a line ``{{ example sparse_or_not }}`` from the script of the
gallery with that name.
"""

import ast
import html
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from latex2mathml.converter import convert

from mklcore.gallery.experiments import EXPERIMENTS, Experiment
from mklcore.gallery.experiments.__main__ import overview
from mklcore.gallery.experiments.claims import ClaimVerdict, counted
from mklcore.gallery.experiments.records import record
from mklcore.gallery.lessons import LESSONS
from mklcore.io.catalog import ESTIMATORS, Control

GALLERY = Path(__file__).parent / "gallery"
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


def published(key: str) -> str:
    """The runs of experiments that come with the project: of ``all`` a line each, of one every
    number beside the paper's.
    """
    if key == "all":
        lines = overview()
        return "\n".join(
            _row(line) + ("\n" + _row(("---",) * len(line)) if not place else "")
            for place, line in enumerate(lines)
        )
    return "\n\n".join(
        _section(name, EXPERIMENTS[name])
        for name in EXPERIMENTS
        if name == key or name.startswith(f"{key}_")
    )


def _section(key: str, experiment: Experiment) -> str:
    """What was found beside what was published: one line per cell that has a published number."""
    run = record(key)
    head = (
        f"### `{key}`: {experiment.paper}\n\n{experiment.title}. "
        f"{experiment.did}\n\nReference: {experiment.source}."
    )
    if run is None:
        return f"{head} No run comes with the project."
    compared = experiment.compare(run)
    names = (experiment.row_name, "measured", "published", "ours", "± s.e.", "difference in s.e.")
    cells = [
        (
            row,
            column,
            *(f"{value:.4g}" for value in (compared.reference[i, j], compared.ours[i, j])),
            *(_or_dash(value) for value in (compared.ours_error[i, j], compared.in_errors()[i, j])),
        )
        for i, row in enumerate(run.rows)
        for j, column in enumerate(run.columns)
        if np.isfinite(compared.reference[i, j])
    ]
    said = (
        f"{run.repetitions} repetitions",
        "small" if run.quick else "",
        f"seed {run.seed}",
        run.took,
    )
    size = ", ".join(filter(None, said))
    table = (
        "\n".join(map(_row, (names, ("---",) * len(names), *cells)))
        if cells
        else "No number of the paper to compare with."
    )
    reasons = "".join(f"\n\nBeyond chance: {reason}" for reason in experiment.reasons(compared))
    verdicts = _verdicts(experiment.judge(run))
    return (
        f"{head}\n\nRun: {size}.\n\n{verdicts}\n\n{table}{reasons}\n\nWhat differs: "
        f"{experiment.open_points}"
    )


def _verdicts(judged: Sequence[ClaimVerdict]) -> str:
    """What the run says of every claim of the paper, disagreements first."""
    reported = [
        (
            f"- {html.escape(one.claim.sentence)}<br>**{one.answer.capitalize()}.** "
            f"{html.escape(one.figures)}"
        )
        for one in judged
    ]
    return "\n".join([f"What the paper states: {counted(judged)}.\n", *reported])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(html.escape(cell).replace('|', '&#124;') for cell in cells)} |"


def _or_dash(value: float) -> str:
    return f"{value:.2g}" if math.isfinite(value) else "–"


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
        rows.append(_row(tuple(" ".join(cell.split()) for cell in cells)))
    return "\n".join(rows)


ANSWERS: dict[str, Callable[[str], str]] = {
    "formula": formula,
    "words": words,
    "options": options,
    "published": published,
    "example": example,
    "lessons": lessons,
}


def on_page_markdown(markdown: str, **_: object) -> str:
    """Fill in what a page asks the library for."""
    return ASKED.sub(lambda asked: ANSWERS[asked[1]](asked[2]), markdown)
