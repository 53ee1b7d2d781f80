"""Jobs, what they run on: the cores and the memory that this server may use, and whether it is a small one.

A container bounds both (cgroups of either version); elsewhere the machine does. A small server solves in its own
process, one piece of work at a time: a process for solving takes 400 MB, and a free host gives 690 MB and one core.
"""

import ctypes
import math
import os
from contextlib import suppress
from pathlib import Path

import psutil

SMALL = "MKL_EXPLORER_SMALL"  # the environment variable that asks for a small server, 1, or for the usual one, 0
SMALL_BYTES = 1.5e9
ARENA_MAX, MMAP_THRESHOLD = -8, -3  # of glibc's mallopt: how many heaps there may be, and bytes of what is in none
GROUPS = Path("/sys/fs/cgroup")


def cores(groups: Path = GROUPS) -> int:
    """Return how many cores this process may use: those it may run on, and no more than its container's share of
    time.
    """
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, period = (*_numbers(groups / "cpu.max"), 0.0, 0.0)[:2]
    if not quota:
        quota, period = (sum(_numbers(groups / "cpu" / name)) for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
    if quota > 0 and period > 0:
        here = min(here, math.ceil(quota / period))
    return max(here, 1)


def memory_bytes(groups: Path = GROUPS) -> float:
    """Return how much memory this process may have: the least of what machine and container say."""
    found = [float(psutil.virtual_memory().total)]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        found += _numbers(groups / name)
    return min(found)


def is_small() -> bool:
    """Tell whether this is a small server: as the environment says, else by its memory."""
    reported = os.environ.get(SMALL, "").strip()
    return reported == "1" if reported in ("0", "1") else memory_bytes() < SMALL_BYTES


def share_heap() -> None:
    """Have all threads share one heap, and arrays be outside of it: a heap keeps what was freed in it."""
    with suppress(AttributeError, OSError, TypeError):  # another system's C library
        ctypes.CDLL(None).mallopt(ARENA_MAX, 1)
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 1 << 17)


def give_back() -> None:
    """Give the system the memory that was freed."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _numbers(file: Path) -> list[float]:
    """Return the numbers in a file of the system; none where there is no such file, or no bound, which says "max"."""
    try:
        return [float(word) for word in file.read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return []
