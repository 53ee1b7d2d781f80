"""Many runs of one kind by joblib: in this process, in several, or on a Dask cluster.

``n_jobs`` is joblib's: None for one after the other, unless ``joblib.parallel_config`` says otherwise, as in

    with joblib.parallel_config(backend="loky", n_jobs=4): ...      # processes of this machine
    with joblib.parallel_config(backend="dask"): ...                # the workers of the active distributed.Client
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from mklcore.arrays import one_blas_thread

T = TypeVar("T")
R = TypeVar("R")


def is_parallel(n_jobs: int | None) -> bool:
    """Whether there will be more than one run at a time."""
    return bool(effective_n_jobs(n_jobs) > 1)


def each(run: Callable[[T], R], given: Iterable[T], n_jobs: int | None = None) -> Iterator[R]:
    """``run`` of everything ``given``, in its order.

    One BLAS thread each, so that the results are the same wherever they are computed: more would add up in another
    order.
    """
    return iter(Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_alone)(run, one) for one in given))


def _alone(run: Callable[[T], R], one: T) -> R:
    with one_blas_thread():
        return run(one)
