"""What weighs the kernels. ``norms``: constraints on the weights, with a dual. ``terms``: concave group selection terms."""

from mklcore.penalties.base import Penalty
from mklcore.penalties.norms import (
    BlockNorm,
    EllipticNorm,
    LpNorm,
    WeightedLpNorm,
    conjugate_exponent,
    vector_norm,
)
from mklcore.penalties.terms import (
    TERMS,
    GroupLasso,
    GroupTerm,
    LogTerm,
    MFocuss,
    SquaredGroupLasso,
    SumOfTerms,
    make_terms,
)

PENALTIES: dict[str, type] = {norm.name: norm for norm in (LpNorm, WeightedLpNorm, BlockNorm, EllipticNorm)} | TERMS

__all__ = [
    "PENALTIES",
    "TERMS",
    "BlockNorm",
    "EllipticNorm",
    "GroupLasso",
    "GroupTerm",
    "LogTerm",
    "LpNorm",
    "MFocuss",
    "Penalty",
    "SquaredGroupLasso",
    "SumOfTerms",
    "WeightedLpNorm",
    "conjugate_exponent",
    "make_terms",
    "vector_norm",
]
