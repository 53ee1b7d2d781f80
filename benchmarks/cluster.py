"""A Dask cluster of two processes: sweeps, kernels in shards and rows in parts: what a task costs, what travels, and
seconds.

python -m benchmarks.cluster [sweeps] [shards] [parts]    keeps its record, from which docs/scale/cluster.md has its
                                                          table and
                                                          its pictures; with names only these are measured again
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import distributed
import numpy as np
import pandas as pd
from distributed.protocol import dumps, to_serialize

import mklcore as mkl
from benchmarks.lines import cpu
from benchmarks.records import growth, keep, kept, on_page, picture
from mklcore.parallel.cluster import SCHEDULER, keeping_memory
from mklcore.parallel.partitions import ParquetParts, fit_parts
from mklcore.parallel.shards import fit_shards, sharded
from mklcore.parallel.sweep import SplitProblem, SplitSpec, repeat_splits, sweep

TASKS = (50, 100, 200, 400)
MEGABYTES = (1, 4, 16, 64)
SPLITS = 8
SHARD_ROWS, SHARD_KERNELS, SHARD_STEPS = 500, (250, 500, 1000, 2000), 2
FAR_ROWS, FAR_PART, FAR_KERNELS, FAR_WORKERS = (10**6, 10**8), 10**5, (10**6,), (2, 16, 64)
WIRE = 1e9  # bytes a second of a network of ten gigabits
PART_ROWS, PARTS, PART_LANDMARKS = (20_000, 40_000, 80_000, 160_000), 4, 50


def nothing(number: int) -> int:
    """A run that takes no time: what is left is the cost of a task."""
    return number


@dataclass(frozen=True, eq=False)
class Heavy:
    """A run with data to send."""

    data: np.ndarray = field(repr=False)

    def __call__(self, number: int) -> float:
        return float(self.data[number])


def seconds(work) -> float:
    """Wall clock: a cluster's own processes are not in this one's CPU time."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def slope(sizes, values) -> float:
    """Seconds per unit, by least squares."""
    return float(np.polyfit(sizes, values, 1)[0])


def problem() -> SplitProblem:
    """A machine of a second or so on 1200 rows."""
    data, _ = mkl.make_mkl_toy(2400, 10, seed=0, n_features=20)
    kernels = mkl.KernelDictionary.per_feature((mkl.Linear(), mkl.RBF(1.0)), 20)
    return SplitProblem(data, mkl.LpMKLClassifier(kernels=kernels, p=4 / 3), kernels, normalise="multiplicative")


def message_bytes(what: Any) -> int:
    """Bytes of a message with this in it, as distributed writes it."""
    return sum(memoryview(frame).nbytes for frame in dumps({"x": to_serialize(what)}))


def shards(M: int) -> dict[str, float]:
    """One step on M kernels of a column each in two shards: forms and the sum, on workers and in one process."""
    random = np.random.default_rng(0)
    X, a, theta = random.standard_normal((SHARD_ROWS, M)), random.standard_normal(SHARD_ROWS), random.random(M)
    kernels = mkl.KernelDictionary.per_feature(mkl.RBF(1.0), M)
    found: dict[str, float] = {"kernels": M, "rows": SHARD_ROWS}
    for name, backend in (("one process", "serial"), ("two workers", "dask")):
        with sharded(kernels, X, count=2, backend=backend) as rows:
            rows.combine(theta).matrix, rows.quad(a)
            rows.sent = rows.received = 0
            spent = seconds(lambda rows=rows: [(rows.combine(theta).matrix, rows.quad(a)) for _ in range(SHARD_STEPS)])
            found[name] = spent / SHARD_STEPS
            if backend == "serial":
                found["cpu"], _ = cpu(lambda rows=rows: (rows.combine(theta).matrix, rows.quad(a)))
    down = message_bytes(a) + message_bytes(theta[: M // 2])
    up = message_bytes(np.zeros(M // 2)) + message_bytes(np.zeros((SHARD_ROWS, SHARD_ROWS)))
    return found | {"arrays": (rows.sent + rows.received) / SHARD_STEPS / 2, "down": down, "up": up}


def parts(n: int) -> dict[str, float]:
    """A model of logistic loss on n rows in four files: in one process and on two workers."""
    random = np.random.default_rng(1)
    X = random.standard_normal((n, 10))
    y = X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * random.standard_normal(n) > 0
    kernels = mkl.KernelDictionary.per_feature(mkl.RBF(1.0), 10)
    model = mkl.LpMKLClassifier(
        p=4 / 3, loss="logistic", C=1000 / n, kernels=kernels, approximation=mkl.Nystroem(PART_LANDMARKS)
    )
    with TemporaryDirectory() as folder:
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)]).assign(y=y)
        for k in range(PARTS):
            frame[k::PARTS].to_parquet(Path(folder) / f"{k}.parquet")
        cut = ParquetParts.of(folder, "y")
        ways = (("one process", "serial"), ("two workers", "dask"))
        reported = {
            name: seconds(lambda way=way: fit_parts(model, cut, sample=2000, backend=way)) for name, way in ways
        }
        spent, found = cpu(lambda: fit_parts(model, cut, sample=2000))
    return {"rows": n, "cpu": spent, "passes": found.n_iter_ + 1, "features": found.feature_coef_.size} | reported


def steps() -> int:
    """In how many steps a model of many kernels is found, each a sum and the forms of all of them."""
    random = np.random.default_rng(2)
    X = random.standard_normal((SHARD_ROWS, SHARD_KERNELS[0]))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * random.standard_normal(SHARD_ROWS) > 0, 1.0, -1.0)
    kernels = mkl.KernelDictionary.per_feature(mkl.RBF(1.0), X.shape[1])
    return int(fit_shards(mkl.LpMKLClassifier(p=4 / 3, kernels=kernels), X, y, count=2, backend="serial").n_iter_) + 1


def sweeps() -> dict[str, Any]:
    """What a task and a megabyte cost, in seconds, and splits with and without workers."""
    sweep(nothing, range(4), "dask")
    tasks = [seconds(lambda n=n: sweep(nothing, range(n), "dask")) for n in TASKS]
    heavy = [Heavy(np.zeros(int(mb * 1e6 / 8))) for mb in MEGABYTES]
    sent = [seconds(lambda run=run: sweep(run, range(2), "dask")) for run in heavy]
    asked, first = problem(), SplitSpec(0)
    repeat_splits(asked, 2, first, "dask")
    here = seconds(lambda: repeat_splits(asked, SPLITS, first))
    there = seconds(lambda: repeat_splits(asked, SPLITS, first, "dask"))
    split = {"count": SPLITS, "one process": here, "two workers": there}
    return {"task": slope(TASKS, tasks), "megabyte": slope(MEGABYTES, sent), "splits": split}


def all_parts() -> list[dict[str, float]]:
    """Fits on more and more rows, after one that compiles."""
    parts(PART_ROWS[0] // 10)
    return [parts(n) for n in PART_ROWS]


SECTIONS: dict[str, Callable[[], Any]] = {
    "sweeps": sweeps,
    "shards": lambda: [shards(M) for M in SHARD_KERNELS],
    "steps": steps,
    "parts": all_parts,
}


def written(record: Mapping[str, Any]) -> dict[Path, str]:
    """The table and the pictures of ``docs/scale/cluster.md``."""
    found = record["found"]
    split = found["sweeps"]["splits"]
    lines = [
        "| what | measured |",
        "|---|---|",
        f"| one task, beside what it computes | {1e3 * found['sweeps']['task']:.1f} ms |",
        f"| sending data to the scheduler and to both workers, per MB | {1e3 * found['sweeps']['megabyte']:.1f} ms |",
        f"| {split['count']} splits of 1200 training rows and 40 kernels, one after the other | "
        f"{split['one process']:.1f} s |",
        f"| the same on two workers | {_beside(split)} |",
    ]
    for one in found["shards"]:
        M, n = one["kernels"], SHARD_ROWS
        guess = f"{8e-3 * (n + M / 2):.0f} KB and {8e-6 * (M / 2 + n * n):.2f} MB by counting numbers"
        reported = f"{1e-3 * one['down']:.0f} KB down and {1e-6 * one['up']:.2f} MB up per worker ({guess})"
        lines.append(
            f"| one step on {M:,} RBF kernels and {n} rows, two shards in one process | {one['one process']:.2f} s |"
        )
        lines.append(f"| the same, a shard on each of two workers | {_beside(one)}; {reported} |")
    for one in found["parts"]:
        lines.append(
            f"| logistic loss on {one['rows']:,} rows in {PARTS} files, one process | {one['one process']:.1f} s |"
        )
        lines.append(f"| the same on two workers | {_beside(one)} |")
    lines += ["", f"distributed {found['distributed']}.", "", *foreseen(found)]
    made = on_page("scale/cluster", record, lines)
    ways = ("one process", "two workers")
    steps = _named("M", {name: [(one["kernels"], one[name]) for one in found["shards"]] for name in ways})
    fits = _named("n", {name: [(one["rows"], one[name]) for one in found["parts"]] for name in ways})
    made |= picture(
        "shards", "Seconds of a step over kernels, with and without workers", "Seconds of one step over kernels", steps
    )
    return made | picture(
        "parts", "Seconds of a fit over rows, with and without workers", "Seconds of one fit over rows in parts", fits
    )


def _named(what: str, curves: Mapping[str, list[tuple[float, float]]]) -> dict[str, list[tuple[float, float]]]:
    """The curves with their growth in their names."""
    return {f"{name}, {what}^{growth(points):.2f}": points for name, points in curves.items()}


def foreseen(found: Mapping[str, Any]) -> list[str]:
    """What far more rows and kernels would take, from what was measured: seconds, memory, bytes, and where it stops
    scaling.
    """
    task, rows, kernels = found["sweeps"]["task"], found["parts"], found["shards"]
    D, passes = int(rows[-1]["features"]), max(one["passes"] for one in rows)
    per_row = slope([one["rows"] for one in rows], [one["cpu"] / one["passes"] for one in rows])
    n, per_kernel = SHARD_ROWS, slope([one["kernels"] for one in kernels], [one["cpu"] for one in kernels])
    lines = [
        f"From these: a row costs {1e6 * per_row:.1f} µs of a processor in each of {passes} passes ({D} features), a "
        f"kernel "
        f"{1e3 * per_kernel:.2f} ms in each of {found['steps']} steps ({n} rows), a task {1e3 * task:.0f} ms of the "
        f"scheduler. "
        f"With {FAR_PART:,} rows in a part:",
        "",
        "| what | workers | seconds | data in a worker | on the wire in all | more workers help up to |",
        "|---|---|---|---|---|---|",
    ]
    for N in FAR_ROWS:
        count = N // FAR_PART
        most = min(count, FAR_PART * per_row / task)
        for workers in FAR_WORKERS:
            spent = passes * max(N * per_row / min(workers, count), count * task)
            memory = 1e-9 * (8 * FAR_PART * 12 + 4096 * 24 * D + 24 * D * D)
            wire = 1e-9 * passes * count * 8 * (D + 1) ** 2
            lines.append(_far(f"{N:,} rows, logistic loss", workers, spent, memory, wire, most))
    for M in FAR_KERNELS:
        sums = 8 * n * n / WIRE  # seconds in which the sum of one more shard arrives
        most = (M * per_kernel / (sums + task)) ** 0.5
        for workers in FAR_WORKERS:
            spent = found["steps"] * (M * per_kernel / workers + workers * (sums + task))
            memory, wire = (
                1e-9 * (16 * n * M / workers + 16 * n * n),
                1e-9 * found["steps"] * (16 * M + workers * 8 * (n + n * n)),
            )
            lines.append(_far(f"{M:,} RBF kernels, {n} rows", workers, spent, memory, wire, most))
    return [*lines, "", f"Bytes are taken to arrive at {1e-6 * WIRE:.0f} MB a second, and no worker waits for a disk."]


def _far(what: str, workers: int, spent: float, memory: float, wire: float, most: float) -> str:
    return f"| {what} | {workers} | {spent:,.0f} | {memory:.2f} GB | {wire:.2f} GB | {max(1.0, most):,.0f} |"


def _beside(one: Mapping[str, float]) -> str:
    """Seconds on two workers, and how many times as fast that is."""
    return f"{one['two workers']:.2f} s, {one['one process'] / one['two workers']:.2f} times as fast"


def main(names: Sequence[str]) -> None:
    """Measure the sections named, all of them without a name, and keep the others as they are."""
    found = kept("cluster")["found"] if names else {}
    with (
        keeping_memory(),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
    ):
        os.environ[SCHEDULER] = cluster.scheduler_address
        for name in names or SECTIONS:
            found[name] = SECTIONS[name]()
            print(name, found[name], flush=True)
    keep("cluster", found | {"distributed": distributed.__version__})


if __name__ == "__main__":
    main(sys.argv[1:])
