"""What weighs the kernels. ``norms``: constraints on the weights, with a dual. ``terms``: concave group selection terms."""

from mklcore.penalties.norms import LpNorm, Penalty, conjugate_exponent, vector_norm

PENALTIES: dict[str, type] = {LpNorm.name: LpNorm}

__all__ = ["PENALTIES", "LpNorm", "Penalty", "conjugate_exponent", "vector_norm"]
