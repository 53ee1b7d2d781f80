"""How many of the columns that `select_columns` names are false?

Generated tables of 60 columns, 15 of which make the target.

    python -m benchmarks.selection_truth [--seeds 10] [--rows 1000] [--fdr 0.1] [--kinds linear curved mixed]
                                         [--record FILE]

Columns are normal with correlation 0.5^|i - j|; the target is a sum of 15 of them (linear), of
their squares less one, sines of twice the column and absolute values (curved), or of columns,
squares and sines in turn (mixed), and noise of the same variance.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

import mklcore as mkl
from benchmarks.lines import command_line, cpu, keep, read_record
from mklcore.data.dataset import Dataset

COLUMNS = 60
TRUE = 15
CORRELATION = 0.5
PARTS = {
    "line": lambda x: x,
    "square": lambda x: (x**2 - 1.0) / np.sqrt(2.0),
    "sine": lambda x: np.sin(2.0 * x) / 0.7,
    "absolute": lambda x: (np.abs(x) - 0.8) / 0.6,
}
KINDS = {
    "linear": ("line",),
    "curved": ("square", "sine", "absolute"),
    "mixed": ("line", "square", "sine"),
}


def table(kind: str, n: int, seed: int) -> tuple[Dataset, set[str]]:
    """A table and the names of the columns that its target is made of."""
    random = np.random.default_rng(seed)
    places = np.arange(COLUMNS)
    covariance = CORRELATION ** np.abs(np.subtract.outer(places, places))
    X = random.standard_normal((n, COLUMNS)) @ np.linalg.cholesky(covariance).T
    true = np.sort(random.choice(COLUMNS, TRUE, replace=False))
    parts = KINDS[kind]
    signal = sum(
        random.choice([-1.0, 1.0]) * PARTS[parts[i % len(parts)]](X[:, j])
        for i, j in enumerate(true)
    )
    y = signal / np.std(signal) + random.standard_normal(n)
    return Dataset(X, y), {f"x{j + 1}" for j in true}


def measured(kind: str, n: int, fdr: float, seed: int) -> dict[str, float]:
    """How many columns of a table are named, and how many of them are true."""
    data, true = table(kind, n, seed)
    spent, found = cpu(partial(mkl.select_columns, data, fdr, seed=seed))
    named = set(found.names)
    counts = {"named": len(named), "false": len(named - true), "true": len(named & true)}
    return {**counts, "seconds": spent}


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--fdr", type=float, default=0.1)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    record = read_record(asked.record)
    for kind in asked.kinds:
        for seed in range(asked.seeds):
            key = f"{asked.fdr:g} / {asked.rows} / {kind} / {seed}"
            keep(asked.record, record, key, partial(measured, kind, asked.rows, asked.fdr, seed))
    start = f"{asked.fdr:g} / {asked.rows} / "
    for kind in (*asked.kinds, ""):
        own = [
            one
            for key, one in record.items()
            if key.startswith(start + (f"{kind} / " if kind else ""))
        ]
        rate = np.array([one["false"] / max(one["named"], 1) for one in own])
        power = np.array([one["true"] / TRUE for one in own])
        print(
            f"{kind or 'all'}: {len(own)} tables, false discovery rate {rate.mean():.1%} ± "
            f"{rate.std() / np.sqrt(len(own)):.1%}, power {power.mean():.0%}, "
            f"{np.mean([one['false'] for one in own]):.2f} false columns, "
            f"{np.median([one['seconds'] for one in own]):.1f} CPU s"
        )


if __name__ == "__main__":
    main()
