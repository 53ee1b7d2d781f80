"""The program that runs another one within bounds of memory and time: a reader of files that anybody may have made.

    python -I bounds.py MEGABYTES SECONDS PROGRAM [ARGUMENT ...]

It imports nothing of the library. Where the system has no such bounds, the time alone is watched.
"""

import os
import runpy
import sys
import threading


def bound(megabytes: int, seconds: int) -> None:
    """Bound the memory and the time of this process; no core file is left behind."""
    try:
        import resource
    except ImportError:
        watch = threading.Timer(seconds, os._exit, (1,))
        watch.daemon = True
        watch.start()
        return
    for what, most in (
        (resource.RLIMIT_AS, megabytes * 2**20),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    megabytes, seconds, program, *_ = sys.argv[1:]
    bound(int(megabytes), int(seconds))
    sys.argv = sys.argv[3:]
    runpy.run_path(program, run_name="__main__")
