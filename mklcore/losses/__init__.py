"""Losses: value, conjugate, dual feasible set, curvature; and the intercept at which the total loss is least."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mklcore._lazy import lazily as _lazily

if TYPE_CHECKING:
    from mklcore.losses.base import (
        CLASSIFICATION,
        LOSSES,
        REGRESSION,
        Able,
        Cost,
        EpsilonInsensitive,
        Hinge,
        Huber,
        Logistic,
        Loss,
        NuOneClass,
        OneClass,
        Pinball,
        Squared,
        SquaredHinge,
        loss_for,
        losses_for,
        make_loss,
    )

__all__ = [
    "CLASSIFICATION",
    "LOSSES",
    "REGRESSION",
    "Able",
    "Cost",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "NuOneClass",
    "OneClass",
    "Pinball",
    "Squared",
    "SquaredHinge",
    "loss_for",
    "losses_for",
    "make_loss",
]
__getattr__ = _lazily(__name__, {"base": __all__})
