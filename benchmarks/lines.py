"""One line of a benchmark: what was measured, how often, and beside what it stands; and where
processes are measured.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Line:
    """Measurements of one thing, the smaller the better, beside a peer's in the same run or a
    limit.
    """

    what: str
    values: Sequence[float]
    unit: str
    beside: float
    peer: str
    note: str = field(default="", compare=False)

    @property
    def median(self) -> float:
        """The median of the measurements."""
        return float(np.median(self.values))

    @property
    def spread(self) -> float:
        """Half of what is between the smallest and the largest measurement, as a share of the
        median.
        """
        return float(np.ptp(self.values)) / 2 / self.median if self.median else 0.0

    @property
    def ratio(self) -> float:
        """How many times as much the peer takes, or the limit allows: above 1 is good."""
        return self.beside / self.median if self.median else float("inf")


def cpu(task: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one thread, and the answer: other work on the machine does not count."""
    began = time.process_time()
    answer = task()
    return time.process_time() - began, answer


def usual() -> dict[str, str]:
    """The environment of an installed copy: Python keeps what it made of the sources, which a
    second start then loads, although the process that measures may be configured to keep nothing.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def reported(lines: Sequence[Line]) -> str:
    """The lines as a Markdown table; one measurement has no spread to tell."""
    rows = []
    for line in lines:
        spread = f" ± {100 * line.spread:.0f} %" if len(line.values) > 1 else ""
        rows.append(
            f"| {line.what} | {line.median:.3g} {line.unit}{spread} | {line.peer} "
            f"{line.beside:.3g} {line.unit} | {line.ratio:.2f} | {line.note} |"
        )
    return "\n".join(["| what | median | beside | ratio | |", "|---|---|---|---|---|", *rows])
