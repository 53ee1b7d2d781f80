"""Kernel functions, dictionaries of them, their Gram matrices, and numbers that describe those."""

from mklcore.kernels.dictionary import BAND_KERNELS, KernelDictionary, stored_as
from mklcore.kernels.functions import (
    KERNELS,
    RBF,
    Delta,
    KernelSpec,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
)
from mklcore.kernels.grams import (
    Forecast,
    GramStack,
    alignment_matrix,
    duplicates,
    effective_rank,
    target_alignment,
)
from mklcore.kernels.kernel_map import KernelMap
from mklcore.kernels.normalisation import NORMALISATIONS
from mklcore.kernels.stacks import read_stack

__all__ = [
    "BAND_KERNELS",
    "KERNELS",
    "NORMALISATIONS",
    "RBF",
    "Delta",
    "Forecast",
    "GramStack",
    "KernelDictionary",
    "KernelMap",
    "KernelSpec",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "alignment_matrix",
    "duplicates",
    "effective_rank",
    "read_stack",
    "stored_as",
    "target_alignment",
]
