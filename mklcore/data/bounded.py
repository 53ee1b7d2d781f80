"""Bytes that anybody may have made, read by a program in a process of its own, within bounds of memory and time.

A file of a few hundred bytes can unpack to gigabytes, and a reader written in another language ends its process where
memory runs out. What happens there stays there: here is an answer, or the number with which the process ended. Where
the system bounds no memory (macOS, Windows) the process is looked at ten times a second and ended when it takes too
much.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

import psutil

from mklcore.errors import DataError

BOUNDS = Path(__file__).with_name("bounds.py")
BEAT_SECONDS = 0.1
SYSTEM_BOUNDS_MEMORY = sys.platform == "linux"
# What readers take by themselves is theirs to bound: one thread, and an allocator that reserves no memory beforehand.
QUIET = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


def command(reader: Path, asked: str, megabytes: int, seconds: int) -> list[str]:
    """What runs the program ``reader`` with the request ``asked``, within these bounds."""
    return [sys.executable, "-I", str(BOUNDS), str(megabytes), str(seconds), str(reader), asked]


def answered(
    line: list[str], raw: bytes, tick: Callable[[], None], seconds: int, late: str
) -> tuple[int, bytes, bytes]:
    """What a process says to some bytes, with a tick now and then; it ends with the process that waits for it.

    Raises DataError with the sentence ``late`` after twice as many seconds of waiting as it may take of the processor.
    """
    end = time.monotonic() + 2 * seconds
    most = int(line[3]) * 2**20 if line[2:3] == [str(BOUNDS)] and not SYSTEM_BOUNDS_MEMORY else None
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ, **QUIET}) as process:
        # Until 3.12 ``communicate`` forgets what it has still to write when it is called again after a time-out.
        feeding = threading.Thread(target=_feed, args=(process.stdin, raw), daemon=True)
        process.stdin = None
        feeding.start()
        try:
            while True:
                tick()
                if most is not None and _memory(process.pid) > most:
                    process.kill()
                with suppress(subprocess.TimeoutExpired):
                    out, errors = process.communicate(timeout=BEAT_SECONDS)
                    return process.returncode, out, errors
                if time.monotonic() > end:
                    raise DataError(late)
        finally:
            process.kill()
            feeding.join()


def _memory(process: int) -> int:
    """Bytes that a process holds; 0 where it has ended."""
    try:
        return int(psutil.Process(process).memory_info().rss)
    except psutil.Error:
        return 0


def _feed(stdin: IO[bytes] | None, raw: bytes) -> None:
    assert stdin is not None
    with suppress(OSError), stdin:  # it has ended, or has read enough
        stdin.write(raw)
