"""Many runs of one kind by joblib: in this process, in several, or on a Dask cluster.

``n_jobs`` is joblib's: None for one after the other, unless ``joblib.parallel_config`` says otherwise, as in

    with joblib.parallel_config(backend="loky", n_jobs=4): ...      # processes of this machine
    with joblib.parallel_config(backend="dask"): ...                # the workers of the active distributed.Client
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from mklcore.arrays import one_blas_thread

S = TypeVar("S", bound=Hashable)
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


def sweep(
    run: Callable[[S], R],
    specs: Iterable[S],
    n_jobs: int | None = None,
    known: Mapping[S, R] | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> dict[S, R]:
    """``run(spec)`` for every spec: a dict from spec to row in the order of the specs, each spec once.

    Parameters
    ----------
    run : callable
        A function of one spec.
    specs : iterable of hashable
        What to run: frozen dataclasses, numbers or tuples.
    n_jobs : int or None, default None
        Number of runs at a time, as joblib has it.
    known : mapping or None, default None
        Rows of an earlier sweep, whose specs are not run again. Into a dict every new row is written as it arrives.
    callback : callable or None, default None
        callback(done, total) before the first and after every run; what it raises ends the sweep.

    Returns
    -------
    dict
        Row of every spec.
    """
    rows: dict[S, R] = known if isinstance(known, dict) else dict(known or {})
    wanted = list(dict.fromkeys(specs))
    missing = [spec for spec in wanted if spec not in rows]
    known_already = len(wanted) - len(missing)
    if callback is not None:
        callback(known_already, len(wanted))
    for done, (spec, row) in enumerate(zip(missing, each(run, missing, n_jobs), strict=True), known_already + 1):
        rows[spec] = row
        if callback is not None:
            callback(done, len(wanted))
    return {spec: rows[spec] for spec in wanted}
