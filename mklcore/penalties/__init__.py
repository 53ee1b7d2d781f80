"""What weighs the kernels. ``norms``: constraints on the weights, with a dual. ``terms``: concave group selection terms."""

from mklcore.penalties.base import Penalty
from mklcore.penalties.norms import (
    RIDGE_OF_E,
    BlockNorm,
    ElasticNet,
    EllipticNorm,
    LpNorm,
    WeightedLpNorm,
    column_prices,
    conjugate_exponent,
    vector_norm,
)
from mklcore.penalties.terms import (
    TERMS,
    GroupLasso,
    GroupTerm,
    LogTerm,
    MFocuss,
    MinimaxConcave,
    SmoothlyClipped,
    SquaredGroupLasso,
    SumOfTerms,
    make_terms,
)

_NORMS: tuple[type[Penalty], ...] = (LpNorm, WeightedLpNorm, BlockNorm, EllipticNorm, ElasticNet)
PENALTIES: dict[str, type[Penalty]] = {norm.name: norm for norm in _NORMS} | TERMS


def norms() -> tuple[str, ...]:
    """The names of the penalties that certify: those lp-norm learning can take."""
    return tuple(name for name, penalty in PENALTIES.items() if penalty.certifies)


__all__ = [
    "PENALTIES",
    "RIDGE_OF_E",
    "TERMS",
    "BlockNorm",
    "ElasticNet",
    "EllipticNorm",
    "GroupLasso",
    "GroupTerm",
    "LogTerm",
    "LpNorm",
    "MFocuss",
    "MinimaxConcave",
    "Penalty",
    "SmoothlyClipped",
    "SquaredGroupLasso",
    "SumOfTerms",
    "WeightedLpNorm",
    "column_prices",
    "conjugate_exponent",
    "make_terms",
    "norms",
    "vector_norm",
]
