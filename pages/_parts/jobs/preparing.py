"""Jobs, what they need first: the solvers compiled, once after an installation, while the server goes on answering."""

import atexit
import gc
import sys
import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress

import streamlit as st
from threadpoolctl import threadpool_limits

import mklcore
from mklcore._numba import compiling
from mklcore._numba.compiling import Compiler
from mklcore._numba.stages import EVERY_KERNEL, USUAL
from mklcore.catalog import ESTIMATORS
from pages._parts.jobs import importing

# Between compiled calls a solver holds the interpreter. At the usual 5 ms a turn everybody waits long beside a path
# that is solved here; at 0.5 ms a class of thirty spends a sixth of the server's time on changing hands.
SWITCH_SECONDS = 0.002
PATIENCE_SECONDS = 10.0  # for a first page to be drawn
COMPILERS = 2  # processes
LEAVING_SECONDS = 8.0  # for what is being compiled when the server ends
BROWSER_SECONDS = 4.0  # in which the browser draws what it was sent, and a person may go on to the next page


class Preparation:
    """Which stages of compiling are over; processes of their own do it, and the server only loads what they left on
    disk.
    """

    def __init__(self, stages: tuple[str, ...] = (*USUAL, EVERY_KERNEL, *ESTIMATORS)) -> None:
        self.stages, self.done, self.now, self.over = stages, frozenset[str](), "", False
        self._changed, self._front = threading.Condition(), tuple[str, ...]()
        self._compilers: list[Compiler] = []
        self._drawn, self._asked, self._leaving = threading.Event(), threading.Event(), threading.Event()
        self.is_filled = False  # by an earlier start: nobody has to wait

    def report(self, done: Iterable[str], now: str) -> None:
        """Take one line of progress: the stages that are over, and the one that is compiled now."""
        with self._changed:
            self.done, self.now = self.done | set(done), now
            self._changed.notify_all()

    def end(self) -> None:
        """Let nobody wait any longer, however it ended: what is not compiled by now is compiled where it is needed."""
        with self._changed:
            self.over = True
            self._changed.notify_all()

    def ready(self, stages: Collection[str]) -> bool:
        """Tell whether all of ``stages`` can be used without compiling."""
        return self.over or self.done.issuperset(stages)

    def wait(self, stages: Collection[str], unwanted: Callable[[], bool] = bool) -> None:
        """Wait until ``stages`` are compiled, next and only once; raises ``CancelledError`` when nobody wants them any
        more.
        """
        self._drawn.set()  # what waits here may be the first page itself
        self._asked.set()
        self.want(stages)
        with self._changed:
            while not self.ready(stages):
                if unwanted():
                    raise CancelledError
                self._changed.wait(0.2)

    def want(self, stages: Collection[str]) -> None:
        """Have ``stages`` compiled next, in their order."""
        if tuple(stages) != self._front and not self.ready(stages):
            self._front = tuple(stages)
            for compiler in tuple(self._compilers):
                compiler.want(self._front)

    def after_drawing(self) -> None:
        """Begin: before a first page is drawn, all this would only have it drawn later."""
        self._drawn.set()

    def go_through(self) -> None:
        """Have everything compiled, then load it; what the other processes did not do for some reason is compiled here.

        Where it is compiled already, nobody has to wait. Either way the first page is drawn before, by the browser,
        too, which needs both cores of a small machine for it; unless somebody asks for an answer that has to be
        computed.
        """
        try:
            self.is_filled = compiling.is_filled()
            self._drawn.wait(PATIENCE_SECONDS)
            importing.OVER.wait()  # what an answer takes: an earlier visitor sees what comes with the project
            self.is_filled = self.is_filled or compiling.is_brought()
            if self.is_filled:
                self.report(self.stages, "")
            self._asked.wait(BROWSER_SECONDS)
            if not self.is_filled and compiling.can_fill() and not self._leaving.is_set():
                self._compilers = [compiling.Compiler(self._front) for _ in range(COMPILERS)]
                threading.Thread(target=self._prepare, name="loading", daemon=True).start()
                self._follow(self.report)
            if self._leaving.is_set():
                return
            self._prepare()
            with suppress(CancelledError):
                mklcore._numba.warmup.warm_up(self._report_until_left)
        finally:
            self.end()

    def leave(self, thread: threading.Thread) -> None:
        """End ``thread``, which goes through all this, before the interpreter does: one that it finds inside the
        compiler, which calls back, ends the process with an abort.
        """
        self._leaving.set()
        self._drawn.set()
        self._asked.set()
        for compiler in tuple(self._compilers):
            compiler.end()
        thread.join(LEAVING_SECONDS)

    def _report_until_left(self, done: Iterable[str], now: str) -> None:
        self.report(done, now)
        if self._leaving.is_set():
            raise CancelledError

    def _follow(self, report: Callable[[tuple[str, ...], str], None]) -> None:
        """Pass on what the other processes report until they end."""
        rest = [threading.Thread(target=one.follow, args=(report,), daemon=True) for one in self._compilers[1:]]
        for thread in rest:
            thread.start()
        self._compilers[0].follow(report)
        for thread in rest:
            thread.join()
        self._compilers = []

    def _prepare(self) -> None:
        """Import all there is to load, and set the process up for it."""
        assert mklcore._numba.warmup  # its first mention imports it
        calm()


def calm() -> None:
    """Set the process up for many small pieces of work at once; call it when everything is imported.

    One BLAS thread: sessions share the cores, and two threads on small matrices took up to 19 times as long as one.
    What the imports made stays for good, so the collector need not walk its 200,000 objects again and again. It does
    not walk them once more here, either: that would stop every answer for 0.15 s, and finds next to nothing.
    """
    threadpool_limits(1, user_api="blas")
    gc.freeze()


@st.cache_resource(max_entries=1, show_spinner=False)
def preparation() -> Preparation:
    """Start compiling, once per server."""
    progress = Preparation()
    sys.setswitchinterval(SWITCH_SECONDS)
    thread = threading.Thread(target=progress.go_through, name="preparing", daemon=True)
    thread.start()
    atexit.register(progress.leave, thread)
    return progress
