"""Do intervals and sets hold the truth as often as they say?

Coverage of `explore(...).predict_interval` and `.predict_set`.

    python -m benchmarks.coverage [DIR] [--rows 600] [--seeds 1] [--record FILE]

Generated tables, and every table of DIR that its targets.csv (file,target) names. Of each, at most
``--rows`` rows are explored and as many others predicted: the share of truths that are covered, and
how large intervals and sets are. The size of an interval is reported as a share of the interval
that needs no model: from the 5 % to the 95 % quantile of the target for a level of 90 %.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mklcore as mkl
from benchmarks.lines import command_line, keep, read_record, targets_of
from mklcore.data.dataset import Dataset
from mklcore.errors import MKLError

LEVEL = 0.9


def generated() -> Iterator[tuple[str, Callable[[int], Dataset]]]:
    """Names and makers of tables with known truth, by seed."""
    yield "polynomial", lambda seed: mkl.make_sparse_polynomial(2000, 10, seed)[0]
    yield "spectra", lambda seed: mkl.make_spectra(800, 60, 3, seed)[0]
    yield "uneven noise", _uneven
    yield "heavy tails", _heavy
    yield "twonorm", lambda seed: mkl.make_twonorm(2000, seed)[0]
    yield "ringnorm", lambda seed: mkl.make_ringnorm(2000, seed)[0]
    yield "toy, 50 columns", lambda seed: mkl.make_mkl_toy(2000, 5, seed)[0]
    yield "noise classes", _noise


def _uneven(seed: int) -> Dataset:
    random = np.random.default_rng(seed)
    X = random.uniform(-2.0, 2.0, (2000, 4))
    y = (
        np.sin(2.0 * X[:, 0])
        + X[:, 1]
        + (0.1 + 0.5 * np.abs(X[:, 2])) * random.standard_normal(2000)
    )
    return Dataset(X, y)


def _heavy(seed: int) -> Dataset:
    random = np.random.default_rng(seed)
    X = random.standard_normal((2000, 6))
    return Dataset(X, X[:, 0] + X[:, 1] ** 2 + random.standard_t(2.5, 2000))


def _noise(seed: int) -> Dataset:
    """Four classes, two of which nothing tells apart."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((2000, 5))
    y = np.where(X[:, 0] > 0.3, 0, np.where(X[:, 1] > 0.5, 1, 2 + random.integers(0, 2, 2000)))
    return Dataset(X, y.astype(str), task="multiclass")


def tables(folder: Path) -> Iterator[tuple[str, Callable[[int], Dataset]]]:
    """Names and readers of the tables of a folder."""
    for file, target in targets_of(folder).items():
        yield file, partial(_read, folder / file, target)


def _read(file: Path, target: str, _seed: int) -> Dataset:
    return mkl.read_table(file, target=target)


def measured(make: Callable[[int], Dataset], rows: int, seed: int) -> dict[str, Any]:
    """Coverage and mean size on rows that were not explored, or why there are none."""
    try:
        return measured_on(make(seed), rows, seed)
    except MKLError as error:
        return {"refused": str(error)}


def measured_on(data: Dataset, rows: int, seed: int) -> dict[str, Any]:
    """The same of one table that is read."""
    started = time.process_time()
    most = min(2 * rows, data.n_samples)
    known, new = data.drawn(most, seed).split(0.5 if most == 2 * rows else 0.3, seed)
    found = mkl.explore(known, seed=seed)
    if data.task == "regression":
        ends = found.predict_interval(new.X, LEVEL)
        covered = (ends[:, 0] <= new.y) & (new.y <= ends[:, 1])
        tail = (1.0 - LEVEL) / 2.0
        size = float(np.mean(np.diff(ends)) / np.ptp(np.quantile(known.y, [tail, 1.0 - tail])))
    else:
        sets = found.predict_set(new.X, LEVEL)
        covered = sets[np.arange(new.n_samples), np.searchsorted(found.model.classes_, new.y)]
        size = float(sets.sum(axis=1).mean())
    return {
        "task": data.task,
        "rows": known.n_samples,
        "covered": float(covered.mean()),
        "size": size,
        "score": float(found.model.score(new.X, new.y)),
        "seconds": time.process_time() - started,
    }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    # tables of strangers: what did not converge is reported by the library elsewhere
    warnings.simplefilter("ignore")
    record = read_record(asked.record)
    sources = [*generated(), *(tables(asked.folder) if asked.folder else ())]
    for name, make in sources:
        for seed in range(asked.seeds):
            key = f"{name} / {seed} / {LEVEL:g} / {asked.rows}"
            keep(asked.record, record, key, partial(measured, make, asked.rows, seed))
    ends = f" / {LEVEL:g} / {asked.rows}"
    for kind in ("interval", "set"):
        own = [
            one
            for key, one in record.items()
            if key.endswith(ends)
            and "covered" in one
            and (one["task"] == "regression") == (kind == "interval")
        ]
        if own:
            covered, size = (np.array([one[what] for one in own]) for what in ("covered", "size"))
            print(
                (
                    f"{kind}s of {len(own)} tables and seeds: {covered.mean():.1%} covered "
                    f"(from {covered.min():.1%} to {covered.max():.1%}; asked "
                    f"{LEVEL:.0%}), mean size {size.mean():.2f}"
                )
                + (" of the width without a model" if kind == "interval" else " classes")
            )


if __name__ == "__main__":
    main()
