"""What a published experiment is: the paper's numbers and claims as data, and a function that
measures a line again.

The data are in ``published``, one file each: what the paper did, rows, columns and numbers of its
table, what it states (see ``claims``), and what it leaves open. ``shared.toml`` holds sentences
that several of them put in by name.
"""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import DataError, ParameterError, Progress
from mklcore.gallery.experiments.claims import (
    ABSENT,
    ANSWERS,
    DISAGREES,
    Check,
    Claim,
    ClaimVerdict,
)
from mklcore.gallery.experiments.records import Outcome, PaperComparison, Quantity, versions
from mklcore.parameters import check_whole
from mklcore.paths.folds import each

SMALL = 2  # repetitions of a small run: the fewest that have a standard error
FOLDER = "MKLCORE_DATA"  # the folder of data files where none is named
PUBLISHED = Path(__file__).with_name("published")
# in standard errors
_SPREADS = {"standard deviation": 0.0, "standard error": 1.0, "95 % interval": 1.96}


@dataclass(frozen=True)
class TableLine:
    """One line of a table to measure: the row, the seed, the how-manieth time, with few rows of
    data or not.

    ``folder`` of data files.
    """

    row: str
    seed: int = 0
    repetition: int = 0
    quick: bool = False
    folder: str = ""

    def draw(self, *more: int) -> int:
        """The seed of what is drawn for this line, and for ``more`` numbers."""
        return seed_of(self.seed, *more, self.repetition)

    def file(self, name: str) -> Path:
        """A data file in the folder. DataError, with what would do, where it is missing."""
        path = Path(self.folder) / name
        if not self.folder or not path.is_file():
            where = f"it is not in {self.folder[:200]!r}" if self.folder else "no folder was named"
            raise DataError(
                f"The file {name} is needed, and {where}. Put it into a folder and name "
                "that with --data or data=."
            )
        return path

    def arrays(self, name: str, *wanted: str) -> list[Any]:
        """The wanted arrays of an .npz file in the folder.

        DataError where one is missing or objects.
        """
        path = self.file(name)
        try:
            with np.load(path, allow_pickle=False) as archive:
                found = {key: archive[key] for key in wanted if key in archive}
        except Exception as error:  # a damaged archive leads its readers into any of them
            raise DataError(
                f"{name} is no archive of plain arrays ({type(error).__name__}); write it "
                "with np.savez."
            ) from error
        if missing := [key for key in wanted if key not in found]:
            raise DataError(
                f"{name} has no array {' or '.join(missing)}; expected "
                f"{' and '.join(wanted)}, as np.savez writes them."
            )
        return [found[key] for key in wanted]


def seed_of(*numbers: int) -> int:
    """The seed of a draw that depends on all of ``numbers``."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


Measure = Callable[[TableLine], Sequence[float]]


@dataclass(frozen=True, eq=False)
class Experiment:
    """One published experiment.

    did : what the paper did
    claims : what it reports, each with checks on a run of ours, see ``judge``
    open_points : what it leaves open, and how that is settled here
    rows, columns, unit : of the table
    repetitions : of the reference, and of a run at full size
    measure : called as measure(line), gives one line of the table
    source : where the numbers come from: the paper's table, or an independent replication where the
        paper has only a figure
    numbers : of the rows that the paper has, NaN where a cell has none
    spread : of these numbers over the repetitions
    spread_is : what the spread is, such as a standard deviation
    panels : (title, number of columns) of every group of columns that has one unit in a picture
    ordered : whether the rows follow an order
    floor : the error that no method can beat
    seconds : seconds of the processor that a line takes
    quick : the rows of a small run, all by default
    files : the file that a row needs in a folder of data
    drawn : repetitions of the reference, where they are not those of a run at full size
    marks : (series, tick) of every row, where the rows are of several series
    mark_name : what stands below these ticks
    explained : (row, column, why) of every cell of a full run that differs by more than chance
    quantities : see ``PaperComparison``
    stand_ins : patterns of the rows that are not measured on the paper's data
    method : the column that the paper proposes
    rivals : the columns beside it; the least number is best
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
    repetitions: int
    measure: Measure
    source: str
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    spread: Mapping[str, Sequence[float]] = field(default_factory=dict)
    spread_is: str = "standard deviation"
    panels: tuple[tuple[str, int], ...] = ()
    ordered: bool = True
    floor: float | None = None
    seconds: float = 1.0
    quick: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    drawn: int = 0
    marks: tuple[tuple[str, str], ...] = ()
    mark_name: str = ""
    explained: tuple[tuple[str, str, str], ...] = ()
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    stand_ins: tuple[str, ...] = ("*a stand-in",)
    method: str = ""
    rivals: tuple[str, ...] = ()

    @classmethod
    def read(
        cls, key: str, measure: Measure, quantities: Mapping[str, Quantity] | None = None
    ) -> Self:
        """The experiment whose data are in ``published``."""
        shared = tomllib.loads((PUBLISHED / "shared.toml").read_text(encoding="utf-8"))
        text = (PUBLISHED / f"{key}.toml").read_text(encoding="utf-8")
        found = _tuples(tomllib.loads(re.sub(r"\{(\w+)\}", lambda name: shared[name[1]], text)))
        claims = [
            {**claim, "checks": tuple(Check(**check) for check in claim["checks"])}
            for claim in found["claims"]
        ]
        found["claims"] = tuple(Claim(**claim) for claim in claims)
        found["explained"] = tuple(tuple(one.values()) for one in found.get("explained", ()))
        return cls(key=key, measure=measure, quantities=quantities or {}, **found)

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
        found = []
        start = 0
        for title, count in self.panels or ((self.unit, len(self.columns)),):
            found.append((title, slice(start, start + count)))
            start += count
        return found

    def marks_of(self, rows: Sequence[str]) -> list[tuple[str, str]]:
        """The series and the tick of some rows."""
        known = dict(zip(self.rows, self.marks, strict=True)) if self.marks else {}
        return [known.get(row, ("", row)) for row in rows]

    def reference(self, rows: Sequence[str]) -> Array:
        """The paper's numbers of some rows, (rows, columns)."""
        return self._filled(self.numbers, rows)

    def _filled(
        self,
        numbers: Mapping[str, Sequence[float]],
        rows: Sequence[str],
    ) -> Array:
        found = np.full((len(rows), len(self.columns)), np.nan)
        for i, row in enumerate(rows):
            own = numbers.get(row, ())
            found[i, : len(own)] = own
        return found

    def reasons(self, comparison: PaperComparison) -> list[str]:
        """Why cells differ by more than chance: a sentence for each that is explained."""
        far = {
            (comparison.rows[i], comparison.columns[j]) for i, j in np.argwhere(comparison.beyond())
        }
        return [
            f"{column} at {row}: {why}"
            for row, column, why in self.explained
            if (row, column) in far
        ]

    def compare(self, outcome: Outcome) -> PaperComparison:
        """Set an outcome beside the reference.

        The joint standard error is sqrt(s^2 / n + t^2 / m) for n of our repetitions with standard
        deviation s and m of the reference with t. Where the reference does not tell t, it is taken
        to be s; a single repetition of ours takes t. Degrees of freedom are Welch's where both
        spreads were measured, those of the one there is elsewhere.
        """
        if (
            outcome.key != self.key
            or outcome.columns != self.columns
            or not set(outcome.rows) <= set(self.rows)
        ):
            raise ParameterError(
                f"The outcome is not one of {self.key}, or of another version of it."
            )
        n = np.maximum(outcome.counts, 1)
        m = self.drawn or self.repetitions
        own = outcome.standard_error * np.sqrt(n)
        theirs = own
        known = np.full(own.shape, np.nan)
        if self.spread:
            errors = _SPREADS[self.spread_is]
            theirs = self._filled(self.spread, outcome.rows) * (
                np.sqrt(self.repetitions) / errors if errors else 1.0
            )
            known = theirs / np.sqrt(m)
        own = np.where(np.isfinite(own), own, theirs)
        freedom = np.maximum(1.0, (np.full_like(own, m) if self.spread else n) - 1.0)
        if self.spread:
            ours = own**2 / n
            reference = theirs**2 / m
            with np.errstate(divide="ignore", invalid="ignore"):
                welch = (ours + reference) ** 2 / (ours**2 / (n - 1) + reference**2 / (m - 1))
            freedom = np.where(n > 1, np.where(np.isfinite(welch), welch, n - 1.0), freedom)
        joint = np.sqrt(own**2 / n + theirs**2 / m)
        reference = self.reference(outcome.rows)
        return PaperComparison(
            outcome, reference, known, joint, freedom, self.repetitions == 1, self.quantities
        )

    def alone(self) -> PaperComparison:
        """The reference with nothing beside it yet."""
        empty = np.full((len(self.rows), 1, len(self.columns)), np.nan)
        return self.compare(Outcome(self.key, self.rows, self.columns, empty))

    def judge(self, outcome: Outcome) -> list[ClaimVerdict]:
        """The verdict of a run on every claim, by its rows on the paper's data; where these have no
        number for it, by those on stand-ins. Those that disagree come first, then those that agree,
        then the others.
        """
        own = self.compare(self._kind(outcome, False))
        verdicts = [claim.judge(own) for claim in self.claims]
        made = self.compare(self._kind(outcome, True))
        for place, one in enumerate(verdicts):
            other = one.claim.judge(made) if one.answer == ABSENT else one
            if other.answer != one.answer:
                verdicts[place] = other._replace(stand_in=True)
        return sorted(verdicts, key=lambda one: ANSWERS.index(one.answer))

    def is_stand_in(self, row: str) -> bool:
        """Whether a row was measured on other data than the paper's."""
        return any(fnmatchcase(row, pattern) for pattern in self.stand_ins)

    def covered(self, outcome: Outcome | None) -> tuple[int, int]:
        """How many rows of the paper were measured on its data and at its size, and of how many."""
        own = [row for row in self.rows if not self.is_stand_in(row)]
        measured = () if outcome is None or outcome.quick else outcome.rows
        return sum(row in measured for row in own), len(own)

    def coverage(self, outcome: Outcome) -> str:
        """What a run covers of the paper's table, and how its method does there: "Table 1: 19 of
        20 rows measured at full size on the paper's data; HKL is best or level on 17".
        """
        measured, every = self.covered(outcome)
        said = f"{measured} of {every} rows measured at full size on the paper's data"
        if not every:
            said = "no row is about data that can be had; stand-ins run"
        if measured:
            own = self._kind(outcome, False)
            fewer = int(np.sum(own.counts.max(axis=1) < self.repetitions))
            said += f", {fewer} of them with fewer repetitions than the paper" * (fewer > 0)
        if measured and self.method:
            said += f"; {self.method} is best or level on {self.best_or_level(outcome)}"
        return f"{self.place[:1].upper()}{self.place[1:]}: {said}."

    def best_or_level(self, outcome: Outcome) -> int:
        """On how many rows of the paper's data, of those that were repeated, no rival errs less than
        the method: none is below it at the 95 % level.
        """
        own = self._kind(outcome, False)
        rows = [row for row, counts in zip(own.rows, own.counts, strict=True) if counts.max() > 1]
        found = self.compare(own.part(rows))
        checks = (
            Check(
                "below",
                (self.method,),
                self.rivals,
                (row,),
            )
            for row in rows
        )
        return sum(Claim("", "", (one,)).judge(found).answer != DISAGREES for one in checks)

    def _kind(self, outcome: Outcome, stand_in: bool) -> Outcome:
        return outcome.part([row for row in outcome.rows if self.is_stand_in(row) == stand_in])

    def rows_on_disk(
        self,
        data: str | Path | None = None,
        quick: bool = False,
    ) -> tuple[str, ...]:
        """The rows that can be measured: all but those whose file is not in the folder ``data``, by
        default the one that the environment names; of a small run where ``quick``.
        """
        folder = _data_folder(data)
        there = [
            row
            for row in self.rows
            if row not in self.files or (folder and (Path(folder) / self.files[row]).is_file())
        ]
        few = [row for row in self.quick if row in there]
        return tuple(few or there) if quick else tuple(there)

    def run(
        self,
        repetitions: int | None = None,
        rows: Sequence[str] | None = None,
        seed: int = 0,
        callback: Progress | None = None,
        *,
        quick: bool = False,
        data: str | Path | None = None,
        n_jobs: int | None = None,
        start: Outcome | None = None,
        keep: Callable[[Outcome], Any] | None = None,
    ) -> Outcome:
        """Do it again.

        ``rows`` some of the row labels (by default all that are available, see ``rows_on_disk``);
        ``callback(done, total)`` after each line may raise to cancel; inside a line
        `cancellation_scope` does.

        ``quick``: a small run, of the rows of a small run and with fewer rows of data where the
        experiment says so. ``data``: a folder of data files. ``n_jobs``: lines measured at a time,
        as joblib has it. ``start``: an earlier run of the same seed, whose lines are kept and not
        measured again; ``keep`` receives the outcome so far after each line. All rows of a
        repetition come before the next. DataError where no row is available.
        """
        count = self.repetitions if repetitions is None else repetitions
        check_whole("repetitions", count)
        chosen = self.rows_on_disk(data, quick) if rows is None else tuple(rows)
        if not chosen and rows is None:
            raise DataError(
                f"{self.key} needs a folder with one of the files "
                f"{', '.join(sorted(self.files.values()))}; name it with --data or data=."
            )
        unknown = [row for row in chosen if row not in self.rows]
        if unknown or not chosen:
            raise ParameterError(
                f"rows must be among {', '.join(self.rows)}; got {list(chosen)!r}."
            )
        folder = _data_folder(data)
        where = str(Path(folder).resolve()) if folder else ""
        found = self._joined(chosen, count, int(seed), quick, start)
        lines = [
            TableLine(row, int(seed), k, quick, where)
            for k in range(count)
            for row in chosen
            if np.isnan(found.samples[found.rows.index(row), k]).all()
        ]
        measured = each(partial(_measured, self.measure), lines, n_jobs)
        for done, (line, (values, took)) in enumerate(zip(lines, measured, strict=True), 1):
            found.samples[found.rows.index(line.row), line.repetition] = values
            found = replace(found, seconds=found.seconds + took)
            if keep is not None:
                begun = np.flatnonzero(found.counts.any(axis=1))
                keep(found.part([found.rows[row] for row in begun]))
            if callback is not None:
                callback(done, len(lines))
        return found

    def _joined(
        self, rows: Sequence[str], count: int, seed: int, quick: bool, start: Outcome | None
    ) -> Outcome:
        """A run of some rows with nothing measured but what ``start`` has."""
        if start is None:
            samples = np.full((len(rows), count, len(self.columns)), np.nan)
            computed_with = tuple(versions().items())
            return Outcome(
                self.key, tuple(rows), self.columns, samples, seed, 0.0, quick, computed_with
            )
        self.compare(start)
        if (start.seed, start.quick) != (seed, quick):
            raise ParameterError(
                f"The run so far has seed {start.seed} and is {'' if start.quick else 'not '}a "
                "small one; only a run of the same seed and size can go on."
            )
        every = tuple(row for row in self.rows if row in {*rows, *start.rows})
        shape = len(every), max(count, start.repetitions), len(self.columns)
        samples = np.full(shape, np.nan)
        for row, values in zip(start.rows, start.samples, strict=True):
            samples[every.index(row), : start.repetitions] = values
        return replace(start, rows=every, samples=samples)


def _measured(measure: Measure, line: TableLine) -> tuple[list[float], float]:
    """A line, and the seconds of the processor that it took: a fit keeps to its thread."""
    clock = time.thread_time()
    values = [float(value) for value in measure(line)]
    return values, time.thread_time() - clock


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(one) for key, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _data_folder(data: str | Path | None) -> str | Path | None:
    """The folder of data files: the one that is named, or that of the environment."""
    return data if data is not None else os.environ.get(FOLDER)
