"""Decorators for the functions that numba compiles: entries, which Python calls, and helpers, which
only entries call.

All compiled functions are serial, release the interpreter's lock, and take contiguous float64 or
int64 arrays and scalars. Compiling is paid on every new machine, so neither kind gets a wrapper for
callers in C, and helpers none for Python either. The machine code of an entry is cached on disk
(:mod:`mklcore._numba.cache`) and holds all of its helpers, so helpers are not cached themselves.

The library works without numba, as in a browser, or where ``MKLCORE_NUMBA=0`` is set. The same
functions then run as Python. Those with a ``numpy`` twin are nearly as fast as before; an entry
without one is a loop over single numbers, and refuses arrays for which a person would wait too
long.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from mklcore._numba import cache
from mklcore.errors import ParameterError

F = TypeVar("F", bound=Callable[..., Any])
COMPILES = os.environ.get("MKLCORE_NUMBA", "") != "0" and find_spec("numba") is not None
MOST_NUMBERS = 100_000  # of an array that Python loops over: the Gram matrix of three hundred rows
_one_by_one = threading.Lock()  # numba asks a setting of the process for the folder

if COMPILES:
    from numba import config, errors, njit


def jit_entry(
    fastmath: bool | set[str] = False,
    *,
    numpy: Callable[..., Any] | None = None,
    loops: str = "This method",
    most: int = MOST_NUMBERS,
) -> Callable[[F], F]:
    """Compile a function that Python calls.

    fastmath : as numba has it, the freedoms taken with rounding
    numpy : what does the same without numba
    loops : name of what the person asked for, which the refusal gives when this function would loop
        uncompiled over single numbers; "" for a function that leaves such loops to others, which
        have a twin in NumPy, and is never refused
    most : numbers in an array from which it is refused without numba
    """
    if COMPILES:
        compiler = njit(nogil=True, no_cfunc_wrapper=True, fastmath=fastmath)
        return lambda function: _cached(compiler(function))
    if numpy is not None:
        return lambda function: cast(Any, numpy)
    return lambda function: _bounded(function, loops, most) if loops else function


def jit_helper(
    fastmath: bool | set[str] = False, *, numpy: Callable[..., Any] | None = None
) -> Callable[[F], F]:
    """Compile a function that only compiled functions call: from Python it cannot be called, its
    ``py_func`` can.
    """
    if COMPILES:
        return njit(nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, fastmath=fastmath)
    return lambda function: function if numpy is None else cast(Any, numpy)


def _bounded(function: F, method: str, most: int) -> F:
    """The function as Python, for arrays of at most ``most`` numbers.

    ParameterError for larger ones.
    """

    @wraps(function)
    def run(*arguments: Any) -> Any:
        largest = max((np.size(one) for one in arguments), default=0)
        if largest > most:
            raise ParameterError(
                f"{method} would loop over {largest:,} numbers, and without numba at most "
                f"{most:,} take a bearable time. Open the table in the app (mkl-explorer), "
                "or install numba (pip install numba); else take fewer rows, or the "
                "squared loss where the method has it, which needs no such loops."
            )
        return function(*arguments)

    return cast(F, run)


def _cached(function: Any) -> Any:
    """The compiled function with numba's cache, where there is a folder for it."""
    folder = None if config.DISABLE_JIT else cache.folder()  # NUMBA_DISABLE_JIT=1, for a debugger
    if folder is None:
        return function
    with _one_by_one:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            function.enable_caching()
        except (RuntimeError, OSError):  # sources that are no files, as in a zip archive
            return function
        finally:
            config.CACHE_DIR = before
    function.compile = _forgiving(function)
    return function


def _forgiving(function: Any) -> Callable[[Any], Any]:
    """The function's ``compile``: a full disk or a damaged file costs the cache, not the answer."""
    compile_once = function.compile
    name = function.py_func.__name__

    def compile_anyway(signature: Any) -> Any:
        try:
            return compile_once(signature)
        except errors.NumbaError:  # the function itself is at fault
            raise
        except Exception:  # a damaged file leads its reader into any of them
            try:
                for file in Path(function.stats.cache_path).glob(f"*{name}-*.nb?"):
                    file.unlink()
            except OSError:  # another account's, as after a start with sudo
                function._cache.disable()
            return compile_once(signature)

    return compile_anyway
