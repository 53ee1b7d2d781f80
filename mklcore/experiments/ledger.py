"""Lines of a long run, written to a file as they come, so that a run that was cut short goes on where it stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from mklcore.errors import DataError
from mklcore.experiments.base import Line


class Ledger(dict[Line, list[float]]):
    """What every line of an experiment measured, and in a file beside the outcome's one line of JSON for each.

    Hand it to ``Experiment.run`` as ``known``. ``seconds_of`` tells how long lines took, in this run or in an earlier one.
    DataError in words where the file holds something else.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path, self.seconds = Path(path), dict[Line, float]()
        if self.path.is_file():
            self._read()
        self._clock = time.perf_counter()

    def _read(self) -> None:
        try:
            for text in self.path.read_text(encoding="utf-8").splitlines():
                found = json.loads(text)
                line = Line(**found["line"])
                super().__setitem__(line, [float(value) for value in found["values"]])
                self.seconds[line] = float(found["seconds"])
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"{self.path} is no file of lines that a run left; delete it to begin anew, or name another with --out."
            ) from None

    def __setitem__(self, line: Line, values: list[float]) -> None:
        super().__setitem__(line, values)
        now = time.perf_counter()
        self.seconds[line], self._clock = now - self._clock, now
        text = json.dumps({"line": asdict(line), "values": values, "seconds": self.seconds[line]})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def seconds_of(self, rows: Sequence[str], repetitions: int) -> float:
        """What the first repetitions of some rows took together."""
        return sum(s for line, s in self.seconds.items() if line.row in rows and line.repetition < repetitions)
