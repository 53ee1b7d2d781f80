"""Cores and memory that this process may use."""

import math
import os
from pathlib import Path

import psutil

# Cores and memory
#
# A container bounds both (cgroups of either version); elsewhere the machine does.


GROUPS = Path("/sys/fs/cgroup")


def cores(groups: Path = GROUPS) -> int:
    """Return how many cores this process may use: those it may run on, and no more than its
    container's share of time.
    """
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, period = (*_numbers(groups / "cpu.max"), 0.0, 0.0)[:2]
    if not quota:
        quota, period = (
            sum(_numbers(groups / "cpu" / name))
            for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        )
    if quota > 0 and period > 0:
        here = min(here, math.ceil(quota / period))
    return max(here, 1)


def memory_bytes(groups: Path = GROUPS) -> float:
    """Return how much memory this process may have: the least of what machine and container say."""
    found = [float(psutil.virtual_memory().total)]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        found += _numbers(groups / name)
    return min(found)


def _numbers(file: Path) -> list[float]:
    """Return the numbers in a file of the system; none where there is no such file, or no bound,
    which says "max".
    """
    try:
        return [float(word) for word in file.read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return []
