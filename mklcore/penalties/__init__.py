"""What weighs the kernels. ``norms``: constraints on the weights, with a dual. ``terms``: concave group selection terms."""

from mklcore.penalties.norms import (
    BlockNorm,
    EllipticNorm,
    LpNorm,
    Penalty,
    WeightedLpNorm,
    conjugate_exponent,
    vector_norm,
)

PENALTIES: dict[str, type] = {norm.name: norm for norm in (LpNorm, WeightedLpNorm, BlockNorm, EllipticNorm)}

__all__ = [
    "PENALTIES",
    "BlockNorm",
    "EllipticNorm",
    "LpNorm",
    "Penalty",
    "WeightedLpNorm",
    "conjugate_exponent",
    "vector_norm",
]
