"""Decorators for the functions that numba compiles: entries, which Python calls, and helpers, which only entries call.

All compiled functions are serial, release the interpreter's lock, and take contiguous float64 or int64 arrays and
scalars. Compiling is paid on every new machine, so neither kind gets a wrapper for callers in C, and helpers none for
Python either. The machine code of an entry is cached on disk and holds all of its helpers, so helpers are not cached
themselves. Where it is cached :mod:`mklcore._numba.cache` decides; a full disk or a damaged file costs the cache, not
the answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from numba import config, errors, njit

from mklcore._numba import cache as routine_cache
from mklcore._numba import portable
from mklcore.io.private_folders import why_not_own

F = TypeVar("F", bound=Callable[..., Any])
_one_by_one = threading.Lock()  # numba asks a setting of the process for the folder


def jit_entry(fastmath: bool | set[str] = False) -> Callable[[F], F]:
    """Compile a function that Python calls; ``fastmath`` as numba has it, the freedoms taken with rounding."""
    compiler = njit(nogil=True, no_cfunc_wrapper=True, fastmath=fastmath)
    return lambda function: _cached(compiler(function)) or compiler(function)


def jit_helper(fastmath: bool | set[str] = False) -> Callable[[F], F]:
    """Compile a function that only compiled functions call: from Python it cannot be called, its ``py_func`` can."""
    return njit(nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, fastmath=fastmath)


def processor() -> tuple[str, str, str]:
    """Return for what is compiled here, as the index of the cache has it: system, processor and its features."""
    compiled: Any = jit_helper()(lambda: None)
    found: tuple[str, str, str] = compiled.targetctx.codegen().magic_tuple()
    return found


def _cached(function: Any) -> Any:
    """Return the compiled function with a cache on disk, None where there is no place that only this account can
    write.
    """
    if config.DISABLE_JIT:  # NUMBA_DISABLE_JIT=1, for a debugger
        return function
    place = routine_cache.place()
    if place.routines is None or routine_cache.given_up():
        return None
    with _one_by_one:
        before, config.CACHE_DIR = config.CACHE_DIR, str(place.routines)
        try:
            routine_cache.prepare(place.routines)
            portable.bring(place, processor)
            function.enable_caching()
        except (RuntimeError, OSError):  # sources that are no files, as in a zip archive
            return None
        finally:
            config.CACHE_DIR = before
    found = Path(os.path.abspath(function.stats.cache_path))
    if not found.is_relative_to(os.path.abspath(place.routines)):
        return None  # numba goes on to places of its own, which nobody has looked at
    if not place.is_beside_sources and (why := why_not_own(found, named=True)):
        routine_cache.give_up(why)
        return None
    function.compile = _forgiving(function)
    return function


def _forgiving(function: Any) -> Callable[[Any], Any]:
    """The function's ``compile``, which goes on where its files cannot be read or written, and removes these files."""
    compile_once = function.compile
    about = function.py_func
    files = f"*{about.__name__}-{about.__code__.co_firstlineno}.*.nb?"

    def compile_anyway(signature: Any) -> Any:
        try:
            return compile_once(signature)
        except errors.NumbaError:  # the function itself is at fault
            raise
        except Exception as error:  # a damaged file leads its reader into any of them
            if isinstance(error, OSError):
                routine_cache.give_up(f"{error.strerror or error} ({function.stats.cache_path})")
            with suppress(OSError):
                for file in Path(function.stats.cache_path).glob(files):
                    file.unlink()
            return compile_once(signature)

    return compile_anyway
