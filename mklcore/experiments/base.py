"""What a published experiment is: what was done, what was reported, and a call that does it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.losses import Array

Progress = Callable[[int, int], Any] | None


@dataclass(frozen=True, eq=False)
class Outcome:
    """Measured numbers: ``samples`` (rows, repetitions, columns), with the labels of rows and columns."""

    key: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    samples: Array

    @property
    def mean(self) -> Array:
        """Mean over the repetitions, (rows, columns)."""
        return self.samples.mean(axis=1)

    @property
    def standard_error(self) -> Array:
        """Standard error of that mean; NaN after a single repetition."""
        n = self.samples.shape[1]
        return self.samples.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(self.mean.shape, np.nan)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = ""
        for row, means, errors in zip(self.rows, self.mean, self.standard_error, strict=True):
            cells = [f"<td>{m:.2f} &plusmn; {e:.2f}</td>" for m, e in zip(means, errors, strict=True)]
            body += f"<tr><td>{escape(row)}</td>{''.join(cells)}</tr>"
        return f"<b>{escape(self.key)}</b>, {self.samples.shape[1]} repetitions<table><tr><th></th>{head}</tr>{body}</table>"


@dataclass(frozen=True, eq=False)
class Experiment:
    """One published experiment.

    ``did`` what the paper did, ``claims`` what it reports, ``open_points`` what it leaves open and how that is settled here;
    ``rows``, ``columns``, ``unit`` of the table; ``replicated`` (rows, columns) numbers of an independent replication at
    ``repetitions`` repetitions, where the paper has a figure only; ``measure(row, seed, repetition)`` one line of the table.
    """

    key: str
    title: str
    paper: str
    did: str
    claims: tuple[str, ...]
    open_points: str
    row_name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    unit: str
    replicated: tuple[tuple[float, ...], ...]
    repetitions: int
    measure: Callable[[str, int, int], Sequence[float]]

    def run(
        self,
        repetitions: int | None = None,
        rows: Sequence[str] | None = None,
        seed: int = 0,
        callback: Progress = None,
    ) -> Outcome:
        """Do it again. ``rows`` some of the row labels (all by default); ``callback(done, total)`` may raise to cancel."""
        count = self.repetitions if repetitions is None else repetitions
        if not (isinstance(count, (int, np.integer)) and count >= 1):
            raise ParameterError(f"repetitions must be a whole number of 1 or more; got {repetitions!r}.")
        chosen = self.rows if rows is None else tuple(rows)
        unknown = [row for row in chosen if row not in self.rows]
        if unknown or not chosen:
            raise ParameterError(f"rows must be among {', '.join(self.rows)}; got {list(chosen)!r}.")
        total = len(chosen) * count
        samples: list[list[list[float]]] = []
        for row in chosen:
            lines = []
            for repetition in range(count):
                lines.append(list(self.measure(row, seed, repetition)))
                if callback is not None:
                    callback(len(samples) * count + repetition + 1, total)
            samples.append(lines)
        return Outcome(self.key, chosen, self.columns, np.array(samples))

    def reference(self, rows: Sequence[str]) -> Array:
        """The replicated numbers of some rows, (rows, columns)."""
        return np.array([self.replicated[self.rows.index(row)] for row in rows])
