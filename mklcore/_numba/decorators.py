"""Decorators for the functions that numba compiles: entries, which Python calls, and helpers, which only entries call.

All compiled functions are serial, release the interpreter's lock, and take contiguous float64 or int64 arrays and
scalars. Compiling is paid on every new machine, so neither kind gets a wrapper for callers in C, and helpers none for
Python either. The machine code of an entry is cached on disk (:mod:`mklcore._numba.cache`) and holds all of its
helpers, so helpers are not cached themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from numba import config, errors, njit

from mklcore._numba import cache

F = TypeVar("F", bound=Callable[..., Any])
_one_by_one = threading.Lock()  # numba asks a setting of the process for the folder


def jit_entry(fastmath: bool | set[str] = False) -> Callable[[F], F]:
    """Compile a function that Python calls; ``fastmath`` as numba has it, the freedoms taken with rounding."""
    compiler = njit(nogil=True, no_cfunc_wrapper=True, fastmath=fastmath)
    return lambda function: _cached(compiler(function))


def jit_helper(fastmath: bool | set[str] = False) -> Callable[[F], F]:
    """Compile a function that only compiled functions call: from Python it cannot be called, its ``py_func`` can."""
    return njit(nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, fastmath=fastmath)


def _cached(function: Any) -> Any:
    """The compiled function with numba's cache, where there is a folder for it."""
    folder = None if config.DISABLE_JIT else cache.folder()  # NUMBA_DISABLE_JIT=1, for a debugger
    if folder is None:
        return function
    with _one_by_one:
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
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
    compile_once, name = function.compile, function.py_func.__name__

    def compile_anyway(signature: Any) -> Any:
        try:
            return compile_once(signature)
        except errors.NumbaError:  # the function itself is at fault
            raise
        except Exception:  # a damaged file leads its reader into any of them
            with suppress(OSError):
                for file in Path(function.stats.cache_path).glob(f"*{name}-*.nb?"):
                    file.unlink()
            return compile_once(signature)

    return compile_anyway
