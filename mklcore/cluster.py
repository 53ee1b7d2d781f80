"""Many machines: runs on the workers of a Dask scheduler, each piece of data sent once, and nothing lost with a worker.

What is to be run travels to the scheduler once, as a task of its own; workers get it from each other and keep it, and the
scheduler makes it again when every worker that had it is gone. A run that dies with its worker is run again elsewhere. When
the scheduler itself ends, what had arrived is in the caller's hands, and the next sweep goes on from there.

Needs ``pip install mklcore[dask]``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from mklcore.errors import MKLError, ParameterError
from mklcore.kernels.checks import one_blas_thread

SCHEDULER = "MKL_EXPLORER_SCHEDULER"  # the address of a scheduler, as in tcp://10.0.0.1:8786
_LOOK = 0.02  # seconds between looks at what has arrived
_TICK = 0.3  # seconds after which a sweep that waits is told so, and may be cancelled
_LARGEST_GRAPH = "100GB"  # the data travel inside the first task, once
_CONNECT, _CLOSE = "10s", 10.0
S = TypeVar("S")
R = TypeVar("R")


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


def _current(distributed: Any) -> Any:
    try:
        return distributed.get_client()
    except ValueError:
        return None


def on_cluster(client: Any, run: Callable[[S], R], specs: Sequence[S]) -> Iterator[tuple[S, R] | None]:
    """Pairs of spec and row as they arrive, and None from time to time while none does.

    The first error of a run is raised. MKLError where the scheduler ends before the last row has arrived.
    """
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": _LARGEST_GRAPH}):
        data = client.submit(held, run, pure=False)
    waiting = {client.submit(alone, data, spec, pure=False): spec for spec in specs}
    told = time.monotonic()
    try:
        while waiting:
            if client.status != "running":
                raise MKLError(
                    f"The scheduler at {client.scheduler.address} ended with {len(waiting)} of {len(specs)} runs to go. What had "
                    "arrived is kept where `known` is a dict: start the sweep again with it."
                )
            arrived = [future for future in waiting if future.done()]
            for future in arrived:
                spec = waiting.pop(future)
                yield spec, future.result()
            if not arrived:
                time.sleep(_LOOK)
            if time.monotonic() - told > _TICK:
                told = time.monotonic()
                yield None
    finally:
        for future in (*waiting, data):
            future.cancel() if client.status == "running" else None
