"""What weights the kernels.

``norms``: constraints on the weights, with a dual. ``terms``: concave group selection terms.
"""

from dataclasses import MISSING, fields
from typing import Any

from mklcore.errors import ParameterError
from mklcore.problem.group_terms import (
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
from mklcore.problem.norms import (
    RIDGE_OF_E,
    BlockNorm,
    ElasticNet,
    EllipticNorm,
    LpNorm,
    Penalty,
    WeightedLpNorm,
    column_prices,
    conjugate_exponent,
    vector_norm,
)

_NORMS: tuple[type[Penalty], ...] = (LpNorm, WeightedLpNorm, BlockNorm, EllipticNorm, ElasticNet)
PENALTIES: dict[str, type[Penalty]] = {norm.name: norm for norm in _NORMS} | TERMS


def norms() -> tuple[str, ...]:
    """The names of the penalties that certify: those lp-norm learning can take."""
    return tuple(name for name, penalty in PENALTIES.items() if penalty.certifies)


def make_penalty(penalty: str | Penalty, **given: float) -> Penalty:
    """The penalty called ``penalty``, or the object itself; of what is ``given`` (p, mu, ...) it takes what it has.

    ParameterError for a name that is not in ``PENALTIES``, and for one whose penalty is made from more than is given.
    """
    if isinstance(penalty, Penalty):
        return penalty
    if not isinstance(penalty, str) or penalty not in PENALTIES:
        raise ParameterError(
            f"penalty must be None, a Penalty object or one of {', '.join(PENALTIES)}; got {penalty!r}."
        )
    kind: Any = PENALTIES[penalty]
    own = {
        field.name: field.default is MISSING and field.default_factory is MISSING
        for field in fields(kind)
        if field.init
    }
    if any(needed and name not in given for name, needed in own.items()):
        raise ParameterError(
            f"penalty={penalty!r} has no usual arguments: pass the object, penalty={kind.__name__}"
            f"({', '.join(f'{name}=...' for name in own)})."
        )
    made: Penalty = kind(**{name: value for name, value in given.items() if name in own})
    return made


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
    "make_penalty",
    "make_terms",
    "norms",
    "vector_norm",
]
