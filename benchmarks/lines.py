"""One line of a benchmark: what was measured, how often, and beside what it stands; where processes
are measured; and what benchmarks read and write: records, the targets of a folder of tables, pages.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
        """What is between the quartiles of the measurements, as a share of the median."""
        low, high = np.percentile(self.values, [25, 75])
        return float(high - low) / self.median if self.median else 0.0

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


def command_line(said: str | None) -> argparse.ArgumentParser:
    """The arguments of a benchmark, whose help is what its module says of itself."""
    kind = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=said, formatter_class=kind)


def written_table(names: Sequence[str], X: np.ndarray, classes: Sequence[str]) -> bytes:
    """Numbers with a class on each row, and the names above, as a file of commas."""
    rows = [[*(f"{v:.4f}" for v in row), one] for row, one in zip(X, classes, strict=True)]
    return "\n".join(map(",".join, [names, *rows])).encode()


def keep(file: Path | None, record: dict[str, Any], key: str, measure: Callable[[], Any]) -> None:
    """Measure what is not in a record yet, print it, and write the record again."""
    if key not in record:
        record[key] = measure()
        print(key, record[key], flush=True)
        write_record(file, record)


def read_record(file: Path | None) -> dict[str, Any]:
    """What earlier runs have kept; empty where there is no such file."""
    if file is None or not file.exists():
        return {}
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def write_record(file: Path | None, record: Mapping[str, Any]) -> None:
    """Keep what was measured, where a file is named."""
    if file is not None:
        file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def targets_of(folder: Path) -> dict[str, str]:
    """The target of every table of a folder, by its file, as ``targets.csv`` (file,target) has it."""
    with (folder / "targets.csv").open(encoding="utf-8", newline="") as lines:
        return {row["file"]: row["target"] for row in csv.DictReader(lines)}


def included(text: str, mark: str, table: str) -> str:
    """``text`` with ``table`` between ``<!-- mark -->`` and ``<!-- /mark -->``; unchanged where it
    has no such marks.
    """
    head, first, rest = text.partition(f"<!-- {mark} -->")
    _, last, after = rest.partition(f"<!-- /{mark} -->")
    return f"{head}{first}\n{table}\n{last}{after}" if last else text


def include(page: Path, mark: str, table: str) -> None:
    """Write ``table`` between its marks in a page."""
    page.write_text(included(page.read_text(encoding="utf-8"), mark, table), encoding="utf-8")


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
