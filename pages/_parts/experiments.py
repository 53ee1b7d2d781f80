"""Published experiments on the screen: which one, runs in the background, and what is kept of them."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.errors import DataError
from mklcore.experiments import EXPERIMENTS, Comparison, Experiment, Outcome
from pages._parts import jobs
from pages._parts.cache import Shelf

SMALL = 2  # repetitions of a small run: the fewest that have a standard error
MOST_KEPT = 8


# What is kept


def keep(outcome: Outcome, shelf: Shelf) -> None:
    """Keep an outcome, the newest first; an earlier one of the same size and seed is replaced.

    ``shelf`` is everybody's for what was computed here, and the session's for what came from a file.
    """
    others = [old for old in shelf.get(outcome.key) or () if _name(old) != _name(outcome)]
    shelf.put(outcome.key, (outcome, *others)[:MOST_KEPT])


def opened() -> Shelf:
    """Return the session's shelf for runs opened from a file."""
    return st.session_state.setdefault("opened_runs", Shelf(len(EXPERIMENTS)))


def kept(key: str) -> tuple[Outcome, ...]:
    """Return the outcomes of one experiment: those this session opened, then those computed here, the newest first."""
    return (*(opened().get(key) or ()), *(jobs.outcomes().get(key) or ()))


def _name(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.rows, outcome.repetitions, outcome.seed


def read(experiment: Experiment, content: bytes) -> Outcome:
    """Read an outcome that was downloaded before. Raises ``MKLError`` in words."""
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


def job(experiment: Experiment) -> jobs.Job | None:
    """Return this session's run of the experiment, the one that goes on or else the one seen last."""
    return max(_runs(experiment.key), key=lambda job: (job.live, job.seen), default=None)


def _runs(*keys: str) -> list[jobs.Job]:
    found = [job for job in map(jobs.held, jobs.SLOTS) if job is not None]
    return [job for job in found if isinstance(job.key, tuple) and job.key[0] == "experiment" and job.key[1] in keys]


def running() -> bool:
    """Tell whether an experiment of this session waits or runs."""
    return any(job.live for job in _runs(*EXPERIMENTS))


def ask(experiment: Experiment, repetitions: int, seed: int) -> None:
    """Have a worker run the experiment: a small run now, a full one in the slot for long work."""
    shelf = jobs.outcomes()

    def work(job: jobs.Job) -> None:
        outcome = experiment.run(
            repetitions, seed=seed, callback=job.tick, listen=lambda: job.tick(job.done, job.total)
        )
        keep(outcome, shelf)

    total = len(experiment.rows) * repetitions
    slot = "short" if repetitions <= SMALL else "long"
    jobs.start(key(experiment, repetitions, seed), "Experiment", total, work, slot=slot)


def foreseen(experiment: Experiment, repetitions: int) -> str:
    """Return how long a run takes, roughly, in words."""
    seconds = experiment.seconds * len(experiment.rows) * repetitions
    return f"about {max(seconds, 1):.0f} s" if seconds < 100 else f"about {math.ceil(seconds / 60)} min"


# Numbers


def label(outcome: Outcome) -> str:
    """Return what a run is called in a list."""
    took = "" if math.isnan(outcome.seconds) else f", {outcome.seconds:.1f} s"
    count = "1 repetition" if outcome.repetitions == 1 else f"{outcome.repetitions} repetitions"
    return f"{count}, seed {outcome.seed}{took}"


def frame(experiment: Experiment, comparison: Comparison) -> pd.DataFrame:
    """Return the comparison as a table, one line per cell."""
    table = pd.DataFrame(comparison.records())
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = table["difference"] / table["joint_error"].where(table["joint_error"] > 0)
    table["in_joint_errors"] = ratio
    return table.rename(columns={"row": experiment.row_name})


def csv(experiment: Experiment, outcome: Outcome) -> str:
    """Return the table of a run with its comparison as CSV."""
    table = frame(experiment, experiment.compare(outcome))
    table["repetitions"], table["seed"] = outcome.repetitions, outcome.seed
    return table.to_csv(index=False)


def as_json(experiment: Experiment, outcome: Outcome) -> str:
    """Return every sample of a run as JSON, which this page opens again."""
    told = json.loads(outcome.to_json())
    return json.dumps(told | {"paper": experiment.paper, "unit": experiment.unit}, ensure_ascii=False, indent=1)
