"""Compiling in a process of its own: it fills numba's cache on disk, and the caller only loads.

    python -m mklcore._numba.compiling [--with-parent] [STAGE ...]        fill the cache, the named stages of ``warmup``
        first

``--with-parent``: end when the standard input is closed, as it is when the process that asked has ended.

One process compiles at a time: another one waits for a lock in the cache's folder and then finds everything there. A
stamp beside it says that all is compiled for these sources, this numba and this processor, so that the next start need
not ask.
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
from filelock import FileLock

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
    stamp = _stamp()
    return stamp is not None and stamp.exists()


def is_brought() -> bool:
    """Whether all of it came with the package, and is in the cache now; imports numba."""
    from mklcore._numba.decorators import processor

    return portable.bring(routine_cache.place(), processor)


def can_fill() -> bool:
    """Whether there is a cache that another process could fill for this one."""
    return not routine_cache.trouble()


def _stamp() -> Path | None:
    folder = routine_cache.place().routines
    if folder is None:
        return None
    from llvmlite import binding  # a third of a second that only servers and test runs need to pay

    machine = [sys.version, version("numba"), platform.machine(), binding.get_host_cpu_name()]
    machine.append(binding.get_host_cpu_features().flatten())
    machine += [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]  # for another one
    files = [f"{file} {file.stat().st_mtime_ns} {file.stat().st_size}" for file in sorted(SOURCES.rglob("*.py"))]
    digest = hashlib.sha256("\n".join([*machine, *files]).encode()).hexdigest()[:16]
    return folder / f"mklcore-{digest}.compiled"


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

    def want(self, stage: str) -> None:
        """Ask for ``stage`` next, after the one that is being compiled."""
        with suppress(OSError, ValueError):  # it has ended: there is nothing left to want
            print(stage, file=self._process.stdin, flush=True)

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
    wishes = [stage for stage in first if stage != WITH_PARENT]
    threading.Thread(target=_listen, args=(wishes, WITH_PARENT in first), daemon=True).start()

    def choose(left: Sequence[str]) -> str:
        return next((wish for wish in reversed(wishes) if wish in left), left[0])

    with _alone():
        if is_filled():
            return
        from mklcore._numba.warmup import warm_up

        try:
            warm_up(lambda done, name: print(json.dumps([done, name]), flush=True), choose)
        except BrokenPipeError:  # the reader has gone
            os._exit(1)
        stamp = _stamp()
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
            wishes.extend(read.decode().split())
    if with_parent:
        os._exit(1)


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process compiles into the same folder; where it takes no lock, do not wait."""
    folder = routine_cache.place().folder
    with ExitStack() as held:
        if folder is not None:
            with suppress(OSError, NotImplementedError):  # a file system without locks
                folder.mkdir(parents=True, exist_ok=True)
                held.enter_context(FileLock(folder / "mklcore.lock", timeout=PATIENCE_SECONDS))
        yield


if __name__ == "__main__":
    gc.set_threshold(*SELDOM)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # pressed in the terminal: it ends at once, and says nothing
    main(sys.argv[1:])
