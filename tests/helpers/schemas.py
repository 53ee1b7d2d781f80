"""Tables with the columns of tables people bring, from schemas.txt beside this file; their few
values are made here.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from mklcore.data.columns import profile

FILE = Path(__file__).parent / "schemas.txt"
ROWS = 80


@dataclass(frozen=True)
class Schema:
    """A table's name, the column to predict, and its columns as (name, kind)."""

    name: str
    target: str
    columns: tuple[tuple[str, str], ...]

    def profiles(self):
        """What reading finds out about each column."""
        rng = np.random.default_rng(crc32(self.name.encode()))
        cells = {}
        waiting = dict(self.columns)
        while waiting:
            for name, kind in list(waiting.items()):
                made = _computed(kind, cells) if kind.startswith("=") else _drawn(kind, rng)
                if made is not None:
                    cells[name] = made
                    del waiting[name]
        return [profile(name, cells[name]) for name, _ in self.columns]


def read():
    lines = [
        line
        for line in FILE.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    return [_schema(line) for line in lines]


def _schema(line):
    name, target, columns = (part.strip() for part in line.split(" | "))
    pairs = [
        column.rsplit(":", 1) if ":" in column else [column, "p"] for column in columns.split()
    ]
    return Schema(name, target, tuple((name, kind) for name, kind in pairs))


def _computed(kind, cells):
    made = re.fullmatch(r"=(log|sq)\((.+)\)|=(.+)\*([\d.]+)|=1-(.+)", kind)
    assert made is not None, kind
    source = cells.get(made[2] or made[3] or made[5])
    if source is None:
        return None
    if made[1]:
        return np.log(source) if made[1] == "log" else source**2
    return source * float(made[4]) if made[3] else 1 - source


def _drawn(kind, rng):
    kind, gaps = kind.rstrip("?"), len(kind) - len(kind.rstrip("?"))
    values = _values(kind, rng)
    values = values.astype(float if values.dtype.kind == "f" else object)
    values[rng.random(ROWS) < (0.0, 0.1, 0.9)[gaps]] = np.nan if values.dtype.kind == "f" else ""
    return values


def _values(kind, rng):
    if kind == "p":
        return rng.gamma(4.0, 2.0, ROWS).round(3) + 0.1
    if kind == "n":
        return rng.normal(size=ROWS).round(3)
    if kind == "i":
        return 20 + rng.integers(0, 3000, ROWS).astype(float)
    if kind == "b":
        return (rng.random(ROWS) < 0.4).astype(float)
    if kind == "y":
        kind = "yes/no"
    if kind == "id":
        return np.arange(1.0, ROWS + 1)
    if kind == "gaps":
        return np.cumsum(rng.integers(1, 4, ROWS)).astype(float)
    if kind == "k":
        return np.ones(ROWS)
    if kind == "t":
        return np.array([f"entry {j} of {ROWS}" for j in rng.permutation(ROWS)])
    if kind == "d":
        return np.array([f"2020-{1 + j // 28:02d}-{1 + j % 28:02d}" for j in range(ROWS)])
    if known := re.fullmatch(r"c(\d+)", kind):
        return rng.integers(0, int(known[1]), ROWS).astype(float)
    if known := re.fullmatch(r"w(\d+)", kind):
        return np.array([f"kind{j}" for j in rng.integers(0, int(known[1]), ROWS)])
    assert "/" in kind, kind
    return rng.choice(kind.split("/"), ROWS)
