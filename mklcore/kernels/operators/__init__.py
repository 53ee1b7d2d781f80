"""M kernels on n rows, and their weighted sum, as solvers see them: two protocols and what implements them.

``DenseKernels`` (and ``GramStack``) store Gram matrices; ``PackedKernels`` one triangle of each in single precision;
``LazyKernels`` compute what is asked for from the columns, ``Float32Kernels`` with sums in single precision;
a ``CachedOperator`` around any of them remembers products and sums.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from mklcore.kernels.operators.base import (
    Capability,
    DenseSum,
    KernelOperator,
    WeightedSum,
    frobenius_norms,
    is_operator,
    is_stored,
    same_kernels,
)
from mklcore.kernels.operators.cached import CachedOperator, cached
from mklcore.kernels.operators.dense import DenseKernels, as_operator

if TYPE_CHECKING:
    from mklcore.kernels.operators.lazy import Float32Kernels, LazyKernels
    from mklcore.kernels.operators.packed import PackedKernels

__all__ = [
    "CachedOperator",
    "Capability",
    "DenseKernels",
    "DenseSum",
    "Float32Kernels",
    "KernelOperator",
    "LazyKernels",
    "PackedKernels",
    "WeightedSum",
    "as_operator",
    "cached",
    "frobenius_norms",
    "is_operator",
    "is_stored",
    "same_kernels",
]

_LATER = {
    "Float32Kernels": "lazy",
    "LazyKernels": "lazy",
    "PackedKernels": "packed",
}  # they need dictionaries and grams


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(_import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.")
