"""Types of arrays and tuples, distinct rows, solutions of systems, and threads of BLAS.

Arrays hold floats of 8 bytes (``Array``) or 4 (``Single``), integers (``Indices``), bools
(``Mask``), or anything (``Labels``, ``Cells`` of one column of a table). Tuples hold ``Names``, or
``Columns`` by their indices.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Array: TypeAlias = NDArray[np.float64]
Single: TypeAlias = NDArray[np.float32]
Indices: TypeAlias = NDArray[np.integer[Any]]
Mask: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]
Cells: TypeAlias = NDArray[Any]
Names: TypeAlias = tuple[str, ...]
Columns: TypeAlias = tuple[int, ...]


def read_only(array: Array) -> Array:
    """A view that cannot be written to: a jitted function that gets all it only reads so is
    compiled for one type, not two.
    """
    view = array.view()
    view.setflags(write=False)
    return view


def writable(array: Array) -> Array:
    """The array itself, or a copy of one that is read-only: the other way to one type, for what is
    small beside the work.
    """
    return array if array.flags.writeable else array.copy()


def distinct_rows(rows: Array) -> tuple[Array, Indices, Indices]:
    """The distinct rows (u, s) in rising order, the place of each row (n,) among them, and how
    often each of them occurs (u,).

    numpy sorts rows as records; a single column is sorted as numbers, seven times as fast.
    """
    if rows.shape[1] == 1:
        values, places, counts = np.unique(rows[:, 0], return_inverse=True, return_counts=True)
        return values[:, None], places, counts
    values, places, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return values, places.ravel(), counts


def longest_step(values: Array, way: Array) -> float:
    """The longest step along ``way`` that leaves no non-negative value below zero; infinite where
    nothing falls.
    """
    falling = way < 0.0
    return float(np.min(-values[falling] / way[falling], initial=np.inf))


def factorised(system: Array, shift: float | Array = 0.0) -> Callable[[Array], Array]:
    """What solves (system + diag(shift)) z = right for right (n,) or (n, k), by Cholesky's factor.

    It is written over the symmetric ``system``. LinAlgError where that is not positive definite.

    By LAPACK itself: scipy's checks take as long as the solution of fifty equations.
    """
    system.flat[:: len(system) + 1] += shift
    factor, fault = scipy.linalg.lapack.dpotrf(
        system.T,
        lower=0,
        overwrite_a=1,
        clean=0,
    )
    if fault:
        raise np.linalg.LinAlgError(f"The leading minor of order {fault} is not positive definite.")
    return lambda right: scipy.linalg.lapack.dpotrs(factor, right, lower=0)[0]


@cache
def _pools() -> ThreadpoolController:
    """The pools of numpy's and of scipy's library, which is loaded first: a controller only knows
    the pools it has seen.
    """
    import scipy.linalg.blas  # noqa: F401

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread inside a loop over kernels, or in a function that it decorates: two took 2 to
    13 times as long when other work shared the cores.
    """
    with _pools().limit(limits=1, user_api="blas"):
        yield
