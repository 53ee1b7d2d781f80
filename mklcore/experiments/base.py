"""What a published experiment is: what was done, what was reported, and a call that does it again."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import t as student_t

from mklcore.arrays import Array, Mask
from mklcore.data.dataset import LARGEST_VALUE
from mklcore.errors import DataError, ParameterError
from mklcore.experiments.claims import ANSWERS, DISAGREES, Claim, Record, Verdict
from mklcore.parallel import sweep
from mklcore.parameters import check_whole

Progress = Callable[[int, int], Any] | None
_QUICK: ContextVar[bool] = ContextVar("quick", default=False)
_FOLDER: ContextVar[Path | None] = ContextVar("folder", default=None)
_PAUSE: ContextVar[Callable[[], Any] | None] = ContextVar("pause", default=None)
_FORMAT = "mklcore experiment 1"
_LONGEST_JSON = 5_000_000
_MOST_LABELS = 1000
THREE_ERRORS = 0.9973  # of a normal distribution is within three standard errors
SMALL = 2  # repetitions of a small run: the fewest that have a standard error
FOLDER = "MKLCORE_DATA"  # the folder of data files where none is named


def seed_of(*numbers: int) -> int:
    """The seed of a draw that depends on all of ``numbers``."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def pause() -> None:
    """Let a run be cancelled between the fits of one measurement; nothing happens outside a run."""
    listen = _PAUSE.get()
    if listen is not None:
        listen()


def is_quick() -> bool:
    """Whether the run that goes on is a small one, which may take fewer rows of data."""
    return _QUICK.get()


def file_of(name: str) -> Path:
    """A data file in the folder of the run that goes on. DataError, with what would do, where it is missing."""
    folder = _FOLDER.get()
    path = None if folder is None else folder / name
    if path is None or not path.is_file():
        where = "no folder was named" if folder is None else f"it is not in {str(folder)[:200]!r}"
        raise DataError(
            f"The file {name} is needed, and {where}. Put it into a folder and name that with --data or data=."
        )
    return path


def folder() -> str | None:
    """The folder of data files that the environment names, if it does."""
    return os.environ.get(FOLDER) or None


def versions() -> dict[str, str]:
    """What a run was computed with."""
    return {
        "mklcore": metadata.version("mklcore") if _installed("mklcore") else "unreleased",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": metadata.version("scipy"),
        "numba": metadata.version("numba"),
    }


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Outcome:
    """Measured numbers: ``samples`` (rows, repetitions, columns), with the labels of rows and columns, ``seed`` and
    ``seconds`` of the processor, summed over all lines wherever they ran; ``by_clock``: those of a clock instead, as
    runs of earlier versions tell them, other work on the machine included. ``quick``: a small run, on fewer rows of
    data where the experiment says so; ``versions`` of what it was computed with, () where they are not known.
    """

    key: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    samples: Array
    seed: int = 0
    seconds: float = float("nan")
    quick: bool = False
    versions: tuple[tuple[str, str], ...] = ()
    by_clock: bool = False

    @property
    def took(self) -> str:
        """How long it took; empty where that is not known."""
        if not np.isfinite(self.seconds):
            return ""
        count = f"{self.seconds:.1f}" if self.seconds < 100 else f"{self.seconds:.0f}"
        return f"{count} s by the clock" if self.by_clock else f"{count} CPU s"

    @property
    def repetitions(self) -> int:
        """How often each row was measured."""
        return int(self.samples.shape[1])

    @property
    def mean(self) -> Array:
        """Mean over the repetitions, (rows, columns)."""
        mean: Array = self.samples.mean(axis=1)
        return mean

    @property
    def standard_error(self) -> Array:
        """Standard error of that mean; NaN after a single repetition."""
        n = self.samples.shape[1]
        return self.samples.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(self.mean.shape, np.nan)

    def to_json(self) -> str:
        """The outcome as JSON text, every sample in it; ``from_json`` reads it back."""
        seconds = self.seconds if np.isfinite(self.seconds) else None
        return json.dumps(
            {
                "format": _FORMAT,
                "experiment": self.key,
                "seed": self.seed,
                "seconds" if self.by_clock else "cpu_seconds": seconds,
                "quick": self.quick,
                "versions": dict(sorted(self.versions)),
                "rows": list(self.rows),
                "columns": list(self.columns),
                "samples": [
                    [[float(v) if np.isfinite(v) else None for v in line] for line in row] for row in self.samples
                ],
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what ``to_json`` wrote. DataError for anything else."""
        if len(text) > _LONGEST_JSON:
            raise DataError(f"The file has {len(text)} bytes; an outcome of an experiment has at most {_LONGEST_JSON}.")
        try:
            found = json.loads(text)
            if found["format"] != _FORMAT:
                raise ValueError(found["format"])
            samples = np.array(found["samples"], dtype=np.float64)
            by_clock = "cpu_seconds" not in found
            took = found["seconds" if by_clock else "cpu_seconds"]
            seconds = float("nan") if took is None else float(took)
            rows, columns = (tuple(map(str, found[name])) for name in ("rows", "columns"))
            versions = tuple((str(k)[:40], str(v)[:40]) for k, v in sorted(dict(found.get("versions") or {}).items()))[
                :20
            ]
            quick = bool(found.get("quick", False))
            read = cls(
                str(found["experiment"]), rows, columns, samples, int(found["seed"]), seconds, quick, versions, by_clock
            )
        except (KeyError, TypeError, ValueError, RecursionError, OverflowError):
            raise DataError("This is not an outcome of an experiment written by this library.") from None
        if max(len(rows), len(columns)) > _MOST_LABELS or samples.ndim != 3 or samples.shape[1] < 1:
            raise DataError("The samples of an outcome are a table (rows, repetitions, columns).")
        if len(set(rows)) < len(rows) or not (np.isnan(samples) | (np.abs(samples) <= LARGEST_VALUE)).all():
            raise DataError("An outcome has every row once, and its samples are finite numbers.")
        if (len(rows), len(columns)) != (samples.shape[0], samples.shape[2]):
            raise DataError(
                f"The outcome names {len(rows)} rows and {len(columns)} columns; its samples are {samples.shape}."
            )
        return read

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = ""
        for row, means, errors in zip(self.rows, self.mean, self.standard_error, strict=True):
            cells = [f"<td>{m:.2f} &plusmn; {e:.2f}</td>" for m, e in zip(means, errors, strict=True)]
            body += f"<tr><td>{escape(row)}</td>{''.join(cells)}</tr>"
        return (
            f"<b>{escape(self.key)}</b>, {self.samples.shape[1]} "
            f"repetitions<table><tr><th></th>{head}</tr>{body}</table>"
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Our numbers beside the reference, arrays (rows, columns): means, their standard errors, ``difference`` = ours
    minus reference and its ``joint_error``, the standard error of that difference, which rests on ``freedom`` degrees
    of freedom. NaN where there is nothing to compare.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    ours: Array
    ours_error: Array
    reference: Array
    reference_error: Array
    joint_error: Array
    freedom: Array

    @property
    def difference(self) -> Array:
        """Ours minus the reference."""
        return self.ours - self.reference

    @property
    def compared(self) -> int:
        """In how many cells a difference can be judged."""
        return int(np.count_nonzero(np.isfinite(self.difference) & np.isfinite(self.joint_error)))

    def reach(self, level: float = 0.95) -> Array:
        """How far from 0 a difference can be by chance, (rows, columns): Student's t times the joint standard
        error.
        """
        reach: Array = student_t.ppf(0.5 + level / 2.0, self.freedom) * self.joint_error
        return reach

    def in_errors(self) -> Array:
        """The difference in joint standard errors; NaN where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Array = self.difference / np.where(self.joint_error > 0, self.joint_error, np.nan)
        return ratio

    def agreeing(self, level: float = 0.95) -> int:
        """In how many cells chance at that level, or the rounding of the reference, explains the difference."""
        return self.compared - int(self.beyond(level).sum())

    def beyond(self, level: float = THREE_ERRORS) -> Mask:
        """Which differences chance does not explain, (rows, columns): as rare as three standard errors of many
        repetitions.

        Of few repetitions by Student's t, and never where the reference was only rounded to its last digit.
        """
        digits = [[_last_digit(value) for value in line] for line in self.reference]
        with np.errstate(invalid="ignore"):
            found: Mask = np.abs(self.difference) > np.maximum(self.reach(level), 0.5 * np.array(digits) + 1e-12)
        return found & np.isfinite(self.joint_error)

    def records(self) -> list[dict[str, Any]]:
        """One line per cell, for a table."""
        fields = ("ours", "ours_error", "reference", "reference_error", "difference", "joint_error")
        return [
            {"row": row, "column": column} | {name: float(getattr(self, name)[i, j]) for name in fields}
            for i, row in enumerate(self.rows)
            for j, column in enumerate(self.columns)
        ]


def _last_digit(value: float) -> float:
    """What one step of the last digit of a printed number is worth: 0.01 for 1.07."""
    if not np.isfinite(value):
        return 0.0
    digits = repr(float(value)).partition(".")[2]
    return 1.0 if digits in ("", "0") else 10.0 ** -len(digits)


class Judged(NamedTuple):
    """A claim of a paper and what a run of ours says of it."""

    claim: Claim
    verdict: Verdict

    @property
    def sentence(self) -> str:
        """The claim with its place in the paper."""
        return f"{self.claim.text} ({self.claim.place})" if self.claim.place else self.claim.text

    @property
    def answer(self) -> str:
        """The verdict in one word, at the start of a sentence."""
        return self.verdict.answer.capitalize()

    @property
    def figures(self) -> str:
        """The figures of the verdict, and the reason where ours disagrees."""
        why = f" Why: {self.claim.why}" if self.verdict.answer == DISAGREES and self.claim.why else ""
        return f"{self.verdict.figures}{why}"


@dataclass(frozen=True, eq=False)
class Experiment:
    """One published experiment.

    ``did`` what the paper did, ``claims`` what it reports, each with a check on a run of ours (see ``judge``),
    ``open_points`` what it leaves open and how that is settled here;
    ``rows``, ``columns``, ``unit`` of the table; ``replicated`` (rows, columns) the reference numbers, NaN where there
    are none, and ``source`` where they come from: the paper's table, or an independent replication where the paper has
    a figure only; ``spread`` (rows, columns) their standard deviations over the repetitions, if known; ``repetitions``
    of the reference, and of a run at full size; ``measure(row, seed, repetition)`` one line of the table, in
    ``seconds`` of the processor.

    For pictures: ``panels`` cut the columns into groups of one unit, each (title, number of columns); ``ordered`` says
    that the rows follow an order; ``floor`` is the error no method can beat in each row, if known. ``quick``: the rows
    of a small run, all by default; ``files``: (row, file) pairs, rows that need a file of a folder of data. ``marks``:
    (series, tick) of every row where they are of several series, for a picture with ``mark_name`` below its ticks.
    ``drawn``: repetitions of the reference, where these are others than those of a run at full size. ``explained``:
    (row, column, sentence) for every cell of a full run that differs by more than chance, with the reason.
    """

    key: str
    title: str
    paper: str
    did: str
    claims: tuple[Claim, ...]
    open_points: str
    row_name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    unit: str
    replicated: tuple[tuple[float, ...], ...]
    repetitions: int
    measure: Callable[[str, int, int], Sequence[float]]
    source: str = "an independent replication; the paper shows curves only"
    spread: tuple[tuple[float, ...], ...] = ()
    panels: tuple[tuple[str, int], ...] = ()
    ordered: bool = True
    floor: tuple[float, ...] = ()
    seconds: float = 1.0
    quick: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    drawn: int = 0
    marks: tuple[tuple[str, str], ...] = ()
    mark_name: str = ""
    explained: tuple[tuple[str, str, str], ...] = ()

    @property
    def article(self) -> str:
        """The paper without the table or figure: "Bach (2008)"."""
        head, closing, _ = self.paper.partition(")")
        return head + closing

    @property
    def place(self) -> str:
        """Where in the paper: "Table 1"; the title where the paper alone is named."""
        return self.paper.removeprefix(self.article).lstrip(", ") or self.title

    def groups(self) -> list[tuple[str, slice]]:
        """The panels as (title, columns); all columns under ``unit`` when none are named."""
        found, start = [], 0
        for title, count in self.panels or ((self.unit, len(self.columns)),):
            found.append((title, slice(start, start + count)))
            start += count
        return found

    def marks_of(self, rows: Sequence[str]) -> list[tuple[str, str]]:
        """The series and the tick of some rows."""
        known = dict(zip(self.rows, self.marks, strict=True)) if self.marks else {}
        return [known.get(row, ("", row)) for row in rows]

    def reasons(self, comparison: Comparison) -> list[str]:
        """Why cells differ by more than chance: a sentence for each that is explained."""
        far = {(comparison.rows[i], comparison.columns[j]) for i, j in np.argwhere(comparison.beyond())}
        return [f"{column} at {row}: {why}" for row, column, why in self.explained if (row, column) in far]

    def compare(self, outcome: Outcome) -> Comparison:
        """Set an outcome beside the reference.

        The joint standard error is sqrt(s^2 / n + t^2 / m) for n of our repetitions with standard deviation s and m of
        the reference with t. Where the reference does not tell t, it is taken to be s; a single repetition of ours
        takes t.
        """
        outcome = self._with_later_columns(outcome)
        if outcome.key != self.key or outcome.columns != self.columns or not set(outcome.rows) <= set(self.rows):
            raise ParameterError(f"The outcome is not one of {self.key}, or of another version of it.")
        places, n = [self.rows.index(row) for row in outcome.rows], outcome.repetitions
        own = outcome.standard_error * np.sqrt(n)
        theirs = np.array(self.spread)[places] if self.spread else own
        own = np.where(np.isfinite(own), own, theirs)
        return Comparison(
            outcome.rows,
            outcome.columns,
            outcome.mean,
            outcome.standard_error,
            self.reference(outcome.rows),
            theirs / np.sqrt(self.drawn or self.repetitions) if self.spread else np.full(own.shape, np.nan),
            np.sqrt(own**2 / n + theirs**2 / (self.drawn or self.repetitions)),
            self._freedom(own, theirs, n),
        )

    def judge(self, outcome: Outcome) -> list[Judged]:
        """The verdict of a run on every claim: those that disagree first, then those that agree, then the others."""
        outcome = self._with_later_columns(outcome)
        compared = self.compare(outcome)
        record = Record(
            outcome.rows, outcome.columns, outcome.samples, self.repetitions == 1, compared.reference,
            compared.joint_error, compared.freedom, compared.beyond(),
        )  # fmt: skip
        found = [Judged(claim, claim.verdict(record)) for claim in self.claims]
        return sorted(found, key=lambda one: ANSWERS.index(one.verdict.answer))

    def _with_later_columns(self, outcome: Outcome) -> Outcome:
        """An outcome of a release that had fewer columns, with nothing in those that came later."""
        more = len(self.columns) - len(outcome.columns)
        if more <= 0 or self.columns[: len(outcome.columns)] != outcome.columns:
            return outcome
        samples = np.concatenate([outcome.samples, np.full((*outcome.samples.shape[:2], more), np.nan)], axis=2)
        return replace(outcome, columns=self.columns, samples=samples)

    def rows_on_disk(self, data: str | Path | None = None, quick: bool = False) -> tuple[str, ...]:
        """The rows that can be measured: all but those whose file is not in the folder ``data``; of a small run where
        ``quick``.
        """
        needed = dict(self.files)
        there = [
            row for row in self.rows if row not in needed or (data is not None and (Path(data) / needed[row]).is_file())
        ]
        few = [row for row in self.quick if row in there]
        return tuple(few or there) if quick else tuple(there)

    def _freedom(self, own: Array, theirs: Array, n: int) -> Array:
        """Degrees of freedom: Welch's where both spreads were measured, those of the one spread there is elsewhere."""
        m = self.drawn or self.repetitions
        if not self.spread or n == 1:
            return np.full(own.shape, float(max(1, (m if self.spread else n) - 1)))
        ours, reference = own**2 / n, theirs**2 / m
        with np.errstate(divide="ignore", invalid="ignore"):
            welch = (ours + reference) ** 2 / (ours**2 / (n - 1) + reference**2 / (m - 1))
        return np.where(np.isfinite(welch), welch, float(n - 1))

    def alone(self) -> Comparison:
        """The reference with nothing beside it yet."""
        empty = np.full((len(self.rows), len(self.columns)), np.nan)
        error = np.array(self.spread) / np.sqrt(self.drawn or self.repetitions) if self.spread else empty
        return Comparison(self.rows, self.columns, empty, empty, self.reference(self.rows), error, empty, empty)

    def run(
        self,
        repetitions: int | None = None,
        rows: Sequence[str] | None = None,
        seed: int = 0,
        callback: Progress = None,
        listen: Callable[[], Any] | None = None,
        *,
        quick: bool = False,
        data: str | Path | None = None,
        n_jobs: int | None = None,
        known: dict[Line, Measured] | None = None,
    ) -> Outcome:
        """Do it again. ``rows`` some of the row labels (by default all that are available, see ``rows_at_hand``);
        ``callback(done, total)`` may raise to cancel, and so may ``listen()``, which is called within a repetition too.

        ``quick``: a small run, of the rows of a small run and with fewer rows of data where the experiment says so.
        ``data``: a folder of data files. ``n_jobs``: lines measured at a time, as joblib has it.
        ``known``: lines of an earlier run, which are not measured again; every new one is written into it as it comes
        (see ``Ledger``). All rows of a repetition come before the next, so that a run that is cut short has whole
        repetitions. DataError where no row is available.
        """
        count = self.repetitions if repetitions is None else repetitions
        check_whole("repetitions", count)
        data = data if data is not None else folder()
        chosen = self.rows_on_disk(data, quick) if rows is None else tuple(rows)
        if not chosen and rows is None:
            raise DataError(
                f"{self.key} needs a folder with one of the files "
                f"{', '.join(sorted({name for _, name in self.files}))}; "
                "name it with --data or data=."
            )
        unknown = [row for row in chosen if row not in self.rows]
        if unknown or not chosen:
            raise ParameterError(f"rows must be among {', '.join(self.rows)}; got {list(chosen)!r}.")
        listening = _PAUSE.set(listen)
        where = str(Path(data).resolve()) if data is not None else ""
        lines = [[Line(self.key, row, int(seed), k, quick, where) for k in range(count)] for row in chosen]
        specs = [line for together in zip(*lines, strict=True) for line in together]
        try:
            found = sweep(partial(_measured, self.measure), specs, n_jobs, known, _after(callback))
        finally:
            _PAUSE.reset(listening)
        samples = np.array([[found[line].values for line in row] for row in lines], dtype=float)
        seconds = float(sum(one.seconds for one in found.values()))
        return Outcome(self.key, chosen, self.columns, samples, int(seed), seconds, quick, tuple(versions().items()))

    def reference(self, rows: Sequence[str]) -> Array:
        """The reference numbers of some rows, (rows, columns)."""
        return np.array([self.replicated[self.rows.index(row)] for row in rows])


@dataclass(frozen=True)
class Line:
    """One line to measure: which experiment and row, with which seed, the how-manieth time, small or not, with which
    folder.
    """

    key: str
    row: str
    seed: int
    repetition: int
    quick: bool
    folder: str


class Measured(NamedTuple):
    """What one line measured, and the ``seconds`` of the processor that took; NaN where they are not known."""

    values: list[float]
    seconds: float


def _measured(measure: Callable[[str, int, int], Sequence[float]], line: Line) -> Measured:
    """Measure a line, in this process or in another.

    A fit keeps to its thread, so its seconds are those of the thread.
    """
    tokens = _QUICK.set(line.quick), _FOLDER.set(Path(line.folder) if line.folder else None)
    clock = time.thread_time()
    try:
        values = [float(value) for value in measure(line.row, line.seed, line.repetition)]
        return Measured(values, time.thread_time() - clock)
    finally:
        _QUICK.reset(tokens[0])
        _FOLDER.reset(tokens[1])


def _after(callback: Progress) -> Progress:
    """A callback that is called for done lines only, not of the beginning."""
    if callback is None:
        return None
    return lambda done, total: callback(done, total) if done else None
