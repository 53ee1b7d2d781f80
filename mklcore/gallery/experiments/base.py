"""A published experiment: the paper's numbers and claims as data, and a function that measures a
line of its table again.

Each file in ``published`` holds what a paper did, the rows, columns and numbers of its table, what
it states (see ``claims``), and what it leaves open. ``shared.toml`` holds sentences that several
files quote by name.
"""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from mklcore.arrays import Array, Names
from mklcore.errors import (
    DataError,
    ParameterError,
    Progress,
    suppress_convergence_warnings,
)
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
LABELS = ("y", "classes")  # arrays of files that may hold texts
# How many standard errors a printed spread is; 0 stands for a standard deviation.
_SPREADS = {"standard deviation": 0.0, "standard error": 1.0, "95 % interval": 1.96}


@dataclass(frozen=True)
class TableLine:
    """One line of a table to measure.

    A ``quick`` line has few rows of data. ``folder`` holds the data files.
    """

    row: str
    seed: int = 0
    repetition: int = 0
    quick: bool = False
    folder: str = ""

    def draw(self, *more: int) -> int:
        """The seed of a draw for this line that depends on ``more`` numbers."""
        return seed_of(self.seed, *more, self.repetition)

    def file(self, name: str) -> Path:
        """A data file in the folder; raises ``DataError`` where it is missing."""
        path = Path(self.folder) / name
        if not self.folder or not path.is_file():
            where = f"it is not in {self.folder[:200]!r}" if self.folder else "no folder was named"
            raise DataError(
                f"The file {name} is needed, and {where}. Put it into a folder and name "
                "that with --data or data=."
            )
        return path

    def arrays(
        self,
        name: str,
        **shapes: str,
    ) -> list[Any]:
        """Arrays of an .npz file in the folder, by name with their shapes: "mnn" for (m, n, n).

        A letter is any size, which is the same wherever it stands. All arrays but labels hold
        numbers. Raises ``DataError`` for a file of another kind.
        """
        path = self.file(name)
        try:
            with np.load(path, allow_pickle=False) as archive:
                found = {key: archive[key] for key in shapes if key in archive}
        except Exception as error:  # a damaged archive can raise any of them
            raise DataError(
                f"{name} is no archive of plain arrays ({type(error).__name__}); write it "
                "with np.savez."
            ) from error
        sizes = {"2": 2}
        held = {}
        is_valid = len(found) == len(shapes)
        for key, array in found.items():
            held[key] = array.shape
            is_valid &= array.dtype.kind in ("biufUS" if key in LABELS else "biuf")
            is_valid &= array.ndim == len(shapes[key])
            for letter, size in zip(shapes[key], array.shape, strict=False):
                is_valid &= sizes.setdefault(letter, size) == size
        if not is_valid:
            raise DataError(f"{name} holds arrays {held}; expected numbers {shapes}.")
        return [found[key] for key in shapes]


def seed_of(*numbers: int) -> int:
    """The seed of a draw that depends on all of ``numbers``."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


Measure = Callable[[TableLine], Iterable[float]]


@dataclass(frozen=True, eq=False)
class Experiment:
    """One published experiment.

    Attributes
    ----------
    did
        What the paper did.
    claims
        What it reports, each with checks on a run of ours.
    open_points
        What it leaves open, and how that is settled here.
    rows, columns, unit
        Those of the table.
    repetitions
        Repetitions of the reference, and of a run at full size.
    measure
        The function that returns one line of the table.
    source
        Where the numbers come from: the paper's table, or an independent replication where the
        paper has only a figure.
    numbers
        The numbers of the rows that the paper has, NaN where a cell has none.
    spread, spread_is
        The spread of these numbers over the repetitions, and its kind.
    panels
        Title and number of columns of every group of columns that share a unit in a picture.
    ordered
        Whether the rows follow an order.
    floor
        The error that no method can beat.
    seconds
        Seconds of the processor that a line takes.
    quick
        The rows of a small run, by default all.
    files
        The file that a row needs in a folder of data.
    drawn
        Repetitions of the reference where they are not those of a run at full size.
    marks, mark_name
        Series and tick of every row where the rows are of several series, and the name of the axis.
    explained
        Row, column and reason of every cell of a full run that differs by more than chance.
    quantities
        See ``PaperComparison``.
    stand_ins
        Patterns of the rows that are not measured on the paper's data.
    method, rivals
        The column that the paper proposes, and those beside it; the least number is best.
    """

    key: str
    title: str
    paper: str
    did: str
    claims: tuple[Claim, ...]
    open_points: str
    row_name: str
    rows: Names
    columns: Names
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
    quick: Names = ()
    files: Mapping[str, str] = field(default_factory=dict)
    drawn: int = 0
    marks: tuple[tuple[str, str], ...] = ()
    mark_name: str = ""
    explained: tuple[tuple[str, str, str], ...] = ()
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    stand_ins: Names = ("*a stand-in",)
    method: str = ""
    rivals: Names = ()

    @classmethod
    def read(
        cls, key: str, measure: Measure, quantities: Mapping[str, Quantity] | None = None
    ) -> Self:
        """The experiment whose data are in ``published``."""
        shared = tomllib.loads((PUBLISHED / "shared.toml").read_text(encoding="utf-8"))
        text = (PUBLISHED / f"{key}.toml").read_text(encoding="utf-8")
        text = re.sub(r"\{(\w+)\}", lambda name: shared[name[1]], text)
        fields = _tuples(tomllib.loads(text))
        claims = []
        for claim in fields.pop("claims"):
            checks = tuple(Check(**check) for check in claim.pop("checks"))
            claims.append(Claim(checks=checks, **claim))
        explained = tuple(tuple(cell.values()) for cell in fields.pop("explained", ()))
        return cls(
            key=key,
            measure=measure,
            quantities=quantities or {},
            claims=tuple(claims),
            explained=explained,
            **fields,
        )

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
        groups = []
        start = 0
        for title, count in self.panels or ((self.unit, len(self.columns)),):
            groups.append((title, slice(start, start + count)))
            start += count
        return groups

    def marks_of(self, rows: Sequence[str]) -> list[tuple[str, str]]:
        """The series and the tick of some rows."""
        known = dict(zip(self.rows, self.marks, strict=True)) if self.marks else {}
        return [known.get(row, ("", row)) for row in rows]

    def reference(self, rows: Sequence[str]) -> Array:
        """The paper's numbers of some rows, (rows, columns)."""
        return self._filled(self.numbers, rows)

    def _filled(self, numbers: Mapping[str, Sequence[float]], rows: Sequence[str]) -> Array:
        table = np.full((len(rows), len(self.columns)), np.nan)
        for i, row in enumerate(rows):
            line = numbers.get(row, ())
            table[i, : len(line)] = line
        return table

    def reasons(self, comparison: PaperComparison) -> list[str]:
        """Why cells differ by more than chance: a sentence for each that is explained."""
        beyond = pd.DataFrame(comparison.beyond(), comparison.rows, comparison.columns)
        reasons = []
        for row, column, why in self.explained:
            if row in comparison.rows and beyond.loc[row, column]:
                reasons.append(f"{column} at {row}: {why}")
        return reasons

    def compare(self, outcome: Outcome) -> PaperComparison:
        """Set an outcome beside the reference.

        The joint standard error is sqrt(s^2 / n + t^2 / m) for n of our repetitions with standard
        deviation s and m of the reference with t. Where the reference does not report t, it is
        assumed to be s; a single repetition of ours takes t for s. Degrees of freedom are Welch's
        where both spreads were measured, and otherwise those of the one that was.
        """
        is_own = outcome.key == self.key and outcome.columns == self.columns
        if not is_own or not set(outcome.rows) <= set(self.rows):
            raise ParameterError(
                f"The outcome is not one of {self.key}, or of another version of it."
            )
        n = np.maximum(outcome.counts, 1)
        m = self.drawn or self.repetitions
        s = outcome.standard_error * np.sqrt(n)
        t = self._filled(self.spread, outcome.rows)
        errors = _SPREADS[self.spread_is]
        if errors:
            t *= np.sqrt(self.repetitions) / errors
        known = t / np.sqrt(m)
        freedom = np.maximum(1.0, n - 1.0)
        if self.spread:
            s = np.where(np.isfinite(s), s, t)
            ours = s**2 / n
            theirs = t**2 / m
            with np.errstate(divide="ignore", invalid="ignore"):
                welch = (ours + theirs) ** 2 / (ours**2 / (n - 1) + theirs**2 / (m - 1))
            freedom = np.where(np.isfinite(welch), welch, n - 1.0)
            freedom = np.where(n > 1, freedom, max(1.0, m - 1.0))
        else:
            t = s
        joint = np.sqrt(s**2 / n + t**2 / m)
        reference = self.reference(outcome.rows)
        return PaperComparison(
            outcome, reference, known, joint, freedom, self.repetitions == 1, self.quantities
        )

    def alone(self) -> PaperComparison:
        """The reference with nothing beside it yet."""
        empty = np.full((len(self.rows), 1, len(self.columns)), np.nan)
        return self.compare(Outcome(self.key, self.rows, self.columns, empty))

    def judge(self, outcome: Outcome) -> list[ClaimVerdict]:
        """The verdict of a run on every claim.

        The rows on the paper's data decide, and those on stand-ins where these have no number. The
        claims that disagree come first, then those that agree, then the others.
        """
        on_paper_data = self.compare(self._kind(outcome, False))
        on_stand_ins = self.compare(self._kind(outcome, True))
        verdicts = []
        for claim in self.claims:
            verdict = claim.judge(on_paper_data)
            if verdict.answer == ABSENT:
                other = claim.judge(on_stand_ins)
                if other.answer != ABSENT:
                    verdict = other._replace(stand_in=True)
            verdicts.append(verdict)
        return sorted(verdicts, key=lambda verdict: ANSWERS.index(verdict.answer))

    def is_stand_in(self, row: str) -> bool:
        """Whether a row was measured on other data than the paper's."""
        return any(fnmatchcase(row, pattern) for pattern in self.stand_ins)

    def covered(self, outcome: Outcome | None) -> tuple[int, int]:
        """How many rows of the paper were measured on its data and at its size, and of how many."""
        own = [row for row in self.rows if not self.is_stand_in(row)]
        if outcome is None or outcome.quick:
            return 0, len(own)
        return len(set(own).intersection(outcome.rows)), len(own)

    def coverage(self, outcome: Outcome) -> str:
        """What a run covers of the paper's table, and on how many rows its method is best.

        As in "Table 1: 19 of 20 rows measured at full size on the paper's data; HKL is best or
        level on 17."
        """
        measured, every = self.covered(outcome)
        said = f"{measured} of {every} rows measured at full size on the paper's data"
        if not every:
            said = "no row is about data that can be had; stand-ins run"
        if measured:
            counts = self._kind(outcome, False).counts.max(axis=1)
            fewer = np.count_nonzero(counts < self.repetitions)
            if fewer:
                said += f", {fewer} of them with fewer repetitions than the paper"
            if self.method:
                said += f"; {self.method} is best or level on {self.best_or_level(outcome)}"
        return f"{self.place[:1].upper()}{self.place[1:]}: {said}."

    def best_or_level(self, outcome: Outcome) -> int:
        """On how many repeated rows of the paper's data no rival is below the method.

        A rival is below it where the difference is significant at the 95 % level.
        """
        own = self._kind(outcome, False)
        comparison = self.compare(own)
        count = 0
        for row, counts in zip(own.rows, own.counts, strict=True):
            if counts.max() > 1:
                check = Check("below", (self.method,), self.rivals, (row,))
                verdict = Claim("", "", (check,)).judge(comparison)
                count += verdict.answer != DISAGREES
        return count

    def _kind(self, outcome: Outcome, stand_in: bool) -> Outcome:
        return outcome.part([row for row in outcome.rows if self.is_stand_in(row) == stand_in])

    def rows_on_disk(
        self,
        data: str | Path | None = None,
        quick: bool = False,
    ) -> Names:
        """The rows that can be measured, or those of a small run where ``quick``.

        A row that needs a file has it in the folder ``data``, by default that of the environment.
        """
        folder = _data_folder(data)
        rows = []
        for row in self.rows:
            file = self.files.get(row)
            if file is None or (folder and (Path(folder) / file).is_file()):
                rows.append(row)
        if quick:
            rows = [row for row in self.quick if row in rows] or rows
        return tuple(rows)

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
        """Measure the table again.

        Parameters
        ----------
        repetitions
            By default those of the reference. All rows of a repetition come before the next.
        rows
            Labels of rows, by default all that ``rows_on_disk`` lists.
        seed
            Seed of everything that is drawn.
        callback
            Called as callback(done, total) after each line; raise in it to cancel.
        quick
            Whether this is a small run, with fewer rows of data where the experiment allows it.
        data
            A folder of data files, by default that of the environment.
        n_jobs
            Lines measured at a time, as joblib has it.
        start
            An earlier run of the same seed, whose lines are not measured again.
        keep
            Called with the outcome so far after each line.

        Raises ``DataError`` where no row is available.
        """
        count = self.repetitions if repetitions is None else repetitions
        check_whole("repetitions", count)
        chosen = self.rows_on_disk(data, quick) if rows is None else tuple(rows)
        if not chosen and rows is None:
            raise DataError(
                f"{self.key} needs a folder with one of the files "
                f"{', '.join(sorted(self.files.values()))}; name it with --data or data=."
            )
        if not chosen or not set(chosen) <= set(self.rows):
            raise ParameterError(
                f"rows must be among {', '.join(self.rows)}; got {list(chosen)!r}."
            )
        outcome = self._joined(chosen, count, int(seed), quick, start)
        folder = _data_folder(data)
        where = str(Path(folder).resolve()) if folder else ""
        lines = []
        for k in range(count):
            measured_rows = np.flatnonzero(np.isfinite(outcome.samples[:, k]).any(axis=1))
            known = {outcome.rows[i] for i in measured_rows}
            rest = [row for row in chosen if row not in known]
            lines += [TableLine(row, int(seed), k, quick, where) for row in rest]
        measured = each(partial(_measured, self.measure), lines, n_jobs)
        for done, (line, (values, seconds)) in enumerate(zip(lines, measured, strict=True), 1):
            outcome.samples[outcome.rows.index(line.row), line.repetition] = values
            outcome = replace(outcome, seconds=outcome.seconds + seconds)
            if keep is not None:
                begun = np.flatnonzero(outcome.counts.any(axis=1))
                keep(outcome.part([outcome.rows[row] for row in begun]))
            if callback is not None:
                callback(done, len(lines))
        return outcome

    def _joined(
        self, rows: Sequence[str], count: int, seed: int, quick: bool, start: Outcome | None
    ) -> Outcome:
        """A run of some rows in which nothing is measured but the lines of ``start``."""
        if start is None:
            packages = tuple(versions().items())
            nothing = np.empty((0, 0, len(self.columns)))
            start = Outcome(self.key, (), self.columns, nothing, seed, 0.0, quick, packages)
        self.compare(start)
        if (start.seed, start.quick) != (seed, quick):
            raise ParameterError(
                f"The run so far has seed {start.seed} and is {'' if start.quick else 'not '}a "
                "small one; only a run of the same seed and size can go on."
            )
        every = tuple(row for row in self.rows if row in rows or row in start.rows)
        repetitions = max(count, start.repetitions)
        samples = np.full((len(every), repetitions, len(self.columns)), np.nan)
        for row, values in zip(start.rows, start.samples, strict=True):
            samples[every.index(row), : start.repetitions] = values
        return replace(start, rows=every, samples=samples)


def _measured(measure: Measure, line: TableLine) -> tuple[list[float], float]:
    """A line, and the seconds that its thread took.

    The records show how far a run is to be trusted, so that fits need not warn.
    """
    started = time.thread_time()
    with suppress_convergence_warnings():
        values = [float(value) for value in measure(line)]
    return values, time.thread_time() - started


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(one) for key, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _data_folder(
    data: str | Path | None,
) -> str | Path | None:
    """The folder of data files: the one that is named, or that of the environment."""
    return data if data is not None else os.environ.get(FOLDER)
