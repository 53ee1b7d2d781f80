"""Runs that come with the project, one JSON file each: what ``python -m mklcore.experiments KEY --out FILE`` wrote.

Small runs are in ``recorded``, runs at the paper's sizes in ``recorded/full``. Some experiments are so quick that their
one run is at full size already. A run that joins two tells no seconds; the experiment's open points say so then.
"""

from __future__ import annotations

from pathlib import Path

from mklcore.experiments.base import Experiment, Outcome
from mklcore.experiments.claims import counted

HOME = Path(__file__).with_name("recorded")
PLACES = (HOME / "full", HOME)


def records(key: str) -> tuple[Outcome, ...]:
    """The runs of an experiment that come with the project: the one at full size first, then the small one, if there
    are.
    """
    paths = [place / f"{key}.json" for place in PLACES]
    return tuple(Outcome.from_json(path.read_bytes()) for path in paths if path.is_file())


def record(key: str) -> Outcome | None:
    """The largest run of an experiment that comes with the project; None where there is none."""
    return next(iter(records(key)), None)


def heading() -> tuple[str, ...]:
    """The names of what ``summary`` tells."""
    return "key", "published in", "rows", "repetitions", "claims", "compared", "beyond 3 s.e.", "took"


def summary(key: str, experiment: Experiment) -> list[tuple[str, ...]]:
    """One line per run of an experiment that comes with the project: verdicts on its claims, cells compared, and those
    beyond three standard errors, a dash where no number stands beside ours.
    """
    found = records(key)
    if not found:
        return [(key, experiment.paper, "no record", "", "", "", "", "")]
    lines: list[tuple[str, ...]] = []
    for run in found:
        compared = experiment.compare(run)
        size = f"{run.repetitions}{', small' if run.quick else ''}"
        far = str(int(compared.beyond().sum())) if compared.compared else "–"
        verdicts = counted([verdict for _, verdict in experiment.judge(run)])
        counts = (f"{len(run.rows)} of {len(experiment.rows)}", size, verdicts, str(compared.compared), far)
        lines.append((key, experiment.paper, *counts, run.took))
    return lines
