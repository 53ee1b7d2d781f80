"""Compiling in a process of its own: it fills numba's cache on disk, and the caller only loads.

    python -m mklcore._numba.compiling [--with-parent] [STAGE ...]        fill the cache, the named stages of ``warmup``
        first

``--with-parent``: end when the standard input is closed, as it is when the process that asked has ended.

Several processes share the work: each takes a stage that no other is at, by a lock in the cache's folder. A stamp says
that a stage is compiled for these sources, this numba and this processor; another one, that all of them are, so that
the next start need not ask.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import psutil
from filelock import FileLock, Timeout

from mklcore._numba import cache as routine_cache
from mklcore._numba import portable

SOURCES = Path(__file__).resolve().parents[1]  # all of the library
PATIENCE_SECONDS = 600.0  # for a process that hangs: the caller compiles itself then
WITH_PARENT = "--with-parent"
COMMAND = ("-m", "mklcore._numba.compiling", WITH_PARENT)
NICE = 5  # other programs go first
SELDOM = 20_000, 50, 50  # a compiler makes millions of objects, few in circles: the search took a tenth of the time


def is_filled() -> bool:
    """Whether a process before this one has compiled all there is to compile, so that loading is all that is left."""
    return _is_there(_stamp())


def is_brought() -> bool:
    """Whether all of it came with the package, and is in the cache now; imports numba."""
    from mklcore._numba.decorators import processor

    return portable.bring(routine_cache.place(), processor)


def can_fill() -> bool:
    """Whether there is a cache that another process could fill for this one."""
    return not routine_cache.trouble()


def _stamp(stage: str = "") -> Path | None:
    """The file that says that ``stage`` is compiled, or all of them."""
    folder = routine_cache.place().routines
    if folder is None:
        return None
    from llvmlite import binding  # a third of a second that only servers and test runs need to pay

    machine = [sys.version, version("numba"), platform.machine(), binding.get_host_cpu_name()]
    machine.append(binding.get_host_cpu_features().flatten())
    machine += [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]  # for another one
    files = [f"{file} {file.stat().st_mtime_ns} {file.stat().st_size}" for file in sorted(SOURCES.rglob("*.py"))]
    digest = hashlib.sha256("\n".join([*machine, *files]).encode()).hexdigest()[:16]
    return folder / f"mklcore-{digest}{stage}.compiled"


class Compiler:
    """A process that fills the cache; ``want`` moves a stage to the front, ``follow`` waits for it and passes on its
    progress.
    """

    def __init__(self, first: Sequence[str] = (), command: Sequence[str] = COMMAND) -> None:
        there = os.pathsep.join(filter(None, [str(SOURCES.parent), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": there, "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, *command, *first],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def want(self, stages: Sequence[str]) -> None:
        """Ask for ``stages`` next, in this order, after the one that is being compiled."""
        with suppress(OSError, ValueError):  # it has ended: there is nothing left to want
            print(*stages, file=self._process.stdin, flush=True)

    def end(self) -> None:
        """Have it end now; what it has compiled stays."""
        self._process.kill()

    def follow(self, progress: Callable[[tuple[str, ...], str], None], patience: float = PATIENCE_SECONDS) -> bool:
        """Pass its progress on as ``warm_up`` does until it ends; tells whether it has compiled everything."""
        timer = threading.Timer(patience, self._process.kill)
        timer.start()
        try:
            for line in self._process.stdout or ():
                with suppress(ValueError):  # something else that was printed
                    done, name = json.loads(line)
                    progress(tuple(done), name)
            return self._process.wait() == 0
        finally:
            timer.cancel()
            self._process.kill()
            with suppress(OSError), self._process:  # a wish may have come too late
                pass


def main(first: Sequence[str] = ()) -> None:
    """Fill the cache, unless it is filled: the stages ``first``, or asked for on the standard input, before the
    others.
    """
    lower_priority(NICE)
    wishes = [stage for stage in first if stage != WITH_PARENT]  # the newest first
    threading.Thread(target=_listen, args=(wishes, WITH_PARENT in first), daemon=True).start()

    if is_filled():
        return
    from mklcore._numba.warmup import stages

    work, done = stages(), list[str]()
    try:
        while left := [name for name in work if name not in done]:
            with _free([wish for wish in wishes if wish in left] + left) as name:
                print(json.dumps([done, name]), flush=True)
                stamp = _stamp(name)
                if not _is_there(stamp):
                    work[name]()
                    _touch(stamp)
            done.append(name)
        print(json.dumps([done, ""]), flush=True)
    except BrokenPipeError:  # the reader has gone
        os._exit(1)
    _touch(_stamp())


def _is_there(stamp: Path | None) -> bool:
    return stamp is not None and stamp.exists()


def _touch(stamp: Path | None) -> None:
    if stamp is not None and not routine_cache.trouble():  # what a full disk did not take is not there
        with suppress(OSError):
            stamp.touch()


def lower_priority(steps: int) -> None:
    """Let other processes go first: by so many steps of the scheduler, or below normal where priorities are classes."""
    psutil.Process().nice(getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", steps))


def _listen(wishes: list[str], with_parent: bool) -> None:
    """Take the stages that are asked for on the standard input, and end with it if the parent is to be followed."""
    with suppress(OSError, ValueError, AttributeError):  # there is no standard input
        while read := os.read(sys.stdin.fileno(), 4096):  # not by lines: a thread inside a buffer cannot be ended
            wishes[:0] = read.decode().split()
    if with_parent:
        os._exit(1)


@contextmanager
def _free(names: Sequence[str]) -> Iterator[str]:
    """The first of ``names`` that no other process is at, or the first one when that process has ended; where the
    folder takes no lock, do not wait.
    """
    folder = routine_cache.place().folder
    with ExitStack() as held:
        for name, patience in [*((name, 0.0) for name in names), (names[0], PATIENCE_SECONDS)]:
            try:
                if folder is not None:
                    folder.mkdir(parents=True, exist_ok=True)
                    held.enter_context(FileLock(folder / f"mklcore-{name}.lock", timeout=patience))
            except Timeout:
                continue
            except (OSError, NotImplementedError):  # a file system without locks
                pass
            break
        yield name


if __name__ == "__main__":
    gc.set_threshold(*SELDOM)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # pressed in the terminal: it ends at once, and says nothing
    main(sys.argv[1:])
