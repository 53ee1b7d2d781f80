"""A run as a record that is saved in JSON, and the same run beside the numbers of the paper.

The records that come with the project are in ``recorded`` (small runs) and ``recorded/full`` (runs
at the paper's sizes). ``python -m mklcore.gallery.experiments KEY --out FILE`` writes one.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import metadata
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from scipy.stats import t as student_t

from mklcore._lazy import cached_property
from mklcore.arrays import Array, Indices, Mask, Names, read_only
from mklcore.data.dataset import LARGEST_VALUE
from mklcore.errors import DataError

HOME = Path(__file__).with_name("recorded")
THREE_ERRORS = 0.9973  # of a normal distribution is within three standard errors
_FORMAT = "mklcore experiment 1"
_LONGEST_JSON = 5_000_000
_MOST_LABELS = 1000
_MOST_VERSIONS = 20


@dataclass(frozen=True, eq=False)
class Outcome:
    """The numbers that a run measured.

    ``samples`` (rows, repetitions, columns) are NaN where a row was repeated less often than others.
    ``seconds`` are those of the processor, summed over all lines wherever they ran, and NaN where
    they are not known. A ``quick`` run has fewer rows of data where the experiment allows it.
    ``versions`` are those of Python and of the packages it was computed with.
    """

    key: str
    rows: Names
    columns: Names
    samples: Array
    seed: int = 0
    seconds: float = float("nan")
    quick: bool = False
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def took(self) -> str:
        """How long it took; empty where that is not known."""
        if not np.isfinite(self.seconds):
            return ""
        return f"{self.seconds:.1f} CPU s" if self.seconds < 100 else f"{self.seconds:.0f} CPU s"

    @property
    def repetitions(self) -> int:
        """How often the rows were measured, at most."""
        return int(self.samples.shape[1])

    @cached_property
    def counts(self) -> Indices:
        """How often each cell was measured, (rows, columns)."""
        counts: Indices = np.isfinite(self.samples).sum(axis=1)
        counts.setflags(write=False)
        return counts

    @property
    def size(self) -> str:
        """The number of repetitions in words: "3 to 10 repetitions" where rows differ."""
        least = self.counts.max(axis=1).min()
        size = "1 repetition" if self.repetitions == 1 else f"{self.repetitions} repetitions"
        return f"{least} to {size}" if least < self.repetitions else size

    @cached_property
    def mean(self) -> Array:
        """Mean over the repetitions, (rows, columns)."""
        known = np.ma.masked_invalid(self.samples)
        return read_only(known.mean(axis=1).filled(np.nan))

    @cached_property
    def standard_error(self) -> Array:
        """Standard error of that mean; NaN after a single repetition."""
        known = np.ma.masked_invalid(self.samples)
        errors = known.std(axis=1, ddof=1) / np.sqrt(self.counts)
        return read_only(errors.filled(np.nan))

    def part(self, rows: Sequence[str]) -> Outcome:
        """The same run with some of its rows alone."""
        samples = self.samples[[self.rows.index(row) for row in rows]]
        return replace(self, rows=tuple(rows), samples=samples)

    def to_json(self) -> str:
        """The outcome as JSON text, every sample in it; ``from_json`` reads it back."""
        samples = self.samples.astype(object)
        samples[~np.isfinite(self.samples)] = None
        record = {
            "format": _FORMAT,
            "experiment": self.key,
            "seed": self.seed,
            "cpu_seconds": self.seconds if np.isfinite(self.seconds) else None,
            "quick": self.quick,
            "versions": dict(sorted(self.versions)),
            "rows": self.rows,
            "columns": self.columns,
            "samples": samples.tolist(),
        }
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what ``to_json`` wrote. DataError for anything else."""
        if len(text) > _LONGEST_JSON:
            raise DataError(
                f"The file has {len(text)} bytes; an outcome of an experiment has at most "
                f"{_LONGEST_JSON}."
            )
        try:
            record = json.loads(text)
            if record["format"] != _FORMAT:
                raise ValueError(record["format"])
            seconds = record.get("cpu_seconds")
            versions = []
            for name, version in sorted(dict(record.get("versions") or {}).items()):
                versions.append((str(name)[:40], str(version)[:40]))
            outcome = cls(
                str(record["experiment"]),
                tuple(map(str, record["rows"])),
                tuple(map(str, record["columns"])),
                np.array(record["samples"], dtype=np.float64),
                int(record["seed"]),
                np.nan if seconds is None else float(seconds),
                bool(record.get("quick", False)),
                tuple(versions[:_MOST_VERSIONS]),
            )
        except (KeyError, TypeError, ValueError, RecursionError, OverflowError):
            raise DataError(
                "This is not an outcome of an experiment written by this library."
            ) from None
        outcome._check()
        return outcome

    def _check(self) -> None:
        """Raise ``DataError`` where labels and samples do not fit together."""
        samples = self.samples
        n_rows = len(self.rows)
        n_columns = len(self.columns)
        if max(n_rows, n_columns) > _MOST_LABELS or samples.ndim != 3 or samples.shape[1] < 1:
            raise DataError("The samples of an outcome are a table (rows, repetitions, columns).")
        is_valid = np.isnan(samples) | (np.abs(samples) <= LARGEST_VALUE)
        if len(set(self.rows)) < n_rows or not is_valid.all():
            raise DataError("An outcome has every row once, and its samples are finite numbers.")
        if (n_rows, n_columns) != (samples.shape[0], samples.shape[2]):
            raise DataError(
                f"The outcome names {n_rows} rows and {n_columns} columns; its "
                f"samples are {samples.shape}."
            )


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that a run is computed with."""
    found = {name: metadata.version(name) for name in ("numpy", "scipy", "numba")}
    with suppress(metadata.PackageNotFoundError):
        found["mklcore"] = metadata.version("mklcore")
    return found | {"python": platform.python_version()}


def records(key: str) -> tuple[Outcome, ...]:
    """The runs of an experiment that come with the project: that at full size, then the small one."""
    paths = (HOME / "full" / f"{key}.json", HOME / f"{key}.json")
    return tuple(Outcome.from_json(path.read_bytes()) for path in paths if path.is_file())


def record(key: str) -> Outcome | None:
    """The largest run of an experiment that comes with the project; None where there is none."""
    return next(iter(records(key)), None)


Quantity = Callable[["PaperComparison", str], Array]


@dataclass(frozen=True, eq=False)
class PaperComparison:
    """A run beside the numbers of the paper; arrays are (rows, columns).

    The ``reference`` has its standard error, NaN where it is not known. ``joint_error`` is the
    standard error of ours minus the reference, with its degrees of ``freedom``. In an ``exact`` run
    nothing is random. ``quantities`` are what claims speak of beside the columns: functions of the
    comparison and a row that return one number per repetition.
    """

    run: Outcome
    reference: Array
    reference_error: Array
    joint_error: Array
    freedom: Array
    exact: bool = False
    quantities: Mapping[str, Quantity] = field(default_factory=dict)

    @property
    def rows(self) -> Names:
        """The rows that were measured."""
        return self.run.rows

    @property
    def columns(self) -> Names:
        """The columns of the table."""
        return self.run.columns

    @property
    def ours(self) -> Array:
        """Our means."""
        return self.run.mean

    @property
    def ours_error(self) -> Array:
        """Their standard errors."""
        return self.run.standard_error

    @cached_property
    def difference(self) -> Array:
        """Ours minus the reference."""
        return read_only(self.ours - self.reference)

    def of(self, row: str, name: str) -> Array:
        """All repetitions of one cell, or of a quantity in a row."""
        if name in self.quantities:
            return self.quantities[name](self, row)
        column = self.columns.index(name)
        return self.run.samples[self.rows.index(row), :, column]

    def printed(self, row: str, name: str) -> float:
        """The printed number of a cell; NaN where there is none."""
        if name not in self.columns:
            return np.nan
        column = self.columns.index(name)
        return float(self.reference[self.rows.index(row), column])

    def named(self, patterns: Names) -> list[str]:
        """The columns and quantities that patterns such as "p = *" name."""
        return _matching(patterns, (*self.columns, *self.quantities))

    def chosen(self, patterns: Names) -> list[str]:
        """The measured rows that patterns name; all of them where there are none."""
        return _matching(patterns or ("*",), self.rows)

    def reach(self, level: float = 0.95) -> Array:
        """How far from 0 a difference can be by chance, (rows, columns): Student's t times the
        joint standard error.
        """
        reach: Array = student_t.ppf(0.5 + level / 2.0, self.freedom) * self.joint_error
        return reach

    def beyond(self, level: float = THREE_ERRORS) -> Mask:
        """Which differences chance does not explain, (rows, columns).

        They are as rare as three standard errors of many repetitions; few repetitions are judged by
        Student's t. A difference that rounding to the last printed digit explains never counts.
        """
        digits = np.array([_last_digit(value) for value in self.reference.ravel()])
        rounding = 0.5 * digits.reshape(self.reference.shape) + 1e-12
        with np.errstate(invalid="ignore"):
            found: Mask = np.abs(self.difference) > np.maximum(self.reach(level), rounding)
        return found & np.isfinite(self.joint_error)

    def frame(self) -> pd.DataFrame:
        """One line per cell."""
        names = ("ours", "ours_error", "reference", "reference_error", "difference", "joint_error")
        cells = {name: getattr(self, name).ravel() for name in names}
        places = pd.MultiIndex.from_product([self.rows, self.columns], names=["row", "column"])
        frame = pd.DataFrame(cells, places)
        frame["in_joint_errors"] = frame.difference / frame.joint_error.where(frame.joint_error > 0)
        return frame.reset_index()


def _matching(patterns: Names, names: Names) -> list[str]:
    matching: list[str] = []
    for pattern in patterns:
        matching += [name for name in names if fnmatchcase(name, pattern)]
    return matching


def _last_digit(value: float) -> float:
    """What one step of the last digit of a printed number is worth: 0.01 for 1.07."""
    if not np.isfinite(value):
        return 0.0
    digits = repr(float(value)).partition(".")[2]
    return 1.0 if digits in ("", "0") else 10.0 ** -len(digits)
