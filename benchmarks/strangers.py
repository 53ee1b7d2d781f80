"""Tables nobody prepared: what is guessed, how fast the answer is, how good it is, and whether the ranking is right.

    python -m benchmarks.strangers [DIR] [--splits 5] [--only NAME ...] [--record FILE]

Every table of DIR (CSV, TSV, text, Excel, Parquet) is read as the app reads it; without DIR the samples, and tables
made here whose truth is known. Baselines are scikit-learn's on the same training rows with their parameters chosen on
the same validation rows. "behind" is how far the test score of `explore` stays behind the better of RBF machine and
linear model, the mean over the splits; "found" is the share of the columns that count which stand at the head of the
ranking. Every table goes into the record as soon as it is measured, in place of its older row;
`benchmarks.strangers_record` writes the page.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import mklcore as mkl
from benchmarks import strangers_record
from mklcore.data.dataset import Dataset, three_way_split
from mklcore.data.reading import read_table
from mklcore.errors import MKLError
from mklcore.exploration import Exploration, explore
from mklcore.kernels.units import units

KINDS = (".csv", ".tsv", ".txt", ".data", ".xlsx", ".parquet")
RIVALS = ("linear", "RBF")
LOOK_ROWS = 300
Made = tuple[Dataset, tuple[str, ...]]


# Tables whose truth is known: the second is the names of the units that count


def _labels(value: np.ndarray, share: float = 0.5) -> np.ndarray:
    return np.where(value > np.quantile(value, 1 - share), "yes", "no").astype(object)


def informative(seed: int = 0) -> Made:
    """Five of 20 columns count: three alone, two only together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, 20))
    value = X[:, 0] + np.abs(X[:, 1]) + np.sin(2 * X[:, 2]) + 1.5 * X[:, 3] * X[:, 4] + 0.3 * rng.normal(size=1200)
    return Dataset(X, _labels(value), task="binary"), ("x1", "x2", "x3", "x4", "x5")


def additive(seed: int = 1) -> Made:
    """A number as a sum of functions of four of 12 columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(900, 12))
    y = 2 * np.sin(2 * X[:, 0]) + X[:, 3] ** 2 + X[:, 6] + (X[:, 9] > 0.5) + 0.3 * rng.normal(size=900)
    return Dataset(X, y, task="regression"), ("x1", "x4", "x7", "x10")


def views(seed: int = 2) -> Made:
    """Five views of 30 columns each, two of which see the class."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(800, 3))
    blocks = []
    for k in range(5):
        noise = rng.normal(size=(800, 30))
        blocks.append(hidden @ rng.normal(size=(3, 30)) + 2 * noise if k in (1, 3) else noise)
    names = tuple(f"view{k + 1}_{j}" for k in range(5) for j in range(30))
    groups = tuple((f"view{k + 1}", tuple(range(30 * k, 30 * k + 30))) for k in range(5))
    value = hidden[:, 0] + hidden[:, 1] ** 2 + 0.3 * rng.normal(size=800)
    return Dataset(np.hstack(blocks), _labels(value), names, task="binary", groups=groups), ("view2", "view4")


def bands(seed: int = 3) -> Made:
    """Spectra of 400 wavelengths: the target is in two stretches of them."""
    rng = np.random.default_rng(seed)
    at = np.arange(400)
    hidden = rng.normal(size=(400, 6))
    centres = (30, 95, 160, 230, 310, 370)
    X = sum(np.outer(hidden[:, k], np.exp(-((at - c) ** 2) / 400)) for k, c in enumerate(centres))
    X = np.asarray(X) + 0.05 * rng.normal(size=(400, 400))
    y = 2 * hidden[:, 1] + hidden[:, 4] ** 2 + 0.3 * rng.normal(size=400)
    data = Dataset(X, y, tuple(f"{1000 + 2 * j}" for j in at), task="regression")
    return data, tuple(unit.name for unit in units(data) if {95, 310} & set(unit.columns))


def categories(seed: int = 4) -> Made:
    """Categories with several values, two of which decide, beside numbers, one of which does."""
    rng = np.random.default_rng(seed)
    n = 1000
    words = {"town": 6, "colour": 4, "trade": 8, "shape": 3}
    codes = {name: rng.integers(0, size, n) for name, size in words.items()}
    numbers = rng.normal(size=(n, 4)).round(3)
    effect = {name: rng.normal(size=size) * 2 for name, size in words.items()}
    value = (
        effect["town"][codes["town"]] + effect["trade"][codes["trade"]] + 1.5 * numbers[:, 0] + 0.5 * rng.normal(size=n)
    )
    head = [*words, "a", "b", "c", "d", "bought"]
    rows = [
        [*(f"{name}{codes[name][i]}" for name in words), *map(str, numbers[i]), "yes" if value[i] > 0 else "no"]
        for i in range(n)
    ]
    return read_table("\n".join(",".join(row) for row in [head, *rows]).encode()), ("town", "trade", "a")


def sentinels(seed: int = 5) -> Made:
    """Measurements with -200 for missing in a column that counts."""
    rng = np.random.default_rng(seed)
    n = 900
    X = rng.gamma(4.0, 2.0, size=(n, 6)).round(2)
    y = 3 * np.log(X[:, 0]) + X[:, 2] / 3 + 0.3 * rng.normal(size=n)
    X[rng.random(n) < 0.1, 0] = -200
    rows = [",".join(map(str, [*row, round(t, 3)])) for row, t in zip(X, y, strict=True)]
    head = "co,benzene,nox,ozone,damp,heat,price"
    return read_table("\n".join([head, *rows]).encode(), sentinels="missing"), ("co", "nox")


def fifty_thousand(seed: int = 6) -> Made:
    """50,000 rows, 12 columns, four of which count."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50_000, 12))
    value = X[:, 0] * X[:, 1] + X[:, 2] + np.abs(X[:, 3]) + 0.5 * rng.normal(size=50_000)
    return Dataset(X, _labels(value), task="binary"), ("x1", "x2", "x3", "x4")


def two_thousand(seed: int = 7) -> Made:
    """2,000 columns in 100 sets that go together; two sets decide."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(400, 100))
    X = np.repeat(hidden, 20, axis=1) + 0.7 * rng.normal(size=(400, 2000))
    data = Dataset(X, _labels(hidden[:, 10] + hidden[:, 60] + 0.3 * rng.normal(size=400)), task="binary")
    return data, tuple(unit.name for unit in units(data) if {210, 1210} & set(unit.columns))


def rare(seed: int = 8) -> Made:
    """A class of 5 %: two of 12 columns decide."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 12))
    return Dataset(X, _labels(X[:, 0] + X[:, 1] ** 2, 0.05), task="binary"), ("x1", "x2")


def waves(seed: int = 9) -> Made:
    """A number that is a product of two columns, 30 others beside: no kernel of one column sees it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4000, 32))
    y = X[:, 0] * np.sin(1.5 * X[:, 1]) + 0.3 * X[:, 2] + 0.1 * rng.normal(size=4000)
    return Dataset(X, y, task="regression"), ("x1", "x2", "x3")


MADE: dict[str, Callable[[], Made]] = {
    one.__name__: one
    for one in (informative, additive, views, bands, categories, sentinels, fifty_thousand, two_thousand, rare, waves)
}


# One table


def measured(name: str, data: Dataset, truth: tuple[str, ...], splits: int) -> dict[str, Any]:
    """What `explore` and the baselines reach on several splits, as a row of the record; the first split is reported in
    full.
    """
    kept: list[dict[str, float]] = []
    first: list[Exploration] = []
    clocks: list[tuple[tuple[float, float], tuple[float, float]]] = []
    hits: list[float] = []
    for seed in range(splits):
        look = explore(data, seed=seed, max_rows=LOOK_ROWS, baselines=False).seconds
        found = explore(data, seed=seed)
        clocks.append((look, found.seconds))
        kept.append(found.test_scores() | {"boosting": boosted(data, found, seed)})
        first = first or [found]
        head = [one.name for one in found.columns[: len(truth)]]
        hits.append(len(set(head) & set(truth)) / max(1, len(truth)))
    mean = {key: float(np.mean([one[key] for one in kept])) for key in kept[0]}
    rounded = np.mean(clocks, axis=0).round(3).tolist()
    return _described(data, first[0]) | {
        "name": name, "splits": splits, "day": time.strftime("%Y-%m-%d"),
        "scores": {key: round(value, 5) for key, value in mean.items()},
        "behind": round(max(mean[key] for key in RIVALS) - mean["ours"], 5),
        "found": float(np.mean(hits)) if truth else None, "look": rounded[0], "full": rounded[1],
    }  # fmt: skip


def _described(data: Dataset, first: Exploration) -> dict[str, Any]:
    """The table, and what its first split was answered."""
    return {
        "rows": data.n_samples, "columns": data.n_features, "task": data.task, "target": data.target_name,
        "units": len(first.columns), "kernels": len(first.dictionary), "used": first.rows.used, "how": first.rows.how,
        "validation": round(first.score, 5), "notes": list(first.notes),
        "top": [[one.name, round(one.importance, 4), round(one.importance_sd, 4)] for one in first.columns[:5]],
    }  # fmt: skip


def boosted(data: Dataset, found: Exploration, seed: int) -> float:
    """The test score of gradient boosting on the training rows that were drawn."""
    parts = three_way_split(data, 0.25, 0.25, seed)
    train = parts.train.drawn(found.rows.used, seed)
    kind = HistGradientBoostingRegressor if data.task == "regression" else HistGradientBoostingClassifier
    return float(kind(random_state=seed).fit(train.X, train.y).score(parts.test.X, parts.test.y))


def reported(row: Mapping[str, Any]) -> str:
    """A paragraph on one table."""
    top = ", ".join(f"{name} {importance:.3f}±{spread:.3f}" for name, importance, spread in row["top"])
    scores = ", ".join(f"{key} {value:.3f}" for key, value in row["scores"].items())
    return (
        f"\n{row['name']}: {row['rows']:,} x {row['columns']}, {row['task']}, target {row['target']!r}; "
        f"{row['units']} units, {row['kernels']} kernels, {row['used']:,} rows ({row['how']})\n"
        f"  first look {row['look'][0]:.2f} CPU s, path and importance {row['full'][0]:.2f} CPU s "
        f"({row['full'][1]:.2f} s on the wall)\n"
        f"  validation {row['validation']:.3f}; test: {scores}; behind {row['behind']:+.3f}\n"
        f"  top: {top}" + ("" if row["found"] is None else f"; found {row['found']:.0%} of what counts")
    )


def tables(folder: str | None, only: Sequence[str] = ()) -> Iterator[tuple[str, Dataset, tuple[str, ...]]]:
    """The tables to look at, one after the other, or those with these names; what is refused is reported."""
    if folder is not None:
        for file in sorted(p for p in Path(folder).iterdir() if p.suffix.lower() in KINDS):
            if only and file.name not in only:
                continue
            try:
                yield file.name, read_table(file), ()
            except MKLError as error:
                print(f"\n{file.name}: refused. {error}")
        return
    samples = {name: sample for name, sample in mkl.SAMPLES.items() if sample.task != "novelty"}
    for name in only or (*samples, *MADE):
        yield (name, samples[name].load(), ()) if name in samples else (name, *MADE[name]())


def main() -> None:
    """Measure table by table; print a paragraph on each and put its row into the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", metavar="DIR")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--record", type=Path, default=strangers_record.RECORD)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in ("iris", "diabetes", "breast_cancer"):
        explore(mkl.load_sample(name))  # compiled before the clock runs
    for name, data, truth in tables(asked.folder, asked.only):
        row = measured(name, data, truth, asked.splits)
        strangers_record.keep(row, asked.record)
        print(reported(row), flush=True)


if __name__ == "__main__":
    main()
