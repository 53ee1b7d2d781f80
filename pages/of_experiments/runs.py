"""Experiments on the screen: which published one, runs in the background, and what is kept of them.

What was computed here is about made data: it is in everybody's, and in the folder for data, so that a restart
brings it back.
"""

import json
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from mklcore.errors import DataError, MKLError
from mklcore.gallery.experiments import EXPERIMENTS, Experiment, Outcome
from mklcore.gallery.experiments.base import SMALL
from mklcore.gallery.experiments.records import records
from pages.shared import work
from pages.shared.kept import default_home
from pages.shared.session.memory import memory
from pages.shared.work import Failed, Pending, Ready

MOST_KEPT = 8


def by_paper() -> dict[str, list[str]]:
    """Return the keys of the experiments, grouped by the paper they are from."""
    papers: dict[str, list[str]] = {}
    for key, experiment in EXPERIMENTS.items():
        papers.setdefault(experiment.article, []).append(key)
    return papers


# What is kept


def keep(outcome: Outcome, own: bool = False) -> None:
    """Keep an outcome, the newest first; an earlier one of the same size and seed is replaced.

    ``own``: it came from a file of this session, so it is this session's; what was computed here is everybody's.
    """
    name = _list(outcome.key, own)
    known = work.now(name, lambda: () if own else _written(outcome.key))
    work.drop(name)
    work.now(name, lambda: (outcome, *(old for old in known if _name(old) != _name(outcome)))[:MOST_KEPT])


def kept(key: str) -> tuple[Outcome, ...]:
    """Return the outcomes of one experiment: those this session opened, those computed here, the newest first, and at
    the end those that come with the project, the largest first.
    """
    mine = (*work.now(_list(key, True), tuple), *work.now(_list(key, False), lambda: _written(key)))
    known = set(map(_name, mine))
    return (*mine, *(given for given in records(key) if _name(given) not in known))


def _list(key: str, own: bool) -> tuple[str, str, str]:
    return "experiments", key, work.mine() if own else ""


def _written(key: str) -> tuple[Outcome, ...]:
    """Return what earlier starts of the server wrote down."""
    return tuple(one for one in map(_read_file, _files(key)) if one is not None)


def write_down(outcome: Outcome) -> None:
    """Keep an outcome beyond a restart as a file, where the server keeps anything, and the newest of them alone."""
    home = default_home()
    if home is None:
        return
    place = home / "experiments" / outcome.key / f"{outcome.repetitions}-{outcome.seed}.json"
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_suffix(".part")
        part.write_text(outcome.to_json(), encoding="utf-8")
        part.replace(place)
        for old in _files(outcome.key)[MOST_KEPT:]:
            old.unlink()


def _files(key: str) -> list[Path]:
    """Return the files of an experiment, the newest first."""
    home = default_home()
    found = [] if home is None else list((home / "experiments" / key).glob("*.json"))
    return sorted(found, key=lambda path: path.stat().st_mtime_ns, reverse=True)


def _read_file(path: Path) -> Outcome | None:
    with suppress(OSError, MKLError):  # damaged, or of another release
        return read(EXPERIMENTS[path.parent.name], path.read_bytes())
    return None


def _name(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.rows, outcome.repetitions, outcome.seed


def read(experiment: Experiment, content: str | bytes) -> Outcome:
    """Read an outcome that was downloaded before. Raises ``MKLError``."""
    outcome = Outcome.from_json(content)
    if outcome.key != experiment.key:
        raise DataError(
            f"The file is about {outcome.key[:40]}, and this is {experiment.key}. Choose that experiment first."
        )
    experiment.compare(outcome)
    return outcome


# Runs


def ask(experiment: Experiment, repetitions: int, seed: int) -> None:
    """Have an experiment run: a small run while its page is looked at, a full one whatever page is."""
    memory().experiment_run = experiment.key, repetitions, seed
    work.drop(("experiment", memory().experiment_run))


def run() -> Ready | Pending | Failed | None:
    """Return the run that this session asked for last, or how far it is; None where it asked for none."""
    asked = memory().experiment_run
    if asked is None or asked[0] not in EXPERIMENTS:
        return None
    experiment, (_, repetitions, seed) = EXPERIMENTS[asked[0]], asked
    count, quick = len(_rows(experiment, repetitions)) * repetitions, repetitions <= SMALL

    def make(progress: Callable[..., None]) -> Outcome:
        outcome = experiment.run(
            repetitions, seed=seed, callback=lambda done, total: progress(done / total, f"{done} of {count}"),
            listen=progress, quick=quick,
        )  # fmt: skip
        keep(outcome)
        write_down(outcome)
        return outcome

    seconds = _per_line(experiment, quick) * count
    found = work.get(("experiment", asked), make, title="Experiment", seconds=seconds, long=not quick)
    if isinstance(found, Ready):
        memory().experiment_run = None
    return found


def _rows(experiment: Experiment, repetitions: int) -> tuple[str, ...]:
    """Return the rows of a run of that size, or of one whose files are missing: it says so when it is asked for."""
    quick = repetitions <= SMALL
    return experiment.rows_on_disk(None, quick) or (quick and experiment.quick) or experiment.rows


def foreseen(experiment: Experiment, repetitions: int) -> str:
    """Return how long a run takes on one core, roughly: as long as the one that comes with the project, line by
    line.
    """
    seconds = _per_line(experiment, repetitions <= SMALL) * len(_rows(experiment, repetitions)) * repetitions
    return f"about {max(seconds, 1):.0f} s" if seconds < 100 else f"about {math.ceil(seconds / 60)} min"


def _per_line(experiment: Experiment, quick: bool) -> float:
    """Return the seconds of the processor for one repetition of one row."""
    alike = [run for run in records(experiment.key) if run.quick == quick and math.isfinite(run.seconds)]
    return alike[0].seconds / alike[0].samples[:, :, 0].size if alike else experiment.seconds


# Numbers


def label(outcome: Outcome) -> str:
    """Return what a run is called in a list."""
    count = "1 repetition" if outcome.repetitions == 1 else f"{outcome.repetitions} repetitions"
    return f"{count}, seed {outcome.seed}{', ' * bool(outcome.took)}{outcome.took}"


def whole(experiment: Experiment, outcome: Outcome) -> pd.DataFrame:
    """Return the table of a run with its comparison and how it was made."""
    table = experiment.compare(outcome).frame().rename(columns={"row": experiment.row_name})
    return table.assign(repetitions=outcome.repetitions, seed=outcome.seed)


def as_json(experiment: Experiment, outcome: Outcome) -> str:
    """Return every sample of a run as JSON, which this page opens again."""
    content = json.loads(outcome.to_json())
    return json.dumps(content | {"paper": experiment.paper, "unit": experiment.unit}, ensure_ascii=False, indent=1)
