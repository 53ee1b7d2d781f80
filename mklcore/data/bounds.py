"""The program that runs another one within bounds of memory and time: a reader of files that anybody may have made.

    python -I bounds.py MEGABYTES SECONDS PROGRAM [ARGUMENT ...]

It imports nothing of the library. Where the system has no such bounds, the process that waits for it watches it
(``bounded.answered``).
"""

import runpy
import sys
from contextlib import suppress


def bound(megabytes: int, seconds: int) -> None:
    """Bound the memory and the time of this process; no core file is left behind."""
    try:
        import resource
    except ImportError:
        return
    for what, most in (
        (resource.RLIMIT_AS, megabytes * 2**20),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):  # macOS takes no bound of memory
            resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    megabytes, seconds, program, *_ = sys.argv[1:]
    bound(int(megabytes), int(seconds))
    sys.argv = sys.argv[3:]
    runpy.run_path(program, run_name="__main__")
