"""What a run measured, as a record that is kept in JSON, and the same beside the numbers of the
paper.

Records that come with the project are in ``recorded``: small runs, and in ``recorded/full`` those
at the paper's sizes. ``python -m mklcore.gallery.experiments KEY --out FILE`` writes one.
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
from mklcore.arrays import Array, Indices, Mask, read_only
from mklcore.data.dataset import LARGEST_VALUE
from mklcore.errors import DataError

HOME = Path(__file__).with_name("recorded")
THREE_ERRORS = 0.9973  # of a normal distribution is within three standard errors
_FORMAT = "mklcore experiment 1"
_LONGEST_JSON = 5_000_000
_MOST_LABELS = 1000


@dataclass(frozen=True, eq=False)
class Outcome:
    """Measured numbers: ``samples`` (rows, repetitions, columns), NaN where a row was repeated less
    often than others, with the labels of rows and columns, ``seed`` and ``seconds`` of the
    processor, summed over all lines wherever they ran, NaN where they are not known. ``quick``: a
    small run, on fewer rows of data where the experiment says so; ``versions`` of what it was
    computed with.
    """

    key: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
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
        rows = self.counts.max(axis=1)
        least = f"{rows.min()} to " * bool(rows.min() < self.repetitions)
        return f"{least}{self.repetitions} repetition{'s' * (self.repetitions != 1)}"

    @cached_property
    def mean(self) -> Array:
        """Mean over the repetitions, (rows, columns)."""
        counts = np.where(self.counts > 0, self.counts, np.nan)
        return read_only(np.nansum(self.samples, axis=1) / counts)

    @cached_property
    def standard_error(self) -> Array:
        """Standard error of that mean; NaN after a single repetition."""
        counts = np.where(self.counts > 1, self.counts, np.nan)
        squares = np.nansum((self.samples - self.mean[:, None]) ** 2, axis=1)
        return read_only(np.sqrt(squares / (counts - 1) / counts))

    def part(self, rows: Sequence[str]) -> Outcome:
        """The same run with some of its rows alone."""
        samples = self.samples[[self.rows.index(row) for row in rows]]
        return replace(self, rows=tuple(rows), samples=samples)

    def to_json(self) -> str:
        """The outcome as JSON text, every sample in it; ``from_json`` reads it back."""
        return json.dumps(
            {
                "format": _FORMAT,
                "experiment": self.key,
                "seed": self.seed,
                "cpu_seconds": self.seconds if np.isfinite(self.seconds) else None,
                "quick": self.quick,
                "versions": dict(sorted(self.versions)),
                "rows": list(self.rows),
                "columns": list(self.columns),
                "samples": [
                    [[v if np.isfinite(v) else None for v in line] for line in row]
                    for row in self.samples.tolist()
                ],
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what ``to_json`` wrote. DataError for anything else."""
        if len(text) > _LONGEST_JSON:
            raise DataError(
                f"The file has {len(text)} bytes; an outcome of an experiment has at most "
                f"{_LONGEST_JSON}."
            )
        try:
            found = json.loads(text)
            if found["format"] != _FORMAT:
                raise ValueError(found["format"])
            samples = np.array(found["samples"], dtype=np.float64)
            rows, columns = (tuple(map(str, found[name])) for name in ("rows", "columns"))
            took = found.get("cpu_seconds")
            versions = dict(found.get("versions") or {})
            read = cls(
                str(found["experiment"]),
                rows,
                columns,
                samples,
                int(found["seed"]),
                float("nan") if took is None else float(took),
                bool(found.get("quick", False)),
                tuple(
                    (str(name)[:40], str(version)[:40])
                    for name, version in sorted(versions.items())
                )[:20],
            )
        except (KeyError, TypeError, ValueError, RecursionError, OverflowError):
            raise DataError(
                "This is not an outcome of an experiment written by this library."
            ) from None
        if max(len(rows), len(columns)) > _MOST_LABELS or samples.ndim != 3 or samples.shape[1] < 1:
            raise DataError("The samples of an outcome are a table (rows, repetitions, columns).")
        if (
            len(set(rows)) < len(rows)
            or not (np.isnan(samples) | (np.abs(samples) <= LARGEST_VALUE)).all()
        ):
            raise DataError("An outcome has every row once, and its samples are finite numbers.")
        if (len(rows), len(columns)) != (samples.shape[0], samples.shape[2]):
            raise DataError(
                f"The outcome names {len(rows)} rows and {len(columns)} columns; its "
                f"samples are {samples.shape}."
            )
        return read


def versions() -> dict[str, str]:
    """What a run is computed with."""
    found = {name: metadata.version(name) for name in ("numpy", "scipy", "numba")}
    with suppress(metadata.PackageNotFoundError):
        found["mklcore"] = metadata.version("mklcore")
    return {**found, "python": platform.python_version()}


def records(key: str) -> tuple[Outcome, ...]:
    """The runs of an experiment that come with the project: the one at full size first, then the
    small one, if there are.
    """
    paths = [place / f"{key}.json" for place in (HOME / "full", HOME)]
    return tuple(Outcome.from_json(path.read_bytes()) for path in paths if path.is_file())


def record(key: str) -> Outcome | None:
    """The largest run of an experiment that comes with the project; None where there is none."""
    return next(iter(records(key)), None)


Quantity = Callable[["PaperComparison", str], Array]


@dataclass(frozen=True, eq=False)
class PaperComparison:
    """A run beside the numbers of the paper, arrays (rows, columns): ``reference`` with its
    standard error, NaN where it is not known, the ``joint_error`` of ours minus the reference, and
    its degrees of ``freedom``.

    ``exact``: nothing in the run is random. ``quantities``: what claims speak of beside the
    columns, each a function of the comparison and a row that gives one number per repetition.
    """

    run: Outcome
    reference: Array
    reference_error: Array
    joint_error: Array
    freedom: Array
    exact: bool = False
    quantities: Mapping[str, Quantity] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows that were measured."""
        return self.run.rows

    @property
    def columns(self) -> tuple[str, ...]:
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

    @property
    def compared(self) -> int:
        """The number of cells whose difference can be judged."""
        return int(np.count_nonzero(np.isfinite(self.difference) & np.isfinite(self.joint_error)))

    def of(self, row: str, name: str) -> Array:
        """All repetitions of one cell, or of a quantity in a row."""
        if name in self.quantities:
            return self.quantities[name](self, row)
        return self.run.samples[self.rows.index(row), :, self.columns.index(name)]

    def printed(self, row: str, name: str) -> float:
        """The printed number of a cell; NaN where there is none."""
        known = name in self.columns
        return (
            float(self.reference[self.rows.index(row), self.columns.index(name)])
            if known
            else np.nan
        )

    def named(self, patterns: tuple[str, ...]) -> list[str]:
        """The columns and quantities that patterns such as "p = *" name."""
        return _matching(patterns, (*self.columns, *self.quantities))

    def chosen(self, patterns: tuple[str, ...]) -> list[str]:
        """The measured rows that patterns name; all of them where there are none."""
        return _matching(patterns or ("*",), self.rows)

    def reach(self, level: float = 0.95) -> Array:
        """How far from 0 a difference can be by chance, (rows, columns): Student's t times the
        joint standard error.
        """
        reach: Array = student_t.ppf(0.5 + level / 2.0, self.freedom) * self.joint_error
        return reach

    def in_errors(self) -> Array:
        """The difference in joint standard errors; NaN where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Array = self.difference / np.where(
                self.joint_error > 0, self.joint_error, np.nan
            )
        return ratio

    def beyond(self, level: float = THREE_ERRORS) -> Mask:
        """Which differences chance does not explain, (rows, columns): as rare as three standard
        errors of many repetitions.

        Of few repetitions by Student's t, and never where the reference was only rounded to its
        last digit.
        """
        digits = np.array([_last_digit(value) for value in self.reference.ravel()])
        rounding = 0.5 * digits.reshape(self.reference.shape) + 1e-12
        with np.errstate(invalid="ignore"):
            found: Mask = np.abs(self.difference) > np.maximum(self.reach(level), rounding)
        return found & np.isfinite(self.joint_error)

    def frame(self) -> pd.DataFrame:
        """One line per cell."""
        names = ("ours", "ours_error", "reference", "reference_error", "difference", "joint_error")
        cells = {name: getattr(self, name).ravel() for name in names} | {
            "in_joint_errors": self.in_errors().ravel()
        }
        places = pd.MultiIndex.from_product([self.rows, self.columns], names=["row", "column"])
        return pd.DataFrame(cells, places).reset_index()


def _matching(
    patterns: tuple[str, ...],
    names: tuple[str, ...],
) -> list[str]:
    return [name for pattern in patterns for name in names if fnmatchcase(name, pattern)]


def _last_digit(value: float) -> float:
    """What one step of the last digit of a printed number is worth: 0.01 for 1.07."""
    if not np.isfinite(value):
        return 0.0
    digits = repr(float(value)).partition(".")[2]
    return 1.0 if digits in ("", "0") else 10.0 ** -len(digits)
