"""The larger and the smaller of two numbers, in a form that a compiler turns into vector instructions.

numba's ``max`` and ``min`` decide by a branch, and a loop that takes a maximum of many numbers with them stays scalar.
These are LLVM's own ``maxnum`` and ``minnum`` (LLVM Language Reference, "Standard C/C++ Library Intrinsics"), with the
promise that no NaN comes and that the order does not matter. For use in compiled functions only; both arguments
float64, neither NaN.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import float64
from numba.extending import intrinsic

_FLAGS = ("nnan", "nsz", "reassoc")


def _call(name: str) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.DoubleType()
        function = builder.module.declare_intrinsic(name, [number], ir.FunctionType(number, [number, number]))
        return builder.call(function, arguments, fastmath=_FLAGS)

    return emit


@intrinsic
def larger(typing: Any, first: Any, second: Any) -> Any:
    """max(first, second)."""
    return float64(float64, float64), _call("llvm.maxnum")


@intrinsic
def smaller(typing: Any, first: Any, second: Any) -> Any:
    """min(first, second)."""
    return float64(float64, float64), _call("llvm.minnum")
