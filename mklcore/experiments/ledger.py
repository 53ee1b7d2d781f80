"""Lines of a long run, written to a file as they come, so that a run that was cut short goes on where it stopped."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

from mklcore.errors import DataError
from mklcore.experiments.base import Line, Measured


class Ledger(dict[Line, Measured]):
    """What every line of an experiment measured, and in a file beside the outcome's one line of JSON for each.

    Hand it to ``Experiment.run`` as ``known``. DataError where the file holds something else.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = Path(path)
        if self.path.is_file():
            self._read()

    def _read(self) -> None:
        try:
            for text in self.path.read_text(encoding="utf-8").splitlines():
                found = json.loads(text)
                values = [float(value) for value in found["values"]]
                seconds = float(found.get("cpu_seconds", math.nan))  # of an earlier version: seconds by the clock
                super().__setitem__(Line(**found["line"]), Measured(values, seconds))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise DataError(
                f"{self.path} is no file of lines that a run left; delete it to begin anew, or name another with --out."
            ) from None

    def __setitem__(self, line: Line, found: Measured) -> None:
        super().__setitem__(line, found)
        text = json.dumps({"line": asdict(line), "values": found.values, "cpu_seconds": found.seconds})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
