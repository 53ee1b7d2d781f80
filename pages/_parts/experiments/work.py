"""Experiments on the screen: which published one, runs in the background, and what is kept of them.

What was computed here is about made data: it is in everybody's cache and in the folder of kept work, so that a
restart brings it back.
"""

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from mklcore.errors import DataError, MKLError
from mklcore.experiments import EXPERIMENTS, Experiment, Outcome
from mklcore.experiments.base import SMALL
from mklcore.experiments.records import records
from pages._parts.derive import caches
from pages._parts.derive.caches import ResultCache
from pages._parts.jobs.job import Job, Piece, Progress, Report
from pages._parts.session import board
from pages._parts.session.memory import memory
from pages.shared.kept import default_home

MOST_KEPT = 8


def by_paper() -> dict[str, list[str]]:
    """Return the keys of the experiments, grouped by the paper they are from."""
    papers: dict[str, list[str]] = {}
    for key, experiment in EXPERIMENTS.items():
        papers.setdefault(experiment.article, []).append(key)
    return papers


# What is kept


def keep(outcome: Outcome, result_cache: ResultCache) -> None:
    """Keep an outcome, the newest first; an earlier one of the same size and seed is replaced.

    ``result_cache`` is everybody's for what was computed here, and the session's for what came from a file.
    """
    others = [old for old in result_cache.get(outcome.key) or () if _name(old) != _name(outcome)]
    result_cache.put(outcome.key, (outcome, *others)[:MOST_KEPT])


def opened() -> ResultCache:
    """Return the session's cache for runs opened from a file."""
    return memory().caches.outcomes


def kept(key: str) -> tuple[Outcome, ...]:
    """Return the outcomes of one experiment: those this session opened, those computed here, the newest first, and at
    the end those that come with the project, the largest first.
    """
    mine = (*(opened().get(key) or ()), *_computed(key))
    known = set(map(_name, mine))
    return (*mine, *(given for given in records(key) if _name(given) not in known))


def _computed(key: str) -> tuple[Outcome, ...]:
    """Return what was computed here, at the first question what earlier starts of the server wrote down."""
    found = caches.outcomes().get(key)
    if found is None:
        found = tuple(one for one in map(_read_file, _files(key)) if one is not None)
        caches.outcomes().put(key, found)
    return tuple(found)


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


def key(experiment: Experiment, repetitions: int, seed: int) -> object:
    """Return the name of one run."""
    return "experiment", experiment.key, seed, repetitions


def progress(experiment: Experiment) -> Progress | None:
    """Return this session's run of the experiment, the one that goes on or else the one seen last."""
    return max(_runs(experiment.key), key=lambda run: (run.live, run.seen), default=None)


def _runs(*keys: str) -> list[Progress]:
    names = [(run, run.job.key) for run in board.all_held()]
    return [run for run, name in names if isinstance(name, tuple) and name[0] == "experiment" and name[1] in keys]


def running() -> bool:
    """Tell whether an experiment of this session waits or runs."""
    return any(run.live for run in _runs(*EXPERIMENTS))


def job(experiment: Experiment, repetitions: int, seed: int) -> Job:
    """Return the work that runs an experiment: a small run now, a full one in the slot for long work."""

    _computed(experiment.key)  # read before the first is added
    result_cache = caches.outcomes()

    def run(report: Report) -> Outcome:
        return experiment.run(
            repetitions, seed=seed, callback=report.tick, listen=report.pulse, quick=repetitions <= SMALL,
        )  # fmt: skip

    def lay(outcome: Outcome) -> None:
        keep(outcome, result_cache)
        write_down(outcome)

    slot = "short" if repetitions <= SMALL else "long"
    pieces = (Piece(run, lay, len(_rows(experiment, repetitions)) * repetitions),)
    return Job(key(experiment, repetitions, seed), "Experiment", pieces, slot=slot)


def _rows(experiment: Experiment, repetitions: int) -> tuple[str, ...]:
    """Return the rows of a run of that size, or of one whose files are missing: it says so when it is asked for."""
    quick = repetitions <= SMALL
    return experiment.rows_on_disk(None, quick) or (quick and experiment.quick) or experiment.rows


def ask(experiment: Experiment, repetitions: int, seed: int) -> None:
    """Have a worker run the experiment."""
    board.ask(job(experiment, repetitions, seed))


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
