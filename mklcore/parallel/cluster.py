"""Many machines: runs on the workers of a Dask scheduler, each piece of data sent once, and nothing lost with a worker.

What is to be run travels to the scheduler once, as a task of its own; workers get it from each other and keep it, and
the scheduler makes it again when every worker that had it is gone. A run that dies with its worker is run again
elsewhere. When the scheduler itself ends, what had arrived is in the caller's hands, and the next sweep goes on from
there. One long piece of work goes to one worker, which tells how far it is and what there is by now, and learns that it
should end (``afar``).

Needs ``pip install mklcore[dask]``.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, NoReturn, TypeAlias, TypeVar
from uuid import uuid4

from mklcore.errors import MKLError, ParameterError
from mklcore.kernels.checks import one_blas_thread

SCHEDULER = "MKL_EXPLORER_SCHEDULER"  # the address of a scheduler, as in tcp://10.0.0.1:8786
_LOOK = 0.02  # seconds between looks at what has arrived
_TICK = 0.3  # seconds after which a sweep that waits is notified, and may be cancelled
_LARGEST_GRAPH = "100GB"  # the data travel inside the first task, once
_CONNECT, _CLOSE = "10s", 10.0
_ANSWER = 2.0  # seconds in which a scheduler that lives answers
_UNWANTED = "The caller has cancelled the work or is gone, or its cluster is."
_OVER = ("closing", "closed", "failed")  # of a worker
MOST_SAID = 2**22  # bytes of what a piece of work says while it goes on: a scheduler holds one of them per piece
# Workers of Dask give every large array back to the system at once, and finding its pages again takes them as long as
# what they compute: so much is kept (glibc, bytes; read when a process starts).
KEPT_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 2**28, "MALLOC_MMAP_THRESHOLD_": 2**25}
SAME = ("mklcore",)  # packages of which a worker must have our version
S = TypeVar("S")
R = TypeVar("R")
Tell: TypeAlias = Callable[[int, int], Any]  # how much is done, of how much; what it raises ends the work
# What is run, and where it is.
_SENT: ContextVar[dict[int, tuple[Any, Any]] | None] = ContextVar("sent", default=None)


class NoClusterError(ParameterError):
    """There is no cluster to be used: nobody answers, or its workers cannot do our work."""


def alone(run: Callable[[S], R], spec: S) -> R:
    """``run(spec)`` with one BLAS thread, whatever the machine: another number of threads adds up in another order."""
    with one_blas_thread():
        return run(spec)


def held(run: Any) -> Any:
    """What is to be run, as a task whose result stays on the workers."""
    return run


def scheduler_address() -> str | None:
    """The address in the environment, None without one."""
    return os.environ.get(SCHEDULER) or None


def backend() -> str:
    """Where sweeps of the app run: "dask" where the environment names a scheduler, else "serial"."""
    return "dask" if scheduler_address() else "serial"


@contextmanager
def connected(address: str | None = None) -> Iterator[Any]:
    """A ``distributed.Client``: of ``address``; else the current one; else of the address in
    ``MKL_EXPLORER_SCHEDULER``; else of processes of this machine that end with it. ParameterError where Dask is not
    installed; NoClusterError, which is one, where nobody answers, or a worker has another version of this library.
    """
    try:
        import distributed
    except ImportError:
        raise ParameterError(
            "The backend 'dask' needs the package distributed: pip install 'mklcore[dask]'. "
            "backend='processes' does the same on this machine."
        ) from None
    current = None if address else _current(distributed)
    if current is not None:
        yield current
        return
    asked = address or scheduler_address()
    try:
        if asked:
            client = distributed.Client(asked, timeout=_CONNECT, set_as_default=False)
        else:
            with keeping_memory():
                client = distributed.Client(
                    processes=True, threads_per_worker=1, dashboard_address="127.0.0.1:0", set_as_default=False
                )
    except (OSError, ValueError) as error:
        raise NoClusterError(
            f"No scheduler answers at {asked}: {error}. Start one with `dask scheduler`, or unset {SCHEDULER}."
        ) from None
    try:
        if asked:
            _check_versions(client, asked)
        yield client
    finally:
        with suppress(TimeoutError):  # nobody is there to say goodbye to
            client.close(timeout=_CLOSE if client.status == "running" else 0.5)


def _check_versions(client: Any, address: str) -> None:
    """NoClusterError where a worker that is there by now has another version of the library, or of Python."""
    found = client.get_versions(packages=list(SAME))

    def had(one: Any) -> list[str]:
        python = ".".join(str(one["host"]["python"]).split(".")[:2])
        return [f"Python {python}", *(f"{name} {one['packages'].get(name) or 'not at all'}" for name in SAME)]

    ours = had(found["client"])
    for worker, one in found["workers"].items():
        if had(one) != ours:
            raise NoClusterError(
                f"The worker {worker} of the scheduler at {address} has {' and '.join(had(one))}; this process has "
                f"{' and '.join(ours)}. Install the same versions everywhere."
            )


@contextmanager
def keeping_memory() -> Iterator[None]:
    """Workers that are started here within keep the memory of large arrays for the next ones (``KEPT_MEMORY``)."""
    import dask

    where = "distributed.nanny.pre-spawn-environ"
    with dask.config.set({where: {**dask.config.get(where, {}), **KEPT_MEMORY}}):
        yield


@contextmanager
def one_client(backend: Any) -> Iterator[None]:
    """Sweeps within speak to the cluster through one client, and what they run is sent once, however many sweeps run
    it.

    For repeated sweeps. Without effect unless ``backend`` is "dask".
    """
    if backend != "dask":
        yield
        return
    with connected() as client, client.as_current():
        token = _SENT.set({})
        try:
            yield
        finally:
            for _, future in (_SENT.get() or {}).values():
                _forget(client, future)
            _SENT.reset(token)


def _current(distributed: Any) -> Any:
    try:
        return distributed.get_client()
    except ValueError:
        return None


def on_cluster(client: Any, run: Callable[[S], R], specs: Sequence[S]) -> Iterator[tuple[S, R] | None]:
    """Pairs of spec and row as they arrive, and None from time to time while none does.

    The first error of a run is raised. MKLError where the scheduler ends, or another cancels, before the last row
    arrived.
    """
    data, kept = _sent(client, run), _SENT.get() is not None
    kept_where = " is kept where `known` is a dict"
    waiting = {client.submit(alone, data, spec, pure=False): spec for spec in specs}
    reported = time.monotonic()
    try:
        while waiting:
            left = f"{len(waiting)} of {len(specs)} runs to go"
            _check(client, left, kept_where)
            arrived = [future for future in waiting if future.done()]
            well = [future for future in arrived if future.status == "finished"]
            try:
                rows = client.gather(well) if well else ()
            except CancelledError:  # by another client, since it was looked at: the next look finds it so
                continue
            for future, row in zip(well, rows, strict=True):
                yield waiting.pop(future), row
            for future in arrived:
                if future in waiting:  # this raises, after all that went well has been handed on
                    yield waiting.pop(future), _value(client, future, left, kept_where)
            if not arrived:
                time.sleep(_LOOK)
            if time.monotonic() - reported > _TICK:
                reported = time.monotonic()
                yield None
    finally:
        for future in (*waiting, *(() if kept else (data,))):
            _forget(client, future)


def _sent(client: Any, run: Any) -> Any:
    """What is to be run, on its way to a worker; within ``one_client`` it is sent once."""
    import dask

    before = _SENT.get()
    if before is not None and id(run) in before:
        return before[id(run)][1]
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": _LARGEST_GRAPH}):
        data = client.submit(held, run, pure=False)
    if before is not None:
        before[id(run)] = run, data  # with itself, so that no other takes its place in memory
    return data


def _check(client: Any, left: str, kept: str) -> None:
    """MKLError where the scheduler has ended."""
    if client.status != "running":
        _raise_ended(client, left, kept)


def _value(client: Any, future: Any, left: str, kept: str) -> Any:
    """What a future that is done holds, or the error of its work; MKLError where the scheduler has let go of it."""
    if client.status != "running" or future.status in ("cancelled", "lost"):
        _raise_ended(client, left, kept)
    return future.result()


def _raise_ended(client: Any, left: str, kept: str) -> NoReturn:
    where = f" at {client.scheduler.address}" if client.scheduler else ""  # a client that was closed has forgotten it
    again = f" What had arrived{kept}: start the sweep again with it." if kept else " Ask again"
    if _lives(client):
        raise MKLError(f"Another client of the scheduler{where} cancelled the work, with {left}.{again.rstrip('.')}.")
    raise MKLError(f"The scheduler{where} ended with {left}.{again if kept else f'{again} once it is back.'}")


def _lives(client: Any) -> bool:
    """Whether the scheduler of a client answers."""
    if client.status != "running":
        return False
    try:
        client.sync(client.scheduler.identity, callback_timeout=_ANSWER)
    except (OSError, TimeoutError, RuntimeError):
        return False
    return True


def _forget(client: Any, future: Any) -> None:
    future.cancel() if client.status == "running" else None


def answers(client: Any, futures: Sequence[Any], pulse: Callable[[], Any], what: str) -> Iterator[Any]:
    """What futures hold, in their order, each let go of as soon as it is here; ``pulse`` is called meanwhile and may
    end that.

    MKLError where the scheduler ends before; ``what`` is what it ends with.
    """
    left = deque(futures)
    try:
        while left:
            while not left[0].done():
                _check(client, what, "")
                pulse()
                time.sleep(_LOOK)
            yield _value(client, left[0], what, "")
            left.popleft()
    finally:
        for future in left:
            _forget(client, future)


# One piece of work


def afar(work: Callable[..., R], callback: Tell | None = None, news: Callable[[bytes], Any] | None = None) -> R:
    """``work(tell)`` on one worker of the cluster, with one BLAS thread: what it gives, or the error it ends with.

    What the work tells, ``tell(done, total)``, comes to ``callback`` here, which is called from time to time in any
    case; what it raises ends the work there, too, when it tells next. With ``news`` it is ``work(tell, say)``: what it
    says, in bytes, comes to ``news`` while the work goes on, the newest where several were said meanwhile, and nothing
    above ``MOST_SAID``. Work that dies with its worker begins again on another. MKLError where the scheduler ends
    before the work does.
    """
    with connected() as client:
        import distributed

        name = f"mklcore-{uuid4().hex}"
        pages = distributed.Variable(name, client), distributed.Variable(f"{name}-said", client)
        pages[0].set((0, 1, 0))
        data, kept = _sent(client, work), _SENT.get() is not None
        future = client.submit(_listening, data, name, news is not None, pure=False)
        now, heard, looked = (0, 1), 0, time.monotonic()
        try:
            while not future.done():
                _check(client, "the work on its way", "")
                if callback is not None:
                    callback(*now)
                if time.monotonic() - looked > _TICK:
                    looked = time.monotonic()
                    done, total, said = _read(pages[0]) or (*now, heard)
                    now = done, total
                    if news is not None and said != heard and (content := _read(pages[1])) is not None:
                        heard = said
                        news(content)
                time.sleep(_LOOK)
            return _value(client, future, "the work on its way", "")  # type: ignore[no-any-return]
        finally:
            for one in (future, *(() if kept else (data,))):
                _forget(client, one)
            for page in pages:
                page.delete()


def _read(page: Any) -> Any:
    """What is there; None where nobody answers, which the next look at the scheduler explains."""
    try:
        return page.get(callback_timeout=_ANSWER)
    except (OSError, TimeoutError, RuntimeError):
        return None


def while_wanted() -> Callable[[], None]:
    """What raises InterruptedError once the task that asked for it, on its worker, is wanted no more."""
    import distributed

    worker = distributed.get_worker()
    key = worker.get_current_task()

    def pulse() -> None:
        if _is_unwanted(worker, key):
            raise InterruptedError(_UNWANTED)

    return pulse


def _is_unwanted(worker: Any, key: Any) -> bool:
    task = worker.state.tasks.get(key)
    return task is None or task.state == "cancelled" or worker.status.name in _OVER


class _Listening:
    """The work on its worker: with each report it learns whether it is wanted, and every third of a second it is
    sent, into a place that holds the newest alone."""

    def __init__(self, name: str) -> None:
        import distributed

        self._worker = distributed.get_worker()
        self._key = self._worker.get_current_task()
        self._pages = distributed.Variable(name), distributed.Variable(f"{name}-said")
        self._last, self._sent, self._said = (0, 1), time.monotonic(), 0

    def is_unwanted(self) -> bool:
        return _is_unwanted(self._worker, self._key)

    def forget(self) -> None:
        """Discard stale messages."""
        for page in self._pages:
            page.delete()

    def tell(self, done: int, total: int) -> None:
        if self.is_unwanted():
            raise InterruptedError(_UNWANTED)
        self._last = done, total
        if time.monotonic() - self._sent >= _TICK:
            self._send()

    def say(self, content: bytes) -> None:
        if len(content) > MOST_SAID:
            return
        with suppress(OSError, TimeoutError):
            self._pages[1].set(content, callback_timeout=_ANSWER)
            self._said += 1
            self._send()

    def _send(self) -> None:
        with suppress(OSError, TimeoutError):  # where the scheduler is gone, so is this worker soon
            self._pages[0].set((*self._last, self._said), callback_timeout=_ANSWER)
        self._sent = time.monotonic()


def _listening(work: Callable[..., R], name: str, says: bool) -> R:
    """The work on its worker."""
    there = _Listening(name)
    try:
        return alone(lambda given: work(*given), (there.tell, there.say) if says else (there.tell,))
    finally:
        if there.is_unwanted():
            there.forget()
