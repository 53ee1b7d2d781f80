"""Derive apart: the processes that solve while the server draws pages, started once two sessions have work at a time.

A single session needs none: until they are ready, where they cannot be had, and for what is too large to be sent, it is
solved in the server.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from typing import Any, TypeVar

from mklcore.errors import MKLError
from mklcore.parallel.processes import POSSIBLE, Apart, EndedError, UnsendableError
from pages._parts.jobs import machine, worker
from pages._parts.jobs.job import Report
from pages._parts.jobs.preparing import preparation
from pages._parts.session import leaving

SOLVERS = "MKL_EXPLORER_SOLVERS"  # the environment variable that says how many; 0 for none
MOST = 4
MOST_SENT = 100e6  # bytes of kernels; larger ones are solved in compiled functions, which leave the server free as well
EACH = 400e6 + MOST_SENT  # bytes that one takes with what was sent to it
SHARE = 0.25  # of the memory, for all of them
START_SECONDS = 300.0  # for one to load its solvers behind everything else that runs
WAIT_SECONDS = 60.0  # for another one where one has died
MOST_FAILURES = 3  # of starting; then it cannot be had here
T = TypeVar("T")


def count() -> int:
    """Return how many processes there may be: as configured, else as many as solve at a time and fit into memory."""
    asked = os.environ.get(SOLVERS, "")
    if not POSSIBLE or asked.isdecimal():
        return min(int(asked or 0), MOST) * POSSIBLE
    if worker.CORES < 2:
        return 0
    return min(MOST, worker.MOST["short"], int(SHARE * machine.memory_bytes() / EACH))


class Workers:
    """So many processes, each doing one thing at a time; one that dies is replaced."""

    def __init__(self, most: Callable[[], int] = count, make: Callable[[], Apart] = Apart) -> None:
        self._most, self._make = most, make
        self._free, self._changed = list[Apart](), threading.Condition()
        self._begun = self._failures = 0

    def want(self) -> None:
        """Have the processes started, in the background, unless they are."""
        with self._changed:
            missing, self._begun = max(self._most() - self._begun, 0), max(self._most(), self._begun)
        if missing:
            threading.Thread(target=self._start, args=(missing,), name="workers", daemon=True).start()

    def _start(self, missing: int) -> None:
        preparation().wait(preparation().stages)  # before that they would compile what is being compiled
        for _ in range(missing):
            one = self._started()
            if one is not None:
                self._put(one)
                continue
            with self._changed:
                self._failures += 1
                self._begun -= self._failures < MOST_FAILURES  # the next request tries again

    def _started(self) -> Apart | None:
        """Return a process that is ready; None where it is not in time, or cannot be had."""
        try:
            one = self._make()
        except OSError:
            return None
        end = time.monotonic() + START_SECONDS
        with suppress(EndedError):
            while time.monotonic() < end:
                if one.ready(1.0):
                    return one
        one.end()
        return None

    def _put(self, one: Apart) -> None:
        with self._changed:
            self._free.append(one)
            self._changed.notify()

    def _take(self, seconds: float, tick: Callable[[], None]) -> Apart | None:
        end = time.monotonic() + seconds
        with self._changed:
            while True:
                while self._free:
                    if not (one := self._free.pop()).over:
                        return one
                    self._replace()  # it died while it was idle
                if time.monotonic() >= end:
                    return None
                tick()
                self._changed.wait(0.1)

    def do(
        self, work: Callable[..., T], report: Report, shared: Mapping[str, Any], *given: Any, **more: Any
    ) -> T | None:
        """Return what ``work`` gives of these arguments, done apart; None where it has to be done here.

        What dies with its process is run once more, in another one. Raises ``MKLError`` where that dies, too, or does
        not come.
        """
        for seconds in (0.0, WAIT_SECONDS):
            one = self._take(seconds, report.pulse)
            if one is None:
                if not seconds:
                    return None
                raise MKLError(
                    "The process that solved this was ended from outside, and no other came in its place. Ask again."
                )
            try:
                return one.do(work, report, shared, *given, **more)
            except UnsendableError:
                return None
            except EndedError:
                one.end()
            finally:
                self._give_back(one)
        raise MKLError(
            "The process that solved this was ended from outside, twice: often there was not enough memory. Ask again, "
            "with fewer rows or kernels."
        )

    def _give_back(self, one: Apart) -> None:
        if not one.over:
            self._put(one)
            return
        self._replace()

    def _replace(self) -> None:
        with self._changed:
            self._begun -= 1
        self.want()

    def forget(self) -> None:
        """Have idle processes let go of kernels that nobody in the server holds any more."""
        with self._changed:
            idle, self._free = self._free, []
        for one in idle:
            try:
                one.forget(left=True)
            except EndedError:
                one.end()
            self._give_back(one)


WORKERS = Workers()
leaving.AFTERWARDS.append(WORKERS.forget)


def done(work: Callable[..., T], report: Report, grams: Any, model: Any, *given: Any, **more: Any) -> T | None:
    """Return what ``work`` gives of these arguments, on these kernels, done apart; None where it has to be done here.

    Arguments as of ``Apart.do``; ``grams`` are None where the work is on something else, which is done here. A callback
    that listened to the fitting of ``model`` is not sent.
    """
    if grams is None or worker.instead is not None:
        return None
    shared = {"stack": grams.train, "blocks": grams.validation}
    sizes = [getattr(getattr(one, "values", one), "nbytes", None) for one in shared.values()]
    if None in sizes or sum(filter(None, sizes)) > MOST_SENT:
        return None
    owners = {id(job.owner) for job in worker.LINES["short"].everyone()}
    if len(owners) > 1:
        WORKERS.want()
    silent = copy(model)
    silent.callback = None
    return WORKERS.do(work, report, shared, silent, *given, **more)
