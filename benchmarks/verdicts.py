"""How often is noise called a relation, and how often is a relation seen?

The verdict of `explore` on tables without and with a relation, each drawn anew.

    python -m benchmarks.verdicts [--draws 200] [--only PART ...] [--engel FILE] [--record FILE] [--write]

FILE of ``--engel`` is the food expenditure of 235 households (Engel's table of statsmodels: income,
foodexp), whose draws are other seeds. ``--write`` writes the table of docs/answer.md from the
record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mklcore as mkl
from benchmarks.lines import command_line, include, keep, read_record
from mklcore.answer.candidates import Request
from mklcore.answer.exploration import Exploration
from mklcore.answer.explore import stages
from mklcore.answer.verdict import ColumnEffect
from mklcore.data.dataset import Dataset

PAGE = Path(__file__).resolve().parents[1] / "docs" / "answer.md"


def noise(kind: str, n: int, d: int, seed: int) -> Dataset:
    """Columns that have nothing to do with the target."""
    random = np.random.default_rng([seed, n, d])
    X = random.standard_normal((n, d))
    if kind in ("balanced", "rare"):
        y = random.permutation(np.arange(n) < (n // 2 if kind == "balanced" else n // 10))
        return Dataset(X, np.where(y, "yes", "no"), task="binary")
    y = random.standard_t(2, n) if kind == "heavy" else random.standard_normal(n)
    return Dataset(X, y)


def weak(seed: int) -> Dataset:
    """Three of 300 columns matter."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((200, 300))
    y = 2.0 * X[:, 3] + 3.0 * np.abs(X[:, 50]) - X[:, 120] + random.standard_normal(200)
    return Dataset(X, y)


def heavy(seed: int) -> Dataset:
    """A relation under noise of infinite variance."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((300, 5))
    return Dataset(X, X[:, 0] + X[:, 1] + random.standard_t(2, 300))


def rare(seed: int) -> Dataset:
    """A class of a tenth of the rows that is ranked well, while the other class wins on accuracy."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((300, 5))
    order = np.argsort(X[:, 0] + 0.8 * random.standard_normal(300))
    y = np.full(300, "no", dtype=object)
    y[order[-30:]] = "yes"
    return Dataset(X, y.astype(str), task="binary")


TABLES: dict[str, Callable[[int], Dataset]] = {
    "noise: numbers, 300 x 5": partial(noise, "numbers", 300, 5),
    "noise: two classes alike, 300 x 5": partial(noise, "balanced", 300, 5),
    "noise: classes 1 to 9, 300 x 5": partial(noise, "rare", 300, 5),
    "noise: heavy tails, 300 x 5": partial(noise, "heavy", 300, 5),
    "noise: numbers, 30 x 5, none held out": partial(noise, "numbers", 30, 5),
    "noise: numbers, 30 x 300, none held out": partial(noise, "numbers", 30, 300),
    "three of 300 columns, 200 x 300": weak,
    "two of 5 columns, noise with heavy tails, 300 x 5": heavy,
    "a rare class that is ranked well, 300 x 5": rare,
}


def judged(make: Callable[[int], Dataset], seed: int) -> dict[str, Any]:
    """The relation that the verdict states, and its p value."""
    data = make(seed)
    request = Request(seed=seed)
    found = dict[str, Any]()
    for name, value in stages(data, request):
        found[name] = value
        if name == "refit":
            break
    path, index, model = found["refit"]
    effects = (ColumnEffect(data.columns[0][0], 0.0, 0.0, 0.0, 0.0),)
    verdict = Exploration(
        found["table"], found["choice"], path, index, model, (), effects, {}
    ).verdict
    return {"relation": verdict.relation, "p_value": verdict.p_value}


def written(record: dict[str, dict[str, Any]]) -> str:
    """The table in Markdown."""
    lines = [
        "| table | draws | a relation | better than guessing |",
        "|---|---|---|---|",
    ]
    named = [(key.partition(" / ")[0], one) for key, one in record.items()]
    names = dict.fromkeys(name for name, _ in named)
    for name in sorted(names, key=lambda name: [*TABLES, name].index(name)):
        own = [one for other, one in named if other == name]
        related = np.mean([one["relation"] != "none" for one in own])
        better = np.mean([one["relation"] == "better" for one in own])
        lines.append(f"| {name} | {len(own)} | {related:.1%} | {better:.1%} |")
    return "\n".join(lines)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--engel", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    record = read_record(asked.record)
    tables = dict(TABLES)
    if asked.engel:
        households = mkl.read_table(asked.engel, target="foodexp")
        tables["food expenditure of 235 households"] = lambda seed: households
    for seed in range(0 if asked.write else asked.draws):
        for name, make in tables.items():
            key = f"{name} / {seed}"
            if not asked.only or any(part in name for part in asked.only):
                keep(asked.record, record, key, partial(judged, make, seed))
    table = written(record)
    print(table)
    if asked.write:
        include(PAGE, "verdicts", table)


if __name__ == "__main__":
    main()
