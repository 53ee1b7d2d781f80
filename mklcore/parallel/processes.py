"""Solving in a worker process of lower priority, so that the caller stays responsive.

Python runs one thread of a process at a time, and a solver holds it between compiled calls: beside thirty people who
look at pages, a path of a third of a second took two. Here it is asked for over a socket that only the two processes
have; its progress, its first points and the whole path come back the same way. Kernels are sent once and kept until
others come, and what an answer says of them is said by name. When the socket closes, the process ends.

What is pickled here was made by one of the two processes, never by a stranger.
"""

from __future__ import annotations

import gc
import io
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import closing, suppress
from copy import copy
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import numpy as np

from mklcore._numba.compiling import SOURCES, lower_priority
from mklcore.errors import MKLError, suppress_convergence_warnings

NICE = 10  # drawing pages goes first
LARGE = 1 << 16  # bytes from which an array travels as it is
REPORT_EVERY = 0.05  # seconds between two signs of progress
SHOWN_EVERY = 1.0  # seconds between two looks at what there is so far
LOOK_EVERY = 0.1  # seconds between two looks at whether the work is still wanted
STOPS_WITHIN = 2.0  # seconds in which a solver learns that it is not; a process that does not is ended
POSSIBLE = os.name == "posix"
T = TypeVar("T")


class EndedError(Exception):
    """The process on the other side has ended."""


class UnsendableError(Exception):
    """Something of what was to be sent is known to one of the two processes alone."""


class Hearer(Protocol):
    """The caller, who learns how far the work is; every call may raise ``CancelledError``."""

    def tick(self, done: int, total: int) -> None:
        """So much is done."""

    def pulse(self) -> None:
        """It goes on."""


# What passes between the two


class _Writer(pickle.Pickler):
    """Writes a name for what the other side has, and leaves out large arrays, which ``large`` takes."""

    def __init__(self, stream: io.BytesIO, names: Mapping[int, str], large: list[pickle.PickleBuffer]) -> None:
        super().__init__(stream, protocol=5, buffer_callback=self._stays)
        self._names, self._large = names, large

    def _stays(self, one: pickle.PickleBuffer) -> bool:
        if one.raw().nbytes < LARGE:
            return True
        self._large.append(one)
        return False

    def persistent_id(self, value: Any) -> str | None:
        return self._names.get(id(value))


class _Reader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, known: Mapping[str, Any], large: list[bytearray | memoryview]) -> None:
        super().__init__(stream, buffers=large)
        self._known = known

    def persistent_load(self, name: Any) -> Any:
        return self._known[name]


def named(shared: Mapping[str, Any]) -> dict[str, Any]:
    """What both sides have, by name: the objects themselves, and the arrays, tuples and objects they are made of."""
    found = dict(shared)
    for name, value in shared.items():
        for part, inner in getattr(value, "__dict__", {}).items():
            if isinstance(inner, np.ndarray) or hasattr(inner, "__dict__") or (isinstance(inner, tuple) and inner):
                found[f"{name}.{part}"] = inner
    return found


class Line:
    """One end of the socket: whole messages, large arrays as they are."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self.known = end, dict[str, Any]()
        end.setblocking(True)

    def packed(self, message: Any) -> list[memoryview]:
        """A message as it is sent. Raises ``UnsendableError`` where that cannot be."""
        stream, large = io.BytesIO(), list[pickle.PickleBuffer]()
        try:
            _Writer(stream, {id(value): name for name, value in self.known.items()}, large).dump(message)
        except Exception as error:  # whatever an object's own way of being pickled raises
            raise UnsendableError(f"{type(error).__name__}: {error}") from None
        return [stream.getbuffer(), *(one.raw() for one in large)]

    def send(self, message: Any) -> None:
        """Send a message.

        Raises ``EndedError`` where the other process has ended, ``UnsendableError`` before anything is sent.
        """
        self.post(self.packed(message))

    def post(self, pieces: list[memoryview]) -> None:
        """Send what is packed. Raises ``EndedError`` where the other process has ended."""
        try:
            self._end.sendall(struct.pack(f"<I{len(pieces)}Q", len(pieces), *(piece.nbytes for piece in pieces)))
            for piece in pieces:
                self._end.sendall(piece)
        except OSError:
            raise EndedError from None

    def receive(self) -> Any:
        """The next message, waited for. Raises ``EndedError`` where none will come."""
        (count,) = struct.unpack("<I", self._bytes(4))
        sizes = struct.unpack(f"<{count}Q", self._bytes(8 * count))
        first, *large = (self._bytes(size) for size in sizes)
        try:
            return _Reader(io.BytesIO(first), self.known, [memoryview(one).toreadonly() for one in large]).load()
        except Exception as error:  # what one side can write the other may not be able to read
            raise UnsendableError(f"{type(error).__name__}: {error}") from None

    def _bytes(self, size: int) -> bytearray:
        found = bytearray(size)
        left = memoryview(found)
        while left:
            try:
                got = self._end.recv_into(left)
            except OSError:
                raise EndedError from None
            if not got:
                raise EndedError
            left = left[got:]
        return found

    def has(self, seconds: float = 0.0) -> bool:
        """Whether a message, or the end, comes within so many seconds.

        Raises ``EndedError`` where this end is closed.
        """
        poll = select.poll()  # ``select`` knows no numbers from 1024 on, which a server with many visitors comes to
        try:
            poll.register(self._end, select.POLLIN)
        except ValueError:  # closed by a server that ends while a process starts
            raise EndedError from None
        return bool(poll.poll(1000 * seconds))

    def close(self) -> None:
        """Let the other side know that this one has ended."""
        self._end.close()


# The side that asks


class Apart:
    """A process that solves; ready some seconds after it was made. One thread at a time asks it.

    ``command``: what Python runs, with the number of its end of the socket as the last argument.
    """

    def __init__(self, command: tuple[str, ...] = ("-m", "mklcore.parallel.processes")) -> None:
        ours, theirs = socket.socketpair()
        there = os.pathsep.join(filter(None, [str(SOURCES.parent), os.environ.get("PYTHONPATH")]))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *command, str(theirs.fileno())], pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": there, "OPENBLAS_NUM_THREADS": "1"},
            )  # fmt: skip
        self._line, self._ready = Line(ours), False
        self._held = dict[str, Callable[[], Any]]()
        weakref.finalize(self, _end, self._process, self._line)

    def ready(self, seconds: float = 0.0) -> bool:
        """Whether it has loaded its solvers, waited for at most so long.

        Raises ``EndedError`` where it ended instead.
        """
        if not self._ready and self._line.has(seconds):
            self._ready = self._line.receive() == ("ready",)
        return self._ready

    def do(
        self,
        work: Callable[..., T],
        hearer: Hearer,
        shared: Mapping[str, Any],
        *given: Any,
        news: Callable[[Any], None] | None = None,
        **more: Any,
    ) -> T:
        """``work`` of the same arguments, done over there, to the same numbers: a function of a module, as
        ``fit_path``, whose first argument is an estimator and which reports to ``callback`` and, where there are
        ``news``, to ``so_far``.

        ``shared``: those among the arguments that are large, by any names; sent again only where they are others than
        the last time. ``news`` is called now and then with what there is so far. What it raises ends the work here and
        there, and so does an error there, which is raised here. Raises ``EndedError`` where the process ends, and
        ``UnsendableError`` for what cannot be asked over there.
        """
        try:
            self._line.known = named(shared)
            asked = self._line.packed(("do", work, given, more, news is not None))
        finally:
            self._line.known = {}
        try:
            self._keep(shared)
            self._line.known = named(shared)
            self._line.post(asked)
            while True:
                if not self._line.has(LOOK_EVERY):
                    hearer.pulse()
                    continue
                what, *message = self._line.receive()
                if what == "tick":
                    hearer.tick(*message)
                elif what == "news" and news is not None:
                    news(*message)
                elif what == "done":
                    return message[0]  # type: ignore[no-any-return]
                elif what == "failed":
                    raise message[0]
        except EndedError:
            raise
        except BaseException:
            self._held = {}
            self._stop()
            raise
        finally:
            self._line.known = {}

    def _keep(self, shared: Mapping[str, Any]) -> None:
        if self._held.keys() == shared.keys() and all(self._held[name]() is value for name, value in shared.items()):
            return
        self.forget()  # before the others come: it never holds both
        self._line.send(("keep", dict(shared)))
        self._held = {name: weakref.ref(value) for name, value in shared.items()}

    def forget(self, left: bool = False) -> None:
        """Have it let go of what was sent once; if ``left``, only where somebody has let go of that here, too."""
        if self._held and not (left and all(one() is not None for one in self._held.values())):
            self._held = {}
            self._line.send(("keep", {}))

    def _stop(self) -> None:
        """Have it stop what it does, or end it: the next answer must not be the one nobody waits for any more."""
        with suppress(EndedError):
            self._line.send(("stop",))
            end = time.monotonic() + STOPS_WITHIN
            while self._line.has(max(end - time.monotonic(), 0.0)):
                if self._line.receive() == ("stopped",):
                    return
        self.end()

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._line.close()

    @property
    def over(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    @property
    def number(self) -> int:
        """The number of the process."""
        return self._process.pid


def _end(process: subprocess.Popen[bytes], line: Line) -> None:
    line.close()
    process.kill()
    process.wait()


# The side that solves


class _Solving:
    """What is being solved for the other side: reports how far it is, and learns whether it is still wanted."""

    now: _Solving | None = None

    def __init__(self, line: Line) -> None:
        self._line, self._reported, self._shown = line, 0.0, time.monotonic()

    def tick(self, done: int, total: int) -> None:
        if time.monotonic() - self._reported > REPORT_EVERY:
            self.listen()
            self._line.send(("tick", done, total))
            self._reported = time.monotonic()

    def listen(self) -> None:
        if self._line.has():
            self._line.receive()  # there is nothing to say meanwhile but that it should stop
            raise CancelledError

    def so_far(self, make: Callable[[], Any]) -> None:
        if time.monotonic() - self._shown > SHOWN_EVERY:
            self._line.send(("news", _shown(make())))
            self._shown = time.monotonic()


def _shown(path: Any) -> Any:
    """A path to be looked at, without what its last point hands on to the next, which is large."""
    last = copy(path.estimators[-1])
    last._carry = None
    return replace(path, estimators=(*path.estimators[:-1], last))


def heard(record: Any) -> None:
    """Listen between two steps of a solver; a plain function, because estimators are copied with their parameters."""
    if _Solving.now is not None:
        _Solving.now.listen()


def serve(end: socket.socket) -> None:
    """Solve what is asked for until nobody is left to ask."""
    line = Line(end)
    with closing(line), suppress(EndedError), suppress_convergence_warnings():
        line.send(("ready",))
        while True:
            try:
                what, *message = line.receive()
            except UnsendableError as error:
                line.send(("failed", error))
                continue
            if what == "keep":
                line.known = {}
                gc.collect()
                line.known = named(message[0])
            elif what == "do":
                _answer(line, *message)
            elif what == "stop":
                line.send(("stopped",))


def _answer(line: Line, work: Callable[..., Any], given: tuple[Any, ...], more: dict[str, Any], shows: bool) -> None:
    solving = _Solving.now = _Solving(line)
    try:
        given[0].set_params(callback=heard)
        listening = {"so_far": solving.so_far} if shows else {}
        line.send(("done", work(*given, callback=solving.tick, **listening, **more)))
    except CancelledError:
        line.send(("stopped",))
    except EndedError:
        raise
    except (MKLError, UnsendableError) as error:
        line.send(("failed", error))
    except Exception as error:  # the border of the process: whatever went wrong is reported on the other side
        line.send(("failed", RuntimeError(f"{type(error).__name__}: {error}")))
    finally:
        _Solving.now = None


def main(number: str) -> None:
    """Load all solvers, then serve the end of a socket with this number."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # pressed in the server's terminal: the server ends, and this with it
    lower_priority(NICE)
    from threadpoolctl import threadpool_limits

    from mklcore._numba.warmup import warm_up

    threadpool_limits(1, user_api="blas")
    warm_up()
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(number)))


if __name__ == "__main__":
    from mklcore.parallel import processes as apart  # by its own name, so that what is sent is known by it

    apart.main(sys.argv[1])
