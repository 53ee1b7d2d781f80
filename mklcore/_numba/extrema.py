"""The larger and the smaller of two numbers, for loops that shall become vector instructions.

numba's max and min decide by a branch, and a loop with them stays scalar. These are LLVM's maxnum
and minnum, with the promise that no NaN comes and that the order does not matter: for compiled
functions, both arguments float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mklcore._numba.decorators import COMPILES

_FLAGS = ("nnan", "nsz", "reassoc")

if COMPILES or TYPE_CHECKING:
    from llvmlite import ir
    from numba import float64
    from numba.extending import intrinsic

    def _call(name: str) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = ir.DoubleType()
            function = builder.module.declare_intrinsic(
                name, [number], ir.FunctionType(number, [number, number])
            )
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
else:
    larger = max
    smaller = min
