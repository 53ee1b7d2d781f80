"""The solvers, compiled once after an installation while the server goes on answering."""

import atexit
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import streamlit as st
from threadpoolctl import threadpool_limits

import mklcore
from mklcore._numba import cache
from pages.shared.session import state

# Solvers, compiled once after an installation, while the server goes on answering


# Between compiled calls a solver holds the interpreter. At the usual 5 ms a turn everybody waits
# long beside a path that is solved here; at 0.5 ms a class of thirty spends a sixth of the server's
# time on changing hands.
SWITCH_SECONDS = 0.002
PATIENCE_SECONDS = 10.0  # for a first page to be drawn
LEAVING_SECONDS = 8.0  # for what is being compiled when the server ends
# in which the browser draws what it was sent, and a person may go on to the next page
BROWSER_SECONDS = 4.0
# between two looks at what takes half a minute, while the browser has a page to draw
COMPILING_SECONDS = 1.0
IMPORTED = (
    threading.Event()
)  # what the server imports; two threads that enter a package at once would find it half made
IMPORTED.set()  # unless a server has begun
COMPILE = [sys.executable, "-m", "mklcore._numba.warmup", "--with-parent"]
WHEN_READY = list[Callable[[], None]]()  # what is done when the solvers are compiled
_beginning = threading.Lock()


class Preparation:
    """How far compiling is: a process of its own does it, and the server only loads what that left
    on disk.
    """

    def __init__(self) -> None:
        self.done = 0
        self.total = 1
        self.over = False
        self.is_filled = False  # by an earlier start: nobody has to wait
        self._changed = threading.Condition()
        self._compiler: subprocess.Popen[str] | None = None
        self._drawn = threading.Event()
        self._asked = threading.Event()
        self._leaving = threading.Event()

    def report(self, done: int, total: int) -> None:
        """Take one line of progress."""
        with self._changed:
            self.done = done
            self.total = total
            self._changed.notify_all()
        self._tell_ready()

    def end(self) -> None:
        """Let nobody wait any longer, however it ended: what is not compiled by now is compiled
        where it is needed.
        """
        with self._changed:
            self.over = True
            self._changed.notify_all()
        self._tell_ready()

    def _tell_ready(self) -> None:
        if self.ready():
            for act in WHEN_READY:
                act()

    def ready(self) -> bool:
        """Tell whether nothing is left to compile."""
        return self.over or self.done == self.total

    def ask(self) -> None:
        """Begin at once: somebody waits, perhaps with the first page itself."""
        self._drawn.set()
        self._asked.set()

    def after_drawing(self) -> None:
        """Begin: before a first page is drawn, all this would only have it drawn later."""
        self._drawn.set()

    def go_through(self) -> None:
        """Have everything compiled, then load it; what the other process did not do for some reason
        is compiled here.

        Where it is compiled already, nobody has to wait. Either way the first page is drawn before,
        by the browser, too, which needs both cores of a small machine for it; unless somebody asks
        for an answer that has to be computed.
        """
        try:
            self._drawn.wait(PATIENCE_SECONDS)
            # what an answer takes: an earlier visitor sees what comes with the project
            IMPORTED.wait()
            self.is_filled = cache.is_filled()
            if self.is_filled:
                self.report(1, 1)
            self._asked.wait(BROWSER_SECONDS)
            if not self.is_filled and cache.folder() is not None and not self._leaving.is_set():
                self._compile()
            from mklcore._numba import warmup  # imports all there is to load

            calm()
            with suppress(CancelledError):
                warmup.warm_up(self._until_left)
        finally:
            self.end()

    def _compile(self) -> None:
        """Follow a process that fills the cache, until it ends."""
        there = os.pathsep.join(
            filter(None, [str(Path(mklcore.__file__).parents[1]), os.environ.get("PYTHONPATH")])
        )
        environment = {**os.environ, "PYTHONPATH": there, "OPENBLAS_NUM_THREADS": "1"}
        with subprocess.Popen(
            COMPILE, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as self._compiler:
            for line in self._compiler.stdout or ():
                with suppress(ValueError):  # something else that was printed
                    done, total, _ = map(int, line.split())
                    self.report(done, total)

    def leave(self, thread: threading.Thread) -> None:
        """End ``thread``, which goes through all this, before the interpreter does: one that it
        finds inside the compiler, which calls back, ends the process with an abort.
        """
        self._leaving.set()
        self._drawn.set()
        self._asked.set()
        if self._compiler is not None:
            self._compiler.kill()
        thread.join(LEAVING_SECONDS)

    def _until_left(self, done: int, total: int) -> None:
        if self._leaving.is_set():
            raise CancelledError


def calm() -> None:
    """Set the process up for many small pieces of work at once; call it when everything is
    imported.

    One BLAS thread: sessions share the cores, and two threads on small matrices took up to 19 times
    as long as one. What the imports made stays for good, so the collector need not walk its 200,000
    objects again and again. It does not walk them once more here, either: that would stop every
    answer for 0.15 s, and finds next to nothing.
    """
    threadpool_limits(1, user_api="blas")
    gc.freeze()


def preparation() -> Preparation:
    """Start compiling, once per server: not in Streamlit's cache of resources, which any browser
    can have emptied.
    """
    with _beginning:
        return _preparation()


@lru_cache(maxsize=1)
def _preparation() -> Preparation:
    progress = Preparation()
    sys.setswitchinterval(SWITCH_SECONDS)
    thread = threading.Thread(target=progress.go_through, name="preparing", daemon=True)
    thread.start()
    atexit.register(progress.leave, thread)
    return progress


def line(page: str) -> None:
    """Draw one line of progress while the solvers are compiled, once after an installation.

    Where they are compiled already it says nothing, and a page that shows what comes with the
    project is drawn once more when the server can compute.
    """
    solvers = preparation()
    solvers.after_drawing()
    if page == "home":
        return
    cold = not (solvers.ready() or (solvers.is_filled and page == "data"))

    @st.fragment(run_every=COMPILING_SECONDS if cold else None)
    def shown() -> None:
        if not solvers.ready() and not solvers.is_filled:
            st.progress(
                solvers.done / solvers.total, "Compiling the solvers, once after an installation"
            )
        elif cold and solvers.ready():
            state.rerun()

    shown()
