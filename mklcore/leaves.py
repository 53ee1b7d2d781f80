"""What numba compiles: leaves, which Python calls, and their parts, which only leaves call.

Both let go of the interpreter's lock, and take contiguous float64 or int64 arrays and scalars. Compiling is paid on every
new machine, so nothing is compiled that nobody uses: numba would wrap each function for callers in C, and each for Python,
too, which took an eighth of the time for all of them, and translate parts by themselves, which leaves take in as they are.
A leaf is kept on disk with all of its parts, so these are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

from mklcore.unfinished import LeafCompiler, PartCompiler

F = TypeVar("F", bound=Callable[..., Any])


def leaf(fastmath: bool | set[str] = False) -> Callable[[F], F]:
    """Compile a function that Python calls; ``fastmath`` as numba has it, the freedoms taken with rounding."""
    return njit(cache=True, nogil=True, no_cfunc_wrapper=True, fastmath=fastmath, pipeline_class=LeafCompiler)


def part(fastmath: bool | set[str] = False) -> Callable[[F], F]:
    """Compile a function that only leaves and other parts call: from Python it cannot be called, its ``py_func`` can."""
    return njit(
        nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, fastmath=fastmath, pipeline_class=PartCompiler
    )  # fmt: skip
