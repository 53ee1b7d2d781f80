"""Many machines: runs on the workers of a Dask scheduler, each piece of data sent once, and nothing lost with a worker.

What is to be run travels to the scheduler once, as a task of its own; workers get it from each other and keep it, and the
scheduler makes it again when every worker that had it is gone. A run that dies with its worker is run again elsewhere. When
the scheduler itself ends, what had arrived is in the caller's hands, and the next sweep goes on from there. One long piece of
work goes to one worker, which tells how far it is and hears that it should end (``afar``).

Needs ``pip install mklcore[dask]``.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

from mklcore.errors import MKLError, ParameterError
from mklcore.kernels.checks import one_blas_thread

SCHEDULER = "MKL_EXPLORER_SCHEDULER"  # the address of a scheduler, as in tcp://10.0.0.1:8786
_LOOK = 0.02  # seconds between looks at what has arrived
_TICK = 0.3  # seconds after which a sweep that waits is told so, and may be cancelled
_LARGEST_GRAPH = "100GB"  # the data travel inside the first task, once
_CONNECT, _CLOSE = "10s", 10.0
# Workers of Dask give every large array back to the system at once, and finding its pages again takes them as long as what
# they compute: so much is kept (glibc, bytes; read when a process starts).
KEPT_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 2**28, "MALLOC_MMAP_THRESHOLD_": 2**25}
S = TypeVar("S")
R = TypeVar("R")
Tell: TypeAlias = Callable[[int, int], Any]  # how much is done, of how much; what it raises ends the work
# What is run, and where it lies.
_SENT: ContextVar[dict[int, tuple[Any, Any]] | None] = ContextVar("sent", default=None)


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
    """A ``distributed.Client``: of ``address``; else the current one; else of the address in ``MKL_EXPLORER_SCHEDULER``; else of
    processes of this machine that end with it. ParameterError where Dask is not installed or nobody answers."""
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
        raise ParameterError(
            f"No scheduler answers at {asked}: {error}. Start one with `dask scheduler`, or unset {SCHEDULER}."
        ) from None
    try:
        yield client
    finally:
        with suppress(TimeoutError):  # nobody is there to say goodbye to
            client.close(timeout=_CLOSE if client.status == "running" else 0.5)


@contextmanager
def keeping_memory() -> Iterator[None]:
    """Workers that are started here within keep the memory of large arrays for the next ones (``KEPT_MEMORY``)."""
    import dask

    where = "distributed.nanny.pre-spawn-environ"
    with dask.config.set({where: {**dask.config.get(where, {}), **KEPT_MEMORY}}):
        yield


@contextmanager
def one_client(backend: Any) -> Iterator[None]:
    """Sweeps within speak to the cluster through one client, and what they run is sent once, however many sweeps run it.

    For whoever sweeps again and again. Without effect unless ``backend`` is "dask".
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

    The first error of a run is raised. MKLError where the scheduler ends before the last row has arrived.
    """
    data, kept = _sent(client, run), _SENT.get() is not None
    waiting = {client.submit(alone, data, spec, pure=False): spec for spec in specs}
    told = time.monotonic()
    try:
        while waiting:
            _check(client, f"{len(waiting)} of {len(specs)} runs to go", " is kept where `known` is a dict")
            arrived = [future for future in waiting if future.done()]
            well = [future for future in arrived if future.status == "finished"]
            for future, row in zip(well, client.gather(well) if well else (), strict=True):
                yield waiting.pop(future), row
            for future in arrived:
                if future in waiting:  # this raises, after all that went well has been handed on
                    yield waiting.pop(future), future.result()
            if not arrived:
                time.sleep(_LOOK)
            if time.monotonic() - told > _TICK:
                told = time.monotonic()
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
        told = f" What had arrived{kept}: start the sweep again with it." if kept else " Ask again once it is back."
        raise MKLError(f"The scheduler at {client.scheduler.address} ended with {left}.{told}")


def _forget(client: Any, future: Any) -> None:
    future.cancel() if client.status == "running" else None


# One piece of work


def afar(work: Callable[[Tell], R], callback: Tell | None = None) -> R:
    """``work(tell)`` on one worker of the cluster, with one BLAS thread: what it gives, or the error it ends with.

    What the work tells, ``tell(done, total)``, comes to ``callback`` here, which is called from time to time in any case; what it
    raises ends the work there, too, when it tells next. Work that dies with its worker begins again on another. MKLError
    where the scheduler ends before the work does.
    """
    with connected() as client:
        import distributed

        name, heard = f"mklcore-{uuid4().hex}", deque([(0, 1)], maxlen=1)
        over = distributed.Event(name, client)
        client.subscribe_topic(name, lambda event: heard.append(event[1]))
        data, kept = _sent(client, work), _SENT.get() is not None
        future = client.submit(_listening, data, name, pure=False)
        try:
            while not future.done():
                _check(client, "the work on its way", "")
                if callback is not None:
                    callback(*heard[0])
                time.sleep(_LOOK)
            found: R = future.result()
            return found
        except BaseException:
            over.set() if client.status == "running" else None
            raise
        finally:
            client.unsubscribe_topic(name)
            for one in (future, *(() if kept else (data,))):
                _forget(client, one)


def _listening(work: Callable[[Tell], R], name: str) -> R:
    """The work on its worker: what it tells is sent at most every third of a second, and then it hears whether it is wanted."""
    import distributed

    worker, over, clock = distributed.get_worker(), distributed.Event(name), [time.monotonic()]

    def tell(done: int, total: int) -> None:
        if time.monotonic() - clock[0] < _TICK:
            return
        worker.log_event(name, (done, total))
        if over.is_set():
            raise InterruptedError("The work was cancelled by whoever asked for it.")
        clock[0] = time.monotonic()

    return alone(work, tell)
