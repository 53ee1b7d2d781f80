"""Write the replication report, docs/published.md, from the runs that come with the project.

python -m docs.replication [pictures]

Every number in it is computed from the records; with "pictures" its figures are drawn anew, too, by
Chromium.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from docs.gallery_pictures import drawing
from docs.hooks import table_row
from mklcore.figures import agreement_plot
from mklcore.gallery.experiments import EXPERIMENTS, Experiment, Outcome, PaperComparison
from mklcore.gallery.experiments.__main__ import cell
from mklcore.gallery.experiments.claims import (
    ABSENT,
    AGREES,
    ANSWERS,
    DISAGREES,
    EQUAL,
    UNSAID,
    ClaimVerdict,
    by_data,
    counted,
)
from mklcore.gallery.experiments.records import record

HERE = Path(__file__).parent
REPORT = HERE / "published.md"
HEADS = {
    AGREES: "agree",
    EQUAL: "equal",
    DISAGREES: "disagree",
    UNSAID: "undecided",
    ABSENT: "no number",
}
PROTOCOL = """# Published numbers, measured again

This is a replication report: the tables and figures of the five papers, run again by this library.
It is written by `python -m docs.replication` from the runs that come with the project; no number is
typed.

## Protocol

```
python -m mklcore.gallery.experiments                      # what the records say, a line each
python -m mklcore.gallery.experiments hkl_table2 --small   # about a minute
python -m mklcore.gallery.experiments hkl_table1 --data DIR --rows "boston, rbf" --out run.json
```

A run follows the paper: its rows of data, its splits, its number of repetitions, its grid of
parameters where it gives one. What a paper leaves open is settled in the section of the experiment,
under "what differs". The same seed gives the same samples; `--out` keeps every sample, and the same
command again goes on where it was cut short. The Experiments page of the app shows the same runs,
runs them again and opens what was kept.

Data that cannot be passed on are read from a folder (`--data`, or the variable `MKLCORE_DATA`).
Where the data of a paper cannot be had a **stand-in** runs, under its own name and beside no
published number. It has the property by which the paper explains its result, chosen before it was
run, and its verdicts are counted apart.

Every sentence of a paper that can be checked is a row of comparisons with a verdict:

| verdict | when |
|---|---|
| agrees | the 95 % confidence interval of every comparison is where the sentence puts it |
| equal | the difference is nil: its interval is within half of the printed one, or a margin set before |
| disagrees | one interval is on the other side, at the 95 % level of all comparisons together |
| undecided | more repetitions would decide; a row of one repetition decides nothing where others have more |
| no number | the run has not measured what the sentence is about |

A published number agrees where three joint standard errors cover the difference, by Student's t
where repetitions are few. CPU seconds are those of the processor, summed over all processes; some
runs were put together from several and have none."""


def report() -> str:
    """The whole page as Markdown."""
    parts = [PROTOCOL, _summary(), _figures(), _holds(), _fails(), _open()]
    parts += [_section(one) for one in EXPERIMENTS.values()]
    return "\n\n".join(parts) + "\n"


class Recorded(NamedTuple):
    """The largest run of an experiment, beside the paper, and its verdicts by the data they are on."""

    experiment: Experiment
    run: Outcome
    compared: PaperComparison
    verdicts: list[tuple[str, list[ClaimVerdict]]]


@cache
def recorded() -> dict[str, Recorded]:
    """What is known of every experiment that was run, by its key."""
    found = {}
    for key, experiment in EXPERIMENTS.items():
        run = record(key)
        if run is not None:
            verdicts = by_data(experiment.judge(run))
            found[key] = Recorded(experiment, run, experiment.compare(run), verdicts)
    return found


def _summary() -> str:
    names = ("paper", "", "rows on its data", "what is judged", *HEADS.values(), "repetitions")
    lines = [table_row((*names, "CPU s")), table_row(("---",) * (len(names) + 1))]
    totals = {stand_in: dict.fromkeys(ANSWERS, 0) for stand_in in (False, True)}
    runs = {key: one.run for key, one in recorded().items()}
    covered = np.sum([one.covered(runs.get(key)) for key, one in EXPERIMENTS.items()], axis=0)
    for experiment, run, _, verdicts in recorded().values():
        rows = experiment.covered(run)
        for stand_in, (_, some) in enumerate(verdicts):
            for one in some:
                totals[bool(stand_in)][one.answer] += 1
            if some:
                counts = [sum(one.answer == answer for one in some) for answer in HEADS]
                where = "stand-ins" if stand_in else "its data"
                size = run.size.partition(" repetition")[0] + ", small" * run.quick
                took = f"{run.seconds:.0f}" if np.isfinite(run.seconds) else "–"
                of = (experiment.article, experiment.place, f"{rows[0]} of {rows[1]}", where)
                lines.append(table_row((*of, *map(str, counts), size, took)))
    said = [
        f"{sum(some.values())} statements on {where}: "
        + ", ".join(f"{some[answer]} {head}" for answer, head in HEADS.items())
        + "."
        for where, some in (("the papers' data", totals[False]), ("stand-ins", totals[True]))
    ]
    whole = f"{covered[0]} of {covered[1]} rows of the papers were measured at full size."
    return "\n\n".join(["## What was measured", " ".join([*said, whole]), "\n".join(lines)])


def pictured() -> list[tuple[str, Experiment, Any]]:
    """The name of the picture, the experiment and the figure, where the paper prints numbers for
    rows that were measured.
    """
    found = []
    for key, (experiment, _, compared, _) in recorded().items():
        title, part = experiment.groups()[0]
        if np.isfinite(compared.difference[:, part]).any():
            figure = agreement_plot(compared, part, title=title)
            found.append((f"published_{key}", experiment, figure))
    return found


def _figures() -> str:
    parts = ["## Ours against theirs", "One dot per cell; on the line both are the same."]
    for name, experiment, figure in pictured():
        alt = figure.layout.meta["alt"]
        parts.append(f"**{experiment.paper}**\n\n![{alt}](pictures/{name}.svg)")
    return "\n\n".join(parts)


def _holds() -> str:
    lines = _statements((AGREES, EQUAL))
    return "\n\n".join(["## What holds", *lines])


def _fails() -> str:
    return "\n\n".join(["## What does not hold, and why", *_statements((DISAGREES,), figures=True)])


def _open() -> str:
    lines = _statements((UNSAID, ABSENT))
    return "\n\n".join(["## What is open", *lines])


def _statements(answers: Sequence[str], figures: bool = False) -> list[str]:
    """The statements with some verdicts, on the papers' data and then on stand-ins."""
    parts = []
    for stand_in, heading in enumerate(("On the papers' data", "On stand-ins")):
        lines = []
        for experiment, _, _, verdicts in recorded().values():
            _, some = verdicts[stand_in]
            for one in some:
                if one.answer in answers:
                    verdict = f" {one.answer.capitalize()}." * (len(answers) > 1)
                    line = f"- {html.escape(one.claim.text)} ({experiment.paper}){verdict}"
                    shown = figures or one.answer == EQUAL
                    lines.append(line + f"<br>{html.escape(one.figures)}" * shown)
        if lines:
            parts.append(f"### {heading}")
            parts.append("\n".join(lines))
    return parts


def _section(experiment: Experiment) -> str:
    """What one experiment did, every verdict with its figures, and every number."""
    key = experiment.key
    head = f"## `{key}`: {experiment.paper}\n\n{experiment.title}. {experiment.did}"
    if key not in recorded():
        return f"{head}\n\nNo run comes with the project."
    _, run, compared, verdicts = recorded()[key]
    size = ", ".join(filter(None, (run.size, "small" * run.quick, f"seed {run.seed}", run.took)))
    parts = [head, f"{experiment.coverage(run)} Run: {size}. Reference: {experiment.source}."]
    for heading, some in verdicts:
        if some:
            lines = [f"{heading}: {counted(some)}.\n", *map(_verdict, some)]
            parts.append("\n".join(lines))
    names = (experiment.row_name, *run.columns)
    table = [table_row(names), table_row(("---",) * len(names))]
    for i, row in enumerate(run.rows):
        table.append(table_row((row, *(cell(compared, i, j) for j in range(len(run.columns))))))
    parts.append(f"Ours ± standard error (published), {experiment.unit}:\n\n" + "\n".join(table))
    parts += [f"Beyond chance: {reason}" for reason in experiment.reasons(compared)]
    return "\n\n".join([*parts, f"What differs: {experiment.open_points}"])


def _verdict(one: ClaimVerdict) -> str:
    sentence = html.escape(one.claim.sentence)
    return f"- {sentence}<br>**{one.answer.capitalize()}.** {html.escape(one.figures)}"


def draw() -> None:
    """Draw the figures with Chromium."""
    with drawing() as drawn:
        for name, _, figure in pictured():
            (HERE / "pictures" / f"{name}.svg").write_text(drawn(figure), encoding="utf-8")


if __name__ == "__main__":
    if "pictures" in sys.argv[1:]:
        draw()
    REPORT.write_text(report(), encoding="utf-8")
