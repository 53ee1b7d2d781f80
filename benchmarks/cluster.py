"""Sweeps on a Dask cluster of two processes: what a task costs, what travels, and how much sooner the rows are there.

python -m benchmarks.cluster          writes the table of docs/scale/cluster.md
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import distributed
import numpy as np

import mklcore as mkl
from benchmarks.__main__ import ROOT, included, surroundings
from mklcore.cluster import SCHEDULER
from mklcore.sweep import SplitProblem, SplitSpec, repeat_splits, sweep

PAGE = ROOT / "docs" / "scale" / "cluster.md"
TASKS = (50, 100, 200, 400)
MEGABYTES = (1, 4, 16, 64)


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


def measured() -> list[tuple[str, str]]:
    """Lines of the table: what, and how much."""
    sweep(nothing, range(4), "dask")
    tasks = slope(TASKS, [seconds(lambda n=n: sweep(nothing, range(n), "dask")) for n in TASKS])
    heavy = [Heavy(np.zeros(int(mb * 1e6 / 8))) for mb in MEGABYTES]
    sent = slope(MEGABYTES, [seconds(lambda run=run: sweep(run, range(2), "dask")) for run in heavy])
    asked, first = problem(), SplitSpec(0)
    repeat_splits(asked, 2, first, "dask")
    here = seconds(lambda: repeat_splits(asked, 8, first))
    there = seconds(lambda: repeat_splits(asked, 8, first, "dask"))
    return [
        ("one task, beside what it computes", f"{1e3 * tasks:.1f} ms"),
        ("sending data to the scheduler and to both workers, per MB", f"{1e3 * sent:.1f} ms"),
        ("8 splits of 1200 training rows and 40 kernels, one after the other", f"{here:.1f} s"),
        ("the same on two workers", f"{there:.1f} s, {here / there:.2f} times as fast"),
    ]


def main() -> None:
    import os

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as found:
        os.environ[SCHEDULER] = found.scheduler_address
        lines = measured()
    where = surroundings()
    text = ["| what | measured |", "|---|---|", *(f"| {what} | {value} |" for what, value in lines)]
    told = f"{where['day']}, {where['machine']}, load {where['load']}; distributed {distributed.__version__}."
    PAGE.write_text(included(PAGE.read_text(encoding="utf-8"), "\n".join([*text, "", told])), encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
