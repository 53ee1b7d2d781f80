"""What numba compiles: leaves, which Python calls, and their parts, which only leaves call.

Both let go of the interpreter's lock, and take contiguous float64 or int64 arrays and scalars. Compiling is paid on every
new machine, so nothing is compiled that nobody uses: numba would wrap each function for callers in C, and each for Python,
too, which took an eighth of the time for all of them, and translate parts by themselves, which leaves take in as they are.
A leaf is kept on disk with all of its parts, so these are not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator

from mklcore import routine_cache
from mklcore.unfinished import LeafCompiler, PartCompiler

F = TypeVar("F", bound=Callable[..., Any])


def leaf(fastmath: bool | set[str] = False) -> Callable[[F], F]:
    """Compile a function that Python calls; ``fastmath`` as numba has it, the freedoms taken with rounding."""
    compiled = njit(nogil=True, no_cfunc_wrapper=True, fastmath=fastmath, pipeline_class=LeafCompiler)
    return lambda function: _kept(compiled(function))


def part(fastmath: bool | set[str] = False) -> Callable[[F], F]:
    """Compile a function that only leaves and other parts call: from Python it cannot be called, its ``py_func`` can."""
    return njit(
        nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, fastmath=fastmath, pipeline_class=PartCompiler
    )  # fmt: skip


class _Locator(InTreeCacheLocator):
    """numba's way to the files of one routine, in our folder; it writes nothing before there is something to write."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)  # type: ignore[no-untyped-call]  # numba ships no types
        there = routine_cache.place()
        if there.folder is not None and not there.is_beside_sources:
            below = self.get_suitable_cache_subpath(py_file)  # type: ignore[no-untyped-call]  # numba ships no types
            self._cache_path = os.path.join(there.folder, below)

    def ensure_cache_path(self) -> None:
        pass

    def make(self) -> None:
        """Make the folder of the files."""
        os.makedirs(self._cache_path, mode=0o700, exist_ok=True)


class _Files(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  numba reads it so


class RoutineCache(FunctionCache):
    """numba's cache of one routine, which a full disk or a damaged file does not stop."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what is kept of a call with these types, None where nothing is."""
        if routine_cache.given_up():
            return None
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]  # numba ships no types
        except Exception:  # a damaged file leads its reader into any of them; it is written again
            with suppress(OSError):
                os.unlink(self._cache_file._index_path)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled routine, if it can be kept."""
        if routine_cache.given_up():
            return
        try:
            self._impl.locator.make()
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]  # numba ships no types
        except OSError as error:
            routine_cache.give_up(f"{error.strerror or error} ({self.cache_path})")


def _kept(routine: Any) -> Any:
    """Have numba keep this routine on disk, where there is a place; return the routine."""
    if routine_cache.place().folder is not None:
        with suppress(RuntimeError, OSError):  # sources that are no files, as in a zip archive
            routine._cache = RoutineCache(routine.py_func)  # type: ignore[no-untyped-call]  # numba ships no types
    return routine
